# `tenon plugin check` finds defects that only running a plugin shows. There is one plugin for each finding of `tenon
# reference findings`; a plugin without a defect, and all bundled plugins, pass with each seed of EXERCISE_SEEDS ("1 2
# 3"; by default one).
cc=${CC:-cc}
export TENON_TEST_DIFFERS=1
source=defects.c found=""

# build DEFECT [FLAG…]
build() {
    # shellcheck disable=SC2086
    "$cc" ${define:-} -shared -fPIC -O0 -fvisibility=hidden -I"$SOURCE/sdk/include" -DDEFECT="$1" \
        -Wl,--version-script="${script:-$SOURCE/sdk/cmake/tenon-plugin.map}" -o "$1.so" "$SOURCE/tests/exercise/$source" \
        "${@:2}" 2>"$work/log" || { cat "$work/log" >&2; fails "$source does not compile"; }
}

# The time limit is long, because what is not tried in time is not found.
checks() { run tenon plugin check "$@" --timeout 60; }

# finds EXIT_CODE FINDING TEXT: the last check has found it.
finds() {
    expect_code "$1"
    expect_in err "$2: "
    expect_in err "$3"
    found+=" ${2//*[\[]/}"
}

# expect_finding DEFECT EXIT_CODE FINDING TEXT
expect_finding() {
    build "$1"
    checks "$1.so" --seed 1
    finds "${@:2}"
    expect_in err "(seed 1)"
}

# What hangs, or is killed after a while, is found while the other checks run.
build HANGS
tenon plugin check HANGS.so --seed 1 >"$work/hangs" 2>&1 </dev/null &
hangs=$!
program() {
    cp "$SOURCE/tests/exercise/program.py" "$1"
    cp "$SOURCE/tests/exercise/program.tenon.json" "$1.tenon.json"
}
for defect in hangs ignores; do
    program $defect
    tenon plugin check $defect --seed 1 >"$work/program-$defect" 2>&1 </dev/null &
done

