"""Amazon Bedrock: what streams, answers, errors and damaged streams become."""
import json
import os
import random
import struct

import drive as d
from bedrock_wire import event_frame, exchange, frame, stream

drive = d.Drive("bedrock")
MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
USAGE = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15, "cacheReadInputTokens": 3, "cacheWriteInputTokens": 2}
USED = {"input_tokens": 15, "output_tokens": 5, "total_tokens": 20, "cached_tokens": 3, "cache_write_tokens": 2}


def case(*exchanges, config=None, **more):
    streams = not any("body" in one and one.get("status", 200) == 200 for one in exchanges)
    settings = {"model": MODEL, "region": "us-east-1", "stream": streams, **(config or {})}
    return {"component": "bedrock", "config": settings, "input": {"messages": ["Hi"]}, "exchanges": list(exchanges), **more}


def delta(index, value):
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": value, "p": "abcdefgh"}}


def stop(index):
    return {"contentBlockStop": {"contentBlockIndex": index}}


def tool_start(index, **tool):
    return {"contentBlockStart": {"contentBlockIndex": index, "start": {"toolUse": tool}}}


START = {"messageStart": {"role": "assistant", "p": "ab"}}


def end(reason="end_turn", **more):
    metadata = {"metadata": {"usage": USAGE, "metrics": {"latencyMs": 3}, **more}}
    return [{"messageStop": {"stopReason": reason}}, metadata]


CITATION = {"title": "Doc", "source": "s", "location": {"documentChar": {"documentIndex": 0, "start": 0, "end": 4}}}
WEB = {"title": "Page", "location": {"web": {"url": "https://a.example", "domain": "a.example"}}}
FULL = [
    START,
    delta(0, {"reasoningContent": {"text": "Hm, "}}),
    delta(0, {"reasoningContent": {"text": "ü"}}),
    delta(0, {"reasoningContent": {"signature": "c2ln"}}),
    stop(0),
    delta(1, {"reasoningContent": {"redactedContent": "cmVk"}}),
    stop(1),
    delta(2, {"text": "Grüß "}),
    delta(2, {"text": "Gott"}),
    delta(2, {"citation": CITATION}),
    delta(2, {"citation": WEB}),
    delta(2, {"citation": WEB}),
    stop(2),
    tool_start(3, toolUseId="tooluse_1", name="add"),
    delta(3, {"toolUse": {"input": '{"a"'}}),
    delta(3, {"toolUse": {"input": ": 1}"}}),
    stop(3),
    tool_start(4, toolUseId="tooluse_2", name="search", type="server_tool_use"),
    delta(4, {"toolUse": {"input": '{"q": 1}'}}),
    stop(4),
    tool_start(5, toolUseId="tooluse_3", name="now"),
    stop(5),
    *end("tool_use", trace={"guardrail": {"actionReason": "none"}}),
]
CONTENT = [
    {"type": "reasoning", "text": "Hm, ü", "extra": {"bedrock": {"signature": "c2ln"}}},
    {"type": "reasoning", "extra": {"bedrock": {"redacted": "cmVk"}}},
    {"type": "text", "text": "Grüß Gott", "extra": {"bedrock": {"citations": [CITATION, WEB, WEB]}}},
    {"type": "source", "title": "Doc"},
    {"type": "source", "url": "https://a.example", "title": "Page"},
]
CALLS = [{"id": "tooluse_1", "name": "add", "arguments": {"a": 1}}, {"id": "tooluse_3", "name": "now", "arguments": {}}]
WHOLE = {
    "output": {"message": {"role": "assistant", "content": [
        {"reasoningContent": {"reasoningText": {"text": "Hm, ü", "signature": "c2ln"}}},
        {"reasoningContent": {"redactedContent": "cmVk"}},
        {"citationsContent": {"content": [{"text": "Grüß "}, {"text": "Gott"}], "citations": [CITATION, WEB, WEB]}},
        {"toolUse": {"toolUseId": "tooluse_1", "name": "add", "input": {"a": 1}}},
        {"toolUse": {"toolUseId": "tooluse_2", "name": "search", "type": "server_tool_use", "input": {"q": 1}}},
        {"toolResult": {"toolUseId": "tooluse_2", "content": [{"text": "x"}]}},
        {"toolUse": {"toolUseId": "tooluse_3", "name": "now", "input": {}}},
    ]}},
    "stopReason": "tool_use", "usage": USAGE, "metrics": {"latencyMs": 3}, "trace": {"guardrail": {"actionReason": "none"}},
}


