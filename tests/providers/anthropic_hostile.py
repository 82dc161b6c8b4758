"""Anthropic: malformed streams, made from recorded ones with a fixed random seed. Events are omitted, duplicated, moved, or taken
from another recording; members are removed or get another type.

The task always ends: with INVALID_RESPONSE, with the error of an error event, or with an answer that equals its deltas. The
same holds for a host that takes one delta at a time. Malformed inputs are sent or refused. Sanitizers detect memory errors.
"""
import copy
import json
import os
import random

import drive as d
from anthropic_recorded import case, frame_all, recordings, expected_answer, read_turns
from anthropic_requests import REQUESTS
from anthropic_requests import case as request_case

ROUNDS = int(os.environ.get("TENON_HOSTILE_ROUNDS", "40"))
ODD_VALUES = [None, True, 0, -1, 2**62, 1.5, "", "text", "\u0000", "é" * 40, [], [[]], {}, {"type": "text"}]
CODES = {"INVALID_RESPONSE", "OVERLOADED"}


def all_members(value, found, path=()):
    """Returns (parent, key) of every member of a value."""
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            found.append((value, key))
            all_members(value[key], found, path + (key,))
    return found


def damage_value(rng, value):
    """Removes or replaces one member of the value."""
    found = all_members(value, [])
    if not found:
        return
    parent, key = rng.choice(found)
    if isinstance(parent, dict) and rng.randrange(3) == 0:
        del parent[key]
    else:
        parent[key] = copy.deepcopy(rng.choice(ODD_VALUES))


def damage_events(rng, events, others):
    events = copy.deepcopy(events)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(len(events))
        kind = rng.randrange(7)
        if kind == 0 and len(events) > 1:
            del events[at]
        elif kind == 1:
            events.insert(at, copy.deepcopy(rng.choice(events)))
        elif kind == 2:
            events.insert(at, events.pop(rng.randrange(len(events))))
        elif kind == 3:
            events.insert(at, copy.deepcopy(rng.choice(rng.choice(others))))
        elif kind == 4:
            events[at] = copy.deepcopy(rng.choice(ODD_VALUES))
        else:
            damage_value(rng, events[at])
    return events


def frame_any_value(event):
    if isinstance(event, dict) and isinstance(event.get("type"), str) and "\n" not in event["type"]:
        return frame_all([event])
    return f"event: message\ndata: {json.dumps(event)}\n\n"


def shorten_stream(events):
    """Long streams have many similar events, of which some are enough."""
    return events if len(events) < 60 else events[:30] + events[-15:]


def check_inputs(drive, rng, root):
    inputs = [row[:2] for row in REQUESTS.values()]
    inputs += [({}, {"messages": ["Hi", expected_answer(row[2])["message"], "And?"]}) for row in recordings(root)]
    cases = []
    for config, value in inputs:
        for _ in range(ROUNDS):
            damaged = copy.deepcopy(value)
            for _ in range(rng.choice([1, 1, 3])):
                damage_value(rng, damaged)
            cases.append(request_case(config, damaged))
    counts = {}
    for row, result in zip(cases, drive(cases)):
        code = "sent" if result["requests"] else result.get("error", {}).get("code")
        counts[code] = counts.get(code, 0) + 1
        allowed = {"sent", "INVALID_REQUEST", "UNSUPPORTED"}
        d.check(code in allowed and "open" not in result, f"{json.dumps(row['input'])[:1500]}: {result}")
    print(f"{len(cases)} inputs: {json.dumps(counts)}")
    d.check(counts.get("sent", 0) > 0 and counts.get("INVALID_REQUEST", 0) > 0, "expected more accepted and more refused cases")


def check_schemas(drive):
    """Nested lists of types multiply; the size of the sent schema is bounded."""
    types = ["object", "null", "string", "integer", "boolean", "array", "number"]
    schema = {"type": types}
    for _ in range(6):
        schema = {"type": types, "properties": {"a": schema}, "items": schema}
    result = drive([request_case({}, {"messages": ["Hi"], "response_schema": schema})])[0]
    size = len(json.dumps(result["requests"][0]["json"]))
    d.check(10000 < size < 3000000, f"a schema of {len(json.dumps(schema))} bytes became {size}")


def main():
    root = os.path.join(d.suite_folder("providers"), "anthropic", "messages")
    recorded = [
        shorten_stream(turn)
        for name in sorted(os.listdir(root))
        if name.endswith(".chunks.txt")
        for turn in read_turns(os.path.join(root, name))
    ]
    rng = random.Random(int(os.environ.get("TENON_HOSTILE_SEED", "1")))
    streams = [damage_events(rng, events, recorded) for events in recorded for _ in range(ROUNDS)]
    exchanges = [{"stream": "".join(map(frame_any_value, events))} for events in streams]
    drive = d.Drive("anthropic")
    answers = drive([case(exchange) for exchange in exchanges])
    throttled = drive([case(exchange, room=1) for exchange in exchanges])
    counts = {}
    for number, (events, result, throttled_result) in enumerate(zip(streams, answers, throttled)):
        name = f"stream {number}: {json.dumps(events)[:1500]}"
        code = "answered" if "output" in result else result.get("error", {}).get("code")
        counts[code] = counts.get(code, 0) + 1
        d.check(code == "answered" or code in CODES, f"{name}: {result}")
        d.check(throttled_result.get("output") == result.get("output"), f"{name}: another answer with back-pressure")
        d.check(throttled_result.get("error") == result.get("error"), f"{name}: another error with back-pressure")
        d.check_deltas(name, result)
    print(f"{len(streams)} streams: {json.dumps(counts)}")
    d.check(counts.get("answered", 0) > 0 and counts.get("INVALID_RESPONSE", 0) > 0, "expected more accepted and more refused cases")
    check_inputs(drive, rng, d.suite_folder("providers"))
    check_schemas(drive)
    d.finish()


if __name__ == "__main__":
    main()
