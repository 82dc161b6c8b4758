/*
 * set.h - the tools that a component may offer to a model: names and patterns, narrowed to what the document allows.
 *
 * What is in it is found out when it is asked for, as tools come and go. A tool that the policy denies is not in the
 * description; one that must be asked for says so. The set is a callable: calling it with {name, arguments, id?,
 * approved?} uses the tool (use.h).
 *
 *     struct callable *set;
 *     if (tool_set_new(host, entries, names, &set, &error) != TN_OK) ...
 *     tn_value definitions = tool_set_describe(set);
 *     callable_unref(set);
 *
 * Everything is [loop].
 */
#ifndef TENON_HOST_TOOL_SET_H
#define TENON_HOST_TOOL_SET_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/call/call.h"

struct host;

#define TOOL_SET_NAMES_MAX 1000u /* names and patterns that one set is made of */

/*
 * `names`: texts; NULL: all that `entries` (policy.h; kept, may be NULL) allow. A name without `*` that leads nowhere,
 * or that the document does not allow, is TOOL_NOT_FOUND. INVALID_INPUT where `names` is no array of texts, LIMIT.
 */
int32_t tool_set_new(struct host *host, tn_value entries, tn_value names, struct callable **out, struct error *error);
/* What every set begins with: another process has sets whose tools are this one's. */
struct tool_set {
    struct callable callable;
    tn_value (*describe)(struct tool_set *set); /* a new reference */
};

/* By name, TN_TOOL_SET_MAX at most; a new reference, the same value until tools come or go. */
tn_value tool_set_describe(struct callable *set);
/* A callable whose output is that: for those who wait on a worker. A new reference. */
struct callable *tool_set_describer(struct callable *set);

#endif
