/*
 * model_listing.c - lists providers and roles, and hides the secrets of bindings.
 */
#include "host/engine/model/model_listing.h"
#include "adl/document/model_role.h"
#include "adl/schema/schema.h"
#include "host/base/config/config.h"
#include "host/engine/engine.h"
#include "host/plugin/registry/preset.h"
#include <string.h>
#include <strings.h>

static bool list_provider(void *user, const struct component_info *info) {
    tn_value *list = user, row = value_set_take(value_object_reserve(3), "provider", value_text(info->id));
    row = value_set_take(row, "title", value_text(info->title));
    row = value_set_take(row, "plugin", value_text(info->plugin_id));
    const char *component = preset_component(info);
    if (value_get(info->manifest, "preset")) row = value_set_take(row, "component", value_text(component));
    tn_value base_url = value_get(preset_config(info), "base_url");
    if (base_url && value_is(base_url, TN_STRING)) row = value_set_take(row, "base_url", value_ref(base_url));
    *list = value_push_take(*list, row);
    return true;
}

/* True if members of this name usually contain secrets: "api_key", "authorization". */
static bool is_secret_name(const char *name) {
    static const char *const ends[] = {"key", "token", "secret", "password", "authorization", "credentials", "cookie"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (length >= strlen(ends[i]) && strcasecmp(name + length - strlen(ends[i]), ends[i]) == 0) return true;
    return false;
}

static bool is_secret_schema(tn_value schema) {
    return schema && value_is(schema, TN_OBJECT) &&
           (value_get(schema, "writeOnly") == value_bool(true) ||
            value_text_is(value_get(schema, "x-tenon"), "secret"));
}

/* A copy of an option for display: texts in the place of secrets are hidden; {secret: NAME} is kept. */
static tn_value redact_option(tn_value value, tn_value schema, bool secret) {
    tn_value properties = schema && value_is(schema, TN_OBJECT) ? value_get(schema, "properties") : NULL, out;
    if (value_is(value, TN_STRING)) return secret ? value_text("(hidden)") : value_ref(value);
    if (value_is(value, TN_ARRAY)) {
        out = value_array();
        for (size_t i = 0; i < value_count(value); i++)
            out = value_push_take(out, redact_option(value_at(value, i), NULL, secret));
        return out;
    }
    if (!value_is(value, TN_OBJECT) || (value_count(value) == 1 && value_is(value_get(value, "secret"), TN_STRING)))
        return value_ref(value);
    out = value_object();
    for (size_t i = 0; i < value_count(value); i++) {
        tn_value key = value_key_at(value, i), inside = properties ? value_get_key(properties, key) : NULL;
        bool hidden = secret || is_secret_name(value_chars(key, NULL)) || is_secret_schema(inside);
        out = value_set_key_take(out, value_ref(key), redact_option(value_value_at(value, i), inside, hidden));
    }
    return out;
}

/* A copy of a binding, or of a list of bindings, without secrets; a new reference. */
static tn_value redact_binding(const struct engine *engine, tn_value binding) {
    if (value_is(binding, TN_ARRAY)) {
        tn_value list = value_array();
        for (size_t i = 0; i < value_count(binding); i++)
            list = value_push_take(list, redact_binding(engine, value_at(binding, i)));
        return list;
    }
    if (model_role_is_mapping(binding)) {
        tn_value models = redact_binding(engine, value_get(binding, "models"));
        return value_set_take(value_ref(binding), "models", models);
    }
    size_t length = 0;
    tn_value named = value_is(binding, TN_OBJECT) ? value_get(binding, "provider") : NULL;
    const char *id = named && value_is(named, TN_STRING) ? value_chars(named, &length) : "";
    const struct component_info *info = engine->catalog.find(engine->catalog.self, "model", id, length);
    return redact_option(binding, info && info->config ? schema_document(info->config) : NULL, false);
}

tn_value model_list_providers(const struct engine *engine) {
    tn_value providers = value_array();
    engine->catalog.each(engine->catalog.self, "model", list_provider, &providers);
    return providers;
}

tn_value model_list_roles(const struct engine *engine) {
    tn_value roles = config_models(engine->config), out = value_object();
    for (size_t i = 0; roles && i < value_count(roles); i++)
        out = value_set_key_take(out, value_ref(value_key_at(roles, i)),
                                 redact_binding(engine, value_value_at(roles, i)));
    return out;
}
