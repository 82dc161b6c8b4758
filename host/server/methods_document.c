/*
 * methods_document.c - checking, formatting and drawing documents: methods/document.yaml.
 *
 * Nothing is run. A document that has mistakes is read again when plugins have added their components, because these
 * may be what it misses.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/diagnostic/print.h"
#include "adl/document/document.h"
#include "adl/document/strategy.h"
#include "adl/draw/draw.h"
#include "adl/format/format.h"
#include "adl/source/source.h"
#include "adl/value/memory.h"
#include "adl/value/weight.h"
#include "host/assembly/config_lint.h"
#include "host/assembly/host.h"
#include "host/engine/engine.h"
#include "host/engine/graph/graph.h"
#include "host/engine/graph/graph_check.h"
#include "host/server/client.h"
#include "host/server/document_description.h"
#include "host/server/document_open.h"
#include "host/server/method_call.h"
#include "host/server/method_internal.h"
#include "host/server/named_schema.h"
#include "host/server/server.h"
#include <string.h>

#define DRAWING_MAX        (16u << 20) /* bytes */
#define ARROWS_MAX         50000u      /* of a drawing, because the loop draws it; the command draws draw_arrows_max */
#define PICTURE_ARROWS_MAX 10000u      /* of one with a layout */

/* ---- check ---- */

static void add_config_warning(void *user, const char *message) {
    tn_value *texts = user;
    *texts = value_push_take(*texts, value_string_lossy(message, strlen(message)));
}

/* Mistakes in tenon.yaml, which has paths and names that only a client of the operator may learn. A new reference. */
static tn_value config_warnings(const struct method_call *call, const struct document *document) {
    struct host *host = server_host(call->server);
    tn_value texts = value_array();
    if (!client_names_files(call->client)) return texts;
    config_lint_budget(host, document, add_config_warning, &texts);
    config_lint_providers(host, add_config_warning, &texts);
    config_lint_tools(host, add_config_warning, &texts);
    config_lint_files(host, add_config_warning, &texts);
    config_lint_work(host, add_config_warning, &texts);
    config_lint_schedules(host, add_config_warning, &texts);
    config_lint_serve(host, add_config_warning, &texts);
    return texts;
}

static tn_value check_result(struct diagnostics *found, tn_value config) {
    size_t errors = diagnostics_errors(found);
    diagnostics_sort(found);
    tn_value result = value_set_take(value_object_reserve(5), "valid", value_bool(errors == 0));
    result = value_set_take(result, "errors", value_int((int64_t)errors));
    result = value_set_take(result, "warnings", value_int((int64_t)diagnostics_warnings(found)));
    result = value_set_take(result, "diagnostics", diagnostics_to_value(found));
    return value_count(config) ? value_set_take(result, "config_warnings", value_ref(config)) : result;
}

static int32_t document_check(const struct method_call *call, struct error *error) {
    struct source *source = document_open_source(call, error);
    if (!source) return TN_INVALID;
    struct diagnostics *found = diagnostics_new();
    const struct graph_origin origin = {.outer = method_authority(call),
                                        .from_text = client_is_plugin(call->client) && !method_text(call, "document")};
    method_defer_loads(call, true);
    struct document *document = graph_check(server_engine(call->server), source, &origin, found);
    method_defer_loads(call, false);
    if (method_flag(call, "strategy")) document_check_strategy(document, found);
    tn_value config = config_warnings(call, document);
    bool good = diagnostics_errors(found) == 0 && value_count(config) == 0;
    int32_t status = good ? TN_OK : method_wait_for_plugins(call, TN_OK);
    if (status == TN_OK) (void)method_done_take(call, check_result(found, config));
    value_unref(config);
    document_unref(document);
    diagnostics_free(found);
    source_unref(source);
    return status;
}

/* ---- describe ---- */

static int32_t document_describe(const struct method_call *call, struct error *error) {
    struct source *source = document_open_source(call, error);
    if (!source) return TN_INVALID;
    struct diagnostics *found = diagnostics_new();
    method_defer_loads(call, true);
    struct document *document = document_read(source, &server_engine(call->server)->catalog, found);
    method_defer_loads(call, false);
    int32_t status = TN_OK;
    if (diagnostics_errors(found))
        status = method_wait_for_plugins(
            call, document_hide_mistake(call, document_refuse(source_name(source), found, error), error));
    else
        (void)method_done_take(call, document_description(document));
    document_unref(document);
    diagnostics_free(found);
    source_unref(source);
    return status;
}

/* ---- format ---- */

