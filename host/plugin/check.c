/*
 * check.c - findings about a plugin: what can be read of it. What only running shows is check_run.c's.
 *
 * Reading goes on after a fault, as far as what is left can be understood.
 */
#include "host/plugin/check.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/plugin/check_internal.h"
#include "host/plugin/elf_note.h"
#include "host/plugin/manifest.h"
#include <stdarg.h>
#include <string.h>

#define ENTRY "tn_plugin_entry_1"

/* ---- Findings ---- */

void check_add(struct check *check, enum check_severity severity, const char *code, const char *format, ...) {
    if (check->count == CHECK_FINDINGS_MAX) {
        check->dropped++;
        return;
    }
    struct buffer text;
    va_list args;
    buffer_init(&text, SIZE_MAX);
    va_start(args, format);
    buffer_vformat(&text, format, args);
    va_end(args);
    if ((check->count & (check->count - 1)) == 0)
        check->items = mem_array(check->items, check->count ? check->count * 2 : 1, sizeof *check->items);
    check->items[check->count++] = (struct check_finding){severity, code, mem_text(buffer_cstr(&text))};
    buffer_finish(&text);
}

void check_finish(struct check *check) {
    for (size_t i = 0; i < check->count; i++) mem_free(check->items[i].message);
    mem_free(check->items);
    *check = (struct check)CHECK_INIT;
}

int check_worst(const struct check *check) {
    int worst = -1;
    for (size_t i = 0; i < check->count; i++)
        if ((int)check->items[i].severity > worst) worst = (int)check->items[i].severity;
    return worst;
}

const char *check_severity_name(enum check_severity severity) {
    static const char *const names[] = {[CHECK_NOTE] = "note", [CHECK_WARNING] = "warning", [CHECK_ERROR] = "error"};
    return names[severity];
}

tn_value check_to_value(const struct check *check) {
    tn_value all = value_array_reserve(check->count);
    for (size_t i = 0; i < check->count; i++) {
        tn_value item = value_object_reserve(3);
        item = value_set_take(item, "severity", value_text(check_severity_name(check->items[i].severity)));
        item = value_set_take(item, "code", value_text(check->items[i].code));
        item = value_set_take(item, "message",
                              value_string_lossy(check->items[i].message, strlen(check->items[i].message)));
        all = value_push_take(all, item);
    }
    return all;
}

/* ---- Symbols ---- */

