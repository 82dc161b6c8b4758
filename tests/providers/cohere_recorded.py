"""Cohere: every recorded answer has the expected message, streamed, whole, and cut at every byte, and is sent back.

The recordings are the fixtures of the AI SDK (packages/cohere, Apache-2.0), in providers/cohere/chat and providers/cohere/embed
of the suites. A line of a stream is an event."""
import glob
import json
import os

import cohere_strict
import drive as d
from cohere_cases import case, same, sse

FINISH = {"COMPLETE": "stop", "STOP_SEQUENCE": "stop", "TOOL_CALL": "tool_calls", "MAX_TOKENS": "length"}


def assemble(events):
    """The whole answer that a stream is of."""
    answer, blocks, calls, message = {}, {}, {}, {"tool_plan": ""}
    for event in events:
        kind, index, delta = event["type"], event.get("index"), event.get("delta", {})
        given = delta.get("message", {})
        if kind == "message-start":
            answer["id"] = event["id"]
        if kind == "content-start":
            blocks[index] = dict(given["content"])
        if kind == "content-delta":
            for key, piece in given["content"].items():
                blocks[index][key] += piece
        if kind == "tool-plan-delta":
            message["tool_plan"] += given["tool_plan"]
        if kind == "tool-call-start":
            calls[index] = json.loads(json.dumps(given["tool_calls"]))
        if kind == "tool-call-delta":
            calls[index]["function"]["arguments"] += given["tool_calls"]["function"]["arguments"]
        if kind == "citation-start":
            message.setdefault("citations", []).append(given["citations"])
        if kind == "message-end":
            answer.update(delta)
    return {**answer, "message": {**message, "content": list(blocks.values()), "tool_calls": list(calls.values())}}


def expected_message(answer):
    given, parts, seen, own = answer["message"], [], [], {"id": answer["id"], "billed_units": answer["usage"]["billed_units"]}
    if given.get("tool_plan"):
        parts.append({"type": "reasoning", "text": given["tool_plan"], "extra": {"cohere": {"tool_plan": True}}})
    for block in given.get("content") or []:
        text = block.get("thinking") or block.get("text")
        if text:
            parts.append({"type": "reasoning" if block["type"] == "thinking" else "text", "text": text})
    for citation in given.get("citations") or []:
        for source in citation["sources"]:
            if source["id"] not in seen:
                seen.append(source["id"])
                parts.append({"type": "source", "title": source["document"]["title"], "extra": {"cohere": source}})
        own.setdefault("citations", []).append({**citation, "sources": [source["id"] for source in citation["sources"]]})
    calls = [{"id": call["id"], "name": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"] or "{}") or {}}
             for call in given.get("tool_calls") or []]
    tokens = answer["usage"]["tokens"]
    usage = {**tokens, "total_tokens": sum(tokens.values()), "cached_tokens": answer["usage"]["cached_tokens"]}
    plain = len(parts) == 1 and set(parts[0]) == {"type", "text"} and parts[0]["type"] == "text"
    message = {"type": "ai", "content": parts[0]["text"] if plain else parts or "", "usage": usage,
               "finish_reason": FINISH[answer["finish_reason"]], "extra": {"cohere": own}}
    return {**message, "tool_calls": calls} if calls else message


def recordings(root):
    for path in sorted(glob.glob(os.path.join(root, "cohere", "*", "*"))):
        name = os.path.basename(path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if name.endswith(".chunks.txt"):
            events = [json.loads(line) for line in text.splitlines() if line.strip()]
            yield name, {"stream": sse(events)}, assemble(events)
        elif name.endswith(".json"):
            yield name, {"body": text}, json.loads(text)


def check_embeddings(name, answer, result):
    usage = result.get("output", {}).get("usage", {})
    d.check(result.get("output", {}).get("embeddings") == answer["embeddings"]["float"], f"{name}: {result}")
    d.check(usage.get("input_tokens") == answer["meta"]["billed_units"]["input_tokens"], f"{name}: {usage}")


def main():
    drive = d.Drive("cohere")
    d.suite_folder("providers", "cohere")
    found = list(recordings(d.suite_folder("providers")))
    d.check(len(found) >= 10, f"only {len(found)} recordings")
    inputs = [{"embed": answer["texts"]} if "embeddings" in answer else None for _, _, answer in found]
    results = drive([case(one, given=given, cuts="stream" in one) for (_, one, _), given in zip(found, inputs)])
    for (name, _, answer), result in zip(found, results):
        if "embeddings" in answer:
            check_embeddings(name, answer, result)
            continue
        message, expected = result.get("output", {}).get("message"), expected_message(answer)
        d.check(same(message, expected), f"{name}: {json.dumps(message or result)}\n  expected {json.dumps(expected)}")
        d.check_deltas(name, result)
        if "cuts" in result:
            d.check_cuts(name, result)
        back = drive([case({"status": 400, "body": "{}"}, given={"messages": ["Hello", expected, "And now?"]})])[0]["requests"][0]["json"]
        sent = [one for one in back["messages"] if one["role"] == "assistant"]
        d.check(len(sent) == 1 and sent[0].get("tool_plan", "") == answer["message"].get("tool_plan", ""), f"{name}: sent back {sent}")
        d.check(not cohere_strict.refuse(back), f"{name}: the service refuses {cohere_strict.refuse(back)}")
    print(f"{len(found)} answers")
    d.finish()


if __name__ == "__main__":
    main()
