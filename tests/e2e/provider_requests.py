#!/usr/bin/env python3
"""Checks that each request of a log of provider_server.py has a conversation that the real service accepts.

    provider_requests.py LOG

The rules are those that the services document and enforce with status 400:
    Chat Completions  known roles; each tool call of an assistant's message is answered by one of the tool messages that
                      directly follow it, and no other tool message exists
    Responses         each function_call has one function_call_output after it, and no output is without its call
    Messages          user and assistant alternate (either may begin); no empty content; each tool_use has its tool_result
                      in the next message, before other blocks, and no tool_result is without its tool_use; tools are declared
    generateContent   known roles; no empty content; the content after one with functionCall parts has as many
                      functionResponse parts, of the same names, and no other content has any
"""
import json
import sys


def check(condition, why, found):
    if not condition:
        sys.exit(f"the service would refuse the request: {why}: {json.dumps(found, ensure_ascii=False)[:2000]}")


def chat(body):
    open_calls = []
    for message in body["messages"]:
        role = message["role"]
        check(role in ("system", "developer", "user", "assistant", "tool"), "unknown role", message)
        if role == "tool":
            check(message["tool_call_id"] in open_calls, "a tool message without its call before it", message)
            open_calls.remove(message["tool_call_id"])
        else:
            check(not open_calls, f"calls without an answer: {open_calls}", message)
        check(isinstance(message["content"], (str, list)), "content is not text or parts", message)
        open_calls += [call["id"] for call in message.get("tool_calls", [])]
    check(not open_calls, f"calls without an answer: {open_calls}", body["messages"])


def responses(body):
    open_calls = []
    for item in body["input"]:
        if item.get("type") == "function_call":
            open_calls.append(item["call_id"])
        elif item.get("type") == "function_call_output":
            check(item["call_id"] in open_calls, "an output without its call", item)
            open_calls.remove(item["call_id"])
        else:
            check(item["role"] in ("system", "developer", "user", "assistant"), "unknown role", item)
    check(not open_calls, f"calls without an output: {open_calls}", body["input"])


def messages(body):
    uses, side = [], None
    for message in body["messages"]:
        check(message["role"] in ("user", "assistant") and message["role"] != side, "the roles do not alternate", message)
        side = message["role"]
        blocks = message["content"]
        blocks = [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks
        check(blocks, "the content is empty", message)
        check(all(block.get("text", "x").strip() for block in blocks), "a text is empty", message)
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        check(sorted(results) == sorted(uses), f"the results do not match the calls {uses}", message)
        check(all(block["type"] == "tool_result" for block in blocks[: len(results)]), "results are not first", message)
        uses = [block["id"] for block in blocks if block["type"] == "tool_use"]
        check(not (uses or results) or body.get("tools"), "tools are used, but not declared", message)
    check(not uses, f"calls without a result: {uses}", body["messages"])


def contents(body):
    calls = []
    for content in body["contents"]:
        check(content["role"] in ("user", "model", "function"), "unknown role", content)
        check(content["parts"] and all(content["parts"]), "a content is empty", content)
        results = [part["functionResponse"]["name"] for part in content["parts"] if "functionResponse" in part]
        check(results == calls, f"the results do not match the calls {calls}", content)
        calls = [part["functionCall"]["name"] for part in content["parts"] if "functionCall" in part]
    check(not calls, f"calls without a result: {calls}", body["contents"])


WIRES = {"/chat/completions": chat, "/responses": responses, "/messages": messages, "enerateContent": contents}
checked = 0
with open(sys.argv[1], encoding="utf-8") as log:
    for line in log:
        request = json.loads(line)
        for path, rules in WIRES.items():
            if path in request["path"]:
                rules(request["json"])
                checked += 1
check(checked > 0, "the log has no request", sys.argv[1])
print(checked)
