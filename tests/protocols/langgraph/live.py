"""What no SDK does: langgraph/live.py URL KEY OTHER_KEY."""

import json
import socket
import struct
import sys
import urllib.error
import urllib.request

URL, KEY, OTHER = sys.argv[1:]
NOWHERE = "00000000-0000-4000-a000-000000000000"


def call(method, path, body=None, key=KEY, headers=()):
    data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data, {"content-type": "application/json", **dict(headers)}, method=method)
    if key:
        request.add_header("x-api-key", key)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def expect(status, *arguments, **options):
    found, _, text = call(*arguments, **options)
    assert found == status, (arguments, found, text)
    if status >= 400:
        assert isinstance(json.loads(text)["detail"], str), text
    return json.loads(text) if text else None


expect(200, "GET", "/ok", key=None)
assert expect(200, "GET", "/info")["flags"]["assistants"] is True
expect(401, "POST", "/threads", {}, key=None)
expect(401, "GET", "/info", key="tn_wrong")

thread = expect(200, "POST", "/threads", {})["thread_id"]
runs = f"/threads/{thread}/runs"
hello = {"assistant_id": "chat", "input": {"messages": [{"role": "user", "content": "hi"}]}}

# Requests that are not valid start no run.
for status, body in (
    (400, b"{"),
    (422, []),
    (422, {}),
    (422, {"assistant_id": 7}),
    (404, {"assistant_id": "absent"}),
    (422, {**hello, "input": "hi"}),
    (422, {**hello, "stream_mode": "absent"}),
    (422, {**hello, "stream_mode": ["values", 7]}),
    (422, {**hello, "command": "resume"}),
    (422, {"assistant_id": "chat", "command": {"resume": 1}}),
    (422, {"assistant_id": "chat", "command": {"update": [1]}}),
    (422, {"assistant_id": "chat", "command": {"goto": 7}}),
    (422, {"assistant_id": "chat", "command": {"goto": "absent"}}),
    (422, {**hello, "interrupt_before": [7]}),
    (422, {**hello, "interrupt_after": "chat"}),
    (422, {**hello, "webhook": "https://example.com/"}),
    (422, {**hello, "webhook": "http://127.0.0.1:9@example.com/"}),
    (422, {**hello, "webhook": {"secret": "KEY"}}),
    (404, {**hello, "checkpoint_id": NOWHERE}),
    (404, {**hello, "checkpoint": {"checkpoint_id": "x"}}),
    (422, {**hello, "config": 7}),
):
    for path in ("", "/stream", "/wait"):
        expect(status, "POST", runs + path, body)
assert expect(200, "GET", runs) == []
expect(404, "POST", f"/threads/{NOWHERE}/runs", hello)
expect(422, "POST", "/threads/not-a-uuid/runs", hello)
expect(409, "POST", "/threads", {"thread_id": thread})
assert expect(200, "POST", "/threads", {"thread_id": thread, "if_exists": "do_nothing"})["thread_id"] == thread
expect(422, "POST", "/threads", {"thread_id": "x"})
expect(422, "POST", "/runs/batch", [])
expect(422, "POST", "/runs/batch", [hello, 7])
expect(404, "POST", "/runs/batch", [hello, {"assistant_id": "absent"}])

# The thread is made on demand; the headers of a stream.
made = "10000000-0000-4000-a000-000000000000"
status, headers, text = call("POST", f"/threads/{made}/runs/stream", {**hello, "if_not_exists": "create"})
run = json.loads(text.split("data: ", 2)[1].split("\n", 1)[0])["run_id"]
assert status == 200 and headers["content-type"].startswith("text/event-stream")
assert headers["content-location"] == f"/threads/{made}/runs/{run}", headers
for last, code in (("x", 422), ("99", 422), ("-1", 200)):
    assert call("GET", f"/threads/{made}/runs/{run}/stream", headers={"Last-Event-ID": last})[0] == code
