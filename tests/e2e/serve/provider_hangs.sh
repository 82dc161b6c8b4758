# A provider accepts a request and never answers, or stops in the middle of an event: the run ends after the time of the
# model's `timeout_ms`, with an error of the protocol. Other runs are not affected.
for plugin in serve openai_server ai_sdk openai sqlite; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
command -v python3 >/dev/null || skips "python3 is not installed"
python3 "$SOURCE/tests/serve/provider_hangs.py" provider port &
server_wait port
graph() { # NAME MODEL TIMEOUT
    cat >"$1.yaml" <<YAML
version: "1.0"
agent: {name: $1}
models: {default: {provider: openai, model: $2, base_url: "http://127.0.0.1:$(<port)/v1", api_key: none, timeout_ms: $3}}
channels: [{name: messages, type: reduce, reducer: messages}]
nodes: [{id: say, type: agent, config: {messages_key: messages}}]
edges: [{from: START, to: say}, {from: say, to: END}]
YAML
}
graph silent silent '{total: 700}'
graph half half '{idle: 700}'
graph good good '{total: 60000}'
printf 'store: {use: sqlite, path: runs.db}\nserve: {port: 0, log: false}\n' >tenon.yaml
key=$(tenon key create ada)
serve_start web silent.yaml half.yaml good.yaml
run python3 "$SOURCE/tests/serve/provider_hangs.py" client "$address" "$key"
[ "$code" = 0 ] || serve_failed
expect_code 0
serve_stop
