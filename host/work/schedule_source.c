/*
 * schedule_source.c - finds the places of mistakes in schedules.
 *
 * A configuration has no positions. So the text is parsed again, and the path of the key is looked up in it.
 */
#include "host/work/schedule_source.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/source/source.h"
#include "adl/tree/tree.h"
#include "host/base/config/config.h"
#include "host/work/schedule.h"

/* The place of schedules.NAME.KEY, or of the nearest key above it. */
static struct span place_of_key(const struct tree *tree, const char *name, const char *key) {
    const char *const path[] = {"schedules", name, key};
    const struct tree_node *node = tree_root(tree);
    for (size_t i = 0; i < 3; i++) {
        const struct tree_node *inner = node->kind == TN_OBJECT ? tree_get(node, path[i]) : NULL;
        if (!inner) break;
        node = inner;
    }
    return node->span;
}

void schedules_check_source(struct source *source, tn_value schedules, struct diagnostics *found) {
    struct diagnostics *reported = diagnostics_new(); /* mistakes of syntax, which config_read has reported */
    struct tree *tree = NULL;
    for (size_t i = 0; i < value_count(schedules); i++) {
        struct error error = ERROR_INIT;
        const char *name = value_chars(value_key_at(schedules, i), NULL);
        const char *key = schedule_check(name, value_value_at(schedules, i), &error);
        if (key) {
            if (!tree) tree = tree_read(source, &(struct tree_limits){.size = CONFIG_FILE_MAX}, reported);
            diagnostics_add(found, ADL_E020, source, place_of_key(tree, name, key), "%s", error.message);
        }
        error_finish(&error);
    }
    tree_free(tree);
    diagnostics_free(reported);
}
