"""The rows of plugins/openai/presets.json, and what answers of compatible services have beside texts and calls.

A request of each row, with everything that a document can ask for, has only fields that the vendor's SDK knows
(dialect_server.py), and has every option that it does know. Answers are streamed, whole, and cut at every byte."""
import base64
import glob
import io
import json
import os
import re
import wave

import dialect_server
import drive as d
import openai_recorded

PRESETS = os.path.join(d.HERE, "..", "..", "plugins", "openai", "presets.json")
PNG = "iVBORw0K"
SCHEMA = {"title": "An answer", "type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
          "additionalProperties": False}
DETAILS = [{"type": "reasoning.text", "text": "hm", "signature": "s", "index": 0}]
OPTIONS = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 50, "stop": ["X"], "seed": 7, "parallel_tool_calls": True,
           "reasoning": {"effort": "low"}}
TOOL = {"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}


def history(images):
    picture = [{"type": "image", "data": PNG, "media_type": "image/png"}]
    return [
        {"type": "system", "content": "Be kind."},
        {"type": "developer", "content": "Be short."},
        {"type": "user", "name": "ada", "content": [{"type": "text", "text": "Look"}, *(picture if images else [])]},
        {"type": "ai", "content": [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "I look."}],
         "extra": {"openai": {"reasoning_details": DETAILS}},
         "tool_calls": [{"id": "c1", "name": "look", "arguments": {},
                         "extra": {"openai": {"extra_content": {"google": {"thought_signature": "t"}}}}}]},
        {"type": "tool", "tool_call_id": "c1", "name": "look", "content": [{"type": "text", "text": "A tree"}, *picture]},
        {"type": "user", "content": "And?"},
    ]


def case(exchange, given, config):
    return {"component": "openai", "config": {"model": "m", **config}, "input": given, "exchanges": [exchange]}


STREAM = {"stream": 'data: {"choices":[{"index":0,"delta":{"content":"{}"},"finish_reason":"stop"}]}\n\n'}
WHOLE = {"body": '{"choices":[{"index":0,"message":{"content":"{}"},"finish_reason":"stop"}]}'}


def requests_of(row, config, drive):
    """The requests of a row with the same question, streamed and whole, for each kind of tool_choice."""
    if config.get("dialect", {}).get("needs_base_url"):
        config = {**config, "base_url": "https://acme.openai.azure.com/openai/v1"}
    images = "image_url" in dialect_server.FIELDS[row]["parts"]
    given = {"messages": history(images), "tools": [TOOL], "response_schema": SCHEMA}
    choices = [None, "auto", "none", "required", {"name": "look"}]
    cases = []
    for choice in choices:
        options = {**OPTIONS, **({} if choice is None else {"tool_choice": choice})}
        cases.append(case(STREAM, {**given, "options": options}, config))
    cases.append(case(WHOLE, given, {**config, "stream": False}))
    found = []
    for result in drive(cases):
        if d.check("output" in result, f"{row}: {result}"):
            found.append(result["requests"][0])
    return found


# An option that the server knows, under one of these names, is sent; the values are those of OPTIONS.
KNOWN = [("temperature",), ("top_p",), ("max_tokens", "max_completion_tokens"), ("stop",), ("seed", "random_seed"),
         ("parallel_tool_calls",), ("reasoning_effort", "reasoning"), ("tools",), ("response_format",), ("stream_options",)]


MEDIA = {"image": (("image_url",), "image/png"), "file": (("file", "document_url"), "application/pdf"), "audio": (("input_audio",), "audio/wav")}


def check_media(row, config, drive):
    """A part that the server knows is sent, and any other is refused before the request; a tool's result has a note instead."""
    if config.get("dialect", {}).get("needs_base_url"):
        config = {**config, "base_url": "https://acme.openai.azure.com/openai/v1"}
    call = {"type": "ai", "content": "", "tool_calls": [{"id": "c1", "name": "f", "arguments": {}}]}
    cases = []
    for kind, (_, media_type) in MEDIA.items():
        content = [{"type": kind, "media_type": media_type, "data": PNG}]
        for messages in ([{"type": "user", "content": content}], ["?", call, {"type": "tool", "tool_call_id": "c1", "content": content}]):
            cases.append(case(STREAM, {"messages": messages}, config))
    results = drive(cases)
    for result in results:
        for request in result["requests"]:
            d.check(not dialect_server.refuse(row, request["json"]), f"{row}: media: {request['json']}")
    for (kind, (types, _)), asked, told in zip(MEDIA.items(), results[::2], results[1::2]):
        known = set(types) & set(dialect_server.FIELDS[row]["parts"])
        sent = [r["json"]["messages"][0]["content"][0]["type"] for r in asked["requests"]]
        d.check(sent and sent[0] in known if known else asked.get("error", {}).get("code") == "UNSUPPORTED", f"{row}: {kind}: {asked}")
        d.check("output" in told, f"{row}: {kind} of a tool: {told}")


