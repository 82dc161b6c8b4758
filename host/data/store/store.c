/*
 * store.c - the thread of one store, and its two queues: requests that are pending, and requests that have ended.
 *
 * Requests that are pending one behind the other run together if they may (store_request.h), so runs that commit at the
 * same time share one wait for the disk.
 *
 * The lock guards both queues, `closing` and `work_posted`. Each request holds the loop until its callback has run.
 * Otherwise the loop could report a run that waits for a commit as stuck.
 */
#include "host/data/store/store.h"
#include "adl/value/buffer.h"
#include "adl/value/deferred.h"
#include "adl/value/memory.h"
#include "host/base/clock.h"
#include "host/base/config/config.h"
#include "host/base/container_of.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/base/trace.h"
#include "host/data/store/store_internal.h"
#include "host/data/store/store_link.h"
#include "host/data/store/store_provider.h"
#include "host/data/store/store_request.h"
#include "host/data/store/store_state.h"
#include "host/data/store/store_watch.h"
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <tenon/store.h>
#include <time.h>

#define STORE_SLOW_MS 1000 /* an attempt that fails faster is worth another one for each request */

struct store_queue {
    struct store_request *first, **last;
};

struct store {
    struct loop *loop;
    struct store_provider provider;
    char *path;
    tn_value options;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t submitted;
    struct store_queue pending, ended; /* under the lock */
    bool closing;                      /* under the lock */
    bool work_posted;                  /* under the lock: `work` is posted and has not run */
    bool over;                         /* under the lock: the thread takes no more requests */
    struct store_link *link;
    struct loop_work work;
    /* A port (store_open_port): `main` is the store whose thread runs its requests; else `main` is the store itself. */
    struct store *main;      /* its lock guards the fields of its ports, too */
    pthread_cond_t returned; /* of a port: a request was run */
    uint32_t running;        /* under the lock, of a port: requests that were submitted and have not been run */
    uint32_t ports;          /* under the lock: open ports of this store */
    struct store_watches watches;
    atomic_llong clock_ahead_ms; /* the store's clock minus the loop's */
    /* Only the store's thread uses these: */
    tn_store *open;
    bool tried;
    int32_t status; /* result of opening the provider; `error` has the reason */
    tn_value error;
    tn_value outage; /* the error of the last request, if it means that the store cannot be reached; or NULL */
    /* Requests that were submitted before that have waited as long as the one that failed so; 0: none. */
    int64_t outage_from_ms;
    struct store_presence presence;
};

static void store_queue_push(struct store_queue *queue, struct store_request *request) {
    request->next = NULL;
    *queue->last = request;
    queue->last = &request->next;
}

static struct store_request *store_queue_pop(struct store_queue *queue) {
    struct store_request *request = queue->first;
    if (!request) return NULL;
    queue->first = request->next;
    if (!queue->first) queue->last = &queue->first;
    return request;
}

/* ---- On the store's thread ---- */

/* An isolated store whose process ended while it was opened has `retry_after_ms`: the next request opens it again. */
static bool store_may_open(const struct store *store) {
    return !store->tried || (store->status != TN_OK && value_get(store->error, "retry_after_ms"));
}

static void store_open_provider(struct store *store) {
    value_unref(store->error);
    store->error = NULL;
    store->tried = true;
    store->status = store_provider_folder(store->path, &store->error);
    if (store->status == TN_OK)
        store->status = store->provider.vtable->open(store->provider.self, store->options, &store->open, &store->error);
    if (store->status == TN_OK && !store->presence.off)
        store->status = store_state_check(&store->provider, store->open, &store->error);
    if (store->status == TN_OK) {
        store_presence_begin(&store->presence);
    } else if (store->open) {
        store->provider.vtable->close(store->open);
        store->open = NULL;
    }
}

static bool store_is_open(struct store *store) {
    if (store_may_open(store)) store_open_provider(store);
    return store->status == TN_OK;
}

static struct session store_session(const struct store *store) {
    return (struct session){store->provider.vtable, store->open, store->link};
}

static void store_run_requests(struct store *store, struct store_request *first) {
    if (store_is_open(store)) {
        struct session session = store_session(store);
        store_requests_run(&store->provider, &session, first);
        return;
    }
    for (; first; first = first->next) {
        first->status = store->status;
        first->error = value_ref(store->error);
    }
}

/*
 * True if the request is refused, because the store cannot be reached: another attempt would take as long as the last
 * one. So nothing waits for more than two attempts, however many requests are pending.
 */
static bool store_gives_up(const struct store *store, const struct store_request *request) {
    return store->outage && (store->closing || request->submitted_ms <= store->outage_from_ms);
}

