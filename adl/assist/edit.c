/*
 * edit.c - the list of edits, and scalars written in the style of their place.
 */
#include "adl/assist/edit.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/expr/lex.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <stdlib.h>
#include <string.h>

struct assist_edits *assist_edits_new(void) {
    return mem_zalloc(sizeof(struct assist_edits));
}

static void edits_clear(struct assist_edits *edits) {
    for (size_t i = 0; i < edits->count; i++) {
        source_unref(edits->items[i].source);
        mem_free(edits->items[i].text);
    }
    for (size_t i = 0; i < edits->file_count; i++) {
        mem_free(edits->files[i].path);
        mem_free(edits->files[i].text);
    }
    edits->count = edits->file_count = 0;
}

void assist_edits_free(struct assist_edits *edits) {
    if (!edits) return;
    edits_clear(edits);
    mem_free(edits->items);
    mem_free(edits->files);
    mem_free(edits->note);
    mem_free(edits->refusal);
    mem_free(edits);
}

/* The caller frees the text with mem_free. */
static __attribute__((format(printf, 1, 0))) char *edits_format(const char *format, va_list arguments) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    buffer_vformat(&text, format, arguments);
    char *result = mem_text(buffer_cstr(&text));
    buffer_finish(&text);
    return result;
}

struct assist_edits *assist_edits_refuse(struct assist_edits *edits, const char *format, ...) {
    if (edits->refusal) return edits;
    edits_clear(edits);
    va_list arguments;
    va_start(arguments, format);
    edits->refusal = edits_format(format, arguments);
    va_end(arguments);
    return edits;
}

void assist_edits_set_note(struct assist_edits *edits, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    mem_free(edits->note);
    edits->note = edits_format(format, arguments);
    va_end(arguments);
}

void assist_edit_add(struct assist_edits *edits, struct source *source, struct span span, const char *text,
                     size_t length) {
    if (edits->refusal) return;
    if (edits->count == ASSIST_EDITS_MAX) {
        assist_edits_refuse(edits, "the change has more than %u edits", ASSIST_EDITS_MAX);
        return;
    }
    MEM_GROW(edits->items, edits->count, edits->capacity);
    edits->items[edits->count++] = (struct assist_edit){source_ref(source), span, mem_text_n(text, length)};
}

void assist_edit_insert(struct assist_edits *edits, struct source *source, uint32_t at, const char *text) {
    assist_edit_add(edits, source, (struct span){at, at}, text, strlen(text));
}

void assist_edit_new_file(struct assist_edits *edits, const char *path, const char *text) {
    if (edits->refusal) return;
    MEM_EXTEND(edits->files, edits->file_count);
    edits->files[edits->file_count++] = (struct assist_new_file){mem_text(path), mem_text(text)};
}

/* ---- Order ---- */

static int compare_edits(const void *a, const void *b) {
    const struct assist_edit *left = a, *right = b;
    int order = strcmp(source_name(left->source), source_name(right->source));
    if (!order) order = left->span.start < right->span.start ? -1 : left->span.start > right->span.start;
    if (!order) order = left->span.end < right->span.end ? -1 : left->span.end > right->span.end;
    return order ? order : strcmp(left->text, right->text);
}

static bool edits_overlap(const struct assist_edit *left, const struct assist_edit *right) {
    return strcmp(source_name(left->source), source_name(right->source)) == 0 && left->span.end > right->span.start;
}

struct assist_edits *assist_edits_finish(struct assist_edits *edits) {
    size_t kept = 0;
    if (edits->count) qsort(edits->items, edits->count, sizeof *edits->items, compare_edits);
    for (size_t i = 0; i < edits->count; i++) {
        struct assist_edit *edit = &edits->items[i];
        bool insertion = edit->span.start == edit->span.end;
        if (kept && !insertion && compare_edits(&edits->items[kept - 1], edit) == 0) {
            source_unref(edit->source);
            mem_free(edit->text);
        } else {
            edits->items[kept++] = *edit;
        }
    }
    edits->count = kept;
    for (size_t i = 1; i < edits->count; i++)
        if (edits_overlap(&edits->items[i - 1], &edits->items[i]))
            return assist_edits_refuse(edits, "two parts of the change are at the same place of `%s`",
                                       source_name(edits->items[i].source));
    return edits;
}

void assist_edits_apply(const struct assist_edits *edits, const struct source *source, struct buffer *out) {
    const char *text = source_text(source);
    uint32_t at = 0;
    for (size_t i = 0; i < edits->count; i++) {
        const struct assist_edit *edit = &edits->items[i];
        if (strcmp(source_name(edit->source), source_name(source)) != 0) continue;
        buffer_append(out, text + at, edit->span.start - at);
        buffer_text(out, edit->text);
        at = edit->span.end;
    }
    buffer_append(out, text + at, source_length(source) - at);
}

/* ---- Scalars ---- */

static bool node_is_text(const struct tree_node *node, const char *text, size_t length) {
    size_t size;
    if (!node || node->kind != TN_STRING) return false;
    const char *found = value_chars(node->value, &size);
    return size == length && memcmp(found, text, size) == 0;
}

