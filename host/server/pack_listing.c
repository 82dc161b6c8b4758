/*
 * pack_listing.c - installed packs as data, and which of their parts can be used.
 */
#include "host/server/pack_listing.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/source/source.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/plugin/pack/pack_files.h"
#include "host/plugin/pack/pack_installed.h"
#include "host/plugin/registry/loader.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define PART_TEXT_MAX (64u << 20) /* bytes of a document */

/* ---- Parts ---- */

struct part_plugin {
    const char *path;
    struct plugin *plugin;
};

static void part_find_plugin(void *user, struct plugin *plugin) {
    struct part_plugin *part = user;
    if (strcmp(plugin_path(plugin), part->path) == 0) part->plugin = plugin;
}

/* Sets the error if documents cannot use a plugin because others have its components, or claim them, too. */
static void part_check_components(const struct host *host, struct plugin *plugin, struct error *error) {
    struct registry *registry = host_registry(host);
    tn_value components = manifest_components(plugin_manifest(plugin));
    const struct component_info *other = NULL;
    bool used = value_count(components) == 0;
    for (size_t i = 0; i < registry_problems(registry); i++) {
        const struct problem *problem = registry_problem_at(registry, i);
        if (!problem->rival) continue;
        if (strcmp(problem->path, plugin_path(plugin)) != 0 && strcmp(problem->rival, plugin_path(plugin)) != 0)
            continue;
        error_set(error, TN_INVALID, problem->code, "%s", problem->message);
        return;
    }
    for (size_t i = 0; i < value_count(components) && !used; i++) {
        tn_value component = value_at(components, i);
        other = registry_known(registry, manifest_text(component, "kind"), manifest_text(component, "id"));
        used = !other || strcmp(other->plugin_id, plugin_id(plugin)) == 0;
    }
    if (used || !other) return;
    const struct plugin *shadow = registry_plugin(registry, other->plugin_id);
    error_set(error, TN_INVALID, "PLUGIN_SHADOWED", "shadowed by %s %s: %s (%s), which has the %s `%s`",
              other->plugin_id, other->plugin_version, shadow ? plugin_path(shadow) : "",
              shadow ? plugin_source(shadow) : "", other->kind, other->id);
}

/* Sets the error if this host cannot use the plugin. */
static void part_check_plugin(const struct host *host, const char *path, struct error *error) {
    struct part_plugin part = {path, NULL};
    registry_each_found_plugin(host_registry(host), part_find_plugin, &part);
    if (!part.plugin) {
        for (size_t i = 0; i < registry_problems(host_registry(host)); i++) {
            const struct problem *problem = registry_problem_at(host_registry(host), i);
            if (strcmp(problem->path, path) == 0) error_set(error, TN_INVALID, problem->code, "%s", problem->message);
        }
        return; /* otherwise another file with the same contents is used */
    }
    const struct error *refusal = plugin_refusal(part.plugin);
    const struct plugin *shadow = plugin_shadowed_by(part.plugin);
    if (refusal)
        error_copy(error, refusal);
    else if (shadow)
        error_set(error, TN_INVALID, "PLUGIN_SHADOWED", "shadowed by %s %s: %s (%s)", plugin_id(shadow),
                  plugin_version(shadow), plugin_path(shadow), plugin_source(shadow));
    else if (loader_preflight(part.plugin, error) == TN_OK)
        part_check_components(host, part.plugin, error);
}

static struct source *part_source(const char *folder, const char *file, struct error *error) {
    char *text = NULL;
    size_t length;
    int opened = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0) {
        error_set(error, TN_NOT_FOUND, "IO", "cannot open %s: %s", folder, strerror(errno));
        return NULL;
    }
    tn_value path = value_format("%s/%s", folder, file);
    const char *name = value_chars(path, NULL);
    bool good = pack_file_text(folder, opened, file, PART_TEXT_MAX, &text, &length, error) == TN_OK &&
                packs_verify_read(name, text, length, error) == TN_OK;
    struct source *source = good ? source_new(name, text, length) : NULL;
    close(opened);
    mem_free(text);
    value_unref(path);
    return source;
}

