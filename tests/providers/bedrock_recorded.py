"""Amazon Bedrock: every answer has the expected message, streamed, whole, and cut at every byte, and is sent back.

The answers in recorded/bedrock were written by hand after Amazon's documentation, in the service's wire format, which is compared
with botocore's service model if that is installed. If providers/amazon-bedrock/converse of the suites exists, its recordings, the
fixtures of the AI SDK (packages/amazon-bedrock, Apache-2.0), are used, too. A line of a stream is an event; the framing and its
checksums are made here.
"""
import glob
import json
import os

import drive as d
from bedrock_wire import exchange, load_schema, stream

FINISH = {"end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_calls", "max_tokens": "length"}


def assemble(events):
    """The whole answer that a stream is of, as Amazon's documentation describes it."""
    blocks, answer = {}, {}
    for event in events:
        (name, value), = event.items()
        block = blocks.setdefault(value.get("contentBlockIndex"), {"text": "", "reasoning": "", "signature": "", "input": None})
        if name == "contentBlockStart" and "toolUse" in value["start"]:
            block.update(tool=value["start"]["toolUse"], input="")
        if name == "contentBlockDelta":
            delta = value["delta"]
            block["text"] += delta.get("text", "")
            block["reasoning"] += delta.get("reasoningContent", {}).get("text", "")
            block["signature"] += delta.get("reasoningContent", {}).get("signature", "")
            if "toolUse" in delta:
                block["input"] += delta["toolUse"]["input"]
        if name == "messageStop":
            answer.update(value)
        if name == "metadata":
            answer["usage"] = value["usage"]
    content = []
    for index in sorted(key for key in blocks if key is not None):
        block = blocks[index]
        if block["input"] is not None:
            content.append({"toolUse": {**block["tool"], "input": json.loads(block["input"] or "{}")}})
        elif block["reasoning"] or block["signature"]:
            made = {"text": block["reasoning"], **({"signature": block["signature"]} if block["signature"] else {})}
            content.append({"reasoningContent": {"reasoningText": made}})
        else:
            content.append({"text": block["text"]})
    return {**answer, "output": {"message": {"role": "assistant", "content": content}}}


def expected_usage(given):
    made, read, written = given["outputTokens"], given.get("cacheReadInputTokens"), given.get("cacheWriteInputTokens")
    total = given["inputTokens"] + (read or 0) + (written or 0)
    usage = {"input_tokens": total, "output_tokens": made, "total_tokens": total + made}
    usage.update({key: value for key, value in (("cached_tokens", read), ("cache_write_tokens", written)) if value is not None})
    return {"usage": usage}


def expected_answer(answer):
    parts, calls = [], []
    for block in answer["output"]["message"]["content"]:
        if "toolUse" in block:
            tool = block["toolUse"]
            calls.append({"id": tool["toolUseId"], "name": tool["name"], "arguments": tool["input"]})
        elif "reasoningContent" in block:
            text = block["reasoningContent"]["reasoningText"]
            extra = {"extra": {"bedrock": {"signature": text["signature"]}}} if text.get("signature") else {}
            parts.append({"type": "reasoning", "text": text["text"], **extra})
        elif block["text"]:
            parts.append({"type": "text", "text": block["text"]})
    finish = FINISH[answer["stopReason"]]
    if finish in ("stop", "tool_calls"):
        finish = "tool_calls" if calls else "stop"
    plain = len(parts) == 1 and set(parts[0]) == {"type", "text"} and parts[0]["type"] == "text"
    message = {"type": "ai", "content": parts[0]["text"] if plain else parts or ""}
    if calls:
        message["tool_calls"] = calls
    usage = expected_usage(answer["usage"]) if "usage" in answer else {}
    message.update(**usage, finish_reason=finish)
    kept = {key: answer[key] for key in ("additionalModelResponseFields",) if answer.get(key) is not None}
    if answer["stopReason"] not in ("end_turn", "tool_use"):
        kept["stop_reason"] = answer["stopReason"]
    if kept:
        message["extra"] = {"bedrock": kept}
    return {"message": message, **usage, "finish_reason": finish}


def case(one, messages=None, **more):
    config = {"model": "us.anthropic.claude-recorded", "region": "us-east-1", "stream": "frames" in one}
    return {"component": "bedrock", "config": config, "input": {"messages": messages or ["?"]}, "exchanges": [one], **more}


def recordings(folder):
    for path in sorted(glob.glob(os.path.join(folder, "*"))):
        name = os.path.basename(path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if name.endswith(".chunks.txt"):
            events = [json.loads(line) for line in text.splitlines() if line.strip()]
            yield name[: -len(".txt")], exchange(stream(events)), assemble(events)
        elif name.endswith(".json"):
            yield name[: -len(".json")], {"body": text}, json.loads(text)


def check_form(folder, schema):
    """The answers have the form of the service model. `p` is padding, which the model does not list."""
    for path in sorted(glob.glob(os.path.join(folder, "*"))):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if path.endswith(".json"):
            faults = schema.faults("ConverseResponse", json.loads(text))
        else:
            faults = []
            for line in text.splitlines():
                (name, value), = json.loads(line).items()
                value.pop("p", None)
                faults += schema.faults("ConverseStreamOutput", {name: value})
        d.check(not faults, f"{os.path.basename(path)}: {faults}")


def main():
    drive, schema = d.Drive("bedrock"), load_schema()
    own = os.path.join(d.HERE, "recorded", "bedrock")
    found = list(recordings(own))
    d.check(len(found) == 13, f"{len(found)} answers in {own}")
    if schema is not None:
        check_form(own, schema)
    suite = d.find_suite_folder("providers", "amazon-bedrock")
    if suite is not None:
        more = list(recordings(os.path.join(suite, "converse")))
        d.check(len(more) > 15, f"only {len(more)} recordings of the AI SDK")
        found += more
    results = drive([case(one, cuts="frames" in one) for _, one, _ in found])
    throttled = drive([case(one, room=1, piece=3) for _, one, _ in found])
    for (name, _, answer), result, slow in zip(found, results, throttled):
        expected = expected_answer(answer)
        if not d.check(result.get("output") == expected, f"{name}: {json.dumps(result.get('output') or result.get('error'))}"
                       f"\n  expected {json.dumps(expected)}"):
            continue
        d.check_deltas(name, result)
        d.check(slow["output"] == expected and slow["deltas"] == result["deltas"], f"{name}: another message with back-pressure")
        if "cuts" in result:
            d.check_cuts(name, result)
    back = drive([case({"status": 400, "body": "{}"}, ["Hello", expected_answer(answer)["message"], "And now?"])
                  for _, _, answer in found])
    for (name, _, answer), result in zip(found, back):
        body = result["requests"][0]["json"]
        blocks = answer["output"]["message"]["content"]
        kept = [{"text": block["text"]} for block in blocks if block.get("text", "").strip()]
        kept = [block for block in blocks if block.get("reasoningContent", {}).get("reasoningText", {}).get("signature")] + kept
        kept += [{"toolUse": block["toolUse"]} for block in blocks if "toolUse" in block]
        turns = [turn for turn in body["messages"] if turn["role"] == "assistant"]
        d.check(turns == ([{"role": "assistant", "content": kept}] if kept else []), f"{name}: sent back {turns}\n  expected {kept}")
        if schema is not None:
            faults = schema.faults("ConverseRequest", body)
            d.check(not faults, f"{name}: {faults}")
    print(f"{len(found)} answers")
    d.finish()


if __name__ == "__main__":
    main()
