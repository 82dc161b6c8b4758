# A node whose writes a channel refuses has not done its work: after its document was corrected, a resumed run starts it
# again. The other nodes of the step are not repeated. In a subgraph, too.
cat >sum.yaml <<'YAML'
version: "1.0"
agent: {name: sum}
output: {type: object, properties: {done: {}, sum: {}}}
channels:
  - {name: done, type: append}
  - {name: sum, type: reduce, reducer: sum, default: 0}
  - {name: text, type: last_value, default: x}
nodes:
  - {id: a, type: set, config: {values: {done: '"a"'}}}
  - {id: b, type: set, config: {values: {sum: state.text}}}
edges: [{from: START, to: [a, b]}, {from: [a, b], to: END}]
YAML
cat >outer.yaml <<'YAML'
version: "1.0"
agent: {name: outer}
channels: [{name: result, type: last_value}]
nodes: [{id: inner, type: subgraph, config: {document: ./sum.yaml, output: {sum: result}}}]
edges: [{from: START, to: inner}, {from: inner, to: END}]
YAML
for document in sum outer; do
    run tenon run $document.yaml --thread $document --quiet
    expect_code 1
    expect_in err "channel \`sum\`: found string"
done
sed -i 's/state.text/1/; s/"a"/"changed"/' sum.yaml
run tenon run sum.yaml --thread sum --resume --accept-changes --quiet
expect_code 0
expect_out '{"done":["a"],"sum":1}'
run tenon run outer.yaml --thread outer --resume --accept-changes --quiet
expect_code 0
expect_out '{"result":1}'
