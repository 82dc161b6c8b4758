# Threads that are forked in the middle of a step, answered with odd values, imported from damaged files, replaced, taken over,
# or removed while they run. tests/e2e/thread has the normal cases.
nodes="--plugins $TEST_NODES --allow-drafts"
printf 'store: {use: sqlite, path: ./kept.db}\n' >tenon.yaml
once() { expect_in err "$1" && [ "$(grep -c '^tenon: ' "$work/err")" = 1 ] || fails "expected one message"; }
ok() { run "$@" && expect_code 0; }
waits() { run "$@" && expect_code 5; }
# id THREAD NODE: prints the id of the node's interrupt
id() { tenon thread show "$1" --json | grep -o "\"id\":\"[0-9a-f]*\",\"node\":\"$2\"" | cut -d'"' -f4; }
status() { tenon thread show "$1" --json | grep -o '"status":"[a-z]*' | cut -d'"' -f4; }
# is THREAD STATUS STATE: fails unless the thread has this status and state
is() {
    ok tenon thread state "$1" && expect_out "$3"
    [ "$(status "$1")" = "$2" ] || fails "thread $1: expected the status $2, found $(status "$1")"
}
carry() { ok tenon thread export "$1" && cp "$work/out" "$2"; }
checkpoints() { tenon thread history "$1" --json 2>"$work/log" | wc -l; }
# reaches THREAD N: waits until the thread has N checkpoints
reaches() {
    until [ "$(checkpoints "$1")" -ge "$2" ]; do kill -0 "$first" 2>"$work/log" || fails "the run of $1 ended before checkpoint $2"; done
}
background() { rm -f go; "$TENON" "$@" >"$work/first.out" 2>"$work/first.err" </dev/null & first=$!; }
# True if the first one has received all signals that were sent to it.
has_no_signal() { ! grep -q '^ShdPnd:.*[1-9a-f]' "/proc/$first/status"; }
first_code() { code=0 && { wait "$first" || code=$?; } && last="the first one"; }

cat >two.yaml <<'YAML'
version: "1.0"
agent: {name: two}
channels: [{name: n, type: last_value, default: 0}, {name: log, type: append}]
nodes:
  - {id: a, type: test.add, config: {in: n, out: n}}
  - {id: q, type: test.ask, config: {out: log}}
  - {id: r, type: test.ask, config: {out: log, schema: {type: integer}}}
  - {id: b, type: test.add, config: {in: n, out: n, n: 10}}
edges: [{from: START, to: a}, {from: a, to: [q, r]}, {from: [q, r], to: b}, {from: b, to: END}]
YAML

# ---- A thread that does not exist ----
for command in show history state "answer x=1" delete export "fork new"; do
    set -- $command
    run tenon thread "$1" nobody ${2+"$2"}
    expect_code 1 && once 'the thread `nobody` does not exist; `tenon thread list` lists the threads'
done
waits tenon run two.yaml $nodes --thread t
run tenon thread fork t "$(printf 'x%.0s' {1..201})"
expect_code 1 && once "of 201 characters, expected at most 200"
run tenon thread fork t new --at 99
expect_code 1 && once "has no checkpoint 99"

# ---- An answer may be any value, also null; a later one replaces one that has not been used ----
for answer in null '{"why":null,"deep":[{"a":null}]}' '""' '"a=b"'; do
    ok tenon thread fork t "with $answer"
    ok tenon thread answer "with $answer" "$(id t q)=first" "$(id t r)=1"
    ok tenon thread answer "with $answer" "$(id t q)=$answer"
    ok tenon run two.yaml $nodes --thread "with $answer" --resume && expect_out "{\"n\":11,\"log\":[$answer,1]}"
done

# ---- A fork of the head has the finished tasks, the interrupts and the answers of the current step ----
waits tenon run two.yaml $nodes --thread t --resume --answer "$(id t q)=done"
ok tenon thread answer t "$(id t r)=7"
ok tenon thread fork t half
ok tenon thread delete t
[ -z "$(id half q)" ] || fails "the interrupt of q is still open"
ok tenon run two.yaml $nodes --thread half --resume && expect_out '{"n":11,"log":["done",7]}'
ok tenon replay half $nodes
# Both continue from an earlier checkpoint.
ok tenon thread fork half early --at 0
waits tenon run two.yaml $nodes --thread early --resume
ok tenon run two.yaml $nodes --thread early --resume --answer "$(id early q)=other" --answer "$(id early r)=8"
expect_out '{"n":11,"log":["other",8]}'
is half done '{"n":11,"log":["done",7]}'
# A channel that lasts one step does so in a fork, too.
cat >brief.yaml <<'YAML'
version: "1.0"
channels: [{name: e, type: ephemeral}, {name: log, type: append}]
nodes:
  - {id: a, type: test.write, config: {out: e, value: now}}
  - {id: b, type: test.copy, config: {in: e, out: log}}
  - {id: c, type: test.copy, config: {in: e, out: log}}
