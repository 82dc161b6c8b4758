"""Requests with wrong members: the server answers each of them, never with a server error, and lives on."""
import json
import os
import random
import sys
import urllib.error
import urllib.request

url, key, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
rng = random.Random(7)
TEXT = {"type": "text", "text": "I like pizza."}
BODY = {
    "id": "chat", "trigger": "submit-message", "messageId": "a1", "graph": "approve", "input": {},
    "messages": [
        {"id": "u1", "role": "user", "parts": [TEXT, {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,iVBORw0KGgo=", "filename": "a"}]},
        {"id": "a1", "role": "assistant", "parts": [
            {"type": "step-start"}, TEXT, {"type": "reasoning", "text": "r"}, {"type": "data-x", "id": "1", "data": {}},
            {"type": "tool-memory.put", "toolCallId": "call_1_1", "state": "approval-responded",
             "input": {"namespace": ["ada"], "key": "food", "value": {"likes": "pizza"}}, "approval": {"id": "a9de27b283528638", "approved": True, "reason": "x"}},
            {"type": "dynamic-tool", "toolName": "location", "toolCallId": "ask-1", "state": "output-available", "input": {}, "output": 1},
            {"type": "tool-x", "toolCallId": "call_1_1.2", "state": "output-error", "errorText": "e"}]},
        {"id": "u2", "role": "user", "parts": [TEXT, {"type": "data-answer", "data": {"id": "i", "answer": 1}}, {"type": "data-input", "data": {"place": "x"}}]}],
}
WRONG = [None, 1, -1.5, "", "x", "\u0000", "@eve:x", [], {}, True, [None], [[]], {"type": 1}, "tool-", "data-", "approval-", "a" * 5000, "../..", "é\u2028"]


def mutate(value):
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        changed = dict(value)
        if rng.random() < 0.2:
            del changed[key]
        else:
            changed[key] = mutate(value[key])
        return changed
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        if rng.random() < 0.2:
            return value[:at] + value[at + 1:]
        return value[:at] + [mutate(value[at])] + value[at + 1:]
    return rng.choice(WRONG)


def send(method, path, body=None):
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(url + path, method=method, headers=headers, data=body)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


statuses = {}
for number in range(count):
    body = {**BODY, "id": f"hostile-{rng.randrange(40)}", "graph": rng.choice(["approve", "ask", "chat", "client", "page", "text", "tools"])}
    if rng.random() < 0.5:
        body["messages"] = body["messages"][: rng.randrange(1, 4)]
    for _ in range(rng.randrange(4)):
        body = mutate(body) if isinstance(body, dict) else body
    status, answer = send("POST", "/api/chat", json.dumps(body).encode())
    statuses[status] = statuses.get(status, 0) + 1
    assert status in (200, 400, 404, 409, 501), (status, answer[:500], body)
    if status == 200:
        assert answer.endswith(b"data: [DONE]\n\n"), (answer[-300:], body)
for chat in ["%00", "a%2Fb", "%ff", "." * 300, "@ada:x", "%0a", "{}", "hostile-1"]:
    for method, end in (("GET", "stream"), ("DELETE", "stream"), ("GET", "messages"), ("PUT", "stream")):
        status, _ = send(method, f"/api/chat/{chat}/{end}")
        assert status in (200, 204, 400, 404, 405), (status, method, chat)
assert statuses.get(200, 0) > count // 20 and statuses.get(400, 0) > count // 20, statuses
print(statuses, file=sys.stderr if "VERBOSE" in os.environ else open(os.devnull, "w"))
