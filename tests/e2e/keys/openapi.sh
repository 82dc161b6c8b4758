# Operations of a service get the key. A parameter of that name is the host's, not the model's.
command -v python3 >/dev/null || skips "python3 is not installed"
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
server_start port openapi_server.py
cat >api.yaml <<Y
openapi: 3.1.0
info: {title: Bank, version: "1"}
servers: [{url: "http://127.0.0.1:$port"}]
paths:
  /payments:
    get: {operationId: list, responses: {200: {description: ok}}}
    post:
      operationId: pay
      parameters: [{name: Idempotency-Key, in: header, required: true, schema: {type: string}}, {name: sum, in: query, schema: {type: integer}}]
      responses: {200: {description: ok}}
    delete: {operationId: remove, responses: {200: {description: ok}}}
Y
cat >>tenon.yaml <<'Y'
plugins:
  config:
    tenon.openapi:
      services:
        bank: {document: api.yaml}
        other: {document: api.yaml, idempotency_header: X-Request-Id}
        off: {document: api.yaml, idempotency_header: false}
        set: {document: api.yaml, headers: {idempotency-key: fixed}}
Y
header() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["headers"].get(sys.argv[2], "-"))' "$work/out" "$1"; }
called() { run tenon tool call --yes "$@"; expect_code 0; }
for call in 1 2; do
    called bank.pay --set sum=5
    all+=("$(header idempotency-key)")
done
called bank.remove
all+=("$(header idempotency-key)")
called other.remove
all+=("$(header x-request-id)")
expect_different "${all[@]}"
called bank.pay --idempotency-key order-17
[ "$(header idempotency-key)" = order-17 ] || fails "expected the given key"
called set.pay
[ "$(header idempotency-key)" = fixed ] || fails "the operator's header was replaced"
for tool in bank.list off.remove; do
    called $tool
    [ "$(header idempotency-key)" = - ] || fails "$tool sent a key"
done
run tenon tool show bank.pay
expect_in out "sum  " && expect_not_in out "Idempotency-Key"
# Switched off, the parameter is an argument again.
run tenon tool show off.pay
expect_in out "Idempotency-Key"
