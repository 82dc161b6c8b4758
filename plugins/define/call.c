/*
 * call.c - calls of defined tools that are implemented by another tool, a document or an HTTP request.
 */
#include "call.h"
#include "answer.h"
#include "fill.h"
#include "idempotency.h"
#include <tenon/util/build.h>

const tn_http_1 *define_http;
const tn_poll_1 *define_poll;
const tn_graph_draft *define_graph;
const tn_launch_draft *define_launch;
static struct call *running_calls;

/* ---- Instances ---- */

static int32_t define_bind_callee(const struct definition *definition, tn_binder *binder, uint32_t *callee) {
    switch (definition->implementation) {
    case BY_TOOL:
        return tn.task->bind_call(binder, "tool", TN_Z, tn_get_text(definition->value, "tool", ""), TN_Z, NULL, callee);
    case BY_DOCUMENT: return define_graph->bind_document(binder, tn_chars(definition->document, NULL), TN_Z, callee);
    case BY_HTTP:
        return define_http != NULL ? TN_OK : tn_refuse("UNSUPPORTED", "this host does not offer HTTP to plugins");
    default:
        return define_poll != NULL && define_launch != NULL
                   ? TN_OK
                   : tn_refuse("UNSUPPORTED", "this host does not start or watch programs for plugins");
    }
}

int32_t define_call_create(const struct definition *definition, tn_binder *binder, void **self) {
    uint32_t callee = 0;
    int32_t status = define_bind_callee(definition, binder, &callee);
    if (status != TN_OK) return status;
    struct instance *instance = tn.core->alloc(tn.host, sizeof(*instance));
    if (instance == NULL) return TN_NO_MEMORY;
    *instance = (struct instance){definition, callee};
    *self = instance;
    return TN_OK;
}

void define_call_destroy(void *instance) { tn.core->release(tn.host, instance); }

/* ---- Calls ---- */

static void define_call_free(struct call *call) {
    *(call->previous != NULL ? &call->previous->next : &running_calls) = call->next;
    if (call->next != NULL) call->next->previous = call->previous;
    tn.core->release(tn.host, call);
}

void define_call_complete(struct call *call, tn_value output) {
    tn_value result = definition_select_result(call->definition, output);
    if (result != NULL)
        (void)tn.task->complete(call->task, result);
    else
        (void)tn_fail(call->task, "NO_MEMORY", "not enough memory for the result");
    tn_release(result);
    define_call_free(call);
}

void define_call_fail(struct call *call, const char *code, const char *message) {
    (void)tn_fail(call->task, code, message);
    define_call_free(call);
}

void define_call_fail_with(struct call *call, tn_value error) {
    (void)tn_fail_with(call->task, error);
    define_call_free(call);
}

/* ---- Tools and documents ---- */

static int32_t on_callee_ended(void *user, int32_t status, tn_value result) {
    struct call *call = user;
    if (status == TN_OK)
        define_call_complete(call, result);
    else if (status == TN_FAILED)
        define_call_fail_with(call, result);
    else
        define_call_fail(call, "CANCELLED", "the call was cancelled");
    return TN_OK;
}

static int32_t define_call_start_callee(const struct instance *instance, struct call *call, tn_value input) {
    tn_value arguments = call->definition->arguments,
             callee_input = arguments != NULL ? fill_template(arguments, input) : tn_retain(input);
    int32_t status = callee_input != NULL
                         ? tn.task->call(call->task, instance->callee, callee_input, NULL, on_callee_ended, call, NULL)
                         : TN_NO_MEMORY;
    tn_release(callee_input);
    return status;
}

/* ---- Requests ---- */

static const char *request_method(tn_value http) {
    bool sends = tn_get(http, "body") != NULL || tn_get(http, "json") != NULL;
    return tn_get_text(http, "method", sends ? "POST" : "GET");
}

