/*
 * config_lint.c - looks up the names in tenon.yaml, and suggests the nearest name that exists.
 *
 * base/config has checked the form of each key. This file only checks names.
 */
#include "host/assembly/config_lint.h"
#include "adl/document/document.h"
#include "adl/document/model_role.h"
#include "adl/value/buffer.h"
#include "adl/value/nearest.h"
#include "adl/value/wildcard.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/engine/model/model.h"
#include "host/engine/model/model_options.h"
#include "host/engine/tool/tool_policy.h"
#include "host/plugin/conformance/conformance.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include "host/work/schedule.h"
#include "host/work/work_type.h"
#include <string.h>
#include <sys/stat.h>

struct config_lint {
    struct host *host;
    const char *known; /* the id of a plugin that may be named although it is not found; may be NULL */
    config_lint_fn *report;
    void *user;
};

static void config_lint_report(const struct config_lint *lint, const char *what, const struct nearest *nearest) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    buffer_format(&text, "tenon.yaml: %s%s%s", what, nearest_hint(nearest).text,
                  registry_altered(host_registry(lint->host)));
    lint->report(lint->user, buffer_cstr(&text));
    buffer_finish(&text);
}

/* ---- Plugins ---- */

static void lint_offer_plugin_id(void *user, struct plugin *plugin) {
    nearest_add_candidate(user, plugin_id(plugin), strlen(plugin_id(plugin)));
}

static void lint_plugin_ids(const struct config_lint *lint, const char *key, tn_value ids) {
    for (size_t i = 0; ids && i < value_count(ids); i++) {
        size_t length;
        const char *id = value_chars(value_key_at(ids, i), &length);
        if (lint->known && strcmp(id, lint->known) == 0) continue;
        if (strcmp(id, "*") == 0 || registry_plugin(host_registry(lint->host), id)) continue;
        struct nearest nearest;
        nearest_init(&nearest, id, length);
        registry_each_plugin(host_registry(lint->host), lint_offer_plugin_id, &nearest);
        tn_value what = value_format("%s: unknown plugin `%s`", key, id);
        config_lint_report(lint, value_chars(what, NULL), &nearest);
        value_unref(what);
    }
}

void config_lint_plugins(struct host *host, const char *known, config_lint_fn *report, void *user) {
    const struct config_lint lint = {.host = host, .known = known, .report = report, .user = user};
    lint_plugin_ids(&lint, "plugins.isolation", config_isolation(host_config(host)));
    lint_plugin_ids(&lint, "plugins.processes", config_processes(host_config(host)));
    lint_plugin_ids(&lint, "plugins.drafts", config_drafts(host_config(host)));
    lint_plugin_ids(&lint, "plugins.admin", config_admins(host_config(host)));
    lint_plugin_ids(&lint, "plugins.config", config_plugin_sections(host_config(host)));
}

/* ---- Budgets ---- */

void config_lint_budget(const struct host *host, const struct document *document, config_lint_fn *report, void *user) {
    if (!value_get(document->budget, "cost") || value_count(config_prices(host_config(host)))) return;
    report(user, "budget.cost has no effect: tenon.yaml has no `prices`, from which costs are computed");
}

/* ---- Files ---- */

void config_lint_files(struct host *host, config_lint_fn *report, void *user) {
    tn_value roots = config_file_roots(host_config(host));
    for (size_t i = 0; i < value_count(roots); i++) {
        const char *root = value_chars(value_at(roots, i), NULL);
        struct stat status;
        bool there = stat(root, &status) == 0;
        if (there && S_ISDIR(status.st_mode) && strcmp(root, "/") != 0) continue;
        tn_value what = value_format("tenon.yaml: files.roots: %s %s", root,
                                     !there                    ? "does not exist"
                                     : S_ISDIR(status.st_mode) ? "lets documents read every file of this machine"
                                                               : "is not a folder");
        report(user, value_chars(what, NULL));
        value_unref(what);
    }
}

/* ---- Schedules ---- */

