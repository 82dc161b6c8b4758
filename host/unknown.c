/*
 * unknown.c - looking up what tenon.yaml names, with the nearest name that there is.
 *
 * What each key may hold has been checked when the file was read (config/config.c); here are names alone.
 */
#include "host/unknown.h"
#include "adl/document/document.h"
#include "adl/value/buffer.h"
#include "adl/value/nearest.h"
#include "adl/value/wildcard.h"
#include "host/config/config.h"
#include "host/host.h"
#include "host/model/model.h"
#include "host/plugin/check.h"
#include "host/plugin/plugin.h"
#include "host/plugin/registry.h"
#include "host/tool/policy.h"
#include <string.h>

struct asking {
    struct host *host;
    unknown_say *say;
    void *user;
};

static void tell(const struct asking *asking, const char *what, const struct nearest *nearest) {
    struct buffer text;
    const char *near = nearest_result(nearest);
    buffer_init(&text, SIZE_MAX);
    buffer_format(&text, "tenon.yaml: %s%s%.*s%s", what, near ? "; did you mean `" : "",
                  near ? (int)nearest->best_length : 0, near ? near : "", near ? "`?" : "");
    asking->say(asking->user, buffer_cstr(&text));
    buffer_finish(&text);
}

/* ---- Plugins ---- */

static void offer_id(void *user, struct plugin *plugin) {
    nearest_offer(user, plugin_id(plugin), strlen(plugin_id(plugin)));
}

static void look_up_plugins(const struct asking *asking, const char *key, tn_value ids) {
    for (size_t i = 0; ids && i < value_count(ids); i++) {
        size_t length;
        const char *id = value_chars(value_key_at(ids, i), &length);
        if (strcmp(id, "*") == 0 || registry_plugin(asking->host->registry, id)) continue;
        struct nearest nearest;
        nearest_init(&nearest, id, length);
        registry_each_plugin(asking->host->registry, offer_id, &nearest);
        tn_value what = value_format("%s: there is no plugin `%s`", key, id);
        tell(asking, value_chars(what, NULL), &nearest);
        value_unref(what);
    }
}

void unknown_plugins(struct host *host, unknown_say *say, void *user) {
    const struct asking asking = {host, say, user};
    look_up_plugins(&asking, "plugins.isolation", config_isolation(host->config));
    look_up_plugins(&asking, "plugins.config", config_plugin_sections(host->config));
}

/* ---- Providers ---- */

static bool offer_component(void *user, const struct component_info *component) {
    nearest_offer(user, component->id, strlen(component->id));
    return true;
}

static void look_up_binding(const struct asking *asking, const char *role, tn_value binding) {
    if (value_is(binding, TN_ARRAY)) { /* to fall back along */
        for (size_t i = 0; i < value_count(binding); i++) look_up_binding(asking, role, value_at(binding, i));
        return;
    }
    const struct catalog *catalog = &asking->host->catalog;
    tn_value name = value_is(binding, TN_OBJECT) ? value_get(binding, "provider") : binding;
    const char *provider = value_chars(name, NULL);
    size_t length = strcspn(provider, ":");
    struct error error = ERROR_INIT;
    int32_t status = model_check(asking->host, binding, &error);
    if (status != TN_OK && status != TN_NOT_FOUND) {
        tn_value wrong = value_format("tenon.yaml: models.%s: %s", role, error.message);
        asking->say(asking->user, value_chars(wrong, NULL));
        value_unref(wrong);
    }
    error_finish(&error);
    if (status != TN_NOT_FOUND) return;
    struct nearest nearest;
    nearest_init(&nearest, provider, length);
    catalog->each(catalog->self, "model", offer_component, &nearest);
    tn_value what =
        value_format("models.%s: no plugin provides the model provider `%.*s`", role, (int)length, provider);
    tell(asking, value_chars(what, NULL), &nearest);
    value_unref(what);
}

void unknown_providers(struct host *host, unknown_say *say, void *user) {
    const struct asking asking = {host, say, user};
    tn_value models = config_models(host->config);
    for (size_t i = 0; models && i < value_count(models); i++)
        look_up_binding(&asking, value_chars(value_key_at(models, i), NULL), value_value_at(models, i));
}

/* ---- Roles ---- */

static void offer(struct nearest *nearest, tn_value role) {
    size_t length;
    const char *text = value_chars(role, &length);
    nearest_offer(nearest, text, length);
}

