/*
 * config_names.c - fills the places of config_forms.json that `x-tenon-names` marks with names of a host.
 *
 * A string gets them as `examples`, and as `x-tenon-values`, which has a line about each. The keys of a mapping get
 * them as `properties`: each with the schema of other keys and its own description.
 */
#include "host/assembly/config_names.h"
#include "adl/document/catalog.h"
#include "adl/document/graph_schema.h"
#include "adl/schema/schema.h"
#include "host/assembly/host.h"
#include "host/assembly/protocols.h"
#include "host/base/config/config.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/preset.h"
#include "host/plugin/registry/registry.h"
#include <string.h>
#include <tenon/authenticator.h>
#include <tenon/http_client.h>
#include <tenon/http_server.h>
#include <tenon/store.h>

#define NAMES_MAX   1000u /* names of one kind */
#define SECTION_URI "https://tenon.dev/schema/section/"
#define MODEL_URI   "https://tenon.dev/schema/model/"

/* Objects of names and a line about each; `sections` and `options` have schemas. */
struct config_names {
    tn_value plugins, stores, clients, servers, authenticators, protocols, providers, prices, tools, secrets, runners,
        documents;
    tn_value sections, options;
};

static void names_add_take(tn_value *names, tn_value name, const char *line) {
    if (name && value_count(*names) < NAMES_MAX && !value_get_key(*names, name))
        *names = value_set_key_take(*names, name, value_text(line ? line : ""));
    else
        value_unref(name);
}

static tn_value object_of(const char *key, tn_value value) { return value_set_take(value_object(), key, value); }

/* ---- Collecting ---- */

/* The schema inside the one of tenon.yaml: references need a base, and an empty section is null. */
static tn_value inner_schema_take(tn_value schema, const char *base, const char *name) {
    if (!value_get(schema, "$id") && schema_has_references(schema))
        schema = value_set_take(schema, "$id", value_format("%s%s", base, name));
    return schema;
}

/* A plugin with a mistake in its schema would make the whole useless. It is reported when the plugin is loaded. */
static bool section_is_usable(tn_value section) {
    struct schema *schema = NULL;
    bool usable = value_is(section, TN_OBJECT) && schema_compile(section, NULL, &schema, NULL) == TN_OK;
    schema_unref(schema);
    return usable;
}

/* `{secret: NAME}` can stand for any string of a section. */
static tn_value section_schema(tn_value given, const char *plugin) {
    tn_value name =
        value_set_take(object_of("type", value_text("string")), "description",
                       value_text("The name of the secret: a key of `secrets`, or an environment variable."));
    tn_value reference = object_of("type", value_text("object"));
    reference = value_set_take(reference, "properties", object_of("secret", name));
    reference = value_set_take(reference, "required", value_push_take(value_array(), value_text("secret")));
    reference = value_set_take(reference, "additionalProperties", value_bool(false));
    tn_value schema = schema_allow_reference(given, reference);
    value_unref(reference);
    if (value_text_is(value_get(schema, "type"), "object")) {
        tn_value types = value_push_take(value_array(), value_text("object"));
        schema = value_set_take(schema, "type", value_push_take(types, value_text("null")));
    }
    return inner_schema_take(schema, SECTION_URI, plugin);
}

static void add_provider(tn_value *names, const struct plugin *plugin, const char *interface_id) {
    tn_value ids = value_get(manifest_plugin(plugin_manifest(plugin)), "provides");
    const char *last = strrchr(plugin_id(plugin), '.');
    for (size_t i = 0; value_is(ids, TN_ARRAY) && i < value_count(ids); i++)
        if (value_text_is(value_at(ids, i), interface_id))
            names_add_take(names, value_text(plugin_bundled(plugin) && last ? last + 1 : plugin_id(plugin)),
                           plugin_title(plugin));
}

static void visit_plugin(void *user, struct plugin *plugin) {
    struct config_names *names = user;
    tn_value section = value_get(manifest_plugin(plugin_manifest(plugin)), "config");
    names_add_take(&names->plugins, value_text(plugin_id(plugin)), plugin_title(plugin));
    add_provider(&names->stores, plugin, TN_STORE_DRAFT);
    add_provider(&names->clients, plugin, TN_HTTP_CLIENT_DRAFT);
    add_provider(&names->servers, plugin, TN_HTTP_SERVER_DRAFT);
    add_provider(&names->authenticators, plugin, TN_AUTHENTICATOR_DRAFT);
    if (protocol_is_served_by(plugin))
        names_add_take(&names->protocols, value_text(plugin_id(plugin)), plugin_title(plugin));
    if (value_count(names->sections) < NAMES_MAX && section_is_usable(section))
        names->sections =
            value_set_take(names->sections, plugin_id(plugin), section_schema(section, plugin_id(plugin)));
}

