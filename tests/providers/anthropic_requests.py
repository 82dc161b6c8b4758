"""Anthropic: requests in the service's format, errors converted to our format, and streams without a recording.

A case of REQUESTS is a configuration, an input and the body that must be sent. anthropic_types.py checks the
bodies against the types of the service's own library.
"""
import base64
import json

import drive as d
from anthropic_recorded import frame_all

MAX = 16384
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"0" * 8).decode()
PDF = base64.b64encode(b"%PDF-1.7 ").decode()
WEATHER = {"name": "get weather", "description": "The weather.", "input_schema": {"type": "object", "properties": {}}}
WEATHER_TOOL = {"name": "get_weather", "description": "The weather.", "input_schema": {"type": "object", "properties": {}}}
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "description": "In full."},
        "age": {"type": ["integer", "null"], "minimum": 0},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1, "maxItems": 3},
        "home": {"$ref": "#/$defs/place"},
        "born": {"type": "string", "format": "date", "pattern": "^19"},
        "kind": {"oneOf": [{"const": "x"}, {"type": "object"}]},
    },
    "required": ["name"],
    "$defs": {"place": {"type": "object", "properties": {"city": {"type": "string", "format": "city"}}}},
}
PERSON_SENT = {
    "$defs": {
        "place": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": '{"format":"city"}'}},
            "additionalProperties": False,
        }
    },
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": 'In full.\n\n{"minLength":1}'},
        "age": {
            "anyOf": [
                {"type": "integer", "description": '{"minimum":0}'},
                {"type": "null", "description": '{"minimum":0}'},
            ]
        },
        "tags": {"type": "array", "description": '{"maxItems":3}', "items": {"enum": ["a", "b"]}, "minItems": 1},
        "home": {"$ref": "#/$defs/place"},
        "born": {"type": "string", "description": '{"pattern":"^19"}', "format": "date"},
        "kind": {"anyOf": [{"const": "x"}, {"type": "object", "properties": {}, "additionalProperties": False}]},
    },
    "required": ["name"],
    "additionalProperties": False,
}


def text(words, **more):
    return {"type": "text", "text": words, **more}


def user(*blocks):
    return {"role": "user", "content": [text(block) if isinstance(block, str) else block for block in blocks]}


def assistant(*blocks):
    return {"role": "assistant", "content": [text(block) if isinstance(block, str) else block for block in blocks]}


def body(*messages, **more):
    return {"model": "m", "max_tokens": MAX, "stream": True, "messages": list(messages), **more}


def conversation(*messages, **more):
    return {"messages": list(messages), **more}


