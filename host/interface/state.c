/*
 * state.c - tenon.state: operations of the state kernel, as calls that a task makes.
 *
 * An operation is a callable for one call: so it is cancelled with the task, its instance outlives it, and what came of
 * it is remembered with the task where that is resumed. A component gets what its manifest declares, and what changes
 * nothing; whoever calls for it (a model, through a tool) has then been shown what may happen.
 */
#include "host/state/state.h"
#include "adl/value/memory.h"
#include "host/call/slot.h"
#include "host/host.h"
#include "host/interface/interface.h"
#include "host/interface/operation.h"
#include "host/plugin/plugin.h"
#include "host/plugin/registry.h"
#include <string.h>

struct operation {
    struct callable callable; /* first */
    struct host *host;
    const struct state_row *row;
    bool allowed;
    const char *component; /* its id */
};

/* ---- The callable ---- */

static void on_done(void *user, int32_t status, tn_value result, const struct error *error) {
    uint64_t token = (uint64_t)(uintptr_t)user;
    if (status == TN_OK)
        (void)call_complete(token, result);
    else
        (void)call_fail(token, error);
}

static int32_t fail_take(struct call *call, struct error *error) {
    int32_t status = call_fail(call_token(call), error);
    error_finish(error);
    return status;
}

static int32_t start(struct callable *callable, struct call *call, tn_value input) {
    const struct operation *operation = (const struct operation *)callable;
    const char *effect = state_effect(operation->row);
    struct error error = ERROR_INIT;
    struct state state;
    if (!operation->allowed) {
        error_set(&error, TN_FAILED, "PERMISSION_DENIED",
                  "`%s` does %s, and the manifest does not declare its effect; add \"%s\" to the component's `effects`",
                  operation->component, state_name(operation->row), effect);
        return fail_take(call, &error);
    }
    if (state_open(operation->host, &state, &error) != TN_OK) return fail_take(call, &error);
    state_call(&state, operation->row, input, on_done, (void *)(uintptr_t)call_token(call));
    return TN_OK;
}

static void operation_free(struct callable *callable) { mem_free(callable); }

static const struct callable_ops ops = {.start = start, .free = operation_free};

/* ---- The interface ---- */

/* "state.task_create", or with something behind a colon. */
static bool declares(const struct component_info *info, const char *effect) {
    size_t length = strlen(effect);
    for (size_t i = 0; i < value_count(info->effects); i++) {
        tn_value item = value_at(info->effects, i);
        const char *text = value_is(item, TN_STRING) ? value_chars(item, NULL) : "";
        if (strncmp(text, effect, length) == 0 && (text[length] == 0 || text[length] == ':')) return true;
    }
    return false;
}

struct callable *(*interface_state_elsewhere)(const char *operation);

/* TN_NOT_FOUND where there is no such operation. */
static int32_t operation_new(const struct view *view, const char *name, struct callable **out) {
    const struct state_row *row = state_find(name);
    const struct component *component = view->instance->component;
    if (!row) return TN_NOT_FOUND;
    if (interface_state_elsewhere) {
        *out = interface_state_elsewhere(name);
        return TN_OK;
    }
    struct operation *operation = mem_zalloc(sizeof *operation);
    operation->callable = (struct callable){&ops, 1};
    operation->host = registry_user(plugin_registry(component->plugin));
    operation->row = row;
    operation->component = component->info->id;
    operation->allowed = !state_effect(row) || declares(component->info, state_effect(row));
    *out = &operation->callable;
    return TN_OK;
}

static int32_t invoke(tn_task task, const char *name, tn_value arguments, tn_call_done done, void *user) {
    return operation_invoke(operation_new, task, name, arguments, done, user);
}

static int32_t invoke_wait(tn_task task, const char *name, tn_value arguments, tn_value *result) {
    return operation_invoke_wait(operation_new, task, name, arguments, result);
}

const tn_state_draft interface_state = {sizeof(tn_state_draft), 0, invoke, invoke_wait};
