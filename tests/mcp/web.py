"""web.py: the plugin tenon.mcp against servers over HTTP that drop connections, end sessions, or require credentials."""
import json
import os
import queue
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from harness import call, check, configure, received, run_tests, scripted_server, tenon, wait_for

os.environ["WEB_KEY"] = "s3cret-of-the-web"
INPUT = {"type": "object", "properties": {}, "additionalProperties": False}


class Web(BaseHTTPRequestHandler):
    """A server of the older era; `quirk` is a failure that happens once."""

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

    def occurs_once(self, quirk):
        """True at the first request with this quirk."""
        if self.server.quirk != quirk or self.server.occurred:
            return False
        self.server.occurred = True
        return True

    def do_GET(self):
        self.server.seen.append(("GET", self.headers.get("last-event-id")))
        self.server.streamed.set()
        if self.server.quirk == "silent":
            self.close_connection = self.server.ended.wait()
            return
        if self.server.quirk == "ends-streams":
            self.server.times.append(time.monotonic())
            if len(self.server.times) > 4:
                self.server.ended.set()
            return self.reply(200, b"id: e1\nretry: 0\ndata:\n\n", "text/event-stream")
        if self.server.quirk == "cut-stream" and self.headers.get("last-event-id"):
            answer = {"jsonrpc": "2.0", "id": self.server.pending, "result": {"content": [{"type": "text", "text": "resumed"}]}}
            self.reply(200, ("id: e2\ndata: %s\n\n" % json.dumps(answer)).encode(), "text/event-stream")
        else:
            self.reply(405)

    def do_DELETE(self):
        self.server.seen.append(("DELETE", self.headers.get("mcp-session-id")))
        if self.server.quirk == "slow-end":
            time.sleep(0.4)
        self.reply(200)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, session = message.get("method"), self.headers.get("mcp-session-id")
        self.server.seen.append((method, session))
        if self.server.quirk == "unauthorized" or (self.server.quirk == "key" and self.headers.get("authorization") != "Bearer s3cret-of-the-web"):
            return self.reply(401)
        target = {"moved": "/mcp/" if self.path == "/mcp" else None, "elsewhere": "http://127.0.0.2:1/mcp", "beside": "//127.0.0.2:1/mcp", "loops": "/mcp"}.get(self.server.quirk)
        if target:
            return self.reply(307, location=target)
        if self.server.quirk == "broken":
            return self.reply(500, b"<h1>no</h1>", "text/html")
        if "id" not in message:
            if self.server.quirk == "slow-start":  # requests do not wait for this response for long
                self.server.listed.wait(30)
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
            self.server.listed.set()
            return self.reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": {"tools": [{"name": "t", "inputSchema": INPUT}]}})
        if self.server.quirk == "ends-streams":
            self.server.ended.wait()
        if self.server.quirk == "slow-start" and not self.server.streamed.wait(30):
            return self.reply(500)
        if self.occurs_once("lost-session"):
            self.server.sessions += 1
            return self.reply(404)
        if self.occurs_once("cut-stream"):
            self.server.pending = message["id"]
            return self.reply(200, b"id: e1\nretry: 10\ndata:\n\n", "text/event-stream")
        if self.server.quirk == "cut-message":
            return self.reply(200, b'data: {"jsonrpc": "2.0", "id"', "text/event-stream")
        if self.server.quirk == "html":
            return self.reply(200, b"<h1>hello</h1>", "text/html")
        if self.server.quirk == "other-id":
            return self.reply(200, {"jsonrpc": "2.0", "id": 999, "result": {"content": []}})
        if self.server.quirk == "noise":
            valid = {"jsonrpc": "2.0", "id": message["id"], "result": {"content": [{"type": "text", "text": "after all"}]}}
            return self.reply(200, b": comment\n\nevent: other\ndata: 1\n\ndata: no json\n\ndata: " + json.dumps(valid).encode() + b"\n\n", "text/event-stream")
        return self.reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": {"content": [{"type": "text", "text": "fine"}]}})


def serve(quirk):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Web)
    server.quirk, server.seen, server.sessions, server.occurred, server.pending = quirk, [], 0, False, None
    server.daemon_threads, server.ended, server.times = True, threading.Event(), []
    server.listed, server.streamed = threading.Event(), threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.url = "http://127.0.0.1:%d/mcp" % server.server_port
    return server


