/*
 * section.c - a plugin's section of the configuration, as the plugin gets it: checked, filled, and with whole paths.
 *
 * Annotations of the plugin's config schema mean something here. `x-tenon: file` is the name of a file: it becomes
 * absolute, from the folder of the tenon.yaml that has it, and what the operator names so the plugin may read.
 * `x-tenon: effect` is an effect that the operator grants to it beyond what its manifest declares. `x-tenon: program`,
 * a program that it will start, is looked for where somebody only checks.
 */
#include "adl/schema/schema.h"
#include "adl/value/memory.h"
#include "host/plugin/manifest.h"
#include "host/plugin/plugin_internal.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct named { /* files found in a section */
    struct plugin *plugin;
    const char *folder; /* NULL: names stay */
    tn_value pointers, paths;
};

static void grant_take(struct plugin *plugin, tn_value effect) {
    if (value_count(plugin->grants) < PLUGIN_GRANTS_MAX)
        plugin->grants = value_push_take(plugin->grants, effect);
    else
        value_unref(effect);
}

static void on_annotation(void *self, const char *pointer, bool on_key, tn_value where, tn_value annotation) {
    struct named *named = self;
    if (on_key || !value_is(where, TN_STRING)) return;
    if (value_text_is(annotation, "effect")) grant_take(named->plugin, value_ref(where));
    if (!value_text_is(annotation, "file")) return;
    const char *name = value_chars(where, NULL), *home = getenv("HOME");
    tn_value path;
    if (name[0] == '~' && name[1] == '/' && home && *home && named->folder)
        path = value_format("%s%s", home, name + 1);
    else if (name[0] == '/' || !named->folder || !*named->folder)
        path = value_ref(where);
    else
        path = value_format("%s/%s", named->folder, name);
    grant_take(named->plugin, value_format("fs.read:%s", value_chars(path, NULL)));
    named->pointers = value_push_take(named->pointers, value_text(pointer));
    named->paths = value_push_take(named->paths, path);
}

static void find_program(void *self, const char *pointer, bool on_key, tn_value where, tn_value annotation) {
    tn_value *missing = self;
    if (on_key || *missing || !value_text_is(annotation, "program") || !value_is(where, TN_STRING)) return;
    const char *name = value_chars(where, NULL), *path = getenv("PATH");
    bool found = strchr(name, '/') && access(name, X_OK) == 0;
    for (const char *at = path ? path : "/usr/bin:/bin"; !found && *at && !strchr(name, '/');) {
        size_t length = strcspn(at, ":");
        tn_value file = value_format("%.*s/%s", length ? (int)length : 1, length ? at : ".", name);
        found = access(value_chars(file, NULL), X_OK) == 0;
        value_unref(file);
        at += length + (at[length] == ':');
    }
    if (!found) *missing = value_format("%s: there is no program `%s`", pointer, name);
}

/* The key that a step of a JSON Pointer stands for, up to `end`: mem_free it. */
static char *key_of(const char *step, const char *end) {
    char *key = mem_text_n(step, (size_t)(end - step)), *to = key;
    for (const char *at = key; *at; at++, to++) {
        *to = *at;
        if (*at == '~' && (at[1] == '0' || at[1] == '1')) *to = *++at == '0' ? '~' : '/';
    }
    *to = 0;
    return key;
}

/* `from` with what `pointer` leads to replaced; a new reference. */
static tn_value replaced(tn_value from, const char *pointer, tn_value by) {
    if (!*pointer) return value_ref(by);
    const char *step = pointer + 1, *rest = step + strcspn(step, "/");
    char *key = key_of(step, rest);
    size_t index = strtoul(key, NULL, 10);
    bool list = value_is(from, TN_ARRAY);
    tn_value member = list ? value_at(from, index) : value_get(from, key), result;
    if (!member)
        result = value_ref(from);
    else if (list)
        result = value_replace_take(value_ref(from), index, replaced(member, rest, by));
    else
        result = value_set_take(value_ref(from), key, replaced(member, rest, by));
    mem_free(key);
    return result;
}

static void resolve(struct plugin *plugin, const struct schema *schema, tn_value *section) {
    const struct registry_options *options = &plugin->registry->options;
    struct named named = {.plugin = plugin, .pointers = value_array(), .paths = value_array()};
    if (options->folder) named.folder = options->folder(options->user, plugin->id);
    value_unref(plugin->grants);
    plugin->grants = value_array();
    schema_each_annotation(schema, *section, "x-tenon", on_annotation, &named);
    for (size_t i = 0; i < value_count(named.pointers); i++) {
        tn_value whole = replaced(*section, value_chars(value_at(named.pointers, i), NULL), value_at(named.paths, i));
        value_unref(*section);
        *section = whole;
    }
    value_unref(named.pointers);
    value_unref(named.paths);
}

int32_t plugin_section(struct plugin *plugin, tn_value *out, struct error *error) {
    const struct registry_options *options = &plugin->registry->options;
    tn_value document = value_get(manifest_plugin(plugin->manifest), "config"), section = NULL;
    struct schema *schema = NULL;
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    int32_t status = options->config ? options->config(options->user, plugin->id, &section, error) : TN_OK;
    if (status != TN_OK) return status;
    if (!section) section = value_object();
    if (!document) {
        *out = section;
        return TN_OK;
    }
    struct error inner = ERROR_INIT;
    status = schema_compile(document, NULL, &schema, &inner);
    if (status != TN_OK) {
        error_set(error, status, "MANIFEST_INVALID", "%s: manifest: plugin: `config`: %s", plugin->path, inner.message);
    } else {
        tn_value filled = schema_with_defaults(schema, section);
        status = schema_validate(schema, filled, &errors);
        if (status != TN_OK) {
            error_set(error, status, "INVALID_CONFIG", "tenon.yaml: plugins.config.%s%s%s: %s%s", plugin->id,
                      *errors.items[0].pointer ? " at " : "", errors.items[0].pointer, errors.items[0].message,
                      errors.count > 1 ? " (and more)" : "");
            value_unref(filled);
        } else {
            resolve(plugin, schema, &filled);
            *out = filled;
        }
    }
    error_finish(&inner);
    schema_errors_finish(&errors);
    schema_unref(schema);
    value_unref(section);
    return status;
}

int32_t plugin_check_section(struct plugin *plugin, struct error *error) {
    tn_value document = value_get(manifest_plugin(plugin->manifest), "config"), section = NULL, missing = NULL;
    struct schema *schema = NULL;
    int32_t status = plugin_section(plugin, &section, error);
    if (status == TN_OK && document && schema_compile(document, NULL, &schema, NULL) == TN_OK)
        schema_each_annotation(schema, section, "x-tenon", find_program, &missing);
    if (missing)
        status = error_set(error, TN_NOT_FOUND, "NOT_FOUND", "tenon.yaml: plugins.config.%s at %s", plugin->id,
                           value_chars(missing, NULL));
    value_unref(missing);
    value_unref(section);
    schema_unref(schema);
    return status;
}