CALL = {"id": "toolu_1", "name": "get weather", "arguments": {"city": "Kyoto"}}
TOOL_USE = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Kyoto"}}
HI_BODY = body(user("Hi"))
REQUESTS = {
    "a text": ({}, conversation("Hi"), HI_BODY),
    "in one piece": ({"stream": False}, conversation("Hi"), {key: HI_BODY[key] for key in ("model", "max_tokens", "messages")}),
    "system messages first": (
        {},
        conversation({"type": "system", "content": "Be short."}, {"type": "developer", "content": [text("And kind.")]}, "Hi"),
        {**HI_BODY, "system": [text("Be short."), text("And kind.")]},
    ),
    "system messages alone": (
        {},
        conversation({"type": "system", "content": "Be short."}, {"type": "system", "content": "Greet me."}),
        body(user("<system>\nGreet me.\n</system>"), system=[text("Be short.")]),
    ),
    "a system message further on": (
        {},
        conversation("Hi", {"type": "ai", "content": "Yes?"}, {"type": "system", "content": "Be short."}, "Why?"),
        body(user("Hi"), assistant("Yes?"), user("<system>\nBe short.\n</system>", "Why?")),
    ),
    "a system message further on, of its own": (
        {"late_system": "system"},
        conversation("Hi", {"type": "system", "content": "Be short."}, {"type": "ai", "content": "Yes?"}, "Why?"),
        body(user("Hi"), {"role": "system", "content": [text("Be short.")]}, assistant("Yes?"), user("Why?")),
    ),
    "where it must not stand it is a text": (
        {"late_system": "system"},
        conversation(
            {"type": "ai", "content": "Yes?"},
            {"type": "system", "content": "One"},
            "Why?",
            {"type": "system", "content": "Two"},
            "So?",
            {"type": "system", "content": "Three"},
        ),
        body(
            assistant("Yes?"),
            user("<system>\nOne\n</system>", "Why?", "<system>\nTwo\n</system>", "So?"),
            {"role": "system", "content": [text("Three")]},
        ),
    ),
    "turns are merged, what is empty is left out": (
        {},
        conversation("One", "", "Two", {"type": "ai", "content": " \n"}, {"type": "ai", "content": "Three"}, "Four"),
        body(user("One", "Two"), assistant("Three"), user("Four")),
    ),
    "tools, and what they gave, first": (
        {},
        conversation(
            "Hi",
            {"type": "ai", "content": "I look.", "tool_calls": [CALL, {**CALL, "id": "call.2", "arguments": "{broken"}]},
            "While you do",
            {"type": "tool", "tool_call_id": "toolu_1", "content": "Rain"},
            {"type": "tool", "tool_call_id": "call.2", "content": [text("No such city")], "status": "error"},
            tools=[WEATHER, {"name": "now"}],
        ),
        body(
            user("Hi"),
            assistant("I look.", TOOL_USE, {**TOOL_USE, "id": "call_2", "input": {"invalid_json": "{broken"}}),
            user(
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Rain"},
                {"type": "tool_result", "tool_use_id": "call_2", "content": [text("No such city")], "is_error": True},
                "While you do",
            ),
            tools=[WEATHER_TOOL, {"name": "now", "input_schema": {"type": "object"}}],
        ),
    ),
    "a tool that gave nothing": (
        {},
        conversation({"type": "ai", "content": "", "tool_calls": [CALL]}, {"type": "tool", "tool_call_id": "toolu_1", "content": ""}),
        body(assistant(TOOL_USE), user({"type": "tool_result", "tool_use_id": "toolu_1"})),
    ),
    "which tool": (
        {"parallel_tool_calls": False},
        conversation("Hi", tools=[WEATHER], options={"tool_choice": {"name": "get weather"}}),
        {
            **HI_BODY,
            "tools": [WEATHER_TOOL],
            "tool_choice": {"type": "tool", "name": "get_weather", "disable_parallel_tool_use": True},
        },
    ),
    "one of the tools": (
        {"tool_choice": "required"},
        conversation("Hi", tools=[WEATHER]),
        {**HI_BODY, "tools": [WEATHER_TOOL], "tool_choice": {"type": "any"}},
    ),
    "none of the tools": (
        {"tool_choice": "required"},
        conversation("Hi", tools=[WEATHER], options={"tool_choice": "none", "parallel_tool_calls": False}),
        {**HI_BODY, "tools": [WEATHER_TOOL], "tool_choice": {"type": "none"}},
    ),
    "one tool at a time": (
        {"parallel_tool_calls": False},
        conversation("Hi", tools=[WEATHER]),
        {**HI_BODY, "tools": [WEATHER_TOOL], "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
    ),
    "no choice without tools": ({"tool_choice": "required"}, conversation("Hi"), HI_BODY),
    "the service's own tools, and what it takes of ours besides": (
        {"server_tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": 2}]},
        conversation("Hi", tools=[{**WEATHER, "extra": {"anthropic": {"strict": True, "name": "x"}}}]),
        {
            **HI_BODY,
            "tools": [{**WEATHER_TOOL, "strict": True}, {"type": "web_search_20250305", "name": "web_search", "max_uses": 2}],
        },
    ),
    "options": (
        {"max_tokens": 100, "stop": ["END"], "metadata": {"user_id": "u1"}, "cache": "1h", "seed": 4},
        conversation("Hi", options={"max_tokens": 200, "stop": "STOP"}),
        {
            **HI_BODY,
            "max_tokens": 200,
            "stop_sequences": ["STOP"],
            "metadata": {"user_id": "u1"},
            "cache_control": {"type": "ephemeral", "ttl": "1h"},
        },
    ),
    "a cache": ({"cache": True}, conversation("Hi"), {**HI_BODY, "cache_control": {"type": "ephemeral"}}),
    "no cache": ({"cache": False}, conversation("Hi"), HI_BODY),
    "extra": (
        {"extra": {"service_tier": "auto", "max_tokens": 1}},
        conversation("Hi", options={"extra": {"max_tokens": 2}}),
        {**HI_BODY, "service_tier": "auto", "max_tokens": 2},
    ),
    "effort": (
        {"reasoning": {"effort": "high"}},
        conversation("Hi"),
        {**HI_BODY, "thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}},
    ),
    "no thinking": ({"reasoning": {"effort": "none"}}, conversation("Hi"), {**HI_BODY, "thinking": {"type": "disabled"}}),
    "a budget for thinking": (
        {"reasoning": {"max_tokens": 2000}},
        conversation("Hi"),
        {**HI_BODY, "max_tokens": MAX + 2000, "thinking": {"type": "enabled", "budget_tokens": 2000}},
    ),
    "a budget for thinking, of what is given": (
        {"reasoning": {"max_tokens": 2000}, "max_tokens": 4000},
        conversation("Hi"),
        {**HI_BODY, "max_tokens": 4000, "thinking": {"type": "enabled", "budget_tokens": 2000}},
    ),
    "images": (
        {},
        conversation(
            {
                "type": "user",
                "content": [
                    {"type": "image", "url": "https://example.com/a.png"},
                    {"type": "image", "data": PNG},
                    {"type": "image", "url": "data:image/webp;base64,AAAA"},
                    {"type": "image", "file_id": "file_1", "extra": {"anthropic": {"cache_control": {"type": "ephemeral"}}}},
                    text("What is this?"),
                ],
            }
        ),
        body(
            user(
                {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                {"type": "image", "source": {"type": "base64", "media_type": "image/webp", "data": "AAAA"}},
                {
                    "type": "image",
                    "source": {"type": "file", "file_id": "file_1"},
                    "cache_control": {"type": "ephemeral"},
                },
                "What is this?",
            )
        ),
    ),
    "files": (
        {},
        conversation(
            {
                "type": "user",
                "content": [
                    {"type": "file", "data": PDF, "name": "A", "extra": {"anthropic": {"citations": {"enabled": True}}}},
                    {"type": "file", "url": "https://example.com/a.pdf"},
                    {"type": "file", "file_id": "file_1"},
                    {"type": "file", "media_type": "text/csv", "data": base64.b64encode("a;ü".encode()).decode()},
                ],
            }
        ),
        body(
            user(
                {
                    "type": "document",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
                    "title": "A",
                    "citations": {"enabled": True},
                },
                {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}},
                {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a;ü"}},
            )
        ),
    ),
    "an image from a tool": (
        {},
        conversation(
            {"type": "ai", "content": "", "tool_calls": [CALL]},
            {"type": "tool", "tool_call_id": "toolu_1", "content": [{"type": "image", "data": PNG}]},
        ),
        body(
            assistant(TOOL_USE),
            user(
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "content": [
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
                    ],
                }
            ),
        ),
    ),
    "what another model thought and showed": (
        {},
        conversation(
            "Hi",
            {
                "type": "ai",
                "content": [
                    {"type": "reasoning", "text": "Hm", "extra": {"openai": {"encrypted": "x"}}},
                    text("See"),
                    {"type": "image", "data": PNG},
                    {"type": "source", "url": "https://example.com"},
                    {"type": "refusal", "text": "No"},
                ],
            },
            "And?",
        ),
        body(user("Hi"), assistant("See", "[image]"), user("And?")),
    ),
    "thinking goes back": (
        {},
        conversation(
            "Hi",
            {
                "type": "ai",
                "content": [
                    {"type": "reasoning", "text": "Hm", "extra": {"anthropic": {"signature": "s1"}}},
                    {"type": "reasoning", "extra": {"anthropic": {"signature": "s2"}}},
                    {"type": "reasoning", "extra": {"anthropic": {"redacted": "r1"}}},
                ],
                "tool_calls": [CALL],
            },
            {"type": "tool", "tool_call_id": "toolu_1", "content": "Rain"},
        ),
        body(
            user("Hi"),
            assistant(
                {"type": "thinking", "thinking": "Hm", "signature": "s1"},
                {"type": "thinking", "thinking": "", "signature": "s2"},
                {"type": "redacted_thinking", "data": "r1"},
                TOOL_USE,
            ),
            user({"type": "tool_result", "tool_use_id": "toolu_1", "content": "Rain"}),
        ),
    ),
    "a container, while its tools wait": (
        {},
        conversation(
            "Hi",
            {"type": "ai", "content": "", "tool_calls": [CALL], "extra": {"anthropic": {"container": {"id": "c1"}}}},
            {"type": "tool", "tool_call_id": "toolu_1", "content": "Rain"},
        ),
        body(
            user("Hi"),
            assistant(TOOL_USE),
            user({"type": "tool_result", "tool_use_id": "toolu_1", "content": "Rain"}),
            container="c1",
        ),
    ),
    "no container, when the turn is over": (
        {},
        conversation({"type": "ai", "content": "Yes?", "extra": {"anthropic": {"container": {"id": "c1"}}}}, "Hi"),
        body(assistant("Yes?"), user("Hi")),
    ),
    "a message that was changed is what it is": (
        {},
        conversation(
            {
                "type": "ai",
                "content": [text("One")],
                "extra": {"anthropic": {"blocks": {"parts": 2, "list": [{"part": 0}, {"type": "mcp_tool_use"}]}}},
            },
            "Hi",
        ),
        body(assistant("One"), user("Hi")),
    ),
    "a schema, as the service can hold to it": (
        {},
        conversation("Hi", response_schema=PERSON),
        {**HI_BODY, "output_config": {"format": {"type": "json_schema", "schema": PERSON_SENT}}},
    ),
    "a schema, by a tool": (
        {"structured_output": "tool"},
        conversation("Hi", response_schema=PERSON),
        {
            **HI_BODY,
            "tools": [
                {
                    "name": "tenon_answer",
                    "description": "Gives the answer. Call it once, with the whole answer as its input.",
                    "input_schema": PERSON,
                }
            ],
            "tool_choice": {"type": "tool", "name": "tenon_answer"},
        },
    ),
}
OLDER_MODEL_REQUESTS = {  # members that the types of the library no longer have
    "temperature": ({"temperature": 0.5, "top_p": 0.9}, conversation("Hi"), {**HI_BODY, "temperature": 0.5, "top_p": 0.9}),
}
REFUSED = {  # config, input, code, text in the message
    "nothing": ({}, conversation(""), "INVALID_REQUEST", "nothing to answer"),
    "audio": ({}, conversation({"type": "user", "content": [{"type": "audio", "data": "AAAA"}]}), "UNSUPPORTED", "audio"),
    "a Word file": (
        {},
        conversation({"type": "user", "content": [{"type": "file", "media_type": "application/msword", "data": "AAAA"}]}),
        "UNSUPPORTED",
        "application/msword",
    ),
    "a bitmap": (
        {},
        conversation({"type": "user", "content": [{"type": "image", "media_type": "image/bmp", "data": "AAAA"}]}),
        "UNSUPPORTED",
        "image/bmp",
    ),
    "an empty image": ({}, conversation({"type": "user", "content": [{"type": "image"}]}), "INVALID_REQUEST", "file_id"),
    "a result of nothing": ({}, conversation({"type": "tool", "content": "x"}), "INVALID_REQUEST", "tool_call_id"),
    "a choice": ({}, conversation("Hi", tools=[WEATHER], options={"tool_choice": "most"}), "INVALID_REQUEST", "most"),
    "speech": ({}, conversation("Hi", options={"speech": {"voice": "x"}}), "UNSUPPORTED", "only text"),
    "images out": ({}, conversation("Hi", options={"modalities": ["text", "image"]}), "UNSUPPORTED", "image"),
    "a list by a tool": (
        {"structured_output": "tool"},
        conversation("Hi", response_schema={"type": "array"}),
        "UNSUPPORTED",
        "structured_output",
    ),
    "vectors": ({}, {"embed": ["Hi"]}, "UNSUPPORTED", "embeddings"),
}


