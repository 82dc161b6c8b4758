# `tenon plugin check` finds what only running a plugin shows: one plugin for each defect, found for its reason; what has
# none passes, whatever the seed, as all bundled plugins do.
cc=${CC:-cc}
export TENON_TEST_DIFFERS=1

build() {
    # shellcheck disable=SC2086
    "$cc" ${define:-} -shared -fPIC -O1 -fvisibility=hidden -I"$SOURCE/sdk/include" -DDEFECT="$1" \
        -Wl,--version-script="$SOURCE/sdk/cmake/tenon-plugin.map" -o "$1.so" "$SOURCE/tests/exercise/defects.c" \
        2>"$work/log" || { cat "$work/log" >&2; fails "defects.c"; }
}

# finds DEFECT EXIT_CODE FINDING TEXT [OPTION…]
finds() {
    build "$1"
    run tenon plugin check "$1.so" --seed 1 "${@:5}"
    expect_code "$2"
    expect_in err "$3"
    expect_in err "$4"
    expect_in err "(seed 1)"
}

build NONE
for seed in 1 2 3; do
    run tenon plugin check NONE.so --seed "$seed"
    expect_code 0
    expect_in err "no problems found"
    expect_not_in err "["
    for plugin in "$BINARY"/lib/tenon/plugins/*.so; do
        run tenon plugin check "$plugin" --seed "$seed"
        expect_code 0
        expect_in err "no problems found"
    done
done

finds DIES 4 "error[CRASHED]" 'it was asked to create `test.defect` from {"what":'
finds DIES_OF_MUTANT 4 "error[CRASHED]" 'it was asked to create'
finds EXITS 4 "error[CRASHED]" 'ended the process with status 3'
finds UNCHECKED 4 "error[CRASHED]" 'by tn_core_1 fails'
finds DIES_LATER 4 "error[CRASHED]" 'it was asked to '
finds HANGS 4 "error[HUNG]" 'it was asked to run ' --timeout 4
finds DEAF 0 "warning[DEAF]" 'works on for seconds when it is cancelled'
finds PRINTS 0 "warning[STDOUT]" 'bytes to standard output while it was used'
finds KEEPS_VALUES 4 "error[LEAK]" 'component `test.defect` (node): 20 runs leave 20 values'
finds KEEPS_MEMORY 4 "error[LEAK]" 'instances leaves'
finds KEEPS_INSTANCE 4 "error[LEAK]" 'instances leaves 1 values behind'
finds KEEPS_ON_FAIL 4 "error[LEAK]" 'each time that an allocation fails'
finds IMPURE 4 "error[IMPURE]" 'gives two outputs for one input'
finds NOT_THREAD_SAFE 4 "error[NOT_THREAD_SAFE]" 'while other tasks of it run'
finds DIFFERS 4 "error[DIFFERS]" 'it gave {"outcome":"completed","output":{"writes":{"out":1}}'
finds REFUSES 4 "warning[CONFIG_REFUSED]" 'create refused all'
build BAD_EXAMPLE
run tenon plugin check BAD_EXAMPLE.so
expect_code 4
expect_in err 'error[MANIFEST_INVALID]: manifest: component `test.defect` (node): `examples.0.config.what`: found the number 7'
finds REFUSED_EXAMPLE 4 "error[EXAMPLE_REFUSED]" 'create does not take the configuration of example `one`'
finds WRONG_EXAMPLE 4 "error[EXAMPLE_FAILED]" 'example `one` says that the output is {"writes":{"out":4}}'
finds ENDS_TWICE 4 "error[CONTRACT]" 'ends a task by complete that it had ended before'

# What is only random may give what it likes, and is run all the same.
define=-DONLY_RANDOM
finds IMPURE 4 "error[EXAMPLE_FAILED]" 'example `one` says that the output is'
expect_not_in err "[IMPURE]"
finds KEEPS_VALUES 4 "error[LEAK]" 'component `test.defect` (node): 20 runs leave 20 values'
define=
build IMPURE

build MISSPELT
run tenon plugin check MISSPELT.so
expect_code 0
expect_in err 'warning[EFFECT_UNKNOWN]: component `test.defect` (node): the effect `fs.raed:/tmp` means nothing to a host; did you mean `fs.read`?'

run tenon plugin check NONE.so --json --seed 5
expect_code 0
expect_in out '"seed":5'
run tenon plugin check IMPURE.so --json --seed 5
expect_code 4
expect_in out '"severity":"error","code":"IMPURE"'
