# The node `deep_research` asks a person: to approve a plan, and for the results of calls.
document report.yaml 'input_key: question'
ask() { run tenon run "${doc:-report.yaml}" --set question='Do they work?' "$@"; }

answer() { # ANSWER: to the question of the last run
    local id
    id=$(sed -n 's/.*(id \([0-9a-f]*\)).*/\1/p' "$work/err" | head -1)
    [ -n "$id" ] || fails "the run asks nothing"
    run tenon run "$doc" --thread "$thread" --resume --answer "$id=$1"
}
document planned.yaml 'input_key: question, approve_plan: true'
doc=planned.yaml thread=planned
serve '{}'
ask --thread planned
expect_code 5 && expect_in err '"plan":"Plan: search, then write."' && expect_creates 1
answer '{"approved": false, "changes": "Shorter."}'
expect_code 5 && expect_in err '"plan":"Plan: search, then write."' && expect_creates 2
grep -q '"input": "Shorter."' log && grep -q '"previous_interaction_id": "v1_work1"' log || fails "the changes were not sent"
answer '{"approved": true}'
expect_code 0 && expect_in out "$report" && expect_creates 3
grep '"collaborative_planning": false' log | grep -q '"previous_interaction_id": "v1_work2"' || fails "the plan was not carried out"
thread=refused
ask --thread refused
answer '{"approved": false}'
expect_code 1 && expect_in err "[TOOL_DENIED]" && expect_creates 4
# An approval with changes keeps both, also if another process answers.
ask --thread both
id=$(sed -n 's/.*(id \([0-9a-f]*\)).*/\1/p' "$work/err" | head -1)
run tenon thread answer both "$id={\"approved\": true, \"changes\": \"Only Europe.\"}"
run tenon run planned.yaml --thread both --resume
expect_code 0 && expect_creates 6
grep '"collaborative_planning": false' log | grep -q 'Carry it out, with these changes: Only Europe\.' || fails "the changes were lost"
servers_stop

doc=report.yaml thread=calls
serve '{"calls": true}'
ask --thread calls
expect_code 5 && expect_in err '"calls":[{"id":"c1","name":"lookup","arguments":{"what":"pumps"}}]'
answer '{"results": [{"id": "c1", "name": "lookup", "result": "42"}]}'
expect_code 0 && expect_in out "$report" && expect_creates 2
grep -qF '"input": [{"type": "function_result", "call_id": "c1", "name": "lookup", "result": "42"}]' log || fails "the result was not sent"
servers_stop
