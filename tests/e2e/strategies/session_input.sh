# tenon:session with a SessionData that is wrong, and with failures.
. "$SOURCE/tests/e2e/strategies/session.inc"

# ---- A SessionData that is wrong: one message that says where, and what is expected ----
while IFS='|' read -r payload why; do
    session "$payload" '["Never said."]'
    expect_code 0
    expect_in out '"user_output":null,"task_state":"failed","error":{"code":"INVALID_SESSION","message":"the payload is not a SessionData: '"$why"
    [ "$(grep -o 'SessionData: ' "$work/out" | wc -l)" = 1 ] || fails "expected one error"
done <<T
{}|the value: missing property \`messages\`"
{"messages": "hello"}|/messages: found the string \\"hello\\", expected an array"
{"messages": []}|/messages: found an array of 0 items, expected at least 1"
{"messages": [{"role": "system", "content": "x"}]}|/messages: found no message with the role \\"user\\", expected at least one"
{"messages": [$hello, {"role": "bot", "content": "x"}]}|/messages/1/role: found the string \\"bot\\", expected one of \\"user\\", \\"assistant\\", \\"system\\", \\"tool\\" or \\"error\\""
{"messages": [{"role": "user"}]}|/messages/0: missing property \`content\`"
{"messages": [{"role": "user", "content": 5}]}|/messages/0/content: found the number 5, expected a string or an array"
{"messages": [{"role": "user", "content": [{"text": "x"}]}]}|/messages/0/content/0: missing property \`type\`"
{"messages": [{"role": "user", "content": [{"type": "text", "text": 5}]}]}|/messages/0/content/0/text: found the number 5, expected a string"
{"messages": [{"role": "user", "content": "x", "aprove": ["x"]}]}|/messages/0/aprove: unknown property \`aprove\`; did you mean \`approve\`?"
{"messages": [{"role": "user", "content": "x", "approve": "x"}]}|/messages/0/approve: found the string \\"x\\", expected an array"
{"messages": [{"role": "user", "content": "x", "approve": ["(a+)+"]}]}|/messages/0/approve/0: found the string
{"messages": [$hello, {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "name": "x", "arguments": "{}"}]}]}|/messages/1/tool_calls/0/arguments: found the string \\"{}\\", expected an object"
{"id": 5, "messages": [$hello]}|/id: found the number 5, expected a string"
{"title": 5, "messages": [$hello]}|/title: found the number 5, expected a string or null"
{"start_time": 5, "messages": [$hello]}|/start_time: found the number 5, expected a string"
{"character": 5, "messages": [$hello]}|/character: found the number 5, expected a string"
{"status": 5, "messages": [$hello]}|/status: found the number 5, expected a string"
{"other": 5, "messages": [$hello]}|/other: unknown property \`other\`, expected one of
{"config": 5, "messages": [$hello]}|/config: found the number 5, expected an object"
{"config": {"yaa": {"max_turns": 0}}, "messages": [$hello]}|/config/yaa/max_turns: found the number 0, expected at least 1"
{"config": {"llm_api": {"key": "x"}}, "messages": [$hello]}|/config/llm_api/key: unknown property \`key\`, expected one of
{"config": {"llm_api": {"base_url": 5}}, "messages": [$hello]}|/config/llm_api/base_url: found the number 5, expected a string or null"
{"config": {"tool": {"auto_approve": "x"}}, "messages": [$hello]}|/config/tool/auto_approve: found the string \\"x\\", expected a boolean or an array"
{"config": {"tool": {"approval": "never"}}, "messages": [$hello]}|/config/tool/approval: found the string \\"never\\", expected one of \\"ask\\" or \\"return\\""
{"messages": [{"role": "user", "content": "x", "id": "m1"}]}|/messages/0/id: unknown property \`id\`, expected one of
T

# ---- The model, its address and its key are the operator's: a session may have them, and they have no effect ----
session "{\"messages\": [$hello], \"config\": {\"llm_api\": {\"model\": \"acme:none\", \"base_url\": \"http://127.0.0.1:9\", \"api_key\": \"k\", \"temperature\": 0.5}}}" '["Hi!"]'
expect_code 0 && expect_in out '"content":"Hi!","model":"scripted"' && expect_in out '"finish_reason":"stop"'

# ---- Failures: a final one is part of the response, another attempt at the Task may repair the other ----
session "{\"messages\": [$hello]}" '[{"error": {"code": "AUTH", "message": "no key", "retryable": false}}]'
expect_code 0 && expect_in out '"task_state":"failed","error":{"code":"AUTH","message":"no key"'
expect_in out '"finish_reason":"error","messages":[{"role":"user","content":"Hello"},{"role":"error","content":"AUTH: no key"'
impatient
session "{\"messages\": [$hello]}" "[$overloaded]"
expect_code 0 && expect_in out '"user_output":null,"task_state":"running","error":{"code":"OVERLOADED","message":"later"'

# ---- Limits ----
strategy=$SOURCE/plugins/strategies/session/session.yaml
long() { printf "%0$1d" 0; }
# payload COUNT SIZE: the input with a session of so many messages, in a file
payload() {
    local message
    message="{\"role\": \"user\", \"content\": \"$(long "$2")\"},{\"role\": \"assistant\", \"content\": \"\", \"tool_calls\": [{\"id\": \"c\", \"name\": \"f\", \"arguments\": {}}]},{\"role\": \"tool\", \"content\": \"x\", \"tool_call_id\": \"c\"},"
    {
        printf '{"options": {"approvable": ["*"]}, "task": {"payload": {"config": {"yaa": {"max_turns": 50}, "tool": {"auto_approve": true, "format": "native"}}, "messages": ['
        for ((i = 3; i < $1; i += 3)); do printf '%s' "$message"; done
        printf '%s]}}}' "$hello"
    } >input.json
}
printf 'store: {use: memory}\nmodels: {default: {provider: scripted, replies: ["%s"]}}\n' "$(long 200000)" >large.yaml
asks() { run tenon run "$strategy" --input @input.json "$@"; }
payload 1000 100
asks --model '{"provider": "scripted", "replies": ["Done."]}'
expect_code 0 && expect_in out '"finish_reason":"stop"'
payload 1003 100
asks --model scripted
expect_code 0 && expect_in out 'SessionData: /messages: found an array of 1003 items, expected at most 1000"'
payload 15 270000
asks --model scripted
expect_code 0 && expect_in out 'SessionData: the rendered text is longer than the limit of 1048576 bytes"'
payload 15 240000
asks --config large.yaml
expect_code 0 && expect_in out '"user_output":null,"task_state":"failed","error":{"code":"LIMIT"' && expect_in out '"finish_reason":"stop"'
# As many turns, and as many calls of one message, as there may be.
payload 3 1
asks --model '{"provider": "scripted", "replies": [{"tool_calls": [{"name": "rethink", "arguments": {"reason": "Again."}}]}]}'
expect_code 0 && expect_in out '"finish_reason":"limit"' && expect_in out '"llm_calls":50'
calls=$(for ((i = 0; i < 128; i++)); do printf '{"name": "extract", "arguments": {"from": "x", "what": "links"}},'; done)
asks --model "{\"provider\": \"scripted\", \"replies\": [{\"tool_calls\": [${calls%,}]}, \"Done.\"]}"
expect_code 0 && expect_in out '"content":"Done."' && [ "$(grep -o '"role":"tool"' "$work/out" | wc -l)" = 128 ] || fails "expected 128 results"
