/*
 * store.c - the thread of one store, and its two queues: what is asked for, what has been done.
 *
 * Under the lock: both queues, and whether the end has come. The loop is held while anything is under way, so that a
 * run which waits for its commit is not taken for one that nothing can bring on.
 */
#include "host/store/store.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/config/config.h"
#include "host/host.h"
#include "host/loop/loop.h"
#include "host/store/provider.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <tenon/store.h>

enum request_kind { REQUEST_COMMIT, REQUEST_QUERY, REQUEST_MAINTAIN, REQUEST_PERFORM };

struct request {
    struct request *next;
    enum request_kind kind;
    tn_value argument;
    store_perform_fn *perform;
    void *perform_user;
    store_done *done;
    void *user;
    int32_t status;
    tn_value result, error; /* error: the store's object */
};

struct session {
    struct store *store;
};

struct queue {
    struct request *first, **last;
};

struct store {
    struct host *host;
    struct provider provider;
    char *path;
    tn_value options;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t asked;
    struct queue wanted, ended; /* under the lock */
    bool closing;               /* under the lock */
    bool told;                  /* under the lock: `work` is on its way to the loop */
    struct loop_work work;
    /* The store thread's alone: */
    tn_store *open;
    bool tried;
    int32_t status; /* of the opening */
    tn_value error;
};

static void queue_push(struct queue *queue, struct request *request) {
    request->next = NULL;
    *queue->last = request;
    queue->last = &request->next;
}

static struct request *queue_pop(struct queue *queue) {
    struct request *request = queue->first;
    if (!request) return NULL;
    queue->first = request->next;
    if (!queue->first) queue->last = &queue->first;
    return request;
}

/* ---- On the store's thread ---- */

static void open_it(struct store *store) {
    store->tried = true;
    store->status = provider_folder(store->path, &store->error);
    if (store->status == TN_OK)
        store->status = store->provider.vtable->open(store->provider.self, store->options, &store->open, &store->error);
}

static void serve_one(struct store *store, struct request *request) {
    const tn_store_draft *vtable = store->provider.vtable;
    if (!store->tried) open_it(store);
    if (store->status != TN_OK) {
        request->status = store->status;
        request->error = value_ref(store->error);
        return;
    }
    switch (request->kind) {
    case REQUEST_COMMIT:
        request->status = vtable->commit(store->open, request->argument, &request->result, &request->error);
        break;
    case REQUEST_QUERY:
        request->status = vtable->query(store->open, request->argument, &request->result, &request->error);
        break;
    case REQUEST_PERFORM:;
        struct session session = {store};
        struct error error = ERROR_INIT;
        request->status = request->perform(&session, request->perform_user, &request->result, &error);
        if (request->status != TN_OK) request->error = error_to_value(&error);
        error_finish(&error);
        break;
    default: request->status = vtable->maintain(store->open, &request->result, &request->error); break;
    }
}

static int32_t said(int32_t status, tn_value object, struct error *error) {
    if (status != TN_OK) provider_error(error, status, object);
    value_unref(object);
    return status;
}

int32_t session_query_take(struct session *session, tn_value query, tn_value *result, struct error *error) {
    tn_value why = NULL;
    struct store *store = session->store;
    int32_t status = store->provider.vtable->query(store->open, query, result, &why);
    value_unref(query);
    return said(status, why, error);
}

int32_t session_commit_take(struct session *session, tn_value batch, tn_value *result, struct error *error) {
    tn_value why = NULL, given = NULL;
    struct store *store = session->store;
    int32_t status = store->provider.vtable->commit(store->open, batch, &given, &why);
    value_unref(batch);
    if (status == TN_OK && result)
        *result = given;
    else
        value_unref(given);
    return said(status, why, error);
}

static void *serve(void *user) {
    struct store *store = user;
    pthread_mutex_lock(&store->lock);
    for (;;) {
        struct request *request = queue_pop(&store->wanted);
        if (!request && store->closing) break;
        if (!request) {
            pthread_cond_wait(&store->asked, &store->lock);
            continue;
        }
        pthread_mutex_unlock(&store->lock);
        serve_one(store, request);
        pthread_mutex_lock(&store->lock);
        queue_push(&store->ended, request);
        if (store->told || store->closing) continue;
        store->told = true;
        loop_post(store->host->loop, &store->work);
    }
    pthread_mutex_unlock(&store->lock);
    if (store->open) store->provider.vtable->close(store->open);
    value_unref(store->error);
    return NULL;
}

/* ---- On the loop ---- */

static void tell(struct store *store, struct request *request) {
    struct error error = ERROR_INIT;
    if (request->status != TN_OK) provider_error(&error, request->status, request->error);
    if (request->done) request->done(request->user, request->status, request->result, &error);
    error_finish(&error);
    value_unref(request->argument);
    value_unref(request->result);
    value_unref(request->error);
    mem_free(request);
    loop_release(store->host->loop);
}

