# `tenon work --loops N`: several loops of one process handle Tasks; what they do does not depend on N.
strategy triple 'type: set, config: {values: {user_output: "string(state.task.payload.n * 3)"}}'
strategy refuses 'type: set, config: {values: {task_state: "\"failed\"", error: "{\"code\": \"SOLD_OUT\", \"message\": \"nothing left\"}"}}'
strategy slow 'type: delay, config: {ms: 60000}'
cat >tenon.yaml <<'YAML'
work:
  work: {strategy: ./triple.yaml}
  order: {strategy: ./refuses.yaml, concurrency: 1}
  slow: {strategy: ./slow.yaml}
YAML

# tasks FILTER [OPTION…]: the Tasks, a line of JSON for each
tasks() { tenon task list --json "${@:2}" | jq -cS ".tasks[] | $1" | sort; }
# handles LOOPS: creates Tasks, handles them, and prints what they have come to
handles() {
    rm -rf .tenon
    for n in 1 2 3 4 5 6 7 8 9; do create work "{\"n\": $n}"; done
    create order
    create order
    run tenon work --drain --types work,order --concurrency 4 --loops "$1" --json
    expect_code 1 && expect_in out '"task_type":"work","claimed":9,"running":0,"done":9,"failed":0'
    expect_in out '"task_type":"order","claimed":2,"running":0,"done":0,"failed":2'
    [ "$(grep -c '"type":"claimed"' "$work/out")" = 11 ] && [ "$(grep -c '"type":"ended"' "$work/out")" = 11 ] ||
        fails "expected 11 claims and 11 ends"
    tasks '{payload, state, attempts, user_output, error: .error.code}'
}
handles 1 >one
handles 3 >three
cmp one three || fails "expected the same Tasks from 1 and from 3 loops"
[ "$(grep -c '"state":"done"' one)" = 9 ] || fails "expected 9 Tasks that are done"

# ---- A type with a separate limit: the limit is that of all loops ----
create order
create order
run tenon work --drain --types order --concurrency 8 --loops 2 -q
expect_code 1 && [ "$(tasks .task_id --state failed | wc -l)" = 4 ] || fails "expected 4 failed Tasks"

# ---- tenon.yaml; SIGTERM drains every loop, and its Tasks return to the queue ----
sed -i '1i loops: 2' tenon.yaml
create slow
first=$id
create slow
worker --types slow --concurrency 2
both_run() { [ "$(tasks .task_id --state running | wc -l)" = 2 ]; }
wait_until both_run
kill -TERM "$worker"
sleep_ended() { ! kill -0 "$worker" 2>/dev/null; }
kill -INT "$worker" # the second signal cancels the runs
wait_until sleep_ended
shows '"state":"queued"'
id=$first
shows '"state":"queued"'

# ---- Mistakes ----
run tenon work --drain --loops 0
expect_code 2 && expect_in err '--loops: found `0`, expected a whole number from 1 to 64'
run tenon work --drain --loops 65
expect_code 2 && expect_in err '--loops: found `65`'
run tenon work --drain --loops 2 --connect ./socket
expect_code 2 && expect_in err "--loops cannot be used with --connect"
sed -i 's/^loops: 2/loops: many/' tenon.yaml
run tenon work --drain
expect_code 4 && expect_in err 'tenon.yaml:1:8' && expect_in err '`loops`'
