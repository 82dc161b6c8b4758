/*
 * guard_interfaces.c - the host's interfaces as a plugin in check mode gets them: values, memory, tasks, expressions,
 * HTTP, dynamic components.
 *
 * Each wrapped function checks the values that are passed in, counts the references that are returned, and calls the
 * real function. An interface that neither takes nor returns values is not wrapped. guard_calls.c has tenon.state,
 * tenon.document and tenon.tool, guard_host.c has tenon.host.
 */
#include "adl/value/memory.h"
#include "adl/value/value.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/conformance/guard.h"
#include "host/plugin/conformance/guard_internal.h"
#include <assert.h>
#include <string.h>

#define GUARD_INTERFACES_MAX 32u

/*
 * The wrapped table. Process-wide because the wrapped functions get no pointer to it; filled by the first call of
 * guard_table.
 */
static struct {
    const tn_http_1 *http; /* the interface behind the wrapped one */
    tn_http_1 wrapped_http;
    tn_value_1 value;
    tn_task_1 task;
    tn_eval_1 eval;
    tn_core_1 core;
    tn_registry_1 registry;
    struct registry_interface rows[GUARD_INTERFACES_MAX];
} guard_interfaces;

/* ---- tn_value_1 ---- */

static tn_value guard_value_retain(tn_value value) {
    guard_check_value(value, "retain");
    return guard_take_reference(interface_value.retain(value));
}

static void guard_value_release(tn_value value) {
    guard_check_value(value, "release");
    guard_drop_reference(value);
    interface_value.release(value);
}

#define GUARD_READER(type, name, value_argument, parameters, arguments)                                                \
    static type guard_value_##name parameters {                                                                        \
        guard_check_value(value_argument, #name);                                                                      \
        return interface_value.name arguments;                                                                         \
    }
/* A function that stores a new value in *out. */
#define GUARD_MAKER(name, parameters, arguments)                                                                       \
    static int32_t guard_value_##name parameters {                                                                     \
        return guard_take_result(interface_value.name arguments, out, NULL);                                           \
    }