def check_speech(row, config, drive):
    """A row with speech asks for it as the service accepts it; any other fails before a request."""
    if config.get("dialect", {}).get("needs_base_url"):
        config = {**config, "base_url": "https://acme.example/openai/v1"}
    speech = config.get("dialect", {}).get("speech")
    d.check((speech is not None) == ("audio" in dialect_server.FIELDS[row]["request"]), f"{row}: speech is {speech}")
    options = [{"speech": {"voice": "v"}}, {"modalities": ["text", "audio"]}, {"speech": {"format": "mp3"}}]
    for given, result in zip(options, drive([case(STREAM, {"messages": "?", "options": o}, config) for o in options])):
        sent = result["requests"][0]["json"] if result["requests"] else None
        if speech is None:
            error = result.get("error", {})
            d.check(sent is None and error.get("code") == "UNSUPPORTED" and "dialect: {speech: any}" in error["message"],
                    f"{row}: {given}: {result}")
            continue
        wanted = given.get("speech", {}).get("format")
        expected = {"voice": given.get("speech", {}).get("voice", "alloy"), "format": wanted or "pcm16"}
        d.check(sent["audio"] == expected and sent["modalities"] == ["text", "audio"], f"{row}: {given}: {sent}")
        d.check(sent.get("stream", False) == (speech == "stream" or wanted is None), f"{row}: {given}: stream in {sent}")
        d.check(not dialect_server.refuse(row, sent), f"{row}: {dialect_server.refuse(row, sent)}")


def check_row(row, preset, drive):
    config, fields = preset["config"], dialect_server.FIELDS[row]
    requests = requests_of(row, config, drive)
    for request in requests:
        wrong = dialect_server.refuse(row, request["json"])
        d.check(not wrong, f"{row}: the server does not know {wrong}")
        d.check("google" not in json.dumps(request["json"]), f"{row}: a signature of another service")
    if not requests:
        return
    sent = requests[0]["json"]
    for names in KNOWN:
        known = [name for name in names if name in fields["request"]]
        d.check(not known or any(name in sent for name in known), f"{row}: knows {known}, but the request has none of them")
    schema_is_sent = "json_schema" in sent.get("response_format", {}) or "additionalProperties" in sent["messages"][0]["content"]
    d.check(schema_is_sent, f"{row}: no schema in the first request: {sent}")
    header = config.get("dialect", {}).get("key_header", "authorization")
    key = config.get("api_key")
    expected = None if key is None else ["Bearer ", key] if header == "authorization" else [key]
    d.check(requests[0]["headers"].get(header) == expected, f"{row}: {requests[0]['headers']}")
    check_media(row, config, drive)
    required = requests[3]["json"]
    if "tool_choice" in fields["request"]:
        asked = required.get("tool_choice") in ("required", "any") or "call of one of the tools" in required["messages"][-1]["content"]
        d.check(asked, f"{row}: no call is required: {required.get('tool_choice')}")


def check_rows(drive):
    with open(PRESETS, encoding="utf-8") as file:
        presets = json.load(file)["component"]["presets"]
    d.check(set(presets) == set(dialect_server.FIELDS), f"other rows: {set(presets) ^ set(dialect_server.FIELDS)}")
    for row in sorted(set(presets) & set(dialect_server.FIELDS)):
        check_row(row, presets[row], drive)
        check_speech(row, presets[row]["config"], drive)
    check_readme(presets)
    return len(presets)


def check_readme(presets):
    """The table in plugins/openai/README.md has each row."""
    rows = []
    for name, preset in sorted(presets.items()):
        config = preset["config"]
        key = config.get("api_key", {}).get("secret")
        rows.append(f"| `{name}` | {preset['title']} | {config.get('base_url', 'yours')} | {'`' + key + '`' if key else ''} |")
    with open(os.path.join(os.path.dirname(PRESETS), "README.md"), encoding="utf-8") as file:
        found = [line for line in file.read().splitlines() if line.startswith("| `")]
    d.check(found == rows, "the table of plugins/openai/README.md should be:\n" + "\n".join(rows))


def check_strictness(drive):
    """The strict server is strict: without the row's flags, each of these rows is refused."""
    for row in ("mistral", "groq", "deepseek", "together", "perplexity", "ollama"):
        requests = requests_of(row, {"base_url": "https://example.com/v1"}, drive)
        d.check(any(dialect_server.refuse(row, request["json"]) for request in requests), f"{row}: nothing is refused")


# ---- Answers ----

def sse(*events):
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"


def chunks(*deltas, finish="stop", **more):
    events = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    return sse(*events, {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], **more})


def whole(message, finish="stop", **more):
    return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": finish}], **more})


def text(value):
    return {"type": "text", "text": value}


def wav_file(samples):
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setparams((1, 2, 24000, 0, "NONE", None))
        file.writeframes(samples)
    return out.getvalue()


