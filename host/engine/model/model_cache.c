/*
 * model_cache.c - answers of models for equal requests: `cache` of a role.
 *
 * The key is a hash of the binding, the caller's options and the input, so that the cache keeps no conversation. The
 * cache belongs to the host and is shared by its runs. An answer of the cache is marked with `cached: true`, and its
 * usage is empty, because it costs nothing.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/engine/cache.h"
#include "host/engine/model/model_internal.h"
#include <string.h>
#include <tenon/util/sha256.h>

#define MODEL_CACHE_ANSWER_MAX (256u << 10) /* bytes of an answer as JSON; longer ones are not kept */

tn_value model_cache_key(const struct model *model, tn_value input) {
    tn_value key = value_push_take(value_array_reserve(3), value_ref(model->binding));
    key = value_push_take(key, model->config ? value_ref(model->config) : value_null());
    key = value_push_take(key, value_ref(input));
    char *text = json_text(key, JSON_COMPACT), hash[TN_SHA256_TEXT];
    struct tn_sha256 state;
    tn_sha256_init(&state);
    tn_sha256_update(&state, text, strlen(text));
    tn_sha256_finish_text(&state, hash);
    mem_free(text);
    value_unref(key);
    return value_text(hash);
}

tn_value model_cache_get(struct models *models, tn_value key, int64_t now_ms) {
    tn_value found = models->answers ? cache_get(models->answers, key, now_ms) : NULL;
    if (!found) return NULL;
    tn_value out = value_set_take(value_ref(found), "cached", value_bool(true));
    out = value_set_take(out, "usage", value_object());
    tn_value message = value_get(out, "message");
    if (message) out = value_set_take(out, "message", value_set_take(value_ref(message), "usage", value_object()));
    return out;
}

void model_cache_put(struct models *models, tn_value key, tn_value output, int64_t ttl_ms, int64_t now_ms) {
    char *text = json_text(output, JSON_COMPACT);
    bool fits = strlen(text) <= MODEL_CACHE_ANSWER_MAX;
    mem_free(text);
    if (!fits) return;
    if (!models->answers) models->answers = cache_new(0);
    cache_put_for(models->answers, key, output, ttl_ms, now_ms);
}
