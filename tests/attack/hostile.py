#!/usr/bin/env -S python3 -IS
"""hostile.c as a program: it tries one attack, which its section of tenon.yaml chooses: {attack,
name, kind, input}; `input` is a JSON text.

It speaks the component protocol (sdk/guide/protocol.md). Its manifest is written by run.py.
"""
import json
import os
import signal
import socket
import sys
import time

PROTOCOL = "tenon.component-protocol/1-draft.1"
wire = socket.socket(fileno=3)
incoming = wire.makefile("rb")
settings, kinds, added, messages = {}, {}, [], []


class Refused(Exception):
    """The error object that the host returned, or one of the same form for the system."""


def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    wire.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)


def receive():
    length = None
    while line := incoming.readline().strip():
        key, _, value = line.partition(b":")
        if key.lower() == b"content-length":
            length = int(value)
    if length is None:
        sys.exit(0)
    return json.loads(incoming.read(length))


def call(task, **params):
    send({"method": "call", "params": {"task": task, "call": 1, **params}})
    while (message := receive())["method"] != "called":
        messages.append(message)
    if "error" in message["params"]:
        raise Refused(message["params"]["error"])
    return message["params"].get("output")


def create(config, **more):
    attack, name = settings["attack"], settings.get("name")
    kinds[more["instance"]] = "bystander" if config.get("bystander") else more["kind"]
    answer = {"reads": [], "writes": ["out"] if more["kind"] == "node" else [], "calls": []}
    if attack == "call":
        answer["calls"] = [{"kind": settings.get("kind", "tool"), "name": name}]
    elif attack == "bind":
        answer["calls"] = [{"kind": settings["kind"], "name": name, "config": settings["input"]}]
    elif attack == "document":
        answer["calls"] = [{"kind": "graph", "name": name}]
    elif attack == "value":
        answer["calls"] = [{"kind": "graph", "name": "made", "config": settings["input"]}]
    elif attack == "use-all":
        answer["tools"] = [None]
    elif attack == "use":
        answer["tools"] = [[name]]
    return answer


def spawn(name):
    child = os.fork()
    if child == 0:
        os.execv("/bin/sh", ["sh", "-c", 'touch "$0"', name])
    if os.waitpid(child, 0)[1] != 0:
        raise OSError(1, "the command failed")
    return "spawned"


def attempt(task):
    attack, name, value = settings["attack"], settings.get("name"), settings.get("input")
    if attack in ("call", "document"):
        return call(task, callee=0, input=value)
    if attack in ("bind", "value"):
        return call(task, callee=0, input={})
    if attack == "unbound":
        return call(task, callee=7, input=value)
    if attack in ("use", "use-all"):
        return call(task, tools=0, input=value)
    if attack in ("run", "state"):
        return call(task, operation=name, input=value)
    if attack == "http":
        return call(task, operation="http.send", input=value)
    if attack == "method":
        return call(task, operation="method:" + name, input=value)
    if attack in ("start", "approve"):
        run = {"run_id": call(task, operation="method:" + name, input=value)["run_id"]}
        ended = call(task, operation="method:run/wait", input=run)
        if attack == "approve" and ended["status"] == "interrupted":
            answers = {asked["id"]: True for asked in ended["report"]["interrupts"]}
            call(task, operation="method:run/answer", input={**run, "answers": answers})
            ended = call(task, operation="method:run/wait", input=run)
        if "error" in ended["report"]:
            raise Refused(ended["report"]["error"])
        return ended
    if attack == "read":
        return open(name, errors="replace").read()
    if attack == "spawn":
        return spawn(name)
    if attack == "environment":
        return os.environ[name]
    if attack == "socket":
        host, port = name.split("/")[2].split(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(b"GET /%s HTTP/1.0\r\n\r\n" % name.split("/", 3)[3].encode())
            return connection.recv(100).decode()
    if attack == "host":
        return open(f"/proc/{os.getppid()}/environ").read() or open(f"/proc/{os.getppid()}/mem", "rb").read(1).hex()
    while attack == "hang":
        signal.pause()
    if attack == "die":
        os.abort()
    if attack == "log-environment":
        send({"method": "log", "params": {"level": 3, "message": os.environ[name]}})
        return "logged"
    if attack == "log":
        send({"method": "log", "params": {"level": 3, "message": name}})
        return "logged"
    raise Refused({"code": "REFUSED", "message": "not in this protocol"})


def start(task, instance, **_):
    error = None
    if kinds[instance] == "bystander":
        time.sleep(0.3)
        send({"method": "complete", "params": {"task": task, "writes": []}})
        return
    try:
        done = {"done": attempt(task)}
    except Refused as refused:
        error = refused.args[0]
    except (OSError, KeyError) as refused:
        error = {"code": "REFUSED_BY_SYSTEM", "message": str(refused)}
    if error:
        send({"method": "fail", "params": {"task": task, "error": error}})
    elif kinds[instance] == "node":
        send({"method": "complete", "params": {"task": task, "writes": [["out", done]]}})
    else:
        send({"method": "complete", "params": {"task": task, "output": done}})


while True:
    message = messages.pop(0) if messages else receive()
    method, params = message["method"], message.get("params") or {}
    if method == "exit":
        sys.exit(0)
    if method == "initialize":
        settings = params["config"]
        settings["input"] = json.loads(settings.get("input", "null"))
        if settings["attack"] == "add":
            send({"method": "add", "params": {"component": settings["input"]}})
        if settings["attack"] == "init":
            send({"id": message["id"], "error": {"code": -32000, "message": "no"}})
            continue
        result = {"protocol": PROTOCOL, "plugin": "hostile.plugin", "version": "1.0.0"}
        send({"id": message["id"], "result": result})
    elif method == "create":
        send({"id": message["id"], "result": create(**params)})
    elif "id" in message:
        send({"id": message["id"], "result": None})
    elif method == "start":
        start(**params)
