# Every route of every protocol with a wrong key, a key of too small a scope, and the key of another user. Check mode
# watches the plugins.
for plugin in serve sqlite openai_server ai_sdk mcp_server rest_server ag_ui session_server langgraph_server a2a_server http; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
command -v python3 >/dev/null || skips "python3 is not installed"
cat >tenon.yaml <<'END_OF_FILE'
store: {use: sqlite, path: store.db}
serve: {port: 0, log: false}
plugins: {config: {tenon.metrics: {prometheus: true}, tenon.a2a_server: {push: {allow: [https://127.0.0.1:9]}}}}
END_OF_FILE
ada=$("$TENON" key create ada) bob=$("$TENON" key create bob) reader=$("$TENON" key create reader --scope read --owner ada)
serve_start web --check-plugins "$SOURCE/tests/protocols/graphs/"{long,slow,question}.yaml
run python3 "$SOURCE/tests/serve/foreign.py" "$address" "$ada" "$bob" "$reader"
expect_code 0
serve_stop
grep 'check:' web.err | grep -v 'blocks the loop' >&2 && fails "a plugin violates the contract"
grep -qF -e "$ada" -e "$bob" web.out web.err && fails "a key is in the log"
true
