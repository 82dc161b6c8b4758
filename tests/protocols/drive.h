/*
 * drive.h - programs that run a part of a plugin on lines of JSON: standard input has a value in each line, and so has
 * standard output.
 *
 *     drive_begin("ai_sdk_drive");
 *     while ((line = drive_next()) != NULL) drive_print(line);
 *     return drive_end();   // fails if memory is left
 */
#ifndef TENON_TESTS_DRIVE_H
#define TENON_TESTS_DRIVE_H

#include <string.h>

#include "tests/unit/fake_core.h"

static struct {
    const char *name;
    char *text;
    size_t room;
    tn_value value;
} drive;

/* Also in a release build. */
static inline void must(int condition, const char *what) {
    if (condition) return;
    (void)fprintf(stderr, "%s: %s\n", drive.name, what);
    exit(1);
}

static inline void drive_begin(const char *name) {
    drive.name = name;
    fake_core_open();
}

/* The value of the next line, which is valid until the one after it is read; NULL at the end. */
static inline tn_value drive_next(void) {
    ssize_t length = getline(&drive.text, &drive.room, stdin);
    tn_release(drive.value);
    drive.value = NULL;
    if (length <= 0) return NULL;
    drive.value = tn_from_json(drive.text, (uint64_t)length);
    must(drive.value != NULL, "a line is not JSON");
    return drive.value;
}

static inline void drive_print(tn_value value) {
    tn_value json = tn_to_json(value);
    must(json != NULL, "an event is not JSON");
    (void)puts(tn_chars(json, NULL));
    tn_release(json);
}

static inline int drive_end(void) {
    free(drive.text);
    must(blocks == 0, "memory is left");
    return 0;
}

#endif
