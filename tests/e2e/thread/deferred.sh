# A list that a document only extends is not read: a run of a long thread costs what one of a short thread does. Whatever
# asks for its items gets them. (What happens if they cannot be read: tests/unit/thread_deferred_test.c.)
command -v python3 >/dev/null || skips "python3 is not installed"
cat >log.yaml <<'YAML'
version: "1.0"
agent: {name: log}
input: {type: object, properties: {text: {type: string}}}
output: {type: object, properties: {n: {type: integer}}}
channels:
  - {name: text, type: last_value, default: ""}
  - {name: log, type: append}
  - {name: messages, type: reduce, reducer: messages}
  - {name: n, type: last_value, default: 0}
nodes:
  - {id: note, type: set, config: {values: {log: "[state.text]", messages: "[{'type': 'user', 'content': state.text}]", n: state.n + 1}}}
edges: [{from: START, to: note}, {from: note, to: END}]
YAML
text=$(head -c 4000 /dev/zero | tr '\0' x)
turn() { # turn NUMBER [OPTION…]
    run tenon run log.yaml --thread t --input "{\"text\": \"$1 $text\"}" --quiet "${@:2}"
}
for i in $(seq 1 40); do
    turn "$i"
    expect_code 0
    expect_out "{\"n\":$i}"
done
state() {
    "$TENON" thread state t | python3 -c '
import json, sys
state = json.load(sys.stdin)
print([text.split()[0] for text in state["log"]] == [str(i) for i in range(1, int(sys.argv[1]) + 1)],
      len({message["id"] for message in state["messages"]}) == len(state["messages"]) == int(sys.argv[1]))' "$1"
}
[ "$(state 40)" = "True True" ] || fails "expected all items: $(state 40)"

# Events that show the state have all items, and so has what is derived from the thread.
turn 41 --stream values
expect_code 0
grep -q "\"4 xxxx" "$work/err" || fails "expected old items in the events"
run tenon thread fork t copy
expect_code 0
run tenon thread export t
expect_code 0
run tenon replay t --document log.yaml
expect_code 0
expect_in out "are identical"
# A message with an id is compared with all others.
run tenon run log.yaml --thread t --input '{"messages": {"id": "mine", "type": "user", "content": "x"}, "text": "42 x"}' --quiet
expect_code 0
run tenon run log.yaml --thread t --input '{"messages": {"id": "mine", "type": "user", "content": "y"}, "text": "43 x"}' --quiet
expect_code 0
[ "$("$TENON" thread state t | grep -o '"id":"mine"' | wc -l)" = 1 ] || fails "expected one message with this id"

# A part of the list is lost: runs that do not need it go on, everything else says so. An interrupted run shows the state.
python3 - <<'PYTHON'
import sqlite3
store = sqlite3.connect("kept.db")
store.execute("""DELETE FROM entries WHERE collection = (SELECT id FROM collections WHERE name = 'chunks')
                 AND key LIKE 't/%' AND json LIKE '["1 xxxx%'""")
assert store.total_changes == 1
store.commit()
PYTHON
turn 44
expect_code 0
expect_out '{"n":44}'
run tenon thread state t
expect_code 1
expect_in err INVALID_STATE
sed 's/- {id: note,/- {id: note, interrupt: before,/' log.yaml >asks.yaml
run tenon run asks.yaml --thread t --input '{"text": "45"}' --quiet --accept-changes
expect_code 5
expect_in err INVALID_STATE
expect_out null
