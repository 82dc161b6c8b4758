# A2A over a graph, without an SDK: errors, users, push notifications, and a host that is killed or ends with a signal.
for plugin in serve a2a_server sqlite http; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
command -v python3 >/dev/null || skips "python3 is not installed"

cat >tenon.yaml <<'END_OF_FILE'
store: {use: sqlite, path: ./store.db}
serve: {protocols: [tenon.a2a_server]}
plugins: {config: {tenon.a2a_server: {push: {allow: ["http://127.0.0.1:*"]}}}}
END_OF_FILE
ada=$("$TENON" key create ada) bob=$("$TENON" key create bob)
run python3 "$SOURCE/tests/a2a/live.py" "$TENON" "$SOURCE/tests/a2a/tck.yaml" "$ada" "$bob"
[ "$code" = 0 ] || tail -n 5 serve.err >&2
expect_code 0
grep -qE 'Sanitizer|runtime error:' serve.err && fails "a sanitizer reported an error: $(grep -E 'Sanitizer|runtime' serve.err)"
secret=$(tail -n 1 "$work/out")
grep -qF -e "$ada" -e "$secret" serve.err && fails "a secret is in the log"
grep -qaF -e "$secret" store.db* && fails "a secret is in the store"
true
