# The streams, states and histories of langgraph_server beside those of `langgraphjs dev`, for the same graphs. Needs a
# folder with @langchain/langgraph-cli, -api 2.0.0, langgraph 1.2.9, core 1.2.13 and langgraph-checkpoint 1.1.5 of npm
# (--legacy-peer-deps; 154 MB, which is too much for each run of the tests) in $TENON_LANGGRAPH_DEV.
[ -d "${TENON_LANGGRAPH_DEV:-}/node_modules/@langchain/langgraph-cli" ] || skips "TENON_LANGGRAPH_DEV names no folder with langgraphjs"
for plugin in serve langgraph_server sqlite; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
command -v python3 >/dev/null || skips "python3 is not installed"
tests=$SOURCE/tests/protocols/langgraph
printf 'store: {use: sqlite, path: ./store.db}\n' >tenon.yaml
key=$("$TENON" key create ada)
mkdir dev
cp "$tests/dev.mjs" dev/graphs.mjs
ln -s "$TENON_LANGGRAPH_DEV/node_modules" dev/node_modules
printf '{"type": "module"}' >dev/package.json
printf '{"node_version": "22", "env": {}, "graphs": {"steps": "./graphs.mjs:steps", "ask": "./graphs.mjs:ask"}}' >dev/langgraph.json
port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
(cd dev && exec env LANGSMITH_TRACING=false node node_modules/.bin/langgraphjs dev --no-browser --port "$port") >dev.log 2>&1 </dev/null &
servers+=("$!")
wait_until grep -qs 'Server running' dev.log
serve_start serve --port 0 "$tests"/{steps,ask}.yaml
run timeout 120 python3 "$tests/dev.py" "$address" "$key" "http://127.0.0.1:$port"
expect_code 0
serve_stop
true
