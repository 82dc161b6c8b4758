/*
 * pack_manifest.c - checks pack.json, and the names and paths in it.
 *
 * One table of keys is used for the author's file, in which an unknown key is an error, and for the finished file, in
 * which an unknown key comes from a later version and is ignored. Paths are checked before any file is created.
 */
#include "adl/document/version.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/plugin/pack/pack.h"
#include <string.h>

#define DEPTH_MAX 16u /* nesting of pack.json */

const char *const pack_lists[] = {"plugins", "documents", "prompts", "schemas", NULL};

static const char *const text_keys[] = {"title", "description", "licence", "homepage", NULL};

/* ---- Names ---- */

bool pack_name_valid(const char *name) {
    size_t length = strlen(name);
    bool valid = length > 0 && length <= PACK_NAME_MAX && name[0] >= 'a' && name[0] <= 'z';
    for (size_t i = 0; valid && i < length; i++)
        valid = (name[i] >= 'a' && name[i] <= 'z') || (name[i] >= '0' && name[i] <= '9') || name[i] == '-';
    return valid;
}

/*
 * Parses a number of a version, or an identifier of its pre-release; numbers have no leading zero. Returns its length,
 * or 0 if it is invalid.
 */
static size_t version_identifier(const char *text, bool words) {
    bool number = true;
    size_t length = 0;
    for (;; length++) {
        char c = text[length];
        bool digit = c >= '0' && c <= '9';
        bool other = words && (c == '-' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
        if (!digit && !other) break;
        number &= digit;
    }
    return number && length > 1 && text[0] == '0' ? 0 : length;
}

bool pack_version_valid(const char *version) {
    struct version parsed;
    const char *at = version;
    if (strlen(version) > PACK_NAME_MAX || !version_parse(version, strlen(version), &parsed)) return false;
    for (int part = 0; part < 3; part++) {
        size_t length = version_identifier(at, false);
        if (length == 0) return false;
        at += length;
        if (part < 2 && *at++ != '.') return false;
    }
    if (!*at) return true;
    if (*at != '-') return false;
    do {
        size_t length = version_identifier(++at, true);
        if (length == 0) return false;
        at += length;
    } while (*at == '.');
    return !*at;
}

bool pack_path_valid(const char *path, size_t length, const char **why) {
    *why = NULL;
    if (length == 0)
        *why = "it is empty";
    else if (length > PACK_PATH_MAX)
        *why = "it is longer than 155 bytes";
    else if (path[0] == '/')
        *why = "it is absolute; paths are relative to the pack";
    else if (!utf8_valid(path, length))
        *why = "it is not UTF-8";
    for (size_t start = 0, i = 0; !*why && i <= length; i++) {
        unsigned char c = i < length ? (unsigned char)path[i] : '/';
        if (c < ' ' || c == 0x7f)
            *why = "it has a control character";
        else if (c == '\\')
            *why = "it has a backslash; separate folders with /";
        if (c != '/' || *why) continue;
        if (i == start)
            *why = "it has an empty name";
        else if (i - start == 2 && memcmp(path + start, "..", 2) == 0)
            *why = "it leads out of the pack; `..` is not allowed";
        else if (path[start] == '.')
            *why = "a name in it begins with a dot";
        else if (i - start > PACK_COMPONENT_MAX)
            *why = "a name in it is longer than 100 bytes";
        start = i + 1;
    }
    return !*why;
}
_Static_assert(PACK_PATH_MAX == 155 && PACK_COMPONENT_MAX == 100, "the messages contain these numbers");

/* ---- Checks ---- */

/* The manifest that is being checked. */
struct pack_check {
    const char *file;
    tn_value value;
    tn_value files; /* NULL if not required */
    struct error *error;
};

#define PACK_WRONG(check, format, ...)                                                                                 \
    error_set((check)->error, TN_INVALID, "PACK_INVALID", "%s: " PACK_MANIFEST ": " format, (check)->file, __VA_ARGS__)

/* The text of a key. NULL if it is missing, or, with an error in *status, if it is invalid. */
static const char *pack_check_text(const struct pack_check *check, const char *key, bool needed, int32_t *status) {
    tn_value value = value_get(check->value, key);
    size_t length;
    if (!value && !needed) return NULL;
    const char *text = value_is(value, TN_STRING) ? value_chars(value, &length) : NULL;
    if (!value)
        *status = PACK_WRONG(check, "the key `%s` is missing", key);
    else if (!text)
        *status = PACK_WRONG(check, "`%s`: found %s, expected a text", key, value_kind_name(value_kind(value)));
    else if (strlen(text) != length)
        *status = PACK_WRONG(check, "`%s`: it has a NUL character in it", key);
    return *status == TN_OK ? text : NULL;
}

static bool has_control_character(const char *text) {
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f) return true;
    return false;
}

