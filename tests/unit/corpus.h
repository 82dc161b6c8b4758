/*
 * corpus.h - tests as text: runs a function over every case of a corpus file.
 *
 * A file is a list of cases. `=== name` begins one, `--- name` begins one of its sections, and a section's text is
 * every line up to the next such line. What stands between `===` and the first `---` is the section "". Lines before
 * the first case are a comment. The text of a section ends with its last non-blank line, without that line's newline:
 * blank lines between cases are free. A `\` before `===` or `---` at the start of a line (`\---`) gives the line
 * itself, without the backslash: YAML's own `---` is written that way.
 *
 *     === a mistyped key                        static void check(const struct corpus_case *test, void *user) {
 *     --- in                                        char *got = run(corpus_section(test, "in"));
 *     nmae: ada                                     corpus_expect(test, "out", got);
 *     --- out                                       free(got);
 *     did you mean `name`?                      }
 *                                               ... corpus_each("tests/corpus/text/keys.txt", check, NULL);
 *
 * A path that is not absolute is taken from the root of the source tree (TENON_SOURCE_DIR). Mistakes of a file (no case
 * at all, two cases or sections of one name) fail the running cmocka test. Header-only, for test programs; everything
 * stays valid until corpus_each returns.
 */
#ifndef TENON_TESTS_CORPUS_H
#define TENON_TESTS_CORPUS_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#define CORPUS_SECTIONS_MAX 32
#define CORPUS_UNUSED       __attribute__((unused))

struct corpus_section {
    const char *name; /* "" for the text right below `=== name` */
    const char *text; /* NUL-terminated */
    size_t length;
};

struct corpus_case {
    const char *path; /* as it was opened */
    size_t line;      /* of `=== name`, from 1 */
    const char *name;
    struct corpus_section sections[CORPUS_SECTIONS_MAX];
    size_t section_count;
};

/* The text of a section; NULL where the case has none of that name. */
CORPUS_UNUSED static const char *corpus_section(const struct corpus_case *test, const char *name) {
    for (size_t i = 0; i < test->section_count; i++)
        if (strcmp(test->sections[i].name, name) == 0) return test->sections[i].text;
    return NULL;
}

/* The same, where a case without it is a mistake of the file: fails the test. */
CORPUS_UNUSED static const char *corpus_need(const struct corpus_case *test, const char *name) {
    const char *text = corpus_section(test, name);
    if (text == NULL) fail_msg("%s:%zu: `%s` has no section `%s`", test->path, test->line, test->name, name);
    return text;
}

/* Fails the test, showing both, unless `got` (trailing newlines aside; NULL is "") is the section's text. */
CORPUS_UNUSED static void corpus_expect(const struct corpus_case *test, const char *name, const char *got) {
    const char *expected = corpus_need(test, name);
    if (got == NULL) got = "";
    size_t length = strlen(got);
    while (length > 0 && got[length - 1] == '\n') length--;
    if (strlen(expected) == length && memcmp(expected, got, length) == 0) return;
    /* Not by fail_msg, which cuts what is long. */
    (void)fprintf(stderr, "%s:%zu: `%s`, section `%s`\nexpected:\n%s\nfound:\n%.*s\n\n", test->path, test->line,
                  test->name, name, expected, (int)length, got);
    fail_msg("%s:%zu: `%s`, section `%s` differs", test->path, test->line, test->name, name);
}

/* The whole of a file, with a NUL after it; free it. Fails the test where it cannot be read. */
CORPUS_UNUSED static char *corpus_load(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) fail_msg("%s: %s", path, strerror(errno));
    char *text = NULL;
    size_t used = 0, room = 0, got;
    do {
        if (room - used < 4096) {
            room = room * 2 + 8192;
            char *larger = (char *)realloc(text, room);
            if (larger == NULL) abort();
            text = larger;
        }
        got = fread(text + used, 1, room - used - 1, file);
        used += got;
    } while (got > 0);
    (void)fclose(file);
    text[used] = '\0';
    if (length != NULL) *length = used;
    return text;
}

/* `path` from the root of the source tree, unless it is absolute, into `out`. */
CORPUS_UNUSED static void corpus_path(const char *path, char *out, size_t size) {
    int length =
        path[0] == '/' ? snprintf(out, size, "%s", path) : snprintf(out, size, "%s/%s", TENON_SOURCE_DIR, path);
    if (length < 0 || (size_t)length >= size) fail_msg("%s: the path is too long", path);
}

/* The name after a mark: its blanks trimmed, in place. */
static inline char *corpus_name(char *line) {
    while (*line == ' ') line++;
    char *end = line + strlen(line);
    while (end > line && (end[-1] == ' ' || end[-1] == '\r')) *--end = '\0';
    return line;
}

/* Ends the section at `end`: without trailing blank lines, and with escaped marks undone. */
static inline void corpus_close(struct corpus_case *test, char *text, char *end) {
    while (end > text && (end[-1] == '\n' || end[-1] == '\r')) end--;
    *end = '\0';
    char *to = text;
    bool at_start = true;
    for (const char *from = text; *from != '\0'; from++) {
        if (at_start && *from == '\\' && (strncmp(from + 1, "===", 3) == 0 || strncmp(from + 1, "---", 3) == 0)) from++;
        at_start = *from == '\n';
        *to++ = *from;
    }
    *to = '\0';
    struct corpus_section *section = &test->sections[test->section_count - 1];
    section->text = text;
    section->length = (size_t)(to - text);
    if (section->name[0] == '\0' && section->length == 0) test->section_count--;
}

/* Calls fn for each case, in order; returns how many there were. */
CORPUS_UNUSED static int corpus_each(const char *path, void (*fn)(const struct corpus_case *, void *), void *user) {
    char full[4096];
    corpus_path(path, full, sizeof full);
    char *file = corpus_load(full, NULL), *body = NULL;
    const char **names = NULL;
    struct corpus_case test = {.path = full};
    int count = 0;
    size_t number = 0;
    for (char *line = file, *next; line != NULL; line = next) {
        char *end = strchr(line, '\n');
        next = end != NULL ? end + 1 : NULL;
        number++;
        bool is_case = strncmp(line, "=== ", 4) == 0, is_section = strncmp(line, "--- ", 4) == 0;
        if (!is_case && !(is_section && test.name != NULL)) continue;
        if (test.name != NULL) corpus_close(&test, body, line);
        if (end != NULL) *end = '\0';
        if (is_case) {
            if (test.name != NULL) fn(&test, user);
            test.name = corpus_name(line + 4);
            test.line = number;
            test.section_count = 0;
            for (int i = 0; i < count; i++)
                if (strcmp(names[i], test.name) == 0) fail_msg("%s:%zu: a second `%s`", full, number, test.name);
            const char **more = (const char **)realloc(names, ((size_t)count + 1) * sizeof *names);
            if (more == NULL) abort();
            names = more;
            names[count++] = test.name;
        }
        const char *name = is_case ? "" : corpus_name(line + 4);
        if (corpus_section(&test, name) != NULL) fail_msg("%s:%zu: a second section `%s`", full, number, name);
        if (test.section_count == CORPUS_SECTIONS_MAX) fail_msg("%s:%zu: too many sections", full, number);
        test.sections[test.section_count++] = (struct corpus_section){.name = name, .text = ""};
        body = end != NULL ? end + 1 : line + strlen(line);
    }
    if (test.name == NULL) fail_msg("%s: there is no case in it (lines `=== name`)", full);
    corpus_close(&test, body, body + strlen(body));
    fn(&test, user);
    free(names);
    free(file);
    return count;
}

#endif
