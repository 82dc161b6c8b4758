# Shared by the tests of idempotency keys. Each command is its own process and uses SQLite.
nodes="--plugins $TEST_NODES --allow-drafts"
printf 'store: {use: sqlite, path: ./kept.db}\n' >tenon.yaml

# The state has the key of each task of the node.
cat >key.yaml <<'YAML'
version: "1.0"
agent: {name: key}
channels: [{name: keys, type: append}]
nodes: [{id: pay, type: test.key, config: {out: keys}}]
edges: [{from: START, to: pay}, {from: pay, to: END}]
YAML
all=()
# took COMMAND…: runs it and appends the last key that it printed to `all`; $key is this key
took() {
    run "$@"
    expect_code 0
    key=$(grep -o '"[A-Za-z0-9._-]*"' "$work/out" | tail -n 1 | tr -d '"')
    all+=("$key")
}
# expect_different KEY…: fails unless they all differ, and each can be the value of a header
expect_different() {
    local key
    for key in "$@"; do [[ $key =~ ^[A-Za-z0-9._-]{1,96}$ ]] || fails "not a key: \`$key\`"; done
    [ "$(printf '%s\n' "$@" | sort -u | wc -l)" = $# ] || fails "expected $# different keys: $*"
}
# needs_server: starts the service of keys_server.py, and a tool `pay` that posts to it; `pay.yaml` calls the tool
needs_server() {
    command -v python3 >/dev/null || skips "python3 is not installed"
    [ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
    server_start port keys_server.py --log requests
    cat >>tenon.yaml <<Y
plugins:
  config:
    tenon.define:
      tools:
        - {name: pay, http: {url: "http://127.0.0.1:$port/pay", json: {sum: "{sum}"}}, input: {type: object, properties: {sum: {type: integer}}}}
Y
    cat >pay.yaml <<'Y'
version: "1.0"
agent: {name: pay}
channels: [{name: sum, type: last_value, default: 5}]
tools: [pay]
nodes: [{id: pay, type: tool, config: {tool: pay, arguments: {sum: state.sum}}}]
edges: [{from: START, to: pay}, {from: pay, to: END}]
Y
}
# request N: prints the key of the Nth request
request() { sed -n "$1p" requests | cut -d' ' -f3; }
# requests N: true if the service has received N requests
requests() { [ -e requests ] && [ "$(wc -l <requests)" = "$1" ]; }
