# samples/python: a plugin that is a program; and a host that speaks sdk/guide/protocol.md to it.
command -v python3 >/dev/null || skips "python3 is not installed"
run tenon run "$SOURCE/samples/python/count.yaml" --plugins "$SOURCE/samples/python"
expect_code 0
expect_out '{"text":"the more the merrier","counted":{"words":4,"distinct":3},"said":"3 of 4"}'

[ ! -s "$work/err" ] || fails "expected nothing on standard error: the sandbox must allow what every Python program does"

# The commands of its README, in a copy.
cp -r "$SOURCE/samples/python" copy
cd copy
sed -n '/^```console$/,/^```$/{/^```/!p}' README.md >calls
[ "$(grep -c '^\$ ' calls)" = 2 ] || fails "expected two commands in the README"
while read -r line; do
    case $line in
    '$ '*) eval "run ${line#\$ }" ;;
    *) expect_code 0 && expect_out "$line" ;;
    esac
done <calls
sed -n '/^```sh store$/,/^```$/{/^```/!p}' README.md >store.sh
. ./store.sh >"$work/out" 2>"$work/err"
expect_in out "ada "
for check in wordcount.py "store.py --allow-drafts"; do
    # shellcheck disable=SC2086
    run tenon plugin check $check --timeout 120 # a busy machine
    expect_code 0 && expect_in err "no problems found"
done
cd ..

# In a container the host may be process 1; a parent process 1 does not mean that the host has ended.
if unshare -r -p -f true 2>/dev/null; then
    run unshare -r -p -f --kill-child "$TENON" run "$SOURCE/samples/python/count.yaml" --plugins "$SOURCE/samples/python"
    expect_code 0
fi

# More chunks than fit into the buffer.
run tenon run "$SOURCE/samples/python/count.yaml" --plugins "$SOURCE/samples/python" --set "text=$(seq 1 500 | tr '\n' ' ')" --json
[ "$(grep -c '"type":"custom"' "$work/out")" = 500 ] || fails "expected 500 custom events"
expect_in out '"said":"500 of 500"'

# The file beside a manifest must be a program.
cp "$SOURCE/samples/python/wordcount.py" "$SOURCE/samples/python/wordcount.py.tenon.json" .
chmod -x wordcount.py
run tenon plugin show ./wordcount.py
expect_code 4
expect_in err "neither a shared object (*.so) nor an executable file"
printf '#!/bin/sh\nexit 0\n' >wordcount.py
chmod +x wordcount.py
run tenon run "$SOURCE/samples/python/count.yaml" --plugins ./wordcount.py
expect_code 4
expect_in err "plugin \`sample.words\`: its process exited with status 0 [PLUGIN_CRASHED]"

python3 - "$SOURCE/sdk/guide/protocol.md" "$SOURCE/samples/python/wordcount.py" <<'PYTHON'
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

# A program that sends invalid messages, chosen by a seed. Each causes at most one error; the host never crashes. The numbers
# do not depend on the version of Python, so the exit code of each seed is known: 4 if `create` is refused; otherwise 1 or 5,
# because the first message that ends the task fails or interrupts it, or completes it with an output that `say` cannot use.
cat >hostile.py <<'PYTHON'
#!/usr/bin/env python3
import json, socket, sys
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
def below(limit):
    global state
    state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
    return (state >> 33) % limit
def choose(values):
    return values[below(len(values))]
def any_value(depth=0):
    kind = below(9 if depth < 3 else 6)
    if kind == 6:
        return [any_value(depth + 1) for _ in range(below(4))]
    if kind > 6:
        keys = ["task", "call", "callee", "output", "writes", "error", "code", "message", "component", "kind", "id", "level",
                "reads", "calls", "run", "chunk", "schema", "retryable", "completed"]
        return {choose(keys): any_value(depth + 1) for _ in range(below(5))}
    return [None, True, -1, 2**63 - 1, "text", 0.5][kind]
seed = state = int(open("seed").read())
methods = ["complete", "fail", "interrupt", "emit", "call", "add", "remove", "log", "nonsense", "create", None]
while True:
    message = receive()
    if message["method"] == "initialize":
        send({"id": message["id"], "result": {"protocol": message["params"]["protocol"]}})
    elif message["method"] == "create":
        result = any_value() if seed % 2 else {"reads": ["text"], "writes": ["counted"], "calls": []}
        send({"id": message["id"], "result": result})
    elif "id" in message:
        send({"id": message["id"], "result": any_value()})
    elif message["method"] == "start":
        for _ in range(50):
            params = any_value()
            if isinstance(params, dict):
                params["task"] = message["params"]["task"] if below(10) < 7 else any_value()
            send({"method": choose(methods), "params": params})
        send({"method": "fail", "params": {"task": message["params"]["task"]}})
PYTHON
mv hostile.py wordcount.py && chmod +x wordcount.py
seed=0
for expected in 4 1 4 1 1 1 1 1 1 1 4 5 4 1 4 1 4 1 4 5 4 1 4 1 4 5 4 1 5 1 4 1 4 1 4 1 4 5 4 1; do
    echo "$((++seed))" >seed
    run tenon run "$SOURCE/samples/python/count.yaml" --plugins ./wordcount.py --quiet
    [ "$code" = "$expected" ] || fails "seed $seed: exit code $code, expected $expected"
done
