# The provider `gemini` over a real connection: an answer with everything, tools and back, each way that a stream can
# break, quotas, keys that nobody sees; and Vertex, with every kind of credentials, in a process of its own too.
command -v python3 >/dev/null || skips "there is no python3"
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
[ -e "$BINARY/lib/tenon/plugins/gemini.so" ] || skips "built without the Gemini provider"

unset VERTEX_PROJECT_ID VERTEX_LOCATION GOOGLE_APPLICATION_CREDENTIALS GOOGLE_API_KEY GCE_METADATA_HOST CLOUDSDK_CONFIG
export GEMINI_API_KEY=AIzaSyA-0123456789

# serve SCRIPT: a model service, and a configuration that leads to it.
serve() {
    rm -f requests
    echo "$1" >script.json
    server_start port provider_server.py script.json --log requests
    cat >tenon.yaml <<Y
models:
  gemini:
    provider: gemini
    model: gemini-test
    base_url: http://127.0.0.1:$port/v1beta
    api_key: {secret: GEMINI_API_KEY}
    timeout_ms: {idle: 400}
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
grep -q '"x-goog-api-key": "none"' requests || fails "the key of the configuration was not sent"
grep -q '"path": "/v1beta/models/gemini-test:streamGenerateContent?alt=sse"' requests || fails "the path of a stream"
grep -q '"path": "/v1beta/models/gemini-test:generateContent"' requests || fails "the path of an answer in one piece"
! grep '"path"' requests | grep -q '"path": "[^"]*AIza' || fails "the key is in an address"
servers_stop

# A key in a process of its own, which never sees it.
serve '[{"text": "From a child"}]'
echo 'plugins: {isolation: {tenon.gemini: process}}' >>tenon.yaml
run tenon model test gemini --prompt Hi
servers_stop
expect_code 0 && expect_out "From a child" && expect_not_in err warning
grep -q '"x-goog-api-key": "AIzaSyA-0123456789"' requests || fails "the key was not sent"

# ---- Broken ----
# breaks FAULT CODE: of a stream, and what comes of it
breaks() {
    serve "[{\"text\": \"Grüß Gott, wie geht es?\", \"fault\": \"$1\"}]"
    run tenon model test gemini --prompt Hi --json
    servers_stop
    expect_code 1 && expect_in err "$2"
    expect_not_in err "$GEMINI_API_KEY"
}
for fault in cut cut_clean cut_utf8 cut_before_end wrong_order not_json html; do breaks $fault INVALID_RESPONSE; done
breaks error OVERLOADED
breaks hang TIMEOUT
serve '[{"text": "Grüß Gott", "fault": "drip"}]'
run tenon model test gemini --prompt Hi
expect_code 0 && expect_out "Grüß Gott"
servers_stop

# ---- Errors, and what they say ----
# answers STATUS BODY CODE WORDS
answers() {
    serve "[{\"status\": $1, \"json\": $2}]"
    run tenon model test gemini --prompt Hi --json
    servers_stop
    expect_code 1 && expect_in err "$3" && expect_in err "$4" && expect_not_in err "$GEMINI_API_KEY"
}
info='"details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]'
answers 400 "{\"error\": {\"code\": 400, \"message\": \"AIzaSyA-0123456789 is not valid\", \"status\": \"INVALID_ARGUMENT\", $info}}" AUTH INVALID_ARGUMENT
answers 404 '{"error": {"code": 404, "message": "models/gemini-test is not found", "status": "NOT_FOUND"}}' INVALID_REQUEST "is not found"
answers 503 '[{"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}]' OVERLOADED "overloaded"
answers 200 '{"error": {"code": 500, "message": "inside", "status": "INTERNAL"}}' OVERLOADED inside

# ---- No key ----
run env -u GEMINI_API_KEY "$TENON" model test gemini:gemini-test --prompt Hi --no-config
expect_code 1 && expect_in err "neither the secret GEMINI_API_KEY nor GOOGLE_API_KEY can be had"

# ---- 429, then an answer; tools and back ----
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

# An agent: what the service gave with its call goes back with it, and the tool's data as data.
cat >agent_tools.yaml <<'Y'
version: "1.0"
agent: {name: agent_tools}
channels: [{name: answer, type: last_value}]
nodes: [{id: a, type: agent, config: {model: gemini, prompt: "What is in it?", tools: [extract], output_key: answer}}]
edges: [{from: START, to: a}, {from: a, to: END}]
Y
serve '[{"calls": [{"name": "extract", "arguments": {"from": "a 12 b", "what": "numbers"}}]}, {"text": "Twelve"}]'
run tenon run agent_tools.yaml
expect_code 0 && expect_in out "Twelve"
python3 - <<'Y' || fails "the second request is not right: $(tail -n 1 requests)"
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
command -v openssl >/dev/null || skips "there is no openssl; all before was made"
openssl genrsa -out private.pem 2048 2>/dev/null
openssl rsa -in private.pem -pubout -out public.pem 2>/dev/null

# vertex ISOLATION REPLIES [OPTION…]: the model service and the token endpoint, with these options of its
vertex() {
    rm -f requests tokens
    echo "$2" >script.json
    server_start port provider_server.py script.json --log requests
    models=$port
    server_start token_port google_tokens.py --log tokens --key public.pem "${@:3}"
    cat >tenon.yaml <<Y
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
tokens() { [ "$(wc -l <tokens)" = "$1" ] || fails "expected $1 requests of a token, found: $(cat tokens)"; }
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
        fails "the path on Vertex: $(cat requests)"
    grep -q '"authorization": "Bearer token-1"' requests || fails "the token was not sent"
    grep -q '"x-goog-user-project": "payer"' requests || fails "who pays was not sent"
    ! grep -q x-goog-api-key requests || fails "a key was sent as well"
    tokens 1
done

# A service account says where its tokens are got, and what it says is signed.
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

# A token that is not taken is got anew, once.
unauthenticated='{"status": 401, "json": {"error": {"code": 401, "status": "UNAUTHENTICATED", "message": "token-1 is old"}}}'
vertex none "[$unauthenticated, {\"text\": \"Now\"}]"
service
asks
expect_code 0 && expect_in out '"content":"Now"'
tokens 2
grep -q '"authorization": "Bearer token-2"' requests || fails "the new token was not sent"
vertex none "[$unauthenticated]"
service
asks
expect_code 1 && expect_in err AUTH && expect_in err "the roles they have in the project" && expect_not_in err "token-1"
tokens 2

# Where no token can be had for now, it may be tried again; where the credentials are wrong, not.
vertex none '[{"text": "never"}]' --fail 1
service
asks
expect_code 1 && expect_in err OVERLOADED && expect_not_in err PRIVATE
sed -i 's/1\/\/refresh/1\/\/another/' user.json
credentials="credentials: user.json"
vertex none '[{"text": "never"}]'
sed -i "s|credentials: user.json|credentials: user.json\n      token_url: http://127.0.0.1:$port/token|" tenon.yaml
asks
expect_code 1 && expect_in err AUTH && expect_in err invalid_grant && expect_not_in err "1//another"
[ ! -e requests ] || fails "the model was asked without a token"

# The machine's own, where there is no file.
credentials="location: global"
vertex none '[{"text": "By the machine"}]'
GCE_METADATA_HOST=127.0.0.1:$port run tenon model test gemini --prompt Hi --json
servers_stop
expect_code 0 && expect_in out '"content":"By the machine"'
tokens 1

# A recording has nothing of the credentials, and is replayed without them.
credentials="credentials: service.json"
vertex none '[{"text": "Kept"}]'
service
run tenon run agent.yaml --record kept --input '{"messages": [{"type": "user", "content": "Hi"}]}'
servers_stop
expect_code 0 && expect_in out "Kept"
[ "$(ls kept | wc -l)" = 2 ] || fails "expected two recordings: $(ls kept)"
! grep -rE "token-1|PRIVATE KEY|assertion|robot@" kept || fails "a recording has what it must not have"
rm service.json
run tenon run agent.yaml --replay kept --input '{"messages": [{"type": "user", "content": "Hi"}]}'
expect_code 1 && expect_in err "service.json"
sed -i '/credentials:/d' tenon.yaml
run tenon run agent.yaml --replay kept --input '{"messages": [{"type": "user", "content": "Hi"}]}'
expect_code 0 && expect_in out "Kept"

# A document cannot have tokens sent elsewhere.
run tenon model test --no-config -M '{"provider": "gemini", "model": "m", "project": "p", "base_url": "https://evil.example/v1"}'
expect_code 4 && expect_in err "credentials of Vertex are sent to"
