# Shared by the tests of idempotency keys. Each command is its own process and uses SQLite.
nodes="--plugins $TEST_NODES --allow-drafts"
printf 'store: {use: sqlite, path: ./kept.db}\n' >tenon.yaml

# The state has the key of each task of the node.
cat >key.yaml <<'YAML'
version: "1.0"
agent: {name: key}
channels: [{name: keys, type: append}]
nodes: [{id: pay, type: test.key, config: {out: keys}}]
edges: [{from: START, to: pay}, {from: pay, to: END}]
YAML
all=()
# took COMMAND…: runs it and appends the last key that it printed to `all`; $key is this key
took() {
    run "$@"
    expect_code 0
    key=$(grep -o '"[A-Za-z0-9._-]*"' "$work/out" | tail -n 1 | tr -d '"')
    all+=("$key")
}
# expect_different KEY…: fails unless they all differ, and each can be the value of a header
expect_different() {
    local key
    for key in "$@"; do [[ $key =~ ^[A-Za-z0-9._-]{1,96}$ ]] || fails "not a key: \`$key\`"; done
    [ "$(printf '%s\n' "$@" | sort -u | wc -l)" = $# ] || fails "expected $# different keys: $*"
}
