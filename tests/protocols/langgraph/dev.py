"""The streams, states and histories of langgraph_server beside those of `langgraphjs dev`, for the same graphs.

    dev.py ADDRESS KEY             compares the server with dev.json, and with differences.json
    dev.py --record ADDRESS        writes what `langgraphjs dev` answers to dev.json; `record` starts it
    dev.py --differences ADDRESS KEY
                                   writes what the server answers otherwise to differences.json; reasons are kept

differences.json has {NAME: {"reason": TEXT, "tenon": what the server answers instead}}. A difference that is not in it,
another answer, and a row without a difference fail the test.
"""

import json
import os
import re
import sys
import urllib.error
import urllib.request

FOLDER = os.path.dirname(os.path.abspath(__file__))
RECORDING, DIFFERENCES = os.path.join(FOLDER, "dev.json"), os.path.join(FOLDER, "differences.json")
PACKAGES = {"@langchain/langgraph-cli": "2.0.0", "@langchain/langgraph-api": "2.0.0", "@langchain/langgraph": "1.2.9",
            "@langchain/core": "1.2.13", "@langchain/langgraph-checkpoint": "1.1.5"}
KEY = ""


def call(server, method, path, body=None):
    request = urllib.request.Request(server + path, None if body is None else json.dumps(body).encode(),
                                     {"content-type": "application/json", "x-api-key": KEY}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def events(text):
    """[event, data]; data of several lines are joined."""
    found = []
    for block in text.replace("\r\n", "\n").split("\n\n"):
        fields = {}
        for line in block.split("\n"):
            name, _, value = line.partition(": ")
            fields[name] = fields.get(name, "") + value if name == "data" else value
        if "event" in fields:
            found.append([fields["event"], json.loads(fields["data"] or "null")])
    return found


def plain_name(event, places):
    """The ids of the tasks around a nested run are numbered in the order in which they come."""
    return re.sub("[0-9a-f]{8}-[-0-9a-f]{27}", lambda id: str(places.setdefault(id[0], len(places) + 1)), event)


def plain(event, data):
    """Without ids, times and what the servers add to `metadata`."""
    if event == "metadata":
        return sorted(data)
    if isinstance(data, dict) and "__interrupt__" in data:
        data = {**data, "__interrupt__": [each.get("value") for each in data["__interrupt__"]]}
    if event.startswith("tasks"):
        return {name: data.get(name) for name in ("name", "interrupts", "error")}
    if event.startswith("checkpoints"):
        return {"values": data["values"], "next": data["next"], "step": data["metadata"]["step"],
                "source": data["metadata"]["source"]}
    return data


def point(state):
    return {"values": state["values"], "next": state["next"], "tasks": [
        [task["name"], [each["value"] for each in task["interrupts"]]] for task in state["tasks"]],
        "source": state["metadata"]["source"], "step": state["metadata"]["step"]}


class Server:
    def __init__(self, address):
        self.address, self.thread = address, None

    def new(self):
        self.thread = json.loads(call(self.address, "POST", "/threads", {})[1])["thread_id"]

    def stream(self, **body):
        status, text = call(self.address, "POST", f"/threads/{self.thread}/runs/stream", body)
        assert status == 200, (self.address, body, status, text)
        places = {}
        return [[plain_name(event, places), plain(event, data)] for event, data in events(text)]

    def wait(self, **body):
        status, text = call(self.address, "POST", f"/threads/{self.thread}/runs/wait", body)
        assert status == 200, (self.address, body, status, text)
        return plain("values", json.loads(text))

    def get(self, path):
        return json.loads(call(self.address, "GET", f"/threads/{self.thread}{path}")[1])

    def history(self):
        found = json.loads(call(self.address, "POST", f"/threads/{self.thread}/history", {"limit": 100})[1])
        return [point(state) for state in found], [state["checkpoint"]["checkpoint_id"] for state in found]

    def status(self, method, path, body):
        return call(self.address, method, path.replace("{t}", self.thread), body)[0]


def scenarios(server):
    """[(name, what the server did)]"""
    for modes in ("values", "updates", ["values", "updates"], "tasks", "checkpoints"):
        server.new()
        yield f"steps {modes}", server.stream(assistant_id="steps", input={"trace": ["s"]}, stream_mode=modes)
    yield "history", server.history()[0]
    yield "state", point(server.get("/state"))
    yield "status", server.get("")["status"]
    server.new()
    yield "before", server.stream(assistant_id="steps", input={"trace": []}, stream_mode=["values", "updates"],
                                  interrupt_before=["b"])
    yield "before: status", server.get("")["status"]
    yield "before: state", point(server.get("/state"))
    yield "before: continued", server.stream(assistant_id="steps", input=None, stream_mode=["values", "updates"])
    server.new()
    yield "after", server.wait(assistant_id="steps", input={"trace": []}, interrupt_after=["a"])
    states, ids = server.history()
    after_a = ids[[state["next"] for state in states].index(["b"])]
    yield "after: continued", server.wait(assistant_id="steps", input=None)
    yield "older", server.stream(assistant_id="steps", input=None, checkpoint={"checkpoint_id": after_a}, stream_mode="values")
    yield "older: new input", server.wait(assistant_id="steps", input={"trace": ["n"]}, checkpoint={"checkpoint_id": after_a})
    call(server.address, "POST", f"/threads/{server.thread}/state", {"values": {"trace": ["u"]}, "as_node": "b"})
    yield "update", point(server.get("/state"))
    yield "update: continued", server.wait(assistant_id="steps", input=None)
    server.new()
    asked = {"assistant_id": "ask", "input": {"topic": "cats"}}
    yield "question", server.stream(**asked, stream_mode=["values", "updates"])
    yield "question: status", server.get("")["status"]
    yield "question: state", point(server.get("/state"))
    yield "answer", server.stream(assistant_id="ask", command={"resume": "children"}, stream_mode=["values", "updates"])
    yield "answer: history", server.history()[0]
    for modes in (["values", "updates"], "tasks"):
        server.new()
        yield f"nested {modes}", server.stream(assistant_id="outer", input={"trace": []}, stream_mode=modes, stream_subgraphs=True)
    server.new()
    yield "nested, not asked for", server.stream(assistant_id="outer", input={"trace": []}, stream_mode=["values", "updates"])
    nowhere = "00000000-0000-4000-a000-000000000000"
    for method, path, body in (
        ("POST", "/threads/{t}/runs", {}), ("POST", "/threads/{t}/runs", {"assistant_id": "absent"}),
        ("GET", f"/threads/{nowhere}", None), ("POST", f"/threads/{nowhere}/runs", {"assistant_id": "steps"}),
        ("GET", f"/threads/{{t}}/runs/{nowhere}", None), ("GET", f"/assistants/{nowhere}", None),
        ("POST", "/threads/{t}/runs", {"assistant_id": "steps", "stream_mode": "absent"}),
    ):
        yield f"{method} {path} {body}", server.status(method, path, body)


def lines(rows):
    """JSON with one row in a line."""
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in rows.items()) + "\n}\n"


