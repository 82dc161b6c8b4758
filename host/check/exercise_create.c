/*
 * exercise_create.c - instances: made from whatever configurations there are, and destroyed without a trace.
 *
 * The scope of the instances knows every name, and what they call answers at once: what is tried is the plugin, not a
 * document. Mutants are validated by nobody on their way to create: the plugin may refuse them or not, but must live.
 */
#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/call/call.h"
#include "host/call/instance.h"
#include "host/check/exercise_internal.h"
#include "host/interface/guard.h"
#include "host/plugin/plugin.h"
#include "host/plugin/registry.h"
#include "host/tool/set.h"
#include <malloc.h>
#include <string.h>

#define WARM_UP 10 /* instances before anything is counted: what is kept once for all of them is no leak */

/* ---- The scope ---- */

static int32_t any_name(void *self, const char *name) {
    (void)self;
    uint32_t hash = 0;
    for (; *name; name++) hash = hash * 31 + (unsigned char)*name;
    return (int32_t)(hash % 1000);
}

struct answering {
    struct callable callable;
    bool model;
};

static int32_t answer(struct callable *callable, struct call *call, tn_value input) {
    (void)input;
    tn_value output = value_text("text");
    if (((struct answering *)callable)->model) {
        tn_value message = value_set_take(value_object(), "role", value_text("assistant"));
        message = value_set_take(message, "content", output);
        output = value_set_take(value_object(), "message", message);
        output = value_set_take(output, "finish_reason", value_text("stop"));
    }
    int32_t status = call_complete(call_token(call), output);
    value_unref(output);
    return status;
}

static void answering_free(struct callable *callable) { mem_free(callable); }

static struct callable *any_callee(void *self, const char *kind, const char *name, tn_value config,
                                   struct error *error) {
    static const struct callable_ops ops = {.start = answer, .free = answering_free};
    (void)self, (void)name, (void)config, (void)error;
    struct answering *made = mem_zalloc(sizeof *made);
    made->callable = (struct callable){&ops, 1};
    made->model = strcmp(kind, "model") == 0;
    return &made->callable;
}

/* There are none, whatever is asked for: what a check calls must not do anything. */
static int32_t any_tools(void *self, tn_value names, struct callable **out, struct error *error) {
    (void)names;
    return tool_set_new(self, NULL, value_array(), out, error);
}

struct callable *exercise_make(struct component *component, tn_value config, struct error *error) {
    const struct instance_scope scope = {.self = registry_user(plugin_registry(component->plugin)),
                                         .field = any_name,
                                         .channel = any_name,
                                         .callee = any_callee,
                                         .tools = any_tools,
                                         .where = "a check"};
    struct callable *callable = NULL;
    return instance_new(component, config, &scope, &callable, error) == TN_OK ? callable : NULL;
}

/* ---- Configurations ---- */

tn_value exercise_with_defaults(const struct schema *schema, tn_value value) {
    tn_value whole = schema_with_defaults(schema, value);
    value_unref(value);
    return whole;
}

/* Tries create; keeps the configuration where it is taken. */
static bool try_config(struct exercised *it, tn_value config, struct error *error) {
    char *text = json_text(config, JSON_COMPACT);
    exercise_doing("create `%s` from %.1500s", it->component->info->id, text);
    mem_free(text);
    struct callable *callable = exercise_make(it->component, config, error);
    if (!callable) return false;
    callable_unref(callable);
    if (it->config_count < EXERCISE_CONFIGS) it->configs[it->config_count++] = value_ref(config);
    return true;
}

static void try_examples(struct exercised *it) {
    const struct component_info *info = it->component->info;
    tn_value examples = value_get(info->manifest, "examples");
    for (size_t i = 0; value_is(examples, TN_ARRAY) && i < value_count(examples); i++) {
        tn_value config = value_get(value_at(examples, i), "config");
        const char *title = value_chars(value_get(value_at(examples, i), "title"), NULL);
        struct error error = ERROR_INIT;
        if (!config) continue;
        tn_value whole = exercise_with_defaults(info->config, value_ref(config));
        if (!try_config(it, whole, &error)) /* that it fits its schema has been looked at */
            exercise_find(it, EXERCISE_EXAMPLE_REFUSED,
                          "create does not take the configuration of example `%.200s`: %.500s: %.500s", title,
                          error.code, error.message);
        error_finish(&error);
        value_unref(whole);
    }
}

