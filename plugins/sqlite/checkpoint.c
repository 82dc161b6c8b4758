/*
 * checkpoint.c - the thread that writes the log into the file. See checkpoint.h.
 *
 *     store's thread                         the checkpointer
 *     --------------                         ----------------
 *     commit: the log has N pages
 *     N - copied >= CHECKPOINT_PAGES  -----> pass (PASSIVE), again while few enough are left each time
 *     BEGIN waits  <------- gate closed ---- waits until no transaction is open
 *                                            last pass (FULL): nothing is left
 *     BEGIN        <------- gate open ------
 *     COMMIT restarts the log
 *
 * The lock guards everything below it. The connection belongs to the thread. A pass that fails is tried again when as
 * many pages have been added: a failure loses nothing, and if the disk is full, the store's commits report it.
 */
#include "checkpoint.h"
#include <pthread.h>

#define LAST_BUSY_MS                                                                                                   \
    20               /* how long the last pass waits for readers and writers of other processes; the store waits, too */
#define PASSES_MAX 4 /* passes before the last one, in one go */

struct checkpointer {
    tn_store *store;
    const char *path; /* the store's */
    pthread_t thread;
    bool started, refused; /* refused: the thread could not be started; SQLite does its work */
    sqlite3 *connection;   /* the thread's; NULL: not open */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t pages;  /* of the log */
    int64_t copied; /* pages of the log that are in the file */
    bool due, passing, gate_closed, in_transaction, paused, stopping;
};

/* ---- On the store's thread ---- */

static void *checkpointer_main(void *user);

/* SQLite's own checkpoints, from now on. */
static void checkpoint_inline(struct checkpointer *it) {
    it->refused = true;
    (void)sqlite3_wal_autocheckpoint(it->store->database, CHECKPOINT_PAGES);
}

/* SQLite calls this after each commit; no lock of the file is held. */
static int on_committed(void *user, sqlite3 *database, const char *name, int pages) {
    struct checkpointer *it = user;
    (void)database, (void)name;
    pthread_mutex_lock(&it->lock);
    if (pages < it->pages) it->copied = 0; /* the log was restarted */
    it->pages = pages;
    bool due = it->pages - it->copied >= CHECKPOINT_PAGES;
    if (due && !it->started) it->started = pthread_create(&it->thread, NULL, checkpointer_main, it) == 0;
    bool failed = due && !it->started;
    it->due = due && it->started;
    if (it->due) pthread_cond_broadcast(&it->changed);
    pthread_mutex_unlock(&it->lock);
    if (failed) checkpoint_inline(it);
    return SQLITE_OK;
}

struct checkpointer *checkpoint_start(tn_store *store) {
    struct checkpointer *it = tn_store_alloc(sizeof *it);
    if (it == NULL) return NULL;
    it->store = store;
    it->path = store->path;
    (void)pthread_mutex_init(&it->lock, NULL);
    (void)pthread_cond_init(&it->changed, NULL);
    (void)sqlite3_wal_hook(store->database, on_committed, it); /* replaces SQLite's own */
    return it;
}

void checkpoint_stop(struct checkpointer *it) {
    if (it == NULL) return;
    pthread_mutex_lock(&it->lock);
    it->stopping = true;
    pthread_cond_broadcast(&it->changed);
    pthread_mutex_unlock(&it->lock);
    if (it->started) (void)pthread_join(it->thread, NULL);
    if (!it->refused) (void)sqlite3_wal_hook(it->store->database, NULL, NULL);
    (void)pthread_cond_destroy(&it->changed);
    (void)pthread_mutex_destroy(&it->lock);
    tn_store_free(it);
}

/* With the lock. The store is faster than the passes, or the thread gets no processor: the store waits for it. */
static bool log_is_too_long(const struct checkpointer *it) {
    return (it->due || it->passing) && it->pages >= CHECKPOINT_PAGES_MAX;
}

void checkpoint_transaction_begins(struct checkpointer *it) {
    if (it == NULL) return;
    pthread_mutex_lock(&it->lock);
    while (it->gate_closed || log_is_too_long(it)) pthread_cond_wait(&it->changed, &it->lock);
    it->in_transaction = true;
    pthread_mutex_unlock(&it->lock);
}

