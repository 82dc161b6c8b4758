/*
 * embed_runnable.c - runnables: graphs from files and texts, components, pipes, parallels, functions.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/diagnostic/print.h"
#include "adl/document/inner_file.h"
#include "adl/source/source.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/embed/embed_internal.h"
#include "host/engine/execution/compose.h"
#include "host/engine/graph/graph.h"
#include "host/engine/tool/tool_use.h"
#include "host/plugin/call/call.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/registry/registry.h"
#include <string.h>

tenon_runnable *embed_runnable_take(tenon *handle, struct callable *callable) {
    if (!callable) return NULL;
    tenon_runnable *runnable = mem_zalloc(sizeof *runnable), *next = handle->runnables;
    *runnable = (tenon_runnable){1, handle, callable, next, NULL};
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
    mem_free(runnable);
    embed_object_remove(handle);
}

/* Takes the source. */
static tenon_runnable *embed_graph_take(tenon *handle, struct source *source) {
    struct host *host = handle->host;
    struct document *document = document_read(source, host_catalog(host), handle->diagnostics);
    diagnostics_sort(handle->diagnostics);
    struct graph *graph = NULL;
    if (diagnostics_errors(handle->diagnostics))
        graph_refuse(&handle->error, source_name(source), handle->diagnostics);
    else
        graph_build(host_engine(host), document, &(struct graph_origin){0}, &graph, &handle->error);
    document_unref(document);
    source_unref(source);
    return graph ? embed_runnable_take(handle, &graph->callable) : NULL;
}

/* The program has the text, perhaps from a network: it does not say in which folder the text may read. */
tenon_runnable *embed_graph(tenon *handle, const char *name, const char *text, size_t length) {
    diagnostics_free(handle->diagnostics);
    handle->diagnostics = diagnostics_new();
    if (length > SOURCE_LENGTH_MAX) {
        error_set(&handle->error, TN_LIMIT, "LIMIT", "the document is longer than 4 GiB");
        return NULL;
    }
    struct source *source = source_new(name, text, length);
    source_set_origin(source, SOURCE_WITHOUT_FILE, NULL);
    return embed_graph_take(handle, source);
}

tenon_runnable *tenon_graph_text(tenon *handle, const char *name, const char *text, uint64_t length) {
    if (!embed_enter(handle)) return NULL;
    if (!embed_check_not_null(handle, text, "the document's text")) return NULL;
    return embed_graph(handle, name ? name : "document.yaml", text, (size_t)length);
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
    return source ? embed_graph_take(handle, source) : NULL;
}

tenon_runnable *tenon_component(tenon *handle, const char *kind, const char *id, tn_value config) {
    static const struct instance_scope nothing = {.where = "a component used by itself"};
    struct component *component;
    struct callable *callable = NULL;
    if (!embed_enter(handle)) return NULL;
    if (!embed_check_not_null(handle, kind, "the component's kind") ||
        !embed_check_not_null(handle, id, "the component's id"))
        return NULL;
    if (strcmp(kind, "tool") == 0) /* so that the operator's policy for tools applies */
        tool_bind(host_engine(handle->host), NULL, id, config, false, &callable, &handle->error);
    else if (registry_resolve(host_registry(handle->host), kind, id, &component, &handle->error) == TN_OK)
        instance_new(component, config ? config : value_object(), &nothing, &callable, &handle->error);
    return embed_runnable_take(handle, callable);
}

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

bool embed_check_runnable(tenon *handle, const tenon_runnable *runnable) {
    if (!embed_check_not_null(handle, runnable, "a runnable")) return false;
    if (runnable->host == handle) return true;
    error_set(&handle->error, TN_INVALID, "INVALID_INPUT",
              "a runnable belongs to another host; create it with this one");
    return false;
}

tenon_runnable *tenon_pipe(tenon *handle, tenon_runnable *const *stages, uint32_t count) {
    struct callable **list = embed_callables(handle, stages, count);
    if (!list) return NULL;
    tenon_runnable *pipe = embed_runnable_take(handle, pipe_new(host_loop(handle->host), list, count));
    mem_free((void *)list);
    return pipe;
}

tenon_runnable *tenon_parallel(tenon *handle, tenon_runnable *const *branches, const char *const *names,
                               uint32_t count) {
    struct callable **list = embed_callables(handle, branches, count);
    if (!list) return NULL;
    tenon_runnable *parallel = NULL;
    uint32_t i = 0;
    while (names && i < count && names[i] && utf8_valid(names[i], strlen(names[i]))) i++;
    if (names && i < count)
        error_set(&handle->error, TN_INVALID, "INVALID_INPUT", "the name of branch %u is NULL or not UTF-8", i);
    else
        parallel = embed_runnable_take(handle, parallel_new(host_loop(handle->host), list, names, count));
    mem_free((void *)list);
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
    return embed_enter(handle) ? embed_runnable_take(handle, identity_new()) : NULL;
}
