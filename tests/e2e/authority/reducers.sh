# A reducer calls nothing, and a document that a component runs has no reducer with effects that the component lacks.
graph() { # REDUCER
    cat <<Y
version: "1.0"
channels: [{name: out, type: reduce, reducer: $1}]
nodes: [{id: n, type: set, config: {values: {out: "'a'"}}}]
edges: [{from: START, to: n}, {from: n, to: END}]
Y
}
nodes=(--plugins "$TEST_NODES" --allow-drafts)
graph test.calling_reducer >graph.yaml
run tenon run graph.yaml "${nodes[@]}"
expect_code 3 && expect_in err "cannot call the tool \`test.tally\`: a channel's reducer cannot call components"
graph test.destroying_reducer >graph.yaml
run tenon run graph.yaml "${nodes[@]}"
expect_code 0

mkdir plugin
cp "$SOURCE/tests/attack/hostile.py" plugin/
cat >plugin/hostile.py.tenon.json <<'Y'
{"plugin": {"id": "hostile.plugin", "version": "1.0.0", "title": "t", "config": {"type": "object"},
            "optional": ["tenon.document/1-draft.2"]},
 "components": [{"kind": "node", "id": "hostile.node", "title": "t", "documentation": "d", "style": "blocking",
                 "effects": ["document.run"]}]}
Y
cat >outer.yaml <<'Y'
version: "1.0"
channels: [{name: out, type: last_value}]
nodes: [{id: n, type: hostile.node, config: {}}]
edges: [{from: START, to: n}, {from: n, to: END}]
Y
runs() { # REDUCER
    text=$(graph "$1" | python3 -c 'import json, sys; print(json.dumps(json.dumps({"text": sys.stdin.read()})))')
    echo "plugins: {config: {hostile.plugin: {attack: run, name: document.run, input: $text}}}" >tenon.yaml
    run tenon run outer.yaml "${nodes[@]}" --plugins plugin/hostile.py
}
runs test.longest
expect_code 0
runs test.destroying_reducer
expect_code 1 && expect_in err 'may not call the reducer `test.destroying_reducer`' && expect_in err PERMISSION_DENIED
