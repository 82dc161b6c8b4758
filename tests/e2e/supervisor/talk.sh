# tenon:supervisor talks to the user: smalltalk, questions, the handoff, a notice at the end.
run tenon check --strict --strategy tenon:supervisor
expect_code 0
for file in "$SOURCE"/plugins/strategies/supervisor/*.yaml; do
    run tenon fmt --check "$file"
    expect_code 0
done
run tenon graph tenon:supervisor
expect_code 0 && expect_in out plan_by_document

# ---- Smalltalk ----
plan=(research:A)
thread=talk
supervises "hi there" '{}'
expect_code 0 && expect_out '{"user_output":"Hello!","task_state":"done","error":null}' && expect_log ''
expect_state notice null

# ---- A question, its answer, the handoff, three roles in order, a notice ----
plan=("research:A write:B draw:C")
thread=tea
supervises "vague tea" '{}'
expect_code 5 && expect_in err 'ask asks: {"question":"For whom?"}' && expect_log ''
run tenon run tenon:supervisor --thread tea --resume --answer "$(question)="
expect_code 1 && expect_in err INVALID_INPUT
run tenon thread answer tea "$(question)=for children"
expect_code 0
run tenon run -q tenon:supervisor --thread tea --resume
expect_code 0 && expect_out "$done" && expect_log 'research write draw '
expect_state 's["goal"]' '"Tea for children"'
expect_state '[[p["role"], p["status"], p["attempts"], p["result_summary"]] for p in s["plan"]]' \
    '[["research", "completed", 1, "research\nfor A"], ["write", "completed", 1, "write\nfor B"], ["draw", "completed", 1, "draw\nfor C"]]'
expect_state 'notice["message"], notice["severity"], notice["related_task_id"], notice["artifact_refs"] == [p["artifact_refs"][0] for p in s["plan"]]' \
    '["All is done.", "info", "tea", true]'
run tenon artifact read "$(state 's["plan"][1]["artifact_refs"][0]' | tr -d '"')"
expect_code 0 && expect_out "write
for B"
expect_state '"research\nfor A" in s["brief"] and s["brief"].startswith("C\n")' true

# ---- The coordinator asks too much: then the planner gets what is known ----
plan=(write:B)
thread=limit
supervises "vague" '{"max_questions": 1}'
expect_code 5
run tenon run -q tenon:supervisor --thread limit --resume --answer "$(question)=still vague"
expect_code 0 && expect_out "$done" && expect_log 'write '
expect_state 's["goal"], s["questions"]' '["vague\n\nstill vague", 1]'
thread=unasked
supervises "vague" '{"max_questions": 0}'
expect_code 0 && expect_out "$done"
thread=straight
supervises "vague" '{"coordinate": false, "notify": false}'
expect_code 0 && expect_out "$done"
expect_state 's["goal"], notice, s["messages"]' '["vague", null, []]'

# ---- A payload with a conversation; one that is none ----
plan=(write:B)
thread=messages
supervises "unused" '{}'
python3 -c 'import json
given = json.load(open("input.json"))
given["task"]["payload"] = {"messages": [{"type": "user", "content": "vague"}, {"type": "ai", "content": "For whom?"}, {"type": "user", "content": "for children"}]}
json.dump(given, open("messages.json", "w"))
given["task"]["payload"]["messages"][1] = "x"
json.dump(given, open("broken.json", "w"))'
run tenon run -q tenon:supervisor --thread conversation --input @messages.json
thread=conversation
expect_code 0 && expect_out "$done" && expect_state 's["goal"], len(s["messages"])' '["Tea for children", 4]'
run tenon run -q tenon:supervisor --input @broken.json
expect_code 0 && expect_in out '"task_state":"failed","error":{"code":"INVALID_PAYLOAD"'
