# Files that documents name ({file: …}, subgraphs): they are confined to the document's root, and never shown.
export XDG_DATA_HOME=$PWD/data
mkdir -p project/prompts project/inner shared secret
echo "KEY=hunter2" >secret/key
echo "Hello {name}" >project/prompts/hello.md
echo "Bye {name}" >shared/bye.md
cd project

document() { # FILE: a document whose template is in FILE
    cat <<Y
version: "1.0"
agent: {name: files}
channels: [{name: name, type: last_value, default: Ada}, {name: out, type: last_value}]
nodes: [{id: a, type: prompt, config: {template: {file: '$1'}, output_key: out}}]
edges: [{from: START, to: a}, {from: a, to: END}]
Y
}
outer() { # FILE: a document whose subgraph is FILE
    cat <<Y
version: "1.0"
agent: {name: outer}
channels: [{name: out, type: last_value}]
nodes: [{id: a, type: subgraph, config: {document: '$1', output: {out: out}}}]
edges: [{from: START, to: a}, {from: a, to: END}]
Y
}
reads() { # FILE TEXT: a document in this folder may read FILE
    document "$1" >d.yaml
    run tenon run d.yaml
    expect_code 0 && expect_in out "$2"
}
refuses() { # FILE WHY: neither the text nor the document FILE is read; a hang is a failure, too
    document "$1" >d.yaml
    run timeout 60 "$TENON" run d.yaml
    expect_code 3 && expect_in err "the file \`$1\` cannot be read: $2" && expect_not_in err hunter2
    outer "$1" >d.yaml
    run timeout 60 "$TENON" check d.yaml
    expect_code 3 && expect_in err "the document \`$1\` cannot be read: $2" && expect_not_in err hunter2
}

# ---- The document's own folder, without a tenon.yaml ----
outside="outside $PWD, below which this document may read; to allow it, name its folder in"
reads prompts/hello.md "Hello Ada"
reads ./inner/../prompts/hello.md "Hello Ada"
reads "$PWD/prompts/hello.md" "Hello Ada"
refuses ../secret/key "it is $outside"
refuses "$(dirname "$PWD")/secret/key" "it is $outside"
refuses /etc/passwd "it is $outside"
refuses ../secret/absent "it is $outside" # whether the file exists is not told
refuses absent "no such file"

# ---- Links ----
ln -s hello.md prompts/link.md
ln -s "$PWD/prompts" absolute
ln -s ../secret/key out.md
ln -s ../secret folder
ln -s loop loop
reads prompts/link.md "Hello Ada"
reads absolute/hello.md "Hello Ada"
refuses out.md "it is a link to a place $outside"
refuses folder/key "it is a link to a place $outside"
refuses loop "its links lead in a circle"

# ---- What is not a regular file ----
mkfifo pipe
refuses pipe "found a named pipe, expected a regular file"
refuses prompts "found a folder, expected a regular file"
refuses . "found a folder, expected a regular file"
ln -s /dev/zero zero
refuses zero "it is a link to a place $outside"
truncate -s 17M large
refuses large "it is longer than 16 MiB"
printf '\xff' >bytes
refuses bytes "it is not UTF-8"

# ---- What the operator names may be anywhere, and of any kind ----
document prompts/hello.md >d.yaml
run tenon run "$PWD/d.yaml"
expect_code 0
cd ../secret
run tenon run ../project/d.yaml
expect_code 0 && expect_in out "Hello Ada"
run tenon run <(document ../project/prompts/hello.md)
expect_code 3
echo '{"name": "Bob"}' >input.json
cd ../project
run tenon run d.yaml --input @../secret/input.json
expect_code 0 && expect_in out "Hello Bob"

# ---- A project: the folder of tenon.yaml ----
touch tenon.yaml
document ../prompts/hello.md >inner/d.yaml
run tenon run inner/d.yaml
expect_code 0 && expect_in out "Hello Ada"
outer inner/d.yaml >d.yaml # the inner document has the root of the outer one
run tenon run d.yaml
expect_code 0 && expect_in out "Hello Ada"
rm tenon.yaml
run tenon run inner/d.yaml
expect_code 3 && expect_in err "it is outside $PWD/inner, below which this document may read"
run tenon run d.yaml
expect_code 0

