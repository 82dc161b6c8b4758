# A host is stopped (SIGSTOP) inside a transaction: the others continue, the server ends its transaction after `timeout_ms`,
# and when it continues it repeats the batch, whose fence decides. And who runs a thread: OWNED.
[ -e "$BINARY/lib/tenon/plugins/postgres.so" ] || skips "built without the store in PostgreSQL"
[ -S "${TENON_TEST_POSTGRES:-}/.s.PGSQL.5432" ] || skips "PostgreSQL is not installed"
schema=stopped_$$ nodes="--plugins $TEST_NODES --allow-drafts"
store() { printf 'store: {use: postgres, url: "host=%s dbname=tenon user=tenon application_name=%s", schema: %s%s}\n' "$TENON_TEST_POSTGRES" "$1" "$schema" "$2"; }
store first ", timeout_ms: 700" >first.yaml
store others ", busy_ms: 10000" >tenon.yaml
sql() { "$SOURCE/tests/postgres/server" run "$TENON_TEST_POSTGRES" psql -qAt -h "$TENON_TEST_POSTGRES" -U tenon tenon -c "$1"; }
is() { tenon thread list --json | grep -F "\"thread_id\":\"$1\"" | grep -qF "\"status\":\"$2\""; }

# ---- OWNED ----
cat >slow.yaml <<'YAML'
version: "1.0"
channels: [{name: n, type: last_value, default: 0}]
nodes:
  - {id: a, type: test.add, config: {in: n, out: n}}
  - {id: s, type: test.await_file, config: {file: go}}
edges: [{from: START, to: a}, {from: a, to: s}, {from: s, to: END}]
YAML
"$TENON" run slow.yaml $nodes --thread owned >owned.out 2>owned.err </dev/null &
owner=$!
servers+=("$owner")
wait_until is owned running
for how in --resume --replace; do
    run tenon run slow.yaml $nodes --thread owned $how
    expect_code 1 && expect_in err "[OWNED]" && expect_in err "being run by process $owner:"
done
run tenon thread delete owned
expect_code 1 && expect_in err "[OWNED]"
kill -9 "$owner"
expect_ended "$owner" "the run was not killed"
touch go
run tenon run slow.yaml $nodes --thread owned --resume
expect_code 0 && expect_out '{"n":1}'

# ---- Stopped inside a transaction of a thread ----
cat >count.yaml <<'YAML'
version: "1.0"
channels: [{name: n, type: last_value, default: 0}]
nodes: [{id: a, type: test.add, config: {in: n, out: n}}]
edges:
  - {from: START, to: a}
  - {from: a, type: conditional, conditions: [{expression: "state.n < 20000", to: a}, {expression: default, to: END}]}
YAML
"$TENON" run count.yaml $nodes --thread t --config first.yaml --run-config '{"recursion_limit": 30000}' >first.out 2>first.err </dev/null &
first=$!
servers+=("$first")
wait_until is t running
# Stops the process; continues it unless the server waits for it inside a transaction that has written or locked.
stopped_inside() {
    kill -STOP "$first" || fails "the run has ended: $(cat first.err)"
    sleep 0.02
    [ "$(sql "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'first' AND state = 'idle in transaction'")" = 1 ] && return 0
    kill -CONT "$first"
    return 1
}
wait_until stopped_inside
# Others create, claim and end Tasks, and run other threads.
id=$(tenon task create work)
tenon task show "$id" --json | grep -q '"state":"queued"' || fails "a Task cannot be created"
run tenon run "$SOURCE/samples/hello/hello.yaml" --thread ada --set name=Ada
expect_code 0 && expect_out '{"name":"Ada","greeting":"Hello, Ada!"}'
# The thread is taken over: its record is locked until the server has ended the transaction of the stopped process.
run tenon thread update t count.yaml $nodes --set n=30000 --force
expect_code 0
kill -CONT "$first"
wait "$first" && fails "the stopped run has not failed"
grep -qF "[FENCED]" first.err || fails "expected FENCED, found $(cat first.err)"
run tenon thread state t
expect_code 0 && expect_in out '"n":30000'
[ "$(sql "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'first'")" = 0 ] || fails "a connection is left"
