/*
 * rename_verify.c - reads the changed documents again, and compares what they mean.
 *
 * The documents are read with a catalog that knows the changed texts of files. A document is compared if it was
 * changed, or if it names a changed file.
 */
#include "adl/assist/rename_internal.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/names.h"
#include "adl/tree/tree.h"
#include "adl/value/memory.h"
#include <string.h>

/* A catalog with the changed texts, and with the changed role of the configuration. */
struct changed_world {
    const struct rename *rename;
    const struct catalog *base; /* of the document that is read */
    struct catalog catalog;
    struct assist_world world;
    struct names paths; /* of changed files; the index of a name is that in `sources` */
    const struct source **sources;
};

static tn_value changed_read(void *self, const struct source *from, const char *file, struct catalog_file *found,
                             struct error *error) {
    const struct changed_world *changed = self;
    tn_value text = changed->base->read(changed->base->read_self, from, file, found, error);
    int32_t index = text ? names_find(&changed->paths, found->path, strlen(found->path)) : -1;
    if (index < 0) return text;
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    assist_edits_apply(changed->rename->edits, changed->sources[index], &out);
    value_unref(text);
    text = value_string(buffer_cstr(&out), out.length);
    buffer_finish(&out);
    return text;
}

/* The configuration binds the new name instead of the old one. */
static bool changed_role_bound(void *self, const char *role, size_t length) {
    const struct changed_world *changed = self;
    const struct assist_symbol *symbol = changed->rename->symbol;
    const struct catalog *base = changed->base;
    if (symbol->kind == USE_ROLE && !symbol->path) {
        bool old = length == symbol->length && memcmp(role, symbol->text, length) == 0;
        bool new = length == changed->rename->length &&memcmp(role, changed->rename->text, length) == 0;
        if (old) return false;
        if (new) return base->role_bound(base->role_self, symbol->text, symbol->length);
    }
    return base->role_bound(base->role_self, role, length);
}

static void changed_world_init(struct changed_world *changed, const struct rename *rename) {
    *changed = (struct changed_world){.rename = rename};
    changed->sources = mem_array(NULL, rename->edits->count + 1u, sizeof *changed->sources);
    for (size_t i = 0; i < rename->edits->count; i++) {
        const struct source *source = rename->edits->items[i].source;
        uint32_t known = changed->paths.count;
        uint32_t index = names_add(&changed->paths, source_name(source), strlen(source_name(source)));
        if (index == known) changed->sources[index] = source;
    }
}

static void changed_world_use(struct changed_world *changed, const struct catalog *base) {
    changed->base = base;
    changed->world.catalog = base ? &changed->catalog : NULL;
    if (!base) return;
    changed->catalog = *base;
    changed->catalog.read_self = changed->catalog.role_self = changed;
    if (base->read) changed->catalog.read = changed_read;
    if (base->role_bound) changed->catalog.role_bound = changed_role_bound;
}

static void changed_world_finish(struct changed_world *changed) {
    names_finish(&changed->paths);
    mem_free(changed->sources);
}

/* True if the document was changed, or names a file that was. */
static bool is_concerned(const struct changed_world *changed, const struct assist_names *names) {
    for (size_t i = 0; i < names->source_count; i++) {
        const char *path = source_name(names->sources[i]);
        if (names_find(&changed->paths, path, strlen(path)) >= 0) return true;
    }
    for (size_t i = 0; i < names->own_count; i++) {
        const char *path = names->items[i].path;
        if (path && names_find(&changed->paths, path, strlen(path)) >= 0) return true;
    }
    return false;
}

static struct assist_names *read_changed(struct changed_world *changed, const struct assist_names *names) {
    const struct source *before = names->sources[0];
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    assist_edits_apply(changed->rename->edits, before, &out);
    struct source *source = source_new(source_name(before), buffer_cstr(&out), out.length);
    source_set_origin(source, source_origin(before), source_root(before));
    source_set_view(source, source_view(before));
    struct assist *assist = assist_new(source, &changed->world, NULL);
    struct assist_names *after = assist_names_new(assist);
    assist_unref(assist);
    source_unref(source);
    buffer_finish(&out);
    return after;
}

static void count_one(void *self, const struct assist_names *names, const struct assist_name *name) {
    (void)names;
    (void)name;
    ++*(size_t *)self;
}

static size_t count_named(const struct rename *rename, const struct assist_names *names, bool renamed) {
    struct assist_symbol symbol = *rename->symbol;
    size_t count = 0;
    if (renamed) symbol.text = rename->text, symbol.length = rename->length;
    const struct assist_workspace one = {&names, 1, NULL};
    assist_symbol_each(&symbol, &one, count_one, &count);
    return count;
}

static bool same_diagnostics(const struct diagnostics *before, const struct diagnostics *after) {
    size_t codes[DIAGNOSTIC_CODES] = {0};
    if (diagnostics_count(before) != diagnostics_count(after)) return false;
    for (size_t i = 0; i < diagnostics_count(before); i++) codes[diagnostics_at(before, i)->code]++;
    for (size_t i = 0; i < diagnostics_count(after); i++)
        if (codes[diagnostics_at(after, i)->code]-- == 0) return false;
    return true;
}

static bool means_the_same(const struct rename *rename, const struct assist_names *before,
                           const struct assist_names *after) {
    return before->count == after->count && count_named(rename, before, false) == count_named(rename, after, true) &&
           count_named(rename, after, false) == 0 && same_diagnostics(before->assist->found, after->assist->found);
}

bool rename_verify(struct rename *rename) {
    bool same = true;
    struct changed_world changed;
    changed_world_init(&changed, rename);
    for (size_t i = 0; i < rename->workspace->count && same; i++) {
        const struct assist_names *names = rename->workspace->names[i];
        if (!is_concerned(&changed, names)) continue;
        changed_world_use(&changed, names->assist->world->catalog);
        struct assist_names *after = read_changed(&changed, names);
        same = means_the_same(rename, names, after);
        if (!same) rename->failed = names;
        assist_names_free(after);
    }
    changed_world_finish(&changed);
    return same;
}
