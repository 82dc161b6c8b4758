# Diagnostics quote no file that is not a document.
echo 'KEY=hunter2 {' >env
document env >d.yaml
run tenon check d.yaml
expect_code 3 && expect_in err "env:1:13: error" && expect_not_in err hunter2
for text in '{hunter2}' '{"password": "hunter2"}' '${hunter2(1)}' '${1 + hunter2' '${"hunter2" * 2}' '} hunter2' \
    '{name|hunter2}' '${state.hunter2}' '{hunter2: 1}' '${has(hunter2)}' '${name.hunter2.'; do
    echo "$text" >env
    document env >d.yaml
    run tenon check d.yaml
    expect_code 3 && expect_in err "env:1:" && expect_in err "config.template" && expect_not_in err hunter2
    run tenon check --json d.yaml
    expect_code 3 && expect_not_in out hunter2 && expect_not_in err hunter2
done
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
