# A retryable failure falls back to the next model of the list, and so does one that another model may not have.
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
expect_code 0 && expect_out never && expect_in err 'models.denied: `scripted:locked` failed (AUTH); falling back'
# `fallback.on` replaces the codes.
role() { run tenon model test "{\"models\": [$1]${2:-}}" --json; }
failing() { echo "{\"provider\": \"scripted\", \"model\": \"$1\", \"replies\": [{\"error\": {\"code\": \"$2\"${3:-}}}]${4:-}}"; }
spare='{"provider": "scripted", "model": "spare", "replies": ["yes"]}'
for failure in AUTH QUOTA NOT_FOUND CONTEXT_LENGTH OVERLOADED RATE_LIMITED TIMEOUT CONNECT INVALID_RESPONSE; do
    role "$(failing a $failure), $spare"
    expect_code 0 && expect_in out '"model":"scripted:spare"'
    role "$(failing a $failure), $spare" ', "fallback": false'
    expect_code 1 && expect_in err "[$failure]"
    role "$(failing a $failure), $spare" ", \"fallback\": {\"on\": [\"UNSUPPORTED\"]}"
    expect_code 1 && expect_in err "[$failure]"
    role "$(failing a $failure), $spare" ", \"fallback\": {\"on\": [\"$failure\"]}"
    expect_code 0
done
role "$(failing a INVALID_REQUEST), $spare"
expect_code 1 && expect_in err "[INVALID_REQUEST]"
role "$(failing a INVALID_REQUEST), $spare" ', "fallback": {"on": ["any"]}'
expect_code 0
role "$(failing a OWN ', "retryable": true'), $spare" ', "fallback": {"on": ["retryable"]}'
expect_code 0
role "$(failing a CONTEXT_LENGTH '' ', "context_tokens": 8000'), $(failing b ERROR '' ', "context_tokens": 8000'), {\"provider\": \"scripted\", \"model\": \"large\", \"replies\": [\"yes\"], \"context_tokens\": 9000}"
expect_code 0 && expect_in out '"model":"scripted:large"'
role "$(failing a CONTEXT_LENGTH '' ', "context_tokens": 8000'), $(failing b ERROR '' ', "context_tokens": 4000')"
expect_code 1 && expect_in err "[CONTEXT_LENGTH]"
# A mistake is one error.
wrong() { run tenon model test "$1" && expect_code 4; expect_in err "$2"; }
wrong "{\"models\": [\"scripted\"], \"fallback\": {\"on\": [\"OVERLOADD\"]}}" 'no error has the code `OVERLOADD`; did you mean `OVERLOADED`?'
wrong '{"models": ["scripted"], "balance": "fair"}' '`balance`: found `fair`, expected `round_robin` or `least_busy`'
wrong '{"models": ["scripted"], "retri": 1}' 'has no member `retri`; did you mean `retry`?'
wrong '{"provider": "scripted", "retry": {"attempts": 99}}' '`retry.attempts`: found 99, expected a number from 0 to 10'
wrong '{"provider": "scripted", "retry": {"initial": "soon"}}' '`retry.initial`: found `soon`, expected a duration'
wrong '{"provider": "scripted", "cache": {"ttl": 0}}' '`cache.ttl`: found 0, expected a duration above 0'
wrong '{"provider": "scripted", "context_tokens": "many"}' '`context_tokens`: found `many`, expected a number'
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
