"""isolated.py ADDRESS KEY HOST LOG: protocols whose processes are killed, or stop, while runs of their clients are active
(tests/e2e/serve/killed.sh). HOST is the id of the host's process. The graph is `slow`.
"""
import http.client
import json
import os
import signal
import sys
import time

ADDRESS, KEY, HOST, LOG = sys.argv[1].split("//")[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
SAY = [{"id": "m1", "role": "user", "content": "hi"}]
BODIES = {
    "chat": ("/v1/chat/completions", {"model": "slow", "messages": SAY, "stream": True}),
    "background": ("/v1/responses", {"model": "slow", "input": "hi", "background": True}),
    "session": ("/session/slow", {"id": "s1", "title": None, "start_time": "2026-11-28 10:00", "character": "helper", "status": "active", "messages": SAY}),
    "agent": ("/ag-ui/slow", {"threadId": "t1", "runId": "r1", "state": {}, "messages": SAY, "tools": [], "context": [], "forwardedProps": {}}),
}


def post(path, body):
    connection = http.client.HTTPConnection(ADDRESS, timeout=60)
    connection.request("POST", path, json.dumps(body), {"authorization": "Bearer " + KEY, "content-type": "application/json", "accept": "text/event-stream"})
    return connection.getresponse()


def runs():
    return json.load(post("/api/run/list", {}))["runs"]


def wait_until(holds):
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, (runs(), open(LOG).read())
        time.sleep(0.05)


def begin(name):
    """The id of the run, and its stream, of which something has been read."""
    known = {run["run_id"] for run in runs()}
    stream = post(*BODIES[name])
    assert stream.status == 200, (name, stream.status, stream.read())
    assert stream.readline()
    [run] = [run["run_id"] for run in runs() if run["run_id"] not in known]
    return run, stream


def status(run):
    [found] = [one["status"] for one in runs() if one["run_id"] == run]
    return found


def process(plugin):
    found = []
    for thread in os.listdir(f"/proc/{HOST}/task"):
        for child in open(f"/proc/{HOST}/task/{thread}/children").read().split():
            if f"/{plugin}.so" in open(f"/proc/{child}/cmdline").read():
                found.append(int(child))
    [child] = found
    return child


def is_cut(stream):
    try:
        stream.read()
    except (http.client.HTTPException, ConnectionError):
        return True
    return False


chat, chat_stream = begin("chat")
background, _ = begin("background")
session, session_stream = begin("session")
agent, agent_stream = begin("agent")

# ---- Killed: what nobody can find any more is cancelled, and nothing else ----
for plugin in ("openai_server", "session_server"):
    os.kill(process(plugin), signal.SIGKILL)
assert is_cut(chat_stream) and is_cut(session_stream)
wait_until(lambda: status(chat) == status(session) == "cancelled")
assert "cancelled" not in (status(background), status(agent)), runs()
wait_until(lambda: post("/v1/responses", {"model": "none", "input": "hi"}).status != 503)

# ---- Stopped: it is noticed, and the process is replaced ----
stopped = process("ag_ui")
os.kill(stopped, signal.SIGSTOP)
assert post(*BODIES["agent"]).status == 503
assert is_cut(agent_stream)
wait_until(lambda: status(agent) == "cancelled")
assert "it did not answer `ping` within 10000 ms" in open(LOG).read()
wait_until(lambda: post("/ag-ui/none", {}).status != 503)
assert process("ag_ui") != stopped
assert status(background) != "cancelled", runs()
