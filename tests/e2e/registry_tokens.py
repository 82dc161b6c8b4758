#!/usr/bin/env python3
"""A token service for docker-registry (https://distribution.github.io/distribution/spec/auth/token), for tests.

    registry_tokens.py --port-file FILE --key KEY.pem --certificate CERTIFICATE.pem --log LOG

GET /token issues a signed token for the scope of the request. Anyone may pull; the user jane, with the password
open-sesame-42, may also push. Each request is written to the log as a line `USER SCOPE`; USER is `-` without a password.
"""
import argparse
import base64
import http.server
import json
import os
import subprocess
import time
import urllib.parse


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def sign(claims):
    with open(arguments.certificate) as file:
        der = "".join(line.strip() for line in file if "-----" not in line)
    parts = [{"alg": "RS256", "typ": "JWT", "x5c": [der]}, claims]
    text = ".".join(base64url(json.dumps(part).encode()) for part in parts)
    command = ["openssl", "dgst", "-sha256", "-sign", arguments.key]
    signature = subprocess.run(command, input=text.encode(), capture_output=True, check=True).stdout
    return text + "." + base64url(signature)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        scope = query["scope"][0]
        header = self.headers.get("authorization", "")
        user, _, password = base64.b64decode(header.removeprefix("Basic ")).decode().partition(":")
        with open(arguments.log, "a") as file:
            file.write("%s %s\n" % (user or "-", scope))
        if header and (user, password) != ("jane", "open-sesame-42"):
            self.answer(401, {"errors": [{"code": "UNAUTHORIZED", "message": "who?"}]})
            return
        kind, name, actions = scope.split(":")
        granted = [action for action in actions.split(",") if action == "pull" or user]
        now = int(time.time())
        claims = {"iss": "test", "sub": user, "aud": query["service"][0], "exp": now + 300, "nbf": now - 60, "iat": now}
        claims["access"] = [{"type": kind, "name": name, "actions": granted}]
        self.answer(200, {"token": sign(claims)})

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


parser = argparse.ArgumentParser()
for option in ("port-file", "key", "certificate", "log"):
    parser.add_argument("--" + option, required=True)
arguments = parser.parse_args()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(arguments.port_file + ".new", "w") as file:
    file.write(str(server.server_port))
os.rename(arguments.port_file + ".new", arguments.port_file)
server.serve_forever()
