/*
 * embed.c - implements tenon/embed.h: hosts, runnables and runs.
 *
 * The last error stays in the handle until the next call, because callers in other languages read it with a second
 * call. Each function that can fail starts with embed_enter.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/diagnostic/print.h"
#include "adl/document/inner_file.h"
#include "adl/source/source.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/abi_table.h"
#include "host/assembly/host.h"
#include "host/base/environment.h"
#include "host/base/loop.h"
#include "host/embed/embed_internal.h"
#include "host/embed/embed_node.h"
#include "host/engine/execution/compose.h"
#include "host/engine/execution/execution.h"
#include "host/engine/graph/graph.h"
#include "host/engine/tool/tool_use.h"
#include "host/plugin/call/call.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/registry/registry.h"
#include <string.h>

const char *tenon_version(void) { return TENON_VERSION; }

const tn_value_1 *tenon_values(void) { return interface_find(TN_VALUE_1); }

void tenon_free(void *memory) { mem_free(memory); }

void tenon_set_memory_handler(tenon_memory_handler handler, void *user) { mem_set_handler(handler, user); }

/* ---- The host ---- */

static const char *embed_option_text(tn_value options, const char *key) {
    tn_value value = options ? value_get(options, key) : NULL;
    return value_is(value, TN_STRING) ? value_chars(value, NULL) : NULL;
}

static bool embed_option_is_true(tn_value options, const char *key) {
    tn_value value = options ? value_get(options, key) : NULL;
    return value && value_is(value, TN_BOOL) && value_to_bool(value);
}

/* The strings of a list, terminated by NULL. Free it with mem_free. */
static const char **embed_option_list(tn_value options, const char *key) {
    tn_value list = options ? value_get(options, key) : NULL;
    size_t count = value_is(list, TN_ARRAY) ? value_count(list) : 0;
    const char **texts = mem_zalloc((count + 1) * sizeof *texts);
    for (size_t i = 0; i < count; i++)
        texts[i] = value_is(value_at(list, i), TN_STRING) ? value_chars(value_at(list, i), NULL) : "";
    return texts;
}

tenon *tenon_open(tn_value options, char **why) {
    struct host_options host_options = {0};
    const char **paths = embed_option_list(options, "plugin_paths"), **roots = embed_option_list(options, "file_roots");
    host_options.plugin_paths = paths;
    host_options.file_roots = roots;
    host_options.config_file = embed_option_text(options, "config");
    host_options.no_config = embed_option_is_true(options, "no_config");
    if (embed_option_is_true(options, "protect_secrets")) environment_protect();
    const char **drafts = embed_option_list(options, "drafts");
    host_options.drafts = drafts;
    host_options.allow_drafts = embed_option_is_true(options, "allow_drafts");
    host_options.record_dir = embed_option_text(options, "record_dir");
    host_options.replay_dir = embed_option_text(options, "replay_dir");
    struct error error = ERROR_INIT;
    struct host *host = host_new(&host_options, &error);
    mem_free((void *)paths);
    mem_free((void *)roots);
    mem_free((void *)drafts);
    if (!host) {
        if (why) *why = mem_text(error.message ? error.message : "cannot open the host");
        error_finish(&error);
        return NULL;
    }
    tenon *handle = mem_zalloc(sizeof *handle);
    handle->host = host;
    loop_enter(host_loop(host));
    return handle;
}

