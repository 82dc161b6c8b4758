/*
 * call_child.c - a child call, which is a call made by a task: one record, from call_child until `done` has returned.
 *
 * The record keeps a reference to the parent's callable, so an instance lives until the last `done` has returned. The
 * loop calls `done` in a later turn, also if the callee ended inside its start. If the task was started before,
 * the owner of the root call may know the result of this call (call_ops.recall). Then the call is not repeated; it ends
 * with the saved result.
 */
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/trace.h"
#include "host/plugin/call/call_internal.h"
#include "host/plugin/call/call_trace.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/registry/registry.h"
#include <inttypes.h>
#include <string.h>

struct child_call {
    struct call *call;
    struct callable *user_callable; /* the parent's */
    call_done done;                 /* of the host, or NULL: then `handler` */
    tn_call_handler handler;        /* of a plugin */
    void *user;
    bool model;
    bool spends; /* a tool whose output can have `spent`, which counts as the usage of a model */
    struct call_options options;
    struct loop_work work;
    int64_t started_us; /* of a tool, if its span is wanted; else 0 */
};

static void write_call_path(struct buffer *out, const struct call *call) {
    if (call->parent->parent) {
        write_call_path(out, call->parent);
        buffer_char(out, '.');
    }
    buffer_format(out, "%u", call->ordinal);
}

char *call_path(const struct call *call) {
    struct buffer path;
    buffer_init(&path, SIZE_MAX);
    if (call->parent) write_call_path(&path, call);
    return buffer_detach(&path, NULL);
}

/* ---- Saved results ---- */

/* A callable for one call, which ends with the saved result. */
struct recalled {
    struct callable callable;
    tn_value saved;
};

static int32_t recalled_start(struct callable *callable, struct call *call, tn_value input) {
    tn_value saved = ((struct recalled *)callable)->saved, output = value_get(saved, "output");
    tn_value interrupt = value_get(saved, "asked"), failure = value_get(saved, "error");
    (void)input;
    if (output) return call_complete(slot_token(call), output);
    if (interrupt) return call_interrupt_take(slot_token(call), value_ref(interrupt));
    struct error error = ERROR_INIT;
    error_from_value(&error, failure);
    int32_t status = call_fail(slot_token(call), &error);
    error_finish(&error);
    return status;
}

static void recalled_free(struct callable *callable) {
    value_unref(((struct recalled *)callable)->saved);
    mem_free(callable);
}

static struct callable *recalled_new(tn_value saved) {
    static const struct callable_ops ops = {.start = recalled_start, .free = recalled_free};
    struct recalled *recalled = mem_zalloc(sizeof *recalled);
    recalled->callable = (struct callable){&ops, 1};
    recalled->saved = value_ref(saved);
    return &recalled->callable;
}

/* ---- Budgets ---- */

/*
 * The mark `x-tenon` of `spent` in a tool's output schema: "usage", or "last-usage" if the call is made also after the
 * budget is used up. NULL for other components, and for a wrapper, whose own call of the tool counts.
 */
static const char *child_spending(const struct callable *callee) {
    const struct component *component = callee->ops->is_wrapper ? NULL : instance_component(callee);
    if (!component || strcmp(component->info->kind, "tool") != 0) return NULL;
    tn_value output = value_get(component->info->manifest, "output");
    tn_value mark = value_get(value_get(value_get(output, "properties"), "spent"), "x-tenon");
    return value_is(mark, TN_STRING) && strstr(value_chars(mark, NULL), "usage") ? value_chars(mark, NULL) : NULL;
}

/* Returns {error} if the budget of the run is used up, so that the tool is not called. */
static tn_value child_refused(struct call *parent, const char *spending) {
    struct call *root = call_root(parent);
    struct error error = ERROR_INIT;
    tn_value refused = NULL;
    if (!spending || strcmp(spending, "usage") != 0 || !root->ops->check_budget) return NULL;
    if (root->ops->check_budget(root, &error) != TN_OK)
        refused = value_set_take(value_object_reserve(1), "error", error_to_value(&error));
    error_finish(&error);
    return refused;
}

/* Adds what a model or a tool has used to the run. */
static void child_add_usage(const struct child_call *child) {
    struct call *call = child->call, *root = call_root(call);
    bool counts = (child->model || child->spends) && root->ops->add_usage && call_outcome(call) == CALL_COMPLETED;
    tn_value used = counts ? value_get(call_output(call), child->model ? "usage" : "spent") : NULL;
    if (!counts || (!child->model && !value_is(used, TN_OBJECT))) return;
    char *path = call->parent == root ? NULL : call_path(call);
    root->ops->add_usage(root, path, used);
    mem_free(path);
}

