# A run that is cancelled cancels its research at the service: while it is followed, polled, and created.
document followed.yaml 'input_key: question'
document polled.yaml 'input_key: question, stream: false, poll_interval_ms: 500' # the signal must come while a request for the state waits

has_lines() { [ -e log ] && [ "$(wc -l <log)" -ge "$1" ]; }
cancels() { count POST v1_work1/cancel; }

cancelled() { # SCRIPT DOCUMENT REQUESTS
    serve "$1"
    "$TENON" run "$2" --set question='Do they work?' >"$work/out" 2>"$work/err" </dev/null &
    local host=$!
    disown
    last="cancelled: $2"
    wait_until has_lines "$3"
    kill -INT "$host"
    expect_ended "$host" "the run did not end"
    [ "$(cancels)" = 1 ] || fails "expected one request to cancel, found $(cancels)"
    expect_creates 1
    servers_stop
}
cancelled '{"hold": 2}' followed.yaml 2
cancelled '{"polls": 1000000}' polled.yaml 3

# ---- A timeout of the node ----
sed 's/type: deep_research,/type: deep_research, timeout: 300ms,/' followed.yaml >timed.yaml
serve '{"hold": 2}'
run tenon run timed.yaml --set question='Do they work?'
expect_code 1 && expect_in err "[TIMEOUT]"
[ "$(cancels)" = 1 ] || fails "the research was not cancelled"
servers_stop

# ---- A budget that another node uses up: the research is cancelled at the service, and another one starts when it is raised ----
cat >budget.yaml <<'Y'
version: "1.0"
agent: {name: spender}
budget: {tokens: 10}
models: {small: {provider: scripted, replies: [{message: "yes", delay_ms: 100, usage: {input_tokens: 10, output_tokens: 5, total_tokens: 15}}]}}
channels: [{name: question, type: last_value}, {name: research, type: last_value}, {name: said, type: last_value}]
nodes:
  - {id: research, type: deep_research, config: {input_key: question, output_key: research, stream: false, poll_interval_ms: 1}}
  - {id: spend, type: llm, config: {model: small, prompt: Hi, output_key: said}}
edges: [{from: START, to: research}, {from: START, to: spend}, {from: research, to: END}, {from: spend, to: END}]
Y
serve '{"polls": 80}'
run tenon run budget.yaml --thread spent --set question='Do they work?'
expect_code 1 && expect_in err "[BUDGET_EXCEEDED]" && expect_in err "has used 215 tokens in 2 calls of models, and its budget is 10" # 200 of the research
expect_creates 1
[ "$(cancels)" = 1 ] || fails "expected one request to cancel, found $(cancels)"
run tenon run budget.yaml --thread spent --resume
expect_code 1 && expect_in err "[BUDGET_EXCEEDED]" && expect_creates 1
sed -i 's/tokens: 10}/tokens: 1000}/' budget.yaml
run tenon run budget.yaml --thread spent --resume --json
expect_code 0 && expect_in out "$report" && expect_creates 2
expect_in out '"llm_calls":3,"input_tokens":310,"output_tokens":105'
servers_stop
