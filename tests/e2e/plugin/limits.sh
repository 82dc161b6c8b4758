# The limits in tenon.yaml bound what documents and runs request.
printf 'limits: {recursion_limit: 5}\n' >tenon.yaml
cat >loop.yaml <<'YAML'
version: "1.0"
agent: {recursion_limit: 50}
channels: [{name: n, type: last_value, default: 0}]
nodes: [{id: a, type: set, config: {values: {n: state.n + 1}}}]
edges:
  - {from: START, to: a}
  - from: a
    type: conditional
    conditions: [{expression: state.n < 30, to: a}, {expression: default, to: END}]
YAML
run tenon run loop.yaml --run-config '{"recursion_limit": 40}'
expect_code 1 && once "has taken 5 steps" && expect_in err "tenon.yaml"
run tenon run loop.yaml --no-config
expect_code 0 && expect_out '{"n":30}'
run tenon run loop.yaml --config /dev/null
expect_code 0
run tenon run loop.yaml --no-config --run-config '{"recursion_limit": 7}'
expect_code 1 && once "has taken 7 steps" && expect_not_in err "tenon.yaml"
run tenon doctor
expect_in out "at most 5 steps"
rm tenon.yaml