edges: [{from: START, to: a}, {from: a, to: b}, {from: b, to: c}]
YAML
ok tenon run brief.yaml $nodes --thread brief && expect_out '{"log":["now",null]}'
ok tenon thread fork brief brief2 --at 1
is brief2 stopped '{"log":[],"e":"now"}'
ok tenon run brief.yaml $nodes --thread brief2 --resume && expect_out '{"log":["now",null]}'
ok tenon thread state brief2 --at 1 && expect_out '{"log":["now"]}'
is brief2 done '{"log":["now",null]}'
# A fork is new, even if the thread is old: gc keeps it.
carry half half.json
sed 's/"updated_at":"20[0-9]*/"updated_at":"2020/' half.json >old.json
ok tenon thread import old.json old
ok tenon thread fork old young
ok tenon thread gc --older-than 365
run tenon thread show old
expect_code 1
ok tenon thread show young

# ---- Files ----
waits tenon run two.yaml $nodes --thread away --set n=3
waits tenon run two.yaml $nodes --thread away --resume --answer "$(id away q)=here"
carry away away.json
run tenon thread import away.json
expect_code 1 && once 'the thread `away` exists already; choose another id, or replace it (`replace`) [EXISTS]'
ok tenon thread import away.json there
ok tenon run two.yaml $nodes --thread there --resume --answer "$(id there r)=5" && expect_out '{"n":14,"log":["here",5]}'
ok tenon thread import away.json there --replace
is there interrupted '{"n":4,"log":[]}'
ok tenon run two.yaml $nodes --thread there --resume --answer "$(id there r)=6" && expect_out '{"n":14,"log":["here",6]}'
ok tenon replay there $nodes
ok tenon thread delete away
ok tenon thread import away.json
# An export of an imported thread is the same, except for the fence, the distance of snapshots and the incarnation.
same() {
    sed 's/,"incarnation":"[^"]*"//g; s/"thread_id":"[^"]*"//; s/"fence":[0-9]*//; s/"changed":[0-9]*//; s/"snapshot":[0-9]*//' "$1" |
        grep -o '"[^"]*"\|[0-9]*' | sort | cksum
}
carry away again.json
[ "$(same away.json)" = "$(same again.json)" ] || fails "the second export differs from the first"
for wrong in 's/tenon.thread\/1/tenon.thread\/2/|`format` is missing or unknown' 's/"head":[0-9]*/"head":7/|does not match `record.head`' \
    's/"status":"interrupted"/"status":"odd"/|`record.status` is missing or unknown' 's/"plan":\["a"\]/"plan":[1]/|a `plan` has a malformed item' \
    's/"delta":{"n"/"delta":{"n":{"keep":9,"add":[]},"m"/|cannot be applied' 's/"n":10/"n":11/|does not match its hash' \
    's/"updated_at":"20/"updated_at":"xx/|no valid times' 's/"journal":{/"journals":{/|journal, expected records by key; it is missing' 's/"step":0/"step":-1/|lacks `step`' \
    's/"-\//"\\u0000\//|without NUL' 's/"interrupts":\[/"interrupts":[1,/|{id, node, payload}' 's/"record":/"recrd":/|`record` is missing'; do
    sed "${wrong%%|*}" away.json >wrong.json
    cmp -s away.json wrong.json && fails "the edit $wrong changed nothing"
    run tenon thread import wrong.json wrong
    expect_code 1 && once "${wrong#*|}" && expect_in err "the exported thread is malformed"
done
run tenon thread show wrong
expect_code 1
for wrong in 1 '[]' '{"format":"tenon.thread/1"}'; do
    run bash -c 'echo "$1" | "$TENON" thread import - wrong' - "$wrong"
    expect_code 1 && expect_in err "the exported thread is malformed"
done
# The import writes more than one batch.
awk 'BEGIN { for (i = 0; i < 20000; i++) printf "%s\"-/0000000001/%d/1/x\":{\"done\":%d}", i ? "," : "", i, i }' >entries
awk '{ getline entries <"entries"; sub(/"journal":\{/, "&" entries ","); print }' away.json | sed 's/,}/}/' >large.json
ok tenon thread import large.json large
is large interrupted '{"n":4,"log":[]}'
carry large large2.json
[ "$(same large.json)" = "$(same large2.json)" ] || fails "the export of the imported large thread differs"
ok tenon thread import large.json large --replace
ok tenon thread delete large
run tenon thread export large
expect_code 1

