# SIGTERM drains a worker in the middle of a run, and another one continues; a second signal cancels.
strategy slow 'type: set, config: {values: {count: state.count + 1}}' 'type: test.await_file, config: {file: ./go}' \
    'type: set, config: {values: {count: state.count + 1}}' 'type: set, config: {values: {user_output: string(state.count)}}'
echo 'work: {work: {strategy: ./slow.yaml}}' >tenon.yaml
create work
worker --types work
wait_until task_is '"state":"running"'
kill -TERM "$worker"
wait_until grep -q "ending:" worker.err
: >go
wait "$worker" || fails "expected exit code 0: $(cat worker.err)"
grep -q "released  work  $id" worker.err || fails "expected the Task to return to the queue: $(cat worker.err)"
shows '"state":"queued"' && expect_in out '"attempts":0' && expect_in out '"outcome":"released"'
worker --types work
wait_until task_is '"user_output":"2"' # nothing ran twice
kill -INT "$worker"
wait "$worker" || fails "expected exit code 0 after SIGINT"

# The node does not end: the second signal cancels it, and it runs again later.
rm go
for signal in TERM INT; do
    create work
    worker --types work
    wait_until task_is '"state":"running"'
    kill -$signal "$worker"
    wait_until grep -q "ending:" worker.err
    kill -$signal "$worker"
    wait "$worker" || fails "expected exit code 0: $(cat worker.err)"
    shows '"state":"queued"' && expect_in out '"attempts":0'
done
: >go
run tenon work --drain --types work $nodes
expect_code 0 && expect_in err "has ended: 2 done"
shows '"user_output":"2"'
