# now() is the time at which the step began: a resumed step has the same, and a replay repeats it.
cat >now.yaml <<'Y'
version: "1.0"
channels: [{name: first, type: append}, {name: second, type: append}, {name: asked, type: last_value}]
nodes:
  - {id: a, type: set, config: {values: {first: 'string(now())', second: 'string(now())'}}}
  - {id: b, type: prompt, config: {template: "{now()}", output_key: asked}, interrupt: before}
  - {id: c, type: set, config: {values: {first: 'string(now())'}}}
edges:
  - {from: START, to: a}
  - {from: a, to: b}
  - {from: b, type: conditional, conditions: [{expression: 'timestamp(state.asked) <= now()', to: c}, {expression: default, to: END}]}
  - {from: c, to: END}
Y
run tenon run now.yaml --thread t
expect_code 5
run tenon run now.yaml --thread t --resume
expect_code 0
python3 - "$work/out" <<'P' || fails "expected the same time in one step, and later ones in later steps"
import json, sys
state = json.load(open(sys.argv[1]))
assert state["first"][0] == state["second"][0] and len(state["first"]) == 2, state
def at(time):  # zeros at the end are left out
    seconds, _, fraction = time.rstrip("Z").partition(".")
    return seconds, fraction.ljust(9, "0")
assert at(state["first"][0]) <= at(state["asked"]) <= at(state["first"][1]), state
P
run tenon replay t
expect_code 0 && expect_in out "are identical"
