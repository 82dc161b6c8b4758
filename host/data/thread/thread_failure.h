/*
 * thread_failure.h - writes that a run has failed because a commit of its thread could not be written.
 *
 * The commit was too large, or the store is full. What is much smaller can still be written: the record with the
 * reason, and those notes that fit, so that resuming the thread does not repeat what they are about.
 *
 *     struct thread_failure *failure = mem_zalloc(sizeof *failure);
 *     …                                                               // all members
 *     thread_failure_write_take(store, failure);                      // failure->done(failure->user, …) is called
 */
#ifndef TENON_HOST_DATA_THREAD_THREAD_FAILURE_H
#define TENON_HOST_DATA_THREAD_THREAD_FAILURE_H

#include "host/data/store/store.h"
#include "host/data/thread/thread_keys.h"

struct thread_failure {
    char key[THREAD_KEY_MAX]; /* of the record */
    int64_t fence;
    uint32_t batches; /* see thread_count_batch */
    tn_value record;  /* owned; a patch of the record */
    tn_value notes;   /* owned; an array of independent operations, the most important ones first */
    store_done *done;
    void *user;
};

/*
 * Writes the record and as many of the notes as possible, and calls `done`: with TN_OK if the record was written, else
 * with the store's error. Takes `failure`, which mem_alloc has allocated. [loop]
 */
void thread_failure_write_take(struct store *store, struct thread_failure *failure);

#endif
