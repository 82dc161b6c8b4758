"""guarded.py: an MCP server that requires authorization, combined with its authorization server.

`quirk` is the defect of the server. `seen` has the requests: (method, path, parameters). `secrets` has the texts that must
not appear in any output.
"""
import base64
import hashlib
import json
import subprocess
import tempfile
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

INPUT = {"type": "object", "properties": {}, "additionalProperties": False}
PRM, ASM = "/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server"


def der_signature(signature):
    """Encodes two numbers of 32 bytes as the SEQUENCE that openssl reads."""
    numbers = b""
    for half in (signature[:32], signature[32:]):
        digits = half.lstrip(b"\0") or b"\0"
        digits = (b"\0" if digits[0] & 128 else b"") + digits
        numbers += b"\2" + bytes([len(digits)]) + digits
    return b"\x30" + bytes([len(numbers)]) + numbers


class Guarded(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def reply(self, status, body=b"", **headers):
        body = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    # ---- Metadata and the authorization page ----

    def do_GET(self):
        server, split = self.server, urllib.parse.urlsplit(self.path)
        server.seen.append(("GET", split.path, dict(urllib.parse.parse_qsl(split.query))))
        if split.path == PRM + "/mcp" and server.quirk not in ("no metadata", "no metadata document"):
            self.send_document(server.resource())
        elif split.path == ASM and server.quirk not in ("no metadata", "no server"):
            self.send_document(server.metadata())
        elif split.path == "/authorize":
            self.authorize(dict(urllib.parse.parse_qsl(split.query)))
        else:
            self.reply(404)

    def send_document(self, document):
        if self.server.quirk == "loop":
            self.reply(302, location=self.path)
        elif self.server.quirk == "html":
            self.reply(200, b"<h1>hello</h1>", content_type="text/html")
        elif self.server.quirk == "broken":
            self.reply(503)
        else:
            self.reply(200, document)

    def authorize(self, asked):
        server = self.server
        server.challenge, server.asked = asked.get("code_challenge"), asked.get("scope", "")
        parameters = {"code": server.secret("code"), "state": asked["state"], "iss": server.url}
        if server.quirk == "denied":
            parameters = {"error": "access_denied", "error_description": "<b>no</b>", "state": asked["state"], "iss": server.url}
        if server.quirk == "wrong state":
            parameters["state"] = "x" * len(asked["state"])
        if server.quirk == "wrong iss":
            parameters["iss"] = "https://evil.example"
        if server.quirk == "no iss":
            del parameters["iss"]
        self.reply(302, location=asked["redirect_uri"] + "?" + urllib.parse.urlencode(parameters))

    # ---- Clients and tokens ----

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/mcp":
            return self.message(json.loads(body))
        if self.path == "/register":
            return self.register(json.loads(body))
        form = dict(urllib.parse.parse_qsl(body.decode()))
        self.server.seen.append(("POST", self.path, form))
        self.token(form)

    def register(self, asked):
        self.server.seen.append(("POST", "/register", asked))
        if self.server.quirk == "no registration":
            return self.reply(400, {"error": "invalid_redirect_uri", "error_description": "no"})
        response = {} if self.server.quirk == "no id" else {"client_id": "id", "client_secret": self.server.secret("client"), **asked}
        return self.reply(201, {**response, "token_endpoint_auth_method": "client_secret_basic"})

    def is_authenticated(self, form):
        """True if the client has authenticated with the method that the server accepts."""
        if self.server.public_key:
            return self.has_valid_assertion(form.get("client_assertion", ""), form.get("client_assertion_type"))
        given, secret = self.headers.get("authorization", ""), self.server.client_secret or self.server.last.get("client")
        if self.server.methods == ["client_secret_post"]:
            return form.get("client_secret") == secret and not given
        return given == "Basic " + base64.b64encode(("id:" + urllib.parse.quote(secret or "", safe="")).encode()).decode()

    def has_valid_assertion(self, assertion, kind):
        """RFC 7523, section 3: the assertion names this issuer, is short-lived and signed with the client's key (ES256, RS256)."""
        head, body, signature = (base64.urlsafe_b64decode(part + "==") for part in assertion.split("."))
        claims, algorithm = json.loads(body), json.loads(head)["alg"]
        if algorithm == "ES256":
            signature = der_signature(signature)
        with tempfile.NamedTemporaryFile() as file:
            file.write(signature)
            file.flush()
            verified = subprocess.run(["openssl", "dgst", "-sha256", "-verify", self.server.public_key, "-signature", file.name],
                                      input=assertion.rpartition(".")[0].encode(), capture_output=True)
        valid = claims["iss"] == claims["sub"] == "id" and claims["aud"] == self.server.url and 0 < claims["exp"] - time.time() <= 300
        return verified.returncode == 0 and valid and claims["jti"] and kind.endswith(":client-assertion-type:jwt-bearer")

    def has_valid_proof(self, url, token=None):
        """RFC 9449, section 4.3, with the nonce of this server. The conformance suite verifies the signature."""
        try:
            head, claims = (json.loads(base64.urlsafe_b64decode(part + "==")) for part in self.headers["dpop"].split(".")[:2])
        except (AttributeError, ValueError):
            return False
        valid = head["typ"] == "dpop+jwt" and head["alg"] == "ES256" and set(head["jwk"]) == {"kty", "crv", "x", "y"}
        valid = valid and claims["htm"] == self.command and claims["htu"] == url and claims["jti"] not in self.server.jtis
        self.server.jtis.add(claims["jti"])
        self.server.jwks.add(json.dumps(head["jwk"], sort_keys=True))
        ath = base64.urlsafe_b64encode(hashlib.sha256(token.encode()).digest()).decode().rstrip("=") if token else None
        return valid and len(self.server.jwks) == 1 and claims.get("ath") == ath and claims.get("nonce") == "n-1"

    def token(self, form):
        if self.server.quirk == "dpop" and not self.has_valid_proof(self.server.url + "/token"):
            return self.reply(400, {"error": "use_dpop_nonce"}, dpop_nonce="n-1")
        server, grant = self.server, form.get("grant_type")
        if not self.is_authenticated(form):
            return self.reply(401, {"error": "invalid_client", "error_description": "found " + json.dumps(form) + str(self.headers)})
        if grant == "authorization_code":
            proof = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest()).decode().rstrip("=")
            if form.get("code") != server.last.get("code") or proof != server.challenge or server.quirk == "no exchange":
                return self.reply(400, {"error": "invalid_grant", "error_description": "not " + form.get("code", "")})
        if grant.endswith(":token-exchange"):
            valid = form.get("subject_token") == "id.token.value" and form.get("audience", "").startswith("http://127.0.0.1:") and form.get("resource")
            response = {"access_token": "signed.by.provider", "token_type": "N_A", "issued_token_type": form.get("requested_token_type")}
            return self.reply(200, response) if valid else self.reply(400, {"error": "invalid_grant"})
        if grant.endswith(":jwt-bearer") and form.get("assertion") != "signed.by.provider":
            return self.reply(400, {"error": "invalid_grant"})
        if grant == "refresh_token" and (form.get("refresh_token") != server.last.get("refresh") or server.quirk == "refresh token expired"):
            return self.reply(400, {"error": "invalid_grant", "error_description": form.get("refresh_token", "")})
        scope = form.get("scope") or server.asked
        response = {"access_token": server.secret("token"), "token_type": "Bearer", "expires_in": server.expires_in}
        if grant in ("authorization_code", "refresh_token"):
            response["refresh_token"] = server.secret("refresh")
        if scope:
            response["scope"] = scope
        if server.quirk == "no token":
            response = {"token_type": "Bearer"}
        if server.quirk == "split token":
            response["access_token"] += "\r\nx-evil: 1"
        if server.quirk == "dpop":
            response["token_type"] = "DPoP"
        if server.quirk == "other type":
            response["token_type"] = "mac"
        server.granted, server.uses = scope, 0
        return self.reply(200, response)

    # ---- The MCP server ----

    def refuse(self, status, **parameters):
        wanted = ", ".join('%s="%s"' % item for item in parameters.items())
        self.reply(status, {"error": "x"}, www_authenticate="Bearer " + wanted if wanted else "Bearer")

    def send_token_back(self, message):
        """Sends the token back in the place that the quirk names."""
        header = self.headers["authorization"]
        token, kind = header.split()[-1], self.server.quirk
        error = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32000, "message": "you sent " + header, "data": header}}
        if kind == "leak: status 500":
            return self.reply(500, {"error": header})
        if kind == "leak: error":
            return self.reply(200, error)
        if kind == "leak: error in a stream":
            return self.reply(200, b"data: " + json.dumps(error).encode() + b"\n\n", content_type="text/event-stream")
        if kind == "leak: result":
            return self.reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": {"content": [{"type": "text", "text": header}], "isError": True}})
        if kind == "leak: status 401":
            return self.reply(401, {"error": header}, www_authenticate='Bearer error="invalid_token", error_description="%s", scope="%s"' % (header, token))
        if kind == "leak: status 302":
            return self.reply(302, location=self.server.url + "/" + token)
        return self.reply(403, {}, www_authenticate='Bearer error="insufficient_scope", scope="%s"' % token)

    def message(self, message):
        server, method = self.server, message["method"]
        server.seen.append(("POST", "/mcp", method))
        pointer = {} if server.quirk in ("no metadata url", "no metadata") else {"resource_metadata": server.url + PRM + "/mcp"}
        accepted = self.headers.get("authorization") == "Bearer %s" % server.last.get("token")
        if server.quirk == "endless nonces" and accepted:
            return self.reply(401, {}, www_authenticate='DPoP error="use_dpop_nonce"', dpop_nonce="n-%d" % len(server.seen))
        if server.quirk == "no scope" and accepted and method == "tools/call":
            return self.refuse(403, error="insufficient_scope", **pointer)
        if server.quirk in ("dpop", "no dpop"):
            if self.headers.get("authorization") != "DPoP %s" % server.last.get("token"):
                return self.reply(401, {}, www_authenticate='DPoP algs="ES256", resource_metadata="%s"' % pointer["resource_metadata"])
            if not self.has_valid_proof(server.url + "/mcp", server.last["token"]):
                return self.reply(401, {}, www_authenticate='DPoP error="use_dpop_nonce"', dpop_nonce="n-1")
            accepted = True
        if server.quirk == "one use" and accepted:
            server.uses += 1
            accepted = server.uses <= 3
        if not accepted or server.quirk == "rejects tokens":
            return self.refuse(401, scope="read", **pointer)
        tool = message.get("params", {}).get("name")
        if server.quirk.startswith("leak: ") and method == "tools/call":
            return self.send_token_back(message)
        if tool == "w" and (server.quirk == "scope never enough" or "write" not in server.granted.split()):
            return self.refuse(403, error="insufficient_scope", scope="write" if server.quirk != "scope never enough" else "a b", **pointer)
        if "id" not in message:
            return self.reply(202)
        result = {"content": [{"type": "text", "text": "fine"}]}
        if method == "initialize":
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "guarded", "version": "1"}}
        elif method == "tools/list":
            result = {"tools": [{"name": name, "inputSchema": INPUT} for name in ("t", "w")]}
        elif method != "tools/call":
            return self.reply(400, {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no method"}})
        return self.reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, quirk="", methods=("client_secret_basic",), client_secret=None, expires_in=3600, public_key=None):
        super().__init__(("127.0.0.1", 0), Guarded)
        self.quirk, self.methods, self.client_secret, self.expires_in = quirk, list(methods), client_secret, expires_in
        self.public_key = public_key
        self.jtis, self.jwks = set(), set()
        self.seen, self.secrets, self.last, self.granted, self.asked, self.uses = [], [], {}, "", "", 0
        self.url = "http://127.0.0.1:%d" % self.server_port
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *arguments):
        pass  # the client may disconnect early

    def secret(self, kind):
        secret = "%s-%d-s3cret" % (kind, len(self.secrets))
        self.secrets.append(secret)
        self.last[kind] = secret
        return secret

    def resource(self):
        response = {"resource": self.url + "/mcp", "authorization_servers": [self.url], "scopes_supported": ["read"]}
        defects = {"other resource": {"resource": "https://evil.example/mcp"}, "path prefix": {"resource": self.url + "/mc"},
                 "empty list": {"authorization_servers": []}, "http issuer": {"authorization_servers": ["http://example.com"]},
                 "huge": {"padding": "x" * 300000}, "two issuers": {"authorization_servers": [self.url + "/other", self.url]}}
        return {**response, **defects.get(self.quirk, {})}

    def metadata(self):
        response = {"issuer": self.url, "authorization_endpoint": self.url + "/authorize", "token_endpoint": self.url + "/token",
                "registration_endpoint": self.url + "/register", "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"], "token_endpoint_auth_methods_supported": self.methods,
                "authorization_response_iss_parameter_supported": True}
        defects = {"other issuer": {"issuer": "https://honest.example"}, "slash": {"issuer": self.url + "/"},
                 "no pkce": {"code_challenge_methods_supported": None}, "plain pkce": {"code_challenge_methods_supported": ["plain"]},
                 "no token endpoint": {"token_endpoint": None}, "http token endpoint": {"token_endpoint": "http://example.com/token"},
                 "dpop": {"dpop_signing_alg_values_supported": ["RS256", "ES256"]}, "no dpop": {"dpop_signing_alg_values_supported": ["RS256"]},
                 "script url": {"authorization_endpoint": "javascript:alert(1)"}, "no registration endpoint": {"registration_endpoint": None}}
        return {key: value for key, value in {**response, **defects.get(self.quirk, {})}.items() if value is not None}
