# Workers that die or sleep: another one takes the Task over, and a Task that kills its workers fails at last. This takes
# longer than a second, because no claim is shorter.
strategy slow 'type: set, config: {values: {count: state.count + 1}}' 'type: test.await_file, config: {file: ./go}' \
    'type: set, config: {values: {count: state.count + 1}}' 'type: set, config: {values: {user_output: string(state.count)}}'
strategy poison 'type: test.die'
cat >tenon.yaml <<'YAML'
work:
  work: {strategy: ./slow.yaml, ttl: 1s}
  poison: {strategy: ./poison.yaml, ttl: 1s, retries: {max_attempts: 1}}
YAML

create poison
poison=$id
run tenon work --types poison --drain $nodes
[ "$code" = 134 ] || fails "expected the worker to end with SIGABRT"
create work
worker --types work --name sleeper
sleeper=$worker
wait_until task_is '"state":"running"'
mv worker.err sleeper.err
kill -STOP "$sleeper"
: >go
worker --name heir --types work,poison # waits for both claims to expire

wait_until task_is '"state":"done"'
shows '"claimed_by":"heir"' && expect_in out '"attempts":2' && expect_in out '"user_output":"2"' && expect_in out '"outcome":"expired"'
kill -CONT "$sleeper"
wait_until grep -q "lost      work  $id" sleeper.err
shows '"claimed_by":"heir"' && expect_in out '"attempts":2' # it has written nothing more
kill -TERM "$sleeper"
wait "$sleeper" || fails "expected exit code 0: $(cat sleeper.err)"

id=$poison
wait_until task_is '"state":"failed"'
shows '"code":"ATTEMPTS_EXHAUSTED"' && expect_in out '"history":[{"attempt":1,' && expect_in out '"outcome":"expired"'
grep -q "failed    poison  $id.*ATTEMPTS_EXHAUSTED" worker.err || fails "expected the failure: $(cat worker.err)"
kill -TERM "$worker"
wait "$worker" || fails "expected exit code 0: $(cat worker.err)"
