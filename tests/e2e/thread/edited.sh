# A store that another program has edited: each command reports it with one error, and none works on with a wrong state,
# fills the memory or hangs. (Damaged bytes: damaged.sh.)
command -v python3 >/dev/null || skips "python3 is not installed"
cat >log.yaml <<'YAML'
version: "1.0"
agent: {name: log}
input: {type: object, properties: {text: {type: string}}}
channels: [{name: text, type: last_value, default: ""}, {name: log, type: append}]
nodes: [{id: note, type: set, config: {values: {log: state.text}}}]
edges: [{from: START, to: note}, {from: note, to: END}]
YAML
text=$(head -c 9000 /dev/zero | tr '\0' x)
for i in 1 2 3 4 5 6; do "$TENON" run log.yaml --thread t --input "{\"text\": \"$i $text\"}" --quiet >"$work/out" || fails "run $i"; done
cat >edit.py <<'PYTHON'
import json, shutil, sqlite3, sys
store = sqlite3.connect("good.db")
if sys.argv[1] == "good":
    shutil.copy("kept.db", "good.db")
    sys.exit()
shutil.copy("good.db", "kept.db")
store = sqlite3.connect("kept.db")
def records(collection):
    query = "SELECT id, json FROM entries WHERE collection = (SELECT id FROM collections WHERE name = ?) ORDER BY key"
    return [(number, json.loads(text)) for number, text in store.execute(query, (collection,))]
def write(record):
    store.execute("UPDATE entries SET json = ? WHERE id = ?", (json.dumps(record[1]), record[0]))
def drop(record):
    store.execute("DELETE FROM entries WHERE id = ?", (record[0],))
snapshot = records("snapshots")[-1]
log = [part for part in snapshot[1]["node"]["o"] if part.get("k") == "log"][0]
chunk = [part for part in log["n"]["a"] if "c" in part][0]
def edit_snapshot(): write(snapshot)
def number(): snapshot[1]["node"] = {"v": 5}; edit_snapshot()
def wrong_count(): chunk["n"] += 1; edit_snapshot()
def large_count(): chunk["n"] = 2 ** 40; edit_snapshot()
def two_members(): log["n"]["v"] = []; edit_snapshot()
def twice(): snapshot[1]["node"]["o"].append(log); edit_snapshot()
def repeated():
    for record in records("chunks"): write((record[0], "y" * 1000000))
    log["n"] = {"t": [chunk["c"]] * 10000}
    edit_snapshot()
def no_chunk():
    for record in records("chunks"): drop(record)
def lost_checkpoint():
    for record in records("snapshots"): drop(record)
    drop(records("checkpoints")[3])
def no_delta():
    for record in records("snapshots"): drop(record)
    record = records("checkpoints")[3]
    del record[1]["delta"]
    write(record)
def no_head(): record = records("threads")[0]; record[1]["head"] = "five"; write(record)
def large_head(): record = records("threads")[0]; record[1]["head"] = 2 ** 62; write(record)
globals()[sys.argv[1]]()
store.commit()
PYTHON
python3 edit.py good
# repeated needs 1 GiB and some seconds: EDITED_LARGE=1
for edit in number wrong_count large_count two_members twice no_chunk lost_checkpoint no_delta no_head large_head ${EDITED_LARGE:+repeated}; do
    rm -f kept.db*
    python3 edit.py "$edit"
    run tenon thread state t
    expect_code 1
    [ ! -s "$work/out" ] || fails "$edit: expected no output"
    [ "$(wc -l <"$work/err")" = 1 ] || fails "$edit: expected one error, found: $(cat "$work/err")"
    grep -q "INVALID_STATE\|LIMIT" "$work/err" || fails "$edit: expected an error about the state: $(cat "$work/err")"
    run tenon run log.yaml --thread t --input '{"text": "next"}' --quiet --stream values
    [ "$code" = 1 ] || fails "$edit: expected that the run fails, found $code"
done
