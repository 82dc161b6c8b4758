/*
 * connection.c - see connection.h.
 *
 * A pooler such as pgbouncer is recognised by the process id of the session: the server's answer differs from the one
 * that the pooler has made up for its client. Behind a pooler, a statement may run in another session than the one
 * before it, so limits are set in each transaction (batch.c), and statements are not prepared. A pooler that is not
 * recognised is found out when a prepared statement is missing, or is there already.
 */
#include "connection.h"
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

/* Beyond timeout_ms, within which the server ends a statement itself: then the server or the network is dead. */
#define ANSWER_GRACE_MIN_MS 1000
#define ANSWER_GRACE_MAX_MS 10000
#define STARTING_WAIT_MS    200

/* ---- The clock ---- */

int64_t clock_boot_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t connection_now(const tn_store *store, int64_t host_ms) {
    return store->settings.host_clock ? host_ms : clock_boot_ms() + store->clock_offset_ms;
}

void connection_set_clock(tn_store *store, int64_t database_ms) {
    store->clock_read_ms = clock_boot_ms();
    store->clock_offset_ms = database_ms - store->clock_read_ms;
}

/* ---- Failures ---- */

static bool state_is(const char *state, const char *prefix) { return strncmp(state, prefix, strlen(prefix)) == 0; }

static tn_value failure_busy(tn_store *store, const char *message) {
    return tn_store_failure_retryable_take(
        tn_store_failure("STORE_BUSY",
                         "%s: %s; nothing was changed: try again (the options busy_ms and timeout_ms set how "
                         "long to wait)",
                         store->place, message));
}

static tn_value failure_lost(tn_store *store, const char *message) {
    store->retry = RETRY_LOST;
    return tn_store_failure_retryable_take(
        tn_store_failure("STORE_ERROR", "%s: the server cannot be reached: %s", store->place, message));
}

/*
 * Returns the failure for a code of PostgreSQL (SQLSTATE). The message is the primary one, never the detail or context,
 * which contain records.
 */
static tn_value failure_for_state(tn_store *store, const char *state, const char *text) {
    char message[SETTINGS_MESSAGE_MAX];
    settings_scrub(&store->settings, text, message);
    if (state_is(state, "40001") || state_is(state, "40P01") || state_is(state, "23505")) {
        store->retry = RETRY_CONFLICT;
        return failure_busy(store, message);
    }
    if (state_is(state, "26000") || state_is(state, "42P05")) { /* not prepared here, or by someone else */
        store->pooled = true;
        return failure_lost(store, message);
    }
    if (state_is(state, "0A000")) return failure_lost(store, message); /* a prepared statement that is out of date */
    if (state_is(state, "57P") || state_is(state, "08") || state_is(state, "25P03"))
        return failure_lost(store, message);
    if (state_is(state, "53300"))
        return tn_store_failure_retryable_take(tn_store_failure(
            "STORE_BUSY", "%s: %s: raise max_connections of the server, or use a pooler", store->place, message));
    if (state_is(state, "55P03") || state_is(state, "57014")) return failure_busy(store, message);
    if (state_is(state, "53100") || (state_is(state, "58030") && strstr(text, "No space left") != NULL))
        return tn_store_failure("STORE_FULL",
                                "%s: the server's disk is full (%s); nothing was written, earlier data is intact: free "
                                "space on it",
                                store->place, message);
    if (state_is(state, "25006"))
        return tn_store_failure("STORE_READ_ONLY",
                                "%s: cannot be written to (%s); nothing was changed: connect to the primary server "
                                "(target_session_attrs=read-write in the url)",
                                store->place, message);
    if (state_is(state, "42501"))
        return tn_store_failure(
            store->batch != NULL ? "STORE_READ_ONLY" : "STORE_ERROR",
            "%s: the user has no right to do this (%s); nothing was changed: grant it all rights on "
            "the schema %s and its tables",
            store->place, message, store->settings.schema_sql);
    if (state_is(state, "XX001") || state_is(state, "XX002") || state_is(state, "42") || state_is(state, "3F"))
        return tn_store_failure(
            "STORE_CORRUPT",
            "%s: the schema %s is damaged, or was changed (%s); nothing was changed: restore it from a "
            "backup, or give the store another schema",
            store->place, store->settings.schema_sql, message);
    if (state_is(state, "54")) return tn_store_failure("LIMIT", "%s: %s", store->place, message);
    return tn_store_failure("STORE_ERROR", "%s: PostgreSQL failed: %s (%s)", store->place, message, state);
}

