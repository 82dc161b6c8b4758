# `tenon task watch` prints what other processes do to Tasks.
strategy double 'type: set, config: {values: {user_output: "string(state.task.payload.n * 2)"}}'
strategy asks 'type: test.ask, config: {out: user_output}'
printf 'work:\n  work: {strategy: ./double.yaml, retries: {max_attempts: 1}}\n  asks: {strategy: ./asks.yaml}\n  mark: {strategy: ./double.yaml}\n' >tenon.yaml
watch() { # watch [OPTION…]: $watcher is its process, its output is in watch.out
    env --default-signal=INT "$TENON" task watch "$@" >watch.out 2>watch.err </dev/null &
    watcher=$!
    servers+=("$watcher")
}
# ended CODE: fails unless the watcher ends with this code
ended() {
    expect_ended "$watcher" "expected the end of: $(cat watch.out)"
    code=0
    wait "$watcher" || code=$?
    [ "$code" = "$1" ] || fails "expected exit code $1: $(cat watch.out watch.err)"
}

create work '{"n": 1}'
old=$id
run tenon work --drain --types work -q
create work '{"n": 21}'
watch "$id"
wait_until grep -q "created  $id  work" watch.out
run tenon work --drain --types work -q
ended 0
grep -q "done     $id  work  42" watch.out || fails "expected the end: $(cat watch.out)"
run tenon task watch "$id" "$old" # both have ended
expect_code 0 && expect_in out "done     $old  work  2"
run tenon task watch nobody
expect_code 1 && expect_in err "nobody"

create work '{"n": "x"}'
run tenon work --drain --types work -q
run tenon task watch "$id"
expect_code 1 && expect_in out "failed   $id  work  node" && expect_in out "[EXPRESSION_ERROR]"
run tenon task watch "$id" --state done
expect_code 1 && expect_out ""

# Without ids: from now on.
create asks
asked=$id
watch --type asks --type mark --until-done --json
watches() { # it has begun: it prints the creation of a Task
    create mark '{"n": 1}'
    sleep 0.1
    grep -q '"change":"created"' watch.out
}
wait_until watches
id=$asked
run tenon work --drain --types asks,mark $nodes
wait_until grep -q '{"change":"waiting","task":{"task_id":"'"$id" watch.out
interrupt=$(tenon thread show "$id" --json | sed 's/.*"interrupts":\[{"id":"\([0-9a-f]*\)".*/\1/')
run tenon thread answer "$id" "$interrupt=yes"
expect_code 0
run tenon work --drain --types asks -q $nodes
ended 0
grep -q '{"change":"done","task":{"task_id":"'"$id" watch.out || fails "expected the end: $(cat watch.out)"
! grep -q "$old" watch.out || fails "expected no Task of another type"
watch --type work
handles_sigint() { [ "$(cat "/proc/$watcher/comm")" = tenon ] && [ $((0x$(sed -n 's/^SigCgt:\t*//p' "/proc/$watcher/status") & 2)) != 0 ]; }
wait_until handles_sigint
kill -INT "$watcher"
ended 130

# The host of a connection ends.
serve_start serve --socket ./host.sock
create mark '{"n": 1}'
watch "$id" --connect ./host.sock
wait_until grep -q "created  $id" watch.out
kill -TERM "$host"
ended 1
grep -q "the host at ./host.sock has closed the connection" watch.err || fails "expected a message: $(cat watch.err)"
