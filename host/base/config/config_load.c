/*
 * config_load.c - finds the project's and the user's file, reads them and merges them.
 *
 * config_read.c reads the keys of one file. Each key of the project's file overrides the same key of the user's file.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/source/source.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/base/config/config_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the text of a file (mem_free it). NULL without an error means that an optional file does not exist. */
static char *config_read_file(const char *path, bool needed, size_t *length, struct error *error) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        if (needed || errno != ENOENT)
            error_set(error, TN_NOT_FOUND, "IO", "cannot read %s: %s", path, strerror(errno));
        return NULL;
    }
    struct buffer text;
    char chunk[4096];
    ssize_t got;
    buffer_init(&text, CONFIG_FILE_MAX);
    while ((got = read(descriptor, chunk, sizeof chunk)) != 0) {
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) break;
        buffer_append(&text, chunk, (size_t)got);
    }
    int failure = errno;
    close(descriptor);
    if (got == 0 && !text.overflow) {
        char *result = buffer_detach(&text, length);
        return result ? result : mem_text("");
    }
    if (got < 0)
        error_set(error, TN_ERROR, "IO", "cannot read %s: %s", path, strerror(failure));
    else
        error_set(error, TN_LIMIT, "LIMIT", "%s is longer than %u bytes", path, CONFIG_FILE_MAX);
    buffer_finish(&text);
    return NULL;
}

static int32_t config_report_first(struct diagnostics *found, struct error *error) {
    diagnostics_sort(found);
    size_t count = diagnostics_errors(found);
    for (size_t i = 0; i < diagnostics_count(found); i++) {
        const struct diagnostic *first = diagnostics_at(found, i);
        if (first->severity != DIAGNOSTIC_ERROR) continue;
        struct source_place place = source_locate(first->source, first->span.start);
        error_set(error, TN_INVALID, "INVALID_CONFIG", "%s:%u:%u: %s%s%s", source_name(first->source), place.line + 1,
                  place.point + 1, first->message, first->suggestion ? "; " : "",
                  first->suggestion ? first->suggestion : "");
        if (count > 1 && error) {
            struct error inner = ERROR_INIT;
            error_move(&inner, error);
            error_set(error, TN_INVALID, inner.code, "%s (and %zu more)", inner.message, count - 1);
            error_finish(&inner);
        }
        break;
    }
    return count > 0 ? TN_INVALID : TN_OK;
}

/* Each key of `over` overrides the same key of `under`. */
static tn_value value_overlay(tn_value under, tn_value over) {
    tn_value both = under ? value_ref(under) : value_object();
    for (size_t i = 0; i < value_count(over); i++)
        both = value_set_key_take(both, value_ref(value_key_at(over, i)), value_ref(value_value_at(over, i)));
    return both;
}

static void config_overlay(struct config *under, const struct config *over) {
    struct {
        tn_value *under;
        tn_value over;
    } parts[] = {{&under->plugins, over->plugins},       {&under->folders, over->folders},
                 {&under->providers, over->providers},   {&under->models, over->models},
                 {&under->secrets, over->secrets},       {&under->prices, over->prices},
                 {&under->limits, over->limits},         {&under->isolation, over->isolation},
                 {&under->tools, over->tools},           {&under->processes, over->processes},
                 {&under->drafts, over->drafts},         {&under->admins, over->admins},
                 {&under->registries, over->registries}, {&under->work, over->work},
                 {&under->schedules, over->schedules},   {&under->calls, over->calls},
                 {&under->memory, over->memory}};
    tn_value approval = value_overlay(config_tool_policies(under), config_tool_policies(over));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        tn_value both = value_overlay(*parts[i].under, parts[i].over);
        value_unref(*parts[i].under);
        *parts[i].under = both;
    }
    if (value_count(approval))
        under->tools = value_set_take(under->tools, "approval", approval);
    else
        value_unref(approval);
    /* The project's paths are searched first. */
    char **paths = under->paths;
    size_t count = under->path_count;
    under->paths = NULL;
    under->path_count = 0;
    for (size_t i = 0; i < over->path_count; i++) config_add_path(under, over->paths[i]);
    for (size_t i = 0; i < count; i++) {
        config_add_path(under, paths[i]);
        mem_free(paths[i]);
    }
    mem_free((void *)paths);
    under->trust = value_concat_take(under->trust, value_ref(over->trust));
    under->installs = value_concat_take(under->installs, value_ref(over->installs));
    under->roots = value_concat_take(value_ref(over->roots), under->roots);
    if (over->store) {
        value_unref(under->store);
        under->store = value_ref(over->store);
    }
    if (over->http) {
        value_unref(under->http);
        under->http = value_ref(over->http);
    }
    if (over->serve) {
        tn_value both = value_overlay(under->serve, over->serve);
        value_unref(under->serve);
        under->serve = both;
    }
    if (over->log != CONFIG_LOG_UNSET) under->log = over->log;
    if (over->history != CONFIG_HISTORY_UNSET) under->history = over->history;
    if (over->loops != CONFIG_LOOPS_UNSET) under->loops = over->loops;
}