/* Counts the next call that `parent` makes. Returns what is saved about it; a new reference, or NULL. */
static tn_value child_recall(const struct call *parent, struct callable *callee, tn_value input) {
    struct call *root = call_root(parent);
    bool counts = callee->ops->use && root->ops->on_use;
    if (!counts && !root->ops->recall) return NULL;
    struct call next = {.parent = (struct call *)(uintptr_t)parent, .ordinal = parent->made};
    char *path = call_path(&next);
    if (counts) root->ops->on_use(root, path, callee, input);
    tn_value saved = root->ops->recall ? root->ops->recall(root, path, callee) : NULL;
    mem_free(path);
    return saved;
}

/* True if the call was interrupted and can be answered. */
static bool child_record(struct call *call) {
    struct call *root = call_root(call);
    if (!root->ops->record) return false;
    char *path = call_path(call);
    bool waits = root->ops->record(root, path, call);
    mem_free(path);
    return waits;
}

/*
 * Writes ".0.2", the path without the calls that wrappers make: those have the id of the wrapper. An id therefore does
 * not depend on whether a policy wraps the tool, and the audit log has the key that the service received.
 */
static void write_id_path(struct buffer *out, const struct call *call) {
    if (call->parent->parent) write_id_path(out, call->parent);
    if (!call->parent->callable->ops->is_wrapper) buffer_format(out, ".%u", call->ordinal);
}

/* The root task's context with a task_id that is unique to this call: it serves as the idempotency key. */
static tn_value child_context(struct call *call) {
    struct call *root = call_root(call);
    tn_value context = call_context(root);
    struct buffer id, path;
    buffer_init(&id, SIZE_MAX);
    buffer_init(&path, SIZE_MAX);
    buffer_text(&id, value_chars(value_get(context, "task_id"), NULL));
    write_id_path(&path, call);
    if (path.length > CALL_ID_PATH_MAX) {
        tn_value text = value_text(buffer_cstr(&path));
        buffer_format(&id, ".h%016" PRIx64, value_hash(text));
        value_unref(text);
    } else {
        buffer_append(&id, buffer_cstr(&path), path.length);
    }
    context = value_set_take(context, "task_id", value_text(buffer_cstr(&id)));
    if (call->resumed)
        context = value_set_take(context, "resumed", value_bool(true));
    else
        context = value_remove_take(context, value_text("resumed"));
    buffer_finish(&path);
    buffer_finish(&id);
    if (trace_wanted(call->loop))
        context = call_trace_context_take(context, call, ((const struct child_call *)call_owner(call))->model);
    return context;
}

static tn_value child_run_value(struct call *call) {
    struct call *root = call_root(call);
    return root->ops->run_value ? root->ops->run_value(root) : NULL;
}

/* ---- The end ---- */

static void child_unlink(struct call *call) {
    struct call *parent = call->parent;
    *(call->previous ? &call->previous->next : &parent->children) = call->next;
    if (call->next) call->next->previous = call->previous;
    if (parent->children) return;
    /* It was the last child: the parent's end may have waited for it. */
    slot_lock(parent);
    if (slot_state(parent) == SLOT_ENDING || slot_state(parent) == SLOT_ABANDONING)
        call_unlock_and_deliver_soon(parent);
    else
        slot_unlock(parent);
}

static void child_call_tell(const struct child_call *child, int32_t status, tn_value value) {
    if (child->done)
        child->done(child->user, status, value);
    else
        (void)child->handler(child->user, status, value);
}

static bool is_cancelled_error(const struct error *error) {
    return error->code && strcmp(error->code, "CANCELLED") == 0;
}

