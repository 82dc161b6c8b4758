/*
 * section.c - a plugin's section of the configuration, as the plugin gets it: checked, filled, and with whole paths.
 *
 * Annotations of the plugin's config schema mean something here. `x-tenon: file` is the name of a file: it becomes
 * absolute, from the folder of the tenon.yaml that has it, and what the operator names so the plugin may read.
 * `x-tenon: effect` is an effect that the operator grants to it beyond what its manifest declares. `x-tenon: program`,
 * a program that it will start, is looked for where somebody only checks. `x-tenon: separate` is a list or mapping of
 * items that have nothing to do with each other: one that is wrong, or whose secret cannot be had, is null for the
 * plugin.
 */
#include "adl/schema/schema.h"
#include "adl/value/memory.h"
#include "host/log.h"
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

/* ---- Items that stand each for themselves (`x-tenon: separate`): one that is wrong is left out, the others stay ----
 */

struct leaving_out {
    const struct plugin *plugin;
    tn_value pointers; /* of the lists and mappings that have such items */
    tn_value dropped;  /* {pointer of an item: true} */
};

static void find_separate(void *self, const char *pointer, bool on_key, tn_value where, tn_value annotation) {
    struct leaving_out *leaving_out = self;
    (void)where;
    if (!on_key && value_text_is(annotation, "separate"))
        leaving_out->pointers = value_push_take(leaving_out->pointers, value_text(pointer));
}

/* Takes note that the item with `pointer` in it is left out, and says why; false: it is part of none. */
static bool leave_out(struct leaving_out *leaving_out, const char *pointer, const char *why) {
    for (size_t i = 0; i < value_count(leaving_out->pointers); i++) {
        size_t length;
        const char *list = value_chars(value_at(leaving_out->pointers, i), &length);
        if (strncmp(pointer, list, length) != 0 || pointer[length] != '/') continue;
        size_t whole = length + 1 + strcspn(pointer + length + 1, "/");
        char *item = mem_text_n(pointer, whole);
        if (!value_get(leaving_out->dropped, item))
            log_write(LOG_ERROR, leaving_out->plugin->id, "tenon.yaml: plugins.config.%s at %s: %s; it is left out",
                      leaving_out->plugin->id, pointer, why);
        leaving_out->dropped = value_set_take(leaving_out->dropped, item, value_bool(true));
        mem_free(item);
        return true;
    }
    return false;
}

/* Every {secret: NAME} that is still there was not to be had. False: one of them is of no separate item. */
static bool leave_out_secrets(struct leaving_out *leaving_out, tn_value part, const char *pointer, const char *why) {
    bool object = value_is(part, TN_OBJECT), good = true;
    tn_value name = object && value_count(part) == 1 ? value_get(part, "secret") : NULL;
    if (name && value_is(name, TN_STRING)) {
        tn_value told = strstr(why, value_chars(name, NULL))
                            ? value_text(why)
                            : value_format("the secret `%s` cannot be had", value_chars(name, NULL));
        good = leave_out(leaving_out, pointer, value_chars(told, NULL));
        value_unref(told);
        return good;
    }
    for (size_t i = 0; good && (object || value_is(part, TN_ARRAY)) && i < value_count(part); i++) {
        tn_value inside = object ? value_format("%s/%s", pointer, value_chars(value_key_at(part, i), NULL))
                                 : value_format("%s/%zu", pointer, i);
        good = leave_out_secrets(leaving_out, object ? value_value_at(part, i) : value_at(part, i),
                                 value_chars(inside, NULL), why);
        value_unref(inside);
    }
    return good;
}

/* The section without them: of a list null stays, so that the others keep their places. A new reference. */
static tn_value without(const struct leaving_out *leaving_out, tn_value section) {
    tn_value left = value_ref(section), nothing = value_null();
    for (size_t i = 0; i < value_count(leaving_out->dropped); i++) {
        tn_value next = replaced(left, value_chars(value_key_at(leaving_out->dropped, i), NULL), nothing);
        value_unref(left);
        left = next;
    }
    return left;
}

/* ---- The whole ---- */

static void say_wrong(const struct plugin *plugin, const struct schema_errors *errors, int32_t status,
                      struct error *error) {
    error_set(error, status, "INVALID_CONFIG", "tenon.yaml: plugins.config.%s%s%s: %s%s", plugin->id,
              *errors->items[0].pointer ? " at " : "", errors->items[0].pointer, errors->items[0].message,
              errors->count > 1 ? " (and more)" : "");
}

/* Checks a section that has been filled; what may be left out of it is noted. */
static int32_t check_section(struct leaving_out *leaving_out, const struct schema *schema, tn_value filled,
                             bool complete, struct error *error) {
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    int32_t status = TN_OK, wrong;
    schema_each_annotation(schema, filled, "x-tenon", find_separate, leaving_out);
    if (!complete && !leave_out_secrets(leaving_out, filled, "", error->message)) {
        tn_value why = value_text(error->message);
        status = error_set(error, TN_NOT_FOUND, "SECRET_NOT_FOUND", "tenon.yaml: plugins.config.%s: %s",
                           leaving_out->plugin->id, value_chars(why, NULL));
        value_unref(why);
    }
    wrong = status == TN_OK ? schema_validate(schema, filled, &errors) : TN_OK;
    for (size_t i = 0; wrong != TN_OK && status == TN_OK && i < errors.count; i++)
        if (errors.more || !leave_out(leaving_out, errors.items[i].pointer, errors.items[i].message))
            say_wrong(leaving_out->plugin, &errors, status = wrong, error);
    schema_errors_finish(&errors);
    if (status == TN_OK) error_finish(error);
    return status;
}

int32_t plugin_section(struct plugin *plugin, tn_value *out, struct error *error) {
    const struct registry_options *options = &plugin->registry->options;
    tn_value document = value_get(manifest_plugin(plugin->manifest), "config"), section = NULL;
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
        struct leaving_out leaving_out = {plugin, value_array(), value_object()};
        tn_value filled = schema_with_defaults(schema, section);
        status = check_section(&leaving_out, schema, filled, complete, error);
        if (status == TN_OK) {
            tn_value left = without(&leaving_out, filled);
            resolve(plugin, schema, &left);
            *out = left;
        }
        value_unref(filled);
        value_unref(leaving_out.pointers);
        value_unref(leaving_out.dropped);
    }
    error_finish(&inner);
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
