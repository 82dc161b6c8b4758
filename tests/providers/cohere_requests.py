"""What the provider `cohere` sends: expected members, and every request against the strict server of cohere_strict.py."""
import base64
import json

import cohere_strict
import drive as d

OBJECT = {"type": "object", "properties": {"p": {"type": "string"}}}
TOOLS = [{"name": "fs.read", "description": "Reads", "input_schema": OBJECT}, {"name": "now", "description": "", "input_schema": True}]
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
CALL = {"type": "ai", "content": "", "tool_calls": [{"id": "call/1", "name": "fs.read", "arguments": {"p": "x"}}]}
RESULT = {"type": "tool", "tool_call_id": "call/1", "content": "text"}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAE="
SYSTEM = {"role": "system"}
EMPTY = {"type": "object", "properties": {}}


def file(text, **more):
    return {"type": "file", "data": base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode(), **more}


def user(*parts):
    return {"messages": [{"type": "user", "content": list(parts)}]}


def text(value):
    return {"type": "text", "text": value}


def document(value, **more):
    return {"data": {"text": value, **more}}


NOTES = file("Grüße", name="notes.txt", media_type="text/plain")
OWN = {"cohere": {"id": "1"}}
PLAN = {"type": "reasoning", "text": "I look.", "extra": {"cohere": {"tool_plan": True}}}
THOUGHT = {"type": "reasoning", "text": "Hm"}