static void tell_all(struct loop_work *work) {
    struct store *store = (struct store *)(void *)((char *)work - offsetof(struct store, work));
    pthread_mutex_lock(&store->lock);
    store->told = false;
    struct request *request = store->ended.first;
    store->ended.first = NULL;
    store->ended.last = &store->ended.first;
    pthread_mutex_unlock(&store->lock);
    while (request) {
        struct request *next = request->next;
        tell(store, request);
        request = next;
    }
}

static struct request *request_new(enum request_kind kind, tn_value argument, store_done *done, void *user) {
    struct request *request = mem_zalloc(sizeof *request);
    request->kind = kind;
    request->argument = argument;
    request->done = done;
    request->user = user;
    return request;
}

static void ask(struct store *store, struct request *request) {
    loop_hold(store->host->loop);
    pthread_mutex_lock(&store->lock);
    queue_push(&store->wanted, request);
    pthread_cond_signal(&store->asked);
    pthread_mutex_unlock(&store->lock);
}

void store_commit_take(struct store *store, tn_value batch, store_done *done, void *user) {
    ask(store, request_new(REQUEST_COMMIT, batch, done, user));
}

void store_query_take(struct store *store, tn_value query, store_done *done, void *user) {
    ask(store, request_new(REQUEST_QUERY, query, done, user));
}

void store_maintain(struct store *store, store_done *done, void *user) {
    ask(store, request_new(REQUEST_MAINTAIN, NULL, done, user));
}

void store_perform(struct store *store, store_perform_fn *perform, void *perform_user, store_done *done, void *user) {
    struct request *request = request_new(REQUEST_PERFORM, NULL, done, user);
    request->perform = perform;
    request->perform_user = perform_user;
    ask(store, request);
}

struct store *store_open(struct host *host, tn_value options, struct error *error) {
    struct provider provider;
    if (provider_find(host, options, &provider, error) != TN_OK) return NULL;
    struct store *store = mem_zalloc(sizeof *store);
    store->host = host;
    store->provider = provider;
    store->options = provider_options(host, options, &store->path);
    store->wanted.last = &store->wanted.first;
    store->ended.last = &store->ended.first;
    store->work.run = tell_all;
    pthread_mutex_init(&store->lock, NULL);
    pthread_cond_init(&store->asked, NULL);
    int failed = pthread_create(&store->thread, NULL, serve, store);
    if (!failed) return store;
    error_set(error, TN_LIMIT, "LIMIT", "the store's thread cannot be started: %s", strerror(failed));
    store->closing = true;
    provider_release(&store->provider);
    value_unref(store->options);
    mem_free(store->path);
    mem_free(store);
    return NULL;
}

struct store *host_store(struct host *host, struct error *error) {
    if (!host->store) host->store = store_open(host, config_store(host->config), error);
    return host->store;
}

void store_close(struct store *store) {
    if (!store) return;
    pthread_mutex_lock(&store->lock);
    store->closing = true;
    pthread_cond_signal(&store->asked);
    pthread_mutex_unlock(&store->lock);
    pthread_join(store->thread, NULL);
    /* `work` may be on its way still: it must have run before the store goes. */
    loop_run_posted(store->host->loop);
    tell_all(&store->work);
    provider_release(&store->provider);
    pthread_mutex_destroy(&store->lock);
    pthread_cond_destroy(&store->asked);
    value_unref(store->options);
    mem_free(store->path);
    mem_free(store);
}

const char *store_path(const struct store *store) { return store->path; }

/* ---- Waiting ---- */

struct waiting {
    bool over;
    int32_t status;
    tn_value result;
    struct error *error;
};

static void on_done(void *user, int32_t status, tn_value result, const struct error *error) {
    struct waiting *waiting = user;
    waiting->over = true;
    waiting->status = status;
    waiting->result = result ? value_ref(result) : NULL;
    if (status != TN_OK) error_copy(waiting->error, error);
}

static bool is_over(void *user) { return ((struct waiting *)user)->over; }

/* `request` has no `done` yet. */
static int32_t wait_for(struct store *store, struct request *request, tn_value *out, struct error *error) {
    struct waiting waiting = {.error = error};
    request->done = on_done;
    request->user = &waiting;
    ask(store, request);
    loop_run(store->host->loop, is_over, &waiting);
    if (waiting.status == TN_OK && out)
        *out = waiting.result;
    else
        value_unref(waiting.result);
    return waiting.status;
}

int32_t store_commit_wait(struct store *store, tn_value batch, tn_value *out, struct error *error) {
    return wait_for(store, request_new(REQUEST_COMMIT, batch, NULL, NULL), out, error);
}

int32_t store_query_wait(struct store *store, tn_value query, tn_value *out, struct error *error) {
    return wait_for(store, request_new(REQUEST_QUERY, query, NULL, NULL), out, error);
}

int32_t store_perform_wait(struct store *store, store_perform_fn *perform, void *perform_user, tn_value *out,
                           struct error *error) {
    struct request *request = request_new(REQUEST_PERFORM, NULL, NULL, NULL);
    request->perform = perform;
    request->perform_user = perform_user;
    return wait_for(store, request, out, error);
}
