# tenon:NAME is a strategy wherever a document is named, and reads nothing outside of its folder.
run tenon run -q tenon:single_turn --model default=scripted --input '{"task": {"payload": {"text": "Hello"}}}'
expect_code 0 && expect_in out '"Hello"'
run tenon check tenon:pdca tenon:react tenon:single_turn tenon:notify
expect_code 0
run tenon graph tenon:notify --format json
expect_code 0 && expect_in out '"show"'
run bash -c 'echo Hello | "$TENON" chat tenon:react --model default=scripted'
expect_code 0 && expect_out Hello
run tenon run tenon:absent
expect_code 2 && expect_in err ', tenon:notify, tenon:pdca, tenon:react, ' && expect_not_in err CMakeLists && expect_not_in err README

# In documents: a strategy as a node, and one of its prompts.
cat >outer.yaml <<'YAML'
version: "1.0"
channels: [{name: task, type: last_value}, {name: shown, type: last_value}, {name: prompt, type: last_value}]
nodes:
  - {id: show, type: subgraph, config: {document: "tenon:notify", input: {task: task}, output: {user_output: shown}}}
  - {id: read, type: prompt, config: {template: {file: "tenon:pdca/prompts/check.md"}, output_key: prompt}}
edges: [{from: START, to: show}, {from: show, to: END}]
YAML
sed -i '/id: read/d' outer.yaml
run tenon run -q outer.yaml --input '{"task": {"payload": {"message": "Ada"}}}'
expect_code 0 && expect_in out '"shown":"Ada"'
cat >prompt.yaml <<'YAML'
version: "1.0"
channels: [{name: options, type: last_value, default: {}}, {name: prompt, type: last_value}]
nodes: [{id: read, type: prompt, config: {template: {file: "tenon:pdca/prompts/check.md"}, output_key: prompt}}]
edges: [{from: START, to: read}, {from: read, to: END}]
YAML
run tenon run -q prompt.yaml
expect_code 0 && expect_in out 'You check one step'

# Another installation, with strategies that try to read more.
mkdir -p prefix/bin prefix/lib/tenon prefix/share/tenon/strategies/curious prefix/share/tenon/strategies/.hidden prefix/share/tenon/strategies/empty
cp "$TENON" prefix/bin/
cp -rL "$BINARY/lib/tenon/plugins" prefix/lib/tenon/
cp -rL "$SOURCE/plugins/strategies/react" prefix/share/tenon/strategies/
cp "$SOURCE/plugins/strategies/notify/notify.yaml" prefix/share/tenon/strategies/.hidden/.hidden.yaml
printf 'secret' >prefix/share/tenon/secret.txt
curious=prefix/share/tenon/strategies/curious
for file in ../react/prompts/system.md ../../secret.txt "$PWD/prefix/share/tenon/secret.txt" link.txt; do
    sed "s#tenon:pdca/prompts/check.md#$file#" prompt.yaml >$curious/curious.yaml
    ln -sf ../../secret.txt $curious/link.txt
    run prefix/bin/tenon check tenon:curious
    expect_code 3 && expect_in err E063 && expect_not_in err 'no such file'
done
for name in curious/link.txt curious/../react/react.yaml curious/../../secret.txt .hidden .hidden/.hidden.yaml empty react/prompts '' /; do
    run prefix/bin/tenon run "tenon:$name"
    expect_code 2 && expect_in err 'is installed with Tenon; available: tenon:curious, tenon:react [NOT_FOUND]'
done