void checkpoint_transaction_ended(struct checkpointer *it) {
    if (it == NULL) return;
    pthread_mutex_lock(&it->lock);
    it->in_transaction = false;
    if (it->gate_closed) pthread_cond_broadcast(&it->changed);
    pthread_mutex_unlock(&it->lock);
}

void checkpoint_pause(struct checkpointer *it) {
    if (it == NULL) return;
    pthread_mutex_lock(&it->lock);
    it->paused = true;
    while (it->passing) pthread_cond_wait(&it->changed, &it->lock);
    pthread_mutex_unlock(&it->lock);
}

void checkpoint_resume(struct checkpointer *it) {
    if (it == NULL) return;
    pthread_mutex_lock(&it->lock);
    it->paused = it->due = false;
    it->pages = it->copied = 0; /* the next commit sets them */
    pthread_mutex_unlock(&it->lock);
}

/* ---- On the checkpointer's thread ---- */

static bool connection_open(struct checkpointer *it) {
    if (it->connection != NULL) return true;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    char pragmas[64];
    (void)snprintf(pragmas, sizeof pragmas, "PRAGMA synchronous = %s; PRAGMA wal_autocheckpoint = 0", it->store->sync);
    if (sqlite3_open_v2(it->path, &it->connection, flags, NULL) == SQLITE_OK &&
        sqlite3_exec(it->connection, pragmas, NULL, NULL, NULL) == SQLITE_OK)
        return true;
    (void)sqlite3_close(it->connection);
    it->connection = NULL;
    return false;
}

/* Copies what it can. Returns the pages of the log that are in the file, or -1 on a failure. Without the lock. */
static int64_t pass_run(struct checkpointer *it, int mode, int busy_ms) {
    int pages = -1, copied = -1;
    (void)sqlite3_busy_timeout(it->connection, busy_ms);
    int code = sqlite3_wal_checkpoint_v2(it->connection, NULL, mode, &pages, &copied);
    return code == SQLITE_OK || (code & 0xff) == SQLITE_BUSY ? copied : -1; /* BUSY: it has copied a part */
}

/* With the lock, which is released during the pass. Returns the pages that are left, or -1 on a failure. */
static int64_t pass(struct checkpointer *it, int mode, int busy_ms) {
    pthread_mutex_unlock(&it->lock);
    int64_t copied = connection_open(it) ? pass_run(it, mode, busy_ms) : -1;
    pthread_mutex_lock(&it->lock);
    /* After a failure as if all had been copied, so that the next attempt comes after CHECKPOINT_PAGES more. */
    it->copied = copied >= 0 && copied < it->pages ? copied : it->pages;
    return copied >= 0 ? it->pages - it->copied : -1;
}

/* With the lock. */
static void passes_run(struct checkpointer *it) {
    int64_t left = pass(it, SQLITE_CHECKPOINT_PASSIVE, 0), before = INT64_MAX;
    for (int i = 1; i < PASSES_MAX && left > CHECKPOINT_LAST && left < before / 2 && !it->stopping; i++) {
        before = left;
        left = pass(it, SQLITE_CHECKPOINT_PASSIVE, 0);
    }
    if (left <= 0 || it->stopping) return;
    it->gate_closed = true;
    while (it->in_transaction) pthread_cond_wait(&it->changed, &it->lock);
    (void)pass(it, SQLITE_CHECKPOINT_FULL, LAST_BUSY_MS);
    it->gate_closed = false;
    pthread_cond_broadcast(&it->changed);
}

static void *checkpointer_main(void *user) {
    struct checkpointer *it = user;
    pthread_mutex_lock(&it->lock);
    while (!it->stopping) {
        if (!it->due || it->paused) {
            pthread_cond_wait(&it->changed, &it->lock);
            continue;
        }
        it->due = false;
        it->passing = true;
        passes_run(it);
        it->passing = false;
        pthread_cond_broadcast(&it->changed);
    }
    pthread_mutex_unlock(&it->lock);
    (void)sqlite3_close(it->connection);
    return NULL;
}
