# samples/mcp: the commands of its README, by an agent host that uses the protocol's SDK; and the same through mcp-remote.
for plugin in serve mcp_server; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
npm_packages @modelcontextprotocol/sdk mcp-remote
cp -r "$SOURCE/samples/mcp" mcp
cd mcp
ln -s "$modules" node_modules
PORT=0 TENON=$TENON ./run >hosts.json &
servers+=($!)
wait_until grep -qs mcpServers hosts.json
member() { python3 -c 'import json; server = json.load(open("hosts.json"))["mcpServers"]["tenon"]; print('"$1"')'; }
URL=$(member 'server["url"]') KEY=$(member 'server["headers"]["Authorization"].split()[1]')
export URL KEY
[ "$(readme_commands README.md sh | wc -l)" = 3 ] || fails "expected three commands in the README"
talk() { yes y | timeout 60 bash -c "$(readme_commands README.md sh)"; }
run talk
expect_in out 'publish: Publishes a note after a person has agreed.' && expect_in out '{"words":3,"characters":13}'
expect_in out 'Publish “tea is ready”? [y/n] {"result":"published: tea is ready"}'

sed -e 's|client/streamableHttp.js|client/stdio.js|; s/StreamableHTTPClientTransport/StdioClientTransport/' -e \
    's|^await client.connect.*|await client.connect(new StdioClientTransport({ command: process.execPath, args: ["node_modules/mcp-remote/dist/proxy.js", url, "--header", "Authorization:${AUTH}"], env: { ...process.env, AUTH: `Bearer ${key}` } }));|' \
    host.mjs >bridge.mjs
run timeout 60 node bridge.mjs "$URL" "$KEY" words '{"text": "one two"}'
expect_code 0 && expect_in out '{"words":2,"characters":7}'
