"""web.py: the plugin tenon.mcp against servers over HTTP that break off, end sessions, and want to know who asks."""
import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from harness import call, check, configure, run_tests

os.environ["WEB_KEY"] = "s3cret-of-the-web"
INPUT = {"type": "object", "properties": {}, "additionalProperties": False}


class Web(BaseHTTPRequestHandler):
    """A server of the older era; `quirk` is what goes wrong, once each."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def reply(self, status, body=b"", kind="application/json", **headers):
        body = json.dumps(body).encode() if isinstance(body, dict) else body
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def once(self, quirk):
        if self.server.quirk != quirk or self.server.done:
            return False
        self.server.done = True
        return True

    def do_GET(self):
        self.server.seen.append(("GET", self.headers.get("last-event-id")))
        if self.server.quirk == "silent":
            self.close_connection = self.server.over.wait()
            return
        if self.server.quirk == "restless":
            self.server.times.append(time.monotonic())
            if len(self.server.times) > 4:
                self.server.over.set()
            return self.reply(200, b"id: e1\nretry: 0\ndata:\n\n", "text/event-stream")
        if self.server.quirk == "breaks" and self.headers.get("last-event-id"):
            answer = {"jsonrpc": "2.0", "id": self.server.pending, "result": {"content": [{"type": "text", "text": "resumed"}]}}
            self.reply(200, ("id: e2\ndata: %s\n\n" % json.dumps(answer)).encode(), "text/event-stream")
        else:
            self.reply(405)

    def do_DELETE(self):
        self.server.seen.append(("DELETE", self.headers.get("mcp-session-id")))
        self.reply(200)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, session = message.get("method"), self.headers.get("mcp-session-id")
        self.server.seen.append((method, session))
        if self.server.quirk == "locked" or (self.server.quirk == "key" and self.headers.get("authorization") != "Bearer s3cret-of-the-web"):
            return self.reply(401)
        if self.server.quirk == "broken":
            return self.reply(500, b"<h1>no</h1>", "text/html")
        if "id" not in message:
            return self.reply(202)
        if method == "initialize":
            self.server.sessions += 1
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "web", "version": "1"}}
            return self.reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": result}, mcp_session_id="s%d" % self.server.sessions)
        if session != "s%d" % self.server.sessions:
            return self.reply(400, {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "no session"}})
        if self.headers.get("mcp-protocol-version") != "2025-11-25":
            return self.reply(400)
        if method == "tools/list":
            return self.reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": {"tools": [{"name": "t", "inputSchema": INPUT}]}})
        if self.server.quirk == "restless":
            self.server.over.wait()
        if self.once("forgets"):
            self.server.sessions += 1
            return self.reply(404)
        if self.once("breaks"):
            self.server.pending = message["id"]
            return self.reply(200, b"id: e1\nretry: 10\ndata:\n\n", "text/event-stream")
        if self.server.quirk == "cut":
            return self.reply(200, b'data: {"jsonrpc": "2.0", "id"', "text/event-stream")
        if self.server.quirk == "html":
            return self.reply(200, b"<h1>hello</h1>", "text/html")
        if self.server.quirk == "another":
            return self.reply(200, {"jsonrpc": "2.0", "id": 999, "result": {"content": []}})
        if self.server.quirk == "nonsense":
            right = {"jsonrpc": "2.0", "id": message["id"], "result": {"content": [{"type": "text", "text": "after all"}]}}
            return self.reply(200, b": comment\n\nevent: other\ndata: 1\n\ndata: no json\n\ndata: " + json.dumps(right).encode() + b"\n\n", "text/event-stream")
        return self.reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": {"content": [{"type": "text", "text": "fine"}]}})


def serve(quirk):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Web)
    server.quirk, server.seen, server.sessions, server.done, server.pending = quirk, [], 0, False, None
    server.daemon_threads, server.over, server.times = True, threading.Event(), []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.url = "http://127.0.0.1:%d/mcp" % server.server_port
    return server


def test_sessions_and_streams():
    quirks = ["none", "silent", "forgets", "breaks", "cut", "html", "another", "nonsense", "locked", "broken", "key"]
    webs = {quirk: serve(quirk) for quirk in quirks}
    servers = {quirk: {"url": web.url} for quirk, web in webs.items()}
    servers["key"]["headers"] = {"authorization": ["Bearer ", {"secret": "WEB_KEY"}]}
    configure(servers, secrets={"WEB_KEY": {"env": "WEB_KEY"}})
    got = call("mcp.servers", *[quirk + ".t" for quirk in quirks])
    told = dict(zip(quirks, got.contents[1:]))
    about = {server["name"]: server for server in got.json(0)["servers"]}
    check(told["none"] == "fine" and told["key"] == "fine", "nothing wrong", told, got.err)
    order = [method for method, _ in webs["none"].seen]
    check(order.index("notifications/initialized") < order.index("GET") < order.index("tools/list"), "its own stream goes first", order)
    check(told["silent"] == "fine", "a stream that does not say that it has begun", told, got.err)
    check(told["forgets"] == "fine", "a session that has ended is begun anew, and the call sent again", told, got.err)
    check([m for m, _ in webs["forgets"].seen].count("initialize") == 2, "a second session", webs["forgets"].seen)
    check(told["breaks"] == "resumed" and ("GET", "e1") in webs["breaks"].seen, "a stream that broke off", told, webs["breaks"].seen)
    check(told["cut"].startswith("CONNECTION_LOST: "), "a stream that ends too soon", told)
    check(told["html"].startswith("SERVER_ERROR: ") and told["another"].startswith("SERVER_ERROR: "), "no answer", told)
    check(told["nonsense"] == "after all" and "not JSON" in got.err, "what is right counts", told)
    check("401" in about["locked"]["why"] and "headers" in about["locked"]["why"], "who asks?", about)
    check("500" in about["broken"]["why"], "a server that is broken", about)
    check(about["locked"]["state"] == "failed" and about["broken"]["state"] == "failed", "states", about)
    check("s3cret" not in got.err + got.out, "a secret in the log", got.err)
    for quirk in ("none", "key", "breaks"):
        check(webs[quirk].seen[-1] == ("DELETE", "s1"), "the session is ended: " + quirk, webs[quirk].seen)
    for web in webs.values():
        web.over.set()
        check(web.seen[0][0] == "server/discover", "the newer era is tried first", web.seen)


def test_a_stream_that_ends_again_and_again():
    web = serve("restless")
    configure({"restless": {"url": web.url}})
    got = call("restless.t")
    gaps = [after - before for before, after in zip(web.times, web.times[1:])]
    check(got.contents == ["fine"] and len(gaps) >= 4, "answered", got.contents, got.err, gaps)
    check(min(gaps) >= 0.1, "the server's `retry: 0` is no leave to ask without rest", gaps)


if __name__ == "__main__":
    run_tests(globals())
