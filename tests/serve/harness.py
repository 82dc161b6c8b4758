"""Starts tenon-serve-test, and sends it bytes. TENON_SERVE_TEST is the program; see server.c for its paths."""

import json
import os
import socket
import subprocess
import time

LIMITS = {"connections": 1000, "connections_per_address": 1000, "headers_bytes": 16384, "headers_ms": 10000,
          "idle_ms": 30000, "body_bytes": 1 << 26, "write_bytes": 1 << 20, "message_bytes": 1 << 20}
DEADLINE = 30  # seconds, for everything that must happen


class Server:
    def __init__(self, tls=None, address="127.0.0.1", trusted=None, **limits):
        options = {"address": address, "port": 0, "limits": dict(LIMITS, **limits)}
        if trusted:
            options["trusted"] = trusted
        if tls:
            options["tls"] = tls
        self.process = subprocess.Popen([os.environ["TENON_SERVE_TEST"], json.dumps(options)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line, "the server did not start"
        self.port = json.loads(line)["port"]
        self.address = address

    def connect(self, receive_buffer=None, source=None):
        client = socket.socket(socket.AF_INET6 if ":" in self.address else socket.AF_INET)
        if receive_buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.settimeout(DEADLINE)
        if source:
            client.bind((source, 0))
        client.connect((self.address, self.port))
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return client

    def send(self, data):
        """Sends the bytes; all that came until the server closed."""
        with self.connect() as client:
            return exchange(client, data)

    def status(self, data):
        """The status of the first answer."""
        with self.connect() as client:
            client.sendall(data)
            return int(read_head(client).split()[1])

    def get(self, path):
        status, _, body = parse(self.send(b"GET %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" % path.encode()))
        assert status == 200, (path, status, body)
        return body

    def log(self):
        return json.loads(self.get("/log"))

    def wait_for(self, found):
        """The first entry of the log for which found(entry) is true."""
        end = time.monotonic() + DEADLINE
        seen = []
        while time.monotonic() < end:
            for entry in self.log():
                seen.append(entry)
                if found(entry):
                    return entry
            time.sleep(0.01)
        raise AssertionError("not in the log: %s" % seen)

    def memory_kib(self, name="VmRSS"):
        with open("/proc/%d/status" % self.process.pid) as file:
            return next(int(line.split()[1]) for line in file if line.startswith(name))

    def expect_memory(self, before, bound_kib):
        """The memory has not grown by more; not checked with a sanitizer, which keeps freed memory."""
        now = self.memory_kib()
        assert os.environ.get("SANITIZE") or now - before < bound_kib, (before, now, bound_kib)

    def stop(self):
        self.process.stdin.close()
        self.process.stdout.close()
        code = self.process.wait(DEADLINE)
        assert code == 0, "the server ended with %d" % code

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            self.process.kill()
        else:
            self.stop()


def read_all(client):
    data = bytearray()
    try:
        while part := client.recv(65536):
            data += part
    except ConnectionResetError:
        pass
    return bytes(data)


def exchange(client, data):
    try:
        client.sendall(data)
    except (BrokenPipeError, ConnectionResetError):
        pass
    return read_all(client)


def read_head(client):
    data = b""
    while b"\r\n\r\n" not in data:
        part = client.recv(1)
        assert part, data
        data += part
    return data


def parse(data):
    """Status, headers, and the body without its chunks, of a response that is the only one."""
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    status = int(lines[0].split()[1])
    headers = {name.lower().decode(): value.strip().decode()
               for name, _, value in (line.partition(b":") for line in lines[1:])}
    if headers.get("transfer-encoding") == "chunked":
        body = unchunk(body)[0]
    return status, headers, body


def unchunk(data):
    """The bytes of the chunks, and whether the last chunk has come."""
    body, at = b"", 0
    while at < len(data):
        end = data.find(b"\r\n", at)
        if end < 0:
            return body, False
        size = int(data[at:end], 16)
        if size == 0:
            return body, data[end:] == b"\r\n\r\n"
        body += data[end + 2:end + 2 + size]
        at = end + 4 + size
    return body, False
