# What the scripts of this folder share: hosts that listen at a socket, and documents. wire.py is a client.
#
#   host_start [OPTION…]   starts `tenon serve --socket s` as serve_start does; its output is in host.out and host.err
#   client FILE.py [ARGUMENT…]
#                          runs a Python program that imports wire.py
#   same COMMAND…          runs a command of tenon with and without --connect, and compares what it prints and its exit code;
#                          times, ids and measurements are replaced, because they differ
host_start() { serve_start host --socket s "$@"; }
client() { run env PYTHONPATH="$SOURCE/tests/e2e/serve" PYTHONDONTWRITEBYTECODE=1 python3 "$@"; }

hide='s/[0-9a-f]\{16\}\([0-9a-f]\{16\}\)\?/ID/g; s/[0-9a-f]\{8\}-[0-9a-f]\{4\}-[0-9a-f-]\{22\}/ID/g; s/20[0-9-]\{8\}T[0-9:.]*Z/TIME/g; s/\("now"\|"elapsed_ms"\|"duration_ms"\|"ms"\):[0-9.]*/\1:0/g; s/"client [0-9][0-9]*"/"tenon"/g; s/ --connect s//g'
hide+="; s|of document \`$PWD/|of document \`|g" # a question names the document as the host knows it
same() {
    run tenon "$@"
    sed "$hide" "$work/out" >own.out
    sed "$hide" "$work/err" >own.err
    local own=$code
    run tenon "$@" --connect s
    [ "$code" = "$own" ] || fails "expected exit code $own, as without --connect"
    diff own.out <(sed "$hide" "$work/out") >&2 || fails "standard output differs"
    diff own.err <(sed "$hide" "$work/err") >&2 || fails "standard error differs"
}

cat >hours.yaml <<'YAML'
version: "1.0"
agent: {name: hours}
channels: []
nodes: [{id: wait, type: delay, config: {ms: 36000000}}]
edges: [{from: START, to: wait}, {from: wait, to: END}]
YAML
cat >count.yaml <<'YAML'
version: "1.0"
agent: {name: count, recursion_limit: 100000000}
channels:
  - {name: i, type: last_value, default: 0}
  - {name: n, type: last_value, default: 3}
nodes:
  - {id: add, type: set, config: {values: {i: state.i + 1}}}
edges:
  - {from: START, to: add}
  - from: add
    type: conditional
    conditions:
      - {expression: state.i < state.n, to: add}
      - {expression: default, to: END}
YAML
