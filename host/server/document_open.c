/*
 * document_open.c - reads and builds the document that the parameters of a method name.
 */
#include "host/server/document_open.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/diagnostic/print.h"
#include "adl/document/inner_file.h"
#include "adl/source/source.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/base/files.h"
#include "host/engine/engine.h"
#include "host/engine/graph/graph.h"
#include "host/engine/graph/nested.h"
#include "host/plugin/call/authority.h"
#include "host/server/client.h"
#include "host/server/method_call.h"
#include "host/server/server.h"
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* A document, or a text, can contain every tool: a client with an owner has those that the operator serves. */
static int32_t refuse_unserved(const struct method_call *call, const char *parameter, struct error *error) {
    return error_set(error, TN_FAILED, "PERMISSION_DENIED",
                     "`%s`: %s runs only documents that this host serves; expected `document: graph:NAME`", parameter,
                     client_name(call->client));
}

static int32_t check_name(const struct method_call *call, const char *name, struct error *error) {
    tn_value graphs = config_graphs(host_config(server_host(call->server)));
    if (files_is_graph_name(name) && !value_get(graphs, name + strlen("graph:")))
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND",
                         "`document`: no graph `%.100s` is served; graph/list lists those that are",
                         name + strlen("graph:"));
    if (client_owner(call->client)) return files_is_graph_name(name) ? TN_OK : refuse_unserved(call, "document", error);
    if (client_names_files(call->client) || files_is_special_name(name)) return TN_OK;
    return error_set(error, TN_FAILED, "PERMISSION_DENIED",
                     "`document`: %s may not name files of the host by their path (found `%.200s`); expected a "
                     "document of a pack, as `pack:NAME/FILE`, a served graph, as `graph:NAME`, or its text in `text`",
                     client_name(call->client), name);
}

static struct source *source_of_text(const struct method_call *call, struct error *error) {
    const char *name = method_text(call, "name");
    size_t length;
    if (client_owner(call->client)) return (void)refuse_unserved(call, "text", error), NULL;
    const char *text = value_chars(value_get(call->params, "text"), &length);
    if (length > DOCUMENT_TEXT_MAX) {
        error_set(error, TN_LIMIT, "LIMIT", "`text` has %zu bytes, expected at most %u", length, DOCUMENT_TEXT_MAX);
        return NULL;
    }
    struct source *source = source_new(name ? name : "document.yaml", text, length);
    bool person = client_names_files(call->client);
    source_set_origin(source, person ? SOURCE_OF_OPERATOR : SOURCE_WITHOUT_FILE, NULL);
    return source;
}

/* After IO: a relative name starts at the working folder of the host, which is not that of a client of its socket. */
static void add_folder(const struct method_call *call, const char *name, struct error *error) {
    char folder[PATH_MAX];
    if (!client_owner(call->client) && name[0] != '/' && !files_is_special_name(name) && getcwd(folder, sizeof folder))
        error_set(error, TN_NOT_FOUND, "IO", "%s; a relative path starts at the folder of the host, %s", error->message,
                  folder);
}

static struct source *source_of_file(const struct method_call *call, const char *name, struct error *error) {
    const struct engine *engine = server_engine(call->server);
    struct catalog_file found = {NULL, NULL};
    struct error why = ERROR_INIT;
    struct source *source = NULL;
    if (check_name(call, name, error) != TN_OK) return NULL;
    tn_value text = engine->catalog.read(engine->catalog.read_self, NULL, name, &found, &why);
    if (!text) {
        error_set(error, TN_NOT_FOUND, "IO", "cannot read the document `%s`: %s", name, why.message);
        add_folder(call, name, error);
    } else if (!(source = inner_file_source(NULL, &found, text, SOURCE_SHOWN))) {
        error_set(error, TN_LIMIT, "LIMIT", "the document `%s` is too large", name);
    }
    value_unref(text);
    catalog_file_finish(&found);
    error_finish(&why);
    return source;
}

struct source *document_open_source(const struct method_call *call, struct error *error) {
    const char *document = method_text(call, "document");
    return document ? source_of_file(call, document, error) : source_of_text(call, error);
}

int32_t document_refuse(const char *name, struct diagnostics *found, struct error *error) {
    diagnostics_sort(found);
    int32_t status = graph_refuse(error, name, found);
    tn_value detail = value_set_take(value_object_reserve(1), "diagnostics", diagnostics_to_value(found));
    error_set_detail_take(error, detail);
    return status;
}

