# tenon:react calls tools until it has an answer, or until `max_turns`.
is_strategy react
asked() { handles react "$1" "{\"task\": {\"payload\": $2}, \"options\": ${3:-{\}}}" "${@:4}"; }
call='{"type": "ai", "content": "", "tool_calls": [{"id": "a", "name": "extract", "arguments": {"from": "see http://x.example/", "what": "links"}}]}'

asked '{"provider": "scripted"}' '{"text": "Hello"}'
expect_code 0 && expect_out '{"user_output":"Hello","task_state":"done","error":null}'
asked "{\"provider\": \"scripted\", \"replies\": [$call, $call, $call, \"The last result is {last}\"]}" '{"text": "Go"}'
expect_code 0 && expect_answer user_output '"The last result is [\"http://x.example/\"]"'

# A failed tool is a result.
failed='{"type": "ai", "content": "", "tool_calls": [{"id": "a", "name": "task.get", "arguments": {"task_id": "absent"}}, {"id": "b", "name": "no.such.tool", "arguments": {}}]}'
asked "{\"provider\": \"scripted\", \"replies\": [$failed, \"Then: {last}\"]}" '{"text": "Go"}'
expect_code 0 && expect_in out 'Then: TOOL_NOT_FOUND'

# After max_turns, no tools are offered, and the model must answer; a model that calls them nevertheless has failed.
asked "{\"provider\": \"scripted\", \"replies\": [$call, $call, \"Answered\"]}" '{"text": "Go"}' '{"max_turns": 2}'
expect_code 0 && expect_answer user_output '"Answered"'
asked "{\"provider\": \"scripted\", \"replies\": [$call, $call, \"Answered\"]}" '{"text": "Go"}' '{"max_turns": 1}'
expect_code 0 && expect_answer task_state '"failed"' && expect_in out '"code":"TURN_LIMIT"'
asked "{\"provider\": \"scripted\", \"replies\": [$call]}" '{"text": "Go"}' '{"max_turns": 100}'
expect_code 0 && expect_in out '"code":"TURN_LIMIT"'

# Errors of the network are not decisions.
asked '{"provider": "scripted", "replies": [{"error": {"code": "OVERLOADED", "message": "no"}}]}' '{"text": "Go"}'
expect_code 1 && expect_in err '[OVERLOADED]'
for options in '{"max_turns": 0}' '{"max_turns": 101}' '{"max_turns": "2"}' '{"turns": 2}'; do
    asked '{"provider": "scripted"}' '{"text": "Go"}' "$options"
    expect_code 1 && expect_in err 'channel `options`'
done
for wrong in '[]' '[{"type": "user", "content": 5}]' '[{"type": "user", "content": "x", "id": 5}]' '[{"type": "ai", "content": "", "tool_calls": 5}]'; do
    asked '{"provider": "scripted"}' "{\"messages\": $wrong}"
    expect_code 0 && expect_in out INVALID_INPUT
done
# An answer without a text is none, also the last one.
for turns in 1 10; do
    asked "{\"provider\": \"scripted\", \"replies\": [$call, \" \"]}" '{"text": "Go"}' "{\"max_turns\": $turns}"
    expect_code 0 && expect_in out '"user_output":null,"task_state":"failed","error":{"code":"EMPTY_ANSWER"'
done

# The system prompt: prompts/system.md, or the text of the operator, and the instructions. (A token is four characters.)
read_tokens() { grep -o '"input_tokens":[0-9]*' "$work/err" | head -1 | grep -o '[0-9]*$'; }
asked '{"provider": "scripted", "replies": ["ok"]}' '{"text": "Go"}' '{}' --stream updates
plain=$(read_tokens)
asked '{"provider": "scripted", "replies": ["ok"]}' '{"text": "Go"}' '{"system_prompt": "Be kind."}' --stream updates
[ "$(read_tokens)" -lt "$plain" ] || fails "the system prompt was not replaced"
asked '{"provider": "scripted", "replies": ["ok"]}' '{"text": "Go"}' "{\"instructions\": \"$(printf '%04000d' 0)\"}" --stream updates
[ "$(read_tokens)" -ge $((plain + 1000)) ] || fails "the instructions were not added"
# The operator's text also begins the prompt for the last answer.
long=$(printf '%04000d' 0)
last_tokens() { grep -o '"input_tokens":[0-9]*' "$work/err" | tail -1 | grep -o '[0-9]*$'; }
asked "{\"provider\": \"scripted\", \"replies\": [$call, \"ok\"]}" '{"text": "Go"}' '{"max_turns": 1}' --stream updates
plain=$(last_tokens)
asked "{\"provider\": \"scripted\", \"replies\": [$call, \"ok\"]}" '{"text": "Go"}' "{\"max_turns\": 1, \"system_prompt\": \"$long\"}" --stream updates
[ "$(last_tokens)" -ge $((plain + 1000)) ] || fails "the last prompt has no system prompt"
