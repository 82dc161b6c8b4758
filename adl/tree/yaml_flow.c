/*
 * yaml_flow.c - texts without quotes inside braces or brackets.
 *
 * There `[`, `]`, `{`, `}` and `,` end a text, and `: ` makes it a key. libyaml then reports only that a comma or the
 * closing bracket is missing. This finds the text that was meant on the line of the problem, and shows it in quotes.
 */
#include "adl/tree/yaml_problem.h"
#include <string.h>

#define FLOW_SHOWN_MAX 80u /* bytes of a text that a suggestion repeats */

struct flow_line {
    const char *text;
    uint32_t start, end; /* of the line */
};

static struct flow_line flow_line_at(const struct source *source, struct span range, uint32_t at) {
    struct flow_line line = {source_text(source), at, at};
    while (line.start > range.start && line.text[line.start - 1] != '\n') line.start--;
    while (line.end < range.end && line.text[line.end] != '\n' && line.text[line.end] != '\r') line.end++;
    return line;
}

static char closer_of(char opener) { return opener == '[' ? ']' : opener == '{' ? '}' : '\0'; }

static uint32_t flow_skip_back(const struct flow_line *line, uint32_t at) {
    while (at > line->start && line->text[at - 1] == ' ') at--;
    return at;
}

/* The position of the bracket or quote that the one at `at` closes, or `at` if it is not on the line. */
static uint32_t flow_opener(const struct flow_line *line, uint32_t at) {
    uint32_t depth = 0;
    if (line->text[at] == '"' || line->text[at] == '\'') {
        const char *quote =
            at > line->start ? memrchr(line->text + line->start, line->text[at], at - line->start) : NULL;
        return quote ? (uint32_t)(quote - line->text) : at;
    }
    for (uint32_t i = at + 1; i-- > line->start;) {
        char c = line->text[i];
        depth += c == ']' || c == '}';
        if ((c == '[' || c == '{') && --depth == 0) return i;
    }
    return at;
}

/* The start of the part without quotes that contains or precedes the position: what follows a comma or a colon. */
static uint32_t flow_part_start(const struct flow_line *line, uint32_t at) {
    uint32_t start = at;
    while (start > line->start && !strchr("{[,", line->text[start - 1]) &&
           !(line->text[start - 1] == ' ' && start - 1 > line->start && line->text[start - 2] == ':'))
        start--;
    while (start < at && line->text[start] == ' ') start++;
    return start;
}

/* The start of the text without quotes: a comma inside `f(a, b)` does not end what was meant. */
static uint32_t flow_text_start(const struct flow_line *line, uint32_t at) {
    uint32_t start = flow_part_start(line, at);
    for (;;) {
        uint32_t comma = flow_skip_back(line, start);
        if (comma == line->start || line->text[comma - 1] != ',') return start;
        uint32_t before = flow_part_start(line, comma - 1), open = 0;
        for (uint32_t i = before; i < comma; i++) {
            open += line->text[i] == '(';
            open -= open && line->text[i] == ')';
        }
        if (!open) return start;
        start = before;
    }
}

/* The end of the value: the next comma or closing bracket that nothing inside the value has opened. */
static uint32_t flow_text_end(const struct flow_line *line, uint32_t at) {
    uint32_t depth = 0;
    for (; at < line->end; at++) {
        char c = line->text[at];
        if (c == '"' || c == '\'') {
            const char *quote = memchr(line->text + at + 1, c, line->end - at - 1);
            if (quote) at = (uint32_t)(quote - line->text);
        } else if (closer_of(c) || c == '(') {
            depth++;
        } else if (c == ')') {
            depth -= depth > 0;
        } else if (depth == 0 && strchr(",]}", c)) {
            break;
        } else if (c == ']' || c == '}') {
            depth--;
        }
    }
    return flow_skip_back(line, at);
}

/* Returns the quote in which the text can be written as it is, or 0. */
static char quote_for(const char *text, size_t length) {
    if (memchr(text, '\\', length) || length > FLOW_SHOWN_MAX) return '\0';
    return !memchr(text, '"', length) ? '"' : !memchr(text, '\'', length) ? '\'' : '\0';
}

/* True for `${{ x }}` and `${x}`, and for what is left of them where a text begins with `{`. */
static bool is_placeholder(const char *text, size_t length) {
    return length > 2 && text[0] == '$' && text[1] == '{' && text[length - 1] == '}';
}

static void suggest_flow_quotes(struct diagnostic *it, const char *text, size_t length) {
    char quote = quote_for(text, length);
    if (is_placeholder(text, length))
        diagnostic_suggest(it,
                           "write an expression without braces, as in `state.name`, and a template in quotes, as in "
                           "\"Hello, {name}\"");
    else if (quote)
        diagnostic_suggest(it, "put the whole text in quotes: %c%.*s%c", quote, (int)length, text, quote);
    else
        diagnostic_suggest(it, "put the whole text in quotes");
}

/* Where `state['n'] > 3` and `f(a, 'x')` have the bracket or the comma that ends a text. */
static uint32_t flow_sign_inside(const struct flow_line *line, uint32_t start, uint32_t opener, uint32_t at) {
    if (line->text[opener] == '[' || line->text[opener] == '{') return opener;
    uint32_t before = flow_skip_back(line, opener);
    return before > start && line->text[before - 1] == ',' ? before - 1 : at;
}

uint32_t yaml_flow_start(struct source *source, struct span range, uint32_t at) {
    if (at >= range.end) return at;
    struct flow_line line = flow_line_at(source, range, at);
    uint32_t before = flow_skip_back(&line, at);
    bool after_bracket = before > line.start && strchr("]}\"'", line.text[before - 1]);
    return flow_text_start(&line, after_bracket ? flow_opener(&line, before - 1) : at);
}

bool yaml_flow_report(struct diagnostics *found, struct source *source, struct span range, uint32_t at) {
    if (at >= range.end) return false;
    struct flow_line line = flow_line_at(source, range, at);
    if (at >= line.end) return false;
    char here = line.text[at];
    uint32_t before = flow_skip_back(&line, at), start = flow_text_start(&line, at);
    char last = before > line.start ? line.text[before - 1] : '\0';
    bool after_bracket = last == ']' || last == '}' || last == '"' || last == '\'';
    if (after_bracket) {
        uint32_t opener = flow_opener(&line, before - 1);
        start = flow_text_start(&line, opener);
        if (start < opener && !strchr(",]}:[{", here)) at = flow_sign_inside(&line, start, opener, at);
        here = line.text[at];
        after_bracket = start == opener;
    }
    bool sign = here == '[' || here == '{' || here == ':' || here == ',';
    if (strchr("]}", here) || start >= at || (!sign && !after_bracket)) return false;
    uint32_t end = flow_text_end(&line, start < at ? start : at);
    if (end <= at) return false;
    struct span span = {at, at + 1};
    struct diagnostic *it;
    if (after_bracket)
        it =
            diagnostics_add(found, ADL_E001, source, (struct span){at, end},
                            "found text after `%c`; a text that starts with `%c` needs quotes", last, line.text[start]);
    else
        it = diagnostics_add(found, ADL_E001, source, span,
                             "found `%c` in a text without quotes; inside braces and brackets it needs them", here);
    suggest_flow_quotes(it, line.text + start, end - start);
    return true;
}