expect(409, "POST", f"/threads/{made}/runs/{run}/cancel", {})
expect(404, "GET", f"/threads/{made}/state/{NOWHERE}")
expect(404, "GET", f"/threads/{made}/runs/{NOWHERE}")
expect(404, "GET", f"/threads/{thread}/runs/{run}")

# A client receives all events, also if two of them are larger than what is kept of a run.
status, _, text = call("POST", "/runs/stream", {"assistant_id": "steps", "input": {"trace": "x" * 2500000}, "stream_mode": ["values", "updates"]})
assert status == 200 and [len(json.loads(line[6:]).get("trace", ())) for line in text.split("\n") if line.startswith("data: {\"trace\"")] == [1, 2, 3, 4], text[-300:]

# The namespace of the plugin is closed.
expect(422, "PUT", "/store/items", {"namespace": ["langgraph", "threads"], "key": thread, "value": {}})
expect(422, "GET", f"/store/items?namespace=langgraph.threads&key={thread}")
expect(422, "PUT", "/store/items", {"namespace": ["a"], "key": "k", "value": 7})
expect(422, "POST", "/store/items/search", {"namespace_prefix": ["langgraph"]})
assert expect(200, "POST", "/store/items/search", {"namespace_prefix": []}) == {"items": []}
expect(404, "GET", "/store/items?namespace=a&key=k")

# Nothing of this user is there for another one.
of = f"/threads/{made}"
for method, path, body in (
    ("GET", "", None), ("PATCH", "", {}), ("DELETE", "", None), ("POST", "/copy", {}), ("GET", "/state", None),
    ("POST", "/state", {"values": {}}), ("POST", "/history", {}), ("GET", "/runs", None), ("POST", "/runs", hello),
    ("POST", "/runs/stream", hello), ("POST", "/runs/wait", hello), ("GET", f"/runs/{run}", None),
    ("DELETE", f"/runs/{run}", None), ("GET", f"/runs/{run}/join", None), ("GET", f"/runs/{run}/stream", None),
    ("POST", f"/runs/{run}/cancel", {}),
):
    expect(404, method, of + path, body, key=OTHER)
assert expect(200, "POST", "/threads/search", {}, key=OTHER) == []
assert expect(200, "POST", "/store/namespaces", {}, key=OTHER) == {"namespaces": []}
for names in (["docs", "a", "tags"], ["docs", "b", "tags"], ["docs", "b", "texts"]):
    expect(204, "PUT", "/store/items", {"namespace": names, "key": "k", "value": {"n": 1}})
for body, found in (
    ({"suffix": ["tags"]}, [["docs", "a", "tags"], ["docs", "b", "tags"]]),
    ({"suffix": ["*", "texts"], "prefix": ["docs"]}, [["docs", "b", "texts"]]),
    ({"suffix": ["tags"], "max_depth": 1}, [["docs"]]),
    ({"suffix": ["docs", "a", "b", "tags"]}, []),
):
    assert expect(200, "POST", "/store/namespaces", body) == {"namespaces": found}, body
expect(422, "POST", "/store/namespaces", {"suffix": "tags"})
expect(200, "GET", of)

# A deleted thread leaves nothing.
expect(204, "DELETE", of)
for path in ("", "/runs", f"/runs/{run}"):
    expect(404, "GET", of + path)
assert made not in [each["thread_id"] for each in expect(200, "POST", "/threads/search", {})]
assert expect(200, "POST", "/threads", {"thread_id": made})["values"] is None
assert expect(200, "GET", of + "/runs") == []

# Another run interrupts the active one and those that wait.
slow = {**hello, "assistant_id": "slow"}
first, second = (expect(200, "POST", runs, slow)["run_id"] for _ in range(2))
expect(200, "POST", runs + "/wait", {**hello, "multitask_strategy": "interrupt"})
assert [each["status"] for each in expect(200, "GET", runs)] == ["success", "interrupted", "interrupted"]

