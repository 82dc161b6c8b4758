"""What the provider `gemini` sends, checked against the types of Google's own SDK.

The requests are those of tests/corpus/gemini/requests.txt, which gemini_test also uses, and those of the next turn after each
recorded answer. The SDK has types for the parts of a request, but not for the request. That type is defined here, according to
the service's reference."""
import glob
import json
import os

import drive as d
from sdk import Sdk

REQUEST_TYPES = """
import type {
  Content, GenerateContentConfig, GenerationConfig, SafetySetting, Tool, ToolConfig,
} from "./node_modules/@google/genai/dist/genai";

export interface GenerateContentRequest {
  contents: Content[];
  systemInstruction?: Content;
  tools?: Tool[];
  toolConfig?: ToolConfig;
  safetySettings?: SafetySetting[];
  generationConfig?: GenerationConfig & Pick<GenerateContentConfig, "imageConfig" | "thinkingConfig">;
  cachedContent?: string;
  labels?: Record<string, string>;
}

export interface BatchEmbedContentsRequest {
  requests: {
    model: string;
    content: Content;
    taskType?: string;
    title?: string;
    outputDimensionality?: number;
  }[];
}
"""


def read_corpus(path):
    """(name, request) of every case that has one; the form is tests/unit/corpus.h's."""
    found, name, section = [], None, None
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("=== "):
                name, section = line[4:].strip(), None
            elif line.startswith("--- "):
                section = line[4:].strip()
                if section == "request":
                    found.append([name, ""])
            elif section == "request":
                found[-1][1] += line
    return [(name, json.loads(text)) for name, text in found]


def next_requests():
    """The request of the next turn after each recorded answer."""
    first, names = [], []
    for path in sorted(glob.glob(os.path.join(d.suite_folder("providers", "google", "generate-content"), "*.chunks.txt"))):
        with open(path, encoding="utf-8") as file:
            stream = "".join(f"data: {line.strip()}\r\n\r\n" for line in file if line.strip())
        config = {"model": "gemini-3-pro-preview"}
        exchanges = [{"stream": stream}]
        first.append({"component": "gemini", "config": config, "input": {"messages": "?"}, "exchanges": exchanges})
        names.append(os.path.basename(path))
    drive, turns = d.Drive("gemini"), []
    for result in drive(first):
        message = result["output"]["message"]
        answers = [{"type": "tool", "tool_call_id": c["id"], "content": "{}"} for c in message.get("tool_calls", [])]
        messages = ["?", message, *answers, "Go on"]
        exchange = {"body": "{}"}
        turns.append({**first[0], "input": {"messages": messages}, "exchanges": [exchange]})
    return [(name, result["requests"][0]["json"]) for name, result in zip(names, drive(turns))]


def main():
    sdk = Sdk("@google/genai")
    types = os.path.join(os.path.dirname(sdk.modules), "wire.ts")
    with open(types, "w", encoding="utf-8") as file:
        file.write(REQUEST_TYPES)
    requests = read_corpus(os.path.join(d.HERE, "..", "corpus", "gemini", "requests.txt"))
    generate_requests = [(name, request) for name, request in requests if "contents" in request]
    embed_requests = [(name, request) for name, request in requests if "requests" in request]
    d.check(len(generate_requests) >= 15 and embed_requests, f"only {len(generate_requests)} requests in the corpus")
    invalid = [
        {"contents": [{"role": "user", "parts": [{"text": 5}]}]},
        {"contents": [], "generationConfig": {"thinkingConfig": {"thinkingLevel": "low-ish"}}},
        {"contents": [], "toolConfig": {"functionCallingConfig": {"mode": "REQUIRED"}}},
        {"contents": [], "tools": [{"function_declarations": []}]},
    ]
    named_requests_of = {
        "GenerateContentRequest": generate_requests + next_requests(),
        "BatchEmbedContentsRequest": embed_requests,
    }
    sdk.check_all(types, named_requests_of, [("GenerateContentRequest", request) for request in invalid])
    d.finish()


main()
