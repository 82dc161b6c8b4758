/*
 * diagnostic.h - the problems of a document: collected while it is read and checked, sorted, counted, printed.
 *
 * Every diagnostic has a stable code (codes.def, one row each), a range in a source text, and a message in the form
 * found, expected, where. It may also have a suggestion (what to do), related ranges, and a fix that an editor can
 * apply. Reporting never fails and is bounded: past DIAGNOSTICS_MAX, diagnostics are counted but not kept, and one
 * ADL-H001 at the end reports that.
 *
 *     struct diagnostics *found = diagnostics_new();
 *     struct diagnostic *it = diagnostics_add(found, ADL_E008, source, key_span, "duplicate key `%s`", key);
 *     diagnostic_relate(it, source, first_span, "the first one is here");
 *     diagnostics_sort(found);
 *     for (size_t i = 0; i < diagnostics_count(found); i++) print(diagnostics_at(found, i));
 *     diagnostics_free(found);
 *
 * A diagnostic in a source with SOURCE_HIDDEN has the title of its code as its message, and no details.
 *
 * All arguments are copied (sources are referenced). Use a collection from one thread at a time.
 */
#ifndef TENON_ADL_DIAGNOSTIC_H
#define TENON_ADL_DIAGNOSTIC_H

#include "adl/source/source.h"
#include "adl/value/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIAGNOSTICS_MAX         1000u /* diagnostics kept in one collection */
#define DIAGNOSTICS_RELATED_MAX 16u   /* related ranges of one diagnostic; further ones are dropped */
#define DIAGNOSTICS_MESSAGE_MAX 4096u /* bytes of a message, suggestion or title; longer ones are cut, with "…" */

enum diagnostic_severity { DIAGNOSTIC_ERROR, DIAGNOSTIC_WARNING, DIAGNOSTIC_HINT };

/* The variants of the first seed's AdlError. */
enum diagnostic_kind {
    DIAGNOSTIC_PARSE,
    DIAGNOSTIC_YAML,
    DIAGNOSTIC_VALIDATION,
    DIAGNOSTIC_UNKNOWN_NODE_TYPE,
    DIAGNOSTIC_MISSING_CONFIG,
    DIAGNOSTIC_EXPRESSION_ERROR,
};

/* ADL_E001 … : one for each row of codes.def, in table order. */
enum diagnostic_code {
#define DIAGNOSTIC_CODE(name, severity, kind, title, explanation) ADL_##name,
#include "adl/diagnostic/codes.def"
#undef DIAGNOSTIC_CODE
    DIAGNOSTIC_CODES /* the number of codes */
};

/* A row of codes.def. */
struct diagnostic_info {
    const char *code; /* "ADL-E001" */
    enum diagnostic_severity severity;
    enum diagnostic_kind kind;
    const char *title;       /* a few words, lower case: "duplicate key" */
    const char *explanation; /* Markdown: what it means, what to do, a small example */
};
const struct diagnostic_info *diagnostic_info(enum diagnostic_code code);
const struct diagnostic_info *diagnostic_info_find(const char *code);    /* "ADL-E001" or "E001"; NULL if unknown */
const char *diagnostic_severity_name(enum diagnostic_severity severity); /* "error", "warning", "hint" */
const char *diagnostic_kind_name(enum diagnostic_kind kind);             /* "Parse", "UnknownNodeType", … */

struct diagnostic_related {
    struct source *source;
    struct span span;
    char *message;
};

/* The fix replaces the bytes of `span` in the diagnostic's own source; an empty span inserts. */
struct diagnostic_fix {
    struct span span;
    char *replacement;
    char *title; /* the text that an editor shows */
};

/* The fields may be read; change them only with the functions below. The diagnostic owns everything in it. */
struct diagnostic {
    enum diagnostic_code code;
    enum diagnostic_severity severity;
    struct source *source; /* NULL if the problem is not in a text */
    struct span span;
    char *message;
    char *suggestion; /* NULL, or a sentence without a full stop: "did you mean `researcher`?" */
    struct diagnostic_related *related;
    size_t related_count;
    struct diagnostic_fix *fix; /* NULL if no fix is certain */
};

struct diagnostics;

struct diagnostics *diagnostics_new(void);
void diagnostics_free(struct diagnostics *found); /* NULL is allowed */

/*
 * Adds a diagnostic. `source` may be NULL. The result is never NULL and is valid until the next diagnostics_sort or
 * diagnostics_free, so that the functions below can add details. Past the limit it is a spare, which the next call
 * reuses.
 */
struct diagnostic *diagnostics_add(struct diagnostics *found, enum diagnostic_code code, struct source *source,
                                   struct span span, const char *format, ...) __attribute__((format(printf, 5, 6)))
__attribute__((returns_nonnull));
/* Sets or replaces the suggestion. */
void diagnostic_suggest(struct diagnostic *diagnostic, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Suggests a name, and adds the fix that writes `name` over `span`. Does nothing if `name` is NULL or empty. */
void diagnostic_suggest_name(struct diagnostic *diagnostic, struct span span, const char *name, size_t length);
void diagnostic_relate(struct diagnostic *diagnostic, struct source *source, struct span span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Sets or replaces the fix. */
void diagnostic_set_fix(struct diagnostic *diagnostic, struct span span, const char *replacement, size_t length,
                        const char *title, ...) __attribute__((format(printf, 5, 6)));

/* Sorts by source (in the order of their first report) and position, and removes exact duplicates. */
void diagnostics_sort(struct diagnostics *found);
/* Removes those for which `drop` returns true. Pointers to the others stay valid. */
void diagnostics_remove(struct diagnostics *found, bool (*drop)(void *user, const struct diagnostic *), void *user);
size_t diagnostics_count(const struct diagnostics *found);
const struct diagnostic *diagnostics_at(const struct diagnostics *found, size_t index);
size_t diagnostics_errors(const struct diagnostics *found);   /* includes those that were not kept */
size_t diagnostics_warnings(const struct diagnostics *found); /* includes those that were not kept */

#endif
