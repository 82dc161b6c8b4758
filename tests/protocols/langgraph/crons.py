"""Crons of the API of LangGraph's server, and what they start: crons.py URL KEY OTHER_KEY. Due times come from REST, by
which a schedule can be due in a moment: the smallest interval of a cron expression is a minute."""

import datetime
import json
import sys
import time
import urllib.error
import urllib.request

URL, KEY, OTHER = sys.argv[1:4]
NOWHERE = "00000000-0000-4000-b000-0000000c7055"
DAILY = {"assistant_id": "chat", "schedule": "0 3 * * *", "input": {"messages": [{"role": "user", "content": "hi"}]}}


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


def until(condition, what):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(what)


def fire(cron, key=KEY):
    """The cron is due in a moment, once. True: it has started a run."""
    soon = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(milliseconds=700)).isoformat()
    expect(200, "POST", "/api/schedule/update", {"schedule_id": cron["cron_id"], "at": soon, "timezone": None}, key)
    schedule = until(lambda: handled(cron, key), "the cron is not due")
    return schedule["run_id"].split(":")[-1], schedule["error"]


def handled(cron, key):
    schedule = expect(200, "POST", "/api/schedule/get", {"schedule_id": cron["cron_id"]}, key)
    return schedule if schedule["next_at"] is None and schedule["last_at"] else None


# What is not valid makes no cron.
for status, body in (
    (422, {}),
    (422, {"assistant_id": "chat"}),
    (422, {"schedule": "0 3 * * *"}),
    (404, {**DAILY, "assistant_id": "absent"}),
    (422, {**DAILY, "schedule": "0 25 * * *"}),
    (422, {**DAILY, "schedule": 7}),
    (422, {**DAILY, "timezone": "Nowhere/Here"}),
    (422, {**DAILY, "end_time": "soon"}),
    (422, {**DAILY, "end_time": "2001-01-01T00:00:00Z"}),
    (422, {**DAILY, "enabled": "yes"}),
    (422, {**DAILY, "metadata": 7}),
    (422, {**DAILY, "on_run_completed": "forget"}),
    (422, {**DAILY, "command": {"resume": 1}}),
    (422, {**DAILY, "input": "hi"}),
    (422, {**DAILY, "stream_mode": "absent"}),
):
    expect(status, "POST", "/runs/crons", body)
expect(404, "POST", f"/threads/{NOWHERE}/runs/crons", DAILY)
expect(422, "POST", "/threads/x/runs/crons", DAILY)
assert expect(200, "POST", "/runs/crons/count", {}) == 0
for method in ("GET", "PATCH", "DELETE"):
    expect(404, method, "/runs/crons/" + NOWHERE, {} if method == "PATCH" else None)
    expect(422, method, "/runs/crons/x", {} if method == "PATCH" else None)

# Making, changing, finding.
zone = {"timezone": "Europe/Berlin", "end_time": "2099-01-01T00:00:00+00:00", "metadata": {"of": "a", "n": 1}}
daily = expect(200, "POST", "/runs/crons", {**DAILY, **zone})
assert (daily["schedule"], daily["timezone"], daily["enabled"], daily["thread_id"]) == ("0 3 * * *", "Europe/Berlin", True, None)
assert daily["on_run_completed"] == "delete" and daily["end_time"].startswith("2099-01-01T00:00:00") and daily["next_run_date"]
assert daily["payload"]["input"] == DAILY["input"] and daily["metadata"] == zone["metadata"], daily
assert expect(200, "GET", "/runs/crons/" + daily["cron_id"]) == daily
thread = expect(200, "POST", "/threads", {"metadata": {"k": "v"}})["thread_id"]
bound = expect(200, "POST", f"/threads/{thread}/runs/crons", {**DAILY, "stream_mode": ["values", "updates"]})
assert bound["thread_id"] == thread and bound["on_run_completed"] is None, bound
assert expect(200, "GET", "/threads/" + thread)["metadata"]["k"] == "v"


