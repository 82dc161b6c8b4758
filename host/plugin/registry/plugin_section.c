/*
 * plugin_section.c - prepares a plugin's section of the configuration: validates it, and adds defaults and absolute
 * paths.
 *
 * Annotations in the plugin's config schema control this. `x-tenon: file` marks a file name: it becomes absolute,
 * relative to the folder of its tenon.yaml, and the plugin gets permission to read the file. `x-tenon: effect` marks an
 * effect that the operator grants in addition to the manifest's. `x-tenon: program` marks a program that the plugin
 * will start (section_check.c). `x-tenon: folder` is like `file`. `x-tenon: separate` marks a list or mapping of
 * independent items: an item that is invalid, or whose secret or file is not available, is replaced by null.
 */
#include "adl/schema/schema.h"
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin_internal.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct section_files { /* files named in a section */
    struct plugin *plugin;
    const char *folder; /* NULL leaves names unchanged */
    tn_value pointers, paths;
    tn_value failures; /* {pointer of a name that cannot be resolved: why} */
};

static void plugin_grant_take(struct plugin *plugin, tn_value effect) {
    if (value_count(plugin->grants) < PLUGIN_GRANTS_MAX)
        plugin->grants = value_push_take(plugin->grants, effect);
    else
        value_unref(effect);
}

static void on_section_annotation(void *self, const char *pointer, bool on_key, tn_value where, tn_value annotation) {
    struct section_files *files = self;
    if (on_key || !value_is(where, TN_STRING)) return;
    if (value_text_is(annotation, "effect")) plugin_grant_take(files->plugin, value_ref(where));
    if (!value_text_is(annotation, "file") && !value_text_is(annotation, "folder")) return;
    const char *name = value_chars(where, NULL), *home = getenv("HOME");
    const struct registry_options *options = &files->plugin->registry->options;
    struct error error = ERROR_INIT;
    char *located = NULL;
    tn_value path;
    int32_t status = options->locate ? options->locate(options->user, name, &located, &error) : TN_NOT_FOUND;
    if (status != TN_OK && status != TN_NOT_FOUND) {
        files->failures =
            value_set_take(files->failures, pointer, value_string_lossy(error.message, strlen(error.message)));
        error_finish(&error);
        return;
    }
    if (located)
        path = value_string_lossy(located, strlen(located));
    else if (name[0] == '~' && name[1] == '/' && home && *home && files->folder)
        path = value_format("%s%s", home, name + 1);
    else if (name[0] == '/' || !files->folder || !*files->folder)
        path = value_ref(where);
    else
        path = value_format("%s/%s", files->folder, name);
    mem_free(located);
    error_finish(&error);
    /* A missing file cannot be granted; the plugin reports it when it opens it. */
    if (access(value_chars(path, NULL), F_OK) == 0)
        plugin_grant_take(files->plugin, value_format("fs.read:%s", value_chars(path, NULL)));
    files->pointers = value_push_take(files->pointers, value_text(pointer));
    files->paths = value_push_take(files->paths, path);
}

/* Decodes one step of a JSON Pointer, up to `end`. Free it with mem_free. */
static char *pointer_key(const char *step, const char *end) {
    char *key = mem_text_n(step, (size_t)(end - step)), *to = key;
    for (const char *at = key; *at; at++, to++) {
        *to = *at;
        if (*at == '~' && (at[1] == '0' || at[1] == '1')) *to = *++at == '0' ? '~' : '/';
    }
    *to = 0;
    return key;
}

tn_value section_replace(tn_value from, const char *pointer, tn_value by) {
    if (!*pointer) return value_ref(by);
    const char *step = pointer + 1, *rest = step + strcspn(step, "/");
    char *key = pointer_key(step, rest);
    size_t index = strtoul(key, NULL, 10);
    bool list = value_is(from, TN_ARRAY);
    tn_value member = list ? value_at(from, index) : value_get(from, key), result;
    if (!member)
        result = value_ref(from);
    else if (list)
        result = value_replace_take(value_ref(from), index, section_replace(member, rest, by));
    else
        result = value_set_take(value_ref(from), key, section_replace(member, rest, by));
    mem_free(key);
    return result;
}