/* Sets the error to the first mistake of the document. */
static void part_check_document(const struct host *host, const char *folder, const char *file, struct error *error) {
    struct source *source = part_source(folder, file, error);
    if (!source) return;
    struct diagnostics *found = diagnostics_new();
    document_unref(document_read(source, host_catalog(host), found));
    diagnostics_sort(found);
    for (size_t i = 0; i < diagnostics_count(found) && !error->code; i++) {
        const struct diagnostic *it = diagnostics_at(found, i);
        if (it->severity != DIAGNOSTIC_ERROR) continue;
        struct source_place place = source_locate(it->source, it->span.start);
        error_set(error, TN_INVALID, "INVALID_GRAPH", "%s:%u:%u: %s", source_name(it->source), place.line + 1,
                  place.point + 1, it->message);
    }
    diagnostics_free(found);
    source_unref(source);
}

/* Takes the part; adds the error if there is one, and frees it. */
static tn_value part_add_error_take(tn_value part, struct error *error) {
    if (error->code) part = value_set_take(part, "error", error_to_value(error));
    error_finish(error);
    return part;
}

static tn_value part_new(const char *kind, const char *file) {
    tn_value part = value_set_take(value_object_reserve(3), "kind", value_text(kind));
    return value_set_take(part, "file", value_text(file));
}

tn_value pack_listing_verify(const struct installed_pack *pack) {
    tn_value parts = value_array(), listed = value_object();
    for (const char *const *kind = pack_lists; *kind; kind++) {
        tn_value list = value_get(pack->manifest.value, *kind);
        for (size_t i = 0; i < value_count(list); i++) {
            struct error fault = ERROR_INIT;
            const char *file = value_chars(value_at(list, i), NULL);
            (void)pack_verify_part(pack, file, &fault);
            parts = value_push_take(parts, part_add_error_take(part_new(*kind, file), &fault));
            listed = value_set_take(listed, file, value_bool(true));
        }
    }
    for (size_t i = 0; i < value_count(pack->manifest.files); i++) {
        struct error fault = ERROR_INIT;
        const char *file = value_chars(value_key_at(pack->manifest.files, i), NULL);
        if (value_get(listed, file) || pack_verify_part(pack, file, &fault) == TN_OK) continue;
        parts = value_push_take(parts, part_add_error_take(part_new("files", file), &fault));
    }
    value_unref(listed);
    return parts;
}

/* The part, with an error if this host cannot use it; a new reference. */
static tn_value part_checked(const struct host *host, const char *folder, tn_value part) {
    const char *file = value_chars(value_get(part, "file"), NULL);
    struct error fault = ERROR_INIT;
    if (value_get(part, "error")) return value_ref(part);
    if (value_text_is(value_get(part, "kind"), "plugins")) {
        tn_value path = value_format("%s/%s", folder, file);
        part_check_plugin(host, value_chars(path, NULL), &fault);
        value_unref(path);
    } else if (value_text_is(value_get(part, "kind"), "documents")) {
        part_check_document(host, folder, file, &fault);
    }
    return part_add_error_take(value_ref(part), &fault);
}

tn_value pack_listing_check(const struct host *host, const char *folder, tn_value parts) {
    tn_value checked = value_array_reserve(value_count(parts));
    for (size_t i = 0; i < value_count(parts); i++)
        checked = value_push_take(checked, part_checked(host, folder, value_at(parts, i)));
    return checked;
}

/* ---- Packs ---- */

tn_value pack_listing_row(const struct installed_pack *pack) {
    tn_value row = value_set_take(value_object(), "name", value_text(pack->name));
    row = value_set_take(row, "version", value_text(pack->version));
    row = value_set_take(row, "folder", value_string_lossy(pack->folder, strlen(pack->folder)));
    row = value_set_take(row, "in_use", value_bool(!pack->version_in_use));
    if (pack->fault.code) return value_set_take(row, "error", error_to_value(&pack->fault));
    row = value_set_take(row, "title", value_text(pack->manifest.title));
    row = value_set_take(row, "key", pack->key ? value_text(pack->key) : value_null());
    row = value_set_take(row, "trusted", value_bool(pack->trusted));
    return pack->from ? value_set_take(row, "from", value_text(pack->from)) : row;
}
