# tenon.ffi: a document calls SQLite, zlib and libm in a separate process; mistakes in the configuration.
ffi="$BINARY/lib/tenon/plugins/ffi.so"

run tenon plugin check --allow-drafts "$ffi"
expect_code 0

# A plugin with a node that calls a tool.
cat >ask.c <<'SOURCE'
#include <tenon/easy.h>
TN_PLUGIN("test.ask", "1.0.0", "Calls a tool")
TN_NODE_BLOCKING(ask, "test.ask", "Calls a tool", TN_PURE, (TOOL, tool, "which"), (VALUE, arguments, "what it gets"),
                 (WRITE, output_key, "where its result goes")) {
    tn_value result = NULL, error = NULL;
    int32_t status = tn.task->call_wait(task, config->tool, config->arguments, NULL, &result, &error);
    if (status == TN_OK) return tn_done_written(task, tn_write_take(task, config->output_key, result));
    return status == TN_FAILED ? tn_fail_take(task, error) : status;
}
SOURCE
"$CC" -shared -fPIC -fvisibility=hidden -I"$SOURCE/sdk/include" -o ask.so ask.c || fails "ask.c does not compile"

cp "$SOURCE"/samples/ffi/*.yaml .
document() { # tool, arguments
    echo 'version: "1.0"'
    echo "channels: [{name: r, type: last_value}]"
    echo "nodes: [{id: a, type: test.ask, config: {tool: $1, arguments: $2, output_key: r}}]"
    echo "edges: [{from: START, to: a}, {from: a, to: END}]"
}
document libm.pow '{x: 2, y: 10}' >pow.yaml
run tenon run --allow-drafts --plugins ask.so pow.yaml
expect_code 0
expect_in out '"r":{"result":1024.0}'

document zlib.crc32 '{data: hello}' >crc.yaml
run tenon run --allow-drafts --plugins ask.so crc.yaml
expect_in out '"r":{"crc":907060870}'

document libm.sqrt '{x: -1}' >failing.yaml
run tenon run --allow-drafts --plugins ask.so failing.yaml
expect_code 1 && expect_in err "[FUNCTION_FAILED]"
expect_in err "sqrt failed: Numerical argument out of domain (EDOM)"

# `tenon check` knows the tools that only the running plugin knows, and reports those that it does not have.
run tenon check --allow-drafts --plugins ask.so pow.yaml
expect_code 0
document libm.sqtr '{x: 1}' >misspelt.yaml
run tenon check --allow-drafts --plugins ask.so misspelt.yaml
expect_code 3
expect_in err "did you mean \`libm.sqrt\`?"

# The schema finds some mistakes in the section, the plugin finds the others.
cat >tenon.yaml <<'CONFIG'
plugins: {config: {tenon.ffi: {libraries: [{name: m, library: libm.so.6, functions: [{name: sqrt, retuns: double}]}]}}}
CONFIG
run tenon run --allow-drafts --plugins ask.so pow.yaml
expect_code 3
expect_in err "/libraries/0/functions/0"
cat >tenon.yaml <<'CONFIG'
plugins: {config: {tenon.ffi: {libraries: [{name: m, library: libm.so.6, functions: [{name: sqrtt}]}]}}}
CONFIG
run tenon run --allow-drafts --plugins ask.so pow.yaml
expect_code 3
expect_in err "has no function \`sqrtt\`; did you mean \`sqrt"
