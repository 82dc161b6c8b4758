/*
 * format_yaml.c - writes a YAML tree again from its source, token by token.
 *
 * The tree determines what comes next and how it was written. The text of scalars, anchors and aliases is copied from
 * the source; the layout handles the gaps between them and keeps comments. If the source does not match the tree, the
 * layout is marked as lost and nothing is written: that would be a bug of ours.
 *
 * Indentation: `indent` is the column of the collection that contains a value (of its keys, or its dashes); the parts
 * of the value are indented by two more. The items of a flow collection over several lines are indented by two more
 * than the line that opens it.
 */
#include "adl/format/format_internal.h"
#include "adl/format/layout.h"
#include <string.h>

#define STEP 2u

struct place {
    uint32_t indent; /* column of the collection that contains the value */
    bool root;       /* the value is not in a collection */
    bool dash;       /* the value follows the dash of a list item */
};

static uint32_t inner(const struct place *place) { return place->root ? 0 : place->indent + STEP; }

static char current(const struct layout *layout) {
    return layout->at < layout->length ? layout->text[layout->at] : '\0';
}

/* True if the current token is the indicator, followed by a blank or the end. */
static bool at_indicator(const struct layout *layout, char indicator) {
    if (current(layout) != indicator) return false;
    return layout->at + 1 >= layout->length || layout_is_blank(layout->text[layout->at + 1]);
}

/* True if the current token would be `marker` in the first column. */
static bool reads_as_marker(const struct layout *layout, const char *marker) {
    if (layout->length - layout->at < 3 || memcmp(layout->text + layout->at, marker, 3) != 0) return false;
    return layout->at + 3 >= layout->length || layout_is_blank(layout->text[layout->at + 3]);
}

static bool at_marker(const struct layout *layout, const char *marker) {
    return reads_as_marker(layout, marker) && source_locate(layout->source, layout->at).byte == 0;
}

static void format_expect_token(struct layout *layout, char token) {
    if (current(layout) != token)
        layout->lost = true;
    else
        layout_copy(layout, layout->at + 1);
}

/* ---- Scalars ---- */

static uint32_t trim_left(const struct layout *layout, uint32_t from, uint32_t to) {
    while (from < to && layout_is_blank(layout->text[from])) from++;
    return from;
}

/* Removes trailing blanks, except for one that a backslash escapes. */
static uint32_t trim_right(const struct layout *layout, uint32_t from, uint32_t to, bool escapes) {
    uint32_t end = to, slashes = 0;
    while (end > from && layout_is_blank(layout->text[end - 1])) end--;
    while (escapes && end - slashes > from && layout->text[end - slashes - 1] == '\\') slashes++;
    return slashes % 2 == 1 && end < to && !layout_is_break(layout->text[end]) ? end + 1 : end;
}

static uint32_t line_end(const struct layout *layout, uint32_t at) {
    while (at < layout->length && !layout_is_break(layout->text[at])) at++;
    return at;
}

static uint32_t past_break(const struct layout *layout, uint32_t at) {
    if (at < layout->length && layout->text[at] == '\r') at++;
    return at < layout->length && layout->text[at] == '\n' ? at + 1 : at;
}

/* Writes a plain or quoted scalar: its lines unchanged, later lines at `indent`. */
static void yaml_write_scalar(struct layout *layout, struct span span, uint32_t indent) {
    if (layout->at != span.start) {
        layout->lost = true;
        return;
    }
    bool escapes = current(layout) == '"';
    for (bool first = true; layout->at < span.end; first = false) {
        uint32_t end = line_end(layout, layout->at);
        bool last = end >= span.end;
        if (last) end = span.end;
        uint32_t from = first ? layout->at : trim_left(layout, layout->at, end);
        uint32_t to = last ? end : trim_right(layout, from, end, escapes);
        if (!first && from == to) {
            buffer_char(&layout->out, '\n'); /* a blank line of the text */
        } else {
            if (!first) {
                layout->blank = false;
                layout_line(layout, indent);
            }
            layout_text(layout, layout->text + from, to - from);
        }
        layout->at = last ? end : past_break(layout, end);
    }
}

