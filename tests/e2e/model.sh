# `tenon model`: providers, roles, whether a model answers; fallbacks, prices, --model.
cat >tenon.yaml <<'Y'
models:
  default: {provider: scripted, replies: ["Hello {input}"], model: small}
  busy:
    - {provider: scripted, model: full, replies: [{message: "Wait", error: {code: OVERLOADED}}], cycle: true}
    - {provider: scripted, model: spare, replies: ["From the spare one"]}
  denied:
    - {provider: scripted, model: locked, replies: [{error: {code: AUTH, message: "the key is wrong"}}]}
    - {provider: scripted, model: spare, replies: [never]}
  gone: [{provider: nobody}, {provider: scripted, replies: [here]}]
prices:
  "scripted:*": {input: 1000000, output: 2000000}
  "scripted:spare": {input: 0, output: 0}
Y

# No secret that stands in the file itself is shown.
cat >keys.yaml <<'Y'
models:
  default: {provider: openai, model: x, api_key: sk-12345678, headers: {authorization: Bearer sk-12345678, accept: text}}
  other: ["scripted:one", {provider: anthropic, model: y, api_key: {secret: MY_KEY}}, {provider: gemini, api_key: sk-12345678}]
Y
for form in "" --json; do
    # shellcheck disable=SC2086
    run tenon model list -c keys.yaml $form
    expect_code 0 && expect_not_in out sk-12345678 && expect_in out '"api_key":"(hidden)"' && expect_in out '"accept":"text"'
    expect_in out '{"secret":"MY_KEY"}' && expect_in out '"authorization":"(hidden)"'
done
run tenon model list
expect_code 0 && expect_in out "  scripted " && expect_in out '  default          {"provider":"scripted"'
run tenon model list --json
expect_in out '"provider":"scripted","title":' && expect_in out '"roles":{"default":'

# ---- An answer: as it comes, and what it took ----
run tenon model test --prompt Ada
expect_code 0 && expect_out "Hello Ada" && expect_in err "scripted:small: first words after " && expect_in err "tokens in"
run tenon model test default --prompt Ada --json
expect_code 0 && expect_in out '"model":"scripted:small"' && expect_in out '"content":"Hello Ada"'
expect_in out '"input_tokens":1' && expect_in out '"output_tokens":3' && expect_in out '"cost":7.0'
expect_in out '"finish_reason":"stop"'
run tenon model test scripted --prompt echo --no-config
expect_code 0 && expect_out "echo"
run tenon model test --no-config
expect_code 2 && expect_in err "which model?"
run tenon model test scriptet:x
expect_code 4 && expect_in err "no plugin offers the model \`scriptet\`; did you mean \`scripted\`?"
run tenon model test nope
expect_code 4 && expect_in err "no plugin offers the model \`nope\`; \`tenon model list\` shows what there is [NOT_FOUND]"
run tenon model test denyed
expect_code 4 && expect_in err "no role of tenon.yaml is called \`denyed\`; did you mean \`denied\`? And no plugin offers"
# What is too long is said as far as it helps.
long=$(head -c 100000 /dev/zero | tr '\0' x)
for given in "$long" "default=$long:y" "[{\"provider\": \"$long\"}]"; do
    run tenon model test --model "$given"
    expect_code 4 && expect_in err "no plugin offers the model \`xxx" && expect_in err "[NOT_FOUND]"
    [ "$(wc -c <"$work/err")" -lt 1000 ] || fails "the message is as long as what was given"
done
for given in "=$long" "{$long}" "[\"$long\", 1]"; do
    run tenon model test --model "$given"
    [ "$code" != 0 ] && expect_in err "--model" && [ "$(wc -c <"$work/err")" -lt 1000 ] || fails "no message, or a long one"
done

# ---- The next one, where one cannot just now; not, where it never will ----
run tenon model test busy --json
expect_code 0 && expect_in out '"model":"scripted:spare"' && expect_in out '"content":"From the spare one"' && expect_in out '"cost":0.0'
expect_in err 'models.busy: `scripted:full` failed (OVERLOADED); going on with `scripted:spare`'
run tenon model test denied
expect_code 1 && expect_in err 'the key is wrong' && expect_in err '[AUTH]'
run tenon model test gone
expect_code 0 && expect_in out here && expect_in err "models.gone: one to fall back on is left out"

