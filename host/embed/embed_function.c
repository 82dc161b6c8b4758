/*
 * embed_function.c - calls a C function as a component: makes its argument, and shapes what it returns.
 *
 * The function returns before its task ends, so a function of the style `async` blocks the loop while it runs. Its
 * chunks wait in the queue of the call, which is emptied afterwards; those of a blocking function are delivered while
 * it runs.
 */
#include "host/embed/embed_function.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/assembly/abi_table.h"
#include "host/base/log.h"
#include "host/plugin/call/call.h"
#include "host/plugin/conformance/payload.h"
#include <stdatomic.h>
#include <string.h>

struct embed_function {
    struct embed_entry entry; /* first */
    enum embed_function_kind kind;
    bool blocking;
    tenon_component_function function;
    void *user;
    void (*destroy)(void *user);
    _Atomic uint32_t running; /* tasks whose function has not returned, on any thread */
};

struct function_instance {
    struct embed_instance instance; /* first */
    tn_value config;
    struct embed_state state; /* nodes and routes */
};

/* One task, while the function runs. */
struct tenon_task {
    const struct embed_function *function;
    tn_task task;
    tn_value config, input; /* borrowed */
    bool emitted;
    char *wrong; /* a model has emitted this, which is not a delta; or NULL */
};

static const tn_task_1 *task_api(void) { return interface_find(TN_TASK_1); }

/* ---- What the function may ask of its task ---- */

tn_value tenon_task_config(tenon_task *task) { return task ? task->config : NULL; }

tn_value tenon_task_item(tenon_task *task) {
    bool node = task && (task->function->kind == FUNCTION_NODE || task->function->kind == FUNCTION_ROUTE);
    return node && task->input && !value_is(task->input, TN_NULL) ? task->input : NULL;
}

tn_value tenon_task_context(tenon_task *task) {
    tn_value context = NULL;
    if (task) (void)task_api()->context(task->task, &context);
    return context;
}

int32_t tenon_task_cancelled(tenon_task *task) { return task ? task_api()->cancelled(task->task) : TN_INVALID; }

/* A text of a model is a piece of the answer. */
static tn_value task_chunk(const tenon_task *task, tn_value chunk) {
    bool text = task->function->kind == FUNCTION_MODEL && value_is(chunk, TN_STRING);
    return text ? value_set_take(value_object_reserve(1), "content", value_ref(chunk)) : value_ref(chunk);
}

int32_t tenon_task_emit(tenon_task *task, tn_value chunk) {
    if (!task || !chunk) return TN_INVALID;
    tn_value made = task_chunk(task, chunk);
    int32_t status;
    char *wrong = task->function->kind == FUNCTION_MODEL ? payload_check("model#chunk", made) : NULL;
    if (wrong) {
        if (!task->wrong) task->wrong = mem_text(wrong);
        mem_free(wrong);
        value_unref(made);
        return TN_INVALID;
    }
    if (task->function->blocking)
        status = task_api()->emit(task->task, made); /* waits while the queue is full */
    else
        status = call_emit(task->task, made);
    value_unref(made);
    task->emitted = true;
    return status == TN_AGAIN ? TN_OK : status;
}

/* ---- Calling ---- */

/* A new reference, or NULL with *failure. An error that the function sets beside an output is dropped. */
static tn_value function_call(tenon_task *task, tn_value argument, tn_value *failure) {
    struct log *log = log_current();
    tn_value error = NULL, output = task->function->function(task->function->user, task, argument, &error);
    log_enter(log); /* the function can have used another host */
    if (output)
        value_unref(error);
    else
        *failure = error;
    return output;
}

/* Calls the function for each write: its argument is {current, update}. */
static tn_value function_reduce(tenon_task *task, tn_value input, tn_value *failure) {
    tn_value writes = value_get(input, "writes"), current = value_ref(value_get(input, "current"));
    for (size_t i = 0, n = value_count(writes); current && i < n; i++) {
        tn_value argument = value_set_take(value_object_reserve(2), "current", current);
        argument = value_set_take(argument, "update", value_ref(value_at(writes, i)));
        current = function_call(task, argument, failure);
        value_unref(argument);
    }
    return current;
}

static tn_value failure_take(const char *code, tn_value message) {
    tn_value failure = value_set_take(value_object_reserve(2), "code", value_text(code));
    return value_set_take(failure, "message", message);
}

static tn_value failure_of(const char *code, const char *message) { return failure_take(code, value_text(message)); }

