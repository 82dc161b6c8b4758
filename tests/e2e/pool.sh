# The failure of one run stays its own: what a crash, a timeout or a plugin that keeps dying costs other runs.
compile() { # FILE [OPTION…]
    local file=$1
    shift
    "${CC:-cc}" -shared -fPIC -fvisibility=hidden -O1 -I"$SOURCE/sdk/include" "$@" \
        -Wl,--version-script="$SOURCE/sdk/cmake/tenon-plugin.map" -o "$file" "$SOURCE/tests/isolate/pool.c" 2>"$work/log" ||
        { cat "$work/log" >&2; fails "pool.c does not compile"; }
}
compile pool.so

document() { # TYPE TIME_LIMIT
    cat >line.yaml <<YAML
version: "1.0"
agent: {name: line}
channels: [{name: what, type: last_value, default: work}, {name: out, type: last_value}]
nodes: [{id: line, type: $1, timeout: {total: $2}, config: {what: what, out: out}}]
edges: [{from: START, to: line}, {from: line, to: END}]
YAML
}
pool() { run tenon run line.yaml --plugins pool.so --isolate test.pool "$@"; }
failed() { grep -c '"error":' "$work/out" || true; }
expect_failed() { [ "$(failed)" = "$1" ] || fails "expected $1 failed lines, found $(failed)"; }

# A timeout in one run does not end the tasks of the others, although the process of that task is killed.
cat >batch.jsonl <<JSON
{"what":"spin"}
{"what":"wait $PWD/go"}
{"what":"wait $PWD/go"}
JSON
cat >three.yaml <<'YAML'
version: "1.0"
agent: {name: three}
channels: [{name: what, type: last_value, default: work}, {name: out, type: last_value}]
nodes:
  - {id: short, type: test.line, timeout: {total: 1s}, config: {what: what, out: out}}
  - {id: long, type: test.line, timeout: {total: 300s}, config: {what: what, out: out}}
edges:
  - {from: START, type: conditional, conditions: [{expression: "state.what == 'spin'", to: short}, {expression: default, to: long}]}
  - {from: short, to: END}
  - {from: long, to: END}
YAML
: >"$work/err"
"$TENON" run three.yaml --plugins pool.so --isolate test.pool --batch batch.jsonl >"$work/out" 2>"$work/err" &
host=$!
wait_until grep -q 'it did not end a cancelled task' "$work/err"
touch go
code=0
wait $host || code=$?
expect_code 1
expect_failed 1
expect_in out '"code":"TIMEOUT"'
[ "$(grep -c '"out":[0-9]' "$work/out")" = 2 ] || fails "the other runs did not succeed"

# A crash costs one line of a batch: the one that crashed.
document test.line 60s
{ echo '{"what":"crash"}'; for _ in $(seq 299); do echo '{}'; done; } >batch.jsonl
pool --batch batch.jsonl
expect_code 1
expect_failed 1
head -n 1 "$work/out" | grep -q PLUGIN_CRASHED || fails "the first line did not fail"

# In the shared process, it costs the tasks that are open in it; what starts later waits for the restart.
document test.shared 60s
pool --batch batch.jsonl --concurrency 1
expect_code 1
expect_failed 1
head -n 1 "$work/out" | grep -q PLUGIN_CRASHED || fails "the first line did not fail"
pool --batch batch.jsonl --concurrency 16
expect_code 1
[ "$(failed)" -le 16 ] || fails "a task failed that was not open when the process ended: $(failed) lines"

# After six deaths in a minute, it works as before; after three in a row the log says so.
for type in test.line test.shared; do
    document $type 60s
    { for _ in $(seq 6); do echo '{"what":"crash"}'; done; echo '{}'; } >batch.jsonl
    pool --batch batch.jsonl --concurrency 1
    expect_code 1
    expect_failed 6
    tail -n 1 "$work/out" | grep -q '"out":[0-9]' || fails "the line after six deaths did not succeed"
    expect_in err "it has ended 6 times in a row, and is started again in 3200 ms; \`tenon plugin reset test.pool\` clears the pause"
