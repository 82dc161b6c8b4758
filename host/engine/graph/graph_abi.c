/*
 * graph_abi.c - tenon.document: checks a text as a document, and runs it inside a task.
 *
 * An operation is a callable that exists for one call, as in kernel_abi.c. To run a document it builds the graph and
 * calls it, so the nested run belongs to the task. If the task is resumed, the same text produces the same path, and
 * the nested run is found again.
 */
#include "host/engine/graph/graph_abi.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/diagnostic/print.h"
#include "adl/document/document.h"
#include "adl/source/source.h"
#include "adl/value/memory.h"
#include "host/engine/engine.h"
#include "host/engine/graph/binding.h"
#include "host/engine/graph/graph.h"
#include "host/plugin/abi/abi_operation.h"
#include "host/plugin/call/call.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include <string.h>

#define EFFECT     "document.run"
#define REPORT_MAX 65536u

struct operation {
    struct callable callable; /* first */
    struct engine *engine;
    bool runs, allowed;
    const char *component; /* its id */
};

/* ---- A text ---- */

static struct source *document_source(tn_value input, struct error *error) {
    tn_value text = value_get(input, "text"), name = value_get(input, "name");
    size_t length;
    if (!text || !value_is(text, TN_STRING)) {
        error_set(error, TN_INVALID, "INVALID_INPUT", "`text`: found %s, expected the document as a text",
                  text ? value_kind_name(value_kind(text)) : "nothing");
        return NULL;
    }
    const char *chars = value_chars(text, &length);
    struct source *source =
        source_new(name && value_is(name, TN_STRING) ? value_chars(name, NULL) : "document", chars, length);
    source_set_origin(source, SOURCE_WITHOUT_FILE, NULL);
    return source;
}

struct text_roles {
    const struct catalog *catalog;
    const struct authority *caller;
};

/* A document from a text may also use the roles that the user's documents around it bind (binding.c). */
static bool text_role_bound(void *self, const char *role, size_t length) {
    const struct text_roles *roles = self;
    const struct catalog *catalog = roles->catalog;
    if (catalog->role_bound && catalog->role_bound(catalog->role_self, role, length)) return true;
    char *name = mem_text_n(role, length);
    tn_value binding = binding_role_around(roles->caller, name);
    mem_free(name);
    return binding != NULL;
}

static struct document *read_document(struct engine *engine, const struct authority *caller, struct source *source,
                                      struct diagnostics *found) {
    struct text_roles roles = {&engine->catalog, caller};
    struct catalog catalog = engine->catalog;
    catalog.role_bound = text_role_bound;
    catalog.role_self = &roles;
    struct document *document = document_read(source, &catalog, found);
    diagnostics_sort(found);
    return document;
}

static tn_value diagnostics_report(const struct diagnostics *found) {
    struct buffer out;
    buffer_init(&out, REPORT_MAX);
    diagnostics_print(&out, found, &(struct diagnostic_style){.colour = false});
    tn_value report = value_string_lossy(buffer_cstr(&out), out.length);
    buffer_finish(&out);
    return report;
}

static tn_value document_check_result(const struct diagnostics *found) {
    size_t errors = diagnostics_errors(found);
    tn_value result = value_set_take(value_object_reserve(5), "valid", value_bool(errors == 0));
    result = value_set_take(result, "errors", value_int((int64_t)errors));
    result = value_set_take(result, "warnings", value_int((int64_t)diagnostics_warnings(found)));
    result = value_set_take(result, "diagnostics", diagnostics_to_value(found));
    return value_set_take(result, "report", diagnostics_report(found));
}

/* ---- The callable ---- */

static int32_t error_set_report(const struct diagnostics *found, struct error *error) {
    tn_value report = diagnostics_report(found);
    error_set(error, TN_INVALID, "INVALID_GRAPH", "%s", value_chars(report, NULL));
    error_set_detail_take(error, value_set_take(value_object_reserve(1), "diagnostics", diagnostics_to_value(found)));
    value_unref(report);
    return TN_INVALID;
}

