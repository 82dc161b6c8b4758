# The client libraries of VS Code, from npm.
npm_folder lsp vscode-jsonrpc@10.0.0 vscode-languageserver-protocol@3.18.5
editor_files
export TENON
run timeout 120 node "$SOURCE/tests/e2e/lsp/jsonrpc.mjs" "$modules" "$DOCUMENT"
expect_code 0