def write(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        file.write(lines(rows))


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def check(ours, theirs, known):
    """What is wrong, as texts."""
    for name in sorted(set(ours) | set(theirs)):
        if name not in ours or name not in theirs:
            yield f"{name}: only one of them has it; record again"
        elif ours[name] == theirs[name]:
            if name in known:
                yield f"{name}: no difference any more; remove its row of differences.json"
        elif name not in known:
            yield f"{name}: a difference\n  ours   {json.dumps(ours[name])}\n  theirs {json.dumps(theirs[name])}"
        elif known[name]["tenon"] != ours[name]:
            yield f"{name}: another answer\n  now    {json.dumps(ours[name])}\n  before {json.dumps(known[name]['tenon'])}"
    yield from (f"{name}: no such comparison" for name in sorted(set(known) - set(ours)))
    yield from (f"{name}: a reason is missing" for name in sorted(known) if not known[name]["reason"])


if sys.argv[1] == "--record":
    write(RECORDING, {"packages": PACKAGES, "command": "TENON_LANGGRAPH_DEV=FOLDER tests/protocols/langgraph/record",
                      **dict(scenarios(Server(sys.argv[2])))})
    sys.exit(0)
address, KEY = sys.argv[-2:]
recording, known, ours = read(RECORDING), read(DIFFERENCES), dict(scenarios(Server(address)))
del recording["packages"], recording["command"]
if sys.argv[1] == "--differences":
    write(DIFFERENCES, {name: {"reason": known.get(name, {}).get("reason", ""), "tenon": ours[name]}
                        for name in ours if ours[name] != recording.get(name)})
    sys.exit(0)
failures = list(check(ours, recording, known))
print("\n".join(failures) or f"{len(ours)} comparisons, {len(known)} differences")
sys.exit(1 if failures else 0)
