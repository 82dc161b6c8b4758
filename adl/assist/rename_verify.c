/*
 * rename_verify.c - reads the changed documents again, and compares what they mean.
 *
 * A document is compared if it was changed, or if it names a changed file.
 */
#include "adl/assist/overlay.h"
#include "adl/assist/rename_internal.h"
#include "adl/diagnostic/diagnostic.h"
#include <string.h>

/* The configuration binds the new name of a role instead of the old one. */
struct renamed_role {
    const struct rename *rename;
    const struct catalog *base;
};

static bool renamed_role_bound(void *self, const char *role, size_t length) {
    const struct renamed_role *renamed = self;
    const struct assist_symbol *symbol = renamed->rename->symbol;
    const struct catalog *base = renamed->base;
    bool old = length == symbol->length && memcmp(role, symbol->text, length) == 0;
    bool new = length == renamed->rename->length &&memcmp(role, renamed->rename->text, length) == 0;
    if (old) return false;
    if (new) return base->role_bound(base->role_self, symbol->text, symbol->length);
    return base->role_bound(base->role_self, role, length);
}

static bool names_changed_file(const struct overlay *overlay, const struct assist_names *names) {
    for (size_t i = 0; i < names->source_count; i++)
        if (overlay_changes(overlay, source_name(names->sources[i]))) return true;
    for (size_t i = 0; i < names->own_count; i++)
        if (names->items[i].path && overlay_changes(overlay, names->items[i].path)) return true;
    return false;
}

static void count_one(void *self, const struct assist_names *names, const struct assist_name *name) {
    (void)names;
    (void)name;
    ++*(size_t *)self;
}

static size_t count_named(const struct rename *rename, const struct assist_names *names, bool renamed) {
    struct assist_symbol symbol = *rename->symbol;
    size_t count = 0;
    symbol.scope = (struct span){0, UINT32_MAX}; /* the text has changed; a name with two definitions is refused */
    if (renamed) {
        symbol.text = rename->text;
        symbol.length = rename->length;
    }
    const struct assist_workspace one = {&names, 1, NULL};
    assist_symbol_each(&symbol, &one, count_one, &count);
    return count;
}

/* Codes of names that are not known, or that cannot be used. */
static bool is_about_names(enum diagnostic_code code) {
    static const enum diagnostic_code codes[] = {ADL_E035, ADL_E041, ADL_E047, ADL_E048,
                                                 ADL_E052, ADL_E054, ADL_E059, ADL_E066};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i] == code) return true;
    return false;
}

/*
 * True if there is no new diagnostic. In a document with mistakes, what is reported also depends on which names are
 * similar to a mistyped one, so only those about names are compared.
 */
static bool no_new_diagnostics(const struct diagnostics *before, const struct diagnostics *after) {
    size_t codes[DIAGNOSTIC_CODES] = {0};
    bool mistakes = diagnostics_errors(before) > 0;
    for (size_t i = 0; i < diagnostics_count(before); i++) codes[diagnostics_at(before, i)->code]++;
    for (size_t i = 0; i < diagnostics_count(after); i++) {
        enum diagnostic_code code = diagnostics_at(after, i)->code;
        if (mistakes && !is_about_names(code)) continue;
        if (codes[code]-- == 0) return false;
    }
    return true;
}

static bool means_the_same(const struct rename *rename, const struct assist_names *before,
                           const struct assist_names *after) {
    return before->count == after->count && count_named(rename, before, false) == count_named(rename, after, true) &&
           count_named(rename, after, false) == 0 && no_new_diagnostics(before->assist->found, after->assist->found);
}

static bool verify_document(struct overlay *overlay, struct rename *rename, const struct assist_names *names) {
    struct renamed_role role = {rename, names->assist->world->catalog};
    overlay_use(overlay, role.base);
    if (role.base && role.base->role_bound && rename->symbol->kind == USE_ROLE && !rename->symbol->path) {
        overlay->catalog.role_bound = renamed_role_bound;
        overlay->catalog.role_self = &role;
    }
    struct assist *assist = overlay_read(overlay, names->sources[0]);
    struct assist_names *after = assist_names_new(assist);
    bool same = means_the_same(rename, names, after);
    if (!same) rename->failed = names;
    assist_names_free(after);
    assist_unref(assist);
    return same;
}

bool rename_verify(struct rename *rename) {
    bool same = true;
    struct overlay overlay;
    overlay_init(&overlay, rename->edits);
    for (size_t i = 0; i < rename->workspace->count && same; i++) {
        const struct assist_names *names = rename->workspace->names[i];
        if (names_changed_file(&overlay, names)) same = verify_document(&overlay, rename, names);
    }
    overlay_finish(&overlay);
    return same;
}
