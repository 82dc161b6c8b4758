/*
 * embed.c - tenon/embed.h over the host: opening, runnables, running.
 *
 * A failure is kept in the host until the next call that can fail, so that callers in any language can ask for it.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/diagnostic/print.h"
#include "adl/text/source.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/call/call.h"
#include "host/call/instance.h"
#include "host/embed/internal.h"
#include "host/embed/runnable_node.h"
#include "host/engine/graph.h"
#include "host/host.h"
#include "host/interface/interface.h"
#include "host/loop/loop.h"
#include "host/plugin/registry.h"
#include "host/runnable/compose.h"
#include "host/runnable/execution.h"
#include "host/tool/use.h"
#include <string.h>

const char *tenon_version(void) { return TENON_VERSION; }

const tn_value_1 *tenon_values(void) { return interface_find(TN_VALUE_1); }

void tenon_free(void *memory) { mem_free(memory); }

/* ---- The host ---- */

static const char *option_text(tn_value options, const char *key) {
    tn_value value = options ? value_get(options, key) : NULL;
    return value_is(value, TN_STRING) ? value_chars(value, NULL) : NULL;
}

static bool option_is_true(tn_value options, const char *key) {
    tn_value value = options ? value_get(options, key) : NULL;
    return value && value_is(value, TN_BOOL) && value_to_bool(value);
}

tenon *tenon_open(tn_value options, char **why) {
    struct host_options given = {0};
    tn_value paths = options ? value_get(options, "plugin_paths") : NULL;
    size_t count = paths ? value_count(paths) : 0;
    const char **list = mem_zalloc((count + 1) * sizeof *list);
    for (size_t i = 0; i < count; i++)
        list[i] = value_is(value_at(paths, i), TN_STRING) ? value_chars(value_at(paths, i), NULL) : "";
    given.plugin_paths = list;
    given.config_file = option_text(options, "config");
    given.no_config = option_is_true(options, "no_config");
    given.allow_drafts = option_is_true(options, "allow_drafts");
    given.record_dir = option_text(options, "record_dir");
    given.replay_dir = option_text(options, "replay_dir");
    struct error error = ERROR_INIT;
    struct host *host = host_new(&given, &error);
    mem_free((void *)list);
    if (!host) {
        if (why) *why = mem_text(error.message ? error.message : "the host cannot be opened");
        error_finish(&error);
        return NULL;
    }
    tenon *handle = mem_zalloc(sizeof *handle);
    handle->host = host;
    loop_enter(host->loop);
    return handle;
}

void tenon_close(tenon *handle) {
    if (!handle) return;
    runnable_nodes_release(handle);
    host_free(handle->host);
    runnable_nodes_free(handle);
    diagnostics_free(handle->found);
    error_finish(&handle->error);
    value_unref(handle->error_value);
    mem_free(handle);
}

const char *tenon_error(tenon *handle) { return handle && handle->error.message ? handle->error.message : ""; }

tn_value tenon_error_value(tenon *handle) {
    if (!handle || !handle->error.code) return NULL;
    if (!handle->error_value) handle->error_value = error_to_value(&handle->error);
    return handle->error_value;
}

void embed_forget(tenon *handle) {
    error_finish(&handle->error);
    value_unref(handle->error_value);
    handle->error_value = NULL;
}

tn_value tenon_diagnostics(tenon *handle) {
    tn_value list = handle && handle->found ? diagnostics_to_value(handle->found) : value_array();
    return value_set_take(value_object_reserve(1), "diagnostics", list);
}

/* ---- Runnables ---- */

tenon_runnable *embed_runnable_take(tenon *handle, struct callable *callable) {
    if (!callable) return NULL;
    tenon_runnable *runnable = mem_zalloc(sizeof *runnable);
    *runnable = (tenon_runnable){1, handle, callable};
    return runnable;
}

tenon_runnable *tenon_retain(tenon_runnable *runnable) {
    if (runnable) runnable->references++;
    return runnable;
}

void tenon_release(tenon_runnable *runnable) {
    if (!runnable || --runnable->references) return;
    callable_unref(runnable->callable);
    mem_free(runnable);
}

tenon_runnable *embed_graph(tenon *handle, const char *name, const char *text, size_t length) {
    struct host *host = handle->host;
    embed_forget(handle);
    diagnostics_free(handle->found);
    handle->found = diagnostics_new();
    if (length > SOURCE_LENGTH_MAX) {
        error_set(&handle->error, TN_LIMIT, "LIMIT", "the document is longer than 4 GiB");
        return NULL;
    }
    struct source *source = source_new(name, text, length);
    struct document *document = document_read(source, &host->catalog, handle->found);
    diagnostics_sort(handle->found);
    struct graph *graph = NULL;
    if (diagnostics_errors(handle->found))
        graph_refuse(&handle->error, name, handle->found);
    else
        graph_build(host, document, 0, &graph, &handle->error);
    document_unref(document);
    source_unref(source);
    return graph ? embed_runnable_take(handle, &graph->callable) : NULL;
}

