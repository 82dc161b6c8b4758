# One text, or one message, in the place of a list of messages.
cat >talk.yaml <<'Y'
version: "1.0"
channels: [{name: messages, type: reduce, reducer: messages}]
models: {m: {provider: scripted, replies: ["You said {input}"]}}
nodes: [{id: ask, type: llm, config: {model: m, messages_key: messages}}]
edges: [{from: START, to: ask}, {from: ask, to: END}]
Y
sed 's/^nodes/input: {type: object, required: [messages], properties: {messages: {type: array}}}\nnodes/' talk.yaml >checked.yaml
sed 's/type: llm/type: agent/' talk.yaml >agent.yaml
for document in talk.yaml checked.yaml agent.yaml; do
    for given in '"hi"' '{"type": "user", "content": "hi"}' '{"role": "user", "content": "hi"}' '["hi"]' '[{"type": "user", "content": "hi"}]'; do
        run tenon run $document --input "{\"messages\": $given}"
        expect_code 0 && expect_in out '"content":"You said hi"' && expect_in out '"content":"hi"'
    done
done
run tenon run checked.yaml --input '{"messages": 5}'
expect_code 1 && expect_in err 'at /messages does not fit' && expect_in err 'found the number 5, expected an array'
run tenon run checked.yaml --input '{}'
expect_code 1 && expect_in err "messages"
run tenon run talk.yaml --input '{"messages": {"content": "hi"}}'
[ "$code" != 0 ] && expect_in err "message"
# A Task of a strategy.
for strategy in react single_turn; do
    ask() { run tenon run tenon:$strategy --model '{"provider": "scripted", "replies": ["You said {input}"]}' --input "{\"task\": {\"payload\": {\"messages\": $1}}}"; }
    for given in '"hi"' '{"type": "user", "content": "hi"}' '["hi"]'; do
        ask "$given"
        expect_code 0 && expect_in out '"user_output":"You said hi"'
    done
    ask 5
    expect_in out 'payload.messages must be a text, a message, or a list'
done