def reasoning(value):
    return {"type": "reasoning", "text": value}


SPOKEN = bytes(range(8)) * 3
SPOKEN_PART = {"type": "audio", "media_type": "application/octet-stream", "data": base64.b64encode(SPOKEN).decode(), "extra": {"openai": {"id": "a1"}}}
SPOKEN_DELTAS = [{"audio": {"id": "a1", "transcript": "He"}}, {"audio": {"data": base64.b64encode(SPOKEN[:8]).decode()}},
                 {"audio": {"transcript": "llo"}}, {"audio": {"data": base64.b64encode(SPOKEN[8:]).decode(), "expires_at": 1}}]
WAV_PART = {"type": "audio", "media_type": "audio/wav", "data": base64.b64encode(wav_file(SPOKEN)).decode()}
RESULTS = [{"title": "B", "url": "https://b", "date": "2026-01-01"}, {"title": "C", "url": "https://c"}]
SOURCES = [{"type": "source", "url": "https://a"},
           {"type": "source", "url": "https://b", "title": "B", "extra": {"openai": RESULTS[0]}},
           {"type": "source", "url": "https://c", "title": "C", "extra": {"openai": RESULTS[1]}}]
CITED = {"citations": ["https://a", "https://b"], "search_results": RESULTS}
SIGNED = {"google": {"thought_signature": "sig"}}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
SIGNED_CALL = {"id": "c", "name": "f", "arguments": {"a": 1}, "extra": {"openai": {"extra_content": SIGNED}}}
PIECES = [{"type": "reasoning.text", "text": "Let ", "index": 0, "format": "x"},
          {"type": "reasoning.text", "text": "me", "signature": "s", "index": 0},
          {"type": "reasoning.encrypted", "data": "abc", "index": 1},
          {"type": "reasoning.summary", "summary": "It", "index": 2}, {"type": "reasoning.summary", "summary": " is", "index": 2}]
JOINED = [{"type": "reasoning.text", "text": "Let me", "index": 0, "format": "x", "signature": "s"}, PIECES[2],
          {"type": "reasoning.summary", "summary": "It is", "index": 2}]
MOON = {"prompt_tokens": 8, "completion_tokens": 2, "total_tokens": 10, "cached_tokens": 6}
CACHELESS = {name: count for name, count in MOON.items() if name != "cached_tokens"}
SIGNED_THOUGHT = {"type": "reasoning", "text": "Let me", "extra": {"openai": {"signature": "s"}}}
MOON_USAGE = {"input_tokens": 8, "output_tokens": 2, "total_tokens": 10, "cached_tokens": 6}

