#!/usr/bin/env python3
"""A chat at the terminal with OpenAI's client. OPENAI_BASE_URL and OPENAI_API_KEY say where the graph is.

The graph asks before it uses a tool: the question arrives as a call of `tenon_approve`, and the person's answer is its result.
"""
import json
import sys

from openai import OpenAI

client, messages = OpenAI(), []


def answer():
    """Streams an answer; the calls of tools that it contains."""
    text, calls = "", {}
    for chunk in client.chat.completions.create(model="assistant", messages=messages, stream=True):
        delta = chunk.choices[0].delta
        print(delta.content or "", end="", flush=True)
        text += delta.content or ""
        for part in delta.tool_calls or []:
            call = calls.setdefault(part.index, {"id": part.id, "type": "function", "function": {"name": part.function.name, "arguments": ""}})
            call["function"]["arguments"] += part.function.arguments or ""
    print()
    messages.append({"role": "assistant", "content": text, **({"tool_calls": list(calls.values())} if calls else {})})
    return calls.values()


for line in sys.stdin:
    messages.append({"role": "user", "content": line.strip()})
    while calls := answer():
        for call in calls:
            asked = json.loads(call["function"]["arguments"])
            print("%s %s [yes/no]" % (asked["tool"], json.dumps(asked["arguments"])))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": sys.stdin.readline().strip()})
