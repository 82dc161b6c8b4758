/*
 * kernel_abi.c - the interface tenon.state: operations of the state kernel, as calls that a task makes.
 *
 * Each use of an operation creates a callable for one call. The call is a child of the task: it is cancelled with the
 * task, the task's instance outlives it, and a resumed run takes its result from the journal. A component may use
 * operations that change nothing, and those whose effects its manifest declares. The caller of the component (a model
 * that uses a tool, for example) can therefore know the effects in advance.
 */
#include "host/data/kernel/kernel_abi.h"
#include "adl/value/memory.h"
#include "host/data/kernel/kernel.h"
#include "host/data/kernel/kernel_embed.h"
#include "host/plugin/abi/abi_operation.h"
#include "host/plugin/call/call.h"
#include "host/plugin/call/owner.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include <string.h>

struct kernel_callable {
    struct callable callable; /* first */
    const struct kernel_source *source;
    const struct kernel_operation *operation;
    bool allowed;
    const char *component; /* its id */
};

/* ---- The callable ---- */

static void on_kernel_called(void *user, int32_t status, tn_value result, const struct error *error) {
    uint64_t token = (uint64_t)(uintptr_t)user;
    if (status == TN_OK)
        (void)call_complete(token, result);
    else
        (void)call_fail(token, error);
}

static int32_t kernel_fail_take(struct call *call, struct error *error) {
    int32_t status = call_fail(call_token(call), error);
    error_finish(error);
    return status;
}

static int32_t kernel_operation_start(struct callable *callable, struct call *call, tn_value input) {
    const struct kernel_callable *self = (const struct kernel_callable *)callable;
    const char *effect = kernel_operation_effect(self->operation);
    struct error error = ERROR_INIT;
    struct kernel kernel;
    if (!self->allowed) {
        error_set(&error, TN_FAILED, "PERMISSION_DENIED",
                  "`%s` uses %s, but its manifest does not declare the effect; add \"%s\" to the component's `effects`",
                  self->component, kernel_operation_name(self->operation), effect);
        return kernel_fail_take(call, &error);
    }
    if (kernel_open(self->source, &kernel, &error) != TN_OK) return kernel_fail_take(call, &error);
    tn_value context = call_context(call), thread = value_get(context, "thread_id");
    char owner[OWNER_TEXT];
    const struct kernel_caller caller = {value_is(thread, TN_STRING) ? value_chars(thread, NULL) : NULL,
                                         owner_of_context(context, owner) ? owner : NULL};
    kernel_call_with_vector(self->source, &kernel, self->operation, call_token(call), &caller, input, on_kernel_called,
                            (void *)(uintptr_t)call_token(call));
    value_unref(context);
    return TN_OK;
}

static void kernel_operation_free(struct callable *callable) { mem_free(callable); }

static const struct callable_ops kernel_callable_ops = {.start = kernel_operation_start, .free = kernel_operation_free};

/* ---- The interface ---- */

/* An effect may have a detail after a colon: "state.task_create:jobs". */
static bool kernel_declares_effect(const struct component_info *info, const char *effect) {
    size_t length = strlen(effect);
    for (size_t i = 0; i < value_count(info->effects); i++) {
        tn_value item = value_at(info->effects, i);
        const char *text = value_is(item, TN_STRING) ? value_chars(item, NULL) : "";
        if (strncmp(text, effect, length) == 0 && (text[length] == 0 || text[length] == ':')) return true;
    }
    return false;
}

/* TN_NOT_FOUND if there is no such operation. */
static int32_t kernel_operation_new(const struct view *view, const char *name, struct callable **out) {
    const struct kernel_operation *operation = kernel_find_operation(name);
    const struct component *component = view_component(view);
    if (!operation) return TN_NOT_FOUND;
    struct kernel_callable *self = mem_zalloc(sizeof *self);
    self->callable = (struct callable){&kernel_callable_ops, 1};
    self->source = registry_owner(plugin_registry(component->plugin), TN_STATE_DRAFT);
    self->operation = operation;
    self->component = component->info->id;
    self->allowed = !kernel_operation_effect(operation) ||
                    kernel_declares_effect(component->info, kernel_operation_effect(operation));
    *out = &self->callable;
    return TN_OK;
}

static int32_t kernel_invoke(tn_task task, const char *name, uint64_t length, tn_value arguments, tn_value options,
                             tn_call_handler handler, void *user, tn_call *call) {
    const struct operation_use use = {task, name, length, arguments, options};
    return operation_invoke(kernel_operation_new, &use, handler, user, call);
}

static int32_t kernel_invoke_wait(tn_task task, const char *name, uint64_t length, tn_value arguments, tn_value options,
                                  tn_value *out, tn_value *error) {
    const struct operation_use use = {task, name, length, arguments, options};
    return operation_invoke_wait(kernel_operation_new, &use, out, error);
}

const tn_state_draft interface_state = {
    .size = sizeof(tn_state_draft), .invoke = kernel_invoke, .invoke_wait = kernel_invoke_wait};