static int32_t pack_check_names(const struct pack_check *check) {
    int32_t status = TN_OK;
    size_t at;
    const char *name = pack_check_text(check, "name", true, &status);
    if (name && !pack_name_valid(name))
        return PACK_WRONG(
            check,
            "`name`: found `%.80s`, expected a lowercase letter, then lowercase letters, digits and dashes, "
            "%u at most",
            name, PACK_NAME_MAX);
    const char *version = status == TN_OK ? pack_check_text(check, "version", true, &status) : NULL;
    if (version && !pack_version_valid(version))
        return PACK_WRONG(check, "`version`: found `%.80s`, expected three numbers as in 1.2.0, or 1.2.0-rc.1",
                          version);
    for (const char *const *key = text_keys; status == TN_OK && *key; key++) {
        bool title = strcmp(*key, "title") == 0;
        const char *text = pack_check_text(check, *key, title, &status);
        if (title && text && has_control_character(text)) /* it could imitate lines of `tenon pack list` */
            return PACK_WRONG(check, "`%s`: it has a control character, expected one line of text", *key);
    }
    const char *tenon = status == TN_OK ? pack_check_text(check, "tenon", false, &status) : NULL;
    if (tenon && constraint_holds(tenon, strlen(tenon), NULL, &at) < 0)
        return PACK_WRONG(check, "`tenon`: found `%.80s`, expected versions as in \">= 0.1, < 1\"", tenon);
    return status;
}

static int32_t pack_check_path(const struct pack_check *check, const char *where, tn_value path) {
    size_t length;
    const char *why;
    if (!value_is(path, TN_STRING))
        return PACK_WRONG(check, "`%s`: found %s, expected a path", where, value_kind_name(value_kind(path)));
    const char *text = value_chars(path, &length);
    if (!pack_path_valid(text, length, &why))
        return PACK_WRONG(check, "`%s`: found the path `%.200s`: %s", where, text, why);
    size_t first = strcspn(text, "/"); /* these names are reserved, also as folders */
    if ((first == strlen(PACK_MANIFEST) && memcmp(text, PACK_MANIFEST, first) == 0) ||
        (first == strlen(PACK_SIGNATURE) && memcmp(text, PACK_SIGNATURE, first) == 0))
        return PACK_WRONG(check, "`%s`: the name `%.*s` is reserved", where, (int)first, text);
    return TN_OK;
}

static int32_t pack_check_list(const struct pack_check *check, const char *key) {
    tn_value list = value_get(check->value, key), seen = value_object();
    int32_t status = TN_OK;
    if (list && !value_is(list, TN_ARRAY))
        return PACK_WRONG(check, "`%s`: found %s, expected a list of paths", key, value_kind_name(value_kind(list)));
    if (value_count(list) > (strcmp(key, "plugins") == 0 ? PACK_PLUGINS_MAX : PACK_FILES_MAX))
        return error_set(check->error, TN_LIMIT, "LIMIT", "%s: " PACK_MANIFEST ": `%s`: more than %u entries",
                         check->file, key, strcmp(key, "plugins") == 0 ? PACK_PLUGINS_MAX : PACK_FILES_MAX);
    for (size_t i = 0; status == TN_OK && i < value_count(list); i++) {
        tn_value path = value_at(list, i);
        status = pack_check_path(check, key, path);
        if (status == TN_OK && value_get_key(seen, path))
            status = PACK_WRONG(check, "`%s`: `%s` is listed twice", key, value_chars(path, NULL));
        else if (status == TN_OK && check->files && !value_get_key(check->files, path))
            status = PACK_WRONG(check, "`%s`: `%s` is not in `files`", key, value_chars(path, NULL));
        if (status == TN_OK) seen = value_set_key_take(seen, value_ref(path), value_null());
    }
    value_unref(seen);
    return status;
}

static int32_t pack_check_source(const struct pack_check *check) {
    if (!value_is(check->value, TN_OBJECT))
        return PACK_WRONG(check, "found %s, expected an object with `name`, `version`, `title`, `plugins`, …",
                          value_kind_name(value_kind(check->value)));
    int32_t status = pack_check_names(check);
    for (const char *const *key = pack_lists; status == TN_OK && *key; key++) status = pack_check_list(check, *key);
    return status;
}

static bool is_sha256_text(tn_value value) {
    size_t length = 0;
    const char *text = value_is(value, TN_STRING) ? value_chars(value, &length) : "";
    return length == TN_SHA256_TEXT - 1 && strspn(text, "0123456789abcdef") == length;
}

/* A path cannot be a file and a folder: "a" and "a/b". */
static int32_t pack_check_folders(const struct pack_check *check, const char *path) {
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/'))
        if (value_get_n(check->files, path, (size_t)(slash - path)))
            return PACK_WRONG(check, "`files`: `%.*s` is a file and a folder", (int)(slash - path), path);
    return TN_OK;
}