# A run that starts later does not keep others waiting; several are cancelled at once.
later = expect(200, "POST", runs, {**hello, "after_seconds": 3600})
assert later["status"] == "pending"
expect(200, "POST", runs + "/wait", hello)
assert expect(200, "GET", f"{runs}/{later['run_id']}")["status"] == "pending"
late = expect(200, "POST", runs, {**slow, "after_seconds": 0.3})["run_id"]  # waits in line behind a newer run
expect(200, "POST", runs, slow)
expect(200, "POST", "/runs/wait", {**hello, "after_seconds": 0.4})  # begins after `late` could
expect(200, "POST", runs + "/wait", {**hello, "multitask_strategy": "interrupt"})
assert expect(200, "GET", f"{runs}/{late}")["status"] == "interrupted"
unwanted = expect(200, "POST", runs, {**hello, "after_seconds": 3600})["run_id"]
expect(409, "DELETE", f"{runs}/{unwanted}")
expect(202, "POST", f"{runs}/{unwanted}/cancel")
expect(409, "POST", f"{runs}/{unwanted}/cancel")
assert expect(200, "GET", f"{runs}/{unwanted}")["status"] == "interrupted"
active = [expect(200, "POST", runs, slow)["run_id"] for _ in range(2)]
expect(404, "POST", "/runs/cancel", {"status": "all"}, key=OTHER)
expect(404, "POST", "/runs/cancel", {"run_ids": active}, key=OTHER)
expect(204, "POST", "/runs/cancel", {"run_ids": [later["run_id"]], "thread_id": thread})
assert expect(200, "GET", f"{runs}/{later['run_id']}")["status"] == "interrupted"
expect(204, "POST", "/runs/cancel", {"status": "all"})
for run in active:
    expect(200, "GET", f"{runs}/{run}/join")
    assert expect(200, "GET", f"{runs}/{run}")["status"] == "interrupted"
expect(404, "POST", "/runs/cancel", {"status": "all"})
assert expect(200, "POST", runs + "/wait", {**hello, "after_seconds": 0.01})["messages"]
for body in ({}, {"status": "absent"}, {"run_ids": "x"}, {"run_ids": [NOWHERE] * 1001}):
    expect(422, "POST", "/runs/cancel", body)
expect(422, "POST", "/threads/search", {"ids": [NOWHERE] * 1001})
expect(422, "POST", runs, {**hello, "after_seconds": -1})

# Who joins a run and leaves does not cancel it; who has started it does.
def leave(method, path, body=None):
    """Sends a request, and resets its connection as soon as the server answers the next one."""
    host, port = URL.removeprefix("http://").split(":")
    connection, data = socket.create_connection((host, int(port))), json.dumps(body).encode() if body else b""
    connection.sendall(f"{method} {path} HTTP/1.1\r\nHost: {host}:{port}\r\nx-api-key: {KEY}\r\ncontent-type: application/json\r\n"
                       f"content-length: {len(data)}\r\n\r\n".encode() + data)
    while not [run for run in expect(200, "GET", runs) if run["status"] == "running"]:
        pass
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


first = expect(200, "POST", runs, {**slow, "on_disconnect": "cancel"})["run_id"]
leave("GET", f"{runs}/{first}/join")
for _ in range(3):
    assert expect(200, "GET", f"{runs}/{first}")["status"] == "running"
expect(202, "POST", f"{runs}/{first}/cancel")
expect(200, "GET", f"{runs}/{first}/join")
leave("POST", runs + "/wait", {**slow, "on_disconnect": "cancel"})
while expect(200, "GET", runs)[0]["status"] == "running":
    pass
assert expect(200, "GET", runs)[0]["status"] == "interrupted"

# What the runs of one user may take, also when they have ended: by bytes, then by number.
kept = expect(200, "POST", runs, hello)["run_id"]
expect(200, "GET", f"{runs}/{kept}/join")
events = f"{runs}/{kept}/stream"
assert "event: values" in call("GET", events, headers={"Last-Event-ID": "-1"})[2]
large = {"assistant_id": "chat", "input": {"x": "y" * (15 << 20)}, "after_seconds": 3600}
for status in (200, 200, 200, 200, 429):
    expect(status, "POST", "/runs", large)
