# `tenon serve FILE…`: what is served, where, and for which keys, with a protocol of this test (tests/serve/whoami.c).
# tests/e2e/key.sh tests the commands for keys.
[ -e "$BINARY/lib/tenon/plugins/serve.so" ] || skips "built without the HTTP server"
[ -e "$BINARY/lib/tenon/plugins/sqlite.so" ] || skips "built without the SQLite store"
whoami=$BINARY/tests/serve/whoami.so

document() { # NAME FILE
    printf 'version: "1.0"\nagent: {name: %s}\nchannels: [{name: name, type: last_value}]\nnodes: [{id: a, type: set, config: {values: {name: "1"}}}]\nedges: [{from: START, to: a}, {from: a, to: END}]\n' "$1" >"$2"
}
mkdir docs
document hello hello.yaml
document plan docs/plan.yaml
document '"A b"' "docs/stem.yaml"
document '"A b"' "docs/a b.yaml"
document hello docs/other.yaml
echo 'version: "1.0"' >docs/broken.yaml
settings() { # MORE_OF_SERVE [MORE_OF_PLUGINS]
    printf 'store: sqlite\nplugins: {path: %s, drafts: test.whoami%s}\nserve: {protocols: [whoami]%s}\n' "$whoami" "${2:-}" "$1" >tenon.yaml
}

web_start() { # OPTION…: $web is its address
    serve_start web "$@"
    web=$address
}
ask() { # PATH KEY: $work/out is the body, and then the status
    run curl -sS --max-time 60 -w '\n%{http_code}' -H "Authorization: Bearer $2" "$web$1"
}
expect_status() { [ "$(tail -n 1 "$work/out")" = "$1" ] || fails "expected the status $1"; }
refuses() { # CODE TEXT ARGUMENT…
    run timeout 60 "$TENON" serve "${@:3}"
    expect_code "$1" && expect_in err "$2"
}

# ---- What cannot be served ----
settings ''
refuses 2 'docs/other.yaml: the graph `hello` is served already, from ' hello.yaml docs/other.yaml --port 0
refuses 2 'docs/a b.yaml: neither `agent.name` nor the name of the file can be the name of a graph' "docs/a b.yaml" --port 0
refuses 3 'docs/broken.yaml:1:1: error' hello.yaml docs/broken.yaml --port 0
refuses 2 'none.yaml' none.yaml --port 0
refuses 2 'name a file, not `-`' - --port 0
refuses 2 'graph:hello' graph:hello
for port in -1 65536 x; do refuses 2 --port hello.yaml --port "$port"; done
refuses 2 '--address localhost: expected an IP address' hello.yaml --address localhost
refuses 2 '--mode is for clients of a socket; expected --socket PATH' hello.yaml --mode 0660
refuses 2 'other machines can reach 0.0.0.0, so it needs TLS' hello.yaml --address 0.0.0.0 --port 0
refuses 2 "so it needs TLS" hello.yaml --address :: --port 0
settings ', tls: false, address: 0.0.0.0'
refuses 2 'so clients need a key: create one with `tenon key create NAME`' hello.yaml --port 0
settings ', tls: {certificate: none.pem, key: none.key}'
refuses 2 'serve.tls.certificate: ' hello.yaml --port 0
settings ', graphs: {bad: docs/broken.yaml}'
refuses 3 'docs/broken.yaml:1:1: error'
settings ', protocols: [whoamI]'
sed -i 's/protocols: \[whoami\], //' tenon.yaml
refuses 4 'no plugin `whoamI` serves a protocol' hello.yaml --port 0
run tenon doctor
expect_code 4 && expect_in out 'serve.protocols: no plugin `whoamI` serves a protocol' && expect_in out 'did you mean `whoami`?'
settings ', use: apache'
refuses 4 '`serve.use` in tenon.yaml is `apache`' hello.yaml --port 0

# ---- A host without keys generates one ----
settings ', graphs: {first: docs/plan.yaml}'
web_start hello.yaml "docs/stem.yaml" --port 0 --socket u
grep -q "^tenon: $web serves first, hello, stem by test.whoami$" web.err || fails "expected what is served: $(cat web.err)"
generated=$(sed -n 's/^tenon: key \(tn_[^ ]*\) .*/\1/p' web.err)
ask /whoami "$generated"
expect_status 200 && expect_in out '"name":"generated"' && expect_in out '"owner":"local"' && expect_in out '"scope":"run"'
for wrong in '' tn_x "${generated%?}" "${generated}x"; do
    ask /whoami "$wrong"
    expect_status 401 && expect_not_in out caller
done
ask /graphs "$generated"
expect_status 200
python3 - "$work/out" <<'PYTHON' || fails "the graphs are wrong"
import json, sys
graphs = json.loads(open(sys.argv[1]).read().rsplit("\n", 1)[0])["graphs"]
assert [(g["name"], g["document"], g["title"]) for g in graphs] == [
    ("first", "graph:first", "plan"), ("hello", "graph:hello", "hello"), ("stem", "graph:stem", "A b")], graphs
assert graphs[0]["channels"] == [{"name": "name", "type": "last_value"}], graphs
PYTHON