def test_sessions_and_streams():
    quirks = ["none", "silent", "slow-start", "lost-session", "cut-stream", "cut-message", "html", "other-id", "noise", "unauthorized", "broken", "key", "moved", "elsewhere", "beside", "loops"]
    webs = {quirk: serve(quirk) for quirk in quirks}
    servers = {quirk: {"url": web.url} for quirk, web in webs.items()}
    servers["key"]["headers"] = {"authorization": ["Bearer ", {"secret": "WEB_KEY"}]}
    configure(servers, secrets={"WEB_KEY": {"env": "WEB_KEY"}})
    result = call("mcp.servers", *[quirk + ".t" for quirk in quirks])
    results = dict(zip(quirks, result.contents[1:]))
    about = {server["name"]: server for server in result.json(0)["servers"]}
    check(results["none"] == "fine" and results["key"] == "fine", "without a defect", results, result.err)
    order = [method for method, _ in webs["none"].seen]
    check(order.index("notifications/initialized") < order.index("GET") < order.index("tools/list"), "the GET stream is opened before other requests", order)
    check(results["silent"] == "fine", "a GET stream without a response", results, result.err)
    check(results["slow-start"] == "fine", "a late response to notifications/initialized: the GET stream is opened all the same", results, webs["slow-start"].seen)
    check(results["lost-session"] == "fine", "an ended session is replaced, and the call is sent again", results, result.err)
    check([m for m, _ in webs["lost-session"].seen].count("initialize") == 2, "a second session", webs["lost-session"].seen)
    check(results["cut-stream"] == "resumed" and ("GET", "e1") in webs["cut-stream"].seen, "a stream that was cut is resumed", results, webs["cut-stream"].seen)
    check(results["cut-message"].startswith("CONNECTION_LOST: "), "a stream that ends inside a message", results)
    check(results["html"].startswith("SERVER_ERROR: ") and results["other-id"].startswith("SERVER_ERROR: "), "no valid answer", results)
    check(results["noise"] == "after all" and "not JSON" in result.err, "the valid message is used", results)
    check("401" in about["unauthorized"]["why"] and "headers" in about["unauthorized"]["why"], "missing credentials", about)
    check("500" in about["broken"]["why"], "HTTP status 500", about)
    check(results["moved"] == "fine", "a redirect at the same origin, such as Starlette's to a path with a slash", results, about["moved"])
    for quirk, target in (("elsewhere", "http://127.0.0.2:1/mcp"), ("beside", "//127.0.0.2:1/mcp"), ("loops", "/mcp")):
        check("307: a redirect to `%s`, which is not followed; set `url`" % target in about[quirk]["why"], "a redirect: " + quirk, about[quirk])
    check(len(webs["loops"].seen) == 7, "five redirects in a row", webs["loops"].seen)
    check(about["unauthorized"]["state"] == "failed" and about["broken"]["state"] == "failed", "states", about)
    check("s3cret" not in result.err + result.out, "a secret in the log", result.err)
    for quirk in ("none", "key", "cut-stream"):
        # The program waits only a second for the response.
        wait_for(lambda: webs[quirk].seen[-1] == ("DELETE", "s1"), "the session is ended: " + quirk, webs[quirk].seen)
    for web in webs.values():
        web.ended.set()
        check(web.seen[0][0] == "server/discover", "the newer era is tried first", web.seen)


