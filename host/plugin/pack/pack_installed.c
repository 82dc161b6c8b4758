/*
 * pack_installed.c - reads installed packs. It changes nothing and opens no plugin; pack_install.c makes changes.
 *
 * A pack with a fault is reported and does not affect other packs. A plugin whose bytes are not those of the pack is
 * not read, not even its manifest.
 */
#include "host/plugin/pack/pack_installed.h"
#include "adl/document/version.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/plugin/pack/pack_files.h"
#include "host/plugin/registry/plugin_search.h"
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- One pack ---- */

static int32_t pack_read_record(const char *folder, int descriptor, tn_value *out, struct error *error) {
    char *text;
    size_t length;
    struct error why = ERROR_INIT;
    tn_value record = NULL;
    int32_t status = pack_file_text(folder, descriptor, PACK_RECORD, PACK_RECORD_MAX, &text, &length, &why);
    if (status == TN_OK) {
        (void)json_read(text, length, NULL, &record, &why); /* without a value, the record is invalid */
        mem_free(text);
    }
    tn_value hash = value_get(record, "manifest"), key = value_get(record, "key");
    bool good = value_is(hash, TN_STRING) &&
                (!key || (value_is(key, TN_STRING) && config_is_public_key(value_chars(key, NULL))));
    if (!good) {
        error_set(error, TN_INVALID, "PACK_ALTERED",
                  "%s: the record of its installation is missing or invalid (%s): remove the pack and install it again",
                  folder, why.message ? why.message : PACK_RECORD);
        value_unref(record);
        error_finish(&why);
        return TN_INVALID;
    }
    *out = record;
    return TN_OK;
}

static int32_t pack_inspect_folder(const char *folder, int descriptor, struct installed_pack *pack, tn_value *record,
                                   struct error *error) {
    char *text;
    size_t length;
    int32_t status = pack_read_record(folder, descriptor, record, error);
    if (status != TN_OK) return status;
    struct error why = ERROR_INIT;
    if (pack_file_text(folder, descriptor, PACK_MANIFEST, PACK_MANIFEST_MAX, &text, &length, &why) != TN_OK) {
        error_set(error, TN_INVALID, "PACK_ALTERED", "%s; remove the pack and install it again", why.message);
        error_finish(&why);
        return TN_INVALID;
    }
    char actual[TN_SHA256_TEXT];
    const char *expected = value_chars(value_get(*record, "manifest"), NULL);
    assert(expected); /* pack_read_record has checked it */
    struct tn_sha256 hash;
    tn_sha256_init(&hash);
    tn_sha256_update(&hash, text, length);
    tn_sha256_finish_text(&hash, actual);
    if (strcmp(actual, expected) != 0)
        status =
            error_set(error, TN_INVALID, "PACK_ALTERED",
                      "%s/" PACK_MANIFEST ": its hash is %s, but was %s when it was installed: remove the pack and "
                      "install it again",
                      folder, actual, expected);
    else
        status = pack_manifest_read(folder, text, length, &pack->manifest, error);
    mem_free(text);
    assert(status != TN_OK || (pack->manifest.name && pack->manifest.version));
    if (status == TN_OK &&
        (strcmp(pack->name, pack->manifest.name) != 0 || strcmp(pack->version, pack->manifest.version) != 0))
        status = error_set(error, TN_INVALID, "PACK_ALTERED",
                           "%s: the folder contains the pack %s %s, which does not match the name of the folder",
                           folder, pack->manifest.name, pack->manifest.version);
    return status;
}

int32_t pack_inspect(const char *folder, struct installed_pack *out, struct error *error) {
    struct installed_pack pack = {.folder = mem_text(folder)};
    tn_value record = NULL;
    /* …/NAME/VERSION */
    const char *slash = strrchr(folder, '/'), *start = slash;
    while (start && start > folder && start[-1] != '/') start--;
    pack.version = mem_text(slash ? slash + 1 : folder);
    pack.name = slash ? mem_text_n(start, (size_t)(slash - start)) : mem_text("");
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int32_t status = descriptor < 0 ? error_set(error, TN_NOT_FOUND, "IO", "%s: %s", folder, strerror(errno))
                                    : pack_inspect_folder(folder, descriptor, &pack, &record, error);
    if (descriptor >= 0) close(descriptor);
    if (status == TN_OK && value_get(record, "key")) pack.key = mem_text(value_chars(value_get(record, "key"), NULL));
    tn_value from = status == TN_OK ? value_get(record, "from") : NULL;
    if (value_is(from, TN_STRING)) pack.from = mem_text(value_chars(from, NULL));
    value_unref(record);
    if (status == TN_OK)
        *out = pack;
    else
        installed_pack_finish(&pack);
    return status;
}

