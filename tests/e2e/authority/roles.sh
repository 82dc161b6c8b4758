# A document from a text uses the roles of tenon.yaml and of the documents around it. It binds no provider itself,
# because a binding could send the operator's key to any address.
[ -e "$BINARY/lib/tenon/plugins/document.so" ] && [ -e "$BINARY/lib/tenon/plugins/agents.so" ] || skips "built without the plugins"
inner() { # ROLE MODELS
    cat <<Y
version: "1.0"
$2
channels: [{name: said, type: last_value}]
nodes: [{id: ask, type: llm, config: {model: "$1", prompt: hi, output_key: said}}]
edges: [{from: START, to: ask}, {from: ask, to: END}]
Y
}
outer() { # MODELS
    cat >outer.yaml <<Y
version: "1.0"
$1
tools: [{name: document.run, approval: auto}]
channels: [{name: text, type: last_value}, {name: result, type: last_value}]
nodes: [{id: go, type: tool, config: {tool: document.run, arguments: {text: state.text}, output_key: result}}]
edges: [{from: START, to: go}, {from: go, to: END}]
Y
}
runs() { run tenon run outer.yaml --set "text=$(inner "$@")"; }
bound='{provider: scripted, replies: [outer]}'
own='{provider: scripted, replies: [own]}'
outer "models: {writer: $bound}"
runs writer ""
expect_code 0 && expect_in out '"said":"outer"'
# Its own binding of the role does not count.
runs writer "models: {writer: $own}"
expect_code 0 && expect_in out '"said":"outer"'
for model in other scripted:small; do
    runs "$model" "models: {other: $own}"
    expect_code 1 && expect_in err "may use only roles that tenon.yaml or a document around it binds; bind the role \`$model\` there" && expect_in err PERMISSION_DENIED
done
# Nor does it choose the address or the credentials of a bound role: any secret could be sent to any address.
for member in 'base_url: "http://127.0.0.1:9"' 'api_key: {secret: HOME}' 'headers: {x: {secret: HOME}}'; do
    runs "writer\", $member, system_prompt: \"hi" ""
    expect_code 1 && expect_in err "may not set \`${member%%:*}\` of the model \`writer\`" && expect_in err PERMISSION_DENIED
done
# The same text as the user's own file may.
inner other "models: {other: $own}" >own.yaml
run tenon run own.yaml
expect_code 0 && expect_in out '"said":"own"'
