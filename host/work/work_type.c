/*
 * work_type.c - reads the settings of Task types, and opens what they name.
 *
 * The configuration has checked the form of the settings (base/config), so that here only names can be wrong.
 */
#include "host/work/work_type.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/strategy.h"
#include "adl/schema/schema.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/base/config/config.h"
#include "host/base/log.h"
#include "host/engine/engine.h"
#include "host/engine/graph/graph.h"
#include "host/plugin/call/authority.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/registry/registry.h"
#include <string.h>

#define WORK_TTL_MS       60000
#define WORK_ATTEMPTS     3
#define WORK_RETRY_FACTOR 2.0

struct work_types {
    struct work_type *types;
    size_t count;
};

static const struct {
    const char *type, *strategy;
} work_defaults[] = {
#define WORK_DEFAULT(type, strategy) {type, strategy},
    WORK_DEFAULTS(WORK_DEFAULT)
#undef WORK_DEFAULT
};
#define WORK_DEFAULT_COUNT (sizeof work_defaults / sizeof *work_defaults)

const char *work_default_strategy(const char *type) {
    for (size_t i = 0; i < WORK_DEFAULT_COUNT; i++)
        if (strcmp(work_defaults[i].type, type) == 0) return work_defaults[i].strategy;
    return NULL;
}

/* ---- Settings ---- */

static char *setting_text(tn_value settings, const char *key) {
    tn_value value = value_get(settings, key);
    return value ? mem_text(value_chars(value, NULL)) : NULL;
}

static int64_t setting_int(tn_value settings, const char *key, int64_t otherwise) {
    tn_value value = value_get(settings, key);
    return value ? value_to_int(value) : otherwise;
}

static void work_type_read(struct work_type *type, tn_value settings) {
    tn_value retries = value_get(settings, "retries"), factor = value_get(retries, "factor");
    tn_value options = value_get(settings, "options");
    type->strategy = setting_text(settings, "strategy");
    type->runner = setting_text(settings, "runner");
    const char *standard = work_default_strategy(type->name);
    if (!type->strategy && !type->runner && standard) type->strategy = mem_text(standard);
    type->ttl_ms = setting_int(settings, "ttl_ms", WORK_TTL_MS);
    type->priority = setting_int(settings, "priority", 0);
    type->concurrency = (uint32_t)setting_int(settings, "concurrency", UINT32_MAX);
    type->max_attempts = (uint32_t)setting_int(retries, "max_attempts", WORK_ATTEMPTS);
    type->retry_ms = setting_int(retries, "initial_ms", WORK_RETRY_MS);
    type->retry_max_ms = setting_int(retries, "max_ms", WORK_RETRY_MAX_MS);
    type->retry_factor = factor ? value_to_double(factor) : WORK_RETRY_FACTOR;
    type->options = options ? value_ref(options) : value_object();
}

int64_t work_type_retry_delay_ms(const struct work_type *type, int64_t attempts) {
    double delay = (double)type->retry_ms;
    for (int64_t i = 1; i < attempts && delay < (double)type->retry_max_ms; i++) delay *= type->retry_factor;
    return delay < (double)type->retry_max_ms ? (int64_t)delay : type->retry_max_ms;
}

/* ---- What they name ---- */

/* The frame that limits a strategy to the `tools` of its Task type; NULL without this setting. */
static struct authority *work_type_authority(const struct work_type *type, tn_value settings) {
    tn_value patterns = value_get(settings, "tools"), entries = value_array(), name;
    if (!patterns) return NULL;
    for (size_t i = 0; i < value_count(patterns); i++)
        entries =
            value_push_take(entries, value_set_take(value_object_reserve(1), "name", value_ref(value_at(patterns, i))));
    name = value_format("work.%s of tenon.yaml", type->name);
    struct authority *authority = authority_of_document(NULL, value_chars(name, NULL), entries, false);
    value_unref(name);
    value_unref(entries);
    return authority;
}

/* The options would fail each Task if they did not fit the channel that receives them. */
static int32_t work_check_options(const struct work_type *type, struct error *error) {
    const struct document *document = type->graph->document;
    int32_t channel = document_find_channel(document, "options", strlen("options"));
    const struct schema *schema = channel < 0 ? NULL : document->channels[channel].schema;
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    errors.limit = 1;
    if (!schema) return TN_OK;
    int32_t status = schema_validate(schema, type->options, &errors);
    if (status != TN_OK && errors.count)
        status = error_set(error, TN_INVALID, "INVALID_CONFIG", "work.%s.options%s in tenon.yaml: %s", type->name,
                           errors.items[0].pointer, errors.items[0].message);
    schema_errors_finish(&errors);
    return status;
}

static int32_t work_open_strategy(struct engine *engine, struct work_type *type, struct error *error) {
    const struct graph_origin origin = {.diagnostics = diagnostics_new(), .outer = type->authority};
    int32_t status = graph_open(engine, NULL, type->strategy, &origin, &type->graph, error);
    if (status == TN_OK) {
        type->callable = &type->graph->callable;
        document_check_strategy(type->graph->document, origin.diagnostics);
        if (diagnostics_errors(origin.diagnostics)) status = graph_refuse(error, type->strategy, origin.diagnostics);
    }
    if (status == TN_OK) status = work_check_options(type, error);
    diagnostics_free(origin.diagnostics);
    return status;
}

static int32_t work_open_runner(struct engine *engine, struct work_type *type, struct error *error) {
    struct component *component;
    struct instance_scope scope = engine->scope(engine, type->runner);
    scope.authority = type->authority;
    int32_t status = registry_resolve(engine->registry, "runner", type->runner, &component, error);
    if (status == TN_OK) status = instance_new_called(component, type->options, &scope, &type->callable, error);
    return status;
}

