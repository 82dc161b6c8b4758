# Messages of two inputs are kept apart, even if no step ran between them.
cat >said.yaml <<'YAML'
version: "1.0"
agent: {name: said}
channels: [{name: m, type: reduce, reducer: messages}]
nodes: [{id: a, type: set, config: {values: {m: "[]"}}}]
edges:
  - {from: START, type: conditional, conditions: [{expression: size(state.m) > 9, to: a}, {expression: default, to: END}]}
  - {from: a, to: END}
YAML
for text in one two; do
    run tenon run said.yaml --thread said --set "m=[{\"type\":\"user\",\"content\":\"$text\"}]"
    expect_code 0
done
expect_in out '"content":"one"'
expect_in out '"content":"two"'
run tenon replay said
expect_code 0
