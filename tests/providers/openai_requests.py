"""What the provider `openai` sends, checked against the types of OpenAI's own SDK; some members are compared."""
import base64
import glob
import json
import os

import drive as d
from sdk import Sdk

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
WEATHER = {
    "name": "weather.now",
    "description": "The weather somewhere",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
PLAIN = {"name": "stop"}
CLOSED = {
    "title": "An answer",
    "type": "object",
    "properties": {"a": {"type": "array", "items": {"type": "integer"}}},
    "required": ["a"],
    "additionalProperties": False,
}
OPEN = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]}
CONVERSATION = [
    {"type": "system", "content": "Be kind."},
    {"type": "developer", "content": [{"type": "text", "text": "Be "}, {"type": "text", "text": "short."}]},
    {"type": "user", "content": "Hello", "name": "ada"},
    {
        "type": "ai",
        "content": [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "I look."}],
        "tool_calls": [
            {"id": "c1", "name": "weather.now", "arguments": {"city": "Kyoto"}},
            {"id": "c2", "name": "weather/now", "arguments": {"city": "Nara"}},
            {"id": "c3", "name": "stop", "arguments": "{broken"},
        ],
    },
    {"type": "tool", "content": "Rain", "tool_call_id": "c1", "name": "weather.now"},
    {"type": "tool", "content": [{"type": "text", "text": "Sun"}], "tool_call_id": "c2", "status": "error"},
    {"type": "error", "content": "for people"},
    {"type": "tool", "content": "", "tool_call_id": "c3"},
    "And now?",
]
IMAGES = [
    {"type": "text", "text": "What is this?"},
    {"type": "image", "url": "https://example.com/a.png"},
    {"type": "image", "data": PNG},
    {"type": "image", "url": "data:image/gif;base64,R0lGODlhAQABAAAAACw="},
]
ALL_OPTIONS = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 99, "parallel_tool_calls": False, "reasoning": {"effort": "low"}}

# name: (config, input), for both interfaces
BOTH = {
    "one text": ({}, {"messages": "Hello"}),
    "a conversation": ({}, {"messages": CONVERSATION, "tools": [WEATHER, PLAIN]}),
    "images": ({}, {"messages": [{"type": "user", "content": IMAGES}]}),
    "a file": ({}, {"messages": [{"type": "user", "content": [{"type": "file", "name": "a.pdf", "data": PNG}]}]}),
    "a file that is there": ({}, {"messages": [{"type": "user", "content": [{"type": "file", "file_id": "f1"}]}]}),
    "options": ({**ALL_OPTIONS, "top_p": 0.1}, {"messages": "Hello", "tools": [WEATHER], "options": {"top_p": 0.9}}),
    "whole": ({"stream": False}, {"messages": "Hello"}),
    "closed schema": ({}, {"messages": "Hello", "response_schema": CLOSED}),
    "open schema": ({}, {"messages": "Hello", "response_schema": OPEN}),
    "any tool": ({"tool_choice": "required"}, {"messages": "Hello", "tools": [WEATHER]}),
    "this tool": ({"tool_choice": {"name": "weather.now"}}, {"messages": "Hello", "tools": [WEATHER]}),
    "a choice without tools": ({"tool_choice": "auto"}, {"messages": "Hello"}),
    "a tool that gave an image": (
        {},
        {
            "messages": [
                "Draw",
                {"type": "ai", "content": "", "tool_calls": [{"id": "c1", "name": "draw", "arguments": {}}]},
                {
                    "type": "tool",
                    "tool_call_id": "c1",
                    "content": [{"type": "text", "text": "Here"}, {"type": "image", "data": PNG}],
                },
            ]
        },
    ),
    "roles": ({}, {"messages": [{"role": "human", "content": "a"}, {"role": "assistant", "content": "b"}, "c"]}),
}
CHAT = {
    "speech": ({"speech": {"voice": "ash", "format": "mp3"}}, {"messages": "Hello"}),
    "samples": ({"modalities": ["text", "audio"]}, {"messages": ["?", {"type": "ai", "content": [
    {"type": "text", "text": "Hi"}, {"type": "audio", "media_type": "audio/wav", "data": PNG, "extra": {"openai": {"id": "a"}}}]}, "!"]}),
    "raw samples": ({}, {"messages": [{"type": "user", "content": [{"type": "audio", "media_type": "audio/L16;rate=8000",
    "data": PNG}]}]}),
    "stop and seed": ({"stop": ["a", "b"], "seed": 7}, {"messages": "Hello"}),
    "audio": ({}, {"messages": [{"type": "user", "content": [{"type": "audio", "media_type": "audio/wav",
    "data": PNG}]}]}),
}
RESPONSES = {
    "images out": ({"modalities": ["text", "image"]}, {"messages": "Draw"}),
    "a file at an address": (
        {},
        {"messages": [{"type": "user", "content": [{"type": "file", "url": "https://example.com/a.pdf"}]}]},
    ),
    "an image that is there": ({}, {"messages": [{"type": "user", "content": [{"type": "image", "file_id": "f1"}]}]}),
    "a summary": ({"reasoning_summary": "auto", "model": "o4-mini"}, {"messages": "Hello"}),
}
STREAMED = {
    "chat": {"stream": 'data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n'},
    "responses": {"stream": 'data: {"type":"response.completed","response":{"status":"completed","output":[]}}\n\n'},
}
WHOLE = {
    "chat": {"body": '{"choices":[{"index":0,"message":{"content":"x"},"finish_reason":"stop"}]}'},
    "responses": {"body": '{"status":"completed","output":[]}'},
}


