#!/usr/bin/env python3
"""What no client sends: live.py ADDRESS KEY OTHER-KEY. Standard output has the events that came, one in each line."""
import json
import random
import sys
import urllib.error
import urllib.request

ADDRESS, ADA, BOB = sys.argv[1:4]
USER = {"id": "u1", "role": "user", "content": "I like pizza."}


def post(body, key=ADA, path="/ag-ui/approval"):
    """(status, JSON), or (200, the events)."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(ADDRESS + path, data, {"Content-Type": "application/json", "Accept": "text/event-stream",
                                                           "Authorization": "Bearer " + key})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            text = response.read().decode()
    except urllib.error.HTTPError as error:
        problem = json.load(error)
        assert problem["type"] == "RUN_ERROR" and problem["message"] and None not in problem.values(), problem
        return error.code, problem
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
    for event in events:
        print(json.dumps(event))
    return 200, events


def run_input(thread, **more):
    return {"threadId": thread, "runId": "r", "state": {}, "messages": [USER], "tools": [], "context": [], "forwardedProps": {}, **more}


def refused(status, body, **more):
    got, problem = post(body, **more)
    assert got == status, (got, problem, body)
    return problem


def main():
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    for wrong in (b"{", b"[]", b"null", {}, run_input(""), run_input("a/b"), run_input("x" * 129), run_input(7), run_input("t", runId=None),
                  run_input("t", messages=None), run_input("t", messages={}), run_input("t", messages=[7]),
                  run_input("t", messages=[{**USER, "role": "robot"}]), run_input("t", messages=[{"role": "user", "content": "x"}]),
                  run_input("t", messages=[{**USER, "content": 7}]), run_input("t", messages=[{**USER, "content": [{"type": "smell"}]}]),
                  run_input("t", messages=[{**USER, "content": [{"type": "image", "source": {"type": "data", "value": "eA=="}}]}]),
                  run_input("t", messages=[{"id": "a", "role": "assistant", "toolCalls": [{**call, "function": {}}]}]),
                  run_input("t", messages=[{"id": "a", "role": "tool", "content": "x"}]), run_input("t", messages=[]),
                  run_input("t", messages=[USER] * 10001), run_input("t", tools=[{}]), run_input("t", tools=[{"name": "t"}] * 129),
                  run_input("t", context=[{}]), run_input("t", resume=[{"interruptId": "i", "status": "maybe"}]), run_input("t", resume=[7])):
        refused(400, wrong)
    refused(404, run_input("t", resume=[{"interruptId": "i", "status": "resolved"}]))
    refused(404, run_input("t"), path="/ag-ui/nothing")
    refused(404, run_input("t"), path="/ag-ui")  # several graphs are served
    refused(401, run_input("t"), key="tn_wrong")
    # All of them have started nothing: the thread does not exist. Members that are null are absent.
    status, events = post({**run_input("t"), "resume": None, "tools": None, "context": None, "state": None, "unknown": 1})
    assert status == 200 and events[0] == {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"}
    (interrupt,) = events[-1]["outcome"]["interrupts"]
    assert "/" not in json.dumps(interrupt["metadata"]), "a path of the server"
    answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": True}
    refused(409, run_input("t"))  # it waits
    refused(409, run_input("t", resume=[{**answer, "interruptId": "other"}]))
    # Another user's thread does not exist, and the name can be used again.
    refused(404, run_input("t", resume=[answer]), key=BOB)
    assert post(run_input("t"), key=BOB)[1][-1]["outcome"]["type"] == "interrupt"
    status, events = post(run_input("t", resume=[answer]))
    assert events[-1]["outcome"] == {"type": "success"}, events
    refused(400, run_input("t", messages=[USER, {"id": "a", "role": "assistant", "content": "Noted"}]))  # nothing is new
    # A new message instead of an answer discards what waited.
    status, events = post(run_input("n"))
    assert events[-1]["outcome"]["type"] == "interrupt"
    status, events = post(run_input("n", messages=[USER, {"id": "u2", "role": "user", "content": [{"type": "text", "text": "No."}]}]))
    assert status == 200 and events[-1]["outcome"]["type"] == "interrupt", events
    hostile()


def hostile():
    rng = random.Random(7)
    for _ in range(150):
        value = run_input(f"h{rng.randrange(4)}", resume=[{"interruptId": "i", "status": "resolved"}], tools=[{"name": "t", "parameters": {}}])
        for _ in range(rng.randrange(1, 4)):
            key = rng.choice(list(value))
            value[key] = rng.choice([None, 7, "x", [], {}, [None], [[]], [{}], [{"id": "a", "role": "assistant", "toolCalls": 7}],
                                     [{"id": "a", "role": "user", "content": [7]}], [{"id": "a", "role": "tool", "toolCallId": 7}]])
        status, _ = post(value, path=rng.choice(["/ag-ui/structured", "/ag-ui/question", "/ag-ui/tools"]))
        assert status in (200, 400, 404, 409), (status, value)


main()
