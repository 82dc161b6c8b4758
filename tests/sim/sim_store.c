/*
 * sim_store.c - the store of the simulation: records in memory, with faults.
 *
 * The functions session_… and store_… are those of host/data/store/store.h. The linker takes them from here instead of
 * from the library, whose store.c would need a loop, a thread and a plugin.
 */
#include "adl/value/memory.h"
#include "host/base/random.h"
#include "host/data/store/store_collections.h"
#include "host/data/store/store_internal.h"
#include "host/data/store/store_link.h"
#include "tests/sim/sim_world.h"
#include <stdlib.h>
#include <string.h>
#include <tenon/easy.h>

extern const tn_value_1 interface_value;

TN_EASY_HIDDEN struct tn_easy tn;
TN_EASY_HIDDEN tn_easy_component *tn_easy_components;

static struct sim *running; /* what random_fill and the clock of the records belong to */

struct tn_store {
    struct sim *sim;
};

/* ---- What sdk/store needs of a host ---- */

static void *sim_alloc(const tn_host *host, uint64_t size) { return (void)host, malloc(size ? size : 1); }
static void *sim_resize(const tn_host *host, void *memory, uint64_t size) { return (void)host, realloc(memory, size); }
static void sim_release(const tn_host *host, void *memory) { (void)host, free(memory); }
static int64_t sim_wall_ms(const tn_host *host) { return (void)host, running ? running->now_ms : 0; }
static const tn_core_1 sim_core = {.size = sizeof(tn_core_1),
                                   .alloc = sim_alloc,
                                   .resize = sim_resize,
                                   .release = sim_release,
                                   .wall_ms = sim_wall_ms};

/* Ids and tokens depend on the seed alone. */
void random_fill(void *bytes, size_t length) {
    unsigned char *at = bytes;
    for (size_t i = 0; i < length; i++) {
        running->random ^= running->random << 13;
        running->random ^= running->random >> 7;
        running->random ^= running->random << 17;
        at[i] = (unsigned char)(running->random >> 32);
    }
}

/* ---- The backend ---- */

static tn_value sim_transaction_begin(tn_store *store) { return (void)store, NULL; }

static tn_value sim_transaction_commit(tn_store *store) {
    sim_oracle_commit(store->sim);
    tn_store_map_commit(&store->sim->map);
    return NULL;
}

static void sim_transaction_rollback(tn_store *store) { tn_store_map_rollback(&store->sim->map); }

static tn_value sim_find(tn_store *store, struct tn_store_text collection, struct tn_store_text key, int64_t now,
                         bool want_value, struct tn_store_record *out) {
    return tn_store_map_read(&store->sim->map, collection, key, now, want_value, out);
}

static tn_value sim_write(tn_store *store, const struct tn_store_change *change, int64_t now) {
    return tn_store_map_write(&store->sim->map, change, now);
}

static tn_value sim_remove(tn_store *store, struct tn_store_text collection, struct tn_store_text key) {
    return tn_store_map_delete(&store->sim->map, collection, key);
}

static tn_value sim_remove_range(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                                 int64_t *count) {
    return tn_store_map_delete_range(&store->sim->map, selection, now, count);
}

static tn_value sim_list(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                         struct tn_store_page *page) {
    return tn_store_map_list(&store->sim->map, selection, now, page);
}

static tn_value sim_count(tn_store *store, const struct tn_store_selection *selection, int64_t now, int64_t *count) {
    return tn_store_map_count(&store->sim->map, selection, now, count);
}

static tn_value sim_search(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                           struct tn_store_page *page) {
    return tn_store_map_search(&store->sim->map, selection, now, page);
}

static const struct tn_store_backend backend = {sim_transaction_begin,
                                                sim_transaction_commit,
                                                sim_transaction_rollback,
                                                sim_find,
                                                sim_write,
                                                sim_remove,
                                                sim_remove_range,
                                                sim_list,
                                                sim_count,
                                                sim_search,
                                                NULL,
                                                .format = NULL};

void sim_store_begin(struct sim *sim) {
    tn.value = &interface_value;
    tn.core = &sim_core;
    running = sim;
    sim->session.sim = sim;
}

void sim_store_end(struct sim *sim) {
    while (sim->pending) {
        struct sim_pending *pending = sim->pending;
        struct error lost = ERROR_INIT;
        sim->pending = pending->next;
        error_set(&lost, TN_FAILED, "STORE_BUSY", "the run has ended");
        value_unref(pending->batch);
        pending->done(pending->user, TN_FAILED, NULL, &lost); /* it frees what belongs to a dead worker */
        error_finish(&lost);
        mem_free(pending);
    }
    tn_store_map_finish(&sim->map);
}

/* ---- Defects ---- */

static bool operation_is(tn_value operation, const char *op, const char *collection) {
    return value_text_is(value_get(operation, "op"), op) &&
           value_text_is(value_get(operation, "collection"), collection);
}

