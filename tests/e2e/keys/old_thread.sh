# A thread that was saved before threads had incarnations: its unfinished step keeps the key that it had, and with the
# next input it gets an incarnation.
cat >wait.yaml <<'YAML'
version: "1.0"
agent: {name: wait}
channels: [{name: keys, type: append}]
nodes: [{id: pay, type: test.key, config: {out: keys}, interrupt: before}]
edges: [{from: START, to: pay}, {from: pay, to: END}]
YAML
cat >age.py <<'PY'
import json
import sqlite3

database = sqlite3.connect("kept.db")
found = 0
for number, collection, text in database.execute("SELECT id, collection, json FROM records").fetchall():
    record = json.loads(text)
    if collection in ("threads", "checkpoints") and record.pop("incarnation", None):
        text = json.dumps(record, separators=(",", ":"), ensure_ascii=False)
        database.execute("UPDATE entries SET json = ? WHERE id = ?", (text, number))
        found += 1
database.commit()
assert found == 2, found
PY
for turn in 1 2; do
    run tenon run wait.yaml --thread t $nodes
    expect_code 5
    run python3 age.py
    expect_code 0
    took tenon run wait.yaml --thread t --resume $nodes
    # What version 0.1.0 made of the name of the thread.
    [ "$key" = f89850b6fa60a01198ae41f7ba195fea ] || fails "the key of the unfinished step has changed"
    run tenon run wait.yaml --thread t $nodes
    expect_code 5
    took tenon run wait.yaml --thread t --resume $nodes
    run tenon replay t $nodes
    expect_code 0 && expect_in out "are identical"
    rm kept.db*
done
[ "${all[1]}" != "${all[3]}" ] || fails "the second turns have the same key"
expect_different "${all[0]}" "${all[1]}" "${all[3]}"