static void child_call_report(struct child_call *child) {
    struct call *call = child->call;
    struct error unsupported = ERROR_INIT;
    tn_value error = NULL;
    bool waits = child_record(call);
    child_add_usage(child);
    if (child->started_us) call_trace_tool(call, child->started_us);
    child_unlink(call);
    switch (call_outcome(call)) {
    case CALL_COMPLETED: child_call_tell(child, TN_OK, call_output(call) ? call_output(call) : value_null()); break;
    case CALL_CANCELLED: child_call_tell(child, TN_CANCELLED, NULL); break;
    case CALL_INTERRUPTED:
        if (waits)
            error_set(&unsupported, TN_CANCELLED, "INTERRUPTED",
                      "the call waits for an answer from outside; the task is started again when the answer is there");
        else
            error_set(&unsupported, TN_UNSUPPORTED, "UNSUPPORTED",
                      "the called component requested an answer from outside; only a task of a run can wait for one");
        error = error_to_value(&unsupported);
        child_call_tell(child, TN_FAILED, error);
        break;
    default:
        /* A saved call, and one of an isolated plugin, reports with this code that it was cancelled. */
        if (is_cancelled_error(call_error(call))) {
            child_call_tell(child, TN_CANCELLED, NULL);
            break;
        }
        error = error_to_value(call_error(call));
        child_call_tell(child, TN_FAILED, error);
        break;
    }
    value_unref(error);
    error_finish(&unsupported);
    call_free(call);
    callable_unref(child->user_callable);
    mem_free(child);
}

static void on_child_ended(struct call *call) { child_call_report(call_owner(call)); }

static void on_child_report(struct loop_work *work) { child_call_report(CONTAINER_OF(work, struct child_call, work)); }

static bool child_wants_chunks(const struct call *call) {
    const struct child_call *child = call_owner(call);
    if (child->options.chunks != CALL_CHUNKS_FORWARD) return child->options.chunks == CALL_CHUNKS_RECEIVE;
    return call_wants_chunks(call->parent);
}

/* Wraps a model's deltas in {"messages": …}, so that a run can distinguish them from a node's own chunks. */
static bool child_on_chunk(struct call *call, tn_value chunk) {
    const struct child_call *child = call_owner(call);
    if (child->options.chunks == CALL_CHUNKS_RECEIVE) return child->handler(child->user, TN_CHUNK, chunk) != TN_AGAIN;
    if (!child_wants_chunks(call)) return true;
    bool marked = value_is(chunk, TN_OBJECT) && value_count(chunk) == 1 && value_get(chunk, "messages");
    uint64_t token = slot_token(call->parent);
    if (!child->model || marked) return call_emit(token, chunk) != TN_AGAIN;
    tn_value delta = value_set_take(value_object_reserve(1), "messages", value_ref(chunk));
    int32_t status = call_emit(token, delta);
    value_unref(delta);
    return status != TN_AGAIN;
}

/* What a call is made with, beside the task, the callee and the input. */
struct child_request {
    bool model;
    struct call_options options;
    call_done done;
    tn_call_handler handler;
    void *user;
    struct worker *on;
};

static int32_t child_start(uint64_t token, struct callable *callee, tn_value input, const struct child_request *request,
                           tn_call *number) {
    static const struct call_ops ops = {.ended = on_child_ended,
                                        .chunk = child_on_chunk,
                                        .wants_chunks = child_wants_chunks,
                                        .context = child_context,
                                        .run_value = child_run_value};
    struct call *parent = slot_lookup_open(token);
    if (!parent) {
        struct call *elsewhere = slot_lookup_lock(token);
        if (!elsewhere) return TN_STALE;
        slot_unlock(elsewhere);
        return TN_WRONG_THREAD;
    }
    if (slot_end_requested(parent)) return TN_CANCELLED;
    if (parent->depth + 1 >= CALL_DEPTH_MAX) return TN_LIMIT;
    struct child_call *child = mem_zalloc(sizeof *child);
    child->user_callable = callable_ref(parent->callable);
    child->done = request->done;
    child->handler = request->handler;
    child->user = request->user;
    child->model = request->model;
    child->options = request->options;
    child->work.run = on_child_report;
    const char *spending = child_spending(callee);
    child->spends = spending != NULL;
    tn_value saved = child_recall(parent, callee, input);
    if (!saved) saved = child_refused(parent, spending);
    tn_value saved_input = value_get(saved, "input");
    struct callable *recalled = saved && !saved_input ? recalled_new(saved) : NULL;
    if (trace_wanted(parent->loop) && !recalled && call_trace_is_tool(callee))
        child->started_us = trace_start(parent->loop);
    struct call *call = child->call = call_new(parent->loop, recalled ? recalled : callee, &ops, child);
    callable_unref(recalled);
    slot_clear_all_later(parent);
    call->ordinal = parent->made++;
    if (number) *number = (tn_call)call->ordinal + 1;
    call->resumed = saved_input != NULL;
    slot_clear_all_later(call);
    call->depth = parent->depth + 1;
    call->on_worker = request->on;
    int64_t limit = parent->children_ms, own = callee->ops->keeps_time ? 0 : request->options.timeout_ms;
    if (own && (!limit || own < limit)) limit = own;
    if (limit) call_set_time_limits(call, limit, 0);
    call->parent = parent;
    call->next = parent->children;
    if (call->next) call->next->previous = call;
    parent->children = call;
    if (call_start(call, saved_input ? saved_input : input)) loop_defer(parent->loop, &child->work);
    value_unref(saved);
    return TN_OK;
}

