"""The model `scripted`: the choice of a reply, its chunks, usage, and embeddings."""
import json
import math

import drive as d

HI = {"messages": [{"type": "user", "content": "Hi there"}]}


def user(content):
    return {"type": "user", "content": content}


def ai(content):
    return {"type": "ai", "content": content}


def case(config, given, **more):
    return {"component": "scripted", "config": config, "input": given, "exchanges": [], **more}


def history(n, words="Hi"):
    return {"messages": [message for i in range(n) for message in (user(f"{words} {i}"), ai("…"))] + [user(words)]}


def with_replies(replies, given, **config):
    return {"replies": replies, **config}, given


THREE = ["one", "two", "three"]
BUSY = {"error": {"code": "OVERLOADED"}}
# config, input, expected content or error code
ANSWERS = {
    "an echo": ({}, HI, "Hi there"),
    "an echo of nobody": ({}, {"messages": []}, ""),
    "the first": (*with_replies(THREE, HI), "one"),
    "the second": (*with_replies(THREE, history(1)), "two"),
    "the third": (*with_replies(THREE, history(2)), "three"),
    "the first again": (*with_replies(THREE, history(3)), "one"),
    "used up": (*with_replies(THREE, history(3), cycle=False), "REPLIES_USED_UP"),
    "a rule": (
        {"rules": [{"contains": "there", "reply": "rule"}], "replies": THREE},
        HI,
        "rule",
    ),
    "no rule fits": ({"rules": [{"contains": "There", "reply": "rule"}], "replies": THREE}, HI, "one"),
    "a pattern": ({"rules": [{"matches": "^H[a-z] +t", "reply": "rule"}]}, HI, "rule"),
    "the first rule that fits": (
        {"rules": [{"contains": "x", "reply": "no"}, {"contains": "", "reply": "any"}, {"contains": "Hi", "reply": "late"}]},
        HI,
        "any",
    ),
    "a rule for what came last": (
        {"rules": [{"contains": "42", "in": "last", "reply": "It is {last}"}], "replies": THREE},
        {"messages": [user("?"), ai("…"), {"type": "tool", "tool_call_id": "c", "content": "42"}]},
        "It is 42",
    ),
    "holes": (*with_replies(["{call} {input} {last} {model} {nobody} {{input} {", "x"], HI, model="m"),
              "1 Hi there Hi there m {nobody} {Hi there {"),
    "no holes": (*with_replies(["{input}"], HI, templates=False), "{input}"),
    "JSON needs no care": (*with_replies(['{"a": {"b": "{input}"}}'], HI), '{"a": {"b": "Hi there"}}'),
    "an error": (*with_replies([BUSY], HI), "OVERLOADED"),
    "a script": ({"script": '["one", "two"]'}, history(1), "two"),
    "a script with rules": (
        {"script": '{"replies": ["one"], "rules": [{"contains": "Hi", "reply": "rule"}]}'},
        HI,
        "rule",
    ),
    "a script of lines": ({"script": '"one"\n\n{"content": "two"}\r\n'}, history(1), "two"),
    "a script of one line": ({"script": '"one"'}, HI, "one"),
    "messages by other names": (*with_replies([{"role": "assistant", "content": "one"}, {"content": "two"}], history(1)), "two"),
    "no message": (*with_replies(THREE, {"messages": [7]}), "INVALID_REQUEST"),
    "no messages": (*with_replies(THREE, {}), "INVALID_REQUEST"),
}


def check_answers(drive):
    for (name, (_, _, expected)), result in zip(ANSWERS.items(), drive([case(*it[:2]) for it in ANSWERS.values()])):
        found = result.get("error", {}).get("code") or result["output"]["message"]["content"]
        d.check(found == expected, f"{name}: {found}, expected {expected}")
        d.check_deltas(name, result)


