# Sessions over HTTP, and the data against their schemas (ajv).
for plugin in serve session_server sqlite; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
command -v python3 >/dev/null || skips "python3 is not installed"
tests=$SOURCE/tests/session_server

echo 'store: {use: sqlite, path: ./store.db}' >tenon.yaml
ada=$(tenon key create ada) bob=$(tenon key create bob)
serve_start serve --port 0 "$SOURCE"/tests/protocols/graphs/*.yaml
checked() { "${@:2}" >"$1" 2>"$work/err" || { tail -n 20 "$work/err" serve.err >&2; fails "${*:2}"; }; }

checked live.jsonl python3 "$tests/live.py" "$address" "$ada" "$bob"
if command -v node >/dev/null && npm_install ajv; then # without a network, this is all
    cp "$tests/schemas.mjs" "$work"
    checked schemas.out node "$work/schemas.mjs" "$SOURCE/plugins/session_server/schema" live.jsonl "$tests"/golden/*.jsonl
fi
serve_stop
grep -qF "$ada" serve.out serve.err && fails "a key is in the log"
true