# (name, the stream, the whole answer or None, expected members, configuration)
ANSWERS = [
    ("reasoning_details", chunks(*[{"reasoning_details": [piece]} for piece in PIECES], {"content": "a"}),
     whole({"content": "a", "reasoning_details": PIECES}),
     {"content": [reasoning("Let meIt is"), text("a")], "extra": {"openai": {"reasoning_details": JOINED}}}, {}),
    ("reasoning_details beside reasoning", chunks({"reasoning": "Let me", "reasoning_details": JOINED[:1]}, {"content": "a"}),
     None, {"content": [reasoning("Let me"), text("a")], "extra": {"openai": {"reasoning_details": JOINED[:1]}}}, {}),
    ("a thought signature", chunks({"tool_calls": [{"index": 0, **CALL, "extra_content": SIGNED}]}, finish="tool_calls"),
     whole({"content": None, "tool_calls": [{**CALL, "extra_content": SIGNED}]}, "tool_calls"), {"tool_calls": [SIGNED_CALL]}, {}),
    ("citations", chunks({"content": "a[1]"}, **CITED), whole({"content": "a[1]"}, **CITED), {"content": [text("a[1]"), *SOURCES]}, {}),
    ("citations in each event", sse(*[{**CITED, "choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": finish}]}
     for finish in (None, None, "stop")]), None, {"content": [text("xxx"), *SOURCES]}, {}),
    ("citations after the end", sse({"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}]},
     {"choices": [], "usage": MOON, **CITED}, {"choices": [], **CITED}), None,
     {"content": [text("a"), *SOURCES], "usage": MOON_USAGE}, {}),
    ("cached tokens of Moonshot", chunks({"content": "a"}, usage=MOON), whole({"content": "a"}, usage=MOON), {"usage": MOON_USAGE}, {}),
    ("usage in the choice", sse({"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop", "usage": MOON}]}), None,
     {"usage": MOON_USAGE}, {}),
    ("usage of Groq", chunks({"content": "a"}, x_groq={"usage": MOON}), None, {"usage": MOON_USAGE}, {}),
    ("usage with other names", chunks({"content": "a"}, usage={**MOON, "deep": {"hits": 5}}), None,
     {"usage": {**MOON_USAGE, "cached_tokens": 5}}, {"dialect": {"usage": {"cached": "deep.hits"}}}),
    ("reasoning in a member of its own", chunks({"thoughts": "hm"}, {"content": "a"}), whole({"content": "a", "thoughts": "hm"}),
     {"content": [reasoning("hm"), text("a")]}, {"dialect": {"reasoning_in": "thoughts"}}),
    ("audio", chunks(*SPOKEN_DELTAS),
     whole({"content": None, "audio": {"id": "a1", "data": SPOKEN_PART["data"], "transcript": "Hello", "expires_at": 1}}),
     {"content": [text("Hello"), SPOKEN_PART]}, {}),
    ("samples that are called WAV", chunks({"audio": {"data": SPOKEN_PART["data"]}}), None, {"content": [WAV_PART]},
     {"extra": {"audio": {"format": "wav", "voice": "alloy"}}}),
    ("a stream of samples", chunks(*SPOKEN_DELTAS), None, {"content": [text("Hello"), {**WAV_PART, "extra": SPOKEN_PART["extra"]}]},
     {"speech": {}}),
    ("a WAV file", chunks({"audio": {"data": WAV_PART["data"]}}), whole({"content": None, "audio": {"data": WAV_PART["data"]}}),
     {"content": [WAV_PART]}, {"modalities": ["text", "audio"]}),
    ("samples that stay samples", chunks({"audio": {"data": SPOKEN_PART["data"]}}),
     whole({"content": None, "audio": {"data": SPOKEN_PART["data"]}}),
     {"content": [{"type": "audio", "media_type": "audio/pcm;rate=24000", "data": SPOKEN_PART["data"]}]},
     {"speech": {"format": "pcm16"}}),
    ("MP3, streamed by another service", chunks({"audio": {"data": SPOKEN_PART["data"]}}), None,
     {"content": [{"type": "audio", "media_type": "audio/mpeg", "data": SPOKEN_PART["data"]}]},
     {"speech": {"format": "mp3"}, "dialect": {"speech": "stream"}}),
    ("function_call", chunks({"function_call": {"name": "f", "arguments": '{"a"'}}, {"function_call": {"arguments": ": 1}"}},
     finish="function_call"), whole({"content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}}, "function_call"),
     {"finish_reason": "tool_calls", "calls": [("f", {"a": 1})]}, {}),
    ("thoughts of Mistral", chunks({"content": [{"type": "thinking", "thinking": [text("Le"), text("t ")]}]},
     {"content": [{"type": "thinking", "thinking": [text("me"), {"type": "reference", "reference_ids": [1]}], "signature": "s", "closed": True}]},
     {"content": [text("a")]}, {"content": "b"}),
     whole({"content": [{"type": "thinking", "thinking": [text("Let me")], "signature": "s"}, text("ab")]}),
     {"content": [SIGNED_THOUGHT, text("ab")]}, {}),
    ("references of Mistral", chunks({"content": "a"}, {"content": [{"type": "reference", "reference_ids": [3, "x"]}]}, {"content": [text("b")]},
     {"content": [{"type": "reference", "reference_ids": ["x", None, "", 3, 4]}]}),
     whole({"content": [text("a"), {"type": "reference", "reference_ids": [3, "x"]}, text("b"), {"type": "reference", "reference_ids": [4, 3]}]}),
     {"content": [text("ab"), *[{"type": "source", "title": str(n), "extra": {"openai": {"reference_id": n}}} for n in (3, "x", 4)]]}, {}),
    ("cached tokens of Mistral", chunks({"content": "a"}, usage={**CACHELESS, "num_cached_tokens": 6}), None, {"usage": MOON_USAGE}, {}),
    ("function_call and stop", chunks({"function_call": {"name": "f", "arguments": "{}"}}), None,
     {"finish_reason": "tool_calls", "calls": [("f", {})]}, {}),
]

ANSWERS_BY_NAME = {name: stream for name, stream, *_ in ANSWERS}
TEXTS = [  # (text, expected content)
    ("<think>hm</think>a", [reasoning("hm"), text("a")]),
    ("\n <think>\nhm <b>\n</think>\n\na", [reasoning("\nhm <b>\n"), text("a")]),
    ("<think></think>\n\na", "a"),
    ("<think>x << </ </thin </think>y", [reasoning("x << </ </thin "), text("y")]),
    ("<think>only", [reasoning("only")]),
    ("<think>hm</thi", [reasoning("hm</thi")]),
    ("<thinking>a</thinking>", "<thinking>a</thinking>"),
    ("  a <think>b</think>", "  a <think>b</think>"),
    ("```\n<think>x</think>\n```", "```\n<think>x</think>\n```"),
    ("<think>a</think>b <think>c</think>", [reasoning("a"), text("b <think>c</think>")]),
    ("<thi", "<thi"),
    (" " * 40 + "<think>a</think>", " " * 40 + "<think>a</think>"),
]
LOCAL = {"base_url": "http://localhost:1/v1"}


def check_answer(name, result, expected):
    output = result.get("output")
    if not d.check(output is not None, f"{name}: {result.get('error')}"):
        return
    d.check_deltas(name, result)
    for key, value in expected.items():
        found = output["message"].get(key)
        if key == "calls":
            found = [(call["name"], call["arguments"]) for call in output["message"].get("tool_calls", [])]
        d.check(found == value, f"{name}: {key} is {json.dumps(found)}, expected {json.dumps(value)}")
    if "cuts" in result:
        d.check_cuts(name, result)


def check_answers(drive):
    cases, expected = [], []
    for name, stream, body, members, config in ANSWERS:
        cuts = {} if "after the end" in name else {"cuts": True}  # the answer is complete before these
        cases.append({**case({"stream": stream}, {"messages": "?"}, {**LOCAL, **config}), **cuts})
        expected.append((name, members))
        cases.append({**case({"stream": stream}, {"messages": "?"}, {**LOCAL, **config}), "room": 1})
        expected.append((f"{name}, slowly", members))
        if body is not None:
            cases.append(case({"body": body}, {"messages": "?"}, {**LOCAL, **config, "stream": False}))
            expected.append((f"{name}, whole", members))
    for given, content in TEXTS:
        members = {"content": content}
        cases.append(case({"body": whole({"content": given})}, {"messages": "?"}, {**LOCAL, "stream": False}))
        expected.append((f"{given!r}, whole", members))
        for at in range(len(given) + 1):
            cases.append(case({"stream": chunks({"content": given[:at]}, {"content": given[at:]})}, {"messages": "?"}, LOCAL))
            expected.append((f"{given!r} cut at {at}", members))
        cases.append(case({"stream": chunks(*[{"content": c} for c in given])}, {"messages": "?"}, LOCAL))
        expected.append((f"{given!r} in characters", members))
    tagged = "<think>hm</think>a"
    for config, content in (({}, tagged), ({**LOCAL, "dialect": {"think": "never"}}, tagged)):
        cases.append(case({"stream": chunks({"content": tagged})}, {"messages": "?"}, config))
        expected.append((f"{config}", {"content": content}))
    cases.append(case({"stream": chunks({"content": "hm</th"}, {"content": "ink>\na"})}, {"messages": "?"},
                      {**LOCAL, "dialect": {"think": "open"}}))
    expected.append(("thoughts without their first tag", {"content": [reasoning("hm"), text("a")]}))
    for (name, members), result in zip(expected, drive(cases)):
        check_answer(name, result, members)
    wrong = drive([case({"stream": chunks({"audio": {"data": "?!"}})}, {"messages": "?"}, LOCAL)])[0]
    d.check("base64" in wrong.get("error", {}).get("message", ""), f"audio that is not base64: {wrong}")
    return len(cases)


def sent_back(drive, message, config):
    given = {"messages": ["?", message, {"type": "tool", "tool_call_id": "c", "content": "done"}]}
    request = drive([case(STREAM, given, config)])[0]["requests"][0]["json"]
    return next(m for m in request["messages"] if m["role"] == "assistant")


def check_sent_back(drive):
    """What a service needs again is sent to it, and not to OpenAI."""
    message = drive([case({"stream": ANSWERS[2][1]}, {"messages": "?"}, LOCAL)])[0]["output"]["message"]
    d.check(sent_back(drive, message, LOCAL)["tool_calls"][0].get("extra_content") == SIGNED, "the signature is lost")
    own = sent_back(drive, message, {})["tool_calls"][0]
    d.check("extra_content" not in own, f"OpenAI gets {own}")
    message = drive([case({"stream": ANSWERS[0][1]}, {"messages": "?"}, LOCAL)])[0]["output"]["message"]
    for config in (LOCAL, {**LOCAL, "dialect": {"reasoning_out": "reasoning_details"}}):
        d.check(sent_back(drive, message, config).get("reasoning_details") == JOINED, f"{config}: reasoning_details")
    d.check("reasoning_details" not in sent_back(drive, message, {}), "OpenAI gets reasoning_details")
    for out, expected in (("reasoning_content", "Let meIt is"), ("reasoning", "Let meIt is")):
        found = sent_back(drive, message, {**LOCAL, "dialect": {"reasoning_out": out}})
        d.check(found.get(out) == expected, f"{out}: {found}")
    found = sent_back(drive, message, {**LOCAL, "dialect": {"reasoning_out": "reasoning"}, "send_reasoning": False})
    d.check("reasoning" not in found, f"send_reasoning: false: {found}")
    found = sent_back(drive, message, {**LOCAL, "dialect": {"reasoning_out": "thinking"}})["content"]
    d.check(found == [{"type": "thinking", "thinking": [text("Let meIt is")]}, text("a")], f"thinking: {found}")


def check_refused(drive):
    """What a service does not have is not left out silently; the format of audio is that of its type."""
    given = {"embed": ["a"], "options": {"dimensions": 2}}
    result = drive([case(WHOLE, given, {**LOCAL, "dialect": {"dimensions": "none"}})])[0]
    d.check(result.get("error", {}).get("code") == "UNSUPPORTED" and not result["requests"], f"dimensions: {result}")
    for media_type, name in (("audio/x-wav", "wav"), ("audio/mpeg", "mp3"), ("audio/ogg; codecs=opus", "ogg"), ("audio/mp4", "m4a")):
        audio = {"type": "user", "content": [{"type": "audio", "media_type": media_type, "data": PNG}]}
        sent = drive([case(STREAM, {"messages": [audio]}, LOCAL)])[0]["requests"][0]["json"]["messages"][0]["content"][0]
        d.check(sent["input_audio"]["format"] == name, f"{media_type}: {sent}")


def check_spoken_back(drive):
    """Audio is named by its id where OpenAI may have it. If it is refused, the same request follows with the text."""
    message = drive([case({"stream": ANSWERS_BY_NAME["a stream of samples"]}, {"messages": "?"}, {"speech": {}})])[0]["output"]["message"]
    given, named, spelt = {"messages": ["?", message, "And?"]}, {"role": "assistant", "audio": {"id": "a1"}}, {"role": "assistant", "content": "Hello"}
    rows = [({"speech": {}}, named), (LOCAL | {"speech": {}}, named), ({}, spelt), ({"speech": {}, "modalities": ["text"]}, spelt),
            (LOCAL | {"speech": {}, "dialect": {"speech": "stream"}}, spelt)]
    for config, expected in rows:
        sent = drive([case(STREAM, given, config)])[0]["requests"][0]["json"]["messages"][1]
        d.check(sent == expected, f"{config}: {sent}, expected {expected}")
    gone = {"status": 400, "body": json.dumps({"error": {"message": "Assistant audio a1 not found.", "code": "audio_not_found"}})}
    result = drive([{**case(STREAM, given, {"speech": {}}), "exchanges": [gone, STREAM]}])[0]
    d.check("output" in result and [r["json"]["messages"][1] for r in result["requests"]] == [named, spelt], f"gone: {result}")
    result = drive([{**case(STREAM, given, {"speech": {}}), "exchanges": [gone, gone]}])[0]
    d.check("audio" in result.get("error", {}).get("message", "") and len(result["requests"]) == 2, f"gone twice: {result}")
    result = drive([{**case(STREAM, {"messages": "?"}, {"speech": {}}), "exchanges": [gone]}])[0]
    d.check("error" in result and len(result["requests"]) == 1, f"nothing to leave out: {result}")


def check_tools(drive):
    """Ids of calls of other services for Mistral, and media for a service that has none."""
    calls = ["call_0123456789abcdef", "toolu_x", "abcdefGH9", "short"]
    messages = ["?", {"type": "ai", "content": "", "tool_calls": [{"id": c, "name": "f", "arguments": {}} for c in calls]},
                *[{"type": "tool", "tool_call_id": c, "content": [{"type": "image", "data": PNG}]} for c in calls]]
    config = {**LOCAL, "dialect": {"call_ids": "nine", "tool_media": "none"}}
    sent = [drive([case(STREAM, {"messages": messages}, config)])[0]["requests"][0]["json"]["messages"] for _ in range(2)]
    d.check(sent[0] == sent[1], "other ids the second time")
    ids = [c["id"] for c in sent[0][1]["tool_calls"]]
    d.check(ids == [m["tool_call_id"] for m in sent[0][2:]], f"calls and results have other ids: {ids}")
    d.check(all(re.fullmatch("[A-Za-z0-9]{9}", c) for c in ids) and len(set(ids)) == 4 and ids[2] == calls[2], f"ids: {ids}")
    d.check(all("media" in m["content"] for m in sent[0][2:]), f"no word about the media: {sent[0][2:]}")
    plain = drive([case(STREAM, {"messages": messages}, LOCAL)])[0]["requests"][0]["json"]["messages"]
    d.check([c["id"] for c in plain[1]["tool_calls"]] == calls, f"changed ids: {plain[1]}")


def check_mistral(drive):
    """Documents, audio, files, signed thoughts, an answer to continue, and embeddings: what only Mistral has."""
    with open(PRESETS, encoding="utf-8") as file:
        config = json.load(file)["component"]["presets"]["mistral"]["config"]
    parts = [{"type": "file", "name": "a.pdf", "url": "https://a.example/a.pdf"}, {"type": "file", "data": "JVBERi0="},
             {"type": "file", "file_id": "f1"}, {"type": "audio", "media_type": "audio/wav", "data": "aGk="}]
    written = [{"type": "document_url", "document_url": "https://a.example/a.pdf", "document_name": "a.pdf"},
               {"type": "document_url", "document_url": "data:application/pdf;base64,JVBERi0="}, {"type": "file", "file_id": "f1"},
               {"type": "input_audio", "input_audio": "aGk="}]
    messages = [{"type": "user", "content": [text("Read"), *parts]},
                {"type": "ai", "content": [SIGNED_THOUGHT, text("So"), {"type": "source", "title": "3"}],
                 "tool_calls": [{"id": "abcdefgh9", "name": "look", "arguments": {}}]},
                {"type": "tool", "tool_call_id": "abcdefgh9", "content": [text("Found"), parts[0]]}, {"type": "ai", "content": "Well"}]
    body = drive([case(STREAM, {"messages": messages, "tools": [TOOL]}, config)])[0]["requests"][0]["json"]
    found = [message["content"] for message in body["messages"]]
    thought = {"type": "thinking", "thinking": [text("Let me")], "signature": "s"}
    d.check(found == [[text("Read"), *written], [thought, text("So")], [text("Found"), written[0]], "Well"], f"chunks: {found}")
    d.check([message.get("prefix") for message in body["messages"]] == [None, None, None, True], f"prefix: {body['messages']}")
    wrong = dialect_server.refuse("mistral", body)
    d.check(not wrong, f"mistral: the server does not know {wrong}")
    for message in ({"type": "user", "content": "And?"}, messages[1]):
        body = drive([case(STREAM, {"messages": [*messages, message], "tools": [TOOL]}, config)])[0]["requests"][0]["json"]
        d.check(all("prefix" not in one for one in body["messages"]), f"prefix: {body['messages']}")
    late = [{"type": "system", "content": "S"}, {"type": "developer", "content": "D"}]
    for order in ([messages[2], late[0], "x"], [messages[2], *late], [messages[2], "x", late[0]], [messages[3], *late, "x"], [messages[2], "x", "y"]):
        body = drive([case(STREAM, {"messages": [*late, "q", messages[1], *order], "tools": [TOOL]}, config)])[0]["requests"][0]["json"]
        wrong = dialect_server.refuse("mistral", {**body, "messages": [*body["messages"], {"role": "user", "content": "z"}]})
        d.check(not wrong, f"order: {wrong} {body['messages']}")
        tagged = [message for message in body["messages"][4:] if "<system>" in message["content"]]
        d.check(all(message["role"] == "user" for message in tagged), f"order: {tagged}")
    for part in ({"type": "file"}, {"type": "audio", "media_type": "audio/wav", "file_id": "f"}, {"type": "image", "file_id": "f"}):
        error = drive([case(STREAM, {"messages": [{"type": "user", "content": [part]}]}, config)])[0].get("error", {})
        d.check(error.get("code") == "INVALID_REQUEST", f"{part}: {error}")
    body = drive([case({"body": "{}"}, {"embed": ["a"], "options": {"dimensions": 9, "purpose": "query"}}, config)])[0]["requests"][0]["json"]
    d.check(body.get("output_dimension") == 9 and set(body) <= set(dialect_server.FIELDS["mistral"]["embeddings"]), f"embeddings: {body}")
    detail = {"detail": [{"type": "extra_forbidden", "loc": ["body", "messages", 0, "x"], "msg": "Extra inputs are not permitted"}]}
    for body in (detail, {"object": "error", "message": detail, "type": "invalid_request_error", "code": None}):
        error = drive([case({"status": 422, "body": json.dumps(body)}, {"messages": "?"}, config)])[0]["error"]
        d.check(error["code"] == "INVALID_REQUEST" and "Extra inputs" in error["message"] and error["detail"].get("field") == "messages.0.x", f"{error}")


def joined_chunks(contents, kind):
    """The text, or the thoughts, of contents that are texts or lists of chunks."""
    found = ""
    for content in contents:
        if isinstance(content, str):
            found += content if kind == "text" else ""
            continue
        for chunk in content or []:
            found += chunk["text"] if chunk["type"] == kind == "text" else ""
            found += "".join(one["text"] for one in chunk["thinking"]) if chunk["type"] == kind == "thinking" else ""
    return found


def check_mistral_recordings(drive):
    """The fixtures of the AI SDK (packages/mistral, Apache-2.0), in providers/mistral/chat of the suites."""
    root = os.environ.get("TENON_SUITES") or os.path.join(d.HERE, "..", "..", "..", "shared", "suites")
    paths = sorted(glob.glob(os.path.join(root, "providers", "mistral", "chat", "*")))
    for path in paths:
        name = os.path.basename(path)
        if name.endswith(".chunks.txt"):
            events, _ = openai_recorded.read_lines(path)
            exchange, deltas = {"stream": openai_recorded.frame_all("chat", events)}, [event["choices"][0]["delta"] for event in events]
        else:
            with open(path, encoding="utf-8") as file:
                events = [json.load(file)]
            exchange, deltas = {"body": json.dumps(events[0])}, [events[0]["choices"][0]["message"]]
        calls, arguments = [], []
        for call in (call for delta in deltas for call in delta.get("tool_calls") or []):
            if call["function"]["name"]:
                calls.append((call["id"], call["function"]["name"]))
                arguments.append("")
            arguments[-1] += call["function"]["arguments"]
        result, = drive([{**case(exchange, {"messages": "?"}, {"stream": "stream" in exchange}), "cuts": "stream" in exchange}])
        message, usage = result.get("output", {}).get("message", {"content": ""}), events[-1]["usage"]
        contents = [delta.get("content") for delta in deltas]
        for kind, expected in (("text", joined_chunks(contents, "text")), ("reasoning", joined_chunks(contents, "thinking"))):
            d.check(d.joined_text(message, kind) == expected, f"{name}: {kind} is {d.joined_text(message, kind)!r}, expected {expected!r}")
        found = [(call["id"], call["name"]) for call in message.get("tool_calls", [])]
        d.check(found == calls, f"{name}: calls {found}, expected {calls}")
        d.check([call["arguments"] for call in message.get("tool_calls", [])] == [json.loads(one) for one in arguments], f"{name}: {message}")
        d.check(message.get("usage", {}).get("total_tokens") == usage["total_tokens"], f"{name}: usage {message.get('usage')}")
        d.check_deltas(name, result)
        if "cuts" in result:
            d.check_cuts(name, result)
    return len(paths)


def check_schema_as_text(drive):
    given = {"messages": "?", "response_schema": SCHEMA}
    rows = [({"dialect": {"structured": "json_object"}}, {"type": "json_object"}), ({"dialect": {"structured": "prompt"}}, None),
            ({"extra": {"response_format": {"type": "json_object"}}}, {"type": "json_object"})]
    for config, response_format in rows:
        body = drive([case(STREAM, given, {**LOCAL, **config})])[0]["requests"][0]["json"]
        d.check(body.get("response_format") == response_format, f"{config}: {body.get('response_format')}")
        first = body["messages"][0]
        d.check(first["role"] == "system" and json.dumps(SCHEMA["required"]) in first["content"], f"{config}: {first}")
    body = drive([case(STREAM, given, LOCAL)])[0]["requests"][0]["json"]
    d.check(len(body["messages"]) == 1, f"the schema is sent twice: {body['messages']}")


def check_addresses(drive):
    deployment = "https://acme.openai.azure.com/openai/deployments/d/?api-version=2024-10-21"
    rows = [(deployment, "https://acme.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21"),
            ("http://localhost:1/v1?", "http://localhost:1/v1/chat/completions"), ("http://localhost:1", "http://localhost:1/chat/completions")]
    for base_url, url in rows:
        request = drive([case(STREAM, {"messages": "?"}, {"base_url": base_url, "api_key": {"secret": "K"},
                                                          "dialect": {"key_header": "api-key"}})])[0]["requests"][0]
        d.check(request["url"] == url, f"{base_url}: {request['url']}")
        d.check(request["headers"].get("api-key") == [{"secret": "K"}] and "authorization" not in request["headers"],
                f"{base_url}: {request['headers']}")
    refused = drive([case({}, {"messages": "?"}, {"dialect": {"needs_base_url": True}})])[0].get("refused", "")
    d.check("base_url" in refused, f"without an address: {refused}")
    sent = drive([case(STREAM, {"messages": "?"}, {**LOCAL, "speech": {"format": "flac"}})])[0]["requests"][0]["json"]
    d.check("stream" not in sent and sent["audio"]["format"] == "flac", f"FLAC is not streamed: {sent}")
    result = drive([case({}, {"messages": "?"}, {**LOCAL, "speech": {}, "stream": False, "dialect": {"speech": "stream"}})])[0]
    d.check("stream: false" in result.get("error", {}).get("message", ""), f"speech in one piece: {result}")
    for flag, given in (("tools", {"tools": [TOOL]}), ("stop", {"options": {"stop": ["X"]}})):
        result = drive([case({}, {"messages": "?", **given}, {**LOCAL, "dialect": {flag: False}})])[0]
        d.check(result.get("error", {}).get("code") == "UNSUPPORTED", f"{flag}: {result}")


def main():
    drive = d.Drive("openai")
    rows = check_rows(drive)
    check_strictness(drive)
    answers = check_answers(drive)
    check_sent_back(drive)
    check_spoken_back(drive)
    check_tools(drive)
    check_refused(drive)
    check_mistral(drive)
    recordings = check_mistral_recordings(drive)
    check_schema_as_text(drive)
    check_addresses(drive)
    print(f"{rows} rows, {answers} answers, {recordings or 'no'} recordings of Mistral in TENON_SUITES")
    d.finish()


if __name__ == "__main__":
    main()