/* ---- Independent items (`x-tenon: separate`): an invalid one is omitted, the others stay ---- */

struct section_omission {
    const struct plugin *plugin;
    tn_value pointers; /* pointers of lists and mappings with independent items */
    tn_value dropped;  /* {pointer of an item: true} */
};

static void on_separate_annotation(void *self, const char *pointer, bool on_key, tn_value where, tn_value annotation) {
    struct section_omission *omission = self;
    (void)where;
    if (!on_key && value_text_is(annotation, "separate"))
        omission->pointers = value_push_take(omission->pointers, value_text(pointer));
}

/* Omits the item that contains `pointer`, and logs why. Returns false if no independent item contains it. */
static bool section_omit(struct section_omission *omission, const char *pointer, const char *why) {
    for (size_t i = 0; i < value_count(omission->pointers); i++) {
        size_t length;
        const char *list = value_chars(value_at(omission->pointers, i), &length);
        if (strncmp(pointer, list, length) != 0 || pointer[length] != '/') continue;
        size_t whole = length + 1 + strcspn(pointer + length + 1, "/");
        char *item = mem_text_n(pointer, whole);
        if (!value_get(omission->dropped, item))
            log_write(LOG_ERROR, omission->plugin->id, "tenon.yaml: plugins.config.%s at %s: %s; it is omitted",
                      omission->plugin->id, pointer, why);
        omission->dropped = value_set_take(omission->dropped, item, value_bool(true));
        mem_free(item);
        return true;
    }
    return false;
}

/* Omits the items with a remaining {secret: NAME}, which could not be fetched. Returns false if no independent item
 * contains it.
 */
static bool section_omit_secrets(struct section_omission *omission, tn_value part, const char *pointer,
                                 const char *why) {
    bool object = value_is(part, TN_OBJECT), good = true;
    tn_value name = object && value_count(part) == 1 ? value_get(part, "secret") : NULL;
    if (name && value_is(name, TN_STRING)) {
        tn_value reason = strstr(why, value_chars(name, NULL))
                              ? value_text(why)
                              : value_format("the secret `%s` is not available", value_chars(name, NULL));
        good = section_omit(omission, pointer, value_chars(reason, NULL));
        value_unref(reason);
        return good;
    }
    for (size_t i = 0; good && (object || value_is(part, TN_ARRAY)) && i < value_count(part); i++) {
        tn_value inside = object ? value_format("%s/%s", pointer, value_chars(value_key_at(part, i), NULL))
                                 : value_format("%s/%zu", pointer, i);
        good = section_omit_secrets(omission, object ? value_value_at(part, i) : value_at(part, i),
                                    value_chars(inside, NULL), why);
        value_unref(inside);
    }
    return good;
}

/* The section with omitted items replaced by null, so that items of a list keep their indices. A new reference. */
static tn_value section_without(const struct section_omission *omission, tn_value section) {
    tn_value left = value_ref(section), nothing = value_null();
    for (size_t i = 0; i < value_count(omission->dropped); i++) {
        tn_value next = section_replace(left, value_chars(value_key_at(omission->dropped, i), NULL), nothing);
        value_unref(left);
        left = next;
    }
    return left;
}

/* Omits the items with a name that cannot be resolved. Fails if no independent item contains one. */
static int32_t section_omit_files(struct section_omission *omission, tn_value failures, struct error *error) {
    for (size_t i = 0; i < value_count(failures); i++) {
        const char *pointer = value_chars(value_key_at(failures, i), NULL);
        const char *why = value_chars(value_value_at(failures, i), NULL);
        if (!section_omit(omission, pointer, why))
            return error_set(error, TN_INVALID, "INVALID_CONFIG", "tenon.yaml: plugins.config.%s at %s: %s",
                             omission->plugin->id, pointer, why);
    }
    return TN_OK;
}

