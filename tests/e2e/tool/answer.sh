# Approvals given by another process, in any order. Finished calls are not repeated.
configure
mkdir log
cat >agent.yaml <<'Y'
version: "1.0"
channels: [{name: t, type: append}]
tools: [t.add, {name: t.count, max_calls: 3}]
nodes:
  - {id: a, type: test.calls, config: {calls: [{name: t.count, arguments: {}}, {name: t.add, arguments: {a: 1, b: 1}}], out: t}}
  - {id: b, type: test.calls, config: {calls: [{name: t.count, arguments: {}}, {name: t.count, arguments: {}}], out: t}}
  - {id: c, type: test.calls, config: {calls: [{name: t.count, arguments: {}}], out: t}}
edges: [{from: START, to: [a, b]}, {from: [a, b], to: c}, {from: c, to: END}]
Y
run tenon run agent.yaml --thread one "${plugin[@]}" --json
expect_code 5 && expect_in out '"payload":{"kind":"approval","tool":"t.count","arguments":{},"effects":["state.count"],"title":"Counts.","why":"tenon.yaml sets `ask` for `t.*`","chain":[{"kind":"node","id":"test.calls","plugin":"test.nodes","node":"a"},{"kind":"document","name":"agent.yaml"}],"caller":"test.calls `a` of document `agent.yaml`"}'
[ "$(grep -c '"tool":"t.add"' log/audit.jsonl)" = 1 ] || fails "the audit log lacks the finished call"
grep -q 't.count' log/audit.jsonl && fails "the audit log contains a waiting call"
ids() { tenon thread show one --json | grep -o '"id":"[0-9a-f]*"' | cut -d'"' -f4; }
[ "$(ids | wc -l)" = 3 ] || fails "expected 3 interrupts"
last_id=$(ids | tail -1)
run tenon thread answer one "$last_id={\"agreed\": false}" "${plugin[@]}"
expect_code 1 && expect_in err 'missing property `approved`'
run tenon thread answer one "$last_id={\"approved\": false, \"reason\": \"not that\"}" "${plugin[@]}"
expect_code 0
run tenon run agent.yaml --thread one --resume "${plugin[@]}"
expect_code 5
[ "$(ids | wc -l)" = 2 ] || fails "expected 2 interrupts"
run tenon run agent.yaml --thread one --resume --answer "$(ids | tail -1)=yes" "${plugin[@]}"
expect_code 5
run tenon thread answer one "$(ids | tail -1)=true" "${plugin[@]}"
run tenon run agent.yaml --thread one --resume "${plugin[@]}"
expect_code 0
cp "$work/out" result
grep -qF '{"name":"t.count","error":"TOOL_DENIED","message":"the call of the tool `t.count` was not approved: not that' result || fails "expected the error TOOL_DENIED"
grep -qF '{"name":"t.count","error":"LIMIT"' result || fails "expected the error LIMIT for the fourth call"
[ "$(grep -c '"tool":"t.add"' log/audit.jsonl)" = 1 ] || fails "the call of t.add was repeated"
[ "$(grep -c '"tool":"t.count".*"agreed":"answer".*"outcome":"ok"' log/audit.jsonl)" = 2 ] || fails "expected 2 approved calls of t.count in the audit log"
grep -q '"thread_id":"one".*"tool":"t.count".*"outcome":"TOOL_DENIED"' log/audit.jsonl || fails "the audit log lacks the denied call"
grep -q '"tool":"t.count".*"outcome":"LIMIT"' log/audit.jsonl || fails "the audit log lacks the call that exceeded the limit"
run tenon replay one "${plugin[@]}"
expect_code 0
