/*
 * conformance.c - the list of findings, and the checks that read a plugin's file. conformance_run.c runs the plugin.
 *
 * Reading continues after a finding if the rest can still be understood.
 */
#include "host/plugin/conformance/conformance.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/plugin/conformance/conformance_internal.h"
#include "host/plugin/conformance/payload.h"
#include "host/plugin/registry/elf_note.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin_search.h"
#include "host/plugin/registry/reserved.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ENTRY "tn_plugin_entry_1"

/* ---- Findings ---- */

void conformance_add(struct conformance *conformance, enum conformance_severity severity, const char *code,
                     const char *format, ...) {
    if (conformance->count == CONFORMANCE_FINDINGS_MAX) {
        conformance->dropped++;
        return;
    }
    struct buffer text;
    va_list args;
    buffer_init(&text, SIZE_MAX);
    va_start(args, format);
    buffer_vformat(&text, format, args);
    va_end(args);
    MEM_EXTEND(conformance->items, conformance->count);
    conformance->items[conformance->count++] =
        (struct conformance_finding){severity, code, mem_text(buffer_cstr(&text))};
    buffer_finish(&text);
}

void conformance_finish(struct conformance *conformance) {
    for (size_t i = 0; i < conformance->count; i++) mem_free(conformance->items[i].message);
    mem_free(conformance->items);
    *conformance = (struct conformance)CONFORMANCE_INIT;
}

int conformance_worst(const struct conformance *conformance) {
    int worst = -1;
    for (size_t i = 0; i < conformance->count; i++)
        if ((int)conformance->items[i].severity > worst) worst = (int)conformance->items[i].severity;
    return worst;
}

const char *conformance_severity_name(enum conformance_severity severity) {
    static const char *const names[] = {
        [CONFORMANCE_NOTE] = "note", [CONFORMANCE_WARNING] = "warning", [CONFORMANCE_ERROR] = "error"};
    return names[severity];
}

tn_value conformance_to_value(const struct conformance *conformance) {
    tn_value all = value_array_reserve(conformance->count);
    for (size_t i = 0; i < conformance->count; i++) {
        tn_value item = value_object_reserve(3);
        item = value_set_take(item, "severity", value_text(conformance_severity_name(conformance->items[i].severity)));
        item = value_set_take(item, "code", value_text(conformance->items[i].code));
        item = value_set_take(item, "message",
                              value_string_lossy(conformance->items[i].message, strlen(conformance->items[i].message)));
        all = value_push_take(all, item);
    }
    return all;
}

/* ---- Symbols ---- */

