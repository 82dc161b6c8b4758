/*
 * store_location.c - see store_location.h.
 *
 * The name of a location identifies it: of a file and of a configuration it is the absolute path, of a URL the part
 * without user and password.
 */
#include "host/program/store_location.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/base/secrets/secrets.h"
#include "host/data/store/store.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool begins_with(const char *text, const char *start) { return strncmp(text, start, strlen(start)) == 0; }

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* The absolute path of a file that need not exist; its folder is resolved if it exists. Free it with mem_free. */
static char *absolute_path(const char *path) {
    char folder[PATH_MAX], resolved[PATH_MAX];
    struct buffer text;
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    buffer_init(&text, SIZE_MAX);
    if (length < sizeof folder) {
        memcpy(folder, path, length);
        folder[length] = 0;
        const char *parent = !slash ? "." : length ? folder : "/";
        if (realpath(parent, resolved))
            buffer_format(&text, "%s/%s", strcmp(resolved, "/") == 0 ? "" : resolved, slash ? slash + 1 : path);
    }
    if (!text.length) buffer_text(&text, path);
    return buffer_detach(&text, NULL);
}

/* ---- Kinds of operands ---- */

/* The user, the password and all parameters could be secret, or contain one. */
static char *url_name(const char *url) {
    const char *start = strstr(url, "://") + 3, *end = start + strcspn(start, "?#"), *at = start;
    for (const char *next = start; next < end; next++)
        if (*next == '@') at = next + 1;
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    buffer_format(&text, "%.*s%.*s", (int)(start - url), url, (int)(end - at), at);
    const char *host = end[0] == '?' ? strstr(end, "host=") : NULL; /* the folder of a socket */
    if (host && (host[-1] == '?' || host[-1] == '&')) buffer_format(&text, "?%.*s", (int)strcspn(host, "&#"), host);
    return buffer_detach(&text, NULL);
}

static int32_t location_read_url(struct store_location *out, const char *url) {
    out->name = url_name(url);
    out->options = value_set_take(value_object_reserve(2), "use", value_text("postgres"));
    out->options = value_set_take(out->options, "url", value_string_lossy(url, strlen(url)));
    return TN_OK;
}

static int32_t location_read_options(struct store_location *out, const char *text, struct error *error) {
    int32_t status = json_read(text, strlen(text), NULL, &out->options, error);
    if (status != TN_OK) return status;
    tn_value use = value_get(out->options, "use"), path = value_get(out->options, "path"),
             url = value_get(out->options, "url");
    if (!value_is(out->options, TN_OBJECT) || !value_is(use, TN_STRING))
        return error_set(error, TN_INVALID, "INVALID", "the options of a store must be an object with `use`");
    struct buffer name;
    char *place = NULL;
    tn_value schema = value_get(out->options, "schema");
    if (value_is(path, TN_STRING))
        place = absolute_path(value_chars(path, NULL));
    else if (value_is(url, TN_STRING) && strstr(value_chars(url, NULL), "://"))
        place = url_name(value_chars(url, NULL));
    buffer_init(&name, SIZE_MAX);
    buffer_format(&name, "%s%s%s", value_chars(use, NULL), place ? ":" : "", place ? place : "");
    if (value_is(schema, TN_STRING)) buffer_format(&name, " (schema %s)", value_chars(schema, NULL));
    out->name = buffer_detach(&name, NULL);
    mem_free(place);
    return TN_OK;
}

static int32_t location_read_config(struct store_location *out, const char *path, bool folder, struct error *error) {
    char resolved[PATH_MAX];
    if (!realpath(path, resolved)) return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "%s: %s", path, strerror(errno));
    int32_t status =
        folder ? config_load_from(NULL, resolved, &out->config, error) : config_load(resolved, &out->config, error);
    if (status != TN_OK) return status;
    const char *file = config_file(out->config);
    out->name = mem_text(file ? file : "the user's default store");
    out->options = config_store(out->config) ? value_ref(config_store(out->config)) : NULL;
    return TN_OK;
}

static int32_t location_read_file(struct store_location *out, const char *path, bool must_exist, struct error *error) {
    if (must_exist && access(path, F_OK) != 0)
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "%s: %s; expected the file of a store", path,
                         strerror(errno));
    out->name = absolute_path(path);
    out->options = value_set_take(value_object_reserve(2), "use", value_text("sqlite"));
    out->options = value_set_take(out->options, "path", value_string_lossy(out->name, strlen(out->name)));
    return TN_OK;
}

int32_t store_location_read(struct store_location *out, const char *text, bool must_exist, struct error *error) {
    struct stat info;
    int32_t status;
    *out = (struct store_location){.name = NULL};
    bool folder = stat(text, &info) == 0 && S_ISDIR(info.st_mode);
    if (begins_with(text, "postgres://") || begins_with(text, "postgresql://"))
        status = location_read_url(out, text);
    else if (*text == '{')
        status = location_read_options(out, text, error);
    else if (folder || ends_with(text, ".yaml") || ends_with(text, ".yml"))
        status = location_read_config(out, text, folder, error);
    else
        status = location_read_file(out, text, must_exist, error);
    if (status != TN_OK) store_location_finish(out);
    return status;
}

/* ---- Opening ---- */

struct store *store_location_open(const struct store_location *location, struct host *host, struct error *error) {
    const struct config *config = location->config ? location->config : host_config(host);
    const struct store_from from = {host_loop(host), host_registry(host), config};
    tn_value revealed = NULL;
    struct store *store = NULL;
    int32_t status = location->options ? config_reveal(config, location->options, &revealed, error) : TN_OK;
    if (revealed) secrets_learn(host_secrets(host), location->options, revealed);
    if (status == TN_OK) store = store_open_to_maintain(&from, revealed, error);
    value_unref(revealed);
    return store;
}

void store_location_finish(struct store_location *location) {
    mem_free(location->name);
    value_unref(location->options);
    config_free(location->config);
    *location = (struct store_location){.name = NULL};
}
