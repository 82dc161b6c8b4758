/*
 * run_schedule.h - schedules that clients make while a host runs: each of them starts runs of a served graph. (Those of
 * tenon.yaml, which create Tasks, are in schedule.h.)
 *
 * The record (collection `run_schedules`, key: the id, with the prefix of its owner) has what the client has given, and
 * what the host notes:
 *
 *     given  document, input, config, modes?, new_thread, cron | every | at, timezone?, ends_at?, enabled, metadata
 *     noted  owner, key, created_at, updated_at, next_ms?, last_ms?, run_id?, error?
 *
 * `next_ms` is the next due time; a schedule that is disabled or over has none. A host that sees a due time claims it:
 * it writes the next one, and the id of the run that it is about to start, on condition that no other host has changed
 * the record. So a due time starts at most one run, however many hosts share the store. Due times that passed while no
 * host ran start one run together, as `misfire: once`.
 *
 *     run_schedule_create(store, &caller, params, done, me);        // run_schedule_store.c: requests to the store
 *     run_schedules_claim(store, documents, on_claimed, me);        // what is due now
 *
 * Thread: the loop of the store; `done` is called once, later. The functions of a record are [any].
 */
#ifndef TENON_HOST_WORK_RUN_SCHEDULE_H
#define TENON_HOST_WORK_RUN_SCHEDULE_H

#include "host/data/store/store.h"

#define RUN_SCHEDULES_MAX         100    /* of one owner; then LIMIT */
#define RUN_SCHEDULES_OPERATOR    1000   /* of the operator */
#define RUN_SCHEDULE_SIZE_MAX     262144 /* bytes of a record as JSON */
#define RUN_SCHEDULE_EVERY_MIN_MS 60000  /* the smallest interval */
#define RUN_SCHEDULE_CLAIMS       16     /* due times that one request claims */

/* Who makes or changes a schedule. Its runs start with the rights of this key. */
struct run_schedule_caller {
    const char *owner; /* NULL: the operator */
    const char *key;   /* the name of the owner's client */
    int64_t days;      /* it ends so many days after this change; 0: when it says so */
};

/* ---- A record: run_schedule.c ---- */

/*
 * The record with the members of `given`, which replace those of `before` (NULL: a new one); a member that is null is
 * removed. `now_ms` is the time. NULL with INVALID_INPUT or LIMIT. A new reference.
 */
tn_value run_schedule_make(tn_value before, tn_value given, const struct run_schedule_caller *caller, int64_t now_ms,
                           struct error *error);
/* The record after its due time `next_ms` was claimed for the run of this id. A new reference. */
tn_value run_schedule_advance(tn_value record, const char *run_id, int64_t now_ms);
/*
 * The record without its due time, if this is late because no host served the graph, and the schedule has ended
 * meanwhile. A new reference; NULL: the due time may be claimed.
 */
tn_value run_schedule_too_late(tn_value record, int64_t now_ms);
/* As `RunSchedule` in methods/schedule.yaml. A new reference. */
tn_value run_schedule_describe(const char *id, tn_value record);

/* ---- Requests: run_schedule_store.c ---- */

/* The result is the description. INVALID_INPUT, LIMIT. `given` is borrowed until the function returns, as below. */
void run_schedule_create(struct store *store, const struct run_schedule_caller *caller, tn_value given,
                         store_done *done, void *user);
/* NOT_FOUND if the owner (NULL: the operator, who reaches all) has no such schedule. `id` may lack the prefix. */
void run_schedule_get(struct store *store, const char *owner, const char *id, store_done *done, void *user);
void run_schedule_update(struct store *store, const struct run_schedule_caller *caller, const char *id, tn_value given,
                         store_done *done, void *user);
void run_schedule_delete(struct store *store, const char *owner, const char *id, store_done *done, void *user);
/* `wanted`: {document?, thread_id?, enabled?, after?, limit}. The result is {schedules: [description], more}. */
void run_schedule_search(struct store *store, const char *owner, tn_value wanted, store_done *done, void *user);

/*
 * Claims what is due of the schedules with one of these documents (an array of texts, which it takes), at most
 * RUN_SCHEDULE_CLAIMS of them. The result is {claimed: [{schedule_id, record, due_ms}], more, now_ms, next_ms: the
 * first due time after now, or null}. `record` is that after the claim.
 */
void run_schedules_claim(struct store *store, tn_value documents_take, store_done *done, void *user);
/* Notes why a claimed due time has started no run. The result is ignored. */
void run_schedule_note_error(struct store *store, const char *id, const char *run_id, const char *message);

#endif
