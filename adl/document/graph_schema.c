/*
 * graph_schema.c - one $defs entry for each mapping of keys.def, and one for each node type's config.
 *
 * Config schemas are in $defs under their own $id, so that references inside them ("#/$defs/…") still refer to their
 * own definitions. `markdownDescription` repeats `description` for editors that render it.
 */
#include "adl/document/graph_schema.h"
#include "adl/document/keys.h"
#include "adl/schema/schema.h"
#include <string.h>

#define DURATION_PATTERN "^[0-9]+(\\.[0-9]+)?(ms|s|m|h|d)?$"
#define CONFIG_BASE      "https://tenon.dev/schema/config/"

static tn_value text(const char *chars) { return value_text(chars); }

static tn_value object1(const char *key, tn_value value) { return value_set_take(value_object(), key, value); }

static tn_value of_type(const char *type) { return object1("type", text(type)); }

static tn_value reference(const char *name) { return object1("$ref", value_format("#/$defs/%s", name)); }

static tn_value described_take(tn_value schema, const char *documentation) {
    schema = value_set_take(schema, "description", text(documentation));
    return value_set_take(schema, "markdownDescription", text(documentation));
}

/* ---- Values of keys ---- */

/* YAML editors read 1.0 or 5 as numbers, so a string key also accepts these scalars. */
static tn_value text_schema(const struct document_key *key) {
    if (!key->words) {
        tn_value types = value_array();
        const char *const all[] = {"string", "number", "boolean"};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) types = value_push_take(types, text(all[i]));
        return object1("type", types);
    }
    tn_value words = value_array();
    for (size_t i = 0; key->words[i]; i++) words = value_push_take(words, text(key->words[i]));
    if (key->key == KEY_VERSION) words = value_push_take(words, value_double(1.0));
    return object1("enum", words);
}

static tn_value number_schema(uint32_t forms) {
    tn_value schema = of_type(forms & KEY_INTEGER ? "integer" : "number");
    if ((forms & KEY_INTEGER) || (forms & KEY_AT_LEAST_ONE)) return value_set_take(schema, "minimum", value_int(1));
    return forms & KEY_POSITIVE ? value_set_take(schema, "exclusiveMinimum", value_int(0)) : schema;
}

static tn_value duration_schema(uint32_t forms) {
    tn_value number = of_type("number");
    number = value_set_take(number, forms & KEY_POSITIVE ? "exclusiveMinimum" : "minimum", value_int(0));
    tn_value both = value_push_take(value_array(), number);
    tn_value written = value_set_take(of_type("string"), "pattern", text(DURATION_PATTERN));
    return object1("anyOf", value_push_take(both, written));
}

static const char *const mapping_names[KEYS_MAPPINGS] = {
#define DOCUMENT_MAPPING(mapping, first, last, name, documentation) [KEYS_##mapping] = #mapping,
#include "adl/document/keys.def"
};

static tn_value mapping_schema(const struct document_key *key) {
    return key->of ? reference(mapping_names[key->of]) : of_type("object");
}

static tn_value list_schema(const struct document_key *key) {
    tn_value items = value_array();
    if (key->forms & KEY_TEXTS) items = value_push_take(items, text_schema(key));
    if (key->forms & KEY_MAPPINGS) items = value_push_take(items, reference(mapping_names[key->of]));
    if (key->key == KEY_MODEL_ROLE_MODELS) { /* deployments */
        tn_value inner = object1("anyOf", value_ref(items));
        items = value_push_take(items, value_set_take(of_type("array"), "items", inner));
    }
    tn_value schema = of_type("array");
    if (value_count(items) == 1) schema = value_set_take(schema, "items", value_ref(value_at(items, 0)));
    if (value_count(items) > 1) schema = value_set_take(schema, "items", object1("anyOf", value_ref(items)));
    value_unref(items);
    return schema;
}

/* A binding of a role: the other forms of `models`. */
static tn_value names_schema(const struct document_key *key) {
    tn_value one = value_array();
    one = value_push_take(one, of_type("string"));
    one = value_push_take(one, reference(mapping_names[key->of]));
    tn_value list = value_set_take(of_type("array"), "items", object1("anyOf", one));
    list = value_set_take(list, "minItems", value_int(1));
    tn_value any =
        value_push_take(value_push_take(value_array(), of_type("string")), reference(mapping_names[key->of]));
    any = value_push_take(any, reference(mapping_names[KEYS_MODEL_ROLE]));
    any = object1("anyOf", value_push_take(any, list));
    tn_value schema = value_set_take(of_type("object"), "additionalProperties", any);
    return value_set_take(schema, "patternProperties", object1("^x-", value_bool(true)));
}

