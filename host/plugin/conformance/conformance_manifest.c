/*
 * conformance_manifest.c - checks a plugin's manifest: its schema, its examples, its documentation, its names, and the
 * draft interfaces that it uses. No code of the plugin runs.
 */
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/plugin/conformance/conformance_internal.h"
#include "host/plugin/conformance/payload.h"
#include "host/plugin/registry/plugin_search.h"
#include "host/plugin/registry/reserved.h"
#include <stdio.h>
#include <string.h>

/* What the manifest that is being checked belongs to. */
struct manifest_check {
    const char *path;
    struct conformance *conformance;
};

static void conformance_add_manifest_problem(void *user, const char *message) {
    struct manifest_check *to = user;
    conformance_add(to->conformance, FINDING_MANIFEST_INVALID, "%s", message);
}

/* Warns about fields without a description, which editors show to authors of documents. */
static void conformance_check_fields(const struct manifest_check *to, tn_value component, const char *member) {
    tn_value properties = value_get(value_get(component, member), "properties");
    if (!value_is(properties, TN_OBJECT)) return;
    for (size_t i = 0; i < value_count(properties); i++) {
        tn_value field = value_value_at(properties, i);
        if (value_is(field, TN_OBJECT) && !value_get(field, "description") && !value_get(field, "$ref"))
            conformance_add(to->conformance, FINDING_FIELD_UNDOCUMENTED,
                            "%s: component `%s` (%s): `%s.properties.%s` has no `description`, which editors and "
                            "models read; add one",
                            to->path, manifest_text(component, "id"), manifest_text(component, "kind"), member,
                            value_chars(value_key_at(properties, i), NULL));
    }
}

const char *const conformance_known_effects[] = {"fs.read",
                                                 "fs.write",
                                                 "network.http",
                                                 "net",
                                                 "process.spawn",
                                                 "secret",
                                                 "clock",
                                                 "random",
                                                 "destructive",
                                                 "state.read",
                                                 "state.task_create",
                                                 "state.task_update",
                                                 "state.task_claim",
                                                 "state.artifact_write",
                                                 "calls.tool",
                                                 "calls.model",
                                                 "calls.node",
                                                 "calls.document",
                                                 "calls.any",
                                                 "calls.approved",
                                                 "host.method",
                                                 "mcp.write",
                                                 "server.route",
                                                 NULL};

/* Warns about a name that is similar to a known effect. Other unknown names may be meant for other hosts. */
static void conformance_check_effects(const struct manifest_check *to, tn_value component) {
    tn_value effects = value_get(component, "effects");
    for (size_t i = 0; value_is(effects, TN_ARRAY) && i < value_count(effects); i++) {
        tn_value effect = value_at(effects, i);
        if (!value_is(effect, TN_STRING)) continue;
        const char *text = value_chars(effect, NULL);
        size_t length = strcspn(text, ":");
        bool found = false;
        struct nearest nearest;
        nearest_init(&nearest, text, length);
        for (size_t k = 0; conformance_known_effects[k]; k++) {
            found |= strlen(conformance_known_effects[k]) == length &&
                     memcmp(conformance_known_effects[k], text, length) == 0;
            nearest_add_candidate(&nearest, conformance_known_effects[k], strlen(conformance_known_effects[k]));
        }
        if (found || !nearest_result(&nearest) || strncmp(text, "state.", 6) == 0) continue;
        conformance_add(to->conformance, FINDING_EFFECT_UNKNOWN,
                        "%s: component `%s` (%s): found the effect `%s`, which no host knows%s", to->path,
                        manifest_text(component, "id"), manifest_text(component, "kind"), text,
                        nearest_hint(&nearest).text);
    }
}