build NONE
for seed in ${EXERCISE_SEEDS:-1}; do
    checks NONE.so --seed "$seed"
    expect_code 0
    expect_in err "no problems found"
    expect_not_in err "["
    for plugin in "$BINARY"/lib/tenon/plugins/*.so; do
        [ "$(basename "$plugin")" != postgres.so ] || continue # postgres.sh checks it with a server
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

build FILLS_CACHE
checks FILLS_CACHE.so --seed 1
expect_code 0
expect_in err "no problems found"

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
[ -n "$SANITIZE" ] || expect_finding LEAKS_HEAP 4 "error[LEAK]" 'component `test.defect` (node): the heap grows by 1'
[ -n "$SANITIZE" ] || expect_finding LEAKS_MEGABYTES 4 "error[LEAK]" 'component `test.defect` (node): the heap grows by 105'
expect_finding LEAKS_ON_CANCEL 4 "error[LEAK]" 'component `test.defect` (node): 20 cancelled runs leave '
expect_finding LEAKS_IN_REFUSAL 4 "error[LEAK]" '200 configurations that create refused leave'
expect_finding LEAKS_IN_INIT 4 "error[LEAK]" 'plugin `test.defects` has not released 1 values'
expect_finding IMPURE 4 "error[IMPURE]" 'returns two outputs for one input'
expect_finding NOT_THREAD_SAFE 4 "error[NOT_THREAD_SAFE]" 'while other tasks of it run'
expect_finding DIFFERS 4 "error[DIFFERS]" 'it returned {"outcome":"completed","output":{"writes":{"out":1}}'
expect_finding REFUSES 4 "warning[CONFIG_REFUSED]" 'create refused all'
build BAD_EXAMPLE
checks BAD_EXAMPLE.so
finds 4 "error[MANIFEST_INVALID]" 'manifest: component `test.defect` (node): `examples.0.config.what`: found the number 7'
expect_finding REFUSED_EXAMPLE 4 "error[EXAMPLE_REFUSED]" 'create refuses the configuration of example `one`'
expect_finding WRONG_EXAMPLE 4 "error[EXAMPLE_FAILED]" 'example `one` documents the output {"writes":{"out":4}}'
expect_finding WRONG_SHAPE 4 "error[SHAPE]" 'node `test.defect` completes with an invalid output: at `/wrote`'
expect_finding WRONG_OUTPUT 4 "error[SHAPE]" 'completes with {"writes":{"out":'
expect_in err "which \`output\` of its manifest does not allow: missing property \`goto\`"
build BAD_SHAPE_EXAMPLE
checks BAD_SHAPE_EXAMPLE.so
finds 4 "error[SHAPE]" 'component `test.defect` (node): `examples.0.output` is not valid: at `/write`: '
expect_finding ENDS_TWICE 4 "error[CONTRACT]" 'ends a task with complete that has already ended'

# A component with the effect `random` may return different outputs; it is run nevertheless.
define=-DONLY_RANDOM
expect_finding IMPURE 4 "error[EXAMPLE_FAILED]" 'example `one` documents the output'
expect_not_in err "[IMPURE]"
expect_finding LEAKS_VALUES 4 "error[LEAK]" 'component `test.defect` (node): 20 runs leave 20 values'
define=
build IMPURE

expect_finding MISSING_COMPONENT 4 "error[COMPONENT_MISSING]" 'component `test.missing` (tool): is in the manifest, but'
build REFUSES_IN_INIT
checks REFUSES_IN_INIT.so
finds 4 "error[LOAD_REFUSED]" "could not initialise itself (status -12): found no key (NO_KEY)"
build UNDECLARED
checks UNDECLARED.so
finds 4 "warning[INTERFACE_UNDECLARED]" 'requests the interface `tenon.tool/1`, which its manifest does not list'
finds 4 "error[CRASHED]" '(with `tenon.tool/1` hidden)'

build UNKNOWN_EFFECT
checks UNKNOWN_EFFECT.so
finds 0 "warning[EFFECT_UNKNOWN]" 'component `test.defect` (node): found the effect `fs.raed:/tmp`, which no host knows; did you mean `fs.read`?'

build NONE
checks NONE.so --json --seed 5
expect_code 0
expect_in out '"seed":5'
checks IMPURE.so --json --seed 5
expect_code 4
expect_in out '"severity":"error","code":"IMPURE"'

# Limits of the check itself.
build SLOW
run tenon plugin check SLOW.so --timeout 2
finds 0 "note[NOT_TRIED]" 'use a longer --timeout'
build NONE
TENON_PROGRAM=/nonexistent checks NONE.so
finds 0 "note[NOT_COMPARED]" 'could not be isolated for the comparison'
checks_with_descriptors() { (ulimit -n "$1" && checks NONE.so && cat "$work/err") >"$work/few" 2>&1; }
for descriptors in $(seq 8 64); do
    checks_with_descriptors "$descriptors" || true
    if grep -qF "error[CHECK]: " "$work/few"; then break; fi
done
cp "$work/few" "$work/err"
code=4 finds 4 "error[CHECK]" "the process for the check cannot be started: Too many open files"

# The file, the manifest and loading.
head -c 200 NONE.so >cut.so
checks cut.so
finds 4 "error[ELF]" "cut.so"
program absent
rm absent.tenon.json
checks absent
finds 4 "error[ELF]" "absent.tenon.json"
for pair in extra:EXTRA_SYMBOL library:ENTRY_MISSING library:MANIFEST_MISSING refuses:LOAD_REFUSED; do
    checks "$TEST_PLUGINS/${pair%:*}/${pair%:*}.so"
    finds 4 "error[${pair#*:}]" ""
done
checks "$TEST_PLUGINS/good/good.so"
finds 0 "warning[EFFECTS_MISSING]" "test.two"
finds 0 "warning[FIELD_UNDOCUMENTED]" "config.properties.n"
finds 0 "note[LICENCE_MISSING]" "test.good"
checks "$TEST_PLUGINS/broken_schema/broken_schema.so"
finds 4 "warning[DOCUMENTATION_MISSING]" "test.broken_schema"
source=entry.c
entry() { # DEFECT EXIT_CODE FINDING TEXT
    build "$1" ${flags:-}
    checks "$1.so"
    finds "${@:2}"
}
build NONE
checks NONE.so
expect_code 0
expect_in err "no problems found"
entry OFFERS_ANYTHING 4 "error[OFFERS_ANYTHING]" "it must return NULL"
entry NEVER_ENDS 4 "error[UNLOAD_REFUSED]" "test.entry"
entry HOST_SYMBOL 4 "error[HOST_SYMBOL]" 'imports the host symbol `tn_secret`'
script=$work/open.map
echo '{ global: tn_plugin_entry_1; shared_by_all; local: *; };' >"$script"
entry UNIQUE_SYMBOL 4 "error[UNIQUE_SYMBOL]" '`shared_by_all`'
script=
echo 'int none;' | "$cc" -shared -fPIC -xc -o libtenon-of-the-host.so -
flags="-Wl,--no-as-needed -Wl,-rpath,$PWD -L$PWD -ltenon-of-the-host" entry NONE 4 "error[HOST_LIBRARY]" libtenon-of-the-host
entry NOTHING 0 "warning[NOTHING_OFFERED]" "declare what it offers"
entry RESERVED 4 "error[NAME_RESERVED]" "tenon.entry"

# A draft is named with the setting that allows it, wherever the plugin uses it.
setting='`plugins: {drafts: [test.entry]}` in tenon.yaml'
entry OPTIONAL_DRAFT 0 "warning[DRAFT]" 'is not allowed here, so that it gets NULL at run time'
expect_in err "$setting"
entry GETS_DRAFT 0 "warning[DRAFT]" "$setting"
printf 'plugins: {drafts: [test.entry]}\n' >tenon.yaml
checks GETS_DRAFT.so
finds 0 "note[DRAFT]" "which is allowed here; every other user must allow it with $setting"
expect_not_in err "unknown plugin"
rm tenon.yaml
source=defects.c
build REQUESTS_DRAFT
checks REQUESTS_DRAFT.so
finds 0 "warning[DRAFT]" '`plugins: {drafts: [test.defect'

# Stores.
checks "$BINARY/lib/tenon/plugins/memory.so"
finds 0 "note[STORE_WITHOUT_FILES]" "was not tried"
source=store.c
build STORE
checks STORE.so
finds 4 "error[LOAD_REFUSED]" "(a draft: allow it with"
checks "$SOURCE/samples/python/store.py"
finds 4 "error[DRAFT]" "so that a host refuses the plugin, and its store was not tried; allow it with"
checks STORE.so --allow-drafts
finds 4 "error[STORE]" "commit.txt"
finds 4 "warning[STORE_LENIENT]" "wrong.txt"

# Programs. The last sample is one, and the check says what does not apply.
defective() { # DEFECT EXIT_CODE FINDING TEXT
    program "$1"
    checks "$1" --seed 1
    finds "${@:2}"
}
defective none 0 "note[PROGRAM]" "Not checked, because this cannot be seen from outside: symbols"
expect_in err "no problems found"
expect_not_in err STDOUT
mkdir -p links
ln -s "$PWD/none" links/acme
cp none.tenon.json links/acme.tenon.json
checks links/acme
finds 0 "note[PROGRAM]" "links/acme: "
checks "$SOURCE/samples/python/wordcount.py"
finds 0 "note[PROGRAM]" "wordcount.py"
expect_in err "no problems found"
defective crashes 4 "error[CRASHED]" "its last line of output was: cannot count words; it had to create"
defective dies 4 "error[CRASHED]" "was killed by signal 9 (Killed); it had to run"
defective answers 4 "error[CONTRACT]" "with a result that is not {reads, writes, calls}"
defective version 4 "error[LOAD_REFUSED]" "the manifest had version 1.0.0"
defective shape 4 "error[SHAPE]" "completes with an invalid output: at \`/wrote\`"
defective error 4 "error[SHAPE]" "fails with an invalid error: found no \`message\`"
defective code 4 "error[SHAPE]" 'fails with an invalid error: at `/code`: found the string "lower case"'
defective own 0 "note[PROGRAM]" "own: " # it fails with a code that the host uses as well
expect_in err "no problems found"
defective declared 4 "error[SHAPE]" "completes with {}, which \`output\` of its manifest does not allow"
defective twice 4 "error[CONTRACT]" "it sent \`complete\` for a task that it has already ended; a task ends once"
defective writes 4 "error[CONTRACT]" "writes \`nowhere\`, which is not in \`writes\` of its answer to \`create\`"
defective impure 4 "error[IMPURE]" "returns two outputs for one input"
defective floods 0 "warning[GROWS]" "tasks made the memory of its process grow by"
defective grows 0 "warning[GROWS]" "800 instances made the memory of its process grow by"

# What was started above.
last="plugin check HANGS.so" code=0
wait $hangs || code=$?
cp "$work/hangs" "$work/err"
finds 4 "error[HUNG]" 'it had to run '
expect_in err "(seed 1)"
wait
for pair in hangs:HUNG ignores:DEAF; do
    cp "$work/program-${pair%:*}" "$work/err"
    expect_in err "[${pair#*:}]: component \`test.count\` (node): "
done

# Each code has a plugin above.
run tenon reference findings
for code in $(sed -n 's/^## //p' "$work/out"); do
    case "$found" in *" $code]"*) ;; *) fails "no plugin of this test has the finding $code" ;; esac
done
