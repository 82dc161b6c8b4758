/*
 * embed_compose.c - runnables that are not documents: components, pipes, parallels, functions, identity; and what is
 * known of their inputs and outputs.
 */
#include "adl/document/catalog.h"
#include "adl/document/reducers.h"
#include "adl/schema/disjoint.h"
#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/embed/embed_alone.h"
#include "host/engine/execution/compose.h"
#include "host/engine/model/model.h"
#include "host/engine/tool/tool_use.h"
#include "host/plugin/call/call.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/conformance/payload.h"
#include "host/plugin/registry/registry.h"
#include <string.h>

#define PIPE_REASON_MAX 400 /* bytes of the reason why two stages do not fit */

/* ---- Components ---- */

/* A part of the shapes of models, as a separate schema. */
static tn_value schema_of_model(const char *part) {
    tn_value shapes = payload_schema("model"), schema = value_object_reserve(2);
    schema = value_set_take(schema, "$ref", value_format("#/$defs/%s", part));
    schema = value_set_take(schema, "$defs", value_ref(value_get(shapes, "$defs")));
    value_unref(shapes);
    return schema;
}

static tenon_runnable *component_node(tenon *handle, const char *id, tn_value config) {
    struct component *component;
    if (registry_resolve(host_registry(handle->host), "node", id, &component, &handle->error) != TN_OK) return NULL;
    return embed_alone(handle, component, config);
}

/*
 * What a model accepts by itself: its input, or the messages of it: a text, a message, or a list of messages. An object
 * with `messages` or `embed` is the input, as model_input decides.
 */
static tn_value model_input_schema(void) {
#define NOT_INPUT "\"properties\": {\"messages\": false, \"embed\": false}"
    static const char text[] = "[{\"type\": [\"string\", \"array\"]},"
                               " {\"type\": \"object\", \"required\": [\"type\"], " NOT_INPUT "},"
                               " {\"type\": \"object\", \"required\": [\"role\"], " NOT_INPUT "}]";
#undef NOT_INPUT
    tn_value others = NULL, schema = schema_of_model("input"), all = value_array();
    (void)json_read(text, sizeof text - 1, NULL, &others, NULL);
    tn_value input = value_set_take(value_object_reserve(1), "$ref", value_ref(value_get(schema, "$ref")));
    all = value_push_take(all, input);
    for (size_t i = 0; i < value_count(others); i++) all = value_push_take(all, value_ref(value_at(others, i)));
    tn_value whole = value_set_take(value_object_reserve(2), "anyOf", all);
    whole = value_set_take(whole, "$defs", value_ref(value_get(schema, "$defs")));
    value_unref(schema);
    value_unref(others);
    return whole;
}

/* What a model returns by itself: the shape of an answer, with the name of the model, and nothing else. */
static tn_value model_output_schema(void) {
    tn_value schema = schema_of_model("output"), all = value_ref(value_get(schema, "$defs"));
    tn_value output = value_ref(value_get(all, "output")), properties = value_ref(value_get(output, "properties"));
    tn_value name = value_set_take(value_object_reserve(1), "type", value_text("string"));
    output = value_set_take(output, "properties", value_set_take(properties, "model", name));
    output = value_set_take(output, "additionalProperties", value_bool(false));
    return value_set_take(schema, "$defs", value_set_take(all, "output", output));
}

/* A text is a message of the user. A new reference. */
static tn_value model_message(tn_value given) {
    if (!value_is(given, TN_STRING)) return value_ref(given);
    tn_value message = value_set_take(value_object_reserve(2), "type", value_text("user"));
    return value_set_take(message, "content", value_ref(given));
}

static tn_value model_input_error(tn_value input) {
    tn_value error = value_set_take(value_object_reserve(2), "code", value_text("INVALID_INPUT"));
    return value_set_take(
        error, "message",
        value_format("the input of a model is %s, expected {messages, …}, a text, a message or a list "
                     "of messages",
                     value_kind_name(value_kind(input))));
}

