# The three flows of Tasks, with the strategies that are the defaults of their types. Main and worker differ only in what they claim.
cat >tenon.yaml <<'Y'
store: {use: tenon.sqlite, path: state.db}
work:
  work: {options: {max_steps: 2}}
models:
  default:
    provider: scripted
    templates: false
    rules:
      - {contains: What is up, in: last, reply: All is well.}
      - matches: 'Make it.*# The check of this step'
        in: last
        reply:
          type: ai
          content: ""
          tool_calls:
            - {id: a, name: task.create, arguments: {task_type: notification, payload: {message: It is made., severity: info, related_task_id: null, artifact_refs: []}}}
      - {contains: "# The check of this step", in: last, reply: '{"new_facts": [], "open_issues": [], "plan": []}'}
      - {contains: '"task_type":"notification"', in: last, reply: '{"new_facts": ["It is made."], "open_issues": [], "plan": []}'}
      - matches: 'Make it.*# The result of this step'
        in: last
        reply: '{"evaluation": "Made.", "gaps": [], "criteria_met": true, "task_achieved": true}'
      - {contains: "# The result of this step", in: last, reply: '{"evaluation": "No.", "gaps": ["All"], "criteria_met": false, "task_achieved": false}'}
      - matches: '# This step'
        in: last
        reply: {type: ai, content: "", tool_calls: [{id: b, name: artifact.write, arguments: {media_type: text/plain, body: Made}}]}
      - {contains: '"artifact_id"', in: last, reply: It is stored.}
      - {contains: "# What earlier steps have left", in: last, reply: '{"step_goal": "Make", "step_success_criteria": "Made"}'}
Y
# created TYPE PAYLOAD: creates a Task, whose id is in $task.
created() {
    run tenon task create "$1" --payload "$2"
    expect_code 0
    task=$(cat "$work/out")
}
# shows EXPRESSION VALUE: fails unless the expression over the Task, t, has this value.
shows() {
    "$TENON" tool call task.get "{\"task_id\": \"$task\"}" >"$work/task.json"
    local found
    found=$(python3 -c 'import json, sys; t = json.load(open(sys.argv[1])); print(json.dumps(eval(sys.argv[2]), ensure_ascii=False))' "$work/task.json" "$1")
    [ "$found" = "$2" ] || fails "expected $2 for $1, found $found: $(cat "$work/task.json")"
}
main() { run tenon work --types user_request,notification --drain; }
worker() { run tenon work --types work --drain; }

# §11.1: a request has an answer. The worker does not claim it.
created user_request '{"text": "What is up?"}'
worker
expect_code 0 && shows 't["state"]' '"queued"'
main
expect_code 0 && shows '[t["state"], t["user_output"], t["error"]]' '["done", "All is well.", null]'

# §11.2: the work has no answer, but an Artifact, and creates a notification by a tool.
created work '{"text": "Make it"}'
main
expect_code 0 && shows 't["state"]' '"queued"'
worker
expect_code 0 && shows '[t["state"], t["user_output"], len(t["artifact_refs"])]' '["done", null, 1]'

# §11.3: main shows the notification.
run tenon task list --type notification --json
grep -q queued "$work/out" || fails "there is no notification"
task=$(grep -oE '"task_id":"[^"]+"' "$work/out" | head -1 | cut -d'"' -f4)
main
expect_code 0 && shows '[t["state"], t["user_output"]]' '["done", "It is made."]'

# §12.1: the budget. It is a decision, so it is not tried again.
created work '{"text": "Never"}'
worker
expect_code 1 && shows '[t["state"], t["error"]["code"], t["error"]["message"], t["attempts"]]' '["failed", "BUDGET_EXCEEDED", "ステップ上限に達しました。", 1]'

# A payload that the strategy refuses.
created user_request '{"messages": 7}'
main
expect_code 1 && shows '[t["state"], t["error"]["code"]]' '["failed", "INVALID_PAYLOAD"]'
