"""Push notifications: configurations in both versions, what is sent, and what is not sent."""
from wire import AGENT, LIMIT, code, message
import time

SECRET = "hook-secret-4711"
CONFIGS = "/pushNotificationConfigs"


def states(received):
    """What was received, in short: the states, and the texts of artifacts."""
    made = []
    for _, body in received:
        assert len(body) == 1, body
        if "statusUpdate" in body:
            made.append(body["statusUpdate"]["status"]["state"].removeprefix("TASK_STATE_"))
        else:
            made.append("".join(part["text"] for part in body["artifactUpdate"]["artifact"]["parts"]))
    return made


def ended(received):
    return bool(received) and states(received)[-1] in ("COMPLETED", "FAILED", "CANCELED")


def config(hook, path, **more):
    return {"url": hook.address + path, **more}


def check_refused(host, hook, task):
    """Addresses that the operator has not allowed, and what is not a configuration."""
    port = hook.address.rsplit(":", 1)[1]
    urls = [
        "", "file:///etc/passwd", "ftp://127.0.0.1/", f"http://localhost:{port}/", f"http://[::1]:{port}/", "http://169.254.169.254/x",
        f"https://127.0.0.1:{port}/", f"http://127.0.0.1:{port}@example.com/", f"http://a:b@127.0.0.1:{port}/", f"http://127.0.0.1:{port}#x",
        f"http://127.0.0.1:{port}\\@example.com/", "http://127.0.0.1.example.com/", "http://2130706433/", "http://0x7f000001/",
        "http://127.1/", f"http://127.0.0.1:{port}/a b", "http://127.0.0.1:0/", "http://127.0.0.1:99999/", "http://127.0.0.1:80800000/",
        "http://127.0.0.1:/", "http://127.0.0.1\n.example.com/", "http://127.0.0.1:" + port + "/" + "a" * 2048, 7, None,
    ]
    path = f"{AGENT}/tasks/{task}{CONFIGS}"
    for url in urls:
        assert host.call(path, {"url": url})[0] == 400, url
        assert code(host.rpc("CreateTaskPushNotificationConfig", {"taskId": task, "url": url})) == -32602, url
        assert code(host.rpc("SendMessage", {**message("tck-complete-task"), "configuration": {"taskPushNotificationConfig": {"url": url}}})) == -32602
    for more in ({"token": "a\nb"}, {"token": "a" * 1025}, {"id": "a" * 129}, {"id": 7}, {"authentication": {}}, {"authentication": "x"},
                 {"authentication": {"scheme": "a b"}}, {"authentication": {"scheme": "Bearer", "credentials": "x\r\nHost: y"}}):
        assert host.call(path, config(hook, "/refused", **more))[0] == 400, more
    assert code(host.rpc("CreateTaskPushNotificationConfig", config(hook, "/refused"))) == -32602
    assert host.call(path)[1] == {"configs": []}


def check_methods(host, hook, task):
    """Created, read, listed, deleted, in both versions; of another user, nothing exists."""
    path = f"{AGENT}/tasks/{task}{CONFIGS}"
    given = config(hook, "/methods", id="one", token="t", authentication={"scheme": "Bearer", "credentials": SECRET})
    read = {"taskId": task, **given, "authentication": {"scheme": "Bearer"}}
    assert host.call(path, given) == (200, read)
    assert host.call(path + "/one") == (200, read)
    assert host.rpc("GetTaskPushNotificationConfig", {"taskId": task, "id": "one"})["result"] == read
    second = host.rpc("CreateTaskPushNotificationConfig", {"task_id": task, "url": hook.address + "/two"})["result"]
    assert len(second["id"]) == 32
    assert host.call(path)[1] == {"configs": [read, second]}
    old = {"taskId": task, "pushNotificationConfig": {"id": "one", "url": given["url"], "token": "t", "authentication": {"schemes": ["Bearer"]}}}
    for method, params in (("get", {"id": task, "pushNotificationConfigId": "one"}), ("get", {"id": task})):
        assert host.rpc("tasks/pushNotificationConfig/" + method, params, version=None)["result"] == old
    assert host.rpc("tasks/pushNotificationConfig/list", {"id": task}, version=None)["result"][0] == old
    third = host.rpc("tasks/pushNotificationConfig/set", {"taskId": task, "pushNotificationConfig": config(hook, "/3")}, version=None)["result"]
    assert third["pushNotificationConfig"]["id"] == task and third["taskId"] == task, third
    for own in (path, path + "/one"):
        assert host.call(own, key=host.bob)[0] == 404
        assert host.call(f"{AGENT}/tasks/@ada:{task}" + own.removeprefix(f"{AGENT}/tasks/{task}"), key=host.bob)[0] == 404
    assert host.call(path, given, key=host.bob)[0] == 404 and host.call(path + "/one", key=host.bob, method="DELETE")[0] == 404
    assert code(host.rpc("ListTaskPushNotificationConfigs", {"taskId": task}, key=host.bob)) == -32001
    for identity in [f"n{i}" for i in range(7)]:
        assert host.call(path, {**given, "id": identity})[0] == 200
    assert host.call(path, {**given, "id": "one too many"})[0] == 400 and host.call(path, {**given, "id": "n8"})[0] == 429
    assert host.rpc("tasks/pushNotificationConfig/delete", {"id": task, "pushNotificationConfigId": second["id"]}, version="0.3")["result"] is None
    assert host.rpc("DeleteTaskPushNotificationConfig", {"taskId": task, "id": task})["result"] == {}
    for identity in ["one", "one", *[f"n{i}" for i in range(7)]]:
        assert host.call(f"{path}/{identity}", method="DELETE") == (200, {}), identity
    assert host.call(path)[1] == {"configs": []} and host.call(path + "/one")[0] == 404


