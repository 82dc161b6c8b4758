# Files of packs and of Tenon are named pack:NAME/FILE and tenon:NAME, on the command line and in documents.
cat >src/one.yaml <<'YAML'
version: "1.0"
channels: [{name: name, type: last_value, default: Ada}, {name: said, type: last_value}]
nodes: [{id: a, type: prompt, config: {template: {file: prompts/hello.txt}, output_key: said}}]
edges: [{from: START, to: a}, {from: a, to: END}]
YAML
printf '{"type": "object"}\n' >src/in.json
sed -i 's/"prompts":/"schemas": ["in.json"], &/' src/pack.json
run tenon pack build src -o names.tenonpack
run tenon pack install names.tenonpack
said='{"name":"Ada","said":"Hello, Ada!\n"}'
run tenon run pack:acme-text/one.yaml
expect_code 0 && expect_out "$said"
run tenon check pack:acme-text/one.yaml tenon:hello
expect_code 0
run tenon graph pack:acme-text/one.yaml
expect_code 0
run tenon run tenon:hello
expect_code 0 && expect_in out "Hello, world!"
run tenon run tenon:hello.yaml
expect_code 0
# subgraph and {file: …}
inner() {
    cat >outer.yaml <<YAML
version: "1.0"
channels: [{name: name, type: last_value, default: Bo}, {name: said, type: last_value}]
nodes: [{id: a, type: subgraph, config: {document: "$1", input: {name: name}, output: {$2: said}}}]
edges: [{from: START, to: a}, {from: a, to: END}]
YAML
}
inner pack:acme-text/one.yaml said
run tenon run outer.yaml
expect_code 0 && expect_in out 'Hello, Bo!'
inner tenon:hello greeting
run tenon run outer.yaml
expect_code 0 && expect_in out 'Hello, Bo!'
sed 's#prompts/hello.txt#"pack:acme-text/prompts/hello.txt"#' src/one.yaml >own.yaml
run tenon run own.yaml
expect_code 0 && expect_out "$said"
# The configuration of a plugin, and a file that it names
if [ -e "$BINARY/lib/tenon/plugins/define.so" ]; then
    mkdir -p other/prompts
    printf -- '- {name: my.%s, document: "%s", effects: [], result: said}\n' filed one.yaml named pack:acme-text/one.yaml >src/tools.yaml
    sed -i 's/"in.json"/&, "tools.yaml"/' src/pack.json
    run tenon pack remove acme-text
    run tenon pack build src -o tools.tenonpack
    run tenon pack install tools.tenonpack
    cat >tenon.yaml <<'YAML'
plugins: {config: {tenon.define: {tools: [{name: my.greet, document: "pack:acme-text/one.yaml", effects: [], result: said}, "pack:acme-text/tools.yaml", more.yaml]}}}
YAML
    printf -- '- {name: my.%s, document: "%s", effects: []}\n' hello tenon:hello gone pack:gone/one.yaml >more.yaml
    for tool in my.greet my.filed my.named my.hello; do
        run tenon tool call $tool '{"name": "Eve"}'
        expect_code 0 && expect_in out "Hello, Eve!"
    done
    run tenon tool call my.gone '{}'
    expect_code 1 && expect_in err 'the pack `gone` is not installed'
    printf 'plugins: {config: {tenon.define: {tools: ["pack:acme-text/absent.yaml"]}}}\n' >tenon.yaml
    run tenon doctor
    expect_code 4 && expect_in out 'the pack acme-text 1.0.0 has no file `absent.yaml`'
    # A name that cannot be resolved omits its item, and nothing else.
    cat >tenon.yaml <<'YAML'
plugins: {config: {tenon.define: {tools: ["pack:gone/tools.yaml", {name: my.lost, document: "pack:acme-text/lost.yaml", effects: []}, {name: my.say, command: [echo, said], effects: []}, more.yaml]}}}
YAML
    for tool in my.say my.hello; do
        run tenon tool call $tool '{}'
        expect_code 0 && expect_in err 'tenon.define at /tools/0: the pack `gone` is not installed' && expect_in err "; it is omitted"
        expect_in err 'tenon.define at /tools/1/document: the pack acme-text 1.0.0 has no file `lost.yaml`'
    done
