# REST services by their descriptions (plugins/openapi): what is sent, as the specification has it; who we are; answers.
command -v python3 >/dev/null || skips "there is no python3"
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
python3 "$SOURCE/tests/e2e/openapi_server.py" port &
server=$!
trap 'kill $server 2>/dev/null || true; chmod -R u+w "$work"; rm -rf "$work"' EXIT
for _ in $(seq 200); do [ -e port ] && break; sleep 0.05; done
at=http://127.0.0.1:$(cat port)
call() { run tenon tool call "$@"; }
# gives MEMBER TEXT: of what the service was asked
gives() {
    expect_code 0
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$work/out" "$1" >shown
    [ "$(cat shown)" = "$2" ] || fails "expected $1 to be: $2; it is: $(cat shown)"
}

cat >api.yaml <<'Y'
openapi: 3.0.3
info: {title: Echo, version: "1"}
servers: [{url: "http://{host}/v1/", variables: {host: {default: "127.0.0.1:1"}}}]
security: [{key: []}]
paths:
  /path/{one}/{two}{three}:
    parameters: [{$ref: "#/components/parameters/One"}, {name: two, in: path, required: true, style: label, explode: true, schema: {type: array, items: {type: string}}}]
    get:
      operationId: paths
      summary: Paths
      parameters: [{name: three, in: path, required: true, style: matrix, explode: true, schema: {type: object}}]
      responses: {200: {description: ok}}
  /query:
    get:
      operationId: query
      parameters:
        - {name: plain, in: query, schema: {type: string}}
        - {name: many, in: query, schema: {type: array, items: {type: string}}}
        - {name: comma, in: query, explode: false, schema: {type: array, items: {type: string}}}
        - {name: space, in: query, style: spaceDelimited, explode: false, schema: {type: array, items: {type: string}}}
        - {name: pipe, in: query, style: pipeDelimited, explode: false, schema: {type: array, items: {type: string}}}
        - {name: deep, in: query, style: deepObject, explode: true, schema: {type: object}}
        - {name: object, in: query, schema: {type: object}}
        - {name: flat, in: query, explode: false, schema: {type: object}}
        - {name: reserved, in: query, allowReserved: true, schema: {type: string}}
        - {name: json, in: query, content: {application/json: {schema: {type: object}}}}
        - {name: number, in: query, schema: {type: integer, minimum: 0, exclusiveMinimum: true}}
        - {name: maybe, in: query, schema: {type: string, nullable: true}}
  /others:
    get:
      operationId: others
      parameters:
        - {name: X-List, in: header, schema: {type: array, items: {type: integer}}}
        - {name: session, in: cookie, schema: {type: string}}
        - {name: id, in: query, schema: {type: string}}
        - {name: id, in: header, schema: {type: string}}
        - {name: Accept, in: header, schema: {type: string}}
  /body:
    post:
      operationId: create
      requestBody:
        required: true
        content:
          text/plain: {schema: {type: string}}
          application/json: {schema: {$ref: "#/components/schemas/Pet"}}
    put: {operationId: form, requestBody: {content: {application/x-www-form-urlencoded: {schema: {type: object}}}}}
    patch: {operationId: parts, requestBody: {content: {multipart/form-data: {schema: {type: object}}}}}
    delete: {operationId: raw, deprecated: true, requestBody: {content: {application/octet-stream: {schema: {type: string, format: binary}}}}}
  /free: {get: {operationId: free, security: []}}
  /either: {get: {operationId: either, security: [{nothing: []}, {basic: []}]}}
  /lacking: {get: {operationId: lacking, security: [{nothing: []}]}}
  /both: {get: {operationId: both, security: [{inQuery: [], inCookie: []}]}}
  /once/{n}: {get: {operationId: once, parameters: [{name: n, in: path, required: true, schema: {type: integer}}], security: [{oauth: []}]}}
  /wrong: {get: {operationId: wrong, security: [{wrong: []}]}}
  /status/{code}: {get: {operationId: status, parameters: [{name: code, in: path, required: true, schema: {type: integer}}]}}
  /text: {get: {operationId: text}}
  /bytes: {get: {operationId: bytes}}
  /none: {get: {operationId: none}}
  /huge: {get: {operationId: huge}}
  /no-id/{x}: {get: {parameters: [{name: x, in: path, required: true, schema: true}]}}
  x-other: {get: {}}
