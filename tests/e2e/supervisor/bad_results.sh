# tenon:supervisor: models and workers that return nothing, or what cannot be used. Only the step or the plan suffers.
# teams COORDINATOR PLANNER REPORT: tenon.yaml with these replies, as JSON
teams() {
    cat >tenon.yaml <<Y
store: {use: sqlite, path: ./state.db}
models:
  default: {provider: scripted, replies: [unused]}
  basic: {provider: scripted, rules: [{contains: A team has worked for a user, reply: $3}], replies: [$1]}
  reasoning: {provider: scripted, replies: [$2]}
Y
}
hand_off='{"error": {"code": "REFUSED", "message": "no decision"}}'
one_step='"{\"steps\": [{\"role\": \"worker\", \"instruction\": \"Do it\", \"status\": \"pending\"}]}"'
# works TEXT OPTIONS: the roles are `worker` and what OPTIONS have
works() {
    run tenon run -q tenon:supervisor --thread $thread \
        --input "{\"task\": {\"task_id\": \"$thread\", \"payload\": {\"text\": \"$1\"}}, \"options\": {\"workers\": {\"worker\": \"worker.yaml\"}, $2}}"
}
# worker OUTPUT: worker.yaml returns these expressions
worker() {
    cat >worker.yaml <<Y
version: "1.0"
output: {type: object, properties: {user_output: {}, task_state: {}, result_summary: {}, artifact: {}}}
channels: [{name: task, type: last_value}, {name: user_output, type: last_value}, {name: task_state, type: last_value, default: done},
  {name: result_summary, type: last_value}, {name: artifact, type: last_value}]
nodes: [{id: say, type: set, config: {values: $1}}]
edges: [{from: START, to: say}, {from: say, to: END}]
Y
}
good='{user_output: "\"Fine\""}'

# ---- Each step has a text: a worker without one has failed ----
teams "$hand_off" "$one_step" '"Said."'
for none in '{user_output: null}' '{user_output: "\" \\n\""}' '{user_output: "\"ignored\"", artifact: "{\"body\": \"\"}"}' '{result_summary: "\"only this\""}'; do
    thread=none$((i = ${i:-0} + 1))
    worker "$none"
    works "work" '"max_attempts": 2, "max_plans": 1'
    expect_code 0 && expect_in out '"code":"STEP_FAILED","message":"Step 1 (worker) failed: the worker returned no result"'
    expect_state '[[p["status"], p["attempts"], p["error"]["code"]] for p in s["plan"]]' '[["failed", 2, "NO_RESULT"]]'
done
# The summary is a text, too.
thread=summary
worker '{artifact: "{\"body\": \"Drawn\"}"}'
works "work" '"max_plans": 1'
expect_code 0 && expect_in out '"user_output":"Said.","task_state":"done","error":null' && expect_state '[p["result_summary"] for p in s["plan"]]' '["Drawn"]'

# ---- What cannot be an Artifact is a failed step, and no failed run ----
for odd in '{artifact: "{\"body\": 7}"}' '{artifact: "{\"body\": \"x\", \"media_type\": [1]}"}'; do
    thread=odd$((i += 1))
    worker "$odd"
    works "work" '"max_attempts": 1, "max_plans": 1'
    expect_code 0 && expect_in out '"code":"STEP_FAILED"' && expect_in out 'Step 1 (worker) failed: ' && expect_state '[p["status"] for p in s["plan"]]' '["failed"]'
done

# ---- Planners ----
worker "$good"
cat >planner.yaml <<'Y'
version: "1.0"
channels: [{name: task, type: last_value}, {name: plan, type: last_value}]
nodes: [{id: plan, type: fail, config: {code: NO_PLAN, message: I cannot plan}}]
edges: [{from: START, to: plan}, {from: plan, to: END}]
Y
thread=planner
works "work" '"planner": "planner.yaml", "max_plans": 2'
expect_code 0 && expect_in out '"code":"PLAN_INVALID"' && expect_in out 'The planner failed: ' && expect_in out 'I cannot plan'
expect_state 's["plans"]' 2
thread=refused
teams "$hand_off" '{"error": {"code": "REFUSED", "message": "I do not plan this"}}, '"$one_step" '"Said."'
works "work" '"max_plans": 1'
expect_code 0 && expect_in out '"code":"PLAN_INVALID"' && expect_in out 'I do not plan this'
thread=planned
works "work" '"max_plans": 1, "planner": "tenon:notify"'
expect_code 0 && expect_in out '"code":"PLAN_INVALID"'

# ---- A coordinator with nothing to ask or to say does not ask, and does not answer ----
for action in ask answer; do
    thread=$action
    teams "\"{\\\"action\\\": \\\"$action\\\", \\\"text\\\": \\\" \\\", \\\"goal\\\": \\\"\\\"}\"" "$one_step" '"Said."'
    works "work" '"max_plans": 1'
    expect_code 0 && expect_in out '"user_output":"Said.","task_state":"done","error":null' && expect_state 's["goal"]' '"work"'
done

# ---- A report that is refused or empty: the results are listed ----
for report in '{"error": {"code": "REFUSED", "message": "no report"}}' '" "'; do
    thread=report$((i += 1))
    teams "$hand_off" "$one_step" "$report"
    works "work" '"max_plans": 1'
    expect_code 0 && expect_in out '"user_output":"worker: Fine","task_state":"done","error":null'
done

# ---- A malformed conversation is refused, and not tried again ----
for wrong in '{"type": "user", "content": 5}' '{"type": "user", "content": "x", "id": 5}' '{"type": "ai", "content": "", "tool_calls": 5}'; do
    run tenon run -q tenon:supervisor --input "{\"task\": {\"payload\": {\"messages\": [$wrong]}}}"
    expect_code 0 && expect_in out '"task_state":"failed","error":{"code":"INVALID_PAYLOAD"'
done
