# Documents that plugins name: those that their section of tenon.yaml names, and those of the project.
[ -e "$BINARY/lib/tenon/plugins/define.so" ] || skips "the plugin is not built"
tool() { # TEXT: a document for a tool with that result
    cat <<Y
version: "1.0"
agent: {name: tool, description: A tool.}
channels: [{name: out, type: last_value}]
nodes: [{id: a, type: prompt, config: {template: $1, output_key: out}}]
edges: [{from: START, to: a}, {from: a, to: END}]
Y
}
tool near >near.yaml
tool far >../shared/far.yaml
tool hunter2 >../secret/tool.yaml
cat >more.yaml <<'Y'
- {name: my.near, document: near.yaml, effects: []}
- {name: my.secret, document: ../secret/tool.yaml, effects: []}
Y
echo 'plugins: {config: {tenon.define: {tools: [{name: my.far, document: ../shared/far.yaml, effects: []}, more.yaml]}}}' >tenon.yaml
run tenon tool call my.near '{}'
expect_code 0 && expect_in out near
run tenon tool call my.far '{}'
expect_code 0 && expect_in out far
run tenon tool call my.secret '{}'
expect_code 1 && expect_in err "outside $PWD, below which documents of plugins may read" && expect_not_in out hunter2
rm tenon.yaml
