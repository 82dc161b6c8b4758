# `tenon plugin check` finds defects that only running a plugin shows. There is one plugin for each defect; a plugin without
# one, and all bundled plugins, pass with every seed.
cc=${CC:-cc}
export TENON_TEST_DIFFERS=1

build() {
    # shellcheck disable=SC2086
    "$cc" ${define:-} -shared -fPIC -O1 -fvisibility=hidden -I"$SOURCE/sdk/include" -DDEFECT="$1" \
        -Wl,--version-script="$SOURCE/sdk/cmake/tenon-plugin.map" -o "$1.so" "$SOURCE/tests/exercise/defects.c" \
        2>"$work/log" || { cat "$work/log" >&2; fails "defects.c does not compile"; }
}

# The time limit is long, because what is not tried in time is not found.
checks() { run tenon plugin check "$@" --timeout 60; }

# expect_finding DEFECT EXIT_CODE FINDING TEXT
expect_finding() {
    build "$1"
    checks "$1.so" --seed 1
    expect_code "$2"
    expect_in err "$3"
    expect_in err "$4"
    expect_in err "(seed 1)"
}

# A plugin that hangs is found when the time is up. The other checks run meanwhile.
build HANGS
tenon plugin check HANGS.so --seed 1 --timeout 20 >"$work/hangs" 2>&1 </dev/null &
hangs=$!

build NONE
seeds="1 2 3"
[ -z "$SANITIZE" ] || seeds=1 # a start takes ten times as long
for seed in $seeds; do
    checks NONE.so --seed "$seed"
    expect_code 0
    expect_in err "no problems found"
    expect_not_in err "["
    for plugin in "$BINARY"/lib/tenon/plugins/*.so; do
        checks "$plugin" --seed "$seed"
        expect_code 0
        expect_in err "no problems found"
    done
done

# A worker that has ended a task needs a moment to return: what it holds until then is not a leak.
define=-DBLOCKING
build NONE
checks NONE.so --seed 1
expect_code 0
expect_in err "no problems found"
expect_finding LEAKS_VALUES 4 "error[LEAK]" 'component `test.defect` (node): 20 runs leave 20 values'
define=

expect_finding CRASHES 4 "error[CRASHED]" 'it had to create `test.defect` from {"what":'
expect_finding CRASHES_ON_INVALID 4 "error[CRASHED]" 'it had to create'
expect_finding EXITS 4 "error[CRASHED]" 'ended the process with status 3'
expect_finding UNCHECKED_ALLOC 4 "error[CRASHED]" 'by tn_core_1 fails'
expect_finding CRASHES_IN_DESTROY 4 "error[CRASHED]" 'it had to '
expect_finding IGNORES_CANCEL 0 "warning[DEAF]" 'continues for seconds after a cancel'
expect_finding PRINTS 0 "warning[STDOUT]" 'bytes to standard output while it was used'
expect_finding LEAKS_VALUES 4 "error[LEAK]" 'component `test.defect` (node): 20 runs leave 20 values'
expect_finding LEAKS_MEMORY 4 "error[LEAK]" 'instances leaves'
expect_finding LEAKS_IN_INSTANCE 4 "error[LEAK]" 'instances leaves 1 values behind'
expect_finding LEAKS_ON_FAILURE 4 "error[LEAK]" 'each time that an allocation fails'
expect_finding IMPURE 4 "error[IMPURE]" 'returns two outputs for one input'
expect_finding NOT_THREAD_SAFE 4 "error[NOT_THREAD_SAFE]" 'while other tasks of it run'
expect_finding DIFFERS 4 "error[DIFFERS]" 'it returned {"outcome":"completed","output":{"writes":{"out":1}}'
expect_finding REFUSES 4 "warning[CONFIG_REFUSED]" 'create refused all'
build BAD_EXAMPLE
checks BAD_EXAMPLE.so
expect_code 4
expect_in err 'error[MANIFEST_INVALID]: manifest: component `test.defect` (node): `examples.0.config.what`: found the number 7'
expect_finding REFUSED_EXAMPLE 4 "error[EXAMPLE_REFUSED]" 'create refuses the configuration of example `one`'
expect_finding WRONG_EXAMPLE 4 "error[EXAMPLE_FAILED]" 'example `one` documents the output {"writes":{"out":4}}'
expect_finding WRONG_SHAPE 4 "error[SHAPE]" 'node `test.defect` completes with an invalid output: at `/wrote`'
build BAD_SHAPE_EXAMPLE
checks BAD_SHAPE_EXAMPLE.so
expect_code 4
expect_in err 'error[SHAPE]: '
expect_in err 'component `test.defect` (node): `examples.0.output` is not valid: at `/write`: '
expect_finding ENDS_TWICE 4 "error[CONTRACT]" 'ends a task with complete that has already ended'

# A component with the effect `random` may return different outputs; it is run nevertheless.
define=-DONLY_RANDOM
expect_finding IMPURE 4 "error[EXAMPLE_FAILED]" 'example `one` documents the output'
expect_not_in err "[IMPURE]"
expect_finding LEAKS_VALUES 4 "error[LEAK]" 'component `test.defect` (node): 20 runs leave 20 values'
define=
build IMPURE

build UNKNOWN_EFFECT
checks UNKNOWN_EFFECT.so
expect_code 0
expect_in err 'warning[EFFECT_UNKNOWN]: component `test.defect` (node): the effect `fs.raed:/tmp` is unknown; did you mean `fs.read`?'

build NONE
checks NONE.so --json --seed 5
expect_code 0
expect_in out '"seed":5'
checks IMPURE.so --json --seed 5
expect_code 4
expect_in out '"severity":"error","code":"IMPURE"'

last="plugin check HANGS.so" code=0
wait $hangs || code=$?
cp "$work/hangs" "$work/err"
expect_code 4
expect_in err "error[HUNG]"
expect_in err 'it had to run '
expect_in err "(seed 1)"
