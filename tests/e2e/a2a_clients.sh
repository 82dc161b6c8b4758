# The SDKs of A2A for Python and JavaScript, with each binding of 1.0 and with 0.3.
for plugin in serve a2a_server sqlite http; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
npm_packages @a2a-js/sdk
pip_packages a2a a2a-sdk==1.3.0 httpx==0.28.1
cat >tenon.yaml <<'END_OF_FILE'
store: {use: sqlite, path: ./store.db}
serve: {protocols: [tenon.a2a_server]}
plugins: {config: {tenon.a2a_server: {push: {allow: ["http://127.0.0.1:*"]}}}}
END_OF_FILE
key=$("$TENON" key create ada)
serve_start serve --port 0 "$SOURCE/tests/a2a/tck.yaml"
cp "$SOURCE/tests/a2a/clients.mjs" "$work"
run node "$work/clients.mjs" "$address" "$key"
expect_code 0
run "$python" "$SOURCE/tests/a2a/clients.py" "$address" "$key"
expect_code 0
