# tenon:single_turn answers a Task with one model.
is_strategy single_turn
asked() { handles single_turn "$1" "{\"task\": {\"task_type\": \"user_request\", \"payload\": $2}}" "${@:3}"; }

# The text of the Task. Without a script, the model repeats what the user said.
asked '{"provider": "scripted"}' '{"text": "Hello {x}"}'
expect_code 0 && expect_out '{"user_output":"Hello {x}","task_state":"done","error":null}'
asked '{"provider": "scripted"}' '{"message": "Hello"}'
expect_code 0 && expect_answer user_output '"Hello"'
asked '{"provider": "scripted"}' '{"messages": [{"type": "user", "content": "One"}, {"type": "ai", "content": "Two"}, {"type": "user", "content": "Three"}]}'
expect_code 0 && expect_answer user_output '"Three"'
asked '{"provider": "scripted"}' '{"numbers": [1, 2]}'
expect_code 0 && expect_answer user_output '"The task, as JSON: {\"numbers\":[1,2]}"'
asked '{"provider": "scripted"}' '{"text": {"not": "a text"}}'
expect_code 0 && expect_answer user_output '"{\"not\":\"a text\"}"'
call='{"type": "ai", "content": "", "tool_calls": 5}'
for wrong in 7 '[]' '[{}]' '[5]' '[{"type": "user"}]' '[{"type": "tool_user", "content": ""}]' '[{"type": 5, "content": ""}]' \
    '[{"type": "user", "content": 5}]' '[{"type": "user", "content": {}}]' '[{"type": "user", "content": null}]' \
    '[{"type": "user", "content": "x", "id": 5}]' '[{"type": "user", "content": "x", "id": null}]' "[$call]" \
    "[$(printf '{"type": "user", "content": "x"},%.0s' {1..200}){\"type\": \"user\", \"content\": \"x\"}]"; do
    asked '{"provider": "scripted"}' "{\"messages\": $wrong}"
    expect_code 0 && expect_answer task_state '"failed"' && expect_in out INVALID_INPUT
done

# An answer without a text is none.
for none in '""' '" \n"' '{"type": "ai", "content": ""}'; do
    asked "{\"provider\": \"scripted\", \"replies\": [$none]}" '{"text": "Go"}'
    expect_code 0 && expect_out '{"user_output":null,"task_state":"failed","error":{"code":"EMPTY_ANSWER","message":"the answer of the model has no text"}}'
done

# Tools are called, and their failures are seen by the model.
call='{"type": "ai", "content": "", "tool_calls": [{"id": "a", "name": "extract", "arguments": {"from": "see http://x.example/", "what": "links"}},
    {"id": "b", "name": "task.get", "arguments": {"task_id": "absent"}}]}'
asked "{\"provider\": \"scripted\", \"replies\": [$call, \"Then: {last}\"]}" '{"text": "Go"}'
expect_code 0 && expect_in out 'Then: NOT_FOUND: task.get' && expect_answer task_state '"done"'

# After four answers with calls, no tools are offered. A model that calls them nevertheless has failed.
asked "{\"provider\": \"scripted\", \"replies\": [$call, $call, $call, $call, \"At last\"]}" '{"text": "Go"}'
expect_code 0 && expect_answer user_output '"At last"'
asked "{\"provider\": \"scripted\", \"replies\": [$call]}" '{"text": "Go"}'
expect_code 0 && expect_answer task_state '"failed"' && expect_in out '"code":"TURN_LIMIT"'

# Only the worker claims, releases and ends Tasks, and only an answer wakes them: in every strategy with a model.
for tool in claim renew release wake complete fail; do
    denied="{\"type\": \"ai\", \"content\": \"\", \"tool_calls\": [{\"id\": \"a\", \"name\": \"task.$tool\", \"arguments\": {\"task_id\": \"t\"}}]}"
    asked "{\"provider\": \"scripted\", \"replies\": [$denied, \"Then: {last}\"]}" '{"text": "Go"}'
    expect_code 0 && expect_in out "Then: TOOL_DENIED: the tool \`task.$tool\` is denied"
    for name in react pdca supervisor session; do
        grep -q "^  - {name: task.$tool, approval: deny}" "$SOURCE/plugins/strategies/$name/$name.yaml" || fails "$name permits task.$tool"
    done
done

# The options.
run tenon run -q tenon:single_turn --model scripted --input '{"task": {"payload": {"text": "x"}}, "options": {"instruction": "y"}}'
expect_code 1 && expect_in err 'did you mean `instructions`'

# A Task whose run has failed is tried again on its thread, where the conversation is. The model answers the same question.
printf 'store: {use: tenon.sqlite, path: state.db}\n' >store.yaml
failing='{"provider": "scripted", "replies": [{"error": {"code": "OVERLOADED", "message": "no"}}]}'
asked "$failing" '{"text": "Once"}' --thread t -c store.yaml
expect_code 1 && expect_in err OVERLOADED
asked '{"provider": "scripted", "replies": ["Only {call}"]}' '{"text": "Once"}' --thread t -c store.yaml --replace
expect_code 0 && expect_answer user_output '"Only 1"'
run tenon thread state t -c store.yaml
[ "$(grep -o '"Once"' "$work/out" | wc -l)" = 2 ] || fails "expected the question once in the Task and once in the conversation"
