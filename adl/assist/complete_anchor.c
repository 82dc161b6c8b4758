/*
 * complete_anchor.c - behind `*`: the anchors that an alias can name there.
 *
 * YAML wants the anchor before the alias, and not around it. If a part of the text cannot be read, which an alias
 * without a name causes, the anchors that only the last good version has are offered, too.
 */
#include "adl/assist/complete_internal.h"
#include "adl/assist/walk.h"
#include "adl/document/names.h"
#include "adl/value/memory.h"
#include <string.h>

#define ANCHOR_VALUE_SHOWN 60 /* bytes of the value's first line */

static uint32_t skip_blanks(const struct source *source, uint32_t at) {
    return at + (uint32_t)strspn(source_text(source) + at, " \t\r\n");
}

/* Where the lists and mappings start that contain the cursor. */
struct around {
    uint32_t starts[TREE_DEPTH_CEILING];
    uint32_t count;
};

static void find_around(const struct tree *tree, uint32_t offset, struct around *around) {
    const struct tree_node *node = tree_root(tree);
    around->count = 0;
    while (node && (node->kind == TN_ARRAY || node->kind == TN_OBJECT) && around->count < TREE_DEPTH_CEILING) {
        around->starts[around->count++] = node->span.start;
        const struct tree_node *inner = NULL;
        for (uint32_t i = 0; i < node->count && !inner; i++) {
            const struct tree_item *item = &node->items[i];
            bool inside = walk_is_inside(node, item) && item->node->span.start <= offset;
            if (inside && offset <= item->node->span.end) inner = item->node;
        }
        node = inner;
    }
}

static bool is_around(const struct around *around, uint32_t start) {
    for (uint32_t i = 0; i < around->count; i++)
        if (around->starts[i] == start) return true;
    return false;
}

static void offer_anchor(struct completer *completer, const struct source *source, struct span name) {
    const char *text = source_text(source);
    uint32_t start = skip_blanks(source, name.end);
    char *value = mem_text_n(text + start, strcspn(text + start, "\r\n"));
    if (strlen(value) > ANCHOR_VALUE_SHOWN) {
        size_t end = ANCHOR_VALUE_SHOWN;
        while (end > 0 && ((unsigned char)value[end] & 0xc0) == 0x80) end--;
        value[end] = '\0';
    }
    offer(completer, &(struct offer){.kind = COMPLETION_ANCHOR,
                                     .label = text + name.start,
                                     .label_length = name.end - name.start,
                                     .detail = value,
                                     .written = true});
    mem_free(value);
}

/*
 * Offers the anchors before `end`, each name once: the last definition counts. `offered` has the names that are known
 * already; `around` is NULL for a version of the text in which positions mean nothing.
 */
static void offer_anchors(struct completer *completer, const struct tree *tree, uint32_t end,
                          const struct around *around, struct names *offered) {
    size_t count;
    const struct tree_anchor *anchors = tree_anchors(tree, &count);
    const struct source *source = tree_source(tree);
    while (count-- > 0) {
        const struct span name = {anchors[count].span.start + 1, anchors[count].span.end};
        const char *text = source_text(source) + name.start;
        if (anchors[count].alias || anchors[count].span.start >= end) continue;
        if (names_find(offered, text, name.end - name.start) >= 0) continue;
        names_add(offered, text, name.end - name.start);
        if (!around || !is_around(around, skip_blanks(source, name.end))) offer_anchor(completer, source, name);
    }
}

/* Anchors behind the cursor are known, too, so that the last good version does not offer them. */
static void add_anchors_behind(const struct tree *tree, uint32_t offset, struct names *offered) {
    size_t count;
    const struct tree_anchor *anchors = tree_anchors(tree, &count);
    while (count-- > 0 && anchors[count].span.start >= offset)
        if (!anchors[count].alias)
            names_add(offered, source_text(tree_source(tree)) + anchors[count].span.start + 1,
                      anchors[count].span.end - anchors[count].span.start - 1);
}

void complete_anchors(struct completer *completer) {
    const struct assist *assist = completer->assist;
    uint32_t offset = completer->meaning.cursor.offset;
    struct names offered = NAMES_INIT;
    struct around around;
    find_around(assist->tree, offset, &around);
    offer_anchors(completer, assist->tree, offset, &around, &offered);
    if (assist->good) {
        add_anchors_behind(assist->tree, offset, &offered);
        offer_anchors(completer, assist->good->tree, UINT32_MAX, NULL, &offered);
    }
    names_finish(&offered);
}
