# The ways in which the process of an isolated plugin can end: the run gets an error that says how, and nothing else fails.
cc=${CC:-cc}
"$cc" -shared -fPIC -fvisibility=hidden -O1 -I"$SOURCE/sdk/include" -Wl,--version-script="$SOURCE/sdk/cmake/tenon-plugin.map" \
    -o deaths.so "$SOURCE/tests/isolate/deaths.c" 2>"$work/log" || { cat "$work/log" >&2; fails "deaths.c does not compile"; }

document() { # HOW [TIME_LIMIT]
    cat >end.yaml <<YAML
version: "1.0"
agent: {name: end}
channels: [{name: out, type: last_value}, {name: other, type: last_value}]
nodes:
  - {id: end, type: test.end, timeout: {total: ${2:-60s}}, config: {how: $1, file: "$PWD/file", out: out}}
  - {id: other, type: set, config: {values: {other: "'still here'"}}}
edges: [{from: START, to: other}, {from: other, to: end}, {from: end, to: END}]
YAML
}

dies() { # HOW ERROR [LAST_LINE]
    document "$1"
    run tenon run end.yaml --plugins deaths.so --isolate test.deaths
    expect_code 1
    expect_in err "PLUGIN_CRASHED"
    expect_in err "$2"
    expect_in err "its last line of output was: ${3:-about to $1}"
}
ends() { # HOW: a misbehaviour that the run survives
    document "$1"
    run tenon run end.yaml --plugins deaths.so --isolate test.deaths
    expect_code 0
    expect_out '{"out":1,"other":"still here"}'
}
crashes() { # HOW EXIT_CODE: without isolation
    document "$1"
    run tenon run end.yaml --plugins deaths.so
    expect_code "$2"
    expect_in err "the program crashed"
    expect_in err "--isolate ID"
    [ "$(grep -c "the program crashed" "$work/err")" = 1 ] || fails "expected the crash to be reported once"
}
if [ -z "$SANITIZE" ]; then # sanitizers end the process in other ways
    crashes segfault 139
    crashes overflow 139
    crashes abort 134
    dies segfault "was killed by signal 11"
    dies overflow "was killed by signal 11"
    dies leak "exited with status 4" "no descriptor is left"
    # The sandbox does not raise a limit that is already lower.
    document exhaust
    run bash -c 'ulimit -d 262144 && exec "$TENON" run end.yaml --plugins deaths.so --isolate test.deaths'
    expect_code 1
    expect_in err "was killed by signal 6"
    expect_in err "its last line of output was: no memory is left [PLUGIN_CRASHED]"
fi
dies abort "was killed by signal 6"
dies exit "exited with status 3"
dies garbage "it sent an invalid message"
dies close "its process"
dies orphan "exited with status 5" # its child keeps the socket open
ends print
expect_not_in out printed # standard output belongs to the run
ends fork

# A value that does not fit into a message fails the task; the process continues.
for how in large chunk; do
    document $how
    run tenon run end.yaml --plugins deaths.so --isolate test.deaths
    expect_code 1
    expect_in err "is longer than the 64 MiB"
    expect_in err "[LIMIT]"
    expect_not_in err PLUGIN_CRASHED
done

document spin 3s
run tenon run end.yaml --plugins deaths.so --isolate test.deaths
expect_code 1
expect_in err "node \`end\`: the task did not end within 3000 ms [TIMEOUT]"

# Processes that a plugin has started are killed when its process ends …
document fork
run tenon run end.yaml --plugins deaths.so --isolate test.deaths
for pid in $(cat file); do expect_ended "$pid" "process $pid of the plugin is left when the run has ended"; done

# … and when the host is killed.
document wait
expect_children_killed file "$TENON" run end.yaml --plugins deaths.so --isolate test.deaths

# On a retry, the process is restarted after a pause. It is never given up: pool.sh has more deaths.
document exit
sed -i -e 's/test.end, .*$/test.exits, retry: {max_attempts: 4, initial: 1ms}, config: {out: out}}/' end.yaml
run tenon run end.yaml --plugins deaths.so --isolate test.deaths
expect_code 1
expect_in err "it is started again in 100 ms"
expect_in err "it has ended 4 times in a row, and is started again in 800 ms"
expect_in err "every attempt: plugin \`test.deaths\`: its process exited with status 3 [PLUGIN_CRASHED]"

# In a batch, runs without a death are not affected.
cat >some.yaml <<'YAML'
version: "1.0"
agent: {name: some}
channels: [{name: out, type: last_value}, {name: die, type: last_value, default: false}]
nodes: [{id: end, type: test.end, config: {how: exit, out: out}}, {id: fine, type: set, config: {values: {out: "'fine'"}}}]
edges:
  - {from: START, type: conditional, conditions: [{expression: state.die, to: end}, {expression: default, to: fine}]}
YAML
printf '{}\n{"die":true}\n{}\n' >batch.jsonl
run tenon run some.yaml --plugins deaths.so --isolate test.deaths --batch batch.jsonl
expect_code 1
[ "$(grep -c fine "$work/out")" = 2 ] || fails "the other runs of the batch did not succeed"

# An id that does not exist is an error on the command line. tenon.yaml can isolate plugins, too.
run tenon run some.yaml --plugins deaths.so --isolate test.death
expect_code 4
expect_in err 'did you mean `test.deaths`?'
printf 'plugins: {isolation: {"*": process}}\n' >tenon.yaml
document exit
run tenon run end.yaml --plugins deaths.so
expect_code 1
expect_in err PLUGIN_CRASHED

# An id in tenon.yaml that does not exist is a warning.
printf 'plugins: {isolation: {test.death: process}}\n' >tenon.yaml
run tenon run some.yaml --plugins deaths.so
expect_code 0
expect_in err 'plugins.isolation: unknown plugin `test.death`; did you mean `test.deaths`?'
