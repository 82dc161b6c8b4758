# A2A over a graph: the SDKs for Python and JavaScript with both versions, what no SDK does, and the compatibility kit.
for plugin in serve a2a_server sqlite; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
command -v python3 >/dev/null || skips "python3 is not installed"
tests=$SOURCE/tests/a2a

cat >tenon.yaml <<'END_OF_FILE'
store: {use: sqlite, path: ./store.db}
serve: {protocols: [tenon.a2a_server]}
END_OF_FILE
key() { "$TENON" key create "$1" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["secret"])'; }
ada=$(key ada) bob=$(key bob)
serve() {
    "$TENON" serve --port "$1" "$tests/tck.yaml" >serve.out 2>serve.err </dev/null &
    host=$!
    servers+=("$host")
    wait_until eval 'grep -qs "http://" serve.out serve.err || ! kill -0 $host'
    address=$(grep -ho 'http://[0-9.:]*' serve.out serve.err | head -n 1)
    [ -n "$address" ] || { cat serve.err >&2; fails "the server did not start"; }
}
checked() { "$@" >"$work/out" 2>"$work/err" || { tail -n 5 serve.err >&2; cat "$work/err" >&2; fails "$*"; }; }

serve 0
checked python3 "$tests/live.py" before "$address" "$ada" "$bob"
cp "$work/out" tasks
kill -9 "$host"
expect_ended "$host" "the server was not killed"
serve "${address##*:}"
checked python3 "$tests/live.py" after "$address" "$ada" "$bob" <tasks

# Without a network, this is all.
if command -v node >/dev/null && npm_install @a2a-js/sdk; then
    cp "$tests/clients.mjs" "$work"
    checked node "$work/clients.mjs" "$address" "$ada"
fi
if pip_install a2a a2a-sdk==1.3.0 httpx==0.28.1; then
    checked "$python" "$tests/clients.py" "$address" "$ada"
fi
kill -TERM "$host"
expect_ended "$host" "the server did not end after SIGTERM"
grep -qE 'Sanitizer|runtime error:' serve.err && fails "a sanitizer reported an error: $(grep -E 'Sanitizer|runtime' serve.err)"
grep -qF "$ada" serve.out serve.err && fails "a key is in the log"
true
