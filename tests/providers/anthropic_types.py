"""Anthropic: every request that the other tests make is of the types of the service's own library: those of
anthropic_requests.py, and what goes back of the recorded answers."""
import drive as d
from anthropic_recorded import case as turn
from anthropic_recorded import recordings, right_answer
from anthropic_requests import REQUESTS, case
from sdk import Sdk

TYPES = "@anthropic-ai/sdk/resources/{}messages/messages.d.ts"
BETA_ALONE = {"mcp_tool_use", "compaction", "advisor_tool_result"}  # blocks that only beta.messages has


def bodies(drive, named):
    return [(name, result["requests"][0]["json"]) for (name, _), result in zip(named, drive([it for _, it in named]))]


def is_beta(body):
    blocks = [block for message in body["messages"] for block in message["content"]]
    return any(block["type"] in BETA_ALONE for block in blocks)


def main():
    sdk, drive = Sdk("@anthropic-ai/sdk@1.12.0"), d.Drive("anthropic")
    made = bodies(drive, [(name, case(*it[:2])) for name, it in REQUESTS.items()])
    refused = {"status": 400, "body": "{}"}
    back = [
        (name, turn(refused, ["Hello", right_answer(message)["message"], "And now?"]))
        for name, _, message in recordings(d.suites("providers"))
    ]
    made += bodies(drive, back)
    sdk.check(TYPES.format("beta/"), "MessageCreateParamsBase", made)
    sdk.check(TYPES.format(""), "MessageCreateParamsBase", [it for it in made if not is_beta(it[1])])
    d.finish()


main()
