/*
 * store_copy.h - copies every record of one store into another one, of any plugins.
 *
 * The records are copied as they are, with their versions, search data and times of expiry, and are not understood.
 * Until the end, a note in the target contains the last copied key. No host uses a store with this note
 * (store_state.h), and the same copy, started again, continues after that key. At the end both stores are read and
 * compared, record by record, so a source that changed meanwhile is an error. Memory is bounded by a page of records.
 *
 *     struct store_copy copy = {.from = from, .to = to, .from_name = "s.db", .progress = on_progress};
 *     int32_t status = store_copy_run(&copy, &error);          // runs the loop of both stores
 *
 * Thread: loop. Both stores were opened with store_open_to_maintain on the same loop.
 */
#ifndef TENON_HOST_DATA_STORE_STORE_COPY_H
#define TENON_HOST_DATA_STORE_STORE_COPY_H

#include "adl/value/error.h"
#include <stdbool.h>
#include <stdint.h>
#include <tenon/util/sha256.h>

struct store;

struct store_copy {
    struct store *from, *to;
    const char *from_name, *to_name; /* for messages; from_name is also kept in the target until the end */
    bool replace;                    /* deletes the records of a target that is not empty, or of another copy */
    bool while_used;                 /* although hosts use the source */
    /* Called after each page. False ends the copy with TN_CANCELLED; it can be continued. May be NULL. */
    bool (*progress)(void *user, const struct store_copy *copy);
    void *user;
    /* The result, and what has been done so far: */
    bool comparing;            /* all records are copied */
    bool continued;            /* records of an interrupted copy were kept */
    int64_t total;             /* records of the source when the copy began */
    int64_t records;           /* that are copied, or compared */
    int64_t collections;       /* that have records */
    char hash[TN_SHA256_TEXT]; /* SHA-256 over all records of both stores, in order */
};

/*
 * CONFLICT if the target is not empty, if a host uses one of the stores, or if the stores differ at the end;
 * UNSUPPORTED if a plugin does not list its collections; INVALID if both are the same store; an error of the stores.
 */
int32_t store_copy_run(struct store_copy *copy, struct error *error);

#endif
