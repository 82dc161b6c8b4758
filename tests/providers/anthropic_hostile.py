"""Anthropic: streams as nobody should send them, made of recorded ones by chance (the same on every run): events left out,
doubled, put elsewhere, taken from another recording; members taken away or of another kind.

Whatever comes, the task ends, with an error that says INVALID_RESPONSE or what an error event said, or with an answer that
is what its deltas make; the same for one who takes a delta at a time. So it is with what a model is given: inputs, spoilt, are sent or refused. The
sanitizers see to the rest.
"""
import copy
import json
import os
import random

import drive as d
from anthropic_recorded import case, framed, recordings, right_answer, turns_of
from anthropic_requests import REQUESTS
from anthropic_requests import case as asking

ROUNDS = int(os.environ.get("TENON_HOSTILE_ROUNDS", "40"))
KINDS = [None, True, 0, -1, 2**62, 1.5, "", "text", "\u0000", "é" * 40, [], [[]], {}, {"type": "text"}]
CODES = {"INVALID_RESPONSE", "OVERLOADED"}


def places(value, found, path=()):
    """Every place in a value."""
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            found.append((value, key))
            places(value[key], found, path + (key,))
    return found


def spoil_value(chance, value):
    """One member of it taken away, or another."""
    found = places(value, [])
    if not found:
        return
    holder, key = chance.choice(found)
    if isinstance(holder, dict) and chance.randrange(3) == 0:
        del holder[key]
    else:
        holder[key] = copy.deepcopy(chance.choice(KINDS))


def spoil(chance, events, others):
    events = copy.deepcopy(events)
    for _ in range(chance.choice([1, 1, 2, 5])):
        at = chance.randrange(len(events))
        what = chance.randrange(7)
        if what == 0 and len(events) > 1:
            del events[at]
        elif what == 1:
            events.insert(at, copy.deepcopy(chance.choice(events)))
        elif what == 2:
            events.insert(at, events.pop(chance.randrange(len(events))))
        elif what == 3:
            events.insert(at, copy.deepcopy(chance.choice(chance.choice(others))))
        elif what == 4:
            events[at] = copy.deepcopy(chance.choice(KINDS))
        else:
            spoil_value(chance, events[at])
    return events


def frame_any(event):
    if isinstance(event, dict) and isinstance(event.get("type"), str) and "\n" not in event["type"]:
        return framed([event])
    return f"event: message\ndata: {json.dumps(event)}\n\n"


def small(events):
    """Long streams have many events that are alike: some of them are enough."""
    return events if len(events) < 60 else events[:30] + events[-15:]


def check_inputs(drive, chance, root):
    given = [it[:2] for it in REQUESTS.values()]
    given += [({}, {"messages": ["Hi", right_answer(it[2])["message"], "And?"]}) for it in recordings(root)]
    cases = []
    for config, value in given:
        for _ in range(ROUNDS):
            spoilt = copy.deepcopy(value)
            for _ in range(chance.choice([1, 1, 3])):
                spoil_value(chance, spoilt)
            cases.append(asking(config, spoilt))
    ended = {}
    for it, result in zip(cases, drive(cases)):
        code = "sent" if result["requests"] else result.get("error", {}).get("code")
        ended[code] = ended.get(code, 0) + 1
        right = {"sent", "INVALID_REQUEST", "UNSUPPORTED"}
        d.check(code in right and "open" not in result, f"{json.dumps(it['input'])[:1500]}: {result}")
    print(f"{len(cases)} inputs: {json.dumps(ended)}")
    d.check(ended.get("sent", 0) > 0 and ended.get("INVALID_REQUEST", 0) > 0, "chance did not do its part")


def check_schemas(drive):
    """Types in lists multiply where they are nested: not without an end."""
    types = ["object", "null", "string", "integer", "boolean", "array", "number"]
    schema = {"type": types}
    for _ in range(6):
        schema = {"type": types, "properties": {"a": schema}, "items": schema}
    result = drive([asking({}, {"messages": ["Hi"], "response_schema": schema})])[0]
    size = len(json.dumps(result["requests"][0]["json"]))
    d.check(10000 < size < 3000000, f"a schema of {len(json.dumps(schema))} bytes became {size}")


def main():
    root = os.path.join(d.suites("providers"), "anthropic", "messages")
    recorded = [
        small(turn)
        for name in sorted(os.listdir(root))
        if name.endswith(".chunks.txt")
        for turn in turns_of(os.path.join(root, name))
    ]
    chance = random.Random(int(os.environ.get("TENON_HOSTILE_SEED", "1")))
    streams = [spoil(chance, events, recorded) for events in recorded for _ in range(ROUNDS)]
    exchanges = [{"stream": "".join(map(frame_any, events))} for events in streams]
    drive = d.Drive("anthropic")
    answers = drive([case(exchange) for exchange in exchanges])
    slow = drive([case(exchange, room=1) for exchange in exchanges])
    ended = {}
    for number, (events, result, slowly) in enumerate(zip(streams, answers, slow)):
        name = f"stream {number}: {json.dumps(events)[:1500]}"
        code = "answered" if "output" in result else result.get("error", {}).get("code")
        ended[code] = ended.get(code, 0) + 1
        d.check(code == "answered" or code in CODES, f"{name}: {result}")
        d.check(slowly.get("output") == result.get("output"), f"{name}: with back-pressure another answer")
        d.check(slowly.get("error") == result.get("error"), f"{name}: with back-pressure another error")
        d.check_deltas(name, result)
    print(f"{len(streams)} streams: {json.dumps(ended)}")
    d.check(ended.get("answered", 0) > 0 and ended.get("INVALID_RESPONSE", 0) > 0, "chance did not do its part")
    check_inputs(drive, chance, d.suites("providers"))
    check_schemas(drive)
    d.finish()


if __name__ == "__main__":
    main()