# ---- A document that changes is read again; its mistakes show no path of this machine ----
cp docs/broken.yaml docs/plan.yaml
ask /graphs "$generated"
expect_status 200 && expect_in out '"error":' && expect_not_in out "$PWD"
document plan docs/plan.yaml

# ---- Keys are noticed within a second, also those that are revoked ----
run tenon key create alice --scope read
alice=$(cat "$work/out")
answers() { ask "$2" "$3" && [ "$(tail -n 1 "$work/out")" = "$1" ]; }
wait_until answers 200 /whoami "$alice"
expect_in out '"owner":"alice"' && expect_in out '"scope":"read"'
run tenon key revoke alice
wait_until answers 401 /whoami "$alice"
ask /whoami "$generated"
expect_status 200
grep -qF -e "$alice" -e "${generated#tn_}\"" web.err && fails "the access log has a key"

# ---- A new build of a protocol takes over the routes of the old one, while that still exists ----
cp "$whoami" whoami2.so
for build in "$PWD/whoami2.so" "$whoami"; do
    run tenon plugin upgrade "$build" --connect u
    expect_code 0
    ask /whoami "$generated"
    expect_status 200 && expect_in out '"owner":"local"'
done

# ---- SIGTERM ends streams, and then the host; a service manager is informed ----
: >slow.head
curl -sSN -D slow.head "$web/slow" >slow.out 2>slow.err &
slow=$!
wait_until grep -q text/event-stream slow.head
serve_stop
expect_ended "$slow" "the stream did not end"
wait "$slow" || fails "expected a complete response: $(cat slow.err)"
[ "$code" = 0 ] || fails "expected exit status 0"

# ---- Other machines: with a key, behind a proxy; a socket beside it; a service manager ----
settings ', tls: false, log: false' ', isolation: {tenon.sqlite: process}'
run tenon key create bob
bob=$(cat "$work/out")
python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("notify"); print("bound", flush=True); s.settimeout(60)
for _ in range(2): print(s.recv(100).decode(), flush=True)' >notified &
servers+=("$!")
wait_until grep -q bound notified
NOTIFY_SOCKET=$PWD/notify web_start hello.yaml --address 0.0.0.0 --port 0 --socket s --loops 2
wait_until grep -q READY=1 notified
grep -q 'tenon: key' web.err && fails "a key was generated"
web=${web/0.0.0.0/127.0.0.1}
ask /whoami "$bob"
expect_status 200 && expect_in out '"owner":"bob"'
grep -q '"status"' web.err && fails "an access log with \`log: false\`"
# While the store does not answer, and after it has failed, the keys that were known stay valid; then changes are noticed.
store=$(pgrep -P "$host" | head -n 1)
kill -STOP "$store"
ask /whoami "$bob"
expect_status 200
kill -KILL "$store"
ask /whoami "$bob"
expect_status 200
run tenon key create dora
dora=$(cat "$work/out")
wait_until answers 200 /whoami "$dora"
ask /whoami "$bob"
expect_status 200
run tenon run graph:hello --connect s
expect_code 0 && expect_in out '{"name":1}'
serve_stop
wait_until grep -q STOPPING=1 notified

# ---- TLS; the access log in a file, which SIGHUP opens again; proxies that are trusted, and others ----
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -keyout host.key -out host.pem -days 2 2>/dev/null
settings ', tls: {certificate: host.pem, key: host.key}, log: access.jsonl, graphs: {plan: docs/plan.yaml}, port: 0, trusted_proxies: [127.0.0.2, 10.0.0.0/8, "::1"]'
web_start
forward() { # FROM CLIENTS: a request that a proxy with the address FROM could have forwarded
    run curl -sS --cacert host.pem --interface "$1" --resolve "localhost:${web##*:}:127.0.0.1" -H "x-api-key: $bob" -H "X-Forwarded-For: $2" \
        -H "X-Request-Id: from-$1" "https://localhost:${web##*:}/whoami"
    expect_in out '"owner":"bob"'
    wait_until grep -q "from-$1" access.jsonl
}
forward 127.0.0.2 '192.0.2.1, 203.0.113.7, 10.1.2.3'
forward 127.0.0.3 203.0.113.9
grep -q '"id":"from-127.0.0.2","address":"203.0.113.7",' access.jsonl || fails "the log does not have the client: $(cat access.jsonl)"
grep -q '"id":"from-127.0.0.3","address":"127.0.0.3:' access.jsonl || fails "a header was believed: $(cat access.jsonl)"
grep -q "^tenon: https://127.0.0.1:[0-9]* serves plan by test.whoami$" web.err || fails "expected https: $(cat web.err)"
run curl -sS --cacert host.pem --resolve "localhost:${web##*:}:127.0.0.1" -H "x-api-key: $bob" "https://localhost:${web##*:}/whoami"
expect_in out '"owner":"bob"'
wait_until grep -q '"path":"/whoami"' access.jsonl
mv access.jsonl old.jsonl
kill -HUP "$host"
wait_until test -e access.jsonl
serve_stop
[ "$code" = 0 ] || fails "expected exit status 0"
