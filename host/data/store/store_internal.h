/*
 * store_internal.h - what store.c does for store_link.c.
 */
#ifndef TENON_HOST_DATA_STORE_STORE_INTERNAL_H
#define TENON_HOST_DATA_STORE_STORE_INTERNAL_H

#include "host/data/store/store.h"

/* Runs `perform` on the store's thread and waits, without the loop; at once if this is that thread. Thread: any. */
int32_t store_perform_now(struct store *store, store_perform_fn *perform, void *user, tn_value *out,
                          struct error *error);

#endif
