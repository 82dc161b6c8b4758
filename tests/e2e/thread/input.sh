# An invalid input neither creates a thread nor changes one.
run tenon run count.yaml --thread mistyped --set m=1
expect_code 1
expect_in err 'the input has the key `m`, which is not a channel of the document'
run tenon thread show mistyped
expect_code 1
expect_in err 'the thread `mistyped` does not exist'
run tenon run count.yaml --thread mistyped --set n=1
expect_out '{"n":2,"log":["a","b2"]}'
run tenon thread show mistyped --json
cp "$work/out" before.json
run tenon run count.yaml --thread mistyped --set m=1
expect_code 1
run tenon run count.yaml --thread mistyped --input '[]' --replace
expect_code 1
run tenon thread show mistyped --json
cmp "$work/out" before.json || fails "a rejected input changed the thread"
run tenon run count.yaml --thread mistyped
expect_out '{"n":3,"log":["a","b2","a","b3"]}'
run tenon replay mistyped
expect_code 0
cat >routed.yaml <<'YAML'
version: "1.0"
agent: {name: routed}
channels: [{name: n, type: last_value, default: 0}]
nodes: [{id: a, type: set, config: {values: {n: state.n + 1}}}]
edges:
  - {from: START, type: conditional, conditions: [{expression: 10 / state.n > 0, to: a}, {expression: default, to: END}]}
  - {from: a, to: END}
YAML
run tenon run routed.yaml --thread routed
expect_code 1
expect_in err "by zero"
run tenon run routed.yaml --thread routed --set n=2
expect_out '{"n":3}'
run tenon thread delete mistyped routed
