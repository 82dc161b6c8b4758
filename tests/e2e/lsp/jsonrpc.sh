# The client libraries of VS Code, from npm.
npm_packages vscode-jsonrpc vscode-languageserver-protocol
editor_files
export TENON
run timeout 120 node "$SOURCE/tests/e2e/lsp/jsonrpc.mjs" "$modules" "$DOCUMENT"
expect_code 0
