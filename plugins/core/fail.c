/*
 * fail.c - `fail`: ends the node with an error that the document defines. The run fails with it, unless `on_error` or
 * `retry` of the node handles it.
 */
#include "core.h"

struct fail {
    const char *code; /* borrowed from the configuration, as `retry_after_ms` */
    uint32_t message; /* TN_UNBOUND with `error` */
    uint32_t error;   /* an expression; TN_UNBOUND with `message` */
    int32_t retryable;
    tn_value retry_after_ms; /* may be NULL */
};

static int32_t fail_create(tn_value config, tn_binder *binder, void **self) {
    struct fail *fail = core_alloc_zeroed(sizeof(*fail));
    if (fail == NULL) return TN_NO_MEMORY;
    fail->code = tn_get_text(config, "code", "FAILED");
    fail->retry_after_ms = tn_get(config, "retry_after_ms");
    (void)tn.value->as_bool(tn_get(config, "retryable"), &fail->retryable);
    const char *error = tn_get_text(config, "error", NULL);
    fail->message = fail->error = TN_UNBOUND;
    int32_t status = error != NULL
                         ? tn.eval->bind_expression(binder, error, TN_Z, &fail->error)
                         : tn.eval->bind_template(binder, tn_get_text(config, "message", ""), TN_Z, &fail->message);
    if (status == TN_OK)
        *self = fail;
    else
        core_release(fail);
    return status;
}

/* Fails with an error that another node had: a member of `state.error`. */
static int32_t fail_again(const struct fail *fail, tn_task task) {
    tn_value error = tn_evaluate(task, fail->error);
    if (error == NULL) return TN_FAILED; /* the task has already failed */
    if (tn_get_text(error, "code", "")[0] != '\0' && tn_get_text(error, "message", "")[0] != '\0')
        return tn_fail_take(task, error);
    tn_release(error);
    return tn_fail(task, "TYPE", "`error` did not return an object with `code` and `message`");
}

static int32_t fail_start(void *self, tn_task task, tn_value input) {
    const struct fail *fail = self;
    (void)input;
    if (fail->error != TN_UNBOUND) return fail_again(fail, task);
    tn_value message = tn_render(task, fail->message, NULL);
    if (message == NULL) return TN_FAILED; /* the task has already failed, with the error of the template */
    return tn_fail_take(task, tn_build("{s:s,s:V,s:b,s:v*}", "code", fail->code, "message", message, "retryable",
                                       fail->retryable, "retry_after_ms", fail->retry_after_ms));
}

TN_COMPONENT(fail, "fail", fail_create, fail_start, NULL, NULL, core_release)
