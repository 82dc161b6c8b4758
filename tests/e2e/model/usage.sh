# The usage of runs, and budgets.
[ -e "$BINARY/lib/tenon/plugins/agents.so" ] || exit 0
document() { # BUDGET
    cat <<Y
version: "1.0"
agent: {name: spender}
budget: {$1}
channels: [{name: n, type: reduce, reducer: sum, default: 0}, {name: said, type: append}]
nodes:
  - {id: ask, type: llm, config: {model: default, prompt: "say {n}", output_key: said}}
  - {id: count, type: set, config: {values: {n: 1}}}
edges:
  - {from: START, to: ask}
  - {from: ask, to: count}
  - {from: count, type: conditional, conditions: [{expression: state.n < 4, to: ask}, {expression: default, to: END}]}
Y
}
cat >tenon.yaml <<'Y'
models: {default: {provider: scripted, replies: [{message: "yes", usage: {input_tokens: 10, output_tokens: 5, total_tokens: 15}}], model: small}}
prices: {"scripted:small": {input: 1000, output: 2000}}
Y
document "tokens: 1000" >spender.yaml
run tenon run spender.yaml --json
expect_code 0 && expect_in out '"usage":{"llm_calls":4,"input_tokens":40,"output_tokens":20,"total_tokens":60,"cost":0.08}'
document "tokens: 30" >spender.yaml
run tenon run spender.yaml --json
expect_code 1 && expect_in err '[BUDGET_EXCEEDED]' && expect_in err "this run of \`spender\` has used 30 tokens in 2 calls of models, and its budget is 30"
expect_in out '"usage":{"llm_calls":2,' && expect_in out '"n":2'
document "cost: 0.05" >spender.yaml
run tenon run spender.yaml
expect_code 1 && expect_in err "has spent 0.06 in 3 calls"
document "steps: 3" >spender.yaml
run tenon run spender.yaml
expect_code 1 && expect_in err "has taken 3 super-steps, and its budget is 3"
run tenon run spender.yaml -M scripted:other --json
expect_code 1 && expect_not_in out cost
# The last call may exceed the budget; a warning says so.
document "tokens: 50" >spender.yaml
run tenon run spender.yaml
expect_code 0 && expect_in err "took the run to 60 tokens, over its budget of 50"
document "tokens: 60" >spender.yaml
run tenon run spender.yaml
expect_code 0 && expect_not_in err "budget"
document "cost: 0.05" >spender.yaml
# A cost budget without prices.
run tenon check spender.yaml
expect_code 0 && expect_not_in err "budget.cost"
run tenon check spender.yaml --no-config -M scripted --strict
expect_code 3 && expect_in err "budget.cost has no effect: tenon.yaml has no \`prices\`" && expect_in err "1 warning"
run tenon run spender.yaml -M scripted
expect_code 0 && [ "$(grep -c "has no price in tenon.yaml" "$work/err")" = 1 ] || fails "expected one warning"
# The budget is one run's: a resumed run continues with what it has used, and new input starts a new run.
if [ -e "$BINARY/lib/tenon/plugins/sqlite.so" ]; then
    document "tokens: 75, steps: 12" >spender.yaml
    run tenon run spender.yaml --thread t --json
    expect_code 0 && expect_in out '"total_tokens":60'
    run tenon run spender.yaml --thread t --set n=-3 --json
    expect_code 0 && expect_in out '"total_tokens":105' && expect_in out '"steps":14'
    run tenon run spender.yaml --thread t --set n=-9 --json
    expect_code 1 && expect_in err "has used 75 tokens in 5 calls" && expect_in out '"llm_calls":12'
    run tenon run spender.yaml --thread t --resume
    expect_code 1 && expect_in err "has used 75 tokens in 5 calls"
    document "tokens: 75, steps: 11" >spender.yaml
    run tenon run spender.yaml --thread t --resume
    expect_code 1 && expect_in err "has used 75 tokens in 5 calls"
    document "tokens: 90, steps: 11" >spender.yaml
    run tenon run spender.yaml --thread t --resume
    expect_code 1 && expect_in err "has taken 11 super-steps, and its budget is 11"
    document "tokens: 1000" >spender.yaml
    run tenon run spender.yaml --thread t --resume
    expect_code 0
    run tenon replay t
    expect_code 0
    document "tokens: 30" >spender.yaml
    run tenon run spender.yaml --thread u
    expect_code 1
    run tenon run spender.yaml --thread u --replace --set n=2
    expect_code 0
fi
cat >around.yaml <<'Y'
version: "1.0"
agent: {name: around}
budget: {tokens: 40}
channels: [{name: n, type: last_value, default: 0}, {name: out, type: last_value}]
nodes: [{id: inner, type: subgraph, config: {document: spender.yaml, input: {n: n}, output: {n: out}}}]
edges: [{from: START, to: inner}, {from: inner, to: END}]
Y
document "tokens: 1000" >spender.yaml
run tenon run around.yaml --json
expect_code 1 && expect_in err '`around` has used 45 tokens in 3 calls' && expect_in out '"llm_calls":3'
# A run that waits, is resumed and waits again still counts the models that were called below a tool.
if [ -e "$BINARY/lib/tenon/plugins/sqlite.so" ]; then
    document "tokens: 1000" >spender.yaml
    cat >>tenon.yaml <<'Y'
plugins: {config: {tenon.define: {tools: [{name: spend, document: spender.yaml}]}}}
Y
    cat >waits.yaml <<'Y'
version: "1.0"
agent: {name: waits}
channels: [{name: t, type: append}]
tools: [{name: spend, approval: auto}, {name: t.delete, approval: ask}]
nodes:
  - id: a
    type: test.calls
    config:
      calls: [{name: spend, arguments: {}}, {name: t.delete, arguments: {path: x}}, {name: t.delete, arguments: {path: y}}]
      out: t
edges: [{from: START, to: a}]
Y
    waits() { run tenon run waits.yaml --thread w --json --plugins "$TEST_NODES" --allow-drafts "$@"; }
    waits
    expect_code 5 && expect_in out '"usage":{"llm_calls":4,"input_tokens":40,"output_tokens":20,"total_tokens":60,'
    read -r first second <<<"$(tail -n 1 "$work/out" | grep -o '"id":"[0-9a-f]*"' | cut -d'"' -f4 | tr '\n' ' ')"
    waits --resume --answer "$first=yes"
    expect_code 5 && expect_in out '"usage":{"llm_calls":4,"input_tokens":40,"output_tokens":20,"total_tokens":60,'
    waits --resume --answer "$second=yes"
    expect_code 0 && expect_in out '"usage":{"llm_calls":4,"input_tokens":40,"output_tokens":20,"total_tokens":60,'
    run tenon replay w --plugins "$TEST_NODES" --allow-drafts
    expect_code 0
fi
