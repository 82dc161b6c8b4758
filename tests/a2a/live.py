"""live.py TENON GRAPH ADA BOB: what no SDK does: errors, two users, limits, paging, notifications, a host that is killed or
ends with a signal. The last line is what must not be in the log.
"""
import signal
import sys
from wire import AGENT, Hook, Host, code, message
import faults
import push

host = Host(*sys.argv[1:3])
host.ada, host.bob = sys.argv[3:5]
bob = host.bob
call, rpc, send = host.call, host.rpc, host.send


def rows():
    """Requests that are not valid: what JSON-RPC says. No run starts."""
    part, user = [{"text": "x"}], "ROLE_USER"
    return [
        ({}, -32602),
        ({"message": []}, -32602),
        ({"message": {"role": user, "parts": part}}, -32602),
        ({"message": {"role": user, "messageId": "", "parts": part}}, -32602),
        ({"message": {"role": "user", "messageId": "a", "parts": part}}, -32602),
        ({"message": {"role": "ROLE_AGENT", "messageId": "a", "parts": part}}, -32602),
        ({"message": {"role": user, "messageId": "a", "parts": []}}, -32602),
        ({"message": {"role": user, "messageId": "a", "parts": part * 101}}, -32602),
        ({"message": {"role": user, "messageId": "a", "parts": [{}]}}, -32602),
        ({"message": {"role": user, "messageId": "a", "parts": [{"text": 7}]}}, -32602),
        ({"message": {"role": user, "messageId": "a", "parts": [{"text": "x", "url": "y"}]}}, -32602),
        ({"message": {"role": user, "messageId": "a" * 129, "parts": part}}, -32602),
        (message("a", taskId="unknown"), -32001),
        (message("a", taskId="../" * 40), -32001),
        ({**message("a"), "configuration": {"historyLength": -1}}, -32602),
    ]


