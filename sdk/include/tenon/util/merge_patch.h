/*
 * tenon/util/merge_patch.h - JSON Merge Patch (RFC 7396) on values.
 *
 *     tn_value merged;
 *     int32_t status = tn_merge_patch(target, patch, &merged); // {"a":1,"b":2} and {"a":null,"c":3}: {"b":2,"c":3}
 *     if (status != TN_OK) return status;
 *
 * Members of the target keep their places; new ones follow. Thread: any.
 */
#ifndef TENON_UTIL_MERGE_PATCH_H
#define TENON_UTIL_MERGE_PATCH_H

#include <tenon/easy.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_MERGE_PATCH_DEPTH 200 /* objects in one another, of a patch */

static inline int32_t tn_merge_patch_into(tn_builder *builder, tn_value target, tn_value patch, int32_t depth) {
    tn_value key = NULL, value = NULL, change;
    const char *name;
    uint64_t length;
    int32_t status = depth < TN_MERGE_PATCH_DEPTH ? TN_OK : TN_LIMIT;
    if (tn.value->kind(patch) != TN_OBJECT) {
        tn.value->add(builder, patch);
        return TN_OK;
    }
    tn.value->begin(builder, TN_OBJECT);
    for (uint64_t i = 0; status == TN_OK && tn.value->entry(target, i, &key, &value) == TN_OK; i++) {
        name = tn.value->as_text(key, &length);
        change = tn.value->get(patch, name, length);
        if (tn.value->kind(change) == TN_NULL) continue;
        tn.value->key(builder, name, length);
        if (change != NULL)
            status = tn_merge_patch_into(builder, value, change, depth + 1);
        else
            tn.value->add(builder, value);
    }
    for (uint64_t i = 0; status == TN_OK && tn.value->entry(patch, i, &key, &value) == TN_OK; i++) {
        name = tn.value->as_text(key, &length);
        if (tn.value->kind(value) == TN_NULL || tn.value->get(target, name, length) != NULL) continue;
        tn.value->key(builder, name, length);
        status = tn_merge_patch_into(builder, NULL, value, depth + 1);
    }
    tn.value->end(builder);
    return status;
}

/*
 * Stores in *out what `patch` makes of `target`, which may be NULL (no value yet): a new reference. On failure *out is
 * untouched: TN_INVALID if `patch` is NULL, TN_LIMIT if the patch is too deep, TN_NO_MEMORY.
 */
static inline int32_t tn_merge_patch(tn_value target, tn_value patch, tn_value *out) {
    tn_builder *builder = patch != NULL ? tn_builder_new() : NULL;
    int32_t status;
    tn_value merged;
    if (builder == NULL) return patch == NULL ? TN_INVALID : TN_NO_MEMORY;
    status = tn_merge_patch_into(builder, target, patch, 0);
    merged = tn_finish(builder);
    if (status == TN_OK && merged == NULL) status = TN_NO_MEMORY;
    if (status == TN_OK)
        *out = merged;
    else
        tn.value->release(merged);
    return status;
}

#ifdef __cplusplus
}
#endif
#endif
