# The operator's rules apply to nodes as they do to tools: deny refuses the document, ask waits for a person.
plugin=(--plugins "$TEST_NODES" --allow-drafts)
cat >graph.yaml <<'Y'
version: "1.0"
channels: [{name: out, type: append}]
nodes: [{id: wreck, type: test.flaky_destroyer, config: {out: out}}]
edges: [{from: START, to: wreck}, {from: wreck, to: END}]
Y
rule() { echo "tools: {approval: {$1}}" >tenon.yaml; }
run tenon run graph.yaml "${plugin[@]}"
expect_code 0
rule '"effect:destructive": deny'
run tenon run graph.yaml "${plugin[@]}"
expect_code 3 && expect_in err 'node `wreck` (test.flaky_destroyer): the node type `test.flaky_destroyer` of plugin `test.nodes` is denied: tenon.yaml sets `deny` for `effect:destructive`'
# A rule for the node type itself overrides the rule for its effect. A rule for tools does not apply.
rule '"effect:destructive": deny, "node:test.flaky_destroyer": auto'
run tenon run graph.yaml "${plugin[@]}"
expect_code 0
rule '"test.*": deny, "node:other": deny'
run tenon run graph.yaml "${plugin[@]}"
expect_code 0
rule '"node:test.*": deny'
run tenon run graph.yaml "${plugin[@]}" --isolate test.nodes
expect_code 3 && expect_in err 'tenon.yaml sets `deny` for `node:test.*`'

# Without a person the node does not run. The question names the node, its effects and its document.
[ -e "$BINARY/lib/tenon/plugins/sqlite.so" ] || exit 0
rule '"effect:destructive": ask'
answered() { # THREAD ANSWER
    run tenon run graph.yaml --thread "$1" "${plugin[@]}"
    expect_code 5 && expect_in err 'node wreck: may it run (test.flaky_destroyer)? tenon.yaml sets `ask` for `effect:destructive`'
    expect_out '{"out":[]}'
    run tenon thread show "$1"
    expect_in out 'for       test.flaky_destroyer `wreck` of document `graph.yaml`'
    id=$(tenon thread show "$1" --json | grep -o '"id":"[0-9a-f]*"' | head -1 | cut -d'"' -f4)
    run tenon run graph.yaml --thread "$1" --resume --answer "$id=$2" "${plugin[@]}"
}
answered yes yes
expect_code 0 && expect_in out '"out":['
run tenon replay yes "${plugin[@]}"
expect_code 0
answered no '{"approved": false, "reason": "not today"}'
expect_code 1 && expect_in err 'the node was not approved (node `test.flaky_destroyer`): not today' && expect_in err NODE_DENIED
answered wrong '{"approved": "perhaps"}'
expect_code 1 && expect_in err INVALID_INPUT
