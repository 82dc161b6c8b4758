# The provider `gemini` over a connection: a complete answer, tool calls, each way in which a stream can break, quotas,
# keys, and Vertex with every kind of credentials, also in a separate process.
check_mode=1
command -v python3 >/dev/null || skips "python3 is not installed"
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
[ -e "$BINARY/lib/tenon/plugins/gemini.so" ] || skips "built without the Gemini provider"

unset VERTEX_PROJECT_ID VERTEX_LOCATION GOOGLE_APPLICATION_CREDENTIALS GOOGLE_API_KEY GCE_METADATA_HOST CLOUDSDK_CONFIG
export GEMINI_API_KEY=AIzaSyA-0123456789

# serve SCRIPT [IDLE_MS]: starts a model service and writes a configuration for it. Only a stream that stops needs a short
# time limit.
serve() {
    rm -f requests
    echo "$1" >script.json
    server_start port provider_server.py script.json --log requests
    cat >tenon.yaml <<Y
model_calls: {retry: false}
models:
  gemini:
    provider: gemini
    model: gemini-test
    base_url: http://127.0.0.1:$port/v1beta
    api_key: {secret: GEMINI_API_KEY}
    timeout_ms: {idle: ${2:-60000}}
  once: {provider: gemini, model: gemini-test, base_url: "http://127.0.0.1:$port/v1beta", api_key: none, stream: false}
Y
}

# ---- An answer ----
everything='{"reasoning": "Hm, ü", "text": "Grüß Gott", "calls": [{"name": "add", "arguments": {"a": 1}}],
    "image": "iVBORw0KGgo=", "usage": [12, 3]}'
serve "[$everything]"
for role in gemini once; do
    run tenon model test $role --prompt Hi --json
    expect_code 0 && expect_in out '"text":"Grüß Gott"' && expect_in out '"text":"Hm, ü"'
    expect_in out '"tool_calls":[{"id":"g0","name":"add","arguments":{"a":1},"extra":{"gemini":{"id":"g0","thoughtSignature":"c2lnbmVk"}}}]'
    expect_in out '{"type":"image","media_type":"image/png","data":"iVBORw0KGgo="}'
    expect_in out '"input_tokens":12,"output_tokens":3,"total_tokens":15' && expect_in out '"finish_reason":"tool_calls"'
    expect_not_in err "$GEMINI_API_KEY"
done
grep -q '"x-goog-api-key": "AIzaSyA-0123456789"' requests || fails "the key was not sent"
grep -q '"x-goog-api-key": "none"' requests || fails "the key from the configuration was not sent"
grep -q '"path": "/v1beta/models/gemini-test:streamGenerateContent?alt=sse"' requests || fails "wrong path of a streaming request"
grep -q '"path": "/v1beta/models/gemini-test:generateContent"' requests || fails "wrong path of a request without streaming"
! grep '"path"' requests | grep -q '"path": "[^"]*AIza' || fails "a URL contains the key"
servers_stop

# An isolated provider never sees the key.
serve '[{"text": "From a child"}]'
echo 'plugins: {isolation: {tenon.gemini: process}}' >>tenon.yaml
run tenon model test gemini --prompt Hi
servers_stop
expect_code 0 && expect_out "From a child" && expect_not_in err warning
grep -q '"x-goog-api-key": "AIzaSyA-0123456789"' requests || fails "the key was not sent"

# ---- Broken ----
# breaks FAULT CODE [IDLE_MS]: a stream with this fault fails with this error code
breaks() {
    serve "[{\"text\": \"Grüß Gott, wie geht es?\", \"fault\": \"$1\"}]" "${3:-}"
    run tenon model test gemini --prompt Hi --json
    servers_stop
    expect_code 1 && expect_in err "[$2]"
    expect_not_in err "$GEMINI_API_KEY"
}
for fault in cut cut_clean cut_utf8 cut_before_end wrong_order not_json html; do breaks $fault INVALID_RESPONSE; done
breaks error OVERLOADED
breaks hang TIMEOUT 1000
serve '[{"text": "Grüß Gott", "fault": "drip"}]'
run tenon model test gemini --prompt Hi
expect_code 0 && expect_out "Grüß Gott"
servers_stop

