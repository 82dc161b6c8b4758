# Shared by the tests of `tenon pack`: a folder and the pack built from it.
packs=$XDG_DATA_HOME/tenon/packs
nothing_installed() {
    [ -z "$(find "$packs" -mindepth 2 2>"$work/which")" ] || fails "expected no installed files, found: $(find "$packs" -mindepth 2)"
}
once() { [ "$(grep -c '^tenon: ' "$work/err")" = 1 ] || fails "expected one message"; }
# source_of FOLDER NAME VERSION: makes a folder with a plugin and a document
source_of() {
    rm -rf "$1"
    mkdir -p "$1/plugins" "$1/prompts" "$1/.hidden"
    cp "$TEST_NODES" "$1/plugins/nodes.so"
    printf 'version: "1.0"\nnodes: [{id: a, type: passthrough}]\nedges: [{from: START, to: a}, {from: a, to: END}]\n' >"$1/one.yaml"
    printf 'Hello, {name}!\n' >"$1/prompts/hello.txt"
    cat >"$1/pack.json" <<JSON
{"name": "$2", "version": "$3", "title": "A pack for tests", "licence": "MIT", "tenon": ">= 0.1",
 "plugins": ["plugins/nodes.so"], "documents": ["one.yaml"], "prompts": ["prompts/hello.txt"]}
JSON
}

source_of src acme-text 1.0.0
"$TENON" pack build src -o again.tenonpack >"$work/log"
# signed: makes the keys acme and other, and signed.tenonpack, which acme has signed
signed() {
    "$TENON" pack keygen acme >"$work/log"
    "$TENON" pack keygen other >"$work/log"
    cp again.tenonpack signed.tenonpack
    "$TENON" pack sign signed.tenonpack --key acme.key 2>"$work/log"
}
