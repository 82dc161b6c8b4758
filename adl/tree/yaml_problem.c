/*
 * yaml_problem.c - the table of libyaml's messages and ours.
 *
 * A row contains libyaml's text. A message without a row is reported unchanged, so that a newer libyaml only loses
 * clarity. The first row that matches is used.
 */
#include "adl/tree/yaml_problem.h"
#include <stdio.h>
#include <string.h>

enum place {
    AT_PROBLEM,
    AT_CONTEXT, /* the start of the thing that has no end */
    AT_END,     /* a problem at the end of the range */
    AT_TEXT,    /* a text without quotes can be the cause; else AT_PROBLEM */
};

struct row {
    const char *problem;
    const char *context; /* libyaml's context; NULL matches any */
    enum place place;
    const char *message, *suggestion; /* suggestion may be NULL */
    const char *begins;               /* note at the context's place; NULL for no note */
};

static const struct row rows[] = {
    {YAML_PROBLEM_NO_COLON, NULL, AT_PROBLEM,
     "found text at the start of a line that is not a key; expected `key: value`",
     "write `:` after the key, or indent the line if it continues the line before", NULL},
    {"mapping values are not allowed in this context", NULL, AT_PROBLEM,
     "found `:` where a key is not allowed; expected one `key: value` in a line",
     "put text that contains `: ` in quotes, and check that the line is indented like its neighbours", NULL},
    {"block sequence entries are not allowed in this context", NULL, AT_PROBLEM,
     "found `-` where a list cannot start; expected it at the start of a line",
     "put the list below its key, or write it as [a, b]", NULL},
    {"mapping keys are not allowed in this context", NULL, AT_PROBLEM, "found `?` where a key is not allowed",
     "put text that starts with `?` in quotes", NULL},
    {"could not find expected ':'", NULL, AT_CONTEXT, "found a key without `:`; expected `key: value`",
     "write `:` and a space after the key, or put text of several lines in quotes", NULL},
    {"did not find expected key", NULL, AT_PROBLEM,
     "found text that does not fit the indentation; expected the next key in the column of the previous one, or the "
     "end "
     "of the value",
     "align the keys of one mapping in the same column; text after a closing quote or bracket is not allowed",
     "the mapping starts here"},
    {"did not find expected '-' indicator", NULL, AT_PROBLEM,
     "found text in the column of a list's `-`; expected another `-`, or a line that is indented less",
     "indent the lines that belong to the item above", "the list starts here"},
    {YAML_PROBLEM_LOST_DASH, NULL, AT_PROBLEM, "found the start of an item without a `-`; expected one before it",
     "write `-` in the column of the other items, or align the line with the keys of the item above",
     "the list starts here"},
    {YAML_PROBLEM_DASH_COLUMN, NULL, AT_PROBLEM,
     "found a `-` that is not in the column of the list's other items; expected the same column for all",
     "indent the `-` like the one above, and the lines of its item with it", "the list starts here"},
    {"did not find expected ',' or '}'", NULL, AT_TEXT, "found the end of a value in braces, but neither `,` nor `}`",
     "close the brace, or put a comma between the values; put text that contains `{` or `}` in quotes",
     "the brace is opened here"},
    {"did not find expected ',' or ']'", NULL, AT_TEXT, "found the end of a value in brackets, but neither `,` nor `]`",
     "close the bracket, or put a comma between the items; put text that contains `[` or `]` in quotes",
     "the bracket is opened here"},
    {"did not find expected node content", "while parsing a flow node", AT_END,
     "found the end of the section after an opening bracket or brace; expected it to be closed",
     "close it; put text that contains brackets or braces in quotes", NULL},
    {"did not find expected node content", "while parsing a flow node", AT_PROBLEM,
     "found no value here; expected one before `,` or the closing bracket", "remove the extra comma", NULL},
    {"did not find expected node content", NULL, AT_PROBLEM, "found no value here; expected one", NULL, NULL},
    {"found unexpected end of stream", NULL, AT_CONTEXT, "found a quote that is not closed; expected another one",
     "close the quote; write a single quote inside single quotes twice", NULL},
    {"found unexpected document indicator", NULL, AT_CONTEXT,
     "found a quote that is not closed before the end of the document", "close the quote", NULL},
    {"found unknown escape character", NULL, AT_PROBLEM, "found a backslash before a character that is not an escape",
     "write \\\\ for a backslash, or use single quotes", NULL},
    {"did not find expected hexdecimal number", NULL, AT_PROBLEM,
     "found an incomplete escape; expected hexadecimal digits", "\\x takes 2 digits, \\u takes 4, \\U takes 8", NULL},
    {"found invalid Unicode character escape code", NULL, AT_PROBLEM,
     "found an escape that is not a character: surrogates (\\ud800 to \\udfff) are not allowed, and 10ffff is the last "
     "character",
     "write the character itself, or one \\U escape of 8 digits", NULL},
    {"found a tab character where an indentation space is expected", NULL, AT_PROBLEM,
     "found a tab in the indentation; expected spaces", "replace tabs by two spaces", NULL},
    {"found a tab character that violates indentation", NULL, AT_PROBLEM,
     "found a tab in the indentation; expected spaces", "replace tabs by two spaces", NULL},
    {"did not find expected alphabetic or numeric character", "while scanning an alias", AT_CONTEXT,
     "found `*` at the start of a value, which means an alias", "put the text in quotes", NULL},
    {"did not find expected alphabetic or numeric character", NULL, AT_CONTEXT,
     "found `&` at the start of a value, which means an anchor", "put the text in quotes", NULL},
    {"did not find expected whitespace or line break", "while scanning a tag", AT_CONTEXT,
     "found `!` at the start of a value, which means a tag", "put the text in quotes", NULL},
    {"found undefined tag handle", NULL, AT_PROBLEM, "found a tag; documents must not contain tags",
     "remove it, or put the text in quotes", NULL},
    {"did not find expected comment or line break", NULL, AT_PROBLEM,
     "found text after `|` or `>`; expected the text to start on the next line",
     "put text that starts with `|` or `>` in quotes", NULL},
    {"found an indentation indicator equal to 0", NULL, AT_PROBLEM, "found 0 after `|` or `>`; expected 1 to 9", NULL,
     NULL},
    {"found unexpected ':'", NULL, AT_PROBLEM, "found `:` in a text without quotes",
     "put a space after it if it ends a key, or put the text in quotes", NULL},
    {"did not find expected <document start>", NULL, AT_PROBLEM,
     "found text after the end of the document; expected nothing more", NULL, NULL},
    {"could not find expected directive name", NULL, AT_CONTEXT,
     "found `%` at the start of a line, which means a directive; expected `key: value`",
     "remove it, or put the text in quotes", NULL},
    {"found unknown directive name", NULL, AT_CONTEXT,
     "found `%` at the start of a line, which means a directive; expected `key: value`",
     "remove it, or put the text in quotes", NULL},
    {"found incompatible YAML document", NULL, AT_PROBLEM, "found a %YAML directive of another version; expected 1.2",
     "remove the directive", NULL},
};

