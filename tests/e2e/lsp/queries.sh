# The injections for tree-sitter in samples/editors, with its YAML grammar.
lsp_packages
run python3 "$SOURCE/tests/e2e/lsp/queries.py" "$SAMPLES"
expect_code 0
