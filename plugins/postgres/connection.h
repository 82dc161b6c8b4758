/*
 * connection.h - an open store and its connection: rounds of statements, prepared statements, failures, the clock.
 *
 * A *round* is one round trip: statements are queued with connection_send and run with connection_run, in libpq's
 * pipeline mode. If one fails, the server skips the rest of the round.
 *
 *     why = connection_send(store, &select);
 *     if (why == NULL) why = connection_send(store, &insert);
 *     if (why == NULL) why = connection_run(store);                    // waits
 *     if (why == NULL) PQntuples(connection_result(store, 0)) …        // valid until the next round
 *
 * Why this does not use the host's loop: the host calls a store on a thread that exists only for it (tenon/store.h), so
 * nothing else waits while it waits, and a batch needs the answers of its first round before it can send the second.
 *
 * A failure that may go away if the request is repeated sets `retry`; postgres.c then repeats it. Only one thread may
 * use a store at a time; watch.c has the only other thread, with a separate connection.
 */
#ifndef TENON_PLUGINS_POSTGRES_CONNECTION_H
#define TENON_PLUGINS_POSTGRES_CONNECTION_H

#include "settings.h"
#include "sql.h"
#include <tenon/store/filter.h>

#define CONNECTION_STATEMENTS 192 /* prepared statements of a connection */
#define CONNECTION_MEMBERS    6   /* columns m1 … of the table `hot` */

enum retry {
    RETRY_NO,
    RETRY_CONFLICT, /* another transaction was in the way; repeat the request */
    RETRY_LOST      /* the connection is gone; connect and repeat the request */
};

/* A collection of the database. */
struct collection {
    struct collection *next;
    struct tn_store_text name;
    int32_t id;
    bool hot;              /* in the table `hot`, otherwise in `records` */
    uint64_t member_count; /* members in the columns m1 … */
    struct tn_store_path members[CONNECTION_MEMBERS];
    uint64_t starts[CONNECTION_MEMBERS]; /* the column has only the first bytes of a text; 0: as many as fit */
};

struct prepared {
    char *sql; /* NULL: unused */
    uint64_t hash;
    bool sent; /* the server knows it, or will when the round has run */
};

/* A queued statement and its result. */
struct reply {
    struct prepared *prepares; /* this is the preparation of a statement; otherwise NULL */
    PGresult *result;
};

struct batch;
struct watch;

struct tn_store {
    struct tn_arena arena; /* for data that lives as long as the store */
    tn_value options;      /* the settings borrow from it */
    struct settings settings;
    char place[200];    /* the database, for messages */
    PGconn *connection; /* NULL: closed */
    bool reached;       /* the server has accepted a connection: if it does not now, it is worth waiting */
    bool opened;        /* the tables and indexes are ready */
    bool direct;        /* without a pooler: session state and prepared statements can be used */
    bool pooled;        /* statements that were prepared are not there: there is a pooler, whatever it looks like */
    bool standby;
    enum retry retry;
    /* The clock: the database's time is CLOCK_BOOTTIME plus the offset. */
    int64_t clock_offset_ms, clock_read_ms;
    /* The round. */
    struct reply *replies;
    uint64_t reply_count, reply_capacity;
    struct prepared prepared[CONNECTION_STATEMENTS];
    /* The schema. */
    int64_t version, version_before, incarnation, epoch; /* version_before: found by the first connection */
    bool stale;                                          /* the collections must be read again */
    struct tn_arena collection_arena;
    struct collection *collections;
    int64_t writer, number; /* identify a commit: schema.c, table `commits` */
    struct batch *batch;    /* the running transaction; NULL outside one */
    struct watch *watch;    /* NULL: not started */
    bool pooled_watch;      /* LISTEN does not work: the host polls */
};

int64_t clock_boot_ms(void);
/* The time that decides which records have expired: the database's, or with `clock: host` the one given. */
int64_t connection_now(const tn_store *store, int64_t host_ms);
/* Takes the database's time from the result of `(extract(epoch FROM clock_timestamp()) * 1000)::int8`. */
void connection_set_clock(tn_store *store, int64_t database_ms);

/*
 * Connects and configures the connection. If the server is starting, waits until `deadline_ms` of clock_boot_ms. Sets
 * `retry` to RETRY_LOST if a later attempt may succeed.
 */
tn_value connection_open(tn_store *store, int64_t deadline_ms);
bool connection_is_open(const tn_store *store);
void connection_close(tn_store *store);

/* Queues a statement. */
tn_value connection_send(tn_store *store, const struct sql *sql);
tn_value connection_send_text(tn_store *store, const char *text);
tn_value connection_run(tn_store *store);
/* Runs one statement. */
tn_value connection_query(tn_store *store, const struct sql *sql);
/* The result of the n-th statement of the round, from 0. */
const PGresult *connection_result(const tn_store *store, uint64_t n);
/* How many statements of this round were queued. */
uint64_t connection_sent(const tn_store *store);
/* Runs ROLLBACK if a transaction is open. */
void connection_rollback(tn_store *store);

/* Columns in binary form. */
bool result_is_null(const PGresult *result, int row, int column);
int64_t result_int(const PGresult *result, int row, int column); /* int2, int4, int8 or bool */
struct tn_store_text result_bytes(const PGresult *result, int row, int column);

/* STORE_CORRUPT, with what is damaged. */
tn_value connection_damaged(const tn_store *store, const char *what);
/* A notice processor: libpq would print notices of the server to standard error. */
void connection_ignore_notice(void *user, const char *message);
/* Connects like the store, without configuring; blocks. For watch.c. NULL or not CONNECTION_OK on failure. */
PGconn *connection_connect(const struct settings *settings);

#endif
