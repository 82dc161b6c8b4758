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

# A subgraph is not retried in another process if a tool that it used before the interrupt must not be used again.
not_retried() { # NODES EDGES: the nodes and edges of the subgraph
cat >deletes.yaml <<YAML
version: "1.0"
channels: [{name: t, type: append}]
tools: [t.fail, {name: t.delete, approval: auto}]
nodes: $1
edges: $2
YAML
cat >retries.yaml <<'YAML'
version: "1.0"
agent: {name: retries}
channels: [{name: t, type: append}]
nodes: [{id: a, type: subgraph, config: {document: deletes.yaml}, retry: {max_attempts: 3}}]
edges: [{from: START, to: a}]
YAML
rm -f kept.db*
run tenon run retries.yaml --thread retries $nodes --json
expect_code 5
id=$(ids)
run tenon run retries.yaml --thread retries $nodes --resume ${3:+--answer "$id=fine"}
expect_code 1
expect_in err 'node `a`: node'
}
delete='{calls: [{name: t.delete, arguments: {path: x}}], out: t}'
fail='{calls: [{name: t.fail, arguments: {fatal: true, retryable: true}}], out: t}'
not_retried "[{id: b, type: test.calls, config: $delete}, {id: c, type: test.calls, interrupt: before, config: $fail}]" \
    "[{from: START, to: b}, {from: b, to: c}]"
not_retried "[{id: b, type: test.calls, config: ${delete/out/asks: true, out}}]" "[{from: START, to: b}]" answered
