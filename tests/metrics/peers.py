"""peers.py FOLDER: one server that is a collector (POST /v1/traces, /v1/metrics), a provider (POST /v1/chat/completions) and an
MCP server (POST /mcp). It writes its port to FOLDER/port. live.py reads what they have received: GET /got is the list
of [path, headers, body], and POST /fail?N makes the collector answer the next N requests with 503.
"""
import http.server
import json
import os
import sys
import threading

folder = sys.argv[1]
SECRET = "sk-provider-4711"
got = []
lock = threading.Lock()
failures = [0]


def provide(body):
    """Calls the tool first, then answers."""
    if any(message["role"] == "tool" for message in body["messages"]):
        message, reason = {"role": "assistant", "content": "It is orchid-7319."}, "stop"
    else:
        call = {"id": "c1", "type": "function", "function": {"name": body["tools"][0]["function"]["name"], "arguments": json.dumps({"where": "attic-4409", "token": SECRET})}}
        message, reason = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}}


def stream(answer):
    choice = answer["choices"][0]
    delta = dict(choice["message"])
    if delta.get("tool_calls"):
        delta["tool_calls"] = [dict(call, index=i) for i, call in enumerate(delta["tool_calls"])]
    head = {key: answer[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    chunks = [dict(head, choices=[{"index": 0, "delta": delta, "finish_reason": None}]),
              dict(head, choices=[{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]),
              dict(head, choices=[], usage=answer["usage"])]
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"


def serve_mcp(body):
    results = {"initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "fake", "version": "1"}},
               "tools/list": {"tools": [{"name": "look", "description": "Looks.", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}]},
               "tools/call": {"content": [{"type": "text", "text": "lilac-8812, " + SECRET}]}}
    if "id" not in body:
        return None
    answer = {"jsonrpc": "2.0", "id": body["id"]}
    if body["method"] in results:
        return answer | {"result": results[body["method"]]}
    return answer | {"error": {"code": -32601, "message": "no such method"}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, text, kind="application/json"):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self):
        with lock:
            self.answer(200 if self.path == "/got" else 405, json.dumps(got))

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path.startswith("/fail?"):
            failures[0] = int(self.path.split("?")[1])
            return self.answer(200, "{}")
        body = json.loads(raw)
        with lock:
            fails = self.path in ("/v1/traces", "/v1/metrics") and failures[0] > 0
            failures[0] -= fails
            got.append([self.path if not fails else "failed", {name.lower(): value for name, value in self.headers.items()}, body])
        if fails:
            return self.answer(503, "{}")
        if self.path == "/v1/chat/completions":
            answer = provide(body)
            return self.answer(200, stream(answer), "text/event-stream") if body.get("stream") else self.answer(200, json.dumps(answer))
        if self.path == "/mcp":
            answer = serve_mcp(body)
            return self.answer(202, "") if answer is None else self.answer(200, json.dumps(answer))
        self.answer(200, "{}")

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(os.path.join(folder, "port.new"), "w") as file:
    file.write(str(server.server_address[1]))
os.rename(os.path.join(folder, "port.new"), os.path.join(folder, "port"))
server.serve_forever()
