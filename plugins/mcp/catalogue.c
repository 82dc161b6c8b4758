/*
 * catalogue.c - the files of catalogue.h, in tenon/mcp in XDG_CACHE_HOME or ~/.cache.
 *
 * The name contains a hash of what decides the list: the command or URL, the folder and the allow-list; not `env` and
 * `headers`, which may contain secrets. A file of another user, or that others can write, is not read.
 */
#include "catalogue.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <tenon/util/sha256.h>
#include <tenon/util/text.h>
#include <unistd.h>

#define CATALOGUE_MAX 33554432 /* bytes of a file; a longer catalogue is not kept */
#define FORMAT        1        /* of the files; others are ignored */

/* Returns the path, to be freed with mcp_free, or NULL. */
static char *catalogue_path(const struct server *server) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    tn_value command = tn_get(server->config, "command"), cwd = tn_get(server->config, "cwd");
    tn_value key = tn_build("{s:s,s:v*,s:v*,s:v*,s:v*}", "name", server->name, "command", command, "cwd", cwd, "url",
                            tn_get(server->config, "url"), "tools", tn_get(server->config, "tools"));
    tn_value json = tn_to_json(key);
    uint64_t length = 0;
    const char *text = tn_chars(json, &length);
    struct tn_text_buffer path = {.limit = PATH_MAX - 16};
    char hash[TN_SHA256_TEXT];
    struct tn_sha256 state;
    bool known = text != NULL && ((cache != NULL && *cache == '/') || (home != NULL && *home == '/'));
    if (known) {
        tn_sha256_init(&state);
        tn_sha256_update(&state, text, length);
        tn_sha256_finish_text(&state, hash);
        tn_text_append(&path, cache != NULL && *cache == '/' ? cache : home);
        tn_text_append(&path, cache != NULL && *cache == '/' ? "/tenon/mcp/" : "/.cache/tenon/mcp/");
        tn_text_append(&path, server->name);
        tn_text_append(&path, "-");
        tn_text_append_n(&path, hash, 32);
        tn_text_append(&path, ".json");
    }
    tn_release(json);
    tn_release(key);
    char *result = known && path.status == TN_OK ? copy_text(tn_text_chars(&path)) : NULL;
    tn_text_free(&path);
    return result;
}

/* Returns the contents, to be freed with mcp_free, or NULL. */
static char *read_catalogue_file(const char *path, uint64_t *length) {
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
    if (descriptor < 0) return NULL;
    bool good = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
                (status.st_mode & 022) == 0 && status.st_size > 0 && status.st_size <= CATALOGUE_MAX;
    char *text = good ? tn.core->alloc(tn.host, (uint64_t)status.st_size) : NULL;
    *length = 0;
    while (text != NULL && *length < (uint64_t)status.st_size) {
        ssize_t got = read(descriptor, text + *length, (size_t)status.st_size - *length);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        *length += (uint64_t)got;
    }
    (void)close(descriptor);
    return text;
}

static void write_catalogue_file(char *path, const char *text, uint64_t length) {
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= (int)sizeof temporary) return;
    for (char *slash = strchr(temporary + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(temporary, 0700);
        *slash = '/';
    }
    int descriptor = mkostemp(temporary, O_CLOEXEC); /* 0600 */
    if (descriptor < 0) return;
    uint64_t done = 0;
    while (done < length) {
        ssize_t wrote = write(descriptor, text + done, length - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) break;
        done += (uint64_t)wrote;
    }
    (void)close(descriptor);
    if (done < length || rename(temporary, path) != 0) (void)unlink(temporary);
}

static tn_value make_catalogue(const struct server *server) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_int(builder, "format", FORMAT);
    tn_put_begin(builder, "capabilities", TN_OBJECT);
    for (size_t i = 0; i < tool_method_count; i++) {
        const char *name = mcp_tool_methods[i].capability;
        bool again = i > 0 && strcmp(name, mcp_tool_methods[i - 1].capability) == 0;
        if (again || !session_has_capability(server->session, name)) continue;
        tn_put_begin(builder, name, TN_OBJECT);
        tn.value->end(builder);
    }
    tn.value->end(builder);
    tn_put_begin(builder, "tools", TN_ARRAY);
    for (const struct tool *tool = server->tools; tool != NULL; tool = tool->next)
        if (tool->definition != NULL) tn_put(builder, NULL, tool->definition);
    tn.value->end(builder);
    tn.value->end(builder);
    return tn_finish(builder);
}

void catalogue_store(const struct server *server) {
    char *path = catalogue_path(server);
    tn_value catalogue = path != NULL ? make_catalogue(server) : NULL, json = tn_to_json(catalogue);
    uint64_t length = 0, there_length = 0;
    const char *text = tn_chars(json, &length);
    if (text != NULL && length <= CATALOGUE_MAX) {
        char *there = read_catalogue_file(path, &there_length);
        if (there == NULL || there_length != length || memcmp(there, text, length) != 0)
            write_catalogue_file(path, text, length);
        mcp_free(there);
    }
    tn_release(json);
    tn_release(catalogue);
    mcp_free(path);
}

tn_value catalogue_load(const struct server *server) {
    char *path = catalogue_path(server);
    uint64_t length = 0;
    char *text = path != NULL ? read_catalogue_file(path, &length) : NULL;
    tn_value catalogue = NULL;
    if (text != NULL &&
        (tn.value->from_json(tn.host, text, length, &catalogue, NULL) != TN_OK ||
         tn_get_int(catalogue, "format", 0) != FORMAT || tn.value->kind(tn_get(catalogue, "tools")) != TN_ARRAY)) {
        tn_release(catalogue);
        catalogue = NULL;
    }
    mcp_free(text);
    mcp_free(path);
    return catalogue;
}