static int32_t open_text(const struct method_call *call, const struct graph_origin *origin, struct graph **out,
                         struct error *error) {
    struct source *source = source_of_text(call, error);
    if (!source) return TN_INVALID;
    int32_t status = graph_open_source(server_engine(call->server), source, origin, out, error);
    if (status != TN_OK && diagnostics_errors(origin->diagnostics))
        status = document_refuse(source_name(source), origin->diagnostics, error);
    source_unref(source);
    return status;
}

static int32_t open_file(const struct method_call *call, const char *name, const struct graph_origin *origin,
                         struct graph **out, struct error *error) {
    int32_t status = check_name(call, name, error);
    if (status != TN_OK) return status;
    status = graph_open(server_engine(call->server), NULL, name, origin, out, error);
    if (status == TN_NOT_FOUND && strcmp(error->code, "IO") == 0) add_folder(call, name, error);
    if (status == TN_OK || !diagnostics_errors(origin->diagnostics)) return status;
    return document_refuse(name, origin->diagnostics, error);
}

/* The frame around the document: that of the call, and the parameter `session`. A new reference, or NULL. */
static struct authority *frame_around(const struct method_call *call) {
    tn_value session = value_get(call->params, "session");
    struct authority *caller = method_authority(call);
    if (!session) return authority_ref(caller);
    tn_value programs = value_get(session, "starts_programs");
    return authority_of_session(caller, value_get(session, "models"), value_get(session, "tools"),
                                programs && value_to_bool(programs));
}

int32_t document_open(const struct method_call *call, struct graph **out, struct error *error) {
    const char *document = method_text(call, "document");
    const struct graph_origin origin = {.diagnostics = diagnostics_new(),
                                        .outer = frame_around(call),
                                        .from_text = !document && client_is_plugin(call->client)};
    method_defer_loads(call, true);
    int32_t status = document ? open_file(call, document, &origin, out, error) : open_text(call, &origin, out, error);
    method_defer_loads(call, false);
    authority_unref(origin.outer);
    diagnostics_free(origin.diagnostics);
    return status == TN_OK ? status : method_wait_for_plugins(call, status);
}

/* ---- Separate runs ---- */

static int32_t refuse_uncounted(const struct method_call *call, const struct authority *caller,
                                const struct authority *document, tn_value limit, struct error *error) {
    tn_value who = authority_component_text(caller->info);
    error_set(
        error, TN_FAILED, "PERMISSION_DENIED",
        "the %s may not call the method %s inside of the document `%s`, which limits its run (%s): a separate run "
        "would not be counted; run the document with `document.run` of tenon.document, which is counted, or remove "
        "the limit",
        value_chars(who, NULL), call->method->name, document->name, value_chars(limit, NULL));
    value_unref(who);
    return TN_FAILED;
}

/* A component can start a run whose component starts the next one. Each run adds a document to the chain. */
static int32_t check_separate_run(const struct method_call *call, struct error *error) {
    const struct authority *caller = method_authority(call);
    tn_value limit = NULL;
    if (!caller) return TN_OK;
    const struct authority *document = authority_counting_document(caller, &limit);
    int32_t status = document ? refuse_uncounted(call, caller, document, limit, error) : TN_OK;
    value_unref(limit);
    if (status != TN_OK || authority_document_count(caller) <= NESTED_DEPTH_MAX) return status;
    return error_set(error, TN_LIMIT, "LIMIT",
                     "runs start each other more than %u deep; does one of them start itself?", NESTED_DEPTH_MAX);
}

static int32_t check_session(const struct method_call *call, struct error *error) {
    tn_value session = value_get(call->params, "session"),
             programs = session ? value_get(session, "starts_programs") : NULL;
    if (programs && value_to_bool(programs) && client_scope(call->client) < METHOD_ADMIN)
        return error_set(error, TN_FAILED, "PERMISSION_DENIED",
                         "`session.starts_programs` needs the scope `admin`; %s has `%s`", client_name(call->client),
                         method_scope_name(client_scope(call->client)));
    if (!session || !(client_is_plugin(call->client) || client_owner(call->client))) return TN_OK;
    return error_set(error, TN_FAILED, "PERMISSION_DENIED", "`session`: %s may not choose models and tools of a run",
                     client_name(call->client));
}

int32_t document_open_run(const struct method_call *call, struct graph **out, struct error *error) {
    int32_t status = check_session(call, error);
    if (status == TN_OK) status = check_separate_run(call, error);
    return status == TN_OK ? document_open(call, out, error) : status;
}
