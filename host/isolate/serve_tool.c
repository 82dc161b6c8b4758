/*
 * serve_tool.c - sets of tools in a process of its own: the host knows what is in them, and calls.
 *
 * What a set describes comes with the start of a task, when it is not what came last; so it can be given at once.
 */
#include "adl/value/memory.h"
#include "host/isolate/serve_internal.h"
#include "host/tool/set.h"
#include <stdio.h>

struct served_set {
    struct tool_set set; /* first */
    struct served_set *next;
    tn_value names, described;
    uint32_t index;
};

static int32_t start(struct callable *callable, struct call *call, tn_value input) {
    return serve_ask_take(call, "tools", value_int(((const struct served_set *)callable)->index), input);
}

static void set_free(struct callable *callable) {
    struct served_set *set = (struct served_set *)callable;
    value_unref(set->names);
    value_unref(set->described);
    mem_free(set);
}

static tn_value describe(struct tool_set *set) { return value_ref(((const struct served_set *)set)->described); }

int32_t serve_scope_tools(void *self, tn_value names, struct callable **out, struct error *error) {
    static const struct callable_ops ops = {.start = start, .free = set_free};
    struct served *served = self;
    struct served_set *set = mem_zalloc(sizeof *set), **last = &served->sets;
    (void)error; /* the host refuses */
    set->set = (struct tool_set){{&ops, 1}, describe};
    set->names = value_ref(names);
    set->described = value_array();
    for (; *last; last = &(*last)->next) set->index++;
    *last = set;
    *out = &set->set.callable;
    return TN_OK;
}

tn_value serve_sets(const struct served *served) {
    tn_value list = value_array();
    for (const struct served_set *set = served->sets; set; set = set->next)
        list = value_push_take(list, set->names ? value_ref(set->names) : value_null());
    return list;
}

void serve_take_tools(struct served *served, tn_value tools) {
    for (struct served_set *set = tools ? served->sets : NULL; set; set = set->next) {
        char index[16];
        snprintf(index, sizeof index, "%u", set->index);
        tn_value described = value_get(tools, index);
        if (!described) continue;
        value_unref(set->described);
        set->described = value_ref(described);
    }
}