# Once for a run, however often an agent asks.
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
expect_code 0 && [ "$(grep -c 'going on with' "$work/err")" = 2 ] || fails "expected one warning for each of two runs"

# ---- A model as JSON; and what is said of the answer comes after it ----
run sh -c '"$0" model test "{\"provider\": \"scripted\", \"replies\": [\"said\"]}" 2>&1' "$TENON"
expect_code 0 && [ "$(head -1 "$work/out")" = said ] || fails "the answer has no line of its own"
run sh -c '"$0" model test "{\"provider\": \"scripted\", \"chunk\": 4, \"replies\": [{\"message\": \"half an ans\", \"error\": {\"code\": \"OVERLOADED\"}}]}" 2>&1' "$TENON"
expect_code 1 && [ "$(head -1 "$work/out")" = "half an ans" ] || fails "the half answer has no line of its own"
run tenon model test '{"provider": 1}'
expect_code 2 && expect_in err "expected PROVIDER:NAME, or JSON"
run tenon model test '{'
expect_code 2 && expect_in err "the model {: "

# ---- Given up: the call is asked to end, and its end is told ----
cat >slow.yaml <<'Y'
models: {default: {provider: scripted, chunk: 4, delay_ms: 500, replies: ["begun, and on and on and on and on and on and on and on and on"]}}
Y
for signal in INT TERM; do
    last="model test, SIG$signal" code=0
    "$TENON" model test -c slow.yaml >"$work/out" 2>"$work/err" </dev/null &
    host=$!
    for _ in $(seq 400); do [ -s "$work/out" ] && break; sleep 0.05; done
    kill -$signal "$host"
    wait "$host" || code=$?
    expect_code 130 && expect_in err "cancelled [CANCELLED]"
done

# ---- A provider that answers with what it is told to, and twice ----
cat >odd.c <<'C'
#include <tenon/easy.h>
TN_PLUGIN("test.odd", "1.0.0", "A provider that answers oddly")
TN_NOTE_AS(odd_note, "{\"component\": {\"kind\": \"model\", \"id\": \"odd\", \"title\": \"Odd\", \"documentation\": \"Odd.\", \"style\": \"async\", \"effects\": [], \"config\": {\"type\": \"object\"}}}");
static int32_t create(tn_value config, tn_binder *binder, void **self) {
    (void)binder;
    *self = (void *)tn.value->retain(tn.value->get(config, "as"));
    return TN_OK;
}
static int32_t start(void *self, tn_task task, tn_value input) {
    tn_value delta = NULL;
    (void)input;
    (void)tn.value->from_json("{\"content\": \"half an \"}", 23, &delta);
    (void)tn.task->emit(task, delta);
    tn_release(delta);
    (void)tn.task->complete(task, (tn_value)self);
    (void)tn.task->complete(task, (tn_value)self);
    (void)tn.task->fail(task, "AFTERWARDS", "it has failed as well", NULL);
    return TN_OK;
}
static void destroy(void *self) { tn_release((tn_value)self); }
TN_COMPONENT(odd, "odd", create, start, NULL, NULL, destroy)
C
flags=
[ -z "$SANITIZE" ] || flags=-fsanitize=$SANITIZE
"$CC" -shared -fPIC $flags -I "$SOURCE/sdk/include" odd.c -o odd.so 2>"$work/err" || fails "odd.c does not compile"
odd() { run tenon model test -P ./odd.so -M "$1"; } # BINDING
for as in 5 '"x"' '{}' '{"message": 1}'; do
    odd "{\"provider\": \"odd\", \"as\": $as}"
    expect_code 1 && expect_in err "[INVALID_RESPONSE]" && expect_in err 'the model `odd` answered in another shape'
    odd "[{\"provider\": \"odd\", \"as\": $as}, {\"provider\": \"scripted\", \"replies\": [\"spare\"]}]"
    expect_code 0 && expect_in out spare && expect_in err '`odd` failed (INVALID_RESPONSE); going on with `scripted`'
