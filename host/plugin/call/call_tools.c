/*
 * call_tools.c - describes a tool set.
 */
#include "host/plugin/call/call_tools.h"
#include "adl/value/memory.h"

tn_value tool_set_describe(struct callable *callable) {
    struct tool_set *set = (struct tool_set *)callable;
    return set->describe(set);
}

/* ---- A callable that describes a set, for workers ---- */

struct describer {
    struct callable callable; /* first */
    struct callable *set;
};

static int32_t describer_start(struct callable *callable, struct call *call, tn_value input) {
    tn_value definitions = tool_set_describe(((struct describer *)callable)->set);
    (void)input;
    int32_t status = call_complete(call_token(call), definitions);
    value_unref(definitions);
    return status;
}

static void describer_free(struct callable *callable) {
    callable_unref(((struct describer *)callable)->set);
    mem_free(callable);
}

struct callable *tool_set_describer(struct callable *set) {
    static const struct callable_ops ops = {
        .start = describer_start, .free = describer_free, .saving = CALLABLE_NOT_SAVED};
    struct describer *describer = mem_zalloc(sizeof *describer);
    describer->callable = (struct callable){&ops, 1};
    describer->set = callable_ref(set);
    return &describer->callable;
}
