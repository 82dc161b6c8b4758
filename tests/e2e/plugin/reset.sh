# `tenon plugin reset`: what it clears in a running host, and what `plugin list` and `doctor` show of deaths.
cc=${CC:-cc}
"$cc" -shared -fPIC -fvisibility=hidden -O1 -I"$SOURCE/sdk/include" -Wl,--version-script="$SOURCE/sdk/cmake/tenon-plugin.map" \
    -o pool.so "$SOURCE/tests/isolate/pool.c" 2>"$work/log" || { cat "$work/log" >&2; fails "pool.c does not compile"; }
record=$XDG_STATE_HOME/tenon/deaths/test.pool.json
cat >line.yaml <<'YAML'
version: "1.0"
agent: {name: line}
channels: [{name: what, type: last_value, default: work}, {name: out, type: last_value}]
nodes: [{id: line, type: test.shared, config: {what: what, out: out}}]
edges: [{from: START, to: line}, {from: line, to: END}]
YAML
{ for _ in $(seq 5); do echo '{"what":"crash"}'; done; echo '{}'; } >batch.jsonl

# The host pauses after four deaths. It is stopped until the reset is done, so that its next death comes after that.
"$TENON" run line.yaml --plugins pool.so --isolate test.pool --batch batch.jsonl --concurrency 1 >batch.out 2>batch.err &
host=$!
wait_until grep -q 'ended 4 times in a row' batch.err
kill -STOP $host
run tenon plugin list --plugins pool.so
expect_code 0
expect_in out 'its process has ended 4 times, the last time at '
expect_in out ': plugin `test.pool`: its process exited with status 3; '
expect_in out '`tenon plugin reset test.pool` clears this'
run tenon plugin list --plugins pool.so --json
expect_in out '"deaths":{"plugin":"test.pool"'
expect_in out '"deaths":4,"in_a_row":4,'
expect_in out "\"host\":$host,"
run tenon doctor --plugins pool.so
expect_in out 'its process has ended 4 times, the last time at '
run tenon plugin reset test.pool --plugins pool.so
expect_code 0
expect_out 'test.pool: cleared 4 deaths; a running host starts it again at once'
[ ! -e "$record" ] || fails "the record was not removed"
kill -CONT $host
code=0
wait $host || code=$?
expect_code 1
tail -n 1 batch.out | grep -q '"out":[0-9]' || fails "the line after the deaths did not succeed"
[ "$(grep -c 'it is started again in 100 ms' batch.err)" = 2 ] || fails "the host did not count from the start after the reset: $(cat batch.err)"
! grep -q 'ended 5 times' batch.err || fails "the host was not reset"

# What has ended since is in a new record, which a host that starts later does not wait for.
run tenon plugin list --plugins pool.so
expect_in out 'its process has ended 1 time, the last time at '
sed -i "s/\"restart_ms\":[0-9]*/\"restart_ms\":9999999999999/" "$record"
run tenon plugin list --plugins pool.so
expect_in out "; the host with process id $host starts it again at 2286-11-20T17:46:39.999Z at the earliest; "
run tenon run line.yaml --plugins pool.so --isolate test.pool
expect_code 0
run tenon plugin reset test.pool --plugins pool.so
expect_out 'test.pool: cleared 1 death; a running host starts it again at once'
run tenon plugin reset test.pool --plugins pool.so
expect_code 0
expect_out 'test.pool: nothing to clear: none of its processes has ended by itself'
run tenon plugin list --plugins pool.so
expect_not_in out 'its process has ended'

# The record of a plugin that is not installed any more can be cleared, too; another id is a mistake.
mkdir -p "$(dirname "$record")"
echo '{"deaths":2,"in_a_row":1,"last_ms":1,"restart_ms":1,"host":1,"message":"gone"}' >"$(dirname "$record")/acme.gone.json"
run tenon plugin reset acme.gone
expect_code 0
expect_in out 'acme.gone: cleared 2 deaths'
run tenon plugin reset acme.gone
expect_code 4
expect_in err 'cannot reset the plugin `acme.gone`: it does not exist'
run tenon plugin reset ../../deaths/test.pool
expect_code 4

# A host that cannot write the record is not reset from outside, and does not advise it.
{ for _ in $(seq 3); do echo '{"what":"crash"}'; done; } >batch.jsonl
XDG_STATE_HOME=/dev/null run tenon run line.yaml --plugins pool.so --isolate test.pool --batch batch.jsonl --concurrency 1
expect_code 1
expect_in err 'it has ended 3 times in a row, and is started again in 400 ms'
expect_not_in err 'tenon plugin reset'