/* An edit: it takes the reference that *value had, and stores another one. */
#define GUARD_EDIT(name, item_argument, parameters, arguments)                                                         \
    static int32_t guard_value_##name parameters {                                                                     \
        guard_check_value(value ? *value : NULL, #name);                                                               \
        guard_check_value(item_argument, #name);                                                                       \
        tn_value before = value ? *value : NULL;                                                                       \
        if (value) guard_drop_reference(before);                                                                       \
        int32_t status = interface_value.name arguments;                                                               \
        if (value) (void)guard_take_reference(*value);                                                                 \
        return status;                                                                                                 \
    }

GUARD_READER(int32_t, kind, value, (tn_value value), (value))
GUARD_READER(int32_t, as_bool, value, (tn_value value, int32_t *out), (value, out))
GUARD_READER(int32_t, as_int, value, (tn_value value, int64_t *out), (value, out))
GUARD_READER(int32_t, as_double, value, (tn_value value, double *out), (value, out))
GUARD_READER(const char *, as_text, value, (tn_value value, uint64_t *length), (value, length))
GUARD_READER(const void *, as_bytes, value, (tn_value value, uint64_t *length), (value, length))
GUARD_READER(uint64_t, count, value, (tn_value value), (value))
GUARD_READER(tn_value, at, value, (tn_value value, uint64_t index), (value, index))
GUARD_READER(tn_value, get, value, (tn_value value, const char *key, uint64_t length), (value, key, length))
GUARD_READER(int32_t, entry, value, (tn_value value, uint64_t index, tn_value *key, tn_value *out),
             (value, index, key, out))
GUARD_READER(int32_t, equal, value, (tn_value value, tn_value other), (value, other))
GUARD_MAKER(make_double, (const tn_host *host, double number, tn_value *out), (host, number, out))
GUARD_MAKER(make_text, (const tn_host *host, const char *text, uint64_t length, tn_value *out),
            (host, text, length, out))
GUARD_MAKER(make_bytes, (const tn_host *host, const void *bytes, uint64_t length, tn_value *out),
            (host, bytes, length, out))
GUARD_EDIT(set, item, (tn_value * value, const char *key, uint64_t length, tn_value item), (value, key, length, item))
GUARD_EDIT(remove, NULL, (tn_value * value, const char *key, uint64_t length), (value, key, length))
GUARD_EDIT(append, item, (tn_value * value, tn_value item), (value, item))
GUARD_EDIT(splice, items, (tn_value * value, uint64_t index, uint64_t count, tn_value items),
           (value, index, count, items))
GUARD_EDIT(concat, more, (tn_value * value, tn_value more), (value, more))

static int32_t guard_value_slice(tn_value value, uint64_t index, uint64_t count, tn_value *out) {
    guard_check_value(value, "slice");
    return guard_take_result(interface_value.slice(value, index, count, out), out, NULL);
}

static tn_value guard_value_make_int(const tn_host *host, int64_t number) {
    return guard_take_reference(interface_value.make_int(host, number));
}

static void guard_value_add(tn_builder *builder, tn_value value) {
    guard_check_value(value, "add");
    interface_value.add(builder, value);
}

static int32_t guard_value_finish(tn_builder *builder, tn_value *out, tn_value *error) {
    return guard_take_result(interface_value.finish(builder, out, error), out, error);
}

static int32_t guard_value_from_json(const tn_host *host, const char *json, uint64_t length, tn_value *out,
                                     tn_value *error) {
    return guard_take_result(interface_value.from_json(host, json, length, out, error), out, error);
}

static int32_t guard_value_to_json(tn_value value, tn_value options, tn_value *out) {
    guard_check_value(value, "to_json");
    return guard_take_result(interface_value.to_json(value, options, out), out, NULL);
}

/* ---- tn_core_1 ---- */

static void *guard_core_alloc(const tn_host *host, uint64_t size) {
    return guard_allocation_fails() ? NULL : interface_core.alloc(host, size);
}

static void *guard_core_resize(const tn_host *host, void *memory, uint64_t size) {
    return guard_allocation_fails() ? NULL : interface_core.resize(host, memory, size);
}

static int32_t guard_core_refuse(const tn_host *host, tn_value error) {
    guard_check_value(error, "refuse");
    return interface_core.refuse(host, error);
}

/* ---- tn_task_1 ---- */

static int32_t guard_task_complete(tn_task task, tn_value output) {
    guard_check_value(output, "complete");
    guard_check_output(task, output);
    return guard_check_end(task, interface_task.complete(task, output), "complete");
}

static int32_t guard_task_fail(tn_task task, tn_value error) {
    guard_check_value(error, "fail");
    guard_check_error(task, error);
    return guard_check_end(task, interface_task.fail(task, error), "fail");
}

static int32_t guard_task_interrupt(tn_task task, tn_value payload, tn_value schema, tn_value continuation) {
    guard_check_value(payload, "interrupt");
    return guard_check_end(task, interface_task.interrupt(task, payload, schema, continuation), "interrupt");
}

static int32_t guard_task_emit(tn_task task, tn_value chunk) {
    guard_check_value(chunk, "emit");
    guard_check_chunk(task, chunk);
    return interface_task.emit(task, chunk);
}

static int32_t guard_task_context(tn_task task, tn_value *out) {
    int32_t status = guard_check_wait(interface_task.context(task, out), "context", out, NULL);
    if (status == TN_OK) guard_check_context(task, *out);
    return status;
}

static int32_t guard_task_read(tn_task task, uint32_t index, tn_value *out) {
    return guard_check_wait(interface_task.read(task, index, out), "read", out, NULL);
}

static int32_t guard_task_write(tn_task task, uint32_t index, tn_value value) {
    guard_check_value(value, "write");
    return interface_task.write(task, index, value);
}

static int32_t guard_task_call(tn_task task, uint32_t callee, tn_value input, tn_value options, tn_call_handler handler,
                               void *user, tn_call *call) {
    guard_check_value(input, "call");
    void *callback = guard_callback_new(handler, user);
    return guard_check_call(
        interface_task.call(task, callee, input, options, guard_callback_handler(handler), callback, call), "call",
        callback);
}

static int32_t guard_task_cancel_call(tn_task task, tn_call call) {
    return guard_check_wait(interface_task.cancel_call(task, call), "cancel_call", NULL, NULL);
}

static int32_t guard_task_resume_call(tn_task task, tn_call call) {
    return guard_check_wait(interface_task.resume_call(task, call), "resume_call", NULL, NULL);
}

static int32_t guard_task_call_wait(tn_task task, uint32_t callee, tn_value input, tn_value options, tn_value *out,
                                    tn_value *error) {
    guard_check_value(input, "call_wait");
    return guard_check_wait(interface_task.call_wait(task, callee, input, options, out, error), "call_wait", out,
                            error);
}

/* ---- tenon.eval ---- */

static int32_t guard_eval_evaluate(tn_task task, uint32_t expression, tn_value item, tn_value *out, tn_value *error) {
    return guard_take_result(interface_eval.evaluate(task, expression, item, out, error), out, error);
}

static int32_t guard_eval_render(tn_task task, uint32_t text, tn_value variables, tn_value *out, tn_value *error) {
    return guard_take_result(interface_eval.render(task, text, variables, out, error), out, error);
}

static int32_t guard_eval_validate(tn_task task, uint32_t schema, tn_value instance, tn_value *error) {
    return guard_take_result(interface_eval.validate(task, schema, instance, error), NULL, error);
}

/* ---- tenon.http ---- */

static int32_t guard_http_send_wait(const tn_host *host, tn_task task, tn_value request, tn_value *out,
                                    tn_value *error) {
    guard_check_value(request, "send_wait");
    return guard_check_wait(guard_interfaces.http->send_wait(host, task, request, out, error), "send_wait", out, error);
}

static int32_t guard_http_send(const tn_host *host, tn_value request, tn_http_handler handler, void *user,
                               uint64_t *exchange) {
    guard_check_value(request, "send");
    return guard_check_wait(guard_interfaces.http->send(host, request, handler, user, exchange), "send", NULL, NULL);
}

/* ---- tenon.registry ---- */

static int32_t guard_registry_add(const tn_host *host, tn_value component, tn_value *error) {
    guard_check_value(component, "add");
    return guard_take_result(interface_registry.add(host, component, error), NULL, error);
}

/* ---- The table ---- */

const struct registry_interface *guard_table(const struct registry_interface *interfaces) {
    tn_value_1 *value = &guard_interfaces.value;
    tn_task_1 *task = &guard_interfaces.task;
    tn_eval_1 *eval = &guard_interfaces.eval;
    tn_core_1 *core = &guard_interfaces.core;
    struct registry_interface *rows = guard_interfaces.rows;
    if (rows[0].id) return rows;
    *value = interface_value;
    value->retain = guard_value_retain, value->release = guard_value_release, value->kind = guard_value_kind,
    value->as_bool = guard_value_as_bool;
    value->as_int = guard_value_as_int, value->as_double = guard_value_as_double, value->as_text = guard_value_as_text,
    value->as_bytes = guard_value_as_bytes;
    value->count = guard_value_count, value->at = guard_value_at, value->get = guard_value_get,
    value->entry = guard_value_entry, value->equal = guard_value_equal;
    value->make_int = guard_value_make_int, value->make_double = guard_value_make_double,
    value->make_text = guard_value_make_text;
    value->make_bytes = guard_value_make_bytes, value->append = guard_value_append, value->set = guard_value_set,
    value->remove = guard_value_remove, value->splice = guard_value_splice, value->concat = guard_value_concat;
    value->slice = guard_value_slice, value->add = guard_value_add;
    value->finish = guard_value_finish, value->from_json = guard_value_from_json, value->to_json = guard_value_to_json;
    *task = interface_task;
    task->complete = guard_task_complete, task->fail = guard_task_fail, task->interrupt = guard_task_interrupt,
    task->emit = guard_task_emit;
    task->context = guard_task_context, task->read = guard_task_read, task->write = guard_task_write,
    task->call = guard_task_call;
    task->cancel_call = guard_task_cancel_call, task->resume_call = guard_task_resume_call;
    task->call_wait = guard_task_call_wait;
    *core = interface_core;
    core->alloc = guard_core_alloc, core->resize = guard_core_resize, core->refuse = guard_core_refuse;
    *eval = interface_eval;
    eval->evaluate = guard_eval_evaluate, eval->render = guard_eval_render, eval->validate = guard_eval_validate;
    guard_interfaces.registry = interface_registry;
    guard_interfaces.registry.add = guard_registry_add;
    size_t count = 0;
    for (const struct registry_interface *row = interfaces; row->id; row++, count++) {
        assert(count + 1 < GUARD_INTERFACES_MAX);
        rows[count] = *row;
        if (row->vtable == &interface_value) rows[count].vtable = value;
        if (row->vtable == &interface_task) rows[count].vtable = task;
        if (row->vtable == &interface_core) rows[count].vtable = core;
        if (row->vtable == &interface_eval) rows[count].vtable = eval;
        if (row->vtable == &interface_registry) rows[count].vtable = &guard_interfaces.registry;
        if (row->vtable == &interface_tool) rows[count].vtable = &guard_tool;
        if (strcmp(row->id, TN_STATE_DRAFT) == 0) {
            guard_wrapped_state = row->vtable;
            rows[count].vtable = &guard_state;
        }
        if (strcmp(row->id, TN_DOCUMENT_DRAFT) == 0) {
            guard_wrapped_document = row->vtable;
            rows[count].vtable = &guard_document;
        }
        if (strcmp(row->id, TN_HOST_1) == 0) {
            guard_wrapped_host = row->vtable;
            rows[count].vtable = &guard_host;
        }
        if (strcmp(row->id, TN_SERVER_DRAFT) == 0) {
            guard_wrapped_server = row->vtable;
            rows[count].vtable = &guard_server;
        }
        if (strcmp(row->id, TN_HTTP_1) == 0) {
            tn_http_1 *http = &guard_interfaces.wrapped_http;
            guard_interfaces.http = row->vtable;
            *http = *guard_interfaces.http;
            http->send = guard_http_send, http->send_wait = guard_http_send_wait;
            rows[count].vtable = http;
        }
    }
    return rows;
}
