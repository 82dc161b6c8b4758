# `cache: {store: true}`: another process, and another document with the same node, use the result. What the node depends
# on makes another one, and a store that cannot be used is reported and costs only time.
printf 'store: {use: sqlite, path: ./kept.db}\n' >tenon.yaml

# document NAME TEMPLATE [INNER]: a node that renders TEMPLATE, by itself or in the subgraph INNER
document() {
    cat >"$1.yaml" <<Y
version: "1.0"
agent: {name: $1}
channels: [{name: x, type: last_value, default: 1}, {name: t, type: last_value}]
nodes: [{id: $1, type: prompt, cache: {ttl: 10m, store: true}, config: {template: "$2", output_key: t}}]
edges: [{from: START, to: $1}, {from: $1, to: END}]
Y
}
# expect_cached, expect_run RESULT COMMAND…: whether the command takes the result of its node from the cache
expect_event() {
    run "${@:3}" --stream tasks
    expect_code 0 && expect_out "$2"
    [ "$(grep -o '"event":"[a-z]*"' "$work/err" | head -n 1)" = "\"event\":\"$1\"" ] || fails "expected: $1"
}
expect_cached() { expect_event cached "$@"; }
expect_run() { expect_event start "$@"; }

document say 'x is {x}'
expect_run '{"x":1,"t":"x is 1"}' tenon run say.yaml
expect_cached '{"x":1,"t":"x is 1"}' tenon run say.yaml
expect_run '{"x":2,"t":"x is 2"}' tenon run say.yaml --set x=2
expect_run '{"x":1,"t":"x is 1"}' tenon run say.yaml --run-config '{"configurable": {"user": 1}}'

expect_run '{"x":1,"t":"x is 1"}' tenon run say.yaml --run-config '{"refresh_cache": true}'

# Another document, with another id and other channels before those of the node.
sed 's/channels: \[/channels: [{name: before, type: last_value}, /; s/: say/: other/g' say.yaml >other.yaml
expect_cached '{"before":null,"x":1,"t":"x is 1"}' tenon run other.yaml
document say 'now x is {x}'
expect_run '{"x":1,"t":"now x is 1"}' tenon run say.yaml

# What a node calls counts, too: the document inside, and the configuration of a plugin.
document inner 'inner {x}'
cat >outer.yaml <<'Y'
version: "1.0"
agent: {name: outer}
channels: [{name: t, type: last_value}]
nodes: [{id: deep, type: subgraph, cache: {ttl: 10m, store: true}, config: {document: inner.yaml, output: {t: t}}}]
edges: [{from: START, to: deep}, {from: deep, to: END}]
Y
expect_run '{"t":"inner 1"}' tenon run outer.yaml
expect_cached '{"t":"inner 1"}' tenon run outer.yaml
document inner 'new inner {x}'
expect_run '{"t":"new inner 1"}' tenon run outer.yaml

server_start port openapi_server.py
service() {
    cat >tenon.yaml <<Y
store: {use: sqlite, path: ./kept.db}
plugins:
  config:
    tenon.define:
      tools: [{name: look, title: Looks something up, http: {url: "http://127.0.0.1:$port/$1"}}]
Y
}
cat >look.yaml <<'Y'
version: "1.0"
agent: {name: look}
channels: [{name: t, type: last_value}]
nodes: [{id: look, type: tool, cache: {ttl: 10m, store: true}, config: {tool: look, output_key: t}}]
edges: [{from: START, to: look}, {from: look, to: END}]
Y
service hello
run tenon run look.yaml && expect_code 0 && result=$(cat "$work/out")
expect_cached "$result" tenon run look.yaml
# A run that used a cached result with effects can be replayed; a replay does not need the cache.
expect_cached "$result" tenon run look.yaml --thread a
servers_stop
run tenon replay a && expect_code 0 && expect_in out 'are identical'
server_start port openapi_server.py
service 'hello?2'
run tenon run look.yaml --stream tasks && expect_code 0 && expect_in err '"event":"start"'

# After its time a result is not used.
sed 's/10m/1ms/' say.yaml >short.yaml
sed -i 's/now x/short x/' short.yaml
expect_run '{"x":1,"t":"short x is 1"}' tenon run short.yaml
expect_run '{"x":1,"t":"short x is 1"}' tenon run short.yaml

# A failure of the store is one warning, also for many items, and the nodes run.
printf 'store: {use: sqlite, path: ./nowhere/kept.db}\n' >tenon.yaml
echo a file >nowhere
cat >many.yaml <<'Y'
version: "1.0"
agent: {name: many}
channels: [{name: list, type: last_value, default: [1, 2, 3]}, {name: c, type: append}]
nodes:
  - {id: plan, type: passthrough}
  - {id: double, type: set, cache: {ttl: 10m, store: true}, config: {values: {c: state.it * 2}}}
edges: [{from: START, to: plan}, {from: plan, type: map, over: state.list, as: it, to: double}, {from: double, to: END}]
Y
run tenon run many.yaml
expect_code 0 && expect_out '{"list":[1,2,3],"c":[2,4,6]}'
[ "$(grep -c 'the cache in the store cannot be' "$work/err")" = 1 ] || fails "expected one warning"

# `store` is a boolean, and a cache needs a `ttl`.
sed 's/store: true/store: yes please/' say.yaml >wrong.yaml
run tenon check wrong.yaml
expect_code 3 && expect_in err '`store` is text; expected `true` or `false`'

# The names of the channels count if the node reads the whole state, and what a document inside returns.
printf 'store: {use: sqlite, path: ./kept.db}\n' >tenon.yaml
cat >whole.yaml <<'Y'
version: "1.0"
agent: {name: whole}
channels: [{name: a, type: last_value, default: 1}, {name: t, type: last_value, default: ""}]
nodes: [{id: keys, type: set, cache: {ttl: 10m, store: true}, config: {values: {t: 'json.format(state)'}}}]
edges: [{from: START, to: keys}, {from: keys, to: END}]
Y
expect_run '{"a":1,"t":"{\"a\":1,\"t\":\"\"}"}' tenon run whole.yaml
sed 's/name: a/name: b/' whole.yaml >renamed.yaml
expect_run '{"b":1,"t":"{\"b\":1,\"t\":\"\"}"}' tenon run renamed.yaml
document inner 'inner {x}'
run tenon run outer.yaml && expect_code 0
echo 'output: {type: object, properties: {t: {type: integer}}}' >>inner.yaml
run tenon run outer.yaml
expect_code 1 && expect_in err INVALID_OUTPUT

# A rule of the operator comes before a result from the time before the rule.
cat >>tenon.yaml <<'Y'
tools: {approval: {"node:prompt": ask}}
Y
document asked 'asked {x}'
run tenon run asked.yaml --thread asked && expect_code 5
run tenon run asked.yaml --no-config && expect_code 0
run tenon run asked.yaml --no-config && expect_code 0
run tenon run asked.yaml --thread again && expect_code 5
