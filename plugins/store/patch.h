/*
 * patch.h - JSON Merge Patch (RFC 7396) over values: what a `merge` and a `take` do to a record.
 *
 * Members of the target keep their places, new ones come behind them, null takes one away.
 */
#ifndef TENON_PLUGINS_STORE_PATCH_H
#define TENON_PLUGINS_STORE_PATCH_H

#include "base.h"

/* `target` may be NULL: nothing yet. *out is owned. The patch is no deeper than TN_STORE_DEPTH_MAX. */
tn_value patch_merge(tn_value target, tn_value patch, tn_value *out);

#endif