REQUESTS = [  # (name, config, input, expected members of the body)
    ("a text", {}, {"messages": "Hi"},
     {"model": "command-x", "messages": [{"role": "user", "content": "Hi"}], "tools": None, "documents": None, "thinking": None}),
    ("roles", {}, {"messages": [{"type": "system", "content": "S"}, {"type": "developer", "content": [text("D")]}, "Hi",
                                {"type": "ai", "content": "A"}, "More"]},
     {"messages": [{"role": "system", "content": "S"}, {"role": "system", "content": "D"}, {"role": "user"},
                   {"role": "assistant", "content": "A"}, {"content": "More"}]}),
    ("an empty answer", {}, {"messages": ["Hi", {"type": "ai", "content": ""}, {"type": "ai", "content": [THOUGHT]}, "More"]},
     {"messages": [{"content": "Hi"}, {"content": "More"}]}),
    ("options", {"max_tokens": 5, "temperature": 0.5, "top_k": 0}, {"messages": "Hi", "options": {"top_p": 0.25, "stop": "E", "seed": 3,
                                                                                                 "max_tokens": 7}},
     {"max_tokens": 7, "temperature": 0.5, "p": 0.25, "k": 0, "stop_sequences": ["E"], "seed": 3}),
    ("limits of top_p", {"top_p": 1}, {"messages": "Hi"}, {"p": 0.99}),
    ("the other limit", {"top_p": 0, "stop": ["a", "b"]}, {"messages": "Hi"}, {"p": 0.01, "stop_sequences": ["a", "b"]}),
    ("words", {"citations": "accurate", "safety_mode": "strict"}, {"messages": "Hi"},
     {"citation_options": {"mode": "ACCURATE"}, "safety_mode": "STRICT"}),
    ("extra", {"extra": {"logprobs": True, "priority": 2}}, {"messages": "Hi", "options": {"extra": {"k": 9}}},
     {"logprobs": True, "priority": 2, "k": 9}),
    ("tools", {"strict_tools": True, "parallel_tool_calls": False}, {"messages": "Hi", "tools": TOOLS},
     {"strict_tools": True, "tool_choice": None, "tools": [
         {"type": "function", "function": {"name": "fs_read", "description": "Reads", "parameters": OBJECT}},
         {"type": "function", "function": {"name": "now", "description": None, "parameters": EMPTY}}]}),
    ("a schema without a type", {}, {"messages": "Hi", "tools": [{"name": "f", "input_schema": {"properties": OBJECT["properties"]}}]},
     {"tools": [{"function": {"parameters": OBJECT}}]}),
    ("required", {"tool_choice": "required"}, {"messages": "Hi", "tools": TOOLS}, {"tool_choice": "REQUIRED", "tools": [{}, {}]}),
    ("none", {"tool_choice": "none"}, {"messages": "Hi", "tools": TOOLS}, {"tool_choice": "NONE", "tools": [{}, {}]}),
    ("auto", {"tool_choice": "auto"}, {"messages": "Hi", "tools": TOOLS}, {"tool_choice": None}),
    ("one tool", {"tool_choice": {"name": "fs.read"}}, {"messages": "Hi", "tools": TOOLS},
     {"tool_choice": "REQUIRED", "tools": [{"function": {"name": "fs_read"}}]}),
    ("a choice without tools", {"tool_choice": "required"}, {"messages": "Hi"}, {"tool_choice": None}),
    ("a call", {}, {"messages": ["Hi", CALL, RESULT, "More"], "tools": TOOLS},
     {"messages": [{}, {"role": "assistant", "content": None, "tool_plan": None, "tool_calls": [
         {"id": "call/1", "type": "function", "function": {"name": "fs_read", "arguments": '{"p":"x"}'}}]},
         {"role": "tool", "tool_call_id": "call/1", "content": "text"}, {"role": "user", "content": "More"}]}),
    ("a list as a result", {}, {"messages": ["Hi", CALL, {**RESULT, "content": '[{"title": "A", "n": 1}, {"title": "B"}]'}]},
     {"messages": [{}, {}, {"content": [{"type": "document", "document": {"data": {"title": "A", "n": 1}}},
                                        {"type": "document", "document": {"data": {"title": "B"}}}]}]}),
    ("other lists", {}, {"messages": ["Hi", CALL, {**RESULT, "content": "[1, {}]"}, {**RESULT, "content": "[]"}, {**RESULT, "content": "[no"}]},
     {"messages": [{}, {}, {"content": "[1, {}]"}, {"content": "[]"}, {"content": "[no"}]}),
    ("parts in a result", {}, {"messages": ["Hi", CALL, {**RESULT, "content": [text("t"), NOTES, {"type": "image", "data": PNG}]}]},
     {"documents": None, "messages": [{}, {}, {"content": [
         text("t"), {"type": "document", "document": document("Grüße", title="notes.txt")}, text("[image]")]}]}),
    ("an image", {}, user({"type": "image", "data": PNG, "extra": {"cohere": {"detail": "low"}}}, text("What?"), text("")),
     {"messages": [{"content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}},
                                text("What?")]}]}),
    ("an address", {}, user({"type": "image", "url": "https://a.example/b.png"}),
     {"messages": [{"content": [{"type": "image_url", "image_url": {"url": "https://a.example/b.png", "detail": None}}]}]}),
    ("documents", {}, user(NOTES, text("Read"), file("{}", media_type="application/x-notebook", extra={"cohere": {"id": "d2"}}), file("plain")),
     {"messages": [{"role": "user", "content": "Read"}],
      "documents": [{"id": None, **document("Grüße", title="notes.txt")}, {"id": "d2", **document("{}", title=None)}, document("plain")]}),
    ("an image and a document", {}, user(NOTES, {"type": "image", "data": PNG}, text("Read")),
     {"messages": [{"content": [{"type": "image_url"}, text("Read")]}], "documents": [{}]}),
    ("only a document", {}, user(NOTES), {"messages": [{"role": "user", "content": "(See the documents.)"}], "documents": [{}]}),
    ("more documents", {"extra": {"documents": ["a", document("b")]}}, user(NOTES, text("Read")),
     {"documents": [document("Grüße"), "a", document("b")]}),
    ("own thoughts", {}, {"messages": ["Hi", {**CALL, "extra": OWN, "content": [PLAN, THOUGHT, text("So")]}, RESULT, "More"]},
     {"messages": [{}, {"tool_plan": None, "content": [{"type": "thinking", "thinking": thought} for thought in ("Hm", "I look.", "So")],
                        "tool_calls": [{}]}, {}, {}]}),
    ("an own plan", {}, {"messages": ["Hi", {**CALL, "extra": OWN, "content": [PLAN]}, RESULT]},
     {"messages": [{}, {"tool_plan": "I look.", "content": None, "tool_calls": [{}]}, {}]}),
    ("thoughts of others", {}, {"messages": ["Hi", {**CALL, "content": [PLAN, THOUGHT, text("So")]}, RESULT, "More"]},
     {"messages": [{}, {"tool_plan": "So", "content": None, "tool_calls": [{}]}, {}, {}]}),
    ("thoughts before an answer", {}, {"messages": ["Hi", {"type": "ai", "extra": OWN, "content": [THOUGHT, text("So")]}, "More"]},
     {"messages": [{}, {"content": [{"type": "thinking", "thinking": "Hm"}, text("So")]}, {}]}),
    *[(f"thoughts that are not sent back: {config}", config, {"messages": ["Hi", {**CALL, "extra": OWN, "content": [THOUGHT]}, RESULT]},
       {"messages": [{}, {"tool_plan": None, "content": None, "tool_calls": [{}]}, {}]})
      for config in ({"send_reasoning": False}, {"reasoning": {"effort": "none"}}, {"reasoning": {"max_tokens": 0}})],
    ("a budget", {"reasoning": {"max_tokens": 99}}, {"messages": "Hi"}, {"thinking": {"type": "enabled", "token_budget": 99}}),
    ("little thought", {"reasoning": {"effort": "low"}}, {"messages": "Hi"}, {"thinking": {"type": "enabled", "token_budget": 1024}}),
    ("some thought", {"reasoning": {"effort": "medium"}}, {"messages": "Hi"}, {"thinking": {"type": "enabled", "token_budget": 8192}}),
    ("much thought", {"reasoning": {"effort": "high"}}, {"messages": "Hi"}, {"thinking": {"type": "enabled", "token_budget": None}}),
    ("no thought", {"reasoning": {"effort": "none"}}, {"messages": "Hi"}, {"thinking": {"type": "disabled", "token_budget": None}}),
    ("a budget of 0", {"reasoning": {"max_tokens": 0}}, {"messages": "Hi"}, {"thinking": {"type": "disabled", "token_budget": None}}),
    ("a schema", {}, {"messages": "Hi", "response_schema": SCHEMA},
     {"response_format": {"type": "json_object", "json_schema": SCHEMA}, "messages": [SYSTEM, {}]}),
    ("any JSON", {}, {"messages": "Hi", "response_schema": True},
     {"response_format": {"type": "json_object", "json_schema": None}, "messages": [SYSTEM, {}]}),
    ("a schema as a text", {"structured_output": "prompt"}, {"messages": "Hi", "response_schema": SCHEMA},
     {"response_format": None, "messages": [SYSTEM, {}]}),
    ("a schema and tools", {}, {"messages": "Hi", "response_schema": SCHEMA, "tools": TOOLS}, {"response_format": None, "messages": [SYSTEM, {}]}),
    ("a schema and documents", {}, {**user(NOTES, text("Read")), "response_schema": SCHEMA}, {"response_format": None, "messages": [SYSTEM, {}]}),
    ("a list", {}, {"messages": "Hi", "response_schema": {"type": "array"}}, {"response_format": None, "messages": [SYSTEM, {}]}),
    ("embeddings", {}, {"embed": ["a", "ü"]},
     {"texts": ["a", "ü"], "input_type": "search_document", "embedding_types": ["float"], "output_dimension": None}),
    ("a query", {"dimensions": 256}, {"embed": ["a"], "options": {"purpose": "query"}}, {"input_type": "search_query", "output_dimension": 256}),
    ("a document", {"purpose": "query"}, {"embed": ["a"], "options": {"purpose": "document"}}, {"input_type": "search_document"}),
    ("another input type", {"purpose": "query", "extra": {"input_type": "clustering", "truncate": "START"}}, {"embed": ["a"]},
     {"input_type": "clustering", "truncate": "START"}),
]
REFUSED = [  # (name, config, input, code, words)
    ("a PDF", {}, user(file(b"%PDF-1.7")), "UNSUPPORTED", "application/pdf"),
    ("a PDF in ASCII", {}, user(file("text", media_type="application/pdf")), "UNSUPPORTED", "application/pdf"),
    ("no UTF-8", {}, user(file(b"\xff\xfe", media_type="text/plain")), "UNSUPPORTED", "UTF-8"),
    ("a file's address", {}, user({"type": "file", "url": "https://a.example/b.txt"}), "UNSUPPORTED", "download"),
    ("an uploaded file", {}, user({"type": "file", "file_id": "f"}), "UNSUPPORTED", "file_id"),
    ("an empty file", {}, user({"type": "file"}), "INVALID_REQUEST", "empty"),
    ("a PDF in a result", {}, {"messages": ["Hi", CALL, {**RESULT, "content": [file(b"%PDF-1.7")]}]}, "UNSUPPORTED", "application/pdf"),
    ("audio", {}, user({"type": "audio", "media_type": "audio/wav", "data": "aGk="}), "UNSUPPORTED", "audio"),
    ("no image", {}, user({"type": "image", "file_id": "f"}), "INVALID_REQUEST", "address"),
    ("no base64", {}, user({"type": "image", "data": "*"}), "INVALID_REQUEST", "base64"),
    ("no id", {}, {"messages": [{"type": "tool", "content": "x"}]}, "INVALID_REQUEST", "tool_call_id"),
    ("a choice", {}, {"messages": "Hi", "tools": TOOLS, "options": {"tool_choice": "some"}}, "INVALID_REQUEST", "tool_choice"),
    ("a missing tool", {}, {"messages": "Hi", "tools": TOOLS, "options": {"tool_choice": {"name": "x"}}}, "INVALID_REQUEST", "`x`"),
    ("images", {"modalities": ["text", "image"]}, {"messages": "Hi"}, "UNSUPPORTED", "modalities"),
    ("nothing to embed", {}, {"embed": []}, "INVALID_REQUEST", "embed"),
]