/* {message, finish_reason, …} from a text, a message, or that. Returns NULL with *failure for anything else. */
static tn_value model_answer_take(tn_value output, tn_value *failure) {
    tn_value answer = output;
    if (value_is(output, TN_STRING)) {
        tn_value message = value_set_take(value_object_reserve(2), "type", value_text("ai"));
        answer = value_set_take(value_object_reserve(2), "message", value_set_take(message, "content", output));
    } else if (value_get(output, "type") || value_get(output, "role")) {
        answer = value_set_take(value_object_reserve(2), "message", output);
    } else if (!value_get(output, "message") && !value_get(output, "embeddings")) {
        value_unref(output);
        *failure = failure_of("INVALID_RESPONSE", "the function of a model must return a text, a message of the type "
                                                  "`ai`, {message, usage?, finish_reason?} or {embeddings, usage?}");
        return NULL;
    }
    tn_value message = value_get(answer, "message");
    if (message && !value_get(answer, "finish_reason"))
        answer = value_set_take(answer, "finish_reason",
                                value_text(value_count(value_get(message, "tool_calls")) ? "tool_calls" : "stop"));
    char *wrong = payload_check("model#output", answer);
    if (!wrong) return answer;
    *failure = failure_take("INVALID_RESPONSE",
                            value_format("the function of a model returned an answer that is not valid: %s", wrong));
    mem_free(wrong);
    value_unref(answer);
    return NULL;
}

/* Readers of the stream get the whole answer if the function has emitted no pieces of it; then its end. */
static void model_emit_end(tenon_task *task, tn_value answer) {
    tn_value content = value_get(value_get(answer, "message"), "content"), usage = value_get(answer, "usage");
    if (!value_get(answer, "message")) return;
    if (!task->emitted && value_is(content, TN_STRING)) (void)tenon_task_emit(task, content);
    tn_value done =
        value_set_take(value_object_reserve(2), "finish_reason", value_ref(value_get(answer, "finish_reason")));
    if (usage) done = value_set_take(done, "usage", value_ref(usage));
    tn_value chunk = value_set_take(value_object_reserve(1), "done", done);
    (void)tenon_task_emit(task, chunk);
    value_unref(chunk);
}

/* ---- Routes ---- */

static bool is_end(tn_value name) { return value_text_is(name, "END") || value_text_is(name, TENON_END); }

static bool route_may_choose(tn_value targets, tn_value name) {
    for (size_t i = 0, n = value_count(targets); i < n; i++)
        if (value_equal(value_at(targets, i), name) || (is_end(name) && is_end(value_at(targets, i)))) return true;
    return false;
}

static tn_value route_failure(tn_value targets, tn_value chosen) {
    struct buffer message;
    buffer_init(&message, ERROR_MESSAGE_MAX);
    if (value_is(chosen, TN_STRING))
        buffer_format(&message, "the route function returned `%.200s`", value_chars(chosen, NULL));
    else
        buffer_format(&message, "the route function returned a list with %s", value_kind_name(value_kind(chosen)));
    buffer_text(&message, ", expected one of its targets: ");
    for (size_t i = 0, n = value_count(targets); i < n; i++)
        buffer_format(&message, "%s`%s`", i ? ", " : "", value_chars(value_at(targets, i), NULL));
    tn_value failure =
        failure_take("INVALID_OUTPUT", value_string_lossy(buffer_cstr(&message), strlen(buffer_cstr(&message))));
    buffer_finish(&message);
    return failure;
}

/* {goto} from a name or a list of names, which must be among the targets of the route. */
static tn_value route_output_take(const tenon_task *task, tn_value output, tn_value *failure) {
    tn_value targets = value_get(task->config, "targets");
    bool list = value_is(output, TN_ARRAY);
    if (!list && !value_is(output, TN_STRING)) {
        value_unref(output);
        *failure = failure_of("TYPE", "a route function must return the name of a node, or a list of names");
        return NULL;
    }
    for (size_t i = 0, n = list ? value_count(output) : 1; i < n; i++) {
        tn_value chosen = list ? value_at(output, i) : output;
        if (route_may_choose(targets, chosen)) continue;
        *failure = route_failure(targets, chosen);
        value_unref(output);
        return NULL;
    }
    return value_set_take(value_object_reserve(1), "goto", output);
}

/* ---- The end of a task ---- */

