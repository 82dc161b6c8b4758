# `tenon run --thread` and `tenon thread`: runs that stay, on real SQLite, each command a process of its own.
nodes="--plugins $TEST_NODES --allow-drafts"
printf 'store: {use: sqlite, path: ./kept.db}\n' >tenon.yaml

# ids: what the last --json run waits for, a line each
ids() { tail -n 1 "$work/out" | grep -o '"id":"[0-9a-f]*"' | cut -d'"' -f4; }

cat >count.yaml <<'YAML'
version: "1.0"
agent: {name: count}
channels: [{name: n, type: last_value, default: 0}, {name: log, type: append}]
nodes:
  - {id: a, type: set, config: {values: {n: state.n + 1, log: '"a"'}}}
  - {id: b, type: set, config: {values: {log: '"b" + string(state.n)'}}}
edges: [{from: START, to: a}, {from: a, to: b}, {from: b, to: END}]
YAML

# ---- A thread goes on with its state; two of them do not meet ----
run tenon thread list
expect_code 0
expect_in err "no threads"
for turn in 1 2; do run tenon run count.yaml --thread one; expect_code 0; done
expect_out '{"n":2,"log":["a","b1","a","b2"]}'
run tenon run count.yaml --thread other/one
expect_out '{"n":1,"log":["a","b1"]}'
run tenon thread show one
expect_in out "status       done"
expect_in out "step         4, checkpoint 5"
run tenon thread list --json
[ "$(wc -l <"$work/out")" = 2 ] || fails "two threads were expected"
run tenon thread list --status interrupted
expect_in err "no threads"
run tenon thread history one
[ "$(wc -l <"$work/out")" = 6 ] || fails "six checkpoints were expected"
expect_in out "     1  step 1      step    a  then b"
run tenon thread state one --at 1
expect_out '{"n":1,"log":["a"]}'
run tenon thread state one
expect_out '{"n":2,"log":["a","b1","a","b2"]}'
run tenon thread state one --at 6
expect_code 1
expect_in err "has no checkpoint 6: its newest is 5"
run tenon thread state nobody
expect_code 1
expect_in err 'there is no thread `nobody`'

# ---- Forks, updates ----
run tenon thread fork one fork --at 1
expect_code 0
run tenon thread show fork
expect_in out "status       stopped"
expect_in out "fork of      one, checkpoint 1"
expect_in out "next         b"
run tenon run count.yaml --thread fork --resume
expect_out '{"n":1,"log":["a","b1"]}'
run tenon thread state one
expect_out '{"n":2,"log":["a","b1","a","b2"]}'
run tenon thread fork one fork
expect_code 1
expect_in err 'there is a thread `fork` already'
run tenon thread update fork count.yaml --set n=40 --as a
expect_code 0
run tenon run count.yaml --thread fork --resume
expect_out '{"n":40,"log":["a","b1","b40"]}'
run tenon thread update fork count.yaml --set m=1
expect_code 1
expect_in err 'has the key `m`, which is no channel of the document'
run tenon thread update fork count.yaml --set n=1 --as aa
expect_code 1
expect_in err 'the document has no node `aa`; did you mean `a`?'
for thread in one fork other/one; do
    run tenon replay "$thread"
    expect_code 0
done

# ---- An input that does not fit leaves no thread, and one that is there as it was ----
run tenon run count.yaml --thread mistyped --set m=1
expect_code 1
expect_in err 'the input has the key `m`, which is no channel of the document'
run tenon thread show mistyped
expect_code 1
expect_in err 'there is no thread `mistyped`'
run tenon run count.yaml --thread mistyped --set n=1
expect_out '{"n":2,"log":["a","b2"]}'
run tenon thread show mistyped --json
cp "$work/out" before.json
run tenon run count.yaml --thread mistyped --set m=1
expect_code 1
run tenon run count.yaml --thread mistyped --input '[]' --replace
expect_code 1
run tenon thread show mistyped --json
cmp "$work/out" before.json || fails "a refused input has changed the thread"
run tenon run count.yaml --thread mistyped
expect_out '{"n":3,"log":["a","b2","a","b3"]}'
run tenon replay mistyped
expect_code 0
cat >routed.yaml <<'YAML'
version: "1.0"
agent: {name: routed}
channels: [{name: n, type: last_value, default: 0}]
nodes: [{id: a, type: set, config: {values: {n: state.n + 1}}}]
edges:
  - {from: START, type: conditional, conditions: [{expression: 10 / state.n > 0, to: a}, {expression: default, to: END}]}
  - {from: a, to: END}
YAML
run tenon run routed.yaml --thread routed
expect_code 1
expect_in err "by zero"
run tenon run routed.yaml --thread routed --set n=2
expect_out '{"n":3}'
run tenon thread delete mistyped routed

