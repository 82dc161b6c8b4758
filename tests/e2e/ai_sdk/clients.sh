# `tenon serve` for the clients of the AI SDK, versions 6 and 7: one server for all cases of clients.mjs.
npm_packages ai6 ai7
cp "$SOURCE"/tests/e2e/ai_sdk/graphs/*.yaml .
cp "$SOURCE/tests/e2e/ai_sdk/clients.mjs" "$work"
printf 'store: {use: sqlite, path: chats.db}\nserve: {port: 0, log: false}\n' >tenon.yaml
server_start "$TENON" serve [a-su-z]*.yaml text.yaml tools.yaml
wait_until grep -q 'serves .* by ' "$work/server.err"