/* The required members of a configuration that a row does not have; a new reference. */
static tn_value missing_members(tn_value options, tn_value given) {
    tn_value required = value_get(options, "required"), missing = value_array();
    for (size_t i = 0; value_is(required, TN_ARRAY) && i < value_count(required); i++)
        if (!value_get_key(given, value_at(required, i)))
            missing = value_push_take(missing, value_ref(value_at(required, i)));
    return missing;
}

static bool visit_model(void *user, const struct component_info *component) {
    struct config_names *names = user;
    tn_value options = schema_document(component->config), properties = value_get(options, "properties");
    tn_value examples = value_get(value_get(properties, "model"), "examples");
    names_add_take(&names->providers, value_text(component->id), component->title);
    bool preset = value_get(component->manifest, "preset") != NULL;
    for (size_t i = 0; !preset && value_is(examples, TN_ARRAY) && i < value_count(examples); i++)
        if (value_is(value_at(examples, i), TN_STRING))
            names_add_take(&names->prices,
                           value_format("%s:%s", component->id, value_chars(value_at(examples, i), NULL)),
                           component->title);
    if (!value_is(options, TN_OBJECT) || value_count(names->options) >= NAMES_MAX) return true;
    if (value_get(component->manifest, "preset")) { /* the options of its component, once */
        tn_value reference = object_of("x-tenon-preset", value_text(preset_component(component)));
        tn_value required = missing_members(options, preset_config(component));
        if (value_count(required)) reference = value_set_take(reference, "required", value_ref(required));
        value_unref(required);
        names->options = value_set_take(names->options, component->id, reference);
        return true;
    }
    properties = value_set_take(properties ? value_ref(properties) : value_object(), "provider", value_bool(true));
    options = value_set_take(value_ref(options), "properties", properties);
    names->options =
        value_set_take(names->options, component->id, inner_schema_take(options, MODEL_URI, component->id));
    return true;
}

static bool visit_component(void *user, const struct component_info *component) {
    struct config_names *names = user;
    if (strcmp(component->kind, "tool") == 0)
        names_add_take(&names->tools, value_text(component->id), component->title);
    if (strcmp(component->kind, "runner") == 0)
        names_add_take(&names->runners, value_text(component->id), component->title);
    for (size_t i = 0; component->effects && i < value_count(component->effects); i++) {
        tn_value effect = value_at(component->effects, i);
        const char *text = value_is(effect, TN_STRING) ? value_chars(effect, NULL) : "";
        if (strncmp(text, "secret:", 7) == 0 && text[7] && !strchr(text, '*'))
            names_add_take(&names->secrets, value_text(text + 7), component->title);
    }
    return true;
}

static void visit_document(void *user, const char *name, const char *title) {
    struct config_names *names = user;
    names_add_take(&names->documents, value_text(name), title);
}

/* ---- Filling ---- */

