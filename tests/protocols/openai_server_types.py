"""The files of tests/protocols/openai_server match the types of OpenAI's SDK.

Members that the SDK does not name are allowed where clients of other services know them, `reasoning_content` and `images`
of a message, or where OpenAI sends them, `store` of a Response. Everything else is rejected.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "providers"))
import drive as d
from sdk import Sdk

TYPES = {"chat": "ChatCompletion", "chunk": "ChatCompletionChunk", "event": "ResponseStreamEvent"}
EXTENSIONS = ("reasoning_content", "images", "annotations")


def as_in_the_sdk(kind, value):
    for choice in value.get("choices", []):
        for name in ("message", "delta"):
            for member in EXTENSIONS:
                if not (kind == "chat" and member == "annotations"):
                    choice.get(name, {}).pop(member, None)
    if "response" in value:
        value["response"]["output_text"] = ""  # the SDK itself adds it
        value["response"].pop("store")
    return value


def main():
    values = {kind: [] for kind in TYPES}
    folder = os.path.join(HERE, "openai_server")
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                for kind, value in json.loads(line).items():
                    if kind in values and "error" not in value:
                        values[kind].append((f"{name}:{number}", as_in_the_sdk(kind, value)))
    sdk = Sdk("openai6")
    for kind in TYPES:
        d.check(len(values[kind]) >= 10, f"few values of {kind}")
    types = "openai6/resources/{chat/completions/completions,responses/responses}.d.ts"
    sdk.check_all(types, {name: values[kind] for kind, name in TYPES.items()})
    d.finish()


main()
