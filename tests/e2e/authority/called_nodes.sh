# The rules for node types also apply to nodes that a component calls.
[ -e "$BINARY/lib/tenon/plugins/sqlite.so" ] || skips "built without sqlite"
mkdir plugin
cp "$SOURCE/tests/attack/hostile.py" plugin/
cat >plugin/hostile.py.tenon.json <<'Y'
{"plugin": {"id": "hostile.plugin", "version": "1.0.0", "title": "t", "config": {"type": "object"}},
 "components": [{"kind": "node", "id": "hostile.node", "title": "t", "documentation": "d", "style": "blocking",
                 "effects": ["calls.node:delay"]}]}
Y
cat >graph.yaml <<'Y'
version: "1.0"
channels: [{name: out, type: last_value}]
nodes: [{id: n, type: hostile.node, config: {}}]
edges: [{from: START, to: n}, {from: n, to: END}]
Y
rule() {
    cat >tenon.yaml <<Y
plugins: {config: {hostile.plugin: {attack: bind, name: delay, kind: node, input: '{"ms": 0}'}}}
tools: {approval: {"node:delay": $1}}
Y
}
hostile=(--plugins plugin/hostile.py --allow-drafts)
rule deny
run tenon run graph.yaml "${hostile[@]}"
expect_code 3 && expect_in err 'the node type `delay` of plugin `tenon.core` is denied: tenon.yaml sets `deny` for `node:delay`'
rule ask
answered() { # THREAD ANSWER
    run tenon run graph.yaml --thread "$1" "${hostile[@]}"
    expect_code 5 && expect_in err 'tenon.yaml sets `ask` for `node:delay`'
    run tenon thread show "$1" "${hostile[@]}"
    expect_in out 'hostile.node `n` of document `graph.yaml`'
    id=$(tenon thread show "$1" --json "${hostile[@]}" | grep -o '"id":"[0-9a-f]*"' | head -1 | cut -d'"' -f4)
    run tenon run graph.yaml --thread "$1" "${hostile[@]}" --resume --answer "$id=$2"
}
answered yes yes
expect_code 0 && expect_out '{"out":{"done":null}}'
run tenon replay yes "${hostile[@]}"
expect_code 0
answered no '{"approved": false, "reason": "not now"}'
expect_code 1 && expect_in err 'the node was not approved (node `delay`): not now'
rule auto
run tenon run graph.yaml "${hostile[@]}"
expect_code 0
