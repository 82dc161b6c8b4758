# Two calls of one node, and the calls of two items of a map edge in nested runs, run at the same time. Each has its own
# key, and has it again when the run is resumed after its process was killed.
needs_server
cat >steps.yaml <<'Y'
version: "1.0"
agent: {name: steps}
channels: [{name: list, type: last_value, default: [3, 4]}, {name: out, type: append}]
tools: [pay]
nodes:
  - {id: two, type: test.calls, config: {calls: [{name: pay, arguments: {sum: 1}}, {name: pay, arguments: {sum: 2}}], out: out}}
  - {id: each, type: subgraph, config: {document: pay.yaml, input: {item: sum}}}
edges:
  - {from: START, to: two}
  - {from: START, type: map, over: state.list, as: item, to: each}
Y
touch hang
"$TENON" run steps.yaml --thread t $nodes >first 2>&1 &
host=$!
disown
wait_until requests 4
kill -9 $host
rm hang
wait_until has_ended $host
run tenon run steps.yaml --thread t --resume $nodes
expect_code 0
requests 8 || fails "expected eight requests: $(cat requests)"
sort requests | uniq -c >counted
[ "$(wc -l <counted)" = 4 ] && ! grep -qv '^ *2 ' counted || fails "a repeated request has another key: $(cat requests)"
expect_different $(cut -d' ' -f3 requests | sort -u)
[ "$(cut -d' ' -f3 requests | sort -u | wc -l)" = 4 ] || fails "expected four keys: $(cat requests)"
