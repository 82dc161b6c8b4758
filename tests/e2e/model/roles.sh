# --model with a role that neither the document nor tenon.yaml has is a mistake.
cat >roles.yaml <<'Y'
version: "1.0"
agent: {name: roles}
models: {writer: scripted}
channels: [{name: messages, type: reduce, reducer: messages}]
nodes: [{id: a, type: llm, config: {messages_key: messages, model: critic}}]
edges: [{from: START, to: a}, {from: a, to: END}]
Y
critic='critic={"provider": "scripted", "replies": ["hm"]}'
for command in run check; do
    run tenon $command roles.yaml -M "$critic" -M 'wirter=scripted'
    expect_code 2
    expect_in err '--model wirter=…: neither the document nor tenon.yaml has a role `wirter`; did you mean `writer`?'
done
run tenon run roles.yaml -M "$critic" -M defualt=scripted
expect_code 2 && expect_in err 'did you mean `default`?'
run tenon chat roles.yaml -M "$critic" -M zzz=scripted
expect_code 2 && expect_in err 'has a role `zzz` [NOT_FOUND]'
cp roles.yaml inner.yaml
cat >outer.yaml <<'Y'
version: "1.0"
channels: [{name: messages, type: reduce, reducer: messages}]
nodes: [{id: a, type: subgraph, config: {document: inner.yaml, input: {messages: messages}, output: {messages: messages}}}]
edges: [{from: START, to: a}, {from: a, to: END}]
Y
for document in roles.yaml outer.yaml; do
    run tenon run $document -M "$critic" -M writer=scripted -M scripted --set 'messages=[{"type": "user", "content": "x"}]'
    expect_code 0 && expect_in out '"content":"hm"'
done
