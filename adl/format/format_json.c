/*
 * format_json.c - JSON with two-space indentation and one item per line; empty collections stay on one line.
 *
 * The text is known to be JSON, so only its tokens are examined: strings and numbers are copied unchanged.
 */
#include "adl/format/format_internal.h"
#include "adl/source/source.h"

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static void new_line(struct buffer *out, uint32_t depth) {
    buffer_char(out, '\n');
    for (uint32_t i = 0; i < depth; i++) buffer_text(out, "  ");
}

static size_t string_end(const char *text, size_t at) {
    for (at++; text[at] && text[at] != '"'; at++)
        if (text[at] == '\\' && text[at + 1]) at++;
    return text[at] ? at + 1 : at;
}

static size_t word_end(const char *text, size_t at) {
    while (text[at] && !is_space(text[at]) && text[at] != ',' && text[at] != ']' && text[at] != '}') at++;
    return at;
}

bool format_json(const struct tree *tree, struct buffer *out) {
    const struct source *source = tree_source(tree);
    const char *text = source_text(source);
    size_t at = source_line_span(source, 0).start;
    uint32_t depth = 0;
    while (text[at]) {
        char c = text[at];
        size_t end = at + 1;
        if (c == '{' || c == '[') {
            while (is_space(text[end])) end++;
            bool empty = text[end] == '}' || text[end] == ']';
            buffer_char(out, c);
            if (empty)
                buffer_char(out, text[end++]);
            else
                new_line(out, ++depth);
        } else if (c == '}' || c == ']') {
            if (depth == 0) return false;
            new_line(out, --depth);
            buffer_char(out, c);
        } else if (c == ',') {
            buffer_char(out, c);
            new_line(out, depth);
        } else if (c == ':') {
            buffer_text(out, ": ");
        } else if (!is_space(c)) {
            end = c == '"' ? string_end(text, at) : word_end(text, at);
            if (end == at) return false;
            buffer_append(out, text + at, end - at);
        }
        at = end;
    }
    buffer_char(out, '\n');
    return depth == 0;
}
