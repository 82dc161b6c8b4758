"""Answers that no service should send: recorded ones with members replaced, dropped, moved and repeated at random (the
seed is fixed). Whatever comes, the call ends, in an answer or in an error that is one of ours."""
import copy
import glob
import json
import os
import random

import drive as d

RUNS = 3000
CODES = {"INVALID_RESPONSE", "OVERLOADED", "LIMIT", "RATE_LIMITED", "INVALID_REQUEST", "AUTH", "TIMEOUT", "UNSUPPORTED"}
ODD = [
    None, True, 0, -1, 1e308, 9223372036854775807, 0.5, "", "x", "STOP", "SAFETY", "MALFORMED_FUNCTION_CALL", "$", "$.a",
    "$.a[0]", "$['a", "$.a[99999]", "$[1]", "$..", "\u0000", "é" * 50, [], {}, [[]], [None], {"a": None},
    {"error": {}}, {"error": "text"}, {"error": {"code": "x", "status": 5, "details": {}}}, [{"error": None}],
    {"functionCall": {}}, {"functionCall": {"name": "f"}}, {"functionCall": {"name": "f", "willContinue": True}},
    {"functionCall": {"partialArgs": [{"jsonPath": "$.b", "stringValue": "s", "willContinue": True}]}},
    {"text": "t", "thought": True}, {"text": "", "thoughtSignature": "S"}, {"inlineData": {"data": "AAAA"}},
    {"inlineData": 5}, {"fileData": {"fileUri": []}}, {"thoughtSignature": "S"}, {"executableCode": None},
    {"groundingChunks": [{"web": None}, 5, {}]}, {"blockReason": "OTHER"}, {"promptTokenCount": "9"},
]  # fmt: skip


def odd_path(chance):
    """Nearly a jsonPath, or nothing like one."""
    steps = [".a", "[0]", "[1]", "['a']", '["b c"]', "['\\\\'']", "[", "]", ".", "..", "'", '"', "\\", "[-1]", "[a]", "é"]
    return chance.choice(["$", "$", "$", ""]) + "".join(chance.choice(steps) for _ in range(chance.randint(0, 8)))


def odd_pieces(chance, chunks):
    """Some of the paths that there are, changed."""
    for path in list(places(chunks)):
        if path and path[-1] == "jsonPath" and chance.random() < 0.1:
            holder = chunks
            for key in path[:-1]:
                holder = holder[key]
            holder["jsonPath"] = odd_path(chance)
    return chunks


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def mutate(chunks, chance):
    chunks = copy.deepcopy(chunks)
    for _ in range(chance.randint(1, 4)):
        path = chance.choice(list(places(chunks)))
        if not path:
            continue
        holder = chunks
        for key in path[:-1]:
            holder = holder[key]
        what = chance.randrange(4)
        if what == 0:
            del holder[path[-1]]
        elif what == 1 and isinstance(holder, list):
            holder.insert(chance.randrange(len(holder) + 1), copy.deepcopy(chance.choice(holder)))
        elif what == 2 and isinstance(holder, list):
            chance.shuffle(holder)
        else:
            holder[path[-1]] = copy.deepcopy(chance.choice(ODD))
    return chunks


def main():
    chance, recordings = random.Random(20261121), []
    for path in sorted(glob.glob(os.path.join(d.suites("providers", "google", "generate-content"), "*.chunks.txt"))):
        with open(path, encoding="utf-8") as file:
            recordings.append([json.loads(line) for line in file if line.strip()])
    cases = []
    for i in range(RUNS):
        chunks = chance.choice(recordings)
        chunks = odd_pieces(chance, copy.deepcopy(chunks)) if i % 4 == 1 else mutate(chunks, chance)
        exchange = {"stream": "".join(f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks)}
        if i % 5 == 0:
            exchange = {"body": json.dumps(chunks), "headers": {"content-type": "application/json"}}
        config = {"model": "gemini-recorded", "stream": i % 10 != 0}
        asked = {"component": "gemini", "config": config, "input": {"messages": "?"}, "exchanges": [exchange]}
        cases.append({**asked, "room": 1} if i % 3 == 0 else asked)
    ended, codes = 0, {}
    for case, result in zip(cases, d.Drive("gemini")(cases)):
        said = json.dumps(case["exchanges"])[-600:]
        if "output" in result:
            ended += 1
            d.check_deltas(said, result)
        else:
            code = result.get("error", {}).get("code", "OPEN")
            codes[code] = codes.get(code, 0) + 1
            d.check(code in CODES, f"{code} of {said}")
    print(f"{ended} answers, {codes}")
    d.check(ended > RUNS / 10 and codes.get("INVALID_RESPONSE", 0) > RUNS / 10, "hardly anything was hostile")
    d.finish()


main()
