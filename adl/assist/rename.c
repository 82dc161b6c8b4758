/*
 * rename.c - whether a symbol can be renamed, and the order of the steps.
 */
#include "adl/assist/rename.h"
#include "adl/assist/rename_internal.h"
#include "adl/document/document.h"
#include "adl/tree/tree.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <string.h>

/* ---- The symbol ---- */

/* Returns the list of names of the document at `path`; NULL when the workspace does not have it. */
static const struct assist_names *list_of_path(const struct assist_workspace *workspace, const char *path) {
    for (size_t i = 0; path && i < workspace->count; i++)
        if (strcmp(source_name(workspace->names[i]->sources[0]), path) == 0) return workspace->names[i];
    return NULL;
}

static uint32_t definitions_in(const struct assist_names *names, const struct assist_symbol *symbol) {
    size_t count;
    uint32_t definitions = 0;
    const uint32_t *with = assist_names_with(names, symbol->text, symbol->length, &count);
    for (size_t i = 0; i < count; i++) {
        const struct assist_name *name = &names->items[with[i]];
        definitions += name->kind == symbol->kind && (name->access & USE_DEFINES) != 0;
    }
    return definitions;
}

/* "a channel", "an item". */
static const char *article_of(enum use_kind kind) { return strchr("aeiou", assist_kind_name(kind)[0]) ? "an" : "a"; }

static void refuse_undeclared(struct assist_edits *edits, const struct assist_symbol *symbol) {
    if (symbol->kind == USE_CHANNEL && symbol->length == 5 && memcmp(symbol->text, "error", 5) == 0)
        assist_edits_refuse(edits, "the channel `error` is written by the engine, and keeps its name");
    else
        assist_edits_refuse(edits, "no document declares the %s `%.*s`", assist_kind_name(symbol->kind),
                            (int)symbol->length, symbol->text);
}

static void check_symbol(struct assist_edits *edits, const struct assist_symbol *symbol,
                         const struct assist_workspace *workspace) {
    if (symbol->kind != USE_NODE && symbol->kind != USE_CHANNEL && symbol->kind != USE_ITEM &&
        symbol->kind != USE_ROLE && symbol->kind != USE_ANCHOR) {
        bool file = symbol->kind == USE_DOCUMENT || symbol->kind == USE_FILE;
        assist_edits_refuse(edits, "the name of %s %s cannot be changed here%s", article_of(symbol->kind),
                            assist_kind_name(symbol->kind), file ? "; move the file" : "");
        return;
    }
    if (symbol->kind == USE_ROLE && !symbol->path) return; /* tenon.yaml declares it */
    const struct assist_names *owner = list_of_path(workspace, symbol->path);
    if (!owner) {
        assist_edits_refuse(edits, "`%s` is not a document of the workspace", symbol->path ? symbol->path : "");
        return;
    }
    uint32_t definitions = definitions_in(owner, symbol);
    if (definitions == 0) refuse_undeclared(edits, symbol);
    if (definitions > 1 && symbol->kind != USE_ITEM)
        assist_edits_refuse(edits, "`%s` declares the %s `%.*s` twice", symbol->path, assist_kind_name(symbol->kind),
                            (int)symbol->length, symbol->text);
}

/* ---- The new name ---- */

