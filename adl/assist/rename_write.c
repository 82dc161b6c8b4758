/*
 * rename_write.c - the edit of each place with the old name: in a scalar, in an expression, or for a default.
 */
#include "adl/assist/rename_internal.h"
#include "adl/tree/tree.h"
#include <string.h>

/* ---- Expressions ---- */

/* Characters that are the same in an expression, in YAML with any quotes or none, and in JSON. */
static bool is_harmless(char letter) {
    return (unsigned char)letter >= 0x80 || (letter >= '0' && letter <= '9') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= 'a' && letter <= 'z') || (letter && strchr("_-./ ", letter) != NULL);
}

static bool fits_expression(const struct rename *rename) {
    for (size_t i = 0; i < rename->length; i++)
        if (!is_harmless(rename->text[i])) return false;
    return true;
}

static void write_in_expression(struct rename *rename, const struct assist_name *name, struct source *source) {
    struct buffer out;
    bool identifier = assist_is_identifier(rename->text, rename->length);
    bool bare = name->form == USE_BARE;
    if (!identifier && !fits_expression(rename)) {
        assist_edits_refuse(
            rename->edits,
            "`%s` is used in an expression (line %u of `%s`), in which a name has only letters, digits, "
            "blanks, `_`, `-`, `.` and `/`",
            name->text, source_line_at(source, name->span.start) + 1, source_name(source));
        return;
    }
    if (name->form == USE_INDEXED) {
        assist_edit_add(rename->edits, source, name->span, rename->text, rename->length);
        return;
    }
    bool qualify = bare && (rename->qualified || !assist_is_bare_name(rename->text, rename->length));
    buffer_init(&out, SIZE_MAX);
    if (qualify) buffer_text(&out, "state.");
    buffer_format(&out, identifier ? "%s" : "`%s`", rename->text);
    assist_edit_add(rename->edits, source, name->token, buffer_cstr(&out), out.length);
    buffer_finish(&out);
}

/* ---- Defaults ---- */

static const struct tree_node *node_of_document(const struct assist_names *names, uint32_t node) {
    const struct tree_node *nodes = tree_get(tree_root(names->assist->tree), "nodes");
    return nodes && node < nodes->count ? nodes->items[node].node : NULL;
}

/* The key of a default, which must be a member of the config itself; NULL if it is not. */
static const char *default_key(const struct assist_name *name) {
    bool member = name->pointer && name->pointer[0] == '/' && !strpbrk(name->pointer + 1, "/~");
    return member ? name->pointer + 1 : NULL;
}

static bool is_default_of(const struct renamed *item, const struct renamed *other) {
    return item->names == other->names && item->name->node == other->name->node && item->name->form == USE_DEFAULT &&
           other->name->form == USE_DEFAULT;
}

/* Writes "a: NAME, b: NAME" for the defaults of one node, which follow each other in the list. */
static bool write_default_members(struct buffer *out, const struct rename *rename, size_t index) {
    const struct renamed *first = &rename->items[index];
    char quote = tree_name_is_json(source_name(first->names->sources[0])) ? '"' : '\0';
    for (size_t i = index; i < rename->count && is_default_of(first, &rename->items[i]); i++) {
        const char *key = default_key(rename->items[i].name);
        if (!key) return false;
        if (i > index) buffer_text(out, ", ");
        assist_scalar(out, key, strlen(key), quote);
        buffer_text(out, ": ");
        assist_scalar(out, rename->text, rename->length, quote);
    }
    return true;
}

/*
 * The config has no such key, and its default is the old name: the new one is written there. Without other members, the
 * defaults of a node are written together, with the first of them.
 */
