#!/usr/bin/env python3
"""A service of models for this sample, with the protocol of OpenAI's Chat Completions: service.py [--port N] [--key TEXT]

It has no model: it calls a tool whose argument the question names, repeats what a tool answered, and otherwise repeats
the question. The name of the model selects what happens:
    small   an answer
    busy    429 with `retry-after`
    cut     the stream stops in the middle of the answer
    slow    the stream stays open after the first piece, until the client closes it
"""
import argparse
import http.server
import json
import os
import re
import sys


def pieces(text, size=3):
    return [text[i : i + size] for i in range(0, len(text), size)]


def choose_call(question, tools):
    """The first tool with an argument of which the question contains a permitted value."""
    for tool in tools:
        function = tool["function"]
        for name, schema in function.get("parameters", {}).get("properties", {}).items():
            for value in schema.get("enum", []):
                if value in question:
                    return function["name"], {name: value}
    return None


def structured(question, schema):
    """An object with the required members: the first number of the question, or the question."""
    number = int((re.findall(r"\d+", question) or ["0"])[0])
    members = schema["properties"].items()
    return {name: number if member.get("type") == "integer" else question for name, member in members}


def reply(request):
    """The deltas of the answer, and its finish reason."""
    last, tools = request["messages"][-1], request.get("tools", [])
    call = choose_call(last["content"], tools) if last["role"] == "user" else None
    if call:
        name, arguments = call
        deltas = [{"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": ""}}]}]
        for piece in pieces(json.dumps(arguments)):
            deltas.append({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
        return deltas, "tool_calls"
    if "response_format" in request:
        text = json.dumps(structured(last["content"], request["response_format"]["json_schema"]["schema"]))
    elif last["role"] == "tool":
        text = f"The answer is {last['content']}."
    else:
        text = f"You said: {last['content']}"
    return [{"content": piece} for piece in pieces(text)], "stop"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def refuse(self, status, kind, message, headers=()):
        body = json.dumps({"error": {"type": kind, "message": message}}).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def send_event(self, data):
        data = b"data: " + data.encode() + b"\n\n"
        self.wfile.write(b"%x\r\n" % len(data) + data + b"\r\n")
        self.wfile.flush()

    def stream(self, request):
        deltas, reason = reply(request)
        base = {"object": "chat.completion.chunk", "model": request["model"]}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for delta in deltas:
            self.send_event(json.dumps({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}))
            if request["model"] == "cut":
                self.close_connection = True
                return
            if request["model"] == "slow":
                self.connection.recv(1)  # until the client closes
                print("the client has closed the stream", flush=True)
                self.close_connection = True
                return
        self.send_event(json.dumps({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}))
        usage = {"prompt_tokens": len(json.dumps(request["messages"])) // 4, "completion_tokens": len(deltas)}
        usage["total_tokens"] = sum(usage.values())
        self.send_event(json.dumps({**base, "choices": [], "usage": usage}))
        self.send_event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
        given, model = self.headers.get("authorization", ""), request.get("model", "")
        if given != f"Bearer {self.server.key}":
            self.refuse(401, "invalid_key", f"the key {given[7:]} is not valid")
        elif model == "busy":
            self.refuse(429, "rate_limit", "two requests in a minute are permitted", [("retry-after", "1")])
        elif model not in ("small", "cut", "slow"):
            self.refuse(404, "model_not_found", f"the model `{model}` does not exist")
        else:
            self.stream(request)


def main():
    parser = argparse.ArgumentParser(description="A service of models for this sample.")
    parser.add_argument("--port", type=int, default=8089)
    parser.add_argument("--key", default="test-key")
    parser.add_argument("--port-file", help="write the port to this file when the service is ready")
    options = parser.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    server.key = options.key
    print(f"listening on http://127.0.0.1:{server.server_port}/v1", flush=True)
    if options.port_file:
        with open(options.port_file + ".new", "w", encoding="utf-8") as file:
            file.write(str(server.server_port))
        os.rename(options.port_file + ".new", options.port_file)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
