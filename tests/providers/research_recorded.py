"""Recorded interactions of Google, and responses of OpenAI, through the tools `interactions.*` and `responses.*`: each has the
expected text, thoughts, calls and usage, whole and streamed. A stream that is cut at any byte continues behind its last event,
or starts again if its events have no numbers, and has the same result.

The expected result is computed here from the recording, not as in the plugin."""
import copy
import glob
import json
import os
import random

import drive as d

STATES = {"in_progress": "running", "queued": "running", "brand_new": "running"}


def frame(events):
    """As the service frames them."""
    return "".join("data: %s\n\n" % json.dumps(event, ensure_ascii=False) for event in events)


def case(component, exchange, given=None, **more):
    return {"tool": True, "component": component, "config": {}, "input": {"id": "v1_x", **(given or {})}, "exchanges": [exchange], **more}


def whole(body):
    return {"body": json.dumps(body, ensure_ascii=False), "headers": {"content-type": "application/json"}}


def reported_usage(usage):
    thought = usage.get("total_thought_tokens", 0)
    return {"input_tokens": usage["total_input_tokens"] + usage.get("total_tool_use_tokens", 0),
            "output_tokens": usage["total_output_tokens"] + thought, "total_tokens": usage["total_tokens"],
            "cached_tokens": usage["total_cached_tokens"], "reasoning_tokens": thought}


def of_interaction(found):
    """(state, text, calls, signatures, usage) of a whole interaction."""
    text = "".join(item["text"] for step in found["steps"] for item in step.get("content", []) if item["type"] == "text")
    calls = [{"name": step["name"], "arguments": step["arguments"], "id": step["id"]} for step in found["steps"] if step["type"] == "function_call"]
    signatures = [step["signature"] for step in found["steps"] if step["type"] == "thought"]
    return found["status"], text, calls, signatures, reported_usage(found["usage"])


def of_events(events):
    """The same of a stream."""
    last = events[-1]["interaction"]
    deltas = [event["delta"] for event in events if event["event_type"] == "step.delta"]
    text = "".join(delta["text"] for delta in deltas if delta["type"] == "text")
    arguments = "".join(delta["arguments"] for delta in deltas if delta["type"] == "arguments_delta")
    calls = [{"name": event["step"]["name"], "arguments": json.loads(arguments), "id": event["step"]["id"]}
             for event in events if event["event_type"] == "step.start" and event["step"]["type"] == "function_call"]
    signatures = [delta["signature"] for delta in deltas if delta["type"] == "thought_signature"]
    return last["status"], text, calls, signatures, reported_usage(last["usage"])


def check_result(name, result, expected):
    state, text, calls, signatures, usage = expected
    if not d.check("output" in result, f"{name}: {result.get('error')}"):
        return
    output = result["output"]
    parts = d.content_parts(output["message"])
    d.check(output["state"] == state == output["status"], f"{name}: the state is {output['state']}, expected {state}")
    d.check(output["text"] == text, f"{name}: the text is {output['text']!r}, expected {text!r}")
    found = [{key: call[key] for key in ("name", "arguments", "id")} for call in output.get("calls", [])]
    d.check(found == calls, f"{name}: the calls are {found}, expected {calls}")
    found = [part["extra"]["gemini"]["signature"] for part in parts if "signature" in part.get("extra", {}).get("gemini", {})]
    d.check(found == signatures, f"{name}: {len(found)} signatures, expected {len(signatures)}")
    d.check(output["usage"] == usage, f"{name}: the usage is {output['usage']}, expected {usage}")


def check_same_after_each_cut(name, result):
    cuts = result["cuts"]
    d.check(cuts["runs"] > 100 and cuts["same"] == cuts["runs"], f"{name}: cut streams end in other ways: {cuts}")


def number(events):
    return [{**event, "event_id": f"e{index}"} for index, event in enumerate(events)]


def older(events):
    """The stream as the service sent it before 2026."""
    words = {"interaction.created": "interaction.start", "interaction.completed": "interaction.complete"}
    changed = []
    for event in events:
        kind = event["event_type"]
        event = {**event, "event_type": words.get(kind, kind.replace("step.", "content."))}
        if "step" in event:
            event["content"] = event.pop("step")
        changed.append(event)
    return changed