# ---- A replaced run is not resumed: results of its calls belong to another input ----
cat >agent.yaml <<'YAML'
version: "1.0"
tools: [{name: "test.*", approval: auto}]
channels: [{name: t, type: append}]
nodes: [{id: one, type: test.agent, interrupt: before, config: {out: t}}]
edges: [{from: START, to: one}, {from: one, to: END}]
YAML
waits tenon run agent.yaml $nodes --thread agent
waits tenon run agent.yaml $nodes --thread agent --resume
carry agent agent.json
sed 's/tallied/stale/g' agent.json >stale.json
ok tenon thread import stale.json agent --replace
waits tenon run agent.yaml $nodes --thread agent --replace
waits tenon run agent.yaml $nodes --thread agent --resume
ok tenon run agent.yaml $nodes --thread agent --resume --answer "$(id agent one)=yes"
expect_out '{"t":["tallied 1","tallied 2","yes"]}'
# Messages of an input that replaces others are new messages.
cat >chat.yaml <<'YAML'
version: "1.0"
channels: [{name: m, type: reduce, reducer: messages}, {name: log, type: append}]
nodes: [{id: q, type: test.ask, config: {out: log}}]
edges: [{from: START, to: q}, {from: q, to: END}]
YAML
waits tenon run chat.yaml $nodes --thread chat --input '{"m": [{"content": "1"}]}'
waits tenon run chat.yaml $nodes --thread chat --input '{"m": [{"content": "2"}]}' --replace
ok tenon thread update chat chat.yaml $nodes --input '{"m": [{"content": "3"}]}'
ok tenon thread update chat chat.yaml $nodes --input '{"m": [{"content": "4"}]}'
waits tenon run chat.yaml $nodes --thread chat --input '{"m": [{"content": "5"}]}' --replace
[ "$(tenon thread state chat | grep -o '"content":"[0-9]"' | tr -dc 0-9)" = 12345 ] || fails "expected five separate messages"

# ---- Taken over, and removed, during a run, whose step `s` lasts until the file `go` exists ----
cat >slow.yaml <<'YAML'
version: "1.0"
channels: [{name: n, type: last_value, default: 0}]
nodes:
  - {id: a, type: test.add, config: {in: n, out: n}}
  - {id: s, type: test.await_file, config: {file: go}}
  - {id: b, type: test.add, config: {in: n, out: n, n: 10}}
edges: [{from: START, to: a}, {from: a, to: s}, {from: s, to: b}, {from: b, to: END}]
YAML
background run slow.yaml --thread taken $nodes
reaches taken 2
ok tenon thread fork taken copy
is copy stopped '{"n":1}'
run tenon thread update taken slow.yaml $nodes --set n=100
expect_code 1 && expect_in err "[OWNED]"
ok tenon thread update taken slow.yaml $nodes --set n=100 --force
touch go
first_code && expect_code 1
grep -qF '[FENCED]' "$work/first.err" || fails "expected FENCED: the previous owner must not commit"
is taken stopped '{"n":100}'
# A thread that a living process runs is resumed or replaced only with --force. The message names the process.
rm -f go
background run slow.yaml --thread owned $nodes
reaches owned 2
for how in --resume "--replace --set n=7" "--set n=7"; do
    run tenon run slow.yaml $nodes --thread owned $how
    expect_code 1 && expect_in err "[OWNED]" && expect_in err "being run by process $first:" && expect_in err 'take the thread over (`force`)'
done
run tenon thread delete owned
expect_code 1 && expect_in err "[OWNED]" && expect_in err "being run by process $first:" && expect_in err 'take the thread over (`force`)'
run tenon thread gc --status running --keep 0
expect_code 0 && expect_in out "removed 0 threads"
# The owner is also known if the file of locks was deleted.
owners=$(find "$work" -name '*-owners')
rm "$owners"
run tenon run slow.yaml $nodes --thread owned --resume
expect_code 1 && expect_in err "[OWNED]" && expect_in err "being run by process $first:"
run tenon run slow.yaml $nodes --thread owned --force
expect_code 2 && expect_in err "--force needs --resume or --replace"
is owned running '{"n":1}'
tenon thread export owned | grep -q '"owner"' && fails "an export names a process"
"$TENON" run slow.yaml $nodes --thread owned --resume --force >"$work/second.out" 2>"$work/second.err" </dev/null &
second=$!
owned_by_second() { tenon thread list --json | grep '"thread_id":"owned"' | grep -q "\"pid\":$second[,}]"; }
wait_until owned_by_second
touch go
first_code && expect_code 1
grep -qF '[FENCED]' "$work/first.err" || fails "expected FENCED: the previous owner must not commit"
wait $second || fails "the run that took the thread over has failed: $(cat "$work/second.err")"
is owned done '{"n":11}'
rm go
# Removed and created again by another process: the old run does not write into it.
background run slow.yaml --thread anew $nodes
reaches anew 2
ok tenon thread delete anew --force
waits tenon run two.yaml $nodes --thread anew
touch go
first_code && expect_code 1
grep -qF '[FENCED]' "$work/first.err" || fails "expected FENCED: the previous owner must not commit"
is anew interrupted '{"n":1,"log":[]}'