def case(config, given, stream):
    settings = {"model": "command-x", "stream": stream, **config}
    return {"component": "cohere", "config": settings, "input": given, "exchanges": [{"status": 400, "body": "{}"}]}


def check_strictness():
    """The strict server is strict."""
    good = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    wrong = [{"seed": "1"}, {"more": 1}, {"p": 1}, {"tool_choice": "auto"}, {"messages": [{"role": "user", "content": ""}]},
             {"messages": [{"role": "user", "content": [{"type": "file"}]}]}, {"documents": [{"text": "x"}]}, {"stream": 1}, {"tools": []}]
    d.check(not cohere_strict.refuse(good), f"a good request is refused: {cohere_strict.refuse(good)}")
    for change in wrong:
        d.check(cohere_strict.refuse({**good, **change}), f"{change} is not refused")


def main():
    drive = d.Drive("cohere")
    check_strictness()
    for stream in (True, False):
        results = drive([case(config, given, stream) for _, config, given, _ in REQUESTS])
        for (name, _, given, expected), result in zip(REQUESTS, results):
            if not d.check(result.get("requests"), f"{name}: nothing was sent: {result}"):
                continue
            request = result["requests"][0]
            path, streams = ("embed", None) if "embed" in given else ("chat", True if stream else None)
            found = d.differs(request["json"], {**expected, "stream": streams})
            d.check(found is None, f"{name}: {found}")
            faults = cohere_strict.refuse(request["json"])
            d.check(not faults, f"{name}: the service refuses {faults}")
            d.check(request["url"] == f"https://api.cohere.com/v2/{path}", f"{name}: {request['url']}")
            d.check(request["receive"] == ("events" if streams else "whole"), f"{name}: {request['receive']}")
            d.check(request["headers"]["authorization"] == ["Bearer ", {"secret": "COHERE_API_KEY"}], f"{name}: {request['headers']}")
            if "response_schema" in given and "response_format" not in request["json"]:
                d.check(json.loads(request["json"]["messages"][0]["content"].split("\n", 1)[1]) == given["response_schema"], f"{name}: no schema")
    for (name, _, _, code, words), result in zip(REFUSED, drive([case(config, given, True) for _, config, given, _, _ in REFUSED])):
        error = result.get("error") or {}
        d.check(error.get("code") == code and words in error.get("message", ""), f"{name}: {result}")
        d.check(not result.get("requests"), f"{name}: it was sent")
    elsewhere = drive([case({"base_url": "http://localhost:1/v2", "api_key": "k"}, {"messages": "Hi"}, True),
                       case({"base_url": "http://localhost:1/v2"}, {"messages": "Hi"}, True)])
    headers = [one["requests"][0]["headers"] for one in elsewhere]
    d.check(headers[0]["authorization"] == ["Bearer ", "k"] and "authorization" not in headers[1], f"another host: {headers}")
    d.finish()


if __name__ == "__main__":
    main()
