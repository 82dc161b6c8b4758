# Two processes write whole lines to one audit log.
cat >tenon.yaml <<'Y'
tools: {audit: both.jsonl, audit_arguments: true}
Y
cat >many.yaml <<'Y'
version: "1.0"
channels: [{name: t, type: last_value}]
nodes:
  - {id: a, type: test.bound, config: {tool: t.add, input: {a: 1, b: 2}, out: t}}
edges: [{from: START, to: a}]
Y
for i in $(seq 100); do echo '{}'; done >inputs.jsonl
tenon run many.yaml --batch inputs.jsonl "${plugin[@]}" >/dev/null 2>&1 &
tenon run many.yaml --batch inputs.jsonl "${plugin[@]}" >/dev/null 2>&1
wait $!
[ "$(grep -c '^{"time":"20.*"arguments":{"a":1,"b":2}}$' both.jsonl)" = 200 ] && [ "$(wc -l <both.jsonl)" = 200 ] ||
    fails "lines of the two processes are mixed or lost"
