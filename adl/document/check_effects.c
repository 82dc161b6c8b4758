/*
 * check_effects.c - reports policies that a node's effects, or its use of `run`, do not allow; at run time they would
 * be ignored silently.
 */
#include "adl/document/effects.h"
#include "adl/document/reader.h"

/* `component` is that of the node, or the tool that the node calls. */
static void effects_warn(struct reader *reader, const struct component_info *component, const struct tree_item *policy,
                         const char *what) {
    const char *obstacle = component_obstacle(component);
    struct diagnostic *it;
    if (obstacle)
        it = report(reader, ADL_W111, policy->key_span, "%s: `%s` has the effect `%.200s`, which must not happen twice",
                    what, component->id, obstacle);
    else
        it = report(reader, ADL_W111, policy->key_span,
                    "%s: `%s` does not declare its effects, so the worst is assumed", what, component->id);
    diagnostic_suggest(it, "remove it, or have the plugin declare `effects` or `idempotent`");
}

static void check_cache(struct reader *reader, const struct node_note *note, const struct document_node *def,
                        const struct tree_item *cache) {
    const struct component_info *fresh = !component_cacheable(def->component)             ? def->component
                                         : note->tool && !component_cacheable(note->tool) ? note->tool
                                                                                          : NULL;
    if (fresh)
        effects_warn(reader, fresh, cache, "the result is not cached");
    else if (note->model_chooses)
        diagnostic_suggest(
            report(reader, ADL_W111, cache->key_span, "the result is not cached: a model chooses the tools"),
            "remove it");
    else if (note->uses_run)
        diagnostic_suggest(report(reader, ADL_W111, cache->key_span,
                                  "the result is not cached: the config uses more of `run` than `run.configurable`"),
                           "remove it, or pass the value in a channel");
}

void check_effects(struct reader *reader) {
    for (uint32_t i = 0; i < reader->document->node_count; i++) {
        const struct document_node *def = &reader->document->nodes[i];
        const struct node_note *note = &reader->notes[i];
        if (!def->component || !note->node) continue;
        const struct tree_item *retry = tree_find(note->node, "retry"), *cache = tree_find(note->node, "cache");
        const struct component_info *once = !component_repeatable(def->component)             ? def->component
                                            : note->tool && !component_repeatable(note->tool) ? note->tool
                                                                                              : NULL;
        if (retry && def->retry.max_attempts > 1 && once) effects_warn(reader, once, retry, "the node is not retried");
        if (cache && def->cache_ttl_ms >= 0) check_cache(reader, note, def, cache);
    }
}
