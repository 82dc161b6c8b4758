/* state_path.c - where the program keeps files for its user. */
#include "host/program/state_path.h"
#include "adl/value/buffer.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void make_folders(char *path) {
    for (char *at = path + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
}

char *state_path(const char *name) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    struct buffer path;
    buffer_init(&path, SIZE_MAX);
    if (state && *state == '/')
        buffer_format(&path, "%s/tenon/%s", state, name);
    else if (home && *home == '/')
        buffer_format(&path, "%s/.local/state/tenon/%s", home, name);
    if (!path.length) return buffer_finish(&path), NULL;
    char *whole = buffer_detach(&path, NULL);
    make_folders(whole);
    return whole;
}