/* The examples of the manifest show the input and the output of its kind. */
static void conformance_check_shapes(const struct manifest_check *to, tn_value component) {
    static const char *const parts[] = {"input", "output"};
    const char *id = manifest_text(component, "id"), *kind = manifest_text(component, "kind");
    tn_value examples = value_get(component, "examples");
    for (size_t i = 0; value_is(examples, TN_ARRAY) && i < value_count(examples); i++)
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
            tn_value value = value_get(value_at(examples, i), parts[k]);
            char shape[PAYLOAD_SHAPE_MAX];
            (void)snprintf(shape, sizeof shape, "%.20s#%s", kind, parts[k]);
            char *difference = value ? payload_check(shape, value) : NULL;
            if (difference)
                conformance_add(to->conformance, FINDING_SHAPE,
                                "%s: component `%s` (%s): `examples.%zu.%s` is not valid: %s; see `tenon schema %s`",
                                to->path, id, kind, i, parts[k], difference, kind);
            mem_free(difference);
        }
}

static void conformance_check_component(const struct manifest_check *to, tn_value component) {
    const char *id = manifest_text(component, "id"), *kind = manifest_text(component, "kind");
    if (!*manifest_text(component, "documentation"))
        conformance_add(
            to->conformance, FINDING_DOCUMENTATION_MISSING,
            "%s: component `%s` (%s) has no `documentation`, so editors show only its title; describe what it "
            "does",
            to->path, id, kind);
    if (!value_get(component, "effects"))
        conformance_add(
            to->conformance, FINDING_EFFECTS_MISSING,
            "%s: component `%s` (%s) declares no effects, so the host assumes the worst and never caches or "
            "retries it; declare `[]` if it has none",
            to->path, id, kind);
    conformance_check_effects(to, component);
    conformance_check_fields(to, component, "config");
    if (strcmp(kind, "tool") == 0) conformance_check_fields(to, component, "input");
    conformance_check_shapes(to, component);
}

/* ---- Draft interfaces ---- */

bool conformance_is_draft(const struct registry_options *options, const char *interface_id) {
    for (const struct registry_interface *row = options->interfaces; row && row->id; row++)
        if (strcmp(row->id, interface_id) == 0) return row->draft;
    return false;
}

bool conformance_allows_drafts(const struct registry_options *options, const char *id) {
    return options->allow_drafts || (options->drafts && options->drafts(options->user, id));
}

/* True if a finding of this code quotes the interface. */
static bool conformance_has_interface(const struct conformance *conformance, enum finding finding, const char *quoted) {
    for (size_t i = 0; i < conformance->count; i++)
        if (strcmp(conformance->items[i].code, finding_info(finding)->code) == 0 &&
            strstr(conformance->items[i].message, quoted))
            return true;
    return false;
}

void conformance_add_draft(struct conformance *conformance, const char *path, const char *id, const char *interface_id,
                           bool allowed) {
    char quoted[256];
    if (search_is_installed(path)) return; /* bundled plugins may use drafts everywhere */
    snprintf(quoted, sizeof quoted, "`%.200s`", interface_id);
    if (conformance_has_interface(conformance, FINDING_DRAFT, quoted)) return;
    if (allowed)
        conformance_add_as(conformance, CONFORMANCE_NOTE, FINDING_DRAFT,
                           "%s: uses the draft interface %s, which is allowed here; every other user must allow it "
                           "with `plugins: {drafts: [%s]}` in tenon.yaml",
                           path, quoted, id);
    else
        conformance_add(conformance, FINDING_DRAFT,
                        "%s: uses the draft interface %s, which is not allowed here, so that it gets NULL at run time; "
                        "allow it with `plugins: {drafts: [%s]}` in tenon.yaml, or with --allow-drafts",
                        path, quoted, id);
}

/* One that is required and not allowed is the reason why the plugin is not loaded, and reported as that. */
static void conformance_check_drafts(const struct manifest_check *to, tn_value plugin,
                                     const struct registry_options *options) {
    static const char *const members[] = {"requires", "optional"};
    const char *id = manifest_text(plugin, "id");
    bool allowed = conformance_allows_drafts(options, id);
    for (size_t m = 0; m < sizeof members / sizeof *members; m++) {
        tn_value list = value_get(plugin, members[m]);
        for (size_t i = 0; value_is(list, TN_ARRAY) && i < value_count(list); i++) {
            const char *interface_id = value_chars(value_at(list, i), NULL);
            if (interface_id && conformance_is_draft(options, interface_id) && (allowed || m > 0))
                conformance_add_draft(to->conformance, to->path, id, interface_id, allowed);
        }
    }
}