static tn_value made_config(struct exercised *it, bool empty) {
    const struct component_info *info = it->component->info;
    tn_value made = empty ? value_object() : generate(&it->generator, value_get(info->manifest, "config"));
    if (!value_is(made, TN_OBJECT)) {
        value_unref(made);
        made = value_object();
    }
    return exercise_with_defaults(info->config, made);
}

static void try_mutants(struct exercised *it) {
    tn_value schema = value_get(it->component->info->manifest, "config");
    for (int i = 0; i < EXERCISE_CONFIGS; i++) {
        tn_value config = made_config(it, false), wrong = generate_mutant(&it->generator, schema, config);
        uint32_t kept = it->config_count;
        (void)try_config(it, wrong, NULL);
        if (it->config_count > kept) value_unref(it->configs[--it->config_count]);
        value_unref(wrong);
        value_unref(config);
    }
}

void exercise_configs(struct exercised *it) {
    const struct component_info *info = it->component->info;
    struct error error = ERROR_INIT;
    tn_value refused = NULL;
    int valid = 0;
    try_examples(it);
    for (int i = 0; i < EXERCISE_TRIES && it->config_count < EXERCISE_CONFIGS; i++) {
        tn_value config = made_config(it, i == 0);
        if (schema_validate(info->config, config, NULL) == TN_OK) {
            valid++;
            if (!try_config(it, config, &error)) {
                value_unref(refused);
                refused = value_ref(config);
            }
        }
        value_unref(config);
    }
    if (it->config_count == 0 && refused) {
        char *text = json_text(refused, JSON_COMPACT);
        exercise_find(
            it, EXERCISE_CONFIG_REFUSED,
            "create refused all %d configurations made from the schema, the last, %.500s, with %.100s: %.500s; say "
            "in the schema what else must hold, or give the manifest an example that works",
            valid, text, error.code, error.message);
        mem_free(text);
    } else if (it->config_count == 0) {
        exercise_find(it, EXERCISE_CONFIG_REFUSED,
                      "no configuration could be made that fits the schema of `config`; give the manifest an example");
    }
    error_finish(&error);
    value_unref(refused);
    try_mutants(it);
}

/* ---- A thousand instances ---- */

struct holdings exercise_holdings(const struct exercised *it) {
    struct holdings now = {(int64_t)*plugin_memory(it->component->plugin), guard_references(it->component->plugin), 0};
    guard_forget();
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    now.heap = (int64_t)mallinfo2().uordblks; /* 0 where a sanitizer has the heap */
#endif
    return now;
}

void exercise_lifetimes(struct exercised *it) {
    const char *id = it->component->info->id;
    struct holdings before = {0, 0, 0}, after;
    int rounds = 0;
    exercise_doing("create and destroy `%s` %d times", id, EXERCISE_ROUNDS);
    for (; rounds < EXERCISE_ROUNDS && (rounds <= WARM_UP || exercise_has_time(it)); rounds++) {
        if (rounds == WARM_UP) before = exercise_holdings(it);
        callable_unref(exercise_make(it->component, it->configs[(uint32_t)rounds % it->config_count], NULL));
    }
    after = exercise_holdings(it);
    int64_t counted = rounds - WARM_UP, memory = (after.memory - before.memory) / counted,
            heap = (after.heap - before.heap) / counted;
    double references = (double)(after.references - before.references) / (double)counted;
    /* What only some configurations lead to counts as well; what is kept now and then, for good, does not. */
    if (2 * (after.memory - before.memory) > counted)
        exercise_find(
            it, EXERCISE_LEAK,
            "each of %lld instances leaves %lld bytes of tn_core_1.alloc behind; release in destroy what create "
            "has taken",
            (long long)counted, (long long)memory);
    if (references > 0.05) {
        exercise_find(
            it, EXERCISE_LEAK,
            "each of %lld instances leaves %.2g values behind; release in destroy what create has retained, made "
            "or been given",
            (long long)counted, references);
        it->leaked = true;
    }
    if (2 * (after.memory - before.memory) <= counted && references <= 0.05 && heap >= 16)
        exercise_find(it, EXERCISE_LEAK,
                      "each of %lld instances leaves %lld bytes of the heap behind; free in destroy what create has "
                      "allocated",
                      (long long)counted, (long long)heap);
}
