# Shared by the tests of plugins/openapi: a server that echoes requests, and a description of it.
command -v python3 >/dev/null || skips "python3 is not installed"
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
server_start port openapi_server.py
at=http://127.0.0.1:$port
call() { run tenon tool call "$@"; }
# sent MEMBER TEXT: fails unless this member of the request was TEXT
sent() {
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