int32_t call_child(uint64_t token, struct callable *callee, bool model, tn_value input, call_done done, void *user) {
    return call_child_on(token, callee, model, NULL, input, done, user, NULL);
}

int32_t call_child_on(uint64_t token, struct callable *callee, bool model, const struct call_options *options,
                      tn_value input, call_done done, void *user, struct worker *on) {
    struct child_request request = {.model = model, .done = done, .user = user, .on = on};
    if (options) request.options = *options;
    return child_start(token, callee, input, &request, NULL);
}

int32_t call_child_with(uint64_t token, struct callable *callee, bool model, tn_value input,
                        const struct call_options *options, tn_call_handler handler, void *user, tn_call *number) {
    const struct child_request request = {.model = model, .options = *options, .handler = handler, .user = user};
    return child_start(token, callee, input, &request, number);
}

int32_t call_wrapped(uint64_t token, struct callable *callee, tn_value input, call_done done, void *user) {
    const struct call *parent = slot_lookup_open(token);
    return call_child_on(token, callee, false, NULL, input, done, user, parent ? parent->on_worker : NULL);
}

void child_calls_cancel(struct call *parent) {
    for (struct call *call = parent->children; call; call = call->next) call_cancel(call);
}

/* A call whose chunks its caller receives is resumed by the caller. */
void child_calls_resume(struct call *parent) {
    for (struct call *call = parent->children; call; call = call->next)
        if (call_options_of(call)->chunks == CALL_CHUNKS_FORWARD) call_resume(call);
}

/* ---- One call of a task ---- */

const struct call_options *call_options_of(const struct call *call) {
    return &((const struct child_call *)call_owner(call))->options;
}

bool call_cancelled_by_caller(const struct call *call) { return call->by_caller; }

static int32_t child_find(uint64_t token, tn_call number, struct call **out) {
    struct call *parent = slot_lookup_open(token);
    if (!parent) return TN_STALE;
    struct call *call = parent->children;
    while (call && (tn_call)call->ordinal + 1 != number) call = call->next;
    *out = call;
    return call ? TN_OK : TN_NOT_FOUND;
}

int32_t call_child_cancel(uint64_t token, tn_call number) {
    struct call *call;
    int32_t status = child_find(token, number, &call);
    if (status != TN_OK) return status;
    call->by_caller = true;
    call_cancel(call);
    return TN_OK;
}

int32_t call_child_resume(uint64_t token, tn_call number) {
    struct call *call;
    int32_t status = child_find(token, number, &call);
    if (status == TN_OK) call_resume(call);
    return status;
}

int32_t call_options_read(tn_value options, struct call_options *out) {
    static const char *const words[] = {"forward", "receive", "drop"};
    *out = (struct call_options){CALL_CHUNKS_FORWARD, 0};
    if (!options) return TN_OK;
    tn_value chunks = value_get(options, "chunks"), timeout = value_get(options, "timeout_ms");
    size_t known = (size_t)(chunks != NULL) + (size_t)(timeout != NULL);
    if (!value_is(options, TN_OBJECT) || value_count(options) != known) return TN_INVALID;
    size_t word = 0, count = sizeof words / sizeof *words;
    while (chunks && word < count && !value_text_is(chunks, words[word])) word++;
    if (word == count ||
        (timeout && (!value_is_number(timeout) || !value_as_int(timeout, &out->timeout_ms) || out->timeout_ms < 1)))
        return TN_INVALID;
    out->chunks = (enum call_chunks)word;
    return TN_OK;
}

int32_t call_options_read_to_wait(tn_value options, struct call_options *out) {
    int32_t status = call_options_read(options, out);
    return status == TN_OK && out->chunks == CALL_CHUNKS_RECEIVE ? TN_INVALID : status;
}
