"""The provider `openai` in cases without a recording: error classes, streams in a wrong order, servers that are not fully
compatible, tool names, keys, cancelling. They also test plugins/model/, which all providers share."""
import json
import re

import drive as d

HELLO = {"messages": "Hello"}


def chat(*deltas, finish="stop", done=True, usage=None):
    events = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    if finish:
        events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if usage:
        events.append({"choices": [], "usage": usage})
    return sse(*events) + ("data: [DONE]\n\n" if done else "")


def sse(*events):
    texts = [event if isinstance(event, str) else json.dumps(event) for event in events]
    return "".join(f"data: {text}\n\n" for text in texts)


def call(index, **more):
    function = {key: more.pop(key) for key in ("name", "arguments") if key in more}
    return {"tool_calls": [{"index": index, **more, "function": function}]}


def case(exchange, given=None, config=None, **more):
    exchanges = exchange if isinstance(exchange, list) else [exchange]
    config = {"model": "m", **(config or {})}
    return {"component": "openai", "config": config, "input": given or HELLO, "exchanges": exchanges, **more}


def responses(*events, **more):
    hangs = {"hangs": True} if events[-1]["type"] == "response.completed" else {}
    return case({"stream": sse(*events), **hangs}, config={"api": "responses"}, **more)


def http_error(status, body, headers=None):
    body = body if isinstance(body, str) else json.dumps(body)
    return case({"status": status, "body": body, "headers": {"x-request-id": "req_7", **(headers or {})}})


def error_body(code=None, type=None, message="The reason."):
    return {"error": {"message": message, "type": type, "param": None, "code": code}}