# ---- Carried elsewhere ----
run tenon thread export one
expect_code 0
cp "$work/out" one.json
run tenon thread import one.json
expect_code 1
expect_in err 'there is a thread `one` already'
run tenon thread import one.json again
expect_code 0
run tenon run count.yaml --thread again
expect_out '{"n":3,"log":["a","b1","a","b2","a","b3"]}'
run tenon replay again
expect_out "again: 9 of 9 checkpoints, all the same"
echo '{"format":"tenon.thread/1","record":{"head":3},"checkpoints":[]}' >broken.json
run tenon thread import broken.json broken
expect_code 1
expect_in err "this is no exported thread"
run tenon thread delete again
expect_code 0
run tenon thread show again
expect_code 1

# ---- Messages of two inputs are two, though no step was taken between them ----
cat >said.yaml <<'YAML'
version: "1.0"
agent: {name: said}
channels: [{name: m, type: reduce, reducer: messages}]
nodes: [{id: a, type: set, config: {values: {m: "[]"}}}]
edges:
  - {from: START, type: conditional, conditions: [{expression: size(state.m) > 9, to: a}, {expression: default, to: END}]}
  - {from: a, to: END}
YAML
for text in one two; do
    run tenon run said.yaml --thread said --set "m=[{\"type\":\"user\",\"content\":\"$text\"}]"
    expect_code 0
done
expect_in out '"content":"one"'
expect_in out '"content":"two"'
run tenon replay said
expect_code 0

# ---- A document that has changed ----
sed 's/state.n + 1/state.n + 10/; s/id: b/id: c/; s/to: b/to: c/; s/from: b/from: c/' count.yaml >changed.yaml
run tenon run changed.yaml --thread one
expect_code 1
expect_in err 'node `a`: `config` has changed; node `b` is gone; node `c` is new; the edges have changed'
expect_in err "[GRAPH_CHANGED]"
run tenon run changed.yaml --thread one --accept-changes
expect_out '{"n":12,"log":["a","b1","a","b2","a","b12"]}'

# ---- Answers, in any order, by other processes ----
cat >ask.yaml <<'YAML'
version: "1.0"
agent: {name: ask}
channels: [{name: t, type: append}]
nodes:
  - {id: a, type: test.ask, config: {out: t}}
  - {id: b, type: test.ask, config: {out: t, schema: {type: boolean}}}
  - {id: once, type: test.count_destroyer, config: {in: t, out: t}}
  - {id: e, type: test.write, config: {out: t, value: end}}
edges: [{from: START, to: [a, b, once]}, {from: [a, b, once], to: e}, {from: e, to: END}]
YAML
run tenon run ask.yaml --thread ask $nodes --json
expect_code 5
read -r first second <<<"$(ids | tr '\n' ' ')"
run tenon run ask.yaml --thread ask $nodes
expect_code 1
expect_in err 'the thread `ask` is not done: it is interrupted; --resume goes on with what it was at, --replace gives'
tenon thread show ask --json >before.json
run tenon run ask.yaml --thread ask $nodes --resume
expect_code 5
expect_in err "  $first  node a asks:" && expect_in err "--answer $first=VALUE"
expect_in err "  $second  node b asks:" && expect_in err "--answer $second=true, or =false" && expect_not_in err '{"'
run tenon thread show ask
expect_in out "answer    tenon thread answer ask $second=true, or =false" && expect_not_in out '"schema"'
run tenon run ask.yaml --thread ask $nodes --resume --json
expect_code 5
expect_in out '"status":"interrupted"' && expect_in out '"interrupts":[{"id":'
tenon thread show ask --json | cmp - before.json || fails "a run that nobody has answered has changed the thread"
run tenon thread answer ask "$second=\"no\""
expect_code 1
expect_in err "expected a boolean"
run tenon thread answer ask 0123456789abcdef=1
expect_code 1
expect_in err 'no interrupt of this run has the id `0123456789abcdef`'
run tenon thread answer ask "$second=false"
expect_code 0 && [ ! -s "$work/err" ] || fails "nothing is replaced"
run tenon thread answer ask "$second=true"
expect_code 0 && expect_in err "$second had been answered with false, which this replaces"
run tenon thread answer ask "$second=true"
expect_code 0 && [ ! -s "$work/err" ] || fails "the same answer replaces nothing"
run tenon thread show ask
expect_in out "      answered  true"
expect_in out "answer    tenon thread answer ask $first=VALUE"
run tenon run ask.yaml --thread ask $nodes --resume
expect_code 5
run tenon thread answer ask "$second=true"
expect_code 1
run tenon run ask.yaml --thread ask $nodes --resume --answer "$first=yes"
expect_code 0
expect_out '{"t":["yes",true,1,"end"]}'
run tenon run ask.yaml --thread ask $nodes --resume
expect_code 1
expect_in err "is done: there is nothing to resume"
run tenon replay ask $nodes
expect_code 0
run tenon run ask.yaml --thread given-up $nodes
expect_code 5
run tenon run ask.yaml --thread given-up $nodes --replace --json
expect_code 5

