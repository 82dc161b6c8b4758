#!/usr/bin/env python3
"""OCI registries that are wrong or hostile, for tests/e2e/pack/hostile_registry.sh.

    registry_server.py --port-file FILE --pack PACK --log LOG

Serves PACK as the artifact NAME:1. NAME says what is wrong with the manifest or with a response. A
second port is another origin, to which requests are redirected. Each request is written to the log as a line `PORT METHOD
PATH CREDENTIALS`, in which PORT is `registry` or `other`, and CREDENTIALS is the Authorization header or `-`.
"""
import argparse
import hashlib
import http.server
import json
import os
import threading
import time
import urllib.parse

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
PACK = "application/vnd.tenon.pack.v1"


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def manifest_of(pack):
    return {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": PACK,
        "config": {"mediaType": "application/vnd.oci.empty.v1+json", "digest": digest(b"{}"), "size": 2},
        "layers": [{"mediaType": PACK + ".tar", "digest": digest(pack), "size": len(pack)}],
    }


def set_layer(**members):
    def change(manifest):
        manifest["layers"][0].update(members)

    return change


# NAME -> changes the manifest
MANIFESTS = {
    "two-layers": lambda manifest: manifest["layers"].append(manifest["layers"][0]),
    "no-layers": lambda manifest: manifest.update(layers=[]),
    "other-artifact": lambda manifest: manifest.update(artifactType="application/vnd.acme.chart.v1"),
    "other-layer": set_layer(mediaType="application/vnd.oci.image.layer.v1.tar+gzip"),
    "schema-1": lambda manifest: manifest.update(schemaVersion=1),
    "inner-type": lambda manifest: manifest.update(mediaType=INDEX),
    "negative-size": set_layer(size=-1),
    "fraction-size": set_layer(size=1.5),
    "giant-layer": set_layer(size=1 << 40),
    "bad-digest": set_layer(digest="sha256:../../../../etc/passwd"),
    "other-hash": set_layer(digest="md5:d41d8cd98f00b204e9800998ecf8427e"),
    "other-platform": lambda manifest: manifest.update(annotations={"vnd.tenon.pack.platforms": "linux/sparc,plan9/mips"}),
    "strange-annotations": lambda manifest: manifest.update(annotations={"vnd.tenon.pack.platforms": [1]}),
}
# NAME -> the bytes of the manifest, and its content type
BODIES = {
    "not-json": (b"<html>Welcome</html>", MANIFEST),
    "not-utf8": (b'{"schemaVersion": "\xff"}', MANIFEST),
    "deep": (b"[" * 100000, MANIFEST),
    "a-list": (b"[]", MANIFEST),
    "giant-manifest": (b" " * (5 << 20), MANIFEST),
    "portal": (b"<html>Please sign in</html>", "text/html"),
    "index": (json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": []}).encode(), INDEX),
    "image": (
        json.dumps({"schemaVersion": 2, "config": {"mediaType": "application/vnd.docker.container.image.v1+json"}}).encode(),
        "application/vnd.docker.distribution.manifest.v2+json",
    ),
}
BASIC = 'Basic realm="acme"'


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", length=None, **headers):
        self.send_response_only(status)
        for name, text in headers.items():
            self.send_header(name.replace("_", "-"), text)
        self.send_header("content-length", str(len(body) if length is None else length))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass  # the client refuses the rest
        if length is not None:
            self.close_connection = True

    def do_GET(self):
        other = self.server.server_port != ports[0]
        credentials = self.headers.get("authorization", "-")
        with lock, open(arguments.log, "a") as file:
            file.write("%s %s %s %s\n" % ("other" if other else "registry", self.command, self.path, credentials))
        if self.path.startswith("/token"):
            return self.token(urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query))
        name, kind, which = self.path.split("/")[2:5]
        if self.refuses(name, other, credentials, kind):
            return None
        return self.manifest(name, which) if kind == "manifests" else self.blob(name, other)

    do_HEAD = do_POST = do_GET

    def token(self, query):
        name = query.get("service", ["?"])[0]
        if name == "token-huge":
            self.answer(200, json.dumps({"token": "x" * 40000}).encode())
        elif name == "token-endless":
            self.answer(200, b" " * 500000)
        elif name == "token-missing":
            self.answer(200, b"{}")
        elif name == "token-line":
            self.answer(200, json.dumps({"token": "a\r\nx-more: 1"}).encode())
        elif name == "token-refused":
            self.answer(401, b"{}", www_authenticate=BASIC)
        elif name == "token-broken":
            self.answer(500)
        elif name == "token-moved":
            self.answer(307, location="http://127.0.0.1:%d/token" % ports[1])
        else:
            self.answer(200, json.dumps({"access_token": "token-of-" + query["scope"][0]}).encode())

    def refuses(self, name, other, credentials, kind):
        """Answers requests without the credentials that NAME needs."""
        realm = {
            "token-plain": "http://other.invalid/token",
            "token-elsewhere": "https://other.invalid/token",
            "token-nowhere": "ftp://127.0.0.1/token",
            "token-empty": "",
        }.get(name, "http://127.0.0.1:%d/token" % ports[0])
        bearer = 'Bearer realm="%s",service="%s",scope="repository:%s:pull"' % (realm, name, name)
        if other or not (name.startswith("token") or name in ("silent", "negotiate", "basic", "moved-basic", "echo")):
            return False
        if name == "token-both":
            bearer = 'Negotiate, %s, %s' % (BASIC, bearer)
        if name == "silent":
            self.answer(401)
        elif name == "negotiate":
            self.answer(401, www_authenticate="Negotiate")
        elif name == "echo":
            reason = {"errors": [{"code": "DENIED", "message": "not you: open-sesame-42 " + credentials + "\x1b[31m"}]}
            self.answer(401, json.dumps(reason).encode(), www_authenticate=BASIC)
        elif name in ("basic", "moved-basic"):
            if credentials == "Basic amFuZTpvcGVuLXNlc2FtZS00Mg==":
                return False
            self.answer(401, www_authenticate=BASIC)
        elif name == "token-loop" or credentials != "Bearer token-of-repository:%s:pull" % name:
            self.answer(401, www_authenticate=bearer)
        else:
            return False
        return True

    def manifest(self, name, which):
        made = manifest_of(pack)
        if name in MANIFESTS:
            MANIFESTS[name](made)
        if name == "small-layer":
            made["layers"][0].update(size=len(pack) - 1)
        if name == "forged":
            made["layers"][0].update(size=len(forged), digest=digest(forged))
        body, kind = BODIES.get(name, (json.dumps(made).encode(), MANIFEST + "; charset=utf-8"))
        if name == "gone":
            return self.answer(404, b'{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "no such thing"}]}')
        if name == "busy":
            return self.answer(429)
        if name == "forbidden":
            return self.answer(403)
        if name == "circle":
            return self.answer(302, location="/v2/circle/manifests/1")
        if name == "nowhere":
            return self.answer(302, location="javascript:alert(1)")
        announced = digest(b"another") if name == "announced" else digest(body)
        return self.answer(200, body, content_type=kind, docker_content_digest=announced)

    def blob(self, name, other):
        if name in ("moved", "moved-basic", "moved-refused", "token-moved-blob") and not other:
            return self.answer(307, location="http://127.0.0.1:%d%s?signature=1" % (ports[1], self.path))
        if name == "moved-refused":
            return self.answer(401, www_authenticate=BASIC)
        if name == "gone-layer":
            return self.answer(404)
        if name == "changed":
            return self.answer(200, bytes([pack[0] ^ 1]) + pack[1:])
        if name == "short":
            return self.answer(200, pack[:-512])
        if name == "cut":
            return self.answer(200, pack[:-512], length=len(pack))
        if name == "forged":
            return self.answer(200, forged)
        if name in ("endless", "hang"):
            self.send_response_only(200)
            self.end_headers()
            self.close_connection = True
            self.wfile.write(pack[:100000])
            self.wfile.flush()
            open("hanging", "w").close()
            try:
                while name == "endless":
                    self.wfile.write(bytes(65536))
                time.sleep(60)
            except OSError:
                pass
            return None
        return self.answer(200, pack)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # the client was killed


parser = argparse.ArgumentParser()
for option in ("port-file", "pack", "log"):
    parser.add_argument("--" + option, required=True)
arguments = parser.parse_args()
lock = threading.Lock()
with open(arguments.pack, "rb") as file:
    pack = file.read()
at = pack.index(b'"', pack.index(b":", pack.index(b'"signature"'))) + 1
forged = pack[:at] + (b"B" if pack[at : at + 1] == b"A" else b"A") + pack[at + 1 :]
servers = [Server(("127.0.0.1", 0), Handler) for _ in range(2)]
ports = [server.server_port for server in servers]
threading.Thread(target=servers[1].serve_forever, daemon=True).start()
with open(arguments.port_file + ".new", "w") as file:
    file.write(str(ports[0]))
os.rename(arguments.port_file + ".new", arguments.port_file)
servers[0].serve_forever()
