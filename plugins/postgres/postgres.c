/*
 * postgres.c - the plugin `tenon.postgres`: a store in a PostgreSQL database, for many hosts.
 *
 * README.md describes how to operate it. connection.c talks to the server, schema.c defines the tables, batch.c writes,
 * and lists.c reads. <tenon/store/backend.h> implements the operations on top. This file repeats a request whose
 * connection was lost, or that another transaction was in the way of. That is safe: a batch is one transaction, and
 * batch.c finds out whether a lost COMMIT was applied.
 */
#include "batch.h"
#include "lists.h"
#include "schema.h"
#include "watch.h"
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#define CONFLICTS_MAX    200 /* repetitions of a request because of other transactions */
#define CONFLICT_WAIT_MS 20  /* the longest pause between them */
#define LOST_WAIT_MS     50
#define EXPIRED_AT_ONCE  1000
#define CLOCK_VALID_MS   10000
#define COMMITS_KEPT     "1 day" /* of hosts that have ended: longer than any host waits for a connection */

/* ---- The backend ---- */

static tn_value postgres_prepare(tn_store *store, const struct tn_store_operation *operations, uint64_t count,
                                 int64_t now) {
    (void)now;
    return batch_prepare(store, operations, count);
}

static tn_value postgres_find(tn_store *store, struct tn_store_text collection, struct tn_store_text key, int64_t now,
                              bool want_value, struct tn_store_record *out) {
    (void)now;
    return store->batch != NULL ? batch_find(store, collection, key, want_value, out)
                                : lists_get(store, collection, key, want_value, out);
}

static tn_value postgres_write(tn_store *store, const struct tn_store_change *change, int64_t now) {
    (void)now;
    return batch_write(store, change);
}

static tn_value postgres_remove_range(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                                      int64_t *count) {
    (void)now;
    return batch_remove_range(store, selection, count);
}

static tn_value postgres_list(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                              struct tn_store_page *page) {
    (void)now;
    return store->batch != NULL ? take_list(store, selection, page) : lists_list(store, selection, page);
}

static tn_value postgres_count(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                               int64_t *count) {
    (void)now;
    return lists_count(store, selection, count);
}

static tn_value postgres_search(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                                struct tn_store_page *page) {
    (void)now;
    return lists_search(store, selection, page);
}

static tn_value postgres_collections(tn_store *store, int64_t now, struct tn_store_page *page) {
    (void)now;
    return lists_collections(store, page);
}

static tn_value postgres_format(tn_store *store, int64_t *version, int64_t *before) {
    *version = store->version;
    *before = store->version_before;
    return NULL;
}

static const struct tn_store_backend backend = {
    .begin = batch_begin,
    .commit = batch_commit,
    .rollback = batch_rollback,
    .find = postgres_find,
    .write = postgres_write,
    .remove = batch_remove,
    .remove_range = postgres_remove_range,
    .list = postgres_list,
    .count = postgres_count,
    .search = postgres_search,
    .collections = postgres_collections,
    .format = postgres_format,
    .prepare = postgres_prepare,
};

/* ---- Repeating ---- */

/* Connects if necessary, and checks what the database is now. */
static tn_value store_ready(tn_store *store, int64_t deadline_ms) {
    int64_t incarnation = store->incarnation;
    if (connection_is_open(store)) return NULL;
    tn_value why = connection_open(store, deadline_ms);
    if (why == NULL) why = schema_open(store);
    if (why == NULL && (!store->opened || incarnation != store->incarnation))
        why = schema_create_indexes(store, tn_get(store->options, "indexes"));
    if (why == NULL)
        store->opened = true;
    else
        connection_close(store);
    return why;
}

static void pause_ms(int64_t ms) {
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    (void)nanosleep(&pause, NULL);
}

struct attempts {
    int64_t start_ms;
    unsigned conflicts;
    uint32_t random;
};

