#!/usr/bin/env python3
"""A REST service that says back what it was asked: {method, path, query, headers, body}, as they came over the wire.

    openapi_server.py PORT_FILE
/token gives OAuth tokens t1, t2, …; /once/… takes t1 no longer; /status/N answers N; /text, /bytes, /none answer so.
"""
import http.server
import json
import os
import sys

tokens = 0


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def give(self, status, kind, body, **headers):
        self.send_response(status)
        if kind:
            self.send_header("content-type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do(self):
        global tokens
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode("utf-8", "surrogateescape")
        if path == "/token":
            tokens += 1
            wrong = "client_secret=wrong" in body
            answer = {"error": "invalid_client"} if wrong else {"access_token": f"t{tokens}", "expires_in": 3600}
            return self.give(401 if wrong else 200, "application/json", json.dumps(answer).encode())
        if path.startswith("/once") and self.headers.get("authorization") == "Bearer t1":
            return self.give(401, "application/json", b'{"error": "expired"}')
        if path.startswith("/status/"):
            status = int(path.split("/")[2])
            elsewhere = {"location": "http://elsewhere.example/"} if 300 <= status <= 399 else {}
            told = {"reason": "so", "key": self.headers.get("x-key")}  # as services do that debug
            return self.give(status, "application/json", json.dumps(told).encode(), retry_after="7", **elsewhere)
        if path == "/text":
            return self.give(200, "text/plain; charset=utf-8", "grüße".encode(), link="<next>; rel=next")
        if path == "/bytes":
            return self.give(200, "image/png", b"\x89PNG\xff")
        if path == "/none":
            return self.give(204, None, b"")
        if path == "/huge":
            return self.give(200, "application/json", b'"' + b"x" * 3000000 + b'"')
        shown = {k.lower(): v for k, v in self.headers.items() if k.lower() not in ("host", "user-agent", "content-length")}
        told = {"method": self.command, "path": path, "query": query, "headers": shown, "body": body}
        self.give(200, "application/json", json.dumps(told).encode())

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # who asked has gone


server = Server(("127.0.0.1", 0), Handler)
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(server.server_address[1]))
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
