# Redirects: to the service's own host, to hosts that tenon.yaml lists, and to no other.
server_start other_port openapi_server.py
other=http://127.0.0.1:$port
cat >moved.yaml <<'Y'
openapi: 3.1.0
info: {title: Moved, version: "1"}
security: [{key: []}]
paths:
  /to/{status}/{target}:
    parameters: [{name: status, in: path, required: true, schema: {type: integer}}, {name: target, in: path, required: true, schema: {type: string}}]
    get: {operationId: get}
    head: {operationId: head}
    post: {operationId: post, requestBody: {content: {application/json: {schema: {type: object}}}}}
components: {securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}}
Y
cat >tenon.yaml <<Y
plugins:
  config:
    tenon.openapi:
      services:
        m: {document: moved.yaml, base_url: "$at", auth: {key: {secret: ECHO_KEY}}, headers: {x-mine: "1"}}
        n: {document: moved.yaml, base_url: "$at", auth: {key: {secret: ECHO_KEY}}, headers: {x-mine: "1"}, redirect_hosts: ["${other#http://}", "*.example.org"]}
Y
follow() { run tenon tool call --yes "$1" "{\"status\": $2, \"target\": \"$3\"${4:+, $4}}"; }
for status in 301 302 303 307 308; do
    follow m.get $status /echo/a?b=1
    expect_in out '{"method":"GET","path":"/echo/a","query":"b=1",' && expect_in out '"x-key":' && expect_in out '"x-mine":"1"'
done
follow m.get 302 "../../x/./y#f"
expect_in out '"path":"/x/y"' # relative to the address that was requested, /to/302/…
follow m.get 302 "$at/to/302//echo" # twice
expect_code 0
# Methods with a body: repeated only after 307 and 308; after 303 the result is fetched.
follow m.post 307 /echo '"body": {"a": 1}'
expect_in out '"method":"POST"' && expect_in out '"body":"{\"a\":1}"' && expect_in out '"content-type":"application/json"'
follow m.post 303 /echo '"body": {"a": 1}'
expect_in out '"method":"GET"' && expect_in out '"body":""' && expect_not_in out content-type
for status in 301 302; do
    follow m.post $status /echo '"body": {"a": 1}'
    expect_code 1 && expect_in err "answered $status with a redirect to /echo, which is not followed, because only GET and HEAD are repeated"
done
# Other hosts: only those that the operator lists, and without credentials.
follow m.get 302 "$other/echo"
expect_code 1 && expect_in err "which is not followed, because \`redirect_hosts\` of the service does not list its host"
follow n.get 302 "$other/echo"
expect_in out '"path":"/echo"' && expect_not_in out x-key && expect_not_in out x-mine && expect_not_in out the-key-itself && expect_in out '"accept":'
follow n.post 308 "$other/echo" '"body": {"a": 1}'
expect_in out '"body":"{\"a\":1}"' && expect_not_in out x-key && expect_not_in out idempotency && expect_in out '"content-type":"application/json"'
follow n.get 302 "http://example.org.attacker.example/"
expect_code 1 && expect_in err 'does not list its host'
follow n.get 302 "http://127.0.0.1@attacker.example/"
expect_code 1 && expect_in err 'it is not a URL of http or https'
follow n.get 302 "file:///etc/passwd"
expect_code 1 && expect_in err 'it is not a URL of http or https'
run tenon tool show n.get --json
expect_in out "\"network.http:${other#http://}\",\"network.http:*.example.org\""
# A circle ends.
sed -i "s#base_url: \"$at\"#base_url: \"$at/circle\"#" tenon.yaml
follow m.get 302 x
expect_code 1 && expect_in err 'answered 302 with a redirect to' && expect_in err 'the call has followed 10 redirects, which is the limit'
