# `tenon task`, `tenon artifact` and `tenon memory`: the state kernel from a shell, with the store beside tenon.yaml.
[ -e "$BINARY/lib/tenon/plugins/sqlite.so" ] || skips "built without the SQLite store"
echo "{}" >tenon.yaml
member() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" "$work/out"; } # of a compact JSON object

# ---- Tasks ----
run tenon task create work --payload '{"goal": "sum"}' --artifact a1
expect_code 0
id=$(cat "$work/out")
[ "${#id}" = 36 ] || fails "expected an id"
[ -e .tenon/tenon.db ] || fails "expected the store beside tenon.yaml"
run tenon task show "$id"
expect_code 0 && expect_in out "task_id: $id" && expect_in out "state: queued" && expect_in out 'payload: {"goal":"sum"}'
run tenon task show "$id" --json
expect_in out "\"task_type\":\"work\",\"payload\":{\"goal\":\"sum\"},\"state\":\"queued\",\"artifact_refs\":[\"a1\"]"
run tenon task show nobody
expect_code 1 && expect_in err "task.get: found no Task \`nobody\` in this store [NOT_FOUND]"
run tenon task create work --payload '[1]'
expect_code 2 && expect_in err '`payload`: found an array of 1 item, expected an object'
run tenon task create work --payload '{'
expect_code 2 && expect_in err "--payload"
run tenon task create work --payload @nowhere.json
expect_code 2 && expect_in err "nowhere.json"
echo '{"message": "Done."}' >message.json
run tenon task create notification --payload @message.json --json
expect_code 0 && expect_in out '"payload":{"message":"Done.","severity":"info","related_task_id":null,"interrupt_id":null,"artifact_refs":[]}'
run tenon task create work --key once
first=$(cat "$work/out")
run tenon task create work --key once
expect_out "$first"

run tenon task list
expect_code 0 && expect_in out "$id  queued" && [ "$(wc -l <"$work/out")" = 3 ] || fails "expected three Tasks"
run tenon task list --type work --state queued --limit 1 --json
expect_in out "\"task_id\":\"$id\"" && expect_in out '"more":true'
run tenon task list --type work --limit 1
expect_in err "there are more"
run tenon task list --limit 1 --after "$id"
expect_in out "Z  notification"
run tenon task list --state finished
expect_code 2 && expect_in err "--state: found \`finished\`, expected queued, running, done or failed"
run tenon task list --filter '{"payload.goal": "sum"}' --reverse
[ "$(wc -l <"$work/out")" = 1 ] || fails "expected one Task"
run tenon task list --filter '{"paylod.goal": "sum"}'
expect_code 2 && expect_in err 'did you mean `payload`?'
run tenon task list --filter '[]'
expect_code 2 && expect_in err '`filter`: found an empty array'

run tenon task claim --type work --as me --ttl 60 --json
expect_code 0 && expect_in out '"claimed_by":"me"'
[ "$(member task_id)" = "$id" ] || fails "expected the oldest Task"
token=$(member claim_token)
run tenon task update "$id" '{"payload": {"progress": 1}}' --token "$token"
expect_code 0 && expect_in out 'payload: {"goal":"sum","progress":1}'
run tenon task update "$id" '{"state": "done"}'
expect_code 1 && expect_in err "[INVALID_TRANSITION]" && expect_in err "use task.complete"
run tenon task renew "$id" "$token" --ttl 120
expect_code 0 && expect_in out "state: running"
run tenon task complete "$id" wrong
expect_code 1 && expect_in err "is claimed by \`me\`, with another token; nothing was changed [CLAIM_LOST]"
run tenon task complete "$id" "$token" --artifact a2 --artifact a3
expect_code 0 && expect_in out "state: done" && expect_in out 'artifact_refs: ["a2","a3"]'
run tenon task claim --type work --ttl soon
expect_code 2 && expect_in err "expected a number"
run tenon task claim --type work
expect_code 0 && expect_in out "claim_token: "
token=$(sed -n 's/^claim_token: //p' "$work/out")
run tenon task fail "$first" "$token" "no steps are left" --code BUDGET_EXCEEDED
expect_code 0 && expect_in out 'error: {"code":"BUDGET_EXCEEDED","message":"no steps are left"}'
run tenon task list --state failed
expect_in out "no steps are left"
run tenon task claim --type work --json
expect_code 1 && expect_out null && expect_in err "there is no Task to claim"

# A release, a wake, and a Task that cannot be claimed yet.
run tenon task create later --not-before 2999-01-01T00:00:00Z
later=$(cat "$work/out")
run tenon task list --type later
expect_in out "$later  queued" && expect_in out "  not before 2999-01-01T00:00:00.000Z"
run tenon task claim --type later
expect_code 1 && expect_in err "there is no Task to claim"
run tenon task wake "$later"
expect_code 0 && expect_not_in out "not_before"
run tenon task claim --type later --json
expect_code 0
token=$(member claim_token)
run tenon task release "$later" "$token" --reason bored
expect_code 2 && expect_in err "--reason: found \`bored\`, expected retry, drain or wait"
run tenon task release "$later" "$token" --reason wait
expect_code 0 && expect_in out "waiting: true" && expect_in out "attempts: 0"
run tenon task list --type later
expect_in out "later  waits"
run tenon task wake "$later" --json
expect_code 0 && expect_in out '"waiting":false'
run tenon task claim --type later --json
token=$(member claim_token)
run tenon task release "$later" "$token" --reason retry --error "no answer" --code TIMEOUT
expect_code 0 && expect_in out "attempts: 1" && expect_in out 'error: {"code":"TIMEOUT","message":"no answer"}'
run tenon task claim --type later --json
token=$(member claim_token)
run tenon task complete "$later" "$token" --output "**Done.**"
expect_code 0 && expect_in out 'user_output: **Done.**' && expect_not_in out "error:"
run tenon task show "$later" --json
expect_in out '"outcome":"waiting"' && expect_in out '"outcome":"retried"' && expect_in out '"outcome":"done"'