static int32_t config_load_file(struct config *config, const char *path, bool needed, struct error *error) {
    struct error why = ERROR_INIT;
    size_t length = 0;
    char *text = config_read_file(path, needed, &length, &why);
    if (!text) {
        int32_t status = why.code ? strcmp(why.code, "LIMIT") == 0 ? TN_LIMIT : TN_NOT_FOUND : TN_OK;
        error_move(error, &why);
        return status;
    }
    struct diagnostics *found = diagnostics_new();
    struct config *read = config_read(path, text, length, found);
    int32_t status = config_report_first(found, error);
    if (status == TN_OK) config_overlay(config, read);
    config_free(read);
    diagnostics_free(found);
    mem_free(text);
    return status;
}

char *config_packs_folder(void) {
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    struct buffer path;
    buffer_init(&path, SIZE_MAX);
    if (data && *data == '/') /* the XDG specification requires to ignore relative paths */
        buffer_format(&path, "%s/tenon/packs", data);
    else if (home && *home)
        buffer_format(&path, "%s/.local/share/tenon/packs", home);
    return path.length ? buffer_detach(&path, NULL) : NULL;
}

/* True if the canonical folder is that of the installed packs, or below it. */
static bool config_is_in_packs(const char *folder) {
    char *packs = config_packs_folder(), real[PATH_MAX];
    bool known = packs && realpath(packs, real);
    size_t length = known ? strlen(real) : 0;
    mem_free(packs);
    return known && strncmp(folder, real, length) == 0 && (!folder[length] || folder[length] == '/');
}

/*
 * The file decides which code runs, so in a parent folder, where other users may write, it must belong to this user or
 * to root. A file of an installed pack is ignored: a pack could trust itself with it.
 */
int32_t config_find_project(const char *directory, char **out, struct error *error) {
    char folder[PATH_MAX];
    *out = NULL;
    if (!realpath(directory ? directory : ".", folder)) return TN_OK;
    for (uint32_t depth = 0; depth < CONFIG_PARENTS_MAX; depth++) {
        struct buffer path;
        struct stat status;
        buffer_init(&path, SIZE_MAX);
        buffer_format(&path, "%s/tenon.yaml", folder[1] ? folder : "");
        bool there = stat(buffer_cstr(&path), &status) == 0 && S_ISREG(status.st_mode) && !config_is_in_packs(folder);
        if (there && depth > 0 && status.st_uid != geteuid() && status.st_uid != 0) {
            int32_t result = error_set(
                error, TN_INVALID, "PERMISSION_DENIED",
                "%s belongs to another user; name it with --config to use it, or pass --no-config", buffer_cstr(&path));
            buffer_finish(&path);
            return result;
        }
        if (there) {
            *out = buffer_detach(&path, NULL);
            return TN_OK;
        }
        buffer_finish(&path);
        char *slash = strrchr(folder, '/');
        if (!folder[1]) break;
        slash[slash == folder] = 0;
    }
    return TN_OK;
}

char *config_user_file(void) {
    const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    struct buffer path;
    bool absolute = base && *base == '/';
    if (!absolute && !(home && *home)) return NULL;
    buffer_init(&path, SIZE_MAX);
    buffer_format(&path, "%s%s/tenon/tenon.yaml", absolute ? base : home, absolute ? "" : "/.config");
    return buffer_detach(&path, NULL);
}

static int32_t config_load_user(struct config *config, struct error *error) {
    char *path = config_user_file();
    int32_t status = path ? config_load_file(config, path, false, error) : TN_OK;
    mem_free(path);
    return status;
}

int32_t config_load_from(const char *file, const char *directory, struct config **out, struct error *error) {
    struct config *config = config_empty();
    int32_t status = config_load_user(config, error);
    if (status == TN_OK && file)
        config->file = mem_text(file);
    else if (status == TN_OK)
        status = config_find_project(directory, &config->file, error);
    if (status == TN_OK && config->file) status = config_load_file(config, config->file, true, error);
    if (status == TN_OK)
        *out = config;
    else
        config_free(config);
    return status;
}

int32_t config_load(const char *file, struct config **out, struct error *error) {
    return config_load_from(file, NULL, out, error);
}
