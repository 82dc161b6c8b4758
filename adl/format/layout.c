/*
 * layout.c - implements layout.h. Indentation is written together with the text after it, so the output never has
 * trailing spaces.
 */
#include "adl/format/layout.h"
#include "adl/value/memory.h"
#include <string.h>

void layout_init(struct layout *layout, const struct source *source) {
    memset(layout, 0, sizeof *layout);
    layout->source = source;
    layout->text = source_text(source);
    layout->length = (uint32_t)source_length(source);
    layout->at = source_line_span(source, 0).start; /* a byte order mark is dropped */
    buffer_init(&layout->out, SIZE_MAX);
    buffer_init(&layout->comments, SIZE_MAX);
}

void layout_finish(struct layout *layout) {
    buffer_finish(&layout->out);
    buffer_finish(&layout->comments);
    mem_free(layout->trailing);
}

/* ---- Writing ---- */

static void spaces(struct buffer *out, size_t count) {
    for (size_t i = 0; i < count; i++) buffer_char(out, ' ');
}

void layout_line(struct layout *layout, uint32_t indent) {
    if (layout->open) buffer_char(&layout->out, '\n');
    if (layout->blank && layout->out.length > 0) buffer_char(&layout->out, '\n');
    layout->blank = false;
    spaces(&layout->out, indent);
    layout->open = true;
}

void layout_lead(struct layout *layout, uint32_t indent) {
    if (layout->open)
        buffer_char(&layout->out, ' ');
    else
        layout_line(layout, indent);
    layout->blank = false;
}

void layout_text(struct layout *layout, const char *text, size_t length) { buffer_append(&layout->out, text, length); }

void layout_copy(struct layout *layout, uint32_t end) {
    if (end < layout->at || end > layout->length) {
        layout->lost = true;
        return;
    }
    layout_text(layout, layout->text + layout->at, end - layout->at);
    layout->at = end;
}

/* ---- Gaps ---- */

static uint32_t comment_end(const struct layout *layout, uint32_t at) {
    while (at < layout->length && !layout_is_break(layout->text[at])) at++;
    return at;
}

uint32_t layout_peek(const struct layout *layout) {
    uint32_t at = layout->at;
    for (;;) {
        while (at < layout->length && layout_is_blank(layout->text[at])) at++;
        if (at >= layout->length || layout->text[at] != '#') return at;
        at = comment_end(layout, at);
    }
}

/* Writes the comment's text without trailing blanks, and moves past it. */
static void write_comment(struct layout *layout) {
    uint32_t start = layout->at, end = comment_end(layout, start);
    layout->at = end;
    while (end > start && layout_is_blank(layout->text[end - 1])) end--;
    layout_text(layout, layout->text + start, end - start);
    buffer_append(&layout->comments, layout->text + start, end - start);
    buffer_char(&layout->comments, '\n');
}

void layout_comment(struct layout *layout) {
    MEM_GROW(layout->trailing, layout->trailing_count, layout->trailing_capacity);
    buffer_text(&layout->out, "  ");
    layout->trailing[layout->trailing_count++] = (uint32_t)layout->out.length;
    write_comment(layout);
}

static uint32_t column_of(const struct layout *layout, uint32_t at) { return source_locate(layout->source, at).point; }

/*
 * The indentation of a comment in `column` before the token at `next`: the token's indentation if the comment is not
 * further right; else that of the innermost open collection that is not right of the comment.
 */
static uint32_t comment_indent(const struct layout *layout, uint32_t column, uint32_t next) {
    uint32_t next_column = next < layout->length ? column_of(layout, next) : 0;
    bool dash = next + 1 < layout->length && layout->text[next] == '-' && layout_is_blank(layout->text[next + 1]);
    for (uint32_t i = layout->level_count; i-- > 0;) {
        const struct layout_level *level = &layout->levels[i];
        if (column <= next_column && level->column == next_column && level->list == dash) return level->indent;
        if (column > next_column && level->column <= column) return level->indent;
    }
    return 0;
}

bool layout_gap(struct layout *layout, uint32_t indent, bool opening) {
    uint32_t next = layout_peek(layout), breaks = 0;
    bool any_break = false;
    if (layout->at == next) return false; /* the gap was passed before: keep its blank line */
    while (layout->at < next) {
        char c = layout->text[layout->at];
        if (c == '#') {
            if (breaks == 0 && layout->open) {
                layout_comment(layout);
            } else {
                uint32_t column = column_of(layout, layout->at);
                layout->blank = breaks > 1 && !opening;
                layout_line(layout, indent == LAYOUT_BY_COLUMN ? comment_indent(layout, column, next) : indent);
                write_comment(layout);
            }
            /* The next token starts a new line. */
            buffer_char(&layout->out, '\n');
            layout->open = false;
            opening = false;
            breaks = 0;
            continue;
        }
        if (layout_is_break(c)) {
            if (c == '\r' && layout->text[layout->at + 1] == '\n') layout->at++;
            breaks++;
            any_break = true;
        }
        layout->at++;
    }
    layout->blank = breaks > 1 && !opening;
    return any_break;
}

/* ---- The end ---- */

/* Columns in characters, as in an editor. */
static uint32_t layout_count_columns(const char *from, const char *to) {
    uint32_t count = 0;
    for (; from < to; from++) count += ((unsigned char)*from & 0xc0) != 0x80;
    return count;
}

static uint32_t code_width(const char *out, uint32_t comment) {
    uint32_t start = comment;
    while (start > 0 && out[start - 1] != '\n') start--;
    return layout_count_columns(out + start, out + comment) - 2;
}

/* True if the comment at `next` is on the line after that of `comment`. */
static bool follows(const char *out, uint32_t comment, uint32_t next) {
    const char *first = memchr(out + comment, '\n', next - comment);
    return first && !memchr(first + 1, '\n', (size_t)(out + next - first - 1));
}

/* Aligns comments after code in consecutive lines: in one column, two spaces after the longest code. */
static void align_comments(struct layout *layout) {
    struct buffer aligned;
    buffer_init(&aligned, SIZE_MAX);
    const char *out = buffer_cstr(&layout->out);
    uint32_t copied = 0;
    for (size_t first = 0, end; first < layout->trailing_count; first = end) {
        end = first + 1;
        while (end < layout->trailing_count && follows(out, layout->trailing[end - 1], layout->trailing[end])) end++;
        uint32_t widest = 0;
        for (size_t i = first; i < end; i++) {
            uint32_t width = code_width(out, layout->trailing[i]);
            if (width <= LAYOUT_ALIGN_MAX && width > widest) widest = width;
        }
        for (size_t i = first; i < end; i++) {
            uint32_t at = layout->trailing[i], width = code_width(out, at);
            buffer_append(&aligned, out + copied, at - copied);
            if (width <= LAYOUT_ALIGN_MAX) spaces(&aligned, widest - width);
            copied = at;
        }
    }
    buffer_append(&aligned, out + copied, layout->out.length - copied);
    buffer_finish(&layout->out);
    layout->out = aligned;
}

void layout_end(struct layout *layout) {
    if (layout->open) buffer_char(&layout->out, '\n');
    layout->open = false;
    if (layout->trailing_count > 0) align_comments(layout);
}