def check_full(name, result):
    output = result.get("output")
    if not d.check(output is not None, f"{name}: {json.dumps(result)[:1500]}"):
        return
    message = output["message"]
    d.check(message["content"] == CONTENT, f"{name}: {json.dumps(message['content'])}")
    d.check(message["tool_calls"] == CALLS, f"{name}: {message['tool_calls']}")
    d.check(output["usage"] == USED and output["finish_reason"] == "tool_calls", f"{name}: {output}")
    d.check(message["extra"] == {"bedrock": {"trace": {"guardrail": {"actionReason": "none"}}}}, f"{name}: {message['extra']}")
    d.check_deltas(name, result)


def test_answers():
    full = exchange(stream(FULL))
    results = drive([case(full), case(full, piece=1), case(full, room=1), case(full, cuts=True),
                     case({"body": json.dumps(WHOLE)})])
    for name, result in zip(["stream", "bytes", "room", "cuts", "whole"], results):
        check_full(name, result)
    d.check(results[1]["deltas"] == results[0]["deltas"], "other deltas byte by byte")
    cuts = results[3]["cuts"]
    d.check(set(cuts["codes"]) <= {"INVALID_RESPONSE", "NO_USAGE", "OTHER"}, f"cuts ended as {cuts['codes']}")
    d.check(cuts["first_same"] == len(stream(FULL)), f"whole after {cuts['first_same']} bytes")
    # Without the trace, which comes with the usage, a cut has the answer, the answer without usage, or an error.
    short = [START, delta(0, {"text": "Grüß"}), stop(0), *end()]
    cuts = drive([case(exchange(stream(short)), cuts=True)])[0]["cuts"]
    d.check(set(cuts["codes"]) == {"INVALID_RESPONSE", "NO_USAGE"} and cuts["runs"] == 2 * (len(stream(short)) + 1),
            f"every byte: {cuts}")


def test_finish_reasons():
    reasons = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "model_context_window_exceeded": "length",
               "guardrail_intervened": "content_filter", "content_filtered": "content_filter", "new_reason": "other"}
    results = drive([case(exchange(stream([START, delta(0, {"text": "a"}), *end(reason)]))) for reason in reasons])
    for (reason, expected), result in zip(reasons.items(), results):
        d.check(result["output"]["finish_reason"] == expected, f"{reason}: {result}")
        extra = result["output"]["message"].get("extra", {}).get("bedrock", {})
        d.check(extra.get("stop_reason") == (None if reason == "end_turn" else reason), f"{reason}: {extra}")
    for reason in ("malformed_model_output", "malformed_tool_use"):
        result = drive([case(exchange(stream([START, *end(reason)])))])[0]
        d.check(result["error"]["code"] == "INVALID_RESPONSE" and result["error"]["retryable"], f"{reason}: {result}")


def test_images():
    whole = {"output": {"message": {"role": "assistant", "content": [{"image": {"format": "png", "source": {"bytes": "aGVsbG8="}}}]}},
             "stopReason": "end_turn", "usage": USAGE}
    start = {"contentBlockStart": {"contentBlockIndex": 0, "start": {"image": {"format": "png"}}}}
    pieces = [delta(0, {"image": {"source": {"bytes": "aGU="}}}), delta(0, {"image": {"source": {"bytes": "bGxv"}}})]
    for exchanged in ({"body": json.dumps(whole)}, exchange(stream([START, start, *pieces, stop(0), *end()]))):
        result = drive([case(exchanged)])[0]
        expected = [{"type": "image", "media_type": "image/png", "data": "aGVsbG8="}]
        d.check(result["output"]["message"]["content"] == expected, f"an image: {result}")


def test_structured():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    events = [START, tool_start(0, toolUseId="t", name="tenon_answer"), delta(0, {"toolUse": {"input": '{"a": '}}),
              delta(0, {"toolUse": {"input": "1}"}}), stop(0), *end("tool_use")]
    one = case(exchange(stream(events)))
    one["input"]["response_schema"] = schema
    result = drive([one])[0]
    d.check(result["output"]["message"]["content"] == '{"a": 1}', f"structured: {result}")
    d.check(result["output"]["finish_reason"] == "stop" and "tool_calls" not in result["output"]["message"], f"{result}")


