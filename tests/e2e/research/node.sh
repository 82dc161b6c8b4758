# The node `deep_research` over Gemini's Interactions: a report, a stream that breaks, both shapes, and every end.
document report.yaml 'input_key: question'
ask() { run tenon run "${doc:-report.yaml}" --set question='Do they work?' "$@"; }

# ---- A report, streamed ----
serve '{}'
ask --stream messages
expect_code 0 && expect_in out "$report" && expect_in out '"interaction_id":"v1_work1"' && expect_creates 1
expect_in err '"delta":{"reasoning":"**Searching** for pumps"}' && expect_in err '"delta":{"content":"Heat pum"}'
expect_in out '"sources":[{"type":"source","url":"https://example.org/pumps","title":"Heat pumps"},{"type":"source","url":"https://example.org/cold","title":"Cold climates"}]'
expect_in out '"input_tokens":150,"output_tokens":50,"total_tokens":200,"reasoning_tokens":30'
expect_not_in out "$GEMINI_API_KEY" && expect_not_in err "$GEMINI_API_KEY"
grep -q '"thinking_summaries": "auto"' log && grep -q '"background": true' log || fails "the request is not complete"
grep -q '"x-goog-api-key": "AIzaSyA-0123456789"' log || fails "the key was not sent"
servers_stop

# ---- Each connection brings four events; then numbers are missing, in the older shape ----
serve '{"per_connection": 4}'
ask
expect_code 0 && expect_in out "$report" && expect_creates 1
[ "$(count GET 'stream=true&last_event_id=e')" = 5 ] || fails "the stream did not continue"
servers_stop
serve '{"older": true, "numbered": false}'
ask
expect_code 0 && expect_in out "$report" && expect_in out '"url":"https://example.org/cold"'
servers_stop

# ---- A stream that fails for good: the result is read without it ----
serve '{"polls": 1, "answers": [{"match": "GET", "path": "stream=true", "status": 400, "json": {"error": {"message": "no streams"}}, "times": 9}]}'
sed 's/input_key/poll_interval_ms: 1, input_key/' report.yaml >quick.yaml
doc=quick.yaml ask
expect_code 0 && expect_in out "$report" && expect_creates 1
servers_stop

# ---- Without a stream; an unknown status counts as running; transient errors are tolerated ----
document polled.yaml 'input_key: question, stream: false, poll_interval_ms: 1'
serve '{"polls": 3, "answers": [{"match": "GET", "status": 503, "json": {"error": {"message": "busy"}}, "times": 1}]}'
doc=polled.yaml ask
expect_code 0 && expect_in out "$report" && expect_creates 1
servers_stop

# ---- Ends ----
ends() { # STATUS CODE TEXT
    serve "{\"status\": \"$1\", \"error\": {\"code\": \"x\", \"message\": \"no luck\"}}"
    ask
    expect_code 1 && expect_in err "[$2]" && expect_in err "$3"
    servers_stop
}
serve '{"status": "failed"}'
ask --json
expect_code 1 && expect_in out '"detail":{"interaction_id":"v1_work1"' && expect_in out "$report" # what it had written until then
servers_stop
ends failed FAILED "the research ended as \`failed\` at the service: no luck"
ends budget_exceeded BUDGET_EXCEEDED "no luck"
ends cancelled CANCELLED "cancelled"
serve '{"status": "incomplete"}'
ask
expect_code 0 && expect_in out '"state":"incomplete"' && expect_in out "$report"
servers_stop
serve '{"answers": [{"match": "POST", "status": 400, "json": {"error": {"message": "no such agent"}}, "times": 1}]}'
ask
expect_code 1 && expect_in err "[INVALID_REQUEST]" && expect_in err "no such agent"
servers_stop
# What does not exist: an agent, a research before it, and one that has expired.
missing() { # MATCH DOCUMENT TEXT
    serve "{\"polls\": 1, \"answers\": [{\"match\": \"$1\", \"status\": 404, \"json\": {\"error\": {\"message\": \"gone\"}}, \"times\": 9}]}"
    doc=$2 ask
    expect_code 1 && expect_in err "[NOT_FOUND]" && expect_in err "$3"
    servers_stop
}
document later.yaml 'input_key: question, previous_interaction_id: v1_0'
missing POST report.yaml 'gemini does not have the agent (status 404): "gone"; check `agent`'
missing POST later.yaml 'the research before it, `v1_0` (status 404): "gone"; check `agent` and `previous_interaction_id`'
missing GET polled.yaml 'gemini does not have `v1_work1` (status 404): "gone"; it may have expired, or been deleted there: start another'
serve '{"continues": true}'
ask
expect_code 0 && expect_in out "$report" && expect_creates 2
grep -q '"continuation_token": "next-v1_work1"' log || fails "the continuation token was not sent back"
servers_stop
run tenon run report.yaml --set question=
expect_code 1 && expect_in err "[INVALID_INPUT]"
