"""Rolling runs back, and pruning threads, by the API of LangGraph's server: rollback.py URL KEY OTHER_KEY."""

import json
import sys
import time
import urllib.error
import urllib.request

URL, KEY, OTHER = sys.argv[1:4]
NOWHERE = "00000000-0000-4000-b000-0000000c7055"


def call(method, path, body=None, key=KEY):
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json", "x-api-key": key}
    try:
        with urllib.request.urlopen(urllib.request.Request(URL + path, data, headers, method=method), timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def expect(status, *arguments, **options):
    found, text = call(*arguments, **options)
    assert found == status, (arguments, found, text)
    return json.loads(text) if text else None


def said(text):
    return {"input": {"messages": [{"role": "user", "content": text}]}}


def contents(values):
    return [message["content"] for message in values["messages"]]


def running(of, run):
    end = time.monotonic() + 60
    while expect(200, "GET", f"{of}/runs/{run}")["status"] != "running":
        assert time.monotonic() < end
        time.sleep(0.05)


def new_thread():
    return "/threads/" + expect(200, "POST", "/threads", {})["thread_id"]


def history(of):
    return expect(200, "POST", of + "/history", {"limit": 100})


# A new run rolls the active one back, with those that wait: only what was before is left.
of = new_thread()
expect(200, "POST", of + "/runs/wait", {"assistant_id": "chat", **said("one")})
before = history(of)
slow = expect(200, "POST", of + "/runs", {"assistant_id": "slow", **said("undone")})["run_id"]
waits = expect(200, "POST", of + "/runs", {"assistant_id": "slow", **said("undone, too")})["run_id"]
running(of, slow)
values = expect(200, "POST", of + "/runs/wait", {"assistant_id": "chat", "multitask_strategy": "rollback", **said("two")})
assert contents(values) == ["one", "Hello there, friend.", "two", "Hello there, friend."], values
expect(404, "GET", f"{of}/runs/{slow}")
assert expect(200, "GET", f"{of}/runs/{waits}")["status"] == "interrupted"
after = history(of)
assert [entry["checkpoint"] for entry in after][-len(before):] == [entry["checkpoint"] for entry in before], after
assert "undone" not in json.dumps(after)

# A run that has waited for another one, and has begun meanwhile.
first = expect(200, "POST", of + "/runs", {"assistant_id": "slow", **said("stays")})["run_id"]
second = expect(200, "POST", of + "/runs", {"assistant_id": "slow", **said("goes")})["run_id"]
running(of, first)
expect(409, "POST", f"{of}/runs/{first}/cancel?action=rollback", {})
expect(202, "POST", f"{of}/runs/{first}/cancel", {})
running(of, second)
expect(202, "POST", f"{of}/runs/{second}/cancel?action=rollback", {})
expect(404, "GET", f"{of}/runs/{second}")
expect(404, "GET", f"{of}/runs/{second}", key=OTHER)
left = contents(expect(200, "GET", of + "/state")["values"])
assert "stays" in left and "goes" not in left, left

# The first run of a thread.
of = new_thread()
slow = expect(200, "POST", of + "/runs", {"assistant_id": "slow", **said("undone")})["run_id"]
running(of, slow)
expect(202, "POST", f"{of}/runs/{slow}/cancel?action=rollback&wait=1", {})
assert expect(200, "GET", of + "/runs") == [] and history(of) == []
assert expect(200, "GET", of)["values"] is None
assert contents(expect(200, "POST", of + "/runs/wait", {"assistant_id": "chat", **said("one")}))[0] == "one"

# Pruning.
expect(200, "POST", of + "/runs/wait", {"assistant_id": "chat", **said("two")})
values, other = expect(200, "GET", of + "/state")["values"], new_thread()
ids = [of.split("/")[-1], other.split("/")[-1], NOWHERE]
for status, body in ((422, {}), (422, {"thread_ids": ["x"]}), (422, {"thread_ids": "x"}), (422, {"thread_ids": [], "strategy": "x"})):
    expect(status, "POST", "/threads/prune", body)
assert expect(200, "POST", "/threads/prune", {"thread_ids": ids}, key=OTHER) == {"pruned_count": 0}
assert len(history(of)) > 2
assert expect(200, "POST", "/threads/prune", {"thread_ids": ids, "strategy": "keep_latest"}) == {"pruned_count": 1}
assert len(history(of)) == 1 and expect(200, "GET", of + "/state")["values"] == values
assert contents(expect(200, "POST", of + "/runs/wait", {"assistant_id": "chat", **said("three")}))[-2] == "three"
assert expect(200, "POST", "/threads/prune", {"thread_ids": ids}) == {"pruned_count": 2}
for path in (of, other):
    expect(404, "GET", path)

# What the user has written as a memory of a run by another protocol: no time, and events that are none.
of, run = new_thread(), "00000000-0000-4000-b000-000000000001"
names = ["langgraph", "runs", of.split("/")[-1]]
saved = {"status": "success", "assistant_id": "chat", "created_at": "\u00fc" * 100, "kwargs": {}}
expect(200, "POST", "/api/memory/put", {"namespace": names, "key": run, "value": saved})
names = ["langgraph", "events", names[2], run]
events = [{"id": "1", "event": 7}, 7, {"id": "3", "event": "values", "data": "last"}]
expect(200, "POST", "/api/memory/put", {"namespace": names, "key": "1", "value": {"events": events}})
headers = {"x-api-key": KEY, "last-event-id": "-1"}
with urllib.request.urlopen(urllib.request.Request(f"{URL}{of}/runs/{run}/stream", headers=headers), timeout=60) as stream:
    text = stream.read().decode()
assert text == 'event: values\nid: 3\ndata: last\n\n', text
assert expect(200, "GET", f"{of}/runs/{run}")["status"] == "success"
