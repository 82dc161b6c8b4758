/*
 * access_use.h - what keys have used on a day, in a store: a restart of a host does not begin at 0 again, and the hosts
 * of a store add to the same numbers.
 *
 *     access_use_load(store, day, done, me);
 *     access_use_add(store, day, added, done, me);
 *
 * Uses are {keys: {NAME: {tokens, cost}, …}, threads: {THREAD: {tokens, cost}, …}}. For a thread it is what was counted
 * of it, so that it is not counted again. Days are those of UTC since 1970. Records of a day are forgotten two days
 * later. Results are those of a store_done. Thread: that of the store's loop.
 */
#ifndef TENON_HOST_DATA_ACCESS_ACCESS_USE_H
#define TENON_HOST_DATA_ACCESS_ACCESS_USE_H

#include "host/data/store/store.h"

#define ACCESS_DAY_MS   INT64_C(86400000)
#define ACCESS_USES_MAX 20000 /* keys, and threads, that are loaded; the others begin at 0 */

void access_use_load(struct store *store, int64_t day, store_done *done, void *user);
/*
 * The numbers of keys are added to those of the store, and those of threads replace them. The result is {keys, threads}
 * with what was written: keys with their sums. A part that could not be written is missing, also if there was an error
 * after another part was written.
 */
void access_use_add(struct store *store, int64_t day, tn_value added, store_done *done, void *user);

#endif
