# Telemetry of `tenon serve`: what Prometheus reads, what a collector gets, and the trace context in headers, from a client
# through the host to a provider and an MCP server.
for plugin in serve sqlite openai_server openai mcp metrics http; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
command -v python3 >/dev/null || skips "python3 is not installed"
python3 "$SOURCE/tests/metrics/peers.py" . &
server_wait port
peers=http://127.0.0.1:$(cat port)
cat >tenon.yaml <<END
store: {use: sqlite, path: ./store.db}
serve: {port: 0, log: access.log}
prices: {"openai:gpt-test": {input: 1000000, output: 2000000}}
secrets: {OPENAI_API_KEY: {env: PROVIDER_KEY}, COLLECTOR_KEY: {env: COLLECTOR_KEY}}
plugins:
  config:
    tenon.metrics:
      prometheus: {keys: [prometheus]}
      otlp:
        endpoint: $peers/
        headers: {authorization: ["Bearer ", {secret: COLLECTOR_KEY}]}
        interval_ms: 50
        metrics_interval_ms: 200
        service: tests
        attributes: {deployment.environment.name: "a \"test\""}
    tenon.mcp:
      servers: {fake: {url: $peers/mcp}}
END
cat >look.yaml <<END
version: "1.0"
agent: {name: look}
models: {default: {provider: openai, model: gpt-test, base_url: "$peers/v1"}}
channels: [{name: messages, type: reduce, reducer: messages}]
tools: [{name: fake.look}]
nodes: [{id: assist, type: agent, config: {messages_key: messages, tools: [fake.look]}}]
edges: [{from: START, to: assist}, {from: assist, to: END}]
END
export PROVIDER_KEY=sk-provider-4711 COLLECTOR_KEY=collector-4711
admin=$("$TENON" key create boss --scope admin) prometheus=$("$TENON" key create prometheus --scope read)
ada=$("$TENON" key create ada)
serve_start web --check-plugins look.yaml "$SOURCE/tests/protocols/graphs/error.yaml"
strict=python3
pip_install opentelemetry opentelemetry-proto==1.38.0 && strict=$python # without a network, the JSON is only read as JSON
run "$strict" "$SOURCE/tests/metrics/live.py" "$address" "$peers" "$admin" "$prometheus" "$ada"
expect_code 0
if command -v promtool >/dev/null; then
    run promtool check metrics <metrics.txt
    expect_code 0
fi
serve_stop
grep 'check:' web.err | grep -v 'blocks the loop' >&2 && fails "a plugin violates the contract"
grep -qF -e "$admin" -e "$ada" -e sk-provider-4711 -e collector-4711 web.out web.err access.log metrics.txt && fails "a key is in the log"
true
