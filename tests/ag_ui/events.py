#!/usr/bin/env python3
"""Recorded runs as events of AG-UI, compared with golden ones; mutated runs; and patches of random states.

The runs are those of tests/protocols/runs, which other protocols use, too, and those of recorded/ here. `events.py
--write` writes the golden files. `Client` has the rules of verifyEvents of @ag-ui/client 1.0.0; tests/e2e/ag_ui runs
the client itself.
"""
import copy
import json
import os
import pathlib
import random
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
DRIVE = os.environ["AG_UI_DRIVE"]
OPEN = {"TEXT_MESSAGE_START": "text", "TOOL_CALL_START": "call", "REASONING_START": "span", "REASONING_MESSAGE_START": "thought"}
INSIDE = {"TEXT_MESSAGE_CONTENT": "text", "TOOL_CALL_ARGS": "call", "REASONING_MESSAGE_CONTENT": "thought"}
CLOSE = {"TEXT_MESSAGE_END": "text", "TOOL_CALL_END": "call", "REASONING_END": "span", "REASONING_MESSAGE_END": "thought"}
FIELDS = {  # required and optional members, without type and subagentRunId
    "RUN_STARTED": ("threadId runId", "protocolVersion"), "RUN_FINISHED": ("threadId runId outcome", "usage"),
    "RUN_ERROR": ("message", "code usage"), "STEP_STARTED": ("stepName", ""), "STEP_FINISHED": ("stepName", ""),
    "TEXT_MESSAGE_START": ("messageId role", ""), "TEXT_MESSAGE_CONTENT": ("messageId delta", ""),
    "TEXT_MESSAGE_END": ("messageId", ""), "REASONING_START": ("messageId", ""),
    "REASONING_MESSAGE_START": ("messageId role", ""), "REASONING_MESSAGE_CONTENT": ("messageId delta", ""),
    "REASONING_MESSAGE_END": ("messageId", ""), "REASONING_END": ("messageId", ""),
    "TOOL_CALL_START": ("toolCallId toolCallName", "parentMessageId"), "TOOL_CALL_ARGS": ("toolCallId delta", ""),
    "TOOL_CALL_END": ("toolCallId", ""), "TOOL_CALL_RESULT": ("messageId toolCallId content role", ""),
    "STATE_SNAPSHOT": ("snapshot", ""), "STATE_DELTA": ("delta", ""), "CUSTOM": ("name value", ""),
    "ACTIVITY_SNAPSHOT": ("messageId activityType content", ""), "SUBAGENT_STARTED": ("name", "parentSubagentRunId"),
    "SUBAGENT_FINISHED": ("outcome", ""),
}
FREE = {"snapshot", "value", "content", "metadata", "delta", "responseSchema"}  # what graphs write, which can be null


def without_null(value):
    for key, member in value.items():
        if key in FREE:
            continue
        assert member is not None, key
        for item in member if isinstance(member, list) else [member]:
            if isinstance(item, dict):
                without_null(item)


def apply(state, patch):
    state = copy.deepcopy(state)
    for operation in patch:
        *way, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        at = state
        for part in way:
            at = at[int(part)] if isinstance(at, list) else at[part]
        if isinstance(at, list):
            assert operation["op"] == "add" and last == "-"
            at.append(operation["value"])
            continue
        assert operation["op"] == "add" or last in at
        if operation["op"] == "remove":
            del at[last]
        else:
            at[last] = operation["value"]
    return state


