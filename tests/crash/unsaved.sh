# A commit that cannot be written: the thread becomes `failed` with the reason. Resuming it repeats nothing that could be
# saved, and succeeds when the cause is gone. Each action of a node or tool appends a line to the file `lines`.
export CRASH_LINES=$PWD/lines
options="--quiet --plugins $CRASH_NODES"
printf 'store: {use: sqlite, path: ./s.db}\n' >tenon.yaml

# expect_lines NUMBER MOST: so many different actions, each at most so often
expect_lines() {
    local different most
    different=$(sort -u lines | wc -l)
    most=$(sort lines | uniq -c | sort -rn | awk 'NR == 1 {print $1}')
    [ "$different" = "$1" ] && [ "$most" -le "$2" ] || fails "expected $1 actions, each at most $2 times: $(cat lines)"
}
# expect_failed ID CODE: the record of the thread has the failure
expect_failed() {
    expect_code 1 && expect_in err "[$2]"
    run tenon thread show "$1"
    expect_in out "status       failed" && expect_in out "error        $2: "
    run tenon thread list --status running
    expect_out ""
}

# Results and a state that do not fit into a record are saved in parts.
cat >sum.yaml <<'YAML'
version: "1.0"
tools: [{name: "crash.*", approval: auto}]
channels: [{name: t, type: append}]
nodes:
  - {id: first, type: crash.effect, config: {out: t}}
  - {id: agent, type: crash.agent, config: {out: t}}
  - {id: a, type: crash.effect, config: {out: t, pad: 9000000}}
  - {id: b, type: crash.effect, config: {out: t, pad: 17000000}}
edges: [{from: START, to: first}, {from: first, to: [agent, a, b]}, {from: [agent, a, b], to: END}]
YAML
run tenon run sum.yaml --thread sum $options
expect_code 0
expect_lines 6 1
state_size() { "$TENON" thread state "$1" | wc -c; }
[ "$(state_size sum)" -gt 26000000 ] || fails "expected the whole state: $(state_size sum) bytes"
run tenon thread fork sum copy
expect_code 0
[ "$(state_size copy)" = "$(state_size sum)" ] || fails "expected the same state in the fork"

# The same in a subgraph.
printf 'version: "1.0"\nchannels: [{name: t, type: append}]\nnodes:\n  - {id: inner, type: subgraph, config: {document: sum.yaml, output: {t: t}}}\nedges: [{from: START, to: inner}, {from: inner, to: END}]\n' >nested.yaml
rm lines
run tenon run nested.yaml --thread nested $options
expect_code 0
expect_lines 6 1

# A value that is nested too deep is refused when it is written, and the thread can be resumed.
cat >deep.yaml <<'YAML'
version: "1.0"
channels: [{name: d, type: last_value, default: 1}, {name: n, type: last_value, default: 0}]
nodes: [{id: a, type: set, config: {values: {d: "[state.d]", n: state.n + 1}}}]
edges:
  - {from: START, to: a}
  - {from: a, type: conditional, conditions: [{expression: state.n < 300, to: a}, {expression: default, to: END}]}
YAML
run tenon run deep.yaml --thread deep $options --run-config '{"recursion_limit": 400}'
expect_failed deep LIMIT
run tenon thread show deep
expect_in out "the value has more than 100 arrays"
run tenon thread state deep
expect_in out '"n":100'

# The store is full. When there is space again, the thread is resumed, and nothing is repeated.
cat >full.yaml <<'YAML'
version: "1.0"
tools: [{name: "crash.*", approval: auto}]
channels: [{name: t, type: append}]
nodes:
  - {id: first, type: crash.agent, config: {out: t}}
  - {id: a, type: crash.effect, config: {out: t, pad: 30000}}
  - {id: b, type: crash.effect, config: {out: t, pad: 300000}}
  - {id: last, type: crash.effect, config: {out: t}}
edges: [{from: START, to: first}, {from: first, to: [a, b]}, {from: [a, b], to: last}, {from: last, to: END}]
YAML
printf 'store: {use: sqlite, path: ./full.db, max_bytes: 262144}\n' >tenon.yaml
rm lines
run tenon run full.yaml --thread full $options
expect_failed full STORE_FULL
run tenon run full.yaml --thread full $options --resume
expect_failed full STORE_FULL
sed -i 's/, max_bytes: 262144//' tenon.yaml
run tenon run full.yaml --thread full $options --resume
expect_code 0
[ "$(sort lines | uniq -d | wc -l)" = 1 ] || fails "expected that only the result that could not be saved was repeated"
run tenon replay full --document full.yaml --plugins "$CRASH_NODES"
expect_code 0 && expect_in out "are identical"

# The disk is full (here: no file may grow). While it is, a resumed run cannot take the thread over and repeats nothing.
printf 'store: {use: sqlite, path: ./disk.db}\n' >tenon.yaml
rm lines
limited() ( # limited KIBIBYTES ARGUMENT…
    trap '' XFSZ
    ulimit -f "$1"
    exec "$TENON" "${@:2}"
)
run tenon thread list
mkfifo hold # a reader keeps the log from being restarted, so that nothing fits into it
python3 -c '
import sqlite3
database = sqlite3.connect("disk.db", isolation_level=None)
database.execute("BEGIN")
database.execute("SELECT count(*) FROM records").fetchone()
open("reading", "w").close()
open("hold").read()' &
exec 9<>hold
until [ -e reading ]; do kill -0 $! || fails "the reader has ended"; sleep 0.01; done
run limited 250 run full.yaml --thread disk $options
expect_failed disk STORE_FULL
sort -u lines >before
for again in 1 2; do
    run limited 40 run full.yaml --thread disk $options --resume
    expect_code 1 && expect_in err "[STORE_FULL]"
done
sort lines | cmp -s - before || fails "a run that could not take the thread over has done something"
kill $!
wait $! || true
exec 9>&-
run tenon run full.yaml --thread disk $options --resume
expect_code 0
run tenon replay disk --document full.yaml --plugins "$CRASH_NODES"
expect_code 0 && expect_in out "are identical"
