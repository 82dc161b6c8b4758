"""samples/deploy: the unit's command, behind nginx with the sample's configuration.

    deploy.py FOLDER     a copy of the sample; TENON is the program

It needs nginx, curl with HTTP/2, and openssl.
"""
import atexit
import json
import os
import re
import select
import socket
import ssl
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

SOURCE = os.environ["SOURCE"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "serve"))
import cases
import deviations
import websocket

FOLDER = os.path.abspath(sys.argv[1])
DEADLINE = 60
NAME = "agents.example"
TLS = ssl.create_default_context()
TLS.check_hostname, TLS.verify_mode = False, ssl.CERT_NONE
HELD = """version: "1.0"
agent: {name: held}
models: {default: {provider: scripted, replies: [first]}}
channels: [{name: messages, type: reduce, reducer: messages}]
nodes:
  - {id: say, type: llm, config: {messages_key: messages}}
  - {id: wait, type: delay, config: {ms: 600000}}
edges: [{from: START, to: say}, {from: say, to: wait}, {from: wait, to: END}]
"""


def read(*path):
    with open(os.path.join(FOLDER, *path), encoding="utf-8") as file:
        return file.read()


def write(text, *path):
    with open(os.path.join(FOLDER, *path), "w", encoding="utf-8") as file:
        file.write(text)


def until(found, what):
    end = time.monotonic() + DEADLINE
    while not (value := found()):
        assert time.monotonic() < end, "waited a minute for " + what
        time.sleep(0.02)
    return value