class Sse(BaseHTTPRequestHandler):
    """A server that has only the transport of 2024-11-05. `kind` is what it names as the endpoint, or a defect."""

    protocol_version = "HTTP/1.1"
    ENDPOINTS = {"path": "/messages?session=1", "relative": "messages?session=1", "query": "?session=1", "absolute": "%s/messages?session=1",
                 "other": "http://127.0.0.2:1/messages", "scheme": "file:///etc/passwd", "empty": ""}

    log_message = Web.log_message

    def reply(self, status, kind="text/plain", body=b""):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        server = self.server
        server.seen.append("GET " + self.path)
        if server.kind in ("nothing", "html"):
            return self.reply(404 if server.kind == "nothing" else 200, "text/html", b"<h1>no</h1>")
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        endpoint = self.ENDPOINTS.get(server.kind, "/messages?session=1")
        self.event("endpoint", endpoint.replace("%s", "http://127.0.0.1:%d" % server.server_port))
        while True:
            message = server.queue.get()
            if message is None:
                break
            self.event("message", json.dumps(message))
        self.close_connection = True

    def event(self, kind, data):
        self.wfile.write(("event: %s\ndata: %s\n\n" % (kind, data)).encode())
        self.wfile.flush()

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append("POST %s %s" % (self.path, message.get("method")))
        if "session=1" not in self.path:
            return self.reply(405)
        if self.server.kind == "refuses" and message.get("method") == "tools/call":
            return self.reply(500)
        self.reply(202, body=b"Accepted")
        if "id" not in message:
            return
        if self.server.kind == "cut" and message["method"] == "tools/call" and not self.server.cut:
            self.server.cut = True
            return self.server.queue.put(None)
        result = {"initialize": {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": {"name": "sse", "version": "1"}},
                  "tools/list": {"tools": [{"name": "t", "inputSchema": INPUT}]}, "tools/call": {"content": [{"type": "text", "text": "streamed"}]}}
        self.server.queue.put({"jsonrpc": "2.0", "id": message["id"], "result": result[message["method"]]})


def serve_sse(kind):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Sse)
    server.kind, server.seen, server.queue, server.cut = kind, [], queue.Queue(), False
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def test_the_transport_of_2024_11_05():
    good = ["path", "relative", "query", "absolute", "chosen", "cut", "refuses"]
    bad = ["other", "scheme", "empty", "nothing", "html"]
    webs = {kind: serve_sse(kind) for kind in good + bad}
    servers = {kind: {"url": "http://127.0.0.1:%d/a/sse" % web.server_port, "connect_timeout_ms": 20000} for kind, web in webs.items()}
    servers["chosen"]["transport"] = "sse"
    configure(servers)
    result = call("mcp.servers", *[kind + ".t" for kind in good])
    about = {server["name"]: server for server in result.json(0)["servers"]}
    results = dict(zip(good, result.contents[1:]))
    for kind in good[:5]:
        check(results[kind] == "streamed" and about[kind]["protocol"] == "2024-11-05", "the endpoint: " + kind, results, about[kind], webs[kind].seen, result.err)
    posts = {kind: [line.split()[1] for line in webs[kind].seen if line.startswith("POST") and "session" in line][0] for kind in good[:4]}
    check(posts == {"path": "/messages?session=1", "relative": "/a/messages?session=1", "query": "/a/sse?session=1", "absolute": "/messages?session=1"}, "the URLs", posts)
    check(webs["chosen"].seen[0] == "GET /a/sse" and webs["path"].seen[:2] == ["POST /a/sse server/discover", "POST /a/sse initialize"], "it is detected unless it is configured", webs["path"].seen)
    check(results["cut"].startswith("SERVER_LOST: ") and "stream of events has ended" in results["cut"], "a stream that ends", results)
    check("HTTP status 500" in results["refuses"], "a message that is refused", results)
    for kind in bad:
        check(about[kind]["state"] == "failed" and "405" in about[kind]["why"] and "2024-11-05" in about[kind]["why"], "no endpoint: " + kind, about[kind])
    check("same origin" in about["other"]["why"] and not any("POST" in line and "messages" in line for line in webs["other"].seen), "another origin gets nothing", about["other"])


def test_late_answers():
    """While the host waits for the end of a session over HTTP, another server answers with a changed list: no line says so."""
    configure({"web": {"url": serve("slow-end").url}, "s": scripted_server("legacy", "late-lists")}, log="warn")
    for result in (call("s.adds_tool_later", "web.t"), tenon("tool", "list"), tenon("tool", "call", "s.adds_tool_later", "--yes")):
        check(result.code == 0 and not result.err, "no line", result.out, result.err)
    lists = [m for m in received() if m.get("method") == "tools/list" and "cursor" not in m.get("params", {})]
    check(len(lists) == 5, "the changed list was requested", len(lists))


def test_reconnects_are_delayed():
    web = serve("ends-streams")
    configure({"s": {"url": web.url}})
    result = call("s.t")
    gaps = [after - before for before, after in zip(web.times, web.times[1:])]
    check(result.contents == ["fine"] and len(gaps) >= 4, "the call succeeds", result.contents, result.err, gaps)
    check(min(gaps) >= 0.1, "reconnects are delayed in spite of `retry: 0`", gaps)


if __name__ == "__main__":
    run_tests(globals())
