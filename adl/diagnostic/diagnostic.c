/*
 * diagnostic.c - the collection of diagnostics, and the table of their codes.
 *
 * Each diagnostic is a separate block, so that the pointer from diagnostics_add stays valid while others are added.
 * Past the limit, diagnostics_add returns the same spare diagnostic again and again: callers never have to check for
 * room. The counts of errors and warnings include diagnostics that were not kept, so that a full collection never looks
 * like success.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct diagnostic_info infos[] = {
#define ERROR   DIAGNOSTIC_ERROR
#define WARNING DIAGNOSTIC_WARNING
#define HINT    DIAGNOSTIC_HINT
#define DIAGNOSTIC_CODE(name, severity, kind, title, explanation)                                                      \
    {"ADL-" #name, severity, DIAGNOSTIC_##kind, title, explanation},
#include "adl/diagnostic/codes.def"
#undef DIAGNOSTIC_CODE
};

static const char *const severity_names[] = {"error", "warning", "hint"};
static const char *const kind_names[] = {"Parse",           "Yaml",          "Validation",
                                         "UnknownNodeType", "MissingConfig", "ExpressionError"};

/* `diagnostic` is the first member, because callers hold a pointer to it. */
struct entry {
    struct diagnostic diagnostic;
    size_t source_order, sequence;
};

struct diagnostics {
    struct entry **entries;
    size_t count, capacity, added;
    size_t errors, warnings;
    struct source **sources; /* references, in the order of their first report */
    size_t source_count;
    struct entry *spare; /* NULL until the limit is passed */
    bool full;           /* H001 has been added */
};

const struct diagnostic_info *diagnostic_info(enum diagnostic_code code) {
    assert((size_t)code < DIAGNOSTIC_CODES);
    return &infos[code];
}

const struct diagnostic_info *diagnostic_info_find(const char *code) {
    if (strncmp(code, "ADL-", 4) == 0) code += 4;
    for (size_t i = 0; i < DIAGNOSTIC_CODES; i++)
        if (strcmp(infos[i].code + 4, code) == 0) return &infos[i];
    return NULL;
}

const char *diagnostic_severity_name(enum diagnostic_severity severity) { return severity_names[severity]; }
const char *diagnostic_kind_name(enum diagnostic_kind kind) { return kind_names[kind]; }

/* ---- One diagnostic ---- */

/*
 * Formats at most DIAGNOSTICS_MESSAGE_MAX bytes and cuts between characters. The caller frees the result with mem_free.
 */
static char *format_text(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
static char *format_text(const char *format, va_list args) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    buffer_vformat(&text, format, args);
    size_t length = text.length;
    char *result = buffer_detach(&text, NULL);
    if (!result) return mem_text("");
    if (length > DIAGNOSTICS_MESSAGE_MAX) {
        size_t cut = DIAGNOSTICS_MESSAGE_MAX - strlen("…");
        while (cut > 0 && ((unsigned char)result[cut] & 0xc0) == 0x80) cut--;
        memcpy(result + cut, "…", sizeof "…");
    }
    return result;
}

static void drop_fix(struct diagnostic *diagnostic) {
    if (!diagnostic->fix) return;
    mem_free(diagnostic->fix->replacement);
    mem_free(diagnostic->fix->title);
    mem_free(diagnostic->fix);
    diagnostic->fix = NULL;
}

static void entry_clear(struct entry *entry) {
    struct diagnostic *diagnostic = &entry->diagnostic;
    source_unref(diagnostic->source);
    mem_free(diagnostic->message);
    mem_free(diagnostic->suggestion);
    for (size_t i = 0; i < diagnostic->related_count; i++) {
        source_unref(diagnostic->related[i].source);
        mem_free(diagnostic->related[i].message);
    }
    mem_free(diagnostic->related);
    drop_fix(diagnostic);
    *entry = (struct entry){0};
}

static void entry_free(struct entry *entry) {
    if (!entry) return;
    entry_clear(entry);
    mem_free(entry);
}

