/*
 * copy.c - `passthrough`, which writes nothing, and `transform`, which copies channels to channels.
 *
 * passthrough does no work: edges can fan out from it or join at it, and a run can be interrupted before it. It does
 * not write the state back, because that would append every `append` channel to itself.
 */
#include "core.h"

static int32_t passthrough_create(tn_value config, tn_binder *binder, void **self) {
    (void)config, (void)binder, (void)self;
    return TN_OK;
}

static int32_t passthrough_start(void *self, tn_task task, tn_value input) {
    (void)self, (void)input;
    return tn_done(task);
}

TN_COMPONENT(passthrough, "passthrough", passthrough_create, passthrough_start, NULL, NULL, NULL)

struct transform {
    uint64_t count;
    struct {
        uint32_t from, to;
    } pairs[];
};

static int32_t transform_create(tn_value config, tn_binder *binder, void **self) {
    tn_value mapping = tn_get(config, "mapping");
    uint64_t count = tn.value->count(mapping);
    struct transform *transform = core_alloc_zeroed(sizeof(*transform) + count * sizeof(transform->pairs[0]));
    if (transform == NULL) return TN_NO_MEMORY;
    int32_t status = TN_OK;
    for (uint64_t i = 0; i < count && status == TN_OK; i++) {
        tn_value from, to;
        status = tn.value->entry(mapping, i, &to, &from);
        if (status == TN_OK) status = tn.task->bind_read(binder, tn_chars(from, NULL), TN_Z, &transform->pairs[i].from);
        if (status == TN_OK) status = tn.task->bind_write(binder, tn_chars(to, NULL), TN_Z, &transform->pairs[i].to);
        transform->count = i + 1;
    }
    if (status == TN_OK)
        *self = transform;
    else
        core_release(transform);
    return status;
}

static int32_t transform_start(void *self, tn_task task, tn_value input) {
    const struct transform *transform = self;
    (void)input;
    for (uint64_t i = 0; i < transform->count; i++) {
        int32_t status = tn_write_take(task, transform->pairs[i].to, tn_read(task, transform->pairs[i].from));
        if (status != TN_OK) return status;
    }
    return tn_done(task);
}

TN_COMPONENT(transform, "transform", transform_create, transform_start, NULL, NULL, core_release)