static tn_value failure_for_connection(tn_store *store) {
    char message[SETTINGS_MESSAGE_MAX];
    settings_scrub(&store->settings, PQerrorMessage(store->connection), message);
    return failure_lost(store, *message != '\0' ? message : "the connection has been closed");
}

static tn_value failure_for_result(tn_store *store, const PGresult *result) {
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (state == NULL || PQstatus(store->connection) == CONNECTION_BAD) {
        /* libpq has made this result. A fatal error of the server comes first, and has a state. */
        if (state == NULL || !state_is(state, "57P")) return failure_for_connection(store);
    }
    return failure_for_state(store, state, message != NULL ? message : "");
}

tn_value connection_damaged(const tn_store *store, const char *what) {
    return tn_store_failure("STORE_CORRUPT",
                            "%s: the schema %s is damaged: %s; nothing was changed: restore it from a backup",
                            store->place, store->settings.schema_sql, what);
}

/* ---- Waiting ---- */

/* Waits until the socket is ready. False if `deadline_ms` has passed, or on a failure. */
static bool connection_wait(const tn_store *store, bool writes, int64_t deadline_ms) {
    for (;;) {
        int64_t left = deadline_ms - clock_boot_ms();
        struct pollfd socket = {.fd = PQsocket(store->connection),
                                .events = (short)(writes ? POLLIN | POLLOUT : POLLIN)};
        if (left <= 0 || socket.fd < 0) return false;
        int got = poll(&socket, 1, (int)(left > 60000 ? 60000 : left));
        if (got > 0) return true;
        if (got < 0 && errno != EINTR) return false;
    }
}

/* Waits for the next result. NULL ends the results of a statement; *lost is set if the connection is gone. */
static PGresult *connection_next(const tn_store *store, int64_t deadline_ms, bool *lost) {
    for (;;) {
        int unsent = PQflush(store->connection);
        if (unsent < 0) break;
        if (!PQisBusy(store->connection)) return PQgetResult(store->connection);
        if (!connection_wait(store, unsent > 0, deadline_ms)) break;
        if (!PQconsumeInput(store->connection)) break;
    }
    *lost = true;
    /* A fatal error of the server may have arrived before the connection was closed. */
    return PQisBusy(store->connection) ? NULL : PQgetResult(store->connection);
}

/* ---- Prepared statements ---- */

static void prepared_forget_all(tn_store *store) {
    for (unsigned i = 0; i < CONNECTION_STATEMENTS; i++) {
        tn_store_free(store->prepared[i].sql);
        store->prepared[i] = (struct prepared){.sql = NULL};
    }
}

/* Returns the statement's entry, which may be new; NULL if there is no room or memory. */
static struct prepared *prepared_lookup_or_new(tn_store *store, const struct sql *sql) {
    uint64_t hash = 1469598103934665603u;
    for (uint64_t i = 0; i < sql->length; i++) hash = (hash ^ (unsigned char)sql->text[i]) * 1099511628211u;
    for (unsigned i = 0; i < 8; i++) {
        struct prepared *entry = &store->prepared[(hash + i) % CONNECTION_STATEMENTS];
        if (entry->sql == NULL) {
            char *copy = tn_store_alloc(sql->length + 1);
            if (copy == NULL) return NULL;
            memcpy(copy, sql->text, sql->length);
            *entry = (struct prepared){copy, hash, false};
            return entry;
        }
        if (entry->hash == hash && strcmp(entry->sql, sql->text) == 0) return entry;
    }
    return NULL;
}

/* ---- Rounds ---- */

static void round_clear(tn_store *store) {
    for (uint64_t i = 0; i < store->reply_count; i++) PQclear(store->replies[i].result);
    store->reply_count = 0;
}

