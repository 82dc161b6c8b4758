/*
 * graph_abi.c - tenon.document: checks a text as a document, and runs it, or a file that is named at run time, inside
 * a task.
 *
 * An operation is a callable that exists for one call, as in kernel_abi.c. To run a document it builds the graph and
 * calls it, so the nested run belongs to the task. If the task is resumed, the same text or name produces the same
 * path, and the nested run is found again.
 *
 * A text and a named file have the same rights: those of the component that asks. The name of a file comes from data,
 * so the file does not count as chosen by the user: it grants no approvals and binds no roles.
 */
#include "host/engine/graph/graph_abi.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/diagnostic/print.h"
#include "adl/document/document.h"
#include "adl/document/inner_file.h"
#include "adl/source/source.h"
#include "adl/value/memory.h"
#include "host/engine/engine.h"
#include "host/engine/graph/binding.h"
#include "host/engine/graph/graph.h"
#include "host/engine/graph/nested.h"
#include "host/engine/graph/run_internal.h"
#include "host/plugin/abi/abi_operation.h"
#include "host/plugin/call/authority.h"
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
    bool runs, named, allowed; /* `named`: the document is a file */
    const char *component;     /* its id */
};

/* The frame of the component that asks. */
static struct authority *caller_of(const struct call *call) {
    struct call *parent = call_parent(call);
    return parent ? instance_authority(call_callable(parent)) : NULL;
}

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

/* ---- A file that is named at run time ---- */

/*
 * Stands for the document around the call, in whose run the file is named. A text that no person wrote may name only
 * what a text may.
 */
static struct source *naming_source(const struct call *call) {
    const struct activation *activation = nested_activation_around(call);
    const struct source *around = activation ? activation->run->graph->document->source : NULL;
    bool of_file = around && source_origin(around) != SOURCE_WITHOUT_FILE && source_view(around) != SOURCE_HIDDEN &&
                   !authority_is_from_text(caller_of(call));
    struct source *source = source_new(of_file ? source_name(around) : "document", "", 0);
    source_set_origin(source, of_file ? SOURCE_OF_INPUT : SOURCE_WITHOUT_FILE, of_file ? source_root(around) : NULL);
    return source;
}

static struct source *read_named(const struct operation *operation, const struct source *from, const char *name,
                                 struct error *error) {
    const struct catalog *catalog = &operation->engine->catalog;
    struct catalog_file found = {NULL, NULL};
    struct error why = ERROR_INIT;
    struct source *source = NULL;
    tn_value text = catalog->read(catalog->read_self, from, name, &found, &why);
    if (!text)
        error_set(error, TN_NOT_FOUND, "INVALID_GRAPH", "cannot read the document `%s`: %s", name, why.message);
    else if ((source = inner_file_source(from, &found, text, SOURCE_SHOWN)) == NULL)
        error_set(error, TN_LIMIT, "LIMIT", "the document `%s` is too large", name);
    if (source && !inner_file_is_document(source)) {
        error_set(error, TN_INVALID, "INVALID_GRAPH",
                  "the file `%s` is not a document: expected a mapping with `version` and `nodes`", name);
        source_unref(source);
        source = NULL;
    }
    value_unref(text);
    catalog_file_finish(&found);
    error_finish(&why);
    return source;
}

static bool is_plain_name(tn_value name) {
    size_t length;
    const char *text = value_chars(name, &length);
    return length > 0 && strlen(text) == length;
}

static struct source *named_source(const struct operation *operation, const struct call *call, tn_value input,
                                   struct error *error) {
    tn_value name = value_get(input, "document");
    if (!name || !value_is(name, TN_STRING) || !is_plain_name(name)) {
        error_set(error, TN_INVALID, "INVALID_INPUT", "`document`: found %s, expected the name of a document",
                  name ? value_kind_name(value_kind(name)) : "nothing");
        return NULL;
    }
    const struct authority *caller = caller_of(call);
    if (authority_check(caller, "graph", value_chars(name, NULL), NULL, error) != TN_OK) return NULL;
    struct source *from = naming_source(call), *source = read_named(operation, from, value_chars(name, NULL), error);
    source_unref(from);
    return source;
}

/* `input` and, of `offered`, what the document has channels for. A new reference, or NULL with the error. */
static tn_value merge_offered(const struct document *document, tn_value arguments, struct error *error) {
    tn_value input = value_get(arguments, "input"), offered = value_get(arguments, "offered");
    if ((input && !value_is(input, TN_OBJECT)) || (offered && !value_is(offered, TN_OBJECT))) {
        error_set(error, TN_INVALID, "INVALID_INPUT", "`input` and `offered` must be objects");
        return NULL;
    }
    tn_value merged = input ? value_ref(input) : value_object();
    for (size_t i = 0; offered && i < value_count(offered); i++) {
        tn_value key = value_key_at(offered, i);
        size_t length;
        const char *name = value_chars(key, &length);
        if (document_find_channel(document, name, length) >= 0 && !value_get_key(merged, key))
            merged = value_set_key_take(merged, value_ref(key), value_ref(value_value_at(offered, i)));
    }
    return merged;
}

/* ---- The callable ---- */

static int32_t error_set_report(const struct diagnostics *found, struct error *error) {
    tn_value report = diagnostics_report(found);
    error_set(error, TN_INVALID, "INVALID_GRAPH", "%s", value_chars(report, NULL));
    error_set_detail_take(error, value_set_take(value_object_reserve(1), "diagnostics", diagnostics_to_value(found)));
    value_unref(report);
    return TN_INVALID;
}

static int32_t document_run(const struct operation *operation, struct call *call, struct document *document,
                            tn_value input, struct error *error) {
    struct graph *graph = NULL;
    /* The document may do what the component may that passed the text, and has the limits of the documents around. */
    const struct graph_origin origin = {.depth = 1, .outer = caller_of(call), .from_text = !operation->named};
    tn_value given = operation->named ? merge_offered(document, input, error) : value_ref(value_get(input, "input"));
    int32_t status =
        operation->named && !given ? TN_INVALID : graph_build(operation->engine, document, &origin, &graph, error);
    if (status == TN_OK) {
        status = call_child(call_token(call), &graph->callable, false, given, call_end_alike,
                            (void *)(uintptr_t)call_token(call));
        if (status != TN_OK)
            error_set(error, status, status == TN_LIMIT ? "LIMIT" : "CANCELLED",
                      status == TN_LIMIT ? "documents run each other too deep" : "the call was cancelled");
        graph_unref(graph);
    }
    value_unref(given);
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
        source = operation->named ? named_source(operation, call, input, &error) : document_source(input, &error);
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
    bool named = strcmp(name, "document.run_file") == 0, runs = named || strcmp(name, "document.run") == 0;
    if (!runs && strcmp(name, "document.check") != 0) return TN_NOT_FOUND;
    struct operation *operation = mem_zalloc(sizeof *operation);
    operation->callable = (struct callable){.ops = &operation_ops, .references = 1};
    operation->engine = registry_owner(plugin_registry(component->plugin), TN_DOCUMENT_DRAFT);
    operation->runs = runs;
    operation->named = named;
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