/* Waits before the next attempt. False if there must be none. */
static bool attempts_wait(struct attempts *attempts, tn_store *store) {
    int64_t passed_ms = clock_boot_ms() - attempts->start_ms;
    attempts->random = attempts->random * 1664525u + 1013904223u;
    if (store->retry == RETRY_LOST) {
        connection_close(store);
        if (passed_ms >= store->settings.reconnect_ms) return false;
        pause_ms(1 + attempts->random % LOST_WAIT_MS);
        return true;
    }
    if (store->retry != RETRY_CONFLICT || attempts->conflicts++ >= CONFLICTS_MAX) return false;
    if (passed_ms >= store->settings.busy_ms) return false;
    int64_t most_ms = attempts->conflicts < CONFLICT_WAIT_MS ? attempts->conflicts : CONFLICT_WAIT_MS;
    pause_ms(attempts->random % (uint32_t)(most_ms + 1));
    return true;
}

typedef int32_t store_call(tn_store *store, tn_value argument, tn_value *result, tn_value *error);

static int32_t call_with_repetitions(tn_store *store, store_call *call, tn_value argument, tn_value *result,
                                     tn_value *error) {
    struct attempts attempts = {clock_boot_ms(), 0, (uint32_t)store->writer ^ (uint32_t)store->number};
    for (;;) {
        store->retry = RETRY_NO;
        tn_value why = store_ready(store, attempts.start_ms + store->settings.reconnect_ms);
        if (why == NULL && call(store, argument, result, &why) == TN_OK) return TN_OK;
        if (!attempts_wait(&attempts, store)) return tn_store_fail_take(why, error);
        tn_release(why);
    }
}

/* ---- Opening ---- */

/* A server that does not answer at all fails at once: an operator may have made a mistake in the url. */
static tn_value store_open_with_repetitions(tn_store *store) {
    struct attempts attempts = {clock_boot_ms(), 0, (uint32_t)store->writer};
    for (;;) {
        store->retry = RETRY_NO;
        tn_value why = store_ready(store, attempts.start_ms + store->settings.reconnect_ms);
        if (why == NULL || !attempts_wait(&attempts, store)) return why;
        tn_release(why);
    }
}

static void postgres_close(tn_store *store) {
    if (store == NULL) return;
    watch_stop(store);
    connection_close(store);
    tn_store_free(store->replies);
    tn_arena_free(&store->collection_arena);
    tn_arena_free(&store->arena);
    tn_release(store->options);
    tn_store_free(store);
}

static int32_t postgres_open(void *self, tn_value options, tn_store **out, tn_value *error) {
    tn_store *store = tn_store_alloc(sizeof *store);
    (void)self;
    if (store == NULL) return tn_store_fail_take(tn_store_failure_memory(), error);
    store->arena = (struct tn_arena)TN_ARENA;
    store->collection_arena = (struct tn_arena)TN_ARENA;
    store->options = tn_retain(options);
    (void)snprintf(store->place, sizeof store->place, "postgresql");
    tn_value why = settings_read(options, &store->arena, &store->settings);
    if (why == NULL && getrandom(&store->writer, sizeof store->writer, 0) != (ssize_t)sizeof store->writer)
        why = tn_store_failure("STORE_ERROR", "postgresql: no random number: getrandom failed");
    if (why == NULL) why = store_open_with_repetitions(store);
    if (why == NULL)
        *out = store;
    else
        postgres_close(store);
    return tn_store_fail_take(why, error);
}

/* ---- The interface ---- */

static int32_t commit_once(tn_store *store, tn_value batch, tn_value *result, tn_value *error) {
    int32_t status = tn_store_backend_commit(&backend, store, batch, result, error);
    if (store->batch != NULL) batch_rollback(store); /* prepared, but not begun */
    return status;
}

static int32_t query_once(tn_store *store, tn_value source, tn_value *result, tn_value *error) {
    return tn_store_backend_query(&backend, store, source, result, error);
}

static int32_t postgres_commit(tn_store *store, tn_value batch, tn_value *result, tn_value *error) {
    return call_with_repetitions(store, commit_once, batch, result, error);
}

static int32_t postgres_query(tn_store *store, tn_value source, tn_value *result, tn_value *error) {
    return call_with_repetitions(store, query_once, source, result, error);
}

