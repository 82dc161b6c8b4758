#!/usr/bin/env -S python3 -IS
"""A store that lies, dies and hangs, for tests/unit/store_isolated_test.c.

The first operation of a batch, and a query, say in their `collection` what to do, and in their `key` with what: `answer`
with that result, `error` with that error, and so on. `maintain` repeats the last answer.
"""
import json
import os
import socket
import sys
import time

wire = socket.socket(fileno=3)
incoming = wire.makefile("rb")
last = {"removed": 0, "bytes": 0}


def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    wire.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)


def receive():
    length = int(incoming.readline().split(b":")[1])
    incoming.readline()
    return json.loads(incoming.read(length))


def attempt(function, *arguments):
    try:
        return function(*arguments)
    except OSError as error:
        return error.strerror


def write(path):
    with open(path, "a", encoding="utf-8") as file:
        return file.write("x")


def perform(what, text):
    """The value of a record that `get` answers with."""
    if what == "pid":
        return os.getpid()
    if what == "die":
        os._exit(7)
    if what == "hang":
        time.sleep(600)
    if what == "raw":
        wire.sendall(text.encode())
        time.sleep(600)
    if what == "print":
        print(text, flush=True)
        send({"method": "log", "params": {"level": 2, "message": "logged " + text}})
    if what == "chatter":  # none of these concerns a store
        for method in ("add", "complete", "call", "emit", "no_such_method"):
            send({"method": method, "params": {"task": 0, "call": 1, "component": {"kind": "tool", "id": "x"}}})
        send({"id": 999, "result": "an answer to nothing"})
    if what == "http":
        send({"method": "http_send", "params": {"exchange": 1, "request": {"url": "https://example.com"}}})
        return receive()["params"]["value"]["message"]
    if what == "list":
        return attempt(os.listdir, text)
    if what == "write":
        return attempt(write, text)
    if what == "link":
        return attempt(lambda: [os.remove(text), os.symlink("/", text)])
    return None


def answer(method, params):
    global last
    if method == "initialize":
        return {"result": {"protocol": params["protocol"], "plugin": params["plugin"], "version": "1.0.0"}}
    if method == "store_open":
        options = params["options"]
        if options.get("open") == "die once":
            if not os.path.exists(options["path"] + "-once"):
                write(options["path"] + "-once")
                os._exit(7)
        return {"error": options["refuse"]} if "refuse" in options else {"result": perform(options.get("open"), "")}
    if method == "store_maintain":
        return {"result": last}
    if method not in ("store_commit", "store_query"):
        return {"result": None}
    request = params["batch"][0] if method == "store_commit" else list(params["query"].values())[0]
    what, text = request["collection"], request.get("key") or request.get("from")
    if what == "answer":
        last = json.loads(text)
        return {"result": last}
    if what == "error":
        return {"error": json.loads(text)}
    value = perform(what, text)
    return {"result": {"version": 1, "value": value} if method == "store_query" else [{"version": 1}] * len(params["batch"])}


while True:
    message = receive()
    if message["method"] == "exit":
        sys.exit(0)
    if "id" in message:
        send({"id": message["id"], **answer(message["method"], message.get("params"))})