void tenon_close(tenon *handle) {
    if (!handle) return;
    embed_nodes_release(handle);
    host_free(handle->host);
    embed_nodes_free(handle);
    diagnostics_free(handle->diagnostics);
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

void embed_enter(tenon *handle) {
    loop_enter(host_loop(handle->host));
    error_finish(&handle->error);
    value_unref(handle->error_value);
    handle->error_value = NULL;
}

tn_value tenon_diagnostics(tenon *handle) {
    tn_value list = handle && handle->diagnostics ? diagnostics_to_value(handle->diagnostics) : value_array();
    return value_set_take(value_object_reserve(1), "diagnostics", list);
}

int64_t tenon_reset_plugin(tenon *handle, const char *plugin_id) {
    int64_t deaths = 0;
    embed_enter(handle);
    if (!plugin_id) plugin_id = "";
    int32_t status = registry_reset_plugin(host_registry(handle->host), plugin_id, &deaths, &handle->error);
    return status == TN_OK ? deaths : -1;
}

/* ---- Runnables ---- */

/* Takes the callable's reference. Returns NULL for NULL. */
static tenon_runnable *embed_runnable_take(tenon *handle, struct callable *callable) {
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
    embed_enter(handle);
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

/* Sets the error and returns false if a required argument is NULL. */
static bool embed_check_not_null(tenon *handle, const void *argument, const char *what) {
    if (!argument) error_set(&handle->error, TN_INVALID, "INVALID_INPUT", "%s is NULL", what);
    return argument != NULL;
}

tenon_runnable *tenon_graph_text(tenon *handle, const char *name, const char *text, uint64_t length) {
    if (!handle) return NULL;
    embed_enter(handle);
    if (!embed_check_not_null(handle, text, "the document's text")) return NULL;
    return embed_graph(handle, name ? name : "document.yaml", text, (size_t)length);
}

tenon_runnable *tenon_graph_file(tenon *handle, const char *path) {
    if (!handle) return NULL;
    embed_enter(handle);
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
    if (!handle) return NULL;
    embed_enter(handle);
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
    if (!handle) return NULL;
    embed_enter(handle);
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
    if (!handle) return NULL;
    embed_enter(handle);
    if (!function) {
        error_set(&handle->error, TN_INVALID, "INVALID_INPUT", "a lambda's function is NULL");
        return NULL;
    }
    return embed_runnable_take(handle, lambda_new(function, user));
}

tenon_runnable *tenon_identity(tenon *handle) { return handle ? embed_runnable_take(handle, identity_new()) : NULL; }

/* ---- Running ---- */

struct embed_run {
    tenon *handle;
    tenon_event event;
    void *user;
    struct execution *execution;
    bool ended;
    bool refused; /* the event callback returned 0 and is not called again */
};

static void embed_on_ended(struct execution *execution, void *user) {
    (void)execution;
    ((struct embed_run *)user)->ended = true;
}

static bool embed_on_event(void *user, tn_value event) {
    struct embed_run *run = user;
    if (run->refused) return true;
    bool more = run->event(run->user, event);
    loop_enter(host_loop(run->handle->host)); /* the callback may have used another host */
    if (more) return true;
    run->refused = true;
    run->handle->cancel = run->handle->cancelling = true;
    execution_cancel(run->execution);
    return true;
}

static bool embed_run_is_done(void *user) {
    struct embed_run *run = user;
    if (run->handle->cancel && !run->handle->cancelling) {
        run->handle->cancelling = true;
        execution_cancel(run->execution);
    }
    return run->ended;
}

static void embed_set_run_error(tenon *handle, const struct execution *execution) {
    const struct error *error = execution_error(execution);
    const struct run *engine_run = execution_run(execution);
    if (error && error->code)
        error_copy(&handle->error, error);
    else
        error_set(&handle->error, TN_FAILED, "INTERRUPTED", "the run is %s",
                  engine_run ? run_status_name(run_status(engine_run)) : "not complete");
}

/* Runs to the end. Returns the output, or NULL with the error. */
static tn_value embed_run_wait(tenon_runnable *runnable, tn_value input, tn_value config, unsigned modes,
                               struct embed_run *run) {
    tenon *handle = runnable->host;
    struct run_options options = RUN_OPTIONS_INIT;
    run->handle = handle;
    handle->cancel = handle->cancelling = false;
    if (run_options_read(&options, config, &handle->error) != TN_OK) return NULL;
    options.modes = modes;
    options.event = run->event ? embed_on_event : NULL;
    options.user = run;
    run->execution = execution_new(host_engine(handle->host), runnable->callable, &options, embed_on_ended, run);
    run->ended = execution_start(run->execution, input);
    tn_value output = NULL;
    if (loop_run(host_loop(handle->host), embed_run_is_done, run))
        output = execution_output(run->execution);
    else
        error_set(&handle->error, TN_FAILED, "STALLED", "the run cannot continue: no event is pending");
    if (!output && !handle->error.code) embed_set_run_error(handle, run->execution);
    execution_free(run->execution);
    return output;
}

tn_value tenon_invoke(tenon_runnable *runnable, tn_value input, tn_value config) {
    struct embed_run run = {0};
    if (!runnable) return NULL;
    embed_enter(runnable->host);
    return embed_run_wait(runnable, input, config, 0, &run);
}

char *tenon_invoke_json(tenon_runnable *runnable, const char *input) {
    tn_value value = NULL;
    if (!runnable) return NULL;
    embed_enter(runnable->host);
    if (input && json_read(input, strlen(input), NULL, &value, &runnable->host->error) != TN_OK) return NULL;
    tn_value output = tenon_invoke(runnable, value, NULL);
    value_unref(value);
    char *text = output ? json_text(output, JSON_COMPACT) : NULL;
    value_unref(output);
    return text;
}

tn_value tenon_stream(tenon_runnable *runnable, tn_value input, tn_value config, const char *modes, tenon_event event,
                      void *user) {
    struct embed_run run = {.event = event, .user = user};
    if (!runnable) return NULL;
    embed_enter(runnable->host);
    unsigned parsed = run_modes_parse(modes ? modes : "values", &runnable->host->error);
    if (!parsed) return NULL;
    return embed_run_wait(runnable, input, config, parsed, &run);
}

struct embed_progress {
    tenon *handle;
    tenon_progress function;
    void *user;
};

static void embed_on_progress(void *user, size_t done, size_t total) {
    const struct embed_progress *progress = user;
    progress->function(progress->user, done, total);
    loop_enter(host_loop(progress->handle->host)); /* as in embed_on_event */
}

tn_value tenon_batch(tenon_runnable *runnable, tn_value inputs, tn_value config, uint32_t concurrency,
                     tenon_progress progress, void *user) {
    if (!runnable) return NULL;
    tenon *handle = runnable->host;
    struct embed_progress callback = {handle, progress, user};
    struct batch_options options = {.concurrency = concurrency, .options = RUN_OPTIONS_INIT, .user = &callback};
    embed_enter(handle);
    handle->cancel = false;
    if (run_options_read(&options.options, config, &handle->error) != TN_OK) return NULL;
    if (!inputs || !value_is(inputs, TN_ARRAY)) {
        error_set(&handle->error, TN_TYPE, "INVALID_INPUT", "a batch takes an array of inputs");
        return NULL;
    }
    if (progress) options.progress = embed_on_progress;
    return batch_run(host_engine(handle->host), runnable->callable, inputs, &options, &handle->cancel);
}

void tenon_cancel(tenon *handle) {
    if (!handle) return;
    handle->cancel = true;
    loop_wake(host_loop(handle->host));
}
