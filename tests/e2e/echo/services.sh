# A service or a program that returns a secret in a successful answer: the secret reaches no result, event, thread,
# recording or log, neither as it is nor encoded.
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
server_start port echo_server.py
cat >tenon.yaml <<Y
store: {use: sqlite, path: ./state/store.db}
tools: {audit: audit.jsonl, audit_arguments: true}
plugins:
  config:
    tenon.define:
      tools:
        - {name: echo.http, http: {url: "http://127.0.0.1:$port/", headers: {authorization: ["Bearer ", {secret: ECHO_KEY}]}}}
        - {name: echo.program, command: [sh, -c, 'printf "the key is %s" "\$KEY"'], effects: [], env: {KEY: {secret: ECHO_KEY}}}
        - {name: echo.failure, command: [sh, -c, 'echo "bad key \$KEY" >&2; exit 3'], effects: [], env: {KEY: {secret: ECHO_KEY}}}
Y
cat >both.yaml <<'Y'
version: "1.0"
channels: [{name: web, type: last_value}, {name: program, type: last_value}]
nodes:
  - {id: web, type: tool, config: {tool: echo.http, output_key: web}}
  - {id: program, type: tool, config: {tool: echo.program, output_key: program}}
edges: [{from: START, to: web}, {from: web, to: program}, {from: program, to: END}]
Y

run tenon tool call echo.http '{}' --json
expect_code 0 && expect_in out '<{secret:ECHO_KEY}>' && expect_in out 'Bearer {secret:ECHO_KEY}' && expect_no_secret
run tenon tool call echo.program '{}'
expect_code 0 && expect_out 'the key is {secret:ECHO_KEY}'
run tenon tool call echo.failure '{}'
expect_code 1 && expect_in err 'bad key {secret:ECHO_KEY}' && expect_no_secret
for how in "" "--isolate tenon.define"; do
    rm -rf state recorded
    # shellcheck disable=SC2086
    run tenon run both.yaml --thread t --json --stream all --record recorded $how
    expect_code 0 && expect_in out '"program":"the key is {secret:ECHO_KEY}"' && expect_no_secret state recorded audit.jsonl
    # The thread continues, and is replayed, with what was saved.
    run tenon thread export t
    expect_code 0 && expect_in out '{secret:ECHO_KEY}' && expect_no_secret
    run tenon replay t
    expect_code 0 && expect_no_secret
done