/* An argument that must be there; else the error says which is not. */
static bool given(tenon *handle, const void *argument, const char *what) {
    if (!argument) error_set(&handle->error, TN_INVALID, "INVALID_INPUT", "%s is NULL", what);
    return argument != NULL;
}

tenon_runnable *tenon_graph_text(tenon *handle, const char *name, const char *text, uint64_t length) {
    if (!handle) return NULL;
    embed_forget(handle);
    if (!given(handle, text, "the document's text")) return NULL;
    return embed_graph(handle, name ? name : "document.yaml", text, (size_t)length);
}

tenon_runnable *tenon_graph_file(tenon *handle, const char *path) {
    char *resolved = NULL;
    const char *why = "it cannot be read";
    if (!handle) return NULL;
    embed_forget(handle);
    diagnostics_free(handle->found);
    handle->found = NULL;
    if (!given(handle, path, "the document's path")) return NULL;
    tn_value text = handle->host->catalog.read(handle->host->catalog.self, NULL, path, &resolved, &why);
    if (!text) {
        error_set(&handle->error, TN_NOT_FOUND, "INVALID_GRAPH", "cannot read the document `%s`: %s", path, why);
        return NULL;
    }
    size_t length;
    const char *bytes = value_chars(text, &length);
    tenon_runnable *runnable = embed_graph(handle, resolved, bytes, length);
    value_unref(text);
    mem_free(resolved);
    return runnable;
}

tenon_runnable *tenon_component(tenon *handle, const char *kind, const char *id, tn_value config) {
    static const struct instance_scope nothing = {.where = "a component used by itself"};
    struct component *component;
    struct callable *callable = NULL;
    if (!handle) return NULL;
    embed_forget(handle);
    if (!given(handle, kind, "the component's kind") || !given(handle, id, "the component's id")) return NULL;
    if (strcmp(kind, "tool") == 0) /* what the operator says of it holds here as well */
        tool_bind(handle->host, NULL, id, config, false, &callable, &handle->error);
    else if (registry_resolve(handle->host->registry, kind, id, &component, &handle->error) == TN_OK)
        instance_new(component, config ? config : value_object(), &nothing, &callable, &handle->error);
    return embed_runnable_take(handle, callable);
}

/* The callables of `count` runnables of this host; NULL, with the error, where one is missing or another host's. */
static struct callable **callables_of(tenon *handle, tenon_runnable *const *runnables, uint32_t count) {
    if (!handle) return NULL;
    embed_forget(handle);
    if (count && !given(handle, runnables, "the list of runnables")) return NULL;
    struct callable **list = mem_zalloc((count + (size_t)1) * sizeof(struct callable *));
    for (uint32_t i = 0; i < count; i++) {
        if (embed_is_here(handle, runnables[i])) {
            list[i] = runnables[i]->callable;
            continue;
        }
        mem_free((void *)list);
        return NULL;
    }
    return list;
}

bool embed_is_here(tenon *handle, const tenon_runnable *runnable) {
    if (!given(handle, runnable, "a runnable")) return false;
    if (runnable->host == handle) return true;
    error_set(&handle->error, TN_INVALID, "INVALID_INPUT", "a runnable is another host's; make it from this one");
    return false;
}

tenon_runnable *tenon_pipe(tenon *handle, tenon_runnable *const *stages, uint32_t count) {
    struct callable **list = callables_of(handle, stages, count);
    if (!list) return NULL;
    tenon_runnable *pipe = embed_runnable_take(handle, pipe_new(handle->host->loop, list, count));
    mem_free((void *)list);
    return pipe;
}

tenon_runnable *tenon_parallel(tenon *handle, tenon_runnable *const *branches, const char *const *names,
                               uint32_t count) {
    struct callable **list = callables_of(handle, branches, count);
    if (!list) return NULL;
    tenon_runnable *parallel = NULL;
    uint32_t i = 0;
    while (names && i < count && names[i] && utf8_valid(names[i], strlen(names[i]))) i++;
    if (names && i < count)
        error_set(&handle->error, TN_INVALID, "INVALID_INPUT", "the name of branch %u is NULL or not UTF-8", i);
    else
        parallel = embed_runnable_take(handle, parallel_new(handle->host->loop, list, names, count));
    mem_free((void *)list);
    return parallel;
}

tenon_runnable *tenon_lambda(tenon *handle, tenon_function function, void *user) {
    if (!handle) return NULL;
    embed_forget(handle);
    if (!function) {
        error_set(&handle->error, TN_INVALID, "INVALID_INPUT", "a lambda's function is NULL");
        return NULL;
    }
    return embed_runnable_take(handle, lambda_new(function, user));
}