/* Under the lock: removes the first pending request, and those right behind it that may run together with it. */
static struct store_request *store_take_pending(struct store *store) {
    struct store_request *first = store_queue_pop(&store->pending), *last = first;
    if (!first) return NULL;
    size_t operations = store_request_operations(first);
    bool refused = store_gives_up(store, first);
    while (store->pending.first && store_gives_up(store, store->pending.first) == refused &&
           store_request_joins(&store->provider, first, store->pending.first, &operations)) {
        last = store->pending.first; /* linked behind the one before already */
        (void)store_queue_pop(&store->pending);
    }
    last->next = NULL;
    return first;
}

/* ---- The optional functions of a provider ---- */

bool session_wall_ms(struct session *session, int64_t *out) {
    const tn_store_draft *vtable = session->vtable;
    if (vtable->size <= offsetof(tn_store_draft, wall_ms) || !vtable->wall_ms) return false;
    *out = vtable->wall_ms(session->open);
    return true;
}

/* After requests, because the store may have found out how far its clock is from this host's. */
static void store_read_clock(struct store *store) {
    struct session session = store_session(store);
    int64_t now_ms;
    if (store->open && session_wall_ms(&session, &now_ms))
        atomic_store(&store->clock_ahead_ms, now_ms - loop_wall_ms(store->loop));
}

static int32_t perform_watch(struct session *session, void *user, tn_value *result, struct error *error) {
    struct store_watches *watches = user;
    const tn_store_draft *vtable = session->vtable;
    (void)result, (void)error;
    if (vtable->size > offsetof(tn_store_draft, watch) && vtable->watch &&
        vtable->watch(session->open, store_watches_notify, watches) == TN_OK)
        atomic_store(&watches->active, true);
    return TN_OK;
}

struct store_watcher *store_watch(struct store *store, void (*changed)(void *user), void *user) {
    bool is_first;
    struct store_watches *watches = &store->main->watches;
    struct store_watcher *watcher = store_watches_add(watches, store->loop, changed, user, &is_first);
    if (is_first && !atomic_load(&watches->active)) store_perform(store, perform_watch, watches, NULL, NULL);
    return watcher;
}

void store_unwatch(struct store *store, struct store_watcher *watcher) {
    if (watcher) store_watches_remove(&store->main->watches, watcher);
}

bool store_watches_changes(const struct store *store) { return atomic_load(&store->main->watches.active); }

