# samples/python: a plugin that is a program, run by the host; and sdk/protocol.md, played to it.
command -v python3 >/dev/null || skips "there is no python3"
run tenon run "$SOURCE/samples/python/count.yaml" --plugins "$SOURCE/samples/python"
expect_code 0
expect_out '{"text":"the more the merrier","counted":{"words":4,"distinct":3},"said":"3 of 4"}'

[ ! -s "$work/err" ] || fails "expected nothing on standard error: nothing is refused" # of what every Python does

# In a container the host may be process 1, which is not to say that the host is gone.
if unshare -r -p -f true 2>/dev/null; then
    run unshare -r -p -f --kill-child "$TENON" run "$SOURCE/samples/python/count.yaml" --plugins "$SOURCE/samples/python"
    expect_code 0
fi

# More chunks than there is room for at once.
run tenon run "$SOURCE/samples/python/count.yaml" --plugins "$SOURCE/samples/python" --set "text=$(seq 1 500 | tr '\n' ' ')" --json
[ "$(grep -c '"type":"custom"' "$work/out")" = 500 ] || fails "expected 500 custom events"
expect_in out '"said":"500 of 500"'

# What a manifest lies beside must be a program.
cp "$SOURCE/samples/python/wordcount.py" "$SOURCE/samples/python/wordcount.py.tenon.json" .
chmod -x wordcount.py
run tenon plugin show ./wordcount.py
expect_code 4
expect_in err "neither a shared object (*.so) nor an executable file"
printf '#!/bin/sh\nexit 0\n' >wordcount.py
chmod +x wordcount.py
run tenon run "$SOURCE/samples/python/count.yaml" --plugins ./wordcount.py
expect_code 4
expect_in err "sample.words"

python3 - "$SOURCE/sdk/protocol.md" "$SOURCE/samples/python/wordcount.py" <<'PYTHON'
import json, os, socket, subprocess, sys

transcript = open(sys.argv[1], encoding="utf-8").read().split("## A transcript", 1)[1]
lines = [l for l in transcript.splitlines() if l[:2] in ("→ ", "← ")]
assert len(lines) > 10, "the transcript is gone"
ours, theirs = socket.socketpair()
def child():
    os.dup2(theirs.fileno(), 3)
process = subprocess.Popen([sys.argv[2]], pass_fds=[3] if theirs.fileno() == 3 else [], close_fds=False, preexec_fn=child)
theirs.close()
ours.settimeout(20)
stream = ours.makefile("rb")
for line in lines:
    message = {"jsonrpc": "2.0", **json.loads(line[2:])}
    if line[0] == "→":
        body = json.dumps(message).encode()
        ours.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        continue
    length = int(stream.readline().split(b":")[1])
    assert stream.readline().strip() == b""
    found = json.loads(stream.read(length))
    if found != message:
        sys.exit(f"failed: expected {message}\nfound    {found}")
if process.wait(20) != 0:
    sys.exit("failed: it did not exit well")
PYTHON

# A program that says anything at all: an error each, never more.
cat >hostile.py <<'PYTHON'
#!/usr/bin/env python3
import json, os, random, socket, sys
wire = socket.socket(fileno=3)
stream = wire.makefile("rb")
def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    wire.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)
def receive():
    line = stream.readline()
    if not line:
        sys.exit(0)
    length = int(line.split(b":")[1])
    stream.readline()
    return json.loads(stream.read(length))
def anything(depth=0):
    kind = random.randrange(9 if depth < 3 else 6)
    if kind == 6:
        return [anything(depth + 1) for _ in range(random.randrange(4))]
    if kind > 6:
        keys = ["task", "call", "callee", "output", "writes", "error", "code", "message", "component", "kind", "id", "level",
                "reads", "calls", "run", "chunk", "schema", "retryable", "completed"]
        return {random.choice(keys): anything(depth + 1) for _ in range(random.randrange(5))}
    return [None, True, -1, 2**63 - 1, "text", 0.5][kind]
seed = int(open("seed").read())
random.seed(seed)
methods = ["complete", "fail", "interrupt", "emit", "call", "add", "remove", "log", "nonsense", "create", None]
while True:
    message = receive()
    if message["method"] == "initialize":
        send({"id": message["id"], "result": {"protocol": message["params"]["protocol"]}})
    elif message["method"] == "create":
        result = anything() if seed % 2 else {"reads": ["text"], "writes": ["counted"], "calls": []}
        send({"id": message["id"], "result": result})
    elif "id" in message:
        send({"id": message["id"], "result": anything()})
    elif message["method"] == "start":
        for _ in range(50):
            params = anything()
            if isinstance(params, dict):
                params["task"] = message["params"]["task"] if random.random() < 0.7 else anything()
            send({"method": random.choice(methods), "params": params})
        send({"method": "fail", "params": {"task": message["params"]["task"]}})
PYTHON
mv hostile.py wordcount.py && chmod +x wordcount.py
for seed in $(seq 40); do
    echo "$seed" >seed
    run tenon run "$SOURCE/samples/python/count.yaml" --plugins ./wordcount.py --quiet
    case $code in 0 | 1 | 3 | 4 | 5) ;; *) fails "seed $seed ends the host" ;; esac
done