fi
rm -f tenon.yaml
# Mistakes
wrong() { run tenon check "$1" && expect_code 2 && expect_in err "$2"; }
wrong pack:acme-tex/one.yaml 'the pack `acme-tex` is not installed; did you mean `acme-text`?'
wrong pack:acme-text/on.yaml 'the pack acme-text 1.0.0 has no file `on.yaml`; did you mean `one.yaml`?'
wrong pack:acme-text/zzzzzzzz '; its documents, prompts and schemas: one.yaml, prompts/hello.txt, in.json'
wrong pack:acme-text "expected pack:acme-text/FILE"
for escape in ../../../x.yaml /etc/passwd ./one.yaml prompts//hello.txt pack.json .installed.json plugins/../one.yaml; do
    wrong "pack:acme-text/$escape" "has no file"
done
wrong tenon:absent "; available: tenon:chat, tenon:generator, tenon:hello"
for escape in ../documents/hello.yaml ../template /etc/passwd ../../../bin/tenon .; do
    wrong "tenon:$escape" "is installed with Tenon"
done
for name in pack:acme-text/one.yaml pack:absent/one.yaml; do
    run tenon fmt $name
    expect_code 2 && expect_in err "not a file of yours" && expect_in err "./$name"
done
one=$packs/acme-text/1.0.0/one.yaml
run tenon fmt "$one"
expect_code 2 && expect_in err "belongs to an installed pack" && once
run tenon fmt --check "$one"
expect_code 0
run tenon pack list
expect_code 0
# A file whose name begins like that is found in its folder.
mkdir folder
cp src/one.yaml folder/pack:x.yaml
sed -i 's#{file: prompts/hello.txt}#Hello#' folder/pack:x.yaml
run bash -c "cd folder && '$TENON' check ."
expect_code 0 && expect_in err "1 document: no problems found"
# Data
printf '{"name": "Lin"}\n' >src/lin.json
printf '\377\0' >src/binary
run tenon pack remove acme-text
run tenon pack build src -o data.tenonpack
run tenon pack install data.tenonpack
run tenon run tenon:hello -i @pack:acme-text/lin.json --thread data
expect_code 0 && expect_in out "Hello, Lin!"
run tenon run tenon:hello -b pack:acme-text/lin.json
expect_code 0 && expect_in out "Hello, Lin!"
run tenon eval name -i @pack:acme-text/lin.json
expect_code 0 && expect_out '"Lin"'
run tenon eval name -i @pack:acme-text/li.json
expect_code 2 && expect_in err 'cannot open pack:acme-text/li.json: the pack acme-text 1.0.0 has no file `li.json`; did you mean `lin.json`?' && once
if [ -e "$BINARY/lib/tenon/plugins/sqlite.so" ]; then
    run tenon artifact write pack:acme-text/binary
    expect_code 0
    run tenon artifact read "$(cat "$work/out")"
    expect_code 0 && cmp "$work/out" src/binary || fails "the Artifact has other bytes"
    # The document of an exported thread
    run tenon thread export data
    cp "$work/out" data.json
    run tenon test data.json
    expect_code 0 && expect_in err "1 of 1 passed"
    run tenon test -d tenon:hello data.json
    expect_code 0
    run tenon test -d tenon:absent data.json
    expect_code 3 && expect_in err "is installed with Tenon"
fi
printf 'x' >>"$packs/acme-text/1.0.0/lin.json"
run tenon run tenon:hello -i @pack:acme-text/lin.json
expect_code 2 && expect_in err "lin.json: it was altered" && once
cp src/lin.json "$packs/acme-text/1.0.0/lin.json"
# A document of a pack reads only in its pack, and files of Tenon.
source_of other acme-other 1.0.0
sed 's#prompts/hello.txt#"pack:acme-text/prompts/hello.txt"#' src/one.yaml >other/one.yaml
run tenon pack build other -o other.tenonpack
run tenon pack install other.tenonpack
run tenon run pack:acme-other/one.yaml
expect_code 3 && expect_in err "a document of a pack reads only files of its pack"
# An altered file is refused under this name, too.
printf 'x' >>"$packs/acme-text/1.0.0/prompts/hello.txt"
run tenon run pack:acme-text/one.yaml
expect_code 3 && expect_in err "prompts/hello.txt: it was altered"