static tn_value alternatives(const struct document_key *key) {
    uint32_t forms = key->forms;
    tn_value any = value_array();
    if (forms & (KEY_INTEGER | KEY_NUMBER)) any = value_push_take(any, number_schema(forms));
    if (forms & KEY_BOOL) any = value_push_take(any, of_type("boolean"));
    if (forms & KEY_TEXT) any = value_push_take(any, text_schema(key));
    if (forms & KEY_DURATION) any = value_push_take(any, duration_schema(forms));
    if (forms & KEY_LIST) any = value_push_take(any, list_schema(key));
    if (forms & KEY_MAPPING) any = value_push_take(any, mapping_schema(key));
    if (forms & KEY_SCHEMA) {
        tn_value types = value_push_take(value_push_take(value_array(), text("object")), text("boolean"));
        any = value_push_take(any, object1("type", types));
    }
    return any;
}

static tn_value key_schema(const struct document_key *key) {
    tn_value schema, any = NULL;
    if (key->forms & KEY_NAMES) {
        schema = names_schema(key);
    } else if (key->forms & KEY_ANY) {
        schema = value_object();
    } else {
        any = alternatives(key);
        if (!key->required) any = value_push_take(any, of_type("null")); /* written and left empty */
        schema = value_count(any) == 1 ? value_ref(value_at(any, 0)) : object1("anyOf", value_ref(any));
        value_unref(any);
    }
    schema = value_set_take(schema, "title", text(key->name));
    return described_take(schema, key->documentation);
}

/* ---- Mappings ---- */

static tn_value mapping_definition(enum keys_mapping which) {
    const struct document_mapping *mapping = document_mapping(which);
    tn_value properties = value_object_reserve(mapping->key_count), required = value_array();
    for (uint32_t i = 0; i < mapping->key_count; i++) {
        const struct document_key *key = &mapping->keys[i];
        properties = value_set_take(properties, key->name, key_schema(key));
        if (key->required) required = value_push_take(required, text(key->name));
    }
    tn_value schema = value_set_take(of_type("object"), "title", text(mapping->name));
    schema = described_take(schema, mapping->documentation);
    schema = value_set_take(schema, "properties", properties);
    if (value_count(required))
        schema = value_set_take(schema, "required", required);
    else
        value_unref(required);
    if (mapping->open) return schema;
    schema = value_set_take(schema, "patternProperties", object1("^x-", value_bool(true)));
    return value_set_take(schema, "additionalProperties", value_bool(false));
}

/* ---- Node types ---- */

static tn_value reference_schema(void) {
    tn_value properties = object1("file", described_take(of_type("string"), "The text is that of this file."));
    properties = value_set_take(properties, "secret", described_take(of_type("string"), "The text is this secret."));
    tn_value schema = value_set_take(of_type("object"), "properties", properties);
    schema = value_set_take(schema, "minProperties", value_int(1));
    schema = value_set_take(schema, "maxProperties", value_int(1));
    return value_set_take(schema, "additionalProperties", value_bool(false));
}

struct types {
    tn_value constants, conditions, definitions;
};

static tn_value manifest_examples(const struct component_info *component) {
    tn_value given = value_get(component->manifest, "examples"), examples = value_array();
    for (size_t i = 0; given && value_is(given, TN_ARRAY) && i < value_count(given); i++) {
        tn_value config = value_get(value_at(given, i), "config");
        if (config) examples = value_push_take(examples, value_ref(config));
    }
    return examples;
}

static const struct {
    const char *keyword;
    enum holds { ONE, LIST_OF, NAMED } holds;
} subschemas[] = {
    {"properties", NAMED},
    {"patternProperties", NAMED},
    {"$defs", NAMED},
    {"additionalProperties", ONE},
    {"items", ONE},
    {"contains", ONE},
    {"then", ONE},
    {"else", ONE},
    {"prefixItems", LIST_OF},
    {"allOf", LIST_OF},
    {"anyOf", LIST_OF},
    {"oneOf", LIST_OF},
};

static tn_value loosen_each(tn_value given, enum holds holds, tn_value reference) {
    if (holds == ONE) return schema_allow_reference(given, reference);
    tn_value all = value_ref(given);
    for (size_t i = 0, n = value_count(given); i < n; i++) {
        if (holds == LIST_OF && value_is(given, TN_ARRAY))
            all = value_replace_take(all, i, schema_allow_reference(value_at(given, i), reference));
        if (holds == NAMED && value_is(given, TN_OBJECT))
            all = value_set_key_take(all, value_ref(value_key_at(given, i)),
                                     schema_allow_reference(value_value_at(given, i), reference));
    }
    return all;
}

