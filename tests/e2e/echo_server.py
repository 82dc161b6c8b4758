#!/usr/bin/env python3
"""A service that repeats the credential of each request in its answer, as it is and encoded: echo_server.py --port-file PORT"""
import base64
import http.server
import json
import os
import sys
import urllib.parse


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def do_GET(self):
        key = self.headers["authorization"].split(" ", 1)[1]
        encoded = [base64.b64encode((before + key + ":x").encode()).decode() for before in ("", "u", "us", "use")]
        web = [base64.urlsafe_b64encode((before + key).encode()).decode() for before in ("", "u", "us")]
        answer = {"headers": dict(self.headers), "plain": "<" + key + ">", "percent": urllib.parse.quote(key, safe=""),
                  "lower": urllib.parse.quote(key, safe="").lower(), "encoded": encoded, "web": web, key: "as a key"}
        body = json.dumps(answer).replace("/", "\\/").encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
port_file = sys.argv[sys.argv.index("--port-file") + 1]
with open(port_file + ".new", "w") as file:
    file.write(str(server.server_address[1]))
os.rename(port_file + ".new", port_file)
server.serve_forever()