components:
  parameters:
    One: {name: one, in: path, required: true, schema: {type: string}}
  schemas:
    Pet:
      type: object
      required: [name, id]
      properties:
        id: {type: integer, readOnly: true}
        name: {type: string, example: Rex}
        tag: {type: string, nullable: true, enum: [a, b]}
        parent: {$ref: "#/components/schemas/Pet"}
        owner: {nullable: true, allOf: [{$ref: "other.yaml#/Owner"}]}
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key}
    inQuery: {type: apiKey, in: query, name: k}
    inCookie: {type: apiKey, in: cookie, name: c}
    basic: {type: http, scheme: basic}
    nothing: {type: http, scheme: bearer}
    oauth: {type: oauth2, flows: {clientCredentials: {tokenUrl: "TOKEN", scopes: {}}}}
    wrong: {type: oauth2, flows: {clientCredentials: {tokenUrl: "TOKEN", scopes: {}}}}
Y
sed -i "s#TOKEN#$at/token#" api.yaml
echo 'Owner: {type: object, properties: {email: {type: string}}, required: [email]}' >other.yaml
cat >tenon.yaml <<Y
plugins:
  config:
    tenon.openapi:
      services:
        echo:
          document: api.yaml
          base_url: "$at/"
          headers: {x-mine: "1"}
          auth: {key: {secret: ECHO_KEY}, inQuery: q&1, inCookie: c1, basic: {user: me, password: "p:w"}, oauth: {client_id: id, client_secret: s3cret&}, wrong: {client_id: id, client_secret: wrong}}
        seen: {document: api.yaml, base_url: "$at", auth: {key: k}, operations: ["te*", none], answer_headers: [link]}
Y
export ECHO_KEY=the-key-itself

# ---- Tools ----
run tenon tool list --json
expect_in out '"echo.get_no-id_x"' && expect_in out '"seen.text"' && expect_not_in out seen.query
run tenon tool show echo.create --json
expect_in out '"$ref":"#/$defs/Pet"' && expect_in out '"required":["name"]' && expect_in out '"enum":["a","b",null]'
expect_not_in out readOnly && expect_in out '"Owner":{"type":"object"'
run tenon tool show echo.create
expect_in out "    body               object, required" && expect_in out "      name             string, required"
run tenon tool show echo.raw --json
expect_in out destructive

# ---- Parameters (OpenAPI 3.0.3, Style Values) ----
call echo.paths '{"one": "a/b ü", "two": ["x", "y"], "three": {"R": 1, "G": "2&"}}'
gives path "/path/a%2Fb%20%C3%BC/.x.y;R=1;G=2%26"
call echo.paths '{"one": "..", "two": [], "three": {}}'
expect_code 1 && expect_in err "is empty, or"
call echo.query '{"plain": "a&b=c +", "many": ["x", "y z"], "number": 3}'
gives query "plain=a%26b%3Dc%20%2B&many=x&many=y%20z&number=3"
call echo.query '{"comma": ["a", "b,c"], "space": ["a", "b"], "pipe": ["a", "b"]}'
gives query "comma=a,b%2Cc&space=a%20b&pipe=a%7Cb"
call echo.query '{"deep": {"R": 100, "G": [1]}, "object": {"r": 1, "g": 2}, "flat": {"r": 1, "g": 2}}'
gives query "deep%5BR%5D=100&deep%5BG%5D=%5B1%5D&r=1&g=2&flat=r,1,g,2"
call echo.query '{"reserved": "a/b?c=d", "json": {"a": [1, "é"]}}'
gives query "reserved=a/b?c=d&json=%7B%22a%22%3A%5B1%2C%22%C3%A9%22%5D%7D"
call echo.query '{"number": 0}'
expect_code 2 && expect_in err "/number"
call echo.query '{"other": 1}'
expect_code 2 && expect_in err "other"
call echo.others '{"X-List": [1, 2], "session": "a b", "id": "q", "id_header": "h"}'
gives query "id=q"
expect_in out '"x-list":"1,2"' && expect_in out '"cookie":"session=a%20b"' && expect_in out '"id":"h"' && expect_in out '"x-mine":"1"'
call echo.others '{"id_header": "a\r\nx-evil: 1"}'
expect_code 1 && expect_in err "more than one line"

