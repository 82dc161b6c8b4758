# What the scripts of this folder share: hosts that listen at a socket, and documents. wire.py is a client.
#
#   host_start [OPTION…]   starts `tenon serve --socket s` in the background, and waits until it listens; $host is its process
#   host_stop              ends it with SIGTERM; $code is its exit status
#   client FILE.py [ARGUMENT…]
#                          runs a Python program that imports wire.py
host=
host_start() {
    env --default-signal=INT "$TENON" serve --socket s "$@" >host.out 2>host.err &
    host=$!
    servers+=("$host")
    wait_until eval 'grep -q "listening on" host.err || ! kill -0 $host'
    kill -0 "$host" 2>/dev/null || { cat host.err >&2; fails "the host did not start"; }
}
host_stop() {
    kill -TERM "$host"
    expect_ended "$host" "the host did not end after SIGTERM"
    wait "$host" && code=0 || code=$?
    grep -qE 'Sanitizer|runtime error:' host.err && { cat host.err >&2; fails "a sanitizer reported an error"; }
    return 0
}
client() { run env PYTHONPATH="$SOURCE/tests/e2e/serve" PYTHONDONTWRITEBYTECODE=1 python3 "$@"; }

cat >delay.yaml <<'YAML'
version: "1.0"
agent: {name: delay}
channels: [{name: after, type: last_value}]
nodes:
  - {id: wait, type: delay, config: {ms: 600}}
  - {id: then, type: set, config: {values: {after: "'done'"}}}
edges: [{from: START, to: wait}, {from: wait, to: then}, {from: then, to: END}]
YAML
sed 's/ms: 600/ms: 600000/' delay.yaml >hours.yaml
