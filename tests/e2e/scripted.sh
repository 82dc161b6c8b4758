# The model `scripted` in documents: replies from a file, failing attempts, replies by history and by calls, separate
# processes, cancelling; and scripts with mistakes.
check_mode=1
document() {
    cat <<Y
version: "1.0"
agent: {name: scripted}
models: {m: $1}
channels:
  - {name: messages, type: append}
  - {name: answer, type: last_value}
nodes:
  - {id: ask, type: llm, config: {model: m, messages_key: messages, output_key: answer}, ${2:-retry: {max_attempts: 1\}}}
edges:
  - {from: START, to: ask}
  - {from: ask, to: END}
Y
}
hi='{"messages": [{"type": "user", "content": "Hi"}]}'
later='{"messages": [{"type": "user", "content": "Hi"}, {"type": "ai", "content": "…"}, {"type": "user", "content": "And?"}]}'

# ---- A file ----
echo '{"replies": ["one", "two"], "rules": [{"contains": "rule", "reply": "ruled"}]}' >replies.json
document '{provider: scripted, script: {file: replies.json}}' >file.yaml
run tenon check file.yaml
expect_code 0
for isolate in "" "--isolate tenon.scripted"; do
    # shellcheck disable=SC2086
    run tenon run file.yaml --input "$hi" $isolate
    expect_code 0 && expect_in out '"answer":"one"'
    # shellcheck disable=SC2086
    run tenon run file.yaml --input "$later" $isolate
    expect_code 0 && expect_in out '"answer":"two"'
done
document '{provider: scripted, script: {file: gone.json}}' >gone.yaml
run tenon check gone.yaml
expect_code 3 && expect_in err 'the file `gone.json` cannot be read'

# ---- Attempts: each turn fails as often as the reply says, then succeeds ----
document '{provider: scripted, replies: [{error: {code: OVERLOADED}}, {message: "Well", error: {code: TIMEOUT}}, one, {error: {code: OVERLOADED}}, two]}' \
    'retry: {max_attempts: 3, initial: 1ms}' >retry.yaml
run tenon run retry.yaml --input "$hi"
expect_code 0 && expect_in out '"answer":"one"'
run tenon run retry.yaml --input "$later"
expect_code 0 && expect_in out '"answer":"two"'
document '{provider: scripted, replies: [{error: {code: AUTH, message: "no key"}}, one]}' 'retry: {max_attempts: 3, initial: 1ms}' >auth.yaml
run tenon run auth.yaml --input "$hi"
expect_code 1 && expect_in err "no key" && expect_in err "[AUTH]"
document '{provider: scripted, replies: [one], cycle: false}' >once.yaml
run tenon run once.yaml --input "$later"
expect_code 1 && expect_in err "REPLIES_USED_UP" && expect_in err 'set `cycle: true`'

# ---- By calls: each instance counts its calls, whatever their input ----
cat >calls.yaml <<'Y'
version: "1.0"
agent: {name: calls}
models:
  m: {provider: scripted, by: calls, replies: [a, b, c]}
  h: {provider: scripted, replies: [a, b, c]}
channels:
  - {name: said, type: append}
  - {name: heard, type: append}
nodes:
  - {id: ask, type: llm, config: {model: m, prompt: Hi, output_key: said}}
  - {id: ask_too, type: llm, config: {model: h, prompt: Hi, output_key: heard}}
edges:
  - {from: START, to: ask}
  - {from: ask, to: ask_too}
  - {from: ask_too, type: conditional, conditions: [{expression: size(state.said) < 4, to: ask}, {expression: "true", to: END}]}
Y
run tenon run calls.yaml
expect_code 0 && expect_in out '"said":["a","b","c","a"]' && expect_in out '"heard":["a","a","a","a"]'

# ---- A conversation, each turn in a separate process ----
cat >thread.yaml <<'Y'
version: "1.0"
agent: {name: thread}
models: {m: {provider: scripted, replies: [one, two, three]}}
channels: [{name: messages, type: append}, {name: answer, type: last_value}]
nodes: [{id: ask, type: llm, config: {model: m, prompt: Hi, messages_key: messages, output_key: answer}}]
edges: [{from: START, to: ask}, {from: ask, to: END}]
Y
for answer in one two three one; do
    run tenon run thread.yaml --thread talk
    expect_code 0 && expect_in out "\"answer\":\"$answer\""
done

# ---- Slow, and cancelled ----
document '{provider: scripted, replies: [abcdef], chunk: 1, delay_ms: 60000}' 'timeout: 50ms' >slow.yaml
run tenon run slow.yaml --input "$hi"
expect_code 1 && expect_in err "node \`ask\`: the task did not end within 50 ms [TIMEOUT]"

# ---- Mistakes ----
wrong() {
    document "$1" >wrong.yaml
    run tenon run wrong.yaml --input "$hi"
    expect_code 3
    expect_in err "$2"
}
wrong '{provider: scripted, rules: [{matches: "a(", reply: x}]}' 'is not a POSIX extended regular expression'
wrong '{provider: scripted, script: "[1, 2"}' 'line 1 is not JSON'
wrong '{provider: scripted, script: "[7]"}' 'replies[0], an int: it must be a text, an ai message'
wrong '{provider: scripted, script: "{}"}' 'replies[0], an object'
wrong '{provider: scripted, replies: [{message: x, usag: 3}]}' '`replies[0].usag` of model `m`: unknown property `usag`'
wrong '{provider: scripted, replies: [{role: user, content: x}]}' '`replies[0].role` of model `m`: unknown property `role`'
