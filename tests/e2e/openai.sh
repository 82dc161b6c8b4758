# The provider `openai` over a connection: the API key, which must not be shown; retries; structured answers.
check_mode=1
command -v python3 >/dev/null || skips "python3 is not installed"
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"

serve() { # SCRIPT: starts a model service in the background
    rm -f requests
    echo "$1" >script.json
    server_start port provider_server.py script.json --log requests
    at=http://127.0.0.1:$port/v1
    cat >tenon.yaml <<Y
models:
  keyed: {provider: openai, model: gpt-test, base_url: "$at", api_key: {secret: OPENAI_API_KEY}}
  open: {provider: openai, model: gpt-test, base_url: "$at"}
  missing: {provider: openai, model: gpt-test, base_url: "$at", api_key: {secret: NO_SUCH_KEY}}
  nowhere: {provider: openai, model: gpt-test, base_url: "http://127.0.0.1:1/v1", retry: false}
Y
}
export OPENAI_API_KEY=sk-proj-0123456789abcdef

# ---- The key is sent only to its own host ----
refused='{"status": 401, "json": {"error": {"message": "Incorrect API key provided: sk-proj-0123456789abcdef",
    "type": "invalid_request_error", "code": "invalid_api_key"}}}'
serve "[{\"text\": \"Hi\"}, {\"text\": \"Ho\"}, $refused]"
run tenon model test keyed --prompt Hello
expect_code 0 && expect_out Hi && expect_not_in err "$OPENAI_API_KEY"
grep -q '"authorization": "Bearer sk-proj-0123456789abcdef"' requests || fails "the key was not sent"
run tenon model test open --prompt Hello
expect_code 0 && expect_out Ho
tail -1 requests >last
! grep -q authorization last || fails "the key of OpenAI was sent to another server"
run tenon model test keyed --prompt Hello
expect_code 1 && expect_in err '[AUTH]' && expect_in err invalid_api_key && expect_not_in err "$OPENAI_API_KEY"
run tenon model test missing --prompt Hello
expect_code 1 && expect_in err '[AUTH]' && expect_in err 'the secret `NO_SUCH_KEY` is not available'
run tenon model test nowhere --prompt Hello
expect_code 1 && expect_in err '[CONNECT]'
servers_stop

# ---- Each source of a key ----
serve '[{"text": "1"}, {"text": "2"}, {"text": "3"}]'
cat >>tenon.yaml <<'Y'
secrets:
  OPENAI_API_KEY: {file: kept/key}
  NO_SUCH_KEY: {file: kept/none}
  FOLDER: {file: kept}
  LARGE: {file: kept/large}
  CLOSED: {file: kept/closed}
  PRINTED: {command: [printf, 'sk-printed\n']}
  NAMED: {env: ANOTHER_KEY}
Y
mkdir kept
printf 'sk-from-a-file\n' >kept/key
head -c 70000 /dev/zero | tr '\0' x >kept/large
echo x >kept/closed
chmod 0 kept/closed
with() { run tenon model test --model "{\"provider\": \"openai\", \"model\": \"m\", \"base_url\": \"$at\", \"api_key\": $1}" --prompt Hello; }
run tenon model test keyed --prompt Hello
expect_code 0 && expect_out 1 && grep -q '"authorization": "Bearer sk-from-a-file"' requests || fails "the key from the file was not sent"
with '{"secret": "PRINTED"}'
expect_code 0 && expect_out 2 && grep -q '"authorization": "Bearer sk-printed"' requests || fails "the key from the command was not sent"
ANOTHER_KEY=sk-variable with '{"secret": "NAMED"}'
expect_code 0 && expect_out 3 && grep -q '"authorization": "Bearer sk-variable"' requests || fails "the key from the variable was not sent"
run tenon model test missing --prompt Hello
expect_code 1 && expect_in err 'the secret `NO_SUCH_KEY` is not available' && expect_in err 'kept/none: No such file or directory; the role `missing` is the model `openai:gpt-test` [AUTH]'
with '{"secret": "FOLDER"}'
expect_code 1 && expect_in err "kept: it cannot be read"
with '{"secret": "LARGE"}'
expect_code 1 && expect_in err "kept/large: it is longer than 64 KiB"
if [ "$(id -u)" != 0 ]; then
    with '{"secret": "CLOSED"}'
    expect_code 1 && expect_in err "kept/closed: Permission denied"
fi
for form in env file command; do # the source of a secret, in a wrong place of tenon.yaml
    with "{\"$form\": \"x\"}"
    expect_code 4 && expect_in err "secrets: {MY_KEY: {$form: …}}" && expect_in err "write {secret: MY_KEY} here [INVALID_CONFIG]"
done
rm -r kept
servers_stop

# ---- Isolated ----
serve '[{"reasoning": "hm", "text": "Grüße", "usage": [7, 3]}]'
printf 'plugins: {isolation: {tenon.openai: process}}\n' >>tenon.yaml
run tenon model test keyed --prompt Hello
servers_stop
expect_code 0 && expect_out "Grüße" && expect_in err "7 tokens in, 3 out" && expect_not_in err "$OPENAI_API_KEY"

# ---- Retries after 429 and after a cut stream; an answer that does not match the schema is corrected ----
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
grep -q '"strict": true' requests || fails 'the request lacks "strict": true'
