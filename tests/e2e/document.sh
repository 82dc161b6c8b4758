# document.check and document.run (plugins/document): a model writes a document and runs it.
check_mode=1
[ -e "$BINARY/lib/tenon/plugins/document.so" ] || skips "built without tenon.document"
python() { command -v python3 >/dev/null || skips "python3 is not installed"; python3 "$@"; }

# ---- A document that runs itself ends with an error, not with a crash ----
cat >itself.yaml <<'Y'
version: "1.0"
agent: {name: itself}
tools: [{name: document.run, approval: auto}]
channels: [{name: text, type: last_value}, {name: result, type: last_value}]
nodes:
  - {id: again, type: tool, config: {tool: document.run, arguments: {text: state.text, input: '{"text": state.text}'}, output_key: result}}
edges: [{from: START, to: again}, {from: again, to: END}]
Y
python -c 'import json; print(json.dumps({"text": open("itself.yaml").read()}))' >itself.json
run tenon run itself.yaml --input @itself.json
expect_code 1 && expect_in err "documents run each other more than 24 deep" && expect_in err "[LIMIT]"

# ---- Malformed documents ----
checks() { # PYTHON: of a text
    python -c "import json; print(json.dumps({'text': $1}))" >text.json
    run tenon tool call document.check @text.json
    expect_code 0 && expect_in out '"valid":false'
    run tenon tool call document.run @text.json --yes
    expect_code 1 && expect_in err "[INVALID_GRAPH]"
}
checks "''"
checks "'[' * 400000"
checks "'a: &a [*a]'"
checks "'version: \"1.0\"\\0'"
checks "'\\x1b]0;title\\x07: 1'"
checks "'a: &a [x,x,x,x,x,x,x,x,x]\\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\\nd: [*c,*c,*c,*c,*c,*c,*c,*c]'"

# ---- The inner run is interrupted and resumed by another process; its usage counts once ----
[ -e "$BINARY/lib/tenon/plugins/sqlite.so" ] && [ -e "$BINARY/lib/tenon/plugins/agents.so" ] || exit 0
cat >tenon.yaml <<'Y'
models: {default: {provider: scripted, replies: [{message: "yes", usage: {input_tokens: 10, output_tokens: 5, total_tokens: 15}}]}}
Y
cat >inner.yaml <<'Y'
version: "1.0"
agent: {name: inner}
tools: [{name: extract, approval: ask}]
channels: [{name: said, type: last_value}, {name: got, type: last_value}]
nodes:
  - {id: ask, type: llm, config: {model: default, prompt: hi, output_key: said}}
  - {id: tool, type: tool, config: {tool: extract, arguments: {from: '"see https://a.example/"', what: '"links"'}, output_key: got}}
edges: [{from: START, to: ask}, {from: ask, to: tool}, {from: tool, to: END}]
Y
cat >outer.yaml <<'Y'
version: "1.0"
agent: {name: outer}
tools: [{name: document.run, approval: auto}, extract]
channels: [{name: text, type: last_value}, {name: result, type: last_value}, {name: said, type: last_value}]
nodes:
  - {id: first, type: llm, config: {model: default, prompt: hi, output_key: said}}
  - {id: again, type: tool, config: {tool: document.run, arguments: {text: state.text}, output_key: result}}
edges: [{from: START, to: first}, {from: first, to: again}, {from: again, to: END}]
Y
python -c 'import json; print(json.dumps({"text": open("inner.yaml").read()}))' >inner.json
run tenon run outer.yaml --input @inner.json --thread t
expect_code 5
id=$("$TENON" thread show t --json | sed -n 's/.*"interrupts":\[{"id":"\([0-9a-f]*\)".*/\1/p')
run tenon thread answer t "$id=yes"
expect_code 0
run tenon run outer.yaml --thread t --resume --json
expect_code 0 && expect_in out '"usage":{"llm_calls":2,"input_tokens":20,"output_tokens":10,"total_tokens":30}' && expect_in out '"got":["https://a.example/"]'
run tenon replay t
expect_code 0

# ---- The inner run spends the budget of the run around it, whatever budget its own document has ----
cat >spends.yaml <<'Y'
version: "1.0"
agent: {name: spends}
budget: {tokens: 1000000}
channels: [{name: n, type: reduce, reducer: sum, default: 0}, {name: said, type: append}]
nodes:
  - {id: ask, type: llm, config: {model: default, prompt: say, output_key: said}}
  - {id: count, type: set, config: {values: {n: 1}}}
edges:
  - {from: START, to: ask}
  - {from: ask, to: count}
  - {from: count, type: conditional, conditions: [{expression: state.n < 10, to: ask}, {expression: default, to: END}]}
Y
python -c 'import json; print(json.dumps({"text": open("spends.yaml").read()}))' >spends.json
sed 's/^agent: .*/&\nbudget: {tokens: 40}/' outer.yaml >limited.yaml
run tenon run limited.yaml --input @spends.json
expect_code 1 && expect_in err "this run of \`outer\` has used 45 tokens in 3 calls of models, and its budget is 40"
