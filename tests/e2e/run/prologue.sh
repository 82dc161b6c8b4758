# Shared by the tests of `tenon run`.
hello=$SOURCE/samples/hello/hello.yaml
result='{"name":"Ada","greeting":"Hello, Ada!"}'

# graph NAME TYPE CONFIG: writes the document NAME.yaml with one node
graph() {
    cat >"$1.yaml" <<YAML
version: "1.0"
channels: [{name: a, type: last_value}, {name: b, type: last_value}]
nodes: [{id: only, type: $2, config: $3}]
edges: [{from: START, to: only}, {from: only, to: END}]
YAML
}
# once WHAT: fails unless standard error has one message, which contains WHAT
once() { expect_in err "$1" && [ "$(grep -c '^tenon: \|: error' "$work/err")" = 1 ] || fails "expected one message"; }
quiet() { [ ! -s "$work/err" ] || fails "expected nothing on standard error"; }

# Documents that several of the scripts use.
graph boom fail '{code: SOLD_OUT, message: "nothing left"}'
graph rude fail '{message: "\e]0;owned\a\e[31mred\nsecond\rline"}'
graph slow delay '{ms: 600000}'
cat >loop.yaml <<'YAML'
version: "1.0"
channels: [{name: n, type: last_value, default: 0}]
nodes: [{id: a, type: set, config: {values: {n: state.n + 1}}}]
edges:
  - {from: START, to: a}
  - from: a
    type: conditional
    conditions: [{expression: state.n < 100000000, to: a}, {expression: default, to: END}]
YAML
cat >empty.yaml <<'YAML'
version: "1.0"
channels: [{name: list, type: last_value, default: []}, {name: out, type: append}]
nodes: [{id: plan, type: passthrough}, {id: work, type: set, config: {values: {out: item}}}]
edges:
  - {from: START, to: plan}
  - {from: plan, type: map, over: state.list, as: it, to: work}
  - {from: work, to: END}
YAML
for i in $(seq 500); do echo "{\"name\":$i}"; done >many.jsonl