static bool round_add(tn_store *store, struct prepared *prepares) {
    if (store->reply_count == store->reply_capacity) {
        uint64_t capacity = store->reply_capacity * 2 + 16;
        struct reply *larger = tn_store_alloc(capacity * sizeof *larger);
        if (larger == NULL) return false;
        if (store->reply_count > 0) memcpy(larger, store->replies, store->reply_count * sizeof *larger);
        tn_store_free(store->replies);
        store->replies = larger;
        store->reply_capacity = capacity;
    }
    store->replies[store->reply_count++] = (struct reply){prepares, NULL};
    return true;
}

/* The results of the round before are freed when a new round starts. */
static void round_start_if_ended(tn_store *store) {
    if (store->reply_count > 0 && store->replies[0].result != NULL) round_clear(store);
}

static tn_value round_send_prepared(tn_store *store, struct prepared *entry, const struct sql *sql,
                                    const int *formats) {
    char name[32];
    (void)snprintf(name, sizeof name, "t%u", (unsigned)(entry - store->prepared));
    if (!entry->sent) {
        if (!PQsendPrepare(store->connection, name, sql->text, sql->count, sql->types))
            return failure_for_connection(store);
        entry->sent = true;
        if (!round_add(store, entry)) return tn_store_failure_memory();
    }
    if (!PQsendQueryPrepared(store->connection, name, sql->count, sql->values, sql->lengths, formats, 1))
        return failure_for_connection(store);
    return round_add(store, NULL) ? NULL : tn_store_failure_memory();
}

tn_value connection_send(tn_store *store, const struct sql *sql) {
    int formats[SQL_PARAMETERS];
    round_start_if_ended(store);
    if (sql->failed) return tn_store_failure_memory();
    if (store->connection == NULL) return failure_lost(store, "the connection has been closed");
    for (int i = 0; i < sql->count; i++) formats[i] = 1;
    struct prepared *entry = store->direct ? prepared_lookup_or_new(store, sql) : NULL;
    if (entry != NULL) return round_send_prepared(store, entry, sql, formats);
    if (!PQsendQueryParams(store->connection, sql->text, sql->count, sql->types, sql->values, sql->lengths, formats, 1))
        return failure_for_connection(store);
    return round_add(store, NULL) ? NULL : tn_store_failure_memory();
}

tn_value connection_send_text(tn_store *store, const char *text) {
    struct sql sql = {.count = 0};
    union {
        const char *from;
        char *to;
    } constant = {text}; /* connection_send only reads it */
    sql.text = constant.to;
    sql.length = strlen(text);
    return connection_send(store, &sql);
}

/* Reads the results of one statement. Returns its failure. */
static tn_value round_read(tn_store *store, struct reply *reply, int64_t deadline_ms, bool *lost) {
    reply->result = connection_next(store, deadline_ms, lost);
    if (reply->result == NULL) return failure_for_connection(store);
    ExecStatusType status = PQresultStatus(reply->result);
    tn_value why = NULL;
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_PIPELINE_ABORTED)
        why = failure_for_result(store, reply->result);
    if (status != PGRES_COMMAND_OK && reply->prepares != NULL) { /* the server does not have it */
        tn_store_free(reply->prepares->sql);
        *reply->prepares = (struct prepared){.sql = NULL};
    }
    while (!*lost) {
        PGresult *more = connection_next(store, deadline_ms, lost);
        if (more == NULL) break;
        PQclear(more);
    }
    return why;
}

/* As long again, so that a short limit stays short. */
static int64_t answer_deadline(const tn_store *store) {
    int64_t grace_ms = store->settings.timeout_ms;
    if (grace_ms < ANSWER_GRACE_MIN_MS) grace_ms = ANSWER_GRACE_MIN_MS;
    if (grace_ms > ANSWER_GRACE_MAX_MS) grace_ms = ANSWER_GRACE_MAX_MS;
    return clock_boot_ms() + store->settings.timeout_ms + grace_ms;
}

