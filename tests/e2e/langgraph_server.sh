# The API of LangGraph's Agent Server over graphs: what no SDK does. langgraph_clients.sh has the SDKs.
for plugin in serve langgraph_server rest_server http sqlite; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
command -v python3 >/dev/null || skips "python3 is not installed"
tests=$SOURCE/tests/protocols

cat >tenon.yaml <<'END'
store: {use: sqlite, path: ./store.db}
plugins: {config: {tenon.langgraph_server: {webhooks: {allow: ["http://127.0.0.1:*"]}}}}
END
ada=$(tenon key create ada) bob=$(tenon key create bob)
serve_start serve --port 0 "$tests"/langgraph/{ask,chat,outer,steps}.yaml "$tests"/graphs/{error,question,slow}.yaml
checked() { timeout 120 "$@" >"$work/out" 2>"$work/err" || { serve_failed; fails "$*"; }; }

checked python3 "$tests/langgraph/live.py" "$address" "$ada" "$bob"
for script in crons webhooks rollback; do
    checked python3 "$tests/langgraph/$script.py" "$address" "$ada" "$bob"
done
# The streams, states and histories of `langgraphjs dev` were recorded.
checked python3 "$tests/langgraph/dev.py" "$address" "$bob"
serve_stop
grep -qF "$ada" serve.out serve.err && fails "a key is in the log"
true
