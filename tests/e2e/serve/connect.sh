# Commands with --connect print what they print in a host of their own, and have the same exit codes.
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
sed 's/type: set, /type: set, interrupt: before, /' count.yaml >asks.yaml

# same COMMAND…: runs it with and without --connect. Times, ids and measurements are replaced, because they differ.
hide='s/[0-9a-f]\{8\}-[0-9a-f]\{4\}-[0-9a-f-]\{22\}/ID/g; s/20[0-9-]\{8\}T[0-9:.]*Z/TIME/g; s/\("now"\|"elapsed_ms"\|"duration_ms"\):[0-9.]*/\1:0/g; s/client [0-9]*/tenon/g'
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

run tenon call host/info --connect s
expect_code 1 && expect_in err 'cannot connect to s: ' && expect_in err '[NOT_FOUND]'
host_start
run tenon call host/info --connect s --plugins .
expect_code 2 && expect_in err '--plugins cannot be used with --connect'
run tenon doctor --connect s
expect_code 2 && expect_in err 'unknown option `--connect`'

# ---- tenon call ----
run tenon call host/info --connect s
expect_code 0 && expect_in out '"client":"client '
same call run/list '{"limit": 0}'
expect_code 2
same call run/get '{"run_id": "x"}'
expect_code 1
same call run/start '{"text": "version: 1\n"}'
expect_code 3
same call run/strat
expect_code 2
params="{\"document\": \"$PWD/count.yaml\"}"
same call run/start "$params"
expect_code 0
same call run/start "{\"document\": \"$PWD/count.yaml\", \"subscribe\": {}}"
expect_code 0 && expect_in out '"event":"run/ended"'
[ "$(wc -l <"$work/out")" = 5 ] || fails "expected the result, three events and the end"
same call run/start "{\"document\": \"$PWD/count.yaml\", \"input\": {\"n\": 50}, \"subscribe\": {\"credit\": 2}}"
[ "$(wc -l <"$work/out")" = 52 ] || fails "expected the result, 50 events and the end"
same call run/start "{\"document\": \"$PWD/asks.yaml\", \"subscribe\": {}}"
expect_code 5
same call run/start "{\"document\": \"$PWD/count.yaml\", \"config\": {\"recursion_limit\": 2}}"
expect_code 1 && expect_in err '[RECURSION_LIMIT]'

# A signal cancels the run in the other host; a run that is not awaited continues.
env --default-signal=INT "$TENON" call run/start "{\"document\": \"$PWD/count.yaml\", \"input\": {\"n\": 100000000}, \"subscribe\": {}}" \
    --connect s >long.out 2>long.err &
process=$!
wait_until grep -q run/event long.out
kill -INT "$process"
expect_ended "$process" "expected an end after SIGINT"
wait "$process" && code=0 || code=$?
expect_code 130
tail -n 1 long.out | grep -q '"status":"cancelled"' || fails "expected the end of the run as the last line"
run tenon call run/list '{"status": "running"}' --connect s
expect_out '{"runs":[],"more":false}'

# A subscription lasts until a signal, and the host that goes away is reported.
env --default-signal=INT "$TENON" call event/subscribe '{"events": ["run/ended"]}' --connect s >events.out 2>events.err &
process=$!
wait_until grep -q subscription events.out
run tenon call run/start "$params" --connect s
expect_code 0
wait_until grep -q '"event":"run/ended"' events.out
kill -INT "$process"
expect_ended "$process" "expected an end after SIGINT"
run tenon call run/start "{\"document\": \"$PWD/hours.yaml\"}" --connect s &
waits=$!
wait_until eval '"$TENON" call run/list "{\"status\": \"running\"}" --connect s | grep -q run_id'
kill -KILL "$host"
wait "$host" 2>/dev/null || true
expect_ended "$waits" "expected an end with the host"
expect_in err "the host at s has closed the connection"
host_start
