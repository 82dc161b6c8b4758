# AG-UI over graphs: HttpAgent of @ag-ui/client, the models of ag-ui-protocol (Python), and what no client sends.
for plugin in serve ag_ui sqlite; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
command -v python3 >/dev/null || skips "python3 is not installed"
tests=$SOURCE/tests/ag_ui

echo 'store: {use: sqlite, path: ./store.db}' >tenon.yaml
ada=$(tenon key create ada) bob=$(tenon key create bob)
serve_start serve --port 0 "$SOURCE"/tests/protocols/graphs/*.yaml
checked() { "${@:2}" >"$1" 2>"$work/err" || { tail -n 20 "$work/err" serve.err >&2; fails "${*:2}"; }; }

checked live.jsonl python3 "$tests/live.py" "$address" "$ada" "$bob"
events=(live.jsonl "$tests"/golden/*.jsonl)
if command -v node >/dev/null && npm_install @ag-ui/client zod; then # without a network, this is all
    cp "$tests/client.mjs" "$work"
    checked client.jsonl timeout 120 node "$work/client.mjs" "$address" "$ada"
    events+=(client.jsonl)
fi
if pip_install ag_ui ag-ui-protocol==1.0.0; then
    checked models.out "$python" "$tests/models.py" "${events[@]}"
fi
serve_stop
grep -qF "$ada" serve.out serve.err && fails "a key is in the log"
true