/* Replaces the names of files by their paths, and collects the plugin's grants. */
static int32_t section_resolve_paths(struct plugin *plugin, const struct schema *schema,
                                     struct section_omission *omission, tn_value *section, struct error *error) {
    const struct registry_options *options = &plugin->registry->options;
    struct section_files files = {
        .plugin = plugin, .pointers = value_array(), .paths = value_array(), .failures = value_object()};
    if (options->folder) files.folder = options->folder(options->user, plugin->id);
    value_unref(plugin->grants);
    plugin->grants = value_array();
    schema_each_annotation(schema, *section, "x-tenon", on_section_annotation, &files);
    bool omits = value_count(files.failures) > 0;
    for (size_t i = 0; !omits && i < value_count(files.pointers); i++) {
        tn_value resolved =
            section_replace(*section, value_chars(value_at(files.pointers, i), NULL), value_at(files.paths, i));
        value_unref(*section);
        *section = resolved;
    }
    int32_t status = section_omit_files(omission, files.failures, error);
    value_unref(files.pointers);
    value_unref(files.paths);
    value_unref(files.failures);
    if (!omits || status != TN_OK) return status;
    /* Again without these items, which then add no grants. No name is left that cannot be resolved. */
    tn_value left = section_without(omission, *section);
    value_unref(*section);
    *section = left;
    return section_resolve_paths(plugin, schema, omission, section, error);
}

/* ---- The section ---- */

static void section_set_error(const struct plugin *plugin, const struct schema_errors *errors, int32_t status,
                              struct error *error) {
    error_set(error, status, "INVALID_CONFIG", "tenon.yaml: plugins.config.%s%s%s: %s%s", plugin->id,
              *errors->items[0].pointer ? " at " : "", errors->items[0].pointer, errors->items[0].message,
              errors->count > 1 ? " (and more)" : "");
}

/* Validates a section that has its defaults, and collects the items to omit. */
static int32_t section_check(struct section_omission *omission, const struct schema *schema, tn_value filled,
                             bool complete, struct error *error) {
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    int32_t status = TN_OK, wrong;
    schema_each_annotation(schema, filled, "x-tenon", on_separate_annotation, omission);
    if (!complete && !section_omit_secrets(omission, filled, "", error->message)) {
        tn_value why = value_text(error->message);
        status = error_set(error, TN_NOT_FOUND, "SECRET_NOT_FOUND", "tenon.yaml: plugins.config.%s: %s",
                           omission->plugin->id, value_chars(why, NULL));
        value_unref(why);
    }
    wrong = status == TN_OK ? schema_validate(schema, filled, &errors) : TN_OK;
    for (size_t i = 0; wrong != TN_OK && status == TN_OK && i < errors.count; i++)
        if (errors.more || !section_omit(omission, errors.items[i].pointer, errors.items[i].message))
            section_set_error(omission->plugin, &errors, status = wrong, error);
    schema_errors_finish(&errors);
    if (status == TN_OK) error_finish(error);
    return status;
}

int32_t plugin_section(struct plugin *plugin, tn_value *out, struct error *error) {
    const struct registry_options *options = &plugin->registry->options;
    tn_value document = value_get(manifest_plugin(plugin_manifest(plugin)), "config"), section = NULL;
    struct schema *schema = NULL;
    int32_t status = options->config ? options->config(options->user, plugin->id, &section, error) : TN_OK;
    bool complete = status == TN_OK;
    if (!complete && (!section || !document)) {
        value_unref(section);
        return status;
    }
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
        struct section_omission omission = {plugin, value_array(), value_object()};
        tn_value filled = schema_with_defaults(schema, section);
        status = section_check(&omission, schema, filled, complete, error);
        if (status == TN_OK) {
            tn_value left = section_without(&omission, filled);
            status = section_resolve_paths(plugin, schema, &omission, &left, error);
            if (status == TN_OK)
                *out = left;
            else
                value_unref(left);
        }
        value_unref(filled);
        value_unref(omission.pointers);
        value_unref(omission.dropped);
    }
    error_finish(&inner);
    schema_unref(schema);
    value_unref(section);
    return status;
}