def error(kind, message="Something.", **more):
    return {"type": "error", "error": {"type": kind, "message": message, **more}, "request_id": "req_body"}


ERRORS = [  # HTTP status, body, our code, retryable, retry_after_ms
    (401, error("authentication_error", "invalid x-api-key"), "AUTH", False, None),
    (403, error("permission_error"), "AUTH", False, None),
    (401, error("invalid_request_error", "Incorrect API key provided"), "AUTH", False, None),
    (404, error("invalid_request_error", "no such path"), "NOT_FOUND", False, None),
    (402, error("billing_error"), "QUOTA", False, None),
    (404, error("not_found_error", "model: m"), "NOT_FOUND", False, None),
    (400, error("invalid_request_error", "messages: at least one"), "INVALID_REQUEST", False, None),
    (400, error("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), "CONTEXT_LENGTH", False, None),
    (
        400,
        error("invalid_request_error", "input length and `max_tokens` exceed context limit: 1 + 2 > 2"),
        "CONTEXT_LENGTH",
        False,
        None,
    ),
    (413, error("request_too_large"), "CONTEXT_LENGTH", False, None),
    (429, error("rate_limit_error"), "RATE_LIMITED", True, 7000),
    (429, error("rate_limit_error", details={"error_code": "enforced_spend_limit_reached"}), "QUOTA", False, None),
    (500, error("api_error"), "OVERLOADED", True, 7000),
    (504, error("timeout_error"), "TIMEOUT", True, 7000),
    (529, error("overloaded_error"), "OVERLOADED", True, 7000),
    (529, None, "OVERLOADED", True, 7000),
    (418, error("brewing_error"), "INVALID_REQUEST", False, None),
]

START = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m-1",
        "content": [],
        "stop_reason": None,
        "usage": {"input_tokens": 5, "output_tokens": 1},
    },
}
STOP = {"type": "message_stop"}


