# Retries and fallbacks, against a service that fails with the true bodies of real ones.
command -v python3 >/dev/null || skips "python3 is not installed"
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"

serve() { # REPLIES: what the service answers from now on
    rm -f requests
    echo "[$1]" >script.new
    mv script.new script.json
}
serve ''
server_start port provider_server.py script.json --log requests
at=http://127.0.0.1:$port/v1
cat >tenon.yaml <<Y
models:
  one: {provider: openai, model: a, base_url: "$at", api_key: "k", retry: {initial: 1ms}}
  many:
    retry: {initial: 1ms}
    models:
      - {provider: openai, model: a, base_url: "$at", api_key: {secret: A_KEY}, context_tokens: 8000}
      - {provider: anthropic, model: b, base_url: "$at", api_key: {secret: B_KEY}, context_tokens: 8000}
      - {provider: openai, model: c, base_url: "$at", api_key: "k", context_tokens: 16000}
  google:
    - {provider: gemini, model: g, base_url: "http://127.0.0.1:$port/v1beta", api_key: k, retry: {initial: 1ms}}
    - {provider: openai, model: c, base_url: "$at", api_key: "k"}
secrets: {B_KEY: {file: b.key}}
Y
printf kkkkkkkk-bbbbbbbb >b.key
export A_KEY=kkkkkkkk-aaaaaaaa
requests_are() { [ "$(wc -l <requests)" = "$1" ] || fails "expected $1 requests, found $(wc -l <requests)"; }
asked() { grep -o '"model": "[a-z]"' requests | tr -dc 'abc\n' | tr -d '\n'; }
ask() { run tenon model test "$@" --prompt Hi; }

slow='{"status": 429, "headers": {"retry-after-ms": "1"}, "json": {"error": {"message": "Rate limit reached for a", "type": "requests", "param": null, "code": "rate_limit_exceeded"}}}'
busy='{"status": 503, "body": "upstream connect error or disconnect/reset before headers", "content_type": "text/plain"}'
later='{"status": 429, "headers": {"retry-after": "7200"}, "json": {"error": {"message": "Come back", "code": "rate_limit_exceeded"}}}'
quota='{"status": 429, "json": {"error": {"message": "You exceeded your current quota, please check your plan and billing details.", "type": "insufficient_quota", "param": null, "code": "insufficient_quota"}}}'
credit='{"status": 400, "json": {"type": "error", "error": {"type": "invalid_request_error", "message": "Your credit balance is too low to access the Anthropic API."}}}'
key='{"status": 401, "json": {"error": {"message": "Incorrect API key provided: kkkkkkkk-aaaaaaaa.", "type": "invalid_request_error", "param": null, "code": "invalid_api_key"}}}'
key_b='{"status": 401, "json": {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}}'
gone='{"status": 404, "json": {"object": "error", "message": "The model `a` does not exist.", "type": "NotFoundError", "param": null, "code": 404}}'
long='{"status": 400, "json": {"object": "error", "message": "This model'"'"'s maximum context length is 8000 tokens. However, you requested 9000 tokens", "type": "BadRequestError", "param": null, "code": 400}}'
mistral='{"status": 422, "json": {"object": "error", "message": {"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]}, "type": "invalid_request_error"}}'
fine='{"text": "Fine"}'

