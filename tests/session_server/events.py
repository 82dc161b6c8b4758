#!/usr/bin/env python3
"""Recorded runs (tests/protocols/runs) as data of sessions, compared with golden ones and the schemas of
plugins/session_server/schema; mutated runs; and sessions that are wrong. `events.py --write` writes the golden files.
"""
import copy
import json
import os
import pathlib
import random
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
DRIVE = os.environ["SESSION_DRIVE"]
SCHEMAS = HERE.parent.parent / "plugins" / "session_server" / "schema"
STREAM, RESPONSE = (json.loads((SCHEMAS / f"{name}.schema.json").read_text()) for name in ("stream_response_data", "agent_response_data"))
KINDS = {"object": dict, "array": list, "string": str, "integer": int, "null": type(None), "boolean": bool}


def valid(schema, value):
    """The part of JSON Schema that the schemas use; tests/e2e/session_server checks with another implementation."""
    kinds = schema.get("type", list(KINDS))
    assert any(isinstance(value, KINDS[kind]) for kind in ([kinds] if isinstance(kinds, str) else kinds)), (schema, value)
    assert value in schema.get("enum", [value]), (schema, value)
    if isinstance(value, dict):
        assert set(schema.get("required", [])) <= set(value), (schema, value)
        assert schema.get("additionalProperties", True) or set(value) <= set(schema["properties"]), value
        for key, member in value.items():
            valid(schema.get("properties", {}).get(key, {}), member)
    if isinstance(value, list):
        for item in value:
            valid(schema.get("items", {}), item)


def drive(lines):
    result = subprocess.run([DRIVE], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr[-2000:]
    return result.stdout


def check(lines):
    output = drive(lines)
    *stream, last = map(json.loads, output.splitlines())
    for data in stream:
        valid(STREAM, data["stream"])
    valid(RESPONSE, last["response"])
    assert [data["stream"]["status"] == "running" for data in stream] == [True] * (len(stream) - 1) + [False]
    return output


def wrong(value, rng):
    """The value with one member of another type."""
    if isinstance(value, dict) and value:
        key = rng.choice(list(value))
        return {**value, key: wrong(value[key], rng)} if key != "type" else value
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        return [*value[:at], wrong(value[at], rng), *value[at + 1:]]
    return rng.choice([None, 1, "x", [], {}, True, [None], {"type": "ai"}])


def mutate(events, rng):
    events = list(events)
    for _ in range(rng.randint(1, 6)):
        if not events:
            break
        at, what = rng.randrange(len(events)), rng.randrange(4)
        if what == 0:
            del events[at]
        elif what == 1:
            events.insert(at, events[at])
        elif what == 2:
            other = rng.randrange(len(events))
            events[at], events[other] = events[other], events[at]
        else:
            events[at] = wrong(events[at], rng)
    return events


SESSION = {"id": "s", "start_time": "t", "character": "c", "status": "new", "messages": [{"role": "user", "content": "hi"}]}
APPROVAL = {"id": "a", "payload": {"kind": "approval", "tool": "memory.put"}}
QUESTION = {"id": "q", "payload": {"question": "Who?"}, "schema": {"type": "string"}}


def sessions():
    def said(text, *interrupts, config=None, only=False):
        session = {**SESSION, "messages": [{"role": "user", "content": text}], "config": config or {}}
        return {"session": session, "interrupts": list(interrupts), "config": only}

    yes, no = {"a": {"approved": True}}, {"a": {"approved": False}}
    automatic = {"tool": {"memory.put": {"auto_approve": True}}}
    for case, answers in [
        (said("[approve]", APPROVAL), yes), (said("ok\n [approve memory.put] \n", APPROVAL), yes), (said("[deny]", APPROVAL), no),
        (said("[approve memory.get]", APPROVAL), None), (said("please [approve]", APPROVAL), None), (said("yes", APPROVAL), None),
        (said("x", APPROVAL, config=automatic), yes), (said("x", APPROVAL, config=automatic, only=True), yes),
        (said("[deny]", APPROVAL, config=automatic), no), (said("[approve]", APPROVAL, only=True), None),
        (said("children", QUESTION), {"q": "children"}), (said("children", QUESTION, APPROVAL), None), (said("x"), None),
        (said("x", APPROVAL, config={"tool": {"memory.put": {"auto_approve": False}}}), None)]:
        assert json.loads(drive([json.dumps(case)])) == {"answers": answers}, case
    for wrong_one, place in [(7, "/"), ({}, "/"), ({**SESSION, "id": ""}, "/id"), ({**SESSION, "id": "a/b"}, "/id"), ({**SESSION, "id": "x" * 101}, "/id"),
                             ({**SESSION, "title": 7}, "/title"), ({**SESSION, "messages": []}, "/messages"),
                             ({**SESSION, "messages": [{"role": "robot", "content": ""}]}, "/messages/0/role"),
                             ({**SESSION, "messages": [{"role": "user"}]}, "/messages/0"),
                             ({**SESSION, "messages": [{"role": "user", "content": None}]}, "/messages/0/content"),
                             ({**SESSION, "config": None}, "/config"), ({**SESSION, "config": {"tool": {"t": {"auto_approve": 1}}}}, "/config/tool/t/auto_approve")]:
        reason = json.loads(drive([json.dumps({"session": wrong_one})]))["reason"]
        assert f"at `{place}`: " in reason, (wrong_one, reason)
    rng = random.Random(3)
    drive([json.dumps({"session": wrong(copy.deepcopy(SESSION), rng), "interrupts": wrong([APPROVAL, QUESTION], rng)}) for _ in range(300)])


def lost(lines):
    """The run without its first delta: the answer is the same, and no piece of a message follows."""
    first, *events = map(json.loads, lines)
    at = next(i for i, event in enumerate(events) if "content" in event.get("delta", {}))
    events[at + 1]["missed"] = 1
    output = check([json.dumps(event) for event in [first, *events[:at], *events[at + 1:]]]).splitlines()
    whole = [message["content"] for message in json.loads(output[-1])["response"]["messages"] if message["role"] == "assistant"]
    assert output[-1] == check(lines).splitlines()[-1], output[-1]
    for line in output[:-2]:
        message = json.loads(line)["stream"]["message"]
        assert message["role"] != "assistant" or message["content"] in whole, (message, whole)


def main():
    names = sorted((HERE.parent / "protocols" / "runs").glob("*.jsonl"))
    assert len(names) > 10
    for path in names:
        lines = path.read_text().splitlines()
        output, golden = check(lines), HERE / "golden" / path.name
        if "--write" in sys.argv:
            golden.write_text(output)
        assert output == golden.read_text(), f"{path.name}: the data differ from golden/{path.name}"
        first, *events, last = map(json.loads, lines)
        rng = random.Random(path.name)
        for _ in range(10):
            text = [json.dumps(event) for event in [first, *mutate(events, rng), last]]
            try:
                check(text)
            except Exception:
                print("\n".join(text))
                raise
    for name in ("tools", "parallel", "length"):
        lost((HERE.parent / "protocols" / "runs" / f"{name}.jsonl").read_text().splitlines())
    sessions()
    print(f"{len(names)} runs")


main()
