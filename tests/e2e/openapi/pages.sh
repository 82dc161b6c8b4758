# Pages of a result, as the description declares them.
cat >pages.yaml <<'Y'
openapi: 3.1.0
info: {title: Pages, version: "1"}
security: [{inQuery: []}]
paths:
  /pages/header: {get: {operationId: header, responses: {200: {$ref: "#/components/responses/Linked"}}}}
  /pages/elsewhere: {get: {operationId: elsewhere, responses: {200: {$ref: "#/components/responses/Linked"}}}}
  /pages/same: {get: {operationId: same, responses: {200: {$ref: "#/components/responses/Linked"}}}}
  /pages/cursor:
    get:
      operationId: list/cursor
      parameters: [{name: at, in: query, schema: {type: string}}, {name: size, in: query, schema: {type: integer}}]
      responses:
        200:
          description: ok
          links:
            self: {operationId: other, parameters: {at: "$response.body#/meta/next"}}
            next: {operationId: list/cursor, parameters: {query.at: "$response.body#/meta/next", size: "$request.query.size"}}
  /pages/url: {get: {operationId: url, x-ms-pageable: {nextLinkName: nextLink, itemName: value}}}
  /pages/broken: {get: {operationId: broken, x-speakeasy-pagination: {type: url, outputs: {nextUrl: $.more}}}}
  /pages/x: {get: {operationId: plain, responses: {200: {$ref: "#/nowhere"}}}, post: {operationId: post, responses: {200: {$ref: "#/components/responses/Linked"}}}}
  /pages/cursor/: {get: {operationId: speakeasy, parameters: [{name: at, in: query}], x-speakeasy-pagination: {type: cursor, inputs: [{name: at, in: parameters, type: cursor}], outputs: {nextCursor: $.meta.next, results: $.items}}}}
  /pages/cursor/f: {get: {operationId: fern, parameters: [{name: at, in: query}], x-fern-pagination: {cursor: $request.at, next_cursor: $response.meta.next, results: $response.items}}}
components:
  responses: {Linked: {description: ok, headers: {Link: {schema: {type: string}}}}}
  securitySchemes: {inQuery: {type: apiKey, in: query, name: k}}
Y
cat >tenon.yaml <<Y
plugins: {config: {tenon.openapi: {services: {p: {document: pages.yaml, base_url: "$at", auth: {inQuery: q&1}}, small: {document: pages.yaml, base_url: "$at", auth: {inQuery: k}, max_bytes: 130}}}}}
Y
run tenon tool list
expect_code 0 && expect_not_in err nowhere
for name in plain post; do
    run tenon tool show p.$name
    expect_not_in out max_pages
done
call p.header '{"max_pages": 9}'
expect_out '{"items":[0,1,2,3,4,5,6,7,8,9],"pages":5,"more":false}'
call p.header '{"max_pages": 2}'
expect_out '{"items":[0,1,2,3],"pages":2,"more":true}'
call p.header '{}'
expect_out '[0,1]'
call p.header '{"max_pages": 101}'
expect_code 2
# A page at another origin is not requested, and a page that refers to itself is the last one.
call p.elsewhere '{"max_pages": 9}'
expect_out '{"items":[0,1],"pages":1,"more":true}'
call p.same '{"max_pages": 9}'
expect_out '{"items":[0,1],"pages":1,"more":false}'
# Parameters of a link.
call p.list_cursor '{"max_pages": 2, "size": 7}'
expect_out '{"items":[0,1,2,3],"pages":2,"more":true}'
call p.list_cursor '{"max_pages": 9, "at": "3"}'
expect_out '{"items":[6,7,8,9],"pages":2,"more":false}'
for name in speakeasy fern; do
    call p.$name '{"max_pages": 9}'
    expect_out '{"items":[0,1,2,3,4,5,6,7,8,9],"pages":5,"more":false}'
done
call p.url '{"max_pages": 3}'
expect_out '{"items":[0,1,2,3,4,5],"pages":3,"more":true}'
call p.broken '{"max_pages": 2}'
expect_in out '{"bodies":[{"more":"http' && expect_in out '"pages":2,"more":true}'
[ "$(grep -o '"key":"q&1"' "$work/out" | wc -l)" = 2 ] || fails "expected the credentials in the query of both pages"
call p.broken '{"max_pages": 3}'
expect_code 1 && expect_in err 'answered 503: not now' # no incomplete list
# All pages of a call have at most max_bytes.
call small.list_cursor '{"max_pages": 9}'
expect_out '{"items":[0,1],"pages":1,"more":true}'
run tenon tool call p.url '{"max_pages": 2}' --record recorded
expect_code 0
kill -STOP "${servers[0]}"
run tenon tool call p.url '{"max_pages": 2}' --replay recorded
expect_out '{"items":[0,1,2,3],"pages":2,"more":true}'
kill -CONT "${servers[0]}"
