/*
 * saved_cache.c - reads and writes the collection `cache` of the store.
 */
#include "host/engine/graph/saved_cache.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "host/engine/engine.h"
#include "host/engine/graph/cache_identity.h"
#include "host/engine/graph/graph.h"
#include <stdio.h>

_Static_assert(SAVED_CACHE_SLOTS == 1u << (4 * SAVED_CACHE_DIGITS), "a record is named after the digits of a hash");

struct saved_lookup {
    struct graph *graph;
    struct saved_name name;
    saved_cache_found *found; /* NULL if the lookup was cancelled */
    void *user;
};

/* ---- The store, and its failures ---- */

/* Also releases the reference to the graph, which pending requests hold. */
static void saved_cache_failed_take(struct graph *graph, const char *what, const struct error *error) {
    if (!graph->cache_failed)
        log_write(LOG_WARN, NULL, "the cache in the store cannot be %s: %s; the nodes run", what,
                  error->message ? error->message : "the store failed");
    graph->cache_failed = true;
    graph_unref(graph);
}

static struct store *saved_cache_store(struct graph *graph) {
    struct error error = ERROR_INIT;
    struct store *store = graph->engine->store ? graph->engine->store(graph->engine->store_user, &error) : NULL;
    if (!store) saved_cache_failed_take(graph_ref(graph), "used", &error);
    error_finish(&error);
    return store;
}

/* ---- Names ---- */

/* Computed when it is first needed: it reads the files of plugins. NULL if it is not known. */
static const char *node_identity(struct graph *graph, uint32_t index) {
    struct graph_node *node = &graph->nodes[index];
    if (!node->identity) {
        char identity[TN_SHA256_TEXT];
        node->identity = mem_text(cache_identity(graph, index, identity) ? identity : "");
        if (!*node->identity)
            log_write(LOG_WARN, NULL,
                      "node `%s`: its results are not kept in the store, because it uses a component without a file",
                      graph_node_name(graph, (int32_t)index));
    }
    return *node->identity ? node->identity : NULL;
}

bool saved_cache_name(struct graph *graph, uint32_t node, tn_value key, struct saved_name *name) {
    const char *identity = node_identity(graph, node);
    if (!identity) return false;
    json_hash(key, JSON_SORTED, name->input);
    snprintf(name->key, sizeof name->key, "%s/%.*s", identity, (int)SAVED_CACHE_DIGITS, name->input);
    return true;
}

/* ---- Looking up ---- */

/* Replaces the names of channels by indexes. NULL if the record does not have the form that saved_cache_put writes. */
static tn_value outcome_from_record(const struct graph *graph, tn_value saved) {
    tn_value writes = value_get(saved, "writes"), output = value_get(saved, "output"), list = value_array();
    bool fits = value_is(writes, TN_ARRAY);
    for (size_t i = 0; fits && i < value_count(writes); i++) {
        tn_value pair = value_at(writes, i);
        fits = value_is(pair, TN_ARRAY) && value_count(pair) == 2 && value_is(value_at(pair, 0), TN_STRING);
        size_t length;
        const char *name = fits ? value_chars(value_at(pair, 0), &length) : NULL;
        int32_t channel = name ? document_find_channel(graph->document, name, length) : -1;
        fits = channel >= 0;
        if (!fits) break;
        tn_value write = value_push_take(value_array_reserve(2), value_int(channel));
        list = value_push_take(list, value_push_take(write, value_ref(value_at(pair, 1))));
    }
    if (!fits) {
        value_unref(list);
        return NULL;
    }
    tn_value outcome = value_set_take(value_object_reserve(2), "writes", list);
    return output ? value_set_take(outcome, "output", value_ref(output)) : outcome;
}

static void on_found(void *user, int32_t status, tn_value result, const struct error *error) {
    struct saved_lookup *lookup = user;
    struct graph *graph = lookup->graph;
    tn_value record = status == TN_OK ? value_get(result, "value") : NULL;
    tn_value outcome = record && value_text_is(value_get(record, "input"), lookup->name.input)
                           ? outcome_from_record(graph, value_get(record, "outcome"))
                           : NULL;
    if (status != TN_OK) saved_cache_failed_take(graph_ref(graph), "read", error);
    if (lookup->found) lookup->found(lookup->user, outcome);
    value_unref(outcome);
    mem_free(lookup);
    graph_unref(graph);
}

struct saved_lookup *saved_cache_lookup(struct graph *graph, const struct saved_name *name, saved_cache_found *found,
                                        void *user) {
    struct store *store = saved_cache_store(graph);
    if (!store) return NULL;
    struct saved_lookup *lookup = mem_zalloc(sizeof *lookup);
    *lookup = (struct saved_lookup){graph_ref(graph), *name, found, user};
    store_query_take(store, store_get(STORE_CACHE, name->key), on_found, lookup);
    return lookup;
}

void saved_lookup_cancel(struct saved_lookup *lookup) {
    if (lookup) lookup->found = NULL;
}

/* ---- Saving ---- */

static void on_written(void *user, int32_t status, tn_value result, const struct error *error) {
    (void)result;
    if (status == TN_OK)
        graph_unref(user);
    else
        saved_cache_failed_take(user, "written", error);
}

void saved_cache_put(struct graph *graph, uint32_t node, const struct saved_name *name, tn_value outcome) {
    struct store *store = saved_cache_store(graph);
    if (!store) return;
    tn_value writes = value_get(outcome, "writes"), output = value_get(outcome, "output"), named = value_array();
    for (size_t i = 0; i < value_count(writes); i++) {
        tn_value pair = value_at(writes, i);
        tn_value channel = graph->document->channels[value_to_int(value_at(pair, 0))].name;
        tn_value copy = value_push_take(value_array_reserve(2), value_ref(channel));
        named = value_push_take(named, value_push_take(copy, value_ref(value_at(pair, 1))));
    }
    tn_value saved = value_set_take(value_object_reserve(2), "writes", named);
    if (output) saved = value_set_take(saved, "output", value_ref(output));
    tn_value record = value_set_take(value_object_reserve(2), "input", value_text(name->input));
    record = value_set_take(record, "outcome", saved);
    int64_t ttl_ms = graph->document->nodes[node].cache_ttl_ms, now_ms = store_wall_ms(store);
    tn_value put = store_put(STORE_CACHE, name->key, record);
    put = store_expires_at(put, ttl_ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + ttl_ms);
    store_commit_take(store, value_push_take(value_array_reserve(1), put), on_written, graph_ref(graph));
}