def block_start(index, **block):
    return {"type": "content_block_start", "index": index, "content_block": block}


def block_delta(index, kind, **delta):
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **delta}}


def block_stop(index):
    return {"type": "content_block_stop", "index": index}


def message_delta(reason="end_turn", output=7, **usage):
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": output, **usage}}


def text_block(words, index=0):
    return [block_start(index, type="text", text=""), block_delta(index, "text_delta", text=words), block_stop(index)]


CITED = {"type": "web_search_result_location", "url": "https://a.example", "title": "A", "cited_text": "x"}
STREAMS = {  # config, input, events, expected members of the message
    "thinking, shown and not": (
        {},
        {},
        [
            START,
            block_start(0, type="thinking", thinking="", signature=""),
            block_delta(0, "thinking_delta", thinking="H"),
            block_delta(0, "thinking_delta", thinking="m"),
            block_delta(0, "signature_delta", signature="s1"),
            block_stop(0),
            block_start(1, type="thinking", thinking="", signature=""),
            block_delta(1, "signature_delta", signature="s2"),
            block_stop(1),
            block_start(2, type="redacted_thinking", data="r1"),
            block_stop(2),
            *text_block("So.", 3),
            message_delta(output_tokens_details={"thinking_tokens": 4}),
            STOP,
        ],
        {
            "content": [
                {"type": "reasoning", "text": "Hm", "extra": {"anthropic": {"signature": "s1"}}},
                {"type": "reasoning", "extra": {"anthropic": {"signature": "s2"}}},
                {"type": "reasoning", "extra": {"anthropic": {"redacted": "r1"}}},
                text("So."),
            ],
            "usage": {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12, "reasoning_tokens": 4},
        },
    ),
    "citations": (
        {},
        {},
        [
            START,
            block_start(0, type="text", text="", citations=[]),
            block_delta(0, "text_delta", text="It says so."),
            block_delta(0, "citations_delta", citation=CITED),
            block_delta(0, "citations_delta", citation={**CITED, "cited_text": "y"}),
            block_stop(0),
            *text_block(" And more.", 1),
            message_delta(),
            STOP,
        ],
        {
            "content": [
                text("It says so.", extra={"anthropic": {"citations": [CITED, {**CITED, "cited_text": "y"}]}}),
                {"type": "source", "url": "https://a.example", "title": "A"},
                text(" And more."),
            ]
        },
    ),
    "calls in parallel, one without arguments, by our names": (
        {},
        {"tools": [WEATHER]},
        [
            START,
            *text_block("I look."),
            block_start(1, type="tool_use", id="t1", name="get_weather", input={}),
            block_delta(1, "input_json_delta", partial_json=""),
            block_delta(1, "input_json_delta", partial_json='{"city": "Ky'),
            block_delta(1, "input_json_delta", partial_json='oto"}'),
            block_stop(1),
            block_start(2, type="tool_use", id="t2", name="now", input={}),
            block_stop(2),
            block_start(3, type="tool_use", id="t3", name="get_weather", input={}),
            block_delta(3, "input_json_delta", partial_json='{"city": '),
            block_stop(3),
            message_delta("tool_use"),
            STOP,
        ],
        {
            "content": "I look.",
            "finish_reason": "tool_calls",
            "tool_calls": [
                {"id": "t1", "name": "get weather", "arguments": {"city": "Kyoto"}},
                {"id": "t2", "name": "now", "arguments": {}},
                {"id": "t3", "name": "get weather", "arguments": '{"city": '},
            ],
        },
    ),
    "an answer by a tool": (
        {"structured_output": "tool"},
        {"response_schema": PERSON},
        [
            START,
            block_start(0, type="tool_use", id="t1", name="tenon_answer", input={}),
            block_delta(0, "input_json_delta", partial_json='{"name": '),
            block_delta(0, "input_json_delta", partial_json='"Ada"}'),
            block_stop(0),
            message_delta("tool_use"),
            STOP,
        ],
        {"content": '{"name": "Ada"}', "finish_reason": "stop"},
    ),
    "what is unknown is kept, or passed over": (
        {},
        {},
        [
            {"type": "weather", "sunny": True},
            START,
            block_start(0, type="dream", of="sheep"),
            block_delta(0, "dream_delta", more="sheep"),
            block_delta(0, "text_delta", text="Ba"),
            block_delta(0, "text_delta", text="a"),
            block_delta(0, "thinking_delta", thinking="passed over"),
            block_stop(0),
            *text_block("Awake.", 1),
            {"type": "mood"},
            message_delta("enough"),
            STOP,
            {"type": "epilogue"},
            block_start(9, type="text", text="not heard"),
        ],
        {
            "content": "Awake.",
            "finish_reason": "other",
            "extra": {
                "anthropic": {
                    "id": "msg_1",
                    "stop_reason": "enough",
                    "blocks": {"parts": 1, "list": [{"type": "dream", "of": "sheep", "text": "Baa"}, {"part": 0}]},
                }
            },
        },
    ),
    "a pause": ({}, {}, [START, *text_block("…"), message_delta("pause_turn"), STOP], {"finish_reason": "other"}),
    "too long": ({}, {}, [START, *text_block("…"), message_delta("max_tokens"), STOP], {"finish_reason": "length"}),
    "a full window": ({}, {}, [START, *text_block("…"), message_delta("model_context_window_exceeded"), STOP], {"finish_reason": "length"}),
    "cached": (
        {},
        {},
        [
            {**START, "message": {**START["message"], "usage": {"input_tokens": 5, "cache_read_input_tokens": 100,
                                                                "cache_creation_input_tokens": 20, "output_tokens": 1}}},
            *text_block("Yes."),
            message_delta(input_tokens=6),
            STOP,
        ],
        {"usage": {"input_tokens": 126, "output_tokens": 7, "total_tokens": 133, "cached_tokens": 100,
                   "cache_write_tokens": 20}},
    ),
}
INVALID_STREAMS = {  # events, expected code
    "a delta before the start": ([block_delta(0, "text_delta", text="x"), START, message_delta(), STOP], "INVALID_RESPONSE"),
    "a delta without a block": ([START, block_delta(0, "text_delta", text="x"), message_delta(), STOP], "INVALID_RESPONSE"),
    "a delta of another block": (
        [START, block_start(0, type="text", text=""), block_delta(1, "text_delta", text="x"), block_stop(0), message_delta(), STOP],
        "INVALID_RESPONSE",
    ),
    "a block within a block": (
        [START, block_start(0, type="text", text=""), block_start(1, type="text", text=""), block_stop(1), message_delta(), STOP],
        "INVALID_RESPONSE",
    ),
    "an end within a block": ([START, block_start(0, type="text", text=""), message_delta(), STOP], "INVALID_RESPONSE"),
    "an end without a reason": ([START, *text_block("x"), STOP], "INVALID_RESPONSE"),
    "a block that is none": (
        [{**START, "message": {**START["message"], "content": [None]}}, message_delta(), STOP],
        "INVALID_RESPONSE",
    ),
    "the end alone": ([STOP], "INVALID_RESPONSE"),
    "a call without a name": ([START, block_start(0, type="tool_use", id="t1", input={}), message_delta(), STOP], "INVALID_RESPONSE"),
    "the service's own input, broken": (
        [
            START,
            block_start(0, type="server_tool_use", id="s1", name="web_search", input={}),
            block_delta(0, "input_json_delta", partial_json='{"query'),
            block_stop(0),
            message_delta(),
            STOP,
        ],
        "INVALID_RESPONSE",
    ),
    "overloaded after a while": ([START, *text_block("Well,"), error("overloaded_error")], "OVERLOADED"),
    "too much after a while": ([START, error("rate_limit_error")], "RATE_LIMITED"),
    "too long after all": ([START, error("invalid_request_error", "prompt is too long")], "CONTEXT_LENGTH"),
}