/* {messages} from a text, a message, or a list of them. */
static tn_value model_input(void *user, tn_value input, tn_value *error) {
    (void)user;
    if (!value_is(input, TN_OBJECT) && !value_is(input, TN_ARRAY) && !value_is(input, TN_STRING)) {
        *error = model_input_error(input);
        return NULL;
    }
    bool list = value_is(input, TN_ARRAY), whole = value_get(input, "messages") || value_get(input, "embed");
    bool message = !whole && (value_get(input, "type") || value_get(input, "role"));
    if (!list && !message && !value_is(input, TN_STRING)) return value_ref(input);
    tn_value messages = value_array();
    for (size_t i = 0, n = list ? value_count(input) : 1; i < n; i++)
        messages = value_push_take(messages, model_message(list ? value_at(input, i) : input));
    return value_set_take(value_object_reserve(1), "messages", messages);
}

static tenon_runnable *component_model(tenon *handle, const char *name, tn_value config) {
    tn_value role = config_model(host_config(handle->host), name), named = role ? NULL : value_text(name);
    struct callable *model = NULL;
    (void)model_new(host_engine(handle->host), name, role ? role : named, config, &model, &handle->error);
    value_unref(named);
    if (!model) return NULL;
    struct callable *stages[] = {lambda_new(model_input, NULL), model};
    tenon_runnable *runnable = embed_runnable_take(handle, pipe_to_model_new(host_loop(handle->host), stages, 2));
    callable_unref(stages[0]);
    callable_unref(model);
    if (runnable) runnable->input = model_input_schema();
    if (runnable) runnable->output = model_output_schema();
    return runnable;
}

/* The operator's policy for tools applies. */
static tenon_runnable *component_tool(tenon *handle, const char *id, tn_value config) {
    struct component *component;
    struct callable *callable = NULL;
    (void)tool_bind(host_engine(handle->host), NULL, id, config, false, &callable, &handle->error);
    tenon_runnable *runnable = embed_runnable_take(handle, callable);
    if (!runnable) return NULL;
    if (registry_resolve(host_registry(handle->host), "tool", id, &component, NULL) != TN_OK) return runnable;
    runnable->input = value_ref(value_get(component->info->manifest, "input"));
    runnable->output = value_ref(value_get(component->info->manifest, "output"));
    return runnable;
}

static tenon_runnable *component_reducer(tenon *handle, const char *id, tn_value config) {
    static const struct instance_scope nothing = {.where = "a reducer by itself"};
    struct component *component;
    struct callable *callable = NULL;
    for (size_t i = 0; i < document_reducer_count(); i++) {
        if (strcmp(document_reducer_at(i)->name, id) != 0) continue;
        error_set(&handle->error, TN_NOT_FOUND, "NOT_FOUND",
                  "the reducer `%s` is a part of the engine and cannot run by itself; only the reducers of plugins and "
                  "of the program can",
                  id);
        return NULL;
    }
    if (registry_resolve(host_registry(handle->host), "reducer", id, &component, &handle->error) == TN_OK)
        (void)instance_new_called(component, config, &nothing, &callable, &handle->error);
    return embed_runnable_take(handle, callable);
}

tenon_runnable *tenon_component(tenon *handle, const char *kind, const char *id, tn_value config) {
    static const struct {
        const char *kind;
        tenon_runnable *(*make)(tenon *handle, const char *id, tn_value config);
    } kinds[] = {
        {"node", component_node}, {"model", component_model}, {"tool", component_tool}, {"reducer", component_reducer}};
    if (!embed_enter(handle)) return NULL;
    if (!embed_check_not_null(handle, kind, "the component's kind") ||
        !embed_check_not_null(handle, id, "the component's id") || !embed_check_utf8(handle, id, "the component's id"))
        return NULL;
    if (config && !value_is(config, TN_OBJECT)) {
        error_set(&handle->error, TN_TYPE, "INVALID_INPUT",
                  "the configuration of the %s `%s` is %s, expected an object", kind, id,
                  value_kind_name(value_kind(config)));
        return NULL;
    }
    struct nearest nearest;
    nearest_init(&nearest, kind, strlen(kind));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        nearest_add_candidate(&nearest, kinds[i].kind, strlen(kinds[i].kind));
        if (strcmp(kinds[i].kind, kind) != 0) continue;
        tenon_runnable *runnable = kinds[i].make(handle, id, config);
        if (runnable) runnable->name = value_format("the %s `%s`", kind, id);
        return runnable;
    }
    error_set(&handle->error, TN_INVALID, "INVALID_INPUT",
              "found the kind `%s` of a component, expected node, model, tool or reducer%s", kind,
              nearest_hint(&nearest).text);
    return NULL;
}