def check_sent(host, hook):
    """Each change, in order, with what authenticates it."""
    given = config(hook, "/sent?x=1", token="my-token", authentication={"scheme": "Bearer", "credentials": SECRET})
    task = host.send("tck-stream-artifact-chunked", {"taskPushNotificationConfig": given})
    received = hook.wait("/sent?x=1", ended)
    assert states(received) == ["WORKING", "chunk-1 ", "chunk-2", "COMPLETED"], received
    assert received[2][1]["artifactUpdate"]["append"] and received[2][1]["artifactUpdate"]["lastChunk"], received[2]
    for headers, body in received:
        assert headers["Authorization"] == "Bearer " + SECRET and headers["X-A2A-Notification-Token"] == "my-token"
        assert headers["Content-Type"] == "application/json" and headers["A2A-Version"] == "1.0"
        assert next(iter(body.values()))["taskId"] == task["id"], body
    host.send("tck-complete-task", {"taskPushNotificationConfig": config(hook, "/text")})
    assert states(hook.wait("/text", ended)) == ["WORKING", "Hello from TCK", "COMPLETED"]


def check_old(host, hook):
    """0.3: the task, with each state."""
    given = {"id": None, "url": hook.address + "/old", "token": None, "authentication": {"schemes": ["Basic"], "credentials": "YTpi"}}
    body = {"kind": "message", "role": "user", "messageId": "tck-artifact-data", "parts": [{"kind": "text", "text": "Hello"}]}
    task = host.rpc("message/send", {"message": body, "configuration": {"blocking": True, "pushNotificationConfig": given}}, version=None)["result"]
    received = hook.wait("/old", lambda all: len(all) == 2)
    assert [body["status"]["state"] for _, body in received] == ["working", "completed"], received
    headers, last = received[1]
    assert headers["Authorization"] == "Basic YTpi" and headers["A2A-Version"] == "0.3", headers
    assert last["kind"] == "task" and last["id"] == task["id"] and last["artifacts"] == task["artifacts"], last


def check_question(host, hook):
    """A configuration that was deleted gets nothing more; one that is added later gets what follows."""
    task = host.send("tck-input-required", {"taskPushNotificationConfig": config(hook, "/first", id="first")})
    assert states(hook.wait("/first", lambda all: len(all) == 2)) == ["WORKING", "INPUT_REQUIRED"]
    path = f"{AGENT}/tasks/{task['id']}{CONFIGS}"
    assert host.call(path + "/first", method="DELETE")[0] == 200
    assert host.call(path, config(hook, "/second"))[0] == 200
    host.send("tck-complete-task", taskId=task["id"])
    assert states(hook.wait("/second", ended)) == ["WORKING", "Hello from TCK", "COMPLETED"]
    assert len(hook.of("/first")) == 2, hook.of("/first")


def check_failures(host, hook):
    """What fails for a moment is repeated; redirects are not followed; what always fails is given up."""
    hook.answers.update({"/flaky": [503], "/redirects": [302], "/broken": [400] * 100})
    configurations = [config(hook, path, id=path[1:]) for path in ("/flaky", "/redirects", "/broken")]
    task = host.send("tck-input-required", {"taskPushNotificationConfig": configurations[0]})
    path = f"{AGENT}/tasks/{task['id']}{CONFIGS}"
    for one in configurations[1:]:
        assert host.call(path, one)[0] == 200
    host.send("tck-complete-task", taskId=task["id"])
    received = hook.wait("/flaky", ended)
    assert states(received) == ["WORKING", "WORKING", "INPUT_REQUIRED", "WORKING", "Hello from TCK", "COMPLETED"], states(received)
    assert states(hook.wait("/redirects", ended)) == ["WORKING", "Hello from TCK", "COMPLETED"] and not hook.of("/elsewhere")
    assert states(hook.wait("/broken", lambda all: len(all) == 3)) == ["WORKING", "Hello from TCK", "COMPLETED"]
    deadline = time.monotonic() + LIMIT
    while [one["id"] for one in host.call(path)[1]["configs"]] != ["flaky", "redirects"]:
        assert time.monotonic() < deadline, host.call(path)
        time.sleep(0.05)


def add_kept(host, hook, task):
    """Secrets are not in the store: what has one is gone after a restart."""
    authentication = {"scheme": "Bearer", "credentials": SECRET}
    for given in ({"id": "kept"}, {"id": "token", "token": SECRET}, {"id": "secret", "authentication": authentication}):
        assert host.call(f"{AGENT}/tasks/{task}{CONFIGS}", config(hook, "/kept", **given))[0] == 200


def check_kept(host, task):
    assert [one["id"] for one in host.call(f"{AGENT}/tasks/{task}{CONFIGS}")[1]["configs"]] == ["kept"]


def check(host, hook):
    assert host.call("/.well-known/agent-card.json")[1]["capabilities"]["pushNotifications"] is True
    task = host.send("tck-input-required")["id"]
    check_refused(host, hook, task)
    check_methods(host, hook, task)
    check_sent(host, hook)
    check_old(host, hook)
    check_question(host, hook)
    check_failures(host, hook)
    assert not hook.of("/refused") and not hook.of("/methods")
    return SECRET