void installed_pack_finish(struct installed_pack *pack) {
    mem_free((void *)(uintptr_t)pack->folder);
    mem_free((void *)(uintptr_t)pack->name);
    mem_free((void *)(uintptr_t)pack->version);
    mem_free((void *)(uintptr_t)pack->key);
    mem_free((void *)(uintptr_t)pack->from);
    pack_manifest_finish(&pack->manifest);
    error_finish(&pack->fault);
    *pack = (struct installed_pack){0};
}

/* ---- All packs ---- */

struct pack_names {
    char **items;
    size_t count;
};

static void pack_names_finish(struct pack_names *names) {
    for (size_t i = 0; i < names->count; i++) mem_free(names->items[i]);
    mem_free((void *)names->items);
}

static int pack_compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static int pack_compare_versions(const void *a, const void *b) {
    const char *left = *(char *const *)a, *right = *(char *const *)b;
    struct version first, second;
    if (!version_parse(left, strlen(left), &first) || !version_parse(right, strlen(right), &second))
        return strcmp(left, right);
    return version_compare(&second, &first);
}

/* The valid names of entries of a folder, sorted. */
static struct pack_names pack_read_names(const char *path, bool (*valid)(const char *name), size_t most,
                                         int (*compare)(const void *a, const void *b)) {
    struct pack_names names = {NULL, 0};
    DIR *folder = opendir(path);
    if (!folder) return names;
    names.items = mem_array(NULL, most, sizeof *names.items);
    for (struct dirent *item; names.count < most && (item = readdir(folder)) != NULL;)
        if (valid(item->d_name)) names.items[names.count++] = mem_text(item->d_name);
    closedir(folder);
    qsort((void *)names.items, names.count, sizeof *names.items, compare);
    return names;
}

/* The key in the record of an altered version. It stays in use, so that the damage is reported and not hidden. */
static const char *pack_recorded_key(const char *folder) {
    char *key = NULL;
    tn_value record = NULL;
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return NULL;
    if (pack_read_record(folder, descriptor, &record, NULL) == TN_OK && value_get(record, "key"))
        key = mem_text(value_chars(value_get(record, "key"), NULL));
    value_unref(record);
    close(descriptor);
    return key;
}

static void pack_inspect_version(const struct config *config, const char *folder, const char *name, const char *version,
                                 struct installed_pack *out) {
    struct error fault = ERROR_INIT;
    tn_value path = value_format("%s/%s/%s", folder, name, version);
    if (pack_inspect(value_chars(path, NULL), out, &fault) != TN_OK)
        *out = (struct installed_pack){.folder = mem_text(value_chars(path, NULL)),
                                       .name = mem_text(name),
                                       .version = mem_text(version),
                                       .key = pack_recorded_key(value_chars(path, NULL)),
                                       .fault = fault};
    out->trusted = out->key && config_trusts(config, out->key, NULL);
    value_unref(path);
}

static void pack_visit_versions(const struct config *config, const char *folder, const char *name,
                                const struct pack_names *versions,
                                void (*visit)(void *user, const struct installed_pack *pack), void *user) {
    if (versions->count == 0) return;
    struct installed_pack *packs = mem_array(NULL, versions->count, sizeof *packs);
    size_t in_use = 0;
    for (size_t i = 0; i < versions->count; i++) {
        pack_inspect_version(config, folder, name, versions->items[i], &packs[i]);
        if (packs[i].trusted && !packs[in_use].trusted) in_use = i;
    }
    for (size_t i = 0; i < versions->count; i++) {
        if (i != in_use) packs[i].version_in_use = versions->items[in_use];
        visit(user, &packs[i]);
        installed_pack_finish(&packs[i]);
    }
    mem_free(packs);
}