expect(204, "POST", "/runs/cancel", {"status": "all"})
assert "event: values" in call("GET", events, headers={"Last-Event-ID": "-1"})[2]
expect(200, "POST", "/runs", large)
expect(204, "POST", "/runs/cancel", {"status": "all"})
assert call("GET", events, headers={"Last-Event-ID": "-1"})[::2] == (200, "")
waits = {**hello, "after_seconds": 3600}
for status, count in ((200, 100), (200, 100), (429, 57), (200, 56), (429, 1)):
    expect(status, "POST", "/runs/batch", [waits] * count)
expect(429, "POST", runs + "/wait", hello)
expect(200, "POST", "/runs/wait", hello, key=OTHER)
expect(204, "POST", "/runs/cancel", {"status": "all"})
expect(200, "POST", runs + "/wait", hello)

# Breakpoints, of this request only; `input: null` continues.
steps = expect(200, "POST", "/threads", {})["thread_id"]
at = f"/threads/{steps}"
begin = {"assistant_id": "steps", "input": {"trace": ["start"]}}
assert expect(200, "POST", at + "/runs/wait", {**begin, "interrupt_before": ["b"]}) == {
    "trace": ["start", "a"], "__interrupt__": []}
assert expect(200, "GET", at)["status"] == "interrupted"
state = expect(200, "GET", at + "/state")
assert state["next"] == ["b"] and state["interrupts"] == [], state
assert expect(200, "POST", at + "/runs/wait", {"assistant_id": "steps", "input": None, "interrupt_after": "*"})[
    "trace"] == ["start", "a", "b"]
whole = {"trace": ["start", "a", "b", "c"]}
assert expect(200, "POST", at + "/runs/wait", {"assistant_id": "steps", "input": None}) == whole
history = expect(200, "POST", at + "/history", {})
assert [point["next"] for point in history] == [[], ["c"], ["c"], ["b"], ["a"], ["__start__"]], history

# From an older checkpoint: with nothing, with other values, with new input. The history only grows.
after_a = history[3]["checkpoint"]["checkpoint_id"]
again = {"assistant_id": "steps", "input": None, "checkpoint": {"checkpoint_id": after_a}}
assert expect(200, "POST", at + "/runs/wait", again) == whole
expect(200, "POST", at + "/state", {"values": {"trace": ["changed"]}, "checkpoint_id": after_a})
state = expect(200, "GET", at + "/state")
assert state["values"] == {"trace": ["start", "a", "changed"]} and state["next"] == ["b"], state
assert expect(200, "POST", at + "/runs/wait", {"assistant_id": "steps", "input": None})["trace"] == [
    "start", "a", "changed", "b", "c"]
fresh = {**begin, "config": {"configurable": {"checkpoint_id": after_a}}}
assert expect(200, "POST", at + "/runs/wait", fresh)["trace"] == ["start", "a", "start", "a", "b", "c"]
forks = [point for point in expect(200, "POST", at + "/history", {"limit": 100}) if point["metadata"]["source"] == "fork"]
assert [point["parent_checkpoint"]["checkpoint_id"] for point in forks] == [after_a] * 3, forks
assert expect(200, "GET", f"{at}/state/{history[0]['checkpoint']['checkpoint_id']}")["values"] == whole

before = {**begin, "checkpoint": history[5]["checkpoint"]}
assert expect(200, "POST", at + "/runs/wait", before) == whole
assert expect(200, "GET", f"{at}/state/{history[5]['checkpoint']['checkpoint_id']}")["values"] == {}

