# A provider that returns malformed results, and completes a call twice.
cat >odd.c <<'C'
#include <tenon/easy.h>
TN_PLUGIN("test.odd", "1.0.0", "A provider that answers oddly")
TN_NOTE_AS(odd_note, "{\"component\": {\"kind\": \"model\", \"id\": \"test.odd\", \"title\": \"Odd\", \"documentation\": \"Odd.\", \"style\": \"async\", \"effects\": [], \"config\": {\"type\": \"object\"}}}");
static int32_t create(tn_value config, tn_binder *binder, void **self) {
    (void)binder;
    *self = (void *)tn.value->retain(tn_get(config, "as"));
    return TN_OK;
}
static int32_t start(void *self, tn_task task, tn_value input) {
    tn_value delta = tn_from_json("{\"content\": \"half an \"}", TN_Z);
    (void)input;
    (void)tn.task->emit(task, delta);
    tn_release(delta);
    (void)tn.task->complete(task, (tn_value)self);
    (void)tn.task->complete(task, (tn_value)self);
    (void)tn_fail(task, "AFTERWARDS", "it has failed as well");
    return TN_OK;
}
static void destroy(void *self) { tn_release((tn_value)self); }
TN_COMPONENT(odd, "test.odd", create, start, NULL, NULL, destroy)
C
flags=
[ -z "$SANITIZE" ] || flags=-fsanitize=$SANITIZE
"$CC" -shared -fPIC $flags -I "$SOURCE/sdk/include" odd.c -o odd.so 2>"$work/err" || fails "odd.c does not compile"
odd() { run tenon model test -P ./odd.so -M "$1"; } # BINDING
for as in 5 '"x"' '{}' '{"message": 1}'; do
    odd "{\"provider\": \"test.odd\", \"as\": $as}"
    expect_code 1 && expect_in err "[INVALID_RESPONSE]" && expect_in err 'the model `test.odd` returned a malformed answer'
    odd "[{\"provider\": \"test.odd\", \"as\": $as}, {\"provider\": \"scripted\", \"replies\": [\"spare\"]}]"
    expect_code 0 && expect_out "$(printf 'half an \nspare')" && expect_in err "is discarded" && expect_in err '`test.odd` failed (INVALID_RESPONSE); falling back to `scripted`'
done
for as in '{"message": {"type": "user", "content": "x"}}' '{"message": {"type": "ai"}}' '{"message": {}}' '{"embeddings": []}' '{"message": {"type": "ai", "content": {}, "tool_calls": 3}, "usage": 7}'; do
    odd "{\"provider\": \"test.odd\", \"as\": $as}"
    expect_code 0
    run tenon model test --json -P ./odd.so -M "{\"provider\": \"test.odd\", \"as\": $as}"
    expect_code 0
done
odd '{"provider": "test.odd", "as": {"message": {"type": "ai", "content": "whole"}, "usage": {"input_tokens": -7, "output_tokens": "many", "cost": -1}}}'
expect_code 0 && expect_in err " 0 out"
