"""Calls of tools as tasks, of both versions. Arguments: the URL, two keys of different owners, and the tasks that the first
part has printed: the second part runs after the server was killed."""
import concurrent.futures
import os
import sys
import time

from own_server_kit import ADA, BOB, connection, error, events, exchange, initialize, modern, request, result

EXTENSION = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
ABLE = {"elicitation": {}, **EXTENSION}


def accept(**content):
    return {"action": "accept", "content": content}


def begin(name, key=ADA, capabilities=ABLE, **arguments):
    task = result(modern("tools/call", {"name": name, "arguments": arguments}, key, capabilities))
    assert task["resultType"] == "task" and task["status"] == "working" and task["ttlMs"] == 3600000, task
    return task["taskId"]


def task(method, identity, key=ADA, capabilities=ABLE, **more):
    return modern("tasks/" + method, {"taskId": identity, **more}, key, capabilities)


def until(identity, *statuses):
    """The task with one of these statuses."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = result(task("get", identity))
        if found["status"] in statuses:
            return found
        assert found["status"] in ("working", "input_required"), found
        time.sleep(0.05)
    raise AssertionError(statuses)


def update(identity, key=ADA, **responses):
    assert "taskId" not in result(task("update", identity, key, inputResponses=responses))


def test_who_sees_it():
    own = begin("slow_compute", seconds=60)
    for method, more in (("get", {}), ("cancel", {}), ("update", {"inputResponses": {}})):
        assert error(task(method, own, BOB, **more)) == (200, -32602)
        assert error(task(method, own, capabilities={}, **more)) == (400, -32021)
        for wrong in ("x", own + "0", own[:-1], own.upper().replace("0", "A"), "0" * 32):
            assert error(task(method, wrong, **more)) == (200, -32602), wrong
    for removed in ("list", "result"):
        assert error(task(removed, own)) == (404, -32601)
    assert error(modern("subscriptions/listen", {"notifications": {"taskIds": [own]}})) == (400, -32021)
    assert result(task("get", own))["status"] == "working"
    assert result(task("cancel", own)).keys() == {"resultType", "_meta"}
    assert until(own, "cancelled")["taskId"] == own
    result(task("cancel", own))
    assert result(task("get", own))["status"] == "cancelled"


def test_results():
    assert until(begin("slow_compute", seconds=0.1), "completed")["result"]["content"][0]["text"] == "computed"
    assert until(begin("failing_job"), "completed")["result"]["isError"] is True
    assert until(begin("protocol_error_job"), "failed")["error"]["code"] == -32603
    assert error(modern("tools/call", {"name": "failing_job"})) == (400, -32021)
    assert "result" not in until(begin("confirm_delete", capabilities=EXTENSION), "failed")  # nobody can be asked


def test_questions():
    one = begin("ask_twice")
    asked = until(one, "input_required")["inputRequests"]
    assert list(asked) == ["colour.0"], asked
    update(one, unknown=accept(value="red"))
    assert list(result(task("get", one))["inputRequests"]) == ["colour.0"]
    update(one, **{"colour.0": accept(value="blue")})  # the host refuses it: asked again, with another key
    assert list(until(one, "input_required")["inputRequests"]) == ["colour.1"]
    update(one, **{"colour.0": accept(value="red")})  # a key counts once
    assert list(until(one, "input_required")["inputRequests"]) == ["colour.1"]
    update(one, **{"colour.1": accept(value="red")})
    deadline = time.monotonic() + 60
    while "again.2" not in (found := result(task("get", one))).get("inputRequests", {}) and time.monotonic() < deadline:
        time.sleep(0.05)
    update(one, **{"again.2": accept(value="green")})
    assert until(one, "completed")["result"]["content"][0]["text"] == "green"
    update(one, **{"again.2": accept(value="red")})  # too late, and acknowledged

    declined = begin("ask_twice")
    until(declined, "input_required")
    update(declined, **{"colour.0": {"action": "decline"}})
    assert until(declined, "cancelled")


def test_answers_at_the_same_time():
    """Also by two keys of one user."""
    for keys_of_user in ((ADA, ADA, ADA, ADA), (ADA, os.environ["SECOND_OF_ADA"]), (os.environ["SECOND_OF_ADA"], ADA)):
        both = begin("multi_input")
        asked = list(until(both, "input_required")["inputRequests"])
        assert len(asked) == 2
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda name, key: update(both, key, **{name: accept(name=name)}), asked * 2, keys_of_user))
        assert until(both, "completed")["result"]["content"][0]["text"] == "first second"


def test_numbers_that_are_too_large():
    written = "0123456789abcdef0123456789abcdef"
    assert result(task("get", written))["status"] == "working"
    update(written, unknown=accept())


# ---- 2025-11-25 ----

def ask(session, method, key=ADA, **params):
    return exchange("POST", request(method, params), session, key)


def begin_legacy(session, name, key=ADA, ttl=60000, **arguments):
    made = result(ask(session, "tools/call", key, name=name, arguments=arguments, task={"ttl": ttl}))["task"]
    assert made["status"] == "working" and made["pollInterval"] > 0
    return made


def test_legacy():
    session, server = initialize(capabilities={"elicitation": {}})
    assert server["capabilities"]["tasks"] == {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
    assert "extensions" not in server["capabilities"]
    support = {tool["name"]: tool.get("execution", {}).get("taskSupport") for tool in result(ask(session, "tools/list"))["tools"]}
    assert (support["slow_compute"], support["failing_job"], support["greet"]) == ("optional", "required", None)
    assert all("execution" not in tool for tool in result(modern("tools/list"))["tools"])
    assert error(ask(session, "tools/call", name="greet", arguments={"name": "A"}, task={})) == (200, -32601)
    assert error(ask(session, "tools/call", name="failing_job")) == (200, -32601)
    older, server = initialize(version="2025-06-18")
    assert "tasks" not in server["capabilities"]
    assert result(ask(older, "tools/call", name="greet", arguments={"name": "A"}, task={}))["content"]

    slow = begin_legacy(session, "slow_compute", seconds=0.2)
    assert slow["ttl"] == 60000
    got = result(ask(session, "tasks/result", taskId=slow["taskId"]))  # waits
    assert got["content"][0]["text"] == "computed"
    assert got["_meta"]["io.modelcontextprotocol/related-task"] == {"taskId": slow["taskId"]}
    assert result(ask(session, "tasks/get", taskId=slow["taskId"]))["status"] == "completed"
    assert error(ask(session, "tasks/cancel", taskId=slow["taskId"])) == (200, -32602)
    failing = begin_legacy(session, "failing_job")["taskId"]
    assert result(ask(session, "tasks/result", taskId=failing))["isError"] is True
    assert result(ask(session, "tasks/get", taskId=failing))["status"] == "failed"
    assert error(ask(session, "tasks/result", taskId=begin_legacy(session, "protocol_error_job")["taskId"])) == (200, -32603)
    endless = begin_legacy(session, "slow_compute", seconds=60)["taskId"]
    assert result(ask(session, "tasks/cancel", taskId=endless))["status"] == "cancelled"
    assert error(ask(session, "tasks/result", taskId=endless)) == (200, -32603)

    listed = [each["taskId"] for each in result(ask(session, "tasks/list"))["tasks"]]
    assert {slow["taskId"], failing, endless} <= set(listed)
    other, _ = initialize(key=BOB)
    assert result(ask(other, "tasks/list", BOB)) == {"tasks": []}
    assert error(ask(other, "tasks/result", BOB, taskId=failing)) == (200, -32602)
    assert error(ask(session, "tasks/list", cursor="x")) == (200, -32602)


def test_legacy_question():
    session, _ = initialize(capabilities={"elicitation": {}})
    identity = begin_legacy(session, "confirm_delete")["taskId"]
    link, response = connection("POST", request("tasks/result", {"taskId": identity}), session)
    stream = (message for _, message in events(response) if message)
    asked = next(stream)
    assert asked["params"]["_meta"]["io.modelcontextprotocol/related-task"] == {"taskId": identity}, asked
    assert result(ask(session, "tasks/get", taskId=identity))["status"] == "input_required"
    exchange("POST", {"jsonrpc": "2.0", "id": asked["id"], "result": accept(confirm=True)}, session)
    assert next(stream)["result"]["content"][0]["text"] == "confirm"
    link.close()

    identity = begin_legacy(session, "confirm_delete")["taskId"]  # the one who waits is cancelled, and the task is not
    link, response = connection("POST", request("tasks/result", {"taskId": identity}, 77), session)
    next(message for _, message in events(response) if message)
    exchange("POST", {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}}, session)
    link.close()
    assert result(ask(session, "tasks/get", taskId=identity))["status"] == "input_required"


def test_limits():
    session, _ = initialize(key=BOB)
    for _ in range(99):
        begin_legacy(session, "slow_compute", BOB, ttl=600000, seconds=0)
    last = begin_legacy(session, "slow_compute", BOB, ttl=5000, seconds=0)["taskId"]
    assert error(ask(session, "tools/call", BOB, name="slow_compute", arguments={"seconds": 0}, task={})) == (429, -32603)
    assert begin_legacy(initialize()[0], "slow_compute", seconds=0, ttl=1e12)["ttl"] == 86400000
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        status, _, messages = ask(session, "tasks/get", BOB, taskId=last)
        if "error" in messages[-1]:
            break
        time.sleep(0.2)
    assert messages[-1]["error"]["code"] == -32602
    begin_legacy(session, "slow_compute", BOB, ttl=1, seconds=0)  # it has made room
    assert last not in [task["taskId"] for task in result(ask(session, "tasks/list", BOB))["tasks"]]


# ---- After the server was killed ----

def after(slow, asked, half):
    found = until(slow, "completed")
    assert found["result"]["content"][0]["text"] == "computed", found
    update(asked, **{key: accept(confirm=True) for key in until(asked, "input_required")["inputRequests"]})
    assert until(asked, "completed")["result"]["content"][0]["text"] == "confirm"
    (key,) = until(half, "input_required")["inputRequests"]  # the other one was answered before
    update(half, **{key: accept(name="x")})
    assert until(half, "completed")["result"]["content"][0]["text"] == "first second"


if len(sys.argv) > 4:
    after(*sys.argv[4:])
else:
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
    waits, parts = begin("confirm_delete"), begin("multi_input")
    until(waits, "input_required")
    update(parts, **{list(until(parts, "input_required")["inputRequests"])[0]: accept(name="x")})
    print(begin("slow_compute", seconds=3), waits, parts)
