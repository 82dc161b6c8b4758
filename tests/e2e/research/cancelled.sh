# A run that is cancelled cancels its research at the service: while it is followed, polled, and created.
document followed.yaml 'input_key: question'
document polled.yaml 'input_key: question, stream: false, poll_interval_ms: 1'

has_lines() { [ -e log ] && [ "$(wc -l <log)" -ge "$1" ]; }
cancels() { count POST v1_work1/cancel; }

cancelled() { # SCRIPT DOCUMENT REQUESTS
    serve "$1"
    "$TENON" run "$2" --set question='Do they work?' >"$work/out" 2>"$work/err" </dev/null &
    local host=$!
    disown
    last="cancelled: $2"
    wait_until has_lines "$3"
    kill -INT "$host"
    sleep 0.05
    kill -INT "$host" 2>/dev/null || true
    expect_ended "$host" "the run did not end"
    [ "$(cancels)" = 1 ] || fails "expected one request to cancel, found $(cancels)"
    expect_creates 1
    servers_stop
}
cancelled '{"hold": 2}' followed.yaml 2
cancelled '{"polls": 1000000}' polled.yaml 3

# ---- A timeout of the node ----
sed 's/type: deep_research,/type: deep_research, timeout: 300ms,/' followed.yaml >timed.yaml
serve '{"hold": 2}'
run tenon run timed.yaml --set question='Do they work?'
expect_code 1 && expect_in err "[TIMEOUT]"
[ "$(cancels)" = 1 ] || fails "the research was not cancelled"
servers_stop
