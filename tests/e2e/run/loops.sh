# `tenon run --batch FILE --loops N`: output, threads and exit code do not depend on N, also after a kill.
[ -e "$BINARY/lib/tenon/plugins/sqlite.so" ] || skips "built without the SQLite store"
echo 'log: warn' >tenon.yaml # the store is beside it
cat >count.yaml <<'YAML'
version: "1.0"
agent: {name: count, recursion_limit: 100}
channels: [{name: n, type: last_value, default: 0}, {name: k, type: last_value, default: 1}, {name: seen, type: append}]
nodes:
  - {id: add, type: set, config: {values: {n: state.n + 1, seen: state.n}}}
  - {id: bad, type: fail, config: {code: TOO_BIG, message: no}}
edges:
  - {from: START, to: add}
  - {from: add, type: conditional, conditions: [{expression: state.n < state.k, to: add}, {expression: state.k == 13, to: bad}, {expression: default, to: END}]}
YAML
for n in $(seq 40); do echo "{\"k\": $((n % 5 == 0 ? 90 : n))}"; done >lines.jsonl
echo '{"k": 200}' >>lines.jsonl # exceeds its limit of steps
sed -i '7s/.*/not JSON/' lines.jsonl

run tenon run count.yaml --batch lines.jsonl
expect_code 1 && expect_in out TOO_BIG && expect_in out RECURSION_LIMIT && cp "$work/out" one
for loops in 2 3 auto; do
    run tenon run count.yaml --batch lines.jsonl --loops $loops
    expect_code 1 && expect_in err "3 of 41 runs failed"
    cmp one "$work/out" || fails "expected the same results from $loops loops"
done

# ---- Threads: the same threads, and a batch that is killed continues with any number of loops ----
# what is saved, without times, ids of runs, and random numbers
threads() {
    for i in 1 2 8 41; do tenon thread export "q/$i"; done |
        sed -E 's/"20[0-9T:.-]*Z"/"TIME"/g; s/"[0-9a-f]{8}-[0-9a-f-]{27}"/"ID"/g; s/"[0-9a-f]{32}"/"RANDOM"/g; s/"fence":[0-9]+/"fence":0/g; s/"now":[0-9]+/"now":0/g'
}
run tenon run count.yaml --batch lines.jsonl --thread q
expect_code 1 && cmp one "$work/out" || fails "expected the same results from threads"
threads >threads.one
rm -rf .tenon
run tenon run count.yaml --batch lines.jsonl --thread q --loops 3
expect_code 1 && cmp one "$work/out" || fails "expected the same results from threads of 3 loops"
threads >threads.three
cmp threads.one threads.three || fails "expected the same threads from 3 loops"
sed -i 's/^  - {id: bad.*/&\n  - {id: pause, type: delay, config: {ms: 60000}}/; s/{expression: default, to: END}/{expression: state.k == 90, to: pause}, &/' count.yaml
sed -i '7d;13d;$d' lines.jsonl
"$TENON" run count.yaml --batch lines.jsonl --thread w --loops 2 >killed.out 2>killed.err &
killed=$!
servers+=("$killed")
done_threads() { [ "$(tenon thread list --status done --json --limit 100 | grep -c '"w/')" -ge 20 ]; }
wait_until done_threads
kill -KILL $killed
wait $killed || true
sed -i 's/ms: 60000/ms: 1/' count.yaml
run tenon run count.yaml --batch lines.jsonl --thread w --loops 3 --resume --accept-changes
expect_code 0 && cp "$work/out" three
run tenon run count.yaml --batch lines.jsonl
expect_code 0 && cmp three "$work/out" || fails "expected the results of an undisturbed batch"

# ---- Mistakes ----
run tenon run count.yaml --loops 2
expect_code 2 && expect_in err "--loops needs --batch"
run tenon run count.yaml --batch lines.jsonl --loops 0
expect_code 2 && expect_in err '--loops: found `0`, expected a whole number from 1 to 64'
run tenon run count.yaml --batch lines.jsonl --loops many
expect_code 2 && expect_in err '`many`'
run tenon run count.yaml --batch lines.jsonl --loops 2 --record recorded
expect_code 2 && expect_in err "[UNSUPPORTED]"

# ---- A plugin whose process dies fails the same runs; plugins.processes limits all loops together ----
printf 'plugins: {isolation: {tenon.core: process}, processes: {tenon.core: 1}}\n' >one.yaml
run tenon run count.yaml --batch lines.jsonl --loops 2 --config one.yaml
expect_code 2 && expect_in err "plugins.processes allows \`tenon.core\` 1 process, and each of 2 loops needs one" && expect_out ""
sed -i 's/processes: {tenon.core: 1}/processes: {tenon.core: 2}/' one.yaml
run tenon run count.yaml --batch lines.jsonl --loops 2 --config one.yaml
expect_code 0 && cmp three "$work/out" || fails "expected the same results from separate processes"