class Client:
    def __init__(self, head):
        self.open, self.owner, self.steps, self.agents, self.closed = set(), {}, set(), set(), set()
        self.ended, self.begun, self.state = False, False, head.get("client_state")

    def take(self, event):
        kind, agent = event["type"], event.get("subagentRunId")
        required, optional = (set(names.split()) for names in FIELDS[kind])
        members = set(event) - {"type", "subagentRunId"}
        assert required <= members <= required | optional, event
        without_null(event)
        assert self.begun == (kind != "RUN_STARTED") and not self.ended, event
        self.begun = True
        key = event.get("messageId", event.get("toolCallId"))
        if kind in OPEN:
            assert (OPEN[kind], key) not in self.open
            self.open.add((OPEN[kind], key))
            self.owner[OPEN[kind], key] = agent
        elif kind in INSIDE or kind in CLOSE:
            name = INSIDE.get(kind) or CLOSE[kind]
            assert (name, key) in self.open and agent == self.owner[name, key]
            if kind in CLOSE:
                self.open.remove((name, key))
        elif kind == "STEP_STARTED":
            assert event["stepName"] not in self.steps
            self.steps.add(event["stepName"])
        elif kind == "STEP_FINISHED":
            self.steps.remove(event["stepName"])
        elif kind == "SUBAGENT_STARTED":
            assert agent not in self.agents | self.closed
            assert event.get("parentSubagentRunId") in self.agents | self.closed | {None}
            self.agents.add(agent)
        elif kind == "SUBAGENT_FINISHED":
            self.agents.remove(agent)
            self.closed.add(agent)
        elif kind == "STATE_SNAPSHOT":
            self.state = event["snapshot"]
        elif kind == "STATE_DELTA":
            self.state = apply(self.state, event["delta"])
        elif kind == "RUN_FINISHED":
            assert not self.open and not self.steps and not self.agents, (self.open, self.steps, self.agents)
            self.ended = True
        elif kind == "RUN_ERROR":
            self.ended = True


def drive(lines):
    result = subprocess.run([DRIVE], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr[-2000:]
    return result.stdout


def check(lines):
    head = json.loads(lines[0])
    output, client = drive(lines), Client(head)
    for line in output.splitlines():
        client.take(json.loads(line))
    assert client.ended
    return output, client


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


def random_state(rng, depth=0):
    kind = rng.randrange(6 if depth < 4 else 4)
    if kind < 4 and depth > 0:
        return rng.choice([1, 2, "a", True, None, 1.5])
    if kind == 4 and depth > 0:
        return [random_state(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice(["a", "b", "x/y", "t~k", "~1", ""]): random_state(rng, depth + 1) for _ in range(rng.randrange(5))}


def patches(rng):
    pairs = [(random_state(rng), random_state(rng)) for _ in range(400)]
    pairs += [({"a": [1, 2]}, {"a": [1, 2, 3]}), ({}, {}), ({"a": {str(i): 1 for i in range(1200)}}, {"a": {}})]
    output = drive([json.dumps({"before": before, "after": after}) for before, after in pairs]).splitlines()
    for (before, after), line in zip(pairs, output, strict=True):
        patch = json.loads(line)
        if patch is not None:
            assert apply(before, patch) == after, (before, after, patch)
    assert json.loads(output[-3]) == [{"op": "add", "path": "/a/-", "value": 3}] and output[-2:] == ["[]", "null"]


def lost(lines):
    """The run without its first delta: all texts come, and no piece of one follows."""
    def texts(output):
        made = {}
        for event in map(json.loads, output.splitlines()):
            if event["type"] == "TEXT_MESSAGE_CONTENT":
                made[event["messageId"]] = made.get(event["messageId"], "") + event["delta"]
        return sorted(made.values())

    first, *events = map(json.loads, lines)
    at = next(i for i, event in enumerate(events) if "content" in event.get("delta", {}))
    events[at + 1]["missed"] = 1
    output, client = check([json.dumps(event) for event in [first, *events[:at], *events[at + 1:]]])
    whole, expected = check(lines)
    assert texts(output) == texts(whole), output
    assert client.state == expected.state


def main():
    names = sorted([*HERE.glob("recorded/*.jsonl"), *(HERE.parent / "protocols" / "runs").glob("*.jsonl")])
    assert len(names) > 14
    for path in names:
        lines = path.read_text().splitlines()
        output, client = check(lines)
        golden, (first, *events, last) = HERE / "golden" / path.name, map(json.loads, lines)
        if "--write" in sys.argv:
            golden.write_text(output)
        assert output == golden.read_text(), f"{path.name}: the events differ from golden/{path.name}"
        if path.stem == "state":
            assert client.state == last["state"]
        rng = random.Random(path.name)
        for _ in range(15):
            text = [json.dumps(event) for event in [first, *mutate(events, rng), last]]
            try:
                check(text)
            except Exception:
                print("\n".join(text))
                raise
    for name in ("tools", "parallel", "reasoning", "length"):
        lost((HERE.parent / "protocols" / "runs" / f"{name}.jsonl").read_text().splitlines())
    patches(random.Random(1))
    print(f"{len(names)} runs")


main()
