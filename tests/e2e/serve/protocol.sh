# A protocol that is a plugin by another author (sdk/examples/serve.c), in the host's process and isolated, asked with curl.
command -v curl >/dev/null || skips "curl is not installed"
[ -e "$BINARY/lib/tenon/plugins/serve.so" ] || skips "built without the HTTP server"
"$CC" -std=c11 -shared -fPIC -fvisibility=hidden -I"$SOURCE/sdk/include" -o events.so "$SOURCE/sdk/examples/serve.c" ||
    fails "the example does not compile"
cp "$SOURCE/samples/hello/hello.yaml" .
cat >tenon.yaml <<'YAML'
serve: {protocols: [acme.events], log: ./access.log}
YAML
key() { "$TENON" key create "$@" 2>/dev/null | grep -o 'tn_[A-Za-z0-9_-]*' | head -1; }
ada=$(key ada) bob=$(key bob) reader=$(key reader --scope read)
[ -n "$ada" ] && [ -n "$bob" ] && [ -n "$reader" ] || fails "no keys"

# ask PATH [OPTION…]: the status is the last line of the output
ask() { run curl -sN -m 50 -w '\n%{http_code}' "${@:2}" "$url$1"; }
expect_status() { [ "$(tail -n 1 "$work/out")" = "$1" ] || fails "expected the status $1"; }

host_start() { # OPTION…: $url is its address
    serve_start host hello.yaml hours.yaml --port 0 --plugins ./events.so --allow-drafts --drain 1 "$@"
    url=$address
}
for isolate in "" "--isolate=acme.events"; do
    host_start $isolate
    ask /healthz && expect_status 200
    ask /readyz && expect_status 200
    ask / && expect_in out '"plugin":"acme.events"' && expect_in out '"path":"/acme/{graph}"'

    # ---- A run, and its events ----
    ask /acme/hello -H "x-api-key: $ada" -H 'content-type: application/json' -d '{"name": "Ada"}'
    expect_status 200 && expect_in out 'event: run/ended' && expect_in out '"greeting":"Hello, Ada!' && expect_in out '"run_id":"@ada:'
    ask /acme/none -H "authorization: Bearer $ada" -X POST
    expect_status 400 && expect_in out '"code":"NOT_FOUND"'

    # ---- What the host refuses ----
    ask /acme/hello -X POST
    expect_status 401 && expect_in out '"code":"UNAUTHORIZED"'
    ask "/acme/hello?key=$ada" -X POST
    expect_status 401 && expect_in out 'URL'
    ask /acme/hello -X POST -H "x-api-key: $reader"
    expect_status 403
    ask /acme/hello -H "x-api-key: $ada"
    expect_status 405
    ask /acme/hello -H "x-api-key: $ada" -d x=1
    expect_status 415
    ask /acme/hello -H "x-api-key: $ada" -H 'content-type: application/json' -d '{'
    expect_status 400 && expect_in out '"code":"INVALID_JSON"'
    head -c 1100000 /dev/zero >large
    ask /acme/hello -H "x-api-key: $ada" -H 'content-type: application/json' --data-binary @large
    expect_status 413
    ask /acme/hello -X POST -H "x-api-key: $ada" -H 'host: evil.example'
    expect_status 403
    ask /acme/hello -X POST -H "x-api-key: $ada" -H 'origin: https://evil.example'
    expect_status 403

    # ---- The process of the plugin ends, and is started again ----
    if [ -n "$isolate" ]; then
        child=$(tr ' ' '\n' <"/proc/$host/task/$host/children" | head -n 1)
        [ -n "$child" ] || fails "no process of the plugin"
        kill -KILL "$child"
        wait_until eval 'ask /acme/hello -X POST -H "x-api-key: $ada"; [ "$(tail -n 1 "$work/out")" != 404 ] || fails "expected 503"; grep -q Hello "$work/out"'
    fi

    # ---- The end: an open stream is ended by the plugin ----
    rm -f stream.head
    curl -sN -m 50 -D stream.head -X POST -H "x-api-key: $bob" "$url/acme/hours" >stream.out 2>stream.err &
    stream=$!
    wait_until grep -qs "^HTTP/1.1 200" stream.head
    serve_stop
    wait "$stream" || fails "the stream was cut"
done

# ---- The log ----
grep -q '"key":"ada","method":"POST","route":"/acme/{graph}","path":"/acme/hello","status":200' access.log || fails "the access log"
! grep -qE 'tn_|key=' access.log || fails "the access log has a key"
[ "$(stat -c %a access.log)" = 640 ] || fails "the mode of the access log"

# ---- A key is revoked while the host serves ----
host_start
ask /acme/hello -X POST -H "x-api-key: $bob"
expect_status 200
run tenon key revoke bob
expect_code 0
wait_until eval 'ask /acme/hello -X POST -H "x-api-key: $bob"; [ "$(tail -n 1 "$work/out")" = 401 ]'
serve_stop
