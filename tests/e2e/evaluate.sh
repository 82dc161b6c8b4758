# `tenon evaluate`: cases, expectations, models, versions, thresholds, results that are continued, and mistakes.
[ -e "$BINARY/lib/tenon/plugins/agents.so" ] || skips "built without the agents"
cat >answer.yaml <<'Y'
version: "1.0"
agent: {name: answer}
models: {default: {provider: scripted, replies: ["{input}"]}}
channels: [{name: messages, type: reduce, reducer: messages}]
nodes: [{id: answer, type: llm, config: {messages_key: messages}}]
edges: [{from: START, to: answer}, {from: answer, to: END}]
Y
sed 's/\["{input}"\]/["always 42"]/' answer.yaml >other.yaml
ask() { echo "{messages: [{type: user, content: '$1'}]}"; }
cat >suite.yaml <<Y
documents: {echo: answer.yaml, fixed: other.yaml}
models:
  own: {}
  wise: {provider: scripted, replies: ["the answer is 42"], model: wise}
judge:
  provider: scripted
  rules:
    - {contains: '"answer":"always 42"', reply: 'Sure. {"reason": "it does not hedge", "passed": true}'}
    - {contains: '"criterion"', reply: '{"reason": "it is vague", "passed": false}'}
  replies: ["?"]
cases:
  - {id: equal, input: $(ask "always 42"), expect: {equals: always 42}}
  - {id: text, input: $(ask "42 and 43"), expect: {contains: ["42"]}}
  - {id: check, input: $(ask "42"), expect: {check: ["answer.contains('4')", "size(output.messages) == 2", "usage.total_tokens > 0 && ms >= 0.0 && cost == null"]}}
  - {id: shape, input: $(ask '[42]'), answer: "size(output.messages)", expect: {schema: {const: 2}}}
  - {id: judged, input: $(ask "42?"), expect: {rubric: Does not hedge.}}
Y
run tenon evaluate suite.yaml --out results.jsonl
expect_code 1
expect_in out "echo                     own                   4      1      0  80.0%"
expect_in out "echo                     wise                  3      2      0  60.0%"
expect_in out "fixed                    own                   5      0      0 100.0%"
grep -q "^fixed  *own .*below" "$work/out" && fails "fixed with its own model meets the thresholds"
grep -q "^echo  *own .*below the thresholds" "$work/out" || fails "expected echo to be below the thresholds"
expect_in out '✗ echo/equal with wise: found "the answer is 42", expected "always 42"'
expect_in out "✗ echo/judged with own: it is vague"
expect_in out "cases in which they differ"
expect_in out "  equal                           100%  0%  100%  0%"
[ "$(wc -l <results.jsonl)" = 20 ] || fails "expected a line for each run"
# Results are not computed again; a line that a killed process left is removed.
run tenon evaluate suite.yaml --out results.jsonl
expect_code 2 && expect_in err "continue it with --resume"
cp results.jsonl before.jsonl
head -n 7 before.jsonl >results.jsonl
printf '{"document":"ech' >>results.jsonl
run tenon evaluate suite.yaml --out results.jsonl --resume
expect_code 1 && [ "$(wc -l <results.jsonl)" = 20 ] || fails "expected the other runs only"
[ "$(jq_keys() { sed 's/.*"key":"\([0-9a-f]*\)".*/\1/' "$1" | sort; }; diff <(jq_keys results.jsonl) <(jq_keys before.jsonl) && echo same)" = same ] || fails "the keys differ"
# A changed case runs again, and the change is shown.
sed 's/equals: always 42/equals: "42"/' suite.yaml >changed.yaml
run tenon evaluate changed.yaml --out results.jsonl --resume --against before.jsonl
expect_code 1 && [ "$(wc -l <results.jsonl)" = 24 ] || fails "expected four more runs"
expect_in out "- fixed/equal with own: 100% → 0%"
run tenon evaluate suite.yaml --against before.jsonl --case text --json
expect_code 0 && expect_in out '"changes":[]' && expect_in out '"runs":1'
# Thresholds, repeat, a file of cases, and JSON
cat >small.yaml <<'Y'
document: answer.yaml
cases: {file: cases.jsonl}
repeat: 3
expect: {contains: a}
thresholds: {pass_rate: 0.5}
Y
printf '{"input": {"messages": [{"type": "user", "content": "a"}]}}\n\n{"input": {"messages": [{"type": "user", "content": "b"}]}}\n' >cases.jsonl
run tenon evaluate small.yaml --json
expect_code 0 && expect_in out '"passed":3,"failed":3,"errors":0,"pass_rate":0.5'
run tenon evaluate small.yaml --case 2
expect_code 1 && expect_in out '✗ answer.yaml/2: found "b", expected it to contain "a"'
run tenon evaluate small.yaml --case 3
expect_code 2 && expect_in err "the suite has no case \`3\`"
# A run that fails or asks a person is an error of its case, and the next evaluation tries it again.
cat >asks.yaml <<'Y'
version: "1.0"
agent: {name: asks}
channels: [{name: x, type: last_value}]
nodes: [{id: ask, type: ask, config: {question: "well?", output_key: x}}]
edges: [{from: START, to: ask}, {from: ask, to: END}]
Y
printf 'document: asks.yaml\ncases: [{}]\n' >asks.suite.yaml
for i in 1 2; do
    run tenon evaluate asks.suite.yaml --out asks.jsonl --resume
    expect_code 1 && expect_in out "! asks.yaml/1: the run asks a person"
