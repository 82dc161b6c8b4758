# `tenon reference NAME` finds entries of every kind, lists them if several have the name, and says what is not there.
shows() { run tenon reference "$1"; expect_code 0; [ ! -s "$work/err" ] || fails "an entry writes to standard error"; expect_in out "$2"; }
shows llm "# llm"
expect_in out '- `calls.model`: calls models'
expect_in out '- `OUTPUT_INVALID`: '
expect_in out '- `input_key`: string, a channel that is read.'
shows artifact.write '$ tenon tool call artifact.write'
shows openai "    provider: openai"
shows union "reducer: union"
shows checkpoints '`tenon run --stream checkpoints --json`'
shows channel-write '"x-tenon": "channel-write"'
shows tenon.mcp 'plugins: {config: {tenon.mcp: {…}}}'
shows existsOne "A function of expressions."
shows on_error "A key of documents."
shows drafts "A key of tenon.yaml."
shows "thread fork" "## tenon thread fork"

# Several entries.
shows tools "Several entries are called \`tools\`:"
for choice in topic node key config; do expect_in out "- \`tenon reference $choice:tools\`: "; done
shows node:tools "A node type of the plugin"
shows sum "# sum"
expect_in out '- `tenon reference function:sum`: '
shows function:sum "A function of expressions."

# Plugins of others.
shows_of_other() { run tenon reference --plugins "$TEST_NODES" "$1"; expect_code 0; expect_in out "$2"; }
other=$("$TENON" node list --json --plugins "$TEST_NODES" | tr '{' '\n' | sed -nE 's/.*"id":"(test\.[a-z_.]+)".*/\1/p' | head -n 1)
[ -n "$other" ] || fails "the plugin for tests has no node type"
shows_of_other "$other" "of the plugin \`test"
shows_of_other topic:nodes "## $other"

# Mistakes.
run tenon reference lllm
expect_code 2 && expect_out "" && expect_in err 'no topic, entry or code `lllm`; did you mean `llm`?'
run tenon reference node:extract
expect_code 2 && expect_in err 'no topic, entry or code `extract`'
echo 'plugins: 3' >tenon.yaml
run tenon reference union
expect_code 0
run tenon reference llm
expect_code 4 && expect_in err "tenon.yaml"
rm tenon.yaml

# node list and node show.
run tenon node list
expect_code 0 && expect_in out "llm               Calls a model (tenon.agents)"
run tenon node show set
expect_code 0 && expect_in out "plugin: tenon.core" && expect_in out "effects: none" && expect_in out "example: Count and mark"
run tenon node show llm --json
expect_code 0 && expect_in out '"plugin":"tenon.agents"' && expect_in out '"calls.model"'
run tenon node show promt
expect_code 2 && expect_in err 'there is no node type `promt`; did you mean `prompt`?'
