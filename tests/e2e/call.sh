# `tenon call`: methods of the host from a shell.
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

# ---- Results and errors ----
run tenon call host/info
expect_code 0 && expect_in out '"scope":"admin"' && expect_in out '"run/start"'
run tenon call run/list '{"limit": 1}'
expect_code 0 && expect_out '{"runs":[],"more":false}'
echo '{"limit": 2}' >params.json
run tenon call run/list @params.json
expect_code 0 && expect_out '{"runs":[],"more":false}'
run tenon call run/lst
expect_code 2 && expect_in err 'there is no method `run/lst`; did you mean `run/list`?'
run tenon call run/list '{"limit": 0, "more": true}'
expect_code 2 && expect_in err 'at /limit: ' && expect_in err 'unknown property `more`'
run tenon call run/list '{"limit": '
expect_code 2 && expect_in err 'PARAMS'
run tenon call run/get '{"run_id": "x"}'
expect_code 1 && expect_in err 'has no run `x`' && expect_in err '[NOT_FOUND]'
run tenon call run/start '{"document": "none.yaml"}'
expect_code 3 && expect_in err 'none.yaml'
run tenon call run/start '{"text": "version: 1\n"}'
expect_code 3 && expect_in err '[INVALID_GRAPH]'

# ---- Events ----
run tenon call run/start '{"document": "count.yaml", "subscribe": {}}'
expect_code 0
[ "$(wc -l <"$work/out")" = 5 ] || fails "expected the result, three events and the end"
expect_in out '"writes":{"i":3}' && expect_in out '"event":"run/ended"'
tail -n 1 "$work/out" | grep -q '"status":"done"' || fails "expected the end as the last line"
run tenon call event/subscribe '{"events": ["component/changed"]}' # nothing can happen in this process
expect_code 0 && expect_out '{"subscription":1}'

# A reader that goes away ends the command, and a signal cancels the run.
run bash -c '"$TENON" call run/start "{\"document\": \"count.yaml\", \"input\": {\"n\": 100000000}, \"subscribe\": {}}" | head -n 3'
[ "$(wc -l <"$work/out")" = 3 ] || fails "expected three lines"
[ "$(wc -l <"$work/err")" = 1 ] || fails "expected one message about the closed pipe"
env --default-signal=INT "$TENON" call run/start '{"document": "count.yaml", "input": {"n": 100000000}, "subscribe": {}}' >long.out 2>long.err &
process=$!
wait_until grep -q run/event long.out
kill -INT "$process"
expect_ended "$process" "expected an end after SIGINT"
wait "$process" && code=0 || code=$?
expect_code 130

# ---- Completion ----
run tenon reference --completion bash
expect_in out 'run/start'
