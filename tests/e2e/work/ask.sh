# `tenon ask`: the flow of a user's request, from the creation of the Task to its output.
strategy says 'type: set, config: {values: {user_output: "\"You said: \" + state.task.payload.text"}}'
strategy asks 'type: test.ask, config: {out: user_output}'
strategy refuses 'type: set, config: {values: {task_state: "\"failed\"", error: "{\"code\": \"SOLD_OUT\", \"message\": \"nothing left\"}"}}'
strategy flaky 'type: set, config: {values: {user_output: "run.metadata.attempt > 1 ? \"again\" : string(1 / 0)"}}'
strategy slow 'type: test.await_file, config: {file: ./go}' 'type: set, config: {values: {user_output: "\"end\""}}'
strategy late 'type: test.await_file, config: {file: ./go}' 'type: test.tokens' 'type: set, config: {values: {user_output: "\"end\""}}'
strategy talks 'type: test.tokens' 'type: set, config: {values: {user_output: "\"end\""}}'
cat >tenon.yaml <<'YAML'
work:
  user_request: {strategy: ./says.yaml}
  asks: {strategy: ./asks.yaml}
  refuses: {strategy: ./refuses.yaml}
  flaky: {strategy: ./flaky.yaml, retries: {initial: 1ms}}
  slow: {strategy: ./slow.yaml}
  late: {strategy: ./late.yaml}
  talks: {strategy: ./talks.yaml}
YAML
last_id() { tenon task list --json --reverse --limit 1 | sed 's/.*"task_id":"\([^"]*\)".*/\1/'; }

run tenon ask Hello
expect_code 0 && expect_out "You said: Hello" && [ ! -s "$work/err" ] || fails "expected nothing on standard error"
id=$(last_id)
shows '"task_type":"user_request","payload":{"text":"Hello"},"state":"done"' && expect_in out '"attempts":1'
printf 'two\nlines\n' >lines
code=0
tenon ask - <lines >"$work/out" 2>"$work/err" || code=$?
expect_code 0 && expect_out "You said: two
lines"
run tenon ask --payload '{"text": "more", "tone": "kind"}' --json
expect_code 0 && expect_in out '{"type":"result","task":{"task_id":' && expect_in out '"user_output":"You said: more"'
run tenon ask
expect_code 2 && expect_in err "expected either TEXT"
run tenon ask Hello --payload '{}'
expect_code 2
run tenon ask Hello --type nothing
expect_code 1 && expect_in err 'no strategy for Tasks of the type `nothing`'
run tenon task list --type nothing
expect_in err "no Tasks" # none was created

run tenon ask Hello --type refuses
expect_code 1 && expect_in err "nothing left [SOLD_OUT]" && expect_out ""
run tenon ask Hello --type flaky $nodes # the second attempt succeeds
expect_code 0 && expect_out again && expect_in err "the attempt 1 has failed, and the Task is tried again: "
id=$(last_id)
shows '"attempts":2'
run tenon ask Hello --type talks --stream $nodes
expect_code 0 && expect_out end && expect_in err "Hello"
run tenon ask Hello --type talks --stream --json $nodes
expect_code 0 && expect_in out '{"type":"messages"' && [ "$(tail -n 1 "$work/out" | cut -c1-17)" = '{"type":"result",' ] || fails "expected the result last"

# ---- A question, without a terminal ----
run tenon ask Hello --type asks $nodes
expect_code 5 && expect_in err "may I?" && expect_in err "waits for an answer"
id=$(last_id)
shows '"waiting":true'
run tenon task list --type notification
expect_in err "no Tasks" # the command itself has told the user
run tenon ask Hello --type asks --json $nodes
expect_code 5 && expect_in out '"interrupts":[{"id":'

# ---- A signal ----
env --default-signal=INT "$TENON" ask Hello --type slow $nodes >ask.out 2>ask.err &
asked=$!
servers+=("$asked")
some_task_is() { tenon task list --type "$1" --state "$2" --json | grep -q task_id; }
wait_until some_task_is slow running
kill -INT "$asked"
code=0
wait "$asked" || code=$?
expect_code 130 && id=$(last_id) && grep -q "the Task $id is in the queue" ask.err || fails "expected a message: $(cat ask.err)"
shows '"state":"queued"' && expect_in out '"attempts":0'
: >go
run tenon work --drain --types slow $nodes
shows '"user_output":"end"'

# ---- In a running host, which needs no more than the scope `run` ----
serve_start serve --socket ./host.sock --scope run $nodes
run tenon ask Hello --connect ./host.sock
expect_code 0 && expect_out "You said: Hello"
run tenon ask Hello --type talks --stream --connect ./host.sock
expect_code 0 && expect_out end && expect_in err "Hello"

# ---- Events that arrive in one piece with the answer to work/wait: they are printed all the same ----
rm -f go
"$TENON" ask Hello --type late --stream --connect ./host.sock >ask.out 2>ask.err &
asked=$!
servers+=("$asked")
wait_until some_task_is late running
kill -STOP "$asked"
: >go
wait_until some_task_is late done
kill -CONT "$asked"
code=0
wait "$asked" || code=$?
expect_code 0 && grep -q Hello ask.err || fails "expected the tokens: $(cat ask.err)"

# ---- A signal between the call and its result: the Task exists, so its id is reported ----
rm -f go
kill -STOP "$host"
env --default-signal=INT "$TENON" ask Hello --type slow --connect ./host.sock >ask.out 2>ask.err &
asked=$!
servers+=("$asked")
handles_sigint() { [ "$(cat "/proc/$asked/comm")" = tenon ] && [ $((0x$(sed -n 's/^SigCgt:\t*//p' "/proc/$asked/status") & 2)) != 0 ]; }
wait_until handles_sigint
kill -INT "$asked"
kill -CONT "$host"
code=0
wait "$asked" || code=$?
expect_code 130
if ! grep -q "no Task was created" ask.err; then
    id=$(last_id)
    grep -q "cancelled; the Task $id is " ask.err || fails "expected the id $id: $(cat ask.err)"
fi

# ---- The host is killed: the Task may go on ----
: >go
none_runs() { ! some_task_is slow running; }
wait_until none_runs
rm go
"$TENON" ask Hello --type slow --connect ./host.sock >ask.out 2>ask.err &
asked=$!
servers+=("$asked")
wait_until some_task_is slow running
id=$(tenon task list --type slow --state running --json | sed 's/.*"task_id":"\([^"]*\)".*/\1/')
kill -9 "$host"
code=0
wait "$asked" || code=$?
expect_code 1
grep -q "the Task $id is not known to have ended: tenon task watch $id" ask.err || fails "expected the id $id: $(cat ask.err)"