ERRORS = [  # (status, type, message, code, retryable)
    (429, "ThrottlingException", "Too many requests, please wait before trying again.", "RATE_LIMITED", True),
    (429, "ThrottlingException", "Too many tokens per day, please wait before trying again.", "QUOTA", False),
    (400, "ValidationException", "Input is too long for requested model.", "CONTEXT_LENGTH", False),
    (400, "ValidationException", "The provided model identifier is invalid.", "NOT_FOUND", False),
    (400, "ValidationException", "Malformed input request", "INVALID_REQUEST", False),
    (400, "ServiceQuotaExceededException", "quota", "QUOTA", False),
    (403, "AccessDeniedException", "You don't have access to the model with the specified model ID.", "AUTH", False),
    (403, "UnrecognizedClientException", "The security token included in the request is invalid.", "AUTH", False),
    (403, "ExpiredTokenException", "The security token included in the request is expired", "AUTH", False),
    (404, "ResourceNotFoundException", "This model version has reached the end of its life.", "NOT_FOUND", False),
    (408, "ModelTimeoutException", "late", "TIMEOUT", True),
    (424, "ModelErrorException", "failed", "OVERLOADED", True),
    (429, "ModelNotReadyException", "The model is not ready", "OVERLOADED", True),
    (500, "InternalServerException", "failed", "OVERLOADED", True),
    (503, "ServiceUnavailableException", "busy", "OVERLOADED", True),
    (418, "NewException", "new", "INVALID_REQUEST", False),
]


def test_errors():
    cases = []
    for status, kind, message, _, _ in ERRORS:
        headers = {"x-amzn-errortype": kind + ":http://internal.amazon.com/coral/", "x-amzn-requestid": "r1"}
        cases.append(case({"status": status, "headers": headers, "body": json.dumps({"message": message})}))
        in_body = {"__type": "com.amazon.coral.service#" + kind, "Message": message}
        cases.append(case({"status": status, "body": json.dumps(in_body)}))
    results = drive(cases)
    for i, (status, kind, message, code, retryable) in enumerate(ERRORS):
        for result in results[2 * i : 2 * i + 2]:
            error = result.get("error") or {}
            d.check(error.get("code") == code and bool(error.get("retryable")) == retryable, f"{kind}: {error}, expected {code}")
            d.check(kind in json.dumps(error), f"{kind}: not named in {error}")
    # The same inside of a stream, after its start.
    streamed = [(kind[0].lower() + kind[1:], message, code) for _, kind, message, code, _ in ERRORS
                if kind in ("ThrottlingException", "ValidationException", "InternalServerException", "ServiceUnavailableException")]
    streamed.append(("modelStreamErrorException", "broke", "OVERLOADED"))
    results = drive([case(exchange(stream([START, delta(0, {"text": "a"}), {"exception": [kind, message]}])))
                     for kind, message, _ in streamed])
    for (kind, message, code), result in zip(streamed, results):
        error = result.get("error") or {}
        d.check(error.get("code") == code and kind in json.dumps(error), f"{kind} in a stream: {result}")
        d.check(code == "AUTH" or message in json.dumps(error), f"{kind}: the message is missing in {error}")
    # :message-type error has no payload.
    raw = stream([START]) + frame({":message-type": "error", ":error-code": "InternalFailure", ":error-message": "x"}, b"")
    result = drive([case(exchange(raw))])[0]
    d.check(result["error"]["code"] == "OVERLOADED", f"an error message: {result}")


def test_clock():
    """A signature that is refused because of its time is made once more with the service's clock."""
    headers = {"x-amzn-errortype": "InvalidSignatureException:", "date": "Thu, 01 Jan 1970 02:00:00 GMT"}
    body = json.dumps({"message": "Signature expired: 20260101T000000Z is now earlier than 20261127T131500Z"})
    refused = {"status": 403, "headers": headers, "body": body}
    result = drive([case(refused, exchange(stream([START, delta(0, {"text": "a"}), *end()])))])[0]
    d.check(result.get("output", {}).get("message", {}).get("content") == "a", f"a wrong clock: {result}")
    skews = [one["sign"]["aws"].get("clock_skew_ms", 0) for one in result["requests"]]
    d.check(len(skews) == 2 and skews[0] == 0 and abs(skews[1]) > 60000, f"the skews are {skews}")
    result = drive([case(refused, refused)])[0]
    error = result["error"]
    d.check(error["code"] == "AUTH" and "set the clock" in error["message"], f"a wrong clock twice: {error}")
    years = {**refused, "headers": {**headers, "date": "Thu, 01 Jan 2037 00:00:00 GMT"}}
    result = drive([case(years)])[0]
    d.check("set the clock" in result["error"]["message"] and len(result["requests"]) == 1, f"a clock that is years late: {result}")
    # A clock that agrees is not the reason: the request is not sent again.
    wrong = {"status": 403, "headers": {"x-amzn-errortype": "InvalidSignatureException"},
             "body": json.dumps({"message": "The request signature we calculated does not match"})}
    result = drive([case(wrong)])[0]
    d.check(result["error"]["code"] == "AUTH" and len(result["requests"]) == 1, f"a wrong key: {result}")


