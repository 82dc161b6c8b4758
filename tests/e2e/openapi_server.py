#!/usr/bin/env python3
"""A REST service that echoes the request: {method, path, query, headers, body}, as received.

    openapi_server.py --port-file FILE
/token returns OAuth tokens t1, t2, …; /once/… rejects t1; /status/N responds with the status N; /text, /bytes and
/none respond with text, bytes or no body. /form responds with the parts of a multipart body, and /file with what was
received of a body: {name, filename, type, encoding, size, sha256, text?}. /to/STATUS/TARGET redirects to TARGET.
/pages/KIND responds with one of five pages, at=0 to 4, of two numbers each.
"""
import email.parser
import email.policy
import hashlib
import http.server
import json
import os
import sys
import urllib.parse

tokens = 0


def describe(part, data):
    shown = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    if len(data) < 200:
        shown["text"] = data.decode("utf-8", "replace")
    if part is None:
        return shown
    return {
        "name": part.get_param("name", header="content-disposition"),
        "filename": part.get_param("filename", header="content-disposition"),
        "type": part.get("content-type"),
        "encoding": part.get("content-transfer-encoding"),
        **shown,
    }


def read_parts(content_type, body):
    """The parts of a form, by the parser of the standard library."""
    head = f"Content-Type: {content_type}\r\nMIME-Version: 1.0\r\n\r\n".encode()
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    return [describe(part, part.get_payload(decode=True)) for part in message.iter_parts()]


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

    def page(self, kind, query):
        at = int(query.get("at", "0"))
        items = [2 * at, 2 * at + 1]
        here = f"http://{self.headers['host']}/pages/{kind}"
        after = f"{here}?at={at + 1}" if at < 4 else None
        headers, body = {}, {"items": items, "key": query.get("k"), "size": query.get("size")}
        if kind == "header":
            body = items
            if after:
                headers["link"] = f'<{here}>; rel="first", <?at={at + 1}>; title="a, b"; rel="prev next"'
        elif kind == "elsewhere":
            headers["link"] = f"<http://elsewhere.example/?at={at + 1}>; rel=next"
        elif kind == "same":
            headers["link"] = f"<{self.path}>; rel=next"
        elif kind == "cursor":
            body["meta"] = {"next": str(at + 1) if at < 4 else None}
        elif kind == "url":
            body = {"value": items, "other": [], "key": query.get("k"), "nextLink": after}
        elif kind == "broken" and at == 2:
            return self.respond(503, "text/plain", b"not now")
        elif kind == "broken":
            body = {"more": after, "key": query.get("k")}
        self.respond(200, "application/json", json.dumps(body).encode(), **headers)

    def do(self):
        global tokens
        path, _, query = self.path.partition("?")
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        body = raw.decode("utf-8", "surrogateescape")
        if path == "/token":
            tokens += 1
            wrong = "client_secret=wrong" in body
            answer = {"error": "invalid_client"} if wrong else {"access_token": f"t{tokens}", "expires_in": 3600}
            return self.respond(401 if wrong else 200, "application/json", json.dumps(answer).encode())
        if path == "/form":
            parts = read_parts(self.headers.get("content-type"), raw)
            return self.respond(200, "application/json", json.dumps(parts).encode())
        if path == "/file":
            shown = {"type": self.headers.get("content-type"), **describe(None, raw)}
            return self.respond(200, "application/json", json.dumps(shown).encode())
        if path.startswith("/pages/"):
            return self.page(path.split("/")[2], dict(urllib.parse.parse_qsl(query)))
        if path.startswith("/circle/"):
            return self.respond(302, "text/plain", b"again", location=self.path)
        if path.startswith("/to/"):
            status, target = self.path.split("/", 3)[2:]
            target = urllib.parse.unquote(target)
            return self.respond(int(status), "text/plain", b"elsewhere", location=target)
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
