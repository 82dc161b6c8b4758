# Deployments that share the load, and answers from the cache.
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
rm tenon.yaml
requests_are() { [ "$(wc -l <requests)" = "$1" ] || fails "expected $1 requests, found $(wc -l <requests)"; }
asked() { grep -o '"model": "[a-z]"' requests | tr -dc 'abc\n' | tr -d '\n'; }
busy='{"status": 503, "body": "upstream connect error or disconnect/reset before headers", "content_type": "text/plain"}'
fine='{"text": "Fine"}'

# ---- Deployments ----
cat >three.yaml <<'Y'
version: "1.0"
channels: [{name: messages, type: reduce, reducer: messages}, {name: n, type: last_value, default: 0}]
models: {m: "openai:none"}
nodes:
  - {id: ask, type: llm, config: {model: m, messages_key: messages}}
  - {id: count, type: set, config: {values: {n: "state.n + 1"}}}
edges: [{from: START, to: ask}, {from: ask, to: count}, {from: count, type: conditional, conditions: [{expression: "state.n < 4", to: ask}, {expression: default, to: END}]}]
Y
three() { run tenon run three.yaml --model "m=$1" --input '{"messages": "Hi"}'; }
models="[{\"provider\": \"openai\", \"model\": \"a\", \"base_url\": \"AT\"}, {\"provider\": \"openai\", \"model\": \"b\", \"base_url\": \"AT\"}]"
serve "$fine"
three "{\"balance\": \"round_robin\", \"models\": ${models//AT/$at}}"
expect_code 0 && [ "$(asked)" = abab ] || fails "expected both in turn: $(asked)"
serve "$busy, $fine" # a cools down
three "{\"balance\": \"round_robin\", \"models\": ${models//AT/$at}}"
expect_code 0 && [ "$(asked)" = abbbb ] || fails "expected that a is avoided: $(asked)"
serve "$busy, $busy, $fine" # a group of deployments, then another model
three "{\"models\": [${models//AT/$at}, {\"provider\": \"openai\", \"model\": \"c\", \"base_url\": \"$at\"}], \"retry\": false}"
expect_code 0 && [ "$(asked)" = abcccc ] || fails "expected the other model: $(asked)"

# ---- The cache ----
serve "$fine"
for said in 1 2 3; do echo '{"messages": "Hi"}'; done >lines.jsonl
cat >once.yaml <<'Y'
version: "1.0"
channels: [{name: messages, type: reduce, reducer: messages}, {name: usage, type: last_value}]
models: {m: "openai:none"}
nodes: [{id: ask, type: llm, config: {model: m, messages_key: messages, usage_key: usage}}]
edges: [{from: START, to: ask}, {from: ask, to: END}]
Y
run tenon run once.yaml --model "m={\"provider\": \"openai\", \"model\": \"a\", \"base_url\": \"$at\", \"cache\": true}" --batch lines.jsonl --concurrency 1
expect_code 0 && requests_are 1 && [ "$(grep -c '"Fine"' "$work/out")" = 3 ] || fails "expected one request and three answers"
[ "$(grep -c '"total_tokens":15' "$work/out")" = 1 ] || fails "expected that answers of the cache cost nothing"
