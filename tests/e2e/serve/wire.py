"""A client of a host, for tests: JSON-RPC in lines over a Unix socket.

    client = Client("s")
    client.call("run/list")              # the result; Failed with the code and the message
    client.events                        # notifications that came meanwhile: [(method, params)]
"""
import json
import select
import socket

PATIENCE = 60  # seconds until a test fails because nothing arrives


class Failed(Exception):
    def __init__(self, error):
        super().__init__(error["message"])
        self.number, self.code = error["code"], error.get("data", {}).get("code")


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.rest, self.events, self.answers, self.last = b"", [], {}, 0

    def send(self, method, params=None, id=True):
        """Sends a request, or a notification if `id` is None; returns the id."""
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        if id is not None:
            self.last += 1
            message["id"] = self.last
        self.socket.sendall(json.dumps(message).encode() + b"\n")
        return self.last

    def receive(self, seconds=PATIENCE):
        """Reads what has arrived, after waiting for something. False at the end of the connection."""
        if not select.select([self.socket], [], [], seconds)[0]:
            raise TimeoutError("nothing has arrived")
        try:
            data = self.socket.recv(1 << 20)
        except ConnectionResetError:
            data = b""
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in filter(None, lines):
            message = json.loads(line)
            if "method" in message:
                self.events.append((message["method"], message["params"]))
            else:
                self.answers[message["id"]] = message
        return bool(data)

    def answer(self, id):
        while id not in self.answers:
            if not self.receive():
                raise ConnectionError("the host has closed the connection")
        answer = self.answers.pop(id)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer["result"]

    def call(self, method, params=None):
        return self.answer(self.send(method, params))

    def event(self, method):
        """The next event of this name, which it removes."""
        while True:
            for index, (name, params) in enumerate(self.events):
                if name == method:
                    del self.events[index]
                    return params
            if not self.receive():
                raise ConnectionError("the host has closed the connection")

    def close(self):
        self.socket.close()
