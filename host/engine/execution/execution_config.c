/*
 * execution_config.c - reads the options of a run from an object: the RunnableConfig of the first seed, and the options
 * of a run with a thread.
 */
#include "adl/value/nearest.h"
#include "host/engine/execution/execution.h"
#include "host/engine/execution/execution_thread.h"
#include <string.h>

static int32_t option_wrong_kind(struct error *error, const char *key, tn_value found, const char *expected) {
    return error_set(error, TN_TYPE, "INVALID_INPUT", "the configuration's `%s` is %s, expected %s", key,
                     value_kind_name(value_kind(found)), expected);
}

static int32_t option_read_count(tn_value value, const char *key, int64_t min, int64_t max, int64_t *out,
                                 struct error *error) {
    int64_t number;
    if (!value_as_int(value, &number)) return option_wrong_kind(error, key, value, "an integer");
    if (number < min || number > max)
        return error_set(error, TN_INVALID, "INVALID_INPUT", "the configuration's `%s` is %lld, expected %lld to %lld",
                         key, (long long)number, (long long)min, (long long)max);
    *out = number;
    return TN_OK;
}

/* An id: a text that is not empty. Ids are C strings, so it must not contain a NUL. */
static int32_t option_read_id(tn_value value, const char *key, const char **out, struct error *error) {
    size_t length;
    *out = value_chars(value, &length);
    if (length && strlen(*out) == length) return TN_OK;
    return error_set(error, TN_INVALID, "INVALID_INPUT", "the configuration's `%s` %s", key,
                     length ? "contains a NUL" : "is empty");
}

static int32_t option_read_texts(tn_value value, const char *key, tn_value *out, struct error *error) {
    for (size_t i = 0, n = value_count(value); i < n; i++)
        if (!value_is(value_at(value, i), TN_STRING))
            return error_set(error, TN_TYPE, "INVALID_INPUT",
                             "item %zu of the configuration's `%s` is %s, expected a string", i, key,
                             value_kind_name(value_kind(value_at(value, i))));
    *out = value;
    return TN_OK;
}

static int32_t option_read_strategy(tn_value value, struct run_options *options, struct error *error) {
    static const char *const names[] = {"parallel", "pick_first", "pick_last", "stop_at_nonlinear"};
    for (int i = 0; i < 4; i++) {
        if (!value_text_is(value, names[i])) continue;
        options->strategy = i;
        return TN_OK;
    }
    return error_set(error, TN_INVALID, "INVALID_INPUT",
                     "the configuration's `strategy` must be parallel, pick_first, pick_last or stop_at_nonlinear");
}

static int32_t option_read_durability(tn_value value, struct thread_request *request, struct error *error) {
    request->durability = value_text_is(value, "exit") ? RUN_DURABLE_EXIT : RUN_DURABLE_SYNC;
    if (value_text_is(value, "exit") || value_text_is(value, "sync")) return TN_OK;
    return error_set(error, TN_INVALID, "INVALID_INPUT", "the configuration's `durability` must be sync or exit");
}

/* The options; those after OPTION_THREADS are only for runs that can have a thread. */
enum option {
    OPTION_TAGS,
    OPTION_METADATA,
    OPTION_CONFIGURABLE,
    OPTION_RUN_ID,
    OPTION_THREAD_ID,
    OPTION_RUNNER_ID,
    OPTION_RECURSION_LIMIT,
    OPTION_CONCURRENCY,
    OPTION_TIMEOUT_MS,
    OPTION_SEED,
    OPTION_STRATEGY,
    OPTION_REFRESH_CACHE,
    OPTION_INTERRUPT_BEFORE,
    OPTION_INTERRUPT_AFTER,
    OPTION_THREADS,
    OPTION_REPLACE = OPTION_THREADS,
    OPTION_FORCE,
    OPTION_ACCEPT_CHANGES,
    OPTION_DURABILITY,
    OPTION_COUNT
};
static const struct {
    const char *key;
    int kind;
} option_rows[OPTION_COUNT] = {[OPTION_TAGS] = {"tags", TN_ARRAY},
                               [OPTION_METADATA] = {"metadata", TN_OBJECT},
                               [OPTION_CONFIGURABLE] = {"configurable", TN_OBJECT},
                               [OPTION_RUN_ID] = {"run_id", TN_STRING},
                               [OPTION_THREAD_ID] = {"thread_id", TN_STRING},
                               [OPTION_RUNNER_ID] = {"runner_id", TN_STRING},
                               [OPTION_RECURSION_LIMIT] = {"recursion_limit", TN_INT},
                               [OPTION_CONCURRENCY] = {"concurrency", TN_INT},
                               [OPTION_TIMEOUT_MS] = {"timeout_ms", TN_INT},
                               [OPTION_SEED] = {"seed", TN_INT},
                               [OPTION_STRATEGY] = {"strategy", TN_STRING},
                               [OPTION_REFRESH_CACHE] = {"refresh_cache", TN_BOOL},
                               [OPTION_INTERRUPT_BEFORE] = {"interrupt_before", TN_ARRAY},
                               [OPTION_INTERRUPT_AFTER] = {"interrupt_after", TN_ARRAY},
                               [OPTION_REPLACE] = {"replace", TN_BOOL},
                               [OPTION_FORCE] = {"force", TN_BOOL},
                               [OPTION_ACCEPT_CHANGES] = {"accept_changes", TN_BOOL},
                               [OPTION_DURABILITY] = {"durability", TN_STRING}};

