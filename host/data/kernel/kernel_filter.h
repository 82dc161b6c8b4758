/*
 * kernel_filter.h - the argument `filter` of an operation, as a filter for the store.
 *
 * Everything that the store would refuse is refused here, so that messages name the argument and not a member of the
 * store's query: INVALID_INPUT for a mistake, LIMIT for a filter that is too large.
 *
 *     static const char *const members[] = {"media_type", "size", NULL};
 *     tn_value where = NULL;
 *     int32_t status = kernel_filter_read(request, members, "", &where, error);
 *     if (status == TN_OK && where) query = value_set_take(query, "where", where);
 *
 * Thread: the store's. The caller owns the filter.
 */
#ifndef TENON_HOST_DATA_KERNEL_KERNEL_FILTER_H
#define TENON_HOST_DATA_KERNEL_KERNEL_FILTER_H

#include "host/data/kernel/kernel_request.h"

/*
 * Translates the argument `filter` into a filter for the store: adds `prefix` to each member path, and replaces arrays
 * by {in: …}. Each path must begin with one of `members` (NULL-terminated; NULL allows any member). *out is a new
 * reference, or NULL without a filter.
 */
int32_t kernel_filter_read(const struct request *request, const char *const *members, const char *prefix, tn_value *out,
                           struct error *error);

#endif
