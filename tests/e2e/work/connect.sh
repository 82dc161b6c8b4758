# A worker in a running host: it drains with the command, and with the host.
strategy double 'type: set, config: {values: {user_output: "string(state.task.payload.n * 2)"}}'
strategy slow 'type: test.await_file, config: {file: ./go}' 'type: set, config: {values: {user_output: "\"end\""}}'
printf 'work:\n  work: {strategy: ./double.yaml}\n  slow: {strategy: ./slow.yaml}\n' >tenon.yaml
serve() { serve_start serve --socket ./host.sock $nodes "$@"; }
serve --drain 0
create work '{"n": 4}' --connect ./host.sock
run tenon work --drain --types work --connect ./host.sock
expect_code 0 && expect_in err "done      work  $id" && expect_in err "has ended: 1 done"
run tenon call work/list --connect ./host.sock
expect_in out '"status":"ended"' && expect_in out '"done":1'
run tenon work --drain --plugins here --connect ./host.sock
expect_code 2 && expect_in err "--plugins cannot be used with --connect"

create slow
worker_of_host() { # as worker, but without the options of a host
    local nodes=
    worker --connect ./host.sock "$@"
}
worker_of_host --types slow
wait_until task_is '"state":"running"'
kill -TERM "$worker" # the command ends its worker
wait_until grep -q "ending:" worker.err
: >go
wait "$worker" || fails "expected exit code 0: $(cat worker.err)"
task_is '"state":"done"' || shows '"outcome":"released"'

rm go
create slow
worker_of_host --types slow
wait_until task_is '"state":"running"'
kill -TERM "$host" # the host ends its workers
expect_ended "$host" "the host did not end"
code=0
wait "$worker" || code=$?
[ "$code" = 1 ] && grep -q "has closed the connection" worker.err || fails "expected a message: $(cat worker.err)"
shows '"state":"queued"' && expect_in out '"attempts":0' && expect_in out '"outcome":"released"'

serve # one that gives its workers time to end also tells their commands so
worker_of_host --types slow
wait_until task_is '"state":"running"'
kill -TERM "$host"
: >go
expect_ended "$host" "the host did not end"
wait "$worker" || fails "expected exit code 0: $(cat worker.err)"
grep -q "has ended: " worker.err || fails "expected the outcome: $(cat worker.err)"

serve --scope run
run tenon work --drain --connect ./host.sock
expect_code 1 && expect_in err "[PERMISSION_DENIED]"
serve_stop
