# The node `mcp.connect`: servers that a document adds and removes while it runs.
cat >connect.yaml <<Y
version: "1.0"
agent: {name: connect}
models: {default: {provider: scripted, replies: [{content: "", tool_calls: [{id: c1, name: more.say, arguments: {text: hi}}]}, "Got: {last}"]}}
channels: [{name: messages, type: reduce, reducer: messages}, {name: servers, type: last_value}, {name: again, type: last_value}]
nodes:
  - {id: connect, type: mcp.connect, config: {servers: {added: {command: [python3, "$SOURCE/tests/acp/mcp_server.py"], prefix: more, env: {GREETING: hello, PID_FILE: pid}}}, output_key: servers}}
  - {id: use, type: agent, config: {messages_key: messages, tools: ["*"]}}
  - {id: again, type: mcp.connect, config: {servers: {added: {command: [python3, x.py]}}}, on_error: {to: leave}}
  - {id: leave, type: mcp.connect, config: {disconnect: [added, unknown], output_key: again}}
  - {id: use_again, type: agent, config: {messages_key: messages, tools: ["*"]}}
edges:
  - {from: START, to: connect}
  - {from: connect, to: use}
  - {from: use, to: again}
  - {from: again, to: leave}
  - {from: leave, to: use_again}
  - {from: use_again, to: END}
Y
run tenon run connect.yaml --json --input '{"messages": []}'
expect_code 3
expect_in err 'the node type `mcp.connect` of plugin `tenon.mcp` is denied: it starts programs that the document names'
[ ! -e pid ] || fails "the server was started"
echo 'tools: {approval: {"node:mcp.connect": auto}}' >tenon.yaml
run tenon run connect.yaml --json --stream tasks --input '{"messages": [{"type": "user", "content": "go"}]}'
expect_code 0
expect_in out '"name":"added","transport":"stdio","state":"ready"' && expect_in out '"tools":["more.say","more.wipe",'
expect_in out "Got: hi|hello|"
expect_in out '"error":{"code":"EXISTS"' && expect_in out '"again":[]'
# shellcheck disable=SC2016
expect_in out 'cannot find tool `more.say`'
expect_ended "$(cat pid)" "the server did not end"

# A server of tenon.yaml is not removed, and cannot have the prefix of sessions as its name.
echo "plugins: {config: {tenon.mcp: {servers: {added: {command: [python3, \"$SOURCE/tests/acp/mcp_server.py\"]}}}}}" >>tenon.yaml
cat >keep.yaml <<'Y'
version: "1.0"
agent: {name: keep}
nodes: [{id: leave, type: mcp.connect, config: {disconnect: [added]}}, {id: use, type: tool, config: {tool: added.say, arguments: {text: "'hi'"}}}]
edges: [{from: START, to: leave}, {from: leave, to: use}, {from: use, to: END}]
Y
run tenon run keep.yaml
expect_code 0
sed -i 's/servers: {added:/servers: {acp:/' tenon.yaml
run tenon doctor
expect_in out 'acp'
