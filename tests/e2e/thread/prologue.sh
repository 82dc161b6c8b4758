# Shared by the tests of saved runs. Each command is its own process and uses SQLite.
nodes="--plugins $TEST_NODES --allow-drafts"
printf 'store: {use: sqlite, path: ./kept.db}\n' >tenon.yaml

# ids: prints the ids of the interrupts of the last --json run, one a line
ids() { tail -n 1 "$work/out" | grep -o '"id":"[0-9a-f]*"' | cut -d'"' -f4; }

cat >count.yaml <<'YAML'
version: "1.0"
agent: {name: count}
channels: [{name: n, type: last_value, default: 0}, {name: log, type: append}]
nodes:
  - {id: a, type: set, config: {values: {n: state.n + 1, log: '"a"'}}}
  - {id: b, type: set, config: {values: {log: '"b" + string(state.n)'}}}
edges: [{from: START, to: a}, {from: a, to: b}, {from: b, to: END}]
YAML
# ask_document: writes ask.yaml, whose nodes a and b ask
ask_document() {
cat >ask.yaml <<'YAML'
version: "1.0"
agent: {name: ask}
channels: [{name: t, type: append}]
nodes:
  - {id: a, type: test.ask, config: {out: t}}
  - {id: b, type: test.ask, config: {out: t, schema: {type: boolean}}}
  - {id: once, type: test.count_destroyer, config: {in: t, out: t}}
  - {id: e, type: test.write, config: {out: t, value: end}}
edges: [{from: START, to: [a, b, once]}, {from: [a, b, once], to: e}, {from: e, to: END}]
YAML
}
