"""Recorded streams with something wrong in them: members gone, of another kind, twice, out of place. Whatever it is,
the task ends, with an answer or with an error; and an answer is one of our shape, that its deltas make."""
import copy
import glob
import json
import os
import random

import drive as d
from openai_recorded import case, framed, lines_of, turns_of

ODD = [None, True, 0, -1, 1e300, 2**63, 2**63 - 1, -(2**63), "", "x", "😀", [], [[]], {}, {"type": "text"}, [None], "{",
    "\u0000"]


def places(value, path=()):
    """Every place in a value: the path to it."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def mutate(events, chance):
    events = copy.deepcopy(events)
    for _ in range(chance.randint(1, 3)):
        kind = chance.random()
        at = chance.randrange(len(events))
        if kind < 0.15:
            events.insert(at, events[chance.randrange(len(events))])
        elif kind < 0.3 and len(events) > 1:
            del events[at]
        elif kind < 0.45:
            other = chance.randrange(len(events))
            events[at], events[other] = events[other], events[at]
        else:
            found = list(places(events[at]))
            if not found:
                continue
            *into, last = chance.choice(found)
            holder = events[at]
            for key in into:
                holder = holder[key]
            if kind < 0.6 and isinstance(holder, dict):
                del holder[last]
            else:
                holder[last] = copy.deepcopy(chance.choice(ODD))
    return events


def check_shape(name, output):
    message = output["message"]
    d.check(message["type"] == "ai" and isinstance(message["content"], (str, list)), f"{name}: {message}")
    kinds = {"text", "reasoning", "refusal", "image", "source"}
    d.check(all(part["type"] in kinds for part in d.parts_of(message)), f"{name}: parts")
    for call in message.get("tool_calls", []):
        d.check(isinstance(call["id"], str) and isinstance(call["name"], str) and call["name"], f"{name}: {call}")
    for count in (output.get("usage") or {}).values():
        d.check(isinstance(count, int) and count >= 0, f"{name}: usage {output['usage']}")


def main():
    root = d.suites("providers")
    chance, cases, names = random.Random(7), [], []
    for folder in ("openai", "openai-compatible"):
        for path in sorted(glob.glob(os.path.join(root, folder, "*", "*.chunks.txt"))):
            kind = os.path.basename(os.path.dirname(path))
            events = [event for event in turns_of(lines_of(path)[0])[0]]
            if len(events) > 80:  # what is between is all the same
                events = events[:40] + events[-40:]
            for event in events:  # shorter, not other
                event.pop("obfuscation", None)
            for number in range(60):
                names.append(f"{os.path.basename(path)} {number}")
                cases.append(case(kind, {"stream": framed(kind, mutate(events, chance))}))
    codes = {}
    for name, result in zip(names, d.Drive("openai")(cases)):
        code = result.get("error", {}).get("code", "answered" if "output" in result else "OPEN")
        codes[code] = codes.get(code, 0) + 1
        d.check(code != "OPEN", f"{name}: the task did not end")
        if "output" in result:
            check_shape(name, result["output"])
            d.check_deltas(name, result)
    d.check(codes.get("answered", 0) > 100 and codes.get("INVALID_RESPONSE", 0) > 100,
        f"too tame, or too wild: {codes}")
    print(codes)
    d.finish()


main()
