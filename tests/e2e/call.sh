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
expect_code 2 && expect_in err 'cannot read the document `none.yaml`' && expect_in err '[IO]'
run tenon call pack/install '{"file": "none.tenonpack"}'
expect_code 2 && expect_in err 'cannot open none.tenonpack' && expect_in err '[IO]'
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

run tenon call run/start '{"document": "count.yaml", "input": {"n": 100}, "subscribe": {"credit": 2}}' # it is granted
expect_code 0
[ "$(wc -l <"$work/out")" = 102 ] || fails "expected the result, a hundred events and the end"

# The end of the run decides the exit code; without events the error is a message.
run tenon call run/start '{"document": "count.yaml"}'
expect_code 0
[ "$(wc -l <"$work/out")" = 1 ] || fails "expected only the result"
run tenon call run/start '{"document": "count.yaml", "config": {"recursion_limit": 2}}'
expect_code 1 && expect_in err '[RECURSION_LIMIT]'
run tenon call run/start '{"document": "count.yaml", "config": {"recursion_limit": 2}, "subscribe": {}}'
expect_code 1
[ ! -s "$work/err" ] || fails "expected the error among the events only"
sed 's/type: set, /type: set, interrupt: before, /' count.yaml >asks.yaml
run tenon call run/start '{"document": "asks.yaml", "config": {"thread_id": "t"}, "subscribe": {}}'
expect_code 5 && expect_in out '"status":"interrupted"'
run tenon thread show t
expect_in out interrupted

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
tail -n 1 long.out | grep -q '"status":"cancelled"' || fails "expected the end of the run as the last line"

# ---- Completion ----
run tenon reference --completion bash
expect_in out 'run/start'
