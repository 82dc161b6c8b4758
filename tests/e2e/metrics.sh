# Telemetry of `tenon serve`: what Prometheus reads, what a collector gets, and the trace context in headers, from a client
# through the host to a provider and an MCP server. Then the same with message contents, and with isolated plugins.
for plugin in serve sqlite openai_server openai mcp metrics http; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
command -v python3 >/dev/null || skips "python3 is not installed"
python3 "$SOURCE/tests/metrics/peers.py" . &
server_wait port
peers=http://127.0.0.1:$(cat port)
settings() { # PATH MORE-OF-OTLP ISOLATED
    cat >tenon.yaml <<END
store: {use: sqlite, path: ./store.db}
serve: {port: 0, log: access.log}
prices: {"openai:gpt-test": {input: 1000000, output: 2000000}}
secrets: {OPENAI_API_KEY: {env: PROVIDER_KEY}, COLLECTOR_KEY: {env: COLLECTOR_KEY}}
plugins:
  isolation: {$3}
  config:
    tenon.metrics:
      prometheus: {keys: [prometheus]}
      otlp:
        endpoint: $peers$1/
        headers: {authorization: ["Bearer ", {secret: COLLECTOR_KEY}]}
        interval_ms: 50
        metrics_interval_ms: 200
        service: tests
        attributes: {deployment.environment.name: "a \"test\""}
        $2
    tenon.mcp:
      servers: {fake: {url: $peers/mcp}}
END
}
cat >look.yaml <<END
version: "1.0"
agent: {name: look}
models: {default: {provider: openai, model: gpt-test, base_url: "$peers/v1", api_key: {secret: OPENAI_API_KEY}}}
channels: [{name: messages, type: reduce, reducer: messages}]
tools: [{name: fake.look}]
nodes: [{id: assist, type: agent, config: {messages_key: messages, tools: [fake.look]}}]
edges: [{from: START, to: assist}, {from: assist, to: END}]
END
settings "" "" ""
export PROVIDER_KEY=sk-provider-4711 COLLECTOR_KEY=collector-4711
admin=$("$TENON" key create boss --scope admin) prometheus=$("$TENON" key create prometheus --scope read)
ada=$("$TENON" key create ada)
live() { # PROGRAM COLLECTOR
    run "$1" "$SOURCE/tests/metrics/live.py" "$address" "$peers" "$admin" "$prometheus" "$ada" "$SOURCE/plugins/metrics/README.md" "$2"
    expect_code 0
}
check_logs() {
    grep 'check:' web.err | grep -v 'blocks the loop' >&2 && fails "a plugin violates the contract"
    grep -qF -e "$admin" -e "$ada" -e sk-provider-4711 -e collector-4711 web.out web.err access.log metrics.txt &&
        fails "a key is in the log"
    true
}
serve_start web --check-plugins look.yaml "$SOURCE/tests/protocols/graphs/error.yaml"
strict=python3
pip_install opentelemetry opentelemetry-proto==1.38.0 && strict=$python # without a network, the JSON is only read as JSON
live "$strict" ""
if command -v promtool >/dev/null; then
    run promtool check metrics <metrics.txt
    expect_code 0
fi
serve_stop
check_logs

settings /isolated "contents: true" "tenon.openai_server: process, tenon.openai: process, tenon.mcp: process"
serve_start web look.yaml
live python3 /isolated
serve_stop
check_logs
