/*
 * serve_store.c - the child's side of a store: runs the plugin's tn_store_draft for the host.
 *
 * Each store has a thread, on which it is opened, called and closed, as in a host: its functions block, and may wait
 * for the loop. The lock guards `pending`, `ended` and `posted`. The host closes a store before it sends `shutdown`.
 */
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/log.h"
#include "host/plugin/isolate/serve_internal.h"
#include "host/plugin/registry/plugin.h"
#include <pthread.h>
#include <string.h>
#include <tenon/store.h>

enum store_operation { STORE_OPEN, STORE_COMMIT, STORE_QUERY, STORE_MAINTAIN, STORE_CLOSE, STORE_OPERATIONS };

static const struct {
    const char *method, *member; /* the member of params that has the argument; NULL for none */
} store_operations[STORE_OPERATIONS] = {[STORE_OPEN] = {"store_open", "options"},
                                        [STORE_COMMIT] = {"store_commit", "batch"},
                                        [STORE_QUERY] = {"store_query", "query"},
                                        [STORE_MAINTAIN] = {"store_maintain", NULL},
                                        [STORE_CLOSE] = {"store_close", NULL}};

struct served_request {
    struct served_request *next;
    enum store_operation operation;
    tn_value id, argument;
    int32_t status;
    tn_value result, error;
};

struct served_queue {
    struct served_request *first, **last;
};

struct served_store {
    struct served_store *next;
    int64_t number;
    const tn_store_draft *vtable;
    void *self;
    tn_store *open; /* only its thread uses it */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t submitted;
    struct served_queue pending, ended;
    bool posted; /* `work` is posted and has not run */
    struct loop_work work;
};

static struct served_store *served_stores;

static void served_queue_push(struct served_queue *queue, struct served_request *request) {
    request->next = NULL;
    *queue->last = request;
    queue->last = &request->next;
}

static struct served_request *served_queue_take_all(struct served_queue *queue) {
    struct served_request *first = queue->first;
    queue->first = NULL;
    queue->last = &queue->first;
    return first;
}

/* ---- On the store's thread ---- */

static void served_request_run(struct served_store *store, struct served_request *request) {
    const tn_store_draft *vtable = store->vtable;
    switch (request->operation) {
    case STORE_OPEN:
        request->status = vtable->open(store->self, request->argument, &store->open, &request->error);
        if (request->status == TN_OK) request->result = value_object();
        break;
    case STORE_COMMIT:
        request->status = vtable->commit(store->open, request->argument, &request->result, &request->error);
        break;
    case STORE_QUERY:
        request->status = vtable->query(store->open, request->argument, &request->result, &request->error);
        break;
    case STORE_MAINTAIN: request->status = vtable->maintain(store->open, &request->result, &request->error); break;
    default:
        vtable->close(store->open);
        store->open = NULL;
        request->result = value_null();
        break;
    }
}

static void *served_store_main(void *user) {
    struct served_store *store = user;
    bool closed = false;
    while (!closed) {
        pthread_mutex_lock(&store->lock);
        while (!store->pending.first) pthread_cond_wait(&store->submitted, &store->lock);
        struct served_request *request = store->pending.first;
        store->pending.first = request->next;
        if (!request->next) store->pending.last = &store->pending.first;
        pthread_mutex_unlock(&store->lock);
        closed = request->operation == STORE_CLOSE;
        if (store->open || closed || request->operation == STORE_OPEN) {
            served_request_run(store, request);
        } else {
            request->status = TN_FAILED;
            request->error = value_text("the store was not opened");
        }
        pthread_mutex_lock(&store->lock);
        served_queue_push(&store->ended, request);
        if (!store->posted) loop_post(server.loop, &store->work);
        store->posted = true;
        pthread_mutex_unlock(&store->lock);
    }
    return NULL;
}

/* ---- On the loop ---- */

static void served_submit(struct served_store *store, struct served_request *request) {
    loop_hold(server.loop);
    pthread_mutex_lock(&store->lock);
    served_queue_push(&store->pending, request);
    pthread_cond_signal(&store->submitted);
    pthread_mutex_unlock(&store->lock);
}

static void served_request_free(struct served_request *request) {
    value_unref(request->id);
    value_unref(request->argument);
    value_unref(request->result);
    value_unref(request->error);
    mem_free(request);
}

/*
 * A page of a list can be longer than a message: asks for half of the records, so that the rest is `more`. Returns
 * false if that does not help.
 */
static bool served_list_again(struct served_store *store, struct served_request *request) {
    tn_value list = request->operation == STORE_QUERY ? value_get(request->argument, "list") : NULL;
    size_t count = value_is(value_get(request->result, "records"), TN_ARRAY)
                       ? value_count(value_get(request->result, "records"))
                       : 0;
    if (!value_is(list, TN_OBJECT) || count < 2) return false;
    tn_value shorter = value_set_take(value_ref(list), "limit", value_int((int64_t)count / 2));
    tn_value query = value_set_take(value_object_reserve(1), "list", shorter);
    value_unref(request->argument);
    value_unref(request->result);
    request->argument = query;
    request->result = NULL;
    served_submit(store, request);
    return true;
}