/* Under the lock: waits for a request, or until the presence is due. */
static void store_wait_for_requests(struct store *store) {
    int64_t wait_ms = store_presence_wait_ms(&store->presence);
    struct timespec until;
    if (wait_ms < 0) {
        pthread_cond_wait(&store->submitted, &store->lock);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)(wait_ms / 1000);
    until.tv_nsec += (long)(wait_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    pthread_cond_timedwait(&store->submitted, &store->lock, &until);
}

/* Under the lock: the request was run, and will be reported on the loop that it came from. */
static void store_return(struct store_request *request) {
    struct store *from = request->from;
    store_queue_push(&from->ended, request);
    if (from->main != from && --from->running == 0) pthread_cond_signal(&from->returned);
    if (from->work_posted || from->closing) return;
    from->work_posted = true;
    loop_post(from->loop, &from->work);
}

/* The requests were run from `started_ms` on. */
static void store_note_outage(struct store *store, const struct store_request *request, int64_t started_ms) {
    tn_value failure = NULL;
    for (; request; request = request->next) {
        bool lost = request->status != TN_OK && value_text_is(value_get(request->error, "code"), "STORE_ERROR") &&
                    value_to_bool(value_get(request->error, "retryable"));
        failure = lost ? request->error : NULL;
    }
    /* Whether a COMMIT that was sent has been applied concerns the others not. */
    if (failure) failure = value_remove_take(value_ref(failure), value_text("detail"));
    value_unref(store->outage);
    store->outage = failure;
    store->outage_from_ms = clock_now_ms() - started_ms >= STORE_SLOW_MS ? started_ms : 0;
}

static void store_refuse_requests(struct store *store, struct store_request *request) {
    for (; request; request = request->next) {
        request->status = TN_FAILED;
        request->error = value_ref(store->outage);
    }
}

static void *store_thread_main(void *user) {
    struct store *store = user;
    log_enter(loop_log(store->loop));
    pthread_mutex_lock(&store->lock);
    for (;;) {
        struct store_request *request = store_take_pending(store);
        if (!request && store->closing) {
            store->over = true;
            break;
        }
        bool refused = request && store_gives_up(store, request);
        bool due = store_presence_wait_ms(&store->presence) == 0 && !refused && !(store->closing && store->outage);
        if (!request && !due) {
            store_wait_for_requests(store);
            continue;
        }
        pthread_mutex_unlock(&store->lock);
        if (due) store_presence_write(&store->presence, &store->provider, store->open, store_wall_ms(store));
        int64_t started_ms = clock_now_ms();
        if (refused)
            store_refuse_requests(store, request);
        else if (request)
            store_run_requests(store, request);
        if (request && !refused) store_note_outage(store, request, started_ms);
        store_read_clock(store);
        pthread_mutex_lock(&store->lock);
        for (struct store_request *next; request; request = next) {
            next = request->next;
            if (request->waits) {
                request->waits->is_over = true;
                pthread_cond_signal(&request->waits->ended);
            } else {
                store_return(request);
            }
        }
    }
    pthread_mutex_unlock(&store->lock);
    if (store->open) {
        if (!store->outage) store_presence_end(&store->presence, &store->provider, store->open);
        store->provider.vtable->close(store->open);
    }
    value_unref(store->error);
    value_unref(store->outage);
    return NULL;
}

/* ---- On the loop ---- */

static void store_trace(struct store *store, const struct store_request *request, const struct error *error) {
    static const char *const kinds[] = {[STORE_REQUEST_COMMIT] = "commit",
                                        [STORE_REQUEST_QUERY] = "query",
                                        [STORE_REQUEST_MAINTAIN] = "maintain",
                                        [STORE_REQUEST_PERFORM] = "perform"};
    tn_value name = value_text(kinds[request->kind]);
    bool done = request->status == TN_OK;
    trace_end_take(store->loop, request->started_us,
                   trace_span("store", name, done ? "done" : "failed", done ? NULL : error->code));
    value_unref(name);
}

static void store_report(struct store *store, struct store_request *request) {
    struct error error = ERROR_INIT;
    if (request->status != TN_OK) store_provider_error(&error, request->status, request->error);
    if (request->started_us) store_trace(store, request, &error);
    if (request->release) request->release(request->perform_user);
    if (request->done) request->done(request->user, request->status, request->result, &error);
    error_finish(&error);
    value_unref(request->argument);
    value_unref(request->result);
    value_unref(request->error);
    mem_free(request);
    loop_release(store->loop);
}

static void store_report_all(struct loop_work *work) {
    struct store *store = CONTAINER_OF(work, struct store, work), *main = store->main;
    pthread_mutex_lock(&main->lock);
    store->work_posted = false;
    struct store_request *request = store->ended.first;
    store->ended.first = NULL;
    store->ended.last = &store->ended.first;
    pthread_mutex_unlock(&main->lock);
    while (request) {
        struct store_request *next = request->next;
        store_report(store, request);
        request = next;
    }
}

static struct store_request *store_request_new(enum store_request_kind kind, tn_value argument, store_done *done,
                                               void *user) {
    struct store_request *request = mem_zalloc(sizeof *request);
    request->kind = kind;
    request->argument = argument;
    request->done = done;
    request->user = user;
    return request;
}

static void store_submit(struct store *store, struct store_request *request) {
    struct store *main = store->main;
    loop_hold(store->loop);
    request->from = store;
    request->submitted_ms = clock_now_ms();
    request->started_us = trace_start(store->loop);
    pthread_mutex_lock(&main->lock);
    store->running += main != store;
    store_queue_push(&main->pending, request);
    pthread_cond_signal(&main->submitted);
    pthread_mutex_unlock(&main->lock);
}

void store_commit_take(struct store *store, tn_value batch, store_done *done, void *user) {
    if (store_link_is_used(store_link(store))) value_read_all(batch);
    store_submit(store, store_request_new(STORE_REQUEST_COMMIT, batch, done, user));
}

void store_query_take(struct store *store, tn_value query, store_done *done, void *user) {
    store_submit(store, store_request_new(STORE_REQUEST_QUERY, query, done, user));
}

void store_maintain(struct store *store, store_done *done, void *user) {
    store_submit(store, store_request_new(STORE_REQUEST_MAINTAIN, NULL, done, user));
}

void store_perform_take(struct store *store, store_perform_fn *perform, void *arguments, void (*release)(void *),
                        store_done *done, void *user) {
    struct store_request *request = store_request_new(STORE_REQUEST_PERFORM, NULL, done, user);
    request->perform = perform;
    request->perform_user = arguments;
    request->release = release;
    store_submit(store, request);
}

void store_perform(struct store *store, store_perform_fn *perform, void *perform_user, store_done *done, void *user) {
    store_perform_take(store, perform, perform_user, NULL, done, user);
}

void store_perform_grouped(struct store *store, store_perform_fn *perform, void *perform_user, store_done *done,
                           void *user) {
    struct store_request *request = store_request_new(STORE_REQUEST_PERFORM, NULL, done, user);
    request->perform = perform;
    request->perform_user = perform_user;
    request->grouped = true;
    store_submit(store, request);
}

/* ---- From any thread ---- */

struct store_link *store_link(const struct store *store) {
    return store->main->link;
}

int32_t store_perform_now(struct store *store, store_perform_fn *perform, void *user, tn_value *out,
                          struct error *error) {
    if (pthread_equal(pthread_self(), store->thread)) {
        struct session session = store_session(store);
        return perform(&session, user, out, error);
    }
    struct store_waiting waits = {PTHREAD_COND_INITIALIZER, false};
    struct store_request request = {
        .kind = STORE_REQUEST_PERFORM, .perform = perform, .perform_user = user, .waits = &waits};
    request.submitted_ms = clock_now_ms();
    pthread_mutex_lock(&store->lock);
    bool over = store->over;
    if (!over) {
        store_queue_push(&store->pending, &request);
        pthread_cond_signal(&store->submitted);
    }
    while (!over && !waits.is_over) pthread_cond_wait(&waits.ended, &store->lock);
    pthread_mutex_unlock(&store->lock);
    pthread_cond_destroy(&waits.ended);
    if (over) return error_set(error, TN_ERROR, "STORE_ERROR", "the store is closed");
    if (request.status == TN_OK)
        *out = request.result;
    else
        store_provider_error(error, request.status, request.error);
    value_unref(request.error);
    return request.status;
}

static void store_init_reports(struct store *store, struct store *main) {
    store->main = main;
    store->ended.last = &store->ended.first;
    store->work.run = store_report_all;
}

static struct store *store_open_as(const struct store_from *from, tn_value options, bool maintains,
                                   struct error *error) {
    struct store_provider provider;
    if (store_provider_find(from->registry, options, &provider, error) != TN_OK) return NULL;
    struct store *store = mem_zalloc(sizeof *store);
    store->loop = from->loop;
    store->provider = provider;
    store->presence.off = maintains;
    store->options = store_provider_options(from->config, options, &store->path);
    store->pending.last = &store->pending.first;
    store_init_reports(store, store);
    store_watches_init(&store->watches);
    store->link = store_link_new(store);
    pthread_mutex_init(&store->lock, NULL);
    pthread_cond_init(&store->submitted, NULL);
    int failed = pthread_create(&store->thread, NULL, store_thread_main, store);
    if (!failed) return store;
    error_set(error, TN_LIMIT, "LIMIT", "cannot start the thread of the store: %s", strerror(failed));
    store_watches_finish(&store->watches);
    store->closing = true;
    store_link_close(store->link);
    store_provider_release(&store->provider);
    value_unref(store->options);
    mem_free(store->path);
    mem_free(store);
    return NULL;
}

struct store *store_open_port(struct store *main, struct loop *loop) {
    struct store *port = mem_zalloc(sizeof *port);
    port->loop = loop;
    port->path = main->path ? mem_text(main->path) : NULL;
    store_init_reports(port, main->main);
    pthread_cond_init(&port->returned, NULL);
    pthread_mutex_lock(&port->main->lock);
    port->main->ports++;
    pthread_mutex_unlock(&port->main->lock);
    return port;
}

static void store_close_port(struct store *port) {
    struct store *main = port->main;
    pthread_mutex_lock(&main->lock);
    port->closing = true;
    while (port->running) pthread_cond_wait(&port->returned, &main->lock);
    pthread_mutex_unlock(&main->lock);
    loop_run_posted(port->loop);
    store_report_all(&port->work);
    pthread_mutex_lock(&main->lock);
    main->ports--;
    pthread_mutex_unlock(&main->lock);
    pthread_cond_destroy(&port->returned);
    mem_free(port->path);
    mem_free(port);
}

struct store *store_open(const struct store_from *from, tn_value options, struct error *error) {
    return store_open_as(from, options, false, error);
}

struct store *store_open_to_maintain(const struct store_from *from, tn_value options, struct error *error) {
    return store_open_as(from, options, true, error);
}

void store_close(struct store *store) {
    if (!store) return;
    if (store->main != store) {
        store_close_port(store);
        return;
    }
    pthread_mutex_lock(&store->lock);
    assert(!store->ports);
    store->closing = true;
    pthread_cond_signal(&store->submitted);
    pthread_mutex_unlock(&store->lock);
    pthread_join(store->thread, NULL);
    store_link_close(store->link);
    /* `work` may still be posted. It must run before the store is freed. */
    loop_run_posted(store->loop);
    store_report_all(&store->work);
    store_provider_release(&store->provider);
    store_watches_finish(&store->watches);
    pthread_mutex_destroy(&store->lock);
    pthread_cond_destroy(&store->submitted);
    value_unref(store->options);
    mem_free(store->path);
    mem_free(store);
}

struct loop *store_loop(const struct store *store) {
    return store->loop;
}

int64_t store_wall_ms(const struct store *store) {
    return loop_wall_ms(store->loop) + atomic_load(&store->main->clock_ahead_ms);
}

const char *store_path(const struct store *store) { return store->path; }