done
for as in '{"message": {"type": "user", "content": "x"}}' '{"message": {"type": "ai"}}' '{"message": {}}' '{"embeddings": []}' '{"message": {"type": "ai", "content": {}, "tool_calls": 3}, "usage": 7}'; do
    odd "{\"provider\": \"odd\", \"as\": $as}"
    expect_code 0
    run tenon model test --json -P ./odd.so -M "{\"provider\": \"odd\", \"as\": $as}"
    expect_code 0
done
odd '{"provider": "odd", "as": {"message": {"type": "ai", "content": "whole"}, "usage": {"input_tokens": -7, "output_tokens": "many", "cost": -1}}}'
expect_code 0 && expect_in err " 0 out"

# ---- --model ----
run tenon model test --model 'scripted:flag' --prompt hey
expect_code 0 && expect_in err "scripted:flag:"
run tenon model test denied -M 'denied={"provider": "scripted", "replies": ["let in"]}'
expect_code 0 && expect_out "let in"
run tenon model test -M '[{"provider": "scripted", "replies": ["first"]}, "scripted:b"]'
expect_code 0 && expect_out "first"
for wrong in "" "=x" "a=" '{"model": "x"}' "[]" '[[]]' '{'; do
    run tenon model list -M "$wrong"
    expect_code 4
done
expect_in err "PARSE"
run tenon model list -M '{"model": "x"}'
expect_in err 'expected [ROLE=]PROVIDER:NAME'

# A role that nobody has would be bound for nothing.
cat >roles.yaml <<'Y'
version: "1.0"
agent: {name: roles}
models: {writer: scripted}
channels: [{name: messages, type: reduce, reducer: messages}]
nodes: [{id: a, type: llm, config: {messages_key: messages, model: critic}}]
edges: [{from: START, to: a}, {from: a, to: END}]
Y
critic='critic={"provider": "scripted", "replies": ["hm"]}'
for command in run check; do
    run tenon $command roles.yaml -M "$critic" -M 'wirter=scripted'
    expect_code 2
    expect_in err '--model wirter=…: neither the document nor tenon.yaml has a role `wirter`; did you mean `writer`?'
done
run tenon run roles.yaml -M "$critic" -M defualt=scripted
expect_code 2 && expect_in err 'did you mean `default`?'
run tenon chat roles.yaml -M "$critic" -M zzz=scripted
expect_code 2 && expect_in err 'has a role `zzz` [NOT_FOUND]'
cp roles.yaml inner.yaml
cat >outer.yaml <<'Y'
version: "1.0"
channels: [{name: messages, type: reduce, reducer: messages}]
nodes: [{id: a, type: subgraph, config: {document: inner.yaml, input: {messages: messages}, output: {messages: messages}}}]
edges: [{from: START, to: a}, {from: a, to: END}]
Y
for document in roles.yaml outer.yaml; do
    run tenon run $document -M "$critic" -M writer=scripted -M scripted --set 'messages=[{"type": "user", "content": "x"}]'
    expect_code 0 && expect_in out '"hm"'
done

# ---- tenon.yaml ----
for prices in '{"a:b": 3}' '{"a:b": {input: -1}}' '{"a:b": {inptu: 1}}' '3'; do
    echo "prices: $prices" >wrong.yaml
    run tenon model list -c wrong.yaml
    expect_code 4 && expect_in err "wrong.yaml:1:"
done
echo 'prices: {"a:b": {inptu: 1}}' >wrong.yaml
run tenon model list -c wrong.yaml
expect_in err 'did you mean `input`'

