/*
 * activation_cache.c - looks for the outcome of an activation in the cache of its node, and keeps it there.
 *
 * The key is `configurable`, the input, the fields that the node reads, and the owner of the run (plugin/call/owner.h).
 * Nothing else of the run is in the key, because a node whose expressions or templates use more of `run` has no cache
 * (graph.c). A cache in memory answers at once. The store answers later: the activation then counts as open, and
 * run_advance is called after the answer.
 */
#include "adl/value/memory.h"
#include "host/engine/cache.h"
#include "host/engine/graph/durable.h"
#include "host/engine/graph/run_internal.h"
#include "host/engine/graph/saved_cache.h"
#include "host/plugin/call/owner.h"

struct cache_use {
    tn_value key;                /* of a cache in memory; NULL for one in the store */
    struct saved_name name;      /* of a record in the store */
    struct saved_lookup *lookup; /* of ACTIVATION_LOOKING; otherwise NULL */
};

void activation_clear_cache_use(struct activation *activation) {
    if (!activation->cache_use) return;
    value_unref(activation->cache_use->key);
    mem_free(activation->cache_use);
    activation->cache_use = NULL;
}

static struct graph_node *cached_node(const struct activation *activation) {
    return &activation->run->graph->nodes[activation->plan.node];
}

static tn_value activation_cache_key(const struct activation *activation) {
    const struct graph_node *node = cached_node(activation);
    const struct run_options *options = &activation->run->options;
    char owner[OWNER_TEXT];
    tn_value key = value_array_reserve(node->read_count + 3);
    key = value_push_take(key, options->configurable ? value_ref(options->configurable) : value_null());
    key = value_push_take(key, activation->plan.input ? value_ref(activation->plan.input) : value_null());
    for (uint32_t i = 0; i < node->read_count; i++) {
        tn_value read = activation_field(activation, node->reads[i]);
        key = value_push_take(key, read ? value_ref(read) : value_null());
    }
    /* The node may have read what only this user can reach. Keys of the operator's runs stay as they were. */
    if (owner_of_run(options->thread_id, run_id(activation->run), owner)) key = value_push_take(key, value_text(owner));
    return key;
}

/* NULL if results of the node cannot be kept in the store. */
static struct cache_use *cache_use_new(const struct activation *activation) {
    struct cache_use *use = mem_zalloc(sizeof *use);
    tn_value key = activation_cache_key(activation);
    if (!cached_node(activation)->cached_in_store) {
        use->key = key;
        return use;
    }
    bool named = saved_cache_name(activation->run->graph, activation->plan.node, key, &use->name);
    value_unref(key);
    if (named) return use;
    mem_free(use);
    return NULL;
}

/* Its outcome is in the journal like that of a call, unless the node is pure: a replay does not look into caches. */
static void activation_end_cached(struct activation *activation, tn_value outcome) {
    activation->known_outcome = value_ref(outcome);
    activation->state = ACTIVATION_DONE;
    if (activation->run->durable) durable_save_outcome(activation);
    emit_activation(activation, "cached");
}

static void activation_on_found(void *user, tn_value outcome) {
    struct activation *activation = user;
    struct run *run = activation->run;
    activation->cache_use->lookup = NULL;
    run->open--;
    if (outcome) {
        activation_end_cached(activation, outcome);
    } else {
        /* As after the pause of a retry: run_advance decides when the attempt starts. */
        activation->state = ACTIVATION_WAITING;
        activation->looked_up = true;
        if (activation->index < run->next_activation) run->next_activation = activation->index;
    }
    run_advance(run);
}

void activation_cancel_lookup(struct activation *activation) {
    saved_lookup_cancel(activation->cache_use->lookup);
    activation->cache_use->lookup = NULL;
    activation->run->open--;
}

static enum activation_cache_result activation_ask_store(struct activation *activation) {
    struct run *run = activation->run;
    struct cache_use *use = activation->cache_use;
    use->lookup = saved_cache_lookup(run->graph, &use->name, activation_on_found, activation);
    if (!use->lookup) return ACTIVATION_NOT_CACHED;
    activation->state = ACTIVATION_LOOKING;
    run->open++;
    return ACTIVATION_CACHE_ASKED;
}

enum activation_cache_result activation_use_cache(struct activation *activation) {
    const struct graph_node *node = cached_node(activation);
    struct run *run = activation->run;
    if (activation->looked_up) {
        activation->looked_up = false; /* the next attempt looks again */
        return ACTIVATION_NOT_CACHED;
    }
    activation_clear_cache_use(activation);
    /* A rule of the operator comes first: the gate asks, also if there is an outcome from before the rule. */
    if (node->gate && !activation->agreed) return ACTIVATION_NOT_CACHED;
    /* An outcome with an answer is not cached, whether the node itself or a call that it made has asked. */
    if (activation->resumed || activation->child_calls) return ACTIVATION_NOT_CACHED;
    if (node->cached_in_store && durable_replays(run)) return ACTIVATION_NOT_CACHED;
    struct cache_use *use = activation->cache_use = cache_use_new(activation);
    if (!use) return ACTIVATION_NOT_CACHED;
    if (run->options.refresh_cache) return ACTIVATION_NOT_CACHED;
    if (node->cached_in_store) return activation_ask_store(activation);
    tn_value known = cache_get(node->cache, use->key, loop_now_ms(run->loop));
    if (!known) return ACTIVATION_NOT_CACHED;
    activation_end_cached(activation, known);
    return ACTIVATION_CACHED;
}

void activation_fill_cache(struct activation *activation) {
    struct run *run = activation->run;
    const struct graph_node *node = cached_node(activation);
    tn_value outcome = activation_outcome(activation);
    if (node->cached_in_store)
        saved_cache_put(run->graph, activation->plan.node, &activation->cache_use->name, outcome);
    else
        cache_put(node->cache, activation->cache_use->key, outcome, loop_now_ms(run->loop));
    value_unref(outcome);
}
