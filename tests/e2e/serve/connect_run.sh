# Documents are sent to the host of --connect as texts, and runs there print what they print in a host of their own.
sed 's/type: set, /type: set, interrupt: before, /' count.yaml >asks.yaml
cat >tenon.yaml <<'YAML'
tools: {approval: {memory.get: ask, memory.delete: deny}}
YAML
host_start

# ---- Documents: the host gets the text, and does not see the file ----
mkdir documents
cat >documents/wrong.yaml <<'YAML'
version: "1.0"
agent: {name: "né𝒳", nonsense: 1}
nods: []
channels: [{name: a, type: last_value}, {name: a, type: last_value}]
nodes: [{id: p, type: promt}, {id: "é𝒳", type: delay, config: {ms: x}}]
edges: [{from: START, to: q}]
YAML
cat >documents/inner.yaml <<'YAML'
version: "1.0"
agent: {name: inner}
channels: [{name: i, type: last_value}]
nodes: [{id: one, type: set, config: {values: {i: 1}}}]
edges: [{from: START, to: one}, {from: one, to: END}]
YAML
sed 's/type: set/type: sett/' documents/inner.yaml >documents/inner_wrong.yaml
cat >documents/outer.yaml <<'YAML'
version: "1.0"
agent: {name: outer}
channels: [{name: i, type: last_value}]
nodes: [{id: sub, type: subgraph, config: {document: inner.yaml}}]
edges: [{from: START, to: sub}, {from: sub, to: END}]
YAML
sed 's/inner/inner_wrong/' documents/outer.yaml >documents/outer_wrong.yaml
sed '/^agent/d' documents/inner.yaml >documents/nameless.yaml
printf 'version: "1.0"\nnodes: [{id: "\xff"}]\n' >documents/bytes.yaml
mkdir elsewhere && cp documents/inner.yaml elsewhere/same.yaml
same check documents/wrong.yaml
expect_code 3 && expect_in err "documents/wrong.yaml:3:1: error[ADL-E021]"
for name in wrong bytes; do
    same check "documents/$name.yaml" --json
    expect_code 3
done
same check documents/bytes.yaml --quiet
expect_code 3
same check documents/outer_wrong.yaml
expect_in err '| nodes: [{id: one, type: sett'
same check documents/outer.yaml
expect_code 0 && expect_in err 'no problems found'
same check documents elsewhere
expect_code 3
same check documents --json
same check elsewhere --strict
expect_code 0
same check documents/nothing.yaml elsewhere
expect_code 2
run bash -c '"$0" check - --connect s <documents/outer.yaml' "$TENON" # its file is looked for in this folder
expect_code 3 && expect_in err 'inner.yaml'
for format in svg mermaid json; do
    same graph documents/outer.yaml --format "$format" --inside
    expect_code 0
done
same graph documents/outer.yaml --inside
same graph documents/nameless.yaml
expect_code 0
same graph documents/outer_wrong.yaml
expect_code 0
for name in wrong bytes; do
    same graph "documents/$name.yaml"
    expect_code 3
done
same graph documents/outer_wrong.yaml --inside
expect_code 3
same graph documents/nothing.yaml
expect_code 2

# ---- Runs ----
cat >waits.yaml <<'YAML'
version: "1.0"
agent: {name: waits}
channels: [{name: out, type: last_value}, {name: unused, type: last_value}]
nodes: [{id: get, type: tool, config: {tool: memory.get, arguments: {namespace: [a], key: "'b'"}, output_key: out}}]
edges: [{from: START, to: get}, {from: get, to: END}]
YAML
same run count.yaml
expect_code 0 && expect_out '{"i":3,"n":3}'
same run count.yaml --set n=200 --json --stream all # more events than may be on their way
expect_code 0
[ "$(wc -l <"$work/out")" -gt 400 ] || fails "expected an event for each step"
same run count.yaml --json
same run count.yaml --stream updates
expect_in err '"type":"updates"'
same run count.yaml --quiet --input '{"n": 2}'
expect_out '{"i":2,"n":2}'
same run documents/outer.yaml --json
expect_code 0
same run count.yaml --run-config '{"recursion_limit": 2, "tags": ["a"]}'
expect_code 1 && expect_in err '[RECURSION_LIMIT]'
same run count.yaml --run-config '{"recursion_limit": 2}' --json
expect_code 1
same run count.yaml --run-config '{"recursion_limit": "x"}'
expect_code 2
same run count.yaml --set nothing=1
expect_code 1
for arguments in '--stream nothing' '--resume' '--input x' '--thread t --force' '--set x'; do
    # shellcheck disable=SC2086 # the options, in words
    same run count.yaml $arguments
    expect_code 2
done
for name in wrong outer_wrong bytes; do
    same run "documents/$name.yaml"
    expect_code 3