def case(config, given, exchange=None):
    exchange = exchange or {"status": 400, "body": "{}"}
    return {
        "component": "anthropic",
        "config": {"model": "m", **config},
        "input": given,
        "exchanges": [exchange],
    }


def check_requests(drive):
    all_requests = {**REQUESTS, **OLDER_MODEL_REQUESTS}
    for (name, (_, _, expected)), result in zip(all_requests.items(), drive([case(*row[:2]) for row in all_requests.values()])):
        if not d.check(result["requests"], f"{name}: no request was sent: {result.get('error')}"):
            continue
        request = result["requests"][0]
        found = json.dumps(request["json"], ensure_ascii=False)
        d.check(request["json"] == expected, f"{name}: sent {found}\n  expected {json.dumps(expected, ensure_ascii=False)}")


def check_addresses(drive):
    secret = {"secret": "ANTHROPIC_API_KEY"}
    default_headers = {"anthropic-version": "2023-06-01", "x-api-key": [secret]}
    for config, url, headers in (
        ({}, "https://api.anthropic.com/v1/messages", default_headers),
        ({"api_key": {"secret": "OTHER"}}, "https://api.anthropic.com/v1/messages", {**default_headers, "x-api-key": [{"secret": "OTHER"}]}),
        ({"base_url": "http://localhost:1/v1/"}, "http://localhost:1/v1/messages", {"anthropic-version": "2023-06-01"}),
        (
            {"beta": ["a-1", "b-2"], "headers": {"x-mine": "1"}},
            "https://api.anthropic.com/v1/messages",
            {**default_headers, "anthropic-beta": "a-1,b-2", "x-mine": "1"},
        ),
    ):
        request = drive([case(config, conversation("Hi"))])[0]["requests"][0]
        d.check(request["url"] == url, f"{config}: {request['url']}, expected {url}")
        d.check(request["headers"] == headers, f"{config}: {request['headers']}, expected {headers}")
        d.check(request["method"] == "POST" and request["receive"] == "events", f"{config}: {request}")