# ---- Errors ----
# answers STATUS BODY CODE WORDS
answers() {
    serve "[{\"status\": $1, \"json\": $2}]"
    run tenon model test gemini --prompt Hi --json
    servers_stop
    expect_code 1 && expect_in err "[$3]" && expect_in err "$4" && expect_not_in err "$GEMINI_API_KEY"
}
info='"details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]'
answers 400 "{\"error\": {\"code\": 400, \"message\": \"AIzaSyA-0123456789 is not valid\", \"status\": \"INVALID_ARGUMENT\", $info}}" AUTH '(status 400), INVALID_ARGUMENT: "{secret:GEMINI_API_KEY} is not valid"'
answers 404 '{"error": {"code": 404, "message": "models/gemini-test is not found", "status": "NOT_FOUND"}}' NOT_FOUND "is not found"
answers 503 '[{"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}]' OVERLOADED '(status 503), UNAVAILABLE: "The model is overloaded."'
answers 200 '{"error": {"code": 500, "message": "inside", "status": "INTERNAL"}}' OVERLOADED '(status 500), INTERNAL: "inside"'

# ---- No key ----
run env -u GEMINI_API_KEY "$TENON" model test gemini:gemini-test --prompt Hi --no-config
expect_code 1 && expect_in err "neither the secret GEMINI_API_KEY nor GOOGLE_API_KEY is available"

# ---- A retry after 429, and tool calls ----
cat >agent.yaml <<'Y'
version: "1.0"
agent: {name: agent}
channels:
  - {name: messages, type: append}
  - {name: answer, type: last_value}
nodes:
  - {id: ask, type: llm, config: {model: gemini, messages_key: messages, output_key: answer}, retry: {max_attempts: 3, initial: 1ms}}
edges:
  - {from: START, to: ask}
  - {from: ask, to: END}
Y
wait='{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.001s"}'
late="{\"status\": 429, \"json\": {\"error\": {\"code\": 429, \"status\": \"RESOURCE_EXHAUSTED\", \"message\": \"slow\", \"details\": [$wait]}}}"
serve "[$late, {\"text\": \"Here\", \"fault\": \"cut\"}, {\"text\": \"Here I am\"}]"
run tenon run agent.yaml --input '{"messages": [{"type": "user", "content": "Hi"}]}'
expect_code 0 && expect_in out "Here I am"
[ "$(wc -l <requests)" = 3 ] || fails "expected three requests, found $(wc -l <requests)"
servers_stop

# An agent: signatures that the service sent with its call are sent back, and the tool's result is sent as data.
cat >agent_tools.yaml <<'Y'
version: "1.0"
agent: {name: agent_tools}
channels: [{name: answer, type: last_value}]
nodes: [{id: a, type: agent, config: {model: gemini, prompt: "What is in it?", tools: [extract], output_key: answer}}]
edges: [{from: START, to: a}, {from: a, to: END}]
Y
serve '[{"calls": [{"name": "extract", "arguments": {"from": "a 12 b", "what": "numbers"}}]}, {"text": "Twelve"}]'
run tenon run agent_tools.yaml
expect_code 0 && expect_out '{"answer":"Twelve"}'
python3 - <<'Y' || fails "unexpected second request: $(tail -n 1 requests)"
import json
first, second = [json.loads(line)["json"] for line in open("requests", encoding="utf-8")]
assert first["tools"][0]["functionDeclarations"][0]["name"] == "extract", first
user, model, answer = second["contents"]
call = {"id": "g0", "name": "extract", "args": {"from": "a 12 b", "what": "numbers"}}
assert model == {"role": "model", "parts": [{"functionCall": call, "thoughtSignature": "c2lnbmVk"}]}, model
response = {"id": "g0", "name": "extract", "response": {"output": [12]}}
assert answer == {"role": "user", "parts": [{"functionResponse": response}]}, answer
Y
servers_stop

# ---- Vertex ----
command -v openssl >/dev/null || skips "Vertex: openssl is not installed"
openssl genrsa -out private.pem 2048 2>/dev/null
openssl rsa -in private.pem -pubout -out public.pem 2>/dev/null

# vertex ISOLATION REPLIES [OPTION…]: starts the model service, and the token endpoint with these options
vertex() {
    rm -f requests tokens
    echo "$2" >script.json
    server_start port provider_server.py script.json --log requests
    models=$port
    server_start token_port google_tokens.py --log tokens --key public.pem "${@:3}"
    cat >tenon.yaml <<Y
model_calls: {retry: false}
models:
  gemini: {provider: gemini, model: gemini-test, location: global}
plugins:
  config:
    tenon.gemini:
      project: project-1
      vertex_url: http://127.0.0.1:$models/v1beta1
      $credentials
  isolation: {tenon.gemini: $1}
Y
}
tokens() { [ "$(wc -l <tokens)" = "$1" ] || fails "expected $1 token requests, found: $(cat tokens)"; }
asks() {
    run tenon model test gemini --prompt Hi --json
    servers_stop
}

