/*
 * model_role.c - reads the mapping form of a role, and the members of a binding that are not options of its provider.
 */
#include "adl/document/model_role.h"
#include "adl/document/duration.h"
#include "adl/value/codes.h"
#include "adl/value/nearest.h"
#include <string.h>

const char *const model_role_members[] = {"provider", "retry", "cache", "context_tokens", NULL};

const char *const model_role_fallback_codes[] = {"AUTH", "QUOTA", "NOT_FOUND", "CONTEXT_LENGTH", NULL};

/* ---- Values ---- */

static const char *role_kind_name(tn_value value) { return value ? value_kind_name(value_kind(value)) : "nothing"; }

static int32_t role_fail(struct error *error, const char *where, tn_value found, const char *expected) {
    if (value_is(found, TN_STRING))
        return error_set(error, TN_INVALID, "INVALID_CONFIG", "`%s`: found `%.100s`, expected %s", where,
                         value_chars(found, NULL), expected);
    if (value_is(found, TN_INT))
        return error_set(error, TN_INVALID, "INVALID_CONFIG", "`%s`: found %lld, expected %s", where,
                         (long long)value_to_int(found), expected);
    return error_set(error, TN_INVALID, "INVALID_CONFIG", "`%s`: found %s, expected %s", where, role_kind_name(found),
                     expected);
}

static int32_t role_read_duration(tn_value value, const char *where, int64_t *ms, struct error *error) {
    size_t length = 0;
    const char *text = value_is(value, TN_STRING) ? value_chars(value, &length) : NULL;
    enum duration_problem problem = DURATION_MALFORMED;
    if (!value) return TN_OK;
    if (text)
        problem = duration_read(text, length, ms);
    else if (value_is_number(value))
        problem = duration_from_seconds(value_to_double(value), ms);
    return problem == DURATION_OK ? TN_OK : role_fail(error, where, value, "a duration, such as 500ms or 30s");
}

static int32_t role_read_integer(tn_value value, const char *where, int64_t least, int64_t most, int64_t *out,
                                 struct error *error) {
    if (!value) return TN_OK;
    if (value_is(value, TN_INT) && value_to_int(value) >= least && value_to_int(value) <= most) {
        *out = value_to_int(value);
        return TN_OK;
    }
    tn_value expected = value_format("a number from %lld to %lld", (long long)least, (long long)most);
    int32_t status = role_fail(error, where, value, value_chars(expected, NULL));
    value_unref(expected);
    return status;
}

/* Reports a member that is not one of `names`, which NULL ends. */
static int32_t role_check_members(tn_value object, const char *where, const char *const *names, struct error *error) {
    for (size_t i = 0; i < value_count(object); i++) {
        size_t length, j = 0;
        const char *key = value_chars(value_key_at(object, i), &length);
        struct nearest near;
        if (length >= 2 && key[0] == 'x' && key[1] == '-') continue;
        nearest_init(&near, key, length);
        for (; names[j] && strcmp(names[j], key) != 0; j++) nearest_add_candidate(&near, names[j], strlen(names[j]));
        if (names[j]) continue;
        return error_set(error, TN_INVALID, "INVALID_CONFIG", "%s has no member `%.100s`%s", where, key,
                         nearest_hint(&near).text);
    }
    return TN_OK;
}

/* ---- retry and cache ---- */

int32_t model_retry_read(tn_value value, const char *where, struct model_retry *out, struct error *error) {
    static const char *const members[] = {"attempts", "initial", "max", "retry_after_max", NULL};
    static const struct model_retry defaults = MODEL_RETRY_INIT;
    struct model_retry retry = defaults;
    if (!value || value_is(value, TN_NULL)) return TN_OK;
    retry.set = true;
    if (value == value_bool(false)) {
        retry.attempts = 0;
    } else if (value != value_bool(true)) {
        if (!value_is(value, TN_OBJECT))
            return role_fail(error, where, value,
                             "false, true, or a mapping with `attempts`, `initial`, `max` and `retry_after_max`");
        int32_t status = role_check_members(value, "`retry`", members, error);
        if (status == TN_OK)
            status = role_read_integer(value_get(value, "attempts"), "retry.attempts", 0, MODEL_ROLE_ATTEMPTS_MAX,
                                       &retry.attempts, error);
        if (status == TN_OK)
            status = role_read_duration(value_get(value, "initial"), "retry.initial", &retry.initial_ms, error);
        if (status == TN_OK) status = role_read_duration(value_get(value, "max"), "retry.max", &retry.max_ms, error);
        if (status == TN_OK)
            status = role_read_duration(value_get(value, "retry_after_max"), "retry.retry_after_max",
                                        &retry.after_max_ms, error);
        if (status != TN_OK) return status;
    }
    *out = retry;
    return TN_OK;
}

