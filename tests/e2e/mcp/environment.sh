# The environment of MCP servers: the few variables that every program gets, and those that are configured by name.
[ -x /usr/bin/python3 ] || skips "python3 is not installed in the system's folders"
cat >server.py <<'PY'
import json, os, sys
TOOL = {"name": "environment", "annotations": {"readOnlyHint": True}, "inputSchema": {"type": "object"}}
def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    if method == "tools/list":
        return {"tools": [TOOL]}
    names = sorted(name for name in os.environ if name != "LC_CTYPE")  # Python itself sets that one
    return {"content": [{"type": "text", "text": " ".join(names) + " MODE=" + os.environ.get("MODE", "")}]}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer(message["method"], message.get("params", {}))}), flush=True)
PY
cat >tenon.yaml <<'Y'
secrets: {TOKEN: {env: SERVER_TOKEN}}
plugins:
  config:
    tenon.mcp:
      servers:
        plain: {command: [/usr/bin/python3, server.py], era: "2025-11-25"}
        named: {command: [/usr/bin/python3, server.py], era: "2025-11-25", env: {MODE: fast, KEY: {secret: TOKEN}}, inherit_env: [HTTPS_PROXY, OPENAI_API_KEY, ABSENT]}
Y
export USER=tester SHELL=/bin/sh LANG=C.UTF-8 TMPDIR=/tmp HTTPS_PROXY=http://127.0.0.1:9
export OPENAI_API_KEY=key-of-the-host SERVER_TOKEN=token-of-the-server SOME_TOKEN=another-token LC_TIME=C
run tenon tool call plain.environment '{}' --yes
expect_code 0 && expect_out 'HOME LANG PATH SHELL TERM TMPDIR USER MODE='
# A variable that is named is passed on, also a secret.
run tenon tool call named.environment '{}' --yes
expect_code 0 && expect_out 'HOME HTTPS_PROXY KEY LANG MODE OPENAI_API_KEY PATH SHELL TERM TMPDIR USER MODE=fast'
printf 'plugins: {config: {tenon.mcp: {servers: {s: {command: [does-not-exist]}}}}}\n' >missing.yaml
run tenon tool call mcp.servers '{}' --yes -c missing.yaml
expect_in err '`does-not-exist` cannot be started: the program `does-not-exist` does not exist in PATH'
