/*
 * command_pack_list.c - `tenon pack list`: installed packs, their signers, and which of their parts can be used.
 *
 * A part is a file that pack.json lists as a plugin, document, prompt or schema. Its bytes are compared with the hash
 * in pack.json. A plugin must also be usable by this host, and a document must have no mistakes. Of versions that are
 * not in use, only the bytes are checked.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/source/source.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/plugin/pack/pack_installed.h"
#include "host/plugin/registry/loader.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include "host/program/command_pack.h"
#include <stdio.h>
#include <string.h>

struct pack_list {
    struct host *host; /* NULL if it cannot be opened */
    tn_value all;      /* with --json: the rows; otherwise NULL */
    size_t count, faults;
};

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
static void part_check_components(const struct pack_list *listing, struct plugin *plugin, struct error *error) {
    struct registry *registry = host_registry(listing->host);
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
static void part_check_plugin(const struct pack_list *listing, const char *path, struct error *error) {
    struct part_plugin part = {path, NULL};
    registry_each_found_plugin(host_registry(listing->host), part_find_plugin, &part);
    if (!part.plugin) {
        for (size_t i = 0; i < registry_problems(host_registry(listing->host)); i++) {
            const struct problem *problem = registry_problem_at(host_registry(listing->host), i);
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
        part_check_components(listing, part.plugin, error);
}

/* Sets the error to the first mistake of the document. */
static void part_check_document(const struct pack_list *listing, const char *path, struct error *error) {
    struct source *source = command_source(path, error);
    if (!source) return;
    struct diagnostics *found = diagnostics_new();
    document_unref(document_read(source, host_catalog(listing->host), found));
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

/* Sets the error if the part cannot be used. */
static void part_check(const struct pack_list *listing, const struct installed_pack *pack, const char *kind,
                       const char *file, struct error *error) {
    if (pack_verify_part(pack, file, error) != TN_OK || pack->version_in_use || !listing->host) return;
    tn_value path = value_format("%s/%s", pack->folder, file);
    if (strcmp(kind, "plugins") == 0)
        part_check_plugin(listing, value_chars(path, NULL), error);
    else if (strcmp(kind, "documents") == 0)
        part_check_document(listing, value_chars(path, NULL), error);
    value_unref(path);
}

/* [{kind, file, error?}]: the parts in the order of pack.json, then other files that were altered. */
static tn_value pack_parts(struct pack_list *listing, const struct installed_pack *pack) {
    tn_value parts = value_array(), listed = value_object();
    size_t faults = 0;
    for (const char *const *kind = pack_lists; *kind; kind++) {
        tn_value list = value_get(pack->manifest.value, *kind);
        for (size_t i = 0; i < value_count(list); i++) {
            struct error fault = ERROR_INIT;
            const char *file = value_chars(value_at(list, i), NULL);
            tn_value part = value_set_take(value_object(), "kind", value_text(*kind));
            part = value_set_take(part, "file", value_text(file));
            part_check(listing, pack, *kind, file, &fault);
            if (fault.code) part = value_set_take(part, "error", error_to_value(&fault));
            faults += fault.code && strcmp(fault.code, "PLUGIN_SHADOWED") != 0;
            error_finish(&fault);
            parts = value_push_take(parts, part);
            listed = value_set_take(listed, file, value_bool(true));
        }
    }
    for (size_t i = 0; i < value_count(pack->manifest.files); i++) {
        struct error fault = ERROR_INIT;
        const char *file = value_chars(value_key_at(pack->manifest.files, i), NULL);
        if (value_get(listed, file) || pack_verify_part(pack, file, &fault) == TN_OK) continue;
        tn_value part = value_set_take(value_object(), "kind", value_text("files"));
        part = value_set_take(part, "file", value_text(file));
        parts = value_push_take(parts, value_set_take(part, "error", error_to_value(&fault)));
        faults++;
        error_finish(&fault);
    }
    value_unref(listed);
    listing->faults += faults > 0;
    return parts;
}

/* ---- Printing ---- */

static const char *pack_trust_text(const struct installed_pack *pack) {
    if (!pack->key) return "not signed";
    return pack->trusted ? "trusted" : "not trusted";
}

static void pack_list_json(struct pack_list *listing, const struct installed_pack *pack) {
    tn_value row = value_set_take(value_object(), "name", value_text(pack->name));
    row = value_set_take(row, "version", value_text(pack->version));
    row = value_set_take(row, "folder", value_string_lossy(pack->folder, strlen(pack->folder)));
    row = value_set_take(row, "in_use", value_bool(!pack->version_in_use));
    if (pack->fault.code) {
        row = value_set_take(row, "error", error_to_value(&pack->fault));
    } else {
        row = value_set_take(row, "title", value_text(pack->manifest.title));
        row = value_set_take(row, "key", pack->key ? value_text(pack->key) : value_null());
        row = value_set_take(row, "trusted", value_bool(pack->trusted));
        if (pack->from) row = value_set_take(row, "from", value_text(pack->from));
        row = value_set_take(row, "parts", pack_parts(listing, pack));
    }
    listing->all = value_push_take(listing->all, row);
}

static void pack_print_parts(tn_value parts) {
    const char *before = "";
    for (size_t i = 0; i < value_count(parts); i++) {
        tn_value part = value_at(parts, i), error = value_get(part, "error");
        const char *kind = command_text(part, "kind", "");
        command_printf(stdout, "    %-10s %s\n", strcmp(kind, before) == 0 ? "" : kind, command_text(part, "file", ""));
        if (error)
            command_printf(stdout, "    %-10s   cannot be used: %s [%s]\n", "", command_text(error, "message", ""),
                           command_text(error, "code", ""));
        before = kind;
    }
}

static void pack_list_text(struct pack_list *listing, const struct installed_pack *pack) {
    if (listing->count > 1) putchar('\n');
    command_printf(stdout, "%s %s  %s\n    %s\n", pack->name, pack->version,
                   pack->fault.code ? "cannot be used" : pack->manifest.title, pack->folder);
    if (pack->fault.code) {
        command_printf(stdout, "    %s [%s]\n", pack->fault.message, pack->fault.code);
        return;
    }
    command_printf(stdout, "    %s%s%s\n", pack_trust_text(pack), pack->key ? ", signed by " : "",
                   pack->key ? pack->key : "");
    if (pack->from) command_printf(stdout, "    from %s\n", pack->from);
    if (pack->version_in_use)
        command_printf(stdout, "    not in use, because %s is installed: " PACK_WHICH_IS_USED "\n",
                       pack->version_in_use);
    tn_value parts = pack_parts(listing, pack);
    pack_print_parts(parts);
    value_unref(parts);
}

static void pack_list_add(void *user, const struct installed_pack *pack) {
    struct pack_list *listing = user;
    listing->count++;
    listing->faults += pack->fault.code != NULL;
    if (listing->all)
        pack_list_json(listing, pack);
    else
        pack_list_text(listing, pack);
}

int command_pack_list(const struct arguments *arguments) {
    struct config *config = pack_load_config(arguments);
    if (!config) return COMMAND_PLUGIN_PROBLEM;
    pack_warn_about_trust(config);
    struct error error = ERROR_INIT;
    struct pack_list listing = {.host = command_open(arguments, &error),
                                .all = argument_given(arguments, "json") ? value_array() : NULL};
    if (!listing.host) command_warn("warning: only the hashes are checked: %s", error.message);
    error_finish(&error);
    packs_each(config, pack_list_add, &listing);
    if (listing.all) {
        tn_value result = value_set_take(value_object(), "packs", listing.all);
        command_print(result);
        value_unref(result);
    } else if (listing.count == 0) {
        fprintf(stderr, "no packs are installed\n");
    }
    host_free(listing.host);
    config_free(config);
    return command_close(listing.faults ? COMMAND_PLUGIN_PROBLEM : COMMAND_OK);
}
