"""Recorded answers of Google: each has the expected message, tool calls, usage and finish reason, streamed, whole, and cut at
every byte; signatures are sent back with their part or call.

The expected result is computed here from the recording, not as in the plugin: the arguments of a call are assembled from all
of its pieces at once, by their paths. The golden files contain the rest."""
import glob
import json
import os
import re

import drive as d

FINISH = {"STOP": "stop", "MAX_TOKENS": "length"}
ERRORS = {"google-429-retry-info": (429, "RATE_LIMITED", True, 34400)}


def parse_path(path):
    """$.a[0]['b'] as ["a", 0, "b"]."""
    found = re.findall(r"\.([^.\[]+)|\[(\d+)\]|\['([^']*)'\]", path[1:])
    return [int(index) if index else name or quoted for name, index, quoted in found]


def set_path(tree, steps, value):
    """Sets a value in nested dicts. convert_lists converts dicts with integer keys to lists."""
    for step in steps[:-1]:
        tree = tree.setdefault(step, {})
    tree[steps[-1]] = value


def convert_lists(tree):
    if not isinstance(tree, dict):
        return tree
    if tree and all(isinstance(key, int) for key in tree):
        return [convert_lists(tree.get(i)) for i in range(max(tree) + 1)]
    return {key: convert_lists(value) for key, value in tree.items()}


def arguments(pieces):
    texts, others = {}, {}
    for piece in pieces:
        if "stringValue" in piece:
            texts.setdefault(piece["jsonPath"], []).append(piece["stringValue"])
        else:
            value = next((piece[key] for key in ("numberValue", "boolValue") if key in piece), None)
            others[piece["jsonPath"]] = value
    tree = {}
    for path, value in [*((path, "".join(parts)) for path, parts in texts.items()), *others.items()]:
        set_path(tree, parse_path(path), value)
    return convert_lists(tree)


def expected_answer(chunks):
    """(text, thoughts, [(name, arguments, signature)], signatures of text, finish_reason, usage, model)."""
    parts = [part for c in chunks for part in c["candidates"][0].get("content", {}).get("parts", [])]
    calls = []
    for part in parts:
        function = part.get("functionCall")
        if function is None:
            continue
        if "name" in function:
            calls.append([function["name"], function.get("args", {}), [], part.get("thoughtSignature")])
        calls[-1][2] += function.get("partialArgs", [])
    calls = [(name, arguments(pieces) if pieces else args, signature) for name, args, pieces, signature in calls]
    text = "".join(part["text"] for part in parts if "text" in part and not part.get("thought"))
    thoughts = "".join(part["text"] for part in parts if part.get("thought"))
    signatures = [part["thoughtSignature"] for part in parts if "thoughtSignature" in part and "functionCall" not in part]
    last = chunks[-1]
    usage = last["usageMetadata"]
    thinking = usage.get("thoughtsTokenCount", 0)
    reported = {"input_tokens": usage["promptTokenCount"], "output_tokens": usage["candidatesTokenCount"] + thinking}
    reported = {**reported, "total_tokens": usage["totalTokenCount"], "reasoning_tokens": thinking}
    d.check(reported["input_tokens"] + reported["output_tokens"] == reported["total_tokens"], "the total of the recording")
    finish = "tool_calls" if calls else FINISH[last["candidates"][0]["finishReason"]]
    return text, thoughts, calls, signatures, finish, reported, last["modelVersion"]


def signature_of(holder):
    return holder.get("extra", {}).get("gemini", {}).get("thoughtSignature")


def check_answer(name, result, expected):
    text, thoughts, calls, signatures, finish, usage, model = expected
    if not d.check("output" in result, f"{name}: {result.get('error')}"):
        return
    output, message = result["output"], result["output"]["message"]
    actual = [(call["name"], call["arguments"], signature_of(call)) for call in message.get("tool_calls", [])]
    d.check(d.joined_text(message) == text, f"{name}: the text is {d.joined_text(message)!r}, expected {text!r}")
    d.check(d.joined_text(message, "reasoning") == thoughts, f"{name}: thoughts")
    d.check(actual == calls, f"{name}: the tool calls are {actual}, expected {calls}")
    found = [signature_of(part) for part in d.content_parts(message) if signature_of(part)]
    d.check(found == signatures, f"{name}: {len(found)} signatures of text, expected {len(signatures)}")
    d.check(output["finish_reason"] == finish, f"{name}: finish_reason {output['finish_reason']}, expected {finish}")
    d.check(output.get("usage") == usage, f"{name}: usage {output.get('usage')}, expected {usage}")
    d.check(message["model"] == model, f"{name}: model {message['model']}, expected {model}")
    ids = [call["id"] for call in message.get("tool_calls", [])]
    d.check(len(set(ids)) == len(ids) and all(ids), f"{name}: ids {ids}")