/* ---- Types ---- */

tn_value tenon_input_schema(tenon_runnable *runnable) {
    return embed_enter_of(runnable) ? value_ref(runnable->input) : NULL;
}

tn_value tenon_output_schema(tenon_runnable *runnable) {
    return embed_enter_of(runnable) ? value_ref(runnable->output) : NULL;
}

static bool schema_compiles(tenon *handle, const char *what, tn_value schema) {
    struct schema *compiled = NULL;
    struct error why = ERROR_INIT;
    bool good = !schema || schema_compile(schema, NULL, &compiled, &why) == TN_OK;
    if (!good) error_set(&handle->error, TN_INVALID, "SCHEMA", "the schema of the %s: %s", what, why.message);
    schema_unref(compiled);
    error_finish(&why);
    return good;
}

int32_t tenon_with_types(tenon_runnable *runnable, tn_value input, tn_value output) {
    if (!embed_enter_of(runnable)) return TN_INVALID;
    if (!schema_compiles(runnable->host, "input", input) || !schema_compiles(runnable->host, "output", output))
        return TN_INVALID;
    value_unref(runnable->input);
    value_unref(runnable->output);
    runnable->input = value_ref(input);
    runnable->output = value_ref(output);
    runnable->transparent = runnable->transparent && !input && !output;
    return TN_OK;
}

static const char *runnable_name(const tenon_runnable *runnable) {
    return runnable->name ? value_chars(runnable->name, NULL) : "a function";
}

/* Checks that each stage can accept what comes before it. Sets the error and returns false if one cannot. */
static bool pipe_fits(tenon *handle, tenon_runnable *const *stages, uint32_t count) {
    uint32_t from = 0; /* the stage that makes `known` */
    tn_value known = NULL;
    for (uint32_t i = 0; i < count; i++) {
        struct buffer why;
        buffer_init(&why, PIPE_REASON_MAX);
        bool fits = !schema_disjoint(known, stages[i]->input, &why);
        if (!fits)
            error_set(&handle->error, TN_TYPE, "TYPE",
                      "stage %u of the pipe, %s, does not accept what stage %u, %s, returns: %s", i + 1,
                      runnable_name(stages[i]), from + 1, runnable_name(stages[from]), buffer_cstr(&why));
        buffer_finish(&why);
        if (!fits) return false;
        if (stages[i]->transparent) continue;
        known = stages[i]->output;
        from = i;
    }
    return true;
}

/* ---- Pipes and parallels ---- */

/* The callables of `count` runnables. Returns NULL with the error if one is NULL or belongs to another host. */
static struct callable **embed_callables(tenon *handle, tenon_runnable *const *runnables, uint32_t count) {
    if (!embed_enter(handle)) return NULL;
    if (count && !embed_check_not_null(handle, runnables, "the list of runnables")) return NULL;
    struct callable **list = mem_zalloc((count + (size_t)1) * sizeof(struct callable *));
    for (uint32_t i = 0; i < count; i++) {
        if (embed_check_runnable(handle, runnables[i])) {
            list[i] = runnables[i]->callable;
            continue;
        }
        mem_free((void *)list);
        return NULL;
    }
    return list;
}

tenon_runnable *tenon_pipe(tenon *handle, tenon_runnable *const *stages, uint32_t count) {
    struct callable **list = embed_callables(handle, stages, count);
    tenon_runnable *pipe = NULL;
    if (list && pipe_fits(handle, stages, count))
        pipe = embed_runnable_take(handle, pipe_new(host_loop(handle->host), list, count));
    mem_free((void *)list);
    if (!pipe) return NULL;
    uint32_t first = 0, last = count;
    while (first < count && stages[first]->transparent) first++;
    while (last > first && stages[last - 1]->transparent) last--;
    pipe->transparent = first == count;
    pipe->name = value_text("a pipe");
    if (pipe->transparent) return pipe;
    pipe->input = value_ref(stages[first]->input);
    pipe->output = value_ref(stages[last - 1]->output);
    return pipe;
}

