# tenon:pdca: Plan, Do, Check and Act. Each phase is recognised by the last section of prompts/state.md.
is_strategy pdca
cat >model.py <<'PYTHON'
"""model.py KEY=VALUE…: a tenon.yaml with the model `scripted`, whose phases answer as the arguments say."""
import json
import sys

given = dict(argument.split("=", 1) for argument in sys.argv[1:])
verbose = "verbose" in given
if "many" in given:  # more than an expression could look at
    given["calls"] = json.dumps([{"id": f"c{n}", "name": "no.such", "arguments": {}} for n in range(1000)])
texts = [f"{n:05d}" for n in range(12000)] if "many" in given else [f"{n} " + "long text " * 33 for n in range(400)] if verbose else ["A short one."]
achieved = given.get("achieved", "remaining, with this one: 1")  # the text of the prompt of the step that achieves the Task
calls = json.loads(given.get("calls", "[]"))
plan = {"step_goal": "Find " + "it " * (30000 if verbose else 1), "step_success_criteria": "It is found."}
check = {"evaluation": "Not yet.", "gaps": texts, "criteria_met": False, "task_achieved": False}
good = {"evaluation": "Achieved.", "gaps": json.loads(given.get("gaps", "[]")), "criteria_met": True, "task_achieved": True}
notes = {"new_facts": texts, "open_issues": texts, "plan": texts}
act = given.get("act", json.dumps(notes))
actions = json.loads(given.get("actions", "[]"))
rules = [
    {"matches": f"Steps spent: {given.get('down', 'never')}", "in": "last",
     "reply": {"error": {"code": "OVERLOADED", "message": "try later"}}},
    {"contains": "# The check of this step", "in": "last",
     "reply": {"type": "ai", "content": "", "tool_calls": actions} if actions else act},
    *([{"contains": '"task_type":"notification"', "in": "last", "reply": act}] if actions and "endless" not in given else []),
    {"matches": f"{achieved}.*# The result of this step", "in": "last", "reply": given.get("check", json.dumps(good))},
    {"contains": "# The result of this step", "in": "last", "reply": given.get("check", json.dumps(check))},
    {"contains": "# This step", "in": "last",
     "reply": {"type": "ai", "content": "", "tool_calls": calls} if calls else given.get("do", "word " * 40000 if verbose else "Found it.")},
    {"contains": "# What earlier steps have left", "in": "last", "reply": given.get("plan", json.dumps(plan))},
]
model = {"provider": "scripted", "templates": False, "rules": rules, "replies": ["unused", "Done with tools.", "Corrected"]}
if "endless" in given:  # a phase that has called tools calls them again and again
    model["replies"] = [{"type": "ai", "content": "", "tool_calls": calls or actions}]
print(json.dumps({"store": {"use": "tenon.sqlite", "path": "state.db"}, "models": {"default": model}}))
PYTHON
# works TYPE OPTIONS KEY=VALUE…: with the thread $thread; $again is --replace for another attempt.
thread=first again=
works() {
    python3 model.py "${@:3}" >pdca.yaml
    run tenon run -q tenon:pdca -c pdca.yaml --thread $thread $again \
        --input "{\"task\": {\"task_id\": \"$thread\", \"task_type\": \"$1\", \"payload\": {\"text\": \"Find it\"}}, \"options\": $2}"
}
# context EXPRESSION: the value of an expression over the StepContext of $thread.
context() {
    "$TENON" thread state $thread -c pdca.yaml >"$work/state.json"
    python3 -c 'import json, sys; c = json.load(open(sys.argv[1]))["step_context"]; print(json.dumps(eval(sys.argv[2])))' "$work/state.json" "$1"
}
expect_context() { [ "$(context "$1")" = "$2" ] || fails "expected $2 for $1, found $(context "$1")"; }

# ---- Three steps; the last one achieves the Task. A `work` Task has no answer. ----
works work '{"max_steps": 3}'
expect_code 0 && expect_out '{"user_output":null,"task_state":"done","error":null}'
expect_context 'c["budget"]' '{"remaining_steps": 0, "spent_steps": 3}'
expect_context 'sorted(c)' '["artifact_refs", "budget", "facts", "last_result", "open_issues", "plan"]'
expect_context '[c["facts"], c["plan"], c["last_result"]]' '[["A short one."], ["A short one."], "Found it."]'
thread=asked
works user_request '{"max_steps": 2}'
expect_code 0 && expect_answer task_state '"done"' && [ "$(answers user_output)" != null ] || fails "a request has no answer"
thread=forced
works work '{"max_steps": 2, "answer": true}'
expect_code 0 && [ "$(answers user_output)" != null ] || fails "no answer, although the options ask for one"

# ---- The budget, with the message of the specification. 5 steps by default. A gap contradicts `task_achieved`. ----
thread=budget
works work '{}' 'achieved=never'
expect_code 0 && expect_out '{"user_output":null,"task_state":"failed","error":{"code":"BUDGET_EXCEEDED","message":"ステップ上限に達しました。"}}'
expect_context 'c["budget"]' '{"remaining_steps": 0, "spent_steps": 5}'
thread=gaps
works work '{"max_steps": 1}' 'gaps=["One more."]'
expect_code 0 && expect_in out BUDGET_EXCEEDED
# If a person queues the Task again, its budget is new, and the StepContext stays.
thread=budget
works work '{"max_steps": 2}'
expect_code 0 && expect_answer task_state '"done"' && expect_context 'c["budget"]' '{"remaining_steps": 0, "spent_steps": 7}'

