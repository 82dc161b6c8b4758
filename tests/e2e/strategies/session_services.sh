# tenon:session with other roles in the conversation, in the wire formats of services: the known problem of the seed.
command -v python3 >/dev/null || skips "python3 is not installed"
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
. "$SOURCE/tests/e2e/strategies/session.inc"

old='{"role": "assistant", "content": "I am ready."},
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Look it up."},
    {"role": "tool", "content": "a result of a client that keeps only texts"},
    {"role": "error", "content": "RATE_LIMITED: kept from models"},
    {"role": "assistant", "content": "", "tool_calls": [
        {"id": "c1", "name": "extract", "arguments": {"from": "x", "what": "links"}},
        {"id": "c2", "name": "extract", "arguments": {"from": "y", "what": "links"}},
        {"id": "c3", "name": "extract", "arguments": {"from": "z", "what": "links"}}]},
    {"role": "tool", "content": "result two", "tool_call_id": "c2", "name": "extract"},
    {"role": "error", "content": "kept from models too"},
    {"role": "user", "content": "Go on."},
    {"role": "tool", "content": "result one, late", "tool_call_id": "c1", "name": "extract", "status": "error"},
    {"role": "assistant", "content": "Here."},
    {"role": "tool", "content": [{"type": "text", "text": "again"}], "tool_call_id": "c2", "name": "extract"},
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "And now?"},
    {"role": "user", "content": "Now!"}'
# Each service, with tools in the text and native: two requests each, of one server that answers in this order.
services=('"provider": "openai", "api": "chat"' '"provider": "openai", "api": "responses"' '"provider": "anthropic"')
[ ! -e "$BINARY/lib/tenon/plugins/gemini.so" ] || services+=('"provider": "gemini"')
done='{"text": "Done.", "finish": "length"}'
text="{\"text\": $extracts}, $done"
native="{\"text\": \"I call it.\", \"calls\": [{\"name\": \"extract\", \"arguments\": {\"from\": \"a@example.org\", \"what\": \"emails\"}}]}, $done"
echo "{\"replies\": [$text, $native], \"cycle\": true}" >script.json
server_start port provider_server.py script.json --log requests
for service in "${services[@]}"; do
    for format in text native; do
        run tenon run "$strategy" --input "{\"options\": $options, \"task\": {\"payload\": {\"messages\": [$old],
            \"config\": {\"tool\": {\"format\": \"$format\", \"auto_approve\": true}, \"llm_api\": {\"max_tokens\": 77, \"temperature\": 0.5}}}}}" \
            --model "{$service, \"model\": \"m\", \"api_key\": \"none\", \"base_url\": \"http://127.0.0.1:$port/v1\"}"
        expect_code 0
        expect_in out '"content":"[\"a@example.org\"]"' && expect_in out '"finish_reason":"length"'
        # All messages of the session are returned as they came, in order.
        expect_in out '{"role":"tool","content":"a result of a client that keeps only texts"},{"role":"error","content":"RATE_LIMITED: kept from models"},{"role":"assistant","content":"","tool_calls":[{"id":"c1",'
        expect_in out '{"role":"user","content":"And now?"},{"role":"user","content":"Now!"},{"role":"assistant","content":"I call it."'
    done
done
run python3 "$SOURCE/tests/e2e/provider_requests.py" requests
expect_code 0 && expect_out $((${#services[@]} * 4))
! grep -qF "kept from models" requests || fails "an error message was sent to the model"
for text in 'that keeps only texts' 'result two' 'result one, late' 'again' 'And now?' 'Now!' '0.5' '77'; do
    [ "$(grep -cF "$text" requests)" = $((${#services[@]} * 4)) ] || fails "a request lacks: $text"
done
servers_stop
