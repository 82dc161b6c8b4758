# The key is in the context of a plugin's task: in the process of the host, isolated, and in a program.
cat >key.c <<'C'
#include <tenon/easy.h>
TN_PLUGIN("test.key", "1.0.0", "Shows keys")
TN_TOOL_BLOCKING(show, "key.show", "Returns the key of the call.", TN_EFFECTS("destructive"), (TEXT, text, "any")) {
    tn_value context = tn_context(task), key = tn_get(context, "task_id");
    int32_t status = tn.task->complete(task, key);
    (void)args;
    tn_release(context);
    return status;
}
C
"$CC" -shared -fPIC -fvisibility=hidden -I"$SOURCE/sdk/include" -o key.so key.c 2>"$work/log" ||
    { cat "$work/log" >&2; fails "key.c does not compile"; }
# expect_keys TOOL ARGUMENTS OPTION…: the tool returns another key for each call, or the given one
expect_keys() {
    local tool=$1 given=$2
    shift 2
    took tenon tool call "$tool" "$given" --yes --json "$@"
    took tenon tool call "$tool" "$given" --yes --json "$@"
    run tenon tool call "$tool" "$given" --yes --idempotency-key order-17 "$@"
    expect_out order-17
}
expect_keys key.show '{"text": "x"}' --plugins ./key.so
expect_keys key.show '{"text": "x"}' --plugins ./key.so --isolate test.key
if command -v python3 >/dev/null; then
    cp "$SOURCE/samples/python/wordcount.py.tenon.json" .
    sed 's/title(task, input\["text"\])/title(task, context["task_id"])/; s/, reads=None, \*\*_/, reads=None, context=None, **_/; s/text\.title()/text/' \
        "$SOURCE/samples/python/wordcount.py" >wordcount.py
    chmod +x wordcount.py
    expect_keys words.title '{"text": "x"}' --plugins ./wordcount.py
fi
expect_different "${all[@]}"