done
[ "$(wc -l <asks.jsonl)" = 2 ] || fails "an error was not tried again"
# Mistakes
mistake() { # TEXT MESSAGE
    printf '%s\n' "$1" >wrong.yaml
    run tenon evaluate wrong.yaml
    expect_code 3 && expect_in err "$2"
}
mistake 'document: answer.yaml' "wrong.yaml:1:1: "
mistake 'document: answer.yaml
cases: [{expects: {}}]' "wrong.yaml:2:10: /cases/0/expects: "
mistake 'document: answer.yaml
cases: [{id: a}, {id: a}]' 'two cases have the id `a`'
mistake 'document: answer.yaml
cases: {file: cases.yaml}' "cases.yaml"
echo '{' >bad.jsonl
mistake 'document: answer.yaml
cases: {file: bad.jsonl}' "bad.jsonl:1: "
# A mistake in a later model is found before the first one costs money.
mistake 'document: answer.yaml
models: {first: {}, second: nothing:x}
cases: [{input: {messages: a}}]' "no plugin offers the model \`nothing\`"
[ ! -s "$work/out" ] || fails "the first model was evaluated"
mistake 'document: answer.yaml
models: {first: [5]}
cases: [{input: {messages: a}}]' '`first` in `models` of the suite: models.default: expected'
printf 'document: answer.yaml\nmodels: {first: {defalt: scripted}}\ncases: [{input: {messages: a}}]\n' >role.yaml
run tenon evaluate role.yaml
expect_code 2 && expect_in err '`models` of the suite: defalt=…: neither the document nor tenon.yaml has a role `defalt`; did you mean `default`?'
# Without a price, the cost is not known.
printf 'document: answer.yaml\nthresholds: {cost: 1}\ncases: [{input: {messages: a}, expect: {check: "cost < 1.0"}}]\n' >cost.yaml
run tenon evaluate cost.yaml
expect_code 1 && expect_in out "1 runs used a model without a price" && expect_in out "does not accept null"
echo 'prices: {"scripted*": {input: 1, output: 1}}' >tenon.yaml
run tenon evaluate cost.yaml --against before.jsonl
expect_code 0 && expect_in out "before.jsonl has no result of these cases, documents and models"
rm tenon.yaml
printf 'document: answer.yaml\ncases: [{input: {messages: [{type: user, content: x}]}, expect: {rubric: good}}]\n' >rubric.yaml
run tenon evaluate rubric.yaml
expect_code 2 && expect_in err "no model that grades it"
sed 's/^cases/judge: nothing:x\ncases/' rubric.yaml >judge.yaml
run tenon evaluate judge.yaml
expect_code 2 && expect_in err "the judge: no plugin offers the model \`nothing\`"
run tenon evaluate cost.yaml --model wirter=scripted
expect_code 2 && expect_in err '--model wirter=…: neither'
echo 'models: {judge: {provider: scripted, replies: [no idea]}}' >tenon.yaml
run tenon evaluate rubric.yaml
expect_code 1 && expect_in out "the judge answered no idea; expected"
run tenon evaluate suite.yaml --against cases.jsonl
expect_code 2 && expect_in err "cases.jsonl:1: this is not a result"
run tenon evaluate suite.yaml --resume
expect_code 2 && expect_in err "--resume needs --out FILE"
if [ -e /dev/full ]; then
    run tenon evaluate suite.yaml --out /dev/full
    expect_code 1 && expect_in err "the evaluation is cancelled"
fi
run tenon schema suite
expect_code 0 && expect_in out "A suite of cases"
# Ctrl-C ends it; --resume runs the rest.
sed 's/replies: \["{input}"\]/replies: [done], rules: [{contains: slow, reply: {message: {content: late}, delay_ms: 600000}}]/' answer.yaml >slow.yaml
cat >slow.suite.yaml <<Y
document: slow.yaml
concurrency: 2
cases:
  - {input: $(ask quick), expect: {equals: done}}
  - {input: $(ask slow)}
  - {input: $(ask slow)}
Y
"$TENON" evaluate slow.suite.yaml --out slow.jsonl >slow.out 2>slow.err &
wait_until test -s slow.jsonl
code=0
run tenon evaluate slow.suite.yaml --out slow.jsonl --resume
expect_code 2 && expect_in err "another process writes to slow.jsonl"
kill -INT $!
wait $! || code=$?
last="tenon evaluate, interrupted"
mv slow.out "$work/out"
mv slow.err "$work/err"
expect_in out "slow.yaml                -                     1      0      0 100.0%"
expect_code 130 && expect_in err "1 of 3 runs have a result; continue with --resume"
