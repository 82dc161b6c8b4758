# Tasks that wait for a person are in no process: workers end, another process answers, and a third one continues. The
# figures for 10,000 Tasks are in tests/bench/README.md.
command -v python3 >/dev/null || skips "there is no python3"
tasks=20
[ -z "${SANITIZE:-}" ] || tasks=5
cat >tenon.yaml <<'YAML'
store: {use: sqlite, path: ./s.db}
work: {ask: {strategy: ./ask.yaml}}
YAML
# The tool is called with an approval only, so each memory shows that the answer to its own Task was `yes`.
cat >ask.yaml <<'YAML'
version: "1.0"
agent: {name: ask}
tools: [{name: memory.put, approval: ask}]
channels:
  - {name: task, type: last_value}
  - {name: put, type: last_value}
  - {name: user_output, type: last_value}
  - {name: task_state, type: last_value}
nodes:
  - id: put
    type: tool
    config:
      tool: memory.put
      arguments: {namespace: "['n']", key: "string(state.task.payload.number)", value: state.task.task_id}
      output_key: put
  - {id: end, type: set, config: {values: {user_output: "'put ' + state.put.key", task_state: "'done'"}}}
edges: [{from: START, to: put}, {from: put, to: end}, {from: end, to: END}]
output:
  type: object
  properties: {user_output: {type: [string, "null"]}, task_state: {enum: [done, failed, running]}}
YAML
# members NAME…: these members of each Task of the list in $work/out, in its order
members() {
    python3 -c 'import json, sys
for task in json.load(open(sys.argv[1]))["tasks"]:
    print(*({**task, **task["payload"]}[name] for name in sys.argv[2:]))' "$work/out" "$@"
}

# ---- The first host: every Task asks, and none is left in the process ----
run tenon task create ask --payload '{"number": 0}'
first=$(cat "$work/out")
for ((i = 1; i < tasks; i++)); do "$TENON" task create ask --payload "{\"number\": $i}" >>ids; done
run tenon work --types ask --drain --concurrency 8
expect_code 0 && expect_in err "$tasks waiting"
run tenon task list --type ask --json
[ "$(members state waiting claimed_by attempts | sort | uniq -c | xargs)" = "$tasks queued True None 0" ] ||
    fails "expected $tasks Tasks that wait and that no worker has"
run tenon task claim --type ask
expect_code 1
run tenon work --types ask --drain
expect_in err "has ended"
expect_not_in err waiting

# ---- A second host: the notifications carry what an answer needs ----
run tenon task list --type notification --json
expect_in out 'may memory.put be called with {\"namespace\":[\"n\"],\"key\":\"0\",'
members related_task_id interrupt_id >questions
[ "$(sort -u questions | wc -l)" = $tasks ] || fails "expected one question for each of $tasks Tasks: $(cat questions)"
[ "$(head -n 1 questions | cut -d' ' -f1)" = "$first" ] || [ "$(grep -c "^$first " questions)" = 1 ] ||
    fails "expected a question of the Task $first"
run tenon thread answer "$first" 0123456789abcdef=yes
expect_code 1
while read -r task question; do
    [ "$task" = "$first" ] || "$TENON" thread answer "$task" "$question=yes" >>answered || fails "the answer was refused"
done <questions

# ---- A third host: what was answered is done, the rest waits ----
run tenon work --types ask --drain --concurrency 8
expect_code 0 && expect_in err "$((tasks - 1)) done"
run tenon task show "$first"
expect_in out "waiting: true"
run tenon thread answer "$first" "$(sed -n "s/^$first //p" questions)=no"
expect_code 0
run tenon work --types ask --drain
expect_in err TOOL_DENIED
run tenon task list --type ask --json
members number state user_output >ended
[ "$(awk '$2 == "done" && $3 == "put" && $4 == $1' ended | wc -l)" = $((tasks - 1)) ] || fails "expected what each Task put: $(cat ended)"
[ "$(awk '$1 == 0 {print $2}' ended)" = failed ] || fails "expected that the refused Task has failed: $(cat ended)"
run tenon memory search n --limit 1000
[ "$(wc -l <"$work/out")" = $((tasks - 1)) ] || fails "expected one memory for each approved Task"
