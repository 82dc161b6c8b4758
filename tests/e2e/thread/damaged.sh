# A store with damaged bytes: each command works or reports the damage; none crashes (see damage.py).
command -v python3 >/dev/null || skips "there is no python3"
ask_document
run tenon run count.yaml --thread "done"
run tenon run count.yaml --thread "done" --input '{}'
run tenon run ask.yaml --thread asked $nodes
expect_code 5
cat >fails.yaml <<'YAML'
version: "1.0"
agent: {name: fails}
channels: [{name: n, type: last_value, default: 0}]
nodes: [{id: a, type: set, config: {values: {n: 1 / state.n}}}]
edges: [{from: START, to: a}, {from: a, to: END}]
YAML
run tenon run fails.yaml --thread failed
expect_code 1
for i in 1 2 3; do run tenon task create work --payload '{"goal": "pizza"}'; done
run tenon memory put n k '{"likes": "pizza"}'
run tenon artifact write count.yaml --metadata '{"project": "pizza"}'
expect_code 0
python3 -c 'import sqlite3; sqlite3.connect("kept.db").execute("VACUUM INTO '"'good.db'"'")'

run env DAMAGE_OPTIONS="" python3 "$SOURCE/tests/e2e/damage.py" "${DAMAGE_NUMBER:-18}"
cat "$work/out"
expect_code 0
