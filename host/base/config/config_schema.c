/*
 * config_schema.c - the JSON Schema of tenon.yaml, from config_keys.def (names, documentation, examples) and
 * config_forms.json (the form of each value, by the identifier of its row).
 *
 * Two keywords are for config_names.c, which knows a host: `x-tenon-names` says which names a string or a key can be.
 * `x-tenon-values` has one line of documentation for each value of `enum`.
 */
#include "adl/value/json.h"
#include "host/base/config/config.h"
#include <assert.h>
#include <string.h>

extern const char config_forms_text[];
extern const unsigned config_forms_length;

static const char *const identifiers[] = {
#define CONFIG_KEY(parent, identifier, name, form, example, documentation) #identifier,
#include "host/base/config/config_keys.def"
#undef CONFIG_KEY
};

static tn_value schema_describe_take(tn_value schema, tn_value text) {
    schema = value_set_take(schema, "description", value_ref(text));
    return value_set_take(schema, "markdownDescription", text);
}

/* {name: schema} of `limits`. */
static tn_value limit_properties(void) {
    tn_value properties = value_object(), limit;
#define CONFIG_LIMIT(name, least, most, documentation)                                                                 \
    limit = value_set_take(value_object_reserve(5), "type", value_text("integer"));                                    \
    limit = value_set_take(limit, "title", value_text("`limits." #name "` in tenon.yaml"));                            \
    limit = value_set_take(limit, "minimum", value_int(least));                                                        \
    limit = value_set_take(limit, "maximum", value_int(most));                                                         \
    properties = value_set_take(properties, #name, schema_describe_take(limit, value_text(documentation)));
    CONFIG_LIMITS(CONFIG_LIMIT)
#undef CONFIG_LIMIT
    return properties;
}

static tn_value serve_limit_take(tn_value limit, const char *name, const char *documentation) {
    limit = value_set_take(limit, "title", value_format("`serve.limits.%s` in tenon.yaml", name));
    return schema_describe_take(limit, value_text(documentation));
}

/* The same of `serve.limits`. */
static tn_value serve_limit_properties(void) {
    static const struct {
        const char *name, *documentation;
        int64_t least, most, otherwise;
    } rows[] = {
#define SERVE_LIMIT(name, least, most, otherwise, documentation) {#name, documentation, least, most, otherwise},
        CONFIG_SERVE_LIMITS(SERVE_LIMIT)
#undef SERVE_LIMIT
    };
    tn_value properties = value_object(), limit;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        limit = value_set_take(value_object_reserve(6), "type", value_text("integer"));
        limit = value_set_take(limit, "minimum", value_int(rows[i].least));
        limit = value_set_take(limit, "maximum", value_int(rows[i].most));
        if (rows[i].otherwise) limit = value_set_take(limit, "default", value_int(rows[i].otherwise));
        properties =
            value_set_take(properties, rows[i].name, serve_limit_take(limit, rows[i].name, rows[i].documentation));
    }
    limit = value_set_take(value_object_reserve(5), "type", value_text("number"));
    limit = value_set_take(limit, "minimum", value_int(0));
    limit = value_set_take(limit, "maximum", value_int(1000000000000));
    return value_set_take(
        properties, "cost_per_day",
        serve_limit_take(limit, "cost_per_day", "Cost of models of one key in a day (UTC), from `prices`."));
}

static tn_value mapping_properties(const char *parent, tn_value forms);

static tn_value key_schema(const struct config_key *key, tn_value form, tn_value forms) {
    tn_value schema = value_ref(form);
    const char *dot = *key->parent ? "." : "";
    schema = value_set_take(schema, "title", value_format("`%s%s%s` in tenon.yaml", key->parent, dot, key->name));
    schema = schema_describe_take(schema,
                                  value_format("%s\n\nExample: `%s: %s`", key->documentation, key->name, key->example));
    tn_value properties = value_object();
    if (!*key->parent)
        properties = strcmp(key->name, "limits") == 0 ? limit_properties() : mapping_properties(key->name, forms);
    else if (strcmp(key->parent, "serve") == 0 && strcmp(key->name, "limits") == 0)
        properties = serve_limit_properties();
    if (value_count(properties) == 0) return schema;
    schema = value_set_take(schema, "properties", properties);
    return value_set_take(schema, "additionalProperties", value_bool(false));
}

/* The schemas of the keys in the mapping at `parent`; an empty object if it is not a mapping of keys. */
static tn_value mapping_properties(const char *parent, tn_value forms) {
    tn_value properties = value_object();
    for (size_t i = 0; i < config_key_count(); i++) {
        const struct config_key *key = config_key_at(i);
        if (strcmp(key->parent, parent) != 0) continue;
        tn_value form = value_get(forms, identifiers[i]);
        assert(form); /* each row has a form; config_test compares them */
        properties = value_set_take(properties, key->name, key_schema(key, form, forms));
    }
    return properties;
}

tn_value config_schema(void) {
    tn_value forms = NULL, schema = value_object();
    int32_t status = json_read(config_forms_text, config_forms_length, NULL, &forms, NULL);
    assert(status == TN_OK);
    (void)status;
    schema = value_set_take(schema, "$schema", value_text("https://json-schema.org/draft/2020-12/schema"));
    schema = value_set_take(schema, "$id", value_text("https://tenon.dev/schema/config.schema.json"));
    schema = value_set_take(schema, "title", value_text("tenon.yaml, the configuration of Tenon"));
    tn_value types = value_push_take(value_push_take(value_array(), value_text("object")), value_text("null"));
    schema = value_set_take(schema, "type", types);
    schema = value_set_take(schema, "properties", mapping_properties("", forms));
    schema = value_set_take(schema, "additionalProperties", value_bool(false));
    schema = value_set_take(schema, "$defs", value_ref(value_get(forms, "$defs")));
    value_unref(forms);
    return schema;
}
