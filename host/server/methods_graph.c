/*
 * methods_graph.c - the graphs that the host serves: methods/graph.yaml.
 */
#include "adl/document/document.h"
#include "adl/value/nearest.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/engine/engine.h"
#include "host/engine/graph/documents.h"
#include "host/server/client.h"
#include "host/server/document_description.h"
#include "host/server/method_call.h"
#include "host/server/method_internal.h"
#include "host/server/server.h"
#include <string.h>

/* {name, document}, and what the description has. */
static tn_value served_graph(tn_value name, tn_value described) {
    static const char *const members[] = {"description", "input", "output", "channels"};
    tn_value shown = value_set_take(value_object_reserve(7), "name", value_ref(name));
    shown = value_set_take(shown, "document", value_format("graph:%s", value_chars(name, NULL)));
    tn_value title = value_get(described, "name");
    if (title) shown = value_set_take(shown, "title", value_ref(title));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value member = value_get(described, members[i]);
        if (member) shown = value_set_take(shown, members[i], value_ref(member));
    }
    return shown;
}

/* Messages have paths of this machine, which are for clients that may name files. */
static tn_value broken_graph(const struct method_call *call, tn_value name, const struct error *error) {
    tn_value why = client_names_files(call->client)
                       ? value_text(error->message)
                       : value_text("the document has a mistake, which `tenon check` shows "
                                    "to the operator");
    return value_set_take(served_graph(name, NULL), "error", why);
}

static int32_t describe_graph(struct engine *engine, tn_value name, tn_value *shown, struct error *error) {
    tn_value path = value_format("graph:%s", value_chars(name, NULL));
    struct document *document = NULL;
    int32_t status = documents_open(engine, value_chars(path, NULL), NULL, &document, error);
    if (status == TN_OK) {
        tn_value described = document_description(document);
        *shown = served_graph(name, described);
        value_unref(described);
    }
    document_unref(document);
    value_unref(path);
    return status;
}

/* Adds one graph to *list. A mistake can be a component that a plugin is about to add. */
static int32_t add_graph(const struct method_call *call, tn_value name, tn_value *list) {
    struct error error = ERROR_INIT;
    tn_value shown = NULL;
    method_defer_loads(call, true);
    int32_t status = describe_graph(server_engine(call->server), name, &shown, &error);
    method_defer_loads(call, false);
    if (status != TN_OK) status = method_wait_for_plugins(call, status);
    if (status != METHOD_RETRY)
        *list = value_push_take(*list, status == TN_OK ? shown : broken_graph(call, name, &error));
    error_finish(&error);
    return status == METHOD_RETRY ? status : TN_OK;
}

static int32_t refuse_unknown(tn_value graphs, const char *name, struct error *error) {
    struct nearest nearest;
    nearest_init(&nearest, name, strlen(name));
    for (size_t i = 0; i < value_count(graphs); i++) {
        size_t length;
        const char *known = value_chars(value_key_at(graphs, i), &length);
        nearest_add_candidate(&nearest, known, length);
    }
    return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "no graph `%s` is served%s", name, nearest_hint(&nearest).text);
}

static int32_t graph_list(const struct method_call *call, struct error *error) {
    tn_value graphs = config_graphs(host_config(server_host(call->server))), list = value_array();
    const char *only = method_text(call, "name");
    int32_t status = !only || value_get(graphs, only) ? TN_OK : refuse_unknown(graphs, only, error);
    for (size_t i = 0; status == TN_OK && i < value_count(graphs); i++)
        if (!only || value_text_is(value_key_at(graphs, i), only))
            status = add_graph(call, value_key_at(graphs, i), &list);
    if (status == TN_OK) return method_done_take(call, value_set_take(value_object_reserve(1), "graphs", list));
    value_unref(list);
    return status;
}

const struct method_handler graph_methods[] = {{"graph/list", graph_list}, {NULL, NULL}};
