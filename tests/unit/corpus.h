/*
 * corpus.h - tests as text: calls a function for every case of a corpus file.
 *
 * A file is a list of cases. `=== name` starts a case, and `--- name` starts a section of it. The text of a section is
 * all lines up to the next such line, without trailing blank lines and without the last newline. The text between `===`
 * and the first `---` is the section "". Lines before the first case are a comment. To start a line of text with `===`
 * or `---`, write a backslash before it (`\---`); the backslash is removed.
 *
 *     === a mistyped key                        static void check(const struct corpus_case *test, void *user) {
 *     --- in                                        char *got = run(corpus_section(test, "in"));
 *     nmae: ada                                     corpus_expect(test, "out", got);
 *     --- out                                       free(got);
 *     did you mean `name`?                      }
 *                                               ... corpus_each("tests/corpus/text/keys.txt", check, NULL);
 *
 * A relative path is relative to the root of the source tree (TENON_SOURCE_DIR). A malformed file (without cases, or
 * with two cases or sections of the same name) fails the running cmocka test. The case and its texts are valid until
 * corpus_each returns. The environment variable CORPUS_EVERY=N selects every Nth case of each file, for a sanitizer
 * with which all of them take too long; the first one differs from file to file. Header-only.
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
    const char *name; /* "" for the text between `=== name` and the first section */
    const char *text; /* NUL-terminated */
    size_t length;
};

struct corpus_case {
    const char *path; /* absolute path of the file */
    size_t line;      /* line number of `=== name`, from 1 */
    const char *name;
    struct corpus_section sections[CORPUS_SECTIONS_MAX];
    size_t section_count;
};

/* Returns the text of a section, or NULL if the case does not have the section. */
CORPUS_UNUSED static const char *corpus_section(const struct corpus_case *test, const char *name) {
    for (size_t i = 0; i < test->section_count; i++)
        if (strcmp(test->sections[i].name, name) == 0) return test->sections[i].text;
    return NULL;
}

/* Returns the text of a section. Fails the test if the case does not have the section. */
CORPUS_UNUSED static const char *corpus_need(const struct corpus_case *test, const char *name) {
    const char *text = corpus_section(test, name);
    if (text == NULL) fail_msg("%s:%zu: `%s` has no section `%s`", test->path, test->line, test->name, name);
    return text;
}

/* Fails the test and prints both texts unless `got` is the text of the section. Trailing newlines of `got` are ignored;
 * NULL means "". */
CORPUS_UNUSED static void corpus_expect(const struct corpus_case *test, const char *name, const char *got) {
    const char *expected = corpus_need(test, name);
    if (got == NULL) got = "";
    size_t length = strlen(got);
    while (length > 0 && got[length - 1] == '\n') length--;
    if (strlen(expected) == length && memcmp(expected, got, length) == 0) return;
    /* fail_msg truncates long texts. */
    (void)fprintf(stderr, "%s:%zu: `%s`, section `%s`\nexpected:\n%s\nfound:\n%.*s\n\n", test->path, test->line,
                  test->name, name, expected, (int)length, got);
    fail_msg("%s:%zu: `%s`, section `%s` differs", test->path, test->line, test->name, name);
}

/* Returns the content of a file, NUL-terminated; the caller frees it. Fails the test if the file cannot be read. */
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

/* Writes the absolute path to `out`. A relative `path` is relative to the root of the source tree. */
CORPUS_UNUSED static void corpus_path(const char *path, char *out, size_t size) {
    int length =
        path[0] == '/' ? snprintf(out, size, "%s", path) : snprintf(out, size, "%s/%s", TENON_SOURCE_DIR, path);
    if (length < 0 || (size_t)length >= size) fail_msg("%s: the path is too long", path);
}

/* Trims the name after `===` or `---` in place. */
static inline char *corpus_name(char *line) {
    while (*line == ' ') line++;
    char *end = line + strlen(line);
    while (end > line && (end[-1] == ' ' || end[-1] == '\r')) *--end = '\0';
    return line;
}

/* Ends the last section at `end`. Removes trailing blank lines and the backslashes of escaped marks. */
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

static bool corpus_selects(const char *path, int number) {
    const char *every = getenv("CORPUS_EVERY");
    return every == NULL || (strlen(path) + (size_t)number) % strtoul(every, NULL, 10) == 0;
}

/* Calls fn for each case in order. Returns the number of cases. */
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
            if (test.name != NULL && corpus_selects(path, count)) fn(&test, user);
            test.name = corpus_name(line + 4);
            test.line = number;
            test.section_count = 0;
            for (int i = 0; i < count; i++)
                if (strcmp(names[i], test.name) == 0) fail_msg("%s:%zu: duplicate case `%s`", full, number, test.name);
            const char **more = (const char **)realloc(names, ((size_t)count + 1) * sizeof *names);
            if (more == NULL) abort();
            names = more;
            names[count++] = test.name;
        }
        const char *name = is_case ? "" : corpus_name(line + 4);
        if (corpus_section(&test, name) != NULL) fail_msg("%s:%zu: duplicate section `%s`", full, number, name);
        if (test.section_count == CORPUS_SECTIONS_MAX) fail_msg("%s:%zu: too many sections", full, number);
        test.sections[test.section_count++] = (struct corpus_section){.name = name, .text = ""};
        body = end != NULL ? end + 1 : line + strlen(line);
    }
    if (test.name == NULL) fail_msg("%s: the file has no cases (lines `=== name`)", full);
    if (body != NULL) corpus_close(&test, body, body + strlen(body));
    if (corpus_selects(path, count)) fn(&test, user);
    free(names);
    free(file);
    return count;
}

#endif