done
same run documents/wrong.yaml --json
expect_code 3
same run documents/nothing.yaml
expect_code 2
run tenon run count.yaml --batch inputs --connect s
expect_code 2 && expect_in err '--batch cannot be used with --connect'
same run asks.yaml
expect_code 5 && expect_in err 'a run without a thread is not saved'
same run asks.yaml --json
expect_code 5
same run asks.yaml --thread r --replace
expect_code 5 && expect_in err 'tenon run asks.yaml --connect s --thread r --resume'
same run asks.yaml --thread r
expect_code 1 && expect_in err '[UNFINISHED]'
same run asks.yaml --thread r --json
expect_code 1
same run count.yaml --thread r --resume
expect_code 1 && expect_in err '[GRAPH_CHANGED]'
run tenon run asks.yaml --thread r --resume --connect s
expect_code 5 && expect_out '{"i":1,"n":3}'
same run waits.yaml --thread r --replace
expect_code 1 && expect_in err '[GRAPH_CHANGED]'
same run waits.yaml --thread q --replace
expect_code 5 && expect_in err 'tenon run waits.yaml --connect s --thread q --resume --answer'
same run waits.yaml --thread q --resume # without an answer
expect_code 5
same run waits.yaml --thread q --resume --answer x=1
expect_code 1
id=$("$TENON" thread show q --json | sed 's/.*"interrupts":\[{"id":"\([^"]*\)".*/\1/')
run tenon run waits.yaml --thread q --resume --answer "$id=yes" --connect s --json
expect_code 0
same run asks.yaml --thread nobody --resume
expect_code 1
run tenon thread delete r q
expect_code 0
run tenon call run/list '{"status": "interrupted", "thread_id": "r"}' --connect s # it does not wait for this command
expect_out '{"runs":[],"more":false}'

# An approval at the terminal continues the run.
for answer in 'send y' $'send n\nwait reason\nsend no'; do
    for thread in "" "--thread a --replace"; do
        for connect in "" "--connect s"; do
            # shellcheck disable=SC2086 # the options, in words
            printf 'wait session\n%s\nend\n' "$answer" | python3 "$SOURCE/tests/e2e/terminal.py" "$TENON" run waits.yaml \
                --quiet $thread $connect >"terminal$connect" && code=0 || code=$?
            echo "exit code $code" >>"terminal$connect"
            [ "$code" != 99 ] || { cat "terminal$connect" >&2; fails "the tool's approval was not asked for"; }
        done
        diff terminal <(sed "$hide" "terminal--connect s") || fails "the approval of a run differs"
    done
done

# A signal cancels the run. With a thread, SIGTERM lets it end its step, and it can be continued.
for signal in INT TERM; do
    rm -f long.out
    env --default-signal=INT "$TENON" run count.yaml --set n=100000000 --json --connect s --thread "long$signal" >long.out 2>long.err &
    process=$!
    wait_until grep -q updates long.out
    kill "-$signal" "$process"
    expect_ended "$process" "expected an end after SIG$signal"
    wait "$process" && code=0 || code=$?
    [ "$signal" = TERM ] || expect_code 130
    [ "$signal" = INT ] || expect_code 0
    tail -n 1 long.out | grep -q '"status":"\(cancelled\|stopped\)"' || fails "expected the end of the run as the last line"
done
grep -q 'as requested' long.err || fails "expected that the run says why it stopped"
env --default-signal=INT "$TENON" run count.yaml --set n=100000000 --json --connect s 2>long.err | head -n 1 >long.out || true
run tenon call run/list '{"status": "running"}' --connect s
expect_out '{"runs":[],"more":false}'

# ---- Packs ----
mkdir pack
cp documents/inner.yaml pack/
echo '{"name": "acme-text", "version": "1.0.0", "title": "A pack", "licence": "MIT", "tenon": ">= 0.1", "documents": ["inner.yaml"]}' \
    >pack/pack.json
run tenon pack build pack -o acme.tenonpack
expect_code 0
run tenon pack install acme.tenonpack
expect_code 0
same pack list
expect_code 0 && expect_in out 'acme-text 1.0.0'
same pack list --json
same check pack:acme-text/inner.yaml
expect_code 0
same run pack:acme-text/inner.yaml
expect_code 0
sed -i s/one/two/ "$XDG_DATA_HOME/tenon/packs/acme-text/1.0.0/inner.yaml"
same pack list
expect_code 4

# The host goes away.
env --default-signal=INT "$TENON" run hours.yaml --connect s >long.out 2>long.err &
waits=$!
wait_until eval '"$TENON" call run/list "{\"status\": \"running\"}" --connect s | grep -q run_id'
kill -KILL "$host"
wait "$host" 2>/dev/null || true
expect_ended "$waits" "expected an end with the host"
grep -q "the connection has ended\|the host at s has closed the connection" long.err || fails "expected why the run has no end"
host_start
