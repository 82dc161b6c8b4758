# What is large anywhere in a value is saved: long keys of members, and changes deep inside. What cannot be saved is refused
# when it is written, with the names of the channel and of the node, and the thread can be resumed.
command -v python3 >/dev/null || skips "python3 is not installed"
cat >keep.yaml <<'YAML'
version: "1.0"
agent: {name: keep}
output: {type: object, properties: {n: {type: integer}}}
channels: [{name: v, type: last_value, default: {}}, {name: w, type: append}, {name: n, type: last_value, default: 0}]
nodes:
  - {id: a, type: set, config: {values: {n: state.n + 1}}}
  - {id: b, type: set, config: {values: {w: "[state.v]"}}}
edges: [{from: START, to: a}, {from: a, to: b}, {from: b, to: END}]
YAML
cat >value.py <<'PYTHON'
import json, sys
def inside(value, levels):
    for i in range(levels): value = {"in": value, "beside": i}
    return value
values = {
    "key": {"k" * 9000000: 1, "short": 2},
    "first": inside("1" * 1000000, 14), "second": inside("2" * 11000000, 14),
    "deep": inside("3" * 3000000, 23), "deeper": inside("4" * 3000000, 24),
}
if sys.argv[1] == "state":
    state = json.load(sys.stdin)
    print(state["v"] == values[sys.argv[2]] == state["w"][-1])
else:
    print(json.dumps({"v": values[sys.argv[1]]}))
PYTHON
for name in key first second; do
    python3 value.py "$name" >input.json
    run tenon run keep.yaml --thread t --input @input.json --quiet
    expect_code 0
    [ "$("$TENON" thread state t | python3 value.py state "$name")" = True ] || fails "$name: the state differs"
done
python3 value.py deeper >input.json
run tenon run keep.yaml --thread t --input @input.json --quiet
expect_code 1
expect_in err "channel \`v\`: the value has a part of more than 2 MiB"
[ "$("$TENON" thread state t | python3 value.py state second)" = True ] || fails "the state has changed"
# The node writes the value inside of one more array.
python3 value.py deep >input.json
run tenon run keep.yaml --thread t --input @input.json --quiet
expect_code 1
expect_in err "node \`b\`: channel \`w\`: the value has a part of more than 2 MiB"
sed 's/\[state.v\]/1/' keep.yaml >shallow.yaml
run tenon run shallow.yaml --thread t --resume --accept-changes --quiet
expect_code 0
expect_out '{"n":4}'
# An exported thread is larger than its state, and can be imported.
"$TENON" thread export t >exported.json || fails "the thread cannot be exported"
[ "$(stat -c %s exported.json)" -gt 67108864 ] || fails "expected a file of more than 64 MiB"
run tenon thread import exported.json copy
expect_code 0
"$TENON" thread state t >one.json
"$TENON" thread state copy | cmp -s - one.json || fails "the imported state differs"