def found(**wanted):
    return [cron["cron_id"] for cron in expect(200, "POST", "/runs/crons/search", wanted)]


both = [bound["cron_id"], daily["cron_id"]]
assert found() == both and found(sort_order="asc") == both[::-1] and found(limit=1, offset=1) == both[1:]
assert found(thread_id=thread) == both[:1] and found(assistant_id=daily["assistant_id"]) == both and found(assistant_id="steps") == []
assert found(metadata={"of": "a"}) == both[1:] and found(enabled=False) == []
assert expect(200, "POST", "/runs/crons/search", {"select": ["cron_id"], "limit": 1}) == [{"cron_id": both[0]}]
assert expect(200, "POST", "/runs/crons/count", {"thread_id": thread}) == 1
changed = expect(200, "PATCH", "/runs/crons/" + daily["cron_id"], {"schedule": "0 4 * * *", "end_time": None, "metadata": {"n": 2}})
assert (changed["schedule"], changed["end_time"], changed["metadata"]) == ("0 4 * * *", None, {"of": "a", "n": 2}), changed
assert changed["timezone"] == "Europe/Berlin" and changed["payload"]["input"] == DAILY["input"], changed
assert expect(200, "PATCH", "/runs/crons/" + daily["cron_id"], {"enabled": False})["next_run_date"] is None
assert found(enabled=False) == both[1:]
expect(422, "PATCH", "/runs/crons/" + daily["cron_id"], {"schedule": "x"})
expect(422, "PATCH", "/runs/crons/" + daily["cron_id"], {"metadata": 7})

# Another user sees none of them, nor schedules that no client of this protocol has made.
for method in ("GET", "PATCH", "DELETE"):
    expect(404, method, "/runs/crons/" + daily["cron_id"], {} if method == "PATCH" else None, key=OTHER)
assert expect(200, "POST", "/runs/crons/count", {}, key=OTHER) == 0
plain = expect(200, "POST", "/api/schedule/create", {"document": "graph:chat", "cron": "@daily"})["schedule_id"].split(":")[-1]
expect(404, "GET", "/runs/crons/" + plain)
assert found() == both

# A run of the thread: in its list, with its values, and its stream can be joined.
run_id, error = fire(bound)
assert error is None, error
run = until(lambda: next((one for one in expect(200, "GET", f"/threads/{thread}/runs") if one["status"] == "success"), None), "no run")
assert run["run_id"] == run_id and run["metadata"]["cron_id"] == bound["cron_id"], run
values = expect(200, "GET", f"/threads/{thread}/runs/{run_id}/join")
assert [message["content"] for message in values["messages"]] == ["hi", "Hello there, friend."], values
assert expect(200, "GET", "/threads/" + thread)["metadata"]["graph_id"] == "chat"
expect(404, "GET", f"/threads/{thread}/runs/{run_id}", key=OTHER)

# A new thread for each run, which is kept; and runs that are not saved.
kept = expect(200, "POST", "/runs/crons", {**DAILY, "on_run_completed": "keep", "metadata": {"keeps": True}})


def idle():
    return expect(200, "POST", "/threads/search", {"limit": 100, "status": "idle"})


known = {one["thread_id"] for one in idle()}
run_id, error = fire(kept)
made = until(lambda: [one for one in idle() if one["thread_id"] not in known and one["values"]], "no thread")
assert error is None and len(made) == 1 and made[0]["metadata"]["graph_id"] == "chat", (error, made)
listed = until(lambda: expect(200, "GET", f"/threads/{made[0]['thread_id']}/runs"), "no run")
assert [one["run_id"] for one in listed] == [run_id] and listed[0]["metadata"]["keeps"], listed
before = expect(200, "POST", "/threads/count", {})
assert fire(expect(200, "POST", "/runs/crons", DAILY))[1] is None
assert expect(200, "POST", "/threads/count", {}) == before
for cron in expect(200, "POST", "/runs/crons/search", {}):
    expect(200, "DELETE", "/runs/crons/" + cron["cron_id"])
assert expect(200, "POST", "/runs/crons/count", {}) == 0
