# Sessions over HTTP, and the data against their schemas (ajv).
for plugin in serve session_server sqlite; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
command -v python3 >/dev/null || skips "python3 is not installed"
tests=$SOURCE/tests/session_server

echo 'store: {use: sqlite, path: ./store.db}' >tenon.yaml
key() { "$TENON" key create "$1" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["secret"])'; }
ada=$(key ada) bob=$(key bob)
"$TENON" serve --port 0 "$SOURCE"/tests/protocols/graphs/*.yaml >serve.out 2>serve.err </dev/null &
host=$!
servers+=("$host")
wait_until eval 'grep -qs "http://" serve.out serve.err || ! kill -0 $host'
address=$(grep -ho 'http://[0-9.:]*' serve.out serve.err | head -n 1)
[ -n "$address" ] || { cat serve.err >&2; fails "the server did not start"; }
checked() { "${@:2}" >"$1" 2>"$work/err" || { tail -n 20 "$work/err" serve.err >&2; fails "${*:2}"; }; }

checked live.jsonl python3 "$tests/live.py" "$address" "$ada" "$bob"
if command -v node >/dev/null && npm_install ajv; then # without a network, this is all
    cp "$tests/schemas.mjs" "$work"
    checked schemas.out node "$work/schemas.mjs" "$SOURCE/plugins/session_server/schema" live.jsonl "$tests"/golden/*.jsonl
fi
kill -TERM "$host"
expect_ended "$host" "the server did not end after SIGTERM"
grep -qE 'Sanitizer|runtime error:' serve.err && fails "a sanitizer reported an error: $(grep -E 'Sanitizer|runtime' serve.err)"
grep -qF "$ada" serve.out serve.err && fails "a key is in the log"
true
