# A batch that another process takes over (--force): the process that had it runs no line again that the other has run.
[ -e "$BINARY/lib/tenon/plugins/sqlite.so" ] || skips "built without SQLite"
command -v python3 >/dev/null || skips "python3 is not installed"
printf 'store: {use: sqlite, path: ./kept.db}\n' >tenon.yaml
cat >wait.yaml <<'YAML'
version: "1.0"
agent: {name: wait}
channels: [{name: n, type: last_value}, {name: log, type: append}]
nodes: [{id: note, type: set, config: {values: {log: state.n}}}, {id: pause, type: delay, config: {ms: 800}}]
edges: [{from: START, to: note}, {from: note, to: pause}, {from: pause, to: END}]
YAML
# The first process would take 16 seconds, so that it can be stopped before its end also on a busy machine.
for i in $(seq 20); do echo "{\"n\": $i}"; done >lines.jsonl
for i in $(seq 20); do echo "{\"output\":{\"n\":$i,\"log\":[$i]}}"; done >expected
# Stops the first process while it does not write, so that the other one can.
pauses() {
    kill -STOP $first
    python3 -c 'import sqlite3; sqlite3.connect("kept.db", timeout=0).execute("BEGIN IMMEDIATE")' 2>/dev/null && return
    kill -CONT $first
    return 1
}
for start in "" --replace; do
    : >first.out # the wait below must not see what the process before has written
    "$TENON" run wait.yaml --batch lines.jsonl --thread q $start --concurrency 1 --quiet >first.out 2>first.err &
    first=$!
    begun() { "$TENON" thread show q/1 >/dev/null 2>&1; }
    [ -n "$start" ] || wait_until begun
    [ -z "$start" ] || wait_until grep -q . first.out
    wait_until pauses
    run tenon run wait.yaml --batch lines.jsonl --thread q --resume --force --concurrency 20 --quiet
    expect_code 0
    cp "$work/out" second.out
    kill -CONT $first
    wait $first && fails "expected that the first process fails"
    grep -q FENCED first.err || fails "expected FENCED: $(cat first.err)"
    run tenon run wait.yaml --batch lines.jsonl --thread q --resume --quiet
    expect_code 0
    [ -n "$start" ] || cmp -s "$work/out" expected || fails "lines have run twice"
    cmp -s "$work/out" second.out || fails "the results have changed"
done
