# tenon:session: schemas/*.json describe what goes in and what comes out.
command -v python3 >/dev/null || skips "python3 is not installed"
. "$SOURCE/tests/e2e/strategies/session.inc"
cp -r "$SOURCE/plugins/strategies/session/schemas" .
# fits SCHEMA: fails unless the JSON in the file `value` is valid
for schema in config session_data agent_response_data stream_response_data; do
    cat >$schema.yaml <<Y
version: "1.0"
channels: [{name: text, type: last_value}, {name: value, type: last_value}]
nodes: [{id: check, type: parse, config: {input_key: text, output_key: value, schema: {file: schemas/$schema.json}}}]
edges: [{from: START, to: check}, {from: check, to: END}]
Y
    # Each of them describes something: an object of another kind is not valid.
    run tenon run -q $schema.yaml --input '{"text": "{\"other\": 1}"}'
    expect_code 1 && expect_in err "[INVALID_OUTPUT]"
done
checks() {
    python3 -c 'import json, sys; json.dump({"text": open(sys.argv[1]).read()}, open("checked.json", "w"))' "$2"
    run tenon run -q "$1.yaml" --input @checked.json
    expect_code 0
}
# Config has a file of its own, and is a part of SessionData.
python3 -c 'import json
config, session = (json.load(open(f"schemas/{name}.json")) for name in ("config", "session_data"))
del config["$schema"]
assert session["properties"]["config"] == config' || fails "config.json is not the config of session_data.json"

# responds MESSAGES REPLIES [FINISH]: the response and the events of a session are valid
responds() {
    payload="{\"id\": \"s1\", \"title\": \"T\", \"character\": \"You are Ada.\", \"status\": \"active\", \"messages\": [$1], \"config\": {\"yaa\": {\"max_turns\": 2}, \"llm_api\": {\"model\": \"m\", \"temperature\": 0}, \"tool\": {\"auto_approve\": [\"ext*\"], \"approval\": \"return\"}}}"
    printf '%s' "$payload" >given
    session "$payload" "$2" --json --stream custom
    expect_code 0
    cp "$work/out" run
    python3 - "$3" run <<'P' || fails "the response is not as expected"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[2])]
events = [line["data"] for line in lines if line["type"] == "custom"]
for i, event in enumerate(events):
    json.dump(event, open(f"event{i}", "w"))
json.dump(len(events), open("count", "w"))
found = [line for line in lines if "response" in json.dumps(line)][-1]
while "response" not in found:
    found = next(value for value in found.values() if isinstance(value, dict) and "response" in json.dumps(value))
json.dump(found["response"], open("response", "w"))
assert json.loads(found["user_output"]) == found["response"]
assert found["response"]["finish_reason"] == sys.argv[1] == events[-1]["status"], found["response"]["finish_reason"]
P
    checks session_data given
    checks agent_response_data response
    for ((n = 0; n < $(cat count); n++)); do checks stream_response_data event$n; done
    [ "$n" -ge 1 ] || fails "there is no event"
}
responds "$hello" "[$extracts, \"Done.\"]" stop
responds "$hello" "[$(call finish '{\"reason\": \"Done.\"}')]" finish
responds "$hello" "[$(call rethink '{\"reason\": \"More.\"}')]" limit
responds "$hello" "[$(call memory.get '{\"key\": \"x\"}')]" approval
# The messages of a response are those of the next session.
python3 -c 'import json; json.dump({"messages": json.load(open("response"))["messages"]}, open("next", "w"))'
checks session_data next
