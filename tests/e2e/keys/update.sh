# A step that was tried before `thread update` runs again with other arguments, and therefore with another key. A step
# that is resumed as it was has the same key, in another process as well.
cat >pay.yaml <<'YAML'
version: "1.0"
agent: {name: pay}
channels: [{name: sum, type: last_value, default: 5}]
tools: [pay]
nodes: [{id: pay, type: tool, config: {tool: pay, arguments: {sum: state.sum}}}]
edges: [{from: START, to: pay}, {from: pay, to: END}]
YAML
