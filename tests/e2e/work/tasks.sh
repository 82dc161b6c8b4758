# Tasks are claimed, handled and completed; the outcome of the command.
strategy double 'type: set, config: {values: {user_output: "string(state.task.payload.n * 2)"}}'
strategy refuses 'type: set, config: {values: {task_state: "\"failed\"", error: "{\"code\": \"SOLD_OUT\", \"message\": \"nothing left\"}"}}'
cat >tenon.yaml <<'YAML'
work:
  work: {strategy: ./double.yaml, retries: {max_attempts: 2, initial: 1h, max: 1h}}
  order: {strategy: ./refuses.yaml, priority: 5}
YAML

# ---- The thin path ----
create work '{"n": 21}'
run tenon work --drain
expect_code 0 && expect_in err "done      work  $id" && expect_in err "has ended: 1 done" && expect_out ""
shows '"state":"done"' && expect_in out '"user_output":"42"' && expect_in out '"attempts":1' && expect_in out '"outcome":"done"'
run tenon thread show "$id" --json # the Task is a thread with the same id
expect_in out '"status":"done"'
run tenon work --drain
expect_code 0 && expect_in err "has ended: 0 done"

# ---- Filters, names, limits ----
create work '{"n": 1}'
run tenon work --drain --types order
expect_code 0 && expect_in err "has ended: 0 done"
shows '"state":"queued"'
create work '{"n": 2}'
run tenon work --once --name worker-7 -q
expect_code 0 && [ ! -s "$work/err" ] || fails "expected nothing on standard error"
shows '"state":"queued"' # it was not the first one
run tenon work --drain --types work,order --concurrency 1 --name worker-8
shows '"claimed_by":"worker-8"' && expect_in out '"user_output":"4"'
run tenon work --drain --types wrk
expect_code 1 && expect_in err 'no strategy for Tasks of the type `wrk`; did you mean `work`? [NOT_FOUND]'
run tenon work --drain --types ,
expect_code 2 && expect_in err 'types/0'
run tenon work --drain --concurrency 0
expect_code 2 && expect_in err "--concurrency"
run tenon work --drain --once
expect_code 2 && expect_in err "cannot be used together"

# ---- Failures ----
create order
run tenon work --drain
expect_code 1 && expect_in err "failed    order  $id  nothing left [SOLD_OUT]" && expect_in err "0 done, 1 failed"
shows '"state":"failed"' && expect_in out '"attempts":1' # a decision of the strategy is not tried again
create work '{"n": "x"}'
run tenon work --drain --json
expect_code 0 # it is tried again later
expect_in out '{"type":"started","worker_id":' && expect_in out '"client":"tenon work"' && expect_in out '"outcome":"retried"' && expect_in out '{"type":"result","worker_id":'
shows '"not_before":"2'
run tenon work --once
expect_code 0 && expect_in err "has ended: 0 done"
run tenon task wake "$id"
run tenon work --once
expect_code 1 && expect_in err "failed    work  $id"
shows '"state":"failed"' && expect_in out '"code":"EXPRESSION_ERROR"' && expect_in out '"outcome":"retried"' && expect_in out '"outcome":"failed"'

# ---- A key makes one Task of several creations ----
create work '{"n": 3}' --key monday
first=$id
run tenon work --drain
create work '{"n": 3}' --key monday
[ "$id" = "$first" ] || fails "expected the first Task"
run tenon work --drain
expect_in err "has ended: 0 done"
shows '"attempts":1'

# ---- A strategy that is not one ----
echo 'work: {work: {strategy: ./nowhere.yaml}}' >tenon.yaml
run tenon work --drain
expect_code 1 && expect_in err 'Tasks of the type `work` cannot be handled' && expect_in err "nowhere.yaml"

# ---- A store that cannot be used ----
printf 'store: {use: sqlite, path: ./damaged.db}\nwork: {work: {strategy: ./double.yaml}}\n' >tenon.yaml
head -c 8192 /dev/zero | tr '\0' x >damaged.db
for mode in --drain --once; do
    run tenon work $mode --types work
    expect_code 1 && expect_in err "not a database"
    run tenon work $mode --types work --json
    expect_code 1
done
