/*
 * check_effects.c - reports policies that a node's effects, or its use of `run`, do not allow; at run time they would
 * be ignored silently.
 */
#include "adl/document/effects.h"
#include "adl/document/reader.h"

static void effects_warn(struct reader *reader, const struct document_node *def, const struct tree_item *policy,
                         const char *what) {
    const char *obstacle = component_obstacle(def->component);
    struct diagnostic *it;
    if (obstacle)
        it = report(reader, ADL_W111, policy->key_span, "%s: `%s` has the effect `%.200s`, which must not happen twice",
                    what, def->component->id, obstacle);
    else
        it = report(reader, ADL_W111, policy->key_span,
                    "%s: `%s` does not declare its effects, so the worst is assumed", what, def->component->id);
    diagnostic_suggest(it, "remove it, or have the plugin declare `effects` or `idempotent`");
}

void check_effects(struct reader *reader) {
    for (uint32_t i = 0; i < reader->document->node_count; i++) {
        const struct document_node *def = &reader->document->nodes[i];
        const struct tree_node *node = reader->notes[i].node;
        if (!def->component || !node) continue;
        const struct tree_item *retry = tree_find(node, "retry"), *cache = tree_find(node, "cache");
        if (retry && def->retry.max_attempts > 1 && !component_repeatable(def->component))
            effects_warn(reader, def, retry, "the node is not retried");
        if (cache && def->cache_ttl_ms >= 0 && !component_cacheable(def->component))
            effects_warn(reader, def, cache, "the result is not cached");
        else if (cache && def->cache_ttl_ms >= 0 && reader->notes[i].uses_run)
            diagnostic_suggest(
                report(reader, ADL_W111, cache->key_span,
                       "the result is not cached: the config uses more of `run` than `run.configurable`"),
                "remove it, or pass the value in a channel");
    }
}
