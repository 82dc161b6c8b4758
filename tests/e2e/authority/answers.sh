# The answer to a question counts only for the call that asked it, even if another call is now made in the same place.
[ -e "$BINARY/lib/tenon/plugins/define.so" ] && [ -e "$BINARY/lib/tenon/plugins/sqlite.so" ] || skips "built without the plugins"
tool() { # NAME
    cat <<Y
{name: $1, description: d, input: {type: object, properties: {x: {type: string}}}, effects: [process.spawn, "fs.write:$PWD"],
 command: [touch, "$PWD/$1-{x}"]}
Y
}
settings() { # APPROVAL [SECTION…]
    cat >tenon.yaml <<Y
plugins: {config: {${2:-}${2:+, }tenon.define: {tools: [$(tool note), $(tool wipe)]}}}
tools: {approval: {$1}}
Y
}
node() { # TYPE CONFIG
    cat >graph.yaml <<Y
version: "1.0"
channels: [{name: out, type: last_value}]
nodes: [{id: n, type: $1, config: $2}]
edges: [{from: START, to: n}, {from: n, to: END}]
Y
}
asks() { # THREAD [OPTION…]
    local thread=$1
    shift
    run tenon run graph.yaml --thread "$thread" "$@"
    expect_code 5
    id=$(tenon thread show "$thread" --json "$@" | grep -o '"id":"[0-9a-f]*"' | head -1 | cut -d'"' -f4)
}
expect_files() { [ "$(ls note-* wipe-* 2>/dev/null | xargs)" = "$1" ] || fails "expected the files: $1, found: $(ls)"; }

# A component asks for one tool, and calls another one when it is started again.
mkdir plugin
cp "$SOURCE/tests/attack/hostile.py" plugin/
cat >plugin/hostile.py.tenon.json <<Y
{"plugin": {"id": "hostile.plugin", "version": "1.0.0", "title": "t", "config": {"type": "object"}},
 "components": [{"kind": "node", "id": "hostile.node", "title": "t", "documentation": "d", "style": "blocking",
                 "effects": ["calls.tool", "process.spawn", "fs.write:$PWD"]}]}
Y
node hostile.node '{}'
hostile=(--plugins plugin/hostile.py --allow-drafts)
settings '"*": ask' "hostile.plugin: {attack: call, name: note, input: '{\"x\": \"all\"}'}"
asks swapped "${hostile[@]}"
expect_in err 'may note be called with '
settings '"*": ask' "hostile.plugin: {attack: call, name: wipe, input: '{}'}"
run tenon run graph.yaml --thread swapped "${hostile[@]}" --resume --answer "$id=yes"
expect_code 5 && expect_in err 'may wipe be called with ' && expect_files ''
# A late answer to the first question, for example from a screen that still shows it, does not answer the second.
run tenon run graph.yaml --thread swapped "${hostile[@]}" --resume --answer "$id=yes"
expect_in err "$id" && expect_files ''
[ "$code" != 0 ] || fails "a late answer was accepted"

# The rule was removed after the question: a refusal stays one, and an approved call has its own arguments.
node tool "{tool: note, arguments: {x: \"'own'\"}, output_key: out}"
later() { # THREAD ANSWER
    settings '"*": ask'
    asks "$1"
    settings ''
    run tenon run graph.yaml --thread "$1" --resume --answer "$id=$2"
}
later refused '{"approved": false, "reason": "not today"}'
expect_code 1 && expect_in err 'node `n`: the call of the tool `note` was not approved: not today [TOOL_DENIED]' && expect_files ''
later changed '{"approved": true, "arguments": {"x": "changed"}}'
expect_code 1 && expect_in err 'was not approved with these arguments [TOOL_DENIED]' && expect_files ''
later approved yes
expect_code 0 && expect_files note-own
rm note-own

# The same for nodes.
node test.ask '{out: out}'
nodes=(--plugins "$TEST_NODES" --allow-drafts)
settings '"node:test.ask": ask'
asks denied "${nodes[@]}"
settings ''
run tenon run graph.yaml --thread denied "${nodes[@]}" --resume --answer "$id=no"
expect_code 1 && expect_in err NODE_DENIED
# The answer to the node's own question does not approve the node.
asks own "${nodes[@]}"
expect_in err 'may I?'
settings '"node:test.ask": ask'
run tenon run graph.yaml --thread own "${nodes[@]}" --resume --answer "$id=yes"
expect_code 5 && expect_in err 'node n: may it run (test.ask)?'
run tenon run graph.yaml --thread own "${nodes[@]}" --resume --answer "$id=yes"
expect_code 5 && expect_in err 'may I?'
run tenon run graph.yaml --thread own "${nodes[@]}" --resume --answer "$id=mine"
expect_code 0 && expect_out '{"out":"mine"}'
