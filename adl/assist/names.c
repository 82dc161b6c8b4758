/*
 * names.c - sorts the recorded names, merges those that were recorded twice, and indexes them by text.
 */
#include "adl/assist/names.h"
#include "adl/assist/uses.h"
#include "adl/value/memory.h"
#include <stdlib.h>
#include <string.h>

/* The items of each text: list[first[id]] … list[first[id + 1] - 1]. */
struct assist_names_index {
    uint32_t *first, *list;
    uint32_t text_count;
};

/* 0: in the document, 1: in a file, 2: not a place of a name. */
static int rank_of(const struct recorded_use *use) {
    if (use->kind >= USE_UNREAD || use->form >= USE_DEFAULT) return 2;
    return use->file ? 1 : 0;
}

static int compare_numbers(uint32_t a, uint32_t b) { return a < b ? -1 : a > b; }

static int compare_uses(const void *a, const void *b) {
    const struct recorded_use *left = a, *right = b;
    int order = rank_of(left) - rank_of(right);
    if (!order) order = compare_numbers(left->file, right->file);
    if (!order) order = compare_numbers(left->span.start, right->span.start);
    if (!order) order = compare_numbers(left->span.end, right->span.end);
    if (!order) order = (int)left->kind - (int)right->kind;
    if (!order) order = compare_numbers(left->text, right->text);
    if (order || rank_of(left) < 2) return order;
    order = compare_numbers(left->node, right->node); /* defaults have no place */
    return order ? order : compare_numbers(left->pointer, right->pointer);
}

/* A channel that is read and written in one place is recorded twice; so is a name with an alias. */
static uint32_t merge_equal(struct recorded_use *items, uint32_t count) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool merged = rank_of(&items[i]) < 2 || items[i].form == USE_DEFAULT;
        bool same = kept && merged && compare_uses(&items[kept - 1], &items[i]) == 0;
        if (!same) {
            items[kept++] = items[i];
            continue;
        }
        /* An alias uses the name at the place of its definition. USE_READS marks this, also for kinds that are never
         * read. */
        if ((items[kept - 1].access ^ items[i].access) & USE_DEFINES) items[kept - 1].access |= USE_READS;
        items[kept - 1].access |= items[i].access;
    }
    return kept;
}

static const char *text_of(const struct assist_uses *uses, uint32_t index) {
    return index ? uses->texts.items[index - 1].text : NULL;
}

static void fill_items(struct assist_names *names, const struct assist_uses *uses, const struct recorded_use *sorted) {
    struct assist_name *items = mem_array(NULL, names->count + 1u, sizeof *items);
    for (size_t i = 0; i < names->count; i++) {
        const struct recorded_use *use = &sorted[i];
        int rank = rank_of(use);
        names->own_count += rank == 0;
        names->text_count += rank < 2;
        items[i] = (struct assist_name){.kind = (enum use_kind)use->kind,
                                        .form = (enum use_form)use->form,
                                        .access = use->access,
                                        .file = use->file,
                                        .span = use->span,
                                        .token = use->token,
                                        .node = use->node,
                                        .text_id = use->text,
                                        .length = uses->texts.items[use->text].length,
                                        .text = uses->texts.items[use->text].text,
                                        .pointer = text_of(uses, use->pointer),
                                        .path = text_of(uses, use->path)};
    }
    names->items = items;
}

static const struct assist_names_index *index_items(const struct assist_names *names, const struct assist_uses *uses) {
    struct assist_names_index *index = mem_zalloc(sizeof *index);
    index->text_count = uses->texts.count;
    index->first = mem_zalloc((index->text_count + 2u) * sizeof *index->first);
    index->list = mem_array(NULL, names->count + 1u, sizeof *index->list);
    for (size_t i = 0; i < names->count; i++) index->first[names->items[i].text_id + 2]++;
    for (uint32_t id = 1; id <= index->text_count; id++) index->first[id + 1] += index->first[id];
    for (size_t i = 0; i < names->count; i++) index->list[index->first[names->items[i].text_id + 1]++] = (uint32_t)i;
    return index;
}

struct assist_names *assist_names_new(struct assist *assist) {
    const struct assist_uses *uses = assist->uses;
    struct assist_names *names = mem_zalloc(sizeof *names);
    struct recorded_use *sorted = mem_array(NULL, uses->count + 1u, sizeof *sorted);
    if (uses->count) memcpy(sorted, uses->items, uses->count * sizeof *sorted);
    qsort(sorted, uses->count, sizeof *sorted, compare_uses);
    names->assist = assist_ref(assist);
    names->count = merge_equal(sorted, uses->count);
    names->sources = uses->files;
    names->source_count = uses->file_count;
    fill_items(names, uses, sorted);
    names->index = index_items(names, uses);
    mem_free(sorted);
    return names;
}

void assist_names_free(struct assist_names *names) {
    if (!names) return;
    struct assist_names_index *index = (struct assist_names_index *)(uintptr_t)names->index;
    mem_free(index->first);
    mem_free(index->list);
    mem_free(index);
    mem_free((struct assist_name *)(uintptr_t)names->items);
    assist_unref(names->assist);
    mem_free(names);
}

/* ---- Lookup ---- */

size_t assist_names_after(const struct assist_names *names, uint32_t offset) {
    size_t low = 0, high = names->own_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (names->items[middle].token.end <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct assist_name *assist_names_at(const struct assist_names *names, uint32_t offset) {
    size_t at = assist_names_after(names, offset);
    if (at < names->own_count && names->items[at].token.start <= offset) return &names->items[at];
    if (at > 0 && names->items[at - 1].token.end == offset) return &names->items[at - 1];
    return NULL;
}

const uint32_t *assist_names_with(const struct assist_names *names, const char *text, size_t length, size_t *count) {
    int32_t id = names_find(&names->assist->uses->texts, text, length);
    const struct assist_names_index *index = names->index;
    *count = id < 0 ? 0 : index->first[id + 1] - index->first[id];
    return id < 0 ? index->list : index->list + index->first[id];
}

const struct assist_name *assist_names_definition(const struct assist_names *names, enum use_kind kind,
                                                  const char *text, size_t length) {
    size_t count;
    const uint32_t *with = assist_names_with(names, text, length, &count);
    for (size_t i = 0; i < count; i++) {
        const struct assist_name *item = &names->items[with[i]];
        if (item->kind == kind && (item->access & USE_DEFINES)) return item;
    }
    return NULL;
}

const char *assist_kind_name(enum use_kind kind) {
    static const char *const kinds[USE_KINDS] = {
        [USE_NODE] = "node",
        [USE_CHANNEL] = "channel",
        [USE_ITEM] = "item",
        [USE_ROLE] = "role",
        [USE_TOOL] = "tool",
        [USE_NODE_TYPE] = "node type",
        [USE_PROVIDER] = "provider",
        [USE_REDUCER] = "reducer",
        [USE_DOCUMENT] = "document",
        [USE_FILE] = "file",
        [USE_INNER_CHANNEL] = "channel",
        [USE_ANCHOR] = "anchor",
        [USE_UNREAD] = "text",
        [USE_WHOLE_STATE] = "text",
        [USE_EXPRESSION] = "expression",
        [USE_TEMPLATE] = "template",
    };
    return kinds[kind];
}
