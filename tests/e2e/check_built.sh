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

# The `retry` of a node has no effect if its nested graph must not be repeated.
cat >docs/retry.yaml <<'YAML'
version: "1.0"
channels: [{name: q, type: last_value}, {name: a, type: append}]
defaults: {retry: {max_attempts: 2}}
nodes:
  - {id: agent, type: agent, retry: {max_attempts: 3}, config: {model: scripted, input_key: q, output_key: a}}
  - {id: once, type: agent, retry: {max_attempts: 1}, config: {model: scripted, input_key: q, output_key: a}}
  - {id: general, type: agent, config: {model: scripted, input_key: q, output_key: a}}
  - {id: ask, type: llm, retry: {max_attempts: 3}, config: {model: scripted, input_key: q, output_key: a}}
edges: [{from: START, to: [agent, once, general, ask]}, {from: [agent, once, general, ask], to: END}]
YAML
run tenon check docs/retry.yaml
expect_code 0 && expect_in err "0 errors, 1 warning"
expect_in err 'docs/retry.yaml:5:30: warning[ADL-W111]: the node is not retried: `agent` runs a nested graph'
expect_in err 'write `retry` in `config`'

# What every run would refuse.
cat >docs/refused.yaml <<'YAML'
version: "1.0"
channels: [{name: log, type: append}, {name: last, type: last_value}]
nodes:
  - {id: links, type: tool, config: {tool: extract, arguments: {from: "'x'", what: "'linkz'"}}}
  - {id: short, type: trim, config: {messages_key: log, last: 3}}
  - {id: recent, type: trim, config: {messages_key: log, last: 3, output_key: last}}
  - {id: ask, type: llm, config: {model: scripted, prompt: "{item}", messages_key: last}}
  - {id: all, type: map_reduce, config: {model: scripted, over_key: log, map_prompt: "{item}", reduce_prompt: "{results}", system_prompt: "{item}", output_key: last}}
edges:
  - {from: START, to: links}
  - {from: links, to: short}
  - {from: short, to: recent}
  - {from: recent, to: ask}
  - {from: ask, to: all}
  - {from: all, to: END}
YAML
run tenon check docs/refused.yaml
expect_code 3 && expect_in err "3 errors, 2 warnings"
expect_in err 'docs/refused.yaml:4:84: error[ADL-E034]: `config.arguments.what` of node `links`: found the string "linkz"'
expect_in err 'docs/refused.yaml:5:52: warning[ADL-W114]: `config.messages_key` of node `short` removes messages'
expect_in err 'docs/refused.yaml:7:62: error[ADL-E048]: `config.prompt` of node `ask`: `item`'
expect_in err 'docs/refused.yaml:7:84: warning[ADL-W114]: `config.messages_key` of node `ask` appends messages'
expect_in err 'docs/refused.yaml:8:141: error[ADL-E048]: `config.system_prompt` of node `all`: `item`'
