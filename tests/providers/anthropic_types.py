"""Anthropic: every request of the other tests matches the types of the service's library: those of
anthropic_requests.py, and the recorded answers that are sent back."""
import drive as d
from anthropic_recorded import case as turn_case
from anthropic_recorded import recordings, expected_answer
from anthropic_requests import REQUESTS, case
from sdk import Sdk

TYPES = "@anthropic-ai/sdk/resources/{}messages/messages.d.ts"
BETA_ONLY = {"mcp_tool_use", "compaction", "advisor_tool_result"}  # blocks that only beta.messages has


def bodies(drive, named_cases):
    return [(name, result["requests"][0]["json"]) for (name, _), result in zip(named_cases, drive([row for _, row in named_cases]))]


def is_beta(body):
    blocks = [block for message in body["messages"] for block in message["content"]]
    return any(block["type"] in BETA_ONLY for block in blocks)


def main():
    sdk, drive = Sdk("@anthropic-ai/sdk"), d.Drive("anthropic")
    requests = bodies(drive, [(name, case(*row[:2])) for name, row in REQUESTS.items()])
    refused = {"status": 400, "body": "{}"}
    next_requests = [
        (name, turn_case(refused, ["Hello", expected_answer(message)["message"], "And now?"]))
        for name, _, message in recordings(d.suite_folder("providers"))
    ]
    requests += bodies(drive, next_requests)
    sdk.check(TYPES.format("beta/"), "MessageCreateParamsBase", requests)
    sdk.check(TYPES.format(""), "MessageCreateParamsBase", [row for row in requests if not is_beta(row[1])])
    d.finish()


main()
