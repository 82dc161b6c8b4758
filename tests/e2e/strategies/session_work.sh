# tenon:session with a worker: the payload of a Task is a session, and its `user_output` the response.
[ -e "$BINARY/lib/tenon/plugins/sqlite.so" ] || skips "built without the store in SQLite"
. "$SOURCE/tests/e2e/strategies/session.inc"

# configure STRATEGY REPLIES OPTIONS · create MESSAGES: a Task, $task · work: a worker handles what can be claimed
configure() {
    cat >tenon.yaml <<Y
store: {use: tenon.sqlite, path: ./s.db}
models: {default: {provider: scripted, by: calls, templates: false, replies: $2}}
work: {session: {strategy: $1, tools: [rethink, finish, extract], options: $3, retries: {max_attempts: 3, initial: 1ms}}}
Y
}
create() {
    run tenon task create session --payload "{\"id\": \"s1\", \"messages\": [$1]}"
    expect_code 0
    task=$(cat "$work/out")
}
work() { run tenon work --types session --drain; }
# ends STATE ATTEMPTS: fails unless the Task has this state, after so many attempts. Its record is in $work/out.
ends() {
    run tenon tool call task.get "{\"task_id\": \"$task\"}"
    expect_in out "\"state\":\"$1\"" && expect_in out "\"attempts\":$2,"
}
approved='{"role": "user", "content": "/approve extract"}'

configure tenon:session "[$extracts, \"Done.\"]" '{approvable: [extract]}'
create "$approved"
work
expect_code 0
ends done 1
expect_in out '"user_output":"{\"id\":\"s1\",\"title\":null,' && expect_in out '\"finish_reason\":\"stop\"' && expect_in out '\"content\":\"Done.\"'

# The operator does not let sessions approve the tool: the Task waits for a person, without a worker.
configure tenon:session "[$extracts]" '{}'
create "$approved"
work
expect_code 0 && expect_in err 'may extract be called'
ends queued 0
expect_in out '"waiting":true'
run tenon thread show "$task"
id=$(sed -n 's/^  \([0-9a-f]\{16\}\)  node tools: .*/\1/p' "$work/out")
run tenon thread answer "$task" "$id=yes"
expect_code 0
configure tenon:session '["Done."]' '{}'
work
ends done 1
expect_in out '\"role\":\"tool\",\"content\":\"[\\\"a@example.org\\\"]\"' && expect_in out '\"content\":\"Done.\"'

# A service that fails for a while: the next attempt continues, and does not call the tool again.
impatient
configure "$strategy" "[$extracts, $overloaded]" '{approvable: [extract]}'
create "$approved"
run tenon work --types session --once
expect_code 0
ends queued 1
configure "$strategy" '["Done."]' '{approvable: [extract]}'
is_done() { work && "$TENON" tool call task.get "{\"task_id\": \"$task\"}" | grep -q '"state":"done"'; }
wait_until is_done # it can be claimed after a delay
ends done 2
[ "$(grep -o '\\"role\\":\\"tool\\"' "$work/out" | wc -l)" = 1 ] || fails "expected one result of a tool"
expect_in out '\"llm_calls\":2'

# What is not a session is a decision: it is not tried again.
create '{"role": "bot", "content": "x"}'
work
expect_code 1
ends failed 1
expect_in out '"code":"INVALID_SESSION","message":"the payload is not a SessionData: /messages/0/role: found the string \"bot\"'
