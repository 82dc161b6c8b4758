/*
 * fuzz_lsp.c - changes of a text by positions (lsp_draft.h) give what source_offset and one copy for each change give.
 *
 * The first byte of an input chooses the unit of columns. The text follows, up to a byte 0xFF; then each change is five
 * bytes (a line, a column, a line, a column, a length), and as many bytes of text as the last one says.
 */
#include "adl/source/source.h"
#include "adl/value/buffer.h"
#include "host/server/lsp/lsp_draft.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The same change of a source, which it frees. */
static struct source *replaced(struct source *source, struct lsp_place start, struct lsp_place end,
                               enum source_unit unit, const char *text, size_t length) {
    uint32_t from = source_offset(source, start.line, start.column, unit),
             to = source_offset(source, end.line, end.column, unit);
    struct buffer all;
    buffer_init(&all, SIZE_MAX);
    buffer_append(&all, source_text(source), from < to ? from : to);
    buffer_append(&all, text, length);
    uint32_t rest = from < to ? to : from;
    buffer_append(&all, source_text(source) + rest, source_length(source) - rest);
    struct source *after = source_new("model", buffer_cstr(&all), all.length);
    buffer_finish(&all);
    source_unref(source);
    return after;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    enum source_unit unit = data[0] % 3 == 0 ? SOURCE_BYTES : data[0] % 3 == 1 ? SOURCE_POINTS : SOURCE_UTF16;
    const uint8_t *at = data + 1, *past = data + size, *mark = memchr(at, 0xFF, size - 1);
    size_t length = (size_t)((mark ? mark : past) - at);
    struct source *model = source_new("model", (const char *)at, length);
    struct lsp_draft draft;
    lsp_draft_init(&draft, (const char *)at, length);
    for (at += length + (mark != NULL); past - at >= 5;) {
        struct lsp_place start = {at[0] == 0xFF ? UINT32_MAX : at[0], at[1]}, end = {at[2], at[3]};
        if (at[3] == 0xFF) end.column = UINT32_MAX;
        size_t count = at[4];
        at += 5;
        if (count > (size_t)(past - at)) count = (size_t)(past - at);
        lsp_draft_replace(&draft, start, end, unit, (const char *)at, count);
        model = replaced(model, start, end, unit, (const char *)at, count);
        at += count;
    }
    const char *text = lsp_draft_text(&draft, &length);
    if (length != source_length(model) || memcmp(text, source_text(model), length) != 0 || text[length] != '\0')
        abort();
    lsp_draft_finish(&draft);
    source_unref(model);
    return 0;
}
