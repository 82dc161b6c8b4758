"""The same requests to two servers with the same graphs: dev.py ADDRESS KEY ADDRESS_OF_LANGGRAPHJS_DEV.

DIFFERENCES has what may differ, with the reason; a difference that is not in it, and a row without a difference,
fail the test.
"""

import json
import sys
import urllib.error
import urllib.request

OURS, KEY, THEIRS = sys.argv[1:]


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


def plain(event, data):
    """Without ids, times and what the servers add to `metadata`."""
    if event == "metadata":
        return sorted(data)
    if isinstance(data, dict) and "__interrupt__" in data:
        data = {**data, "__interrupt__": [each.get("value") for each in data["__interrupt__"]]}
    if event == "tasks":
        return {name: data.get(name) for name in ("name", "interrupts", "error")}
    if event == "checkpoints":
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
        return [[event, plain(event, data)] for event, data in events(text)]

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
    nowhere = "00000000-0000-4000-a000-000000000000"
    for method, path, body in (
        ("POST", "/threads/{t}/runs", {}), ("POST", "/threads/{t}/runs", {"assistant_id": "absent"}),
        ("GET", f"/threads/{nowhere}", None), ("POST", f"/threads/{nowhere}/runs", {"assistant_id": "steps"}),
        ("GET", f"/threads/{{t}}/runs/{nowhere}", None), ("GET", f"/assistants/{nowhere}", None),
        ("POST", "/threads/{t}/runs", {"assistant_id": "steps", "stream_mode": "absent"}),
    ):
        yield f"{method} {path} {body}", server.status(method, path, body)


START = "Tenon saves the input as one checkpoint; the one before it is in the history only"
STATE = "the state is beside __interrupt__, as langgraph-api has it"
BRANCH = "langgraphjs continues a branch that is older than the update"
STATUS = "the statuses are those of langgraph-api"
DIFFERENCES = {
    "steps checkpoints": START,
    "history": "channels have their first values only in Tenon's first checkpoint; " + START,
    "before": STATE,
    "after": STATE,
    "update": "steps continue to be counted in a branch",
    "update: continued": BRANCH,
    "question": STATE,
    "answer: history": "tasks of older checkpoints have no interrupts",
    "POST /threads/{t}/runs {}": STATUS,
    "POST /threads/00000000-0000-4000-a000-000000000000/runs {'assistant_id': 'steps'}": STATUS,
    "POST /threads/{t}/runs {'assistant_id': 'steps', 'stream_mode': 'absent'}": STATUS,
}

failures = []
for (name, ours), (_, theirs) in zip(scenarios(Server(OURS)), scenarios(Server(THEIRS)), strict=True):
    if (ours != theirs) != (name in DIFFERENCES):
        failures.append(f"{name}\n  ours   {json.dumps(ours)}\n  theirs {json.dumps(theirs)}")
print("\n".join(failures))
sys.exit(1 if failures else 0)
