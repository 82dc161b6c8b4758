# Shared by the tests of `tenon chat`: documents, and functions that talk through a pipe or on a terminal.
[ -e "$BINARY/lib/tenon/plugins/agents.so" ] || skips "built without the agents"
cat >echo.yaml <<'Y'
version: "1.0"
agent: {name: echo}
channels:
  - {name: messages, type: reduce, reducer: messages}
  - {name: mood, type: last_value, default: calm}
nodes:
  - {id: answer, type: set, config: {values: {messages: '{"type": "ai", "content": "you said " + state.messages[state.messages.size() - 1].content + ", " + state.mood}'}}}
edges: [{from: START, to: answer}, {from: answer, to: END}]
Y
cat >agent.yaml <<'Y'
version: "1.0"
agent: {name: helper}
models:
  default:
    provider: scripted
    replies:
      - {content: "Let me see.", tool_calls: [{id: a, name: extract, arguments: {from: "see https://a.example/x", what: links}}]}
      - "One link."
      - "You are welcome, {input}."
tools: [{name: extract, approval: ask}]
channels: [{name: messages, type: reduce, reducer: messages}]
nodes: [{id: agent, type: agent, config: {messages_key: messages, tools: [extract]}}]
edges: [{from: START, to: agent}, {from: agent, to: END}]
Y
sed 's/approval: ask/approval: auto/' agent.yaml >auto.yaml
talk() { printf "$said" | "$TENON" chat "$@"; }

# A model may give each turn's calls the same id.
cat >same.yaml <<'Y'
version: "1.0"
agent: {name: same}
models: {default: {provider: scripted, cycle: true, replies: [{tool_calls: [{id: a, name: extract, arguments: {from: "{input}", what: numbers}}]}, {tool_calls: [{id: a, name: extract, arguments: {from: "{input}", what: links}}]}, "so"]}}
tools: [extract]
channels: [{name: messages, type: reduce, reducer: messages}]
nodes: [{id: agent, type: agent, config: {messages_key: messages, tools: [extract]}}]
edges: [{from: START, to: agent}, {from: agent, to: END}]
Y
# A failed turn leaves nothing behind: the next one prints only its own messages.
cat >fails.yaml <<'Y'
version: "1.0"
agent: {name: fails}
channels: [{name: messages, type: reduce, reducer: messages}]
nodes:
  - {id: note, type: set, config: {values: {messages: '[{"type": "ai", "content": "first"}, {"type": "ai", "content": "second"}]'}}}
  - {id: last, type: set, config: {values: {messages: '{"type": "ai", "content": "n" + string(1 / (state.messages[state.messages.size() - 3].content == "bad" ? 0 : 1))}'}}}
edges: [{from: START, to: note}, {from: note, to: last}, {from: last, to: END}]
Y
terminal() { last="terminal: $*" code=0; python3 "$SOURCE/tests/e2e/terminal.py" "$@" >"$work/out" 2>"$work/err" || code=$?; }
