# A node that never ends is reported with its plugin; a timeout ends it.
graph hangs test.hang '{}'
cat >around.yaml <<'YAML'
version: "1.0"
nodes: [{id: around, type: subgraph, config: {document: hangs.yaml}}]
edges: [{from: START, to: around}, {from: around, to: END}]
YAML
# said NODE FILE: waits for the warning, then ends the run
said() {
    local pid line
    last="run $2, which hangs"
    mkfifo "$work/fifo"
    "$TENON" run "$2" --plugins "$TEST_NODES" 2>"$work/fifo" >"$work/out" </dev/null &
    pid=$!
    : >"$work/err"
    exec 3<"$work/fifo"
    while IFS= read -r -t 60 line <&3; do
        echo "$line" >>"$work/err"
        [[ $line != *"to limit the wait"* ]] || kill -TERM "$pid"
    done
    exec 3<&-
    code=0
    wait "$pid" || code=$?
    rm "$work/fifo"
    expect_code 130
    expect_in err "warning: node \`$1\` (test.hang, of plugin test.nodes) has not ended"
    [ "$(grep -c 'to limit the wait' "$work/err")" = 1 ] || fails "expected the advice about a timeout once"
}
said only hangs.yaml
said around/only around.yaml
sed 's/type: test.hang/timeout: 1ms, type: test.hang/' hangs.yaml >ends.yaml
run tenon run ends.yaml --plugins "$TEST_NODES"
expect_code 1 && once "[TIMEOUT]" && expect_not_in err "to limit the wait"
