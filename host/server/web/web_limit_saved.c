/*
 * web_limit_saved.c - the parts of what keys use that the store has, and those that it does not have yet.
 */
#include "host/server/web/web_limit_internal.h"

static tn_value numbers(int64_t tokens, double cost) {
    tn_value both = value_set_take(value_object_reserve(2), "tokens", value_int(tokens));
    return value_set_take(both, "cost", value_double(cost));
}

static tn_value unsaved_keys(struct web_limits *limits, int64_t day) {
    tn_value all = value_object();
    for (size_t i = 0; i < LIMIT_BUCKETS; i++)
        for (struct key_use *use = limits->uses[i]; use; use = use->next) {
            bool is_new = use->unsaved.tokens > 0 || use->unsaved.cost > 0;
            if (use->day != day || !use->has_budget || !is_new) continue;
            all = value_set_take(all, use->key, numbers(use->unsaved.tokens, use->unsaved.cost));
            use->saving.tokens = use->unsaved.tokens;
            use->saving.cost = use->unsaved.cost;
            use->unsaved.tokens = 0;
            use->unsaved.cost = 0;
        }
    return all;
}

static tn_value unsaved_threads(struct web_limits *limits) {
    tn_value all = value_object();
    for (struct counted *counted = limits->newest; counted; counted = counted->older) {
        if (!counted->unsaved) continue;
        all = value_set_take(all, counted->id, numbers(counted->tokens, counted->cost));
        counted->unsaved = false;
        counted->saving = true;
        if (value_count(all) >= WEB_SAVED_MAX) break;
    }
    return all;
}

tn_value web_limits_unsaved(struct web_limits *limits, int64_t *day) {
    *day = web_limits_today(limits);
    tn_value all = value_set_take(value_object_reserve(2), "keys", unsaved_keys(limits, *day));
    all = value_set_take(all, "threads", unsaved_threads(limits));
    if (value_count(value_get(all, "keys")) > 0 || value_count(value_get(all, "threads")) > 0) return all;
    value_unref(all);
    return NULL;
}

/* What was not written is unsaved again. */
static void saving_end(struct web_limits *limits, tn_value saved) {
    tn_value keys = value_get(saved, "keys"), threads = value_get(saved, "threads");
    for (size_t i = 0; i < LIMIT_BUCKETS; i++)
        for (struct key_use *use = limits->uses[i]; use; use = use->next) {
            bool is_written = value_get(keys, use->key) != NULL;
            use->unsaved.tokens += is_written ? 0 : use->saving.tokens;
            use->unsaved.cost += is_written ? 0 : use->saving.cost;
            use->saving.tokens = 0;
            use->saving.cost = 0;
        }
    for (struct counted *counted = limits->newest; counted; counted = counted->older) {
        if (counted->saving && !value_get(threads, counted->id)) counted->unsaved = true;
        counted->saving = false;
    }
}

static void read_numbers(tn_value both, int64_t *tokens, double *cost) {
    tn_value whole = value_get(both, "tokens"), price = value_get(both, "cost");
    *tokens = value_is(whole, TN_INT) ? value_to_int(whole) : 0;
    *cost = price && value_is_number(price) ? value_to_double(price) : 0;
}

void web_limits_saved(struct web_limits *limits, int64_t day, tn_value saved) {
    tn_value keys = value_get(saved, "keys");
    saving_end(limits, saved);
    if (day != web_limits_today(limits)) return;
    for (size_t i = 0; i < value_count(keys); i++) {
        struct key_use *use = web_limits_use(limits, value_chars(value_key_at(keys, i), NULL));
        key_use_begin_day(use);
        read_numbers(value_value_at(keys, i), &use->tokens, &use->cost);
        use->tokens += use->unsaved.tokens;
        use->cost += use->unsaved.cost;
    }
}

void web_limits_load(struct web_limits *limits, int64_t day, tn_value saved) {
    tn_value threads = value_get(saved, "threads");
    web_limits_saved(limits, day, saved);
    for (size_t i = 0; i < value_count(threads) && i < WEB_THREADS_MAX; i++) {
        struct counted *counted = web_limits_counted(limits, value_chars(value_key_at(threads, i), NULL));
        read_numbers(value_value_at(threads, i), &counted->tokens, &counted->cost);
    }
}