def case(api, config, given):
    stream = config.get("stream", True) and "format" not in config.get("speech", {})
    exchange = STREAMED[api] if stream else WHOLE[api]
    config = {"model": "gpt-4.1", **config, "api": api}
    return {"component": "openai", "config": config, "input": given, "exchanges": [exchange]}


def next_turns(drive):
    """Each recorded answer as the next turn's history, with an output for each of its calls."""
    found = []
    root = d.suite_folder("providers", "openai", "responses")
    for path in sorted(glob.glob(os.path.join(root, "*.json"))):
        with open(path, encoding="utf-8") as file:
            body = file.read()
        if "error" in os.path.basename(path):
            continue
        config = {"model": "gpt-5", "api": "responses", "stream": False}
        request = {"component": "openai", "config": config, "input": {"messages": "?"}, "exchanges": [{"body": body}]}
        found.append((os.path.basename(path), json.loads(body), request))
    cases, recorded = [], []
    for (name, body, _), result in zip(found, drive([request for _, _, request in found])):
        message = result["output"]["message"]
        answers = [
            {"type": "tool", "tool_call_id": call["id"], "content": "done"} for call in message.get("tool_calls", [])
        ]
        cases.append(case("responses", {"model": "gpt-5"}, {"messages": ["?", message, *answers, "Go on"]}))
        recorded.append((name, body["output"]))
    return cases, recorded


def is_sent_back(item):
    """False for reasoning without encrypted content, and for an empty message."""
    if item["type"] == "message":
        return any(part["text"] for part in item["content"])
    return item["type"] != "reasoning" or item.get("encrypted_content")


def check_history(recorded, requests):
    """The parts are sent back as received, in order."""
    for (name, output), request in zip(recorded, requests):
        back = request["json"]["input"][1:]
        received = [item["type"] for item in output if is_sent_back(item)]
        sent = [item.get("type", "message") for item in back[:-1]]
        received, sent = [[kind for kind in kinds if not kind.endswith("_output")] for kinds in (received, sent)]
        d.check(received == sent, f"{name}: {received} received, {sent} sent back")
        for item in output:
            if item["type"] == "reasoning" and item.get("encrypted_content"):
                d.check(item in back, f"{name}: reasoning was changed")
            if item["type"] == "function_call":
                same = [b for b in back if b.get("type") == "function_call" and b["call_id"] == item["call_id"]]
                d.check(len(same) == 1, f"{name}: call {item['call_id']} was not sent back")
                d.check(json.loads(same[0]["arguments"]) == json.loads(item["arguments"]), f"{name}: arguments")


def check_edited(drive, cases):
    """An edited message: its content and calls are sent as edited, its other parts as received."""
    edited_count = 0
    for request in cases:
        message = request["input"]["messages"][1]
        items = message.get("extra", {}).get("openai", {}).get("items", [])
        if not any(item["type"] == "reasoning" for item in items):
            continue
        edited = {**message, "content": "edited", "tool_calls": [{"id": "new", "name": "f", "arguments": {}}]}
        request = drive([case("responses", {}, {"messages": ["?", edited,
            "Go on"]})])[0]["requests"][0]["json"]["input"]
        contents = [item.get("content") for item in request if item.get("role") == "assistant"]
        calls = [item["call_id"] for item in request if item.get("type") == "function_call"]
        d.check(contents == ["edited"] and calls == ["new"], f"edited: {contents}, {calls}")
        d.check(request[1]["type"] == "reasoning", f"edited: {request[1]}")
        edited_count += 1
    d.check(edited_count > 1, "no message with reasoning was edited")