# ---- Usage of runs, and budgets ----
[ -e "$BINARY/lib/tenon/plugins/agents.so" ] || exit 0
document() { # BUDGET
    cat <<Y
version: "1.0"
agent: {name: spender}
budget: {$1}
channels: [{name: n, type: reduce, reducer: sum, default: 0}, {name: said, type: append}]
nodes:
  - {id: ask, type: llm, config: {model: default, prompt: "say {n}", output_key: said}}
  - {id: count, type: set, config: {values: {n: 1}}}
edges:
  - {from: START, to: ask}
  - {from: ask, to: count}
  - {from: count, type: conditional, conditions: [{expression: state.n < 4, to: ask}, {expression: default, to: END}]}
Y
}
cat >tenon.yaml <<'Y'
models: {default: {provider: scripted, replies: [{message: "yes", usage: {input_tokens: 10, output_tokens: 5, total_tokens: 15}}], model: small}}
prices: {"scripted:small": {input: 1000, output: 2000}}
Y
document "tokens: 1000" >spender.yaml
run tenon run spender.yaml --json
expect_code 0 && expect_in out '"usage":{"llm_calls":4,"input_tokens":40,"output_tokens":20,"total_tokens":60,"cost":0.08}'
document "tokens: 30" >spender.yaml
run tenon run spender.yaml --json
expect_code 1 && expect_in err '[BUDGET_EXCEEDED]' && expect_in err "this run of \`spender\` has used 30 tokens in 2 calls of models, and its budget is 30"
expect_in out '"usage":{"llm_calls":2,' && expect_in out '"n":2'
document "cost: 0.05" >spender.yaml
run tenon run spender.yaml
expect_code 1 && expect_in err "has spent 0.06 in 3 calls"
document "steps: 3" >spender.yaml
run tenon run spender.yaml
expect_code 1 && expect_in err "has taken 3 super-steps, and its budget is 3"
run tenon run spender.yaml -M scripted:other --json
expect_code 1 && expect_not_in out cost
# The last call may go past it, which is said.
document "tokens: 50" >spender.yaml
run tenon run spender.yaml
expect_code 0 && expect_in err "took the run to 60 tokens, over its budget of 50"
document "tokens: 60" >spender.yaml
run tenon run spender.yaml
expect_code 0 && expect_not_in err "budget"
document "cost: 0.05" >spender.yaml
# Costs that nothing comes from.
run tenon check spender.yaml
expect_code 0 && expect_not_in err "budget.cost"
run tenon check spender.yaml --no-config -M scripted --strict
expect_code 3 && expect_in err "budget.cost bounds nothing: tenon.yaml has no \`prices\`" && expect_in err "1 warning"
run tenon run spender.yaml -M scripted
expect_code 0 && [ "$(grep -c "has no price in tenon.yaml" "$work/err")" = 1 ] || fails "expected one warning"
# It is one run's: one that is gone on with, maybe with more of it, is the same run, and new input is another.
if [ -e "$BINARY/lib/tenon/plugins/sqlite.so" ]; then
    document "tokens: 75, steps: 12" >spender.yaml
    run tenon run spender.yaml --thread t --json
    expect_code 0 && expect_in out '"total_tokens":60'
    run tenon run spender.yaml --thread t --set n=-3 --json
    expect_code 0 && expect_in out '"total_tokens":105' && expect_in out '"steps":14'
    run tenon run spender.yaml --thread t --set n=-9 --json
    expect_code 1 && expect_in err "has used 75 tokens in 5 calls" && expect_in out '"llm_calls":12'
    run tenon run spender.yaml --thread t --resume
    expect_code 1 && expect_in err "has used 75 tokens in 5 calls"
    document "tokens: 75, steps: 11" >spender.yaml
    run tenon run spender.yaml --thread t --resume
    expect_code 1 && expect_in err "has used 75 tokens in 5 calls"
    document "tokens: 90, steps: 11" >spender.yaml
    run tenon run spender.yaml --thread t --resume
    expect_code 1 && expect_in err "has taken 11 super-steps, and its budget is 11"
    document "tokens: 1000" >spender.yaml
    run tenon run spender.yaml --thread t --resume
    expect_code 0
    run tenon replay t
    expect_code 0
    document "tokens: 30" >spender.yaml
    run tenon run spender.yaml --thread u
    expect_code 1
    run tenon run spender.yaml --thread u --replace --set n=2
    expect_code 0
fi
cat >around.yaml <<'Y'
version: "1.0"
agent: {name: around}
budget: {tokens: 40}
channels: [{name: n, type: last_value, default: 0}, {name: out, type: last_value}]
nodes: [{id: inner, type: subgraph, config: {document: spender.yaml, input: {n: n}, output: {n: out}}}]
edges: [{from: START, to: inner}, {from: inner, to: END}]
Y
document "tokens: 1000" >spender.yaml
run tenon run around.yaml --json
expect_code 1 && expect_in err '`around` has used 45 tokens in 3 calls' && expect_in out '"llm_calls":3'
