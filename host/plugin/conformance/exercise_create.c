/*
 * exercise_create.c - creates instances from all kinds of configurations, and destroys them without a leak.
 *
 * The scope of the instances accepts every name, and the components that they call return at once, because the plugin
 * is tested and not a document. Mutants are not validated before create: the plugin may accept or refuse them, but must
 * not crash.
 */
#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/plugin/call/call.h"
#include "host/plugin/call/call_tools.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/conformance/exercise_internal.h"
#include "host/plugin/conformance/guard.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include <malloc.h>
#include <string.h>

/* The refusal of <tenon/easy.h>. Its code, NOT_FOUND, may be that of a component that looks for something. */
#define COMPONENT_MISSING_MESSAGE "the plugin's code has no component of this id"

#define HEAP_PARTS 10 /* of the instances, in each of which the heap must grow */
#define WARM_UP    10 /* instances before the first measurement: memory that is allocated once is not a leak */

/* ---- The scope ---- */

static int32_t exercise_scope_name(void *self, const char *name) {
    (void)self;
    uint32_t hash = 0;
    for (; *name; name++) hash = hash * 31 + (unsigned char)*name;
    return (int32_t)(hash % 1000);
}

struct exercise_callee {
    struct callable callable;
    bool model;
};

static int32_t exercise_callee_start(struct callable *callable, struct call *call, tn_value input) {
    (void)input;
    tn_value output = value_text("text");
    if (((struct exercise_callee *)callable)->model) {
        tn_value message = value_set_take(value_object(), "role", value_text("assistant"));
        message = value_set_take(message, "content", output);
        output = value_set_take(value_object(), "message", message);
        output = value_set_take(output, "finish_reason", value_text("stop"));
    }
    int32_t status = call_complete(call_token(call), output);
    value_unref(output);
    return status;
}

static void exercise_callee_free(struct callable *callable) { mem_free(callable); }

static struct callable *exercise_scope_callee(void *self, struct authority *caller, const char *kind, const char *name,
                                              tn_value config, struct error *error) {
    static const struct callable_ops ops = {.start = exercise_callee_start, .free = exercise_callee_free};
    (void)self, (void)caller, (void)name, (void)config, (void)error;
    struct exercise_callee *made = mem_zalloc(sizeof *made);
    made->callable = (struct callable){&ops, 1};
    made->model = strcmp(kind, "model") == 0;
    return &made->callable;
}

static int32_t exercise_tool_start(struct callable *callable, struct call *call, tn_value input) {
    struct error error = ERROR_INIT;
    (void)callable, (void)input;
    error_set(&error, TN_NOT_FOUND, "TOOL_NOT_FOUND", "a check has no tools");
    int32_t status = call_fail(call_token(call), &error);
    error_finish(&error);
    return status;
}

static tn_value exercise_describe_tools(struct tool_set *set) {
    (void)set;
    return value_array();
}

static void exercise_tools_free(struct callable *callable) { mem_free(callable); }

/* Always returns an empty tool set, because a check must not cause effects. */
static int32_t exercise_scope_tools(void *self, struct authority *caller, tn_value names, struct callable **out,
                                    struct error *error) {
    static const struct callable_ops ops = {.start = exercise_tool_start, .free = exercise_tools_free};
    struct tool_set *set = mem_zalloc(sizeof *set);
    (void)self, (void)caller, (void)names, (void)error;
    *set = (struct tool_set){{&ops, 1}, exercise_describe_tools};
    *out = &set->callable;
    return TN_OK;
}

struct callable *exercise_create_instance(struct component *component, tn_value config, struct error *error) {
    const struct instance_scope scope = {.field = exercise_scope_name,
                                         .channel = exercise_scope_name,
                                         .callee = exercise_scope_callee,
                                         .tools = exercise_scope_tools,
                                         .where = "a check"};
    struct callable *callable = NULL;
    return instance_new(component, config, &scope, &callable, error) == TN_OK ? callable : NULL;
}

/* ---- Configurations ---- */

tn_value exercise_add_defaults(const struct schema *schema, tn_value value) {
    tn_value whole = schema_with_defaults(schema, value);
    value_unref(value);
    return whole;
}