/* ---- Requested interfaces ---- */

static bool manifest_lists(tn_value manifest, const char *interface_id) {
    static const char *const members[] = {"requires", "optional"};
    for (size_t m = 0; m < sizeof members / sizeof *members; m++) {
        tn_value list = value_get(manifest_plugin(manifest), members[m]);
        for (size_t i = 0; value_is(list, TN_ARRAY) && i < value_count(list); i++)
            if (value_text_is(value_at(list, i), interface_id)) return true;
    }
    return false;
}

bool conformance_add_request(struct conformance *conformance, const char *path, tn_value manifest,
                             const struct registry_options *options, const char *interface_id) {
    const char *id = manifest_text(manifest_plugin(manifest), "id");
    char quoted[256];
    bool offered = false;
    if (conformance_is_draft(options, interface_id)) {
        conformance_add_draft(conformance, path, id, interface_id, conformance_allows_drafts(options, id));
        return false;
    }
    for (const struct registry_interface *row = options->interfaces; row && row->id; row++)
        offered |= strcmp(row->id, interface_id) == 0;
    snprintf(quoted, sizeof quoted, "`%.200s`", interface_id);
    /* One that this host does not have may be a guess at a later version: the plugin gets NULL. */
    if (!offered || manifest_lists(manifest, interface_id) ||
        conformance_has_interface(conformance, FINDING_INTERFACE_UNDECLARED, quoted))
        return false;
    conformance_add(conformance, FINDING_INTERFACE_UNDECLARED,
                    "%s: requests the interface %s, which its manifest does not list; add it to `requires`, or to "
                    "`optional` if the plugin works without it",
                    path, quoted);
    return true;
}

/* ---- The manifest ---- */

/* It serves a protocol: its effects have `server.route:PATTERN`. */
static bool plugin_has_routes(tn_value plugin) {
    static const char prefix[] = "server.route:";
    tn_value effects = value_get(plugin, "effects");
    for (size_t i = 0; effects && i < value_count(effects); i++) {
        tn_value effect = value_at(effects, i);
        if (value_is(effect, TN_STRING) && strncmp(value_chars(effect, NULL), prefix, sizeof prefix - 1) == 0)
            return true;
    }
    return false;
}

bool conformance_check_manifest(const char *path, const struct registry_options *options,
                                struct conformance *conformance, struct manifest *out) {
    struct manifest manifest;
    struct error error = ERROR_INIT;
    if (manifest_read(path, &manifest, &error) != TN_OK) {
        conformance_add(conformance,
                        strcmp(error.code, "MANIFEST_MISSING") == 0 ? FINDING_MANIFEST_MISSING
                                                                    : FINDING_MANIFEST_INVALID,
                        "%s", error.message);
        error_finish(&error);
        return false;
    }
    struct manifest_check to = {path, conformance};
    tn_value plugin = manifest_plugin(manifest.value), components = manifest_components(manifest.value);
    (void)manifest_validate(path, manifest.value, conformance_add_manifest_problem, &to);
    for (size_t i = 0; i < value_count(components); i++) conformance_check_component(&to, value_at(components, i));
    if (value_count(components) == 0 && value_count(value_get(plugin, "dynamic")) == 0 &&
        value_count(value_get(plugin, "provides")) == 0 && !plugin_has_routes(plugin))
        conformance_add(
            conformance, FINDING_NOTHING_OFFERED,
            "%s: the manifest has no components, provides no interface, is not dynamic and serves no route, "
            "so nothing can use it; declare what it offers",
            path);
    if (!value_get(plugin, "licence"))
        conformance_add(conformance, FINDING_LICENCE_MISSING,
                        "%s: plugin `%s` declares no licence; add `licence` to its manifest", path,
                        manifest_text(plugin, "id"));
    conformance_check_drafts(&to, plugin, options);
    bool reserved = !search_is_installed(path) && reserved_check(path, manifest.value, &error) != TN_OK;
    if (reserved) conformance_add(conformance, FINDING_NAME_RESERVED, "%s", error.message);
    error_finish(&error);
    if (reserved)
        manifest_finish(&manifest);
    else
        *out = manifest;
    return !reserved;
}
