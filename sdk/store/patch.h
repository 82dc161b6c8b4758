/*
 * patch.h - JSON Merge Patch (RFC 7396): how `merge` and `take` change a record's value.
 *
 * Members of the target keep their positions. New members follow them. null removes a member.
 */
#ifndef TENON_STORE_PATCH_H
#define TENON_STORE_PATCH_H

#include <tenon/store/base.h>

/* `target` may be NULL (no value yet). *out is owned by the caller. The patch is at most TN_STORE_DEPTH_MAX deep. */
tn_value tn_store_patch_merge(tn_value target, tn_value patch, tn_value *out);

#endif