int32_t model_limits_read(tn_value value, const char *key, struct model_limits *out, struct error *error) {
    static const char *const members[] = {"requests_per_minute", "tokens_per_minute", "concurrent", "queue", NULL};
    static const int64_t most[] = {1000000, INT64_C(1) << 50, 1000000, 1000000};
    struct model_limits limits = {0, 0, 0, MODEL_QUEUE};
    int64_t *const places[] = {&limits.requests, &limits.tokens, &limits.concurrent, &limits.queue};
    tn_value where = value_format("`model_calls.limits.%.100s`", key);
    int32_t status = TN_OK;
    if (!value_is(value, TN_OBJECT))
        status = error_set(error, TN_INVALID, "INVALID_CONFIG",
                           "%s: found %s, expected a mapping with `requests_per_minute`, `tokens_per_minute`, "
                           "`concurrent` or `queue`",
                           value_chars(where, NULL), role_kind_name(value));
    if (status == TN_OK) status = role_check_members(value, value_chars(where, NULL), members, error);
    for (size_t i = 0; status == TN_OK && members[i]; i++)
        status = role_read_integer(value_get(value, members[i]), members[i], i == 3 ? 0 : 1, most[i], places[i], error);
    value_unref(where);
    if (status == TN_OK) *out = limits;
    return status;
}

static int32_t role_read_cache(tn_value value, int64_t *ttl_ms, struct error *error) {
    static const char *const members[] = {"ttl", NULL};
    int64_t ttl = MODEL_CACHE_TTL_MS;
    if (!value || value_is(value, TN_NULL) || value == value_bool(false)) return TN_OK;
    if (value != value_bool(true)) {
        if (!value_is(value, TN_OBJECT))
            return role_fail(error, "cache", value, "false, true, or a mapping with `ttl`");
        int32_t status = role_check_members(value, "`cache`", members, error);
        if (status == TN_OK) status = role_read_duration(value_get(value, "ttl"), "cache.ttl", &ttl, error);
        if (status != TN_OK) return status;
        if (ttl <= 0) return role_fail(error, "cache.ttl", value_get(value, "ttl"), "a duration above 0");
    }
    *ttl_ms = ttl;
    return TN_OK;
}

/* ---- fallback ---- */

/* A code that is almost one of the table is a mistake; plugins may have other codes. */
static int32_t role_check_code(tn_value code, struct error *error) {
    size_t length = 0;
    const char *text = value_is(code, TN_STRING) ? value_chars(code, &length) : "";
    struct nearest near;
    if (length == 0) return role_fail(error, "fallback.on", code, "codes of errors, such as [QUOTA, OVERLOADED]");
    if (error_code_find(text) || strcmp(text, "any") == 0 || strcmp(text, "retryable") == 0) return TN_OK;
    nearest_init(&near, text, length);
    for (size_t i = 0; i < error_code_count(); i++)
        nearest_add_candidate(&near, error_code_at(i)->code, strlen(error_code_at(i)->code));
    /* "429" is a status, and "insufficient_quota" a service's word. */
    bool formed = text[0] >= 'A' && text[0] <= 'Z' && strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") == length;
    if (!formed && !nearest_result(&near))
        return role_fail(error, "fallback.on", code, "codes of errors, `retryable` or `any`");
    if (!nearest_result(&near)) return TN_OK;
    return error_set(error, TN_INVALID, "INVALID_CONFIG", "`fallback.on`: no error has the code `%.100s`%s", text,
                     nearest_hint(&near).text);
}

static int32_t role_read_fallback(tn_value value, struct model_role *role, struct error *error) {
    static const char *const members[] = {"on", NULL};
    if (!value || value_is(value, TN_NULL) || value == value_bool(true)) return TN_OK;
    if (value == value_bool(false)) {
        role->no_fallback = true;
        return TN_OK;
    }
    if (!value_is(value, TN_OBJECT)) return role_fail(error, "fallback", value, "false, or a mapping with `on`");
    int32_t status = role_check_members(value, "`fallback`", members, error);
    if (status != TN_OK) return status;
    tn_value on = value_get(value, "on");
    if (!on) return TN_OK;
    if (!value_is(on, TN_ARRAY)) return role_fail(error, "fallback.on", on, "a list of codes of errors");
    for (size_t i = 0; i < value_count(on) && status == TN_OK; i++) status = role_check_code(value_at(on, i), error);
    if (status == TN_OK) role->fallback_on = on;
    return status;
}

bool model_role_falls_back(const struct model_role *role, const char *code, bool retryable) {
    if (role->no_fallback || !code || strcmp(code, "CANCELLED") == 0 || strcmp(code, "BUDGET_EXCEEDED") == 0)
        return false;
    if (!role->fallback_on) {
        for (size_t i = 0; model_role_fallback_codes[i]; i++)
            if (strcmp(model_role_fallback_codes[i], code) == 0) return true;
        return retryable;
    }
    for (size_t i = 0; i < value_count(role->fallback_on); i++) {
        tn_value on = value_at(role->fallback_on, i);
        if (value_text_is(on, code) || value_text_is(on, "any") || (retryable && value_text_is(on, "retryable")))
            return true;
    }
    return false;
}