/* A message about a hidden source could contain a part of its text. */
static bool source_is_hidden(const struct source *source) { return source && source_view(source) == SOURCE_HIDDEN; }

void diagnostic_suggest(struct diagnostic *diagnostic, const char *format, ...) {
    va_list args;
    if (source_is_hidden(diagnostic->source)) return;
    va_start(args, format);
    mem_free(diagnostic->suggestion);
    diagnostic->suggestion = format_text(format, args);
    va_end(args);
}

void diagnostic_suggest_name(struct diagnostic *diagnostic, struct span span, const char *name, size_t length) {
    if (!name || length == 0 || source_is_hidden(diagnostic->source)) return;
    diagnostic_suggest(diagnostic, "did you mean `%.*s`?", (int)length, name);
    diagnostic_set_fix(diagnostic, span, name, length, "replace with `%.*s`", (int)length, name);
}

void diagnostic_relate(struct diagnostic *diagnostic, struct source *source, struct span span, const char *format,
                       ...) {
    if (diagnostic->related_count == DIAGNOSTICS_RELATED_MAX) return;
    if (source_is_hidden(source) || source_is_hidden(diagnostic->source)) return;
    MEM_EXTEND(diagnostic->related, diagnostic->related_count);
    va_list args;
    va_start(args, format);
    diagnostic->related[diagnostic->related_count++] =
        (struct diagnostic_related){source_ref(source), span, format_text(format, args)};
    va_end(args);
}

void diagnostic_set_fix(struct diagnostic *diagnostic, struct span span, const char *replacement, size_t length,
                        const char *title, ...) {
    drop_fix(diagnostic);
    if (source_is_hidden(diagnostic->source)) return;
    struct diagnostic_fix *fix = mem_alloc(sizeof *fix);
    va_list args;
    va_start(args, title);
    *fix = (struct diagnostic_fix){span, mem_text_n(replacement, length), format_text(title, args)};
    va_end(args);
    diagnostic->fix = fix;
}

/* ---- The collection ---- */

struct diagnostics *diagnostics_new(void) {
    return mem_zalloc(sizeof(struct diagnostics));
}

void diagnostics_free(struct diagnostics *found) {
    if (!found) return;
    for (size_t i = 0; i < found->count; i++) entry_free(found->entries[i]);
    for (size_t i = 0; i < found->source_count; i++) source_unref(found->sources[i]);
    entry_free(found->spare);
    mem_free(found->entries);
    mem_free(found->sources);
    mem_free(found);
}

/* A document can be read twice: to be checked, and when a graph that contains it is built. */
static bool is_same_source(const struct source *a, const struct source *b) {
    if (a == b) return true;
    size_t length = source_length(a);
    return length == source_length(b) && strcmp(source_name(a), source_name(b)) == 0 &&
           memcmp(source_text(a), source_text(b), length) == 0;
}

/* The sort order of a source; diagnostics without a source come first. */
static size_t source_assign_order(struct diagnostics *found, struct source *source) {
    if (!source) return 0;
    for (size_t i = found->source_count; i-- > 0;)
        if (is_same_source(found->sources[i], source)) return i + 1;
    found->sources = mem_array(found->sources, found->source_count + 1, sizeof(struct source *));
    found->sources[found->source_count++] = source_ref(source);
    return found->source_count;
}

static struct entry *keep_entry(struct diagnostics *found) {
    MEM_GROW(found->entries, found->count, found->capacity);
    struct entry *entry = mem_zalloc(sizeof *entry);
    entry->sequence = found->added++;
    found->entries[found->count++] = entry;
    return entry;
}

/* Adds the entry that reports that further diagnostics are not shown; it sorts last. */
static void add_full(struct diagnostics *found) {
    found->full = true;
    struct entry *entry = keep_entry(found);
    entry->source_order = SIZE_MAX;
    entry->diagnostic.code = ADL_H001;
    entry->diagnostic.severity = diagnostic_info(ADL_H001)->severity;
    char text[128];
    snprintf(text, sizeof text, "found more than %u problems; the others are counted but not shown", DIAGNOSTICS_MAX);
    entry->diagnostic.message = mem_text(text);
}

