/*
 * pack_incoming.c - a file that gets its name when it is complete.
 */
#include "host/plugin/pack/pack_incoming.h"
#include "adl/value/memory.h"
#include "adl/value/value.h"
#include "host/base/folder.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int32_t incoming_fail(struct error *error, const char *what, const char *path) {
    return error_set(error, TN_ERROR, "IO", "cannot %s %s: %s", what, path, strerror(errno));
}

int32_t pack_incoming_open(const char *folder, bool publish, struct pack_incoming *out, struct error *error) {
    int32_t status = folder_create(folder, error);
    if (status != TN_OK) return status;
    *out = (struct pack_incoming){.file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666)};
    if (out->file >= 0) return TN_OK;
    tn_value pattern = value_format("%s/.pack-XXXXXX", folder);
    char *path = mem_text(value_chars(pattern, NULL));
    value_unref(pattern);
    out->file = mkostemp(path, O_CLOEXEC);
    if (out->file < 0) status = incoming_fail(error, "write in", folder);
    if (out->file >= 0 && !publish) unlink(path);
    if (out->file >= 0 && publish)
        out->temporary = path;
    else
        mem_free(path);
    return status;
}

int32_t pack_incoming_publish(struct pack_incoming *incoming, const char *path, bool force, struct error *error) {
    if (fsync(incoming->file) != 0) return incoming_fail(error, "write", path);
    if (!incoming->temporary) {
        char file[64];
        tn_value name = value_format("%s.part-%ld", path, (long)getpid());
        snprintf(file, sizeof file, "/proc/self/fd/%d", incoming->file);
        bool linked = linkat(AT_FDCWD, file, AT_FDCWD, value_chars(name, NULL), AT_SYMLINK_FOLLOW) == 0;
        if (linked) incoming->temporary = mem_text(value_chars(name, NULL));
        value_unref(name);
        if (!linked) return incoming_fail(error, "write", path);
    }
    /* Unlike rename, link does not replace a file that another process creates at this moment. */
    int result = force ? rename(incoming->temporary, path) : link(incoming->temporary, path);
    if (result != 0 && errno == EEXIST)
        return error_set(error, TN_INVALID, "EXISTS",
                         "%s already exists; nothing was changed; choose another name, or use --force", path);
    if (result != 0) return incoming_fail(error, "write", path);
    if (!force) unlink(incoming->temporary);
    mem_free(incoming->temporary);
    incoming->temporary = NULL;
    return TN_OK;
}

void pack_incoming_close(struct pack_incoming *incoming) {
    if (incoming->file >= 0) close(incoming->file);
    if (incoming->temporary) unlink(incoming->temporary);
    mem_free(incoming->temporary);
    *incoming = (struct pack_incoming){.file = -1};
}