/* Calls create; stores the configuration, as accepted or as refused. */
static bool exercise_try_config(struct exercise *it, tn_value config, struct error *error) {
    char *text = json_text(config, JSON_COMPACT);
    exercise_report_step(it, "create `%s` from %.1500s", it->component->info->id, text);
    mem_free(text);
    struct callable *callable = exercise_create_instance(it->component, config, error);
    callable_unref(callable);
    if (it->remote) exercise_check_answer(it, callable ? NULL : error);
    if (!callable && it->refusal_count < EXERCISE_CONFIGS) it->refusals[it->refusal_count++] = value_ref(config);
    if (!callable) return false;
    if (it->config_count < EXERCISE_CONFIGS) it->configs[it->config_count++] = value_ref(config);
    return true;
}

static void exercise_try_examples(struct exercise *it) {
    const struct component_info *info = it->component->info;
    tn_value examples = value_get(info->manifest, "examples");
    for (size_t i = 0; value_is(examples, TN_ARRAY) && i < value_count(examples); i++) {
        tn_value config = value_get(value_at(examples, i), "config");
        const char *title = value_chars(value_get(value_at(examples, i), "title"), NULL);
        struct error error = ERROR_INIT;
        if (!config) continue;
        tn_value whole = exercise_add_defaults(info->config, value_ref(config));
        if (!exercise_try_config(it, whole, &error)) /* its schema was checked with the manifest */
            exercise_report(it, FINDING_EXAMPLE_REFUSED,
                            "create refuses the configuration of example `%.200s`: %.500s: %.500s", title, error.code,
                            error.message);
        error_finish(&error);
        value_unref(whole);
    }
}

static tn_value exercise_generate_config(struct exercise *it, bool empty) {
    const struct component_info *info = it->component->info;
    tn_value made = empty ? value_object() : generate(&it->generator, value_get(info->manifest, "config"));
    if (!value_is(made, TN_OBJECT)) {
        value_unref(made);
        made = value_object();
    }
    return exercise_add_defaults(info->config, made);
}

static void exercise_try_mutants(struct exercise *it) {
    tn_value schema = value_get(it->component->info->manifest, "config");
    for (int i = 0; i < EXERCISE_CONFIGS; i++) {
        tn_value config = exercise_generate_config(it, false), wrong = generate_mutant(&it->generator, schema, config);
        uint32_t kept = it->config_count;
        (void)exercise_try_config(it, wrong, NULL);
        if (it->config_count > kept) value_unref(it->configs[--it->config_count]);
        value_unref(wrong);
        value_unref(config);
    }
}

void exercise_try_configs(struct exercise *it) {
    const struct component_info *info = it->component->info;
    struct error error = ERROR_INIT;
    tn_value refused = NULL;
    int valid = 0;
    exercise_try_examples(it);
    /* More than are needed: also those that create refuses are of interest. */
    for (int i = 0; i < EXERCISE_TRIES && !it->unusable &&
                    (it->config_count < EXERCISE_CONFIGS || (!it->remote && exercise_has_time(it)));
         i++) {
        tn_value config = exercise_generate_config(it, i == 0);
        if (schema_validate(info->config, config, NULL) == TN_OK) {
            valid++;
            if (!exercise_try_config(it, config, &error)) {
                value_unref(refused);
                refused = value_ref(config);
            }
        }
        value_unref(config);
    }
    if (it->unusable) {
        /* reported */
    } else if (it->config_count == 0 && refused && strcmp(error.message, COMPONENT_MISSING_MESSAGE) == 0) {
        exercise_report(it, FINDING_COMPONENT_MISSING,
                        "is in the manifest, but the plugin's code has no component of this id");
    } else if (it->config_count == 0 && refused) {
        char *text = json_text(refused, JSON_COMPACT);
        exercise_report(it, FINDING_CONFIG_REFUSED,
                        "create refused all %d configurations generated from the schema; the last one, %.500s, with "
                        "%.100s: %.500s; "
                        "make the schema complete, or add an example to the manifest",
                        valid, text, error.code, error.message);
        mem_free(text);
    } else if (it->config_count == 0) {
        exercise_report(
            it, FINDING_CONFIG_REFUSED,
            "no configuration could be generated that fits the schema of `config`; add an example to the manifest");
    }
    error_finish(&error);
    value_unref(refused);
    if (!it->remote) exercise_try_mutants(it); /* a program gets only what fits the schema */
}

/* ---- Lifetimes ---- */

void exercise_prepare_heap(void) {
#ifdef __GLIBC__
    (void)mallopt(M_ARENA_MAX, 1); /* mallinfo2 counts only the first one */
#endif
}

