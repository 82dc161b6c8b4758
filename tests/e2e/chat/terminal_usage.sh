# On a terminal: each line is its own run with its own budget; /usage adds up all runs, including failed ones.
command -v python3 >/dev/null || skips "python3 is not installed"
cat >budget.yaml <<'Y'
version: "1.0"
agent: {name: spender}
budget: {tokens: 20}
models: {default: {provider: scripted, cycle: true, replies: [{message: "yes", usage: {input_tokens: 10, output_tokens: 5, total_tokens: 15}}]}}
channels: [{name: messages, type: reduce, reducer: messages}, {name: said, type: last_value}]
nodes:
  - {id: ask, type: llm, config: {messages_key: messages}}
  - {id: stop, type: fail, config: {code: SORRY, message: no}}
edges:
  - {from: START, to: ask}
  - {from: ask, type: conditional, conditions: [{expression: "state.messages[size(state.messages) - 2].content == 'bad'", to: stop}, {expression: default, to: END}]}
  - {from: stop, to: END}
Y
terminal "$TENON" chat budget.yaml <<'T'
wait > 
send bad
wait [SORRY]
wait > 
send /usage
wait "total_tokens":15
send good
wait yes
wait > 
send bad
wait [SORRY]
wait > 
send /usage
wait "llm_calls":3,"input_tokens":30,"output_tokens":15,"total_tokens":45
send /history
wait user   good
wait ai     yes
wait > 
send /exit
end
T
expect_code 0
