# A program that breaks the component protocol in one place: the call fails with a specific error, and the host continues.
command -v python3 >/dev/null || skips "python3 is not installed"
cp "$SOURCE/samples/python/wordcount.py.tenon.json" .
sed -i 's/"effects": \[\]/"effects": ["calls.node:delay"]/' wordcount.py.tenon.json
cat >wordcount.py <<'PYTHON'
#!/usr/bin/env -S python3 -IS
import json, os, socket, sys, time

wire = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, fileno=3)
stream = wire.makefile("rb")
how = open("how").read().strip()
counted = ["counted", {"words": 1, "distinct": 1}]
starts = 0
if how.startswith("again"):
    with open("starts", "a+") as file:
        print("started", file=file, flush=True)
        file.seek(0)
        starts = len(file.readlines())

def framed(body):
    return b"Content-Length: %d\r\n\r\n" % len(body) + body

def raw(body):
    wire.sendall(framed(body))

def send(message):
    raw(json.dumps({"jsonrpc": "2.0", **message}).encode())

def say(method, **params):
    send({"method": method, "params": params})

def receive():
    line = stream.readline()
    if not line:
        sys.exit(0)
    stream.readline()
    return json.loads(stream.read(int(line.split(b":")[1])))

def answer(message, result):
    send({"id": message["id"], "result": result})

def initialize(message):
    refusals = {"init-number": 5, "init-empty": {}, "init-null": None, "init-code": {"data": {"code": "OWN"}}}
    if how in refusals:
        return send({"id": message["id"], "error": refusals[how]})
    if how == "init-nothing":
        return send({"id": message["id"]})
    if how == "ids":
        for number in (-1, 0, 2**62, 1.5, "1", None, [], 99):
            send({"id": number, "result": {}})
    version = "1.0.1" if how == "init-version" else "1.0.0"
    answer(message, {"protocol": message["params"]["protocol"], "plugin": "sample.words", "version": version})
    if how == "ids":
        answer(message, 7)

def create(message):
    while how == "create-print":
        os.write(2, b"\n" * 65536)
    while how == "create-flood":
        say("log", level=0, message="y" * 60000)
    if how == "again-dies" and starts > 1:
        sys.exit(1)
    if how == "again-other" and starts > 1 and message["params"]["config"]["output_key"] == "counted":
        return answer(message, 7)
    delay = {"ms": 600000 if how == "call-many" else 50}
    calls = [{"kind": "node", "name": "delay", "config": delay}] if how.startswith("call-") else []
    answer(message, {"reads": ["text"], "writes": [message["params"]["config"]["output_key"]], "calls": calls})

