"""Cohere: what streams, answers, errors and damaged streams become."""
import copy
import json
import random

import drive as d
from openai_mutated import ODD_VALUES, member_paths

drive = d.Drive("cohere")
USAGE = {"billed_units": {"input_tokens": 4, "output_tokens": 3}, "tokens": {"input_tokens": 90.0, "output_tokens": 12}, "cached_tokens": 64}
USED = {"input_tokens": 90, "output_tokens": 12, "total_tokens": 102, "cached_tokens": 64}
ID = "0b3c4b9e-1111-2222-3333-444455556666"


def case(exchange, config=None, given=None, **more):
    settings = {"model": "command-x", "stream": "body" not in exchange or exchange.get("status", 200) != 200, **(config or {})}
    return {"component": "cohere", "config": settings, "input": given or {"messages": ["Hi"]}, "exchanges": [exchange], **more}


def sse(events):
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n" for event in events)


def event(kind, index=None, message=None, **more):
    made = {"type": kind, **({} if index is None else {"index": index})}
    return {**made, **({} if message is None else {"delta": {"message": message}}), **more}


def start(index, kind):
    return event("content-start", index, {"content": {"type": kind, kind: ""}})


def delta(index, kind, piece, **more):
    return event("content-delta", index, {"content": {kind: piece}}, **more)


def content(index, kind, *pieces):
    return [start(index, kind), *[delta(index, kind, piece) for piece in pieces], event("content-end", index)]


def tool(index, name, *pieces):
    first = {"tool_calls": {"id": f"{name}_1", "type": "function", "function": {"name": name, "arguments": ""}}}
    return [event("tool-call-start", index, first),
            *[event("tool-call-delta", index, {"tool_calls": {"function": {"arguments": piece}}}) for piece in pieces],
            event("tool-call-end", index)]


def cite(index, citation):
    return [event("citation-start", index, {"citations": citation}), event("citation-end", index)]


def end(reason="COMPLETE", usage=USAGE, **more):
    return event("message-end", id=ID, delta={"finish_reason": reason, "usage": usage, **more})