void packs_each(const struct config *config, void (*visit)(void *user, const struct installed_pack *pack), void *user) {
    char *folder = config_packs_folder();
    struct pack_names names = {NULL, 0};
    if (folder) names = pack_read_names(folder, pack_name_valid, PACKS_MAX, pack_compare_names);
    for (size_t i = 0; i < names.count; i++) {
        tn_value path = value_format("%s/%s", folder, names.items[i]);
        struct pack_names versions =
            pack_read_names(value_chars(path, NULL), pack_version_valid, PACK_VERSIONS_MAX, pack_compare_versions);
        pack_visit_versions(config, folder, names.items[i], &versions, visit, user);
        pack_names_finish(&versions);
        value_unref(path);
    }
    pack_names_finish(&names);
    mem_free(folder);
}

/* ---- Verifying ---- */

static int32_t pack_compare_hash(const struct installed_pack *pack, const char *path, const char *actual,
                                 struct error *error) {
    tn_value expected = value_get(pack->manifest.files, path);
    if (!expected)
        return error_set(error, TN_INVALID, "PACK_ALTERED", "%s/%s is not a file of the pack %s %s", pack->folder, path,
                         pack->name, pack->version);
    if (value_text_is(expected, actual)) return TN_OK;
    return error_set(error, TN_INVALID, "PACK_ALTERED",
                     "%s/%s: it was altered: its hash is %s, but the pack %s %s lists %s; remove the pack and "
                     "install it again",
                     pack->folder, path, actual, pack->name, pack->version, value_chars(expected, NULL));
}

static int32_t pack_verify_file(const struct installed_pack *pack, int descriptor, const char *path,
                                struct error *error) {
    char actual[TN_SHA256_TEXT] = "";
    if (!value_get(pack->manifest.files, path)) return pack_compare_hash(pack, path, actual, error);
    struct error why = ERROR_INIT;
    int32_t status = pack_file_hash(pack->folder, descriptor, path, actual, &why);
    if (status != TN_OK)
        status = error_set(error, TN_INVALID, "PACK_ALTERED", "%s; remove the pack %s %s and install it again",
                           why.message, pack->name, pack->version);
    error_finish(&why);
    return status == TN_OK ? pack_compare_hash(pack, path, actual, error) : status;
}

static int pack_open_folder(const struct installed_pack *pack, struct error *error) {
    int descriptor = open(pack->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) error_set(error, TN_NOT_FOUND, "IO", "%s: %s", pack->folder, strerror(errno));
    return descriptor;
}

/* Checks a plugin, and the manifest file beside it if there is one. */
static int32_t pack_verify_plugin(const struct installed_pack *pack, const char *path, struct error *error) {
    int descriptor = pack_open_folder(pack, error);
    if (descriptor < 0) return TN_NOT_FOUND;
    int32_t status = pack_verify_file(pack, descriptor, path, error);
    size_t length = strlen(path);
    if (length > 3 && strcmp(path + length - 3, ".so") == 0) length -= 3;
    /* A manifest file that does not belong to the pack would be read, too. */
    tn_value beside = value_format("%.*s.tenon.json", (int)length, path);
    const char *sidecar = value_chars(beside, NULL);
    if (status == TN_OK && (value_get(pack->manifest.files, sidecar) || faccessat(descriptor, sidecar, F_OK, 0) == 0))
        status = pack_verify_file(pack, descriptor, sidecar, error);
    value_unref(beside);
    close(descriptor);
    return status;
}

int32_t pack_verify_part(const struct installed_pack *pack, const char *path, struct error *error) {
    if (pack_is_plugin(&pack->manifest, path)) return pack_verify_plugin(pack, path, error);
    int descriptor = pack_open_folder(pack, error);
    if (descriptor < 0) return TN_NOT_FOUND;
    int32_t status = pack_verify_file(pack, descriptor, path, error);
    close(descriptor);
    return status;
}