tn_value connection_run(tn_store *store) {
    int64_t deadline_ms = answer_deadline(store);
    tn_value why = NULL;
    bool lost = false;
    if (store->connection != NULL && (store->reply_count == 0 || store->replies[0].result != NULL)) return NULL;
    if (store->connection == NULL || !PQpipelineSync(store->connection)) {
        why =
            store->connection != NULL ? failure_for_connection(store) : failure_lost(store, "the connection is closed");
        connection_close(store);
        return why;
    }
    for (uint64_t i = 0; i < store->reply_count && !lost; i++) {
        tn_value failed = round_read(store, &store->replies[i], deadline_ms, &lost);
        if (why == NULL)
            why = failed;
        else
            tn_release(failed);
    }
    PGresult *end = lost ? NULL : connection_next(store, deadline_ms, &lost);
    if (!lost && PQresultStatus(end) != PGRES_PIPELINE_SYNC) lost = true;
    PQclear(end);
    if (lost || PQstatus(store->connection) == CONNECTION_BAD) {
        if (why == NULL) why = failure_for_connection(store);
        store->retry = RETRY_LOST;
        connection_close(store);
    }
    return why;
}

tn_value connection_query(tn_store *store, const struct sql *sql) {
    tn_value why = connection_send(store, sql);
    return why != NULL ? why : connection_run(store);
}

const PGresult *connection_result(const tn_store *store, uint64_t n) {
    for (uint64_t i = 0; i < store->reply_count; i++) {
        if (store->replies[i].prepares != NULL) continue;
        if (n-- == 0) return store->replies[i].result;
    }
    return NULL;
}

uint64_t connection_sent(const tn_store *store) {
    uint64_t count = 0;
    if (store->reply_count > 0 && store->replies[0].result != NULL) return 0; /* of the round before */
    for (uint64_t i = 0; i < store->reply_count; i++) count += store->replies[i].prepares == NULL;
    return count;
}

void connection_rollback(tn_store *store) {
    bool queued = store->reply_count > 0 && store->replies[0].result == NULL;
    if (store->connection == NULL || (!queued && PQtransactionStatus(store->connection) == PQTRANS_IDLE)) return;
    enum retry retry = store->retry;
    /* Statements may be queued that were not run, because a later one could not be queued. */
    if (queued) tn_release(connection_run(store));
    if (store->connection == NULL) return;
    tn_value why = connection_send_text(store, "ROLLBACK");
    if (why == NULL) why = connection_run(store);
    if (why != NULL && store->connection != NULL) connection_close(store);
    tn_release(why);
    store->retry = retry;
}

/* ---- Opening ---- */

bool connection_is_open(const tn_store *store) { return store->connection != NULL; }

void connection_close(tn_store *store) {
    round_clear(store);
    prepared_forget_all(store);
    if (store->connection != NULL) PQfinish(store->connection);
    store->connection = NULL;
}

void connection_ignore_notice(void *user, const char *message) { (void)user, (void)message; }

PGconn *connection_connect(const struct settings *settings) {
    PGconn *connection = PQconnectdbParams(settings->keywords, settings->values, 1);
    if (connection != NULL) (void)PQsetNoticeProcessor(connection, connection_ignore_notice, NULL);
    return connection;
}

/* Sets the text for messages: the database and the host, never the user or the password. */
static void connection_describe(tn_store *store) {
    const char *database = PQdb(store->connection), *host = PQhost(store->connection);
    (void)snprintf(store->place, sizeof store->place, "postgresql %.60s%s%.100s",
                   database != NULL && *database != '\0' ? database : "", host != NULL && *host != '\0' ? " at " : "",
                   host != NULL ? host : "");
}

/*
 * Plans must not depend on the size that a table had when a statement was prepared: it may have been empty. Every
 * statement here is meant to use an index.
 */
static tn_value connection_configure(tn_store *store) {
    const struct settings *settings = &store->settings;
    struct tn_arena arena = TN_ARENA;
    struct sql sql;
    sql_init(&sql, &arena);
    sql_add(&sql,
            "SELECT set_config('statement_timeout', '%lld', false), set_config('lock_timeout', '%lld', false),"
            " set_config('idle_in_transaction_session_timeout', '%lld', false),"
            " set_config('enable_seqscan', 'off', false), set_config('enable_hashjoin', 'off', false),"
            " set_config('enable_mergejoin', 'off', false), set_config('jit', 'off', false),"
            " set_config('plan_cache_mode', 'force_generic_plan', false)",
            (long long)settings->timeout_ms, (long long)settings->busy_ms, (long long)settings->timeout_ms);
    if (strcmp(settings->sync, "off") == 0) sql_add(&sql, ", set_config('synchronous_commit', 'off', false)");
    tn_value why = connection_query(store, &sql);
    tn_arena_free(&arena);
    return why;
}

