"""mcp_server.py: a server of the Model Context Protocol for tests, over pipes, or over HTTP with --http PORT_FILE.

Its tools: `say` returns its argument and what the server knows of its process; `wipe` is destructive; `long` returns
many bytes; `edit` reports a change of a file; `ask` and `visit` ask a person, with a form and with a page; `hold` waits until the file
exists that HOLD_FILE names. The server writes its process id to the file that PID_FILE names.
"""
import http.server
import json
import os
import sys
import time

READ = {"readOnlyHint": True}
TOOLS = [
    {"name": "say", "description": "Says.", "annotations": READ, "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}},
    {"name": "wipe", "description": "Wipes.", "annotations": {"destructiveHint": True}, "inputSchema": {"type": "object"}},
    {"name": "long", "description": "Is long.", "annotations": READ, "inputSchema": {"type": "object"}},
    {"name": "edit", "description": "Edits.", "annotations": READ,
     "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}},
    {"name": "ask", "description": "Asks.", "annotations": READ, "inputSchema": {"type": "object"}},
    {"name": "hold", "description": "Holds.", "annotations": READ, "inputSchema": {"type": "object"}},
    {"name": "visit", "description": "Visits.", "annotations": READ, "inputSchema": {"type": "object"}},
]
FORM = {"mode": "form", "message": "Who?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}
PAGE = {"mode": "url", "message": "Look.", "url": "https://example.test/page", "elicitationId": "e1"}


def ask(params):
    """Asks the client, and waits for its answer."""
    print(json.dumps({"jsonrpc": "2.0", "id": "q1", "method": "elicitation/create", "params": params}), flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == "q1":
            return json.dumps(message.get("result", message.get("error")))


def call(name, arguments, headers):
    if name == "say":
        known = [arguments.get("text", ""), os.environ.get("GREETING", ""), os.getcwd(), " ".join(sys.argv[1:]), headers.get("x-key", "")]
        return "|".join(known)
    if name in ("ask", "visit"):
        return ask(FORM if name == "ask" else PAGE)
    if name == "hold":
        while not os.path.exists(os.environ["HOLD_FILE"]):
            time.sleep(0.01)
        return "released"
    if name == "long":
        return "x" * 300000
    if name == "edit":
        return json.dumps({"path": arguments["path"], "oldText": "a", "newText": "b"})
    return "wiped"


def answer(message, headers={}):
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "test", "version": "1"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": call(params["name"], params.get("arguments", {}), headers)}]}
    return None


def reply(message, headers={}):
    result = answer(message, headers)
    failure = {"code": -32601, "message": "unknown"}
    return {"jsonrpc": "2.0", "id": message["id"], **({"result": result} if result is not None else {"error": failure})}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = json.dumps(reply(message, self.headers)).encode() if "id" in message else b""
        self.send_response(200 if body else 202)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.send_response(405)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


if "--http" in sys.argv:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with open(sys.argv[2] + ".new", "w") as file:
        file.write(str(server.server_address[1]))
    os.rename(sys.argv[2] + ".new", sys.argv[2])
    server.serve_forever()
if os.environ.get("PID_FILE"):
    with open(os.environ["PID_FILE"], "w") as file:
        file.write(str(os.getpid()))
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps(reply(message)), flush=True)
