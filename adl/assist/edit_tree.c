/*
 * edit_tree.c - members and items of mappings and lists: added and removed in the style of those around them.
 */
#include "adl/assist/edit.h"
#include <string.h>

const char *assist_line_end(const struct source *source) {
    size_t length;
    const char *line = source_line(source, 0, &length);
    const char *end = line + length;
    return line && source_lines(source) > 1 && end[0] == '\r' && end[1] == '\n' ? "\r\n" : "\n";
}

uint32_t assist_column(const struct source *source, uint32_t offset) {
    return offset - source_line_span(source, source_line_at(source, offset)).start;
}

static bool edit_is_blank(char character) {
    return character == ' ' || character == '\t' || character == '\n' || character == '\r';
}

/* The end of the line with the last byte of the value; a block scalar ends after its line end. */
static uint32_t end_of_last_line(const struct source *source, struct span span) {
    const char *text = source_text(source);
    uint32_t end = span.end;
    while (end > span.start && edit_is_blank(text[end - 1])) end--;
    return source_line_span(source, source_line_at(source, end)).end;
}

static void write_member(struct buffer *out, const struct source *source, const char *key, const char *value) {
    assist_scalar(out, key, strlen(key), tree_name_is_json(source_name(source)) ? '"' : 0);
    buffer_format(out, ": %s", value);
}

/* Before the first member: the blanks between the brace and that member separate it from the new one, too. */
static void insert_first_in_braces(struct buffer *out, const struct source *source, uint32_t brace, uint32_t first) {
    const char *text = source_text(source);
    bool blank = first > brace + 1;
    for (uint32_t i = brace + 1; i < first; i++) blank &= edit_is_blank(text[i]);
    buffer_char(out, ',');
    if (blank && memchr(text + brace, '\n', first - brace))
        buffer_append(out, text + brace + 1, first - brace - 1);
    else
        buffer_char(out, ' ');
}

/* The end of the last member, if its text is in the mapping and not empty; else 0. */
static uint32_t end_of_last_member(const struct source *source, const struct tree_node *mapping) {
    if (!mapping->count) return 0;
    const struct tree_item *last = &mapping->items[mapping->count - 1];
    struct span span = last->node->span;
    if (span.start < last->key_span.end || span.start == span.end || span.end > mapping->span.end) return 0;
    return mapping->style == TREE_FLOW ? span.end : end_of_last_line(source, span);
}

static void append_member(struct buffer *out, const struct source *source, const struct tree_node *mapping,
                          const char *member) {
    const struct source_place first = source_locate(source, mapping->items[0].key_span.start);
    bool flow = mapping->style == TREE_FLOW;
    bool lines = !flow || first.line != source_line_at(source, mapping->span.start);
    if (flow) buffer_char(out, ',');
    if (lines)
        buffer_format(out, "%s%*s%s", assist_line_end(source), (int)first.byte, "", member);
    else
        buffer_format(out, " %s", member);
}

bool assist_edit_add_member(struct assist_edits *edits, struct source *source, const struct tree_node *mapping,
                            const char *key, const char *value) {
    struct buffer out, member;
    bool flow = mapping->style == TREE_FLOW;
    if (mapping->kind != TN_OBJECT || (!flow && mapping->count == 0)) return false;
    buffer_init(&out, SIZE_MAX);
    buffer_init(&member, SIZE_MAX);
    write_member(&member, source, key, value);
    uint32_t first = mapping->count ? mapping->items[0].key_span.start : mapping->span.start + 1;
    uint32_t last = end_of_last_member(source, mapping);
    if (last)
        append_member(&out, source, mapping, buffer_cstr(&member));
    else
        buffer_text(&out, buffer_cstr(&member));
    if (!last && flow && mapping->count)
        insert_first_in_braces(&out, source, mapping->span.start, first);
    else if (!last && !flow)
        buffer_format(&out, "%s%*s", assist_line_end(source), (int)assist_column(source, first), "");
    assist_edit_insert(edits, source, last ? last : first, buffer_cstr(&out));
    buffer_finish(&member);
    buffer_finish(&out);
    return true;
}