# ---- Bodies ----
call echo.create '{"body": {"name": "Rex", "parent": {"name": "Max"}, "owner": null}}'
gives body '{"name":"Rex","parent":{"name":"Max"},"owner":null}'
expect_in out '"content-type":"application/json"'
call echo.create '{"body": {"tag": "c"}}'
expect_code 2 && expect_in err "name"
call echo.create '{}'
expect_code 2 && expect_in err "body"
call echo.form --yes '{"body": {"a": "b&c", "d": [1, "ü"]}}'
gives body "a=b%26c&d=1&d=%C3%BC"
call echo.parts --yes '{"body": {"a": "b", "j": {"x": 1}}}'
expect_in out 'multipart/form-data; boundary=' && expect_in out 'name=\"a\"\r\n\r\nb\r\n' && expect_in out '{\"x\":1}'
call echo.raw --yes '{"body": "aGVsbG8="}'
gives body hello
call echo.raw --yes '{"body": "no base64!"}'
expect_code 1 && expect_in err "no base64"

# ---- Who we are: secrets are not in what is recorded ----
call echo.query '{}' --record recorded
expect_in out '"x-key":"' && ! grep -rq the-key-itself recorded || fails "expected no key in the recording"
kill -STOP $server
call echo.query '{}' --replay recorded
expect_code 0
kill -CONT $server
call echo.free '{}'
expect_not_in out x-key
call echo.either '{}'
expect_in out "\"authorization\":\"Basic $(printf me:p:w | base64)\""
call echo.lacking '{}'
expect_code 1 && expect_in err "give it nothing in tenon.yaml, plugins.config.tenon.openapi.services.echo.auth" && expect_in err "[AUTH]"
call echo.both '{}'
gives query "k=q%261"
expect_in out '"cookie":"c=c1"'
call echo.once '{"n": 1}'
expect_in out '"authorization":"Bearer t2"' # t1 was not taken
call echo.wrong '{}'
expect_code 1 && expect_in err "no token" && expect_not_in err wrong:

# ---- Answers ----
call echo.text '{}'
expect_out grüße
call seen.text '{}'
expect_in out '{"body":"grüße","headers":{"link":"<next>; rel=next"}}'
call echo.bytes '{}'
expect_in out '"media_type":"image/png"'
call echo.none '{}'
expect_out null
call echo.huge '{}'
expect_code 1 && expect_in err "[LIMIT]"
call echo.status '{"code": 404}'
expect_code 1 && expect_in err 'GET /status/{code} answered 404: {"reason":"so","key":"{secret:ECHO_KEY}"} [NOT_FOUND]'
for pair in 400:INVALID_INPUT 401:AUTH 403:PERMISSION_DENIED 409:CONFLICT 418:HTTP_STATUS 429:RATE_LIMITED 503:OVERLOADED 302:HTTP_STATUS; do
    call echo.status "{\"code\": ${pair%:*}}"
    expect_code 1 && expect_in err "[${pair#*:}]"
done

call echo.status '{"code": 302}'
expect_in err "answered 302, and leads to http://elsewhere.example/, which is not followed"

# ---- Names and numbers of operations as nobody should have them ----
printf 'openapi: 3.1.0\nservers: [{url: "http://h"}]\npaths: {/a: {get: {operationId: ""}, post: {operationId: "../.."}, put: null, delete: 3}}' >odd-api.yaml
echo "plugins: {config: {tenon.openapi: {services: {odd: {document: odd-api.yaml}}}}}" >odd.yaml
run tenon tool list -c odd.yaml
expect_code 0 && expect_in out odd.get_a && expect_in out odd.post_a && expect_not_in out odd.put && expect_not_in out odd.delete
python3 -c 'import json; print(json.dumps({"openapi": "3.1.0", "servers": [{"url": "http://h"}], "paths": {f"/p{i}": {"get": {}} for i in range(4097)}}))' >odd-api.yaml
run tenon tool list -c odd.yaml
expect_code 0 && expect_in err "odd: the description has more than 4096 operations" && [ "$(grep -c '^odd\.' "$work/out")" = 4096 ] || fails "expected 4096 tools"