/* ---- Models ---- */

bool model_role_is_mapping(tn_value binding) {
    return value_is(binding, TN_OBJECT) && value_get(binding, "models") && !value_get(binding, "provider");
}

tn_value model_role_first(tn_value binding) {
    if (model_role_is_mapping(binding)) binding = value_get(binding, "models");
    for (uint32_t depth = 0; depth < 2 && value_is(binding, TN_ARRAY); depth++)
        binding = value_count(binding) ? value_at(binding, 0) : NULL;
    return value_is(binding, TN_STRING) || value_is(binding, TN_OBJECT) ? binding : NULL;
}

static int32_t role_add_model(struct model_role *role, tn_value binding, uint32_t group, struct error *error) {
    static const struct model_retry retry = MODEL_RETRY_INIT;
    if (role->count == MODEL_ROLE_MODELS_MAX)
        return error_set(error, TN_LIMIT, "LIMIT", "found more than %u models, expected 1 to %u", MODEL_ROLE_MODELS_MAX,
                         MODEL_ROLE_MODELS_MAX);
    struct model_role_model *model = &role->models[role->count];
    *model = (struct model_role_model){binding, group, 0, retry};
    if (value_is(binding, TN_OBJECT)) {
        int32_t status = role_read_integer(value_get(binding, "context_tokens"), "context_tokens", 1, INT64_C(1) << 40,
                                           &model->context_tokens, error);
        if (status == TN_OK) status = model_retry_read(value_get(binding, "retry"), "retry", &model->retry, error);
        if (status == TN_OK) status = role_read_cache(value_get(binding, "cache"), &role->cache_ttl_ms, error);
        if (status != TN_OK) return status;
    }
    role->count++;
    return TN_OK;
}

/* Adds the items of a list. If `balanced`, they are one group; otherwise an item that is a list is one. */
static int32_t role_add_models(struct model_role *role, tn_value list, bool balanced, struct error *error) {
    int32_t status = TN_OK;
    uint32_t group = 0;
    for (size_t i = 0; i < value_count(list) && status == TN_OK; i++) {
        tn_value item = value_at(list, i);
        for (size_t j = 0; value_is(item, TN_ARRAY) && j < value_count(item) && status == TN_OK; j++)
            status = role_add_model(role, value_at(item, j), group, error);
        if (!value_is(item, TN_ARRAY)) status = role_add_model(role, item, group, error);
        if (!balanced) group++;
    }
    return status;
}

static int32_t role_read_balance(tn_value value, enum model_balance *out, struct error *error) {
    if (!value || value_text_is(value, "round_robin") || value == value_bool(true) || value == value_bool(false))
        return TN_OK;
    if (!value_text_is(value, "least_busy")) return role_fail(error, "balance", value, "`round_robin` or `least_busy`");
    *out = MODEL_BALANCE_LEAST_BUSY;
    return TN_OK;
}

static int32_t role_read_mapping(tn_value binding, struct model_role *role, struct error *error) {
    static const char *const members[] = {"models", "fallback", "balance", "cooldown", "retry", "cache", NULL};
    tn_value models = value_get(binding, "models"), balance = value_get(binding, "balance");
    int32_t status = role_check_members(binding, "a role with `models`", members, error);
    if (status == TN_OK && (!value_is(models, TN_ARRAY) || value_count(models) == 0))
        status = role_fail(error, "models", models, "a list of `provider:model` or mappings with `provider`");
    if (status == TN_OK) status = role_read_balance(balance, &role->balance, error);
    if (status == TN_OK) {
        bool balanced = balance && balance != value_bool(false);
        bool nested = false;
        for (size_t i = 0; i < value_count(models); i++) nested |= value_is(value_at(models, i), TN_ARRAY);
        status = role_add_models(role, models, balanced && !nested, error);
    }
    if (status == TN_OK) status = role_read_fallback(value_get(binding, "fallback"), role, error);
    if (status == TN_OK)
        status = role_read_duration(value_get(binding, "cooldown"), "cooldown", &role->cooldown_ms, error);
    if (status == TN_OK) status = model_retry_read(value_get(binding, "retry"), "retry", &role->retry, error);
    if (status == TN_OK) status = role_read_cache(value_get(binding, "cache"), &role->cache_ttl_ms, error);
    return status;
}

int32_t model_role_read(tn_value binding, struct model_role *role, struct error *error) {
    if (model_role_is_mapping(binding)) return role_read_mapping(binding, role, error);
    if (value_is(binding, TN_ARRAY) && value_count(binding) == 0)
        return error_set(error, TN_LIMIT, "LIMIT", "found an empty list, expected 1 to %u models",
                         MODEL_ROLE_MODELS_MAX);
    return value_is(binding, TN_ARRAY) ? role_add_models(role, binding, false, error)
                                       : role_add_model(role, binding, 0, error);
}
