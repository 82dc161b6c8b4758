# tenon:supervisor: plans that are not valid, other planners, and which documents can be workers.
# ---- Plans that are not valid ----
plan=("research:A cook:B" "write:B")
thread=unknown
supervises "work" '{}'
expect_code 0 && expect_out "$done" && expect_log 'write '
expect_state 's["plans"]' 2
plan=("research:A cook:B")
thread=cook
supervises "work" '{"max_plans": 2}'
expect_code 0 && expect_log '' && expect_in out '"error":{"code":"PLAN_INVALID","message":"The planner made no valid plan. There is no role `cook`. The roles are: `research`, `write`, '
plan=("")
thread=nothing
supervises "work" '{}'
expect_code 0 && expect_in out '"code":"PLAN_INVALID"' && expect_in out "The plan has no steps." && expect_state 's["plans"]' 3
plan=("write:A write:B write:C")
thread=long
supervises "work" '{"max_steps": 2}'
expect_code 0 && expect_in out "The plan has 3 steps, more than are allowed." && expect_log ''

# ---- Answers that are no JSON: of the coordinator, then of the planner; an error of the service ends the run ----
plan=(write:B)
thread=mumbles
supervises "mumble" '{}'
expect_code 0 && expect_out "$done" && expect_state 's["goal"]' '"mumble"'
plan=("mumble" "write:B")
thread=unread
supervises "work" '{}'
expect_code 0 && expect_out "$done" && expect_state 's["plans"], s["plan"][0]["role"]' '[2, "write"]'
plan=("overloaded")
thread=overloaded
supervises "work" '{}'
expect_code 1 && expect_in err '[AUTH]'

# ---- A planner with steps of its own kind; their members reach the workers ----
cat >planner.yaml <<'Y'
version: "1.0"
agent: {name: planner}
channels: [{name: task, type: last_value}, {name: plan, type: last_value}]
nodes:
  - id: plan
    type: set
    config: {values: {plan: '{"steps": [{"role": "shout", "instruction": "Say it", "slide": state.task.payload.roles[0].description + "!"}]}'}}
edges: [{from: START, to: plan}, {from: plan, to: END}]
Y
cat >shout.yaml <<'Y'
version: "1.0"
agent: {name: shout}
output: {type: object, properties: {user_output: {}, task_state: {}, result_summary: {}, artifact: {}}}
channels:
  - {name: task, type: last_value}
  - {name: options, type: last_value}
  - {name: user_output, type: last_value}
  - {name: task_state, type: last_value}
  - {name: result_summary, type: last_value}
  - {name: artifact, type: last_value}
nodes:
  - id: say
    type: set
    config:
      values:
        user_output: '"ignored"'
        task_state: '"done"'
        result_summary: state.options.word + " in " + state.task.task_id
        artifact: '{"body": state.task.payload.step.slide, "media_type": "text/plain"}'
edges: [{from: START, to: say}, {from: say, to: END}]
Y
thread=planner
supervises "work" '{"planner": "planner.yaml", "workers": {"shout": {"document": "shout.yaml", "description": "Loud", "options": {"word": "hey"}}}}'
expect_code 0 && expect_out "$done"
expect_state 's["plan"][0]["result_summary"], s["plan"][0]["slide"]' '["hey in planner.step1", "Loud!"]'
run tenon artifact read "$(state 's["plan"][0]["artifact_refs"][0]' | tr -d '"')"
expect_code 0 && expect_out 'Loud!'

# ---- Only the map decides what runs; names that lead out of the project are refused ----
plan=(write:A)
thread=outside
supervises "work" '{"workers": {"write": "../outside.yaml"}, "max_plans": 1, "max_attempts": 1}'
expect_code 0 && expect_in out 'cannot read the document `../outside.yaml`: it is outside '
plan=(write.yaml:A)
thread=by_name
supervises "work" '{"max_plans": 1}'
expect_code 0 && expect_in out 'There is no role `write.yaml`.'
thread=option
supervises "work" '{"worker": {}}'
expect_code 1 && expect_in err 'unknown property `worker`'

# ---- The plugins in processes of their own, and with every call checked ----
thread=isolated
supervises "work" '{"planner": "planner.yaml", "coordinate": false, "workers": {"shout": {"document": "shout.yaml", "options": {"word": "hey"}}}}'
expect_code 0 && expect_out "$done"
for way in "--isolate tenon.agents --isolate tenon.core" --check-plugins; do
    run tenon run -q tenon:supervisor $way --input @input.json
    expect_code 0 && expect_out "$done"
done