tenon_runnable *tenon_identity(tenon *handle) { return handle ? embed_runnable_take(handle, identity_new()) : NULL; }

/* ---- Running ---- */

struct streaming {
    tenon *handle;
    tenon_event event;
    void *user;
    struct execution *execution;
    bool ended, refused; /* refused: event has said 0, and is told nothing more */
};

static void ended(struct execution *execution, void *user) {
    (void)execution;
    ((struct streaming *)user)->ended = true;
}

static bool hand_over(void *user, tn_value event) {
    struct streaming *streaming = user;
    if (streaming->refused || streaming->event(streaming->user, event)) return true;
    streaming->refused = true;
    streaming->handle->cancel = streaming->handle->cancelling = true;
    execution_cancel(streaming->execution);
    return true;
}

static bool is_over(void *user) {
    struct streaming *streaming = user;
    if (streaming->handle->cancel && !streaming->handle->cancelling) {
        streaming->handle->cancelling = true;
        execution_cancel(streaming->execution);
    }
    return streaming->ended;
}

static void note_failure(tenon *handle, const struct execution *execution) {
    const struct error *error = execution_error(execution);
    const struct run *run = execution_run(execution);
    if (error && error->code)
        error_copy(&handle->error, error);
    else
        error_set(&handle->error, TN_FAILED, "INTERRUPTED", "the run is %s",
                  run ? run_status_name(run_status(run)) : "not complete");
}

static tn_value run_to_end(tenon_runnable *runnable, tn_value input, tn_value config, unsigned modes,
                           struct streaming *streaming) {
    tenon *handle = runnable->host;
    struct run_options options = RUN_OPTIONS_INIT;
    streaming->handle = handle;
    handle->cancel = handle->cancelling = false;
    if (run_options_read(&options, config, &handle->error) != TN_OK) return NULL;
    options.modes = modes;
    options.event = streaming->event ? hand_over : NULL;
    options.user = streaming;
    streaming->execution = execution_new(handle->host, runnable->callable, &options, ended, streaming);
    streaming->ended = execution_start(streaming->execution, input);
    tn_value output = NULL;
    if (loop_run(handle->host->loop, is_over, streaming))
        output = execution_output(streaming->execution);
    else
        error_set(&handle->error, TN_FAILED, "STALLED", "nothing is left that could bring the run on");
    if (!output && !handle->error.code) note_failure(handle, streaming->execution);
    execution_free(streaming->execution);
    return output;
}

tn_value tenon_invoke(tenon_runnable *runnable, tn_value input, tn_value config) {
    struct streaming streaming = {0};
    if (!runnable) return NULL;
    embed_forget(runnable->host);
    return run_to_end(runnable, input, config, 0, &streaming);
}

char *tenon_invoke_json(tenon_runnable *runnable, const char *input) {
    tn_value value = NULL;
    if (!runnable) return NULL;
    embed_forget(runnable->host);
    if (input && json_read(input, strlen(input), NULL, &value, &runnable->host->error) != TN_OK) return NULL;
    tn_value output = tenon_invoke(runnable, value, NULL);
    value_unref(value);
    char *text = output ? json_text(output, JSON_COMPACT) : NULL;
    value_unref(output);
    return text;
}

tn_value tenon_stream(tenon_runnable *runnable, tn_value input, tn_value config, const char *modes, tenon_event event,
                      void *user) {
    struct streaming streaming = {.event = event, .user = user};
    if (!runnable) return NULL;
    embed_forget(runnable->host);
    unsigned wanted = run_modes_parse(modes ? modes : "values", &runnable->host->error);
    if (!wanted) return NULL;
    return run_to_end(runnable, input, config, wanted, &streaming);
}

struct progress {
    tenon_progress function;
    void *user;
};

static void tell_progress(void *user, size_t done, size_t total) {
    const struct progress *progress = user;
    progress->function(progress->user, done, total);
}

tn_value tenon_batch(tenon_runnable *runnable, tn_value inputs, tn_value config, uint32_t concurrency,
                     tenon_progress progress, void *user) {
    if (!runnable) return NULL;
    tenon *handle = runnable->host;
    struct progress told = {progress, user};
    struct batch_options options = {.concurrency = concurrency, .options = RUN_OPTIONS_INIT, .user = &told};
    embed_forget(handle);
    handle->cancel = false;
    if (run_options_read(&options.options, config, &handle->error) != TN_OK) return NULL;
    if (!inputs || !value_is(inputs, TN_ARRAY)) {
        error_set(&handle->error, TN_TYPE, "INVALID_INPUT", "a batch takes an array of inputs");
        return NULL;
    }
    if (progress) options.progress = tell_progress;
    return batch_run(handle->host, runnable->callable, inputs, &options, &handle->cancel);
}

void tenon_cancel(tenon *handle) {
    if (!handle) return;
    handle->cancel = true;
    loop_wake(handle->host->loop);
}