/* Removes expired records of a table and their search data, a part of them at a time. */
static tn_value maintain_expired(tn_store *store, const char *table, int64_t *removed) {
    int64_t count = EXPIRED_AT_ONCE;
    tn_value why = NULL;
    while (why == NULL && count == EXPIRED_AT_ONCE) {
        const char *schema = store->settings.schema_sql;
        struct tn_arena arena = TN_ARENA;
        struct sql sql;
        sql_init(&sql, &arena);
        sql_add(&sql, "WITH e AS MATERIALIZED (SELECT collection, key FROM %s.%s WHERE expires_at <= ", schema, table);
        sql_bind_int8(&sql, connection_now(store, tn.core->wall_ms(tn.host)));
        sql_add(&sql,
                " ORDER BY expires_at LIMIT %d FOR UPDATE SKIP LOCKED), d AS (DELETE FROM %s.%s r USING e WHERE"
                " r.collection = e.collection AND r.key = e.key RETURNING r.collection, r.key, r.found_by),"
                " t AS (DELETE FROM %s.texts x USING d WHERE x.collection = d.collection AND x.key = d.key AND"
                " d.found_by & 1 <> 0), v AS (DELETE FROM %s.vectors x USING d WHERE x.collection = d.collection AND"
                " x.key = d.key AND d.found_by & 2 <> 0) SELECT count(*) FROM d",
                EXPIRED_AT_ONCE, schema, table, schema, schema);
        why = connection_query(store, &sql);
        count = why == NULL ? result_int(connection_result(store, 0), 0, 0) : 0;
        *removed += count;
        tn_arena_free(&arena);
    }
    return why;
}

static tn_value maintain_run(tn_store *store, int64_t *removed, int64_t *bytes) {
    struct tn_arena arena = TN_ARENA;
    struct sql sql;
    tn_value why = NULL;
    if (!store->settings.read_only && !store->standby) {
        why = maintain_expired(store, "hot", removed);
        if (why == NULL) why = maintain_expired(store, "records", removed);
        sql_init(&sql, &arena);
        sql_add(&sql, "DELETE FROM %s.commits WHERE at < now() - interval '" COMMITS_KEPT "' AND writer <> ",
                store->settings.schema_sql);
        sql_bind_int8(&sql, store->writer);
        if (why == NULL) why = connection_query(store, &sql);
    }
    sql_init(&sql, &arena);
    sql_add(&sql,
            "SELECT coalesce(sum(pg_total_relation_size(k.oid)), 0)::int8 FROM pg_catalog.pg_class k JOIN"
            " pg_catalog.pg_namespace n ON n.oid = k.relnamespace WHERE k.relkind = 'r' AND n.nspname = %s",
            store->settings.schema_text);
    if (why == NULL) why = connection_query(store, &sql);
    if (why == NULL) *bytes = result_int(connection_result(store, 0), 0, 0);
    tn_arena_free(&arena);
    return why;
}

static int32_t maintain_once(tn_store *store, tn_value argument, tn_value *result, tn_value *error) {
    int64_t removed = 0, bytes = 0;
    (void)argument;
    tn_value why = maintain_run(store, &removed, &bytes);
    return why != NULL ? tn_store_fail_take(why, error) : tn_store_make_maintained(removed, bytes, result);
}

static int32_t postgres_maintain(tn_store *store, tn_value *result, tn_value *error) {
    return call_with_repetitions(store, maintain_once, NULL, result, error);
}

static int32_t postgres_watch(tn_store *store, tn_watch_fn *changed, void *user) {
    return watch_start(store, changed, user);
}

/* A connection is idle for long if the host is: then the offset is measured again, because clocks drift. */
static int64_t postgres_wall_ms(tn_store *store) {
    if (clock_boot_ms() - store->clock_read_ms > CLOCK_VALID_MS && connection_is_open(store)) {
        tn_value why = connection_send_text(store, "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8");
        if (why == NULL) why = connection_run(store);
        if (why == NULL) connection_set_clock(store, result_int(connection_result(store, 0), 0, 0));
        tn_release(why); /* the next request connects again; until then, the last offset is good enough */
    }
    return connection_now(store, tn.core->wall_ms(tn.host));
}

static const tn_store_draft postgres_store = {sizeof postgres_store, postgres_open,    postgres_close,
                                              postgres_commit,       postgres_query,   postgres_maintain,
                                              postgres_watch,        postgres_wall_ms, .group = NULL};

TN_PLUGIN("tenon.postgres", "0.1.0", "A store in a PostgreSQL database, for many hosts")
TN_PROVIDES(store, TN_STORE_DRAFT, &postgres_store)