struct block_header {
    uint32_t digit; /* the indentation indicator; 0 without one */
    char chomping;  /* '+', '-', or NUL */
};

static struct block_header yaml_read_header(struct layout *layout) {
    struct block_header header = {0, '\0'};
    for (layout->at++; strchr("+-123456789", current(layout)) && current(layout); layout->at++) {
        char c = current(layout);
        if (c == '+' || c == '-')
            header.chomping = c;
        else
            header.digit = (uint32_t)(c - '0');
    }
    return header;
}

/* Returns the number of spaces at the start of the line at `at`; *blank is true if the line has nothing else. */
static uint32_t line_indent(const struct layout *layout, uint32_t at, bool *blank) {
    uint32_t from = at;
    while (at < layout->length && layout->text[at] == ' ') at++;
    *blank = at >= layout->length || layout_is_break(layout->text[at]);
    return at - from;
}

/* Returns the indentation of a block scalar's text in the source, which exceeds `least`; 0 without text. */
static uint32_t content_indent(const struct layout *layout, uint32_t at, uint32_t least) {
    while (at < layout->length) {
        bool blank;
        uint32_t indent = line_indent(layout, at, &blank);
        if (!blank) return indent >= least ? indent : 0;
        at = past_break(layout, line_end(layout, at));
    }
    return 0;
}

/* Finds the end of the last line with text, and of the blank lines after it. */
static void content_end(const struct layout *layout, uint32_t at, uint32_t indent, uint32_t *text, uint32_t *blanks) {
    *text = *blanks = at;
    while (at < layout->length) {
        bool blank;
        uint32_t own = line_indent(layout, at, &blank);
        if (!blank && (own < indent || indent == 0)) break;
        at = past_break(layout, line_end(layout, at));
        *blanks = at;
        if (!blank || (indent > 0 && own > indent)) *text = at;
    }
}

static void write_content(struct layout *layout, uint32_t end, uint32_t from_indent, uint32_t to_indent) {
    while (layout->at < end) {
        bool blank;
        uint32_t own = line_indent(layout, layout->at, &blank), stop = line_end(layout, layout->at);
        uint32_t from = own > from_indent ? layout->at + from_indent : layout->at + own;
        if (from < stop) {
            for (uint32_t i = 0; i < to_indent; i++) buffer_char(&layout->out, ' ');
            layout_text(layout, layout->text + from, stop - from);
        }
        buffer_char(&layout->out, '\n');
        layout->at = past_break(layout, stop);
    }
}

/* Writes a scalar by | or >: its content byte for byte, with a new indentation. */
static void write_block_scalar(struct layout *layout, const struct place *place) {
    const struct layout_level *level = layout->level_count ? &layout->levels[layout->level_count - 1] : NULL;
    char kind = current(layout);
    struct block_header header = yaml_read_header(layout);
    uint32_t at = past_break(layout, line_end(layout, layout->at));
    uint32_t parent = level ? level->column : 0;
    uint32_t old = header.digit ? parent + header.digit : content_indent(layout, at, level ? parent + 1 : 0);
    uint32_t text, blanks;
    content_end(layout, at, old, &text, &blanks);
    uint32_t end = header.chomping == '+' ? blanks : text;
    /* The last line has no line end, so the text contains no newline there and none may be added. */
    bool open_end = end == layout->length && end > at && !layout_is_break(layout->text[end - 1]);
    layout_text(layout, &kind, 1);
    if (header.digit) buffer_char(&layout->out, (char)('0' + header.digit));
    if (open_end)
        buffer_char(&layout->out, '-');
    else if (header.chomping)
        buffer_char(&layout->out, header.chomping);
    while (layout->at < at && layout_is_blank(current(layout)) && !layout_is_break(current(layout))) layout->at++;
    if (current(layout) == '#' && layout->at < at) layout_comment(layout);
    buffer_char(&layout->out, '\n');
    layout->at = at;
    uint32_t base = place->root ? 0 : place->indent;
    write_content(layout, end, old, header.digit ? base + header.digit : base + STEP);
    layout->open = false;
    layout->blank = false;
    /* Stay before the line end, so that the next gap counts the blank lines after it. */
    if (header.chomping != '+' && layout_is_break(layout->text[end - 1])) layout->at = end - 1;
}