def check_next_request(name, request, expected):
    """The request of the next turn contains the answer, and each signature at its part or call."""
    text, _, calls, signatures, _, _, _ = expected
    model, user = request["json"]["contents"][1:3]
    d.check((model["role"], user["role"]) == ("model", "user"), f"{name}: roles of the next request")
    parts = [part for part in model["parts"] if "functionCall" in part]
    sent = [(part["functionCall"]["name"], part["functionCall"]["args"], part.get("thoughtSignature")) for part in parts]
    d.check(sent == calls, f"{name}: the calls sent back are {sent}, expected {calls}")
    text_parts = [part for part in model["parts"] if "text" in part]
    d.check("".join(part["text"] for part in text_parts) == text, f"{name}: the text sent back")
    d.check([part["thoughtSignature"] for part in text_parts if "thoughtSignature" in part] == signatures, f"{name}: signatures")
    answers = [part["functionResponse"]["name"] for part in user["parts"] if "functionResponse" in part]
    d.check(answers == [call[0] for call in calls], f"{name}: answers to {answers}")


def case(exchange, messages=("?",), **more):
    config = {"model": "gemini-recorded", "stream": "stream" in exchange}
    given = {"messages": list(messages)}
    return {"component": "gemini", "config": config, "input": given, "exchanges": [exchange], **more}


def frame_all(lines):
    """Frames events as the service does with alt=sse: "data: ", the JSON, CR LF twice."""
    return "".join(f"data: {line}\r\n\r\n" for line in lines)


def main():
    root = d.suite_folder("providers", "google", "generate-content")
    names, cases, expected_results = [], [], []
    for path in sorted(glob.glob(os.path.join(root, "*"))):
        with open(path, encoding="utf-8") as file:
            recording = file.read()
        name = os.path.basename(path)
        if name.endswith(".chunks.txt"):
            lines = [line for line in recording.splitlines() if line.strip()]
            expected = expected_answer([json.loads(line) for line in lines])
            names += [name[: -len(".txt")], ""]
            cases += [case({"stream": frame_all(lines)}, cuts=True), case({"stream": frame_all(lines)}, room=1)]
            expected_results += [expected, expected]
        else:
            name = name[: -len(".json")]
            status = ERRORS.get(name, (200,))[0]
            names.append(name)
            cases.append(case({"status": status, "body": recording, "headers": {"content-type": "application/json"}}))
            expected_results.append(expected_answer([json.loads(recording)]) if status == 200 else None)
    d.check(len(names) >= 12, f"only {len(names)} recordings")
    drive = d.Drive("gemini")
    before, turns = None, []
    for name, result, expected in zip(names, drive(cases), expected_results):
        if name == "":
            d.check(result.get("output") == before.get("output"), "another message with back-pressure")
            d.check(result["deltas"] == before["deltas"], "other deltas with back-pressure")
            d.check(result["paused"] > 0 or len(result["deltas"]) < 4, "the stream was never paused")
            continue
        before = result
        d.check_golden("gemini", name, result)
        if expected is None:
            status, code, retryable, after = ERRORS[name]
            error = result.get("error", {})
            d.check(error.get("code") == code, f"{name}: {error}, expected {code}")
            d.check(error.get("retryable") is retryable, f"{name}: {error}")
            d.check(error.get("retry_after_ms") == after, f"{name}: {error}")
            d.check(error.get("detail", {}).get("status") == status, f"{name}: {error}")
            continue
        d.check_deltas(name, result)
        check_answer(name, result, expected)
        if "cuts" in result:
            d.check_cuts(name, result)
        if "output" in result:
            message = result["output"]["message"]
            answers = [{"type": "tool", "tool_call_id": c["id"], "content": "ok"} for c in message.get("tool_calls", [])]
            turns.append((name, case({"body": "{}"}, ["?", message, *answers, "Go on"]), expected))
    for (name, _, expected), result in zip(turns, drive([turn for _, turn, _ in turns])):
        check_next_request(name, result["requests"][0], expected)
    print(f"{len(names)} recordings, {len(turns)} next turns")
    d.finish()


main()
