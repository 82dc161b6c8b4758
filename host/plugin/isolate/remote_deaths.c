/*
 * remote_deaths.c - reads and writes the record of a plugin's deaths, a small JSON file.
 *
 * Hosts that write at the same time exclude each other with flock. One that does not get the lock at once leaves its
 * death out, because a host must not wait for another one.
 */
#include "host/plugin/isolate/remote_deaths.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/random.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

char *deaths_folder(void) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    struct buffer path;
    buffer_init(&path, PATH_MAX);
    if (state && *state == '/')
        buffer_format(&path, "%s/tenon/deaths", state);
    else if (home && *home == '/')
        buffer_format(&path, "%s/.local/state/tenon/deaths", home);
    if (path.length && !path.overflow) return buffer_detach(&path, NULL);
    buffer_finish(&path);
    return NULL;
}

/* False if the path is too long. A manifest's id has no slash; an operand of a command may have one. */
static bool record_path(const char *folder, const char *plugin, char path[PATH_MAX]) {
    if (!folder || !*plugin || *plugin == '.' || strchr(plugin, '/')) return false;
    return snprintf(path, PATH_MAX, "%s/%s.json", folder, plugin) < PATH_MAX;
}

static bool folder_make(const char *folder) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s", folder) >= (int)sizeof path) return false;
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(path, 0700) != 0 && errno != EEXIST) return false;
        *slash = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* The object in an open file, a new reference; NULL if there is none. */
static tn_value record_read(int file) {
    struct stat found;
    tn_value record = NULL;
    if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode) || found.st_size > DEATHS_RECORD_MAX) return NULL;
    char *text = mem_alloc((size_t)found.st_size + 1);
    ssize_t got = pread(file, text, (size_t)found.st_size, 0);
    if (got > 0 && json_read(text, (size_t)got, NULL, &record, NULL) == TN_OK && !value_is(record, TN_OBJECT)) {
        value_unref(record);
        record = NULL;
    }
    mem_free(text);
    return record;
}

/* A number that is not negative; -1 if the record has none. */
static int64_t record_number(tn_value record, const char *key) {
    tn_value number = value_get(record, key);
    return value_is(number, TN_INT) && value_to_int(number) >= 0 ? value_to_int(number) : -1;
}

static bool record_is_valid(tn_value record) {
    return record_number(record, "deaths") > 0 && record_number(record, "in_a_row") >= 0 &&
           record_number(record, "last_ms") >= 0 && record_number(record, "restart_ms") >= 0 &&
           record_number(record, "host") >= 0 && value_is(value_get(record, "message"), TN_STRING);
}

static int64_t record_new_id(void) {
    uint64_t bits = 0;
    random_fill(&bits, sizeof bits);
    return (int64_t)(bits >> 1) | 1;
}

static bool record_write(int file, tn_value record) {
    char *text = json_text(record, JSON_COMPACT);
    size_t length = strlen(text);
    bool written = ftruncate(file, 0) == 0 && pwrite(file, text, length, 0) == (ssize_t)length;
    mem_free(text);
    return written;
}

static tn_value record_with(tn_value before, int64_t id, const struct death *death) {
    tn_value record = value_object_reserve(9);
    size_t length = strlen(death->message);
    int64_t deaths = record_is_valid(before) ? record_number(before, "deaths") : 0;
    record = value_set_take(record, "plugin", value_text(death->plugin));
    record = value_set_take(record, "file", value_string_lossy(death->file, strlen(death->file)));
    record = value_set_take(record, "deaths", value_int(deaths + (deaths < INT64_MAX)));
    record = value_set_take(record, "in_a_row", value_int(death->in_a_row));
    record = value_set_take(record, "last_ms", value_int(death->now_ms));
    record = value_set_take(record, "restart_ms", value_int(death->now_ms + death->pause_ms));
    record = value_set_take(record, "host", value_int(getpid()));
    record = value_set_take(record, "message", value_string_lossy(death->message, length < 4096 ? length : 4096));
    return value_set_take(record, "record", value_int(id));
}

int64_t deaths_add(const char *folder, const struct death *death) {
    char path[PATH_MAX];
    if (!record_path(folder, death->plugin, path) || !folder_make(folder)) return 0;
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    int64_t id = 0;
    if (file < 0) return 0;
    if (flock(file, LOCK_EX | LOCK_NB) == 0) {
        tn_value before = record_read(file);
        id = record_number(before, "record");
        if (id <= 0) id = record_new_id();
        tn_value record = record_with(before, id, death);
        if (!record_write(file, record)) id = 0;
        value_unref(before);
        value_unref(record);
    }
    close(file);
    return id;
}

bool deaths_were_reset(const char *folder, const char *plugin, int64_t id) {
    char path[PATH_MAX];
    if (!record_path(folder, plugin, path)) return true;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) return errno == ENOENT;
    bool reset = false;
    if (flock(file, LOCK_SH | LOCK_NB) == 0) {
        tn_value record = record_read(file);
        reset = record_number(record, "record") != id;
        value_unref(record);
    }
    close(file);
    return reset;
}

tn_value deaths_read(const char *folder, const char *plugin) {
    char path[PATH_MAX];
    if (!record_path(folder, plugin, path)) return NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    tn_value record = file < 0 ? NULL : record_read(file);
    if (file >= 0) close(file);
    if (record_is_valid(record)) return record;
    value_unref(record);
    return NULL;
}

int64_t deaths_clear(const char *folder, const char *plugin) {
    char path[PATH_MAX];
    tn_value record = deaths_read(folder, plugin);
    int64_t deaths = record ? record_number(record, "deaths") : 0;
    value_unref(record);
    if (record_path(folder, plugin, path) && unlink(path) != 0) return 0;
    return deaths;
}
