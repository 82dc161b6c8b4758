# Runs that are killed, drained, cancelled, or taken over.
cat >slow.yaml <<'YAML'
version: "1.0"
agent: {name: slow}
channels: [{name: t, type: append}]
nodes:
  - {id: a, type: test.write, config: {out: t, value: a}}
  - {id: wait, type: delay, config: {ms: 600000}}
  - {id: b, type: test.write, config: {out: t, value: b}}
edges: [{from: START, to: a}, {from: a, to: wait}, {from: wait, to: b}, {from: b, to: END}]
YAML
sed 's/ms: 600000/ms: 1/' slow.yaml >quick.yaml
# started THREAD: starts a run and waits until its first step is saved; $pid is the process
started() {
    "$TENON" run slow.yaml --thread "$1" $nodes >"$work/slow" 2>&1 </dev/null &
    pid=$!
    until "$TENON" thread state "$1" 2>"$work/log" | grep -qF '"a"'; do kill -0 $pid 2>"$work/log" || fails "the run ended before its first step was saved"; done
}
started killed
kill -KILL $pid
wait $pid 2>"$work/log" || true
run tenon thread show killed
expect_in out "status       running"
run tenon run quick.yaml --thread killed $nodes
expect_code 1
expect_in err "or its process was killed"
run tenon run quick.yaml --thread killed $nodes --resume --accept-changes
expect_code 0
expect_out '{"t":["a","b"]}'

started cancelled
kill -TERM $pid # drains
kill -INT $pid  # ends at once; a second SIGTERM could be merged with the first
wait $pid && code=0 || code=$?
[ "$code" = 130 ] || fails "expected exit code 130 after two signals, found $code"
run tenon thread show cancelled
expect_in out "status       cancelled"
run tenon run quick.yaml --thread cancelled $nodes --resume --accept-changes
expect_out '{"t":["a","b"]}'

# A run from a checkpoint is drained and cancelled in the same way.
"$TENON" replay cancelled --document slow.yaml --from 1 --fork again $nodes >"$work/slow" 2>&1 </dev/null &
pid=$!
until "$TENON" thread show again 2>"$work/log" | grep -qF running; do kill -0 $pid 2>"$work/log" || fails "the run from a checkpoint ended"; done
kill -INT $pid
wait $pid && code=0 || code=$?
[ "$code" = 130 ] || fails "expected exit code 130 of a run from a checkpoint, found $code"
run tenon thread show again
expect_in out "status       cancelled"

# Taken over: the previous owner writes nothing more.
started taken
run tenon run quick.yaml --thread taken $nodes --resume --accept-changes --force
expect_out '{"t":["a","b"]}'
kill -INT $pid
wait $pid && code=0 || code=$?
[ "$code" = 130 ] || fails "expected exit code 130 of the interrupted previous owner, found $code"
run tenon thread show taken
expect_in out "status       done"
