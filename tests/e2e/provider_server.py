#!/usr/bin/env python3
"""A model service on this machine, in the wire format of each provider, for tests without network.

    provider_server.py SCRIPT.json --port-file port --log requests.jsonl

The path of a request decides the wire format (WIRES, below: a row per provider). SCRIPT is a list of replies, or
{"replies": [...], "cycle": true}; each request takes the next reply, and the last one is repeated. A reply:

    {"text": "Hello", "reasoning": "hm", "calls": [{"name": "add", "arguments": {"a": 1}}], "usage": [12, 3],
     "finish": "length", "match": "a text that the request must contain, otherwise the reply is skipped"}
        sent in the wire format, as a stream if the request wants one
    {"events": [{...}, ...]} or {"events_file": "recorded.chunks.txt"}    a recorded stream, with the framing of the service
    {"json": {...}} or {"json_file": "recorded.json"}                      a recorded answer in one piece
    {"status": 429, "headers": {"retry-after": "1"}, "json": {...} or "body": "<html>", "content_type": "text/html"}

Each may have "pause_ms", before the answer. The log has "at_once": how many requests were not answered yet, with this one.

Each may have a "fault" of the stream:
    cut             the connection is closed in the middle of an event
    cut_clean       the body ends correctly for HTTP, in the middle of an event
    cut_utf8        as cut, inside a character of several bytes
    cut_before_end  ends cleanly before the last event
    wrong_order     the second event comes last but one, the first last
    error           an error event after half of the events, then the end
    drip            a byte at a time
    not_json        an event whose data is not JSON
    html            200, and a page of HTML
    hang            half of the events, then nothing until the client disconnects
"""
import argparse
import http.server
import json
import os
import socketserver
import struct
import sys
import threading
import time
import zlib

WIRES = []  # (parts of the path, functions)


def wire(*paths):
    def add(cls):
        WIRES.append((paths, cls()))
        return cls

    return add


def wire_of(path):
    path = path.split("?")[0]
    for paths, found in WIRES:
        if any(part in path for part in paths):
            return found
    return None


def pieces(text, size=4):
    """Splits a text into pieces of a few characters, as services stream it."""
    return [text[i : i + size] for i in range(0, len(text), size)] or []


class Wire:
    """The interface of a row; `reply` is one of the script, `request` the JSON that was received."""

    content_type = "text/event-stream"
    done = b""  # what ends the stream after the last event
    not_json = b"data: {this is no JSON\n\n"

    def wants_stream(self, path, request):
        return bool(request.get("stream"))

    def frame(self, event):
        return b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n"

    def events(self, reply, request):
        raise NotImplementedError

    def whole(self, reply, request):
        raise NotImplementedError

    def error_event(self):
        return {"error": {"type": "server_error", "code": "server_error", "message": "The server had an error"}}

    def terminal(self, event):
        """True if the event is the last one."""
        return False


@wire("/chat/completions")
class Chat(Wire):
    done = b"data: [DONE]\n\n"

    def base(self, request, kind):
        return {"id": "chatcmpl-1", "object": kind, "created": 1700000000, "model": request.get("model", "?")}

    def usage(self, reply):
        input_tokens, output_tokens = reply.get("usage", [10, 5])
        total = input_tokens + output_tokens
        return {"prompt_tokens": input_tokens, "completion_tokens": output_tokens, "total_tokens": total}

    def finish(self, reply):
        return reply.get("finish") or ("tool_calls" if reply.get("calls") else "stop")

    def calls(self, reply):
        return [
            {
                "id": call.get("id", f"call_{i}"),
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call.get("arguments", {}))},
            }
            for i, call in enumerate(reply.get("calls", []))
        ]

    def events(self, reply, request):
        def chunk(delta, finish=None):
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
            return {**self.base(request, "chat.completion.chunk"), "choices": [choice]}

        yield chunk({"role": "assistant", "content": ""})
        for piece in pieces(reply.get("reasoning", "")):
            yield chunk({"reasoning_content": piece})
        for piece in pieces(reply.get("text", "")):
            yield chunk({"content": piece})
        for index, call in enumerate(self.calls(reply)):
            text = call["function"]["arguments"]
            call["function"]["arguments"] = ""
            yield chunk({"tool_calls": [{"index": index, **call}]})
            for piece in pieces(text):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield chunk({}, self.finish(reply))
        if (request.get("stream_options") or {}).get("include_usage"):
            yield {**self.base(request, "chat.completion.chunk"), "choices": [], "usage": self.usage(reply)}

    def whole(self, reply, request):
        message = {"role": "assistant", "content": reply.get("text", ""), "refusal": None}
        if reply.get("reasoning"):
            message["reasoning_content"] = reply["reasoning"]
        if reply.get("calls"):
            message["tool_calls"] = self.calls(reply)
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self.finish(reply)}
        return {**self.base(request, "chat.completion"), "choices": [choice], "usage": self.usage(reply)}

    def terminal(self, event):
        return bool(event.get("choices") and event["choices"][0].get("finish_reason"))


