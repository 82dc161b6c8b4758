#!/usr/bin/env python3
"""A service that notes each request as a line `METHOD PATH KEY BODY` of a file; a missing key is `-`.

    keys_server.py --port-file FILE --log FILE
While the file `hang` exists in the current folder, no request is answered. While `fail` exists, the answer is 500.
"""
import argparse
import http.server
import os
import time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
        with open(arguments.log, "a") as file:
            file.write("%s %s %s %s\n" % (self.command, self.path, self.headers.get("idempotency-key", "-"), body))
        while os.path.exists("hang"):
            time.sleep(0.02)
        answer = b"{}"
        self.send_response(500 if os.path.exists("fail") else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST = do_PUT = do


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        pass  # the client was killed


parser = argparse.ArgumentParser()
parser.add_argument("--port-file", required=True)
parser.add_argument("--log", required=True)
arguments = parser.parse_args()
server = Server(("127.0.0.1", 0), Handler)
with open(arguments.port_file + ".new", "w") as file:
    file.write(str(server.server_port))
os.rename(arguments.port_file + ".new", arguments.port_file)
server.serve_forever()
