/*
 * link.c - links of configs: strings with x-tenon `file` or `document`, and {file: NAME} in the place of a text.
 */
#include "adl/assist/link.h"
#include "adl/assist/visit.h"
#include "adl/value/memory.h"
#include <stdlib.h>
#include <string.h>

struct linker {
    const struct assist *assist;
    struct assist_links *links;
};

static void add_link(struct linker *linker, const struct tree_node *node, bool document) {
    struct assist_links *links = linker->links;
    size_t length;
    const char *text = tree_text(linker->assist->tree, node, &length);
    bool fits = text && length > 0 && node->style != TREE_BLOCK && !memchr(text, '\0', length);
    if (!fits || links->count == ASSIST_LINKS_MAX) return;
    struct span span = node->span;
    if (node->style == TREE_QUOTED) span = (struct span){span.start + 1, span.end - 1};
    MEM_GROW(links->items, links->count, links->capacity);
    links->items[links->count++] = (struct assist_link){span, mem_text_n(text, length), document};
}

static void link_annotated(void *user, const char *annotation, const struct tree_node *node, struct span span) {
    (void)span;
    bool document = strcmp(annotation, "document") == 0;
    if (node && (document || strcmp(annotation, "file") == 0)) add_link(user, node, document);
}

static void link_file(void *user, const struct tree_node *node) { add_link(user, node, false); }

static int compare_links(const void *a, const void *b) {
    const struct assist_link *x = a, *y = b;
    return (x->span.start > y->span.start) - (x->span.start < y->span.start);
}

struct assist_links *assist_links(const struct assist *assist) {
    static const char *const annotations[] = {"file", "document", NULL};
    const struct assist_visitor visitor = {
        .range = {0, UINT32_MAX}, .annotations = annotations, .annotated = link_annotated, .file = link_file};
    struct linker linker = {assist, mem_zalloc(sizeof *linker.links)};
    assist_visit(assist, &visitor, &linker);
    if (linker.links->count > 1)
        qsort(linker.links->items, linker.links->count, sizeof *linker.links->items, compare_links);
    return linker.links;
}

void assist_links_free(struct assist_links *links) {
    if (!links) return;
    for (uint32_t i = 0; i < links->count; i++) mem_free(links->items[i].target);
    mem_free(links->items);
    mem_free(links);
}
