# Descriptions with mistakes: the messages, and which operations are left out.
wrong() { # TEXT MESSAGE
    printf '%s' "$1" >wrong-api.yaml
    echo "plugins: {config: {tenon.openapi: {services: {w: {document: wrong-api.yaml}}}}}" >wrong.yaml
    run tenon tool call w.x '{}' -c wrong.yaml
    expect_code 2
    expect_in err "$2"
}
wrong '' 'wrong-api.yaml: the file is empty'
wrong '[1' 'wrong-api.yaml:2:'
wrong '{"swagger": "2.0"}' 'found version 2.0 (Swagger), expected an OpenAPI description with `openapi: 3.0.x` or `3.1.x`; convert it first'
wrong 'openapi: 2.5.0' 'expected an OpenAPI description'
wrong 'openapi: 3.1.0' 'has no server'
wrong '{openapi: 3.1.0, servers: [{url: /v1}]}' 'has a server without a host'
wrong '{openapi: 3.1.0, servers: [{url: "http://h"}]}' 'no operation of the description is a tool'
wrong '{openapi: 3.1.0, servers: [{url: "http://h"}], paths: {/a: {get: {parameters: [{$ref: "#/nowhere"}]}}}}' 'the reference `#/nowhere` has no target'
wrong '{openapi: 3.1.0, servers: [{url: "http://h"}], paths: {/a: {$ref: "#/paths/~1a"}}}' 'no operation'
wrong '{openapi: 3.1.0, servers: [{url: "http://h"}], paths: {/a: {get: {parameters: [{name: x, in: body}]}}}}' 'GET /a is left out: a parameter has no'
wrong '{openapi: 3.1.0, servers: [{url: "http://h"}], paths: {/a: {get: {parameters: [{name: x, in: query, schema: {type: 3}}]}}}}' 'w: GET /a is left out: the host rejected the tool `w.get_a`'
wrong '{openapi: 3.1.0, servers: [{url: "http://h"}], paths: {/a: {get: {parameters: [{$ref: "#/nowhere"}]}}}}' 'w: GET /a is left out: a parameter is a reference without a target'
# References lead to regular files below the folder of the description, or below reference_root.
mkdir -p spec/in && mkfifo spec/fifo && echo '{X: {type: integer, description: inner}}' >spec/in/x.yaml && echo '{X: {type: integer, description: outer}}' >outer.yaml && ln -s ../outer.yaml spec/link.yaml
for ref in in/x.yaml ../outer.yaml "$PWD/outer.yaml" link.yaml fifo; do
    echo "{openapi: 3.1.0, servers: [{url: \"http://h\"}], paths: {/a: {get: {parameters: [{name: x, in: query, schema: {\$ref: \"$ref#/X\"}}]}}}}" >spec/api.yaml
    echo "plugins: {config: {tenon.openapi: {services: {w: {document: spec/api.yaml}}}}}" >refs.yaml
    run timeout 20 "$TENON" tool show w.get_a -c refs.yaml
    expect_code 0 && expect_not_in out outer
    case $ref in
    in/*) expect_in out inner ;;
    fifo) expect_in err "found no regular file" ;;
    *) expect_in err "leads out of the folder of the description; \`reference_root\`" ;;
    esac
    sed -i 's#spec/api.yaml#&, reference_root: .#' refs.yaml
    run timeout 20 "$TENON" tool show w.get_a -c refs.yaml
    case $ref in in/* | fifo) ;; *) expect_in out outer ;; esac
done
# An operation with an invalid parameter is left out; an invalid schema of a response does not matter.
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
expect_in err 'w: GET /pattern is left out: the host rejected the tool `w.pattern`' && expect_in err '`[` is not closed'
expect_in err 'w: POST /body is left out: the request body is a reference without a target'
[ "$(grep -c 'is left out' "$work/err")" = 2 ] || fails "expected two operations to be left out"
run tenon tool call w.text '{}' -c wrong.yaml
expect_code 0
sed "s#inQuery: q&1#nobody: x#" tenon.yaml >wrong.yaml
run tenon tool call echo.text '{}' -c wrong.yaml
expect_in err 'auth.nobody: the description has no security scheme of that name'
