"""guarded.py: an MCP server that wants to know who asks, and its authorization server, in one; `quirk` is what is wrong.

What it was asked is in `seen`: (method, path, what was said); what must be shown to nobody is in `secrets`.
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


def der(signature):
    """Two numbers of 32 bytes as the SEQUENCE that openssl reads."""
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

    # ---- Metadata, and the page ----

    def do_GET(self):
        server, split = self.server, urllib.parse.urlsplit(self.path)
        server.seen.append(("GET", split.path, dict(urllib.parse.parse_qsl(split.query))))
        if split.path == PRM + "/mcp" and server.quirk not in ("no metadata", "lost pointer"):
            self.document(server.resource())
        elif split.path == ASM and server.quirk not in ("no metadata", "no server"):
            self.document(server.metadata())
        elif split.path == "/authorize":
            self.authorize(dict(urllib.parse.parse_qsl(split.query)))
        else:
            self.reply(404)

    def document(self, document):
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
        said = {"code": server.secret("code"), "state": asked["state"], "iss": server.url}
        if server.quirk == "denied":
            said = {"error": "access_denied", "error_description": "<b>no</b>", "state": asked["state"], "iss": server.url}
        if server.quirk == "wrong state":
            said["state"] = "x" * len(asked["state"])
        if server.quirk == "wrong iss":
            said["iss"] = "https://evil.example"
        if server.quirk == "no iss":
            del said["iss"]
        self.reply(302, location=asked["redirect_uri"] + "?" + urllib.parse.urlencode(said))

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
        made = {} if self.server.quirk == "no id" else {"client_id": "id", "client_secret": self.server.secret("client"), **asked}
        return self.reply(201, {**made, "token_endpoint_auth_method": "client_secret_basic"})

    def knows(self, form):
        """Whether the client has proven who it is, in the way that the server takes."""
        if self.server.public_key:
            return self.signed(form.get("client_assertion", ""), form.get("client_assertion_type"))
        given, secret = self.headers.get("authorization", ""), self.server.client_secret or self.server.last.get("client")
        if self.server.methods == ["client_secret_post"]:
            return form.get("client_secret") == secret and not given
        return given == "Basic " + base64.b64encode(("id:" + urllib.parse.quote(secret or "", safe="")).encode()).decode()

    def signed(self, assertion, kind):
        """RFC 7523, 3: for this issuer, not for long, by the client's key (ES256 or RS256)."""
        head, body, signature = (base64.urlsafe_b64decode(part + "==") for part in assertion.split("."))
        claims, algorithm = json.loads(body), json.loads(head)["alg"]
        if algorithm == "ES256":
            signature = der(signature)
        with tempfile.NamedTemporaryFile() as file:
            file.write(signature)
            file.flush()
            verified = subprocess.run(["openssl", "dgst", "-sha256", "-verify", self.server.public_key, "-signature", file.name],
                                      input=assertion.rpartition(".")[0].encode(), capture_output=True)
        right = claims["iss"] == claims["sub"] == "id" and claims["aud"] == self.server.url and 0 < claims["exp"] - time.time() <= 300
        return verified.returncode == 0 and right and claims["jti"] and kind.endswith(":client-assertion-type:jwt-bearer")

    def proves(self, url, token=None):
        """RFC 9449, 4.3, but for the signature, which the conformance suite looks at; with the nonce that we want."""
        try:
            head, claims = (json.loads(base64.urlsafe_b64decode(part + "==")) for part in self.headers["dpop"].split(".")[:2])
        except (AttributeError, ValueError):
            return False
        right = head["typ"] == "dpop+jwt" and head["alg"] == "ES256" and set(head["jwk"]) == {"kty", "crv", "x", "y"}
        right = right and claims["htm"] == self.command and claims["htu"] == url and claims["jti"] not in self.server.jtis
        self.server.jtis.add(claims["jti"])
        self.server.jwks.add(json.dumps(head["jwk"], sort_keys=True))
        ath = base64.urlsafe_b64encode(hashlib.sha256(token.encode()).digest()).decode().rstrip("=") if token else None
        return right and len(self.server.jwks) == 1 and claims.get("ath") == ath and claims.get("nonce") == "n-1"

    def token(self, form):
        if self.server.quirk == "dpop" and not self.proves(self.server.url + "/token"):
            return self.reply(400, {"error": "use_dpop_nonce"}, dpop_nonce="n-1")
        server, grant = self.server, form.get("grant_type")
        if not self.knows(form):
            return self.reply(401, {"error": "invalid_client", "error_description": "found " + json.dumps(form) + str(self.headers)})
        if grant == "authorization_code":
            proof = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest()).decode().rstrip("=")
            if form.get("code") != server.last.get("code") or proof != server.challenge or server.quirk == "no exchange":
                return self.reply(400, {"error": "invalid_grant", "error_description": "not " + form.get("code", "")})
        if grant.endswith(":token-exchange"):
            right = form.get("subject_token") == "who.it.is" and form.get("audience", "").startswith("http://127.0.0.1:") and form.get("resource")
            made = {"access_token": "somebody.else.signed", "token_type": "N_A", "issued_token_type": form.get("requested_token_type")}
            return self.reply(200, made) if right else self.reply(400, {"error": "invalid_grant"})
        if grant.endswith(":jwt-bearer") and form.get("assertion") != "somebody.else.signed":
            return self.reply(400, {"error": "invalid_grant"})
        if grant == "refresh_token" and (form.get("refresh_token") != server.last.get("refresh") or server.quirk == "ended"):
            return self.reply(400, {"error": "invalid_grant", "error_description": form.get("refresh_token", "")})
        scope = form.get("scope") or server.asked
        made = {"access_token": server.secret("token"), "token_type": "Bearer", "expires_in": server.expires_in}
        if grant in ("authorization_code", "refresh_token"):
            made["refresh_token"] = server.secret("refresh")
        if scope:
            made["scope"] = scope
        if server.quirk == "no token":
            made = {"token_type": "Bearer"}
        if server.quirk == "split token":
            made["access_token"] += "\r\nx-evil: 1"
        if server.quirk == "dpop":
            made["token_type"] = "DPoP"
        if server.quirk == "other type":
            made["token_type"] = "mac"
        server.granted, server.uses = scope, 0
        return self.reply(200, made)

    # ---- The server behind it ----

    def refuse(self, status, **parameters):
        wanted = ", ".join('%s="%s"' % item for item in parameters.items())
        self.reply(status, {"error": "x"}, www_authenticate="Bearer " + wanted if wanted else "Bearer")

    def says_back(self, message):
        """The token, wherever there is room for one."""
        shown = self.headers["authorization"]
        token, kind = shown.split()[-1], self.server.quirk
        error = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32000, "message": "you sent " + shown, "data": shown}}
        if kind == "says: status 500":
            return self.reply(500, {"error": shown})
        if kind == "says: error":
            return self.reply(200, error)
        if kind == "says: error in a stream":
            return self.reply(200, b"data: " + json.dumps(error).encode() + b"\n\n", content_type="text/event-stream")
        if kind == "says: result":
            return self.reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": {"content": [{"type": "text", "text": shown}], "isError": True}})
        if kind == "says: status 401":
            return self.reply(401, {"error": shown}, www_authenticate='Bearer error="invalid_token", error_description="%s", scope="%s"' % (shown, token))
        if kind == "says: status 302":
            return self.reply(302, location=self.server.url + "/" + token)
        return self.reply(403, {}, www_authenticate='Bearer error="insufficient_scope", scope="%s"' % token)

    def message(self, message):
        server, method = self.server, message["method"]
        server.seen.append(("POST", "/mcp", method))
        where = {} if server.quirk in ("no pointer", "no metadata") else {"resource_metadata": server.url + PRM + "/mcp"}
        good = self.headers.get("authorization") == "Bearer %s" % server.last.get("token")
        if server.quirk == "more nonces" and good:
            return self.reply(401, {}, www_authenticate='DPoP error="use_dpop_nonce"', dpop_nonce="n-%d" % len(server.seen))
        if server.quirk == "no scope" and good and method == "tools/call":
            return self.refuse(403, error="insufficient_scope", **where)
        if server.quirk in ("dpop", "no dpop"):
            if self.headers.get("authorization") != "DPoP %s" % server.last.get("token"):
                return self.reply(401, {}, www_authenticate='DPoP algs="ES256", resource_metadata="%s"' % where["resource_metadata"])
            if not self.proves(server.url + "/mcp", server.last["token"]):
                return self.reply(401, {}, www_authenticate='DPoP error="use_dpop_nonce"', dpop_nonce="n-1")
            good = True
        if server.quirk == "one use" and good:
            server.uses += 1
            good = server.uses <= 3
        if not good or server.quirk == "never":
            return self.refuse(401, scope="read", **where)
        tool = message.get("params", {}).get("name")
        if server.quirk.startswith("says: ") and method == "tools/call":
            return self.says_back(message)
        if tool == "w" and (server.quirk == "always more" or "write" not in server.granted.split()):
            return self.refuse(403, error="insufficient_scope", scope="write" if server.quirk != "always more" else "a b", **where)
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
        pass  # whoever asks may leave before the end

    def secret(self, kind):
        made = "%s-%d-s3cret" % (kind, len(self.secrets))
        self.secrets.append(made)
        self.last[kind] = made
        return made

    def resource(self):
        made = {"resource": self.url + "/mcp", "authorization_servers": [self.url], "scopes_supported": ["read"]}
        wrong = {"other resource": {"resource": "https://evil.example/mcp"}, "beside": {"resource": self.url + "/mc"},
                 "nobody": {"authorization_servers": []}, "far": {"authorization_servers": ["http://example.com"]},
                 "huge": {"padding": "x" * 300000}, "two": {"authorization_servers": [self.url + "/other", self.url]}}
        return {**made, **wrong.get(self.quirk, {})}

    def metadata(self):
        made = {"issuer": self.url, "authorization_endpoint": self.url + "/authorize", "token_endpoint": self.url + "/token",
                "registration_endpoint": self.url + "/register", "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"], "token_endpoint_auth_methods_supported": self.methods,
                "authorization_response_iss_parameter_supported": True}
        wrong = {"other issuer": {"issuer": "https://honest.example"}, "slash": {"issuer": self.url + "/"},
                 "no pkce": {"code_challenge_methods_supported": None}, "plain": {"code_challenge_methods_supported": ["plain"]},
                 "no token endpoint": {"token_endpoint": None}, "leak": {"token_endpoint": "http://example.com/token"},
                 "dpop": {"dpop_signing_alg_values_supported": ["RS256", "ES256"]}, "no dpop": {"dpop_signing_alg_values_supported": ["RS256"]},
                 "script": {"authorization_endpoint": "javascript:alert(1)"}, "no clients": {"registration_endpoint": None}}
        return {key: value for key, value in {**made, **wrong.get(self.quirk, {})}.items() if value is not None}
