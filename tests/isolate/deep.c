/*
 * deep.c - a plugin that sends and receives values that are nested deeply, for tests/e2e/isolated_depth.sh, which
 * builds it twice, with two names.
 */
#include <stdio.h>
#include <string.h>
#include <tenon/easy.h>
#include <unistd.h>

TN_PLUGIN("test.deep", "1.0.0", "Nests values")

/* An array in an array in an array …: `levels` arrays. */
static tn_value nested(int64_t levels) {
    tn_value value = tn_int(1);
    for (int64_t i = 0; i < levels; i++) {
        tn_builder *builder = tn_builder_new();
        tn.value->begin(builder, TN_ARRAY);
        tn.value->add(builder, value);
        tn.value->end(builder);
        tn_release(value);
        value = tn_finish(builder);
    }
    return value;
}

static tn_value in_object(const char *key, tn_value value) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_take(builder, key, value);
    tn.value->end(builder);
    return tn_finish(builder);
}

/* {"how": …, "levels": N}: how it sends N levels. Completes with its process id. */
static int32_t fail_with_detail(tn_task task, tn_value detail) {
    tn_value error = tn_error("OWN", "its own error");
    int32_t status = tn.value->set(&error, "detail", TN_Z, detail);
    if (status == TN_OK) status = tn.task->fail(task, error);
    tn_release(error);
    return status;
}

TN_NODE_BLOCKING(act, "deep.act", "Nests.", TN_EFFECTS("calls.tool:deep.echo"), (READ, how, "{how, levels}"),
                 (READ_OPT, data, "anything"), (TOOL_OPT, tool, "a tool"), (WRITE, out, "the nested value"),
                 (WRITE, pid, "the process")) {
    tn_value asked = tn_read(task, config->how), result = NULL, error = NULL;
    const char *how = tn_get_text(asked, "how", "");
    tn_value value = nested(tn_get_int(asked, "levels", 0));
    int32_t status = tn_write_int(task, config->pid, getpid());
    if (strcmp(how, "write") == 0)
        status = tn_write(task, config->out, value);
    else if (strcmp(how, "emit") == 0)
        status = tn.task->emit(task, value);
    else if (strcmp(how, "fail") == 0)
        status = fail_with_detail(task, value);
    else if (strcmp(how, "interrupt") == 0)
        status = tn.task->interrupt(task, value, NULL, NULL);
    else if (strcmp(how, "call") == 0)
        status = tn.task->call_wait(task, config->tool, in_object("value", tn_retain(value)), NULL, &result, &error);
    if (status == TN_FAILED && error) {
        (void)tn_fail(task, "CALLED", tn_get_text(error, "code", "?"));
        status = TN_OK;
    } else if (status == TN_OK && strcmp(how, "fail") != 0 && strcmp(how, "interrupt") != 0) {
        status = tn_done(task);
    }
    tn_release(result);
    tn_release(error);
    tn_release(value);
    tn_release(asked);
    return status == TN_STALE ? TN_OK : status; /* TN_STALE: the task has failed, because a chunk was too deep */
}

TN_TOOL(echo, "deep.echo", "Returns its input.", TN_PURE, (VALUE, value, "anything")) {
    return tn_done_value(task, args->value);
}
