"""Recorded answers of Google's: every one gives the right message, tool calls, usage and finish reason, in pieces and
whole; cut at every byte; and what it is to get back goes back on the part or call that it came with.

What is right is worked out from the recording here, in another way than the plugin's: arguments that come piece by piece
are put together from all their pieces at once, by place. The golden files hold the rest."""
import glob
import json
import os
import re

import drive as d

FINISH = {"STOP": "stop", "MAX_TOKENS": "length"}
ERRORS = {"google-429-retry-info": (429, "RATE_LIMITED", True, 34400)}


def place(path):
    """$.a[0]['b'] as ["a", 0, "b"]."""
    found = re.findall(r"\.([^.\[]+)|\[(\d+)\]|\['([^']*)'\]", path[1:])
    return [int(index) if index else name or quoted for name, index, quoted in found]


def put(tree, steps, value):
    """Into dicts alone: lists are made of them at the end."""
    for step in steps[:-1]:
        tree = tree.setdefault(step, {})
    tree[steps[-1]] = value


def lists(tree):
    if not isinstance(tree, dict):
        return tree
    if tree and all(isinstance(key, int) for key in tree):
        return [lists(tree.get(i)) for i in range(max(tree) + 1)]
    return {key: lists(value) for key, value in tree.items()}


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
        put(tree, place(path), value)
    return lists(tree)


def right_of(chunks):
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
    signed = [part["thoughtSignature"] for part in parts if "thoughtSignature" in part and "functionCall" not in part]
    last = chunks[-1]
    usage = last["usageMetadata"]
    thought = usage.get("thoughtsTokenCount", 0)
    told = {"input_tokens": usage["promptTokenCount"], "output_tokens": usage["candidatesTokenCount"] + thought}
    told = {**told, "total_tokens": usage["totalTokenCount"], "reasoning_tokens": thought}
    d.check(told["input_tokens"] + told["output_tokens"] == told["total_tokens"], "the recording's own sum")
    finish = "tool_calls" if calls else FINISH[last["candidates"][0]["finishReason"]]
    return text, thoughts, calls, signed, finish, told, last["modelVersion"]


def kept(holder):
    return holder.get("extra", {}).get("gemini", {}).get("thoughtSignature")


def check_answer(name, result, right):
    text, thoughts, calls, signed, finish, usage, model = right
    if not d.check("output" in result, f"{name}: {result.get('error')}"):
        return
    output, message = result["output"], result["output"]["message"]
    made = [(call["name"], call["arguments"], kept(call)) for call in message.get("tool_calls", [])]
    d.check(d.text_of(message) == text, f"{name}: the text is {d.text_of(message)!r}, expected {text!r}")
    d.check(d.text_of(message, "reasoning") == thoughts, f"{name}: thoughts")
    d.check(made == calls, f"{name}: the tool calls are {made}, expected {calls}")
    found = [kept(part) for part in d.parts_of(message) if kept(part)]
    d.check(found == signed, f"{name}: {len(found)} signatures of text, expected {len(signed)}")
    d.check(output["finish_reason"] == finish, f"{name}: finish_reason {output['finish_reason']}, expected {finish}")
    d.check(output.get("usage") == usage, f"{name}: usage {output.get('usage')}, expected {usage}")
    d.check(message["model"] == model, f"{name}: model {message['model']}, expected {model}")
    ids = [call["id"] for call in message.get("tool_calls", [])]
    d.check(len(set(ids)) == len(ids) and all(ids), f"{name}: ids {ids}")


def check_back(name, request, right):
    """The request of the next turn has the answer in it, and each signature where it came."""
    text, _, calls, signed, _, _, _ = right
    model, user = request["json"]["contents"][1:3]
    d.check((model["role"], user["role"]) == ("model", "user"), f"{name}: roles of what goes back")
    parts = [part for part in model["parts"] if "functionCall" in part]
    back = [(part["functionCall"]["name"], part["functionCall"]["args"], part.get("thoughtSignature")) for part in parts]
    d.check(back == calls, f"{name}: what goes back are the calls {back}, expected {calls}")
    said = [part for part in model["parts"] if "text" in part]
    d.check("".join(part["text"] for part in said) == text, f"{name}: the text that goes back")
    d.check([part["thoughtSignature"] for part in said if "thoughtSignature" in part] == signed, f"{name}: signatures")
    answers = [part["functionResponse"]["name"] for part in user["parts"] if "functionResponse" in part]
    d.check(answers == [call[0] for call in calls], f"{name}: answers to {answers}")


def case(exchange, messages=("?",), **more):
    config = {"model": "gemini-recorded", "stream": "stream" in exchange}
    asked = {"messages": list(messages)}
    return {"component": "gemini", "config": config, "input": asked, "exchanges": [exchange], **more}


def framed(lines):
    """As the service does with alt=sse: "data: ", the JSON, CR LF twice."""
    return "".join(f"data: {line}\r\n\r\n" for line in lines)


def main():
    root = d.suites("providers", "google", "generate-content")
    names, cases, rights = [], [], []
    for path in sorted(glob.glob(os.path.join(root, "*"))):
        with open(path, encoding="utf-8") as file:
            recording = file.read()
        name = os.path.basename(path)
        if name.endswith(".chunks.txt"):
            lines = [line for line in recording.splitlines() if line.strip()]
            right = right_of([json.loads(line) for line in lines])
            names += [name[: -len(".txt")], ""]
            cases += [case({"stream": framed(lines)}, cuts=True), case({"stream": framed(lines)}, room=1)]
            rights += [right, right]
        else:
            name = name[: -len(".json")]
            status = ERRORS.get(name, (200,))[0]
            names.append(name)
            cases.append(case({"status": status, "body": recording, "headers": {"content-type": "application/json"}}))
            rights.append(right_of([json.loads(recording)]) if status == 200 else None)
    d.check(len(names) >= 12, f"only {len(names)} recordings")
    drive = d.Drive("gemini")
    before, turns = None, []
    for name, result, right in zip(names, drive(cases), rights):
        if name == "":
            d.check(result.get("output") == before.get("output"), "with back-pressure another message")
            d.check(result["deltas"] == before["deltas"], "with back-pressure other deltas")
            d.check(result["paused"] > 0 or len(result["deltas"]) < 4, "never paused")
            continue
        before = result
        d.check_golden("gemini", name, result)
        if right is None:
            status, code, retryable, after = ERRORS[name]
            error = result.get("error", {})
            d.check(error.get("code") == code, f"{name}: {error}, expected {code}")
            d.check(error.get("retryable") is retryable, f"{name}: {error}")
            d.check(error.get("retry_after_ms") == after, f"{name}: {error}")
            d.check(error.get("detail", {}).get("status") == status, f"{name}: {error}")
            continue
        d.check_deltas(name, result)
        check_answer(name, result, right)
        if "cuts" in result:
            d.check_cuts(name, result)
        if "output" in result:
            message = result["output"]["message"]
            answers = [{"type": "tool", "tool_call_id": c["id"], "content": "ok"} for c in message.get("tool_calls", [])]
            turns.append((name, case({"body": "{}"}, ["?", message, *answers, "Go on"]), right))
    for (name, _, right), result in zip(turns, drive([turn for _, turn, _ in turns])):
        check_back(name, result["requests"][0], right)
    print(f"{len(names)} recordings, {len(turns)} next turns")
    d.finish()


main()