# Few schemas that many operations share: each operation has a copy of them.
python3 - >odd-api.yaml <<'EOF'
import json
names = range(450)
schemas = {f"S{i}": {"properties": {**{f"p{k}": {} for k in range(40)}, "n": {"$ref": f"#/components/schemas/S{(i + 1) % 450}"}}} for i in names}
body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}}
paths = {f"/p{i}": {"post": {"operationId": f"o{i}", "requestBody": body}} for i in range(400)}
print(json.dumps({"openapi": "3.1.0", "servers": [{"url": "http://h"}], "paths": paths, "components": {"schemas": schemas}}))
EOF
run tenon tool list -c odd.yaml
expect_code 0 && expect_in err "the most is 500000: the rest of them (373) is left out; choose some with \`operations\`"
[ "$(grep -c '^odd\.' "$work/out")" = 27 ] || fails "expected 27 tools"
sed -i 's/odd-api.yaml/odd-api.yaml, operations: [o399]/' odd.yaml
run tenon tool list -c odd.yaml
expect_code 0 && expect_in out odd.o399 && expect_not_in err 'left out'

# ---- Wrong descriptions ----
wrong() { # TEXT MESSAGE
    printf '%s' "$1" >wrong-api.yaml
    echo "plugins: {config: {tenon.openapi: {services: {w: {document: wrong-api.yaml}}}}}" >wrong.yaml
    run tenon tool call w.x '{}' -c wrong.yaml
    [ "$code" != 0 ] || fails "expected a failure"
    expect_in err "$2"
}
wrong '' 'wrong-api.yaml: it is empty'
wrong '[1' 'wrong-api.yaml:2:'
wrong '{"swagger": "2.0"}' 'found version 2.0 (Swagger), expected an OpenAPI description with `openapi: 3.0.x` or `3.1.x`; convert it first'
wrong 'openapi: 2.5.0' 'expected an OpenAPI description'
wrong 'openapi: 3.1.0' 'names no server'
wrong '{openapi: 3.1.0, servers: [{url: /v1}]}' 'names a server without its host'
wrong '{openapi: 3.1.0, servers: [{url: "http://h"}]}' 'no operation of the description is a tool'
wrong '{openapi: 3.1.0, servers: [{url: "http://h"}], paths: {/a: {get: {parameters: [{$ref: "#/nowhere"}]}}}}' 'the reference `#/nowhere` leads nowhere'
wrong '{openapi: 3.1.0, servers: [{url: "http://h"}], paths: {/a: {$ref: "#/paths/~1a"}}}' 'no operation'
wrong '{openapi: 3.1.0, servers: [{url: "http://h"}], paths: {/a: {get: {parameters: [{name: x, in: body}]}}}}' 'GET /a is left out: a parameter has no'
wrong '{openapi: 3.1.0, servers: [{url: "http://h"}], paths: {/a: {get: {parameters: [{name: x, in: query, schema: {type: 3}}]}}}}' 'w: GET /a is left out: as the tool `w.get_a` it is refused'
wrong '{openapi: 3.1.0, servers: [{url: "http://h"}], paths: {/a: {get: {parameters: [{$ref: "#/nowhere"}]}}}}' 'w: GET /a is left out: what is to be a parameter'
# An operation costs itself alone, by what it takes; what it answers costs nothing.
cat >wrong-api.yaml <<Y
openapi: 3.1.0
servers: [{url: "$at/v1"}]
paths:
  /text:
    get:
      operationId: text
      responses:
        200: {description: ok, content: {application/json: {schema: {type: nonsense, pattern: "[", \$ref: "#/nowhere"}}}}
        404: {\$ref: "#/components/responses/None"}
  /pattern: {get: {operationId: pattern, parameters: [{name: q, in: query, schema: {type: string, pattern: "["}}]}}
  /body: {post: {operationId: body, requestBody: {\$ref: "#/components/requestBodies/None"}}}
  /loose: {get: {operationId: loose, parameters: [{name: q, in: query, schema: {\$ref: "#/components/schemas/None"}}]}}