def start(message):
    task = message["params"]["task"]
    body = {
        "deep": b"[" * 100000,
        "deep-object": b'{"a":' * 100000,
        "no-object": b"[1]",
        "surrogate": b'{"method":"fail","params":{"task":%d,"error":{"code":"X","message":"\\ud800"}}}' % task,
        "not-utf8": b'{"method":"log","params":{"message":"\xff"}}',
        "deep-output": b'{"method":"complete","params":{"task":%d,"output":%s}}' % (task, b"[" * 250 + b"]" * 250),
        "nul": b'{"method":"fail","params":{"task":%d,"error":{"code":"A\\u0000B","message":"x\\u0000y"}}}' % task,
        "after": b"[" * 300000,
    }
    header = {
        "huge-length": b"Content-Length: 99999999999\r\n\r\n{}",
        "negative-length": b"Content-Length: -5\r\n\r\n{}",
        "wrapped-length": b"Content-Length: 18446744073709551617\r\n\r\n{}",
        "endless-header": b"A: b\r\n" * 1000,
        "no-length": b"A: b\r\n\r\n{}",
    }
    if how == "exit":
        sys.exit(7)
    if how == "exit-late":
        stream.close()
        wire.close()
        time.sleep(0.3)
        os._exit(7)
    if how == "close":
        stream.close()
        wire.close()
        while True:
            pass
    if starts == 1:
        sys.exit(1)
    if how == "say-bytes":
        os.write(2, b"said \xff\xfe \xed\xa0\x80\n")
        os._exit(3)
    if how == "after":
        say("complete", task=task, writes=[counted])
    if how in body:
        return raw(body[how])
    if how in header:
        return wire.sendall(header[how])
    if how == "tasks":
        for other in (-1, -(2**63), 2**63 - 1, 2**62, task + 2**52, task + 2**20, task + 1, 1.5, "0", None, [task], True):
            say("complete", task=other, output=7)
    if how == "calls":
        for callee in (-1, 0, 1, 2**32, 2**32 - 1, 2**62, "x", None):
            say("call", task=task, call=callee, callee=callee, input=callee)
        for _ in range(8):
            if "error" not in receive()["params"]:
                return
    for number in range({"call-many": 70000, "call-answers": 3}.get(how, how.startswith("call-"))):
        say("call", task=task, call=0, callee=0)
    if how == "call-many":
        while receive()["params"].get("error", {}).get("code") != "LIMIT":
            pass
    if how == "call-answers" and [receive()["params"]["call"] for _ in range(3)] != [0, 0, 0]:
        return
    if how == "call-dies":
        os._exit(7)
    if how == "call-fails":
        return say("fail", task=task, error={})
    if how == "emits": # in one write, so that a fast host cannot process them one by one
        emit = b'{"jsonrpc":"2.0","method":"emit","params":{"task":%d,"chunk":1}}' % task
        return wire.sendall(framed(emit) * 1000)
    if how == "shapes":
        send({"method": "complete", "params": [task]})
        for message in ({"method": 5}, {"method": None, "params": {}}, {}, {"method": "complete"}):
            send(message)
        for method in ("add", "remove", "log", "credit", "", "nonsense"):
            for value in (1, None, [], {}, "x", {"kind": 1, "id": []}, {"kind": "node", "id": "set"}):
                say(method, component=value, kind=value, id=value, message=value, level=value, task=value)
        say("remove", kind="node", id="set")
    if how == "fails":
        return say("fail", task=task, error=[1, 2])
    if how == "again-other":
        return say("complete", task=task, writes=[["said", "fine"]])
    wrong = {"writes-number": 1, "writes-empty": [], "writes-short": ["counted"], "writes-long": ["counted", 1, 2],
             "writes-key": [7, 1], "writes-undeclared": ["text", 1]}
    writes = 5 if how == "writes-kind" else [counted] + ([wrong[how]] if how in wrong else [])
    say("complete", task=task, writes=writes)
    if how == "twice":
        say("complete", task=task, writes=[counted])
        say("fail", task=task, error={})
        say("emit", task=task, chunk=1)

def shutdown(message):
    if how == "shutdown-garbage":
        raw(b"]")
    elif how == "shutdown-dies":
        sys.exit(1)
    elif how == "shutdown-error":
        send({"id": message["id"], "error": 7})
    else:
        if how == "shutdown-removes":
            say("remove", kind="node", id="words.count")
            say("add", component=1)
        answer(message, None)

while True:
    message = receive()
    act = globals().get(message["method"])
    if message["method"] in ("initialize", "create", "start", "shutdown"):
        act(message)
PYTHON
chmod +x wordcount.py

with() { # HOW EXIT_CODE: runs the program in this mode and expects the exit code
    echo "$1" >how
    run tenon run "$SOURCE/samples/python/count.yaml" --plugins ./wordcount.py --json
    expect_code "$2"
    python3 -c 'import json, sys; [json.loads(line) for line in open(sys.argv[1], "rb").read().decode().splitlines()]' \
        "$work/out" || fails "a line on standard output is not JSON"
}
fine() { with "$1" 0 && expect_in out '"said":"1 of 1"'; }
ends() { with "$1" 1 && expect_in out '"code":"PLUGIN_CRASHED"' && expect_in out "$2"; }
refused() { with "$1" "$2" && expect_in err "$3"; }

