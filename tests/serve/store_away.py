"""store_away.py ADDRESS KEY HOW WHAT: a client of a host whose store is away for a time (tests/e2e/serve/store_away.sh).
HOW is `locked` (WHAT is the file, which this program locks), `full` (WHAT is the folder, which this program fills), or
`command` (WHAT is a program that makes the store go, and come back, when called with `away` and `back`).
"""
import http.client
import json
import os
import sqlite3
import subprocess
import sys
import time

ADDRESS, KEY, HOW, WHAT = sys.argv[1].split("//")[1], *sys.argv[2:5]
TEXT = ["First.", "0123456789abcdefghijklmnopqrstuvwxyz", "Third."]


def connect(method, path, body=None):
    connection = http.client.HTTPConnection(ADDRESS, timeout=60)
    connection.request(method, path, body and json.dumps(body),
                       {"authorization": "Bearer " + KEY, "content-type": "application/json"})
    return connection.getresponse()


def call(*arguments):
    response = connect(*arguments)
    return response.status, response.read().decode(), response


def first_events(response, count):
    assert response.status == 200, response.read()
    for line in response:
        count -= line.startswith(b"data: {")
        if count == 0:
            return
    raise AssertionError("the stream has ended")


class Locked:
    def __enter__(self):
        self.store = sqlite3.connect(WHAT, timeout=30, isolation_level=None)
        self.store.execute("BEGIN IMMEDIATE")

    def __exit__(self, *_):
        self.store.execute("ROLLBACK")
        self.store.close()


class Full:
    def __enter__(self):
        with open(WHAT + "/filler", "wb", buffering=0) as file:
            for size in (65536, 4096, 512, 1):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError:
                    pass

    def __exit__(self, *_):
        os.unlink(WHAT + "/filler")


class Command:
    def __enter__(self):
        subprocess.run([WHAT, "away"], check=True)

    def __exit__(self, *_):
        subprocess.run([WHAT, "back"], check=True)


def chat(name):
    message = {"id": "u", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
    return connect("POST", "/api/chat/stream?graph=two", {"id": name, "messages": [message]})


def until(condition, what):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def while_away(response, stream):
    """Its runs fail, other requests are served, and new runs are refused, in the shape of each protocol."""
    rest = stream.read().decode()  # it ends
    assert '"type":"error"' in rest or "[DONE]" not in rest, rest
    status, text, _ = call("GET", "/v1/models/two")
    assert status == 200, text
    status, text, _ = call("POST", "/v1/responses", {"model": "two", "input": "hi"})
    failed = json.loads(text)
    assert failed["status"] == "failed" if status == 200 else status >= 500 and failed["error"]["type"], (status, text)
    assert "runs.db" not in text, text  # a path of this machine
    answer = chat("new")
    text = answer.read().decode()
    assert '"type":"error"' in text if answer.status == 200 else answer.status >= 500, (answer.status, text)
    assert "runs.db" not in text, text
    assert call("GET", "/healthz")[0] == 200
    until(lambda: call("GET", "/readyz")[0] == 503 or HOW != "command", "the host says that it is ready")


def main():
    status, text, _ = call("POST", "/v1/responses", {"model": "two", "input": "hi", "background": True})
    assert status == 200, text
    response = json.loads(text)["id"]
    stream = chat("kept")
    first_events(connect("GET", f"/v1/responses/{response}?stream=true"), 12)
    first_events(stream, 8)
    with {"locked": Locked, "full": Full, "command": Command}[HOW]():
        while_away(response, stream)

    def is_completed():
        status, text, _ = call("GET", f"/v1/responses/{response}")
        return status == 200 and json.loads(text)["status"] == "completed"

    until(is_completed, "the response is not completed")
    found = json.loads(call("GET", f"/v1/responses/{response}")[1])
    assert [part["text"] for item in found["output"] for part in item["content"]] == TEXT, found
    until(lambda: len(texts("kept")) == 3, "the chat is not complete")
    assert texts("kept") == TEXT
    assert json.loads(call("POST", "/v1/responses", {"model": "two", "input": "hi"})[1])["status"] == "completed"
    assert call("GET", "/v1/models/two")[0] == 200


def texts(name):
    status, text, _ = call("GET", f"/api/chat/stream/{name}/messages")
    if status != 200:
        return []
    return [part["text"] for part in json.loads(text)[-1].get("parts", []) if part["type"] == "text"]


main()
