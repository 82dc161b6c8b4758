/*
 * lens.c - counts the names of each symbol that the document defines.
 *
 * A document can define ten thousand symbols, and a workspace can have thousands of documents. A node is named only in
 * its document, and a channel also in those that run it, so each symbol is looked up only there, and only once if the
 * document defines it several times.
 */
#include "adl/assist/lens.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/tree/tree.h"
#include "adl/value/memory.h"
#include <stdlib.h>
#include <string.h>

static void lens_add(struct assist_lenses *lenses, struct assist_lens lens) {
    MEM_GROW(lenses->items, lenses->count, lenses->capacity);
    lenses->items[lenses->count++] = lens;
}

static int compare_lenses(const void *a, const void *b) {
    const struct assist_lens *left = a, *right = b;
    return left->span.start < right->span.start ? -1 : left->span.start > right->span.start;
}

static void count_reference(void *self, const struct assist_names *names, const struct assist_name *name) {
    uint32_t *count = self;
    (void)names;
    *count += name->form < USE_DEFAULT && !(name->access & USE_DEFINES);
}

static void add_run(struct assist_lenses *lenses, const struct assist *assist) {
    const struct tree_node *root = tree_root(assist->tree);
    if (root->kind != TN_OBJECT || !tree_get(root, "nodes")) return;
    const struct tree_item *agent = tree_find(root, "agent");
    lens_add(lenses, (struct assist_lens){.kind = ASSIST_LENS_RUN,
                                          .span = agent ? agent->key_span : root->items[0].key_span,
                                          .has_errors = diagnostics_errors(assist->found) > 0});
}

static bool names_channel_of(const struct assist_names *names, const char *path) {
    for (size_t i = 0; i < names->count; i++)
        if (names->items[i].kind == USE_INNER_CHANNEL && names->items[i].path &&
            strcmp(names->items[i].path, path) == 0)
            return true;
    return false;
}

/* The document itself, and those that name channels of it. Returns their number. */
static size_t documents_around(const struct assist_names *names, const struct assist_workspace *workspace,
                               const struct assist_names **around) {
    size_t count = 0;
    for (size_t i = 0; i < workspace->count; i++)
        if (workspace->names[i] == names || names_channel_of(workspace->names[i], source_name(names->sources[0])))
            around[count++] = workspace->names[i];
    return count;
}

/* Of those, or of all, where the symbol can be named. */
static const struct assist_workspace *where_named(const struct assist_symbol *symbol,
                                                  const struct assist_workspace *around,
                                                  const struct assist_workspace *all) {
    return symbol->path ? around : all;
}

/* The kinds of names that have lenses. */
enum { COUNTED_KINDS = 3 };
static int counted_kind(enum use_kind kind) {
    return kind == USE_NODE ? 0 : kind == USE_CHANNEL ? 1 : kind == USE_ROLE ? 2 : -1;
}

/* One more than the largest text_id of the names. */
static uint32_t count_texts(const struct assist_names *names) {
    uint32_t count = 0;
    for (size_t i = 0; i < names->own_count; i++)
        if (names->items[i].text_id >= count) count = names->items[i].text_id + 1;
    return count;
}

struct assist_lenses *assist_lenses(const struct assist_names *names, const struct assist_workspace *workspace) {
    struct assist_lenses *lenses = mem_zalloc(sizeof *lenses);
    const struct assist_names **nearest = mem_array(NULL, workspace->count + 1, sizeof(struct assist_names *));
    const size_t count = documents_around(names, workspace, nearest);
    const struct assist_workspace around = {nearest, count, workspace->config};
    uint32_t *known[COUNTED_KINDS] = {NULL};
    add_run(lenses, names->assist);
    for (size_t k = 0; k < COUNTED_KINDS; k++) known[k] = mem_zalloc((count_texts(names) + 1u) * sizeof **known);
    for (size_t i = 0; i < names->own_count; i++) {
        const struct assist_name *name = &names->items[i];
        struct assist_symbol symbol;
        int kind = counted_kind(name->kind);
        if (kind < 0 || !(name->access & USE_DEFINES)) continue;
        if (!assist_symbol_of(names, name, workspace, &symbol)) continue;
        uint32_t *references = &known[kind][name->text_id]; /* their number + 1 */
        if (!*references) {
            assist_symbol_each(&symbol, where_named(&symbol, &around, workspace), count_reference, references);
            ++*references;
        }
        lens_add(lenses, (struct assist_lens){
                             .kind = ASSIST_LENS_REFERENCES, .span = name->span, .references = *references - 1});
    }
    for (size_t k = 0; k < COUNTED_KINDS; k++) mem_free(known[k]);
    if (lenses->count) qsort(lenses->items, lenses->count, sizeof *lenses->items, compare_lenses);
    mem_free((void *)nearest);
    return lenses;
}

void assist_lenses_free(struct assist_lenses *lenses) {
    if (!lenses) return;
    mem_free(lenses->items);
    mem_free(lenses);
}