for how in fine call-ends call-answers call-many ids tasks twice calls shapes after shutdown-garbage shutdown-dies shutdown-error shutdown-removes; do
    fine "$how"
done
for how in deep deep-object no-object surrogate not-utf8 huge-length negative-length wrapped-length endless-header no-length; do
    ends "$how" "it sent an invalid message"
done
ends emits "it emitted more chunks than it had credit for"
ends close "it closed its socket and did not exit"
ends exit "exited with status 7"
ends exit-late "exited with status 7"
ends call-dies "exited with status 7"
with call-fails 1 && expect_in out "the task failed without an error message"
ends say-bytes "its last line of output was: said"
for how in writes-number writes-empty writes-short writes-long writes-key; do
    with "$how" 1 && expect_in out '"code":"PLUGIN_INVALID"' && expect_in out "an item of \`writes\` that is not [channel, value]"
done
with writes-kind 1 && expect_in out '"code":"PLUGIN_INVALID"' && expect_in out "with \`writes\` that is not an array"
with writes-undeclared 1 && expect_in out '"code":"CHANNEL"' && expect_in out "writes \`text\`, which is not in \`writes\` of its answer to \`create\`"
with nul 1 && expect_in out '"code":"A"'
with fails 1 && expect_in out "the task failed without an error message"
with deep-output 1 && expect_in out INVALID_OUTPUT
refused init-number 3 "5 [ERROR]"
refused init-empty 4 "the request \`initialize\` failed without an error message"
refused init-code 3 "without an error message [OWN]"
refused init-null 4 "the request \`initialize\` failed without an error message"
refused init-nothing 4 "does not speak the protocol"
refused init-version 4 "has changed since its manifest was read; the manifest had version 1.0.0"
refused create-flood 4 "it sent too many messages before its response"
refused create-print 4 "it did not answer \`create\` within 5000 ms"

# A message that does not fit into the protocol is not sent.
echo fine >how
python3 -c 'print("{\"text\": \"", "x" * ((64 << 20) - 20), "\"}", sep="")' >large.json
run tenon run "$SOURCE/samples/python/count.yaml" --plugins ./wordcount.py --input @large.json
expect_code 1
expect_in err "is longer than the 64 MiB that can be sent to plugin \`sample.words\`"
rm large.json

# A restarted process refuses an instance that the one before it accepted: the other instances work.
sed -i "s|\"style\"|\"idempotent\": true, \"style\"|; s|\"effects\": \[[^]]*\]|\"effects\": [\"fs.write:$PWD\"]|" wordcount.py.tenon.json
cat >again.yaml <<'YAML'
version: "1.0"
agent: {name: again}
channels:
  - {name: die, type: last_value, default: false}
  - {name: text, type: last_value, default: words}
  - {name: counted, type: last_value}
  - {name: said, type: last_value}
nodes:
  - {id: other, type: words.count, config: {input_key: text, output_key: said}}
  - {id: count, type: words.count, retry: {max_attempts: 9, initial: 1ms, max: 1ms}, config: {input_key: text, output_key: counted}}
edges:
  - {from: START, type: conditional, conditions: [{expression: state.die, to: count}, {expression: default, to: other}]}
YAML
echo again-other >how
printf '{"die":true}\n{}\n' >batch.jsonl
run tenon run again.yaml --plugins ./wordcount.py --batch batch.jsonl --concurrency 1
expect_in out '"said":"fine"'
expect_in err 'did not create `words.count` as before'

# A process that dies while it receives its instances counts as one death, not two.
echo again-dies >how
rm starts
sed -i 's/max_attempts: 9/max_attempts: 5/' again.yaml
run tenon run again.yaml --plugins ./wordcount.py --set die=true
expect_in err "its process exited with status 1; it has ended 5 times in a row"
[ "$(wc -l <starts)" = 5 ] || fails "expected 5 starts, found $(wc -l <starts)"
