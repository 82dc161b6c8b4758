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
#include <tenon/util/build.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_MERGE_PATCH_DEPTH 200 /* objects in one another, of a patch */

static inline int32_t tn_merge_patch_at(tn_value target, tn_value patch, int32_t depth, tn_value *out) {
    tn_value key = NULL, change = NULL, merged, item;
    const char *name;
    uint64_t length;
    int32_t status = TN_OK;
    if (tn.value->kind(patch) != TN_OBJECT) {
        *out = tn.value->retain(patch);
        return TN_OK;
    }
    if (depth == TN_MERGE_PATCH_DEPTH) return TN_LIMIT;
    merged = tn.value->kind(target) == TN_OBJECT ? tn.value->retain(target) : tn_build("{}");
    if (merged == NULL) return TN_NO_MEMORY;
    for (uint64_t i = 0; status == TN_OK && tn.value->entry(patch, i, &key, &change) == TN_OK; i++) {
        name = tn.value->as_text(key, &length);
        if (tn.value->kind(change) == TN_NULL) {
            status = tn.value->remove(&merged, name, length);
            if (status == TN_NOT_FOUND) status = TN_OK;
        } else if (tn.value->kind(change) == TN_OBJECT) {
            item = NULL;
            status = tn_merge_patch_at(tn.value->get(merged, name, length), change, depth + 1, &item);
            if (status == TN_OK) status = tn.value->set(&merged, name, length, item);
            tn.value->release(item);
        } else {
            status = tn.value->set(&merged, name, length, change);
        }
    }
    if (status == TN_OK)
        *out = merged;
    else
        tn.value->release(merged);
    return status;
}

/*
 * Stores in *out what `patch` makes of `target`, which may be NULL (no value yet): a new reference. On failure *out is
 * untouched: TN_INVALID if `patch` is NULL, TN_LIMIT if the patch is too deep, TN_NO_MEMORY.
 */
static inline int32_t tn_merge_patch(tn_value target, tn_value patch, tn_value *out) {
    return patch != NULL ? tn_merge_patch_at(target, patch, 0, out) : TN_INVALID;
}

#ifdef __cplusplus
}
#endif
#endif