static tn_value without_condition(tn_value operation) {
    return value_remove_take(value_ref(operation), value_text("if"));
}

/* What makes a due time of the schedule once: a key, and the record. */
static bool is_schedule_key(tn_value operation) {
    tn_value key = value_get(operation, "key");
    return operation_is(operation, "put", STORE_REQUESTS) && value_is(key, TN_STRING) &&
           strncmp(value_chars(key, NULL), "schedule.", 9) == 0;
}

/* The operation as a defective store, or kernel, would apply it; a new reference. */
static tn_value broken_operation(enum sim_break broken, tn_value operation) {
    tn_value patch = value_get(operation, "patch");
    bool is_merge = operation_is(operation, "merge", STORE_TASKS);
    if (broken == SIM_BREAK_IF && value_get(operation, "if")) return without_condition(operation);
    if (broken == SIM_BREAK_FENCE && value_get(operation, "if") &&
        value_text_is(value_get(operation, "collection"), STORE_THREADS))
        return without_condition(operation);
    if (broken == SIM_BREAK_SCHEDULE && value_get(operation, "if") && operation_is(operation, "put", STORE_SCHEDULES))
        return without_condition(operation);
    if (broken == SIM_BREAK_TAKE && value_text_is(value_get(operation, "op"), "take")) {
        tn_value where = value_ref(value_get(operation, "where"));
        where = value_set_take(where, "claimable_ms", value_set_take(value_object(), "exists", value_bool(true)));
        return value_set_take(value_ref(operation), "where", where);
    }
    if ((broken == SIM_BREAK_WAKE && is_merge && value_get(patch, TASK_WOKEN)) ||
        (broken == SIM_BREAK_ATTEMPTS && is_merge && value_get(patch, "attempts")))
        return value_set_take(value_ref(operation), "patch", value_object());
    return value_ref(operation);
}

static tn_value broken_batch_take(enum sim_break broken, tn_value batch) {
    if (broken == SIM_BREAK_NONE) return batch;
    tn_value made = value_array_reserve(value_count(batch));
    for (size_t i = 0; i < value_count(batch); i++) {
        tn_value operation = value_at(batch, i);
        bool dropped = (broken == SIM_BREAK_KEY && operation_is(operation, "put", STORE_REQUESTS)) ||
                       (broken == SIM_BREAK_SCHEDULE && is_schedule_key(operation));
        if (!dropped) made = value_push_take(made, broken_operation(broken, operation));
    }
    value_unref(batch);
    return made;
}

/* ---- Sessions ---- */

static int32_t session_fail(struct sim *sim, struct error *error) {
    sim->result->faults++;
    return error_set(error, TN_FAILED, "STORE_BUSY", "the store of the simulation has failed");
}

static int32_t session_fail_take(int32_t status, tn_value why, struct error *error) {
    tn_value code = value_get(why, "code"), message = value_get(why, "message");
    error_set(error, status, value_is(code, TN_STRING) ? value_chars(code, NULL) : "STORE_ERROR", "%s",
              value_is(message, TN_STRING) ? value_chars(message, NULL) : "");
    value_unref(why);
    return status;
}

int32_t session_query_take(struct session *session, tn_value query, tn_value *result, struct error *error) {
    struct sim *sim = session->sim;
    struct tn_store store = {sim};
    tn_value why = NULL;
    bool fails = sim->actor.fault == SIM_FAIL_QUERY && ++sim->actor.queries == sim->actor.fault_at;
    int32_t status;
    if (fails) sim_note(sim, " [a query fails]");
    if (fails || sim->actor.crashed)
        status = session_fail(sim, error);
    else if ((status = tn_store_backend_query(&backend, &store, query, result, &why)) != TN_OK)
        status = session_fail_take(status, why, error);
    value_unref(query);
    return status;
}

static int32_t commit_take(struct sim *sim, tn_value batch, tn_value *result, struct error *error) {
    struct tn_store store = {sim};
    tn_value why = NULL, all = NULL;
    batch = broken_batch_take(sim->options->broken, batch);
    int32_t status = tn_store_backend_commit(&backend, &store, batch, &all, &why);
    value_unref(batch);
    if (status != TN_OK) return session_fail_take(status, why, error);
    if (result)
        *result = all;
    else
        value_unref(all);
    return TN_OK;
}

