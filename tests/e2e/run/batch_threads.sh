# --batch with --thread: the run of each line is saved, and --resume continues with those that are not done.
[ -e "$BINARY/lib/tenon/plugins/sqlite.so" ] || skips "built without SQLite"
printf 'store: {use: sqlite, path: ./kept.db}\n' >tenon.yaml
batch() { run tenon run "$@" --quiet; }
head -n 8 many.jsonl >some.jsonl
for i in $(seq 8); do echo "{\"output\":{\"name\":$i,\"greeting\":\"Hello, $i!\"}}"; done >some.expected

# Each line has a thread. A resumed batch that is done prints what the threads have saved, and a new one sends them input.
batch "$hello" --batch some.jsonl --thread q
expect_code 0 && cmp -s "$work/out" some.expected || fails "unexpected results"
run tenon thread state q/7
expect_in out '"Hello, 7!"'
batch "$hello" --batch some.jsonl --thread q --resume
expect_code 0 && cmp -s "$work/out" some.expected || fails "a resumed batch prints other results"
run tenon thread history q/7
[ "$(grep -c '"input"\|input' "$work/out")" = 1 ] || fails "a line that was done ran again"
batch "$hello" --batch some.jsonl --thread q
expect_code 0 && cmp -s "$work/out" some.expected || fails "unexpected results of the second batch with these threads"
run tenon thread history q/7
[ "$(grep -c '"input"\|input' "$work/out")" = 2 ] || fails "the second batch has not run"

# What was done is not run again, also if its thread was removed; a batch without threads is forgotten.
run tenon thread delete q/7
batch "$hello" --batch some.jsonl --thread q --resume
expect_code 1 && sed -n 7p "$work/out" | grep -qF 'the thread `q/7` does not have its result any more' || fails "line 7 ran again"
batch "$hello" --batch some.jsonl --thread q --resume
expect_code 1 && sed -n 7p "$work/out" | grep -qF 'does not have its result any more' || fails "line 7 ran again at the second try"
batch "$hello" --batch some.jsonl --thread q --replace
expect_code 0
run tenon thread gc --keep 0 --status done
batch "$hello" --batch some.jsonl --thread q --resume
expect_code 1 && once 'the batch `q` does not exist'

# Keys: an expression over the input. Nothing runs if one of them is wrong.
printf '%s\n' '{"name": "b"}' '{"name": "a"}' >keys.jsonl
batch "$hello" --batch keys.jsonl --thread 'user-${{ input.name }}' --json
expect_code 0 && sed -n 2p "$work/out" | grep -qF '"line":2,"thread":"user-a","output":{' || fails "unexpected event"
run tenon thread state user-b
expect_in out '"Hello, b!"'
# refused TEXT WHAT: the lines have no threads with this text
refused() {
    batch "$hello" --batch keys.jsonl --thread "$1"
    expect_code 2 && once "$2"
    expect_out ""
}
refused 'x-${{ input.name.size() }}' 'keys.jsonl:2: --thread: the thread `x-1` is also that of line 1'
refused 'x-${{ input.age }}' 'keys.jsonl:1: --thread: unknown key "age"'
refused 'x-${{ input }}' 'keys.jsonl:1: --thread: the key is object, expected text or a whole number'
refused 'x-${{ inptu.name }}' 'unknown variable `inptu`; did you mean `input`?'
refused 'x-${{ input.name' 'without the `}}` at its end'
refused 'x-{{ input.name }}' 'an expression is written ${{'
refused '' 'expected 1 to'
refused "$(head -c 199 /dev/zero | tr '\0' x)" 'the thread id has 201 bytes, expected 1 to 200'
batch "$hello" --batch keys.jsonl --thread x --resume
expect_code 1 && once 'the batch `x` does not exist'

# A batch with a line that is not valid is not done. It continues with another line in its place, if that is accepted.
printf '%s\n' '{"name": "a"}' '{"name": "b"' '{"name": "c"}' >broken.jsonl
batch "$hello" --batch broken.jsonl --thread broken
expect_code 1 && expect_in err '1 of 3 runs failed' && expect_in err '--batch broken.jsonl --thread broken --resume'
printf '%s\n' '{"name": "a"}' '{"name": "b"}' '{"name": "c"}' >broken.jsonl
batch "$hello" --batch broken.jsonl --thread broken
expect_code 1 && once 'the batch `broken` is not done' && expect_in err '[UNFINISHED]'
batch "$hello" --batch broken.jsonl --thread broken --resume
expect_code 1 && once 'the inputs of the batch `broken` have changed since it began; use the same file' && expect_in err '[BATCH_CHANGED]'
batch "$hello" --batch broken.jsonl --thread broken --resume --accept-changes
expect_code 0 && sed -n 2p "$work/out" | grep -qxF '{"output":{"name":"b","greeting":"Hello, b!"}}' || fails "line 2 has not run"
# A line that has begun keeps its input.
printf '%s\n' '{"name": "a"}' '{"name": "b"}' '{"name": "d"}' '{"name": "e"}' >broken.jsonl
batch "$hello" --batch broken.jsonl --thread broken --resume
expect_code 1 && once 'it had 3 inputs, and has 4'
batch "$hello" --batch broken.jsonl --thread broken --resume --accept-changes
expect_code 1 && sed -n 3p "$work/out" | grep -q 'BATCH_CHANGED' || fails "line 3 has run with another input"
sed -n 4p "$work/out" | grep -qF '"Hello, e!"' || fails "the new line has not run"
batch "$hello" --batch broken.jsonl --thread broken --replace
expect_code 0 && sed -n 3p "$work/out" | grep -qF '"Hello, d!"' || fails "the batch has not been started again"

# Failures: --resume runs the failed node again, and --replace the whole line. Other lines are not run again.
cat >flaky.yaml <<'YAML'
version: "1.0"
channels: [{name: n, type: last_value}, {name: seen, type: append}, {name: fixed, type: last_value, default: false}]
nodes:
  - {id: note, type: set, config: {values: {seen: state.n}}}
  - {id: boom, type: fail, config: {code: SOLD_OUT, message: "nothing left"}}
edges:
  - {from: START, to: note}
  - {from: note, type: conditional, conditions: [{expression: "state.n == 2 && !state.fixed", to: boom}, {expression: default, to: END}]}
  - {from: boom, to: END}
YAML
printf '%s\n' '{"n": 1}' '{"n": 2}' '{"n": 3}' >flaky.jsonl
batch flaky.yaml --batch flaky.jsonl --thread f --durability exit
expect_code 1 && sed -n 2p "$work/out" | grep -q SOLD_OUT || fails "expected a failure in line 2"
batch flaky.yaml --batch flaky.jsonl --thread f --resume
expect_code 1 && sed -n 2p "$work/out" | grep -q SOLD_OUT || fails "expected a failure in line 2 again"
[ "$(sed -n 1p "$work/out")" = '{"output":{"n":1,"seen":[1],"fixed":false}}' ] || fails "line 1 has run again"
run tenon thread update f/2 flaky.yaml --set fixed=true
expect_code 0
batch flaky.yaml --batch flaky.jsonl --thread f --replace
expect_code 0
[ "$(sed -n 3p "$work/out")" = '{"output":{"n":3,"seen":[3,3],"fixed":false}}' ] || fails "--replace keeps the state of the thread"