static struct entry *new_entry(struct diagnostics *found, struct source *source) {
    if (found->count < DIAGNOSTICS_MAX && !found->full) {
        struct entry *entry = keep_entry(found);
        entry->source_order = source_assign_order(found, source);
        return entry;
    }
    if (!found->full) add_full(found);
    if (!found->spare) found->spare = mem_zalloc(sizeof *found->spare);
    entry_clear(found->spare);
    return found->spare;
}

static void count_severity(struct diagnostics *found, enum diagnostic_severity severity, size_t change) {
    if (severity == DIAGNOSTIC_ERROR) found->errors += change;
    if (severity == DIAGNOSTIC_WARNING) found->warnings += change;
}

struct diagnostic *diagnostics_add(struct diagnostics *found, enum diagnostic_code code, struct source *source,
                                   struct span span, const char *format, ...) {
    struct entry *entry = new_entry(found, source);
    struct diagnostic *diagnostic = &entry->diagnostic;
    diagnostic->code = code;
    diagnostic->severity = diagnostic_info(code)->severity;
    diagnostic->source = source_ref(source);
    diagnostic->span = span;
    va_list args;
    va_start(args, format);
    diagnostic->message = source_is_hidden(source) ? mem_text(diagnostic_info(code)->title) : format_text(format, args);
    va_end(args);
    count_severity(found, diagnostic->severity, 1);
    return diagnostic;
}

#define COMPARE(a, b)                                                                                                  \
    if ((a) != (b)) return (a) < (b) ? -1 : 1

/* Returns 0 only for exact duplicates: the same content at the same place. */
static int compare_content(const struct entry *a, const struct entry *b) {
    COMPARE(a->source_order, b->source_order);
    COMPARE(a->diagnostic.span.start, b->diagnostic.span.start);
    COMPARE(a->diagnostic.span.end, b->diagnostic.span.end);
    COMPARE(a->diagnostic.severity, b->diagnostic.severity);
    COMPARE(a->diagnostic.code, b->diagnostic.code);
    return strcmp(a->diagnostic.message, b->diagnostic.message);
}

static int compare_entries(const void *left, const void *right) {
    const struct entry *a = *(const struct entry *const *)left, *b = *(const struct entry *const *)right;
    int order = compare_content(a, b);
    if (order != 0) return order;
    COMPARE(a->sequence, b->sequence); /* the first of several duplicates is kept */
    return 0;
}

void diagnostics_sort(struct diagnostics *found) {
    if (found->count < 2) return;
    qsort(found->entries, found->count, sizeof(struct entry *), compare_entries);
    size_t kept = 1;
    for (size_t i = 1; i < found->count; i++) {
        if (compare_content(found->entries[kept - 1], found->entries[i]) != 0) {
            found->entries[kept++] = found->entries[i];
            continue;
        }
        count_severity(found, found->entries[i]->diagnostic.severity, (size_t)-1);
        entry_free(found->entries[i]);
    }
    found->count = kept;
}

void diagnostics_remove(struct diagnostics *found, bool (*drop)(void *user, const struct diagnostic *), void *user) {
    size_t kept = 0;
    for (size_t i = 0; i < found->count; i++) {
        struct entry *entry = found->entries[i];
        if (drop(user, &entry->diagnostic)) {
            count_severity(found, entry->diagnostic.severity, (size_t)-1);
            entry_free(entry);
        } else {
            found->entries[kept++] = entry;
        }
    }
    found->count = kept;
}

size_t diagnostics_count(const struct diagnostics *found) { return found->count; }
size_t diagnostics_errors(const struct diagnostics *found) { return found->errors; }
size_t diagnostics_warnings(const struct diagnostics *found) { return found->warnings; }

const struct diagnostic *diagnostics_at(const struct diagnostics *found, size_t index) {
    assert(index < found->count);
    return &found->entries[index]->diagnostic;
}
