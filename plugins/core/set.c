/*
 * set.c - `set`: writes the results of expressions to channels.
 *
 * All expressions read the state at the start of the super-step, so their order in the document does not matter. A
 * value that is not a string is a literal: `done: true` needs no expression.
 */
#include "core.h"

struct set {
    uint64_t count;
    struct set_value {
        uint32_t channel;
        uint32_t expression; /* TN_UNBOUND: literal */
        tn_value literal;    /* borrowed from the configuration, which outlives the instance */
    } values[];
};

static int32_t set_bind(struct set_value *value, tn_value name, tn_value from, tn_binder *binder) {
    uint64_t length, channel_length;
    const char *text = tn_chars(from, &length), *channel = tn_chars(name, &channel_length);
    value->expression = TN_UNBOUND;
    value->literal = from;
    int32_t status = tn.task->bind_write(binder, channel, channel_length, &value->channel);
    if (status != TN_OK || text == NULL) return status;
    return tn.eval->bind_expression(binder, text, length, &value->expression);
}

static int32_t set_create(tn_value config, tn_binder *binder, void **self) {
    tn_value values = tn_get(config, "values");
    uint64_t count = tn.value->count(values);
    struct set *set = core_alloc_zeroed(sizeof(*set) + count * sizeof(set->values[0]));
    if (set == NULL) return TN_NO_MEMORY;
    int32_t status = TN_OK;
    set->count = count;
    for (uint64_t i = 0; i < count && status == TN_OK; i++) {
        tn_value name, from;
        status = tn.value->entry(values, i, &name, &from);
        if (status == TN_OK) status = set_bind(&set->values[i], name, from, binder);
    }
    if (status == TN_OK)
        *self = set;
    else
        core_release(set);
    return status;
}

static int32_t set_start(void *self, tn_task task, tn_value input) {
    const struct set *set = self;
    (void)input;
    for (uint64_t i = 0; i < set->count; i++) {
        const struct set_value *value = &set->values[i];
        tn_value result =
            value->expression == TN_UNBOUND ? tn_retain(value->literal) : tn_evaluate(task, value->expression);
        if (result == NULL) return TN_FAILED; /* the task has already failed */
        int32_t status = tn_write_take(task, value->channel, result);
        if (status != TN_OK) return status;
    }
    return tn_done(task);
}

TN_COMPONENT(set, "set", set_create, set_start, NULL, NULL, core_release)
