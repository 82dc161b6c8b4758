# Servers that are processes: killed with the host, silent, slow, or echoing.
# A server that ignores SIGTERM, and its children, end when the host is killed.
cat >tenon.yaml <<'Y'
plugins: {config: {tenon.mcp: {servers: {s: {command: [sh, -c, "trap '' TERM; sleep 100 & sleep 0.3; echo $$ $! >pids; sleep 100"]}}}}}
Y
expect_children_killed pids "$TENON" tool list
rm tenon.yaml

# A server that ends before it reads `notifications/initialized`, whose transport fails inside the handshake.
cat >ends.py <<'P'
import json, os
request = json.loads(os.read(0, 100000))
os.close(0)
result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "logging": {}}, "serverInfo": {"name": "ends"}}
os.write(1, json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode() + b"\n")
P
cat >tenon.yaml <<'Y'
plugins: {config: {tenon.mcp: {servers: {ends: {command: [python3, ends.py], era: "2025-06-18"}}}}}
Y
run tenon tool list
expect_code 0 && expect_in err 'server `ends`: it ended with status 0; it is restarted when it is needed'
rm tenon.yaml ends.py

# A silent server does not delay the tools of another one, nor any command for longer than its timeout. The timeout of the
# first is longer than that of the test.
sed -n '/^```python/,/^```/p' "$SOURCE/plugins/mcp/README.md" | sed '1d;$d' >dice.py
cat >tenon.yaml <<'Y'
plugins: {config: {tenon.mcp: {servers: {hang: {command: [sleep, "3600"], connect_timeout_ms: 600000}, dice: {command: [python3, dice.py]}}}}}
Y
run timeout 50 "$TENON" tool call dice.roll --set sides=1
expect_code 0 && expect_out 1
run timeout 50 "$TENON" check "$SOURCE/samples/hello/hello.yaml"
expect_code 0
cat >tenon.yaml <<'Y'
plugins: {config: {tenon.mcp: {servers: {hang: {command: [sleep, "3600"], connect_timeout_ms: 1000}}}}}
Y
run tenon tool list
expect_code 0 && expect_in err 'server `hang`: it has not answered `server/discover` or `initialize` within 1000 ms (`connect_timeout_ms`)'
echo 'plugins: {config: {tenon.mcp: {servers: {echoes: {command: [cat]}}}}}' >tenon.yaml
run tenon tool list
expect_code 0 && expect_in err 'server `echoes`: it returned our `server/discover` and is not an MCP server'
sed -i 's/\[cat\]/[cat], era: "2025-06-18"/' tenon.yaml
run tenon tool list
expect_code 0 && expect_in err 'it returned our `initialize`'
rm tenon.yaml dice.py

