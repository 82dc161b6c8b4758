# A picture that a model has generated becomes an Artifact with the same bytes: as a part of its message, as bytes that an
# expression makes of base64, and as {"$bytes": base64}.
head -c 3000 "$TENON" >picture.png
cat >picture.yaml <<EOF
version: "1.0"
models:
  default: {provider: scripted, replies: [{message: {type: ai, content: [{type: text, text: Here it is.}, {type: image, media_type: image/png, data: "$(base64 -w0 picture.png)"}]}}]}
channels: [{name: messages, type: reduce, reducer: messages}, {name: stored, type: append}, {name: picture, type: last_value}]
nodes:
  - {id: draw, type: llm, config: {messages_key: messages}}
  - {id: find, type: set, config: {values: {picture: 'state.messages.last().content.filter(p, p.type == "image").first()'}}}
  - {id: part, type: tool, config: {tool: artifact.write, arguments: {body: state.picture}, output_key: stored}}
  - {id: decoded, type: tool, config: {tool: artifact.write, arguments: {media_type: '"image/png"', body: base64.decode(state.picture.data)}, output_key: stored}}
  - {id: written, type: tool, config: {tool: artifact.write, arguments: {media_type: '"image/png"', body: '{"\$bytes": state.picture.data}'}, output_key: stored}}
edges: [{from: START, to: draw}, {from: draw, to: find}, {from: find, to: part}, {from: part, to: decoded}, {from: decoded, to: written}, {from: written, to: END}]
output: {type: object, properties: {stored: {}}}
EOF
run tenon run picture.yaml --set messages='Draw a picture.'
expect_code 0
ids=$(grep -o '"artifact_id":"[^"]*"' "$work/out" | cut -d'"' -f4)
[ "$(wc -l <<<"$ids")" = 3 ] || fails "expected three Artifacts"
for id in $ids; do
    run tenon artifact read "$id" --output copy.png
    expect_code 0 && cmp -s picture.png copy.png || fails "the picture is not the same, byte for byte"
done
