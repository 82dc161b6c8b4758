"""What the provider `openai` sends, against the types of OpenAI's own SDK, and member by member where it matters."""
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
TALK = [
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
SEEN = [
    {"type": "text", "text": "What is this?"},
    {"type": "image", "url": "https://example.com/a.png"},
    {"type": "image", "data": PNG},
    {"type": "image", "url": "data:image/gif;base64,R0lGODlhAQABAAAAACw="},
]
ALL = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 99, "parallel_tool_calls": False, "reasoning": {"effort": "low"}}

# name: (config, input), for both interfaces
BOTH = {
    "one text": ({}, {"messages": "Hello"}),
    "a conversation": ({}, {"messages": TALK, "tools": [WEATHER, PLAIN]}),
    "images": ({}, {"messages": [{"type": "user", "content": SEEN}]}),
    "a file": ({}, {"messages": [{"type": "user", "content": [{"type": "file", "name": "a.pdf", "data": PNG}]}]}),
    "a file that is there": ({}, {"messages": [{"type": "user", "content": [{"type": "file", "file_id": "f1"}]}]}),
    "options": ({**ALL, "top_p": 0.1}, {"messages": "Hello", "tools": [WEATHER], "options": {"top_p": 0.9}}),
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
DONE = {
    "chat": {"stream": 'data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n'},
    "responses": {"stream": 'data: {"type":"response.completed","response":{"status":"completed","output":[]}}\n\n'},
}
WHOLE = {
    "chat": {"body": '{"choices":[{"index":0,"message":{"content":"x"},"finish_reason":"stop"}]}'},
    "responses": {"body": '{"status":"completed","output":[]}'},
}


def case(api, config, given):
    exchange = DONE[api] if config.get("stream", True) else WHOLE[api]
    config = {"model": "gpt-4.1", **config, "api": api}
    return {"component": "openai", "config": config, "input": given, "exchanges": [exchange]}


def history(drive):
    """Each recorded answer as the next turn's history, with an output for each of its calls."""
    found = []
    root = d.suites("providers", "openai", "responses")
    for path in sorted(glob.glob(os.path.join(root, "*.json"))):
        with open(path, encoding="utf-8") as file:
            body = file.read()
        if "error" in os.path.basename(path):
            continue
        config = {"model": "gpt-5", "api": "responses", "stream": False}
        asked = {"component": "openai", "config": config, "input": {"messages": "?"}, "exchanges": [{"body": body}]}
        found.append((os.path.basename(path), json.loads(body), asked))
    cases, told = [], []
    for (name, body, _), result in zip(found, drive([asked for _, _, asked in found])):
        message = result["output"]["message"]
        answers = [
            {"type": "tool", "tool_call_id": call["id"], "content": "done"} for call in message.get("tool_calls", [])
        ]
        cases.append(case("responses", {"model": "gpt-5"}, {"messages": ["?", message, *answers, "Go on"]}))
        told.append((name, body["output"]))
    return cases, told


def is_kept(item):
    """Not reasoning that nobody could read, nor a message that says nothing."""
    if item["type"] == "message":
        return any(part["text"] for part in item["content"])
    return item["type"] != "reasoning" or item.get("encrypted_content")


def check_history(told, requests):
    """What goes back is what came, in its order."""
    for (name, output), request in zip(told, requests):
        back = request["json"]["input"][1:]
        come = [item["type"] for item in output if is_kept(item)]
        gone = [item.get("type", "message") for item in back[:-1]]
        come, gone = [[kind for kind in kinds if not kind.endswith("_output")] for kinds in (come, gone)]
        d.check(come == gone, f"{name}: {come} came, and {gone} went back")
        for item in output:
            if item["type"] == "reasoning" and item.get("encrypted_content"):
                d.check(item in back, f"{name}: reasoning did not go back as it came")
            if item["type"] == "function_call":
                same = [b for b in back if b.get("type") == "function_call" and b["call_id"] == item["call_id"]]
                d.check(len(same) == 1, f"{name}: call {item['call_id']} did not go back")
                d.check(json.loads(same[0]["arguments"]) == json.loads(item["arguments"]), f"{name}: arguments")


def check_edited(drive, cases):
    """Who edits a message is heard: its content and calls go back as they are now, and what is beside as it was."""
    looked = 0
    for asked in cases:
        message = asked["input"]["messages"][1]
        kept = message.get("extra", {}).get("openai", {}).get("items", [])
        if not any(item["type"] == "reasoning" for item in kept):
            continue
        edited = {**message, "content": "edited", "tool_calls": [{"id": "new", "name": "f", "arguments": {}}]}
        request = drive([case("responses", {}, {"messages": ["?", edited,
            "Go on"]})])[0]["requests"][0]["json"]["input"]
        said = [item.get("content") for item in request if item.get("role") == "assistant"]
        calls = [item["call_id"] for item in request if item.get("type") == "function_call"]
        d.check(said == ["edited"] and calls == ["new"], f"edited: {said}, {calls}")
        d.check(request[1]["type"] == "reasoning", f"edited: {request[1]}")
        looked += 1
    d.check(looked > 1, "no message with reasoning was edited")


def check_members(by):
    """By hand, what a type cannot say."""
    talk = by["chat", "a conversation"]
    roles = [message["role"] for message in talk["messages"]]
    d.check(roles == ["system", "developer", "user", "assistant", "tool", "tool", "tool", "user"], f"roles: {roles}")
    names = [call["function"]["name"] for call in talk["messages"][3]["tool_calls"]]
    d.check(names[0] == talk["tools"][0]["function"]["name"] == "weather_now", f"names: {names}")
    d.check(len(set(names)) == 3 and names[2] == "stop", f"names: {names}")
    d.check(talk["messages"][3]["tool_calls"][2]["function"]["arguments"] == "{broken", "broken arguments")
    d.check(talk["stream_options"] == {"include_usage": True}, "usage is not asked for")
    image = by["chat", "images"]["messages"][0]["content"]
    d.check(image[2]["image_url"]["url"] == "data:image/png;base64," + PNG, "the image's type was not found")
    d.check(image[3]["image_url"]["url"].startswith("data:image/gif;base64,"), "a data: url")
    d.check(by["chat", "options"]["top_p"] == 0.9, "the input's options win")
    d.check(by["chat", "options"]["max_completion_tokens"] == 99, "max_tokens")
    d.check(by["chat", "options"]["reasoning_effort"] == "low", "reasoning")
    d.check(by["responses", "options"]["max_output_tokens"] == 99, "max_output_tokens")
    for api, strict in (("closed schema", True), ("open schema", False)):
        chat, responses = by["chat", api]["response_format"]["json_schema"], by["responses", api]["text"]["format"]
        d.check(chat["strict"] is strict and responses["strict"] is strict, f"{api}: strict")
    d.check(by["chat", "closed schema"]["response_format"]["json_schema"]["name"] == "An_answer", "the schema's name")
    d.check("stream" not in by["chat", "whole"], "stream: false")
    d.check("tool_choice" not in by["chat", "a choice without tools"], "tool_choice without tools")
    chosen = by["chat", "this tool"]["tool_choice"]["function"]["name"]
    d.check(chosen == by["chat", "this tool"]["tools"][0]["function"]["name"], "tool_choice's name")
    seen = by["chat", "a tool that gave an image"]["messages"][-1]
    d.check(seen["role"] == "user" and seen["content"][1]["type"] == "image_url", "a tool's image")
    d.check(by["responses", "one text"]["store"] is False, "nothing is stored")
    d.check("include" not in by["responses", "one text"], "reasoning of a model that does not")
    d.check(by["responses", "a summary"]["include"] == ["reasoning.encrypted_content"], "reasoning is not asked for")


def main():
    sdk = Sdk("openai@6.49.0")
    drive = d.Drive("openai")
    named = [("chat", name, *row) for name, row in {**BOTH, **CHAT}.items()]
    named += [("responses", name, *row) for name, row in {**BOTH, **RESPONSES}.items()]
    results = drive([case(api, config, given) for api, _, config, given in named])
    by = {}
    for (api, name, _, _), result in zip(named, results):
        d.check("output" in result, f"{api}: {name}: {result.get('error')}")
        if d.check(len(result["requests"]) == 1, f"{api}: {name}: {len(result['requests'])} requests"):
            by[api, name] = result["requests"][0]["json"]
            d.check(result["requests"][0]["url"].startswith("https://api.openai.com/v1/"), "url")
            key = result["requests"][0]["headers"].get("authorization")
            d.check(key == ["Bearer ", {"secret": "OPENAI_API_KEY"}], f"authorization: {key}")
    check_members(by)
    chat = [(f"chat: {name}", request) for (api, name), request in by.items() if api == "chat"]
    responses = [(f"responses: {name}", request) for (api, name), request in by.items() if api == "responses"]
    cases, told = history(drive)
    sent = [result["requests"][0] for result in drive(cases)]
    check_history(told, sent)
    check_edited(drive, cases)
    responses += [(f"after {name}", request["json"]) for (name, _), request in zip(told, sent)]
    embed = case("chat", {"model": "e", "stream": False, "dimensions": 3}, {"embed": ["a", "b"]})
    embed["exchanges"] = [
        {"body": '{"data":[{"index":1,"embedding":[2]},{"index":0,"embedding":[1]}],"usage":{"prompt_tokens":3}}'}
    ]
    embedded = drive([embed])[0]
    d.check(embedded["output"]["embeddings"] == [[1], [2]], f"embeddings: {embedded}")
    sdk.check("openai/resources/chat/completions/completions.d.ts", "ChatCompletionCreateParams", chat)
    sdk.check("openai/resources/responses/responses.d.ts", "ResponseCreateParams", responses)
    sdk.check("openai/resources/embeddings.d.ts", "EmbeddingCreateParams", [("embed", embedded["requests"][0]["json"])])
    d.finish()


main()
