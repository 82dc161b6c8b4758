/*
 * watch.c - see watch.h.
 *
 * The thread waits for its socket and for an eventfd, also while it connects, so that it can be stopped at any time. If
 * the connection is lost, it connects again and calls `changed`, because it may have missed a notification.
 */
#include "watch.h"
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define WATCH_RETRY_MS   1000
#define WATCH_CHECK_MS   30000 /* a query that finds a dead connection */
#define WATCH_CONNECT_MS 15000
#define WATCH_ANSWER_MS  15000

struct watch {
    const struct settings *settings;
    char channel[32];
    pthread_t thread;
    bool runs; /* the thread; only the store's thread uses this */
    int wake;  /* eventfd */
    atomic_bool stops, pending;
    atomic_llong sent_ms; /* the last notification */
    pthread_mutex_t lock; /* guards the next two */
    tn_watch_fn *changed;
    void *user;
    /* Of the thread: */
    PGconn *connection;
    bool listens, news;
    int64_t called_ms, checked_ms;
};

static struct watch *watch_new(tn_store *store) {
    uint64_t hash = 1469598103934665603u;
    struct watch *watch = tn_store_alloc(sizeof *watch);
    if (watch == NULL) return NULL;
    for (const char *at = store->settings.schema; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    (void)snprintf(watch->channel, sizeof watch->channel, "tenon_%016llx", (unsigned long long)hash);
    watch->settings = &store->settings;
    watch->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)pthread_mutex_init(&watch->lock, NULL);
    return watch;
}

/* ---- On the thread ---- */

static void watch_wake(struct watch *watch) {
    const uint64_t one = 1;
    if (write(watch->wake, &one, sizeof one) < 0) return; /* it is awake already */
}

/* Waits for the socket (may be -1), for a wake-up, or `timeout_ms`. */
static void watch_wait(struct watch *watch, int socket, short events, int64_t timeout_ms) {
    struct pollfd ready[2] = {{.fd = watch->wake, .events = POLLIN}, {.fd = socket, .events = events}};
    uint64_t count;
    if (poll(ready, 2, (int)timeout_ms) > 0 && ready[0].revents & POLLIN && read(watch->wake, &count, sizeof count) < 0)
        return;
}

static void watch_disconnect(struct watch *watch) {
    if (watch->connection != NULL) PQfinish(watch->connection);
    watch->connection = NULL;
}

/* Connects. False if it fails, or if the thread has to stop. */
static bool watch_connect(struct watch *watch) {
    int64_t deadline_ms = clock_boot_ms() + WATCH_CONNECT_MS;
    watch->connection = PQconnectStartParams(watch->settings->keywords, watch->settings->values, 1);
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;
    if (watch->connection != NULL) (void)PQsetNoticeProcessor(watch->connection, connection_ignore_notice, NULL);
    while (watch->connection != NULL && PQstatus(watch->connection) != CONNECTION_BAD && !atomic_load(&watch->stops)) {
        int64_t left_ms = deadline_ms - clock_boot_ms();
        if (left_ms <= 0) break;
        watch_wait(watch, PQsocket(watch->connection), status == PGRES_POLLING_READING ? POLLIN : POLLOUT,
                   left_ms < 100 ? left_ms : 100);
        struct pollfd socket = {.fd = PQsocket(watch->connection),
                                .events = status == PGRES_POLLING_READING ? POLLIN : POLLOUT};
        if (poll(&socket, 1, 0) <= 0) continue;
        status = PQconnectPoll(watch->connection);
        if (status == PGRES_POLLING_OK) return true;
        if (status == PGRES_POLLING_FAILED) break;
    }
    return false;
}

/* Reads notifications, also those of this store: another part of this process may wait for them. */
static bool watch_read(struct watch *watch) {
    if (!PQconsumeInput(watch->connection)) return false;
    for (PGnotify *notify; (notify = PQnotifies(watch->connection)) != NULL; PQfreemem(notify)) watch->news = true;
    return true;
}

/* Runs a statement. False if it fails, if the server does not answer in time, or if the thread has to stop. */
static bool watch_execute(struct watch *watch, const char *text) {
    int64_t deadline_ms = clock_boot_ms() + WATCH_ANSWER_MS;
    bool good = PQsendQuery(watch->connection, text) != 0;
    while (good) {
        while (PQisBusy(watch->connection)) {
            int64_t left_ms = deadline_ms - clock_boot_ms();
            if (left_ms <= 0 || atomic_load(&watch->stops)) return false;
            watch_wait(watch, PQsocket(watch->connection), POLLIN, left_ms);
            if (!watch_read(watch)) return false;
        }
        PGresult *result = PQgetResult(watch->connection);
        if (result == NULL) break;
        ExecStatusType status = PQresultStatus(result);
        good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
        PQclear(result);
    }
    return good;
}

static bool watch_listen(struct watch *watch) {
    char text[64];
    (void)snprintf(text, sizeof text, "LISTEN %s", watch->channel);
    return watch_execute(watch, text);
}

static bool watch_notify(struct watch *watch) {
    char text[96];
    (void)snprintf(text, sizeof text, "NOTIFY %s", watch->channel);
    atomic_store(&watch->pending, false);
    atomic_store(&watch->sent_ms, clock_boot_ms());
    if (watch_execute(watch, text)) return true;
    atomic_store(&watch->pending, true);
    return false;
}

