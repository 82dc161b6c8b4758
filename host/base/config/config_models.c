/*
 * config_models.c - reads `models`, `providers`, `model_calls` and `prices` of tenon.yaml.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/model_role.h"
#include "host/base/config/config_internal.h"
#include "host/base/config/config_reader.h"
#include <string.h>

/* Checks {models: [binding or list of bindings, …], …}. */
static bool config_check_role_models(struct config_reader *reader, const struct tree_node *node, const char *where);

/* Checks a binding: "provider:model", {provider, …}, or a list of these. The list contains the fallbacks in order. */
static bool config_check_binding(struct config_reader *reader, const struct tree_node *node, const char *where,
                                 bool in_list) {
    if (node->kind == TN_STRING) return true;
    if (node->kind == TN_OBJECT) {
        const struct tree_node *provider = tree_get(node, "provider"), *models = tree_get(node, "models");
        if (provider && provider->kind == TN_STRING) return true;
        if (!provider && models && !in_list) return config_check_role_models(reader, models, where);
        diagnostics_add(reader->diagnostics, ADL_E022, reader->source, node->span,
                        "`%s`: found no `provider`, expected the name of a provider, as in {provider: openai}", where);
        return false;
    }
    if (node->kind == TN_ARRAY && !in_list && node->count > 0) {
        bool good = true;
        for (uint32_t i = 0; i < node->count; i++)
            good &= config_check_binding(reader, node->items[i].node, where, true);
        return good;
    }
    config_report_kind(reader, node, where,
                       "\"provider:model\", a mapping with `provider`, a list of these, or a mapping with `models`");
    return false;
}

/* It is written before `:` in a binding. */
static bool is_provider_name(tn_value key) {
    size_t length;
    const char *text = value_chars(key, &length);
    bool letter = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z');
    return letter && length <= 200 && strlen(text) == length &&
           strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == length;
}

static bool config_check_role_models(struct config_reader *reader, const struct tree_node *node, const char *where) {
    bool good = node->kind == TN_ARRAY && node->count > 0;
    if (!good) config_report_kind(reader, node, where, "`models` to be a list of models");
    for (uint32_t i = 0; good && i < node->count; i++) {
        const struct tree_node *item = node->items[i].node;
        good = config_check_binding(reader, item, where, item->kind != TN_ARRAY);
    }
    return good;
}

/* Checks what the host reads of a binding itself: retry, fallback, balance, cooldown, cache. */
static bool config_check_role(struct config_reader *reader, const struct tree_node *node, const char *where) {
    struct model_role role = MODEL_ROLE_INIT;
    struct error error = ERROR_INIT;
    tn_value binding = tree_to_value(node);
    bool good = model_role_read(binding, &role, &error) == TN_OK;
    if (!good)
        diagnostics_add(reader->diagnostics, ADL_E020, reader->source, node->span, "`%s`: %s", where, error.message);
    error_finish(&error);
    value_unref(binding);
    return good;
}

void config_read_models(struct config_reader *reader, const struct tree_node *node) {
    if (!config_expect_mapping(reader, node, "models", "a mapping of roles to models")) return;
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        struct config_where where = config_where("models", item->key);
        if (config_check_binding(reader, item->node, where.text, false) &&
            config_check_role(reader, item->node, where.text))
            reader->config->models =
                value_set_key_take(reader->config->models, value_ref(item->key), tree_to_value(item->node));
    }
}

