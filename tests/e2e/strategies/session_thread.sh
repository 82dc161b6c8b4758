# tenon:session in threads: approvals of a person, further attempts at a Task.
[ -e "$BINARY/lib/tenon/plugins/sqlite.so" ] || skips "built without the store in SQLite"
. "$SOURCE/tests/e2e/strategies/session.inc"

echo 'store: {use: sqlite, path: ./s.db}' >saved.yaml
options='{}'
session "{\"messages\": [$hello]}" "[$extracts, \"Done.\"]" --thread t1 --config saved.yaml --json
expect_code 5
id=$(sed -n 's/.*"interrupts":\[{"id":"\([0-9a-f]*\)".*/\1/p' "$work/out")
run tenon run "$strategy" --thread t1 --config saved.yaml --resume --answer "$id=yes" \
    --model "{\"provider\": \"scripted\", \"templates\": false, \"replies\": [$extracts, \"Done.\"]}"
expect_code 0 && expect_in out '{"role":"tool","content":"[\"a@example.org\"]"' && expect_in out '"llm_calls":2'
# An attempt at a Task that has its answer already returns it, and calls nothing.
session "{\"messages\": [$hello]}" '["Never said."]' --thread t1 --config saved.yaml
expect_code 0 && expect_in out '"content":"Done."' && expect_in out '"llm_calls":2' && expect_not_in out 'Never said'
# Another SessionData replaces the conversation.
session "{\"messages\": [{\"role\": \"user\", \"content\": \"Again\"}]}" '["Once more."]' --thread t1 --config saved.yaml
expect_code 0 && expect_in out '"messages":[{"role":"user","content":"Again"},{"role":"assistant","content":"Once more."' && expect_in out '"llm_calls":1'
# After a failed attempt, the next one continues: the tool is not called again.
impatient
approved='{"role": "user", "content": "/approve extract"}'
options='{"approvable": ["extract"]}'
session "{\"messages\": [$approved]}" "[$extracts, $overloaded]" --thread t2 --config saved.yaml
expect_code 0 && expect_in out '"task_state":"running"'
session "{\"messages\": [$approved]}" '["Done."]' --thread t2 --config saved.yaml
expect_code 0 && expect_in out '"content":"Done."' && expect_in out '"llm_calls":2' && expect_in out '"role":"tool","content":"[\"a@example.org\"]"'
