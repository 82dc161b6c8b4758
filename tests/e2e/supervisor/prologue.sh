# Shared by the tests of tenon:supervisor: a team whose tools write a line to `log`, and a Task for it.
for plugin in agents define sqlite state; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
command -v python3 >/dev/null || skips "python3 is not installed"

# team.py: the workers ROLE.yaml, strategies that call team.ROLE. `flaky` fails the first time, `broken` always; `second`
# kills the host the first time.
# team.py TEXT OPTIONS THREAD PLAN [PLAN_AFTER_A_PROBLEM] [no-report]: tenon.yaml, and input.json with a Task. A plan is a
# list ROLE:INSTRUCTION.
cat >team.py <<'PYTHON'
import json
import sys

calls = {role: ["team." + role] for role in ("research", "write", "draw", "flaky", "broken", "wipe", "long")}
calls["crash"] = ["team.first", "team.second"]


def worker(role):
    nodes = [{"id": f"call{i}", "type": "tool", "config": {"tool": tool, "output_key": "said"}} for i, tool in enumerate(calls[role])]
    nodes.append({"id": "end", "type": "set", "config": {"values": {
        "user_output": "string(state.said) + 'for ' + state.task.payload.instruction", "task_state": "'done'"}}})
    ids = ["START"] + [node["id"] for node in nodes] + ["END"]
    return {
        "version": "1.0", "agent": {"name": role},
        "output": {"type": "object", "properties": {"user_output": {}, "task_state": {}}},
        "channels": [{"name": channel, "type": "last_value"} for channel in ("task", "said", "user_output", "task_state")],
        "nodes": nodes, "edges": [{"from": a, "to": b} for a, b in zip(ids, ids[1:])]}


def plan(text):
    if text == "mumble":
        return text
    if text == "overloaded":
        return {"error": {"code": "AUTH"}}
    return json.dumps({"steps": [dict(zip(("role", "instruction"), step.split(":"))) for step in text.split()]})


def tool(name, command, effects=()):
    return {"name": "team." + name, "effects": list(effects), "command": ["sh", "-c", command], "sandbox": False}


def decide(action, text="", goal=""):
    return json.dumps({"action": action, "text": text, "goal": goal})


def configuration(plans, reports):
    coordinator = [
        {"contains": "A team has worked for a user", "reply": "All is done." if reports else {"error": {"code": "AUTH"}}},
        {"contains": "mumble", "reply": "mumble"},
        {"contains": "hi there", "reply": decide("answer", "Hello!")},
        {"contains": "for children", "reply": decide("hand_off", goal="Tea for children")},
        {"contains": "vague", "reply": decide("ask", "For whom?")},
        {"contains": "", "reply": decide("hand_off")}]
    planner = [{"contains": "did not work", "reply": plan(text)} for text in plans[1:]]
    tools = [
        tool(word, f"echo {word} >>log; echo {word}") for word in ("research", "write", "draw", "first")] + [
        tool("flaky", "echo flaky >>log; [ -e once ] || {{ touch once; exit 1; }}; echo flaky"),
        tool("broken", "echo broken >>log; exit 1"),
        tool("second", "[ -e killed ] || {{ touch killed; kill -9 $PPID; exit 1; }}; echo second >>log; echo second"),
        tool("wipe", "echo wipe >>log; echo wipe", ["destructive"]),
        tool("long", "yes 0123456789 | head -n 5000")]
    return {
        "store": {"use": "sqlite", "path": "./state.db"},
        "models": {
            "default": {"provider": "scripted", "replies": ["unused"]},
            "basic": {"provider": "scripted", "rules": coordinator},
            "reasoning": {"provider": "scripted", "rules": planner, "replies": [plan(plans[0])]}},
        "plugins": {"config": {"tenon.define": {"tools": tools}}}}


def write(path, value):
    with open(path, "w") as file:
        json.dump(value, file)


if len(sys.argv) == 1:
    for role in calls:
        write(role + ".yaml", worker(role))
else:
    text, options, thread, *plans = sys.argv[1:]
    reports = "no-report" not in plans
    write("tenon.yaml", configuration([given for given in plans if given != "no-report"], reports))
    write("input.json", {
        "task": {"task_id": thread, "task_type": "work", "payload": {"text": text}},
        "options": {"workers": {role: role + ".yaml" for role in calls}, **json.loads(options)}})
PYTHON
python3 team.py

# supervises TEXT OPTIONS: handles a Task in the thread $thread; each thread has a Task of its own. $plan are the plans.
supervises() {
    rm -f log once killed
    touch log
    python3 team.py "$1" "$2" $thread "${plan[@]}"
    run tenon run -q tenon:supervisor --input @input.json --thread $thread
}
# state EXPRESSION: of the state `s` of $thread, as JSON; `notice` is the payload of the notification
state() {
    "$TENON" thread state $thread >"$work/state.json"
    python3 -c 'import json, sys
s = json.load(open(sys.argv[1]))
notice = (s["notice"] or {}).get("payload")
print(json.dumps(eval(sys.argv[2])))' "$work/state.json" "$1"
}
expect_state() { [ "$(state "$1")" = "$2" ] || fails "expected $2 for $1, found $(state "$1")"; }
expect_log() { [ "$(tr '\n' ' ' <log)" = "$1" ] || fails "expected the calls '$1', found '$(tr '\n' ' ' <log)'"; }
question() { "$TENON" thread show $thread --json | grep -o '"interrupts":\[{"id":"[0-9a-f]*"' | grep -o '[0-9a-f]\{16\}'; }
done='{"user_output":"All is done.","task_state":"done","error":null}'