# ---- Drained; killed: the log is the same as that of an uninterrupted run ----
background run slow.yaml --thread drained $nodes
reaches drained 2
kill -TERM "$first"
wait_until has_no_signal
touch go
first_code && expect_code 0
is drained stopped '{"n":1}'
[ "$(checkpoints drained)" = 3 ] || fails "expected 3 checkpoints: the current step is finished before the end"
ok tenon run slow.yaml $nodes --thread drained --resume && expect_out '{"n":11}'
background run slow.yaml --thread killed $nodes
reaches killed 2
kill -KILL "$first"
first_code && expect_code 137
is killed running '{"n":1}'
touch go
ok tenon run slow.yaml $nodes --thread killed --resume && expect_out '{"n":11}'
changes() { tenon thread export "$1" | grep -o '"checkpoints":.*"journal"' | sed 's/"now":[0-9]*//g; s/"run_id":"[^"]*","thread_id":"[^"]*","incarnation":"[^"]*"//g'; }
[ "$(changes killed)" = "$(changes drained)" ] || fails "the changes of the killed and the drained run differ"

# ---- Ids ----
for name in a/b a%2Fb 'a b' ä a0 a; do waits tenon run two.yaml $nodes --thread "$name"; done
ok tenon thread delete a
for name in a/b a%2Fb 'a b' ä a0; do is "$name" interrupted '{"n":1,"log":[]}'; done
ok tenon thread delete a/b ä
for name in a%2Fb 'a b' a0; do is "$name" interrupted '{"n":1,"log":[]}'; done

# ---- Old threads, and interrupts that expire ----
for name in k1 k2 k3; do ok tenon run brief.yaml $nodes --thread "$name"; done
carry k1 k1.json
sed 's/"updated_at":"20[0-9]*/"updated_at":"2020/' k1.json >old.json
ok tenon thread import old.json k0
ok tenon thread list --older-than 300 --json && expect_in out '"thread_id":"k0"' && [ "$(wc -l <"$work/out")" = 1 ] || fails "expected only k0"
ok tenon thread list --newer-than 300 && expect_in out "k3        " && expect_not_in out k0
ok tenon thread gc --keep 100 --dry-run && expect_out "would remove 0 threads and 0 saved graph descriptions"
left=$(tenon thread list --json --status done --limit 1000 | wc -l)
ok tenon thread gc --older-than 300 --keep 1 --dry-run && expect_in out "would remove 1 thread and"
ok tenon thread gc --older-than 300 --keep 1 && expect_in out "removed 1 thread and"
run tenon thread show k0
expect_code 1
[ "$(tenon thread list --json --status done --limit 1000 | wc -l)" = $((left - 1)) ] || fails "gc removed more threads than the old one"
ok tenon thread gc --keep 1
ok tenon thread show k3
run tenon thread show k1
expect_code 1
carry a0 a0.json
sed 's/"updated_at":"20[0-9]*/"updated_at":"2020/' a0.json >old.json
ok tenon thread import old.json late
printf 'limits: {interrupt_hours: 24}\n' >>tenon.yaml
ok tenon thread list --status interrupted && expect_in out "late                     expired"
ok tenon thread show late && expect_in out "status       expired"
run tenon thread answer late "$(id late q)=1"
expect_code 1 && once "[EXPIRED]"
run tenon run two.yaml $nodes --thread late --resume --answer "$(id late q)=1"
expect_code 1 && once "[EXPIRED]"
ok tenon thread gc && expect_in out "removed 1 thread and"
run tenon thread show late
expect_code 1
ok tenon thread show a0
for wrong in "list --older-than x" "list --limit 0" "gc --keep -1" "gc --older-than soon" "state a0 --at -1" "history a0 --limit 0"; do
    # shellcheck disable=SC2086
    run tenon thread $wrong
    expect_code 2 && expect_in err "expected a whole number"
done
