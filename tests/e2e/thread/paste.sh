# The commands that messages suggest can be pasted: each continues the run as it was started.
mkdir 'my plugins'
cp "$TEST_NODES" "my plugins/nodes.so"

# pasted: prints the command that the last message suggests
pasted() { sed -n 's/^tenon: .*: \(tenon run .*\)$/\1/p' "$work/err" | tail -n 1; }
# paste TEXT: runs it in a shell that finds the program, after replacing VALUE by "x"
paste() {
    local line
    line=$(pasted)
    [ -n "$line" ] || fails "no command is suggested"
    run bash -c 'tenon() { "$TENON" "$@"; }; '"${line//VALUE/x}"
}

# ---- A question: the options of the plugins are repeated, and each interrupt is named ----
cat >ask.yaml <<'YAML'
version: "1.0"
channels: [{name: t, type: append}]
nodes: [{id: a, type: test.ask, config: {out: t}}, {id: b, type: test.ask, config: {out: t}}]
edges: [{from: START, to: [a, b]}]
YAML
run tenon run ask.yaml --plugins 'my plugins/nodes.so' --allow-drafts --color never --set 't=["it'"'"'s"]'
expect_code 5 && expect_in err "Run it again with a thread: tenon run ask.yaml --plugins 'my plugins/nodes.so' --allow-drafts --set 't=[\"it'\\''s\"]' --thread ask"
paste
expect_code 5 && expect_not_in err '--answer ID=VALUE' && expect_in err "--allow-drafts --thread ask --resume --answer"
paste
expect_code 0 && expect_out '{"t":["it'"'"'s","x","x"]}'

# ---- A pause: nothing is asked ----
cat >pause.yaml <<'YAML'
version: "1.0"
channels: [{name: n, type: last_value, default: 0}]
nodes: [{id: a, type: set, interrupt: before, config: {values: {n: 1}}}, {id: b, type: passthrough, interrupt: after}]
edges: [{from: START, to: a}, {from: a, to: b}, {from: b, to: END}]
YAML
run tenon run pause.yaml --thread p
expect_code 5 && expect_in err "tenon: paused before node a"
expect_in err "tenon: continue with: tenon run pause.yaml --thread p --resume" && expect_not_in err "--answer"

# ---- Another version of the document: --accept-changes is named, until the thread has accepted it ----
sed -i 's/n: 1/n: 2/' pause.yaml
paste
expect_code 1 && expect_in err "continue with the changed document: tenon run pause.yaml --thread p --resume --accept-changes"
paste
expect_code 5 && expect_in err "paused after node b" && expect_not_in err "--accept-changes"
run tenon run pause.yaml --thread p --set n=7
expect_code 1 && expect_in err "continue it with: tenon run pause.yaml --thread p --resume"
paste
expect_code 0 && expect_out '{"n":2}'
