/*
 * format.c - formatting with verification: the result is read and formatted again before it is returned.
 *
 * A bug of a formatter must never damage a document. The new text must read as the same tree, contain the same
 * comments, and stay unchanged when it is formatted again. Otherwise formatting fails with ADL-E016.
 */
#include "adl/format/format.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/format/format_internal.h"
#include "adl/value/memory.h"
#include <string.h>
#include <tenon.h>

struct pass {
    struct buffer out, comments;
};

static void pass_init(struct pass *pass) {
    buffer_init(&pass->out, SIZE_MAX);
    buffer_init(&pass->comments, SIZE_MAX);
}

static void pass_finish(struct pass *pass) {
    buffer_finish(&pass->out);
    buffer_finish(&pass->comments);
}

static bool pass_run(struct pass *pass, const struct tree *tree) {
    if (tree_name_is_json(source_name(tree_source(tree)))) return format_json(tree, &pass->out);
    return format_yaml(tree, &pass->out, &pass->comments);
}

static bool same_text(const struct buffer *a, const struct buffer *b) {
    return a->length == b->length && memcmp(buffer_cstr(a), buffer_cstr(b), a->length) == 0;
}

/* Compares kinds, values, keys and their order; the reader bounds the depth. */
static bool same_node(const struct tree_node *a, const struct tree_node *b) {
    if (a->kind != b->kind || a->count != b->count) return false;
    if (a->kind != TN_ARRAY && a->kind != TN_OBJECT) return value_identical(a->value, b->value);
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->kind == TN_OBJECT && !value_identical(a->items[i].key, b->items[i].key)) return false;
        if (!same_node(a->items[i].node, b->items[i].node)) return false;
    }
    return true;
}

/* True if `pass`, created from `tree`, reads as the same tree and is stable. */
static bool is_proven(const struct pass *pass, const struct tree *tree) {
    struct source *source = source_new(source_name(tree_source(tree)), buffer_cstr(&pass->out), pass->out.length);
    struct diagnostics *found = diagnostics_new();
    struct tree *again = tree_read(source, NULL, found);
    struct pass second;
    pass_init(&second);
    bool proven = diagnostics_errors(found) == 0 && tree_is_whole(again) &&
                  same_node(tree_root(tree), tree_root(again)) && pass_run(&second, again) &&
                  same_text(&pass->out, &second.out) && same_text(&pass->comments, &second.comments);
    pass_finish(&second);
    tree_free(again);
    diagnostics_free(found);
    source_unref(source);
    return proven;
}

static bool format_tree(const struct tree *tree, struct diagnostics *found, struct pass *pass) {
    if (pass_run(pass, tree) && is_proven(pass, tree)) return true;
    diagnostics_add(found, ADL_E016, tree_source(tree), (struct span){0, 0},
                    "formatting would change what the document means; the file was not changed");
    return false;
}

/* True if more lines end with CRLF than with LF. */
static bool has_crlf(const char *text, size_t length) {
    size_t crlf = 0, all = 0;
    for (const char *at = text, *end = text + length; (at = memchr(at, '\n', (size_t)(end - at))); at++) {
        all++;
        crlf += at > text && at[-1] == '\r';
    }
    return crlf > all - crlf;
}

/* Scalars of several lines mean the same with both line ends. */
static char *with_crlf_take(char *text, size_t *length) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    for (size_t i = 0; i < *length; i++) {
        if (text[i] == '\n') buffer_char(&out, '\r');
        buffer_char(&out, text[i]);
    }
    mem_free(text);
    return out.data ? buffer_detach(&out, length) : mem_text("");
}

int32_t format_source(struct source *source, struct diagnostics *found, char **out, size_t *length) {
    size_t errors = diagnostics_errors(found);
    struct tree *tree = tree_read(source, NULL, found);
    int32_t status = TN_INVALID;
    struct pass pass;
    pass_init(&pass);
    if (diagnostics_errors(found) == errors && tree_is_whole(tree) && format_tree(tree, found, &pass)) {
        bool crlf = has_crlf(source_text(source), source_length(source));
        size_t size = pass.out.length;
        char *text = pass.out.data ? buffer_detach(&pass.out, NULL) : mem_text("");
        *out = crlf ? with_crlf_take(text, &size) : text;
        if (length) *length = size;
        status = TN_OK;
    }
    pass_finish(&pass);
    tree_free(tree);
    return status;
}