START = event("message-start", message={"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}, id=ID)
DOCUMENT = {"type": "document", "id": "doc:0", "document": {"id": "doc:0", "title": "Penguins", "text": "They are tall.", "url": "https://a.example"}}
UNTITLED = {"type": "document", "id": "doc:1", "document": {"id": "doc:1", "text": "They swim."}}
FOUND = {"type": "tool", "id": "look_1:0", "tool_output": {"name": "Zoo", "n": 3}}
CITED = [{"start": 0, "end": 4, "text": "Grüß", "type": "TEXT_CONTENT", "sources": [DOCUMENT, UNTITLED]},
         {"start": 5, "end": 9, "text": "Gott", "type": "TEXT_CONTENT", "content_index": 1, "sources": [DOCUMENT, FOUND]},
         {"start": 0, "end": 1, "text": "G", "sources": []}]
KEPT = [{**CITED[0], "sources": ["doc:0", "doc:1"]}, {**CITED[1], "sources": ["doc:0", "look_1:0"]}, CITED[2]]
SOURCES = [{"type": "source", "url": "https://a.example", "title": "Penguins", "extra": {"cohere": DOCUMENT}},
           {"type": "source", "title": "doc:1", "extra": {"cohere": UNTITLED}},
           {"type": "source", "title": "Zoo", "extra": {"cohere": FOUND}}]
TEXT = [*content(0, "thinking", "Hm, ", "ü"), start(1, "text"), delta(1, "text", "Grüß "), *cite(0, CITED[0]), delta(1, "text", "Gott"),
        event("content-end", 1), *cite(1, CITED[1]), *cite(2, CITED[2])]
CALLS = [event("tool-plan-delta", message={"tool_plan": "I "}), event("tool-plan-delta", message={"tool_plan": "look."}),
         *tool(0, "look", '{"a"', ": 1}"), *tool(1, "now"), *tool(2, "odd", "null")]
FULL = [START, *TEXT, event("debug", prompt="<BOS>"), end()]
CALLING = [START, *CALLS, end("TOOL_CALL")]
WHOLE = {"id": ID, "finish_reason": "COMPLETE", "usage": USAGE, "message": {
    "role": "assistant", "content": [{"type": "thinking", "thinking": "Hm, ü"}, {"type": "text", "text": "Grüß Gott"}], "citations": CITED}}
PLANNED = {"id": ID, "finish_reason": "TOOL_CALL", "usage": USAGE, "message": {"role": "assistant", "tool_plan": "I look.", "tool_calls": [
    {"id": f"{name}_1", "type": "function", "function": {"name": name, "arguments": arguments}}
    for name, arguments in (("look", '{"a": 1}'), ("now", ""), ("odd", "null"))]}}
EXTRA = {"id": ID, "billed_units": USAGE["billed_units"]}
MESSAGE = {"type": "ai", "content": [{"type": "reasoning", "text": "Hm, ü"}, {"type": "text", "text": "Grüß Gott"}, *SOURCES],
           "usage": USED, "finish_reason": "stop", "extra": {"cohere": {**EXTRA, "citations": KEPT}}}
CALL_MESSAGE = {"type": "ai", "content": [{"type": "reasoning", "text": "I look.", "extra": {"cohere": {"tool_plan": True}}}],
                "tool_calls": [{"id": "look_1", "name": "look", "arguments": {"a": 1}}, {"id": "now_1", "name": "now", "arguments": {}},
                               {"id": "odd_1", "name": "odd", "arguments": {}}],
                "usage": USED, "finish_reason": "tool_calls", "extra": {"cohere": EXTRA}}


def same(found, expected):
    """True if the values are equal, whatever the order of members."""
    return json.dumps(found, sort_keys=True) == json.dumps(expected, sort_keys=True)


def check_answer(name, result, message):
    found = result.get("output", {}).get("message")
    d.check(same(found, message), f"{name}: {json.dumps(found or result)}\n  expected {json.dumps(message)}")
    d.check_deltas(name, result)


def test_answers():
    for name, events, whole, message in (("text", FULL, WHOLE, MESSAGE), ("calls", CALLING, PLANNED, CALL_MESSAGE)):
        results = drive([case({"stream": sse(events)}, cuts=True), case({"stream": sse(events)}, room=1),
                         case({"stream": sse(events) + "data: [DONE]\n\n"}), case({"body": json.dumps(whole)})])
        for result in results:
            check_answer(name, result, message)
        d.check_cuts(name, results[0])
        d.check(results[0]["deltas"] == results[1]["deltas"], f"{name}: other deltas with back-pressure")
    unnamed = "".join(f"data: {json.dumps(one)}\n\n" for one in FULL)
    check_answer("events without names", drive([case({"stream": unnamed})])[0], MESSAGE)


def test_finish_reasons():
    for word, finish in (("COMPLETE", "stop"), ("STOP_SEQUENCE", "stop"), ("MAX_TOKENS", "length"), ("ERROR_TOXIC", "content_filter"),
                         ("TOOL_CALL", "stop"), ("NEW", "other")):
        result, = drive([case({"stream": sse([START, *content(0, "text", "a"), end(word)])})])
        output = result["output"]
        d.check(output["finish_reason"] == finish, f"{word}: {output['finish_reason']}")
        d.check(output["message"]["extra"]["cohere"].get("finish_reason") == ("NEW" if word == "NEW" else None), f"{word}: {output}")
    for word, more, code, words in (("ERROR", {"error": "the model fell"}, "OVERLOADED", "the model fell"), ("ERROR", {}, "OVERLOADED", "no message"),
                                    ("TIMEOUT", {}, "TIMEOUT", "no message"), ("ERROR_LIMIT", {}, "CONTEXT_LENGTH", "no message")):
        for exchange in ({"stream": sse([START, end(word, **more)])},
                         {"body": json.dumps({**PLANNED, "finish_reason": word, **more})}):
            error = drive([case(exchange)])[0].get("error", {})
            d.check(error.get("code") == code and words in error.get("message", ""), f"{word}: {error}")


def test_logprobs():
    one, two = {"text": "a", "token_ids": [1], "logprobs": [-0.1]}, {"text": "b", "token_ids": [2], "logprobs": [-0.2]}
    stream = [START, start(0, "text"), delta(0, "text", "a", logprobs=one), delta(0, "text", "b", logprobs=two), end()]
    whole = {**WHOLE, "logprobs": [one, two]}
    for result in drive([case({"stream": sse(stream)}), case({"body": json.dumps(whole)})]):
        found = result["output"]["message"]["extra"]["cohere"]["logprobs"]
        d.check(found == [one, two], f"logprobs: {found}")


def test_usage():
    for usage, expected in (({}, None), (None, None), ({"billed_units": {"input_tokens": 4}}, None), ({"tokens": {"input_tokens": "x"}}, None),
                            ({"tokens": {"input_tokens": 1e300, "output_tokens": 2}}, {"input_tokens": 0, "output_tokens": 2, "total_tokens": 2}),
                            ({"tokens": {"input_tokens": -1, "output_tokens": 2.5}}, {"input_tokens": 0, "output_tokens": 2, "total_tokens": 2})):
        result, = drive([case({"stream": sse([START, *content(0, "text", "a"), end(usage=usage)])})])
        d.check(result["output"].get("usage") == expected, f"{usage}: {result['output'].get('usage')}")


def test_many_citations():
    """Citations and sources beyond the limits are left out."""
    events = [START, *content(0, "text", "a")]
    for i in range(2100):
        events += cite(i, {"start": 0, "end": 1, "text": "a", "sources": [{"type": "document", "id": f"d{i % 300}", "document": {"text": "x"}}]})
    message = drive([case({"stream": sse([*events, end()])})])[0]["output"]["message"]
    parts = [part for part in message["content"] if part["type"] == "source"]
    d.check(len(message["extra"]["cohere"]["citations"]) == 2000, "the limit of citations")
    d.check(len(parts) == 200 and parts[199]["title"] == "d199", f"{len(parts)} sources")
    shared = [{"start": 0, "end": 1, "sources": [{"type": "document", "document": {"text": text}}]} for text in "aab"]
    body = {**WHOLE, "message": {**WHOLE["message"], "citations": shared}}
    parts = drive([case({"body": json.dumps(body)})])[0]["output"]["message"]["content"][2:]
    d.check([part["extra"]["cohere"]["document"]["text"] for part in parts] == ["a", "b"], f"sources without ids: {parts}")


def test_embeddings():
    def answer(vectors, **more):
        body = {"id": ID, "texts": ["a", "b"], "embeddings": {"float": vectors}, "response_type": "embeddings_by_type",
                "meta": {"api_version": {"version": "2"}, "billed_units": {"input_tokens": 5}}, **more}
        return case({"body": json.dumps(body)}, given={"embed": ["a", "b"]})

    good, unpaid, *wrong = drive([answer([[0.5, -1], [1, 0]]), answer([[1], [2]], meta=None), answer([[1.0]]), answer([[1.0], None]),
                                  answer(None), answer([[1], [2]], embeddings={"int8": [[1], [2]]}), answer([[1], [2]], embeddings=[[1], [2]])])
    d.check(good.get("output") == {"embeddings": [[0.5, -1], [1, 0]], "usage": {"input_tokens": 5, "output_tokens": 0, "total_tokens": 5}}, f"{good}")
    d.check(unpaid.get("output") == {"embeddings": [[1], [2]]}, f"without usage: {unpaid}")
    for i, result in enumerate(wrong):
        d.check(result.get("error", {}).get("code") == "INVALID_RESPONSE", f"wrong embeddings {i}: {result}")


def test_errors():
    for status, message, code, retryable in (
            (400, "invalid request: all elements in history must have a message.", "INVALID_REQUEST", False),
            (400, "too many tokens: size limit exceeded by 99 tokens. Try using shorter or fewer inputs.", "CONTEXT_LENGTH", False),
            (401, "invalid api token", "AUTH", False), (498, "invalid token", "AUTH", False), (402, "billing", "QUOTA", False),
            (404, "model 'command-x' not found, make sure the correct model ID was used", "NOT_FOUND", False),
            (422, "invalid type: parameter temperature", "INVALID_REQUEST", False),
            (429, "You are using a Trial key, which is limited to 20 API calls / minute.", "RATE_LIMITED", True),
            (429, "You are using a Trial key, which is limited to 1000 API calls / month.", "QUOTA", False),
            (500, "internal server error, this has been reported", "OVERLOADED", True), (503, "too many tokens in flight", "OVERLOADED", True)):
        result, = drive([case({"status": status, "body": json.dumps({"id": ID, "message": message})})])
        error = result.get("error", {})
        d.check(error.get("code") == code and error.get("retryable") is retryable, f"{status}: {error}")
        d.check(message.split(".")[0] in error["message"] and error["detail"]["provider"] == "cohere", f"{status}: {error}")
    for name, exchange, code in (
            ("a message in a stream", {"stream": sse([START]) + 'data: {"message": "too many tokens: no"}\n\n'}, "CONTEXT_LENGTH"),
            ("a message as an answer", {"body": '{"message": "something"}'}, "OVERLOADED"),
            ("no object", {"stream": "data: [1]\n\n"}, "INVALID_RESPONSE"), ("no JSON", {"stream": "data: {no\n\n"}, "INVALID_RESPONSE"),
            ("no end", {"stream": sse([START, *content(0, "text", "a")]) + "data: [DONE]\n\n"}, "INVALID_RESPONSE"),
            ("no reason", {"stream": sse([START, event("message-end", delta={})])}, "INVALID_RESPONSE"),
            ("text after the end", {"stream": sse([*FULL, delta(1, "text", "x")])}, "INVALID_RESPONSE"),
            ("two ends", {"stream": sse([*FULL, end()])}, "INVALID_RESPONSE"),
            ("no message", {"body": '{"finish_reason": "COMPLETE"}'}, "INVALID_RESPONSE"),
            ("a call without a name", {"stream": sse([START, *CALLS[3:4], end("TOOL_CALL")])}, "INVALID_RESPONSE")):
        result, = drive([case(exchange)])
        d.check(result.get("error", {}).get("code") == code, f"{name}: {result}")


def mutate(events, rng):
    events = copy.deepcopy(events)
    for _ in range(rng.randint(1, 3)):
        at, kind = rng.randrange(len(events)), rng.random()
        if kind < 0.15:
            events.insert(at, copy.deepcopy(rng.choice(events)))
        elif kind < 0.3 and len(events) > 1:
            del events[at]
        elif kind < 0.4:
            rng.shuffle(events)
        else:
            *path, last = rng.choice(list(member_paths(events)))
            parent = events
            for key in path:
                parent = parent[key]
            parent[last] = copy.deepcopy(rng.choice(ODD_VALUES))
    return events


def test_damage():
    """Streams and answers with members of other types, or events that are repeated, moved or missing."""
    rng, cases = random.Random(16), []
    for i in range(2000):
        if i % 4 == 0:
            cases.append(case({"body": json.dumps(mutate([rng.choice([WHOLE, PLANNED])], rng)[0])}))
        else:
            events = mutate(rng.choice([FULL, CALLING]), rng)
            cases.append(case({"stream": "".join(f"data: {json.dumps(one)}\n\n" for one in events)}, room=rng.choice([1, 1000])))
    codes = {}
    for i, result in enumerate(drive(cases)):
        code = result.get("error", {}).get("code", "answered" if "output" in result else "OPEN")
        codes[code] = codes.get(code, 0) + 1
        d.check_deltas(f"damage {i}", result)
    d.check(set(codes) <= {"answered", "INVALID_RESPONSE", "INVALID_REQUEST", "OVERLOADED", "TIMEOUT", "CONTEXT_LENGTH"}, f"damage: {codes}")
    d.check(codes["answered"] > 500 and codes["INVALID_RESPONSE"] > 100, f"damage: {codes}")
    print(codes)


def test_memory():
    given = {"messages": [{"type": "user", "content": [{"type": "file", "name": "n", "data": "aGk="}, {"type": "text", "text": "Hi"}]},
                          {**CALL_MESSAGE}, {"type": "tool", "tool_call_id": "look_1", "content": '[{"a": 1}]'}]}
    for events in (FULL, CALLING):
        result, = drive([case({"stream": sse(events)}, given=given, fail_allocations=True)])
        d.check_allocation_failures("a stream", result)


def main():
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
    d.finish()


if __name__ == "__main__":
    main()
