/*
 * folder.c - creates folders.
 */
#include "host/base/folder.h"
#include "adl/value/memory.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

int32_t folder_create(const char *path, struct error *error) {
    char *made = mem_text(path);
    int32_t status = TN_OK;
    for (char *at = made; *at && status == TN_OK;) {
        at += strspn(at, "/");
        at += strcspn(at, "/");
        char end = *at;
        *at = 0;
        if (mkdir(made, 0777) != 0 && errno != EEXIST)
            status = error_set(error, TN_ERROR, "IO", "cannot create %s: %s", made, strerror(errno));
        *at = end;
    }
    mem_free(made);
    return status;
}
