"""A client of a running host: loads a plugin, runs a graph with it, and replaces and removes it while the host runs.

    python3 client.py SOCKET FIRST.so SECOND.so
"""
import itertools
import json
import os
import socket
import sys


class Host:
    """One connection to a host: messages of JSON-RPC 2.0, each in a line."""

    def __init__(self, path):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(path)
        self.output, self.input = connection.makefile("w"), connection.makefile("r")
        self.ids, self.events = itertools.count(1), []

    def receive(self):
        return json.loads(self.input.readline() or sys.exit("the host has gone"))

    def call(self, method, **params):
        """The result of a method. Events that arrive before it are kept."""
        request = {"jsonrpc": "2.0", "id": next(self.ids), "method": method, "params": params}
        print(json.dumps(request), file=self.output, flush=True)
        while (message := self.receive()).get("id") != request["id"]:
            self.events.append(message)
        if "error" in message:
            sys.exit(f"{method}: {message['error']['message']}")
        return message["result"]

    def event(self):
        """The next event: its name and its parameters."""
        message = self.events.pop(0) if self.events else self.receive()
        return message["method"], message["params"]


socket_path, first, second = sys.argv[1:]
host = Host(socket_path)
host.call("event/subscribe", events=["component/changed"])  # each change is sent to every subscriber
for method, file in ("plugin/load", first), ("plugin/upgrade", second):
    plugin = host.call(method, file=os.path.abspath(file))
    print(f"{method}: {plugin['plugin']} {plugin['version']}")
    host.call("run/start", document=os.path.abspath("greet.yaml"), input={"name": "Ada"}, subscribe={})
    name = None
    while name != "run/ended":
        name, params = host.event()
        if name == "component/changed":
            print(f"  new: {', '.join(params['added'])}")
        elif name == "run/event":
            print(f"  {params['event']['node']} has written {params['event']['writes']}")
        else:
            print(f"  {params['status']}: {params['report']['state']['greeting']}")
host.call("plugin/unload", plugin=plugin["plugin"])
print(f"plugin/unload: without {', '.join(host.event()[1]['removed'])}")