static tn_value names_of_kind(const struct config_names *names, tn_value kind) {
    const struct {
        const char *kind;
        tn_value names;
    } kinds[] = {
        {"plugin", names->plugins},      {"store", names->stores},       {"http", names->clients},
        {"model", names->providers},     {"price", names->prices},       {"tool", names->tools},
        {"secret", names->secrets},      {"runner", names->runners},     {"document", names->documents},
        {"http_server", names->servers}, {"protocol", names->protocols}, {"authenticator", names->authenticators},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (value_text_is(kind, kinds[i].kind)) return kinds[i].names;
    return NULL;
}

static tn_value fill_string_take(tn_value schema, tn_value names) {
    tn_value examples = value_array();
    for (size_t i = 0; i < value_count(names); i++)
        examples = value_push_take(examples, value_ref(value_key_at(names, i)));
    schema = value_set_take(schema, "x-tenon-values", value_ref(names));
    return value_set_take(schema, "examples", examples);
}

static tn_value fill_keys_take(tn_value schema, tn_value names) {
    tn_value given = value_get(schema, "properties"), others = value_get(schema, "additionalProperties");
    tn_value properties = given ? value_ref(given) : value_object();
    for (size_t i = 0; i < value_count(names); i++) {
        tn_value member = value_ref(others), line = value_value_at(names, i);
        if (*value_chars(line, NULL)) member = value_set_take(member, "description", value_ref(line));
        if (value_get_key(properties, value_key_at(names, i)))
            value_unref(member);
        else
            properties = value_set_key_take(properties, value_ref(value_key_at(names, i)), member);
    }
    return value_set_take(schema, "properties", properties);
}

/* `enumDescriptions`, which editors of YAML show. */
static tn_value fill_words_take(tn_value schema, tn_value words) {
    tn_value lines = value_array(), told = value_get(schema, "x-tenon-values");
    for (size_t i = 0; i < value_count(words); i++) {
        tn_value line = value_get_key(told, value_at(words, i));
        lines = value_push_take(lines, line ? value_ref(line) : value_text(""));
    }
    return value_set_take(schema, "enumDescriptions", lines);
}

/* A new reference: the part of the schema with names at each marked place. */
static tn_value fill(tn_value part, const struct config_names *names) {
    tn_value filled = value_ref(part);
    if (value_is(part, TN_ARRAY))
        for (size_t i = 0; i < value_count(part); i++)
            filled = value_replace_take(filled, i, fill(value_at(part, i), names));
    if (!value_is(part, TN_OBJECT)) return filled;
    for (size_t i = 0; i < value_count(part); i++)
        if (!value_text_is(value_key_at(part, i), "propertyNames"))
            filled = value_set_key_take(filled, value_ref(value_key_at(part, i)), fill(value_value_at(part, i), names));
    tn_value own = names_of_kind(names, value_get(filled, "x-tenon-names"));
    tn_value keys = names_of_kind(names, value_get(value_get(filled, "propertyNames"), "x-tenon-names"));
    tn_value words = value_get(filled, "enum");
    if (keys) filled = fill_keys_take(filled, keys);
    if (words && value_get(filled, "x-tenon-values")) filled = fill_words_take(filled, words);
    return own ? fill_string_take(filled, own) : filled;
}

/* Replaces the member that the path of keys leads to; missing ones are added. Takes both values. */
static tn_value replace_take(tn_value object, const char *const *path, tn_value value) {
    if (!*path) {
        value_unref(object);
        return value;
    }
    tn_value member = value_get(object, *path);
    member = replace_take(member ? value_ref(member) : value_object(), path + 1, value);
    return value_set_take(object, *path, member);
}

static tn_value add_sections_take(tn_value schema, tn_value sections) {
    for (size_t i = 0; i < value_count(sections); i++) {
        const char *id = value_chars(value_key_at(sections, i), NULL);
        const char *const path[] = {"properties", "plugins", "properties", "config", "properties", id, NULL};
        tn_value section = value_ref(value_value_at(sections, i)), config = schema;
        for (size_t j = 0; path[j] && config; j++) config = value_get(config, path[j]);
        tn_value line = value_get(config, "description");
        if (line && !value_get(section, "description"))
            section = value_set_take(section, "description", value_ref(line));
        schema = replace_take(schema, path, section);
    }
    return schema;
}

/* {if: {provider: id}, then: …}. */
static tn_value condition_take(const char *id, tn_value then) {
    tn_value is = object_of("properties", object_of("provider", object_of("const", value_text(id))));
    is = value_set_take(is, "type", value_text("object"));
    is = value_set_take(is, "required", value_push_take(value_array(), value_text("provider")));
    return value_set_take(object_of("if", is), "then", then);
}

/*
 * A mapping with `provider` has the options of that provider. Those of a preset are in the definition of its component.
 * A row of `providers` need not have the required ones, because bindings add them.
 */
static tn_value add_options_take(tn_value schema, tn_value options) {
    static const char *const bindings[] = {"$defs", "binding_object", "allOf", NULL};
    static const char *const rows[] = {"$defs", "provider_row", "allOf", NULL};
    tn_value complete = value_array(), partial = value_array();
    for (size_t i = 0; i < value_count(options); i++) {
        const char *id = value_chars(value_key_at(options, i), NULL);
        tn_value option = value_value_at(options, i), of = value_get(option, "x-tenon-preset");
        tn_value name = value_format("model:%s", of ? value_chars(of, NULL) : id);
        const char *const path[] = {"$defs", value_chars(name, NULL), NULL};
        tn_value reference = object_of("$ref", value_format("#/$defs/%s", value_chars(name, NULL)));
        tn_value required = value_get(option, "required");
        partial = value_push_take(partial, condition_take(id, value_ref(reference)));
        if (required) reference = value_set_take(reference, "required", value_ref(required));
        complete = value_push_take(complete, condition_take(id, reference));
        if (!of) schema = replace_take(schema, path, value_remove_take(value_ref(option), value_text("required")));
        value_unref(name);
    }
    schema = replace_take(schema, rows, partial);
    return replace_take(schema, bindings, complete);
}

/* ---- The whole ---- */

tn_value config_schema_of_host(const struct host *host) {
    const tn_value none = value_object();
    struct config_names names = {none, none, none, none, none, none, none, none, none, none, none, none, none, none};
    const struct catalog *catalog = host_catalog(host);
    tn_value plain = config_schema();
    registry_each_plugin(host_registry(host), visit_plugin, &names);
    catalog->each(catalog->self, "model", visit_model, &names);
    catalog->each(catalog->self, NULL, visit_component, &names);
    host_each_document(host, visit_document, &names);
    tn_value schema = fill(plain, &names);
    schema = add_sections_take(schema, names.sections);
    schema = add_options_take(schema, names.options);
    const tn_value owned[] = {plain,         names.plugins,   names.stores,  names.clients,   names.providers,
                              names.prices,  names.tools,     names.secrets, names.sections,  names.options,
                              names.runners, names.documents, names.servers, names.protocols, names.authenticators};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) value_unref(owned[i]);
    return schema;
}
