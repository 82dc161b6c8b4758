"""Anthropic: every recorded answer has the expected message, streamed, whole, and cut at every byte, and is sent back unchanged.

The expected message is computed here from the service's documentation: a stream is first assembled into the service's own
message, and that, or a recorded one, is then converted to ours. The plugin does not assemble the service's message.
"""
import copy
import glob
import json
import os

import drive as d

SUPPORTED_BLOCKS = {"text", "thinking", "redacted_thinking", "tool_use"}  # blocks with an equivalent in our messages
FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}


def frame(event):
    return f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n"


def frame_all(events):
    return "".join(map(frame, events))


def read_turns(path):
    """A recording can contain several streams in sequence. Each ends with message_stop."""
    made = [[]]
    with open(path, encoding="utf-8") as file:
        for line in file:
            if not line.strip():
                continue
            made[-1].append(json.loads(line))
            if made[-1][-1]["type"] == "message_stop":
                made.append([])
    return [turn for turn in made if turn]


def assemble_message(events):
    """Assembles the service's message, as its own client libraries do."""
    message, texts = None, {}
    for event in events:
        kind = event["type"]
        if kind == "message_start":
            message, texts = copy.deepcopy(event["message"]), {}
        elif kind == "content_block_start":
            message["content"].append(copy.deepcopy(event["content_block"]))
        elif kind == "content_block_delta":
            block, delta = message["content"][event["index"]], event["delta"]
            if delta["type"] == "text_delta":
                block["text"] += delta["text"]
            elif delta["type"] == "thinking_delta":
                block["thinking"] += delta["thinking"]
            elif delta["type"] == "signature_delta":
                block["signature"] = delta["signature"]
            elif delta["type"] == "citations_delta":
                block["citations"] = (block.get("citations") or []) + [delta["citation"]]
            elif delta["type"] == "input_json_delta":
                texts[event["index"]] = texts.get(event["index"], "") + delta["partial_json"]
            elif delta["type"] == "compaction_delta":
                block.update({key: value for key, value in delta.items() if key != "type"})
            else:
                raise ValueError(f"an unknown delta: {delta['type']}")
        elif kind == "content_block_stop":
            if texts.get(event["index"]):
                message["content"][event["index"]]["input"] = json.loads(texts[event["index"]])
        elif kind == "message_delta":
            message.update({key: value for key, value in event["delta"].items() if value is not None})
            if event.get("context_management") is not None:
                message["context_management"] = event["context_management"]
            reported = {key: value for key, value in (event.get("usage") or {}).items() if value is not None}
            message["usage"].update(reported)
    return message


def expected_usage(usage):
    read, written = usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
    given = usage["input_tokens"] + (read or 0) + (written or 0)
    made = usage["output_tokens"]
    for one in usage.get("iterations") or []:
        if one["type"] == "compaction":
            given += one["input_tokens"] + one["cache_read_input_tokens"] + one["cache_creation_input_tokens"]
            made += one["output_tokens"]
    expected = {"input_tokens": given, "output_tokens": made, "total_tokens": given + made}
    reasoning = (usage.get("output_tokens_details") or {}).get("thinking_tokens")
    more = {"cached_tokens": read, "cache_write_tokens": written, "reasoning_tokens": reasoning}
    return {**expected, **{key: value for key, value in more.items() if value is not None}}


def expected_sources(block):
    seen = []
    for citation in block.get("citations") or []:
        url, title = citation.get("url"), citation.get("title")
        if url and url not in [source["url"] for source in seen]:
            seen.append({"type": "source", "url": url, **({"title": title} if title is not None else {})})
    return seen


def expected_part(block):
    """Returns our part for a block, or None."""
    if block["type"] == "text":
        extra = {"extra": {"anthropic": {"citations": block["citations"]}}} if block.get("citations") else {}
        return {"type": "text", "text": block["text"], **extra} if block["text"] else None
    if block["type"] == "thinking":
        text = {"text": block["thinking"]} if block["thinking"] else {}
        return {"type": "reasoning", **text, "extra": {"anthropic": {"signature": block["signature"]}}}
    return {"type": "reasoning", "extra": {"anthropic": {"redacted": block["data"]}}}


