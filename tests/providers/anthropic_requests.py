"""Anthropic: what is asked, in the service's words; what it says is wrong, in ours; and streams that nobody recorded.

A case of REQUESTS is a configuration, an input and the body that is to be sent. anthropic_types.py holds the bodies
against the types of the service's own library.
"""
import base64
import json

import drive as d
from anthropic_recorded import framed

MAX = 16384
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"0" * 8).decode()
PDF = base64.b64encode(b"%PDF-1.7 ").decode()
WEATHER = {"name": "get weather", "description": "The weather.", "input_schema": {"type": "object", "properties": {}}}
THEIRS = {"name": "get_weather", "description": "The weather.", "input_schema": {"type": "object", "properties": {}}}
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
HELD = {
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


def asked(*messages, **more):
    return {"messages": list(messages), **more}


CALL = {"id": "toolu_1", "name": "get weather", "arguments": {"city": "Kyoto"}}
USE = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Kyoto"}}
HI = body(user("Hi"))
REQUESTS = {
    "a text": ({}, asked("Hi"), HI),
    "in one piece": ({"stream": False}, asked("Hi"), {key: HI[key] for key in ("model", "max_tokens", "messages")}),
    "system messages first": (
        {},
        asked({"type": "system", "content": "Be short."}, {"type": "developer", "content": [text("And kind.")]}, "Hi"),
        {**HI, "system": [text("Be short."), text("And kind.")]},
    ),
    "system messages alone": (
        {},
        asked({"type": "system", "content": "Be short."}, {"type": "system", "content": "Greet me."}),
        body(user("<system>\nGreet me.\n</system>"), system=[text("Be short.")]),
    ),
    "a system message further on": (
        {},
        asked("Hi", {"type": "ai", "content": "Yes?"}, {"type": "system", "content": "Be short."}, "Why?"),
        body(user("Hi"), assistant("Yes?"), user("<system>\nBe short.\n</system>", "Why?")),
    ),
    "a system message further on, of its own": (
        {"late_system": "system"},
        asked("Hi", {"type": "system", "content": "Be short."}, {"type": "ai", "content": "Yes?"}, "Why?"),
        body(user("Hi"), {"role": "system", "content": [text("Be short.")]}, assistant("Yes?"), user("Why?")),
    ),
    "where it must not stand it is a text": (
        {"late_system": "system"},
        asked(
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
        asked("One", "", "Two", {"type": "ai", "content": " \n"}, {"type": "ai", "content": "Three"}, "Four"),
        body(user("One", "Two"), assistant("Three"), user("Four")),
    ),
    "tools, and what they gave, first": (
        {},
        asked(
            "Hi",
            {"type": "ai", "content": "I look.", "tool_calls": [CALL, {**CALL, "id": "call.2", "arguments": "{broken"}]},
            "While you do",
            {"type": "tool", "tool_call_id": "toolu_1", "content": "Rain"},
            {"type": "tool", "tool_call_id": "call.2", "content": [text("No such city")], "status": "error"},
            tools=[WEATHER, {"name": "now"}],
        ),
        body(
            user("Hi"),
            assistant("I look.", USE, {**USE, "id": "call_2", "input": {"invalid_json": "{broken"}}),
            user(
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Rain"},
                {"type": "tool_result", "tool_use_id": "call_2", "content": [text("No such city")], "is_error": True},
                "While you do",
            ),
            tools=[THEIRS, {"name": "now", "input_schema": {"type": "object"}}],
        ),
    ),
    "a tool that gave nothing": (
        {},
        asked({"type": "ai", "content": "", "tool_calls": [CALL]}, {"type": "tool", "tool_call_id": "toolu_1", "content": ""}),
        body(assistant(USE), user({"type": "tool_result", "tool_use_id": "toolu_1"})),
    ),
    "which tool": (
        {"parallel_tool_calls": False},
        asked("Hi", tools=[WEATHER], options={"tool_choice": {"name": "get weather"}}),
        {
            **HI,
            "tools": [THEIRS],
            "tool_choice": {"type": "tool", "name": "get_weather", "disable_parallel_tool_use": True},
        },
    ),
    "one of the tools": (
        {"tool_choice": "required"},
        asked("Hi", tools=[WEATHER]),
        {**HI, "tools": [THEIRS], "tool_choice": {"type": "any"}},
    ),
    "none of the tools": (
        {"tool_choice": "required"},
        asked("Hi", tools=[WEATHER], options={"tool_choice": "none", "parallel_tool_calls": False}),
        {**HI, "tools": [THEIRS], "tool_choice": {"type": "none"}},
    ),
    "one tool at a time": (
        {"parallel_tool_calls": False},
        asked("Hi", tools=[WEATHER]),
        {**HI, "tools": [THEIRS], "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
    ),
    "no choice without tools": ({"tool_choice": "required"}, asked("Hi"), HI),
    "the service's own tools, and what it takes of ours besides": (
        {"server_tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": 2}]},
        asked("Hi", tools=[{**WEATHER, "extra": {"anthropic": {"strict": True, "name": "x"}}}]),
        {
            **HI,
            "tools": [{**THEIRS, "strict": True}, {"type": "web_search_20250305", "name": "web_search", "max_uses": 2}],
        },
    ),
    "options": (
        {"max_tokens": 100, "stop": ["END"], "metadata": {"user_id": "u1"}, "cache": "1h", "seed": 4},
        asked("Hi", options={"max_tokens": 200, "stop": "STOP"}),
        {
            **HI,
            "max_tokens": 200,
            "stop_sequences": ["STOP"],
            "metadata": {"user_id": "u1"},
            "cache_control": {"type": "ephemeral", "ttl": "1h"},
        },
    ),
    "a cache": ({"cache": True}, asked("Hi"), {**HI, "cache_control": {"type": "ephemeral"}}),
    "no cache": ({"cache": False}, asked("Hi"), HI),
    "extra": (
        {"extra": {"service_tier": "auto", "max_tokens": 1}},
        asked("Hi", options={"extra": {"max_tokens": 2}}),
        {**HI, "service_tier": "auto", "max_tokens": 2},
    ),
    "effort": (
        {"reasoning": {"effort": "high"}},
        asked("Hi"),
        {**HI, "thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}},
    ),
    "no thinking": ({"reasoning": {"effort": "none"}}, asked("Hi"), {**HI, "thinking": {"type": "disabled"}}),
    "a budget for thinking": (
        {"reasoning": {"max_tokens": 2000}},
        asked("Hi"),
        {**HI, "max_tokens": MAX + 2000, "thinking": {"type": "enabled", "budget_tokens": 2000}},
    ),
    "a budget for thinking, of what is given": (
        {"reasoning": {"max_tokens": 2000}, "max_tokens": 4000},
        asked("Hi"),
        {**HI, "max_tokens": 4000, "thinking": {"type": "enabled", "budget_tokens": 2000}},
    ),
    "images": (
        {},
        asked(
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
        asked(
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
        asked(
            {"type": "ai", "content": "", "tool_calls": [CALL]},
            {"type": "tool", "tool_call_id": "toolu_1", "content": [{"type": "image", "data": PNG}]},
        ),
        body(
            assistant(USE),
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
        asked(
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
        asked(
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
                USE,
            ),
            user({"type": "tool_result", "tool_use_id": "toolu_1", "content": "Rain"}),
        ),
    ),
    "a container, while its tools wait": (
        {},
        asked(
            "Hi",
            {"type": "ai", "content": "", "tool_calls": [CALL], "extra": {"anthropic": {"container": {"id": "c1"}}}},
            {"type": "tool", "tool_call_id": "toolu_1", "content": "Rain"},
        ),
        body(
            user("Hi"),
            assistant(USE),
            user({"type": "tool_result", "tool_use_id": "toolu_1", "content": "Rain"}),
            container="c1",
        ),
    ),
    "no container, when the turn is over": (
        {},
        asked({"type": "ai", "content": "Yes?", "extra": {"anthropic": {"container": {"id": "c1"}}}}, "Hi"),
        body(assistant("Yes?"), user("Hi")),
    ),
    "a message that was changed is what it is": (
        {},
        asked(
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
        asked("Hi", response_schema=PERSON),
        {**HI, "output_config": {"format": {"type": "json_schema", "schema": HELD}}},
    ),
    "a schema, by a tool": (
        {"structured_output": "tool"},
        asked("Hi", response_schema=PERSON),
        {
            **HI,
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
OF_OLDER_MODELS = {  # the library's types have these no more
    "temperature": ({"temperature": 0.5, "top_p": 0.9}, asked("Hi"), {**HI, "temperature": 0.5, "top_p": 0.9}),
}
REFUSED = {  # input: code, and what the message has in it
    "nothing": ({}, asked(""), "INVALID_REQUEST", "nothing in them"),
    "audio": ({}, asked({"type": "user", "content": [{"type": "audio", "data": "AAAA"}]}), "UNSUPPORTED", "audio"),
    "a Word file": (
        {},
        asked({"type": "user", "content": [{"type": "file", "media_type": "application/msword", "data": "AAAA"}]}),
        "UNSUPPORTED",
        "application/msword",
    ),
    "a bitmap": (
        {},
        asked({"type": "user", "content": [{"type": "image", "media_type": "image/bmp", "data": "AAAA"}]}),
        "UNSUPPORTED",
        "image/bmp",
    ),
    "an empty image": ({}, asked({"type": "user", "content": [{"type": "image"}]}), "INVALID_REQUEST", "file_id"),
    "a result of nothing": ({}, asked({"type": "tool", "content": "x"}), "INVALID_REQUEST", "tool_call_id"),
    "a choice": ({}, asked("Hi", tools=[WEATHER], options={"tool_choice": "most"}), "INVALID_REQUEST", "most"),
    "images out": ({}, asked("Hi", options={"modalities": ["text", "image"]}), "UNSUPPORTED", "image"),
    "a list by a tool": (
        {"structured_output": "tool"},
        asked("Hi", response_schema={"type": "array"}),
        "UNSUPPORTED",
        "structured_output",
    ),
    "vectors": ({}, {"embed": ["Hi"]}, "UNSUPPORTED", "embeddings"),
}


def error(kind, message="Something.", **more):
    return {"type": "error", "error": {"type": kind, "message": message, **more}, "request_id": "req_body"}


ERRORS = [  # HTTP's status, the body, our code, retryable, retry_after_ms
    (401, error("authentication_error", "invalid x-api-key"), "AUTH", False, None),
    (403, error("permission_error"), "AUTH", False, None),
    (402, error("billing_error"), "AUTH", False, None),
    (404, error("not_found_error", "model: m"), "INVALID_REQUEST", False, None),
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
    (429, error("rate_limit_error", details={"error_code": "enforced_spend_limit_reached"}), "RATE_LIMITED", False, None),
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


def opened(index, **block):
    return {"type": "content_block_start", "index": index, "content_block": block}


def added(index, kind, **delta):
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **delta}}


def closed(index):
    return {"type": "content_block_stop", "index": index}


def ended(reason="end_turn", output=7, **usage):
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": output, **usage}}


def said(words, index=0):
    return [opened(index, type="text", text=""), added(index, "text_delta", text=words), closed(index)]


CITED = {"type": "web_search_result_location", "url": "https://a.example", "title": "A", "cited_text": "x"}
STREAMS = {  # config, input, events: what the message has
    "thinking, shown and not": (
        {},
        {},
        [
            START,
            opened(0, type="thinking", thinking="", signature=""),
            added(0, "thinking_delta", thinking="H"),
            added(0, "thinking_delta", thinking="m"),
            added(0, "signature_delta", signature="s1"),
            closed(0),
            opened(1, type="thinking", thinking="", signature=""),
            added(1, "signature_delta", signature="s2"),
            closed(1),
            opened(2, type="redacted_thinking", data="r1"),
            closed(2),
            *said("So.", 3),
            ended(output_tokens_details={"thinking_tokens": 4}),
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
            opened(0, type="text", text="", citations=[]),
            added(0, "text_delta", text="It says so."),
            added(0, "citations_delta", citation=CITED),
            added(0, "citations_delta", citation={**CITED, "cited_text": "y"}),
            closed(0),
            *said(" And more.", 1),
            ended(),
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
            *said("I look."),
            opened(1, type="tool_use", id="t1", name="get_weather", input={}),
            added(1, "input_json_delta", partial_json=""),
            added(1, "input_json_delta", partial_json='{"city": "Ky'),
            added(1, "input_json_delta", partial_json='oto"}'),
            closed(1),
            opened(2, type="tool_use", id="t2", name="now", input={}),
            closed(2),
            opened(3, type="tool_use", id="t3", name="get_weather", input={}),
            added(3, "input_json_delta", partial_json='{"city": '),
            closed(3),
            ended("tool_use"),
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
            opened(0, type="tool_use", id="t1", name="tenon_answer", input={}),
            added(0, "input_json_delta", partial_json='{"name": '),
            added(0, "input_json_delta", partial_json='"Ada"}'),
            closed(0),
            ended("tool_use"),
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
            opened(0, type="dream", of="sheep"),
            added(0, "dream_delta", more="sheep"),
            added(0, "text_delta", text="Ba"),
            added(0, "text_delta", text="a"),
            added(0, "thinking_delta", thinking="passed over"),
            closed(0),
            *said("Awake.", 1),
            {"type": "mood"},
            ended("enough"),
            STOP,
            {"type": "epilogue"},
            opened(9, type="text", text="not heard"),
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
    "a pause": ({}, {}, [START, *said("…"), ended("pause_turn"), STOP], {"finish_reason": "other"}),
    "too long": ({}, {}, [START, *said("…"), ended("max_tokens"), STOP], {"finish_reason": "length"}),
    "a full window": ({}, {}, [START, *said("…"), ended("model_context_window_exceeded"), STOP], {"finish_reason": "length"}),
    "cached": (
        {},
        {},
        [
            {**START, "message": {**START["message"], "usage": {"input_tokens": 5, "cache_read_input_tokens": 100,
                                                                "cache_creation_input_tokens": 20, "output_tokens": 1}}},
            *said("Yes."),
            ended(input_tokens=6),
            STOP,
        ],
        {"usage": {"input_tokens": 126, "output_tokens": 7, "total_tokens": 133, "cached_tokens": 100,
                   "cache_write_tokens": 20}},
    ),
}
BROKEN = {  # events: the code that comes of them
    "a delta before the start": ([added(0, "text_delta", text="x"), START, ended(), STOP], "INVALID_RESPONSE"),
    "a delta without a block": ([START, added(0, "text_delta", text="x"), ended(), STOP], "INVALID_RESPONSE"),
    "a delta of another block": (
        [START, opened(0, type="text", text=""), added(1, "text_delta", text="x"), closed(0), ended(), STOP],
        "INVALID_RESPONSE",
    ),
    "a block within a block": (
        [START, opened(0, type="text", text=""), opened(1, type="text", text=""), closed(1), ended(), STOP],
        "INVALID_RESPONSE",
    ),
    "an end within a block": ([START, opened(0, type="text", text=""), ended(), STOP], "INVALID_RESPONSE"),
    "an end without a reason": ([START, *said("x"), STOP], "INVALID_RESPONSE"),
    "a block that is none": (
        [{**START, "message": {**START["message"], "content": [None]}}, ended(), STOP],
        "INVALID_RESPONSE",
    ),
    "the end alone": ([STOP], "INVALID_RESPONSE"),
    "a call without a name": ([START, opened(0, type="tool_use", id="t1", input={}), ended(), STOP], "INVALID_RESPONSE"),
    "the service's own input, broken": (
        [
            START,
            opened(0, type="server_tool_use", id="s1", name="web_search", input={}),
            added(0, "input_json_delta", partial_json='{"query'),
            closed(0),
            ended(),
            STOP,
        ],
        "INVALID_RESPONSE",
    ),
    "overloaded after a while": ([START, *said("Well,"), error("overloaded_error")], "OVERLOADED"),
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
    wanted = {**REQUESTS, **OF_OLDER_MODELS}
    for (name, (_, _, right)), result in zip(wanted.items(), drive([case(*it[:2]) for it in wanted.values()])):
        if not d.check(result["requests"], f"{name}: nothing was sent: {result.get('error')}"):
            continue
        request = result["requests"][0]
        found = json.dumps(request["json"], ensure_ascii=False)
        d.check(request["json"] == right, f"{name}: sent {found}\n  expected {json.dumps(right, ensure_ascii=False)}")


def check_addresses(drive):
    secret = {"secret": "ANTHROPIC_API_KEY"}
    own = {"anthropic-version": "2023-06-01", "x-api-key": [secret]}
    for config, url, headers in (
        ({}, "https://api.anthropic.com/v1/messages", own),
        ({"api_key": {"secret": "OTHER"}}, "https://api.anthropic.com/v1/messages", {**own, "x-api-key": [{"secret": "OTHER"}]}),
        ({"base_url": "http://localhost:1/v1/"}, "http://localhost:1/v1/messages", {"anthropic-version": "2023-06-01"}),
        (
            {"beta": ["a-1", "b-2"], "headers": {"x-mine": "1"}},
            "https://api.anthropic.com/v1/messages",
            {**own, "anthropic-beta": "a-1,b-2", "x-mine": "1"},
        ),
    ):
        request = drive([case(config, asked("Hi"))])[0]["requests"][0]
        d.check(request["url"] == url, f"{config}: {request['url']}, expected {url}")
        d.check(request["headers"] == headers, f"{config}: {request['headers']}, expected {headers}")
        d.check(request["method"] == "POST" and request["receive"] == "events", f"{config}: {request}")


def check_errors(drive):
    for name, (config, given, code, words) in REFUSED.items():
        result = drive([case(config, given)])[0]
        found = result.get("error", {})
        d.check(found.get("code") == code and words in found.get("message", ""), f"refused, {name}: {result}")
        d.check(result["requests"] == [], f"refused, {name}: and yet something was sent")
    headers = {"content-type": "application/json", "request-id": "req_7", "retry-after": "7"}
    for status, answer, code, retryable, after in ERRORS:
        exchange = {"status": status, "headers": headers, "body": json.dumps(answer) if answer else "<html>"}
        found = drive([case({}, asked("Hi"), exchange)])[0]["error"]
        told = (found["code"], found["retryable"], found.get("retry_after_ms"))
        name = f"{status} {answer}"
        d.check(told == (code, retryable, after), f"{name}: {found}, expected {code} {retryable} {after}")
        detail = {"status": status, "provider": "anthropic", "request_id": "req_7"}
        detail.update({"type": answer["error"]["type"]} if answer else {})
        d.check(found["detail"] == detail, f"{name}: {found['detail']}")
        d.check("x-api-key" not in found["message"], f"{name}: what is said about a key is not repeated")


def check_streams(drive):
    cases = [case(it[0], asked("Hi", **it[1]), {"stream": framed(it[2])}) for it in STREAMS.values()]
    slow = drive([{**it, "room": 1} for it in cases])
    for (name, it), result, slowly in zip(STREAMS.items(), drive(cases), slow):
        output = result.get("output")
        if not d.check(output is not None, f"{name}: {result.get('error')}"):
            continue
        for key, right in it[3].items():
            found = output["message"].get(key)
            d.check(found == right, f"{name}: {key} is {json.dumps(found)}, expected {json.dumps(right)}")
        d.check(slowly.get("output") == output, f"{name}: with back-pressure another message")
        d.check_deltas(name, result)
    cases = [case({}, asked("Hi"), {"stream": framed(events)}) for events, _ in BROKEN.values()]
    for (name, (_, code)), result in zip(BROKEN.items(), drive(cases)):
        d.check(result.get("error", {}).get("code") == code, f"{name}: {result.get('error') or result.get('output')}")
    # In one piece: an error is one whatever its status says, and what is no message is no answer.
    for answer, code in ((error("overloaded_error"), "OVERLOADED"), ({"choices": []}, "INVALID_RESPONSE"), ([], "INVALID_RESPONSE")):
        result = drive([case({"stream": False}, asked("Hi"), {"body": json.dumps(answer)})])[0]
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