def test_credentials():
    good = exchange(stream([START, delta(0, {"text": "a"}), *end()]))
    default, key, own, other, amazon = drive([
        case(good), case(good, config={"api_key": "k"}),
        case(good, config={"credentials": {"key_id": "i", "secret_key": {"secret": "S"}}, "base_url": "http://localhost:1"}),
        case(good, config={"base_url": "http://localhost:1/x/"}),
        case(good, config={"base_url": "https://vpce-1.bedrock-runtime.us-east-1.vpce.amazonaws.com"})])
    request = default["requests"][0]
    d.check(request["url"] == "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/"
            "converse-stream", request["url"])
    d.check(request["receive"] == "bytes", request["receive"])
    d.check(request["headers"]["authorization"] == ["Bearer ", {"secret": "AWS_BEARER_TOKEN_BEDROCK", "optional": True}],
            f"{request['headers']}")
    aws = {"service": "bedrock", "region": "us-east-1", "key_id": {"secret": "AWS_ACCESS_KEY_ID"},
           "secret_key": {"secret": "AWS_SECRET_ACCESS_KEY"}, "session_token": {"secret": "AWS_SESSION_TOKEN", "optional": True}}
    d.check(request["sign"] == {"aws": aws}, f"{request['sign']}")
    d.check(amazon["requests"][0]["sign"] == {"aws": aws}, "a private endpoint of Amazon gets no default credentials")
    request = key["requests"][0]
    d.check(request["headers"]["authorization"] == ["Bearer ", "k"] and "sign" not in request, f"{request}")
    request = own["requests"][0]
    d.check(request["sign"]["aws"]["key_id"] == "i" and "authorization" not in request["headers"], f"{request}")
    request = other["requests"][0]
    d.check("sign" not in request and "authorization" not in request["headers"], f"credentials for another host: {request}")
    d.check(request["url"].startswith("http://localhost:1/x/model/"), request["url"])
    missing = drive([case({"failed": {"code": "SECRET_NOT_FOUND", "message": "m"}})])[0]["error"]
    d.check(missing["code"] == "AUTH" and "AWS_ACCESS_KEY_ID" in missing["message"], f"{missing}")


def test_regions():
    good = exchange(stream([START, delta(0, {"text": "a"}), *end()]))
    arn = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc"
    hosts = [({"model": arn, "region": None}, "https://bedrock-runtime.eu-west-1.amazonaws.com/model/arn%3Aaws%3Abedrock%3A"),
             ({"region": "cn-north-1"}, "https://bedrock-runtime.cn-north-1.amazonaws.com.cn/model/")]
    for config, expected in hosts:
        one = case(good, config=config)
        one["config"] = {key: value for key, value in one["config"].items() if value is not None}
        result = drive([one])[0]
        d.check(result["requests"][0]["url"].startswith(expected), f"{result['requests']}")
    section = {"region": "ap-northeast-1", "endpoint": "http://gateway.example/x/"}
    result = drive([case(good, config={"region": "us-west-2"}, section=section)])[0]["requests"][0]
    d.check(result["url"].startswith("http://gateway.example/x/model/") and result["sign"]["aws"]["region"] == "us-west-2",
            f"the operator's endpoint: {result}")
    one = case(good, section={"region": "ap-northeast-1"})
    del one["config"]["region"]
    d.check("//bedrock-runtime.ap-northeast-1." in drive([one])[0]["requests"][0]["url"], "the operator's region")
    without = case(config={"region": None})
    del without["config"]["region"]
    d.check("no region" in drive([without])[0]["error"]["message"], "a model without a region")
    evil = case(config={"model": "arn:aws:bedrock:evil.example/x:1:y"})
    del evil["config"]["region"]
    d.check("refused" in drive([evil])[0], "a region with a slash")