static bool text_is(const char *text, size_t length, const char *word) {
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

static bool is_reserved_id(const char *text, size_t length) {
    static const char *const words[] = {"START", "END", "__start__", "__end__"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (text_is(text, length, words[i])) return true;
    return false;
}

static bool has_control_character(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f) return true;
    return false;
}

/* The names of anchors that libyaml reads. */
static bool is_anchor_name(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        bool letter = (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z');
        if (!letter && !(text[i] >= '0' && text[i] <= '9') && text[i] != '_' && text[i] != '-') return false;
    }
    return length > 0;
}

static void check_new_name(struct assist_edits *edits, enum use_kind kind, const char *text, size_t length) {
    if (length == 0)
        assist_edits_refuse(edits, "the new name is empty");
    else if (length > DOCUMENT_NAME_MAX)
        assist_edits_refuse(edits, "the new name has %zu bytes; a name has at most %u", length, DOCUMENT_NAME_MAX);
    else if (!utf8_valid(text, length) || has_control_character(text, length))
        assist_edits_refuse(edits, "the new name contains a character that no name can contain");
    else if (kind == USE_ANCHOR && !is_anchor_name(text, length))
        assist_edits_refuse(edits, "the name of an anchor has only letters, digits, `_` and `-`");
    else if (kind == USE_NODE && is_reserved_id(text, length))
        assist_edits_refuse(edits, "`%.*s` is the start or the end of every graph", (int)length, text);
    else if (kind == USE_ROLE && memchr(text, ':', length))
        assist_edits_refuse(edits, "a role with `:` would be read as a provider and a model");
    else if (kind == USE_ROLE && length >= 2 && memcmp(text, "x-", 2) == 0)
        assist_edits_refuse(edits, "keys that start with `x-` are ignored");
}

/* ---- The documents ---- */

/* True if names of the list can mean the symbol. */
static bool rename_concerns(const struct rename *rename, const struct assist_names *names) {
    const char *path = rename->symbol->path;
    if (!path || strcmp(source_name(names->sources[0]), path) == 0) return true;
    for (size_t i = 0; rename->symbol->kind == USE_CHANNEL && i < names->own_count; i++) {
        const struct assist_name *name = &names->items[i];
        if (name->kind == USE_DOCUMENT && name->path && strcmp(name->path, path) == 0) return true;
    }
    return false;
}

static void refuse_unread(struct rename *rename, const struct assist_names *names) {
    if (!tree_is_whole(names->assist->tree)) {
        assist_edits_refuse(rename->edits, "`%s` has a syntax error: correct it first, so that no name is missed",
                            source_name(names->sources[0]));
        return;
    }
    for (size_t i = names->text_count; i < names->count; i++) {
        const struct assist_name *name = &names->items[i];
        bool whole = name->kind == USE_WHOLE_STATE;
        if (rename->symbol->kind == USE_ANCHOR) break; /* no text of the language names anchors */
        const struct source *source = names->sources[name->file];
        if (name->kind != USE_UNREAD && !(whole && rename->symbol->kind == USE_CHANNEL)) continue;
        if (!assist_has_word(source, name->span, rename->symbol->text, rename->symbol->length, whole)) continue;
        assist_edits_refuse(rename->edits,
                            whole ? "line %u of `%s` uses the whole state, and contains the text `%.*s`: write "
                                    "`state.NAME` there first"
                                  : "line %u of `%s` cannot be read, and contains `%.*s`: correct its mistake first",
                            source_line_at(source, name->span.start) + 1, source_name(source),
                            (int)rename->symbol->length, rename->symbol->text);
        return;
    }
}

static bool same_family(enum use_kind a, enum use_kind b) {
    bool channels = (a == USE_CHANNEL || a == USE_ITEM) && (b == USE_CHANNEL || b == USE_ITEM);
    return channels || a == b;
}

static void refuse_existing(struct rename *rename, const struct assist_names *names) {
    size_t count;
    const struct assist_symbol *symbol = rename->symbol;
    bool owner = !symbol->path || strcmp(symbol->path, source_name(names->sources[0])) == 0;
    const uint32_t *with = assist_names_with(names, rename->text, rename->length, &count);
    for (size_t i = 0; i < count; i++) {
        const struct assist_name *name = &names->items[with[i]];
        bool same = owner ? same_family(symbol->kind, name->kind)
                          : name->kind == USE_INNER_CHANNEL && name->path && strcmp(name->path, symbol->path) == 0;
        if (!same) continue;
        const struct source *source = names->sources[name->file];
        assist_edits_refuse(rename->edits, "`%s` is already the name of %s %s, in line %u of `%s`", rename->text,
                            article_of(name->kind), assist_kind_name(name->kind),
                            source_line_at(source, name->span.start) + 1, source_name(source));
        return;
    }
}

static void check_documents(struct rename *rename) {
    for (size_t i = 0; i < rename->workspace->count && !rename->edits->refusal; i++) {
        const struct assist_names *names = rename->workspace->names[i];
        if (!rename_concerns(rename, names)) continue;
        refuse_unread(rename, names);
        refuse_existing(rename, names);
    }
    const struct tree *config = rename->symbol->kind == USE_ROLE ? rename->workspace->config : NULL;
    if (!config || rename->symbol->path) return;
    if (!tree_is_whole(config))
        assist_edits_refuse(rename->edits, "`%s` has a syntax error: correct it first",
                            source_name(tree_source(config)));
    if (assist_role_in_config(config, rename->text, rename->length))
        assist_edits_refuse(rename->edits, "`%s` is already a role of `%s`", rename->text,
                            source_name(tree_source(config)));
}

/* ---- The rename ---- */

/* Texts that are compared with the id of a node, such as `state.error[0].node == "judge"`, are not names. */
static void note_texts(struct rename *rename) {
    const struct assist_symbol *symbol = rename->symbol;
    const struct assist_names *names = list_of_path(rename->workspace, symbol->path);
    if (!names || symbol->kind != USE_NODE) return;
    for (size_t i = names->text_count; i < names->count; i++) {
        const struct assist_name *name = &names->items[i];
        const struct source *source = names->sources[name->file];
        bool text = name->kind == USE_EXPRESSION || name->kind == USE_TEMPLATE;
        if (!text || !assist_has_word(source, name->span, symbol->text, symbol->length, true)) continue;
        assist_edits_set_note(rename->edits, "line %u of `%s` has the text `%.*s`, which stays as it is",
                              source_line_at(source, name->span.start) + 1, source_name(source), (int)symbol->length,
                              symbol->text);
        return;
    }
}

static void gather_renamed(void *self, const struct assist_names *names, const struct assist_name *name) {
    struct rename *rename = self;
    MEM_GROW(rename->items, rename->count, rename->capacity);
    rename->items[rename->count++] = (struct renamed){names, name};
}

static void refuse_unverified(struct rename *rename) {
    const struct assist_names *failed = rename->failed;
    const char *path = source_name(failed->sources[0]);
    if (rename_concerns(rename, failed))
        assist_edits_refuse(rename->edits, "with the name `%s`, `%s` would not mean the same", rename->text, path);
    else
        assist_edits_refuse(rename->edits, "`%s` uses a file that would be changed, and needs it as it is", path);
}

/* In some templates a bare name means something else, such as the variable of a loop: then all are qualified. */
static void write_and_verify(struct rename *rename) {
    rename_write(rename);
    assist_edits_finish(rename->edits);
    if (rename->edits->refusal || rename_verify(rename)) return;
    assist_edits_free(rename->edits);
    rename->edits = assist_edits_new();
    rename->qualified = true;
    rename_write(rename);
    assist_edits_finish(rename->edits);
    if (rename->edits->refusal || rename_verify(rename)) return;
    refuse_unverified(rename);
}

struct assist_edits *assist_rename_symbol(const struct assist_symbol *symbol, const char *text, size_t length,
                                          const struct assist_workspace *workspace) {
    struct rename rename = {.symbol = symbol, .workspace = workspace, .edits = assist_edits_new(), .length = length};
    check_symbol(rename.edits, symbol, workspace);
    check_new_name(rename.edits, symbol->kind, text, length);
    bool same = length == symbol->length && memcmp(text, symbol->text, length) == 0;
    if (rename.edits->refusal || same) return rename.edits;
    char *copy = mem_text_n(text, length);
    rename.text = copy;
    check_documents(&rename);
    if (!rename.edits->refusal) {
        assist_symbol_each(symbol, workspace, gather_renamed, &rename);
        write_and_verify(&rename);
        if (!rename.edits->refusal) note_texts(&rename);
    }
    mem_free(rename.items);
    mem_free(copy);
    return rename.edits;
}

struct assist_edits *assist_rename(const struct assist_names *names, uint32_t offset, const char *text, size_t length,
                                   const struct assist_workspace *workspace) {
    struct assist_symbol symbol;
    if (!assist_symbol_at(names, offset, workspace, &symbol))
        return assist_edits_refuse(assist_edits_new(), "there is no name here");
    return assist_rename_symbol(&symbol, text, length, workspace);
}

bool assist_rename_prepare(const struct assist_names *names, uint32_t offset, const struct assist_workspace *workspace,
                           struct assist_rename_target *target) {
    struct assist_symbol symbol;
    struct assist_edits *edits = assist_edits_new();
    *target = (struct assist_rename_target){0};
    if (assist_symbol_at(names, offset, workspace, &symbol)) {
        check_symbol(edits, &symbol, workspace);
        target->span = assist_names_at(names, offset)->span;
        target->text = mem_text_n(symbol.text, symbol.length);
    } else {
        assist_edits_refuse(edits, "there is no name here");
    }
    if (edits->refusal) target->refusal = mem_text(edits->refusal);
    assist_edits_free(edits);
    return !target->refusal;
}

void assist_rename_target_finish(struct assist_rename_target *target) {
    mem_free(target->text);
    mem_free(target->refusal);
    *target = (struct assist_rename_target){0};
}
