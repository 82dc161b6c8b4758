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
wrong() { # WHAT FINDING [EXIT_CODE]
    document "$1"
    run tenon run wrong.yaml --plugins wrongs.so --check-plugins
    expect_code "${3:-4}"
    expect_in err "check: plugin \`test.wrongs\` $2"
    # With a sanitizer, on a busy machine, any function can take longer than the loop may be blocked.
    [ -z "$SANITIZE" ] || [[ $2 == *'blocks the loop'* ]] || sed -i '/blocks the loop/d' "$work/err"
    [ "$(grep -c 'check:' "$work/err")" = 1 ] || fails "expected one finding"
}
document nothing
run tenon run wrong.yaml --plugins wrongs.so --check-plugins
expect_code 0
expect_not_in err check:
# The error of a refused component, and the result of an operation, belong to the plugin.
document refused
run tenon run wrong.yaml --plugins wrongs.so --check-plugins
expect_code 0
expect_not_in err check:
cat >right.yaml <<YAML
version: "1.0"
agent: {name: right}
nodes: [{id: right, type: test.right}]
edges: [{from: START, to: right}, {from: right, to: END}]
YAML
run tenon run right.yaml --plugins wrongs.so --check-plugins --allow-drafts
expect_code 0
expect_not_in err check:
wrong twice "ends a task with complete that has already ended"
wrong thread "calls read from the wrong thread"
wrong hold "blocks the loop in start"
wrong leak "has not released 2 values that it has taken"
wrong late "passes count a value that was lent for a call that has ended"
wrong result "passes count a value that was lent for a call that has ended"

# Outputs, chunks and errors have the shapes of sdk/schema/component/1.
shape="violates the shape of a payload: node \`test.wrong\`"
wrong output "$shape completes with an invalid output: at \`/goto\`: found the number 7, expected a string or an array; see \`tenon schema node\`" 1 # as every node that names no node
wrong chunk "$shape emits an invalid chunk: at \`/messages/content\`: found the number 7, expected a string"
wrong error "$shape fails with an invalid error: at \`/code\`: " 1
wrong no_error "$shape fails with an invalid error: no value is the same as null: found null, expected an object; see \`tenon schema error\`" 1

wrong_model() { # MODEL FINDING
    cat >model.yaml <<YAML
version: "1.0"
agent: {name: wrong}
models: {default: {provider: test.wrong_model, model: $1}}
channels: [{name: messages, type: reduce, reducer: messages}]
nodes: [{id: ask, type: llm}]
edges: [{from: START, to: ask}, {from: ask, to: END}]
YAML
    run tenon run model.yaml --input '{"messages": "hello"}' --stream all --plugins wrongs.so --check-plugins
    expect_code "${3:-4}"
    [ -z "$2" ] || expect_in err "check: plugin \`test.wrongs\` violates the shape of a payload: model \`test.wrong_model\` $2"
    [ "$(grep -c 'check:' "$work/err")" = "${4:-1}" ] || fails "expected ${4:-1} findings"
}
wrong_model nothing "" 0 0
wrong_model delta "emits an invalid chunk: none of the 6 alternatives"
wrong_model role "completes with an invalid output: at \`/message\`: missing property \`type\`"
wrong_model reason "completes with an invalid output: at \`/finish_reason\`: "

# Without check mode there are no findings.
document leak
run tenon run wrong.yaml --plugins wrongs.so
expect_code 0
expect_not_in err check:

# The bundled plugins and the samples keep the contract.
run tenon run "$SOURCE/samples/hello/hello.yaml" --check-plugins
expect_code 0
expect_not_in err check:
