/* latin.c - passes text in Latin-1 to the host, which accepts only UTF-8. */
#include <tenon/easy.h>

TN_PLUGIN("test.latin", "1.0.0", "Texts that are not UTF-8")

#define LATIN "caf\xe9"

TN_TOOL(result, "test.latin_result", "Returns it.", TN_PURE, (INT_OR, unused, 0, "nothing")) {
    (void)args;
    return tn_done_text(task, LATIN);
}

TN_TOOL_BLOCKING(blocking, "test.latin_blocking", "Returns it from a worker.", TN_PURE,
                 (INT_OR, unused, 0, "nothing")) {
    (void)args;
    return tn_done_text(task, LATIN);
}

TN_TOOL(key, "test.latin_key", "Returns an object with it as a key.", TN_PURE, (INT_OR, unused, 0, "nothing")) {
    (void)args;
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_int(builder, LATIN, 1);
    tn.value->end(builder);
    return tn_done_take(task, tn_finish(builder));
}

TN_TOOL(message, "test.latin_message", "Fails with it.", TN_PURE, (INT_OR, unused, 0, "nothing")) {
    (void)args;
    return tn_fail(task, "BROKEN", LATIN);
}

TN_NODE(write, "test.latin_write", "Writes it.", TN_PURE, (WRITE, out, "the channel")) {
    (void)input;
    return tn_done_written(task, tn_write_text(task, config->out, LATIN));
}
