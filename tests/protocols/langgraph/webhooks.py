"""Webhooks of the API of LangGraph's server: webhooks.py URL KEY. The server may send to this machine."""

import datetime
import http.server
import json
import queue
import sys
import threading
import urllib.request

URL, KEY = sys.argv[1:3]
HELLO = {"messages": [{"role": "user", "content": "hi"}]}
received = queue.Queue()
failures = {"/twice": 2, "/moved": 100}


class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        fails = failures.get(self.path, 0)
        failures[self.path] = fails - 1
        if self.path == "/moved":
            self.send_response(307)
            self.send_header("location", "/elsewhere")
        else:
            self.send_response(503 if fails > 0 else 204)
        self.send_header("content-length", "0")
        self.end_headers()
        received.put((self.path, self.headers["content-type"], body))

    def log_message(self, *_):
        pass


def call(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json", "x-api-key": KEY}
    with urllib.request.urlopen(urllib.request.Request(URL + path, data, headers, method=method), timeout=60) as answer:
        return json.loads(answer.read() or b"null")


def next_hook(path):
    found, kind, body = received.get(timeout=60)
    assert (found, kind) == (path, "application/json"), (found, kind, body)
    return body


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
threading.Thread(target=server.serve_forever, daemon=True).start()
here = f"http://127.0.0.1:{server.server_port}"

thread = call("POST", "/threads", {})["thread_id"]
runs = f"/threads/{thread}/runs"
run = call("POST", runs, {"assistant_id": "chat", "input": HELLO, "webhook": here + "/done?a=1"})
body = next_hook("/done?a=1")
assert (body["run_id"], body["thread_id"], body["status"]) == (run["run_id"], thread, "success"), body
assert [message["content"] for message in body["values"]["messages"]] == ["hi", "Hello there, friend."], body
assert body["run_started_at"] <= body["run_ended_at"] <= body["webhook_sent_at"], body
assert not {"owner", "caller"} & set(body) and KEY not in json.dumps(body), body

# Without a thread; a run that fails; one that is cancelled.
call("POST", "/runs/wait", {"assistant_id": "chat", "input": HELLO, "webhook": here + "/stateless"})
assert next_hook("/stateless")["status"] == "success"
call("POST", runs + "/wait", {"assistant_id": "error", "input": {}, "webhook": here + "/error"})
body = next_hook("/error")
assert body["status"] == "error" and body["error"]["message"] and body["values"] is None, body
slow = call("POST", runs, {"assistant_id": "slow", "input": HELLO, "webhook": here + "/cancelled"})
call("POST", f"{runs}/{slow['run_id']}/cancel?wait=1", {})
assert next_hook("/cancelled")["status"] == "interrupted"

# What fails for a while is sent again; a redirect is not followed.
call("POST", "/runs/wait", {"assistant_id": "chat", "input": HELLO, "webhook": here + "/twice"})
assert len({next_hook("/twice")["run_id"] for _ in range(3)}) == 1
call("POST", "/runs/wait", {"assistant_id": "chat", "input": HELLO, "webhook": here + "/moved"})
next_hook("/moved")

# A run of a cron.
cron = call("POST", "/runs/crons", {"assistant_id": "chat", "schedule": "@yearly", "input": HELLO, "webhook": here + "/cron"})
soon = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(milliseconds=700)).isoformat()
call("POST", "/api/schedule/update", {"schedule_id": cron["cron_id"], "at": soon, "timezone": None})
body = next_hook("/cron")
assert body["metadata"]["cron_id"] == cron["cron_id"] and body["status"] == "success", body
call("DELETE", "/runs/crons/" + cron["cron_id"])
assert received.empty()