def expected_answer(message):
    """Returns the expected output for the service's message."""
    parts, calls, order, has_unsupported, extra = [], [], [], False, {"id": message["id"]}
    for block in message["content"]:
        if block["type"] not in SUPPORTED_BLOCKS:
            order.append(block)
            has_unsupported = True
        elif block["type"] == "tool_use":
            call = {"id": block["id"], "name": block["name"], "arguments": block["input"]}
            if block.get("caller", {}).get("type", "direct") != "direct":
                call["extra"] = {"anthropic": {"caller": block["caller"]}}
            calls.append(call)
            order.append({"call": block["id"]})
        elif expected_part(block) is not None:
            has_unsupported = has_unsupported or bool(calls)
            order.append({"part": len(parts)})
            parts += [expected_part(block)] + (expected_sources(block) if block["type"] == "text" else [])
    reason, details = message["stop_reason"], message.get("stop_details") or {}
    if reason == "refusal" and details.get("explanation"):
        parts.append({"type": "refusal", "text": details["explanation"]})
    for name in ("container", "stop_sequence", "context_management", "stop_details"):
        if message.get(name) is not None:
            extra[name] = message[name]
    for name in ("server_tool_use", "iterations"):
        if message["usage"].get(name) is not None:
            extra[name] = message["usage"][name]
    if reason not in ("end_turn", "tool_use"):
        extra["stop_reason"] = reason
    if has_unsupported:
        extra["blocks"] = {"parts": len(parts), "list": order}
    content = parts
    if not parts:
        content = ""
    elif len(parts) == 1 and parts[0]["type"] == "text" and "extra" not in parts[0]:
        content = parts[0]["text"]
    finish = FINISH.get(reason, "other")
    if finish in ("stop", "tool_calls"):  # calls must be answered, whatever the stop reason
        finish = "tool_calls" if calls else "stop"
    made = {"type": "ai", "content": content, "usage": expected_usage(message["usage"]), "finish_reason": finish}
    if calls:
        made["tool_calls"] = calls
    made.update(model=message["model"], extra={"anthropic": extra})
    return {"message": made, "usage": made["usage"], "finish_reason": finish}


def expected_blocks(message):
    """Returns the blocks that are sent back for a message: all that the service accepts."""
    made = []
    for block in copy.deepcopy(message["content"]):
        if block["type"] == "text":
            if not block["text"].strip():
                continue
            if not block.get("citations"):
                block.pop("citations", None)
            for citation in block.get("citations", []):
                citation.pop("file_id", None)
        if block["type"] == "tool_use" and block.get("caller", {}).get("type") == "direct":
            block.pop("caller")
        made.append(block)
    return made


def case(exchange, messages=None, **more):
    config = {"model": "claude-recorded", "stream": "stream" in exchange}
    answers_found = {"component": "anthropic", "config": config, "input": {"messages": messages or ["?"]}}
    return {**answers_found, "exchanges": [exchange], **more}


def recordings(root):
    """(name, exchange, the service's message) of every answer."""
    for path in sorted(glob.glob(os.path.join(root, "anthropic", "messages", "*"))):
        name = os.path.basename(path)
        if name.endswith(".json"):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            yield name[: -len(".json")], {"body": text}, json.loads(text)
        elif name.endswith(".chunks.txt"):
            for turn, events in enumerate(read_turns(path)):
                at = name[: -len(".txt")] + (f".turn{turn + 1}" if turn else "")
                yield at, {"stream": frame_all(events)}, assemble_message(events)


def main():
    drive = d.Drive("anthropic")
    answers_found = list(recordings(d.suite_folder("providers")))
    d.check(len(answers_found) > 40, f"only {len(answers_found)} recordings")
    cases = [case(exchange, cuts="stream" in exchange) for _, exchange, _ in answers_found]
    throttled = [case(exchange, room=1) for _, exchange, _ in answers_found]
    answers = drive(cases)
    for (name, exchange, message), result, throttled_result in zip(answers_found, answers, drive(throttled)):
        expected = expected_answer(message)
        if not d.check(result.get("output") == expected, f"{name}: {json.dumps(result.get('output') or result.get('error'))}"
                       f"\n  expected {json.dumps(expected)}"):
            continue
        d.check_golden("anthropic", name, result)
        d.check_deltas(name, result)
        d.check(throttled_result.get("output") == expected, f"{name}: another message with back-pressure")
        d.check(throttled_result["deltas"] == result["deltas"], f"{name}: other deltas with back-pressure")
        if "cuts" not in result:
            continue
        d.check_cuts(name, result)
        # The answer is complete after the last event, and not before.
        size, cuts = len(exchange["stream"].encode()), result["cuts"]
        d.check(cuts["first_same"] == size, f"{name}: whole after {cuts['first_same']} of {size} bytes")
        d.check(set(cuts["codes"]) == {"INVALID_RESPONSE"}, f"{name}: cuts ended as {cuts['codes']}")
    # Every message can be sent back.
    messages = [["Hello", expected_answer(message)["message"], "And now?"] for _, _, message in answers_found]
    next_requests = drive([case({"status": 400, "body": "{}"}, conversation) for conversation in messages])
    for (name, _, message), result in zip(answers_found, next_requests):
        turns = result["requests"][0]["json"]["messages"]
        blocks = expected_blocks(message)
        expected = [{"role": "assistant", "content": blocks}] if blocks else []
        d.check(turns[1:-1] == expected, f"{name}: sent back {json.dumps(turns[1:-1])}\n  expected {json.dumps(expected)}")
    print(f"{len(answers_found)} answers")
    d.finish()


if __name__ == "__main__":
    main()