def check_pieces(drive):
    text = "añb🙂cd"
    reply = {
        "content": [
            {"type": "reasoning", "text": "hmm"},
            {"type": "text", "text": text},
            {"type": "image", "url": "https://a.example/{input}"},
            {"type": "reasoning", "extra": {"x": 1}},
        ],
        "tool_calls": [
            {"name": "add", "arguments": {"a": "{input}"}},
            {"id": "mine", "name": "now"},
            {"name": "bad", "arguments": "{broken"},
        ],
    }
    for chunk in (1, 2, 3, 100):
        for room in (None, 1):
            more = {} if room is None else {"room": room}
            result = drive([case({"replies": [reply], "chunk": chunk}, HI, **more)])[0]
            name = f"in pieces of {chunk}"
            d.check_deltas(name, result)
            pieces = [delta["content"] for delta in result["deltas"] if "content" in delta]
            expected = [text[i : i + chunk] for i in range(0, len(text), chunk)]
            d.check(pieces == expected, f"{name}: {pieces}, expected {expected}")
            calls = result["output"]["message"]["tool_calls"]
            expected = [
                {"name": "add", "arguments": {"a": "Hi there"}, "id": "call_1_1"},
                {"id": "mine", "name": "now", "arguments": {}},
                {"name": "bad", "arguments": "{broken", "id": "call_1_3"},
            ]
            d.check(calls == expected, f"{name}: {calls}")
            d.check(result["output"]["finish_reason"] == "tool_calls", f"{name}: {result['output']['finish_reason']}")
    # An error after a part of the message: the deltas before it were delivered.
    result = drive([case({"replies": [{"message": "Well, I", "error": {"code": "CONNECT", "detail": 1}}]}, HI)])[0]
    text, _, _, _, done = d.assemble(result["deltas"])
    d.check((text, done) == ("Well, I", None), f"error after a part: {result['deltas']}")
    error = result["error"]
    d.check((error["code"], error["retryable"], error["detail"]) == ("CONNECT", True, 1), f"error after a part: {error}")
    for code, given, expected in (("AUTH", {}, False), ("TIMEOUT", {}, True), ("TIMEOUT", {"retryable": False}, False)):
        error = {"code": code, "message": "m", "retry_after_ms": 5, **given}
        found = drive([case({"replies": [{"error": error}]}, HI)])[0]["error"]
        d.check(found == {"code": code, "message": "m", "retryable": expected, "retry_after_ms": 5}, f"{code}: {found}")


def check_usage(drive):
    given = {
        "messages": [
            {"type": "system", "content": "12345"},  # 2
            user([{"type": "text", "text": "üüüü"}, {"type": "image", "data": "AAAA"}]),  # 1 and 64
            {"type": "ai", "content": "", "tool_calls": [{"id": "a", "name": "add", "arguments": {"a": 1}}]},  # 1 and 2
        ],
        "tools": [{"name": "add"}],  # {"name":"add"}: 4
    }
    result = drive([case({"replies": ["one", "123456789"]}, given)])[0]["output"]
    expected = {"input_tokens": 74, "output_tokens": 3, "total_tokens": 77}
    d.check(result["usage"] == expected, f"usage: {result['usage']}, expected {expected}")
    d.check(result["message"]["usage"] == expected, f"usage of the message: {result['message'].get('usage')}")
    reported = {"output_tokens": 10, "cached_tokens": 1}
    result = drive([case({"replies": [{"message": "x", "usage": reported, "finish_reason": "length"}]}, HI)])[0]["output"]
    expected = {"input_tokens": 2, "output_tokens": 10, "total_tokens": 12, "cached_tokens": 1}
    d.check((result["usage"], result["finish_reason"]) == (expected, "length"), f"usage that is told: {result}")


def check_vectors(drive):
    texts = ["The cat sat on the mat", "the cat sat on a mat", "Rain in Kyoto", "", "京都の雨"]
    config = {"dimensions": 128}
    cases = [case(config, {"embed": texts}), case(config, {"embed": texts}), case({}, {"embed": ["a"]})]
    cases += [case({}, {"embed": ["a"], "options": {"dimensions": 3}}), case({}, {"embed": ["a"], "options": {"dimensions": 5000}})]
    cases += [case({}, {"embed": [7]}), case({}, {"embed": "a"})]
    first, again, plain, small, too_large, number, text = drive(cases)
    vectors = first["output"]["embeddings"]
    d.check(first["output"] == again["output"], "vectors: not the same twice")
    d.check([len(vector) for vector in vectors] == [128] * 5, "vectors: their dimensions")
    for words, vector in zip(texts, vectors):
        d.check(abs(math.hypot(*vector) - 1) < 1e-9, f"vectors: of {words!r} the length is {math.hypot(*vector)}")
    similar, different = (sum(a * b for a, b in zip(vectors[0], vectors[i])) for i in (1, 2))
    d.check(similar > 0.6 > 0.4 > different, f"vectors: near {similar}, far {different}")
    d.check(first["output"]["usage"] == {"input_tokens": 16, "output_tokens": 0, "total_tokens": 16}, f"{first['output']['usage']}")
    d.check(len(plain["output"]["embeddings"][0]) == 64 and len(small["output"]["embeddings"][0]) == 3, "vectors: dimensions")
    for result in (too_large, number, text):
        d.check(result.get("error", {}).get("code") == "INVALID_REQUEST", f"vectors: {json.dumps(result)[:300]}")


def main():
    drive = d.Drive("scripted")
    check_answers(drive)
    check_pieces(drive)
    check_usage(drive)
    check_vectors(drive)
    d.finish()


main()