static int32_t option_find(tn_value name, int count, int *out, struct error *error) {
    size_t length;
    const char *key = value_chars(name, &length);
    struct nearest nearest;
    nearest_init(&nearest, key, length);
    for (int row = 0; row < count; row++) {
        *out = row;
        if (strcmp(option_rows[row].key, key) == 0 && strlen(key) == length) return TN_OK;
        nearest_add_candidate(&nearest, option_rows[row].key, strlen(option_rows[row].key));
    }
    return error_set(error, TN_NOT_FOUND, "INVALID_INPUT", "the configuration has no key `%s`%s", key,
                     nearest_hint(&nearest).text);
}

/* Reads one option, whose kind is right unless it is a number. */
static int32_t option_read(int row, tn_value value, struct run_options *options, struct thread_request *request,
                           struct error *error) {
    const char *key = option_rows[row].key;
    int64_t number = 0;
    int32_t status = TN_OK;
    switch ((enum option)row) {
    case OPTION_TAGS: status = option_read_texts(value, key, &options->tags, error); break;
    case OPTION_METADATA: options->metadata = value; break;
    case OPTION_CONFIGURABLE: options->configurable = value; break;
    case OPTION_RUN_ID: status = option_read_id(value, key, &options->run_id, error); break;
    case OPTION_THREAD_ID: status = option_read_id(value, key, &options->thread_id, error); break;
    case OPTION_RUNNER_ID: status = option_read_id(value, key, &options->runner_id, error); break;
    case OPTION_RECURSION_LIMIT:
        status = option_read_count(value, key, 1, UINT32_MAX - 1, &number, error);
        options->recursion_limit = (uint32_t)number;
        break;
    case OPTION_CONCURRENCY:
        status = option_read_count(value, key, 1, UINT32_MAX - 1, &number, error);
        options->concurrency = (uint32_t)number;
        break;
    case OPTION_TIMEOUT_MS: status = option_read_count(value, key, 0, INT64_MAX, &options->timeout_ms, error); break;
    case OPTION_SEED:
        status = option_read_count(value, key, 0, INT64_MAX, &number, error);
        options->seed = (uint64_t)number;
        break;
    case OPTION_STRATEGY: status = option_read_strategy(value, options, error); break;
    case OPTION_REFRESH_CACHE: options->refresh_cache = value_to_bool(value); break;
    case OPTION_INTERRUPT_BEFORE: status = option_read_texts(value, key, &options->interrupt_before, error); break;
    case OPTION_INTERRUPT_AFTER: status = option_read_texts(value, key, &options->interrupt_after, error); break;
    case OPTION_REPLACE: request->mode = value_to_bool(value) ? THREAD_REPLACE : THREAD_INPUT; break;
    case OPTION_FORCE: request->force = value_to_bool(value); break;
    case OPTION_ACCEPT_CHANGES: request->accept_changes = value_to_bool(value); break;
    case OPTION_DURABILITY: status = option_read_durability(value, request, error); break;
    case OPTION_COUNT: break;
    }
    return status;
}

int32_t run_request_read(struct run_options *options, struct thread_request *request, tn_value config,
                         struct error *error) {
    const char *of_thread = NULL;
    if (!config || value_is(config, TN_NULL)) return TN_OK;
    if (!value_is(config, TN_OBJECT))
        return error_set(error, TN_TYPE, "INVALID_INPUT", "the configuration is %s, expected an object",
                         value_kind_name(value_kind(config)));
    for (size_t i = 0, n = value_count(config); i < n; i++) {
        tn_value value = value_value_at(config, i);
        int row = 0;
        int32_t status = option_find(value_key_at(config, i), request ? OPTION_COUNT : OPTION_THREADS, &row, error);
        if (status != TN_OK) return status;
        if (option_rows[row].kind != TN_INT && !value_is(value, option_rows[row].kind))
            return option_wrong_kind(error, option_rows[row].key, value, value_kind_name(option_rows[row].kind));
        status = option_read(row, value, options, request, error);
        if (status != TN_OK) return status;
        if (row >= OPTION_THREADS) of_thread = option_rows[row].key;
    }
    if (of_thread && !options->thread_id)
        return error_set(error, TN_INVALID, "INVALID_INPUT", "the configuration's `%s` needs `thread_id`", of_thread);
    if (request) request->id = options->thread_id;
    return TN_OK;
}

int32_t run_options_read(struct run_options *options, tn_value config, struct error *error) {
    return run_request_read(options, NULL, config, error);
}
