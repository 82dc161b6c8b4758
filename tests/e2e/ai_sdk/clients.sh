# `useChat` of the AI SDK, versions 6 and 7, against one server: the cases of clients.mjs.
npm_packages ai6 ai7
cp "$SOURCE/tests/e2e/ai_sdk/clients.mjs" "$work"
web_start
run timeout 120 node "$work/clients.mjs" "$url" "$key" ai6
expect_code 0
if node24; then
    run timeout 120 "$node24" "$work/clients.mjs" "$url" "$key" ai7
    expect_code 0
fi
serve_stop
