# Check mode: what the contract forbids is found, said once, and makes the command fail; what is allowed is not.
cc=${CC:-cc}
"$cc" -shared -fPIC -fvisibility=hidden -pthread -I"$SOURCE/sdk/include" \
    -Wl,--version-script="$SOURCE/sdk/cmake/tenon-plugin.map" -o wrongs.so "$SOURCE/tests/guard/wrongs.c" 2>"$work/log" ||
    { cat "$work/log" >&2; fails "wrongs.c"; }

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
wrong twice "ends a task by complete that it had ended before"
wrong thread "calls read from a thread that it is not for"
wrong hold "holds the loop in start"
wrong leak "has taken 2 values that it never released"
wrong late "gives count a value that was lent for a call which is over"

# Without it, nothing is looked for.
document leak
run tenon run wrong.yaml --plugins wrongs.so
expect_code 0
expect_not_in err check:

# The bundled plugins and the samples keep the contract.
run tenon run "$SOURCE/samples/hello/hello.yaml" --check-plugins
expect_code 0
expect_not_in err check:
