"""A client of `tenon serve`: calls methods of the host over its Unix socket, many at a time."""
import json
import os
import socket
import subprocess
import time

WINDOW = 64  # requests that wait for their response
LIMIT_S = 60


class CallFailed(Exception):
    pass


class Host:
    """A host that serves the store of `folder`. Use it in a `with` statement."""

    def __init__(self, folder, environment=None, arguments=()):
        self.path = os.path.join(folder, "socket")
        if os.path.exists(self.path):
            os.remove(self.path)
        self.process = subprocess.Popen([os.environ["TENON"], "serve", "--socket", "socket", *arguments], cwd=folder,
                                        env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.socket, deadline = socket.socket(socket.AF_UNIX), time.monotonic() + LIMIT_S
        directory = os.open(folder, os.O_RDONLY)  # the path of a socket is at most 107 bytes long
        while True:
            try:
                self.socket.connect("/proc/self/fd/%d/socket" % directory)
                break
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise CallFailed("`tenon serve` does not listen") from None
                time.sleep(0.005)
        os.close(directory)
        self.stream, self.next_id = self.socket.makefile("rb"), 0

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.socket.close()
        self.process.terminate()
        try:
            self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def send(self, method, params):
        self.next_id += 1
        request = {"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}
        self.socket.sendall(json.dumps(request).encode() + b"\n")

    def receive(self):
        """Returns (id, result)."""
        while True:
            line = self.stream.readline()
            if not line:
                raise CallFailed("the host has closed the connection")
            message = json.loads(line)
            if "error" in message:
                raise CallFailed(json.dumps(message["error"]))
            if "result" in message:
                return message["id"], message["result"]

    def call(self, method, params):
        self.send(method, params)
        return self.receive()[1]

    def call_many(self, method, list_of_params):
        """The results, in the order of the parameters."""
        first, results = self.next_id + 1, {}
        for params in list_of_params:
            if self.next_id + 1 - first - len(results) >= WINDOW:
                results.update([self.receive()])
            self.send(method, params)
        while len(results) < self.next_id + 1 - first:
            results.update([self.receive()])
        return [results[number] for number in sorted(results)]
