/*
 * serve_tool.c - tool sets in a child process: the host knows the tools, and performs their calls.
 *
 * The start of a task carries the descriptions that have changed, so that `describe` can return without waiting.
 */
#include "adl/value/memory.h"
#include "host/plugin/call/call_tools.h"
#include "host/plugin/isolate/serve_internal.h"
#include <stdio.h>

struct served_set {
    struct tool_set set; /* must be first */
    struct served_set *next;
    tn_value names, described;
    uint32_t index;
};

static int32_t served_set_start(struct callable *callable, struct call *call, tn_value input) {
    return serve_call_host_take(call, "tools", value_int(((const struct served_set *)callable)->index), input);
}

static void served_set_free(struct callable *callable) {
    struct served_set *set = (struct served_set *)callable;
    value_unref(set->names);
    value_unref(set->described);
    mem_free(set);
}

static tn_value served_set_describe(struct tool_set *set) {
    return value_ref(((const struct served_set *)set)->described);
}

int32_t serve_scope_tools(void *self, struct authority *caller, tn_value names, struct callable **out,
                          struct error *error) {
    static const struct callable_ops ops = {.start = served_set_start,
                                            .cancel = serve_call_cancel,
                                            .ready = serve_call_ready,
                                            .free = served_set_free,
                                            .keeps_time = true};
    struct served_instance *instance = self;
    struct served_set *set = mem_zalloc(sizeof *set), **last = &instance->sets;
    (void)caller, (void)error; /* the host checks the names */
    set->set = (struct tool_set){{&ops, 1}, served_set_describe};
    set->names = value_ref(names);
    set->described = value_array();
    for (; *last; last = &(*last)->next) set->index++;
    *last = set;
    *out = &set->set.callable;
    return TN_OK;
}

tn_value served_sets_names(const struct served_instance *instance) {
    tn_value list = value_array();
    for (const struct served_set *set = instance->sets; set; set = set->next)
        list = value_push_take(list, set->names ? value_ref(set->names) : value_null());
    return list;
}

void served_sets_update(struct served_instance *instance, tn_value tools) {
    for (struct served_set *set = tools ? instance->sets : NULL; set; set = set->next) {
        char index[16];
        snprintf(index, sizeof index, "%u", set->index);
        tn_value described = value_get(tools, index);
        if (!described) continue;
        value_unref(set->described);
        set->described = value_ref(described);
    }
}
