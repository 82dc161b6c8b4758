# A run that the strategy stop_at_nonlinear stops reports the nodes that are due, and --resume starts all of them.
cat >stops.yaml <<'Y'
version: "1.0"
agent: {name: stops, strategy: stop_at_nonlinear}
channels: [{name: done, type: append}]
nodes:
  - {id: plan, type: set, config: {values: {done: '"plan"'}}}
  - {id: write, type: set, config: {values: {done: '"write"'}}}
  - {id: draw, type: set, config: {values: {done: '"draw"'}}}
edges: [{from: START, to: plan}, {from: plan, to: [draw, write]}, {from: [draw, write], to: END}]
Y
run tenon run stops.yaml --thread t
expect_code 0 && expect_out '{"done":["plan"]}' && expect_in err 'next: `write`, `draw`'
run tenon run stops.yaml --thread t --resume --json
expect_code 0 && expect_in out '"done":["plan","write","draw"]'
grep -q '"next"' "$work/out" && fails "a run that is done has no next nodes"
run tenon run stops.yaml --json
expect_code 0 && expect_in out '"next":["write","draw"]'
# A run of a batch that the strategy stops is a result, as a single one is.
printf '{}\n{}\n' >two.jsonl
run tenon run stops.yaml --batch two.jsonl
expect_code 0 && expect_out "$(printf '%s\n' '{"output":{"done":["plan"]},"next":["write","draw"]}' '{"output":{"done":["plan"]},"next":["write","draw"]}')"