def test_damage():
    whole, text = stream(FULL), delta(0, {"text": "a"})
    good = [START, text, *end()]
    huge = struct.pack(">II", 0xFFFFFFFF, 0)
    import zlib
    huge += struct.pack(">I", zlib.crc32(huge))
    short = struct.pack(">II", 15, 0)
    short += struct.pack(">I", zlib.crc32(short)) + b"\0" * 3
    headers = struct.pack(">II", 1 << 20, 1 << 19)
    headers += struct.pack(">I", zlib.crc32(headers))
    broken = {
        "prelude": (event_frame(START) + event_frame(text, "prelude"), "wrong checksum"),
        "crc": (event_frame(START) + event_frame(text, "crc"), "wrong checksum"),
        "headers": (event_frame(START) + event_frame(text, "headers"), "malformed headers"),
        "huge": (event_frame(START) + huge, "24 MiB"),
        "short": (event_frame(START) + short, "shorter than its headers"),
        "many headers": (event_frame(START) + headers, "128 KiB"),
        "not JSON": (stream([START, {"contentBlockDelta": b"{no"}]), "not JSON"),
        "second start": (stream([*good[:2], START]), "in the middle"),
        "late text": (stream([*good, text]), "after messageStop"),
        "no tool": (stream([START, delta(0, {"toolUse": {"input": "{}"}})]), "has not started"),
        "no name": (stream([START, tool_start(0, toolUseId="x")]), "without a name"),
        "no reason": (stream([START, text, {"messageStop": {}}]), "without a stopReason"),
        "truncated": (whole[:-40][: len(whole) // 2], "stopped before its end"),
        "html": (b"<html>", None),
    }
    for name, (data, words) in broken.items():
        for piece in (0, 1, 7):
            more = {"piece": piece} if piece else {}
            result = drive([case(exchange(data), **more)])[0]
            error = result.get("error") or {}
            d.check(error.get("code") == "INVALID_RESPONSE", f"{name}: {result}")
            d.check(words is None or words in error.get("message", ""), f"{name}: {error}")
    result = drive([case({**exchange(b"<html>"), "headers": {"content-type": "text/html"}})])[0]
    d.check("`text/html` instead of" in result["error"]["message"], f"{result}")
    # Unknown events are skipped.
    result = drive([case(exchange(stream([START, {"newEvent": {"a": 1}}, text, *end(), {"newEvent": {}}])))])[0]
    d.check(result["output"]["message"]["content"] == "a", f"{result}")


def test_random_damage():
    """Whatever bytes change, the task ends with an answer that equals its deltas, or with an error."""
    rng = random.Random(16)
    rounds = int(os.environ.get("TENON_HOSTILE_ROUNDS", "300"))
    whole, cases = stream(FULL), []
    for _ in range(rounds):
        data = bytearray(whole)
        for _ in range(rng.choice([1, 1, 3])):
            data[rng.randrange(len(data))] = rng.randrange(256)
        cases.append(case(exchange(bytes(data)), piece=rng.choice([1, 50, 4096])))
    for _ in range(rounds):  # with right checksums: events in another order, left out, or with other members
        events = [rng.choice(FULL) if rng.randrange(4) == 0 else event for event in FULL if rng.randrange(8)]
        damaged = []
        for event in events:
            (name, value), = event.items()
            if rng.randrange(6) == 0:
                key = rng.choice(list(value))
                value = {**value, key: rng.choice([None, 1, -1, 2**60, "x", [], {}, [1], {"toolUse": 1}, {"text": 1}])}
            damaged.append({name: value})
        cases.append(case(exchange(stream(damaged))))
    for i, result in enumerate(drive(cases)):
        d.check("open" not in result, f"damage {i}: the task hangs")
        code = result.get("error", {}).get("code")
        d.check(code in (None, "INVALID_RESPONSE", "OVERLOADED"), f"damage {i}: {result.get('error')}")
        d.check_deltas(f"damage {i}", result)


def test_memory():
    result = drive([case(exchange(stream(FULL)), fail_allocations=True)])[0]
    d.check_allocation_failures("a stream", result)


def main():
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        os.environ.pop(name, None)
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
    d.finish()


if __name__ == "__main__":
    main()