static const struct row *find_row(const struct yaml_problem *problem, bool at_end) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].problem, problem->problem) != 0 || (rows[i].place == AT_END && !at_end)) continue;
        if (!rows[i].context || (problem->context && strcmp(rows[i].context, problem->context) == 0)) return &rows[i];
    }
    return NULL;
}

static bool yaml_problem_is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/* The span of one character; at the end of the range or of a line, the span of the last text before it. */
static struct span yaml_place_of(const struct source *source, struct span range, uint32_t at) {
    const char *text = source_text(source);
    if (at > range.end) at = range.end;
    bool moved = at == range.end;
    while (moved && at > range.start && yaml_problem_is_blank(text[at - 1])) at--;
    uint32_t end = at;
    if (end < range.end && text[end] != '\n' && text[end] != '\r') {
        do end++;
        while (((unsigned char)text[end] & 0xc0) == 0x80);
    }
    return (struct span){at, end};
}

/* libyaml has one message for `@`, a backquote and a tab. */
static struct diagnostic *report_start(struct diagnostics *found, struct source *source, struct span span) {
    const char *text = source_text(source);
    if (span.end > span.start && text[span.start] == '\t') {
        struct diagnostic *it =
            diagnostics_add(found, ADL_E001, source, span, "found a tab in the indentation; expected spaces");
        diagnostic_suggest(it, "replace tabs by two spaces");
        return it;
    }
    struct diagnostic *it =
        diagnostics_add(found, ADL_E001, source, span, "found `%.*s`, which cannot start a value without quotes",
                        (int)(span.end - span.start), text + span.start);
    diagnostic_suggest(it, "put the text in quotes");
    return it;
}

/* libyaml has no message for a closing bracket where none is open. */
static bool report_closing(struct diagnostics *found, struct source *source, struct span range,
                           const struct yaml_problem *problem) {
    char c = problem->at < range.end ? source_text(source)[problem->at] : '\0';
    bool stray = strcmp(problem->problem, "did not find expected <document start>") == 0 ||
                 strcmp(problem->problem, "did not find expected key") == 0 ||
                 strcmp(problem->problem, "did not find expected '-' indicator") == 0;
    if (!stray || (c != '}' && c != ']')) return false;
    struct diagnostic *it =
        diagnostics_add(found, ADL_E001, source, (struct span){problem->at, problem->at + 1},
                        "found `%c`, but no `%c` before it is open; expected both or neither", c, c == '}' ? '{' : '[');
    diagnostic_suggest(it, "remove it, or put the text in quotes");
    return true;
}

void yaml_problem_report(struct diagnostics *found, struct source *source, struct span range,
                         const struct yaml_problem *problem) {
    struct span at = yaml_place_of(source, range, problem->at);
    const struct row *row = find_row(problem, problem->at >= range.end);
    if (strcmp(problem->problem, "found character that cannot start any token") == 0) {
        if (!yaml_flow_report(found, source, range, problem->at)) report_start(found, source, at);
        return;
    }
    if (report_closing(found, source, range, problem)) return;
    if (strcmp(problem->problem, YAML_PROBLEM_DEPTH) == 0) {
        diagnostics_add(found, ADL_E011, source, at,
                        "lists and mappings are nested deeper than %u here; expected a flatter document",
                        problem->limit);
        return;
    }
    if (!row) {
        diagnostics_add(found, ADL_E001, source, at, "this is not YAML: %s", problem->problem);
        return;
    }
    if (row->place == AT_TEXT && yaml_flow_report(found, source, range, problem->at)) return;
    struct span context = yaml_place_of(source, range, problem->context_at);
    bool has_context = problem->context && problem->context_at >= range.start && problem->context_at < range.end;
    if (row->place == AT_CONTEXT && has_context) at = context;
    struct diagnostic *it = diagnostics_add(found, ADL_E001, source, at, "%s", row->message);
    if (row->suggestion) diagnostic_suggest(it, "%s", row->suggestion);
    if (row->begins && has_context) diagnostic_relate(it, source, context, "%s", row->begins);
}
