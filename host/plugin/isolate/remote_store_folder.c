/*
 * remote_store_folder.c - which folder the process of a store may read and change.
 *
 * A store that keeps one file also makes journals and locks beside it, whose names the host does not know, and Landlock
 * grants whole folders. So that the process reaches nothing else, nothing else may be in the folder of such a file.
 * The location's last part is not followed if it is a link: the process can replace it in a folder that it may change.
 */
#include "host/plugin/isolate/remote_store.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool folder_fail(tn_value *error, tn_value message_take) {
    tn_value object = value_set_take(value_object_reserve(2), "code", value_text("INVALID"));
    *error = value_set_take(object, "message", message_take);
    return false;
}

/* True for NAME itself, and for NAME-journal, NAME.lock and the like. */
static bool belongs_to(const char *entry, const char *name) {
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && (!entry[length] || strchr("-._~", entry[length]));
}

/* Returns false, with the name of an entry that does not belong to `name`, if the folder has one. */
static bool folder_is_for(const char *folder, const char *name, char other[NAME_MAX + 1]) {
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    bool only = true;
    if (!entries) return true; /* the store reports the reason */
    while (only && (entry = readdir(entries)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        only = belongs_to(entry->d_name, name);
        if (!only) snprintf(other, NAME_MAX + 1, "%s", entry->d_name);
    }
    closedir(entries);
    return only;
}

bool remote_store_folder(const char *location, char folder[PATH_MAX], tn_value *error) {
    char other[NAME_MAX + 1];
    struct stat found;
    size_t length = strlen(location);
    while (length > 1 && location[length - 1] == '/') length--;
    if (*location != '/' || length >= PATH_MAX)
        return folder_fail(error, value_format("the path of the store, `%s`, is not absolute, or too long", location));
    memcpy(folder, location, length);
    folder[length] = 0;
    if (lstat(folder, &found) == 0 && S_ISDIR(found.st_mode)) return true;
    char name[NAME_MAX + 1], *slash = strrchr(folder, '/');
    snprintf(name, sizeof name, "%s", slash + 1);
    slash[slash == folder] = 0;
    if (folder_is_for(folder, name, other)) return true;
    return folder_fail(
        error, value_format("the store at %s runs in a separate process, which may change everything in the folder %s; "
                            "but `%s`, which is in it, does not belong to the store: give the store a folder for "
                            "itself (`path` in the `store:` section; a path that ends with a slash is a folder)",
                            location, folder, other));
}