/* Symbols that compilers and linkers add. */
static bool is_toolchain_symbol(const char *name) {
    static const char *const names[] = {"_init", "_fini", "__bss_start", "_edata", "_end"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return strncmp(name, "__odr_asan", 10) == 0 || strncmp(name, "__start_", 8) == 0 ||
           strncmp(name, "__stop_", 7) == 0;
}

static void conformance_check_symbols(const char *path, struct elf_file *file, struct conformance *conformance) {
    struct elf_symbols symbols = ELF_SYMBOLS_INIT;
    struct error error = ERROR_INIT;
    if (elf_symbols(file, &symbols, &error) != TN_OK) {
        conformance_add(conformance, CONFORMANCE_ERROR, "ELF", "%s", error.message);
        error_finish(&error);
        return;
    }
    bool entry = false;
    for (size_t i = 0; i < symbols.defined_count; i++) {
        const char *name = symbols.defined[i];
        if (strcmp(name, ENTRY) == 0)
            entry = true;
        else if (!is_toolchain_symbol(name))
            conformance_add(conformance, CONFORMANCE_ERROR, "EXTRA_SYMBOL",
                            "%s: exports `%s`; a plugin exports " ENTRY
                            " and nothing else: link it with tenon_add_plugin(), or "
                            "with tenon-plugin.map",
                            path, name);
    }
    if (!entry)
        conformance_add(conformance, CONFORMANCE_ERROR, "ENTRY_MISSING",
                        "%s: does not export " ENTRY "; declare it with TN_EXPORT", path);
    for (size_t i = 0; i < symbols.unique_count; i++)
        conformance_add(
            conformance, CONFORMANCE_ERROR, "UNIQUE_SYMBOL",
            "%s: `%s` is unique in a process (STB_GNU_UNIQUE), so two versions of the plugin would share it; build "
            "with -fno-gnu-unique",
            path, symbols.unique[i]);
    for (size_t i = 0; i < symbols.undefined_count; i++)
        if (strncmp(symbols.undefined[i], "tn_", 3) == 0 || strncmp(symbols.undefined[i], "tenon_", 6) == 0)
            conformance_add(conformance, CONFORMANCE_ERROR, "HOST_SYMBOL",
                            "%s: imports the host symbol `%s`; a plugin gets interfaces from tn_host.get instead", path,
                            symbols.undefined[i]);
    for (size_t i = 0; i < symbols.needed_count; i++)
        if (strncmp(symbols.needed[i], "libtenon", 8) == 0)
            conformance_add(conformance, CONFORMANCE_ERROR, "HOST_LIBRARY",
                            "%s: is linked with %s; a plugin needs only the headers", path, symbols.needed[i]);
    elf_symbols_finish(&symbols);
}

/* ---- Manifest ---- */

/* What the manifest that is being checked belongs to. */
struct manifest_check {
    const char *path;
    struct conformance *conformance;
};

static void conformance_add_manifest_problem(void *user, const char *message) {
    struct manifest_check *to = user;
    conformance_add(to->conformance, CONFORMANCE_ERROR, "MANIFEST_INVALID", "%s", message);
}

/* Warns about fields without a description, which editors show to authors of documents. */
static void conformance_check_fields(const struct manifest_check *to, tn_value component, const char *member) {
    tn_value properties = value_get(value_get(component, member), "properties");
    if (!value_is(properties, TN_OBJECT)) return;
    for (size_t i = 0; i < value_count(properties); i++) {
        tn_value field = value_value_at(properties, i);
        if (value_is(field, TN_OBJECT) && !value_get(field, "description") && !value_get(field, "$ref"))
            conformance_add(to->conformance, CONFORMANCE_WARNING, "FIELD_UNDOCUMENTED",
                            "%s: component `%s` (%s): `%s.properties.%s` has no description", to->path,
                            manifest_text(component, "id"), manifest_text(component, "kind"), member,
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
                                                 "mcp.write",
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
        conformance_add(to->conformance, CONFORMANCE_WARNING, "EFFECT_UNKNOWN",
                        "%s: component `%s` (%s): the effect `%s` is unknown%s", to->path,
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
                conformance_add(to->conformance, CONFORMANCE_ERROR, "SHAPE",
                                "%s: component `%s` (%s): `examples.%zu.%s` is not valid: %s; see `tenon schema %s`",
                                to->path, id, kind, i, parts[k], difference, kind);
            mem_free(difference);
        }
}

static void conformance_check_component(const struct manifest_check *to, tn_value component) {
    const char *id = manifest_text(component, "id"), *kind = manifest_text(component, "kind");
    if (!*manifest_text(component, "documentation"))
        conformance_add(to->conformance, CONFORMANCE_WARNING, "DOCUMENTATION_MISSING",
                        "%s: component `%s` (%s) has no documentation: editors show only its title", to->path, id,
                        kind);
    if (!value_get(component, "effects"))
        conformance_add(
            to->conformance, CONFORMANCE_WARNING, "EFFECTS_MISSING",
            "%s: component `%s` (%s) declares no effects, so the host assumes the worst and never caches or "
            "retries it; declare `[]` if it has none",
            to->path, id, kind);
    conformance_check_effects(to, component);
    conformance_check_fields(to, component, "config");
    if (strcmp(kind, "tool") == 0) conformance_check_fields(to, component, "input");
    conformance_check_shapes(to, component);
}

static bool conformance_check_manifest(const char *path, struct conformance *conformance, tn_value *out) {
    struct manifest manifest;
    struct error error = ERROR_INIT;
    if (manifest_read(path, &manifest, &error) != TN_OK) {
        conformance_add(conformance, CONFORMANCE_ERROR,
                        strcmp(error.code, "MANIFEST_MISSING") == 0 ? "MANIFEST_MISSING" : "MANIFEST_INVALID", "%s",
                        error.message);
        error_finish(&error);
        return false;
    }
    struct manifest_check to = {path, conformance};
    tn_value plugin = manifest_plugin(manifest.value), components = manifest_components(manifest.value);
    (void)manifest_validate(path, manifest.value, conformance_add_manifest_problem, &to);
    for (size_t i = 0; i < value_count(components); i++) conformance_check_component(&to, value_at(components, i));
    if (value_count(components) == 0 && value_count(value_get(plugin, "dynamic")) == 0 &&
        value_count(value_get(plugin, "provides")) == 0)
        conformance_add(
            conformance, CONFORMANCE_WARNING, "NOTHING_OFFERED",
            "%s: the manifest has no components, provides no interface and is not dynamic: no document can use it",
            path);
    if (!value_get(plugin, "licence"))
        conformance_add(conformance, CONFORMANCE_NOTE, "LICENCE_MISSING", "%s: plugin `%s` declares no licence", path,
                        manifest_text(plugin, "id"));
    bool reserved = !search_is_installed(path) && reserved_check(path, manifest.value, &error) != TN_OK;
    if (reserved) conformance_add(conformance, CONFORMANCE_ERROR, "NAME_RESERVED", "%s", error.message);
    error_finish(&error);
    *out = manifest.value;
    if (reserved) manifest_finish(&manifest); /* no host loads it */
    return !reserved;
}

void conformance_check(const char *path, const struct registry_options *options, int timeout_ms,
                       struct conformance *conformance) {
    struct elf_file *file;
    struct error error = ERROR_INIT;
    tn_value manifest = NULL;
    if (elf_open(path, &file, &error) != TN_OK) {
        conformance_add(conformance, CONFORMANCE_ERROR, "ELF", "%s", error.message);
        error_finish(&error);
        return;
    }
    conformance_check_symbols(path, file, conformance);
    elf_close(file);
    if (!conformance_check_manifest(path, conformance, &manifest)) return;
    conformance_run(path, manifest, options, timeout_ms > 0 ? timeout_ms : CONFORMANCE_TIMEOUT_MS, conformance);
    value_unref(manifest);
}
