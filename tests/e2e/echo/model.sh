# A model that repeats its key, in pieces of four characters.
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
[ -e "$BINARY/lib/tenon/plugins/agents.so" ] || skips "built without the agents"
cat >script.json <<J
[{"text": "Your key is $ECHO_KEY, keep it. kept+secret/0123456789", "calls": [{"name": "f", "arguments": {"k": "a $ECHO_KEY b"}}]}]
J
server_start port provider_server.py script.json --log requests
cat >tenon.yaml <<Y
store: {use: sqlite, path: ./state/store.db}
models: {m: {provider: openai, model: gpt-test, base_url: "http://127.0.0.1:$port/v1", api_key: {secret: ECHO_KEY}}}
Y
cat >chat.yaml <<'Y'
version: "1.0"
channels: [{name: messages, type: reduce, reducer: messages}]
models: {m: "scripted:x"}
nodes: [{id: ask, type: llm, config: {model: m}}]
edges: [{from: START, to: ask}, {from: ask, to: END}]
Y
run tenon run chat.yaml --thread t --json --stream messages,updates,values -i '{"messages": [{"type": "user", "content": "Hi"}]}'
expect_code 0 && expect_in out 'Your key is {secret:ECHO_KEY}, keep it. kept+secret/0123456789'
# The start of the key alone is not the key; so the search is for the second half, and the whole.
joined() { # MEMBER: the texts of all deltas in one
    python3 - "$1" <<'PY'
import json, sys
text = ""
for line in open("out.json"):
    delta = json.loads(line).get("delta")
    if not isinstance(delta, dict): continue
    text += delta.get("content", "") if sys.argv[1] == "content" else delta.get("tool_call_delta", {}).get("arguments", "") or ""
print(text)
PY
}
cp "$work/out" out.json
text=$(joined content)
case $text in
    "Your key is "*"{secret:ECHO_KEY}, keep it. kept+secret/0123456789") ;;
    *) fails "the deltas are not the answer without the key: $text" ;;
esac
! grep -rqF '789?>~' "$work/out" state || fails "the end of the key is in an event or in the saved thread"
[ ${#text} -le 75 ] || fails "too much of the key is in the deltas: $text"
case $(joined arguments) in *789*) fails "the key is in the arguments of a tool call: $(joined arguments)" ;; *'{secret:ECHO_KEY} b'*) ;; *) fails "the arguments are not complete: $(joined arguments)" ;; esac
