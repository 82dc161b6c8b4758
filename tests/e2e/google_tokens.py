#!/usr/bin/env python3
"""Google's token endpoint and metadata server on this machine, for tests of application-default credentials.

    google_tokens.py --port-file port --log tokens.jsonl [--key public.pem] [--fail N]

POST /token accepts a refresh token ("1//refresh" of the client "me") or the assertion of a service account. The openssl
program verifies the signature with the public key, and the claims are checked. GET /computeMetadata/… requires the header
Metadata-Flavor. Tokens are "token-1", "token-2", …; the first --fail requests are refused with 503. Each request is
written to the log as a line of JSON, with its result.
"""
import argparse
import base64
import http.server
import json
import os
import subprocess
import tempfile
import time
import urllib.parse

SCOPE = "https://www.googleapis.com/auth/cloud-platform"


def unbase64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def signature_is_valid(text, signature, key):
    with tempfile.TemporaryDirectory() as folder:
        for name, data in (("text", text.encode()), ("signature", signature)):
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data)
        command = ["openssl", "dgst", "-sha256", "-verify", key, "-signature", os.path.join(folder, "signature")]
        return subprocess.run([*command, os.path.join(folder, "text")], capture_output=True, check=False).returncode == 0


def assertion_fault(token, key, audience):
    """Returns what is wrong with the assertion of a service account, or None."""
    parts = token.split(".")
    if len(parts) != 3 or any("=" in part or "+" in part or "/" in part for part in parts):
        return "not three parts of base64url"
    header, claims = json.loads(unbase64(parts[0])), json.loads(unbase64(parts[1]))
    if (header.get("alg"), header.get("typ"), header.get("kid")) != ("RS256", "JWT", "key-1"):
        return f"header {header}"
    if not signature_is_valid(".".join(parts[:2]), unbase64(parts[2]), key):
        return "signature"
    if claims.get("iss") != "robot@project.example" or claims.get("scope") != SCOPE or claims.get("aud") != audience:
        return f"claims {claims}"
    if abs(claims["iat"] - time.time()) > 300 or claims["exp"] - claims["iat"] != 3600:
        return "times"
    return None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, value, fault=None):
        with open(self.server.log, "a", encoding="utf-8") as log:
            log.write(json.dumps({"path": self.path, "status": status, "fault": fault}) + "\n")
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def respond(self, fault):
        if self.server.fail > 0:
            self.server.fail -= 1
            self.answer(503, {"error": "backend"}, "--fail")
        elif fault:
            self.answer(400, {"error": "invalid_grant", "error_description": fault}, fault)
        else:
            self.server.issued += 1
            token = {"access_token": f"token-{self.server.issued}", "expires_in": 3599, "token_type": "Bearer"}
            self.answer(200, token)

    def do_GET(self):
        right = self.path == "/computeMetadata/v1/instance/service-accounts/default/token"
        self.respond(None if right and self.headers.get("metadata-flavor") == "Google" else "wrong path or header")

    def do_POST(self):
        text = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
        form = {name: values[0] for name, values in urllib.parse.parse_qs(text, strict_parsing=True).items()}
        if self.headers.get("content-type") != "application/x-www-form-urlencoded":
            self.respond("content-type")
        elif form.get("grant_type") == "refresh_token":
            expected = {"client_id": "me", "client_secret": "s&cret/", "refresh_token": "1//refresh"}
            self.respond(None if {**form, **expected} == form else "not these credentials")
        elif form.get("grant_type") == "urn:ietf:params:oauth:grant-type:jwt-bearer":
            audience = f"http://127.0.0.1:{self.server.server_port}/token"
            self.respond(assertion_fault(form["assertion"], self.server.key, audience))
        else:
            self.respond("grant_type")


def main():
    parser = argparse.ArgumentParser(description="Google's tokens on this machine, for tests.")
    parser.add_argument("--port-file", required=True)
    parser.add_argument("--log", required=True)
    parser.add_argument("--key")
    parser.add_argument("--fail", type=int, default=0)
    options = parser.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.log, server.key, server.fail, server.issued = options.log, options.key, options.fail, 0
    with open(options.port_file + ".new", "w", encoding="utf-8") as file:
        file.write(str(server.server_port))
    os.rename(options.port_file + ".new", options.port_file)
    server.serve_forever()


if __name__ == "__main__":
    main()