/* ---- Properties ---- */

/* Writes `&name` or `*name` at the current place; libyaml's alphabet. */
static void yaml_write_name(struct layout *layout) {
    uint32_t end = layout->at + 1;
    while (end < layout->length) {
        char c = layout->text[end];
        bool name = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
        if (!name) break;
        end++;
    }
    layout_copy(layout, end);
}

static bool write_anchor(struct layout *layout) {
    if (current(layout) != '&') return false;
    yaml_write_name(layout);
    return true;
}

static bool is_absent(const struct tree_node *node) {
    return node->kind == TN_NULL && node->style == TREE_PLAIN && node->span.start == node->span.end;
}

/* ---- Flow collections ---- */

static void write_flow(struct layout *layout, const struct tree_node *node, uint32_t base);

/* Writes a value in a flow collection, after `: ` or at the start of an item; `lead`: with a space before it. */
static void write_flow_value(struct layout *layout, const struct tree_node *node, uint32_t indent, bool lead) {
    if (is_absent(node) && current(layout) != '&' && current(layout) != '*') return;
    if (lead) layout_lead(layout, indent + STEP);
    if (write_anchor(layout)) {
        if (is_absent(node)) return;
        layout_gap(layout, indent + STEP, true);
        layout_lead(layout, indent + STEP);
    }
    if (current(layout) == '*')
        yaml_write_name(layout);
    else if (node->kind == TN_ARRAY || node->kind == TN_OBJECT)
        write_flow(layout, node, indent);
    else
        yaml_write_scalar(layout, node->span, indent + STEP);
}

/* Writes `key: value`, `key`, or `? key: value` at the current place. */
static void write_flow_pair(struct layout *layout, const struct tree_item *item, uint32_t indent, bool braces) {
    if (current(layout) == '?' && item->key_span.start != layout->at) {
        format_expect_token(layout, '?');
        layout_gap(layout, indent + STEP, true);
        layout_lead(layout, indent + STEP);
    }
    if (write_anchor(layout)) {
        layout_gap(layout, indent + STEP, true);
        layout_lead(layout, indent + STEP);
    }
    bool alias = current(layout) == '*';
    if (alias)
        yaml_write_name(layout);
    else
        yaml_write_scalar(layout, item->key_span, indent + STEP);
    uint32_t next = layout_peek(layout);
    if (next >= layout->length || layout->text[next] != ':') {
        if (!is_absent(item->node)) layout->lost = true;
        return;
    }
    layout_gap(layout, indent + STEP, true);
    uint32_t colon = layout->at++;
    next = layout_peek(layout);
    bool named = next < layout->length && (layout->text[next] == '&' || layout->text[next] == '*');
    bool nothing = is_absent(item->node) && !named;
    if (nothing && braces) return; /* {key} means the same as {key: } */
    layout->at = colon;
    if (alias) buffer_char(&layout->out, ' '); /* a colon could be part of the alias name */
    if (!layout->open) layout_line(layout, indent + STEP);
    format_expect_token(layout, ':');
    if (nothing) {
        buffer_char(&layout->out, ' ');
        return;
    }
    layout_gap(layout, indent + STEP, true);
    write_flow_value(layout, item->node, indent, true);
}

static void write_flow_item(struct layout *layout, const struct tree_node *node, uint32_t index, uint32_t indent) {
    const struct tree_item *item = &node->items[index];
    if (node->kind == TN_OBJECT)
        write_flow_pair(layout, item, indent, true);
    else
        write_flow_value(layout, item->node, indent, false);
}

