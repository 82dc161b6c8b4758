# HTTP tools send the key with requests that can change something; the header has a name, or is switched off.
command -v python3 >/dev/null || skips "python3 is not installed"
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
server_start port openapi_server.py
cat >>tenon.yaml <<Y
plugins:
  config:
    tenon.define:
      tools:
        - {name: post, http: {url: "http://127.0.0.1:$port/post", json: {sum: 5}}}
        - {name: text, http: {url: "http://127.0.0.1:$port/text2", body: hello}}
        - {name: put, http: {url: "http://127.0.0.1:$port/put", method: PUT}}
        - {name: delete, http: {url: "http://127.0.0.1:$port/delete", method: DELETE}}
        - {name: get, http: {url: "http://127.0.0.1:$port/get"}}
        - {name: named, http: {url: "http://127.0.0.1:$port/named", method: POST, idempotency_header: X-Request-Id}}
        - {name: own, http: {url: "http://127.0.0.1:$port/own", method: POST, headers: {idempotency-key: "mine-{n}"}}}
        - {name: off, http: {url: "http://127.0.0.1:$port/off", method: POST, idempotency_header: false}}
        - {name: alias, tool: post}
Y
# header NAME: prints the value of the header of the request that the server received
header() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["headers"].get(sys.argv[2], "-"))' "$work/out" "$1"; }
called() { run tenon tool call --yes "$@"; expect_code 0; }

# Each call has a new key.
for tool in post post text put delete; do
    called $tool
    all+=("$(header idempotency-key)")
done
called named
[ "$(header idempotency-key)" = - ] || fails "the header has another name"
all+=("$(header x-request-id)")
expect_different "${all[@]}"
for tool in get off; do
    called $tool
    [ "$(header idempotency-key)" = - ] || fails "$tool sent a key"
done
called own '{"n": 1}'
[ "$(header idempotency-key)" = mine-1 ] || fails "the description's own header was replaced"

# A given key is sent as it is; what the tool itself calls derives from it.
called post --idempotency-key order-17
[ "$(header idempotency-key)" = order-17 ] || fails "expected the given key; it is $(header idempotency-key)"
called alias --idempotency-key order-17
[ "$(header idempotency-key)" = order-17.0 ] || fails "expected a key of the given one; it is $(header idempotency-key)"
for wrong in '' 'a b' "$(printf 'x%.0s' {1..65})"; do
    run tenon tool call post --yes --idempotency-key "$wrong"
    expect_code 2 && expect_in err "expected 1 to 64 letters, digits"
done

# A recording is found although each call has another key.
called post --record recorded
recorded=$(header idempotency-key)
servers_stop
called post --replay recorded
[ "$(header idempotency-key)" = "$recorded" ] || fails "expected the recorded answer"
