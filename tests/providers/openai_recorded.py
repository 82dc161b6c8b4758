"""Recorded answers of OpenAI and compatible services: each has the expected message, tool calls, usage and finish reason,
streamed, whole, and cut at every byte.

The expected result is computed here from the recording (from the last event, if it is complete), not as in the plugin. The
golden files contain the rest: the order of parts, and extra."""
import glob
import json
import os

import drive as d

USAGE = {"input": ("prompt_tokens", "input_tokens"), "output": ("completion_tokens", "output_tokens")}


def expected_usage(usage):
    if not usage:
        return None
    read = {name: next((usage[key] for key in keys if key in usage), 0) for name, keys in USAGE.items()}
    output_details = usage.get("completion_tokens_details") or usage.get("output_tokens_details") or {}
    input_details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details") or {}
    reasoning = output_details.get("reasoning_tokens")
    if reasoning and read["input"] + read["output"] + reasoning == usage["total_tokens"]:
        read["output"] += reasoning  # counted separately
    reported = {"input_tokens": read["input"], "output_tokens": read["output"], "total_tokens": usage["total_tokens"]}
    more = {"cached_tokens": input_details.get("cached_tokens"), "reasoning_tokens": reasoning}
    more["cache_write_tokens"] = input_details.get("cache_write_tokens")
    return {**reported, **{key: value for key, value in more.items() if value is not None}}


def assemble_chat(events):
    """Assembles a chat answer from its chunks."""
    message, finish, usage = {"content": "", "reasoning_content": "", "tool_calls": []}, None, None
    for event in events:
        usage = event.get("usage") or usage
        for choice in event["choices"]:
            delta = choice.get("delta") or {"content": choice.get("text")}
            for key in ("content", "reasoning_content"):
                message[key] += delta.get(key) or ""
            for call in delta.get("tool_calls") or []:
                while len(message["tool_calls"]) <= call["index"]:
                    message["tool_calls"].append({"function": {"arguments": ""}})
                target = message["tool_calls"][call["index"]]
                target["id"] = call.get("id") or target.get("id")
                target["function"]["name"] = call["function"].get("name") or target["function"].get("name")
                target["function"]["arguments"] += call["function"].get("arguments") or ""
            finish = choice.get("finish_reason") or finish
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


