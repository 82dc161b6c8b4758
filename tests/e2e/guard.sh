# Check mode reports each violation of the contract once, and makes the command fail; correct plugins have no findings.
cc=${CC:-cc}
"$cc" -shared -fPIC -fvisibility=hidden -pthread -I"$SOURCE/sdk/include" \
    -Wl,--version-script="$SOURCE/sdk/cmake/tenon-plugin.map" -o wrongs.so "$SOURCE/tests/guard/wrongs.c" 2>"$work/log" ||
    { cat "$work/log" >&2; fails "wrongs.c does not compile"; }

document() {
    cat >wrong.yaml <<YAML
version: "1.0"
agent: {name: wrong}
channels: [{name: list, type: last_value, default: [[1], [2]]}, {name: out, type: append}]
nodes: [{id: wrong, type: test.wrong, config: {what: $1, in: list, out: out}}]
edges:
  - {from: START, to: wrong, type: map, over: state.list, as: item}
  - {from: wrong, to: END}
YAML
}
wrong() { # WHAT FINDING
    document "$1"
    run tenon run wrong.yaml --plugins wrongs.so --check-plugins
    expect_code 4
    expect_in err "check: plugin \`test.wrongs\` $2"
    [ "$(grep -c 'check:' "$work/err")" = 1 ] || fails "expected one finding"
}
document nothing
run tenon run wrong.yaml --plugins wrongs.so --check-plugins
expect_code 0
expect_not_in err check:
wrong twice "ends a task with complete that has already ended"
wrong thread "calls read from the wrong thread"
wrong hold "blocks the loop in start"
wrong leak "has not released 2 values that it has taken"
wrong late "passes count a value that was lent for a call that has ended"

# Without check mode there are no findings.
document leak
run tenon run wrong.yaml --plugins wrongs.so
expect_code 0
expect_not_in err check:

# The bundled plugins and the samples keep the contract.
run tenon run "$SOURCE/samples/hello/hello.yaml" --check-plugins
expect_code 0
expect_not_in err check:
