/*
 * plugin_search.c - builds the search path from options, the environment, the configuration and default directories.
 *
 * Paths are kept as the user wrote them, so that messages show them unchanged. Only plain names get a leading "./",
 * because dlopen searches for those elsewhere. "Installed" is relative to the file that contains this code.
 */
#include "host/plugin/registry/plugin_search.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef TENON_LIBDIR
#define TENON_LIBDIR "lib" /* relative to the prefix, as the build installs */
#endif
#ifndef TENON_DATADIR
#define TENON_DATADIR "share"
#endif

void search_init(struct search *search) { *search = (struct search){0}; }

void search_finish(struct search *search) {
    for (size_t i = 0; i < search->count; i++) {
        mem_free(search->entries[i].path);
        mem_free(search->entries[i].source);
        error_finish(&search->entries[i].fault);
    }
    mem_free(search->entries);
    *search = (struct search){0};
}

/* Adds an entry. Returns its index, or SIZE_MAX if it was not added. */
static size_t search_insert(struct search *search, const char *path, enum search_origin origin, const char *source) {
    if (!path || !*path) return SIZE_MAX;
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    if (!strchr(path, '/') && strcmp(path, ".") != 0) buffer_text(&text, "./");
    buffer_text(&text, path);
    while (text.length > 1 && text.data[text.length - 1] == '/') text.data[--text.length] = 0;
    char *kept = buffer_detach(&text, NULL);
    bool known = false;
    for (size_t i = 0; !known && i < search->count; i++) known = strcmp(search->entries[i].path, kept) == 0;
    if (known || search->count == SEARCH_ENTRIES_MAX) {
        if (!known) search->dropped++;
        mem_free(kept);
        return SIZE_MAX;
    }
    MEM_EXTEND(search->entries, search->count);
    size_t at = search->count++;
    for (; at > 0 && search->entries[at - 1].origin > origin; at--) search->entries[at] = search->entries[at - 1];
    search->entries[at] = (struct search_entry){kept, mem_text(source), origin, ERROR_INIT};
    return at;
}

void search_add(struct search *search, const char *path, enum search_origin origin, const char *source) {
    (void)search_insert(search, path, origin, source);
}

void search_add_fault(struct search *search, const char *path, enum search_origin origin, const char *source,
                      const struct error *fault) {
    size_t at = search_insert(search, path, origin, source);
    if (at != SIZE_MAX) error_copy(&search->entries[at].fault, fault);
}

void search_add_environment(struct search *search) {
    const char *paths = getenv("TENON_PLUGIN_PATH");
    while (paths && *paths) {
        size_t length = strcspn(paths, ":");
        char *path = mem_text_n(paths, length);
        search_add(search, path, SEARCH_ENVIRONMENT, "TENON_PLUGIN_PATH");
        mem_free(path);
        paths += length + (paths[length] == ':');
    }
}

void search_add_user(struct search *search) {
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    struct buffer path;
    buffer_init(&path, SIZE_MAX);
    if (data && *data == '/') /* the XDG specification ignores relative paths */
        buffer_format(&path, "%s/tenon/plugins", data);
    else if (home && *home)
        buffer_format(&path, "%s/.local/share/tenon/plugins", home);
    search_add(search, buffer_cstr(&path), SEARCH_USER, "user directory");
    buffer_finish(&path);
}

/* ---- Installed ---- */

/* The folder of the object that contains this function: the program or libtenon. NULL if unknown. Free with mem_free.
 */
static char *own_directory(void) {
    static const char here;
    char resolved[PATH_MAX];
    Dl_info info;
    bool found = false;
    /* In a program, dladdr returns argv[0], which need not be a path. For a library it returns the path it was opened
     * by. */
    if (dladdr(&here, &info) && info.dli_fname && strstr(info.dli_fname, ".so"))
        found = realpath(info.dli_fname, resolved) != NULL;
    if (!found) found = realpath("/proc/self/exe", resolved) != NULL;
    char *slash = found ? strrchr(resolved, '/') : NULL;
    return slash ? mem_text_n(resolved, (size_t)(slash - resolved)) : NULL;
}

char *search_installed_directory(void) {
    /* Relative to bin/ (the program), and to lib/ (libtenon). */
    static const char *const relative[] = {"/../" TENON_LIBDIR "/tenon/plugins", "/../lib/tenon/plugins",
                                           "/tenon/plugins"};
    char *directory = own_directory(), *result = NULL;
    for (size_t i = 0; directory && !result && i < sizeof relative / sizeof *relative; i++) {
        struct buffer path;
        struct stat status;
        char resolved[PATH_MAX];
        buffer_init(&path, SIZE_MAX);
        buffer_format(&path, "%s%s", directory, relative[i]);
        if (realpath(buffer_cstr(&path), resolved) && stat(resolved, &status) == 0 && S_ISDIR(status.st_mode))
            result = mem_text(resolved);
        buffer_finish(&path);
    }
    mem_free(directory);
    return result;
}

char *search_data_directory(void) {
    static const char *const folders[] = {"/" TENON_LIBDIR "/tenon/plugins", "/lib/tenon/plugins"};
    char *plugins = search_installed_directory(), *result = NULL, resolved[PATH_MAX];
    size_t length = plugins ? strlen(plugins) : 0;
    for (size_t i = 0; plugins && !result && i < sizeof folders / sizeof *folders; i++) {
        size_t tail = strlen(folders[i]);
        struct buffer path;
        if (length <= tail || strcmp(plugins + length - tail, folders[i]) != 0) continue;
        buffer_init(&path, SIZE_MAX);
        buffer_format(&path, "%.*s/" TENON_DATADIR "/tenon", (int)(length - tail), plugins);
        if (realpath(buffer_cstr(&path), resolved)) result = mem_text(resolved);
        buffer_finish(&path);
    }
    mem_free(plugins);
    return result;
}

void search_add_installed(struct search *search) {
    char *directory = search_installed_directory();
    search_add(search, directory, SEARCH_INSTALLED, "installed");
    mem_free(directory);
}

/* ---- Identity of files ---- */

bool search_files_equal(const char *a, const char *b) {
    int first = open(a, O_RDONLY | O_CLOEXEC), second = open(b, O_RDONLY | O_CLOEXEC);
    bool same = first >= 0 && second >= 0;
    char left[16384], right[16384];
    ssize_t got = 1;
    for (off_t at = 0; same && got > 0; at += got) {
        got = pread(first, left, sizeof left, at);
        same = got >= 0 && pread(second, right, sizeof right, at) == got && memcmp(left, right, (size_t)got) == 0;
    }
    if (first >= 0) close(first);
    if (second >= 0) close(second);
    return same;
}

bool search_is_installed(const char *path) {
    char resolved[PATH_MAX], *directory = search_installed_directory(), *slash;
    bool installed = directory && realpath(path, resolved) && (slash = strrchr(resolved, '/')) != NULL;
    if (installed) *slash = 0;
    installed = installed && strcmp(resolved, directory) == 0;
    mem_free(directory);
    return installed;
}

bool search_is_copy_of_installed(const char *path) {
    char *directory = search_installed_directory();
    const char *slash = strrchr(path, '/');
    struct buffer installed;
    if (!directory) return false;
    buffer_init(&installed, SIZE_MAX);
    buffer_format(&installed, "%s/%s", directory, slash ? slash + 1 : path);
    bool same = search_files_equal(path, buffer_cstr(&installed));
    buffer_finish(&installed);
    mem_free(directory);
    return same;
}

/* ---- Files ---- */

struct found_name {
    char *name;
    bool direct;
};

static int compare_file_names(const void *a, const void *b) {
    return strcmp(((const struct found_name *)a)->name, ((const struct found_name *)b)->name);
}

static bool ends_in(const char *name, const char *end) {
    size_t length = strlen(name), tail = strlen(end);
    return length > tail && strcmp(name + length - tail, end) == 0;
}

/* The plugin that a file name refers to: NAME.so itself, or NAME for NAME.tenon.json if NAME exists. Else NULL. */
static char *search_plugin_name(int folder, const char *name) {
    char *found = NULL;
    if (name[0] == '.') return NULL;
    if (ends_in(name, ".so")) return mem_text(name);
    if (!ends_in(name, ".tenon.json")) return NULL;
    found = mem_text_n(name, strlen(name) - strlen(".tenon.json"));
    if (faccessat(folder, found, F_OK, 0) == 0)
        return found; /* else NAME.tenon.json belongs to NAME.so, or to nothing */
    mem_free(found);
    return NULL;
}

int32_t search_each_file(const struct search_entry *entry, void (*visit)(void *user, const struct search_file *file),
                         void *user, struct error *error) {
    struct stat status;
    if (entry->fault.code) {
        error_copy(error, &entry->fault);
        return TN_INVALID;
    }
    if (stat(entry->path, &status) != 0)
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "%s (from %s): %s", entry->path, entry->source,
                         strerror(errno));
    if (!S_ISDIR(status.st_mode)) {
        visit(user, &(struct search_file){.path = entry->path, .folder = -1});
        return TN_OK;
    }
    DIR *directory = opendir(entry->path);
    if (!directory)
        return error_set(error, TN_ERROR, "IO", "%s (from %s): cannot read the folder: %s", entry->path, entry->source,
                         strerror(errno));
    struct found_name *names = mem_array(NULL, SEARCH_FILES_MAX, sizeof *names);
    size_t count = 0;
    int32_t result = TN_OK;
    for (struct dirent *item; (item = readdir(directory)) != NULL;) {
        char *name = search_plugin_name(dirfd(directory), item->d_name);
        if (!name) continue;
        if (count == SEARCH_FILES_MAX) {
            result = error_set(error, TN_LIMIT, "LIMIT",
                               "%s (from %s): found more than %u plugin files; the rest is ignored", entry->path,
                               entry->source, SEARCH_FILES_MAX);
            mem_free(name);
            break;
        }
        names[count++] = (struct found_name){name, item->d_type == DT_REG};
    }
    qsort(names, count, sizeof *names, compare_file_names);
    struct buffer path;
    buffer_init(&path, SIZE_MAX);
    buffer_format(&path, "%s/", entry->path);
    size_t length = path.length;
    for (size_t i = 0; i < count; i++) {
        path.length = length;
        buffer_text(&path, names[i].name);
        visit(user, &(struct search_file){buffer_cstr(&path), names[i].name, dirfd(directory), names[i].direct});
        mem_free(names[i].name);
    }
    buffer_finish(&path);
    closedir(directory);
    mem_free(names);
    return result;
}

struct plain_visit {
    void (*visit)(void *user, const char *path, bool named);
    void *user;
};

static void search_visit_plain(void *user, const struct search_file *file) {
    const struct plain_visit *plain = user;
    plain->visit(plain->user, file->path, file->name == NULL);
}

int32_t search_files(const struct search_entry *entry, void (*visit)(void *user, const char *path, bool named),
                     void *user, struct error *error) {
    return search_each_file(entry, search_visit_plain, &(struct plain_visit){visit, user}, error);
}