def recorded_interactions(drive):
    root = d.suite_folder("providers", "google", "interactions")
    paths = sorted(glob.glob(os.path.join(root, "*")))
    d.check(len(paths) >= 9, f"only {len(paths)} recordings")
    names, cases, expected = [], [], []

    def add(name, made, result):
        names.append(name)
        cases.append(made)
        expected.append(result)

    for path in paths:
        name = os.path.basename(path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if name.endswith(".json"):
            found = json.loads(text)
            add(name, case("interactions.get", whole(found)), of_interaction(found))
            outputs = [item for step in found["steps"] for item in step.get("content", [step])]
            changed = {key: value for key, value in found.items() if key != "steps"}
            add(name + ", older", case("interactions.get", whole({**changed, "outputs": outputs})), of_interaction(found))
            # A service that does not stream sends the interaction.
            add(name + ", not streamed", case("interactions.stream", whole(found)), of_interaction(found))
            continue
        events = [json.loads(line) for line in text.split("\n") if line.strip()]
        result = of_events(events)
        for shape, shown in (("", events), (", older", older(events))):
            add(name + shape, case("interactions.stream", {"stream": frame(shown)}), result)
            add(name + shape + ", cut, without numbers", case("interactions.stream", {"stream": frame(shown)}, cuts=True, resumes=True), result)
            add(name + shape + ", cut, numbered", case("interactions.stream", {"stream": frame(number(shown))}, cuts=True, resumes=True), result)
        add(name + ", with back-pressure", case("interactions.stream", {"stream": frame(events)}, room=1), result)
    before = None
    for name, result, wanted in zip(names, drive(cases), expected):
        check_result(name, result, wanted)
        if "cuts" in result:
            check_same_after_each_cut(name, result)
        if name.endswith("back-pressure"):
            d.check(result["deltas"] == before, f"{name}: other deltas")
        elif "," not in name:
            before = result["deltas"]
    return len(names)


# ---- Kinds of steps, deltas and statuses that no recording has ----

SEARCHES = ["google_search", "google_maps", "url_context", "code_execution", "file_search", "mcp_server_tool", "retrieval",
            "processing", "tool_search"]


def every_step():
    cite = [{"type": "url_citation", "url": "https://a.example/1", "title": "One", "start_index": 0, "end_index": 2},
            {"type": "url_citation", "url": "https://a.example/1", "title": "One", "start_index": 3, "end_index": 5},
            {"type": "file_citation", "document_uri": "gs://b/c.pdf", "file_name": "c.pdf"},
            {"type": "place_citation", "name": "Nara", "url": "https://maps.example/nara"},
            {"type": "word_info", "text": "no source"}]
    steps = [{"type": "user_input", "content": [{"type": "text", "text": "the question"}]},
             {"type": "thought", "summary": [{"type": "text", "text": "Plan"}, {"type": "text", "text": "More"}], "signature": "c2ln"}]
    for kind in SEARCHES:
        steps += [{"type": kind + "_call", "id": kind, "arguments": {}}, {"type": kind + "_result", "call_id": kind, "result": []}]
    steps += [{"type": "function_result", "call_id": "f", "result": "x"},
              {"type": "model_output", "content": [
                  {"type": "text", "text": "Ünd so", "annotations": cite}, {"type": "image", "mime_type": "image/png", "data": "iVBORw0KGgo="},
                  {"type": "audio", "mime_type": "audio/wav", "data": "UklGRg=="}, {"type": "document", "mime_type": "application/pdf", "uri": "gs://b/d.pdf"},
                  {"type": "video", "mime_type": "video/mp4", "uri": "gs://b/e.mp4"}, {"type": "text", "text": " weiter"}]},
              {"type": "a_step_of_2027", "content": {"not": "a list"}}]
    return steps


def streamed(steps):
    events = [{"event_type": "interaction.created", "interaction": {"id": "v1_x", "status": "queued"}},
              {"event_type": "an.event_of_2027", "index": 3}]
    for index, step in enumerate(steps):
        events.append({"event_type": "step.start", "index": index, "step": {"type": step["type"]}})
        deltas = [{"type": step["type"]}]
        if step["type"] == "thought":
            deltas = [{"type": "thought_summary", "content": item} for item in step["summary"]] + [{"type": "thought_signature", "signature": step["signature"]}]
        if step["type"] == "model_output":
            deltas = []
            for item in step["content"]:
                deltas.append({key: value for key, value in item.items() if key != "annotations"})
                if "annotations" in item:
                    deltas.append({"type": "text_annotation_delta", "annotations": item["annotations"]})
        events += [{"event_type": "step.delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"event_type": "step.stop", "index": index, "usage": {}})
    events.append({"event_type": "interaction.completed", "interaction": {"id": "v1_x", "status": "completed"}})
    return number(events)


def every_kind(drive):
    steps = every_step()
    results = drive([case("interactions.get", whole({"id": "v1_x", "status": "completed", "steps": steps})),
                     case("interactions.stream", {"stream": frame(streamed(steps))}, cuts=True, resumes=True)])
    for name, result in zip(("whole", "streamed"), results):
        if not d.check("output" in result, f"every kind, {name}: {result.get('error')}"):
            continue
        output = result["output"]
        d.check(output["text"] == "Ünd so weiter", f"every kind, {name}: the text is {output['text']!r}")
        expected = [("https://a.example/1", "One"), ("gs://b/c.pdf", "c.pdf"), ("https://maps.example/nara", "Nara")]
        found = [(source.get("url"), source.get("title")) for source in output["sources"]]
        d.check(found == expected, f"every kind, {name}: the sources are {found}")
        kinds = [part["type"] for part in d.content_parts(output["message"])]
        for kind, count in (("source", 4), ("image", 1), ("audio", 1), ("file", 2), ("text", 2)):
            d.check(kinds.count(kind) == count, f"every kind, {name}: {kinds.count(kind)} parts of the type {kind}, expected {count}")
        d.check(d.joined_text(output["message"], "reasoning") == "PlanMore", f"every kind, {name}: the thoughts")
        counted = {step["type"]: 1 for step in steps if step["type"] != "user_input"}
        d.check(output["steps"] == counted, f"every kind, {name}: the steps are {output['steps']}")
    check_same_after_each_cut("every kind", results[1])


def every_status(drive):
    words = ["in_progress", "queued", "brand_new", "completed", "requires_action", "requires_continuation", "incomplete",
             "budget_exceeded", "cancelled", "failed"]
    bodies = [{"id": "v1_x", "status": word, "steps": [], "continuation_token": "t", "errors": [{"code": "c", "message": "m"}]} for word in words]
    for word, result in zip(words, drive([case("interactions.get", whole(body)) for body in bodies])):
        output = result.get("output", {})
        d.check((output.get("state"), output.get("status")) == (STATES.get(word, word), word), f"status {word}: {result}")
        d.check(output.get("continuation_token") == "t" and output.get("error", {}).get("message") == "m", f"status {word}: {result}")


# ---- OpenAI ----

def read_events(text):
    """Some recordings lack the brace at the end of a line."""
    events = []
    for line in text.split("\n"):
        try:
            if line.strip():
                events.append(json.loads(line))
        except ValueError:
            events.append(json.loads(line.rstrip() + "}"))
    return events


def openai_responses(drive):
    root = d.suite_folder("providers", "openai", "responses")
    names, cases, expected = [], [], []
    for path in sorted(glob.glob(os.path.join(root, "*"))):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        name = os.path.basename(path)
        events = []
        if name.endswith(".json"):
            response = json.loads(text)
            made = [case("responses.get", whole(response))]
        else:
            events = read_events(text)
            if sum(event.get("type") == "response.completed" for event in events) > 1:
                continue  # several responses of one conversation
            response = events[-1].get("response")
            if response and not response.get("output"):  # some gateways leave it out
                response = {**response, "output": [event["item"] for event in events if event["type"] == "response.output_item.done"]}
            numbered = all("sequence_number" in event for event in events)
            made = [case("responses.stream", {"stream": frame(events)})]
            if numbered and len(text) < 60000:
                made.append(case("responses.stream", {"stream": frame(events)}, cuts=True, resumes=True))
        if not response or not isinstance(response.get("output"), list) or response.get("status") not in ("completed", "incomplete"):
            continue
        for each in made:
            names.append(name)
            cases.append(each)
            expected.append(response)
    d.check(len(names) >= 20, f"only {len(names)} responses")
    for name, result, response in zip(names, drive(cases), expected):
        if not d.check("output" in result, f"{name}: {result.get('error')}"):
            continue
        output = result["output"]
        content = [part for item in response["output"] if item["type"] == "message" for part in item["content"]]
        calls = [item for item in response["output"] if item["type"] == "function_call"]
        text = "".join(part.get("text", "") for part in content)
        d.check(output["text"] == text, f"{name}: the text is {output['text']!r}, expected {text!r}")
        found = [call["id"] for call in output.get("calls", [])]
        d.check(found == [call["call_id"] for call in calls], f"{name}: the calls are {found}, expected {calls}")
        state = "requires_action" if calls and response["status"] == "completed" else response["status"]
        d.check(output["state"] == state, f"{name}: the state is {output['state']}, expected {state}")
        urls = {note["url"] for part in content for note in part.get("annotations", []) if note.get("url")}
        d.check({source["url"] for source in output["sources"] if "url" in source} == urls, f"{name}: the sources")
        if response.get("usage"):
            d.check(output["usage"]["total_tokens"] == response["usage"]["total_tokens"], f"{name}: the usage")
        if "cuts" in result:
            check_same_after_each_cut(name, result)
    return len(names)


# ---- Hostile services ----

ODD_VALUES = [None, True, 0, -1, 1e300, 2**63, -(2**63), "", "x", "😀", [], [[]], {}, {"type": "text"}, [None], "{", "\u0000"]


def member_paths(value, path=()):
    """The path of every member of a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from member_paths(item, (*path, key))


def mutated(value, rng):
    """A copy with one to three members that are missing or of another type."""
    value = copy.deepcopy(value)
    for _ in range(rng.randint(1, 3)):
        found = list(member_paths(value))
        if not found:
            break
        *path, last = rng.choice(found)
        parent = value
        for key in path:
            parent = parent[key]
        if rng.random() < 0.2:
            del parent[last]
        else:
            parent[last] = copy.deepcopy(rng.choice(ODD_VALUES))
    return value


def hostile(drive, prefix, resource, events):
    """Every call ends with a result or an error; with a result, it has the shape that a caller relies on."""
    rng, cases = random.Random(7), []
    for _ in range(120):
        cases.append(case(prefix + ".get", whole(mutated(resource, rng))))
        stream = mutated(events, rng)
        if rng.random() < 0.3:
            rng.shuffle(stream)
        shown = frame(event for event in stream if event is not None)
        # The connection can break four times; then the stream is stalled.
        cases.append({**case(prefix + ".stream", {"stream": shown}), "exchanges": [{"stream": shown}] * 12})
    codes = {}
    for made, result in zip(cases, drive(cases)):
        code = result.get("error", {}).get("code", "answered" if "output" in result else "OPEN")
        codes[code] = codes.get(code, 0) + 1
        d.check(code != "OPEN", f"{made['component']}: the task did not end")
        output = result.get("output")
        if output is None:
            continue
        d.check(isinstance(output["id"], str) and output["state"] in ALL_STATES and isinstance(output["status"], str), f"{output}")
        if output["state"] != "running":
            d.check(isinstance(output["text"], str) and isinstance(output["sources"], list) and output["message"]["type"] == "ai", f"{output}")
    d.check(codes.get("answered", 0) > 120, f"expected more answers: {codes}")


ALL_STATES = ["running", "completed", "requires_action", "requires_continuation", "incomplete", "budget_exceeded", "cancelled", "failed"]


def main():
    gemini, openai = d.Drive("gemini"), d.Drive("openai")
    count = recorded_interactions(gemini)
    every_kind(gemini)
    every_status(gemini)
    responses = openai_responses(openai)
    steps = every_step()
    hostile(gemini, "interactions", {"id": "v1_x", "status": "completed", "steps": steps, "usage": {"total_tokens": 3}}, streamed(steps))
    root = d.suite_folder("providers", "openai", "responses")
    with open(os.path.join(root, "openai-web-search-tool.1.chunks.txt"), encoding="utf-8") as file:
        events = read_events(file.read())
    hostile(openai, "responses", events[-1]["response"], [events[0], *events[-12:]])
    print(f"{count} cases of interactions, {responses} of responses")
    d.finish()


main()
