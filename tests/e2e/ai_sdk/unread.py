"""A client that does not read: the run waits for it, others are served, and nothing is lost when it reads at last."""
import http.client
import json
import sys
import threading

url, key = sys.argv[1].removeprefix("http://"), sys.argv[2]
HEADERS = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}


def request(method, path, body=None):
    connection = http.client.HTTPConnection(url, timeout=60)
    connection.request(method, path, body=body, headers=HEADERS)
    return connection.getresponse()


def post(chat, text, graph):
    message = {"id": "u", "role": "user", "parts": [{"type": "text", "text": text}]}
    return request("POST", f"/api/chat?graph={graph}", json.dumps({"id": chat, "messages": [message]}))


def read(response):
    body = response.read().decode()
    assert response.status == 200 and body.endswith("data: [DONE]\n\n"), (response.status, body[-200:])
    return [json.loads(event[6:]) for event in body.split("\n\n") if event.startswith("data: {")]


piece = "0123456789" * 10000
unread = post("unread", piece, "large")
assert unread.read(4096)  # it has begun
for number in range(3):
    assert read(post(f"other{number}", "hello", "chat"))[-1]["type"] == "finish"
active = request("GET", "/api/chat/unread/stream")
assert active.status == 200  # the run waits, so it is active
bodies = {}
thread = threading.Thread(target=lambda: bodies.update(active=read(active)))
thread.start()
rest = unread.read().decode()
assert rest.endswith("data: [DONE]\n\n")
thread.join()
texts = [chunk["delta"] for chunk in bodies["active"] if chunk["type"] == "text-delta"]
assert "".join(texts) == piece * 6
assert all(event in rest for event in ('"type":"finish"', '"text-end"'))
# The server sends the same to both: the last 100 pieces are equal.
last = [json.loads(event[6:])["delta"] for event in rest.split("\n\n")[1:] if '"text-delta"' in event][-100:]
assert last == texts[-100:]