int32_t pack_verify_all(const struct installed_pack *pack, struct error *error) {
    int descriptor = pack_open_folder(pack, error);
    if (descriptor < 0) return TN_NOT_FOUND;
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < value_count(pack->manifest.files); i++)
        status = pack_verify_file(pack, descriptor, value_chars(value_key_at(pack->manifest.files, i), NULL), error);
    close(descriptor);
    return status;
}

/* ---- For hosts ---- */

static void packs_search_visit(void *user, const struct installed_pack *pack) {
    struct search *search = user;
    if (pack->version_in_use) return;
    tn_value source = value_format("pack %s %s", pack->name, pack->version);
    enum search_origin place = pack->trusted ? SEARCH_PACK : SEARCH_PACK_UNTRUSTED;
    if (pack->fault.code) {
        tn_value manifest = value_format("%s/" PACK_MANIFEST, pack->folder);
        const char *file = value_chars(manifest, NULL);
        bool names_it = strncmp(pack->fault.message, file, strlen(file)) == 0;
        search_add_fault(search, names_it ? file : pack->folder, place, value_chars(source, NULL), &pack->fault);
        value_unref(manifest);
    }
    for (size_t i = 0; i < value_count(pack->manifest.plugins); i++) {
        const char *plugin = value_chars(value_at(pack->manifest.plugins, i), NULL);
        tn_value path = value_format("%s/%s", pack->folder, plugin);
        struct error fault = ERROR_INIT;
        if (pack_verify_plugin(pack, plugin, &fault) == TN_OK)
            search_add(search, value_chars(path, NULL), place, value_chars(source, NULL));
        else
            search_add_fault(search, value_chars(path, NULL), place, value_chars(source, NULL), &fault);
        error_finish(&fault);
        value_unref(path);
    }
    value_unref(source);
}

void packs_search(const struct config *config, struct search *search) {
    packs_each(config, packs_search_visit, search);
}

/*
 * True if the file is below the folder of packs. Then `path` is its real path, and *below points to the part after the
 * folder.
 */
static bool packs_locate(const char *file, char path[PATH_MAX], char **below) {
    char folder[PATH_MAX];
    char *packs = config_packs_folder();
    bool both = packs && realpath(packs, folder) && realpath(file, path);
    mem_free(packs);
    size_t length = both ? strlen(folder) : 0;
    if (!both || strncmp(path, folder, length) != 0 || path[length] != '/') return false;
    *below = path + length + 1;
    return true;
}

bool packs_contain(const char *file) {
    char path[PATH_MAX], *below;
    return packs_locate(file, path, &below);
}

/* Splits NAME/VERSION/FILE: ends the path after VERSION, and returns FILE, or NULL if there is none. */
static char *packs_split(char *below) {
    char *slash = strchr(below, '/');
    slash = slash ? strchr(slash + 1, '/') : NULL;
    if (slash) *slash++ = 0;
    return slash;
}

int32_t packs_verify_read(const char *file, const void *bytes, size_t length, struct error *error) {
    char path[PATH_MAX], *below, actual[TN_SHA256_TEXT];
    struct installed_pack pack;
    struct tn_sha256 hash;
    if (!packs_locate(file, path, &below)) return TN_OK;
    const char *part = packs_split(below);
    if (!part) return TN_OK;
    int32_t status = pack_inspect(path, &pack, error);
    if (status != TN_OK) return status;
    tn_sha256_init(&hash);
    tn_sha256_update(&hash, bytes, length);
    tn_sha256_finish_text(&hash, actual);
    status = pack_compare_hash(&pack, part, actual, error);
    installed_pack_finish(&pack);
    return status;
}

bool packs_untrusted(const struct config *config, const char *plugin_path) {
    char path[PATH_MAX], *below;
    struct installed_pack pack;
    if (!packs_locate(plugin_path, path, &below)) return false;
    /* The folder is NAME/VERSION. A file elsewhere does not belong to a pack, and is not trusted. */
    if (!packs_split(below)) return true;
    if (pack_inspect(path, &pack, NULL) != TN_OK) return true;
    bool trusted = pack.key && config_trusts(config, pack.key, NULL);
    installed_pack_finish(&pack);
    return !trusted;
}
