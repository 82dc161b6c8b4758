# `tenon serve --loops N`: runs of clients are on several loops; clients see no difference.
cat >asks.yaml <<'YAML'
version: "1.0"
agent: {name: asks}
channels: [{name: word, type: last_value, default: hello}, {name: said, type: append}]
nodes: [{id: say, type: set, interrupt: before, config: {values: {said: "[state.word]"}}}]
edges: [{from: START, to: say}, {from: say, to: END}]
YAML
cat >all.py <<'PY'
import json
from wire import *
client = Client("s")

def start(document, **more):
    return client.call("run/start", {"document": document, **more})["run_id"]

def ended(run):
    return client.call("run/wait", {"run_id": run})

# Many at once, with and without threads, with events.
runs = [start("count.yaml", input={"n": n}, config={"thread_id": "t%d" % n} if n % 2 else {},
              subscribe={"modes": ["updates"], "credit": 100000}) for n in range(40)]
results = [ended(run) for run in runs]
print([result["status"] for result in results].count("done"), [result["report"]["state"]["i"] for result in results])
for run, result in zip(runs, results):
    events = [params for method, params in client.events if method == "run/event" and params["run_id"] == run]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1)), events
    assert len(events) == result["steps"] == result["report"]["steps"], (len(events), result)
# Their threads continue, wherever they were.
print([ended(start("count.yaml", input={"n": 50}, config={"thread_id": "t%d" % n}))["report"]["state"]["i"] for n in (1, 3, 5)])

# A run that waits: by an answer, by run/resume, and by run/cancel. What is wrong is said to who asks.
for thread in (None, "asked 1", "asked 2", "asked 3"):
    run = start("asks.yaml", config={"thread_id": thread} if thread else {})
    waiting = ended(run)
    try:
        client.call("run/answer", {"run_id": run, "answers": {"none": 1}})
    except Failed as why:
        print(waiting["status"], why.code, end=" ")
    answers = {entry["id"]: True for entry in waiting["report"]["interrupts"] if "id" in entry}
    if thread == "asked 2":
        run = client.call("run/resume", {"document": "asks.yaml", "config": {"thread_id": thread}})["run_id"]
    elif thread == "asked 3":
        client.call("run/cancel", {"run_id": run})
    else:
        client.call("run/answer", {"run_id": run, "answers": answers})
    end = ended(run)
    print(end["status"], end["report"].get("state", {}).get("said"))

# The state and the steps of a run that continues, and its end.
run = start("count.yaml", input={"n": 100000000}, config={"thread_id": "long"})
other = start("hours.yaml")
seen = client.call("run/state", {"run_id": run})
while client.call("run/get", {"run_id": run})["steps"] <= seen["steps"]:
    pass
later = client.call("run/state", {"run_id": run})
print(later["steps"] > seen["steps"], later["state"]["i"] in (later["steps"] - 1, later["steps"]))
client.call("run/cancel", {"run_id": run})
client.call("run/cancel", {"run_id": other})
print(ended(run)["status"], ended(other)["status"])
# Subscriptions of an active run, without one before: the kept events, then all that come; or only those that come.
run = start("count.yaml", input={"n": 100000000}, modes=["updates"])
while client.call("run/get", {"run_id": run})["steps"] < 1000:
    pass

def read(after, count):
    """The numbers of `count` events of a new subscription, which is then ended, and how many it has missed before."""
    watcher = Client("s")
    params = {"run_id": run, "credit": count} if after is None else {"run_id": run, "credit": count, "after": after}
    watcher.call("run/subscribe", params)
    while len(watcher.events) < count:
        watcher.receive()
    events = [params for method, params in watcher.events if method == "run/event"]
    watcher.socket.close()
    return [event["seq"] for event in events], events[0].get("missed", 0)

last = 0
for after in (0, None, 5, None, "last"):
    numbers, missed = read(last if after == "last" else after, 300)
    assert numbers == list(range(numbers[0], numbers[0] + 300)), numbers
    assert numbers[0] > 5 and (after != "last" or numbers[0] > last), (numbers[0], last)
    assert after is None or missed == numbers[0] - 1 - (last if after == "last" else after), (after, missed, numbers[0])
    last = numbers[-1]
late = client.call("run/subscribe", {"run_id": run, "credit": 1000000})["subscription"]
client.call("run/cancel", {"run_id": run})
print(ended(run)["status"])
while not any(method == "run/ended" and params.get("subscription") == late for method, params in client.events):
    client.receive()
# A run cannot be built: the client hears of it at once.
try:
    start("none.yaml")
except Failed as why:
    print(why.code)
