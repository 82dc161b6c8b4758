# --batch with --thread: lines that wait for answers, a batch that is stopped, and a store that is full.
[ -e "$BINARY/lib/tenon/plugins/sqlite.so" ] || skips "built without SQLite"
printf 'store: {use: sqlite, path: ./kept.db}\n' >tenon.yaml
batch() { run tenon run "$@" --quiet; }
printf '%s\n' '{"n": 1}' '{"n": 2}' '{"n": 3}' >numbers.jsonl
printf '%s\n' '{"name": "b"}' '{"name": "a"}' >keys.jsonl

# Questions: an answer is for each line that waits for it.
cat >asks.yaml <<'YAML'
version: "1.0"
channels: [{name: n, type: last_value}, {name: answer, type: last_value}]
nodes: [{id: ask, type: ask, config: {question: "{n}?", output_key: answer}}]
edges:
  - {from: START, type: conditional, conditions: [{expression: state.n > 1, to: ask}, {expression: default, to: END}]}
  - {from: ask, to: END}
YAML
batch asks.yaml --batch numbers.jsonl --thread asks
expect_code 5 && expect_in err '2 of 3 runs wait for answers'
sed -n 2p "$work/out" | grep -qF 'the run waits for answers: give them to its thread `asks/2`, and resume the batch' || fails "expected a question in line 2"
id=$(sed -n 2p "$work/out" | grep -o '"id":"[0-9a-f]*"' | head -n 1 | cut -d'"' -f4)
batch asks.yaml --batch numbers.jsonl --thread asks --resume --answer nobody=yes
expect_code 1 && once 'no line of the batch waits for an answer to `nobody`'
run tenon thread answer asks/3 "$id=three"
expect_code 0
batch asks.yaml --batch numbers.jsonl --thread asks --resume
expect_code 5 && expect_in err '1 of 3 runs waits for answers'
sed -n 3p "$work/out" | grep -qF '"answer":"three"' || fails "the saved answer was not used"
batch asks.yaml --batch numbers.jsonl --thread asks --resume --answer "$id=two"
expect_code 0 && sed -n 2p "$work/out" | grep -qF '"answer":"two"' && sed -n 3p "$work/out" | grep -qF '"answer":"three"' ||
    fails "the answers were not used for their lines"

# A join of which one source has run when the process ends is completed by the next process.
cat >join.yaml <<'YAML'
version: "1.0"
channels: [{name: seen, type: append}]
nodes:
  - {id: a, type: set, config: {values: {seen: '"a"'}}}
  - {id: b, type: set, interrupt: before, config: {values: {seen: '"b"'}}}
  - {id: before, type: passthrough}
  - {id: both, type: set, config: {values: {seen: '"both"'}}}
  - {id: again, type: set, config: {values: {seen: '"again"'}}}
edges:
  - {from: START, to: [a, before]}
  - {from: before, to: b}
  - {from: [a, b], to: both}
  - {from: [before, both], to: again}
  - {from: again, to: END}
YAML
printf '{}\n' >empty.jsonl
batch join.yaml --batch empty.jsonl --thread join
expect_code 5 && expect_in err '1 of 1 run waits for answers'
batch join.yaml --batch empty.jsonl --thread join --resume
expect_code 0 && expect_out '{"output":{"seen":["a","b","both","again"]}}'

# One process runs a batch. SIGTERM stops it, and it continues later.
cat >slowly.yaml <<'YAML'
version: "1.0"
channels: [{name: name, type: last_value}, {name: seen, type: append}]
nodes:
  - {id: first, type: delay, config: {ms: 600000}}
  - {id: last, type: set, config: {values: {seen: state.name}}}
edges: [{from: START, to: first}, {from: first, to: last}, {from: last, to: END}]
YAML
"$TENON" run slowly.yaml --batch keys.jsonl --thread slow --quiet >slow.out 2>slow.err &
pid=$!
waits() { tenon thread list --status running 2>/dev/null | grep -q slow/2; }
wait_until waits
batch slowly.yaml --batch keys.jsonl --thread slow --resume
expect_code 1 && once "the batch \`slow\` is being run by process $pid" && expect_in err '[OWNED]'
kill -INT $pid
code=0 && wait $pid || code=$?
[ "$code" = 130 ] || fails "expected exit code 130 after SIGINT, found $code"
grep -qF 'the batch was cancelled: 2 of 2 runs' slow.err && grep -qF -- '--batch keys.jsonl --thread slow --resume' slow.err ||
    fails "expected how to continue, found $(cat slow.err)"
sed 's/600000/1/' slowly.yaml >quickly.yaml
batch quickly.yaml --batch keys.jsonl --thread slow --resume
expect_code 1 && expect_in out GRAPH_CHANGED
batch quickly.yaml --batch keys.jsonl --thread slow --resume --accept-changes
expect_code 0 && sed -n 1p "$work/out" | grep -qxF '{"output":{"name":"b","seen":["b"]}}' || fails "the batch was not continued"

# A store that cannot be written: nothing runs. With one that becomes full, the lines that were not saved fail, and the
# batch continues when there is room. (Pipes, because the limit is also that of the files of standard output.)
limited() { run bash -c '(trap "" XFSZ; ulimit -f "$1"; shift; exec "$TENON" run "$@") 2>err.pipe | cat; exit ${PIPESTATUS[0]}' - "$@"; }
mkfifo err.pipe
cat err.pipe >full.err &
limited 0 "$hello" --batch keys.jsonl --thread full
wait $!
expect_code 1 && expect_out "" && [ "$(grep -c '^tenon: ' full.err)" = 1 ] || fails "expected one error, found $(cat full.err)"
printf 'store: {use: sqlite, path: ./small.db}\n' >tenon.yaml
cat err.pipe >full.err &
limited 1000 "$hello" --batch many.jsonl --thread full --quiet
wait $!
expect_code 1 && grep -q ' of 500 runs failed' full.err || fails "expected failures, found $(cat full.err)"
sed -n 1p "$work/out" | grep -qF 'Hello, 1!' && expect_in out 'STORE_FULL' || fails "expected results, then STORE_FULL"
batch "$hello" --batch many.jsonl --thread full --resume
for i in $(seq 500); do echo "{\"output\":{\"name\":$i,\"greeting\":\"Hello, $i!\"}}"; done >many.expected
expect_code 0 && cmp -s "$work/out" many.expected || fails "unexpected results after the store was full"

# In a host that runs there are no batches.
run tenon run "$hello" --batch keys.jsonl --thread x --connect absent
expect_code 2 && once '--batch cannot be used with --connect'
