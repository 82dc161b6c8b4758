# Two hosts run the schedules of one store: each due time has one Task, also if a host is killed and another one starts.
[ -e "$BINARY/lib/tenon/plugins/sqlite.so" ] || skips "built without the SQLite store"
cat >tenon.yaml <<'YAML'
schedules:
  tick: {every: 1s, task: {type: tick, payload: {from: schedule}}, misfire: all}
  never: {every: 1s, task: {type: never}, enabled: false}
YAML
second_start() { # SOCKET
    local first=$host
    serve_start "$1" --socket "$1"
    second=$host host=$first
}
second_stop() { # SIGNAL
    kill -"$1" "$second"
    expect_ended "$second" "the second host did not end after SIG$1"
}
has_ticks() { # NUMBER: the store has at least so many Tasks
    [ "$("$TENON" task list --type tick --limit 1000 2>/dev/null | wc -l)" -ge "$1" ]
}

before=$(date +%s)
host_start
after=$(date +%s)
second_start two
wait_until has_ticks 2
second_stop KILL
second_start three
wait_until has_ticks 4
second_stop TERM
serve_stop
[ "$code" = 0 ] || fails "expected exit code 0 of the host"

# The last due time, and a Task for each second since the first host started.
run tenon schedule list --json
newest=$(sed -n 's/.*"name":"tick".*"last":"\([^"]*\)".*"name":"never".*/\1/p' "$work/out")
[ -n "$newest" ] || fails "expected the last due time of tick"
run tenon task list --type tick --limit 1000
count=$(wc -l <"$work/out") newest=$(date -d "$newest" +%s)
[ "$count" -ge $((newest - after)) ] && [ "$count" -le $((newest - before)) ] ||
    fails "found $count Tasks, expected $((newest - after)) to $((newest - before)): one for each due time"
run tenon task list --type never
expect_in err "no Tasks"
run tenon task list --type tick --limit 1 --json
expect_in out '"payload":{"from":"schedule"}'

# With a wrong schedule, a server serves, but creates no Tasks.
echo 'schedules: {bad: {cron: "0 25 * * *", task: {type: work}}}' >tenon.yaml
second_start four
wait_until grep -qF 'no schedule runs: schedules.bad.cron: hour, column 3: found `25`, expected 0 to 23' four.err
second_stop TERM
