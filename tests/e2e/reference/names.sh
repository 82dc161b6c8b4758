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
shows run/start "# run/start"
expect_in out 'A method. Its scope is `run`.'
shows method:run/get "# run/get"
shows run/ended "An event that clients receive."
shows existsOne "A function of expressions."
shows on_error "A key of documents."
shows drafts "A key of tenon.yaml."
shows cache "### ttl" && expect_in out "### store" # a mapping is shown with its keys
for name in edges edge; do # a list is shown with the keys of its items, which have a name, too
    shows $name "### from"
    expect_in out "### conditions"
done
shows channels "### reducer" && shows channel "### reducer" && shows conditions "### expression" && shows condition "### expression"
shows key:nodes "### on_error" && shows key:node "### on_error" && shows nodes '`tenon reference key:nodes`'
shows x-tenon "## channel-read"
shows "thread fork" "## tenon thread fork"

# Several entries.
shows tools "# Tools"
for choice in node key config; do expect_in out "- \`tenon reference $choice:tools\`: "; done
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

# What a manifest has in the wrong form is left out.
printf '#!/bin/sh\nexit 1\n' >odd && chmod +x odd
cat >odd.tenon.json <<'MANIFEST'
{"plugin": {"id": "acme.odd", "version": "1.0.0", "title": "Odd"}, "components": [
  {"kind": "node", "id": "acme.a", "title": "A", "style": "async", "effects": [":", "x:y"], "errors": {"A": 3, "B\u001b": "x"},
   "examples": [3, {"config": [1]}, {"title": 4, "config": "a"}, {}], "deprecated": 4,
   "config": {"properties": {"a": 3, "b": {"x-tenon": ["model"]}, "c": {"allOf": [3, {"x-tenon": 4}]}}, "propertyNames": 4}},
  {"kind": "tool", "id": "acme.b", "title": "B", "style": "async", "input": {"type": "object"}, "errors": [1], "examples": {"a": 1}},
  {"kind": "tool", "id": "acme.c", "title": "C", "style": "async", "input": {"type": "object"},
   "examples": [{"title": "One", "input": {"q": "it's"}, "output": 3}]},
  {"kind": "model", "id": "acme.d", "title": "D", "style": "async", "examples": [{"title": "x", "config": 3, "input": [], "output": null}]},
  {"kind": "reducer", "id": "acme.e", "title": "E", "style": "async", "examples": [{"title": "x", "input": 1, "output": 2}]}]}
MANIFEST
for name in nodes models reducers plugins; do
    run tenon reference "topic:$name" --plugins ./odd
    expect_code 0
done
run tenon reference acme.c --plugins ./odd
expect_code 0 && expect_in out "\$ tenon tool call acme.c '{\"q\":\"it'\\''s\"}'"
for command in "node list" "node show acme.a" "plugin show ./odd"; do
    # shellcheck disable=SC2086
    run tenon $command --plugins ./odd
    expect_code 0 && expect_in out acme.
done

# Mistakes.
run tenon reference lllm
expect_code 2 && expect_out "" && expect_in err 'no topic, entry or code `lllm`; did you mean `llm`?'
run tenon reference run/strat
expect_code 2 && expect_in err 'did you mean `run/start`?'
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
