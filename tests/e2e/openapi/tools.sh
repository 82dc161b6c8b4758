# Tools: names, input schemas and effects.
run tenon tool list --json
expect_in out '"echo.get_no-id_x"' && expect_in out '"seen.text"' && expect_not_in out seen.query
run tenon tool show echo.create --json
expect_in out '"$ref":"#/$defs/Pet"' && expect_in out '"required":["name"]' && expect_in out '"enum":["a","b",null]'
expect_not_in out readOnly && expect_in out '"Owner":{"type":"object"'
run tenon tool show echo.create
expect_in out "    body               object, required" && expect_in out "      name             string, required"
run tenon tool show echo.raw --json
expect_in out '"destructive"],"implementation_ref":"tenon.openapi/echo.raw"'

# Patterns match the description's operationId, also where the tool's name has other characters.
cat >repos-api.yaml <<'Y'
openapi: 3.1.0
servers: [{url: "http://h"}]
paths:
  /a: {get: {operationId: repos/list-for-org}, put: {operationId: repos/get}}
  /b: {get: {operationId: users/list}, put: {operationId: users.get}}
Y
echo 'plugins: {config: {tenon.openapi: {services: {r: {document: repos-api.yaml, operations: ["repos/*", "users.g*", users_list]}}}}}
tools: {approval: {"r.repos/list*": deny, "r.users_get": ask}}' >repos.yaml
run tenon tool list -c repos.yaml
expect_code 0
for name in repos_list-for-org repos_get users_list users_get; do expect_in out "r.$name "; done
run tenon tool show r.repos_list-for-org -c repos.yaml
expect_in out "approval: deny"
run tenon tool show r.repos_get -c repos.yaml
expect_not_in out "approval: deny"
sed -i 's#"users.g\*", users_list#"users/*"#' repos.yaml
run tenon tool list -c repos.yaml
expect_in out r.users_list && expect_not_in out r.users_get

# An exact operationId names the tool, too, wherever a tool is named.
cat >exact.yaml <<'Y'
version: "1.0"
channels:
  - {name: messages, type: append}
  - {name: seen, type: last_value}
tools: [{name: r.repos/get}, {name: r.users.get, approval: auto}]
nodes:
  - {id: t, type: tools, config: {tools: [r.repos/get, r.users_get], auto_approve: [r.repos/get]}}
  - {id: n, type: tool, config: {tool: r.users.get, output_key: seen}}
edges:
  - {from: START, to: t}
  - {from: t, to: n}
  - {from: n, to: END}
Y
echo "plugins: {config: {tenon.openapi: {services: {r: {document: repos-api.yaml, base_url: \"$at\"}}}}}" >exact-config.yaml
run tenon check exact.yaml -c exact-config.yaml
expect_code 0 && expect_in err "no problems found"
ask() { echo "{\"messages\": [{\"type\": \"ai\", \"content\": \"\", \"tool_calls\": [{\"id\": \"1\", \"name\": \"$1\", \"arguments\": {}}]}]}"; }
for name in r.repos_get r.repos/get; do
    run tenon run exact.yaml -c exact-config.yaml --input "$(ask $name)"
    expect_code 0 && expect_in out '\"path\":\"/a\"' && expect_in out '"path":"/b"'
done
run tenon run exact.yaml -c exact-config.yaml --input "$(ask r.repos/list-for-org)"
expect_in out TOOL_NOT_FOUND
sed 's#tool: r.users.get#tool: r.repos/list-for-org#' exact.yaml >forbidden.yaml
run tenon check forbidden.yaml -c exact-config.yaml
expect_code 3 && expect_in err 'names the tool `r.repos_list-for-org`, which the document'
for name in r.repos/get r.users.get; do
    run tenon tool call $name -c exact-config.yaml --yes
    expect_code 0 && expect_in out '"method":"PUT"'
    run tenon tool show $name -c exact-config.yaml
    expect_code 0
    run tenon tool list $name -c exact-config.yaml --json
    expect_in out '"tool_name":"r.'
done
run tenon tool show r.repos/gets -c exact-config.yaml
expect_code 2 && expect_in err 'did you mean `r.repos_get`'
sed -i '$a tools: {approval: {"r.repos/get": deny, "r.users.get": ask, "r.users_get": auto}}' exact-config.yaml
run tenon tool call r.repos_get -c exact-config.yaml --yes
expect_in err DENIED
run tenon tool show r.users.get -c exact-config.yaml
expect_in out "approval: auto"