static tn_value connection_inspect(tn_store *store) {
    tn_value why = connection_send_text(store, "SELECT pg_backend_pid(), pg_is_in_recovery(),"
                                               " (extract(epoch FROM clock_timestamp()) * 1000)::int8");
    store->direct = false;
    if (why == NULL) why = connection_run(store);
    if (why != NULL) return why;
    const PGresult *result = connection_result(store, 0);
    bool same = result_int(result, 0, 0) == PQbackendPID(store->connection);
    store->standby = result_int(result, 0, 1) != 0;
    connection_set_clock(store, result_int(result, 0, 2));
    store->direct = store->settings.pooler == POOLER_NONE || (store->settings.pooler == POOLER_AUTO && same);
    if (store->pooled) store->direct = false;
    return store->direct ? connection_configure(store) : NULL;
}

/* True if the server says that it is starting or stopping, or has no room now. */
static bool connection_may_wait(const PGconn *connection) {
    static const char *const signs[] = {"starting up", "shutting down", "recovery mode", "too many",
                                        "not yet accepting"};
    const char *message = PQerrorMessage(connection);
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strstr(message, signs[i]) != NULL) return true;
    return false;
}

tn_value connection_open(tn_store *store, int64_t deadline_ms) {
    const struct timespec pause = {0, STARTING_WAIT_MS * 1000000};
    char message[SETTINGS_MESSAGE_MAX];
    for (;;) {
        connection_close(store);
        store->connection = connection_connect(&store->settings);
        if (store->connection == NULL) return tn_store_failure_memory();
        connection_describe(store);
        if (PQstatus(store->connection) == CONNECTION_OK) break;
        bool wait = store->reached || connection_may_wait(store->connection);
        settings_scrub(&store->settings, PQerrorMessage(store->connection), message);
        connection_close(store);
        if (wait && clock_boot_ms() < deadline_ms) {
            (void)nanosleep(&pause, NULL);
            continue;
        }
        store->retry = wait ? RETRY_LOST : RETRY_NO;
        tn_value why = tn_store_failure("STORE_ERROR", "%s: cannot connect: %s", store->place, message);
        /* The host then opens the store again with its next request. */
        tn_value at_once = tn_int(0);
        (void)tn.value->set(&why, "retry_after_ms", TN_Z, at_once);
        tn_release(at_once);
        return tn_store_failure_retryable_take(why);
    }
    store->reached = true;
    if (!PQenterPipelineMode(store->connection) || PQsetnonblocking(store->connection, 1) != 0)
        return failure_for_connection(store);
    if (PQserverVersion(store->connection) < 130000 && PQserverVersion(store->connection) > 0)
        return tn_store_failure("STORE_ERROR", "%s: the server has version %d; expected PostgreSQL 13 or newer",
                                store->place, PQserverVersion(store->connection) / 10000);
    return connection_inspect(store);
}

/* ---- Columns ---- */

bool result_is_null(const PGresult *result, int row, int column) { return PQgetisnull(result, row, column) != 0; }

int64_t result_int(const PGresult *result, int row, int column) {
    const char *data = PQgetvalue(result, row, column);
    int length = PQgetlength(result, row, column);
    uint64_t bits = 0;
    if (length <= 0 || length > 8) return 0;
    memcpy((char *)&bits + 8 - length, data, (size_t)length);
    bits = be64toh(bits);
    if (length == 4) return (int32_t)(uint32_t)bits;
    if (length == 2) return (int16_t)(uint16_t)bits;
    return (int64_t)bits;
}

struct tn_store_text result_bytes(const PGresult *result, int row, int column) {
    if (PQgetisnull(result, row, column)) return (struct tn_store_text){NULL, 0};
    return (struct tn_store_text){PQgetvalue(result, row, column), (uint64_t)PQgetlength(result, row, column)};
}