PY
expected=
for loops in 1 4; do
    printf 'store: {use: sqlite, path: ./kept-%s.db}\n' $loops >tenon.yaml
    host_start --loops $loops
    client all.py
    expect_code 0
    [ "$loops" = 1 ] && expected=$(cat "$work/out") || expect_out "$expected"
    serve_stop
    [ "$code" = 0 ] || fails "expected exit status 0 from $loops loops"
done
expect_in out '40 [1, 1, 2, 3, '
expect_in out 'interrupted INVALID_INPUT done'
expect_in out 'True True'
expect_in out 'cancelled cancelled'

# ---- The drain reaches every loop; a client that does not read, and one that has gone, hold nothing up ----
cat >busy.py <<'PY'
from wire import *
client = Client("s")
for number in range(8):
    client.call("run/start", {"document": "count.yaml", "input": {"n": 100000000}, "config": {"thread_id": "d%d" % number},
                              "subscribe": {"modes": ["updates"], "credit": 3}})
gone = Client("s")
gone.call("run/start", {"document": "count.yaml", "input": {"n": 20}, "config": {"run_id": "gone"},
                        "subscribe": {"modes": ["updates", "values"], "credit": 1}})
gone.socket.close()
print(client.call("run/wait", {"run_id": "gone"})["status"])
PY
printf 'loops: 3\n' >>tenon.yaml
host_start
client busy.py
expect_code 0 && expect_out done
run tenon plugin unload tenon.core --connect s
expect_not_in err 'has unloaded' && expect_in err 'this host has 3 loops' && expect_in err '[UNSUPPORTED]'
serve_stop
[ "$code" = 0 ] || fails "expected exit status 0"
for n in 0 3 7; do
    run tenon thread show "d$n" --json
    expect_code 0 && expect_in out '"status":"stopped"'
done

# ---- Tools that plugins add while the host runs: each loop has its own MCP server, and waits until it has listed its tools ----
cat >looks.yaml <<'YAML'
version: "1.0"
agent: {name: looks}
channels: [{name: found, type: last_value}]
tools: [{name: fake.look}]
nodes: [{id: look, type: tool, config: {tool: fake.look, output_key: found}}]
edges: [{from: START, to: look}, {from: look, to: END}]
YAML
cat >fake.py <<'PY'
import json, os, sys
TOOL = {"name": "look", "description": "Looks.", "annotations": {"readOnlyHint": True}, "inputSchema": {"type": "object"}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, result = message["method"], {"content": [{"type": "text", "text": str(os.getpid())}]}
    if method == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "fake", "version": "1"}}
    if method == "tools/list":
        result = {"tools": [TOOL]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
PY
cat >looks.py <<'PY'
from wire import *
client = Client("s")
runs = [client.call("run/start", {"document": "looks.yaml", "config": {"thread_id": "look %d" % number}})["run_id"] for number in range(6)]
results = [client.call("run/wait", {"run_id": run}) for run in runs]
print({result["status"] for result in results}, len({str(result["report"].get("state", {}).get("found")) for result in results}),
      [result["report"]["error"]["message"] for result in results if "error" in result["report"]])
PY
printf 'store: {use: sqlite, path: ./kept-4.db}\nloops: 2\nplugins: {config: {tenon.mcp: {servers: {fake: {command: [python3, fake.py]}}}}}\n' >tenon.yaml
host_start
client looks.py
expect_code 0 && expect_out "{'done'} 2 []"
serve_stop
printf 'store: {use: sqlite, path: ./kept-4.db}\nloops: 3\n' >tenon.yaml

# ---- A killed host: its threads continue in the next one ----
host_start
cat >killed.py <<'PY'
from wire import *
import sys
client = Client("s")
if sys.argv[1] == "start":
    for number in range(6):
        client.call("run/start", {"document": "count.yaml", "input": {"n": 100000000}, "config": {"thread_id": "k%d" % number}})
    while min(run["steps"] for run in client.call("run/list", {"status": "running"})["runs"]) < 5:
        pass
else:
    for number in range(6):
        run = client.call("run/resume", {"document": "count.yaml", "config": {"thread_id": "k%d" % number}})["run_id"]
        while client.call("run/get", {"run_id": run})["steps"] < 6:
            pass
        client.call("run/cancel", {"run_id": run})
        print(client.call("run/wait", {"run_id": run})["status"])
PY
client killed.py start
expect_code 0
kill -KILL "$host"
wait "$host" 2>/dev/null || true
host_start --loops 2
client killed.py resume
expect_code 0
[ "$(grep -c cancelled "$work/out")" = 6 ] || fails "expected 6 runs that went on"
serve_stop
run tenon serve --socket s --loops 0
expect_code 2 && expect_in err '--loops: found `0`, expected a whole number from 1 to 64'