/* The frame of the component that passed the text. */
static struct authority *caller_of(const struct call *call) {
    struct call *parent = call_parent(call);
    return parent ? instance_authority(call_callable(parent)) : NULL;
}

static int32_t document_run(const struct operation *operation, struct call *call, struct document *document,
                            tn_value input, struct error *error) {
    struct graph *graph = NULL;
    /* The document may do what the component may that passed the text, and has the limits of the documents around. */
    const struct graph_origin origin = {.depth = 1, .outer = caller_of(call), .from_text = true};
    int32_t status = graph_build(operation->engine, document, &origin, &graph, error);
    if (status == TN_OK) {
        status = call_child(call_token(call), &graph->callable, false, value_get(input, "input"), call_end_alike,
                            (void *)(uintptr_t)call_token(call));
        if (status != TN_OK)
            error_set(error, status, status == TN_LIMIT ? "LIMIT" : "CANCELLED",
                      status == TN_LIMIT ? "documents run each other too deep" : "the call was cancelled");
        graph_unref(graph);
    }
    return status;
}

static int32_t operation_start(struct callable *callable, struct call *call, tn_value input) {
    const struct operation *operation = (const struct operation *)callable;
    struct error error = ERROR_INIT;
    struct source *source = NULL;
    if (!operation->allowed)
        error_set(&error, TN_FAILED, "PERMISSION_DENIED",
                  "`%s` runs a document, but the manifest does not declare this effect; add \"" EFFECT
                  "\" to the component's `effects`",
                  operation->component);
    else
        source = document_source(input, &error);
    if (source) {
        struct diagnostics *found = diagnostics_new();
        struct document *document = read_document(operation->engine, caller_of(call), source, found);
        if (!operation->runs) {
            tn_value result = document_check_result(found);
            (void)call_complete(call_token(call), result);
            value_unref(result);
        } else if (diagnostics_errors(found)) {
            (void)error_set_report(found, &error);
        } else {
            (void)document_run(operation, call, document, input, &error);
        }
        document_unref(document);
        diagnostics_free(found);
        source_unref(source);
    }
    if (error.code) (void)call_fail(call_token(call), &error);
    error_finish(&error);
    return TN_OK;
}

static void operation_free(struct callable *callable) { mem_free(callable); }

static const struct callable_ops operation_ops = {.start = operation_start, .free = operation_free};

/* ---- The interface ---- */

static bool declares_document_effect(const struct component_info *info) {
    for (size_t i = 0; i < value_count(info->effects); i++)
        if (value_text_is(value_at(info->effects, i), EFFECT)) return true;
    return false;
}

/* Returns TN_NOT_FOUND if the operation is unknown. */
static int32_t document_operation_new(const struct view *view, const char *name, struct callable **out) {
    const struct component *component = view_component(view);
    bool runs = strcmp(name, "document.run") == 0;
    if (!runs && strcmp(name, "document.check") != 0) return TN_NOT_FOUND;
    struct operation *operation = mem_zalloc(sizeof *operation);
    operation->callable = (struct callable){.ops = &operation_ops, .references = 1};
    operation->engine = registry_owner(plugin_registry(component->plugin), TN_DOCUMENT_DRAFT);
    operation->runs = runs;
    operation->component = component->info->id;
    operation->allowed = !runs || declares_document_effect(component->info);
    *out = &operation->callable;
    return TN_OK;
}

static int32_t document_invoke(tn_task task, const char *name, uint64_t length, tn_value arguments, tn_value options,
                               tn_call_handler handler, void *user, tn_call *call) {
    const struct operation_use use = {task, name, length, arguments, options};
    return operation_invoke(document_operation_new, &use, handler, user, call);
}

static int32_t document_invoke_wait(tn_task task, const char *name, uint64_t length, tn_value arguments,
                                    tn_value options, tn_value *out, tn_value *error) {
    const struct operation_use use = {task, name, length, arguments, options};
    return operation_invoke_wait(document_operation_new, &use, out, error);
}

const tn_document_draft interface_document = {
    .size = sizeof(tn_document_draft), .invoke = document_invoke, .invoke_wait = document_invoke_wait};
