/*
 * thread_batch.h - the record of a batch whose lines are saved in threads: which file it has, and who runs it.
 *
 * A batch has a name, the text of --thread. Its record is written before the first line starts, so a resumed batch
 * knows for each line whether its thread belongs to it: the record of the thread has the id of the batch
 * (THREAD_BATCH). The record of the batch has no results: those are in the threads.
 *
 *     struct thread_batch_request request = {.name = "q", .mode = THREAD_BATCH_START, .digest = digest, .lines = 3};
 *     struct thread_batch *batch = NULL;
 *     status = thread_batch_open_wait(store, &request, &batch, &error);
 *     ... thread_batch_id(batch) ...
 *     status = thread_batch_close_wait(batch, true, &error);
 *
 * While a batch is open, its process holds a lock as the writer of a thread does (thread_owner.h), so that two
 * processes do not run one batch by mistake. The lock only informs: the fences of the threads protect their lines.
 *
 *     (new) --start--> running --every line is done--> done --start--> running, with another id
 *                       |   ^                            |
 *                       |   +------ start, with replace -+
 *                       +-- resume: running, with the same id
 */
#ifndef TENON_HOST_DATA_THREAD_THREAD_BATCH_H
#define TENON_HOST_DATA_THREAD_THREAD_BATCH_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stddef.h>

struct store;
struct thread_batch;

#define THREAD_BATCH          "batch" /* the member of a thread's record: {id, input: digest of the line's input} */
#define THREAD_BATCH_NAME_MAX 1000u   /* bytes of a name */

enum thread_batch_mode {
    THREAD_BATCH_START,   /* refused with UNFINISHED if the batch is running */
    THREAD_BATCH_RESUME,  /* continues it, also if it is done: then only the results are wanted */
    THREAD_BATCH_REPLACE, /* starts it again, whatever its status */
};

struct thread_batch_request {
    const char *name;   /* UTF-8, 1 to THREAD_BATCH_NAME_MAX bytes */
    const char *digest; /* of all lines */
    size_t lines;
    enum thread_batch_mode mode;
    bool accept_changes; /* THREAD_BATCH_RESUME: other lines than those that the batch began with */
    bool force;          /* also if a living process runs the batch */
};

/*
 * Opens a batch, and writes its record. INVALID_INPUT: the name; UNFINISHED; NOT_FOUND: nothing to resume;
 * BATCH_CHANGED; OWNED; STORE_CORRUPT: the record is not one of a batch; CONFLICT: another process has opened it
 * meanwhile; or an error of the store. Nothing is changed then. Runs the loop.
 */
int32_t thread_batch_open_wait(struct store *store, const struct thread_batch_request *request,
                               struct thread_batch **batch, struct error *error);
const char *thread_batch_id(const struct thread_batch *batch); /* another one for each start */
/* True if the batch was started with THREAD_BATCH_REPLACE: its lines discard what their threads were doing. */
bool thread_batch_replaces(const struct thread_batch *batch);
/* True if a batch was resumed that was done, with the same lines: nothing is left to run. */
bool thread_batch_was_done(const struct thread_batch *batch);
/*
 * Saves whether every line is done (a batch that was done stays so), and frees the batch, also on failure: FENCED if
 * another process has taken it over, or an error of the store. Runs the loop. NULL is allowed.
 */
int32_t thread_batch_close_wait(struct thread_batch *batch, bool done, struct error *error);

/*
 * INVALID_INPUT if `answers` {interrupt id: answer} has an id for which none of the threads with these ids (an array of
 * strings) waits. Runs the loop.
 */
int32_t thread_batch_check_answers_wait(struct store *store, tn_value ids, tn_value answers, struct error *error);

#endif
