/*
 * lsp_draft.c - a gap buffer that knows one line.
 *
 * Whether a line starts at an offset depends only on the two bytes around it, so lines can be counted upwards and
 * downwards from any line start.
 */
#include "host/server/lsp/lsp_draft.h"
#include "adl/value/memory.h"
#include <string.h>

#define GAP_MIN 4096u

static size_t draft_length(const struct lsp_draft *draft) { return draft->before + draft->after; }

/* The byte at an offset; NUL at the end. */
static char draft_at(const struct lsp_draft *draft, size_t offset) {
    if (offset < draft->before) return draft->bytes[offset];
    size_t behind = offset - draft->before;
    return behind < draft->after ? draft->bytes[draft->capacity - draft->after + behind] : '\0';
}

/* ---- Lines ---- */

/* Where the first line starts: after a byte order mark. */
static size_t first_line(const struct lsp_draft *draft) {
    bool mark = draft_length(draft) >= 3 && draft_at(draft, 0) == '\xEF' && draft_at(draft, 1) == '\xBB' &&
                draft_at(draft, 2) == '\xBF';
    return mark ? 3 : 0;
}

/* True for the offset after a line end; the first line is another case. */
static bool starts_line(const struct lsp_draft *draft, size_t offset) {
    char last = draft_at(draft, offset - 1);
    return last == '\n' || (last == '\r' && !(offset < draft_length(draft) && draft_at(draft, offset) == '\n'));
}

static void go_up(struct lsp_draft *draft) {
    size_t first = first_line(draft), at = draft->line_start;
    do at--;
    while (at > first && !starts_line(draft, at));
    draft->line--;
    draft->line_start = at;
}

/* False if it is the last line. */
static bool go_down(struct lsp_draft *draft) {
    size_t at = draft->line_start + 1, length = draft_length(draft);
    while (at <= length && !starts_line(draft, at)) at++;
    if (at > length) return false;
    draft->line++;
    draft->line_start = at;
    return true;
}

/* False if there is no such line. */
static bool go_to_line(struct lsp_draft *draft, uint32_t line) {
    if (line <= draft->line / 2) {
        draft->line = 0;
        draft->line_start = first_line(draft);
    }
    while (draft->line > line) go_up(draft);
    while (draft->line < line)
        if (!go_down(draft)) return false;
    return true;
}

/* ---- Places ---- */

static bool ends_line(const struct lsp_draft *draft, size_t offset) {
    char byte = draft_at(draft, offset);
    return offset >= draft_length(draft) || byte == '\n' || byte == '\r';
}

static bool is_inside_character(const struct lsp_draft *draft, size_t offset) {
    return ((unsigned char)draft_at(draft, offset) & 0xc0) == 0x80;
}

static size_t offset_of(struct lsp_draft *draft, struct lsp_place place, enum source_unit unit) {
    uint64_t passed = 0;
    if (!go_to_line(draft, place.line)) return draft_length(draft);
    size_t offset = draft->line_start;
    if (unit == SOURCE_BYTES) {
        while (offset - draft->line_start < place.column && !ends_line(draft, offset)) offset++;
        return offset;
    }
    while (!ends_line(draft, offset)) {
        size_t next = offset + 1;
        while (!ends_line(draft, next) && is_inside_character(draft, next)) next++;
        passed += unit == SOURCE_UTF16 && (unsigned char)draft_at(draft, offset) >= 0xf0 ? 2 : 1;
        if (passed > place.column) break; /* the column is at this character, or inside it */
        offset = next;
    }
    return offset;
}

/* ---- Changes ---- */

void lsp_draft_init(struct lsp_draft *draft, const char *text, size_t length) {
    *draft = (struct lsp_draft){.capacity = length + GAP_MIN, .before = length};
    draft->bytes = mem_alloc(draft->capacity);
    if (length) memcpy(draft->bytes, text, length);
    draft->line_start = first_line(draft);
}

void lsp_draft_finish(struct lsp_draft *draft) { mem_free(draft->bytes); }

static void move_gap(struct lsp_draft *draft, size_t offset) {
    char *behind = draft->bytes + draft->capacity - draft->after;
    if (offset < draft->before) {
        size_t count = draft->before - offset;
        memmove(behind - count, draft->bytes + offset, count);
        draft->before -= count;
        draft->after += count;
    } else {
        size_t count = offset - draft->before;
        memmove(draft->bytes + draft->before, behind, count);
        draft->before += count;
        draft->after -= count;
    }
}

static void widen_gap(struct lsp_draft *draft, size_t wanted) {
    size_t length = draft_length(draft);
    if (draft->capacity - length >= wanted) return;
    size_t capacity = length + length / 2 + wanted + GAP_MIN;
    char *bytes = mem_alloc(capacity);
    memcpy(bytes, draft->bytes, draft->before);
    memcpy(bytes + capacity - draft->after, draft->bytes + draft->capacity - draft->after, draft->after);
    mem_free(draft->bytes);
    draft->bytes = bytes;
    draft->capacity = capacity;
}

void lsp_draft_replace(struct lsp_draft *draft, struct lsp_place start, struct lsp_place end, enum source_unit unit,
                       const char *text, size_t length) {
    size_t to = offset_of(draft, end, unit), from = offset_of(draft, start, unit);
    if (from > to) {
        size_t other = from;
        from = to;
        to = other;
    }
    if (length > SOURCE_LENGTH_MAX || draft_length(draft) - (to - from) > SOURCE_LENGTH_MAX - length) return;
    /* A line before the change: a change at the start of a line may join it with the one above. */
    while (draft->line > 0 && draft->line_start >= from) go_up(draft);
    move_gap(draft, from);
    draft->after -= to - from;
    widen_gap(draft, length);
    if (length) memcpy(draft->bytes + from, text, length);
    draft->before += length;
    if (draft->line == 0) draft->line_start = first_line(draft);
}

const char *lsp_draft_text(struct lsp_draft *draft, size_t *length) {
    move_gap(draft, draft_length(draft));
    widen_gap(draft, 1);
    draft->bytes[draft->before] = '\0';
    *length = draft->before;
    return draft->bytes;
}
