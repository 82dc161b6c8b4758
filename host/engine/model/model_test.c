/*
 * model_test.c - the input and the report of a test of a model.
 */
#include "host/engine/model/model_test.h"
#include "adl/value/nearest.h"
#include "host/base/config/config.h"
#include "host/engine/model/model.h"
#include "host/plugin/call/instance.h"
#include <string.h>

static bool has_own_limit(const struct callable *model) {
    const struct callable *provider;
    for (uint32_t i = 0; (provider = model_provider(model, i)) != NULL; i++)
        if (value_get(instance_config(provider), "max_tokens")) return true;
    return false;
}

tn_value model_test_input(const char *prompt, const struct callable *model) {
    tn_value message = value_set_take(value_object_reserve(2), "type", value_text("user"));
    message = value_set_take(message, "content", value_text(prompt));
    tn_value input = value_set_take(value_object_reserve(2), "messages", value_push_take(value_array(), message));
    if (has_own_limit(model)) return input;
    tn_value options = value_set_take(value_object_reserve(1), "max_tokens", value_int(MODEL_TEST_TOKENS_MAX));
    return value_set_take(input, "options", options);
}

bool model_test_note_chunk(struct model_test_time *time, tn_value chunk, int64_t now_us) {
    bool reset = value_get(chunk, "reset") != NULL;
    if (reset)
        time->first_us = 0;
    else if (!time->first_us)
        time->first_us = now_us;
    return reset;
}

tn_value model_test_report(tn_value output, const struct model_test_time *time, int64_t ended_us) {
    /* If the answer does not have the shape of tenon/message.h, some of these are missing. */
    static const char *const members[] = {"model", "message", "embeddings", "finish_reason", "usage"};
    tn_value report = value_object_reserve(8);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value member = value_get(output, members[i]);
        if (member) report = value_set_take(report, members[i], value_ref(member));
    }
    if (time->first_us)
        report = value_set_take(report, "first_ms", value_double((double)(time->first_us - time->started_us) / 1000));
    return value_set_take(report, "total_ms", value_double((double)(ended_us - time->started_us) / 1000));
}

void model_suggest_role(const struct config *config, const char *name, struct error *error) {
    tn_value roles = config_models(config);
    struct nearest near;
    if (!error->code || strcmp(error->code, "NOT_FOUND") != 0) return;
    nearest_init(&near, name, strlen(name));
    for (size_t i = 0; roles && i < value_count(roles); i++) {
        size_t length;
        const char *role = value_chars(value_key_at(roles, i), &length);
        nearest_add_candidate(&near, role, length);
    }
    if (nearest_result(&near))
        error_set(error, TN_NOT_FOUND, "NOT_FOUND", "tenon.yaml has no role `%s`; did you mean `%s`? (%s)", name,
                  nearest_result(&near), error->message);
}