/* What compilers and linkers put there on their own. */
static bool is_toolchain(const char *name) {
    static const char *const names[] = {"_init", "_fini", "__bss_start", "_edata", "_end"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return strncmp(name, "__odr_asan", 10) == 0 || strncmp(name, "__start_", 8) == 0 ||
           strncmp(name, "__stop_", 7) == 0;
}

static void check_symbols(const char *path, struct elf_file *file, struct check *check) {
    struct elf_symbols symbols = ELF_SYMBOLS_INIT;
    struct error error = ERROR_INIT;
    if (elf_symbols(file, &symbols, &error) != TN_OK) {
        check_add(check, CHECK_ERROR, "ELF", "%s", error.message);
        error_finish(&error);
        return;
    }
    bool entry = false;
    for (size_t i = 0; i < symbols.defined_count; i++) {
        const char *name = symbols.defined[i];
        if (strcmp(name, ENTRY) == 0)
            entry = true;
        else if (!is_toolchain(name))
            check_add(check, CHECK_ERROR, "EXTRA_SYMBOL",
                      "%s: exports `%s`; a plugin exports " ENTRY
                      " and nothing else: link it with tenon_add_plugin(), or "
                      "with tenon-plugin.map",
                      path, name);
    }
    if (!entry)
        check_add(check, CHECK_ERROR, "ENTRY_MISSING", "%s: does not export " ENTRY "; give it TN_EXPORT", path);
    for (size_t i = 0; i < symbols.unique_count; i++)
        check_add(
            check, CHECK_ERROR, "UNIQUE_SYMBOL",
            "%s: `%s` is unique in a process (STB_GNU_UNIQUE), so two versions of the plugin would share it; build "
            "with -fno-gnu-unique",
            path, symbols.unique[i]);
    for (size_t i = 0; i < symbols.undefined_count; i++)
        if (strncmp(symbols.undefined[i], "tn_", 3) == 0 || strncmp(symbols.undefined[i], "tenon_", 6) == 0)
            check_add(check, CHECK_ERROR, "HOST_SYMBOL",
                      "%s: wants `%s` of the host by name; a plugin imports no host symbol: ask tn_host.get for the "
                      "interface",
                      path, symbols.undefined[i]);
    for (size_t i = 0; i < symbols.needed_count; i++)
        if (strncmp(symbols.needed[i], "libtenon", 8) == 0)
            check_add(check, CHECK_ERROR, "HOST_LIBRARY", "%s: is linked with %s; a plugin needs headers alone", path,
                      symbols.needed[i]);
    elf_symbols_finish(&symbols);
}

/* ---- Manifest ---- */

struct described {
    const char *path;
    struct check *check;
};

static void manifest_problem(void *user, const char *message) {
    struct described *described = user;
    check_add(described->check, CHECK_ERROR, "MANIFEST_INVALID", "%s", message);
}

/* Fields without a word about them leave whoever writes a document guessing. */
static void check_fields(const struct described *to, tn_value component, const char *member) {
    tn_value properties = value_get(value_get(component, member), "properties");
    if (!value_is(properties, TN_OBJECT)) return;
    for (size_t i = 0; i < value_count(properties); i++) {
        tn_value field = value_value_at(properties, i);
        if (value_is(field, TN_OBJECT) && !value_get(field, "description") && !value_get(field, "$ref"))
            check_add(to->check, CHECK_WARNING, "FIELD_UNDOCUMENTED",
                      "%s: component `%s` (%s): `%s.properties.%s` has no description", to->path,
                      manifest_text(component, "id"), manifest_text(component, "kind"), member,
                      value_chars(value_key_at(properties, i), NULL));
    }
}

const char *const check_known_effects[] = {"fs.read",
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
                                           NULL};

/* A name of an effect that is nearly one that means something here; others are the author's own. */
static void check_effects(const struct described *to, tn_value component) {
    tn_value effects = value_get(component, "effects");
    for (size_t i = 0; value_is(effects, TN_ARRAY) && i < value_count(effects); i++) {
        tn_value effect = value_at(effects, i);
        if (!value_is(effect, TN_STRING)) continue;
        const char *text = value_chars(effect, NULL);
        size_t length = strcspn(text, ":");
        bool found = false;
        struct nearest nearest;
        nearest_init(&nearest, text, length);
        for (size_t k = 0; check_known_effects[k]; k++) {
            found |= strlen(check_known_effects[k]) == length && memcmp(check_known_effects[k], text, length) == 0;
            nearest_offer(&nearest, check_known_effects[k], strlen(check_known_effects[k]));
        }
        const char *near = nearest_result(&nearest);
        if (found || !near || strncmp(text, "state.", 6) == 0) continue;
        check_add(to->check, CHECK_WARNING, "EFFECT_UNKNOWN",
                  "%s: component `%s` (%s): the effect `%s` means nothing to a host; did you mean `%s`?", to->path,
                  manifest_text(component, "id"), manifest_text(component, "kind"), text, near);
    }
}

static void check_component(const struct described *to, tn_value component) {
    const char *id = manifest_text(component, "id"), *kind = manifest_text(component, "kind");
    if (!*manifest_text(component, "documentation"))
        check_add(to->check, CHECK_WARNING, "DOCUMENTATION_MISSING",
                  "%s: component `%s` (%s) has no documentation: editors show its title alone", to->path, id, kind);
    if (!value_get(component, "effects"))
        check_add(to->check, CHECK_WARNING, "EFFECTS_MISSING",
                  "%s: component `%s` (%s) declares no effects, so the worst is assumed: it is never cached, and never "
                  "retried; [] says that it has none",
                  to->path, id, kind);
    check_effects(to, component);
    check_fields(to, component, "config");
    if (strcmp(kind, "tool") == 0) check_fields(to, component, "input");
}

static bool check_manifest(const char *path, struct check *check, tn_value *out) {
    struct manifest manifest;
    struct error error = ERROR_INIT;
    if (manifest_read(path, &manifest, &error) != TN_OK) {
        check_add(check, CHECK_ERROR,
                  strcmp(error.code, "MANIFEST_MISSING") == 0 ? "MANIFEST_MISSING" : "MANIFEST_INVALID", "%s",
                  error.message);
        error_finish(&error);
        return false;
    }
    struct described to = {path, check};
    tn_value plugin = manifest_plugin(manifest.value), components = manifest_components(manifest.value);
    (void)manifest_validate(path, manifest.value, manifest_problem, &to);
    for (size_t i = 0; i < value_count(components); i++) check_component(&to, value_at(components, i));
    if (value_count(components) == 0 && value_count(value_get(plugin, "dynamic")) == 0 &&
        value_count(value_get(plugin, "provides")) == 0)
        check_add(check, CHECK_WARNING, "NOTHING_OFFERED",
                  "%s: the manifest has no components, provides no interface and is not dynamic: nothing can be used",
                  path);
    if (!value_get(plugin, "licence"))
        check_add(check, CHECK_NOTE, "LICENCE_MISSING", "%s: plugin `%s` names no licence", path,
                  manifest_text(plugin, "id"));
    *out = manifest.value;
    return true;
}

void plugin_check(const char *path, const struct registry_options *options, int timeout_ms, struct check *check) {
    struct elf_file *file;
    struct error error = ERROR_INIT;
    tn_value manifest = NULL;
    if (elf_open(path, &file, &error) != TN_OK) {
        check_add(check, CHECK_ERROR, "ELF", "%s", error.message);
        error_finish(&error);
        return;
    }
    check_symbols(path, file, check);
    elf_close(file);
    if (!check_manifest(path, check, &manifest)) return;
    check_run(path, manifest, options, timeout_ms > 0 ? timeout_ms : CHECK_TIMEOUT_MS, check);
    value_unref(manifest);
}