# ---- files.roots ----
refuses ../shared/bye.md "it is $outside"
echo 'files: {roots: ../shared}' >tenon.yaml
reads ../shared/bye.md "Bye Ada"
reads "$(dirname "$PWD")/shared/bye.md" "Bye Ada"
refuses ../secret/key "it is $outside"
document bye.md >../shared/d.yaml
outer ../shared/d.yaml >d.yaml
run tenon run d.yaml
expect_code 0 && expect_in out "Bye Ada"
document ../project/prompts/hello.md >../shared/d.yaml # found below ../shared: it does not read in the project
run tenon run d.yaml
expect_code 3 && expect_in err "outside $(dirname "$PWD")/shared, below which this document may read"
ln -s ../secret ../shared/folder
refuses ../shared/folder/key "it is a link to a place outside $PWD"
run tenon doctor
expect_in out "documents may read below $PWD/../shared"
echo 'files: {roots: [../gone, /, tenon.yaml]}' >tenon.yaml
run tenon check inner/d.yaml
expect_in err "files.roots: $PWD/../gone does not exist" && expect_in err "files.roots: / lets documents read every file"
expect_in err "files.roots: $PWD/tenon.yaml is not a folder"
echo 'files: {root: x}' >tenon.yaml
run tenon check inner/d.yaml
expect_code 4 && expect_in err 'found the key `root`, which `files` does not have'
rm tenon.yaml

# ---- Documents that plugins name: those that their section of tenon.yaml names, and those of the project ----
if [ -e "$BINARY/lib/tenon/plugins/define.so" ]; then
    tool() { # TEXT: a document for a tool with that result
        cat <<Y
version: "1.0"
agent: {name: tool, description: A tool.}
channels: [{name: out, type: last_value}]
nodes: [{id: a, type: prompt, config: {template: $1, output_key: out}}]
edges: [{from: START, to: a}, {from: a, to: END}]
Y
    }
    tool near >near.yaml
    tool far >../shared/far.yaml
    tool hunter2 >../secret/tool.yaml
    cat >more.yaml <<'Y'
- {name: my.near, document: near.yaml, effects: []}
- {name: my.secret, document: ../secret/tool.yaml, effects: []}
Y
    echo 'plugins: {config: {tenon.define: {tools: [{name: my.far, document: ../shared/far.yaml, effects: []}, more.yaml]}}}' >tenon.yaml
    run tenon tool call my.near '{}'
    expect_code 0 && expect_in out near
    run tenon tool call my.far '{}'
    expect_code 0 && expect_in out far
    run tenon tool call my.secret '{}'
    expect_code 1 && expect_in err "outside $PWD, below which documents of plugins may read" && expect_not_in out hunter2
    rm tenon.yaml
fi

# ---- Diagnostics show no line of a file that is not a document ----
echo 'KEY=hunter2 {' >env
document env >d.yaml
run tenon check d.yaml
expect_code 3 && expect_in err "env:1:13: error" && expect_not_in err hunter2
for text in 'KEY=hunter2' 'password: hunter2' '{"password": "hunter2"' '- hunter2: [' 'hunter2 %'; do
    echo "$text" >env
    outer env >d.yaml
    run tenon check d.yaml
    expect_code 3 && expect_in err "the file \`env\` is not a document: expected a mapping" && expect_not_in err hunter2
done
echo hunter2 >env
cat >d.yaml <<'Y'
version: "1.0"
agent: {name: names}
channels: [{name: out, type: last_value}]
nodes:
  - {id: a, type: prompt, config: {template: hi, output_key: {file: env}}}
  - {id: b, type: subgraph, config: {document: {file: env}}}
  - {id: c, type: llm, config: {model: {file: env}, output_key: out}}
edges: [{from: START, to: a}, {from: a, to: b}, {from: b, to: c}, {from: c, to: END}]
Y
run tenon check d.yaml
expect_code 3 && expect_in err "found a reference to a file, expected the name itself" && expect_not_in err hunter2
printf 'version: "1.0"\nagent: {name: x}\nnodes: [{id: a, type: unknwon}]\n' >env # a document with a mistake
outer env >d.yaml
run tenon check d.yaml
expect_code 3 && expect_in err 'nodes: [{id: a, type: unknwon}]'