# ---- Tools: their failures and the Artifacts are taken from their results. ----
thread=tools
works work '{"max_steps": 1}' 'calls=[{"id": "a", "name": "artifact.write", "arguments": {"media_type": "text/plain", "body": "Kept"}},
    {"id": "b", "name": "task.get", "arguments": {"task_id": "absent"}}, {"id": "c", "name": "no.such", "arguments": {}},
    {"id": "d", "name": "task.complete", "arguments": {"task_id": "tools", "claim_token": "x"}}]'
expect_code 0 && expect_answer task_state '"done"'
expect_context 'c["last_result"]' '"Done with tools."'
run tenon artifact search -c pdca.yaml Kept
artifact=$(grep -oE '[0-9a-z_-]{20,}' "$work/out" | head -1)
expect_context 'c["artifact_refs"]' "[\"$artifact\"]"
expect_context '[i.split(": ")[0] for i in c["open_issues"] if "failed" in i]' '["task.get failed", "no.such failed", "task.complete failed"]'
# Act changes state by tools too, and only by three of them.
thread=acts
works work '{"max_steps": 1}' 'actions=[{"id": "a", "name": "task.get", "arguments": {"task_id": "acts"}},
    {"id": "b", "name": "task.create", "arguments": {"task_type": "notification", "payload": {"message": "Done"}}}]'
expect_code 0 && expect_answer task_state '"done"'
expect_context '[i.split(": ")[:2] for i in c["open_issues"] if "failed" in i]' '[["task.get failed", "TOOL_NOT_FOUND"]]'
run tenon task list -c pdca.yaml
expect_in out notification

# ---- Too many calls: what the tools have done until then is kept, and the limit is one of the failures. ----
thread=do_limit
works work '{"max_steps": 1}' endless=1 achieved=never 'calls=[{"id": "a", "name": "artifact.write", "arguments": {"media_type": "text/plain", "body": "Kept by Do"}},
    {"id": "b", "name": "task.get", "arguments": {"task_id": "absent"}}]'
expect_code 0 && expect_in out BUDGET_EXCEEDED
expect_context 'len(c["artifact_refs"]), c["last_result"]' '[8, ""]'
expect_context 'sorted({i[:14] for i in c["open_issues"] if i[:3] == "do:" or "failed" in i})' '["do: TURN_LIMIT", "task.get faile"]'
expect_context '"A short one." in c["facts"], "A short one." in c["plan"]' '[true, true]' # of Act, which comes after it
thread=act_limit
works work '{"max_steps": 1}' endless=1 achieved=never 'actions=[{"id": "a", "name": "artifact.write", "arguments": {"media_type": "text/plain", "body": "Kept by Act"}},
    {"id": "b", "name": "task.get", "arguments": {"task_id": "absent"}}]'
expect_code 0 && expect_in out BUDGET_EXCEEDED
expect_context 'len(c["artifact_refs"]), c["last_result"], c["facts"], c["plan"]' '[4, "Found it.", [], []]'
expect_context 'sorted({i[:15] for i in c["open_issues"] if i[:4] == "act:" or "failed" in i})' '["act: TURN_LIMIT", "task.get failed"]'
# The model knows the Task by its id and type; a plan without a goal is not valid.
thread=known
works work '{"max_steps": 1}' 'achieved=Id: known; type: work.*remaining, with this one: 1'
expect_code 0 && expect_answer task_state '"done"'
for empty in '{"step_goal": "", "step_success_criteria": "x"}' '{"step_goal": "x", "step_success_criteria": ""}'; do
    thread=empty$((i = ${i:-0} + 1))
    works work '{"max_steps": 1}' "plan=$empty"
    expect_code 0 && expect_in out BUDGET_EXCEEDED && expect_context '[i[:20] for i in c["open_issues"]]' '["plan: OUTPUT_INVALID"]'
done

# ---- A model that writes much: every list and text of the StepContext has its limit. ----
thread=verbose
works work '{"max_steps": 2}' verbose=1 achieved=never
expect_code 0 && expect_in out BUDGET_EXCEEDED
expect_context '[len(c[k]) for k in ("facts", "open_issues", "plan", "last_result")]' '[20, 20, 10, 2000]'
expect_context '[max(map(len, c[k])) for k in ("facts", "open_issues", "plan")]' '[300, 300, 300]'
expect_context 'c["facts"][-1][:4]' '"399 "'

thread=many
works work '{"max_steps": 1}' many=1 achieved=never
expect_code 0 && expect_in out BUDGET_EXCEEDED
expect_context '[len(c["facts"]), c["facts"][-1], len(c["open_issues"])]' '[20, "11999", 20]'

# ---- Answers that are not valid cost a step, and are recorded. ----
for phase in plan check act; do
    thread=wrong_$phase
    works work '{"max_steps": 2}' "$phase=no JSON" achieved=never
    expect_code 0 && expect_in out BUDGET_EXCEEDED
    expect_context '[i[:len(i.split(":")[0])] for i in c["open_issues"] if "OUTPUT_INVALID" in i]' "[\"$phase\"]"
    expect_context 'c["budget"]["spent_steps"]' 2
done
thread=wrong_kind
works work '{"max_steps": 1}' 'check={"evaluation": 1}'
expect_code 0 && expect_in out BUDGET_EXCEEDED

# ---- Errors of the network end the run. The Task is tried again with the rest of its budget, and its StepContext. ----
thread=network
works work '{}' achieved=never down=2
expect_code 1 && expect_in err '[OVERLOADED]'
expect_context 'c["budget"]' '{"remaining_steps": 3, "spent_steps": 2}'
again=--replace
works work '{}' 'achieved=remaining, with this one: 2'
expect_code 0 && expect_answer task_state '"done"' && expect_context 'c["budget"]' '{"remaining_steps": 1, "spent_steps": 4}'
