/*
 * lsp_edit.c - edits of texts, as features return them, for the client.
 */
#include "host/server/lsp/lsp_internal.h"
#include "host/server/lsp/lsp_position.h"

tn_value lsp_text_edit(const struct lsp_text *text, struct span span, const char *chars, size_t length) {
    tn_value edit = value_set_take(value_object_reserve(2), "range", lsp_range(text->checked, span, text->lsp->unit));
    return value_set_take(edit, "newText", value_string_lossy(chars, length));
}