# ---- Transient failures ----
serve "$slow, $busy, $fine"
ask one
expect_code 0 && expect_out Fine && requests_are 3
serve "$slow, $busy, $busy, $fine"
ask one
expect_code 1 && requests_are 3 && expect_in err "upstream connect error" && expect_in err "(attempt 3)" && expect_in err "[OVERLOADED]"
serve "$busy, $fine"
run tenon model test --prompt Hi "{\"provider\": \"openai\", \"model\": \"a\", \"base_url\": \"$at\", \"retry\": false}"
expect_code 1 && requests_are 1 && expect_not_in err "(attempt"
echo 'model_calls: {retry: false}' >none.yaml
run tenon model test --prompt Hi --config none.yaml "{\"provider\": \"openai\", \"model\": \"a\", \"base_url\": \"$at\"}"
expect_code 0 && expect_out Fine && requests_are 2
# A part of the answer was streamed: another attempt could say something else.
serve '{"text": "Half of an answer", "fault": "cut"}, '"$fine"
ask one
expect_code 1 && requests_are 1 && expect_in err "[INVALID_RESPONSE]"
# The service asks for a longer pause than a call waits.
serve "$later, $fine"
ask one
expect_code 1 && requests_are 1 && expect_in err 'asks to wait 7200 s, which is longer than `retry.retry_after_max` (60 s)'
serve "$later, $fine"
ask many
expect_code 0 && expect_out Fine && [ "$(asked)" = ab ] || fails "expected a fallback without a pause"
# Ctrl-C ends a pause.
serve '{"status": 429, "headers": {"retry-after": "50"}, "json": {}}, '"$fine"
"$TENON" model test one --prompt Hi 2>said &
pid=$!
pausing() { grep -q 'retry 1 of 2 in' said; }
wait_until pausing
kill -INT $pid
ended=0
wait $pid || ended=$?
[ $ended = 130 ] && requests_are 1 || fails "expected 130 after Ctrl-C, found $ended"

# ---- Fallbacks ----
for failure in "$quota" "$key" "$gone"; do
    serve "$failure, $fine"
    ask many
    expect_code 0 && expect_out Fine && [ "$(asked)" = ab ] || fails "expected a fallback: $(asked)"
    done
if [ -e "$BINARY/lib/tenon/plugins/gemini.so" ]; then # of a minute: it is retried; of a day: the next model is called
    exhausted() { echo "{\"status\": 429, \"json\": {\"error\": {\"code\": 429, \"message\": \"You exceeded your current quota, please check your plan and billing details.\", \"status\": \"RESOURCE_EXHAUSTED\", \"details\": [{\"@type\": \"type.googleapis.com/google.rpc.QuotaFailure\", \"violations\": [{\"quotaId\": \"GenerateRequests$1PerProjectPerModel-FreeTier\"}]}, {\"@type\": \"type.googleapis.com/google.rpc.RetryInfo\", \"retryDelay\": \"0.001s\"}]}}}"; }
    serve "$(exhausted PerMinute), $fine"
    ask google
    expect_code 0 && requests_are 2 && [ "$(asked)" = "" ] || fails "expected a second request to Gemini"
    serve "$(exhausted PerDay), $fine"
    ask google
    expect_code 0 && requests_are 2 && [ "$(asked)" = c ] || fails "expected a fallback"
fi
serve "$quota, $credit, $gone"
ask many
expect_code 1 && [ "$(asked)" = abc ] && expect_in err '`openai:c`, the last fallback:' && expect_in err "[NOT_FOUND]"
serve "$long, $fine" # b is not larger
ask many
expect_code 0 && [ "$(asked)" = ac ] || fails "expected the larger model: $(asked)"
serve "$mistral, $fine" # a mistake in the request
ask many
expect_code 1 && requests_are 1 && expect_in err 'Extra inputs are not permitted' && expect_in err 'about the field `stream_options`' && expect_in err "[INVALID_REQUEST]"
expect_in err '`--record DIR`'
# What was refused: the role, the model, and where the key comes from, never the key.
serve "$key, $key_b, $key"
run tenon model test --prompt Hi --model "x={\"models\": [{\"provider\": \"openai\", \"model\": \"a\", \"base_url\": \"$at\", \"api_key\": {\"secret\": \"A_KEY\"}}]}" x
expect_code 1 && expect_in err 'the role `x` is the model `openai:a`; the secret A_KEY comes from the environment variable A_KEY'
expect_not_in err kkkkkkkk && expect_in err "Incorrect API key"
run tenon model test --prompt Hi --model "x={\"provider\": \"anthropic\", \"model\": \"b\", \"base_url\": \"$at\", \"api_key\": {\"secret\": \"B_KEY\"}}" x
expect_code 1 && expect_in err 'the role `x` is the model `anthropic:b`; the secret B_KEY comes from the file ' && expect_in err 'b.key [AUTH]' && expect_not_in err kkkkkkkk