/* The names of most things: a letter, then letters, digits, `_` and `-`, and no word that YAML resolves. */
static bool is_simple_word(const char *text, size_t length) {
    static const char *const words[] = {"null", "Null", "NULL", "true", "True", "TRUE", "false", "False", "FALSE"};
    for (size_t i = 0; i < length; i++) {
        bool letter = text[i] == '_' || (text[i] >= 'A' && text[i] <= 'Z') || (text[i] >= 'a' && text[i] <= 'z');
        bool other = text[i] == '-' || (text[i] >= '0' && text[i] <= '9');
        if (!letter && (!other || i == 0)) return false;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && memcmp(words[i], text, length) == 0) return false;
    return length > 0;
}

bool assist_plain_safe(const char *text, size_t length) {
    if (is_simple_word(text, length)) return true;
    struct buffer sample;
    buffer_init(&sample, SIZE_MAX);
    buffer_text(&sample, "{a: ");
    buffer_append(&sample, text, length);
    buffer_text(&sample, ", b: {");
    buffer_append(&sample, text, length);
    buffer_text(&sample, ": c}}\n");
    struct source *source = source_new("plain.yaml", sample.data, sample.length);
    struct diagnostics *found = diagnostics_new();
    struct tree *tree = tree_read(source, NULL, found);
    const struct tree_node *root = tree_root(tree), *inner = tree_get(root, "b");
    bool safe = diagnostics_count(found) == 0 && root->count == 2 && inner && inner->kind == TN_OBJECT &&
                inner->count == 1 && node_is_text(tree_get(root, "a"), text, length) &&
                tree_find_n(inner, text, length) != NULL;
    tree_free(tree);
    diagnostics_free(found);
    source_unref(source);
    buffer_finish(&sample);
    return safe;
}

static bool has_control(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f) return true;
    return false;
}

static void write_single_quoted(struct buffer *out, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\'') buffer_char(out, '\'');
        buffer_char(out, text[i]);
    }
}

/* The text inside quotes. */
static void write_in_quotes(struct buffer *out, const char *text, size_t length, char quote) {
    if (quote == '\'') {
        write_single_quoted(out, text, length);
        return;
    }
    struct buffer quoted;
    buffer_init(&quoted, SIZE_MAX);
    json_write_string(&quoted, text, length);
    buffer_append(out, quoted.data + 1, quoted.length - 2);
    buffer_finish(&quoted);
}

void assist_scalar(struct buffer *out, const char *text, size_t length, char quote) {
    if (!quote && assist_plain_safe(text, length)) {
        buffer_append(out, text, length);
        return;
    }
    if (quote == '\'' && has_control(text, length)) quote = '"';
    if (!quote) quote = '"';
    buffer_char(out, quote);
    write_in_quotes(out, text, length, quote);
    buffer_char(out, quote);
}

bool assist_edit_scalar(struct assist_edits *edits, struct source *source, struct span token, struct span inside,
                        const char *text, size_t length) {
    struct buffer written;
    char first = token.start < token.end ? source_text(source)[token.start] : '\0';
    if (first == '|' || first == '>') {
        bool fits = length > 0 && !has_control(text, length) && text[0] != ' ' && text[length - 1] != ' ';
        if (fits) assist_edit_add(edits, source, inside, text, length);
        return fits;
    }
    buffer_init(&written, SIZE_MAX);
    bool quoted = first == '"' || (first == '\'' && !has_control(text, length));
    if (quoted)
        write_in_quotes(&written, text, length, first);
    else
        assist_scalar(&written, text, length, first == '\'' ? '"' : 0);
    assist_edit_add(edits, source, quoted ? inside : token, buffer_cstr(&written), written.length);
    buffer_finish(&written);
    return true;
}

/* ---- Words ---- */

bool assist_is_identifier(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        bool letter = text[i] == '_' || (text[i] >= 'A' && text[i] <= 'Z') || (text[i] >= 'a' && text[i] <= 'z');
        if (!letter && (i == 0 || text[i] < '0' || text[i] > '9')) return false;
    }
    return length > 0 && !lex_reserved(text, length);
}

bool assist_is_bare_name(const char *text, size_t length) {
    static const char *const words[] = {"state", "input", "item", "config", "run", "for", "if", "else", "end"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && memcmp(words[i], text, length) == 0) return false;
    return assist_is_identifier(text, length);
}

static bool edit_in_word(char letter) {
    return letter == '_' || (unsigned char)letter >= 0x80 || (letter >= '0' && letter <= '9') ||
           (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z');
}

bool assist_has_word(const struct source *source, struct span span, const char *word, size_t length, bool quoted) {
    const char *text = source_text(source);
    for (uint32_t at = span.start; at + length <= span.end; at++) {
        const char *found = memmem(text + at, span.end - at, word, length);
        if (!found) return false;
        at = (uint32_t)(found - text);
        char before = at ? text[at - 1] : '\0', after = text[at + length]; /* the text ends with NUL */
        bool quotes = (before == '"' || before == '\'') && (after == '"' || after == '\'' || after == '\\');
        if (!edit_in_word(before) && !edit_in_word(after) && (quotes || !quoted)) return true;
    }
    return false;
}
