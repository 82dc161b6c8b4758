"""Streams over the death of the server: killed.py begin URL KEY FILE, and after a restart killed.py end URL KEY FILE.

`begin` starts runs, and ends when each client has some events, while the runs are active. `end` continues each stream
from the last event that its client has: the numbers have no gap and no repeat, and each run does each step once.
"""

import http.client
import json
import sys

ACTION, URL, KEY, FILE = sys.argv[1:]
RUNS = 4


def connect(method, path, body=None, headers=None):
    connection = http.client.HTTPConnection(URL.split("//")[1], timeout=60)
    headers = {"x-api-key": KEY, "content-type": "application/json", **(headers or {})}
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    response = connection.getresponse()
    assert response.status == 200, (method, path, response.status, response.read())
    return response


def events(response):
    """[number, event, data], until the stream ends."""
    event = {}
    for line in response:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name:
            event[name] = value
        elif event:
            if "id" in event:
                yield [int(event["id"]), event["event"], json.loads(event["data"])]
            event = {}


def begin():
    streams = []
    for number in range(RUNS):
        thread = json.load(connect("POST", "/threads", {}))["thread_id"]
        body = {"assistant_id": "ticks", "input": {}, "stream_mode": ["values", "updates"], "stream_resumable": True,
                "config": {"recursion_limit": 100}}
        streams.append((thread, events(connect("POST", f"/threads/{thread}/runs/stream", body))))
    known = []
    for number, (thread, stream) in enumerate(streams):
        received = [next(stream) for _ in range(5 + 3 * number)]
        known.append({"thread": thread, "run": received[0][2]["run_id"], "received": received})
    background = json.load(connect("POST", "/threads", {}))["thread_id"]
    run = json.load(connect("POST", f"/threads/{background}/runs", {"assistant_id": "ticks", "config": {"recursion_limit": 100}}))
    json.dump({"streams": known, "background": {"thread": background, "run": run["run_id"]}}, open(FILE, "w"))


def end():
    known = json.load(open(FILE))
    opened = []
    for stream in known["streams"]:
        of, received = f"/threads/{stream['thread']}/runs/{stream['run']}", stream["received"]
        last = {"Last-Event-ID": str(received[-1][0])}
        opened.append((of, received, events(connect("GET", of + "/stream", headers=last))))
    for of, received, stream in opened:
        rest = list(stream)
        whole = received + rest
        assert [number for number, _, _ in whole] == list(range(1, len(whole) + 1)), whole
        assert rest and not any(event == "error" for _, event, _ in whole), whole
        values = [data for _, event, data in whole if event == "values"]
        assert values[-1] == {"count": 30, "trace": list(range(1, 31))}, values[-1]
        counts = [data["count"] for data in values]
        assert counts == sorted(counts), counts
        ticks = [data["tick"]["trace"] for _, event, data in whole if event == "updates" and "tick" in data]
        assert ticks == sorted(set(ticks)) and len(ticks) >= 29, ticks
        # All of it again, also after the run has ended.
        assert list(events(connect("GET", of + "/stream", headers={"Last-Event-ID": "-1"}))) == whole
        assert json.load(connect("GET", of))["status"] == "success"
    of = "/threads/{thread}/runs/{run}".format(**known["background"])
    assert json.load(connect("GET", of + "/join"))["count"] == 30
    assert json.load(connect("GET", of))["status"] == "success"


begin() if ACTION == "begin" else end()