def check_errors():
    for params, expected in rows():
        assert code(rpc("SendMessage", params)) == expected, (params, expected)
        status, answer = call(AGENT + "/message:send", params)
        assert status >= 400 and answer["error"]["details"][0]["domain"] == "a2a-protocol.org", answer
    assert code(rpc("Nothing")) == -32601
    assert code(rpc("message/send")) == -32601 and code(rpc("SendMessage", version=None)) == -32601
    assert code(rpc("GetTask", {"id": "x"}, version="2.0")) == -32009
    for body, expected in ((b"{", -32700), (b"[]", -32600), (b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}', -32600)):
        assert code(call(AGENT, body)[1]) == expected, body
    assert code(call(AGENT, b"x", kind="text/plain")[1]) == -32005
    for name in ("Get", "Delete"):
        assert code(rpc(name + "TaskPushNotificationConfig", {"taskId": "x", "id": "y"})) == -32001
    assert call(AGENT + "/tasks/x", version=None)[0] == 400
    assert call(AGENT + "/tasks/x:nothing", {}, method="POST")[0] == 404
    assert call("/a2a/nothing/message:send", message("a"))[0] == 404
    status, answer = call(AGENT + "/tasks", key="tn_wrong")
    assert status == 401 and answer["error"]["status"] == "UNAUTHENTICATED", answer
    assert rpc("GetTask", {"id": "x"}, key="tn_wrong")["error"]["code"] == -32600
    for query in ("pageSize=0", "pageSize=101", "pageSize=x", "status=done", "pageToken=x", "statusTimestampAfter=x", "historyLength=-1"):
        assert call(f"{AGENT}/tasks?{query}")[0] == 400, query
    assert call(AGENT + "/tasks", key=bob)[1] == {"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0}


def check_users(task):
    """A task of another user does not exist."""
    path = f"{AGENT}/tasks/{task['id']}"
    for own in (path, path + ":subscribe"):
        assert call(own, key=bob)[0] == 404
    assert call(path + ":cancel", {}, key=bob, method="POST")[0] == 404
    assert call(f"{AGENT}/tasks/@ada:{task['id']}", key=bob)[0] == 404
    assert call(AGENT + "/message:send", message("tck-complete-task", taskId=task["id"]), key=bob)[0] == 404
    assert call(AGENT + "/tasks", key=bob)[1]["totalSize"] == 0


def check_list():
    tasks = [send("tck-complete-task", contextId="pages") for _ in range(5)]
    expected, found, token = [task["id"] for task in reversed(tasks)], [], ""
    while True:
        page = call(f"{AGENT}/tasks?contextId=pages&pageSize=2&pageToken={token}")[1]
        assert page["totalSize"] == 5 and page["pageSize"] == 2 and len(page["tasks"]) <= 2, page
        found += [task["id"] for task in page["tasks"]]
        token = page["nextPageToken"]
        if not token:
            break
    assert sorted(found) == sorted(expected), (found, expected)
    page = call(f"{AGENT}/tasks?contextId=pages&includeArtifacts=true&historyLength=0")[1]
    assert all("history" not in task and task["artifacts"] for task in page["tasks"]), page


def before(hook):
    card = call("/.well-known/agent-card.json", version=None)[1]
    assert card["url"] == host.address + AGENT and card["protocolVersion"] == "0.3.0", card
    assert [one["protocolVersion"] for one in card["supportedInterfaces"]] == ["1.0", "1.0", "0.3"], card
    assert "url" not in call("/.well-known/agent-card.json")[1]
    assert call("/a2a/tck/.well-known/agent-card.json")[1]["name"] == "tck"
    check_errors()
    check_list()
    task = send("tck-input-required", contextId="kept")
    check_users(task)
    push.add_kept(host, hook, task["id"])
    reject = send("tck-reject-task", contextId="kept")
    assert reject["status"]["state"] == "TASK_STATE_REJECTED" and reject["status"]["message"]["parts"][0]["text"] == "rejected"
    chunked = send("tck-stream-artifact-chunked", contextId="kept")
    at_once = call(AGENT + "/message:send", {**message("test-resubscribe-message-id", contextId="kept"), "configuration": {"returnImmediately": True}})[1]
    assert at_once["task"]["status"]["state"] in ("TASK_STATE_WORKING", "TASK_STATE_SUBMITTED"), at_once
    return task["id"], reject["id"], chunked["id"], at_once["task"]["id"]


def after(asks, reject, chunked, worked):
    """The host was killed: the tasks are those of the store, and the one that worked continues."""
    task = call(f"{AGENT}/tasks/{asks}")[1]
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED" and task["contextId"] == "kept", task
    assert task["history"][0]["messageId"] == "tck-input-required", task
    push.check_kept(host, asks)
    done = send("tck-complete-task", taskId=asks)
    assert done["status"]["state"] == "TASK_STATE_COMPLETED" and len(done["history"]) == 3, done
    assert call(f"{AGENT}/tasks/{reject}")[1]["status"]["state"] == "TASK_STATE_REJECTED"
    parts = call(f"{AGENT}/tasks/{chunked}")[1]["artifacts"][0]["parts"]
    assert [part["text"] for part in parts] == ["chunk-1 ", "chunk-2"], parts
    call(f"{AGENT}/tasks/{worked}")
    status, answer = call(f"{AGENT}/tasks/{worked}:cancel", {}, method="POST")
    assert status == 200 and answer["status"]["state"] == "TASK_STATE_CANCELED", answer
    assert call(f"{AGENT}/tasks/{worked}:cancel", {}, method="POST")[0] == 409
    listed = call(f"{AGENT}/tasks?contextId=kept&status=TASK_STATE_COMPLETED")[1]["tasks"]
    assert sorted(task["id"] for task in listed) == sorted([asks, chunked]), listed


def main():
    hook = Hook()
    host.start()
    try:
        secret = push.check(host, hook)
        tasks = before(hook)
        parts = faults.check(host, hook)
        next(parts)
        host.start()
        after(*tasks)
        next(parts)
        host.start()
        next(parts, None)
        assert host.end(signal.SIGTERM) == 0
        print(secret)
    finally:
        host.process.kill()


main()
