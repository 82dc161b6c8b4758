# A value that is nested too deep for the protocol fails the task that it belongs to, in both directions, and not the
# process: the tasks after it run in the same process.
cc=${CC:-cc}
for name in deep host; do
    sed "s/deep\.act/$name.act/g; s/deep\.echo/$name.echo/g; s/test\.deep/test.$name/" "$SOURCE/tests/isolate/deep.c" >$name.c
    "$cc" -shared -fPIC -fvisibility=hidden -D_GNU_SOURCE -I"$SOURCE/sdk/include" \
        -Wl,--version-script="$SOURCE/sdk/cmake/tenon-plugin.map" -o $name.so $name.c 2>"$work/log" ||
        { cat "$work/log" >&2; fails "deep.c does not compile"; }
done
document() { # NODE, PRODUCER'S LEVELS: the host makes `data`, which is then read by the isolated plugin
    cat >depth.yaml <<YAML
version: "1.0"
agent: {name: depth}
channels:
  - {name: how, type: last_value}
  - {name: make, type: last_value, default: {how: none}}
  - {name: data, type: last_value}
  - {name: out, type: last_value}
  - {name: pid, type: last_value}
  - {name: host_pid, type: last_value}
nodes:
  - {id: make, type: host.act, config: {how: make, out: data, pid: host_pid}}
  - {id: act, type: deep.act, config: {how: how, data: data, tool: deep.echo, out: out, pid: pid}}
edges: [{from: START, to: make}, {from: make, to: act}, {from: act, to: END}]
YAML
}
document
batch() { # LINE…: runs them one after the other in one process
    printf '%s\n' "$@" >batch.jsonl
    run tenon run depth.yaml --plugins deep.so --plugins host.so --isolate test.deep --batch batch.jsonl --concurrency 1
    expect_not_in err "invalid message"
    expect_not_in err "PLUGIN_CRASHED"
}
expect_same_process() { # the first and the last line have the same process id
    local first last
    first=$(head -1 "$work/out" | grep -o '"pid":[0-9]*' || true) last=$(tail -1 "$work/out" | grep -o '"pid":[0-9]*' || true)
    [ -n "$first" ] && [ "$first" = "$last" ] || fails "expected one process, found $first and $last"
}
fine='{"how":{"how":"none"}}'

# The child sends.
for how in write emit fail interrupt call; do
    batch "$fine" '{"how":{"how":"'$how'","levels":300}}' "$fine"
    expect_same_process
    [ $how = call ] || expect_in out '"code":"LIMIT"'
    [ $how != call ] || expect_in out '"code":"CALLED","message":"node `act`: LIMIT"' # the task learns why its call failed, and reports it
    [ $how = call ] || expect_in out "is nested deeper than the 264 levels that an isolated plugin can send at once"
done

# The host sends.
batch "$fine" '{"how":{"how":"none"},"make":{"how":"write","levels":300}}' "$fine"
expect_same_process
expect_in out '"code":"LIMIT"'
expect_in out 'the input of `deep.act` is nested deeper than the 264 levels that can be sent to plugin `test.deep`'

# All that a reader of JSON accepts passes, in both directions.
batch "$fine" '{"how":{"how":"write","levels":256},"make":{"how":"write","levels":256}}' "$fine"
expect_code 0
expect_same_process

# A program of any language can send everything, also what is nested deeper than anything can be read.
command -v python3 >/dev/null || skips "python3 is not installed; the other part passed"
cp "$SOURCE/samples/python/wordcount.py.tenon.json" .
sed -i 's/"effects": \[\]/"effects": ["calls.node:delay"]/' wordcount.py.tenon.json
cat >wordcount.py <<'PYTHON'
#!/usr/bin/env -S python3 -IS
import json, os, socket, sys

wire = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, fileno=3)
stream = wire.makefile("rb")
DEEP = "[" * 300 + "\"]\\\"\"" + "]" * 300
DEEPER = "{\"a\":" * 100000 + "1" + "}" * 100000

def send(text):
    body = text.encode()
    wire.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)

def receive():
    line = stream.readline()
    if not line:
        sys.exit(0)
    stream.readline()
    return json.loads(stream.read(int(line.split(b":")[1])))

def notify(method, task, rest):
    send('{"jsonrpc":"2.0","method":"%s","params":{"task":%d,%s}}' % (method, task, rest))

while True:
    message = receive()
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        result = {"protocol": params["protocol"], "plugin": "sample.words", "version": "1.0.0"}
        send(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))
    elif method == "create":
        if open("how").read().strip() == "create":
            send('{"jsonrpc":"2.0","id":%d,"result":{"reads":%s}}' % (message["id"], DEEP))
            continue
        bound = {"reads": ["text"], "writes": ["counted"], "calls": [{"kind": "node", "name": "delay", "config": {"ms": 1}}]}
        send(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": bound}))
    elif method == "start":
        task, how = params["task"], params["reads"]["text"]
        if how == "emit":
            notify("emit", task, '"chunk":' + DEEP)
            cancelled = receive()
            assert cancelled["method"] == "cancel" and cancelled["params"]["task"] == task, cancelled
            notify("complete", task, '"writes":[]') # too late: only logged
        elif how == "call":
            notify("call", task, '"call":7,"callee":0,"input":' + DEEP)
            called = receive()["params"]
            assert called["call"] == 7 and called["error"]["code"] == "LIMIT", called
            notify("complete", task, '"writes":[["counted",{"words":1,"distinct":%d}]]' % os.getpid())
        elif how == "fail":
            notify("fail", task, '"error":{"code":"OWN","message":"its own error","detail":%s}' % DEEP)
        elif how in ("complete", "interrupt"):
            notify(how, task, '"output":%s,"payload":%s' % (DEEP, DEEP))
        elif how == "deeper":
            notify("complete", task, '"output":%s' % DEEPER)
        else:
            notify("complete", task, '"writes":[["counted",{"words":1,"distinct":%d}]]' % os.getpid())
    elif "id" in message:
        send('{"jsonrpc":"2.0","id":%d,"result":null}' % message["id"])
PYTHON
chmod +x wordcount.py
echo fine >how
count() { # HOW
    printf '{"text":"%s"}\n' fine "$1" fine >batch.jsonl
    run tenon run "$SOURCE/samples/python/count.yaml" --plugins ./wordcount.py --batch batch.jsonl --concurrency 1
    expect_not_in err "invalid message"
    [ "$(sed -n 1p "$work/out" | grep -o 'distinct":[0-9]*')" = "$(sed -n 3p "$work/out" | grep -o 'distinct":[0-9]*')" ] ||
        fails "$1: the process did not survive"
}
for how in complete interrupt emit deeper; do
    count $how
    expect_in out '"code":"LIMIT"'
    expect_in out "is nested deeper than the 264 levels that can be sent"
done
count fail
expect_in out '"code":"OWN","message":"node `count`: its own error","retryable":false}}' # without its details
count call
expect_code 0
echo create >how
run tenon run "$SOURCE/samples/python/count.yaml" --plugins ./wordcount.py --set text=x
expect_in err 'the response to `create` is nested deeper than the 264 levels that can be sent'
