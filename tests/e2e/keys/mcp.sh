# An MCP server gets the key in `_meta` of tools/call.
command -v python3 >/dev/null || skips "python3 is not installed"
cat >server.py <<'P'
import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, params, answer = message["method"], message.get("params", {}), {"jsonrpc": "2.0", "id": message["id"]}
    if method == "initialize":
        answer["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                            "serverInfo": {"name": "s", "version": "1"}}
    elif method == "tools/list":
        answer["result"] = {"tools": [{"name": "meta", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        answer["result"] = {"content": [{"type": "text", "text": params["_meta"]["dev.tenon/idempotency-key"]}]}
    else:
        answer["error"] = {"code": -32601, "message": "unknown method"}
    print(json.dumps(answer), flush=True)
P
cat >>tenon.yaml <<'Y'
plugins:
  config:
    tenon.mcp: {servers: {s: {command: [python3, server.py]}}}
Y
for call in 1 2; do took tenon tool call s.meta --yes --json; done
expect_different "${all[@]}"
run tenon tool call s.meta --yes --idempotency-key order-17
expect_out order-17
