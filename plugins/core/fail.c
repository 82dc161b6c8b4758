/*
 * fail.c - `fail`: ends the node with an error that the document defines. The run fails with it, unless `on_error` or
 * `retry` of the node handles it.
 */
#include "core.h"

struct fail {
    const char *code; /* borrowed from the configuration */
    uint32_t message;
    tn_value more;
};

static void fail_destroy(void *self) {
    struct fail *fail = self;
    tn_release(fail->more);
    core_release(fail);
}

static int32_t fail_create(tn_value config, tn_binder *binder, void **self) {
    int32_t status = core_require_interface(tn.eval, binder, TN_EVAL_DRAFT), retryable = 0;
    if (status != TN_OK) return status;
    struct fail *fail = core_alloc_zeroed(sizeof(*fail));
    if (fail == NULL) return TN_NO_MEMORY;
    fail->code = tn_get_text(config, "code", "FAILED");
    status = tn.eval->bind_template(binder, tn_get_text(config, "message", ""), &fail->message);
    (void)tn.value->as_bool(tn.value->get(config, "retryable"), &retryable);
    tn_builder *more = tn.value->builder();
    tn.value->begin(more, TN_OBJECT);
    tn_put_bool(more, "retryable", retryable);
    tn_value after = tn.value->get(config, "retry_after_ms");
    if (after != NULL) tn_put(more, "retry_after_ms", after);
    tn.value->end(more);
    fail->more = tn.value->finish(more);
    if (status == TN_OK)
        *self = fail;
    else
        fail_destroy(fail);
    return status;
}

static int32_t fail_start(void *self, tn_task task, tn_value input) {
    const struct fail *fail = self;
    (void)input;
    tn_value message = tn_render(task, fail->message, NULL);
    if (message == NULL) return TN_FAILED; /* the task has already failed, with the error of the template */
    (void)tn.task->fail(task, fail->code, tn_chars(message, NULL), fail->more);
    tn_release(message);
    return TN_OK;
}

TN_COMPONENT(fail, "fail", fail_create, fail_start, NULL, NULL, fail_destroy)