static int32_t document_format(const struct method_call *call, struct error *error) {
    struct source *source = document_open_source(call, error);
    if (!source) return TN_INVALID;
    struct diagnostics *found = diagnostics_new();
    char *text = NULL;
    size_t length = 0;
    int32_t status = format_source(source, found, &text, &length);
    if (status == TN_OK) {
        bool same = length == source_length(source) && memcmp(text, source_text(source), length) == 0;
        tn_value result = value_set_take(value_object_reserve(2), "text", value_string(text, length));
        (void)method_done_take(call, value_set_take(result, "changed", value_bool(!same)));
    } else {
        status = document_refuse(source_name(source), found, error);
    }
    mem_free(text);
    diagnostics_free(found);
    source_unref(source);
    return status;
}

/* ---- graph ---- */

static int32_t refuse_drawing(struct error *error) {
    return error_set(error, TN_LIMIT, "LIMIT",
                     "the drawing has more than %u bytes; draw it without `inside`, or a part", DRAWING_MAX);
}

/* {graph} or {drawing}; NULL with the error. */
static tn_value draw(const struct document *document, const struct draw_inside *inside, enum draw_format format,
                     struct error *error) {
    tn_value drawn;
    bool picture = draw_arrows_max(format) < DRAW_ARROWS_MAX;
    if (draw_check_arrows(document, inside, picture ? PICTURE_ARROWS_MAX : ARROWS_MAX, error) != TN_OK) return NULL;
    if (format == DRAW_JSON) {
        drawn = draw_json(document, inside, error);
        if (drawn && value_weight(drawn) > DRAWING_MAX) {
            (void)refuse_drawing(error);
            value_unref(drawn);
            drawn = NULL;
        }
    } else {
        struct buffer text;
        buffer_init(&text, DRAWING_MAX);
        bool good = draw_document(&text, document, inside, format, error) == TN_OK;
        drawn = good ? value_string_lossy(buffer_cstr(&text), text.length) : NULL;
        buffer_finish(&text);
    }
    return drawn ? value_set_take(value_object_reserve(1), format == DRAW_JSON ? "graph" : "drawing", drawn) : NULL;
}

/* Draws the document as `catalog` reads it. TN_OK with *out, TN_LIMIT, or TN_INVALID if it has mistakes, in `found`. */
static int32_t draw_checked(struct source *source, const struct catalog *catalog, struct diagnostics *found,
                            enum draw_format format, tn_value *out, struct error *error) {
    struct document *document = document_read(source, catalog, found);
    int32_t status = TN_INVALID;
    if (!diagnostics_errors(found)) {
        *out = draw(document, NULL, format, error);
        status = *out ? TN_OK : TN_LIMIT;
    }
    document_unref(document);
    return status;
}

/* Node types can name successors in their configuration. If plugins are missing, it is drawn without these. */
static int32_t draw_outside(const struct method_call *call, enum draw_format format, tn_value *out,
                            struct error *error) {
    struct source *source = document_open_source(call, error);
    if (!source) return TN_INVALID;
    struct diagnostics *found = diagnostics_new(), *without_plugins = diagnostics_new();
    method_defer_loads(call, true);
    int32_t status = draw_checked(source, &server_engine(call->server)->catalog, found, format, out, error);
    method_defer_loads(call, false);
    if (status == TN_INVALID) status = method_wait_for_plugins(call, status);
    if (status == TN_INVALID) {
        status = draw_checked(source, NULL, without_plugins, format, out, error);
        if (status == TN_INVALID)
            status = document_hide_mistake(call, document_refuse(source_name(source), without_plugins, error), error);
    }
    diagnostics_free(found);
    diagnostics_free(without_plugins);
    source_unref(source);
    return status;
}

static int32_t draw_inside(const struct method_call *call, enum draw_format format, tn_value *out,
                           struct error *error) {
    struct graph *graph = NULL;
    struct draw_inside inside;
    int32_t status = document_open(call, &graph, error);
    if (status != TN_OK) return status;
    graph_draw_inside(graph, &inside);
    *out = draw(graph->document, &inside, format, error);
    graph_unref(graph);
    return *out ? TN_OK : TN_LIMIT;
}

static int32_t document_graph(const struct method_call *call, struct error *error) {
    enum draw_format format = DRAW_TEXT;
    tn_value result = NULL;
    (void)draw_format_find(method_text(call, "format"), &format); /* one of the schema's names */
    int32_t status = method_flag(call, "inside") ? draw_inside(call, format, &result, error)
                                                 : draw_outside(call, format, &result, error);
    return status == TN_OK ? method_done_take(call, result) : status;
}

/* ---- schema ---- */

static int32_t document_schema(const struct method_call *call, struct error *error) {
    const char *name = method_text(call, "name");
    tn_value schema = named_schema(server_host(call->server), name);
    if (!schema)
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "there is no schema `%.100s`, expected one of %s", name,
                         named_schema_names());
    return method_done_take(call, value_set_take(value_object_reserve(1), "schema", schema));
}

const struct method_handler document_methods[] = {
    {"document/check", document_check}, {"document/describe", document_describe}, {"document/format", document_format},
    {"document/graph", document_graph}, {"document/schema", document_schema},     {NULL, NULL},
};
