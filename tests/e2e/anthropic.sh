# The provider `anthropic` over a connection: a complete answer, tool calls, each way in which a stream can break, a retry
# after 429, and the API key, which must not be shown.
check_mode=1
command -v python3 >/dev/null || skips "python3 is not installed"
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"

# serve SCRIPT [IDLE_MS]: starts a model service. $port is its port. Only a stream that stops needs a short time limit.
serve() {
    rm -f requests
    echo "$1" >script.json
    server_start port provider_server.py script.json --log requests
    cat >tenon.yaml <<Y
model_calls: {retry: false}
models:
  claude:
    provider: anthropic
    model: claude-test
    base_url: http://127.0.0.1:$port/v1
    api_key: {secret: ANTHROPIC_API_KEY}
    timeout_ms: {idle: ${2:-60000}}
  once: {provider: anthropic, model: claude-test, base_url: "http://127.0.0.1:$port/v1", api_key: none, stream: false}
Y
}
export ANTHROPIC_API_KEY=sk-ant-0123456789

# ---- An answer ----
everything='{"reasoning": "Hm, ü", "text": "Grüß Gott", "calls": [{"name": "add", "arguments": {"a": 1}}], "usage": [12, 3]}'
serve "[$everything]"
for role in claude once; do
    run tenon model test $role --prompt Hi --json
    expect_code 0 && expect_in out '"text":"Grüß Gott"' && expect_in out '"text":"Hm, ü"'
    expect_in out '"tool_calls":[{"id":"toolu_0","name":"add","arguments":{"a":1}}]'
    expect_in out '"input_tokens":12,"output_tokens":3,"total_tokens":15' && expect_in out '"finish_reason":"tool_calls"'
    expect_not_in err "$ANTHROPIC_API_KEY"
done
grep -q '"x-api-key": "sk-ant-0123456789"' requests || fails "the key was not sent"
grep -q '"x-api-key": "none"' requests || fails "the key from the configuration was not sent"
grep -q '"anthropic-version": "2023-06-01"' requests || fails "the header anthropic-version was not sent"
servers_stop

# ---- Broken ----
# breaks FAULT CODE [IDLE_MS]: a stream with this fault fails with this error code
breaks() {
    serve "[{\"text\": \"Grüß Gott, wie geht es?\", \"fault\": \"$1\"}]" "${3:-}"
    run tenon model test claude --prompt Hi --json
    servers_stop
    expect_code 1 && expect_in err "[$2]"
    expect_not_in err "$ANTHROPIC_API_KEY"
}
for fault in cut cut_clean cut_utf8 cut_before_end wrong_order not_json html; do breaks $fault INVALID_RESPONSE; done
breaks error OVERLOADED
breaks hang TIMEOUT 1000
serve '[{"text": "Grüß Gott", "fault": "drip"}]'
run tenon model test claude --prompt Hi
expect_code 0 && expect_out "Grüß Gott"
servers_stop

# ---- Errors ----
refused='{"status": 401, "headers": {"request-id": "req_9"}, "json": {"type": "error", "error":
    {"type": "authentication_error", "message": "invalid x-api-key sk-ant-0123456789"}}}'
serve "[$refused]"
run tenon model test claude --prompt Hi --json
expect_code 1 && expect_in err "[AUTH]" && expect_in err "authentication_error" && expect_not_in err "$ANTHROPIC_API_KEY"
servers_stop

# ---- A retry after 429, and tool calls ----
cat >agent.yaml <<'Y'
version: "1.0"
agent: {name: agent}
channels:
  - {name: messages, type: append}
  - {name: answer, type: last_value}
nodes:
  - {id: ask, type: llm, config: {model: claude, messages_key: messages, output_key: answer}, retry: {max_attempts: 3, initial: 1ms}}
edges:
  - {from: START, to: ask}
  - {from: ask, to: END}
Y
late='{"status": 429, "headers": {"retry-after-ms": "1"}, "json": {"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}}}'
for isolate in "" "--isolate tenon.anthropic"; do
    serve "[$late, {\"text\": \"Here\", \"fault\": \"cut\"}, {\"text\": \"Here I am\"}]"
    # shellcheck disable=SC2086
    run tenon run agent.yaml --input '{"messages": [{"type": "user", "content": "Hi"}]}' $isolate
    expect_code 0 && expect_in out "Here I am" && expect_not_in err "$ANTHROPIC_API_KEY"
    [ "$(wc -l <requests)" = 3 ] || fails "expected three requests, found $(wc -l <requests)"
    servers_stop
done

