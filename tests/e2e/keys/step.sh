# Two calls of a tool by one node, two of a tool that is a document, and two items of a map edge in nested runs: all pay
# at the same time. Each has its own key, and has it again when the run is resumed after its process was killed.
needs_server
echo '        - {name: by_document, document: pay.yaml}' >>tenon.yaml
cat >steps.yaml <<'Y'
version: "1.0"
agent: {name: steps}
channels: [{name: list, type: last_value, default: [3, 4]}, {name: out, type: append}]
tools: [pay, {name: by_document, approval: auto}]
nodes:
  - {id: two, type: test.calls, config: {calls: [{name: pay, arguments: {sum: 1}}, {name: pay, arguments: {sum: 2}}], out: out}}
  - id: documents
    type: test.calls
    config: {calls: [{name: by_document, arguments: {sum: 5}}, {name: by_document, arguments: {sum: 6}}], out: out}
  - {id: each, type: subgraph, config: {document: pay.yaml, input: {item: sum}}}
edges:
  - {from: START, to: two}
  - {from: START, to: documents}
  - {from: START, type: map, over: state.list, as: item, to: each}
Y
touch hang
"$TENON" run steps.yaml --thread t $nodes >first 2>&1 &
host=$!
disown
wait_until requests 6
kill -9 $host
rm hang
wait_until has_ended $host
run tenon run steps.yaml --thread t --resume $nodes
expect_code 0
requests 12 || fails "expected twelve requests: $(cat requests)"
sort requests | uniq -c >counted
[ "$(wc -l <counted)" = 6 ] && ! grep -qv '^ *2 ' counted || fails "a repeated request has another key: $(cat requests)"
expect_different $(cut -d' ' -f3 requests | sort -u)
[ "$(cut -d' ' -f3 requests | sort -u | wc -l)" = 6 ] || fails "expected six keys: $(cat requests)"
