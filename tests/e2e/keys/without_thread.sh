# Each run without a saved thread has other keys, also if it has the id of another run, or the label of a thread.
for more in '{}' '{"run_id": "r"}' '{"thread_id": "t"}'; do
    took tenon run key.yaml $nodes --run-config "$more"
    took tenon run key.yaml $nodes --run-config "$more"
done
expect_different "${all[@]}"
# The lines of a batch are separate runs.
printf '{}\n{}\n' >lines
run tenon run key.yaml $nodes --batch lines
expect_code 0
expect_different $(grep -o '\["[^"]*"' "$work/out" | cut -d'"' -f2)
# An attempt after the first one has the same key: the events name it.
cat >flaky.yaml <<'YAML'
version: "1.0"
channels: [{name: out, type: last_value}]
nodes: [{id: a, type: test.flaky, config: {out: out, succeeds_at: 3}, retry: {max_attempts: 3, initial: 1ms}}]
edges: [{from: START, to: a}]
YAML
run tenon run flaky.yaml $nodes --stream tasks --json
expect_code 0
[ "$(grep -c '"event":"start"' "$work/out")" = 3 ] || fails "expected three attempts"
[ "$(grep -o '"task_id":"[^"]*"' "$work/out" | sort -u | wc -l)" = 1 ] || fails "expected the same key in each attempt"