/* Writes the comma after an item and the gap around it. Returns true if a line ends there. */
static bool write_comma(struct layout *layout, uint32_t indent, bool last, char closer) {
    uint32_t comma = layout_peek(layout);
    bool there = comma < layout->length && layout->text[comma] == ',';
    if (!there) {
        if (!last) layout->lost = true;
        return layout_gap(layout, indent, false);
    }
    uint32_t from = layout->at;
    layout->at = comma + 1;
    uint32_t next = layout_peek(layout);
    layout->at = from;
    bool breaks = memchr(layout->text + comma, '\n', next - comma) || memchr(layout->text + comma, '\r', next - comma);
    if (next < layout->length && layout->text[next] == closer && !last) layout->lost = true;
    if (!last || breaks) buffer_char(&layout->out, ',');
    bool before = layout_gap(layout, indent, false); /* comments before the comma are written after it */
    layout->at = comma + 1;
    bool after = layout_gap(layout, indent, false);
    return before || after;
}

/* Writes the flow collection at the current place; items that start lines are at base + STEP. */
static void write_flow(struct layout *layout, const struct tree_node *node, uint32_t base) {
    char opener = node->kind == TN_ARRAY ? '[' : '{', closer = node->kind == TN_ARRAY ? ']' : '}';
    if (current(layout) != opener) { /* [key: value]: a mapping without braces */
        if (node->kind == TN_OBJECT && node->count == 1)
            write_flow_pair(layout, &node->items[0], base, false);
        else
            layout->lost = true;
        return;
    }
    uint32_t indent = base + STEP;
    format_expect_token(layout, opener);
    bool breaks = layout_gap(layout, indent, true);
    for (uint32_t i = 0; i < node->count && !layout->lost; i++) {
        if (breaks || !layout->open)
            layout_line(layout, indent);
        else if (i > 0)
            buffer_char(&layout->out, ' ');
        layout->blank = false;
        write_flow_item(layout, node, i, indent);
        breaks = write_comma(layout, indent, i + 1 == node->count, closer);
    }
    layout->blank = false;
    if ((breaks && node->count > 0) || !layout->open) layout_line(layout, base);
    format_expect_token(layout, closer);
}

/* ---- Block collections ---- */

static void yaml_write_value(struct layout *layout, const struct tree_node *node, const struct place *place);

static void push_level(struct layout *layout, uint32_t indent, bool list) {
    uint32_t column = source_locate(layout->source, layout->at).point;
    layout->levels[layout->level_count++] = (struct layout_level){column, indent, list};
}

/* Writes a key with its properties, up to the colon. */
static void write_key(struct layout *layout, struct span span, const struct place *place) {
    if (write_anchor(layout)) {
        layout_gap(layout, inner(place), true);
        layout_lead(layout, inner(place));
    }
    if (current(layout) == '*') {
        yaml_write_name(layout);
        buffer_char(&layout->out, ' ');
    } else if (current(layout) == '|' || current(layout) == '>') {
        write_block_scalar(layout, place);
    } else {
        yaml_write_scalar(layout, span, inner(place));
    }
}

static void write_entry(struct layout *layout, const struct tree_item *item, uint32_t indent) {
    struct place place = {indent, false, false};
    bool explicit = current(layout) == '?' && item->key_span.start != layout->at;
    if (explicit) {
        format_expect_token(layout, '?');
        layout_gap(layout, inner(&place), true);
        layout_lead(layout, inner(&place));
    }
    write_key(layout, item->key_span, &place);
    uint32_t next = layout_peek(layout);
    if (next >= layout->length || layout->text[next] != ':') {
        if (!is_absent(item->node) || !explicit) layout->lost = true; /* `? key` alone is a key of null */
        return;
    }
    layout_gap(layout, inner(&place), true);
    if (explicit)
        layout_line(layout, indent);
    else if (!layout->open)
        layout->lost = true;
    format_expect_token(layout, ':');
    yaml_write_value(layout, item->node, &place);
}

/*
 * Writes a block collection. The first item continues the open line if `inline_first`; every other item starts a line.
 */
