# A retryable failure falls back to the next model of the list; any other failure does not.
run tenon model test busy --json
expect_code 0 && expect_in out '"model":"scripted:spare"' && expect_in out '"content":"From the spare one"' && expect_in out '"cost":0.0'
expect_in err 'models.busy: `scripted:full` failed (OVERLOADED); falling back to `scripted:spare`'
# The text that the first model has streamed is marked as discarded. The time to the first text is that of the answer.
run sh -c '"$0" model test busy 2>&1' "$TENON"
expect_code 0
[ "$(sed -n 2,4p "$work/out")" = "Wait
tenon: the text above is discarded, because another answer follows
From the spare one" ] || fails "expected the discarded text and the answer on separate lines"
run tenon model test '[{"provider": "scripted", "replies": [{"error": {"code": "OVERLOADED"}}]}, {"provider": "scripted", "replies": ["spare"]}]'
expect_code 0 && expect_out spare && expect_not_in err discarded
run tenon model test denied
expect_code 1 && expect_in err 'the key is wrong' && expect_in err '[AUTH]'
run tenon model test gone
expect_code 0 && expect_out here && expect_in err "models.gone: a fallback is left out"

# One warning per run, however often an agent calls the model.
cat >often.yaml <<'Y'
version: "1.0"
channels: [{name: messages, type: reduce, reducer: messages}, {name: n, type: last_value, default: 0}]
models: {m: [{provider: scripted, cycle: true, replies: [{error: {code: OVERLOADED}}]}, {provider: scripted, cycle: true, replies: ["yes"]}]}
nodes:
  - {id: ask, type: llm, config: {model: m, messages_key: messages}}
  - {id: count, type: set, config: {values: {n: "state.n + 1"}}}
edges: [{from: START, to: ask}, {from: ask, to: count}, {from: count, type: conditional, conditions: [{expression: "state.n < 3", to: ask}, {expression: default, to: END}]}]
Y
for said in 1 2; do echo '{"messages": [{"type": "user", "content": "hi"}]}'; done >two.jsonl
run tenon run often.yaml --batch two.jsonl
expect_code 0 && [ "$(grep -c 'falling back to' "$work/err")" = 2 ] || fails "expected one warning for each of two runs"
