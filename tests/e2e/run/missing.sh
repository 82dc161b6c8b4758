# A document that requires a plugin that is not installed.
cat >needs.yaml <<'YAML'
version: "1.0"
requires: [acme.sentiment >= 1.2]
nodes: [{id: judge, type: passthrough}]
edges: [{from: START, to: judge}, {from: judge, to: END}]
YAML
run tenon run needs.yaml
expect_code 3 && once "ADL-E061" && expect_in err "\`acme.sentiment\`" && expect_in err ">= 1.2" && expect_in err "tenon plugin list"
graph nosuch acme.mood '{}'
run tenon run nosuch.yaml
expect_code 3 && once 'unknown node type `acme.mood`'
expect_in err "help: "