# ---- Who waits too long ----
run tenon run ask.yaml --thread late $nodes
expect_code 5
python3 - <<'PYTHON' || fails "the store cannot be changed"
import sqlite3
store = sqlite3.connect("kept.db")
store.execute("UPDATE records SET json = replace(json, '\"updated_at\":\"20', '\"updated_at\":\"19') WHERE key = 'late'")
store.commit()
PYTHON
printf 'store: {use: sqlite, path: ./kept.db}\nlimits: {interrupt_hours: 24}\n' >limited.yaml
run tenon thread answer late 0123456789abcdef=1 --config limited.yaml
expect_code 1
expect_in err "longer than the 24 hours of limits.interrupt_hours"
run tenon run ask.yaml --thread late $nodes --resume --config limited.yaml
expect_code 1
expect_in err "[EXPIRED]"

# ---- A graph inside waits, and its steps are not repeated ----
cat >inner.yaml <<'YAML'
version: "1.0"
channels: [{name: t, type: append}]
nodes:
  - {id: once, type: test.count_destroyer, config: {in: t, out: t}}
  - {id: ask, type: test.ask, config: {out: t}}
edges: [{from: START, to: once}, {from: once, to: ask}, {from: ask, to: END}]
YAML
cat >outer.yaml <<'YAML'
version: "1.0"
agent: {name: outer}
channels: [{name: items, type: last_value, default: [1, 2]}, {name: t, type: append}]
nodes: [{id: each, type: subgraph, config: {document: inner.yaml, output: {t: t}}}]
edges: [{from: START, type: map, over: state.items, as: item, to: each}, {from: each, to: END}]
YAML
run tenon run outer.yaml --thread outer $nodes --json
expect_code 5
read -r first second <<<"$(ids | tr '\n' ' ')"
run tenon run outer.yaml --thread outer $nodes --resume --answer "$second=2nd"
expect_code 5
run tenon run outer.yaml --thread outer $nodes --resume --answer "$first=1st"
expect_code 0
expect_out '{"items":[1,2],"t":[1,"1st",2,"2nd"]}'
run tenon replay outer $nodes
expect_code 0

# ---- Killed, drained, cancelled ----
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
# started THREAD: waits until its first step is kept; $pid is the process
started() {
    "$TENON" run slow.yaml --thread "$1" $nodes >"$work/slow" 2>&1 </dev/null &
    pid=$!
    until "$TENON" thread state "$1" 2>"$work/log" | grep -qF '"a"'; do kill -0 $pid 2>"$work/log" || fails "the run ended"; done
}
started killed
kill -KILL $pid
wait $pid 2>"$work/log" || true
run tenon thread show killed
expect_in out "status       running"
run tenon run quick.yaml --thread killed $nodes
expect_code 1
expect_in err "or whoever ran it has died"
run tenon run quick.yaml --thread killed $nodes --resume --accept-changes
expect_code 0
expect_out '{"t":["a","b"]}'

started cancelled
kill -TERM $pid # drains,
kill -INT $pid  # and is told to hurry: two of one kind might arrive as one
wait $pid && code=0 || code=$?
[ "$code" = 130 ] || fails "a run that is told twice to end has the exit code $code"
run tenon thread show cancelled
expect_in out "status       cancelled"
run tenon run quick.yaml --thread cancelled $nodes --resume --accept-changes
expect_out '{"t":["a","b"]}'

# Taken over: whoever had it before writes nothing more.
started taken
run tenon run quick.yaml --thread taken $nodes --resume --accept-changes
expect_out '{"t":["a","b"]}'
kill -INT $pid
wait $pid && code=0 || code=$?
[ "$code" != 0 ] || fails "a run whose thread was taken over ended well"
run tenon thread show taken
expect_in out "status       done"

# ---- What doctor sees ----
printf 'store: {use: sqlite, path: ./single.db}\n' >single.yaml
run tenon run count.yaml --thread single --config single.yaml --durability exit
run tenon doctor --config single.yaml
expect_in out "single.db: 1 thread" && expect_not_in out "single.db: 1 threads"
run tenon doctor
expect_in out "kept.db: "
expect_in out " threads"
printf 'no database' >broken.db
printf 'store: {use: sqlite, path: ./broken.db}\n' >broken.yaml
run tenon doctor --config broken.yaml
expect_code 4
expect_in out "broken.db"
run tenon thread list --config broken.yaml
expect_code 1
[ "$(cat broken.db)" = "no database" ] || fails "a file that is no database was written to"

# ---- What is old ----
run tenon run count.yaml --thread exit --durability exit
expect_code 0
run tenon thread history exit
[ "$(wc -l <"$work/out")" = 2 ] || fails "an input and an end were expected"
run tenon thread gc --older-than 36500
expect_in out "removed 0 threads"
run tenon thread gc --older-than 0 --dry-run
expect_in out "would remove"
run tenon thread gc --older-than 0
expect_code 0
run tenon thread list --status done
expect_in err "no threads"
run tenon thread gc
expect_code 2
expect_in err "limits.thread_days"
run tenon run count.yaml --thread policy
printf 'store: {use: sqlite, path: ./kept.db}\nlimits: {thread_days: 0}\n' >policy.yaml
run tenon thread gc --config policy.yaml
expect_in out "removed 1 thread,"
