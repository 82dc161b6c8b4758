/*
 * source.c - texts and their line index.
 *
 * Line starts are computed once, when the source is created. Columns in characters are differences of counts from the
 * start of the text, which are stored for every SOURCE_STRIDE bytes. Locating a place therefore costs the same in a
 * short line and in a minified file of one line.
 *
 * Invariant: starts[0] is 0 (3 after a byte order mark), starts is ascending, and has `lines` entries.
 */
#include "adl/source/source.h"
#include "adl/value/memory.h"
#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SOURCE_STRIDE 4096u

struct mark {
    uint32_t points, utf16; /* counts of the bytes before the mark */
};

struct source {
    _Atomic uint32_t references;
    uint32_t length, lines;
    enum source_origin origin;
    enum source_view view;
    char *name, *text, *root;
    uint32_t *starts;
    struct mark *marks; /* marks[i] counts the first i * SOURCE_STRIDE bytes */
};

/*
 * Characters are counted at their first byte; those outside the basic plane (first byte 11110xxx) are two UTF-16 units.
 */
static void count_bytes(const char *text, uint32_t from, uint32_t to, struct mark *mark) {
    uint32_t points = 0, wide = 0;
    for (uint32_t i = from; i < to; i++) {
        unsigned char byte = (unsigned char)text[i];
        points += (byte & 0xc0) != 0x80;
        wide += byte >= 0xf0;
    }
    mark->points += points;
    mark->utf16 += points + wide;
}

static void index_lines(struct source *source) {
    const char *text = source->text;
    uint32_t capacity = 64 + source->length / 32;
    source->starts = mem_array(NULL, capacity, sizeof *source->starts);
    source->starts[0] = source->length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    source->lines = 1;
    for (uint32_t i = source->starts[0]; i < source->length; i++) {
        if ((unsigned char)text[i] > '\r' || (text[i] != '\n' && text[i] != '\r')) continue;
        if (text[i] == '\r' && text[i + 1] == '\n') i++; /* the text is NUL-terminated */
        MEM_GROW(source->starts, source->lines, capacity);
        source->starts[source->lines++] = i + 1;
    }
}

struct source *source_new(const char *name, const char *text, size_t length) {
    assert(length <= SOURCE_LENGTH_MAX);
    struct source *source = mem_zalloc(sizeof *source);
    atomic_init(&source->references, 1);
    source->name = mem_text(name);
    source->text = mem_alloc(length + 1); /* any bytes, including NUL */
    if (length) memcpy(source->text, text, length);
    source->text[length] = '\0';
    source->length = (uint32_t)length;
    index_lines(source);
    size_t strides = length / SOURCE_STRIDE;
    source->marks = mem_array(NULL, strides + 1, sizeof *source->marks);
    source->marks[0] = (struct mark){0, 0};
    for (size_t i = 1; i <= strides; i++) {
        source->marks[i] = source->marks[i - 1];
        count_bytes(source->text, (uint32_t)(i - 1) * SOURCE_STRIDE, (uint32_t)i * SOURCE_STRIDE, &source->marks[i]);
    }
    return source;
}

struct source *source_ref(struct source *source) {
    if (source) atomic_fetch_add_explicit(&source->references, 1, memory_order_relaxed);
    return source;
}

void source_unref(struct source *source) {
    if (!source || atomic_fetch_sub_explicit(&source->references, 1, memory_order_acq_rel) > 1) return;
    mem_free(source->name);
    mem_free(source->text);
    mem_free(source->root);
    mem_free(source->starts);
    mem_free(source->marks);
    mem_free(source);
}

void source_set_origin(struct source *source, enum source_origin origin, const char *root) {
    mem_free(source->root);
    source->root = root ? mem_text(root) : NULL;
    source->origin = origin;
}

void source_set_view(struct source *source, enum source_view view) { source->view = view; }
enum source_origin source_origin(const struct source *source) { return source->origin; }
enum source_view source_view(const struct source *source) { return source->view; }
const char *source_root(const struct source *source) { return source->root; }

const char *source_name(const struct source *source) { return source->name; }
const char *source_text(const struct source *source) { return source->text; }
size_t source_length(const struct source *source) { return source->length; }
uint32_t source_lines(const struct source *source) { return source->lines; }

struct span source_line_span(const struct source *source, uint32_t line) {
    if (line >= source->lines) return (struct span){source->length, source->length};
    uint32_t start = source->starts[line];
    uint32_t end = line + 1 < source->lines ? source->starts[line + 1] : source->length;
    if (line + 1 < source->lines) {
        if (end > start && source->text[end - 1] == '\n') end--;
        if (end > start && source->text[end - 1] == '\r') end--;
    }
    return (struct span){start, end};
}

const char *source_line(const struct source *source, uint32_t line, size_t *length) {
    if (line >= source->lines) return NULL;
    struct span span = source_line_span(source, line);
    if (length) *length = span.end - span.start;
    return source->text + span.start;
}

static struct mark count_to(const struct source *source, uint32_t offset) {
    uint32_t stride = offset / SOURCE_STRIDE;
    struct mark mark = source->marks[stride];
    count_bytes(source->text, stride * SOURCE_STRIDE, offset, &mark);
    return mark;
}

uint32_t source_line_at(const struct source *source, uint32_t offset) {
    uint32_t low = 0, high = source->lines; /* the last line that starts at or before offset */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (source->starts[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

struct source_place source_locate(const struct source *source, uint32_t offset) {
    if (offset > source->length) offset = source->length;
    uint32_t number = source_line_at(source, offset);
    struct span line = source_line_span(source, number);
    if (offset < line.start) offset = line.start; /* inside the byte order mark */
    while (offset > line.start && offset < source->length && ((unsigned char)source->text[offset] & 0xc0) == 0x80)
        offset--;
    struct mark start = {0, 0}, here = {0, 0};
    if (offset - line.start < SOURCE_STRIDE) { /* most lines are short: the marks would cost more */
        count_bytes(source->text, line.start, offset, &here);
    } else {
        start = count_to(source, line.start);
        here = count_to(source, offset);
    }
    return (struct source_place){number, offset - line.start, here.points - start.points, here.utf16 - start.utf16};
}

uint32_t source_offset(const struct source *source, uint32_t line, uint32_t column, enum source_unit unit) {
    struct span span = source_line_span(source, line);
    if (unit == SOURCE_BYTES) return column < span.end - span.start ? span.start + column : span.end;
    uint32_t offset = span.start, passed = 0;
    while (offset < span.end) {
        uint32_t next = offset + 1;
        while (next < span.end && ((unsigned char)source->text[next] & 0xc0) == 0x80) next++;
        passed += unit == SOURCE_UTF16 && (unsigned char)source->text[offset] >= 0xf0 ? 2 : 1;
        if (passed > column) break; /* the column is at this character, or inside it */
        offset = next;
    }
    return offset;
}
