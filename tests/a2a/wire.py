"""What the tests of A2A without an SDK share: the host, requests, streams, and a server that receives notifications."""
import http.client
import http.server
import json
import re
import subprocess
import threading
import urllib.error
import urllib.request

AGENT = "/a2a/tck"
LIMIT = 60  # seconds, for whatever should happen at once


class Host:
    """`tenon serve`, which can be killed and started again at the same port."""

    def __init__(self, tenon, graph):
        self.command = [tenon, "serve", graph, "--port"]
        self.port, self.process = "0", None
        self.ada = self.bob = None

    def start(self):
        self.log = open("serve.err", "a+")
        self.log.seek(0, 2)
        begin = self.log.tell()
        self.process = subprocess.Popen([*self.command, self.port], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        while True:
            with open("serve.err") as log:
                log.seek(begin)
                found = re.search(r"http://127\.0\.0\.1:(\d+)", log.read())
            if found:
                break
            assert self.process.poll() is None, "the host did not start"
            try:
                self.process.wait(0.05)
            except subprocess.TimeoutExpired:
                pass
        self.port = found[1]
        self.address = found[0]

    def end(self, signal):
        self.process.send_signal(signal)
        status = self.process.wait(LIMIT)
        self.log.close()
        return status

    # ---- Requests ----

    def open(self, path, body=None, key=None, method=None, version="1.0", kind="application/json"):
        headers = {"Authorization": "Bearer " + (key or self.ada), "Content-Type": kind}
        if version:
            headers["A2A-Version"] = version
        data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
        return urllib.request.urlopen(urllib.request.Request(self.address + path, data, headers, method=method), timeout=LIMIT)

    def call(self, path, body=None, **more):
        try:
            with self.open(path, body, **more) as response:
                return response.status, json.loads(response.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def rpc(self, method, params=None, **more):
        return self.call(AGENT, {"jsonrpc": "2.0", "id": 7, "method": method, "params": params or {}}, **more)[1]

    def send(self, name, configuration=None, key=None, **more):
        body = message(name, **more)
        if configuration:
            body["configuration"] = configuration
        status, answer = self.call(AGENT + "/message:send", body, key=key)
        assert status == 200, answer
        return answer["task"]

    def stream(self, path, body=None, **more):
        """The events of a stream, as they come; they end with the connection, also if that is cut."""
        with self.open(path, body, **more) as response:
            try:
                for line in response:
                    if line.startswith(b"data:"):
                        yield json.loads(line[5:])
            except (http.client.IncompleteRead, ConnectionError):
                pass


def code(answer):
    return answer["error"]["code"]


def message(name, **more):
    return {"message": {"role": "ROLE_USER", "messageId": name, "parts": [{"text": "Hello"}], **more}}


class Hook:
    """A server that receives notifications. `answers` has the statuses for a path; afterwards it is 200."""

    def __init__(self):
        self.received, self.answers, self.changed = [], {}, threading.Condition()
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with hook.changed:
                    hook.received.append((self.path, dict(self.headers), body))
                    statuses = hook.answers.get(self.path)
                    status = statuses.pop(0) if statuses else 200
                    hook.changed.notify_all()
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *ignored: None  # a host that is killed resets its connections
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def of(self, path):
        return [(headers, body) for at, headers, body in self.received if at == path]

    def wait(self, path, enough):
        """Until `enough` is true for what the path has received."""
        with self.changed:
            assert self.changed.wait_for(lambda: enough(self.of(path)), LIMIT), (path, self.of(path))
            return self.of(path)