/* The Task that a schedule creates: a type that some worker handles, and the payload of a notification. */
static void lint_scheduled_task(const struct config_lint *lint, const char *name, tn_value task) {
    tn_value work = config_work(host_config(lint->host)), type = value_get(task, "type");
    const char *text = value_chars(type, NULL);
    struct nearest nearest;
    nearest_init(&nearest, text, strlen(text));
#define LINT_OFFER(name, strategy) nearest_add_candidate(&nearest, name, strlen(name));
    WORK_DEFAULTS(LINT_OFFER)
#undef LINT_OFFER
    for (size_t i = 0; i < value_count(work); i++) {
        size_t length;
        const char *known = value_chars(value_key_at(work, i), &length);
        nearest_add_candidate(&nearest, known, length);
    }
    if (!work_default_strategy(text) && !value_get_key(work, type)) {
        tn_value what = value_format("schedules.%s.task.type: no strategy for Tasks of the type `%s`", name, text);
        config_lint_report(lint, value_chars(what, NULL), &nearest);
        value_unref(what);
    }
    if (strcmp(text, "notification") == 0 && !value_is(value_get(value_get(task, "payload"), "message"), TN_STRING)) {
        tn_value what = value_format("tenon.yaml: schedules.%s.task.payload: found no `message`, expected the text of "
                                     "the notification",
                                     name);
        lint->report(lint->user, value_chars(what, NULL));
        value_unref(what);
    }
}

void config_lint_schedules(struct host *host, config_lint_fn *report, void *user) {
    const struct config_lint lint = {.host = host, .report = report, .user = user};
    tn_value schedules = config_schedules(host_config(host));
    for (size_t i = 0; i < value_count(schedules); i++) {
        struct error error = ERROR_INIT;
        const char *name = value_chars(value_key_at(schedules, i), NULL);
        if (schedule_check(name, value_value_at(schedules, i), &error)) {
            tn_value what = value_format("tenon.yaml: %s", error.message);
            report(user, value_chars(what, NULL));
            value_unref(what);
        }
        error_finish(&error);
        lint_scheduled_task(&lint, name, value_get(value_value_at(schedules, i), "task"));
    }
}

/* ---- Providers ---- */

static bool lint_offer_component(void *user, const struct component_info *component) {
    nearest_add_candidate(user, component->id, strlen(component->id));
    return true;
}

static void lint_binding(const struct config_lint *lint, const char *role, tn_value binding) {
    if (model_role_is_mapping(binding)) binding = value_get(binding, "models");
    if (value_is(binding, TN_ARRAY)) { /* a list to fall back along, or deployments */
        for (size_t i = 0; i < value_count(binding); i++) lint_binding(lint, role, value_at(binding, i));
        return;
    }
    const struct catalog *catalog = host_catalog(lint->host);
    tn_value name = value_is(binding, TN_OBJECT) ? value_get(binding, "provider") : binding;
    const char *provider = value_chars(name, NULL);
    size_t length = strcspn(provider, ":");
    struct error error = ERROR_INIT;
    int32_t status = model_check(host_engine(lint->host), binding, &error);
    if (status != TN_OK && status != TN_NOT_FOUND) {
        tn_value wrong = value_format("tenon.yaml: models.%s: %s", role, error.message);
        lint->report(lint->user, value_chars(wrong, NULL));
        value_unref(wrong);
    }
    error_finish(&error);
    if (status != TN_NOT_FOUND) return;
    struct nearest nearest;
    nearest_init(&nearest, provider, length);
    catalog->each(catalog->self, "model", lint_offer_component, &nearest);
    tn_value what =
        value_format("models.%s: no plugin provides the model provider `%.*s`", role, (int)length, provider);
    config_lint_report(lint, value_chars(what, NULL), &nearest);
    value_unref(what);
}

/* A row of `providers`: its base, and its configuration, as that of a binding without a model. */
static void lint_provider_row(const struct config_lint *lint, const char *name, tn_value row) {
    const struct catalog *catalog = host_catalog(lint->host);
    const char *provider = value_chars(value_get(row, "provider"), NULL);
    if (catalog->find(catalog->self, "model", name, strlen(name))) {
        tn_value binding = value_set_take(value_object_reserve(1), "provider", value_text(name));
        struct error error = ERROR_INIT;
        if (model_check(host_engine(lint->host), binding, &error) != TN_OK && error.code) {
            tn_value wrong = value_format("tenon.yaml: providers.%s: %s", name, error.message);
            lint->report(lint->user, value_chars(wrong, NULL));
            value_unref(wrong);
        }
        error_finish(&error);
        value_unref(binding);
        return;
    }
    struct nearest nearest;
    nearest_init(&nearest, provider, strlen(provider));
    catalog->each(catalog->self, "model", lint_offer_component, &nearest);
    bool row_of_file = value_get(config_providers(host_config(lint->host)), provider) && strcmp(name, provider) != 0;
    tn_value what =
        row_of_file ? value_format("providers.%s: the rows that it is based on do not end at a plugin's model", name)
                    : value_format("providers.%s: no plugin provides the model provider `%s`", name, provider);
    if (row_of_file) nearest_init(&nearest, "", 0);
    config_lint_report(lint, value_chars(what, NULL), &nearest);
    value_unref(what);
}