def check_members(requests):
    """Rules that a type cannot express."""
    conversation = requests["chat", "a conversation"]
    roles = [message["role"] for message in conversation["messages"]]
    d.check(roles == ["system", "developer", "user", "assistant", "tool", "tool", "tool", "user"], f"roles: {roles}")
    names = [call["function"]["name"] for call in conversation["messages"][3]["tool_calls"]]
    d.check(names[0] == conversation["tools"][0]["function"]["name"] == "weather_now", f"names: {names}")
    d.check(len(set(names)) == 3 and names[2] == "stop", f"names: {names}")
    d.check(conversation["messages"][3]["tool_calls"][2]["function"]["arguments"] == "{broken", "broken arguments")
    d.check(conversation["stream_options"] == {"include_usage": True}, "usage is not requested")
    image = requests["chat", "images"]["messages"][0]["content"]
    d.check(image[2]["image_url"]["url"] == "data:image/png;base64," + PNG, "the image's type was not found")
    d.check(image[3]["image_url"]["url"].startswith("data:image/gif;base64,"), "a data: url")
    d.check(requests["chat", "options"]["top_p"] == 0.9, "the input's options win")
    d.check(requests["chat", "options"]["max_completion_tokens"] == 99, "max_tokens")
    d.check(requests["chat", "options"]["reasoning_effort"] == "low", "reasoning")
    d.check(requests["responses", "options"]["max_output_tokens"] == 99, "max_output_tokens")
    for api, strict in (("closed schema", True), ("open schema", False)):
        chat, responses = requests["chat", api]["response_format"]["json_schema"], requests["responses", api]["text"]["format"]
        d.check(chat["strict"] is strict and responses["strict"] is strict, f"{api}: strict")
    d.check(requests["chat", "closed schema"]["response_format"]["json_schema"]["name"] == "An_answer", "the schema's name")
    d.check("stream" not in requests["chat", "whole"], "stream: false")
    d.check("stream" not in requests["chat", "speech"] and requests["chat", "samples"]["stream"] is True, "streams of speech")
    raw = requests["chat", "raw samples"]["messages"][0]["content"][0]["input_audio"]
    d.check(raw["format"] == "wav" and base64.b64decode(raw["data"]).startswith(b"RIFF"), f"raw samples: {raw}")
    d.check("tool_choice" not in requests["chat", "a choice without tools"], "tool_choice without tools")
    chosen = requests["chat", "this tool"]["tool_choice"]["function"]["name"]
    d.check(chosen == requests["chat", "this tool"]["tools"][0]["function"]["name"], "tool_choice's name")
    seen = requests["chat", "a tool that gave an image"]["messages"][-1]
    d.check(seen["role"] == "user" and seen["content"][1]["type"] == "image_url", "a tool's image")
    d.check(requests["responses", "one text"]["store"] is False, "nothing is stored")
    d.check("include" not in requests["responses", "one text"], "reasoning is requested from a model without it")
    d.check(requests["responses", "a summary"]["include"] == ["reasoning.encrypted_content"], "reasoning is not requested")


def main():
    sdk = Sdk("openai6")
    drive = d.Drive("openai")
    named = [("chat", name, *row) for name, row in {**BOTH, **CHAT}.items()]
    named += [("responses", name, *row) for name, row in {**BOTH, **RESPONSES}.items()]
    results = drive([case(api, config, given) for api, _, config, given in named])
    requests = {}
    for (api, name, _, _), result in zip(named, results):
        d.check("output" in result, f"{api}: {name}: {result.get('error')}")
        if d.check(len(result["requests"]) == 1, f"{api}: {name}: {len(result['requests'])} requests"):
            requests[api, name] = result["requests"][0]["json"]
            d.check(result["requests"][0]["url"].startswith("https://api.openai.com/v1/"), "url")
            key = result["requests"][0]["headers"].get("authorization")
            d.check(key == ["Bearer ", {"secret": "OPENAI_API_KEY"}], f"authorization: {key}")
    check_members(requests)
    chat = [(f"chat: {name}", request) for (api, name), request in requests.items() if api == "chat"]
    responses = [(f"responses: {name}", request) for (api, name), request in requests.items() if api == "responses"]
    cases, recorded = next_turns(drive)
    sent = [result["requests"][0] for result in drive(cases)]
    check_history(recorded, sent)
    check_edited(drive, cases)
    responses += [(f"after {name}", request["json"]) for (name, _), request in zip(recorded, sent)]
    embed = case("chat", {"model": "e", "stream": False, "dimensions": 3}, {"embed": ["a", "b"]})
    embed["exchanges"] = [
        {"body": '{"data":[{"index":1,"embedding":[2]},{"index":0,"embedding":[1]}],"usage":{"prompt_tokens":3}}'}
    ]
    embedded = drive([embed])[0]
    d.check(embedded["output"]["embeddings"] == [[1], [2]], f"embeddings: {embedded}")
    embeddings = [("embed", embedded["requests"][0]["json"])]
    types = {"ChatCompletionCreateParams": chat, "ResponseCreateParams": responses, "EmbeddingCreateParams": embeddings}
    sdk.check_all("openai6/resources/{chat/completions/completions,responses/responses,embeddings}.d.ts", types)
    d.finish()


main()