# (name, case, code, expected members of the error; or texts that its message contains, with "says", or lacks, with "not")
ERRORS = [
    ("wrong key", http_error(401, error_body("invalid_api_key", message="Incorrect API key provided: sk-proj-123.")), "AUTH",
     {"retryable": False, "detail.status": 401, "detail.type": "invalid_api_key", "detail.request_id": "req_7",
      "detail.provider": "openai", "detail.secret": "OPENAI_API_KEY", "says": ["api_key", "OPENAI_API_KEY", "Incorrect", "`m`"], "not": ["proj-123"]}),
    ("no key for another host", case({"status": 401, "body": "{}"}, config={"base_url": "http://localhost:1/v1"}), "AUTH",
     {"says": ["check `api_key`: the request had no key, because `base_url`"], "not": ["OPENAI_API_KEY"]}),
    ("a key in the headers", case({"status": 401, "body": "{}"}, config={"headers": {"authorization": "Bearer x"}}), "AUTH",
     {"says": ["check `headers`"], "not": ["OPENAI_API_KEY"]}),
    ("not allowed", http_error(403, error_body()), "AUTH", {"retryable": False}),
    ("rate limit", http_error(429, error_body("rate_limit_exceeded"), {"retry-after": "7"}), "RATE_LIMITED",
     {"retryable": True, "retry_after_ms": 7000, "says": ["The reason."]}),
    ("rate limit, in ms", http_error(429, error_body(), {"retry-after": "7", "retry-after-ms": "150.5"}), "RATE_LIMITED",
     {"retry_after_ms": 150}),
    ("rate limit, as a date", http_error(429, error_body(), {"retry-after": "Thu, 01 Jan 1970 00:01:30 GMT"}), "RATE_LIMITED",
     {"retry_after_ms": 90000}),
    ("rate limit, longest delay", http_error(429, error_body(), {"retry-after": "1e30"}), "RATE_LIMITED", {"retry_after_ms": 86400000}),
    ("rate limit, invalid delay", http_error(429, error_body(), {"retry-after": "soon"}), "RATE_LIMITED", {"retry_after_ms": None}),
    ("quota exceeded", http_error(429, error_body("insufficient_quota", "insufficient_quota"), {"retry-after": "1"}), "QUOTA",
     {"retryable": False, "retry_after_ms": None, "says": ["The reason."]}),
    ("context too long", http_error(400, error_body("context_length_exceeded", "invalid_request_error")), "CONTEXT_LENGTH",
     {"retryable": False, "says": ["trim"]}),
    ("context too long, vLLM", http_error(400, {"object": "error", "type": "BadRequestError", "code": 400,
     "message": "This model's maximum context length is 4096 tokens."}), "CONTEXT_LENGTH", {}),
    ("context too long, llama.cpp", http_error(400, {"error": {"code": 400, "type": "exceed_context_size_error",
     "message": "the request exceeds the available context size"}}), "CONTEXT_LENGTH", {}),
    ("unsupported option", http_error(400, error_body("unsupported_parameter")), "INVALID_REQUEST", {"retryable": False}),
    ("about a field", http_error(400, {"error": {"message": "Bad", "param": "tools[0].type"}}), "INVALID_REQUEST",
     {"detail.field": "tools[0].type", "says": ["`tools[0].type`", "--record"]}),
    ("FastAPI", http_error(422, {"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]}),
     "INVALID_REQUEST", {"detail.field": "stream_options", "says": ["Extra inputs are not permitted", "`stream_options`"]}),
    ("should not retry", http_error(503, error_body(), {"x-should-retry": "false"}), "OVERLOADED", {"retryable": False}),
    ("should retry", http_error(409, error_body(), {"x-should-retry": "true"}), "INVALID_REQUEST", {"retryable": True}),
    ("plain text", http_error(400, "no such route", {"content-type": "text/plain"}), "INVALID_REQUEST",
     {"says": ["no such route", "--record"], "detail.body": "no such route"}),
    ("unknown model", http_error(404, {"error": "model 'm' not found"}), "NOT_FOUND",
     {"says": ["model 'm' not found"]}),
    ("cannot be processed", http_error(422, {"detail": "bad"}), "INVALID_REQUEST", {"says": ["bad"]}),
    ("service unavailable", http_error(503, error_body("service_unavailable")), "OVERLOADED", {"retryable": True}),
    ("overloaded", http_error(529, "{}"), "OVERLOADED", {"retryable": True}),
    ("a proxy's page", http_error(502, "<html><h1>502 Bad Gateway</h1></html>", {"content-type": "text/html"}),
     "OVERLOADED", {"retryable": True, "says": ["502 Bad Gateway"], "not": ["<html>"]}),
    ("redirect", http_error(302, ""), "INVALID_RESPONSE", {}),
    ("request timeout", http_error(408, ""), "TIMEOUT", {"retryable": True}),
    ("HTML page", case({"stream": "<html>\n", "headers": {"content-type": "text/html"}}), "INVALID_RESPONSE",
     {"says": ["text/html", "base_url"]}),
    ("not JSON, whole", case({"body": "<html>"}, config={"stream": False}), "INVALID_RESPONSE", {}),
    ("not JSON, an event", case({"stream": chat({"content": "a"}, finish=None, done=False) + "data: {x\n\n"}),
     "INVALID_RESPONSE", {"retryable": True, "says": ["(2 bytes): \"{x\""]}),
    ("a text instead of an event", case({"stream": "data: Internal \x1b error for hunter22\n\n"}, config={"api_key": "hunter22"}),
     "INVALID_RESPONSE", {"says": ["\"Internal error for ********\""]}),
    ("empty stream", case({"stream": ""}), "INVALID_RESPONSE", {}),
    ("only [DONE]", case({"stream": "data: [DONE]\n\n"}), "INVALID_RESPONSE", {}),
    ("stream without an end", case({"stream": chat({"content": "a"}, finish=None, done=False)}), "INVALID_RESPONSE",
     {"says": ["before its end"]}),
    ("event that is not an object", case({"stream": sse("[1]")}), "INVALID_RESPONSE", {}),
    ("events after the end", case({"stream": chat({"content": "a"}) + chat({"content": "b"})}), "INVALID_RESPONSE", {}),
    ("a call without a name", case({"stream": chat(call(0, id="c", arguments="{}"), finish="tool_calls")}),
     "INVALID_RESPONSE", {"says": ["name"]}),
    ("call with NUL in its name", case({"stream": chat(call(0, id="c", name="a\0b", arguments="{}"))}),
     "INVALID_RESPONSE", {"says": ["name"]}),
    ("an error in the stream", case({"stream": chat({"content": "a"}, finish=None, done=False) +
     sse(error_body(type="server_error"))}), "OVERLOADED", {"retryable": True, "says": ["The reason."]}),
    ("an error in the stream, by number", case({"stream": sse({"error": {"code": 429, "message": "Slow down"}})}),
     "RATE_LIMITED", {"retryable": True}),
    ("finish_reason error", case({"stream": chat({"content": "a"}, finish="error")}), "OVERLOADED", {}),
    ("error in a whole answer", case({"body": json.dumps(error_body("context_length_exceeded"))}, config={"stream": False}),
     "CONTEXT_LENGTH", {}),
    ("connection refused", case({"failed": {"code": "CONNECT", "message": "refused", "retryable": True}}), "CONNECT",
     {"retryable": True, "detail.provider": "openai", "detail.status": None}),
    ("connection lost before the answer", case({"failed": {"code": "CONNECTION_LOST", "message": "x", "retryable": True}}), "CONNECT",
     {"retryable": True}),
    ("connection lost in the answer", case({"status": 200, "stream": chat({"content": "a"}, finish=None, done=False),
     "failed": {"code": "CONNECTION_LOST", "message": "x", "retryable": True}}), "INVALID_RESPONSE",
     {"retryable": True}),
    ("timeout", case({"failed": {"code": "TIMEOUT", "message": "x", "retryable": True}}), "TIMEOUT",
     {"retryable": True}),
    ("missing secret", case({"failed": {"code": "SECRET_NOT_FOUND", "message": "there is no secret OPENAI_API_KEY"}}),
     "AUTH", {"retryable": False, "says": ["OPENAI_API_KEY"], "detail.type": "SECRET_NOT_FOUND"}),
    ("permission denied", case({"failed": {"code": "PERMISSION_DENIED", "message": "no"}}), "PERMISSION_DENIED", {}),
    ("key in the message of an error", case({"status": 400, "body": json.dumps(error_body(message="key hunter22 is odd; Bearer abc"))},
     config={"api_key": "hunter22"}), "INVALID_REQUEST", {"not": ["hunter22", "abc"], "says": ["is odd"]}),
    ("long message", http_error(400, error_body(message="ä" * 4000)), "INVALID_REQUEST", {"shorter": 1200, "says": ["…"]}),
    ("invalid message", case({}, {"messages": [{"type": "user", "content": "a"}, {"content": "b"}]}),
     "INVALID_REQUEST", {"says": ["messages[1]"]}),
    ("invalid messages", case({}, {"messages": 7}), "INVALID_REQUEST", {"says": ["an int"]}),
    ("a tool without a name", case({}, {"messages": "a", "tools": [{"description": "x"}]}), "INVALID_REQUEST",
     {"says": ["tools[0]"]}),
    ("unknown part", case({}, {"messages": [{"type": "user", "content": [{"type": "film"}]}]}),
     "INVALID_REQUEST", {"says": ["film"]}),
    ("image without data", case({}, {"messages": [{"type": "user", "content": [{"type": "image"}]}]}),
     "INVALID_REQUEST", {"says": ["`url`"]}),
    ("image with invalid data", case({}, {"messages": [{"type": "user", "content": [{"type": "image", "data": "?!"}]}]}),
     "INVALID_REQUEST", {}),
    ("nothing to embed", case({}, {"embed": []}), "INVALID_REQUEST", {}),
    ("too few embeddings", case({"body": '{"data": []}'}, {"embed": ["a"]}), "INVALID_RESPONSE", {}),
    ("invalid embedding", case({"body": '{"data": [{"index": 0}]}'}, {"embed": ["a"]}), "INVALID_RESPONSE", {}),
    ("an image with api chat", case({}, config={"modalities": ["image"]}), "UNSUPPORTED", {"says": ["api: responses"]}),
    ("speech with api responses", case({}, config={"speech": {}, "api": "responses"}), "UNSUPPORTED", {"says": ["api: chat"]}),
    ("images with api chat", case({}, config={"modalities": ["text", "image"]}), "UNSUPPORTED", {"says": ["api: responses"]}),
    ("stop with api responses", case({}, config={"api": "responses", "stop": ["a"]}), "UNSUPPORTED", {"says": ["api: chat"]}),
    ("responses: an error", responses({"type": "error", "code": "server_error", "message": "Oh"}), "OVERLOADED", {}),
    ("responses: failed", responses({"type": "response.failed", "response": {"status": "failed", "error":
     {"code": "rate_limit_exceeded", "message": "Oh"}}}), "RATE_LIMITED", {"says": ["Oh"]}),
    ("responses: out of order", responses({"type": "response.output_text.delta", "delta": "b", "sequence_number": 3},
     {"type": "response.output_text.delta", "delta": "a", "sequence_number": 2}), "INVALID_RESPONSE", {}),
    ("responses: unknown call", responses({"type": "response.function_call_arguments.delta", "output_index": 4,
     "delta": "{"}), "INVALID_RESPONSE", {"says": ["has not started"]}),
    ("responses: no end", responses({"type": "response.output_text.delta", "delta": "a"}), "INVALID_RESPONSE", {}),
    ("cancelled", case({"stream": chat({"content": "a"}, {"content": "b"})}, cancel_after=1), "CANCELLED", {}),
    ("cancelled while it waits", case({"stream": chat(*[{"content": "a"}] * 9)}, cancel_after=4, room=2), "CANCELLED",
     {}),
    ("too many calls", case({"stream": chat(*[call(i, id=f"c{i}", name="f") for i in range(1025)])}),
     "INVALID_RESPONSE", {"says": ["1024"]}),
]

TOOLS = ["a.b", "a_b", "a/b", "ok", "1st", "x" * 80, "é", "-"]


# (name, case, expected members of the message)
ANSWERS = [
    ("an end without [DONE]", case({"stream": chat({"content": "a"}, done=False)}), {"content": "a"}),
    ("an end with [DONE] only", case({"stream": chat({"content": "a"}, finish=None)}),
     {"content": "a", "finish_reason": "other"}),
    ("empty answer", case({"stream": chat()}), {"content": "", "finish_reason": "stop"}),
    ("length limit", case({"stream": chat({"content": "a"}, finish="length")}), {"finish_reason": "length"}),
    ("filtered", case({"stream": chat({"content": "a"}, finish="content_filter")}),
     {"finish_reason": "content_filter"}),
    ("unknown finish_reason", case({"stream": chat({"content": "a"}, finish="bored")}), {"finish_reason": "other"}),
    ("declined", case({"stream": chat({"refusal": "I ca"}, {"refusal": "n't"})}),
     {"content": [{"type": "refusal", "text": "I can't"}], "finish_reason": "content_filter"}),
    ("reasoning", case({"stream": chat({"reasoning": "h"}, {"reasoning": "m"}, {"content": "a"})}),
     {"content": [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "a"}]}),
    ("comments and empty events", case({"stream": ": hm\n\ndata:\n\n" + chat({"content": "a"}), "headers": {}}), {"content": "a"}),
    ("CRLF", case({"stream": chat({"content": "a"}).replace("\n", "\r\n")}), {"content": "a"}),
    ("two calls, interleaved", case({"stream": chat(call(0, id="c0", name="f", arguments='{"a"'),
     call(1, id="c1", name="g", arguments=""), call(0, arguments=": 1}"), call(1, arguments='{"b":2}'),
     finish="tool_calls")}),
     {"content": "", "finish_reason": "tool_calls",
      "tool_calls": [{"id": "c0", "name": "f", "arguments": {"a": 1}}, {"id": "c1", "name": "g",
      "arguments": {"b": 2}}]}),
    ("two calls, both 0", case({"stream": chat(call(0, id="c0", name="f", arguments="{}"),
     call(0, id="c1", name="f", arguments='{"a": 1}'), finish="stop")}),
     {"finish_reason": "tool_calls",
      "tool_calls": [{"id": "c0", "name": "f", "arguments": {}}, {"id": "c1", "name": "f", "arguments": {"a": 1}}]}),
    ("invalid arguments", case({"stream": chat(call(0, id="c", name="f", arguments='{"a": '),
     finish="length")}),
     {"tool_calls": [{"id": "c", "name": "f", "arguments": '{"a": '}], "finish_reason": "length"}),
    ("arguments that are a text", case({"stream": chat(call(0, id="c", name="f", arguments='"{}"'))}),
     {"tool_calls": [{"id": "c", "name": "f", "arguments": '"{}"'}]}),
    ("null arguments", case({"stream": chat(call(0, id="c", name="f"), call(0, arguments="null"))}),
     {"tool_calls": [{"id": "c", "name": "f", "arguments": {}}]}),
    ("arguments as an object", case({"stream": chat(call(0, id="c", name="f", arguments={"a": 1}))}),
     {"tool_calls": [{"id": "c", "name": "f", "arguments": {"a": 1}}]}),
    ("finish_reason tool_calls without calls", case({"stream": chat({"content": "a"}, finish="tool_calls")}),
     {"finish_reason": "stop"}),
    ("usage", case({"stream": chat({"content": "a"}, usage={"prompt_tokens": 5, "completion_tokens": 2,
     "total_tokens": 7, "prompt_tokens_details": {"cached_tokens": 3}})}),
     {"usage": {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7, "cached_tokens": 3}}),
    ("usage without a sum", case({"stream": chat(usage={"prompt_tokens": 5, "completion_tokens": 2})}),
     {"usage": {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}}),
    ("no usage", case({"stream": chat({"content": "a"})}), {"usage": None}),
    ("invalid usage", case({"stream": chat(usage={"prompt_tokens": -5, "completion_tokens": "x"})}),
     {"usage": None}),
    ("connection lost after the end", case({"status": 200, "stream": chat({"content": "a"}, done=False),
     "failed": {"code": "CONNECTION_LOST", "message": "x", "retryable": True}}), {"content": "a"}),
    ("stream left open", case({"stream": chat({"content": "a"}), "hangs": True}), {"content": "a"}),
    ("a stream left open, slowly", case({"stream": chat({"content": "a"}, {"content": "b"}, {"content": "c"}),
     "hangs": True}, room=1), {"content": "abc"}),
    ("responses: a stream left open", responses({"type": "response.completed", "response": {"status": "completed",
     "output": []}}), {"content": ""}),
    ("other choices", case({"stream": sse({"choices": [{"index": 1, "delta": {"content": "b"}},
     {"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}]})}), {"content": "a"}),
    ("an image", case({"stream": chat({"images": [{"type": "image_url", "image_url":
     {"url": "data:image/png;base64,iVBORw0K"}}]})}),
     {"content": [{"type": "image", "media_type": "image/png", "data": "iVBORw0K"}]}),
    ("a citation", case({"body": json.dumps({"choices": [{"message": {"content": "a", "annotations": [{"type":
     "url_citation", "url_citation": {"url": "https://a", "title": "A"}}]}, "finish_reason": "stop"}]})},
     config={"stream": False}),
     {"content": [{"type": "text", "text": "a"}, {"type": "source", "url": "https://a", "title": "A",
     "extra": {"openai":
      {"type": "url_citation", "url_citation": {"url": "https://a", "title": "A"}}}}]}),
    ("logprobs", case({"stream": sse(*[{"choices": [{"index": 0, "delta": {"content": t}, "logprobs": {"content":
     [{"token": t}]}, "finish_reason": f}]} for t, f in (("a", None), ("b", "stop"))])}),
     {"content": "ab", "extra": {"openai": {"logprobs": [{"token": "a"}, {"token": "b"}]}}}),
    ("a content of parts", case({"body": json.dumps({"choices": [{"message": {"content": [{"type": "text",
     "text": "a"}]},
     "finish_reason": "stop"}]})}, config={"stream": False}), {"content": "a"}),
    ("thinking parts", case({"stream": chat({"content": [{"type": "thinking", "thinking": [{"type": "text", "text":
     "hm"}]}]}, {"content": [{"type": "text", "text": "a"}]})}),
     {"content": [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "a"}]}),
    ("cached tokens under another name", case({"stream": chat(usage={"prompt_tokens": 5, "completion_tokens": 2,
     "prompt_cache_hit_tokens": 4})}),
     {"usage": {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7, "cached_tokens": 4}}),
    ("responses: declined", responses({"type": "response.refusal.delta", "delta": "No."},
     {"type": "response.completed", "response": {"status": "completed", "output": []}}),
     {"content": [{"type": "refusal", "text": "No."}], "finish_reason": "content_filter"}),
    ("responses: length limit", responses({"type": "response.output_text.delta", "delta": "a"},
     {"type": "response.incomplete",
     "response": {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": []}}),
     {"content": "a", "finish_reason": "length"}),
    ("responses: without deltas", responses({"type": "response.completed", "response": {"status": "completed", "output":
     [{"type": "message", "content": [{"type": "output_text", "text": "a", "annotations": []}]}]}}), {"content": "a"}),
    ("responses: arguments without deltas", responses({"type": "response.output_item.done", "output_index": 0, "item": {"type":
     "function_call", "call_id": "c", "name": "f", "arguments": '{"a":1}'}}, {"type": "response.completed", "response":
     {"status": "completed", "output": []}}), {"tool_calls": [{"id": "c", "name": "f", "arguments": {"a": 1}}]}),
]


def member(value, path):
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def check_error(name, result, code, expected):
    error = result.get("error")
    if not d.check(error is not None, f"{name}: no error, but {json.dumps(result.get('output'))}"):
        return
    d.check(error["code"] == code, f"{name}: {error}, expected {code}")
    for key, value in expected.items():
        if key in ("says", "not"):
            for text in value:
                d.check((text in error["message"]) is (key == "says"), f"{name}: {key} {text!r}: {error['message']}")
        elif key == "shorter":
            d.check(len(error["message"].encode()) < value, f"{name}: {len(error['message'])} characters")
        else:
            d.check(member(error, key) == value, f"{name}: {key} is {member(error, key)!r}, expected {value!r}")


def check_answer(name, result, expected):
    output = result.get("output")
    if not d.check(output is not None, f"{name}: {result.get('error')}"):
        return
    d.check_deltas(name, result)
    for key, value in expected.items():
        found = output["message"].get(key)
        d.check(found == value, f"{name}: {key} is {json.dumps(found)}, expected {json.dumps(value)}")


def check_names(drive):
    """Every tool has a unique name that the service accepts, and is mapped back to its own name."""
    tools = [{"name": name} for name in TOOLS]
    request = case({"stream": chat()}, {"messages": "a", "tools": tools})
    sent = [t["function"]["name"] for t in drive([request])[0]["requests"][0]["json"]["tools"]]
    d.check(len(set(sent)) == len(TOOLS), f"names: {sent}")
    for original, sent_name in zip(TOOLS, sent):
        valid = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", sent_name) is not None
        d.check(valid, f"the name {sent_name!r} for {original!r}")
    d.check(sent[1] == "a_b" and sent[3] == "ok", f"unchanged names: {sent}")
    calls = [call(i, id=f"c{i}", name=name, arguments="{}") for i, name in enumerate([*sent, "unknown"])]
    returned = drive([case({"stream": chat(*calls)}, {"messages": "a",
        "tools": tools})])[0]["output"]["message"]["tool_calls"]
    d.check([c["name"] for c in returned] == [*TOOLS, "unknown"], f"names in the result: {[c['name'] for c in returned]}")
    ids = drive([case({"stream": chat(call(0, name="ok"), call(1, name="ok"))})] * 2)
    ids = [[c["id"] for c in result["output"]["message"]["tool_calls"]] for result in ids]
    d.check(ids[0] == ids[1] and len(set(ids[0])) == 2 and all(ids[0]), f"generated ids: {ids}")


def check_allocation_failures(drive):
    """If an allocation fails, the result is an error, and no memory leaks."""
    parts = [{"type": "text", "text": "a"}, {"type": "image", "url": "data:image/png;base64,iVBORw0K"}]
    tools = [{"name": name} for name in TOOLS]
    messages = [{"type": "user", "content": parts}, {"type": "ai", "content": parts[:1], "tool_calls": [
        {"id": "c", "name": "gone.by", "arguments": {}}]}, {"type": "tool", "tool_call_id": "c", "content": parts}]
    given = {"messages": messages, "tools": tools}
    rows = [(row[0], row[1]) for row in ANSWERS] + [("everything", case({"stream": chat({"content": "a"})}, given))]
    for (name, _), result in zip(rows, drive([{**row[1], "fail_allocations": True} for row in rows])):
        d.check_allocation_failures(name, result)


def check_keys(drive):
    """OpenAI's own key is sent only to OpenAI."""
    local = {"base_url": "http://localhost:11434/v1/"}
    rows = [
        ({}, "https://api.openai.com/v1/chat/completions", ["Bearer ", {"secret": "OPENAI_API_KEY"}]),
        (local, "http://localhost:11434/v1/chat/completions", None),
        ({"base_url": "https://api.openai.com.example/v1"}, "https://api.openai.com.example/v1/chat/completions", None),
        ({"base_url": "http://api.openai.com/v1"}, "http://api.openai.com/v1/chat/completions", None),
        ({**local, "api_key": {"secret": "X"}}, "http://localhost:11434/v1/chat/completions", ["Bearer ",
         {"secret": "X"}]),
        ({"headers": {"authorization": "mine"}}, "https://api.openai.com/v1/chat/completions", "mine"),
    ]
    for (config, url, key), result in zip(rows, drive([case({"stream": chat()}, config=row[0]) for row in rows])):
        request = result["requests"][0]
        d.check(request["url"] == url, f"{config}: {request['url']}")
        d.check(request["headers"].get("authorization") == key, f"{config}: {request['headers']}")
    regional = {"base_url": "https://eu.api.openai.com/v1", "max_tokens": 5, "api_key": {"secret": "EU"}}
    request = drive([case({"stream": chat()}, {"messages": [{"type": "developer", "content": "a"}]},
        regional)])[0]["requests"][0]
    d.check(request["json"]["max_completion_tokens"] == 5, f"in a region: {request['json']}")
    d.check(request["json"]["messages"][0]["role"] == "developer", f"in a region: {request['json']}")
    config = {**local, "max_tokens": 5, "timeout_ms": {"idle": 9}, "extra": {"top_k": 3, "stream_options": None}}
    given = {"messages": [{"type": "developer", "content": "a"}], "options": {"extra": {"top_k": 4}}}
    request = drive([case({"stream": chat()}, given, config)])[0]["requests"][0]
    d.check(request["json"]["max_tokens"] == 5 and "max_completion_tokens" not in request["json"], "max_tokens there")
    d.check(request["json"]["messages"][0]["role"] == "system", "developer there")
    d.check(request["json"]["top_k"] == 4 and request["json"]["stream_options"] is None, f"extra: {request['json']}")
    reply = {"type": "ai", "content": [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "a"}]}
    returned = drive([case({"stream": chat()}, {"messages": [reply]}, {**local, "send_reasoning": True})])[0]
    sent = returned["requests"][0]["json"]["messages"]
    d.check(sent == [{"role": "assistant", "content": "a", "reasoning_content": "hm"}], f"reasoning: {sent}")
    d.check(request["timeout"] == {"idle_ms": 9}, f"timeout: {request['timeout']}")


def main():
    drive = d.Drive("openai")
    results = drive([row[1] for row in ERRORS])
    for (name, _, code, expected), result in zip(ERRORS, results):
        check_error(name, result, code, expected)
    for (name, _, expected), result in zip(ANSWERS, drive([row[1] for row in ANSWERS])):
        check_answer(name, result, expected)
    check_names(drive)
    check_keys(drive)
    check_allocation_failures(drive)
    refusal = drive([case({}, no_http=True)])[0].get("refused", "")
    d.check("UNSUPPORTED" in refusal and "tenon.http" in refusal, f"without HTTP: {refusal}")
    print(f"{len(ERRORS)} errors, {len(ANSWERS)} answers")
    d.finish()


main()