static void on_define_http_event(void *user, int32_t event, tn_value value) {
    struct call *call = user;
    if (event == TN_HTTP_FAILED) {
        define_call_fail_with(call, value);
        return;
    }
    if (event != TN_HTTP_END) return;
    int64_t status = tn_get_int(value, "status", 0);
    if (status < 200 || status > 299) {
        tn_value http = tn_get(call->definition->value, "http");
        answer_fail_task(call->task, request_method(http), tn_get_text(http, "url", ""), value);
        define_call_free(call);
        return;
    }
    tn_value body = answer_read_body(value);
    if (body != NULL)
        define_call_complete(call, body);
    else
        define_call_fail(call, "NO_MEMORY", "not enough memory for the answer");
    tn_release(body);
}

/* Adds the idempotency key, unless the description sets this header itself. Takes `headers`, which may be NULL. */
static tn_value add_idempotency_key_take(tn_value headers, tn_value http, tn_task task) {
    tn_value configured = tn_get(http, "idempotency_header"), key;
    const char *name = idempotency_header_name(configured);
    if (!idempotency_applies(configured, request_method(http)) || headers_have(headers, name)) return headers;
    key = idempotency_key(task);
    if (key == NULL) return headers;
    return tn_set_take(headers != NULL ? headers : tn_build("{}"), name, key);
}

static tn_value define_make_request(tn_value http, tn_value input, tn_task task) {
    static const char *const members[] = {"query", "body"};
    tn_value headers = tn_get(http, "headers");
    tn_builder *out = tn_builder_new();
    tn_value json = tn_get(http, "json");
    tn.value->begin(out, TN_OBJECT);
    tn_put_take(out, "url", fill_url(tn_get_text(http, "url", ""), input));
    if (tn_get(http, "method") != NULL) tn_put(out, "method", tn_get(http, "method"));
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        tn_value member = tn_get(http, members[i]);
        if (member != NULL) tn_put_take(out, members[i], fill_request_template(member, input));
    }
    headers = headers != NULL ? fill_request_template(headers, input) : NULL;
    headers = add_idempotency_key_take(headers, http, task);
    if (headers != NULL) tn_put_take(out, "headers", headers);
    if (json != NULL) tn_put_take(out, "json", fill_template(json, input));
    tn_put_int(out, "max_bytes", tn_get_int(http, "max_bytes", 1 << 20));
    tn_put_begin(out, "timeout", TN_OBJECT);
    tn_put_int(out, "total_ms", tn_get_int(http, "timeout_ms", 60000));
    tn.value->end(out);
    tn.value->end(out);
    return tn_finish(out);
}

static int32_t define_call_start_request(struct call *call, tn_value input) {
    tn_value request = define_make_request(tn_get(call->definition->value, "http"), input, call->task);
    int32_t status = request != NULL ? define_http->send(tn.host, request, on_define_http_event, call, &call->exchange)
                                     : TN_NO_MEMORY;
    tn_release(request);
    return status;
}

/* ---- The component ---- */

int32_t define_call_start(void *self, tn_task task, tn_value input) {
    const struct instance *instance = self;
    struct call *call = tn.core->alloc(tn.host, sizeof(*call));
    int32_t status;
    if (call == NULL) return TN_NO_MEMORY;
    *call = (struct call){.next = running_calls, .definition = instance->definition, .task = task};
    if (running_calls != NULL) running_calls->previous = call;
    running_calls = call;
    switch (instance->definition->implementation) {
    case BY_HTTP: status = define_call_start_request(call, input); break;
    case BY_COMMAND: status = command_start(call, input); break;
    default: status = define_call_start_callee(instance, call, input); break;
    }
    if (status != TN_OK) define_call_free(call);
    return status;
}

void define_call_cancel(void *self, tn_task task) {
    struct call *call = running_calls;
    (void)self;
    while (call != NULL && call->task != task) call = call->next;
    if (call == NULL) return;
    switch (call->definition->implementation) {
    case BY_HTTP:
        (void)define_http->cancel(tn.host, call->exchange);
        define_call_fail(call, "CANCELLED", "the call was cancelled");
        break;
    case BY_COMMAND: command_cancel(call); break;
    default: break; /* the host cancels the callee too; on_callee_ended ends the call */
    }
}
