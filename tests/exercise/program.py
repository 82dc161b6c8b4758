#!/usr/bin/env -S python3 -IS
"""A program with the defect that its name says, for tests/e2e/plugin/check_program.sh. `none` has no defect."""
import json
import os
import socket
import sys
import time

DEFECT = os.path.basename(sys.argv[0])
PROTOCOL = "tenon.component-protocol/1-draft.1"
wire = socket.socket(fileno=3)
incoming = wire.makefile("rb")
instances, kept, runs = {}, [], 0


def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    wire.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)


def receive():
    length = None
    while line := incoming.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return json.loads(incoming.read(length)) if length is not None else None


def create(instance, config, **_):
    instances[instance] = config["what"]
    if DEFECT == "crashes" and " " in config["what"]:
        sys.exit("cannot count words")
    if DEFECT == "hangs":
        time.sleep(60)
    if DEFECT == "grows":
        kept.append(bytearray(b"x") * 32768)
    if DEFECT == "answers":
        return {"reads": "none"}
    return {"reads": [], "writes": [], "calls": []}


def start(task, instance, **_):
    global runs
    runs += 1
    if DEFECT == "ignores":
        return
    if DEFECT == "dies":
        os.kill(os.getpid(), 9)
    output = {"writes": {"out": runs if DEFECT == "impure" else len(instances[instance])}}
    if DEFECT == "floods":
        kept.append(bytearray(b"x") * (1 << 20))
    errors = {"error": 5, "code": {"code": "lower case", "message": "-"}, "own": {"code": "CHANNEL", "message": "no such channel"}}
    if DEFECT in errors:
        send({"method": "fail", "params": {"task": task, "error": errors[DEFECT]}})
        return
    if DEFECT == "writes":
        send({"method": "complete", "params": {"task": task, "writes": [["nowhere", 1]]}})
        return
    if DEFECT == "declared":
        output = {}
    if DEFECT == "shape":
        output = {"wrote": output["writes"]}
    print("a line for the log")
    for _ in range(2 if DEFECT == "twice" else 1):
        send({"method": "complete", "params": {"task": task, "output": output}})


while message := receive():
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        version = "2.0.0" if DEFECT == "version" else "1.0.0"
        send({"id": message["id"], "result": {"protocol": PROTOCOL, "plugin": "test.program", "version": version}})
    elif method == "create":
        send({"id": message["id"], "result": create(**params)})
    elif method == "start":
        start(**params)
    elif method == "cancel" and DEFECT != "ignores":
        send({"method": "fail", "params": {"task": params["task"], "error": {"code": "CANCELLED", "message": "-"}}})
    elif method == "destroy":
        instances.pop(params["instance"], None)
    elif method == "shutdown":
        send({"id": message["id"], "result": None})
    elif method == "exit":
        sys.exit(0)