# Check mode finds no violation in the store. Eight shells claim Tasks at once, and each Task is claimed once.
run tenon task list --check-plugins
expect_code 0 && expect_not_in err "check:"
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do run tenon task create race --payload "{\"n\": $i}"; done
for i in 1 2 3 4 5 6 7 8; do
    (while "$TENON" task claim --type race --as "shell-$i" --json >"claim-$i" 2>"claim-$i.err"; do
        cat "claim-$i" >>"claims-$i"
    done) &
done
wait
[ "$(cat claims-* | grep -o '"task_id":"[^"]*"' | sort -u | wc -l)" = 12 ] || fails "expected twelve Tasks"
[ "$(cat claims-* | wc -l)" = 12 ] || fails "expected each Task to be claimed once"

# ---- Artifacts ----
printf '# Findings\n\nNothing *unusual*.\n' >report.md
run tenon artifact write report.md --metadata '{"project": "apollo"}'
expect_code 0
report=$(cat "$work/out")
run tenon artifact read "$report"
expect_code 0 && cmp -s "$work/out" report.md || fails "expected the file"
run tenon artifact read "$report" --json
expect_in out '"media_type":"text/markdown"' && expect_in out '"body":"# Findings\n\nNothing *unusual*.\n"'
run tenon artifact read "$report" --offset 2 --length 8
expect_out Findings
run tenon artifact read nobody
expect_code 1 && expect_in err "found no Artifact"
head -c 3000001 /dev/urandom >big.bin
run tenon artifact write big.bin --json
expect_code 0 && expect_in out '"media_type":"application/octet-stream"' && expect_in out '"size":3000001'
big=$(member artifact_id)
run tenon artifact read "$big" --output copy.bin
expect_code 0 && cmp -s big.bin copy.bin || fails "expected the same bytes"
run tenon artifact read "$big" --offset 1000000 --length 500000
dd if=big.bin bs=1000 skip=1000 count=500 status=none | cmp -s - "$work/out" || fails "expected the bytes of the Artifact"
run tenon artifact write big.bin --key k
expect_code 2 && expect_in err "--key"
code=0
"$TENON" artifact write - --type text/plain <report.md >"$work/out" 2>"$work/err" || code=$?
expect_code 0
run tenon artifact read "$(cat "$work/out")"
cmp -s "$work/out" report.md || fails "expected the bytes of standard input"
run tenon artifact search "unusual findings" --filter '{"metadata.project": "apollo"}'
expect_code 0 && expect_in out "$report" && [ "$(wc -l <"$work/out")" = 1 ] || fails "expected one Artifact"
run tenon artifact list
expect_code 0 && [ "$(wc -l <"$work/out")" = 3 ] || fails "expected three Artifacts"
run tenon artifact list --filter '{"size": {"gt": 1000}}' --json
expect_in out "\"artifact_id\":\"$big\""
run tenon artifact write nowhere.md
expect_code 2 && expect_in err "cannot open nowhere.md"
run tenon artifact read "$big" --output nowhere/copy.bin
expect_code 2 && expect_in err "nowhere/copy.bin"

# ---- Memories ----
run tenon memory put users/ada food '{"likes": "pizza"}'
expect_code 0 && expect_out ""
run tenon memory put users/ada name Ada --ttl 3600 --json
expect_in out '"namespace":["users","ada"],"key":"name","value":"Ada"'
run tenon memory get users/ada food
expect_code 0 && expect_out '{"likes":"pizza"}'
run tenon memory get users/ada drink
expect_code 1 && expect_in err 'there is no memory `drink` in users/ada'
run tenon memory search users
expect_out 'users/ada  food  {"likes":"pizza"}
users/ada  name  "Ada"'
run tenon memory search --query PIZZA
expect_out 'users/ada  food  {"likes":"pizza"}'
run tenon memory search --filter '{"likes": "olives"}'
expect_code 0 && expect_out "" && expect_in err "no memories"
run tenon memory delete users/ada food
expect_code 0
run tenon memory get users/ada food
expect_code 1
run tenon memory put "" food 1
expect_code 2 && expect_in err '`namespace`: found an array of 0 items'

# ---- Another store; and a store that cannot be used ----
printf 'store: {use: memory}\n' >other.yaml
run tenon task list -c other.yaml
expect_code 0 && expect_out "" && expect_in err "no Tasks"
printf 'store: {use: mongo}\n' >other.yaml
run tenon task list -c other.yaml
expect_code 4 && expect_in err "[STORE_NOT_FOUND]"
head -c 5000 /dev/zero >.tenon/tenon.db
run tenon task list
expect_code 4 && expect_in err "tenon.db: is not a SQLite file" && expect_in err "[STORE_CORRUPT]"