def check_errors(drive):
    for name, (config, given, code, words) in REFUSED.items():
        result = drive([case(config, given)])[0]
        found = result.get("error", {})
        d.check(found.get("code") == code and words in found.get("message", ""), f"refused, {name}: {result}")
        d.check(result["requests"] == [], f"refused, {name}: a request was sent")
    headers = {"content-type": "application/json", "request-id": "req_7", "retry-after": "7"}
    for status, answer, code, retryable, after in ERRORS:
        exchange = {"status": status, "headers": headers, "body": json.dumps(answer) if answer else "<html>"}
        found = drive([case({}, conversation("Hi"), exchange)])[0]["error"]
        actual = (found["code"], found["retryable"], found.get("retry_after_ms"))
        name = f"{status} {answer}"
        d.check(actual == (code, retryable, after), f"{name}: {found}, expected {code} {retryable} {after}")
        detail = {"status": status, "provider": "anthropic", "request_id": "req_7"}
        detail.update({"type": answer["error"]["type"]} if answer else {})
        detail.update({"secret": "ANTHROPIC_API_KEY"} if code == "AUTH" else {})
        found["detail"].pop("body", None)
        d.check(found["detail"] == detail, f"{name}: {found['detail']}")
        d.check(not answer or answer["error"]["message"] in found["message"], f"{name}: the message does not quote: {found}")