void config_read_providers(struct config_reader *reader, const struct tree_node *node) {
    if (!config_expect_mapping(reader, node, "providers", "a mapping of names to mappings with `provider`")) return;
    uint32_t count = config_usable_count(reader, node, "providers", CONFIG_PROVIDERS_MAX, "providers");
    for (uint32_t i = 0; i < count; i++) {
        const struct tree_item *item = &node->items[i];
        const struct tree_node *provider = item->node->kind == TN_OBJECT ? tree_get(item->node, "provider") : NULL;
        struct config_where where = config_where("providers", item->key);
        if (!is_provider_name(item->key))
            diagnostics_add(reader->diagnostics, ADL_E022, reader->source, item->node->span,
                            "`%s`: found a name with other characters, expected letters, digits, `.`, `_` and `-`, "
                            "starting with a letter",
                            where.text);
        else if (item->node->kind != TN_OBJECT)
            config_report_kind(reader, item->node, where.text, "a mapping with `provider` and its configuration");
        else if (!provider || provider->kind != TN_STRING)
            diagnostics_add(reader->diagnostics, ADL_E022, reader->source, item->node->span,
                            "`%s`: found no `provider`, expected the name of a provider, as in {provider: openai, "
                            "base_url: \"https://…\"}",
                            where.text);
        else
            reader->config->providers =
                value_set_key_take(reader->config->providers, value_ref(item->key), tree_to_value(item->node));
    }
}

void config_read_model_calls(struct config_reader *reader, const struct tree_node *node) {
    if (config_expect_mapping(reader, node, "model_calls", "a mapping with `retry` and `limits`"))
        config_read_keys(reader, node, "model_calls");
}

static void config_report_call_error(struct config_reader *reader, const struct tree_node *node, struct error *error) {
    diagnostics_add(reader->diagnostics, ADL_E020, reader->source, node->span, "`model_calls`: %s", error->message);
    error_finish(error);
}

void config_read_model_retry(struct config_reader *reader, const struct tree_node *node) {
    struct model_retry retry = MODEL_RETRY_INIT;
    struct error error = ERROR_INIT;
    tn_value value = tree_to_value(node);
    if (model_retry_read(value, "retry", &retry, &error) == TN_OK)
        reader->config->calls = value_set_take(reader->config->calls, "retry", value_ref(value));
    else
        config_report_call_error(reader, node, &error);
    value_unref(value);
}

void config_read_model_limits(struct config_reader *reader, const struct tree_node *node) {
    if (!config_expect_mapping(reader, node, "model_calls.limits", "a mapping of keys to mappings")) return;
    uint32_t count = config_usable_count(reader, node, "model_calls.limits", CONFIG_KEYS_MAX, "keys");
    tn_value all = value_object();
    for (uint32_t i = 0; i < count; i++) {
        const struct tree_item *item = &node->items[i];
        struct model_limits limits;
        struct error error = ERROR_INIT;
        tn_value value = tree_to_value(item->node);
        if (model_limits_read(value, value_chars(item->key, NULL), &limits, &error) == TN_OK)
            all = value_set_key_take(all, value_ref(item->key), value_ref(value));
        else
            config_report_call_error(reader, item->node, &error);
        value_unref(value);
    }
    reader->config->calls = value_set_take(reader->config->calls, "limits", all);
}

static bool config_check_price(struct config_reader *reader, const struct tree_node *node, const char *where) {
    static const char *const members[] = {"input", "output", "cached", "cache_write"};
    if (!config_expect_mapping(reader, node, where, "a mapping with `input` and `output`")) return false;
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        if (config_expect_key(reader, item, "a price", members, sizeof members / sizeof *members) == KEY_UNKNOWN)
            return false;
        bool number = item->node->kind == TN_INT || item->node->kind == TN_DOUBLE;
        if (!number || value_to_double(item->node->value) < 0) {
            config_report_value(reader, item->node, config_where(where, item->key).text,
                                "a number of at least 0: the price of a million tokens");
            return false;
        }
    }
    return true;
}

void config_read_prices(struct config_reader *reader, const struct tree_node *node) {
    if (!config_expect_mapping(reader, node, "prices", "a mapping of models to prices")) return;
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        if (config_check_price(reader, item->node, config_where("prices", item->key).text))
            reader->config->prices =
                value_set_key_take(reader->config->prices, value_ref(item->key), tree_to_value(item->node));
    }
}
