# Graphs as a server of MCP (plugins/mcp_server), with one server: raw requests, the clients of both eras, Tenon's own
# client, the official conformance suite, and a call that is continued after the server was killed.
for plugin in serve mcp_server sqlite; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
cp "$SOURCE"/tests/mcp/{conformance_server,tasks}.yaml .
cat >greet.yaml <<'Y'
version: "1.0"
agent: {description: Greets a person.}
input: {type: object, properties: {name: {type: string}}, required: [name]}
output: {type: object, properties: {text: {type: string}}}
channels: [{name: name, type: last_value}, {name: text, type: last_value}]
nodes: [{id: greet, type: set, config: {values: {text: '"Hello, " + state.name + "!"'}}}]
edges: [{from: START, to: greet}, {from: greet, to: END}]
Y
cat >choose.yaml <<'Y'
version: "1.0"
channels: [{name: text, type: last_value}]
nodes: [{id: ask, type: ask, config: {question: "Which colour?", answer_schema: {enum: [red, green]}, output_key: text}}]
edges: [{from: START, to: ask}, {from: ask, to: END}]
Y
cat >keep.yaml <<'Y'
version: "1.0"
input: {type: object, properties: {text: {type: string}}, required: [text]}
output: {type: object, properties: {id: {type: string}}}
channels: [{name: text, type: last_value}, {name: made, type: last_value}, {name: id, type: last_value}]
nodes:
  - {id: write, type: tool, config: {tool: artifact.write, arguments: {media_type: "'text/plain'", body: "state.text"}, output_key: made}}
  - {id: name, type: set, config: {values: {id: state.made.artifact_id}}}
edges: [{from: START, to: write}, {from: write, to: name}, {from: name, to: END}]
Y
cat >tenon.yaml <<'Y'
store: {use: sqlite, path: store.db}
serve:
  port: 0
  log: false
  graphs: {conformance: conformance_server.yaml, greet: greet.yaml, choose: choose.yaml, keep: keep.yaml, tasks: tasks.yaml}
  protocols: [mcp_server]
  tools: [memory.put, memory.get]
tools: {approval: {memory.put: ask}}
plugins: {config: {tenon.mcp_server: {threads: true, state_secret: {secret: MCP_STATE}}}}
Y
export MCP_STATE=a-secret-of-the-test
ada=$(tenon key create ada) bob=$(tenon key create bob)
export SECOND_OF_ADA=$(tenon key create second --owner ada)
large=9223372036854775807 # the user can write these memories by other protocols
tenon memory put @ada/mcp/tasks 0123456789abcdef0123456789abcdef "{\"created_ms\": $large, \"ttl_ms\": $large, \"round\": $large}"
serve() {
    serve_start serve
    url=$address/mcp
}
serve
python3 "$SOURCE/tests/mcp/own_server.py" "$url" "$ada" "$bob" || fails "own_server.py: $(cat serve.err)"

# A call that waits, and tasks, are continued by the next host.
tasks() { python3 "$SOURCE/tests/mcp/tasks.py" "$url" "$ada" "$bob" "$@"; }
begun=$(tasks) || { serve_failed; fails "tasks.py"; }
state() { python3 "$SOURCE/tests/mcp/own_server_state.py" "$url" "$ada" "$@"; }
asked=$(state) || fails "the first part of a call"
serve_stop KILL
serve
[ "$(state "$asked")" = "Hello, Ada!" ] || fails "the call was not continued after the server was killed"
tasks $begun || fails "the tasks were not continued after the server was killed"

if [ -e "$BINARY/lib/tenon/plugins/http.so" ]; then
    cat >client.yaml <<Y
plugins: {config: {tenon.mcp: {servers: {own: {url: "$url", headers: {authorization: ["Bearer ", {secret: KEY}]}, unannotated: auto}}}}}
Y
    export KEY=$ada
    run tenon tool call --config client.yaml own.greet --set name=Ada
    expect_out '{"text":"Hello, Ada!"}'
    run tenon tool call --config client.yaml own.resources.read '{"uri": "test://static-text"}'
    expect_out "This is the content of the static text resource."
    run tenon tool call --config client.yaml mcp.servers
    expect_in out '"protocol":"2026-07-28"'
fi

npm_packages @modelcontextprotocol/sdk @modelcontextprotocol/client @modelcontextprotocol/conformance undici
node24 || skips "Node 24 cannot be installed"
export TENON_KEY=$ada
cp "$SOURCE/tests/mcp/own_server_clients.mjs" .
run "$node24" own_server_clients.mjs "$url"
expect_code 0
for set in 2025-11-25:30 2026-07-28:49; do
    run "$node24" --require "$SOURCE/tests/mcp/with_key.cjs" "$modules/@modelcontextprotocol/conformance/dist/index.js" server \
        --url "$url" --requirements "${set%:*}" -o results
    [ "$code" = 0 ] || fails "the conformance suite of ${set%:*}: $(grep "✗" "$work/out")"
    passed=$(sed -n '/=== SUMMARY/,/^Total/p' "$work/out" | grep -c '^✓' || true)
    [ "$passed" -ge "${set#*:}" ] || fails "$passed scenarios of ${set%:*} passed, expected ${set#*:}"
    expect_in out "Total: "
done

# The host ends although clients have sessions, streams and questions.
python3 "$SOURCE/tests/mcp/own_server_state.py" "$url" "$ada" >/dev/null || fails "a call that waits for an answer"
serve_stop
expect_code 0