/* A schema inside another one: references in it are to itself. */
static tn_value schema_inside(tn_value schema, uint32_t index) {
    if (!schema) return value_bool(true);
    bool alone = !value_is(schema, TN_OBJECT) || value_get(schema, "$id");
    return alone ? value_ref(schema)
                 : value_set_take(value_ref(schema), "$id", value_format("tenon:runnable/%u", index));
}

/* All branches get the input, so it must be valid for all of them. */
static tn_value parallel_input(tenon_runnable *const *branches, uint32_t count) {
    tn_value all = value_array();
    for (uint32_t i = 0; i < count; i++)
        if (branches[i]->input) all = value_push_take(all, schema_inside(branches[i]->input, i));
    return value_count(all) ? value_set_take(value_object_reserve(1), "allOf", all) : NULL;
}

/* A branch that returns its input returns anything. */
static tn_value parallel_output(tenon_runnable *const *branches, const char *const *names, uint32_t count) {
    tn_value properties = value_object(), items = value_array(), required = value_array();
    for (uint32_t i = 0; i < count; i++) {
        tn_value schema = schema_inside(branches[i]->output, i);
        if (names) {
            properties = value_set_take(properties, names[i], schema);
            required = value_push_take(required, value_text(names[i]));
        } else {
            items = value_push_take(items, schema);
        }
    }
    tn_value output = value_set_take(value_object_reserve(4), "type", value_text(names ? "object" : "array"));
    if (names) {
        output = value_set_take(value_set_take(output, "properties", properties), "required", required);
        return value_set_take(output, "additionalProperties", value_bool(false));
    }
    if (count) output = value_set_take(output, "prefixItems", items);
    output = value_set_take(output, "minItems", value_int(count));
    return value_set_take(output, "maxItems", value_int(count));
}

/* Sets the error and returns false if a name is missing, is not UTF-8, or is used twice. `names` may be NULL. */
static bool parallel_check_names(tenon *handle, const char *const *names, uint32_t count) {
    tn_value seen = value_object();
    bool good = true;
    for (uint32_t i = 0; names && good && i < count; i++) {
        if (!names[i] || !utf8_valid(names[i], strlen(names[i]))) {
            good = false;
            error_set(&handle->error, TN_INVALID, "INVALID_INPUT", "the name of branch %u is NULL or not UTF-8", i);
        } else if (value_get(seen, names[i])) {
            good = false;
            error_set(&handle->error, TN_INVALID, "INVALID_INPUT",
                      "the name `%s` of branch %u is that of an earlier branch; each branch needs another name",
                      names[i], i);
        } else {
            seen = value_set_take(seen, names[i], value_bool(true));
        }
    }
    value_unref(seen);
    return good;
}

tenon_runnable *tenon_parallel(tenon *handle, tenon_runnable *const *branches, const char *const *names,
                               uint32_t count) {
    struct callable **list = embed_callables(handle, branches, count);
    tenon_runnable *parallel = NULL;
    if (list && parallel_check_names(handle, names, count))
        parallel = embed_runnable_take(handle, parallel_new(host_loop(handle->host), list, names, count));
    mem_free((void *)list);
    if (!parallel) return NULL;
    parallel->name = value_text("a parallel");
    parallel->input = parallel_input(branches, count);
    parallel->output = parallel_output(branches, names, count);
    return parallel;
}

tenon_runnable *tenon_lambda(tenon *handle, tenon_function function, void *user) {
    if (!embed_enter(handle)) return NULL;
    if (!function) {
        error_set(&handle->error, TN_INVALID, "INVALID_INPUT", "a lambda's function is NULL");
        return NULL;
    }
    return embed_runnable_take(handle, lambda_new(function, user));
}

tenon_runnable *tenon_identity(tenon *handle) {
    tenon_runnable *identity = embed_enter(handle) ? embed_runnable_take(handle, identity_new()) : NULL;
    if (identity) identity->transparent = true;
    return identity;
}
