/*
 * check_anchors.c - anchors of YAML that no alias uses.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/reader.h"
#include "adl/source/source.h"
#include "adl/tree/tree.h"

void check_anchors(const struct tree *tree, struct diagnostics *found) {
    size_t count;
    const struct tree_anchor *anchors = tree_anchors(tree, &count);
    if (!tree_is_whole(tree)) return; /* an alias may be in a part that was not read */
    tn_value used = value_object(); /* the names of aliases → whether one is behind the place, up to the next anchor */
    while (count-- > 0) {
        struct span span = anchors[count].span;
        tn_value name = value_string(source_text(tree_source(tree)) + span.start + 1, span.end - span.start - 1);
        if (!name) continue; /* it is not UTF-8, which is reported */
        if (!anchors[count].alias && value_get_key(used, name) != value_bool(true))
            diagnostics_add(found, ADL_H002, tree_source(tree), span, "no alias uses the anchor `&%.80s`",
                            value_chars(name, NULL));
        /* An anchor can be defined again: an alias means the last one before it. */
        used = value_set_key_take(used, name, value_bool(anchors[count].alias));
    }
    value_unref(used);
}
