"""What the provider `bedrock` sends: expected members, and every request against the service model of Amazon's own client.

The second part is left out, and says so, if botocore is not installed (pip install botocore).
"""
import json

import drive as d
from bedrock_wire import load_schema

CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
TOOLS = [{"name": "fs.read", "description": "Reads", "input_schema": {"type": "object", "properties": {"p": {"type": "string"}}}},
         {"name": "now", "description": "", "input_schema": True}]
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
CALL = {"type": "ai", "content": "", "tool_calls": [{"id": "call/1", "name": "fs.read", "arguments": {"p": "x"}}]}
RESULT = {"type": "tool", "tool_call_id": "call/1", "content": "text"}
ID = "c5fb05e4d7a4906f0d48e54e8d6dafae"  # the first digits of the SHA-256 of "call/1"
POINT = {"cachePoint": {"type": "default"}}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAE="

REQUESTS = [  # (name, config, input, expected members of the body)
    ("a text", {}, {"messages": "Hi"}, {"messages": [{"role": "user", "content": [{"text": "Hi"}]}], "toolConfig": None}),
    ("system", {}, {"messages": [{"type": "system", "content": "S"}, {"type": "developer", "content": [{"type": "text", "text": "D"}]}, "Hi",
                                 {"type": "system", "content": "late"}]},
     {"system": [{"text": "S"}, {"text": "D"}],
      "messages": [{"role": "user", "content": [{"text": "Hi"}, {"text": "<system>\nlate\n</system>"}]}]}),
    ("only system", {}, {"messages": [{"type": "system", "content": "S"}]},
     {"messages": [{"role": "user", "content": [{"text": "<system>\nS\n</system>"}]}], "system": None}),
    ("blank texts", {}, {"messages": [" \n", "Hi", ""]}, {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]}),
    ("options", {"max_tokens": 5, "temperature": 0.5}, {"messages": "Hi", "options": {"top_p": 0.25, "stop": "E", "max_tokens": 7}},
     {"inferenceConfig": {"maxTokens": 7, "temperature": 0.5, "topP": 0.25, "stopSequences": ["E"]}}),
    ("tools", {}, {"messages": "Hi", "tools": TOOLS},
     {"toolConfig": {"tools": [
         {"toolSpec": {"name": "fs_read", "description": "Reads", "inputSchema": {"json": TOOLS[0]["input_schema"]}}},
         {"toolSpec": {"name": "now", "inputSchema": {"json": {"type": "object"}}}}]}}),
    ("required", {"tool_choice": "required"}, {"messages": "Hi", "tools": TOOLS}, {"toolConfig": {"toolChoice": {"any": {}}}}),
    ("auto", {"tool_choice": "auto"}, {"messages": "Hi", "tools": TOOLS}, {"toolConfig": {"toolChoice": {"auto": {}}}}),
    ("one tool", {"tool_choice": {"name": "fs.read"}}, {"messages": "Hi", "tools": TOOLS},
     {"toolConfig": {"toolChoice": {"tool": {"name": "fs_read"}}}}),
    ("none", {"tool_choice": "none"}, {"messages": "Hi", "tools": TOOLS}, {"toolConfig": None}),
    ("none after a call", {"tool_choice": "none"}, {"messages": ["Hi", CALL, RESULT], "tools": TOOLS},
     {"toolConfig": {"toolChoice": None, "tools": [{}, {}]}}),
    ("a call", {}, {"messages": ["Hi", CALL, RESULT, "More"], "tools": TOOLS},
     {"messages": [{}, {"role": "assistant", "content": [{"toolUse": {"toolUseId": ID, "name": "fs_read", "input": {"p": "x"}}}]},
                   {"role": "user", "content": [{"toolResult": {"toolUseId": ID, "content": [{"text": "text"}]}}, {"text": "More"}]}]}),
    ("a past tool", {}, {"messages": ["Hi", CALL, RESULT]},
     {"toolConfig": {"tools": [{"toolSpec": {"name": "fs_read", "inputSchema": {"json": {"type": "object"}}}}]}}),
    ("a failed call", {}, {"messages": ["Hi", CALL, {**RESULT, "status": "error"}], "tools": TOOLS},
     {"messages": [{}, {}, {"content": [{"toolResult": {"status": "error"}}]}]}),
    ("a failed call of Llama", {"model": "meta.llama3-70b-instruct-v1:0"},
     {"messages": ["Hi", CALL, {**RESULT, "status": "error"}], "tools": TOOLS},
     {"messages": [{}, {}, {"content": [{"toolResult": {"status": None}}]}]}),
    ("a call of Mistral", {"model": "mistral.mistral-large-2407-v1:0"}, {"messages": ["Hi", CALL, RESULT], "tools": TOOLS},
     {"messages": [{}, {"content": [{"toolUse": {"toolUseId": ID[:9]}}]}, {"content": [{"toolResult": {"toolUseId": ID[:9]}}]}]}),
    ("invalid arguments", {}, {"messages": ["Hi", {"type": "ai", "content": "", "tool_calls": [
        {"id": "a", "name": "now", "arguments": "{no"}]}, {"type": "tool", "tool_call_id": "a", "content": ""}], "tools": TOOLS},
     {"messages": [{}, {"content": [{"toolUse": {"input": {"invalid_json": "{no"}}}]}, {"content": [{"toolResult": {"content": []}}]}]}),
    ("an image", {}, {"messages": [{"type": "user", "content": [{"type": "image", "data": PNG}, "What?"]}]},
     {"messages": [{"content": [{"image": {"format": "png", "source": {"bytes": PNG}}}, {"text": "What?"}]}]}),
    ("an image of S3", {}, {"messages": [{"type": "user", "content": [{"type": "image", "media_type": "image/jpeg",
                                                                     "url": "s3://bucket/a.jpg"}]}]},
     {"messages": [{"content": [{"image": {"format": "jpeg", "source": {"s3Location": {"uri": "s3://bucket/a.jpg"}}}}]}]}),
    ("documents", {}, {"messages": [{"type": "user", "content": [
        {"type": "file", "name": "a  b/ü.pdf", "media_type": "application/pdf", "data": "JVBERi0=",
         "extra": {"bedrock": {"citations": {"enabled": True}, "context": "c"}}},
        {"type": "file", "media_type": "text/plain", "data": "aGk="}, "Read"]}]},
     {"messages": [{"content": [
         {"document": {"format": "pdf", "name": "a b----pdf", "citations": {"enabled": True}, "context": "c",
                       "source": {"bytes": "JVBERi0="}}},
         {"document": {"format": "txt", "name": "document-2", "source": {"bytes": "aGk="}}}, {"text": "Read"}]}]}),
    ("video and audio", {}, {"messages": [{"type": "user", "content": [
        {"type": "file", "media_type": "video/mp4", "data": "aGk="}, {"type": "audio", "media_type": "audio/wav", "data": "aGk="}]}]},
     {"messages": [{"content": [{"video": {"format": "mp4"}}, {"audio": {"format": "wav"}}]}]}),
    ("a result with an image", {}, {"messages": ["Hi", CALL, {**RESULT, "content": [{"type": "text", "text": "t"},
                                                                                   {"type": "image", "data": PNG}]}], "tools": TOOLS},
     {"messages": [{}, {}, {"content": [{"toolResult": {"content": [{"text": "t"}, {"image": {"format": "png"}}]}}]}]}),
    ("reasoning", {}, {"messages": ["Hi", {"type": "ai", "content": [
        {"type": "reasoning", "text": "no signature"}, {"type": "reasoning", "text": "r", "extra": {"bedrock": {"signature": "s"}}},
        {"type": "reasoning", "extra": {"bedrock": {"redacted": "cmVk"}}}, {"type": "image", "data": PNG},
        {"type": "text", "text": "t", "extra": {"bedrock": {"citations": [{"title": "T"}]}}}]}, "More"]},
     {"messages": [{}, {"content": [{"reasoningContent": {"reasoningText": {"text": "r", "signature": "s"}}},
                                    {"reasoningContent": {"redactedContent": "cmVk"}}, {"text": "[image]"},
                                    {"citationsContent": {"content": [{"text": "t"}], "citations": [{"title": "T"}]}}]}, {}]}),
    ("cache", {"cache": "1h"}, {"messages": [{"type": "system", "content": "S"}, "Hi"], "tools": TOOLS[:1]},
     {"system": [{}, {"cachePoint": {"type": "default", "ttl": "1h"}}], "messages": [{"content": [{}, {"cachePoint": {"ttl": "1h"}}]}],
      "toolConfig": {"tools": [{}, {"cachePoint": {"ttl": "1h"}}]}}),
    ("marked cache points", {}, {"messages": [{"type": "system", "content": "S", "extra": {"bedrock": POINT}}, {"type": "user", "content": [
        {"type": "text", "text": "a", "extra": {"bedrock": POINT}}, "b"]}], "tools": [{**TOOLS[0], "extra": {"bedrock": POINT}}]},
     {"system": [{}, POINT], "messages": [{"content": [{"text": "a"}, POINT, {"text": "b"}]}], "toolConfig": {"tools": [{}, POINT]}}),
    ("Nova's cache", {"cache": True, "model": "amazon.nova-pro-v1:0"}, {"messages": "Hi", "tools": TOOLS[:1]},
     {"messages": [{"content": [{}, POINT]}], "toolConfig": {"tools": [{}]}}),
    ("a budget", {"reasoning": {"max_tokens": 2048}, "max_tokens": 4096}, {"messages": "Hi"},
     {"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 2048}}}),
    ("an effort", {"reasoning": {"effort": "high"}}, {"messages": "Hi"},
     {"additionalModelRequestFields": {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}}),
    ("no effort", {"reasoning": {"effort": "none"}}, {"messages": "Hi"}, {"additionalModelRequestFields": None}),
    ("gpt-oss's effort", {"model": "openai.gpt-oss-120b-1:0", "reasoning": {"effort": "low"}}, {"messages": "Hi"},
     {"additionalModelRequestFields": {"reasoning_effort": "low"}}),
    ("Nova's effort", {"model": "us.amazon.nova-2-lite-v1:0", "reasoning": {"effort": "low"}}, {"messages": "Hi"},
     {"additionalModelRequestFields": {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}}}),
    ("extra", {"reasoning": {"max_tokens": 1024}, "extra": {"serviceTier": {"type": "flex"}, "additionalModelRequestFields": {"top_k": 5}}},
     {"messages": "Hi"}, {"serviceTier": {"type": "flex"}, "additionalModelRequestFields": {"thinking": {}, "top_k": 5}}),
    ("a guardrail", {"guardrail": {"id": "abc", "version": "DRAFT", "trace": "enabled", "stream_mode": "async"}}, {"messages": "Hi"},
     {"guardrailConfig": {"guardrailIdentifier": "abc", "guardrailVersion": "DRAFT", "trace": "enabled", "streamProcessingMode": "async"}}),
    ("metadata", {"metadata": {"team": "a"}}, {"messages": "Hi"}, {"requestMetadata": {"team": "a"}}),
    ("a schema", {}, {"messages": "Hi", "response_schema": SCHEMA},
     {"toolConfig": {"toolChoice": {"tool": {"name": "tenon_answer"}}, "tools": [{"toolSpec": {"inputSchema": {"json": SCHEMA}}}]}}),
    ("a schema and tools", {}, {"messages": "Hi", "response_schema": SCHEMA, "tools": TOOLS},
     {"toolConfig": {"toolChoice": {"any": {}}, "tools": [{}, {}, {"toolSpec": {"name": "tenon_answer"}}]}}),
    ("a format", {"structured_output": "format"}, {"messages": "Hi", "response_schema": SCHEMA},
     {"toolConfig": None, "outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"name": "answer"}}}}}),
]
REFUSED = [  # (name, config, input, code, words)
    ("an address", {}, {"messages": [{"type": "user", "content": [{"type": "image", "url": "https://a.example/b.png"}]}]}, "UNSUPPORTED",
     "addresses of S3"),
    ("no type", {}, {"messages": [{"type": "user", "content": [{"type": "file", "data": "AAAA"}]}]}, "UNSUPPORTED", "media_type"),
    ("no data", {}, {"messages": [{"type": "user", "content": [{"type": "image", "data": "*"}]}]}, "INVALID_REQUEST", "base64"),
    ("nothing", {}, {"messages": [""]}, "INVALID_REQUEST", "nothing to answer"),
    ("no id", {}, {"messages": [{"type": "tool", "content": "x"}]}, "INVALID_REQUEST", "tool_call_id"),
    ("a choice", {}, {"messages": "Hi", "tools": TOOLS, "options": {"tool_choice": "some"}}, "INVALID_REQUEST", "tool_choice"),
    ("speech", {"speech": {}}, {"messages": "Hi"}, "UNSUPPORTED", "speech"),
    ("audio", {"modalities": ["audio"]}, {"messages": "Hi"}, "UNSUPPORTED", "modalities"),
    ("a list", {}, {"messages": "Hi", "response_schema": {"type": "array"}}, "UNSUPPORTED", "structured_output: format"),
    ("embeddings", {}, {"embed": ["a"]}, "UNSUPPORTED", "embeddings"),
]


def case(config, given, stream):
    settings = {"model": CLAUDE, "region": "us-east-1", "stream": stream, **config}
    return {"component": "bedrock", "config": settings, "input": given, "exchanges": [{"status": 400, "body": "{}"}]}


def main():
    drive, schema = d.Drive("bedrock"), load_schema()
    for stream in (True, False):
        results = drive([case(config, given, stream) for _, config, given, _ in REQUESTS])
        for (name, _, _, expected), result in zip(REQUESTS, results):
            if not d.check(result.get("requests"), f"{name}: nothing was sent: {result}"):
                continue
            request = result["requests"][0]
            d.check(request["url"].endswith("/converse-stream" if stream else "/converse"), f"{name}: {request['url']}")
            if not stream:
                expected = json.loads(json.dumps(expected).replace(', "streamProcessingMode": "async"', ""))
            found = d.differs(request["json"], expected)
            d.check(found is None, f"{name}: {found}")
            shape = "ConverseStreamRequest" if stream else "ConverseRequest"
            faults = schema.faults(shape, request["json"]) if schema is not None else []
            d.check(not faults, f"{name}: {faults}")
    for (name, _, _, code, words), result in zip(REFUSED, drive([case(config, given, True) for _, config, given, _, _ in REFUSED])):
        error = result.get("error") or {}
        d.check(error.get("code") == code and words in error.get("message", ""), f"{name}: {result}")
        d.check(not result.get("requests"), f"{name}: it was sent")
    if schema is None:
        print("not checked against the service model: botocore is not installed")
    d.finish()


if __name__ == "__main__":
    main()
