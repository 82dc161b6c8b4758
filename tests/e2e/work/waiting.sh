# A Task that asks a question waits without a worker, notifies once, and continues after the answer.
strategy asks 'type: test.ask, config: {out: user_output}' 'type: set, config: {values: {user_output: "\"you said \" + state.user_output"}}'
echo 'work: {work: {strategy: ./asks.yaml}}' >tenon.yaml
create work
run tenon work --drain $nodes # leaves the notification
expect_code 0 && expect_in err "waiting   work  $id" && expect_in err "may I?" && expect_in err "tenon thread answer $id "
answer=$(sed -n "s/.*tenon thread answer $id \([0-9a-f]*\)=VALUE.*/\1/p" "$work/err")
[ -n "$answer" ] || fails "expected the id of the interrupt"
shows '"waiting":true' && expect_in out '"state":"queued"' && expect_in out '"outcome":"waiting"'
run tenon task list --type notification --json
expect_in out '"state":"queued"' && expect_in out "\"related_task_id\":\"$id\"" && expect_in out "\"interrupt_id\":\"$answer\""
run tenon work --drain --types work $nodes
expect_in err "has ended: 0 done" # nothing to claim
run tenon thread answer "$id" "$answer=yes"
expect_code 0
run tenon work --drain --types work $nodes
expect_code 0 && expect_in err "done      work  $id"
shows '"user_output":"you said yes"' && expect_in out '"attempts":1'
run tenon task list --type notification --json
[ "$(grep -o '"interrupt_id"' "$work/out" | wc -l)" = 1 ] || fails "expected one notification"
