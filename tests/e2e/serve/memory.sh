# 100 clients, 1,000 runs with subscribers, then 3,000 more: no event is lost, and memory stays flat (flat.py).
#
# The host keeps the last 1,000 ended runs and their events (SERVER_RUNS_KEPT in host/server/server_run.h), so the first
# 1,000 runs may use memory. Over 3,000 more it may grow by 2 MiB: 0.7 KiB for each run, less than anything that is kept of one.
cat >count.yaml <<'YAML'
version: "1.0"
agent: {name: count, recursion_limit: 2000000}
channels:
  - {name: i, type: last_value, default: 0}
  - {name: n, type: last_value}
  - {name: note, type: last_value, default: ""}
nodes:
  - {id: add, type: set, config: {values: {i: state.i + 1, note: state.note}}}
edges:
  - {from: START, to: add}
  - from: add
    type: conditional
    conditions:
      - {expression: state.i < state.n, to: add}
      - {expression: default, to: END}
YAML
# A sanitizer keeps freed memory.
[ -n "${SANITIZE:-}" ] && runs=200 bound=0 || runs=1000 bound=2048
host_start --drain 0
client "$SOURCE/tests/e2e/serve/flat.py" "$host" "$runs" "$bound"
expect_code 0
cat "$work/out"
serve_stop
[ "$code" = 0 ] || fails "expected exit status 0"