# ---- A document of a pack reads only in its pack ----
pack=$XDG_DATA_HOME/tenon/packs/acme/1.0.0
mkdir -p "$pack/agents" "$pack/prompts"
echo "Pack {name}" >"$pack/prompts/hello.md"
document ../prompts/hello.md >"$pack/agents/good.yaml"
document ../../../../../../project/prompts/hello.md >"$pack/agents/bad.yaml"
run tenon run "$pack/agents/good.yaml"
expect_code 0 && expect_in out "Pack Ada"
run tenon run "$pack/agents/bad.yaml"
expect_code 3 && expect_in err "outside the pack in $pack, and a document of a pack reads only files of its pack"
echo "files: {roots: [$PWD]}" >tenon.yaml
run tenon run "$pack/agents/bad.yaml"
expect_code 3 && expect_in err "outside the pack in $pack"
rm tenon.yaml
outer "$pack/agents/good.yaml" >d.yaml # a pack is for use by documents
run tenon run d.yaml
expect_code 0 && expect_in out "Pack Ada"
outer "$pack/agents/bad.yaml" >d.yaml
run tenon run d.yaml
expect_code 3 && expect_in err "outside the pack in $pack"

# ---- Documents that are not files: no file at all, or only below files.roots ----
[ -e "$BINARY/lib/tenon/plugins/document.so" ] || exit 0
command -v python3 >/dev/null || skips "python3 is not installed"
texts() { # DOCUMENT: checked and run as a text whose name is that of a file in this folder
    python3 -c 'import json, sys; print(json.dumps({"text": sys.stdin.read(), "name": sys.argv[1]}))' "$PWD/d.yaml" <<<"$1" >text.json
}
text_reads() {
    texts "$1"
    run tenon tool call document.run @text.json --yes
    expect_code 0 && expect_in out "$2"
}
text_refuses() {
    texts "$1"
    run timeout 60 "$TENON" tool call document.check @text.json
    expect_code 0 && expect_in out '"valid":false' && expect_in out "$2" && expect_not_in out hunter2
    run timeout 60 "$TENON" tool call document.run @text.json --yes
    expect_code 1 && expect_in err "[INVALID_GRAPH]" && expect_in err "$2" && expect_not_in err hunter2
}
echo 'KEY=hunter2 {' >env
document prompts/hello.md >d.yaml
none="the document that names it is not a file, and such a document reads no files unless"
for file in prompts/hello.md "$PWD/prompts/hello.md" /etc/passwd ../secret/key env pipe absent; do
    text_refuses "$(document "$file")" "$none"
    text_refuses "$(outer "$file")" "$none"
done
text_refuses "$(outer d.yaml)" "$none"
echo 'files: {roots: [../shared]}' >tenon.yaml
outside='outside the folders in `files.roots` of tenon.yaml, below which a document that is not a file may read'
document bye.md >../shared/d.yaml
text_reads "$(document bye.md)" "Bye Ada"
text_reads "$(document "$(dirname "$PWD")/shared/bye.md")" "Bye Ada"
text_reads "$(outer d.yaml)" "Bye Ada"
text_refuses "$(document "$PWD/prompts/hello.md")" "$outside"
text_refuses "$(document ../project/prompts/hello.md)" "$outside"
text_refuses "$(document folder/key)" "it is a link to a place $outside"
text_refuses "$(outer "$PWD/d.yaml")" "$outside"
document ../project/prompts/hello.md >../shared/d.yaml # the same rule for the documents that a text names
text_refuses "$(outer d.yaml)" "file that cannot be read"

# ---- ... and of the files below files.roots diagnostics tell only where a mistake is ----
echo 'KEY {hunter2} {hunter2.hunter2(' >../shared/env
text_refuses "$(document env)" "shared/env:1:"
printf 'version: "1.0"\nagent: {name: x}\nnodes: [{id: a, type: hunter2}]\n' >../shared/env
text_refuses "$(outer env)" "shared/env:3:"
