#!/usr/bin/env python3
"""A REST service that echoes the request: {method, path, query, headers, body}, as received.

    openapi_server.py --port-file FILE
/token returns OAuth tokens t1, t2, …; /once/… rejects t1; /status/N responds with the status N; /text, /bytes and
/none respond with text, bytes or no body.
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

    def respond(self, status, kind, body, **headers):
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
            return self.respond(401 if wrong else 200, "application/json", json.dumps(answer).encode())
        if path.startswith("/once") and self.headers.get("authorization") == "Bearer t1":
            return self.respond(401, "application/json", b'{"error": "expired"}')
        if path.startswith("/status/"):
            status = int(path.split("/")[2])
            elsewhere = {"location": "http://elsewhere.example/"} if 300 <= status <= 399 else {}
            body = {"reason": "so", "key": self.headers.get("x-key")}  # like debugging services, it echoes the key
            return self.respond(status, "application/json", json.dumps(body).encode(), retry_after="7", **elsewhere)
        if path == "/text":
            return self.respond(200, "text/plain; charset=utf-8", "grüße".encode(), link="<next>; rel=next")
        if path == "/bytes":
            return self.respond(200, "image/png", b"\x89PNG\xff")
        if path == "/none":
            return self.respond(204, None, b"")
        if path == "/huge":
            return self.respond(200, "application/json", b'"' + b"x" * 3000000 + b'"')
        shown = {k.lower(): v for k, v in self.headers.items() if k.lower() not in ("host", "user-agent", "content-length")}
        echo = {"method": self.command, "path": path, "query": query, "headers": shown, "body": body}
        self.respond(200, "application/json", json.dumps(echo).encode())

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # the client has disconnected


server = Server(("127.0.0.1", 0), Handler)
port_file = sys.argv[sys.argv.index("--port-file") + 1]
with open(port_file + ".new", "w") as file:
    file.write(str(server.server_address[1]))
os.rename(port_file + ".new", port_file)
server.serve_forever()
