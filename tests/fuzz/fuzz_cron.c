/*
 * Cron expressions: one that is read has due times that increase, whichever second the search begins at. Lines: an
 * expression, and a zone.
 */
#include "host/work/cron.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The days in which Europe/Berlin changes its clock, and New Year's Eve of a leap year; in seconds since 1970. */
static const int64_t starts[] = {1774731600, 1792875600, 1861833600};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data, *line = size ? memchr(text, '\n', size) : NULL;
    size_t length = line ? (size_t)(line - text) : size;
    char zone[64] = "UTC";
    struct cron cron;
    struct error error = ERROR_INIT;
    if (line && size - length - 1 < sizeof zone) {
        memcpy(zone, line + 1, size - length - 1);
        zone[size - length - 1] = '\0';
    }
    if (cron_parse(text, length, &cron, &error) != TN_OK) {
        if (!error.message || !*error.message || strcmp(error.code, "INVALID_CONFIG") != 0) abort();
        error_finish(&error);
        return 0;
    }
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        int64_t at = starts[i], due, again;
        for (int times = 0; times < 20 && cron_next(&cron, zone, at, &due); times++) {
            if (due <= at || !cron_next(&cron, zone, at + (due - at) / 2, &again)) abort();
            if (again != due) abort();
            at = due;
        }
    }
    return 0;
}
