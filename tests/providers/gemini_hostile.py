"""Malformed answers: recorded ones with members replaced, removed, moved and repeated at random, with a fixed seed. The call
always ends with an answer or one of our errors."""
import copy
import glob
import json
import os
import random

import drive as d

RUNS = 3000
CODES = {"INVALID_RESPONSE", "OVERLOADED", "LIMIT", "RATE_LIMITED", "INVALID_REQUEST", "AUTH", "TIMEOUT", "UNSUPPORTED"}
ODD_VALUES = [
    None, True, 0, -1, 1e308, 9223372036854775807, 0.5, "", "x", "STOP", "SAFETY", "MALFORMED_FUNCTION_CALL", "$", "$.a",
    "$.a[0]", "$['a", "$.a[99999]", "$[1]", "$..", "\u0000", "é" * 50, [], {}, [[]], [None], {"a": None},
    {"error": {}}, {"error": "text"}, {"error": {"code": "x", "status": 5, "details": {}}}, [{"error": None}],
    {"functionCall": {}}, {"functionCall": {"name": "f"}}, {"functionCall": {"name": "f", "willContinue": True}},
    {"functionCall": {"partialArgs": [{"jsonPath": "$.b", "stringValue": "s", "willContinue": True}]}},
    {"text": "t", "thought": True}, {"text": "", "thoughtSignature": "S"}, {"inlineData": {"data": "AAAA"}},
    {"inlineData": 5}, {"fileData": {"fileUri": []}}, {"thoughtSignature": "S"}, {"executableCode": None},
    {"groundingChunks": [{"web": None}, 5, {}]}, {"blockReason": "OTHER"}, {"promptTokenCount": "9"},
]  # fmt: skip


def random_json_path(rng):
    """Returns an almost valid or an invalid jsonPath."""
    steps = [".a", "[0]", "[1]", "['a']", '["b c"]', "['\\\\'']", "[", "]", ".", "..", "'", '"', "\\", "[-1]", "[a]", "é"]
    return rng.choice(["$", "$", "$", ""]) + "".join(rng.choice(steps) for _ in range(rng.randint(0, 8)))


def damage_json_paths(rng, chunks):
    """Replaces some of the jsonPaths."""
    for path in list(member_paths(chunks)):
        if path and path[-1] == "jsonPath" and rng.random() < 0.1:
            parent = chunks
            for key in path[:-1]:
                parent = parent[key]
            parent["jsonPath"] = random_json_path(rng)
    return chunks


def member_paths(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from member_paths(item, (*path, key))


def mutate(chunks, rng):
    chunks = copy.deepcopy(chunks)
    for _ in range(rng.randint(1, 4)):
        path = rng.choice(list(member_paths(chunks)))
        if not path:
            continue
        parent = chunks
        for key in path[:-1]:
            parent = parent[key]
        kind = rng.randrange(4)
        if kind == 0:
            del parent[path[-1]]
        elif kind == 1 and isinstance(parent, list):
            parent.insert(rng.randrange(len(parent) + 1), copy.deepcopy(rng.choice(parent)))
        elif kind == 2 and isinstance(parent, list):
            rng.shuffle(parent)
        else:
            parent[path[-1]] = copy.deepcopy(rng.choice(ODD_VALUES))
    return chunks


def main():
    rng, recordings = random.Random(20261121), []
    for path in sorted(glob.glob(os.path.join(d.suite_folder("providers", "google", "generate-content"), "*.chunks.txt"))):
        with open(path, encoding="utf-8") as file:
            recordings.append([json.loads(line) for line in file if line.strip()])
    cases = []
    for i in range(RUNS):
        chunks = rng.choice(recordings)
        chunks = damage_json_paths(rng, copy.deepcopy(chunks)) if i % 4 == 1 else mutate(chunks, rng)
        exchange = {"stream": "".join(f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks)}
        if i % 5 == 0:
            exchange = {"body": json.dumps(chunks), "headers": {"content-type": "application/json"}}
        config = {"model": "gemini-recorded", "stream": i % 10 != 0}
        request = {"component": "gemini", "config": config, "input": {"messages": "?"}, "exchanges": [exchange]}
        cases.append({**request, "room": 1} if i % 3 == 0 else request)
    answered, codes = 0, {}
    for case, result in zip(cases, d.Drive("gemini")(cases)):
        text = json.dumps(case["exchanges"])[-600:]
        if "output" in result:
            answered += 1
            d.check_deltas(text, result)
        else:
            code = result.get("error", {}).get("code", "OPEN")
            codes[code] = codes.get(code, 0) + 1
            d.check(code in CODES, f"{code} of {text}")
    print(f"{answered} answers, {codes}")
    d.check(answered > RUNS / 10 and codes.get("INVALID_RESPONSE", 0) > RUNS / 10, "expected more answers and more errors")
    d.finish()


main()