/* What the task completes with, from what the function returned. Takes it; NULL with *failure. */
static tn_value function_output_take(tenon_task *task, tn_value output, tn_value *failure) {
    switch (task->function->kind) {
    case FUNCTION_NODE:
        if (value_is(output, TN_NULL)) return output;
        if (value_is(output, TN_OBJECT)) return value_set_take(value_object_reserve(1), "writes", output);
        value_unref(output);
        *failure = failure_of("TYPE", "the function of a node must return an object {channel: value}, or null");
        return NULL;
    case FUNCTION_ROUTE: return route_output_take(task, output, failure);
    case FUNCTION_MODEL: return model_answer_take(output, failure);
    case FUNCTION_TOOL:
    case FUNCTION_REDUCER: break;
    }
    return output;
}

static void function_run(const struct function_instance *of, const struct embed_function *function, tn_task token,
                         tn_value input) {
    struct tenon_task task = {function, token, of->config, input, false, NULL};
    tn_value failure = NULL, output;
    if (function->kind == FUNCTION_REDUCER) {
        output = function_reduce(&task, input, &failure);
    } else {
        bool node = function->kind == FUNCTION_NODE || function->kind == FUNCTION_ROUTE;
        tn_value argument = node ? embed_state_read(&of->state, token) : value_ref(input ? input : value_null());
        output = function_call(&task, argument, &failure);
        value_unref(argument);
    }
    if (output && task.wrong) {
        value_unref(output);
        output = NULL;
        failure =
            failure_take("INVALID_RESPONSE",
                         value_format("the function of a model emitted a chunk that is not a delta: %s", task.wrong));
    }
    if (output) output = function_output_take(&task, output, &failure);
    if (output) {
        if (function->kind == FUNCTION_MODEL) model_emit_end(&task, output);
        (void)task_api()->complete(token, output);
    } else {
        if (!failure) failure = failure_of("NODE_EXECUTION", "the function returned neither an output nor an error");
        (void)task_api()->fail(token, failure);
    }
    value_unref(output);
    value_unref(failure);
    mem_free(task.wrong);
}

static int32_t function_start(struct embed_instance *instance, tn_task task, tn_value input) {
    struct embed_function *function = (struct embed_function *)(uintptr_t)instance->entry;
    atomic_fetch_add(&function->running, 1);
    function_run((const struct function_instance *)instance, function, task, input);
    atomic_fetch_sub(&function->running, 1);
    return TN_OK;
}

/* ---- Instances and entries ---- */

/*
 * Functions that a worker has not returned from when their host was closed. They are never freed, because they may
 * still return. Process-wide and lock-free: hosts of several threads add to it, and a leak checker finds them here.
 */
static struct embed_entry *_Atomic hung_functions;

static void function_keep(struct embed_entry *entry) {
    entry->next = hung_functions;
    while (!atomic_compare_exchange_weak(&hung_functions, &entry->next, entry)) continue;
}

static int32_t function_create(const struct embed_entry *entry, tn_value config, tn_binder *binder,
                               struct embed_instance **out) {
    const struct embed_function *function = (const struct embed_function *)entry;
    struct function_instance *instance = mem_zalloc(sizeof *instance);
    int32_t status = TN_OK;
    if (function->kind == FUNCTION_NODE || function->kind == FUNCTION_ROUTE)
        status = embed_state_bind(&instance->state, binder);
    if (status != TN_OK) {
        mem_free(instance);
        return status;
    }
    instance->config = value_ref(config);
    *out = &instance->instance;
    return TN_OK;
}

static void function_destroy(struct embed_instance *instance) {
    struct function_instance *of = (struct function_instance *)instance;
    embed_state_finish(&of->state);
    value_unref(of->config);
    mem_free(of);
}

static void function_free(struct embed_entry *entry) {
    struct embed_function *function = (struct embed_function *)entry;
    if (atomic_load(&function->running)) {
        function_keep(entry);
        return;
    }
    if (function->destroy) function->destroy(function->user);
    mem_free(entry->id);
    mem_free(function);
}

int32_t embed_function_add(tenon *handle, enum embed_function_kind kind, char *id, tn_value component,
                           tenon_component_function function, void *user, void (*destroy)(void *user)) {
    static const struct embed_entry_ops ops = {
        .create = function_create, .start = function_start, .destroy = function_destroy, .free = function_free};
    struct embed_function *made = mem_zalloc(sizeof *made);
    made->entry = (struct embed_entry){&ops, id, NULL};
    made->kind = kind;
    made->blocking = value_text_is(value_get(component, "style"), "blocking");
    made->function = function;
    made->user = user;
    made->destroy = destroy;
    return embed_program_add_take(handle, &made->entry, component);
}