void config_lint_providers(struct host *host, config_lint_fn *report, void *user) {
    const struct config_lint lint = {.host = host, .report = report, .user = user};
    tn_value rows = config_providers(host_config(host));
    for (size_t i = 0; i < value_count(rows); i++)
        lint_provider_row(&lint, value_chars(value_key_at(rows, i), NULL), value_value_at(rows, i));
    tn_value models = config_models(host_config(host));
    for (size_t i = 0; models && i < value_count(models); i++)
        lint_binding(&lint, value_chars(value_key_at(models, i), NULL), value_value_at(models, i));
}

/* ---- Keys ---- */

/* The key of a preset. Secrets that tenon.yaml names itself are checked by config_check_secrets. */
static void lint_key(const struct config_lint *lint, const char *role, tn_value binding) {
    if (model_role_is_mapping(binding)) binding = value_get(binding, "models");
    if (value_is(binding, TN_ARRAY)) {
        for (size_t i = 0; i < value_count(binding); i++) lint_key(lint, role, value_at(binding, i));
        return;
    }
    const struct config *config = host_config(lint->host);
    tn_value named = value_is(binding, TN_OBJECT) ? value_get(binding, "provider") : binding;
    if (!value_is(named, TN_STRING)) return;
    const char *text = value_chars(named, NULL);
    tn_value id = value_string(text, strcspn(text, ":"));
    tn_value object =
        value_is(binding, TN_OBJECT) ? value_ref(binding) : value_set_take(value_object(), "provider", value_ref(id));
    tn_value options = model_options(host_engine(lint->host), value_chars(id, NULL), object, NULL);
    tn_value secret = value_get(value_get(options, "api_key"), "secret");
    bool own = value_get(object, "api_key") || value_get_key(config_providers(config), id);
    if (!own && value_is(secret, TN_STRING) && config_secret_absent(config, value_chars(secret, NULL))) {
        tn_value wrong =
            value_format("tenon.yaml: models.%s: the secret `%s`, the key of `%s`, is not available: set the "
                         "environment variable, or add the secret to `secrets`",
                         role, value_chars(secret, NULL), value_chars(id, NULL));
        lint->report(lint->user, value_chars(wrong, NULL));
        value_unref(wrong);
    }
    value_unref(options);
    value_unref(object);
    value_unref(id);
}

void config_lint_keys(struct host *host, config_lint_fn *report, void *user) {
    const struct config_lint lint = {.host = host, .report = report, .user = user};
    tn_value models = config_models(host_config(host));
    for (size_t i = 0; i < value_count(models); i++)
        lint_key(&lint, value_chars(value_key_at(models, i), NULL), value_value_at(models, i));
}

/* ---- Roles ---- */

static void lint_offer_role(struct nearest *nearest, tn_value role) {
    size_t length;
    const char *text = value_chars(role, &length);
    nearest_add_candidate(nearest, text, length);
}

int32_t config_lint_role(const struct host *host, const struct document *document, const char *given,
                         struct error *error) {
    tn_value models = config_models(host_config(host));
    for (size_t i = 0; i < value_count(host_unbound_roles(host)); i++) {
        size_t length;
        const char *role = value_chars(value_key_at(host_unbound_roles(host), i), &length);
        if (strcmp(role, "default") == 0) continue;
        struct nearest nearest;
        nearest_init(&nearest, role, length);
        nearest_add_candidate(&nearest, "default", strlen("default"));
        for (uint32_t j = 0; document && j < document->model_count; j++)
            lint_offer_role(&nearest, document->models[j].role);
        for (size_t j = 0; j < value_count(models); j++)
            if (!value_get_key(host_unbound_roles(host), value_key_at(models, j)))
                lint_offer_role(&nearest, value_key_at(models, j));
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND",
                         "%s %s=…: neither the document nor tenon.yaml has a role `%s`%s", given, role, role,
                         nearest_hint(&nearest).text);
    }
    return TN_OK;
}

