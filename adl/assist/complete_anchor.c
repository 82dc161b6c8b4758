/*
 * complete_anchor.c - behind `*`: the anchors that an alias can name there.
 *
 * YAML wants the anchor before the alias, and not around it. If a part of the text cannot be read, which an alias
 * without a name causes, the anchors that only the last good version has are offered, too.
 */
#include "adl/assist/complete_internal.h"
#include "adl/assist/walk.h"
#include "adl/value/memory.h"
#include <string.h>

#define ANCHOR_VALUE_SHOWN 60 /* bytes of the value's first line */

static uint32_t skip_blanks(const struct source *source, uint32_t at) {
    return at + (uint32_t)strspn(source_text(source) + at, " \t\r\n");
}

/* True if the value of an anchor contains the offset. `start` is that of the value. */
static bool is_around(const struct tree *tree, uint32_t start, uint32_t offset) {
    const struct tree_node *node = tree_root(tree);
    while (node && (node->kind == TN_ARRAY || node->kind == TN_OBJECT)) {
        if (node->span.start == start) return true;
        const struct tree_node *inner = NULL;
        for (uint32_t i = 0; i < node->count && !inner; i++) {
            const struct tree_item *item = &node->items[i];
            bool inside = walk_is_inside(node, item) && item->node->span.start <= offset;
            if (inside && offset <= item->node->span.end) inner = item->node;
        }
        node = inner;
    }
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

static bool has_anchor(const struct assist *assist, const struct source *source, struct span name) {
    size_t count;
    const struct tree_anchor *anchors = tree_anchors(assist->tree, &count);
    uint32_t length = name.end - name.start;
    for (size_t i = 0; i < count; i++) {
        const struct span span = anchors[i].span;
        if (!anchors[i].alias && span.end - span.start - 1 == length &&
            memcmp(source_text(assist->source) + span.start + 1, source_text(source) + name.start, length) == 0)
            return true;
    }
    return false;
}

void complete_anchors(struct completer *completer) {
    const struct assist *assist = completer->assist, *good = assist->good;
    uint32_t offset = completer->meaning.cursor.offset;
    size_t count;
    const struct tree_anchor *anchors = tree_anchors(assist->tree, &count);
    for (size_t i = 0; i < count && anchors[i].span.start < offset; i++) {
        const struct span name = {anchors[i].span.start + 1, anchors[i].span.end};
        if (!anchors[i].alias && !is_around(assist->tree, skip_blanks(assist->source, name.end), offset))
            offer_anchor(completer, assist->source, name);
    }
    anchors = good ? tree_anchors(good->tree, &count) : NULL;
    for (size_t i = 0; anchors && i < count; i++) {
        const struct span name = {anchors[i].span.start + 1, anchors[i].span.end};
        if (!anchors[i].alias && !has_anchor(assist, good->source, name)) offer_anchor(completer, good->source, name);
    }
}
