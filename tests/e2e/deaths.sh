# A plugin in a process of its own, and how it can end: an error of the run that says how, and of nothing else.
cc=${CC:-cc}
"$cc" -shared -fPIC -fvisibility=hidden -O1 -I"$SOURCE/sdk/include" -Wl,--version-script="$SOURCE/sdk/cmake/tenon-plugin.map" \
    -o deaths.so "$SOURCE/tests/isolate/deaths.c" 2>"$work/log" || { cat "$work/log" >&2; fails "deaths.c"; }

document() {
    cat >end.yaml <<YAML
version: "1.0"
agent: {name: end}
channels: [{name: out, type: last_value}, {name: other, type: last_value}]
nodes:
  - {id: end, type: test.end, timeout: {total: 3s}, config: {how: $1, file: "$PWD/file", out: out}}
  - {id: other, type: set, config: {values: {other: "'still here'"}}}
edges: [{from: START, to: other}, {from: other, to: end}, {from: end, to: END}]
YAML
}

dies() { # HOW WHAT IS SAID OF IT
    document "$1"
    run tenon run end.yaml --plugins deaths.so --isolate test.deaths
    expect_code 1
    expect_in err "PLUGIN_CRASHED"
    expect_in err "$2"
    expect_in err "its last line was: ${3:-about to $1}"
}
ends() { # HOW: it does what it should not, and the run goes on
    document "$1"
    run tenon run end.yaml --plugins deaths.so --isolate test.deaths
    expect_code 0
    expect_out '{"out":1,"other":"still here"}'
}
crashes() { # HOW EXIT_CODE: in the host's own process
    document "$1"
    run tenon run end.yaml --plugins deaths.so
    expect_code "$2"
    expect_in err "the program has crashed"
    expect_in err "--isolate ID"
    [ "$(grep -c "the program has crashed" "$work/err")" = 1 ] || fails "it is said once"
}
if [ -z "$SANITIZE" ]; then # a sanitizer has its own ways to end
    crashes segfault 139
    crashes overflow 139
    crashes abort 134
    dies segfault "was ended by signal 11"
    dies overflow "was ended by signal 11"
    dies leak "exited with status 4" "no descriptor is left"
    # Of a limit that is small: a process may have less than the sandbox allows, and never more.
    document exhaust
    run bash -c 'ulimit -d 262144 && exec "$TENON" run end.yaml --plugins deaths.so --isolate test.deaths'
    expect_code 1
    expect_in err "was ended by signal 6"
    expect_in err "its last line was: no memory is left [PLUGIN_CRASHED]"
fi
dies abort "was ended by signal 6"
dies exit "exited with status 3"
dies garbage "it wrote what is no message"
dies close "its process"
dies orphan "exited with status 5" # what it left has its socket, and is not it
ends print
expect_not_in out printed # standard output is the run's
ends fork

# What does not fit into a message is an error of the task, not an end.
for how in large chunk; do
    document $how
    run tenon run end.yaml --plugins deaths.so --isolate test.deaths
    expect_code 1
    expect_in err "is longer than the 64 MiB"
    expect_in err "[LIMIT]"
    expect_not_in err PLUGIN_CRASHED
done

document spin
run tenon run end.yaml --plugins deaths.so --isolate test.deaths
expect_code 1
expect_in err TIMEOUT

# What a plugin left running goes with it.
document fork
run tenon run end.yaml --plugins deaths.so --isolate test.deaths
for pid in $(cat file); do gone "$pid" || fails "process $pid of the plugin is left when the run has ended"; done

# And where the host is killed.
document wait
killed file "$TENON" run end.yaml --plugins deaths.so --isolate test.deaths

# Retried, it comes back after a pause; dying again and again, it is given up, and that is said.
document exit
sed -i -e 's/test.end, timeout: {total: 3s}.*$/test.fall, retry: {max_attempts: 9, initial: 1ms, max: 1ms}, config: {out: out}}/' end.yaml
run tenon run end.yaml --plugins deaths.so --isolate test.deaths
expect_code 1
expect_in err "it has died too often, and is not started again"

printf '{}\n{}\n' >two.jsonl
run tenon run end.yaml --plugins deaths.so --isolate test.deaths --batch two.jsonl --concurrency 1
expect_in out '"code":"PLUGIN_HUNG"'
expect_in out 'has died 5 times within a minute, and is given up'

# Of a batch, the runs that meet no death are not touched.
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
[ "$(grep -c fine "$work/out")" = 2 ] || fails "the other runs of the batch did not end well"

# An id that nobody has isolates nothing, and so is a mistake; tenon.yaml says it as well.
run tenon run some.yaml --plugins deaths.so --isolate test.death
expect_code 4
expect_in err 'did you mean `test.deaths`?'
printf 'plugins: {isolation: {"*": process}}\n' >tenon.yaml
document exit
run tenon run end.yaml --plugins deaths.so
expect_code 1
expect_in err PLUGIN_CRASHED

# An id in tenon.yaml that nobody has is told.
printf 'plugins: {isolation: {test.death: process}}\n' >tenon.yaml
run tenon run some.yaml --plugins deaths.so
expect_code 0
expect_in err 'plugins.isolation: there is no plugin `test.death`; did you mean `test.deaths`?'