/* Returns false if the request was submitted again. */
static bool served_respond(struct served_store *store, struct served_request *request) {
    struct error error = ERROR_INIT;
    if (request->status == TN_OK && request->result) {
        enum frame_fit fit = serve_send_result_take(request->id, value_ref(request->result));
        if (fit == FRAME_TOO_LONG && served_list_again(store, request)) return false;
        if (fit != FRAME_FITS) serve_set_unsendable(&error, "the result", fit);
    } else if (request->error && request->status != TN_OK) {
        error_from_value(&error, request->error);
    } else {
        error_set(&error, TN_FAILED, "STORE_ERROR", "the store failed without an error");
    }
    if (error.code) serve_respond_error(request->id, &error);
    error_finish(&error);
    return true;
}

static void served_store_free(struct served_store *store) {
    struct served_store **at = &served_stores;
    while (*at != store) at = &(*at)->next;
    *at = store->next;
    pthread_join(store->thread, NULL);
    pthread_mutex_destroy(&store->lock);
    pthread_cond_destroy(&store->submitted);
    mem_free(store);
}

static void served_on_ended(struct loop_work *work) {
    struct served_store *store = CONTAINER_OF(work, struct served_store, work);
    bool closed = false;
    pthread_mutex_lock(&store->lock);
    store->posted = false;
    struct served_request *request = served_queue_take_all(&store->ended);
    pthread_mutex_unlock(&store->lock);
    while (request) {
        struct served_request *next = request->next;
        closed |= request->operation == STORE_CLOSE;
        loop_release(server.loop);
        if (served_respond(store, request)) served_request_free(request);
        request = next;
    }
    if (closed) served_store_free(store);
}

static struct served_store *served_store_lookup(int64_t number) {
    struct served_store *store = served_stores;
    while (store && store->number != number) store = store->next;
    return store;
}

static struct served_store *served_store_new(int64_t number, struct error *error) {
    const tn_store_draft *vtable = server.plugin ? plugin_interface(server.plugin, TN_STORE_DRAFT) : NULL;
    if (!vtable || vtable->size < TN_STORE_DRAFT_SIZE) {
        error_set(error, TN_UNSUPPORTED, "PLUGIN_INVALID",
                  "%s does not provide " TN_STORE_DRAFT ", or was built for another version of it", server.path);
        return NULL;
    }
    struct served_store *store = mem_zalloc(sizeof *store);
    store->number = number;
    store->vtable = vtable;
    store->self = plugin_self(server.plugin);
    store->pending.last = &store->pending.first;
    store->ended.last = &store->ended.first;
    store->work.run = served_on_ended;
    pthread_mutex_init(&store->lock, NULL);
    pthread_cond_init(&store->submitted, NULL);
    int failed = pthread_create(&store->thread, NULL, served_store_main, store);
    if (failed) {
        error_set(error, TN_LIMIT, "LIMIT", "cannot start the thread of the store: %s", strerror(failed));
        pthread_mutex_destroy(&store->lock);
        pthread_cond_destroy(&store->submitted);
        mem_free(store);
        return NULL;
    }
    store->next = served_stores;
    served_stores = store;
    return store;
}

static struct served_request *served_request_new(enum store_operation operation, tn_value id, tn_value params) {
    struct served_request *request = mem_zalloc(sizeof *request);
    const char *member = store_operations[operation].member;
    tn_value argument = member ? value_get(params, member) : NULL;
    request->operation = operation;
    request->id = value_ref(id);
    request->argument = argument ? value_ref(argument) : value_null();
    return request;
}

bool serve_store(const char *method, tn_value id, tn_value params) {
    struct error error = ERROR_INIT;
    tn_value which = value_get(params, "store");
    int64_t number = value_is(which, TN_INT) ? value_to_int(which) : 0;
    unsigned operation = 0;
    while (operation < STORE_OPERATIONS && strcmp(method, store_operations[operation].method) != 0) operation++;
    if (operation == STORE_OPERATIONS || !id) return false;
    struct served_store *store = served_store_lookup(number);
    if (operation == STORE_OPEN && !store)
        store = served_store_new(number, &error);
    else if (!store || operation == STORE_OPEN)
        error_set(&error, TN_INVALID, "INVALID", store ? "the store is open already" : "the store is not open");
    if (error.code)
        serve_respond_error(id, &error);
    else
        served_submit(store, served_request_new((enum store_operation)operation, id, params));
    error_finish(&error);
    return true;
}
