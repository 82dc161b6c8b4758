/*
 * call.c - one call of a tool: its arguments are posted to the service, and the answer is the result.
 *
 * The host has validated the arguments. The request carries the task's id as its idempotency key: the service can
 * detect a call that is repeated because the host was killed.
 */
#include "source.h"

#define QUOTE_MAX 300 /* bytes of the service's message */

struct call {
    struct call *next;
    tn_task task;
    uint64_t exchange;
};
static struct call *calls;

static void call_free(struct call *call) {
    struct call **at = &calls;
    while (*at != call) at = &(*at)->next;
    *at = call->next;
    tn.core->release(tn.host, call);
}

static int32_t call_fail(tn_task task, int64_t status, tn_value body) {
    uint64_t length = 0;
    const char *reason = tn_chars(tn_get(body, "error"), &length);
    struct tn_text_buffer message = TN_TEXT_BUFFER(1000);
    tn_text_append_format(&message, "%s: the tool failed (status %lld)", source.name, (long long)status);
    if (reason != NULL) {
        tn_text_append(&message, ": ");
        tn_text_append_n(&message, reason, tn_utf8_cut(reason, length, QUOTE_MAX));
    }
    /* A model sees this message, and can call the tool with other arguments. */
    return tn_fail_take(task, tn_build("{s:s, s:V, s:b}", "code", "TOOL_FAILED", "message", tn_text_finish(&message),
                                       "retryable", status == 429 || status >= 500));
}

static void call_end(tn_task task, tn_value end) {
    int64_t status = tn_get_int(end, "status", 0);
    uint64_t length = 0;
    const char *text = tn.value->as_bytes(tn_get(end, "body"), &length);
    tn_value body = text != NULL ? tn_from_json(text, length) : NULL;
    if (status < 200 || status > 299)
        (void)call_fail(task, status, body);
    else if (body != NULL)
        (void)tn_done_value(task, body);
    else
        (void)tn_fail(task, "INVALID_RESPONSE", "the service sent a result that is not JSON");
    tn_release(body);
}

static void TN_ABI on_answer(void *user, int32_t event, tn_value value) {
    struct call *call = user;
    tn_task task = call->task;
    if (event != TN_HTTP_END && event != TN_HTTP_FAILED) return;
    call_free(call);
    if (event == TN_HTTP_END)
        call_end(task, value);
    else
        (void)tn_fail_with(task, value); /* the host's error, such as CONNECT or TIMEOUT */
}

/* ---- The components ---- */

static int32_t tool_create(const char *id, uint64_t length, tn_value config, tn_binder *binder, void **self) {
    struct tool *tool = tool_retain_by_id(id, length);
    (void)config, (void)binder;
    if (tool == NULL) return tn_refuse("TOOL_NOT_FOUND", "the service does not offer this tool any more");
    *self = tool;
    return TN_OK;
}

static void tool_destroy(void *self) { tool_release(self); }

static int32_t tool_start(void *self, tn_task task, tn_value input) {
    const struct tool *tool = self;
    struct call *call = tn.core->alloc(tn.host, sizeof *call);
    struct tn_text_buffer path = TN_TEXT_BUFFER(1000);
    uint64_t length = 0;
    const char *name = tn_chars(tool->name, &length);
    if (call == NULL) return TN_NO_MEMORY;
    *call = (struct call){.next = calls, .task = task};
    calls = call;
    tn_text_append(&path, "/tools/");
    tn_text_append_percent(&path, name, length, "");
    tn_value context = tn_context(task);
    tn_value request = source_request(tn_text_chars(&path), "whole", input, tn_get(context, "task_id"));
    int32_t status =
        request != NULL ? source.http->send(tn.host, request, on_answer, call, &call->exchange) : TN_INVALID;
    if (status != TN_OK) call_free(call);
    tn_release(request);
    tn_release(context);
    tn_text_free(&path);
    return status;
}

static void tool_cancel(void *self, tn_task task) {
    struct call *call = calls;
    (void)self;
    while (call != NULL && call->task != task) call = call->next;
    if (call == NULL) return;
    (void)source.http->cancel(tn.host, call->exchange);
    call_free(call);
    (void)tn_fail(task, "CANCELLED", "cancelled");
}

TN_DYNAMIC(tool, tool_create, tool_start, tool_cancel, NULL, tool_destroy)
