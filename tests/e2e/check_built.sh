# `tenon check` finds what only building the graph finds, and reports it at its place in the user's document.
mkdir docs
cat >docs/inner.yaml <<'YAML'
version: "1.0"
channels: [{name: q, type: last_value}, {name: a, type: last_value}]
nodes:
  - {id: deep, type: agent, config: {model: scripted, input_key: q, output_key: a, retry: {initial: 9s, max: 1s}}}
edges: [{from: START, to: deep}, {from: deep, to: END}]
YAML
cat >docs/main.yaml <<'YAML'
version: "1.0"
channels: [{name: q, type: last_value}, {name: a, type: last_value}]
nodes:
  - id: solve
    type: agent
    config: {model: scripted, input_key: q, output_key: a, retry: {max_attempts: 3, initial: soon}}
  - id: sum
    type: map_reduce
    config: {model: scripted, over_key: q, map_prompt: "{item}", reduce_prompt: Add them., output_key: a}
  - {id: inside, type: subgraph, config: {document: inner.yaml, input: {q: q}, output: {a: a}}}
edges:
  - {from: START, to: solve}
  - {from: solve, to: sum}
  - {from: sum, to: inside}
  - {from: inside, to: END}
YAML
run tenon check docs/main.yaml
expect_code 3 && expect_in err "3 errors, 0 warnings"
expect_in err 'docs/main.yaml:6:94: error[ADL-E024]: in the graph of node `solve`: `initial: "soon"` is not a duration'
expect_in err 'docs/main.yaml:9:81: error[ADL-E069]: node `sum` (map_reduce): `reduce_prompt` has no `{results}`'
expect_in err 'docs/inner.yaml:4:110: error[ADL-E025]: in the graph of node `deep`: `max` is shorter than `initial`'