done

# A task that ends shows that the plugin works: the pause does not grow.
for _ in $(seq 6); do echo '{"what":"crash"}'; echo '{}'; done >batch.jsonl
pool --batch batch.jsonl --concurrency 1
expect_failed 6
expect_not_in err "in a row"

# A task that waits for the end of a pause can be cancelled. (tests/unit/pool_test.c has its time limit.)
document test.shared 300s
for _ in $(seq 9); do echo '{"what":"crash"}'; done >batch.jsonl
"$TENON" run line.yaml --plugins pool.so --isolate test.pool --batch batch.jsonl --concurrency 1 >"$work/out" 2>"$work/err" &
host=$!
wait_until grep -q 'ended 4 times in a row' "$work/err"
kill -TERM $host
code=0
wait $host || code=$?
expect_code 130
expect_not_in err 'ended 9 times in a row'

# tenon.yaml limits the processes of a plugin. A task that finds none idle waits, and runs in one of them.
document test.line 60s
for _ in $(seq 40); do echo '{}'; done >batch.jsonl
echo 'plugins: {processes: {test.pool: 1}}' >tenon.yaml
pool --batch batch.jsonl
expect_code 0
[ "$(grep -o '"out":[0-9]*' "$work/out" | sort -u | wc -l)" = 1 ] || fails "more than one process ran the tasks"
echo 'plugins: {processes: {test.pol: 2}}' >tenon.yaml
pool
expect_in err 'plugins.processes: unknown plugin `test.pol`; did you mean `test.pool`?'
for wrong in 0 257 many; do
    echo "plugins: {processes: {\"*\": $wrong}}" >tenon.yaml
    pool
    expect_code 4
    expect_in err 'expected a number from 1 to 256'
done
rm tenon.yaml

# A plugin whose calls need what others have left in memory has one process, also for its blocking components.
compile pool.so -DONE_PROCESS
rm -f go
{ for _ in $(seq 3); do echo "{\"what\":\"wait $PWD/go\"}"; done; echo "{\"what\":\"crash-once $PWD/go\"}"; } >batch.jsonl
pool --batch batch.jsonl
expect_failed 4 # the crash ends them all
pool --batch batch.jsonl
expect_code 0
[ "$(grep -o '"out":[0-9]*' "$work/out" | sort -u | wc -l)" = 1 ] || fails "more than one process ran the tasks"
run tenon plugin show ./pool.so
expect_in out 'processes  one, if it is isolated'

# The command of a secret, which can be slow or ask a person, runs once for all processes, and again after one has ended.
compile pool.so -DSECRET
printf '#!/bin/sh\necho fetched >>%s/fetched\necho key\n' "$PWD" >key
chmod +x key
printf 'plugins: {processes: {test.pool: 3}}\nsecrets: {POOL_KEY: {command: [%s]}}\n' "$PWD/key" >tenon.yaml
rm -f go
for _ in $(seq 3); do echo "{\"what\":\"wait $PWD/go\"}"; done >batch.jsonl
"$TENON" run line.yaml --plugins pool.so --isolate test.pool --batch batch.jsonl >"$work/out" 2>"$work/err" &
host=$!
has_all_processes() { [ "$(cat /proc/$host/task/*/children | wc -w)" = 4 ]; } # the shared one, and three of the pool
wait_until has_all_processes
touch go
wait $host || fails "the run failed: $(cat "$work/err")"
[ "$(wc -l <fetched)" = 1 ] || fails "expected one call of the command, found $(wc -l <fetched)"
{ echo '{"what":"crash"}'; echo '{}'; } >batch.jsonl
rm fetched
pool --batch batch.jsonl --concurrency 1
expect_failed 1
[ "$(wc -l <fetched)" = 2 ] || fails "expected two calls of the command, found $(wc -l <fetched)"
