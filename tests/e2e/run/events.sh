# --json and --stream
run tenon run "$hello" --set name=Ada --json
expect_code 0 && quiet
tail -n 1 "$work/out" | grep -q '^{"type":"result","status":"done",.*"state":{"name":"Ada","greeting":"Hello, Ada!"}}$' || fails "unexpected last line"
[ "$(wc -l <"$work/out")" -ge 3 ] || fails "expected at least one event"
run tenon run "$hello" --set name=Ada --json --run-config '{"run_id": "r-1", "tags": ["t"], "metadata": {"k": 1}}'
expect_in out '"run_id":"r-1"'
run tenon run boom.yaml --json
expect_code 1 && tail -n 1 "$work/out" | grep -q '^{"type":"result","status":"failed",.*"error":{"code":"SOLD_OUT"' || fails "unexpected last line"
for mode in values updates tasks checkpoints debug; do
    run tenon run "$hello" --stream $mode --json
    expect_code 0
    sed '$d' "$work/out" | grep -vq "^{\"type\":\"$mode\"," && fails "found an event of another mode than $mode"
    [ "$(wc -l <"$work/out")" -gt 1 ] || fails "expected at least one event of the mode $mode"
    run tenon run "$hello" --set name=Ada --stream $mode
    expect_out "$result" && expect_in err "{\"type\":\"$mode\","
done
graph says emit '{value: "{\"progress\": 2 + 3}"}'
run tenon run says.yaml --stream custom,values --json
expect_in out '{"type":"custom","step":1,"node":"only","data":{"progress":5}}'
expect_in out '{"type":"values"'
run tenon run says.yaml --stream all --json
expect_in out '{"type":"custom"' && expect_in out '{"type":"checkpoints"'
run tenon run "$hello" --stream valuse
expect_code 2 && once 'did you mean `values`?'
for wrong in '' , all,,values 'values updates'; do
    run tenon run "$hello" --stream "$wrong"
    expect_code 2 && once "expected values, updates, messages, custom, tasks, checkpoints, debug or all"
done
if command -v python3 >"$work/which"; then
    run tenon run "$hello" --stream all --json
    python3 -c 'import json, sys; [json.loads(line) for line in sys.stdin]' <"$work/out" || fails "a line is not JSON"
fi