static int32_t work_type_open(struct engine *engine, struct work_type *type, tn_value settings, struct error *error) {
    struct error why = ERROR_INIT;
    type->authority = work_type_authority(type, settings);
    int32_t status = type->runner ? work_open_runner(engine, type, &why) : work_open_strategy(engine, type, &why);
    if (status != TN_OK)
        error_set(error, status, why.code, "Tasks of the type `%s` cannot be handled: %s", type->name, why.message);
    error_finish(&why);
    return status;
}

static void work_type_finish(struct work_type *type) {
    if (type->graph)
        graph_unref(type->graph);
    else
        callable_unref(type->callable);
    authority_unref(type->authority);
    value_unref(type->options);
    mem_free(type->name);
    mem_free(type->strategy);
    mem_free(type->runner);
}

/* ---- The list ---- */

static int32_t work_types_add(struct work_types *types, struct engine *engine, const char *name, struct error *error) {
    tn_value settings = value_get(config_work(engine->config), name);
    if (types->count == WORK_TYPES_MAX)
        return error_set(error, TN_LIMIT, "LIMIT", "found more than %u Task types, which is the limit", WORK_TYPES_MAX);
    types->types = mem_array(types->types, types->count + 1, sizeof *types->types);
    struct work_type *type = &types->types[types->count];
    *type = (struct work_type){.name = mem_text(name)};
    work_type_read(type, settings);
    int32_t status = type->strategy || type->runner
                         ? work_type_open(engine, type, settings, error)
                         : error_set(error, TN_INVALID, "INVALID_CONFIG",
                                     "work.%.100s in tenon.yaml: found neither `strategy` nor `runner`, expected one "
                                     "of them",
                                     name);
    if (status == TN_OK)
        types->count++;
    else
        work_type_finish(type);
    return status;
}

static int32_t work_refuse_type(const struct engine *engine, const char *name, struct error *error) {
    tn_value configured = config_work(engine->config);
    struct nearest nearest;
    nearest_init(&nearest, name, strlen(name));
    for (size_t i = 0; i < WORK_DEFAULT_COUNT; i++)
        nearest_add_candidate(&nearest, work_defaults[i].type, strlen(work_defaults[i].type));
    for (size_t i = 0; i < value_count(configured); i++) {
        size_t length;
        const char *key = value_chars(value_key_at(configured, i), &length);
        nearest_add_candidate(&nearest, key, length);
    }
    const char *near = nearest_result(&nearest);
    return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "no strategy for Tasks of the type `%.100s`%s", name,
                     near ? nearest_hint(&nearest).text : "; `work:` in tenon.yaml sets one");
}

static int32_t work_types_add_named(struct work_types *types, struct engine *engine, tn_value names,
                                    struct error *error) {
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < value_count(names); i++) {
        const char *name = value_chars(value_at(names, i), NULL);
        bool known = value_get(config_work(engine->config), name) || work_default_strategy(name);
        status = known ? work_types_add(types, engine, name, error) : work_refuse_type(engine, name, error);
    }
    return status;
}

static bool work_is_for_people(const char *type) { return strcmp(type, "notification") == 0; }

/* Without the strategies of the installation, and without types of its own, a host has nothing to handle. */
static void work_types_add_default(struct work_types *types, struct engine *engine, const char *name,
                                   struct error *error) {
    struct error why = ERROR_INIT;
    if (work_types_add(types, engine, name, &why) != TN_OK) {
        if (value_count(config_work(engine->config)))
            log_write(LOG_WARN, NULL, "Tasks of the type `%s` are not claimed: %s", name, why.message);
        error_move(error, &why);
    }
    error_finish(&why);
}

static int32_t work_types_add_all(struct work_types *types, struct engine *engine, struct error *error) {
    tn_value configured = config_work(engine->config);
    struct error why = ERROR_INIT;
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < value_count(configured); i++)
        status = work_types_add(types, engine, value_chars(value_key_at(configured, i), NULL), error);
    for (size_t i = 0; status == TN_OK && i < WORK_DEFAULT_COUNT; i++)
        if (!value_get(configured, work_defaults[i].type) && !work_is_for_people(work_defaults[i].type))
            work_types_add_default(types, engine, work_defaults[i].type, &why);
    if (status == TN_OK && !types->count) {
        error_move(error, &why);
        status = TN_INVALID;
    }
    error_finish(&why);
    return status;
}

/* Stable: types of the same priority stay in the order of the configuration. */
static void work_types_sort(struct work_types *types) {
    for (size_t i = 1; i < types->count; i++) {
        struct work_type moved = types->types[i];
        size_t at = i;
        for (; at > 0 && types->types[at - 1].priority < moved.priority; at--) types->types[at] = types->types[at - 1];
        types->types[at] = moved;
    }
}

int32_t work_types_new(struct engine *engine, tn_value names, struct work_types **out, struct error *error) {
    struct work_types *types = mem_zalloc(sizeof *types);
    int32_t status =
        names ? work_types_add_named(types, engine, names, error) : work_types_add_all(types, engine, error);
    work_types_sort(types);
    if (status == TN_OK)
        *out = types;
    else
        work_types_free(types);
    return status;
}

void work_types_free(struct work_types *types) {
    if (!types) return;
    for (size_t i = 0; i < types->count; i++) work_type_finish(&types->types[i]);
    mem_free(types->types);
    mem_free(types);
}

size_t work_types_count(const struct work_types *types) { return types->count; }

const struct work_type *work_types_at(const struct work_types *types, size_t index) {
    return index < types->count ? &types->types[index] : NULL;
}
