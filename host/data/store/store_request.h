/*
 * store_request.h - a request to a store, and how several of them become durable together. For store.c.
 *
 * Requests that are pending one behind the other share one wait for the disk. If the provider has groups
 * (tn_store_draft), they are a group of it: each is applied or refused for itself. Otherwise, commits are merged into
 * one batch of the provider, and run one by one if it is refused. Nothing is reported before the group is durable.
 *
 * No request waits for one that has not been submitted yet.
 *
 *     struct store_request *last = first;                       // with the queue locked
 *     size_t operations = store_request_operations(first);
 *     while (store_request_joins(provider, first, next, &operations)) …
 *     store_requests_run(provider, &session, first);            // sets status, result and error of each
 *
 * Thread: the store's.
 */
#ifndef TENON_HOST_DATA_STORE_STORE_REQUEST_H
#define TENON_HOST_DATA_STORE_STORE_REQUEST_H

#include "host/data/store/store.h"
#include "host/data/store/store_provider.h"
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Other processes wait for a transaction, so it has a limit of operations. */
#define STORE_GROUP_MAX 4096 /* of a group */
#define STORE_MERGE_MAX 256  /* of a merged batch: if it is refused, all of it runs again */

enum store_request_kind { STORE_REQUEST_COMMIT, STORE_REQUEST_QUERY, STORE_REQUEST_MAINTAIN, STORE_REQUEST_PERFORM };

struct store_request {
    struct store_request *next;
    struct store *from; /* reports it on its loop */
    enum store_request_kind kind;
    bool grouped; /* a PERFORM that may be part of a group */
    tn_value argument;
    store_perform_fn *perform;
    void *perform_user;
    void (*release)(void *); /* frees perform_user; or NULL */
    store_done *done;
    void *user;
    int64_t submitted_ms; /* clock_now_ms */
    int64_t started_us;   /* trace_start, when it was submitted */
    int32_t status;
    tn_value result, error;      /* error: an object, as the provider returned it */
    struct store_waiting *waits; /* of a thread that waits for it instead of the loop; or NULL */
};

struct store_waiting {
    pthread_cond_t ended; /* with the store's lock */
    bool is_over;
};

/* The store as `perform` sees it. */
struct session {
    const tn_store_draft *vtable;
    tn_store *open;
    struct store_link *link;
};

size_t store_request_operations(const struct store_request *request);
/* True if `next` may run together with the requests from `first` on, which have *operations; then adds its own. */
bool store_request_joins(const struct store_provider *provider, const struct store_request *first,
                         const struct store_request *next, size_t *operations);
/* Runs the requests from `first` to the end of the list, in this order. */
void store_requests_run(const struct store_provider *provider, struct session *session, struct store_request *first);

#endif
