/*
 * patch.c - JSON Merge Patch, built in one go from the outside in; its recursion is as deep as the patch is.
 */
#include "patch.h"

/* The builder and `get` know names without a NUL in them; a name that has one would be taken for another. */
static tn_value check_name(struct text name) {
    struct shown shown;
    if (memchr(name.data, '\0', name.length) == NULL) return NULL;
    return failure("INVALID", "the member `%s` has a NUL in its name, and such objects cannot be merged; put the whole",
                   show(name, &shown));
}

static tn_value merge(tn_builder *builder, tn_value target, tn_value patch) {
    tn_value why = NULL, key = NULL, value = NULL;
    if (tn.value->kind(patch) != TN_OBJECT) {
        tn.value->add(builder, patch);
        return NULL;
    }
    tn.value->begin(builder, TN_OBJECT);
    for (uint64_t i = 0; why == NULL && tn.value->entry(target, i, &key, &value) == TN_OK; i++) {
        struct text name = text_of(key);
        why = check_name(name);
        tn_value change = tn.value->get(patch, name.data);
        if (why != NULL || tn.value->kind(change) == TN_NULL) continue;
        tn.value->key(builder, name.data);
        if (change != NULL)
            why = merge(builder, value, change);
        else
            tn.value->add(builder, value);
    }
    for (uint64_t i = 0; why == NULL && tn.value->entry(patch, i, &key, &value) == TN_OK; i++) {
        struct text name = text_of(key);
        why = check_name(name);
        if (why != NULL || tn.value->kind(value) == TN_NULL || tn.value->get(target, name.data) != NULL) continue;
        tn.value->key(builder, name.data);
        why = merge(builder, NULL, value);
    }
    tn.value->end(builder);
    return why;
}

tn_value patch_merge(tn_value target, tn_value patch, tn_value *out) {
    tn_builder *builder = tn.value->builder();
    tn_value why = merge(builder, target, patch), merged = tn.value->finish(builder);
    if (why == NULL && merged == NULL) why = failure_memory();
    if (why == NULL)
        *out = merged;
    else
        tn_release(merged);
    return why;
}