static bool watch_has_callback(struct watch *watch) {
    pthread_mutex_lock(&watch->lock);
    bool has = watch->changed != NULL;
    pthread_mutex_unlock(&watch->lock);
    return has;
}

static void watch_call(struct watch *watch) {
    watch->news = false;
    watch->called_ms = clock_boot_ms();
    pthread_mutex_lock(&watch->lock);
    if (watch->changed != NULL && !atomic_load(&watch->stops)) watch->changed(watch->user);
    pthread_mutex_unlock(&watch->lock);
}

/* The time until something has to be done. */
static int64_t watch_timeout(const struct watch *watch, int64_t now_ms) {
    int64_t next_ms = watch->checked_ms + WATCH_CHECK_MS;
    int64_t send_ms = atomic_load(&watch->sent_ms) + WATCH_MS, call_ms = watch->called_ms + WATCH_MS;
    if (atomic_load(&watch->pending) && send_ms < next_ms) next_ms = send_ms;
    if (watch->news && call_ms < next_ms) next_ms = call_ms;
    return next_ms > now_ms ? next_ms - now_ms : 0;
}

/* One turn with an open connection. False if it is lost. */
static bool watch_turn(struct watch *watch) {
    if (!watch->listens && watch_has_callback(watch)) {
        if (!watch_listen(watch)) return false;
        watch->listens = true;
        watch->news = true; /* what was missed */
    }
    watch_wait(watch, PQsocket(watch->connection), POLLIN, watch_timeout(watch, clock_boot_ms()));
    if (!watch_read(watch)) return false;
    int64_t now_ms = clock_boot_ms();
    if (atomic_load(&watch->pending) && now_ms >= atomic_load(&watch->sent_ms) + WATCH_MS && !watch_notify(watch))
        return false;
    if (watch->news && now_ms >= watch->called_ms + WATCH_MS) watch_call(watch);
    if (now_ms < watch->checked_ms + WATCH_CHECK_MS) return true;
    watch->checked_ms = now_ms;
    return watch_execute(watch, "SELECT 1");
}

static void *watch_main(void *user) {
    struct watch *watch = user;
    while (!atomic_load(&watch->stops)) {
        watch->listens = false;
        watch->checked_ms = clock_boot_ms();
        bool good = watch_connect(watch);
        while (good && !atomic_load(&watch->stops)) good = watch_turn(watch);
        watch_disconnect(watch);
        if (!atomic_load(&watch->stops)) watch_wait(watch, -1, 0, WATCH_RETRY_MS);
    }
    return NULL;
}

/* ---- On the store's thread ---- */

static bool watch_run(tn_store *store) {
    if (store->watch == NULL) store->watch = watch_new(store);
    struct watch *watch = store->watch;
    if (watch == NULL || watch->wake < 0) return false;
    if (!watch->runs) watch->runs = pthread_create(&watch->thread, NULL, watch_main, watch) == 0;
    return watch->runs;
}

static tn_value notify_send(tn_store *store, const struct watch *watch) {
    struct tn_arena arena = TN_ARENA;
    struct sql sql;
    sql_init(&sql, &arena);
    sql_add(&sql, "SELECT pg_notify('%s', '')", watch->channel);
    tn_value why = connection_send(store, &sql);
    tn_arena_free(&arena);
    return why;
}

tn_value watch_send_notify(tn_store *store) {
    if (store->watch == NULL) store->watch = watch_new(store);
    struct watch *watch = store->watch;
    int64_t now_ms = clock_boot_ms();
    if (watch == NULL) return NULL;
    if (now_ms < atomic_load(&watch->sent_ms) + WATCH_MS && store->direct && watch_run(store)) {
        if (!atomic_exchange(&watch->pending, true)) watch_wake(watch);
        return NULL;
    }
    atomic_store(&watch->pending, false);
    atomic_store(&watch->sent_ms, now_ms);
    return notify_send(store, watch);
}

int32_t watch_start(tn_store *store, tn_watch_fn *changed, void *user) {
    if (!store->direct) return TN_UNSUPPORTED;
    if (store->watch == NULL) store->watch = watch_new(store);
    if (store->watch == NULL) return TN_NO_MEMORY;
    pthread_mutex_lock(&store->watch->lock);
    store->watch->changed = changed;
    store->watch->user = user;
    pthread_mutex_unlock(&store->watch->lock);
    if (!watch_run(store)) return TN_LIMIT;
    watch_wake(store->watch);
    return TN_OK;
}

void watch_stop(tn_store *store) {
    struct watch *watch = store->watch;
    if (watch == NULL) return;
    atomic_store(&watch->stops, true);
    if (watch->runs) {
        watch_wake(watch);
        (void)pthread_join(watch->thread, NULL);
    }
    if (atomic_load(&watch->pending) && connection_is_open(store)) {
        tn_value why = notify_send(store, watch);
        if (why == NULL) why = connection_run(store);
        tn_release(why);
    }
    if (watch->wake >= 0) (void)close(watch->wake);
    (void)pthread_mutex_destroy(&watch->lock);
    tn_store_free(watch);
    store->watch = NULL;
}
