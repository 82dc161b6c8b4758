#!/usr/bin/env -S python3 -IS
"""A Tenon plugin that is a program. It uses the component protocol (sdk/guide/protocol.md) and only the standard library.

Its manifest is wordcount.py.tenon.json in the same folder. It has two components: the node `words.count` counts the words
of a channel and emits each new word; the tool `words.title` converts a text to title case and fails if the text is blank.
"""
import json
import socket
import sys

PROTOCOL = "tenon.component-protocol/1-draft.1"
CHUNKS = 64  # a task may send this many chunks before it needs credit
wire = socket.socket(fileno=3)
incoming = wire.makefile("rb")
instances, room, later = {}, {}, []


class Cancelled(Exception):
    pass


def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode()
    wire.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)


def receive():
    length = None
    while line := incoming.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return json.loads(incoming.read(length)) if length is not None else None  # None: the host has closed the connection


def emit(task, chunk):
    """Sends a chunk when the task has credit. Queues other messages that arrive meanwhile."""
    while room.setdefault(task, CHUNKS) == 0:
        message = receive()
        if message is None:
            sys.exit(0)
        if message["method"] == "credit" and message["params"]["task"] == task:
            room[task] += message["params"]["chunks"]
        elif message["method"] == "cancel" and message["params"]["task"] == task:
            raise Cancelled
        else:
            later.append(message)
    room[task] -= 1
    send({"method": "emit", "params": {"task": task, "chunk": chunk}})


def create(instance, component, config, **_):
    instances[instance] = (component, config)
    if component == "words.count":  # the channels that the node reads and writes; the host checks them
        return {"reads": [config["input_key"]], "writes": [config["output_key"]], "calls": []}
    return {"reads": [], "writes": [], "calls": []}


def count(task, config, reads):
    seen = set()
    words = (reads.get(config["input_key"]) or "").split()
    for word in words:
        if word not in seen:
            emit(task, {"word": word})
        seen.add(word)
    writes = [[config["output_key"], {"words": len(words), "distinct": len(seen)}]]
    send({"method": "complete", "params": {"task": task, "writes": writes}})


def title(task, text):
    if text.strip():
        send({"method": "complete", "params": {"task": task, "output": text.title()}})
    else:
        error = {"code": "INVALID_INPUT", "message": "`text` is blank; give it a word at least", "retryable": False}
        send({"method": "fail", "params": {"task": task, "error": error}})


def start(task, instance, input=None, reads=None, **_):
    component, config = instances[instance]
    try:
        if component == "words.count":
            count(task, config, reads or {})
        else:
            title(task, input["text"])
    except Cancelled:
        send({"method": "fail", "params": {"task": task, "error": {"code": "CANCELLED", "message": "as asked"}}})
    room.pop(task, None)


def answer(method, params):
    if method == "initialize":
        return {"protocol": PROTOCOL, "plugin": "sample.words", "version": "1.0.0"}
    if method == "create":
        return create(**params)
    return None  # shutdown


while message := later.pop(0) if later else receive():
    method, params = message.get("method"), message.get("params") or {}
    if method == "exit":
        sys.exit(0)
    if "id" in message:
        send({"id": message["id"], "result": answer(method, params)})
    elif method == "start":
        start(**params)
    elif method == "credit" and params["task"] in room:
        room[params["task"]] += params["chunks"]
    elif method == "destroy":
        instances.pop(params["instance"], None)