struct exercise_usage exercise_measure(const struct exercise *it) {
    struct exercise_usage now = {(int64_t)*plugin_memory(it->component->plugin),
                                 guard_references(it->component->plugin), 0};
    guard_discard_retired();
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    struct mallinfo2 info = mallinfo2(); /* zeros if a sanitizer replaces malloc */
    now.heap = (int64_t)info.uordblks + (int64_t)info.hblkhd;
#endif
    return now;
}

void exercise_try_refusals(struct exercise *it) {
    struct exercise_usage before = {0, 0, 0}, after;
    if (it->refusal_count == 0 || !exercise_has_time(it)) return;
    exercise_report_step(it, "refuse %d configurations of `%s`", EXERCISE_REFUSALS, it->component->info->id);
    for (int i = 0; i < WARM_UP + EXERCISE_REFUSALS; i++) {
        if (i == WARM_UP) before = exercise_measure(it);
        const uint32_t which = (uint32_t)i % it->refusal_count;
        callable_unref(exercise_create_instance(it->component, it->refusals[which], NULL));
        exercise_report_alive();
    }
    after = exercise_measure(it);
    /* Every eighth configuration may leak. */
    int64_t memory = after.memory - before.memory, references = after.references - before.references;
    if (memory < EXERCISE_REFUSALS / EXERCISE_CONFIGS && references < EXERCISE_REFUSALS / EXERCISE_CONFIGS) return;
    exercise_report(it, FINDING_LEAK,
                    "%d configurations that create refused leave %lld values and %lld bytes of tn_core_1.alloc "
                    "behind; release before create fails what it has retained, made or received",
                    EXERCISE_REFUSALS, (long long)references, (long long)memory);
    it->leaks_explained = true;
}

/*
 * The heap is measured in parts: a leak makes it grow in each of them. Something that the plugin or the host allocates
 * once, however much, does not.
 */
struct heap_parts {
    int64_t last, least; /* least: bytes of one instance, in the part where it grew least */
    int rounds, count;
};

static void heap_parts_add(struct heap_parts *parts, int64_t heap, int rounds) {
    int64_t each = (heap - parts->last) / (rounds > parts->rounds ? rounds - parts->rounds : 1);
    if (parts->count == 0 || each < parts->least) parts->least = each;
    *parts = (struct heap_parts){heap, parts->least, rounds, parts->count + 1};
}

void exercise_try_lifetimes(struct exercise *it) {
    const char *id = it->component->info->id;
    struct exercise_usage before = {0, 0, 0}, after;
    struct heap_parts parts = {0};
    int rounds = 0;
    exercise_report_step(it, "create and destroy `%s` %d times", id, EXERCISE_ROUNDS);
    for (; rounds < EXERCISE_ROUNDS && (rounds <= WARM_UP || exercise_has_time(it)); rounds++) {
        if (rounds == WARM_UP) {
            before = exercise_measure(it);
            parts = (struct heap_parts){.last = before.heap, .rounds = WARM_UP};
        } else if (rounds > WARM_UP && rounds % (EXERCISE_ROUNDS / HEAP_PARTS) == 0) {
            heap_parts_add(&parts, exercise_measure(it).heap, rounds);
        }
        callable_unref(exercise_create_instance(it->component, it->configs[(uint32_t)rounds % it->config_count], NULL));
        exercise_report_alive();
    }
    after = exercise_measure(it);
    if (rounds > parts.rounds) heap_parts_add(&parts, after.heap, rounds);
    int64_t counted = rounds - WARM_UP, memory = (after.memory - before.memory) / counted,
            heap = parts.count > 1 ? parts.least : 0;
    double references = (double)(after.references - before.references) / (double)counted;
    /* Half a byte for each instance: a leak that only some configurations cause counts, a rare permanent allocation
     * does not. */
    if (2 * (after.memory - before.memory) > counted)
        exercise_report(
            it, FINDING_LEAK,
            "each of %lld instances leaves %lld bytes of tn_core_1.alloc behind; release in destroy what create "
            "has allocated",
            (long long)counted, (long long)memory);
    if (references > 0.05) {
        exercise_report(
            it, FINDING_LEAK,
            "each of %lld instances leaves %.2g values behind; release in destroy what create has retained, made "
            "or received",
            (long long)counted, references);
        it->leaks_explained = true;
    }
    it->leak_reported = 2 * (after.memory - before.memory) > counted || references > 0.05 || heap >= 16;
    if (2 * (after.memory - before.memory) <= counted && references <= 0.05 && heap >= 16)
        exercise_report(it, FINDING_LEAK,
                        "each of %lld instances leaves %lld bytes of the heap behind; free in destroy what create has "
                        "allocated",
                        (long long)counted, (long long)heap);
}
