# Shared by the tests of files that documents name, with {file: …} and as subgraphs: a project, a folder beside it that
# documents may read if `files.roots` names it, and one with a secret.
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
outside="outside $PWD, below which this document may read; to allow it, name its folder in"
