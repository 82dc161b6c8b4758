# A node gets the same results in its own process as in the host's, on the loop and on a worker.
cat >apart.yaml <<'Y'
version: "1.0"
channels: [{name: t, type: append}]
tools: [t.add, t.delete, t.block, {name: t.slow, timeout: 50ms}]
nodes:
  - {id: d, type: test.tools, config: {out: t, tools: [t.add]}}
  - {id: e, type: test.tools_wait, config: {out: t, tools: ["t.b*"]}}
  - id: a
    type: test.calls
    config:
      calls: [{name: t.add, arguments: {a: 1, b: 1}}, {name: t.nothing}, {name: t.delete, arguments: {path: x}, approved: true}, {name: t.slow}]
      out: t
  - id: b
    type: test.calls_wait
    config:
      calls: [{name: t.add, arguments: {a: 1, b: 1}}, {name: t.block, arguments: {n: 1}}, {name: t.delete, arguments: {path: y}}]
      out: t
edges: [{from: START, to: d}, {from: d, to: e}, {from: e, to: a}, {from: a, to: b}, {from: b, to: END}]
Y
for where in here apart; do
    isolate=()
    [ $where = here ] || isolate=(--isolate test.nodes)
    run tenon run apart.yaml --thread $where "${plugin[@]}" "${isolate[@]}"
    expect_code 5
    id=$(tenon thread show $where --json | grep -o '"id":"[0-9a-f]*"' | cut -d'"' -f4)
    run tenon run apart.yaml --thread $where --resume --answer "$id=yes" "${plugin[@]}" "${isolate[@]}"
    expect_code 0 && expect_in out '"tool_name":"t.block"' && expect_in out "deleted y" && expect_in out '"name":"t.slow","error":"TIMEOUT","message":"the tool `t.slow` did not end within 50 ms"'
    cp "$work/out" $where.json
done
cmp here.json apart.json || fails "the isolated run has a different output"