def lines(*path):
    """The lines of a log that may not exist yet."""
    return [json.loads(line) for line in read(*path).splitlines()] if os.path.exists(os.path.join(FOLDER, *path)) else []


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Nginx:
    """The sample's configuration, with other ports and files."""

    def __init__(self, upstream):
        self.plain, self.port, self.folder = free_port(), free_port(), "nginx-%d" % upstream
        os.makedirs(os.path.join(FOLDER, self.folder))
        site = read("nginx", "tenon.conf")
        for old, new in ((r"listen \[::\].*;\n", "\n"), ("listen 80;", "listen 127.0.0.1:%d;" % self.plain),
                         ("listen 443", "listen 127.0.0.1:%d" % self.port), ("server 127.0.0.1:8700;", "server 127.0.0.1:%d;" % upstream),
                         ("/etc/ssl/tenon.pem", "../tenon.pem"), ("/etc/ssl/private/tenon.key", "../tenon.key"), ("/var/log/nginx/", "")):
            site, count = re.subn(old, new, site)
            assert count > 0, old
        write(site, self.folder, "tenon.conf")
        user = "user root;\n" if os.getuid() == 0 else ""
        paths = "".join("%s_temp_path temp;\n" % name for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        write("daemon off; worker_processes 1; pid pid;\n%serror_log error.log;\nevents {}\nhttp {\naccess_log off;\n%sinclude tenon.conf;\n}\n"
              % (user, paths), self.folder, "nginx.conf")
        folder = os.path.join(FOLDER, self.folder)
        self.process = subprocess.Popen([os.environ["NGINX_PROGRAM"], "-p", folder, "-c", "nginx.conf", "-e", "error.log"])
        atexit.register(self.process.terminate)  # not killed: its worker would stay
        until(self.listens, "nginx: " + self.folder)

    def listens(self):
        assert self.process.poll() is None, read(self.folder, "error.log")
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def connect(self):
        return TLS.wrap_socket(socket.create_connection(("127.0.0.1", self.port), DEADLINE), server_hostname=NAME)

    def curl(self, *arguments):
        return ["curl", "-sSk", "--http2", "--noproxy", "*", "--connect-to", "%s:443:127.0.0.1:%d" % (NAME, self.port), *arguments]

    def stop(self):
        self.process.terminate()
        assert self.process.wait(DEADLINE) == 0


# ---- What reaches the upstream ----

class Recorder(threading.Thread):
    """An upstream that accepts every request, and keeps its bytes."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener, self.requests, self.wrong = socket.create_server(("127.0.0.1", 0)), [], []
        self.port = self.listener.getsockname()[1]
        self.start()

    def run(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        data = b""
        while part := connection.recv(65536):
            data += part
            try:
                while size := request_size(data):
                    self.requests.append(data[:size])
                    data = data[size:]
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            except ValueError:
                self.wrong.append(data[:1000])
                break
        connection.close()


def request_size(data):
    """The bytes of the first request, which must be one that every parser reads alike; None if it is not complete."""
    end = data.find(b"\r\n\r\n") + 4
    if end < 4:
        return None
    head = rb"[A-Z]+ /[!-~]* HTTP/1\.1\r\n([!#$%&'*+.^_`|~0-9A-Za-z-]+: [^\0-\x08\n-\x1f\x7f]*\r\n)+\r\n"
    if not re.fullmatch(head, data[:end]) or b"\r\ntransfer-encoding:" in data[:end].lower():
        raise ValueError
    length = re.search(rb"\r\nContent-Length: (\d+)\r\n", data[:end])
    size = end + (int(length[1]) if length else 0)
    return size if len(data) >= size else None


def answer_to(nginx, case):
    """What comes until nginx closes, or is silent, because all answers have come."""
    with nginx.connect() as client:
        client.sendall(case)
        data = b""
        while select.select([client], [], [], 0 if client.pending() else 0.15 if data else 20)[0]:
            part = client.recv(65536)
            if not part:
                break
            data += part
        return data


def check_deviations():
    """What the server cannot refuse does not pass nginx."""
    recorder, seen, names = Recorder(), {}, deviations.listed()
    nginx = Nginx(recorder.port)
    deviating = [case for case in cases.corpus() if any(deviations.RECOGNIZED[name](case) for name in names)]
    size = 1 << 18  # more than nginx has read when it connects: without proxy_request_buffering it would pass on the chunks
    deviating.append(b"POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n%x;\"\r\n%s\r\n0\r\n\r\n" % (size, b"x" * size))
    with ThreadPoolExecutor(32) as pool:  # most of the time nothing happens
        answers = list(pool.map(lambda case: answer_to(nginx, case), deviating))
    nginx.stop()
    assert not recorder.wrong, "reached the upstream: %r" % recorder.wrong
    for case, answer in zip(deviating, answers):
        for name in names:
            if deviations.RECOGNIZED[name](case):
                seen.setdefault(name, []).append(answer[9:12])
    assert set(seen) == set(names), seen.keys()
    for name, statuses in seen.items():
        print("%s: %d refused, %d passed on in nginx's own form" % (name, statuses.count(b"400"), statuses.count(b"200")))
        assert statuses.count(b"400") + statuses.count(b"200") > 0, (name, statuses)
    assert len(recorder.requests) > 0


# ---- The unit ----

class Unit:
    def __init__(self):
        self.settings = dict(line.split("=", 1) for line in read("systemd", "tenon.service").splitlines() if re.match("[A-Z]", line))
        self.write_config()
        self.key = json.loads(subprocess.check_output(
            [os.environ["TENON"], "key", "create", "alice", "--json", "--config", self.config]))["secret"]
        notified = os.path.join(FOLDER, "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices:
            notices.bind(notified)
            notices.settimeout(DEADLINE)
            with open(os.path.join(FOLDER, "log"), "w", encoding="utf-8") as log:
                self.process = subprocess.Popen(self.command(), stderr=log, env=dict(os.environ, NOTIFY_SOCKET=notified))
            atexit.register(self.process.kill)
            assert b"READY=1" in notices.recv(4096), read("log")
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+) serves", read("log"))[1])

    def write_config(self):
        text, self.config = read("systemd", "tenon.yaml"), os.path.join(FOLDER, "tenon.yaml")
        for folder in ("/var/lib/tenon", "/var/log/tenon", "/run/credentials/tenon.service"):
            assert folder in text
            text = text.replace(folder, FOLDER)
        write(text.replace("graphs: {", "graphs: {held: held.yaml, "), "tenon.yaml")
        write(HELD, "held.yaml")
        assert self.settings["LoadCredential"].startswith("openai:")
        write("sk-none\n", "openai")

    def command(self):
        words = self.settings["ExecStart"].split()
        assert words[0] == "/usr/bin/tenon" and words[-2:] == ["--config", "/etc/tenon/tenon.yaml"], words
        words = [os.environ["TENON"], *words[1:-1], self.config, "--port", "0", "--isolate", "tenon.scripted"]
        if os.environ.get("CONFINED"):
            words = [sys.executable, os.path.join(SOURCE, "tests/e2e/sample/confine.py"), os.path.join(FOLDER, "systemd/tenon.service"), *words]
        return words

    def reload(self):
        subprocess.check_call(self.settings["ExecReload"].replace("$MAINPID", str(self.process.pid)).split())

    def stop(self):
        assert self.settings["KillSignal"] == "SIGTERM"
        self.process.terminate()
        assert self.process.wait(int(self.settings["TimeoutStopSec"]) + DEADLINE) == 0, read("log")


def check_requests(unit, nginx):
    key = "Authorization: Bearer " + unit.key
    found = subprocess.check_output(nginx.curl("-H", key, "-w", "%{http_version}", "https://%s/v1/models" % NAME), text=True)
    assert '"assistant"' in found and found.endswith("2"), found
    body = json.dumps({"model": "assistant", "messages": [{"role": "user", "content": "tea"}]})
    found = subprocess.check_output(nginx.curl("-H", key, "-d", body, "-H", "Content-Type: application/json",
                                               "https://%s/v1/chat/completions" % NAME), text=True)
    assert "You say: tea" in found, found
    for path, status in (("/healthz", "200"), ("/readyz", "200"), ("/v1/models", "401")):
        found = subprocess.check_output(nginx.curl("-o", os.devnull, "-w", "%{http_code}", "https://%s%s" % (NAME, path)), text=True)
        assert found == status, (path, found)
    with socket.create_connection(("127.0.0.1", nginx.plain), DEADLINE) as client:
        client.sendall(b"GET /x HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % NAME.encode())
        assert b"Location: https://%s/x\r\n" % NAME.encode() in client.recv(65536)


def check_stream(unit, nginx):
    """A token arrives while its run continues; the run ends with the client; both logs have the same id and address."""
    body = json.dumps({"model": "held", "stream": True, "messages": [{"role": "user", "content": "tea"}]})
    client = subprocess.Popen(nginx.curl("-N", "--interface", "127.0.0.5", "-H", "X-Forwarded-For: 192.0.2.1", "-H", "Authorization: Bearer " + unit.key, "-d", body, "-H", "Content-Type: application/json",
                                         "https://%s/v1/chat/completions" % NAME), stdout=subprocess.PIPE, text=True)
    assert any('"content":"first"' in line for line in client.stdout)
    client.kill()
    client.wait()
    log = until(lambda: len(found := [line for line in lines("access.jsonl") if line["path"] == "/v1/chat/completions"]) == 2 and found,
                "the end of the stream")
    assert log[0]["reason"] == "done" and log[1]["reason"] != "done", log
    assert log[1]["address"] == "127.0.0.5", log
    until(lambda: [line for line in lines(nginx.folder, "tenon.jsonl") if line["id"] == log[1]["id"] and
                   line["address"] == "127.0.0.5" and line["protocol"] == "HTTP/2.0"], "nginx's line")


def check_websocket(unit, nginx):
    key = b"Authorization: Bearer " + unit.key.encode()
    with nginx.connect() as client:
        client.sendall(websocket.handshake(b"/rpc", [websocket.UPGRADE[0], b"Host: " + NAME.encode(), *websocket.UPGRADE[2:], key]))
        data = b""
        while b"\r\n\r\n" not in data:
            data += client.recv(65536) or exit("the upgrade failed: %r" % data)
        assert data.startswith(b"HTTP/1.1 101 "), data
        client.sendall(websocket.frame(websocket.TEXT, b'{"jsonrpc": "2.0", "id": 7, "method": "graph/list", "params": {}}'))
        while b'"id":7' not in data:
            data += client.recv(65536) or exit("no answer: %r" % data)


def check_upload(unit, nginx):
    """A chunked body, with an extension of a chunk, arrives with Content-Length."""
    with nginx.connect() as client:
        client.sendall(b"PUT /api/artifacts/a.txt HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: text/plain\r\n"
                       b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n5;x\r\nhello\r\n0\r\n\r\n" % (NAME.encode(), unit.key.encode()))
        assert client.recv(65536).startswith(b"HTTP/1.1 201 ")


def check_healthy(unit):
    script = os.path.join(FOLDER, "container", "healthy")
    for arguments, code in (((str(unit.port),), 0), ((str(unit.port), "/readyz"), 0), ((str(unit.port), "/v1/models"), 1),
                            ((str(free_port()),), 1)):
        assert subprocess.run([script, *arguments], stderr=subprocess.DEVNULL).returncode == code, arguments


def check_reload(unit, nginx):
    os.rename(os.path.join(FOLDER, "access.jsonl"), os.path.join(FOLDER, "access.1"))
    unit.reload()
    until(lambda: subprocess.call(nginx.curl("-o", os.devnull, "https://%s/healthz" % NAME)) == 0 and lines("access.jsonl"), "a new log")


def main():
    check_deviations()
    unit = Unit()
    nginx = Nginx(unit.port)
    check_requests(unit, nginx)
    check_stream(unit, nginx)
    check_websocket(unit, nginx)
    check_upload(unit, nginx)
    check_healthy(unit)
    check_reload(unit, nginx)
    nginx.stop()
    unit.stop()


if __name__ == "__main__":
    main()