int32_t unknown_role(const struct host *host, const struct document *document, struct error *error) {
    tn_value models = config_models(host->config);
    for (size_t i = 0; i < value_count(host->roles_unheard); i++) {
        size_t length;
        const char *role = value_chars(value_key_at(host->roles_unheard, i), &length);
        if (strcmp(role, "default") == 0) continue;
        struct nearest nearest;
        nearest_init(&nearest, role, length);
        nearest_offer(&nearest, "default", strlen("default"));
        for (uint32_t j = 0; document && j < document->model_count; j++) offer(&nearest, document->models[j].role);
        for (size_t j = 0; j < value_count(models); j++)
            if (!value_get_key(host->roles_unheard, value_key_at(models, j))) offer(&nearest, value_key_at(models, j));
        const char *near = nearest_result(&nearest);
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND",
                         "--model %s=…: neither the document nor tenon.yaml has a role `%s`%s%.*s%s", role, role,
                         near ? "; did you mean `" : "", near ? (int)nearest.best_length : 0, near ? near : "",
                         near ? "`?" : "");
    }
    return TN_OK;
}

/* ---- Tools, and what they do ---- */

#define EFFECT_PREFIX "effect:"

struct rule { /* a key of tools.approval */
    const char *pattern;
    bool fits;
    struct nearest nearest;
    tn_value offered; /* patterns made of names: what `nearest` points into */
};

static bool try_tool(void *user, const struct component_info *info) {
    struct rule *rule = user;
    const char *dot = strrchr(info->id, '.');
    rule->fits |= wildcard_matches(rule->pattern, info->id);
    if (!strchr(rule->pattern, '*')) {
        nearest_offer(&rule->nearest, info->id, strlen(info->id));
    } else if (dot) {
        tn_value family = value_format("%.*s.*", (int)(dot - info->id), info->id);
        size_t length;
        const char *text = value_chars(family, &length);
        nearest_offer(&rule->nearest, text, length);
        rule->offered = value_push_take(rule->offered, family);
    }
    return !rule->fits;
}

static bool try_effects(void *user, const struct component_info *info) {
    struct rule *rule = user;
    for (size_t i = 0; value_is(info->effects, TN_ARRAY) && i < value_count(info->effects); i++) {
        tn_value effect = value_at(info->effects, i);
        if (!value_is(effect, TN_STRING)) continue;
        rule->fits |= tool_effect_fits(rule->pattern, value_chars(effect, NULL));
        nearest_offer(&rule->nearest, value_chars(effect, NULL), strcspn(value_chars(effect, NULL), ":"));
    }
    return !rule->fits;
}

static void try_known(struct rule *rule) {
    for (const char *const *known = check_known_effects; *known; known++) {
        /* "network.http:example.com" is one of network.http's. */
        size_t length = strlen(*known);
        bool narrower = strncmp(rule->pattern, *known, length) == 0 && rule->pattern[length] == ':';
        rule->fits |= narrower || tool_effect_fits(rule->pattern, *known);
        nearest_offer(&rule->nearest, *known, length);
    }
    rule->fits |= tool_effect_fits(rule->pattern, TOOL_EFFECT_UNKNOWN);
}

static void look_up_rule(const struct asking *asking, const char *key, bool all) {
    const struct catalog *catalog = &asking->host->catalog;
    bool effect = strncmp(key, EFFECT_PREFIX, strlen(EFFECT_PREFIX)) == 0;
    struct rule rule = {.pattern = effect ? key + strlen(EFFECT_PREFIX) : key, .offered = value_array()};
    nearest_init(&rule.nearest, rule.pattern, strlen(rule.pattern));
    catalog->each(catalog->self, "tool", effect ? try_effects : try_tool, &rule);
    if (effect) try_known(&rule);
    if (!rule.fits && (all || nearest_result(&rule.nearest))) {
        tn_value what = value_format("tools.approval: `%s` means no %s that is known here, and does nothing", key,
                                     effect ? "effect" : "tool");
        tell(asking, value_chars(what, NULL), &rule.nearest);
        value_unref(what);
    }
    value_unref(rule.offered);
}

void unknown_tools(struct host *host, unknown_say *say, void *user) {
    const struct asking asking = {host, say, user};
    tn_value rules = config_tool_approval(host->config);
    bool all = registry_knows_all(host->registry, "tool");
    for (size_t i = 0; rules && i < value_count(rules); i++)
        look_up_rule(&asking, value_chars(value_key_at(rules, i), NULL), all);
}