/* ---- Tools and effects ---- */

#define EFFECT_PREFIX "effect:"
#define NODE_PREFIX   "node:"

/* A key of tools.approval, and the tools and effects that it matches. */
struct lint_rule_match {
    const char *pattern;
    bool matches;
    struct nearest nearest;
    tn_value offered; /* owns the patterns that `nearest` points to */
};

static bool rule_match_tool(void *user, const struct component_info *info) {
    struct lint_rule_match *rule = user;
    const char *dot = strrchr(info->id, '.');
    rule->matches |= wildcard_matches_tool(rule->pattern, info->id);
    if (!strchr(rule->pattern, '*')) {
        nearest_add_candidate(&rule->nearest, info->id, strlen(info->id));
    } else if (dot) {
        tn_value family = value_format("%.*s.*", (int)(dot - info->id), info->id);
        size_t length;
        const char *text = value_chars(family, &length);
        nearest_add_candidate(&rule->nearest, text, length);
        rule->offered = value_push_take(rule->offered, family);
    }
    return !rule->matches;
}

static bool rule_match_effects(void *user, const struct component_info *info) {
    struct lint_rule_match *rule = user;
    for (size_t i = 0; value_is(info->effects, TN_ARRAY) && i < value_count(info->effects); i++) {
        tn_value effect = value_at(info->effects, i);
        if (!value_is(effect, TN_STRING)) continue;
        rule->matches |= tool_effect_fits(rule->pattern, value_chars(effect, NULL));
        nearest_add_candidate(&rule->nearest, value_chars(effect, NULL), strcspn(value_chars(effect, NULL), ":"));
    }
    return !rule->matches;
}

static void rule_match_known_effects(struct lint_rule_match *rule) {
    for (const char *const *known = conformance_known_effects; *known; known++) {
        /* "network.http:example.com" narrows "network.http". */
        size_t length = strlen(*known);
        bool narrower = strncmp(rule->pattern, *known, length) == 0 && rule->pattern[length] == ':';
        rule->matches |= narrower || tool_effect_fits(rule->pattern, *known);
        nearest_add_candidate(&rule->nearest, *known, length);
    }
    rule->matches |= tool_effect_fits(rule->pattern, TOOL_EFFECT_UNKNOWN);
}

/* `what` is what the rule is for. Reports a rule that matches nothing, if `all` or if a similar name is known. */
static void lint_report_rule(const struct config_lint *lint, const char *key, const char *what,
                             struct lint_rule_match *rule, bool all) {
    if (!rule->matches && (all || nearest_result(&rule->nearest))) {
        tn_value text = value_format("tools.approval: `%s` matches no known %s and has no effect", key, what);
        config_lint_report(lint, value_chars(text, NULL), &rule->nearest);
        value_unref(text);
    }
    value_unref(rule->offered);
}

/* The part of the key after the prefix, or NULL. */
static const char *after_prefix(const char *key, const char *prefix) {
    return strncmp(key, prefix, strlen(prefix)) == 0 ? key + strlen(prefix) : NULL;
}

static void lint_rule(const struct config_lint *lint, const char *key) {
    const struct catalog *catalog = host_catalog(lint->host);
    const char *effect = after_prefix(key, EFFECT_PREFIX), *node = after_prefix(key, NODE_PREFIX);
    const char *pattern = effect ? effect : node ? node : key, *kind = node ? "node" : "tool";
    struct lint_rule_match rule = {.pattern = pattern, .offered = value_array()};
    nearest_init(&rule.nearest, rule.pattern, strlen(rule.pattern));
    catalog->each(catalog->self, kind, effect ? rule_match_effects : rule_match_tool, &rule);
    if (effect) rule_match_known_effects(&rule);
    lint_report_rule(lint, key,
                     effect ? "effect"
                     : node ? "node type"
                            : "tool",
                     &rule, registry_knows_all(host_registry(lint->host), kind));
}

void config_lint_tools(struct host *host, config_lint_fn *report, void *user) {
    const struct config_lint lint = {.host = host, .report = report, .user = user};
    tn_value rules = config_tool_policies(host_config(host));
    for (size_t i = 0; rules && i < value_count(rules); i++)
        lint_rule(&lint, value_chars(value_key_at(rules, i), NULL));
}
