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