/* The offset of the dash before an item of a block list; all dashes are in the column of the first. */
static uint32_t dash_before(const struct source *source, const struct tree_node *list, uint32_t index) {
    const char *text = source_text(source);
    uint32_t column = assist_column(source, list->span.start);
    uint32_t line = source_line_at(source, list->items[index].node->span.start);
    for (;; line--) {
        struct span span = source_line_span(source, line);
        uint32_t at = span.start + column;
        if (at <= list->span.start || line == 0) return list->span.start;
        if (at < span.end && text[at] == '-' && (at + 1 == span.end || text[at + 1] == ' ')) return at;
    }
}

/* False if the item is an alias, whose text is elsewhere. */
static bool item_is_here(const struct tree_node *list, uint32_t index) {
    const struct tree_node *node = list->items[index].node;
    uint32_t before = index ? list->items[index - 1].node->span.end : list->span.start;
    return node->span.start >= before && node->span.end <= list->span.end;
}

bool assist_edit_append_item(struct assist_edits *edits, struct source *source, const struct tree_node *list,
                             const char *item) {
    struct buffer out;
    bool flow = list->style == TREE_FLOW;
    if (list->kind != TN_ARRAY || (!flow && list->count == 0)) return false;
    const struct tree_node *last = list->count ? list->items[list->count - 1].node : NULL;
    if (last && !item_is_here(list, list->count - 1)) return false;
    buffer_init(&out, SIZE_MAX);
    uint32_t at = list->span.start + 1;
    if (!last) {
        buffer_text(&out, item);
    } else if (!flow) {
        at = end_of_last_line(source, last->span);
        int column = (int)assist_column(source, list->span.start);
        buffer_format(&out, "%s%*s- %s", assist_line_end(source), column, "", item);
    } else {
        at = last->span.end;
        uint32_t first = list->items[0].node->span.start;
        if (source_line_at(source, first) != source_line_at(source, list->span.start))
            buffer_format(&out, ",%s%*s%s", assist_line_end(source), (int)assist_column(source, first), "", item);
        else
            buffer_format(&out, ", %s", item);
    }
    assist_edit_insert(edits, source, at, buffer_cstr(&out));
    buffer_finish(&out);
    return true;
}

/* The start of the line after the offset's line. */
static uint32_t next_line(const struct source *source, uint32_t offset) {
    const char *text = source_text(source);
    uint32_t end = source_line_span(source, source_line_at(source, offset)).end;
    if (text[end] == '\r') end++;
    return text[end] == '\n' ? end + 1 : end;
}

struct span assist_lines_of(const struct source *source, struct span span) {
    uint32_t start = source_line_span(source, source_line_at(source, span.start)).start;
    return (struct span){start, next_line(source, end_of_last_line(source, span))};
}

static void remove_block_item(struct assist_edits *edits, struct source *source, const struct tree_node *list,
                              uint32_t index) {
    struct span span = {dash_before(source, list, index), list->items[index].node->span.end};
    assist_edit_add(edits, source, assist_lines_of(source, span), "", 0);
}

static void remove_flow_item(struct assist_edits *edits, struct source *source, const struct tree_node *list,
                             uint32_t index) {
    struct span span = list->items[index].node->span;
    if (index + 1 < list->count)
        span.end = list->items[index + 1].node->span.start;
    else if (index > 0)
        span.start = list->items[index - 1].node->span.end;
    else
        span = (struct span){list->span.start + 1, list->span.end - 1};
    assist_edit_add(edits, source, span, "", 0);
}

bool assist_edit_remove_item(struct assist_edits *edits, struct source *source, const struct tree_node *list,
                             uint32_t index) {
    if (!item_is_here(list, index) || (index + 1 < list->count && !item_is_here(list, index + 1))) return false;
    if (list->style == TREE_FLOW)
        remove_flow_item(edits, source, list, index);
    else
        remove_block_item(edits, source, list, index);
    return true;
}
