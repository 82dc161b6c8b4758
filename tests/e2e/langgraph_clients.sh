# The API of LangGraph's Agent Server over graphs: both SDKs against one server.
for plugin in serve langgraph_server sqlite; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
command -v python3 >/dev/null || skips "python3 is not installed"
npm_packages @langchain/langgraph-sdk
pip_packages langgraph langgraph-sdk==0.4.14
tests=$SOURCE/tests/protocols

cat >tenon.yaml <<'END'
store: {use: sqlite, path: ./store.db}
END
ada=$(tenon key create ada)
serve_start serve --port 0 "$tests"/langgraph/{chat,steps}.yaml "$tests"/graphs/{error,question,slow}.yaml
checked() { timeout 120 "$@" >"$work/out" 2>"$work/err" || { serve_failed; fails "$*"; }; }

checked node "$tests/langgraph/clients.mjs" "$address" "$ada" "$modules"
checked "$python" "$tests/langgraph/clients.py" "$address" "$ada"
serve_stop
grep -qF "$ada" serve.out serve.err && fails "a key is in the log"
true
