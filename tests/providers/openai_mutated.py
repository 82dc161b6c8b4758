"""Recorded streams with mutations: missing, duplicated, moved members, or members of another type. The task always ends
with an answer or an error. An answer has our format and equals its deltas."""
import copy
import glob
import json
import os
import random

import drive as d
from openai_recorded import case, frame_all, read_lines, split_turns

ODD_VALUES = [None, True, 0, -1, 1e300, 2**63, 2**63 - 1, -(2**63), "", "x", "😀", [], [[]], {}, {"type": "text"}, [None], "{",
    "\u0000"]


def member_paths(value, path=()):
    """Yields the path of every member of a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from member_paths(item, (*path, key))


def mutate(events, rng):
    events = copy.deepcopy(events)
    for _ in range(rng.randint(1, 3)):
        kind = rng.random()
        at = rng.randrange(len(events))
        if kind < 0.15:
            events.insert(at, events[rng.randrange(len(events))])
        elif kind < 0.3 and len(events) > 1:
            del events[at]
        elif kind < 0.45:
            other = rng.randrange(len(events))
            events[at], events[other] = events[other], events[at]
        else:
            found = list(member_paths(events[at]))
            if not found:
                continue
            *path, last = rng.choice(found)
            parent = events[at]
            for key in path:
                parent = parent[key]
            if kind < 0.6 and isinstance(parent, dict):
                del parent[last]
            else:
                parent[last] = copy.deepcopy(rng.choice(ODD_VALUES))
    return events


def check_shape(name, output):
    message = output["message"]
    d.check(message["type"] == "ai" and isinstance(message["content"], (str, list)), f"{name}: {message}")
    kinds = {"text", "reasoning", "refusal", "image", "source"}
    d.check(all(part["type"] in kinds for part in d.content_parts(message)), f"{name}: parts")
    for call in message.get("tool_calls", []):
        d.check(isinstance(call["id"], str) and isinstance(call["name"], str) and call["name"], f"{name}: {call}")
    for count in (output.get("usage") or {}).values():
        d.check(isinstance(count, int) and count >= 0, f"{name}: usage {output['usage']}")


def main():
    root = d.suite_folder("providers")
    rng, cases, names = random.Random(7), [], []
    for folder in ("openai", "openai-compatible"):
        for path in sorted(glob.glob(os.path.join(root, folder, "*", "*.chunks.txt"))):
            kind = os.path.basename(os.path.dirname(path))
            events = [event for event in split_turns(read_lines(path)[0])[0]]
            if len(events) > 80:  # the events between are alike
                events = events[:40] + events[-40:]
            for event in events:  # random padding
                event.pop("obfuscation", None)
            for number in range(60):
                names.append(f"{os.path.basename(path)} {number}")
                cases.append(case(kind, {"stream": frame_all(kind, mutate(events, rng))}))
    codes = {}
    for name, result in zip(names, d.Drive("openai")(cases)):
        code = result.get("error", {}).get("code", "answered" if "output" in result else "OPEN")
        codes[code] = codes.get(code, 0) + 1
        d.check(code != "OPEN", f"{name}: the task did not end")
        if "output" in result:
            check_shape(name, result["output"])
            d.check_deltas(name, result)
    d.check(codes.get("answered", 0) > 100 and codes.get("INVALID_RESPONSE", 0) > 100,
        f"expected more answers and more errors: {codes}")
    print(codes)
    d.finish()


if __name__ == "__main__":
    main()