int32_t session_commit_take(struct session *session, tn_value batch, tn_value *result, struct error *error) {
    static const char *const notes[SIM_FAULTS] = {[SIM_FAIL_BEFORE] = " [a commit fails]",
                                                  [SIM_FAIL_AFTER] = " [a commit succeeds, but is reported as failed]",
                                                  [SIM_CRASH_BEFORE] = " [dies before a commit]",
                                                  [SIM_CRASH_AFTER] = " [dies after a commit]"};
    struct sim *sim = session->sim;
    bool hit = ++sim->actor.commits == sim->actor.fault_at && !sim->actor.crashed;
    enum sim_fault fault = hit ? sim->actor.fault : SIM_NO_FAULT;
    if (notes[fault]) sim_note(sim, "%s", notes[fault]);
    for (uint32_t i = 0; fault == SIM_INTERLEAVE && i <= sim->actor.number / 1024 % 4; i++) sim_run_next(sim);
    if (fault == SIM_CRASH_BEFORE) sim->actor.crashed = true;
    if (fault == SIM_FAIL_BEFORE || sim->actor.crashed) {
        struct error ignored = ERROR_INIT;
        if (fault && sim->options->broken == SIM_BREAK_BATCH)
            (void)commit_take(sim, value_slice(batch, 0, value_count(batch) / 2), NULL, &ignored);
        error_finish(&ignored);
        value_unref(batch);
        return session_fail(sim, error);
    }
    tn_value all = NULL;
    int32_t status = commit_take(sim, batch, &all, error);
    if (fault == SIM_CRASH_AFTER) sim->actor.crashed = true;
    if (status == TN_OK && (fault == SIM_FAIL_AFTER || fault == SIM_CRASH_AFTER)) status = session_fail(sim, error);
    if (status == TN_OK && result)
        *result = all;
    else
        value_unref(all);
    return status;
}

tn_value sim_store_find(struct sim *sim, const char *collection, const char *key) {
    struct tn_store store = {sim};
    tn_value query = store_get(collection, key), found = NULL;
    (void)tn_store_backend_query(&backend, &store, query, &found, NULL);
    tn_value value = value_is(found, TN_OBJECT) ? value_ref(value_get(found, "value")) : NULL;
    value_unref(found);
    value_unref(query);
    return value;
}

/* ---- The store of a thread's log: commits are under way until an event delivers them ---- */

void store_commit_take(struct store *store, tn_value batch, store_done *done, void *user) {
    struct sim_pending *pending = mem_alloc(sizeof *pending), **last = &store->sim->pending;
    *pending = (struct sim_pending){NULL, store->worker, store->life, store->writer, batch, done, user};
    while (*last) last = &(*last)->next;
    *last = pending;
}

bool sim_store_deliver(struct sim *sim, int worker) {
    struct sim_pending **at = &sim->pending;
    while (*at && (*at)->worker != worker) at = &(*at)->next;
    struct sim_pending *pending = *at;
    if (!pending) return false;
    *at = pending->next;
    struct error error = ERROR_INIT;
    tn_value result = NULL;
    sim->actor.writer = pending->writer;
    sim->actor.life = pending->life;
    int32_t status = session_commit_take(&sim->session, pending->batch, &result, &error);
    sim_note(sim, " writer %u%s: %s", pending->writer, pending->life == sim->workers[worker].life ? "" : " (dead)",
             status == TN_OK ? "written" : error.code);
    if (status != TN_OK && strcmp(error.code, "CONFLICT") == 0) sim->result->fenced++;
    if (sim->actor.crashed && pending->life == sim->workers[worker].life) sim_worker_crash(sim, worker);
    pending->done(pending->user, status, result, &error);
    value_unref(result);
    error_finish(&error);
    mem_free(pending);
    return true;
}

/* A job of several requests runs at once, as the present actor. */
void store_perform_take(struct store *store, store_perform_fn *perform, void *arguments, void (*release)(void *),
                        store_done *done, void *user) {
    struct error error = ERROR_INIT;
    tn_value result = NULL;
    int32_t status = perform(&store->sim->session, arguments, &result, &error);
    release(arguments);
    done(user, status, result, &error);
    value_unref(result);
    error_finish(&error);
}

/* The simulated store has no clock: the actor's counts. */
bool session_wall_ms(struct session *session, int64_t *out) {
    (void)session, (void)out;
    return false;
}

int64_t store_wall_ms(const struct store *store) { return store->sim->actor.now_ms; }

/* Only for functions that the simulation does not call: a failed log is abandoned, and no writer is asked for. */
void store_perform(struct store *store, store_perform_fn *perform, void *perform_user, store_done *done, void *user) {
    (void)store, (void)perform, (void)perform_user, (void)done, (void)user;
    abort();
}

void store_perform_grouped(struct store *store, store_perform_fn *perform, void *perform_user, store_done *done,
                           void *user) {
    store_perform(store, perform, perform_user, done, user);
}

const char *store_path(const struct store *store) { return (void)store, ""; }

/* Threads of the simulation have no deferred values. */
struct store_link *store_link(const struct store *store) {
    static struct store_link *none;
    (void)store;
    if (!none) none = store_link_new(NULL);
    return none;
}

int32_t store_perform_now(struct store *store, store_perform_fn *perform, void *user, tn_value *out,
                          struct error *error) {
    (void)store, (void)perform, (void)user, (void)out, (void)error;
    abort();
}