static void write_block(struct layout *layout, const struct tree_node *node, uint32_t indent, bool inline_first) {
    bool list = node->kind == TN_ARRAY;
    push_level(layout, indent, list);
    for (uint32_t i = 0; i < node->count && !layout->lost; i++) {
        if (i > 0) layout_gap(layout, LAYOUT_BY_COLUMN, false);
        if (i == 0 && inline_first)
            layout_lead(layout, indent);
        else
            layout_line(layout, indent);
        if (list) {
            if (!at_indicator(layout, '-')) layout->lost = true;
            format_expect_token(layout, '-');
            yaml_write_value(layout, node->items[i].node, &(struct place){indent, false, true});
        } else {
            write_entry(layout, &node->items[i], indent);
        }
    }
    if (!layout->lost) layout_gap(layout, LAYOUT_BY_COLUMN, false);
    layout->level_count--;
}

/* Writes a value after `key:`, after `-`, or as the root. */
static void yaml_write_value(struct layout *layout, const struct tree_node *node, const struct place *place) {
    uint32_t next = layout_peek(layout);
    bool absent = is_absent(node);
    if (absent) { /* an anchor on an empty value, or its alias, must be written */
        bool anchor = next < node->span.start && layout->text[next] == '&';
        bool alias = node->span.start < layout->at && next < layout->length && layout->text[next] == '*';
        if (!anchor && !alias) return;
    }
    layout_gap(layout, inner(place), true);
    bool anchored = false;
    if (current(layout) == '&' &&
        !(node->kind == TN_OBJECT && node->style == TREE_BLOCK && node->span.start <= layout->at)) {
        layout_lead(layout, inner(place));
        anchored = write_anchor(layout);
        if (absent) return;
        layout_gap(layout, inner(place), true);
    }
    bool block = node->style == TREE_BLOCK;
    if (current(layout) == '*' && !(node->kind == TN_OBJECT && block && node->span.start == layout->at)) {
        layout_lead(layout, inner(place));
        yaml_write_name(layout);
    } else if (node->kind == TN_ARRAY || node->kind == TN_OBJECT) {
        if (block) {
            write_block(layout, node, inner(place), place->dash && layout->open && !anchored);
        } else {
            layout_lead(layout, inner(place));
            write_flow(layout, node, place->dash ? inner(place) : place->indent);
        }
    } else {
        bool marker = reads_as_marker(layout, "---") || reads_as_marker(layout, "...");
        layout_lead(layout, place->root && marker ? STEP : inner(place));
        if (block)
            write_block_scalar(layout, place);
        else
            yaml_write_scalar(layout, node->span, place->root ? STEP : inner(place));
    }
}

/* ---- The document ---- */

/* Writes comments, directives and --- before the root. */
static void write_beginning(struct layout *layout) {
    layout_gap(layout, 0, false);
    while (current(layout) == '%' && source_locate(layout->source, layout->at).byte == 0) {
        uint32_t end = line_end(layout, layout->at);
        const char *comment = memchr(layout->text + layout->at, '#', end - layout->at);
        if (comment) end = (uint32_t)(comment - layout->text);
        uint32_t to = trim_right(layout, layout->at, end, false);
        layout_line(layout, 0);
        layout_copy(layout, to);
        layout_gap(layout, 0, false);
    }
    if (at_marker(layout, "---")) {
        layout_line(layout, 0);
        layout_copy(layout, layout->at + 3);
    }
}

static void write_ending(struct layout *layout) {
    layout_gap(layout, LAYOUT_BY_COLUMN, false);
    if (at_marker(layout, "...")) {
        layout_line(layout, 0);
        layout_copy(layout, layout->at + 3);
        layout_gap(layout, 0, false);
    }
    if (layout->at < layout->length) layout->lost = true;
    layout->blank = false;
}

bool format_yaml(const struct tree *tree, struct buffer *out, struct buffer *comments) {
    struct layout layout;
    layout_init(&layout, tree_source(tree));
    write_beginning(&layout);
    if (layout.at < layout.length) {
        layout_gap(&layout, 0, false);
        yaml_write_value(&layout, tree_root(tree), &(struct place){0, true, false});
    }
    write_ending(&layout);
    layout_end(&layout);
    bool done = !layout.lost;
    if (done) {
        buffer_append(out, buffer_cstr(&layout.out), layout.out.length);
        buffer_append(comments, buffer_cstr(&layout.comments), layout.comments.length);
    }
    layout_finish(&layout);
    return done;
}