static bool write_default(struct rename *rename, size_t index) {
    const struct renamed *item = &rename->items[index];
    struct source *source = item->names->sources[0];
    const struct tree_node *node = node_of_document(item->names, item->name->node);
    const struct tree_node *config = tree_get(node, "config");
    const char *key = default_key(item->name);
    struct buffer text, whole;
    bool written, alone = !config || config->count == 0;
    if (!node || !key) return false;
    if (alone && index > 0 && is_default_of(item, &rename->items[index - 1])) return true;
    buffer_init(&text, SIZE_MAX);
    buffer_init(&whole, SIZE_MAX);
    if (!alone) {
        assist_scalar(&text, rename->text, rename->length, tree_name_is_json(source_name(source)) ? '"' : 0);
        written = assist_edit_add_member(rename->edits, source, config, key, buffer_cstr(&text));
    } else {
        written = write_default_members(&text, rename, index) && (!config || config->style == TREE_FLOW);
        buffer_format(&whole, "{%s}", buffer_cstr(&text));
        if (written && config)
            assist_edit_add(rename->edits, source, config->span, buffer_cstr(&whole), whole.length);
        else if (written)
            written = assist_edit_add_member(rename->edits, source, node, "config", buffer_cstr(&whole));
    }
    buffer_finish(&text);
    buffer_finish(&whole);
    return written;
}

/* ---- All places ---- */

static void write_place(struct rename *rename, size_t index) {
    const struct renamed *item = &rename->items[index];
    const struct assist_name *name = item->name;
    struct source *source = item->names->sources[name->file];
    uint32_t line = source_line_at(source, name->span.start) + 1;
    if (name->kind == USE_ANCHOR) {
        assist_edit_add(rename->edits, source, name->span, rename->text, rename->length);
        return;
    }
    switch (name->form) {
    case USE_SCALAR:
    case USE_KEY:
        if (!assist_edit_scalar(rename->edits, source, name->token, name->span, rename->text, rename->length))
            assist_edits_refuse(rename->edits, "line %u of `%s` cannot contain this name: write the old one in quotes",
                                line, source_name(source));
        return;
    case USE_FIELD:
    case USE_INDEXED:
    case USE_BARE: write_in_expression(rename, name, source); return;
    default:
        if (name->form == USE_DEFAULT && write_default(rename, index)) return;
        assist_edits_refuse(
            rename->edits,
            "the place of `%s` in line %u of `%s` is not known, or is in a default: write it there first", name->text,
            line, source_name(source));
    }
}

static bool is_same_place(const struct assist_name *a, const struct assist_name *b) {
    return a->file == b->file && a->span.start == b->span.start;
}

/* An anchor can give a name two meanings: then another item is at the same place. */
static void refuse_shared(struct rename *rename, const struct renamed *item) {
    const struct assist_names *names = item->names;
    const struct assist_name *name = item->name;
    size_t at = (size_t)(name - names->items);
    bool before = at > 0 && is_same_place(&names->items[at - 1], name);
    bool after = at + 1 < names->text_count && is_same_place(&names->items[at + 1], name);
    if (!before && !after) return;
    assist_edits_refuse(rename->edits, "line %u of `%s` has an anchor that is used for another name, too",
                        source_line_at(names->sources[name->file], name->span.start) + 1,
                        source_name(names->sources[name->file]));
}

static void write_in_config(struct rename *rename) {
    const struct assist_symbol *symbol = rename->symbol;
    if (symbol->kind != USE_ROLE || symbol->path) return;
    const struct tree *config = rename->workspace->config;
    const struct tree_item *item = assist_role_in_config(config, symbol->text, symbol->length);
    if (!item) return;
    struct source *source = tree_source(config);
    struct span inside = item->key_span;
    char first = source_text(source)[inside.start];
    if (first == '"' || first == '\'') inside = (struct span){inside.start + 1, inside.end - 1};
    assist_edit_scalar(rename->edits, source, item->key_span, inside, rename->text, rename->length);
}

void rename_write(struct rename *rename) {
    for (size_t i = 0; i < rename->count && !rename->edits->refusal; i++) {
        if (rename->items[i].name->form < USE_DEFAULT) refuse_shared(rename, &rename->items[i]);
        write_place(rename, i);
    }
    write_in_config(rename);
}