def check_streams(drive):
    cases = [case(row[0], conversation("Hi", **row[1]), {"stream": frame_all(row[2])}) for row in STREAMS.values()]
    throttled = drive([{**row, "room": 1} for row in cases])
    for (name, row), result, throttled_result in zip(STREAMS.items(), drive(cases), throttled):
        output = result.get("output")
        if not d.check(output is not None, f"{name}: {result.get('error')}"):
            continue
        for key, expected in row[3].items():
            found = output["message"].get(key)
            d.check(found == expected, f"{name}: {key} is {json.dumps(found)}, expected {json.dumps(expected)}")
        d.check(throttled_result.get("output") == output, f"{name}: another message with back-pressure")
        d.check_deltas(name, result)
    cases = [case({}, conversation("Hi"), {"stream": frame_all(events)}) for events, _ in INVALID_STREAMS.values()]
    for (name, (_, code)), result in zip(INVALID_STREAMS.items(), drive(cases)):
        d.check(result.get("error", {}).get("code") == code, f"{name}: {result.get('error') or result.get('output')}")
    # Whole answers: an error is detected with any status, and JSON without a message is not an answer.
    for answer, code in ((error("overloaded_error"), "OVERLOADED"), ({"choices": []}, "INVALID_RESPONSE"), ([], "INVALID_RESPONSE")):
        result = drive([case({"stream": False}, conversation("Hi"), {"body": json.dumps(answer)})])[0]
        d.check(result.get("error", {}).get("code") == code, f"{answer}: {result}")


def main():
    drive = d.Drive("anthropic")
    check_requests(drive)
    check_addresses(drive)
    check_errors(drive)
    check_streams(drive)
    d.finish()


if __name__ == "__main__":
    main()
