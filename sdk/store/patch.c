/*
 * patch.c - calls the SDK's JSON Merge Patch, and turns its status into a failure.
 */
#include "patch.h"
#include <tenon/util/merge_patch.h>

tn_value tn_store_patch_merge(tn_value target, tn_value patch, tn_value *out) {
    switch (tn_merge_patch(target, patch, out)) {
    case TN_OK: return NULL;
    case TN_INVALID:
        return tn_store_failure("INVALID",
                                "a member has a NUL in its name; an object with such a member cannot be merged, use "
                                "`put` with the whole value");
    case TN_LIMIT: return tn_store_failure("LIMIT", "the patch nests objects more than %d deep", TN_MERGE_PATCH_DEPTH);
    default: return tn_store_failure_memory();
    }
}