cat >user.json <<'Y'
{"type": "authorized_user", "client_id": "me", "client_secret": "s&cret/", "refresh_token": "1//refresh", "quota_project_id": "payer"}
Y
for isolation in none process; do
    credentials="credentials: user.json"
    vertex $isolation '[{"text": "From Vertex"}]'
    sed -i "s|credentials: user.json|{credentials: user.json}|; s|{credentials: user.json}|credentials: user.json\n      token_url: http://127.0.0.1:$port/token|" tenon.yaml
    asks
    expect_code 0 && expect_in out '"content":"From Vertex"' && expect_not_in err warning
    grep -q '"path": "/v1beta1/projects/project-1/locations/global/publishers/google/models/gemini-test:streamGenerateContent?alt=sse"' requests ||
        fails "wrong path on Vertex: $(cat requests)"
    grep -q '"authorization": "Bearer token-1"' requests || fails "the token was not sent"
    grep -q '"x-goog-user-project": "payer"' requests || fails "x-goog-user-project was not sent"
    ! grep -q x-goog-api-key requests || fails "an API key was sent in addition to the token"
    tokens 1
done

# A service account names its token endpoint, and signs its assertions.
service() {
    python3 - "$port" <<'Y' >service.json
import json, sys
key = open("private.pem").read()
print(json.dumps({"type": "service_account", "client_email": "robot@project.example", "private_key_id": "key-1",
                  "private_key": key, "token_uri": f"http://127.0.0.1:{sys.argv[1]}/token"}))
Y
}
credentials="credentials: service.json"
echo '{}' >service.json
for isolation in none process; do
    vertex $isolation '[{"text": "Signed"}]'
    service
    asks
    expect_code 0 && expect_in out '"content":"Signed"'
    tokens 1
done

# A rejected token is replaced once.
unauthenticated='{"status": 401, "json": {"error": {"code": 401, "status": "UNAUTHENTICATED", "message": "token-2 is old"}}}'
vertex none "[$unauthenticated, {\"text\": \"Now\"}]"
service
asks
expect_code 0 && expect_in out '"content":"Now"'
tokens 2
grep -q '"authorization": "Bearer token-2"' requests || fails "the new token was not sent"
vertex none "[$unauthenticated]"
service
asks
expect_code 1 && expect_in err "[AUTH]" && expect_in err "their roles in" && expect_in err "is old" && expect_not_in err "token-2"
tokens 2

# A token endpoint that is unavailable is retryable; wrong credentials are not.
vertex none '[{"text": "never"}]' --fail 1
service
asks
expect_code 1 && expect_in err "[OVERLOADED]" && expect_not_in err PRIVATE
sed -i 's/1\/\/refresh/1\/\/another/' user.json
credentials="credentials: user.json"
vertex none '[{"text": "never"}]'
sed -i "s|credentials: user.json|credentials: user.json\n      token_url: http://127.0.0.1:$port/token|" tenon.yaml
asks
expect_code 1 && expect_in err "[AUTH]" && expect_in err invalid_grant && expect_not_in err "1//another"
[ ! -e requests ] || fails "a request without a token was sent to the model"

# Without a credentials file, the metadata server of the machine is used.
credentials="location: global"
vertex none '[{"text": "By the machine"}]'
GCE_METADATA_HOST=127.0.0.1:$port run tenon model test gemini --prompt Hi --json
servers_stop
expect_code 0 && expect_in out '"content":"By the machine"'
tokens 1

# A recording contains no credentials, and is replayed without them.
credentials="credentials: service.json"
vertex none '[{"text": "Kept"}]'
service
run tenon run agent.yaml --record kept --input '{"messages": [{"type": "user", "content": "Hi"}]}'
servers_stop
expect_code 0 && expect_in out '"answer":"Kept"}'
[ "$(ls kept | wc -l)" = 2 ] || fails "expected two recordings: $(ls kept)"
! grep -rE "token-1|PRIVATE KEY|assertion|robot@" kept || fails "a recording contains credentials"
rm service.json
run tenon run agent.yaml --replay kept --input '{"messages": [{"type": "user", "content": "Hi"}]}'
expect_code 1 && expect_in err "service.json"
sed -i '/credentials:/d' tenon.yaml
run tenon run agent.yaml --replay kept --input '{"messages": [{"type": "user", "content": "Hi"}]}'
expect_code 0 && expect_in out '"answer":"Kept"}'

# A document cannot redirect tokens.
run tenon model test --no-config -M '{"provider": "gemini", "model": "m", "project": "p", "base_url": "https://evil.example/v1"}'
expect_code 4 && expect_in err "credentials of Vertex are sent only to"
