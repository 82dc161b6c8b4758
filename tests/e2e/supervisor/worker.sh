# tenon:supervisor under `tenon work`: a Task waits for an answer without a worker, has its Artifacts and its notices, and is
# taken over inside of a step.
with_work() { # PLANS…: tenon.yaml with a worker for the type `work`
    python3 team.py unused '{}' none "$@"
    python3 -c 'import json
given, work = json.load(open("tenon.yaml")), json.load(open("input.json"))
options = {"workers": {role: "./" + name for role, name in work["options"]["workers"].items()}}
given["work"] = {"work": {"strategy": "tenon:supervisor", "options": options, "ttl": "1s"}}
json.dump(given, open("tenon.yaml", "w"))'
    rm -f log once killed
    touch log
}
created() { "$TENON" task create work --payload "{\"text\": \"$1\"}"; }
# task ID EXPRESSION: of the Task `t`
task() { "$TENON" task show "$1" --json >"$work/task.json" && python3 -c 'import json, sys; t = json.load(open(sys.argv[1])); print(json.dumps(eval(sys.argv[2])))' "$work/task.json" "$2"; }
expect_task() { [ "$(task "$1" "$2")" = "$3" ] || fails "expected $3 for $2, found $(task "$1" "$2")"; }

# ---- A question, its answer from another process, the report ----
with_work "research:A write:B"
id=$(created "vague")
run tenon work --types work --drain -q
expect_code 0 && expect_task "$id" 't["state"], t["waiting"]' '["queued", true]' && expect_log ''
thread=$id
run tenon thread answer "$id" "$(question)=for children"
expect_code 0
run tenon work --types work --drain -q
expect_code 0 && expect_log 'research write '
expect_task "$id" 't["state"], t["user_output"], len(t["artifact_refs"])' '["done", "All is done.", 2]'
expect_state 'notice["related_task_id"] == s["task"]["task_id"], notice["artifact_refs"] == [p["artifact_refs"][0] for p in s["plan"]]' '[true, true]'
run tenon work --types notification --drain -q
expect_code 0

# ---- The worker of the host is killed inside a step: another one continues there ----
with_work "research:A crash:B write:C"
id=$(created "work")
run tenon work --types work --drain -q
expect_code 137 && expect_log 'research first '
taken_over() { "$TENON" work --types work --drain -q >"$work/log" 2>&1 && [ "$(task "$id" 't["state"]')" = '"done"' ]; }
wait_until taken_over
expect_log 'research first second write '
thread=$id
expect_state '[p["attempts"] for p in s["plan"]]' '[1, 1, 1]'
