# The host is killed while each request of a research waits for its answer, and at writes to the store between them. It
# continues, and nothing is created twice; if it is not known whether something was created, a person is asked.
document interactions.yaml 'input_key: question'
document polled.yaml 'input_key: question, stream: false, poll_interval_ms: 1'
document responses.yaml 'backend: responses, input_key: question'
document unasked.yaml 'unconfirmed: create, input_key: question'

has_lines() { [ -e log ] && [ "$(wc -l <log)" -ge "$1" ]; }

# killed_at N DOCUMENT: kills the host while request N waits, and resumes the thread
killed_at() {
    serve "{\"hold\": $1, \"polls\": 1}"
    "$TENON" run "$2" --thread "$2-$1" --set question='Do they work?' >"$work/out" 2>"$work/err" </dev/null &
    local host=$!
    disown
    last="killed at request $1 of $2"
    wait_until has_lines "$1"
    kill -9 "$host"
    expect_ended "$host" "the host did not end"
    run tenon run "$2" --thread "$2-$1" --resume
}

for number in 2:interactions 3:interactions 3:polled 2:responses; do
    killed_at ${number%:*} ${number#*:}.yaml
    expect_code 0 && expect_in out "$report" && expect_creates 1
    servers_stop
done

# ---- While it was created ----
for doc in interactions responses; do
    killed_at 1 $doc.yaml
    expect_code 5 && expect_in err "The research may exist, and be paid for. Create another one?" && expect_creates 1
    id=$(sed -n 's/.*(id \([0-9a-f]*\)).*/\1/p' "$work/err" | head -1)
    run tenon run $doc.yaml --thread $doc.yaml-1 --resume
    expect_code 5 && expect_creates 1
    run tenon run $doc.yaml --thread $doc.yaml-1 --resume --answer "$id=true"
    expect_code 0 && expect_in out "$report" && expect_creates 2
    servers_stop
done
killed_at 1 unasked.yaml
expect_code 0 && expect_in out "$report" && expect_creates 2
servers_stop

# ---- The connection is lost while it is created ----
serve '{"drop": 1}'
run tenon run interactions.yaml --thread lost --set question='Do they work?'
expect_code 5 && expect_in err "Create another one?" && expect_creates 1
servers_stop

# ---- What is created without a question is bounded ----
serve '{"answers": [{"match": "POST", "status": 200, "json": [], "times": 99}]}'
run tenon run unasked.yaml --set question='Do they work?'
expect_code 1 && expect_in err "3 times it was not known whether the research was created" && expect_creates 3
servers_stop
serve '{"answers": [{"match": "POST", "status": 200, "json": {"id": "v1_x", "status": "requires_continuation", "continuation_token": "t"}, "times": 99}]}'
run tenon run polled.yaml --set question='Do they work?'
expect_code 1 && expect_in err "the service has asked 51 times to continue the research" && expect_creates 51
servers_stop

# ---- It was refused: the run fails, and tries again without a question ----
serve '{"answers": [{"match": "POST", "status": 401, "json": {"error": {"code": 401, "message": "no"}}, "times": 1}]}'
run tenon run interactions.yaml --thread refused --set question='Do they work?'
expect_code 1 && expect_in err "[AUTH]"
run tenon run interactions.yaml --thread refused --resume
expect_code 0 && expect_in out "$report"
servers_stop
