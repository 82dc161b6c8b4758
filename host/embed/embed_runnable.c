/*
 * embed_runnable.c - runnables: their references, and graphs from files and texts. embed_compose.c has the others.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/diagnostic/print.h"
#include "adl/document/inner_file.h"
#include "adl/source/source.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/embed/embed_internal.h"
#include "host/engine/graph/graph.h"
#include "host/plugin/call/call.h"
#include <string.h>

tenon_runnable *embed_runnable_take(tenon *handle, struct callable *callable) {
    if (!callable) return NULL;
    tenon_runnable *runnable = mem_zalloc(sizeof *runnable), *next = handle->runnables;
    *runnable = (tenon_runnable){.references = 1, .host = handle, .callable = callable, .next = next};
    if (next) next->previous = runnable;
    handle->runnables = runnable;
    embed_object_add(handle);
    return runnable;
}

void embed_runnables_close(tenon *handle) {
    for (tenon_runnable *runnable = handle->runnables; runnable; runnable = runnable->next) {
        callable_unref(runnable->callable);
        runnable->callable = NULL;
    }
}

tenon_runnable *tenon_retain(tenon_runnable *runnable) {
    if (!runnable || !embed_check_thread(runnable->host)) return NULL;
    runnable->references++;
    return runnable;
}

void tenon_release(tenon_runnable *runnable) {
    if (!runnable || !embed_check_thread(runnable->host)) return;
    tenon *handle = runnable->host;
    if (--runnable->references) return;
    if (runnable->next) runnable->next->previous = runnable->previous;
    if (runnable->previous)
        runnable->previous->next = runnable->next;
    else
        handle->runnables = runnable->next;
    if (runnable->callable) callable_unref(runnable->callable);
    value_unref(runnable->name);
    value_unref(runnable->input);
    value_unref(runnable->output);
    mem_free(runnable);
    embed_object_remove(handle);
}

/*
 * The JSON Schema of an object of channels, a new reference. As an input it may also be null; the result of a run has
 * no members but channels.
 */
static tn_value embed_channels_schema(const struct document *document, bool input) {
    tn_value properties = value_object(), type = value_text("object");
    if (input) type = value_push_take(value_push_take(value_array(), type), value_text("null"));
    for (uint32_t i = 0; i < document->channel_count; i++)
        properties = value_set_key_take(properties, value_ref(document->channels[i].name), value_object());
    tn_value schema = value_set_take(value_object_reserve(3), "type", type);
    schema = value_set_take(schema, "properties", properties);
    return value_set_take(schema, "additionalProperties", value_bool(false));
}

/* Takes the source. The channels of a graph that is `alone` are not those of a document. */
static tenon_runnable *embed_graph_take(tenon *handle, struct source *source, const struct graph_origin *origin) {
    struct host *host = handle->host;
    struct document *document = document_read(source, host_catalog(host), handle->diagnostics);
    diagnostics_sort(handle->diagnostics);
    struct graph *graph = NULL;
    if (diagnostics_errors(handle->diagnostics))
        graph_refuse(&handle->error, source_name(source), handle->diagnostics);
    else
        graph_build(host_engine(host), document, origin, &graph, &handle->error);
    tenon_runnable *runnable = graph ? embed_runnable_take(handle, &graph->callable) : NULL;
    if (runnable && !origin->alone) {
        runnable->name = value_format("the graph `%s`", source_name(source));
        runnable->input =
            document->input_value ? value_ref(document->input_value) : embed_channels_schema(document, true);
        runnable->output =
            document->output_value ? value_ref(document->output_value) : embed_channels_schema(document, false);
    }
    document_unref(document);
    source_unref(source);
    return runnable;
}

/* The program has the text, perhaps from a network: it does not say in which folder the text may read. */
tenon_runnable *embed_graph(tenon *handle, const char *name, const char *text, size_t length,
                            const struct graph_origin *origin) {
    diagnostics_free(handle->diagnostics);
    handle->diagnostics = diagnostics_new();
    if (length > SOURCE_LENGTH_MAX) {
        error_set(&handle->error, TN_LIMIT, "LIMIT", "the document is longer than 4 GiB");
        return NULL;
    }
    struct source *source = source_new(name, text, length);
    source_set_origin(source, SOURCE_WITHOUT_FILE, NULL);
    return embed_graph_take(handle, source, origin);
}

tenon_runnable *tenon_graph_text(tenon *handle, const char *name, const char *text, uint64_t length) {
    if (!embed_enter(handle)) return NULL;
    if (!embed_check_not_null(handle, text, "the document's text")) return NULL;
    return embed_graph(handle, name ? name : "document.yaml", text, (size_t)length, &(struct graph_origin){0});
}

tenon_runnable *tenon_graph_file(tenon *handle, const char *path) {
    if (!embed_enter(handle)) return NULL;
    diagnostics_free(handle->diagnostics);
    handle->diagnostics = diagnostics_new();
    if (!embed_check_not_null(handle, path, "the document's path")) return NULL;
    const struct catalog *catalog = host_catalog(handle->host);
    struct catalog_file found = {NULL, NULL};
    struct error why = ERROR_INIT;
    tn_value text = catalog->read(catalog->read_self, NULL, path, &found, &why);
    struct source *source = text ? inner_file_source(NULL, &found, text, SOURCE_SHOWN) : NULL;
    if (!source)
        error_set(&handle->error, TN_NOT_FOUND, "INVALID_GRAPH", "cannot read the document `%s`: %s", path,
                  why.message ? why.message : "it is too large");
    value_unref(text);
    catalog_file_finish(&found);
    error_finish(&why);
    return source ? embed_graph_take(handle, source, &(struct graph_origin){0}) : NULL;
}

bool embed_check_utf8(tenon *handle, const char *text, const char *what) {
    if (utf8_valid(text, strlen(text))) return true;
    error_set(&handle->error, TN_INVALID, "INVALID_INPUT", "%s is not UTF-8", what);
    return false;
}

bool embed_check_runnable(tenon *handle, const tenon_runnable *runnable) {
    if (!embed_check_not_null(handle, runnable, "a runnable")) return false;
    if (runnable->host == handle) return true;
    error_set(&handle->error, TN_INVALID, "INVALID_INPUT",
              "a runnable belongs to another host; create it with this one");
    return false;
}