@wire("/responses")
class Responses(Wire):
    def frame(self, event):
        return b"event: " + event.get("type", "message").encode() + b"\n" + super().frame(event)

    def items(self, reply):
        made = []
        if reply.get("reasoning"):
            summary = [{"type": "summary_text", "text": reply["reasoning"]}]
            made.append({"id": "rs_1", "type": "reasoning", "summary": summary, "encrypted_content": "gAAAA"})
        if reply.get("text"):
            part = {"type": "output_text", "text": reply["text"], "annotations": [], "logprobs": []}
            item = {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": [part]}
            made.append(item)
        for i, call in enumerate(reply.get("calls", [])):
            item = {"id": f"fc_{i}", "type": "function_call", "status": "completed", "name": call["name"]}
            item["call_id"] = call.get("id", f"call_{i}")
            item["arguments"] = json.dumps(call.get("arguments", {}))
            made.append(item)
        return made

    def whole(self, reply, request, status="completed"):
        input_tokens, output_tokens = reply.get("usage", [10, 5])
        finish = reply.get("finish")
        response = {"id": "resp_1", "object": "response", "created_at": 1700000000, "status": status, "error": None}
        response["model"] = request.get("model", "?")
        response["output"] = self.items(reply) if status == "completed" else []
        response["incomplete_details"] = None
        response["usage"] = None
        if status == "completed":
            usage = {"input_tokens": input_tokens, "output_tokens": output_tokens}
            response["usage"] = {**usage, "total_tokens": input_tokens + output_tokens}
            if finish == "length":
                response["status"] = "incomplete"
                response["incomplete_details"] = {"reason": "max_output_tokens"}
        return response

    def events(self, reply, request):
        for number, event in enumerate(self.unnumbered(reply, request)):
            yield {**event, "sequence_number": number}

    def unnumbered(self, reply, request):
        yield {"type": "response.created", "response": self.whole(reply, request, "in_progress")}
        for index, item in enumerate(self.items(reply)):
            at = {"output_index": index, "item_id": item["id"]}
            if item["type"] == "message":
                part = item["content"][0]
                yield {"type": "response.output_item.added", **at, "item": {**item, "content": []}}
                yield {"type": "response.content_part.added", **at, "content_index": 0, "part": {**part, "text": ""}}
                for piece in pieces(part["text"]):
                    yield {"type": "response.output_text.delta", **at, "content_index": 0, "delta": piece}
                yield {"type": "response.output_text.done", **at, "content_index": 0, "text": part["text"]}
                yield {"type": "response.content_part.done", **at, "content_index": 0, "part": part}
            elif item["type"] == "function_call":
                yield {"type": "response.output_item.added", **at, "item": {**item, "arguments": ""}}
                for piece in pieces(item["arguments"]):
                    yield {"type": "response.function_call_arguments.delta", **at, "delta": piece}
                done = {"arguments": item["arguments"], "name": item["name"]}
                yield {"type": "response.function_call_arguments.done", **at, **done}
            else:
                yield {"type": "response.output_item.added", **at, "item": {**item, "summary": []}}
                text = item["summary"][0]["text"]
                for piece in pieces(text):
                    yield {"type": "response.reasoning_summary_text.delta", **at, "summary_index": 0, "delta": piece}
                yield {"type": "response.reasoning_summary_text.done", **at, "summary_index": 0, "text": text}
            yield {"type": "response.output_item.done", **at, "item": item}
        whole = self.whole(reply, request)
        yield {"type": "response." + whole["status"], "response": whole}

    def error_event(self):
        return {"type": "error", "code": "server_error", "message": "The server had an error", "param": None}

    def terminal(self, event):
        return event.get("type") in ("response.completed", "response.incomplete")


@wire("/embeddings")
class Embeddings(Wire):
    def whole(self, reply, request):
        texts = request.get("input", [])
        texts = [texts] if isinstance(texts, str) else texts
        data = [{"object": "embedding", "index": i, "embedding": [len(text), i]} for i, text in enumerate(texts)]
        usage = {"prompt_tokens": 3, "total_tokens": 3}
        return {"object": "list", "data": data, "model": request.get("model"), "usage": usage}


@wire("/messages", ":streamRawPredict", ":rawPredict")
class Messages(Wire):
    STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}

    def frame(self, event):
        return b"event: " + event.get("type", "message").encode() + b"\n" + super().frame(event)

    def blocks(self, reply):
        made = []
        if reply.get("reasoning"):
            made.append({"type": "thinking", "thinking": reply["reasoning"], "signature": "c2lnbmVk"})
        if reply.get("text"):
            made.append({"type": "text", "text": reply["text"], "citations": None})
        for i, call in enumerate(reply.get("calls", [])):
            use = {"type": "tool_use", "id": call.get("id", f"toolu_{i}"), "name": call["name"]}
            made.append({**use, "input": call.get("arguments", {})})
        return made

    def whole(self, reply, request):
        input_tokens, output_tokens = reply.get("usage", [10, 5])
        stop = self.STOPS[reply.get("finish") or ("tool_calls" if reply.get("calls") else "stop")]
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": request.get("model", "?")}
        usage = {"input_tokens": input_tokens, "output_tokens": output_tokens, "cache_read_input_tokens": 0}
        usage["cache_creation_input_tokens"] = 0
        return {**message, "content": self.blocks(reply), "stop_reason": stop, "stop_sequence": None, "usage": usage}

    def events(self, reply, request):
        whole = self.whole(reply, request)
        begun = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
        yield {"type": "message_start", "message": begun}
        for index, block in enumerate(whole["content"]):
            empty = {"text": "", "thinking": "", "signature": "", "input": {}}
            start = {key: empty.get(key, value) for key, value in block.items()}
            yield {"type": "content_block_start", "index": index, "content_block": start}
            if index == 0:
                yield {"type": "ping"}
            for delta in self.deltas(block):
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        usage = {"output_tokens": whole["usage"]["output_tokens"]}
        delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        yield {"type": "message_delta", "delta": delta, "usage": usage}
        yield {"type": "message_stop"}

    def deltas(self, block):
        if block["type"] == "tool_use":
            return [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(json.dumps(block["input"]))]
        if block["type"] == "thinking":
            made = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
            return made + [{"type": "signature_delta", "signature": block["signature"]}]
        return [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]

    def error_event(self):
        return {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

    def terminal(self, event):
        return event.get("type") == "message_stop"


@wire("enerateContent")
class Gemini(Wire):
    """generateContent and streamGenerateContent, of AI Studio and of Vertex: each event is a partial answer."""

    STOPS = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}

    def wants_stream(self, path, request):
        return "streamGenerateContent" in path

    def frame(self, event):
        return b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\r\n\r\n"

    def answer(self, parts, finish=None, usage=None):
        candidate = {"content": {"parts": parts, "role": "model"}, "index": 0}
        if finish:
            candidate["finishReason"] = finish
        made = {"candidates": [candidate], "modelVersion": "gemini-test-001", "responseId": "r1"}
        return {**made, "usageMetadata": usage} if usage else made

    def parts(self, reply, size):
        for piece in pieces(reply.get("reasoning", ""), size):
            yield {"text": piece, "thought": True}
        for piece in pieces(reply.get("text", ""), size):
            yield {"text": piece}
        for i, call in enumerate(reply.get("calls", [])):
            function = {"id": call.get("id", f"g{i}"), "name": call["name"], "args": call.get("arguments", {})}
            yield {"functionCall": function, **({} if i else {"thoughtSignature": "c2lnbmVk"})}
        if reply.get("image"):
            yield {"inlineData": {"mimeType": "image/png", "data": reply["image"]}}

    def usage(self, reply):
        input_tokens, output_tokens = reply.get("usage", [10, 5])
        total = input_tokens + output_tokens
        return {"promptTokenCount": input_tokens, "candidatesTokenCount": output_tokens, "totalTokenCount": total}

    def finish(self, reply):
        return self.STOPS.get(reply.get("finish"), "STOP")  # also if functions are called

    def whole(self, reply, request):
        return self.answer(list(self.parts(reply, 1 << 30)), self.finish(reply), self.usage(reply))

    def events(self, reply, request):
        for part in self.parts(reply, 4):
            yield self.answer([part])
        yield self.answer([{"text": ""}], self.finish(reply), self.usage(reply))

    def error_event(self):
        return {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}

    def terminal(self, event):
        return bool(event.get("candidates") and event["candidates"][0].get("finishReason"))


