/*
 * kernel_owner.h - an operation for an owner reaches only what belongs to it: ids that begin with `@OWNER:`, and
 * memories whose first name is `@OWNER` (host/plugin/call/owner.h).
 *
 * Arguments are completed before the operation runs, so an operation cannot forget to check an id. An id of another
 * owner becomes one that does not exist. Lists and searches are limited by their range of keys
 * (request_owned_range_take), new ids have the prefix (request_id_make). Callers see complete ids, but not the first
 * name of a namespace. All functions run on the store's thread.
 */
#ifndef TENON_HOST_DATA_KERNEL_KERNEL_OWNER_H
#define TENON_HOST_DATA_KERNEL_KERNEL_OWNER_H

#include "host/data/kernel/kernel_request.h"

/* The arguments with complete ids and namespaces; a new reference. */
tn_value kernel_owner_confine(const struct request *request);
/* The result of the operation as its owner sees it. Takes `result`. */
tn_value kernel_owner_show_take(const struct request *request, tn_value result);

#endif
