"""A2A for foreign.py: tasks and their push notifications."""
import json

MARKER = "orchid-7319"  # as in foreign.py
A2A = {"a2a-version": "1.0"}


def rpc(method, **params):
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def error(text, response):
    """JSON-RPC, or google.rpc.Status."""
    body = json.loads(text)
    found = body["error"]
    if "jsonrpc" in body:
        return isinstance(found["code"], int) and found["message"] != "" and found["data"][0]["domain"] == "a2a-protocol.org"
    return found["code"] == response.status and found["message"] != "" and found["details"][0]["domain"] == "a2a-protocol.org"


def message(**more):
    sent = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": MARKER}], **more}
    return {"message": sent, "configuration": {"returnImmediately": "taskId" not in more}}


def begin(made, ada):
    """The ids of tasks: one at its end, one that runs, one that asks."""
    hook = {"taskPushNotificationConfig": {"id": "hook", "url": "https://127.0.0.1:9/" + MARKER}}
    ids = {}
    for graph in ("long", "slow", "question"):
        body = message()
        body["configuration"] = {"returnImmediately": graph == "slow"}
        task, _ = made("POST", f"/a2a/{graph}/message:send", body, ada, A2A)
        ids[graph] = task["task"]["id"]
        made("POST", f"/a2a/{graph}/tasks/{ids[graph]}/pushNotificationConfigs", hook["taskPushNotificationConfig"], ada, A2A)
    return ids


def rows(ids):
    own = [(graph, name) for graph, identity in ids.items() for name in (identity, "@ada:" + identity)]
    configs = "/a2a/{graph}/tasks/{id}/pushNotificationConfigs"

    def each(after, statuses=(404,), body=None):
        return [(statuses, f"/a2a/{graph}/tasks/{name}{after}", body, A2A) for graph, name in own]

    def sends(action):
        return [((404,), f"/a2a/{graph}/message:{action}", message(taskId=name), A2A) for graph, name in own]

    calls = [((200,), f"/a2a/{graph}{end}", rpc(method, **{"id": name, "taskId": name, **more}), A2A)
             for end in ("", "/") for graph, name in own for method, more in (
                 ("GetTask", {}), ("CancelTask", {}), ("SubscribeToTask", {}), ("ListTaskPushNotificationConfigs", {}),
                 ("GetTaskPushNotificationConfig", {"id": "hook"}), ("SendMessage", message(taskId=name)))]
    return {
        ("GET", "/.well-known/agent-card.json"): [((200,), "/.well-known/agent-card.json", None, None)],
        ("GET", "/a2a/{graph}/.well-known/agent-card.json"): [((200,), "/a2a/long/.well-known/agent-card.json", None, None)],
        ("GET", "/a2a/{graph}/extendedAgentCard"): [((200,), "/a2a/long/extendedAgentCard", None, A2A)],
        ("POST", "/a2a/{graph}"): calls[:len(calls) // 2],
        ("POST", "/a2a/{graph}/"): calls[len(calls) // 2:len(calls) // 2 + 2],
        ("POST", "/a2a/{graph}/message:send"): sends("send"),
        ("POST", "/a2a/{graph}/message:stream"): sends("stream"),
        ("GET", "/a2a/{graph}/tasks"): [((200,), f"/a2a/{graph}/tasks?includeArtifacts=true", None, A2A) for graph in ids],
        ("GET", "/a2a/{graph}/tasks/{id}"): each("") + each(":subscribe"),
        ("POST", "/a2a/{graph}/tasks/{id}"): each(":cancel", body={}) + each(":subscribe", body={}),
        ("GET", configs): each("/pushNotificationConfigs"),
        ("POST", configs): each("/pushNotificationConfigs", body={"url": "https://127.0.0.1:9/"}),
        ("GET", configs + "/{config}"): each("/pushNotificationConfigs/hook"),
        ("DELETE", configs + "/{config}"): each("/pushNotificationConfigs/hook"),
    }


def still_there(call, ada, ids):
    for graph, state in (("long", ("COMPLETED",)), ("slow", ("WORKING", "COMPLETED")), ("question", ("INPUT_REQUIRED",))):
        text = call("GET", f"/a2a/{graph}/tasks/{ids[graph]}", key=ada, headers=A2A)[1]
        assert json.loads(text)["status"]["state"].removeprefix("TASK_STATE_") in state and MARKER in text, text
        text = call("GET", f"/a2a/{graph}/tasks/{ids[graph]}/pushNotificationConfigs", key=ada, headers=A2A)[1]
        assert MARKER in text, text