Y
run tenon tool list -c wrong.yaml
expect_code 0 && expect_in out "w.text " && expect_in out "w.loose " && expect_not_in out "w.pattern" && expect_not_in out "w.body"
expect_in err 'w: GET /pattern is left out: as the tool `w.pattern` it is refused' && expect_in err '`[` is not closed'
expect_in err 'w: POST /body is left out: what is to be its body is a reference that leads nowhere'
[ "$(grep -c 'is left out' "$work/err")" = 2 ] || fails "expected two operations to be left out"
run tenon tool call w.text '{}' -c wrong.yaml
expect_code 0
sed "s#inQuery: q&1#nobody: x#" tenon.yaml >wrong.yaml
run tenon tool call echo.text '{}' -c wrong.yaml
expect_in err 'auth.nobody: the description has no security scheme of that name'

# ---- A service and descriptions that are somebody else's: it refuses what does not fit them ----
[ "${TENON_NPM:-}" != off ] || skips "the rest: TENON_NPM=off"
command -v npm >/dev/null || skips "the rest: there is no npm"
mkdir -p "$BINARY/npm-prism"
[ -e "$BINARY/npm-prism/node_modules/@stoplight/prism-cli" ] ||
    timeout 180 npm install --silent --no-audit --no-fund --prefix "$BINARY/npm-prism" @stoplight/prism-cli@5 @readme/oas-examples >npm.log 2>&1 ||
    skips "the rest: prism cannot be had from npm"
examples=$BINARY/npm-prism/node_modules/@readme/oas-examples
serve() { # DESCRIPTION
    "$BINARY/npm-prism/node_modules/.bin/prism" mock -p 0 --errors "$1" >prism.log 2>&1 &
    prism=$!
    for _ in $(seq 300); do grep -q 'listening on' prism.log && break; sleep 0.1; done
    there=$(sed -n 's/.*listening on \(http[^ ]*\).*/\1/p' prism.log | head -1 | sed 's/\x1b\[[0-9;]*m//g')
}
trap 'kill $server $prism 2>/dev/null || true; chmod -R u+w "$work"; rm -rf "$work"' EXIT
for version in 3.0 3.1; do
    serve "$examples/$version/json/petstore.json"
    echo "plugins: {config: {tenon.openapi: {services: {pets: {document: \"$examples/$version/json/petstore.json\", base_url: \"$there\", auth: {api_key: special, petstore_auth: token}}}}}}" >tenon.yaml
    call pets.getPetById '{"petId": 3}'
    expect_code 0 && expect_in out '"name":'
    call pets.findPetsByStatus '{"status": ["sold", "pending"]}'
    expect_code 0 && expect_in out '['
    call pets.placeOrder '{"body": {"petId": 3, "quantity": 1, "status": "placed"}}'
    expect_code 0 && expect_in out '"quantity"'
    upload='{"additionalMetadata": "x"}' # a form; in the newer one bytes
    [ $version = 3.0 ] || upload='"aGVsbG8="'
    call pets.uploadFile "{\"petId\": 3, \"body\": $upload}"
    expect_code 0 && expect_in out '"message"'
    call pets.loginUser '{"username": "a b", "password": "c"}'
    expect_code 0
    kill $prism
done
serve "$examples/3.1/json/train-travel.json"
echo "plugins: {config: {tenon.openapi: {services: {trains: {document: \"$examples/3.1/json/train-travel.json\", base_url: \"$there\", auth: {OAuth2: token}}}}}}" >tenon.yaml
call trains.get-trips '{"origin": "efdbb9d1-02c2-4bc3-afb7-6788d8782b1e", "destination": "b2e783e1-c824-4d63-b37a-d8d698862f1d", "date": "2024-02-01T09:00:00Z"}'
expect_code 0 && expect_in out '"data"'
call trains.create-booking '{"body": {"trip_id": "efdbb9d1-02c2-4bc3-afb7-6788d8782b1e", "passenger_name": "Ada"}}'
expect_code 0