tn_value schema_allow_reference(tn_value schema, tn_value reference) {
    if (!value_is(schema, TN_OBJECT)) return value_ref(schema);
    tn_value type = value_get(schema, "type");
    if (type && value_text_is(type, "string") && !value_get(schema, "enum") && !value_get(schema, "const")) {
        tn_value both = value_push_take(value_array(), value_ref(schema));
        tn_value loose = object1("anyOf", value_push_take(both, value_ref(reference)));
        tn_value description = value_get(schema, "description");
        return description ? described_take(loose, value_chars(description, NULL)) : loose;
    }
    tn_value loose = value_ref(schema);
    for (size_t i = 0; i < sizeof subschemas / sizeof *subschemas; i++) {
        tn_value given = value_get(schema, subschemas[i].keyword);
        if (given)
            loose = value_set_take(loose, subschemas[i].keyword, loosen_each(given, subschemas[i].holds, reference));
    }
    return loose;
}

bool schema_has_references(tn_value schema) {
    int kind = value_kind(schema);
    if (kind == TN_OBJECT && (value_get(schema, "$ref") || value_get(schema, "$dynamicRef"))) return true;
    for (size_t i = 0, n = kind == TN_OBJECT || kind == TN_ARRAY ? value_count(schema) : 0; i < n; i++)
        if (schema_has_references(kind == TN_OBJECT ? value_value_at(schema, i) : value_at(schema, i))) return true;
    return false;
}

static tn_value config_definition(const struct component_info *component) {
    tn_value schema = schema_document(component->config);
    if (!value_is(schema, TN_OBJECT)) return value_ref(schema);
    tn_value reference = reference_schema(), definition = schema_allow_reference(schema, reference);
    value_unref(reference);
    if (!value_get(definition, "$id") && schema_has_references(schema))
        definition = value_set_take(definition, "$id", value_format(CONFIG_BASE "%s", component->id));
    if (!value_get(definition, "title") && component->title)
        definition = value_set_take(definition, "title", text(component->title));
    if (!value_get(definition, "description") && component->documentation && *component->documentation)
        definition = described_take(definition, component->documentation);
    tn_value examples = manifest_examples(component);
    if (value_count(examples)) return value_set_take(definition, "examples", examples);
    value_unref(examples);
    return definition;
}

static bool schema_add_node_type(void *user, const struct component_info *component) {
    struct types *types = user;
    tn_value constant = object1("const", text(component->id));
    if (component->title) constant = value_set_take(constant, "title", text(component->title));
    if (component->documentation && *component->documentation)
        constant = described_take(constant, component->documentation);
    types->constants = value_push_take(types->constants, constant);
    tn_value is_type = object1("properties", object1("type", object1("const", text(component->id))));
    is_type = value_set_take(is_type, "required", value_push_take(value_array(), text("type")));
    tn_value config = object1("$ref", value_format("#/$defs/config:%s", component->id));
    tn_value required = value_get(schema_document(component->config), "required");
    bool needed = required && value_count(required) > 0;
    if (!needed) /* written and left empty */
        config = object1("anyOf", value_push_take(value_push_take(value_array(), config), of_type("null")));
    tn_value condition = object1("if", is_type);
    tn_value then = object1("properties", object1("config", config));
    if (needed) then = value_set_take(then, "required", value_push_take(value_array(), text("config")));
    condition = value_set_take(condition, "then", then);
    types->conditions = value_push_take(types->conditions, condition);
    tn_value name = value_format("config:%s", component->id);
    types->definitions = value_set_key_take(types->definitions, name, config_definition(component));
    return true;
}

/* Adds the known types, and the config of each, to the definition of a node. */
static tn_value with_types_take(tn_value node, struct types *types) {
    tn_value properties = value_ref(value_get(node, "properties"));
    tn_value type = value_ref(value_get(properties, "type"));
    type = value_set_take(type, "anyOf", types->constants);
    properties = value_set_take(properties, "type", type);
    node = value_set_take(node, "properties", properties);
    return value_set_take(node, "allOf", types->conditions);
}

tn_value document_json_schema(const struct catalog *catalog) {
    struct types types = {value_array(), value_array(), value_object()};
    if (catalog) catalog->each(catalog->self, "node", schema_add_node_type, &types);
    tn_value definitions = types.definitions;
    for (enum keys_mapping i = KEYS_ROOT + 1; i < KEYS_MAPPINGS; i++) {
        tn_value definition = mapping_definition(i);
        if (i == KEYS_NODE && value_count(types.constants)) definition = with_types_take(definition, &types);
        definitions = value_set_take(definitions, mapping_names[i], definition);
    }
    tn_value schema = object1("$schema", text("https://json-schema.org/draft/2020-12/schema"));
    schema = value_set_take(schema, "$id", text("https://tenon.dev/schema/adl.schema.json"));
    tn_value root = mapping_definition(KEYS_ROOT);
    for (size_t i = 0, n = value_count(root); i < n; i++)
        schema = value_set_key_take(schema, value_ref(value_key_at(root, i)), value_ref(value_value_at(root, i)));
    value_unref(root);
    schema = value_set_take(schema, "title", text("ADL 1.0, the language of Tenon's agent graphs"));
    return value_set_take(schema, "$defs", definitions);
}