@wire(":batchEmbedContents")
class GeminiEmbeddings(Wire):
    def wants_stream(self, path, request):
        return False

    def whole(self, reply, request):
        texts = [item["content"]["parts"][0]["text"] for item in request["requests"]]
        return {"embeddings": [{"values": [len(text), i]} for i, text in enumerate(texts)]}


def bedrock_frame(headers, payload):
    """A message of application/vnd.amazon.eventstream; all headers are texts."""
    raw = b"".join(bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
                   for name, value in headers.items())
    prelude = struct.pack(">II", 16 + len(raw) + len(payload), len(raw))
    checked = prelude + struct.pack(">I", zlib.crc32(prelude)) + raw + payload
    return checked + struct.pack(">I", zlib.crc32(checked))


@wire("/converse")
class Converse(Wire):
    """Amazon Bedrock. The log of its requests has the body as it was received, which the signature is of."""

    content_type = "application/vnd.amazon.eventstream"
    not_json = bedrock_frame({":message-type": "event", ":event-type": "contentBlockDelta"}, b"{this is no JSON")
    STOPS = {"length": "max_tokens", "content_filter": "guardrail_intervened"}

    def wants_stream(self, path, request):
        return path.endswith("/converse-stream")

    def frame(self, event):
        (name, value), = event.items()
        kind = ("exception", ":exception-type") if name.endswith("Exception") else ("event", ":event-type")
        headers = {kind[1]: name, ":content-type": "application/json", ":message-type": kind[0]}
        return bedrock_frame(headers, json.dumps(value, ensure_ascii=False).encode())

    def error_event(self):
        return {"serviceUnavailableException": {"message": "The service is busy"}}

    def terminal(self, event):
        return "messageStop" in event

    def stop(self, reply):
        return self.STOPS.get(reply.get("finish")) or ("tool_use" if reply.get("calls") else "end_turn")

    def usage(self, reply):
        input_tokens, output_tokens = reply.get("usage", [10, 5])
        return {"inputTokens": input_tokens, "outputTokens": output_tokens, "totalTokens": input_tokens + output_tokens}

    def calls(self, reply):
        for i, call in enumerate(reply.get("calls", [])):
            tool = {"toolUseId": call.get("id", f"tooluse_{i}"), "name": call["name"]}
            yield tool, call.get("arguments", {})

    def whole(self, reply, request):
        content = []
        if reply.get("reasoning"):
            text = {"text": reply["reasoning"], "signature": "c2lnbmVk"}
            content.append({"reasoningContent": {"reasoningText": text}})
        if reply.get("text"):
            content.append({"text": reply["text"]})
        content += [{"toolUse": {**tool, "input": given}} for tool, given in self.calls(reply)]
        made = {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": self.stop(reply)}
        return {**made, "usage": self.usage(reply), "metrics": {"latencyMs": 1}}

    def events(self, reply, request):
        def delta(value):
            return {"contentBlockDelta": {"contentBlockIndex": index, "delta": value, "p": "abcd"}}

        index = 0
        yield {"messageStart": {"role": "assistant", "p": "abc"}}
        for piece in pieces(reply.get("reasoning", "")):
            yield delta({"reasoningContent": {"text": piece}})
        if reply.get("reasoning"):
            yield delta({"reasoningContent": {"signature": "c2lnbmVk"}})
            yield {"contentBlockStop": {"contentBlockIndex": index}}
            index += 1
        for piece in pieces(reply.get("text", "")):
            yield delta({"text": piece})
        if reply.get("text"):
            yield {"contentBlockStop": {"contentBlockIndex": index}}
            index += 1
        for tool, given in self.calls(reply):
            yield {"contentBlockStart": {"contentBlockIndex": index, "start": {"toolUse": tool}}}
            for piece in pieces(json.dumps(given)):
                yield delta({"toolUse": {"input": piece}})
            yield {"contentBlockStop": {"contentBlockIndex": index}}
            index += 1
        yield {"messageStop": {"stopReason": self.stop(reply)}}
        yield {"metadata": {"usage": self.usage(reply), "metrics": {"latencyMs": 1}}}


@wire("/invoke")
class Invoke(Converse):
    """Embeddings of Titan, one text in a request, and of Cohere. Other members are not known."""

    def wants_stream(self, path, request):
        return False

    def whole(self, reply, request):
        titan = "inputText" in request
        known = ("inputText", "dimensions", "normalize") if titan else ("texts", "input_type", "truncate")
        if set(request) - set(known):
            return {"message": f"extraneous key {sorted(set(request) - set(known))}"}
        if titan:
            return {"embedding": [len(request["inputText"]), 1], "inputTextTokenCount": 3}
        return {"response_type": "embeddings_floats", "embeddings": [[len(text), i] for i, text in enumerate(request["texts"])]}


@wire("/v2/chat")
class Cohere(Wire):
    STOPS = {"length": "MAX_TOKENS", "content_filter": "ERROR_TOXIC"}

    def frame(self, event):
        return f"event: {event['type']}\n".encode() + super().frame(event)

    def error_event(self):
        return {"type": "message-end", "delta": {"finish_reason": "ERROR", "error": "The model failed"}}

    def terminal(self, event):
        return event["type"] == "message-end"

    def end(self, reply):
        input_tokens, output_tokens = reply.get("usage", [10, 5])
        reason = self.STOPS.get(reply.get("finish")) or ("TOOL_CALL" if reply.get("calls") else "COMPLETE")
        return {"finish_reason": reason, "usage": {"billed_units": {"input_tokens": 1, "output_tokens": 1},
                                                   "tokens": {"input_tokens": input_tokens, "output_tokens": output_tokens}}}

    def content(self, reply):
        return [(kind, reply[name]) for kind, name in (("thinking", "reasoning"), ("text", "text")) if reply.get(name)]

    def call(self, i, call, arguments):
        return {"id": call.get("id", f"{call['name']}_{i}"), "type": "function", "function": {"name": call["name"], "arguments": arguments}}

    def whole(self, reply, request):
        message = {"role": "assistant", "content": [{"type": kind, kind: text} for kind, text in self.content(reply)]}
        message["tool_calls"] = [self.call(i, call, json.dumps(call.get("arguments", {}))) for i, call in enumerate(reply.get("calls", []))]
        return {"id": "c1", "message": message, **self.end(reply)}

    def events(self, reply, request):
        yield {"type": "message-start", "id": "c1", "delta": {"message": {"role": "assistant"}}}
        for index, (kind, text) in enumerate(self.content(reply)):
            yield {"type": "content-start", "index": index, "delta": {"message": {"content": {"type": kind, kind: ""}}}}
            for piece in pieces(text):
                yield {"type": "content-delta", "index": index, "delta": {"message": {"content": {kind: piece}}}}
            yield {"type": "content-end", "index": index}
        for i, call in enumerate(reply.get("calls", [])):
            yield {"type": "tool-call-start", "index": i, "delta": {"message": {"tool_calls": self.call(i, call, "")}}}
            for piece in pieces(json.dumps(call.get("arguments", {}))):
                yield {"type": "tool-call-delta", "index": i, "delta": {"message": {"tool_calls": {"function": {"arguments": piece}}}}}
            yield {"type": "tool-call-end", "index": i}
        yield {"type": "message-end", "delta": self.end(reply)}


@wire("/v2/embed")
class CohereEmbeddings(Wire):
    """A query has another vector than a document with the same text."""

    def whole(self, reply, request):
        query = request["input_type"] == "search_query"
        vectors = [[len(text), 1 if query else 0] for text in request["texts"]]
        return {"embeddings": {"float": vectors}, "meta": {"billed_units": {"input_tokens": len(vectors)}}}


@wire("/token")
class Token(Wire):
    """A token endpoint: the reply has `json`. The log has the form as `not_json`."""


def recorded(reply):
    """The events of a recorded stream, one JSON a line; None if the reply is not recorded."""
    if "events" in reply:
        return reply["events"]
    if "events_file" not in reply:
        return None
    with open(reply["events_file"], encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def stream_of(reply, spoken, request):
    """The bytes of a stream with the fault of the reply, and how the connection ends: clean, cut or hang."""
    fault = reply.get("fault")
    events = recorded(reply)
    events = list(spoken.events(reply, request)) if events is None else list(events)
    if fault == "cut_before_end":
        ends = [i for i, event in enumerate(events) if spoken.terminal(event)]
        return b"".join(spoken.frame(event) for event in events[: ends[0] if ends else -1]), "clean"
    if fault == "wrong_order" and len(events) > 2:
        events = events[2:] + [events[1], events[0]]
    half = max(1, len(events) // 2)
    if fault == "error":
        events = events[:half] + [spoken.error_event()]
    frames = [spoken.frame(event) for event in events]
    if fault == "not_json":
        frames.insert(half, spoken.not_json)
    if fault == "hang":
        return b"".join(frames[:half]), "hang"
    whole = b"".join(frames) + (spoken.done if fault != "error" else b"")
    if fault in ("cut", "cut_clean"):
        return whole[: len(b"".join(frames[:half])) + len(frames[half]) // 2], "cut" if fault == "cut" else "clean"
    if fault == "cut_utf8":
        inside = next((i for i, byte in enumerate(whole) if byte & 0xC0 == 0x80), None)
        if inside is None:
            raise ValueError("cut_utf8 needs a reply with a character of several bytes")
        return whole[:inside], "cut"
    return whole, "clean"


class Script:
    """A script that is replaced (by a rename) while the server runs starts with its first reply."""

    def __init__(self, path):
        self.path = path
        self.file = None
        self.read()

    def read(self):
        status = os.stat(self.path)
        if self.file == (status.st_ino, status.st_mtime_ns):
            return
        self.file = (status.st_ino, status.st_mtime_ns)
        with open(self.path, encoding="utf-8") as file:
            data = json.load(file)
        self.replies = data["replies"] if isinstance(data, dict) else data
        self.cycle = isinstance(data, dict) and data.get("cycle", False)
        self.next = 0

    def take(self, text):
        """The caller holds the lock of the server."""
        self.read()
        for _ in range(len(self.replies)):
            reply = self.replies[self.next]
            last = self.next + 1 >= len(self.replies)
            if not last or self.cycle:
                self.next = (self.next + 1) % len(self.replies)
            if reply.get("match", "") in text:
                return reply
        return {"status": 500, "json": {"error": {"message": "the script has no reply for this request"}}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def send_whole(self, status, headers, body):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_chunk(self, data):
        self.wfile.write(b"%x\r\n" % len(data) + data + b"\r\n")
        self.wfile.flush()

    def send_stream(self, spoken, headers, data, end, drip):
        self.send_response(200)
        for name, value in {"content-type": spoken.content_type, **headers}.items():
            self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        size = 1 if drip else max(1, len(data))
        for i in range(0, len(data), size):
            self.send_chunk(data[i : i + size])
        if end == "clean":
            self.wfile.write(b"0\r\n\r\n")
            return
        if end == "hang":
            self.connection.recv(1)  # until the client closes
        self.close_connection = True

    def do_POST(self):
        length = int(self.headers.get("content-length") or 0)
        text = self.rfile.read(length).decode("utf-8", "replace")
        try:
            request = json.loads(text) if text else {}
        except ValueError:
            request = {"not_json": text}
        headers = {name.lower(): value for name, value in self.headers.items()}
        spoken = wire_of(self.path)
        with self.server.lock:  # the order of the log is that of the replies
            reply = self.server.script.take(text) if spoken else None
            self.server.open += 1
            with open(self.server.log, "a", encoding="utf-8") as log:
                entry = {"path": self.path, "headers": headers, "json": request, "at_once": self.server.open}
                log.write(json.dumps({**entry, "body": text} if isinstance(spoken, Converse) else entry) + "\n")
        if spoken is None:
            self.closed()
            self.send_whole(404, {"content-type": "application/json"}, b'{"error": {"message": "no such path"}}')
            return
        time.sleep(reply.get("pause_ms", 0) / 1000)
        self.closed()
        self.reply(spoken, reply, request)

    def closed(self):
        with self.server.lock:
            self.server.open -= 1

    def date_time_string(self, timestamp=None):
        return self.date or super().date_time_string(timestamp)

    def reply(self, spoken, reply, request):
        headers, status = dict(reply.get("headers", {})), reply.get("status", 200)
        self.date = headers.pop("date", None)
        if "json_file" in reply:
            with open(reply["json_file"], encoding="utf-8") as file:
                reply = {**reply, "json": json.load(file)}
        if reply.get("fault") == "html":
            self.send_whole(200, {"content-type": "text/html"}, b"<html><body>Welcome</body></html>")
        elif "body" in reply:
            headers = {"content-type": reply.get("content_type", "text/plain"), **headers}
            self.send_whole(status, headers, reply["body"].encode())
        elif "json" in reply:
            headers = {"content-type": "application/json", **headers}
            self.send_whole(status, headers, json.dumps(reply["json"]).encode())
        elif spoken.wants_stream(self.path, request):
            data, end = stream_of(reply, spoken, request)
            self.send_stream(spoken, headers, data, end, reply.get("fault") == "drip")
        else:
            headers = {"content-type": "application/json", **headers}
            self.send_whole(status, headers, json.dumps(spoken.whole(reply, request)).encode())


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], (BrokenPipeError, ConnectionResetError)):
            super().handle_error(request, client_address)


def main():
    parser = argparse.ArgumentParser(description="A model service on this machine, for tests.")
    parser.add_argument("script")
    parser.add_argument("--port-file", required=True)
    parser.add_argument("--log", required=True)
    options = parser.parse_args()
    server = Server(("127.0.0.1", 0), Handler)
    server.script = Script(options.script)
    server.log = options.log
    server.lock = threading.Lock()
    server.open = 0
    with open(options.port_file + ".new", "w", encoding="utf-8") as file:
        file.write(str(server.server_port))
    os.rename(options.port_file + ".new", options.port_file)
    server.serve_forever()


if __name__ == "__main__":
    main()
