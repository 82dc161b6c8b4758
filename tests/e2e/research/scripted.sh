# Deep research without a network: the tools `scripted.*`, chosen by tenon.yaml, and a host that is killed in between.
document report.yaml 'input_key: question'
choose() { echo "plugins: {config: {tenon.agents: {deep_research: {backend: scripted, $1}}}}" >tenon.yaml; }
ask() { run tenon run report.yaml --set question='Do they work?' "$@"; }

choose 'agent: completed'
ask
expect_code 0 && expect_in out '"text":"Report: Do they work?"' && expect_in out '"state":"completed"'
choose 'agent: with_polling(3), stream: false, agent_config: {text: They do., sources: [{url: "https://example.org/a", title: A}]}'
ask --stream tasks
expect_code 0 && expect_in out '"text":"They do."' && expect_in out '"sources":[{"type":"source","url":"https://example.org/a","title":"A"}]'
[ "$(grep -c '"node":"wait".*"event":"start"' "$work/err")" = 4 ] || fails "expected three steps that find it running, and one more"
choose 'agent: failing, agent_config: {error: no luck}'
ask
expect_code 1 && expect_in err '[FAILED]' && expect_in err 'no luck'
choose 'agent: completed, agent_config: {status: budget_exceeded}'
ask
expect_code 1 && expect_in err '[BUDGET_EXCEEDED]'

# The id has all of it: another process reads what this one has created.
run tenon tool call scripted.create '{"input": "?", "agent": "with_polling(1)", "agent_config": {"text": "They do."}}'
expect_code 0 && expect_in out '"state":"running"'
id=$(sed 's/.*"id":"\([^"]*\)".*/\1/' "$work/out")
run tenon tool call scripted.stream "{\"id\": \"$id\"}"
expect_code 0 && expect_in out '"text":"They do."'
run tenon tool call scripted.get '{"id": "scripted-e"}'
expect_code 1 && expect_in err '[NOT_FOUND]'
run tenon tool call scripted.cancel "{\"id\": \"$id\"}"
expect_code 0 && expect_in out '"state":"cancelled"'
run tenon tool call scripted.create '{"input": "?", "agent": "other"}'
expect_code 2 && expect_in err "[INVALID_INPUT]"

# What it has used counts for the run, once, and has the price of `scripted`: streamed, polled, and at once.
cat >spending.yaml <<'Y'
version: "1.0"
agent: {name: spender}
budget: {tokens: 1000}
channels: [{name: question, type: last_value}, {name: research, type: last_value}]
nodes:
  - {id: a, type: deep_research, config: {input_key: question, output_key: research}}
  - {id: b, type: deep_research, config: {input_key: question, output_key: research}}
edges: [{from: START, to: a}, {from: a, to: b}, {from: b, to: END}]
Y
for mode in 'agent: completed' 'agent: with_polling(2)' 'agent: with_polling(2), stream: false, poll_interval_ms: 1'; do
    choose "$mode, agent_config: {usage: {input_tokens: 700, output_tokens: 200, total_tokens: 900}}"
    echo 'prices: {scripted: {input: 1000, output: 5000}}' >>tenon.yaml
    run tenon run spending.yaml --set question=Why --json
    expect_code 0 && expect_in out '"usage":{"llm_calls":2,"input_tokens":1400,"output_tokens":400,"total_tokens":1800,"cost":3.4}'
    expect_in err 'took the run to 1800 tokens, over its budget of 1000'
    sed -i 's/tokens: 1000/tokens: 900/' spending.yaml
    run tenon run spending.yaml --set question=Why --json
    expect_code 1 && expect_in err '[BUDGET_EXCEEDED]' && expect_in err 'has used 900 tokens in 1 call of models, and its budget is 900'
    sed -i 's/tokens: 900/tokens: 1000/' spending.yaml
done