# `goto`, also in a thread without a run, whose state can be set.
goto = {"assistant_id": "steps", "command": {"goto": "c", "update": {"trace": ["x"]}}}
assert expect(200, "POST", at + "/runs/wait", goto)["trace"][-2:] == ["x", "c"]
seed = expect(200, "POST", "/threads", {"metadata": {"graph_id": "steps"}})["thread_id"]
expect(200, "POST", f"/threads/{seed}/state", {"values": {"trace": ["seed"]}, "as_node": "a"})
assert expect(200, "GET", f"/threads/{seed}/state")["next"] == ["b"]
assert expect(200, "POST", f"/threads/{seed}/runs/wait", {"assistant_id": "steps"})["trace"] == ["seed", "b", "c"]
goto = {"assistant_id": "steps", "command": {"goto": ["b", {"node": "c", "input": {}}]}, "if_not_exists": "create"}
assert expect(200, "POST", f"/threads/{NOWHERE}/runs/wait", goto)["trace"] == ["b", "c", "c"]
expect(409, "POST", f"/threads/{expect(200, 'POST', '/threads', {})['thread_id']}/state", {"values": {}})

# Assistants of users: a graph with a configuration.
made = expect(200, "POST", "/assistants", {"graph_id": "steps", "name": "short", "config": {"recursion_limit": 2},
                                           "metadata": {"of": "live"}})
mine = "/assistants/" + made["assistant_id"]
assert made["version"] == 1 and made["graph_id"] == "steps", made
failed = expect(200, "POST", "/runs/wait", {"assistant_id": made["assistant_id"], "input": {}})
assert failed["__error__"]["error"] == "RECURSION_LIMIT", failed
changed = expect(200, "PATCH", mine, {"config": {}, "description": "all of it"})
assert (changed["version"], changed["name"], changed["metadata"]) == (2, "short", {"of": "live"}), changed
assert expect(200, "POST", "/runs/wait", {"assistant_id": made["assistant_id"], "input": {}}) == {"trace": ["a", "b", "c"]}
run = expect(200, "POST", f"/threads/{seed}/runs", {"assistant_id": made["assistant_id"], "input": {}})
assert run["assistant_id"] == made["assistant_id"], run
found = expect(200, "POST", "/assistants/search", {"metadata": {"of": "live"}})
assert [each["assistant_id"] for each in found] == [made["assistant_id"]], found
assert expect(200, "POST", "/assistants/count", {"graph_id": "steps"}) == 2
assert expect(200, "POST", mine + "/latest", {"version": 2})["version"] == 2
expect(409, "POST", "/assistants", {"graph_id": "steps", "assistant_id": made["assistant_id"]})
for status, method, path, body in (
    (422, "POST", "/assistants", {}), (404, "POST", "/assistants", {"graph_id": "absent"}),
    (422, "POST", "/assistants", {"graph_id": "steps", "assistant_id": "x"}),
    (422, "POST", "/assistants", {"graph_id": "steps", "config": 7}),
    (409, "PATCH", "/assistants/steps", {}), (409, "DELETE", "/assistants/steps", None),
    (404, "GET", mine, None), (404, "POST", mine + "/latest", {"version": 1}),
):
    expect(status, method, path, body, key=OTHER if (status, method) == (404, "GET") else KEY)
expect(204, "DELETE", mine)
expect(404, "GET", mine)

# A thread with a state from the start.
whole = {"metadata": {"graph_id": "steps"}, "supersteps": [
    {"updates": [{"values": {"trace": ["1"]}, "as_node": "__start__"}]},
    {"updates": [{"values": {"trace": ["2"]}, "as_node": "a"}]}]}
expect(422, "POST", "/threads", {**whole, "supersteps": [{"updates": 7}]})
expect(422, "POST", "/threads", {**whole, "metadata": {}})
filled = expect(200, "POST", "/threads", whole)
assert filled["values"] == {"trace": ["1", "2"]} and filled["status"] == "interrupted", filled
assert expect(200, "GET", f"/threads/{filled['thread_id']}/state")["next"] == ["b"]