def expected_chat(answer):
    choice = answer["choices"][0]
    message = choice.get("message") or {"content": choice["text"]}
    calls = [
        (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
        for call in message.get("tool_calls") or []
    ]
    reasoning = message.get("reasoning_content") or ""
    return message["content"] or "", reasoning, calls, 0, 0, choice["finish_reason"], expected_usage(answer.get("usage"))


def expected_responses(response, events):
    items = response["output"] or [e["item"] for e in events or [] if e["type"] == "response.output_item.done"]
    text, reasoning, calls, images, sources = "", "", [], 0, 0
    for item in items:
        if item["type"] == "message":
            for part in item["content"]:
                text += part["text"]
                sources += len(part["annotations"])
        elif item["type"] == "reasoning":
            reasoning += "".join(part["text"] for part in item["summary"])
        elif item["type"] == "function_call":
            calls.append((item["call_id"], item["name"], json.loads(item["arguments"])))
        elif item["type"] == "custom_tool_call":
            calls.append((item["call_id"], item["name"], {"input": item["input"]}))
        elif item["type"] == "image_generation_call":
            images += 1
    finish = "tool_calls" if calls else "stop"
    return text, reasoning, calls, images, sources, finish, expected_usage(response["usage"])


def check_answer(name, result, expected):
    text, reasoning, calls, images, sources, finish, usage = expected
    if not d.check("output" in result, f"{name}: {result.get('error')}"):
        return
    output = result["output"]
    message = output["message"]
    actual = [(call["id"], call["name"], call["arguments"]) for call in message.get("tool_calls", [])]
    kinds = [part["type"] for part in d.content_parts(message)]
    d.check(d.joined_text(message) == text, f"{name}: the text is {d.joined_text(message)!r}, expected {text!r}")
    d.check(d.joined_text(message, "reasoning") == reasoning, f"{name}: reasoning")
    d.check(actual == calls, f"{name}: the tool calls are {actual}, expected {calls}")
    d.check(kinds.count("image") == images, f"{name}: images")
    d.check(kinds.count("source") == sources, f"{name}: {kinds.count('source')} sources, expected {sources}")
    d.check(output["finish_reason"] == finish, f"{name}: finish_reason {output['finish_reason']}, expected {finish}")
    d.check(output.get("usage") == usage, f"{name}: usage {output.get('usage')}, expected {usage}")


def frame_all(kind, events):
    if kind == "responses":
        return "".join(f"event: {event.get('type')}\ndata: {json.dumps(event)}\n\n" for event in events)
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"


def read_lines(path):
    """Returns the events, and true if each line is valid JSON. One recording has lines without their last brace."""
    events, valid = [], True
    with open(path, encoding="utf-8") as file:
        for line in file:
            if not line.strip():
                continue
            try:
                events.append(json.loads(line))
            except ValueError:
                valid = False
                events.append(json.loads(line.rstrip() + "}"))
    return events, valid


def case(kind, exchange, **more):
    config = {"model": "recorded", "api": "responses" if kind == "responses" else "chat"}
    config["stream"] = "stream" in exchange
    messages = [{"type": "user", "content": "?"}]
    found = {"component": "openai", "config": config, "input": {"messages": messages}, "exchanges": [exchange]}
    return {**found, **more}


def split_turns(events):
    """A recording may hold several answers, one after the other."""
    turns = []
    for event in events:
        if not turns or event.get("type") == "response.created":
            turns.append([])
        turns[-1].append(event)
    return turns


ERRORS = {  # recording: its HTTP status, our code, retryable
    "reasoning-model-legacy-parameter-error": (400, "INVALID_REQUEST", False),
    "reasoning-model-temperature-error": (400, "INVALID_REQUEST", False),
    "gpt-image-response-format-error": (400, "INVALID_REQUEST", False),
    "openai-error.1": (429, "QUOTA", False),
}


def check_wrapper(drive, root):
    """A call of the wrapper `parallel` is replaced by the calls in it, if their tools are offered."""
    events, _ = read_lines(os.path.join(root, "openai", "responses", "parallel-tool-call-wrapper.1.chunks.txt"))
    names = ["weather", "cityAttractions"]
    inner_calls = [("call_parallel_0", names[0], {"location": "San Francisco"}), ("call_parallel_1", names[1],
        {"city": "Rome"})]
    for offered, expected in ((names, inner_calls), (names[:1], None), ([*names, "parallel"], None)):
        given = {"messages": "?", "tools": [{"name": name} for name in offered]}
        request = {**case("responses", {"stream": frame_all("responses", events)}), "input": given}
        result = drive([request])[0]
        calls = [(call["id"], call["name"], call["arguments"]) for call in result["output"]["message"]["tool_calls"]]
        d.check_deltas("parallel", result)
        if expected:
            d.check(calls == expected, f"parallel: {calls}")
        else:
            d.check([call[:2] for call in calls] == [("call_parallel", "parallel")], f"parallel: {calls}")


def main():
    root = d.suite_folder("providers")
    names, cases, expected_results = [], [], []
    for folder in ("openai", "openai-compatible"):
        for path in sorted(glob.glob(os.path.join(root, folder, "*", "*"))):
            kind, name = os.path.basename(os.path.dirname(path)), os.path.basename(path)
            if name.endswith(".chunks.txt"):
                events, valid = read_lines(path)
                for turn, part in enumerate(split_turns(events)):
                    failed = kind == "responses" and part[-1]["type"] == "response.failed"
                    expected = None
                    if not failed and kind == "responses":
                        expected = expected_responses(part[-1]["response"], part)
                    elif not failed:
                        expected = expected_chat(assemble_chat(part))
                    stream = frame_all(kind, part)
                    names.append(f"{folder}/{kind}/{name[:-len('.txt')]}" + (f".turn{turn + 1}" if turn else ""))
                    cases.append(case(kind, {"stream": stream}, cuts=not failed))
                    expected_results.append(expected)
                    # The same with a host that takes two deltas at a time.
                    names.append("")
                    cases.append(case(kind, {"stream": stream}, room=2))
                    expected_results.append(expected)
                if not valid:  # the recording itself is not a valid stream
                    with open(path, encoding="utf-8") as file:
                        lines = [line.strip() for line in file if line.strip()]
                    names.append(f"{folder}/{kind}/{name[:-len('.txt')]}.as_recorded")
                    cases.append(case(kind, {"stream": "".join(f"event: x\ndata: {line}\n\n" for line in lines)}))
                    expected_results.append(None)
                continue
            with open(path, encoding="utf-8") as file:
                text = file.read()
            stem = name[: -len(".json")]
            status = ERRORS.get(stem, (200,))[0]
            names.append(f"{folder}/{kind}/{stem}")
            cases.append(case(kind, {"status": status, "body": text, "headers": {"content-type": "application/json"}}))
            answer = json.loads(text)
            expected = None
            if status == 200:
                expected = expected_responses(answer, None) if kind == "responses" else expected_chat(answer)
            expected_results.append(expected)
    d.check(len(names) > 60, f"only {len(names)} recordings")
    before = None
    for name, result, expected in zip(names, d.Drive("openai")(cases), expected_results):
        if name == "":
            normal, deltas = before, result["deltas"]
            d.check(result.get("output") == normal.get("output"), "with back-pressure another message")
            d.check(deltas == normal["deltas"], "with back-pressure other deltas")
            d.check("output" not in result or result["paused"] > 0 or len(deltas) < 5, "never paused")
            continue
        before = result
        d.check_golden("openai", name, result)
        d.check_deltas(name, result)
        if "cuts" in result:
            d.check_cuts(name, result)
        if expected is not None:
            check_answer(name, result, expected)
        else:
            stem = name.split("/")[-1]
            code, retryable = ERRORS.get(stem, (0, "INVALID_RESPONSE", True))[1:]
            if stem == "openai-error.1.chunks":
                code, retryable = "QUOTA", False
            error = result.get("error", {})
            d.check(error.get("code") == code, f"{name}: {error}, expected {code}")
            d.check(error.get("retryable") is retryable, f"{name}: retryable {error.get('retryable')}")
            d.check(error.get("detail", {}).get("provider") == "openai", f"{name}: detail {error.get('detail')}")
    check_wrapper(d.Drive("openai"), root)
    print(f"{len(names)} cases")
    d.finish()


if __name__ == "__main__":
    main()
