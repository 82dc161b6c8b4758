# A subgraph is interrupted; its finished steps are not repeated.
cat >inner.yaml <<'YAML'
version: "1.0"
channels: [{name: t, type: append}]
nodes:
  - {id: once, type: test.count_destroyer, config: {in: t, out: t}}
  - {id: ask, type: test.ask, config: {out: t}}
edges: [{from: START, to: once}, {from: once, to: ask}, {from: ask, to: END}]
YAML
cat >outer.yaml <<'YAML'
version: "1.0"
agent: {name: outer}
channels: [{name: items, type: last_value, default: [1, 2]}, {name: t, type: append}]
nodes: [{id: each, type: subgraph, config: {document: inner.yaml, output: {t: t}}}]
edges: [{from: START, type: map, over: state.items, as: item, to: each}, {from: each, to: END}]
YAML
run tenon run outer.yaml --thread outer $nodes --json
expect_code 5
read -r first second <<<"$(ids | tr '\n' ' ')"
run tenon run outer.yaml --thread outer $nodes --resume --answer "$second=2nd"
expect_code 5
run tenon run outer.yaml --thread outer $nodes --resume --answer "$first=1st"
expect_code 0
expect_out '{"items":[1,2],"t":[1,"1st",2,"2nd"]}'
run tenon replay outer $nodes
expect_code 0