static int32_t pack_check_files(const struct pack_check *check) {
    size_t count = value_count(check->files);
    int32_t status = TN_OK;
    if (!value_is(check->files, TN_OBJECT) || count == 0)
        return PACK_WRONG(check,
                          "`files`: expected an object of paths and their hashes, which `tenon pack build` writes%s",
                          check->files ? "" : ", and the key is missing");
    if (count > PACK_FILES_MAX)
        return error_set(check->error, TN_LIMIT, "LIMIT", "%s: " PACK_MANIFEST ": `files`: more than %u", check->file,
                         PACK_FILES_MAX);
    for (size_t i = 0; status == TN_OK && i < count; i++) {
        tn_value key = value_key_at(check->files, i);
        status = pack_check_path(check, "files", key);
        if (status != TN_OK) break;
        const char *path = value_chars(key, NULL);
        if (i > 0 && strcmp(value_chars(value_key_at(check->files, i - 1), NULL), path) >= 0)
            status = PACK_WRONG(check, "`files`: `%s` is out of order; they are sorted by their bytes", path);
        else if (!is_sha256_text(value_value_at(check->files, i)))
            status = PACK_WRONG(check, "`files`: `%s`: expected a SHA-256 hash, 64 lowercase hexadecimal digits", path);
        else
            status = pack_check_folders(check, path);
    }
    return status;
}

/* ---- Reading ---- */

static const char *const other_keys[] = {"name", "version", "tenon", "files", NULL};
static const char *const *const key_tables[] = {other_keys, text_keys, pack_lists};
#define TABLE_COUNT (sizeof key_tables / sizeof *key_tables)

static int32_t pack_refuse_key(const struct pack_check *check, tn_value key) {
    struct buffer all;
    struct nearest near;
    size_t length;
    const char *name = value_chars(key, &length);
    buffer_init(&all, SIZE_MAX);
    nearest_init(&near, name, length);
    for (size_t t = 0; t < TABLE_COUNT; t++)
        for (const char *const *known = key_tables[t]; *known; known++) {
            nearest_add_candidate(&near, *known, strlen(*known));
            buffer_format(&all, "%s`%s`", all.length ? ", " : "", *known);
        }
    int32_t status =
        PACK_WRONG(check, "found the unknown key `%.80s`%s%s", name,
                   near.best ? nearest_hint(&near).text : "; known keys are ", near.best ? "" : buffer_cstr(&all));
    buffer_finish(&all);
    return status;
}

/* Unknown keys are reported first, because a misspelt key is also a missing key. */
int32_t pack_manifest_check_source(const char *file, tn_value value, struct error *error) {
    const struct pack_check check = {.file = file, .value = value, .error = error};
    for (size_t i = 0; value_is(value, TN_OBJECT) && i < value_count(value); i++) {
        tn_value key = value_key_at(value, i);
        bool known = false;
        for (size_t t = 0; t < TABLE_COUNT; t++)
            for (const char *const *name = key_tables[t]; *name; name++) known |= value_text_is(key, *name);
        if (!known) return pack_refuse_key(&check, key);
    }
    return pack_check_source(&check);
}

int32_t pack_manifest_read(const char *file, const char *text, size_t length, struct pack_manifest *out,
                           struct error *error) {
    struct error why = ERROR_INIT;
    tn_value value = NULL;
    if (json_read(text, length, &(struct json_limits){.depth = DEPTH_MAX, .length = PACK_MANIFEST_MAX}, &value, &why) !=
        TN_OK) {
        int32_t status = strcmp(why.code, "LIMIT") == 0 ? TN_LIMIT : TN_INVALID;
        error_set(error, status, status == TN_LIMIT ? "LIMIT" : "PACK_INVALID", "%s: " PACK_MANIFEST ": %s", file,
                  why.message);
        error_finish(&why);
        return status;
    }
    struct pack_check check = {.file = file, .value = value, .files = value_get(value, "files"), .error = error};
    int32_t status = value_is(value, TN_OBJECT) ? pack_check_files(&check) : TN_OK;
    if (status == TN_OK) status = pack_check_source(&check);
    if (status != TN_OK) {
        value_unref(value);
        return status;
    }
    struct tn_sha256 hash;
    *out = (struct pack_manifest){.value = value,
                                  .name = value_chars(value_get(value, "name"), NULL),
                                  .version = value_chars(value_get(value, "version"), NULL),
                                  .title = value_chars(value_get(value, "title"), NULL),
                                  .files = check.files,
                                  .plugins = value_get(value, "plugins")};
    tn_sha256_init(&hash);
    tn_sha256_update(&hash, text, length);
    tn_sha256_finish_text(&hash, out->hash);
    return TN_OK;
}

void pack_manifest_finish(struct pack_manifest *manifest) {
    value_unref(manifest->value);
    *manifest = (struct pack_manifest){0};
}

bool pack_is_plugin(const struct pack_manifest *manifest, const char *path) {
    for (size_t i = 0; i < value_count(manifest->plugins); i++)
        if (value_text_is(value_at(manifest->plugins, i), path)) return true;
    return false;
}
