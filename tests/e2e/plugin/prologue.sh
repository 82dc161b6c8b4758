# Shared by the tests of `tenon plugin` and `tenon doctor`.
once() { expect_in err "$1" && [ "$(grep -cE '^tenon: |: error\[ADL-' "$work/err")" = 1 ] || fails "expected one message"; }
python() { command -v python3 >"$work/which" || return 0; python3 -c "$1" <"$work/out" || fails "the Python check of standard output failed"; }
plugin() { echo "$TEST_PLUGINS/$1/$1.so"; }
# node TYPE: a document of one node.
node() {
    printf 'version: "1.0"\nnodes: [{id: a, type: %s}]\nedges: [{from: START, to: a}, {from: a, to: END}]\n' "$1" >"$1.yaml"
}
# problem TEXT ARGUMENT…: `tenon doctor` reports this problem and no other
problem() {
    local text=$1
    shift
    run tenon doctor "$@"
    expect_code 4 && expect_in out "$text" && expect_in out "1 problem" && [ "$(grep -c '✗' "$work/out")" = 1 ] || fails "expected one problem"
    expect_in out "tenon.core" # the other checks are made, too
}
printf 'not a plugin' >fake.so
