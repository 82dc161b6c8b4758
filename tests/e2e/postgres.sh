# The store in PostgreSQL: two hosts, a password, the check of the plugin. tests/postgres has longer tests.
plugin=$BINARY/lib/tenon/plugins/postgres.so
[ -e "$plugin" ] || skips "built without the store in PostgreSQL"
[ -S "${TENON_TEST_POSTGRES:-}/.s.PGSQL.5432" ] || skips "PostgreSQL is not installed"
schema=e2e_$$ url="host=$TENON_TEST_POSTGRES dbname=tenon user=tenon"
export PASSWORD=geheim
cat >tenon.yaml <<YAML
store: {use: postgres, url: "$url", schema: $schema, password: {secret: PASSWORD}}
work:
  work: {strategy: ./double.yaml}
YAML
cat >double.yaml <<'YAML'
version: "1.0"
agent: {name: double}
output: {type: object, properties: {user_output: {type: [string, "null"]}, task_state: {enum: [done, failed, running]}, error: {type: [object, "null"]}}}
channels:
  - {name: task, type: last_value}
  - {name: user_output, type: last_value}
  - {name: task_state, type: last_value, default: done}
  - {name: error, type: last_value}
nodes:
  - {id: n, type: set, config: {values: {user_output: "string(state.task.payload.n * 2)"}}}
edges:
  - {from: START, to: n}
  - {from: n, to: END}
YAML

# ---- A worker in another process ----
env --default-signal=INT "$TENON" work >worker.out 2>worker.err </dev/null &
worker=$!
servers+=("$worker")
wait_until grep -q "claims Tasks" worker.err
run tenon task create work --payload '{"n": 21}'
expect_code 0
id=$(cat "$work/out")
task_is() { tenon task show "$id" --json | grep -qF -- "$1"; }
wait_until task_is '"state":"done"'
run tenon task show "$id" --json
expect_in out '"user_output":"42"'
kill -INT "$worker"
expect_ended "$worker" "the worker does not end"

# ---- Threads: another process continues ----
hello=$SOURCE/samples/hello/hello.yaml said='{"name":"Ada","greeting":"Hello, Ada!"}'
run tenon run "$hello" --thread ada --set name=Ada
expect_code 0 && expect_out "$said"
run tenon replay ada
expect_code 0 && expect_out "ada: 2 of 2 checkpoints are identical"
run tenon thread list
expect_code 0 && expect_in out ada

# ---- A password is in no message ----
printf 'store: {use: postgres, url: "postgresql://x:geheim@[bad", password: {secret: PASSWORD}}\n' >tenon.yaml
run tenon thread list
expect_code 1 && expect_in err "not a connection string" && expect_not_in err geheim
printf 'store: {use: postgres, url: "host=/nowhere user=x", password: {secret: PASSWORD}}\n' >tenon.yaml
run tenon thread list
expect_code 1 && expect_in err "cannot connect" && expect_not_in err geheim
unset PASSWORD
run tenon thread list
expect_code 1 && expect_in err "PASSWORD" && expect_in err SECRET_NOT_FOUND

# ---- The check of the plugin: the suite, a process that is killed, and two that write ----
run tenon plugin check "$plugin" --no-config --store "{\"url\": \"$url\", \"schema\": \"${schema}_check\", \"clock\": \"host\"}"
expect_code 0 && expect_in err "no problems found"
run tenon plugin check "$plugin" --no-config --store 5
expect_code 2 && expect_in err "--store: expected a JSON object"
