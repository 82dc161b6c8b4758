# The provider `openai` over a real connection: the key, which nobody sees; retries; an answer to a
# schema.
command -v python3 >/dev/null || skips "there is no python3"
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"

serve() { # SCRIPT: a model service in the background
    rm -f requests
    echo "$1" >script.json
    server_start port provider_server.py script.json --log requests
    at=http://127.0.0.1:$port/v1
    cat >tenon.yaml <<Y
models:
  keyed: {provider: openai, model: gpt-test, base_url: "$at", api_key: {secret: OPENAI_API_KEY}}
  open: {provider: openai, model: gpt-test, base_url: "$at"}
  missing: {provider: openai, model: gpt-test, base_url: "$at", api_key: {secret: NO_SUCH_KEY}}
  nowhere: {provider: openai, model: gpt-test, base_url: "http://127.0.0.1:1/v1"}
Y
}
export OPENAI_API_KEY=sk-proj-0123456789abcdef

# ---- The key: where it is asked for, and nowhere else ----
refused='{"status": 401, "json": {"error": {"message": "Incorrect API key provided: sk-proj-0123456789abcdef",
    "type": "invalid_request_error", "code": "invalid_api_key"}}}'
serve "[{\"text\": \"Hi\"}, {\"text\": \"Ho\"}, $refused]"
run tenon model test keyed --prompt Hello
expect_code 0 && expect_out Hi && expect_not_in err "$OPENAI_API_KEY"
grep -q '"authorization": "Bearer sk-proj-0123456789abcdef"' requests || fails "the key was not sent"
run tenon model test open --prompt Hello
expect_code 0 && expect_out Ho
tail -1 requests >last
! grep -q authorization last || fails "OpenAI's key went to another server"
run tenon model test keyed --prompt Hello
expect_code 1 && expect_in err '[AUTH]' && expect_in err invalid_api_key && expect_not_in err "$OPENAI_API_KEY"
run tenon model test missing --prompt Hello
expect_code 1 && expect_in err '[AUTH]' && expect_in err NO_SUCH_KEY
run tenon model test nowhere --prompt Hello
expect_code 1 && expect_in err '[CONNECT]'
servers_stop

# ---- In a process of its own ----
serve '[{"reasoning": "hm", "text": "Grüße", "usage": [7, 3]}]'
printf 'plugins: {isolation: {tenon.openai: process}}\n' >>tenon.yaml
run tenon model test keyed --prompt Hello
servers_stop
expect_code 0 && expect_out "Grüße" && expect_in err "7 tokens in, 3 out" && expect_not_in err "$OPENAI_API_KEY"

# ---- 429, a cut, and then an answer; to a schema, and told wrong at first ----
cat >ask.yaml <<'Y'
version: "1.0"
agent: {name: ask}
channels:
  - {name: question, type: last_value}
  - {name: answer, type: last_value}
nodes:
  - id: ask
    type: llm
    config:
      model: keyed
      input_key: question
      output_key: answer
      output_schema: {type: object, properties: {n: {type: integer}}, required: [n], additionalProperties: false}
    retry: {max_attempts: 4, initial: 1ms}
edges:
  - {from: START, to: ask}
  - {from: ask, to: END}
Y
slow='{"error": {"message": "slow", "code": "rate_limit_exceeded"}}'
serve '[{"status": 429, "headers": {"retry-after-ms": "1"}, "json": '"$slow"'}, {"text": "{}", "fault": "cut"},
    {"text": "{\"n\": \"x\"}"}, {"text": "{\"n\": 7}"}]'
run tenon run ask.yaml --input '{"question": "How many?"}'
servers_stop
expect_code 0 && expect_in out '"n":7'
[ "$(wc -l <requests)" = 4 ] || fails "expected four requests, found $(wc -l <requests)"
grep -q '"strict": true' requests || fails "the answer was not held to the schema"
