# Tools of each kind that return a secret: an operation of a REST service, an MCP server on standard output, a function of
# a C library. The secret reaches no result, event, thread, recording or log, nor what models see of a tool.
for plugin in http openapi mcp ffi define; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without tenon.$plugin"
done
[ -x /usr/bin/python3 ] || skips "python3 is not installed in the system's folders"
server_start port openapi_server.py
cat >api.yaml <<Y
openapi: 3.0.3
info: {title: Echo, version: "1"}
servers: [{url: "http://127.0.0.1:$port"}]
security: [{basic: []}]
paths: {/query: {get: {operationId: query, summary: Echoes, responses: {200: {description: ok}}}}}
components: {securitySchemes: {basic: {type: http, scheme: basic}}}
Y
cat >server.py <<'PY'
import base64, json, os, sys
key = os.environ["KEY"]
tools = [{"name": name, "description": "Uses " + key, "inputSchema": {"type": "object", "properties": {"k": {"const": key}}},
          "annotations": {"readOnlyHint": True}} for name in ("text", "structured", "error", "broken")]
print("started with", key, file=sys.stderr, flush=True)
def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": key, "version": key}}
    if method == "tools/list":
        return {"tools": tools}
    content = [{"type": "text", "text": "the key is " + key}]
    if params["name"] == "structured":
        return {"content": content, "structuredContent": {"k": key, key: [base64.b64encode((s + key).encode()).decode() for s in ("", "a", "ab")]}}
    return {"content": content, "isError": params["name"] == "error"}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    if message.get("params", {}).get("name") == "broken":
        reply["error"] = {"code": -32000, "message": "no such user: " + key}
    else:
        reply["result"] = answer(message["method"], message.get("params", {}))
    print(json.dumps(reply), flush=True)
PY
cat >library.c <<C
const char *show_key(void);
const char *show_key(void) { return "the key is $ECHO_KEY"; }
C
"$CC" -shared -fPIC -o library.so library.c || fails "library.c does not compile"
cat >tenon.yaml <<Y
store: {use: sqlite, path: ./state/store.db}
tools: {audit: audit.jsonl, audit_arguments: true}
plugins:
  config:
    tenon.openapi:
      services: {rest: {document: api.yaml, auth: {basic: {user: me, password: {secret: ECHO_KEY}}}}}
    tenon.mcp:
      servers:
        stdio: {command: [/usr/bin/python3, server.py], era: "2025-11-25", env: {KEY: {secret: ECHO_KEY}}}
        named: {command: [sh, -c, 'KEY=\$ECHO_KEY exec /usr/bin/python3 server.py'], era: "2025-11-25", inherit_env: [ECHO_KEY]}
    tenon.ffi:
      libraries: [{name: own, library: $PWD/library.so, effects: [], functions: [{name: show_key, returns: {name: text, type: string}}]}]
Y

run tenon tool call rest.query '{}' --json
expect_code 0 && expect_in out '"authorization":"Basic {redacted}"' && expect_no_secret
for server in stdio named; do
    run tenon tool call $server.text '{}'
    expect_code 0 && expect_out 'the key is {secret:ECHO_KEY}' && expect_no_secret
    run tenon tool call $server.structured '{}' --json
    expect_code 0 && expect_in out '"{secret:ECHO_KEY}":[' && expect_no_secret
    run tenon tool call $server.error '{}'
    expect_code 1 && expect_in err 'the key is {secret:ECHO_KEY}' && expect_no_secret
    run tenon tool call $server.broken '{}'
    expect_code 1 && expect_in err 'no such user: {secret:ECHO_KEY}' && expect_no_secret
    run tenon tool show $server.text
    expect_code 0 && expect_in out 'Uses {secret:ECHO_KEY}' && expect_no_secret
done

# A secret of the environment that a server inherits by its name, and no other component uses.
cat >inherits.yaml <<'Y'
secrets: {LISTED: {env: ECHO_KEY}}
plugins:
  config:
    tenon.mcp:
      servers: {own: {command: [sh, -c, 'KEY=$ECHO_KEY exec /usr/bin/python3 server.py'], era: "2025-11-25", inherit_env: [ECHO_KEY]}}
Y
run tenon tool call own.text '{}' -c inherits.yaml
expect_code 0 && expect_out 'the key is {secret:ECHO_KEY}' && expect_no_secret

# In a run. The tool of the library comes last, because the host fetches a secret when it is first needed.
cat >all.yaml <<'Y'
version: "1.0"
channels: [{name: a, type: last_value}, {name: b, type: last_value}, {name: c, type: last_value}]
nodes:
  - {id: a, type: tool, config: {tool: rest.query, output_key: a}}
  - {id: b, type: tool, config: {tool: stdio.structured, output_key: b}}
  - {id: c, type: tool, config: {tool: own.show_key, output_key: c}}
edges: [{from: START, to: a}, {from: a, to: b}, {from: b, to: c}, {from: c, to: END}]
Y
for how in "" "--isolate tenon.ffi --isolate tenon.openapi"; do
    rm -rf state recorded
    # shellcheck disable=SC2086
    run tenon run all.yaml --thread t --json --stream all --record recorded $how
    expect_code 0 && expect_in out '"c":{"text":"the key is {secret:ECHO_KEY}"}'
    expect_no_secret state recorded audit.jsonl
done
