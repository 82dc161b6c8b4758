/*
 * fuzz_saved.c - restores a run from anything that a store or an imported thread can contain: it is refused, or
 * resumed.
 *
 * The graph has a map edge, a join, a deferred node, an interrupt before a node and a handled failure. A restored run
 * is saved again, resumed and cancelled, without a leak.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/source/source.h"
#include "adl/value/json.h"
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/data/thread/thread_delta.h"
#include "host/engine/graph/graph.h"
#include "host/engine/graph/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char document_text[] = "version: '1.0'\n"
                                    "channels:\n"
                                    "  - {name: list, type: last_value, default: [1, 2]}\n"
                                    "  - {name: log, type: append}\n"
                                    "  - {name: brief, type: ephemeral}\n"
                                    "nodes:\n"
                                    "  - {id: a, type: set, config: {values: {log: '\"a\"', brief: '1'}}}\n"
                                    "  - {id: b, type: set, config: {values: {log: '\"b\"'}}, interrupt: before}\n"
                                    "  - {id: each, type: set, config: {values: {log: item}}}\n"
                                    "  - {id: late, type: set, config: {values: {log: '\"late\"'}}, defer: true}\n"
                                    "  - {id: bad, type: fail, config: {message: no}, on_error: {to: end}}\n"
                                    "  - {id: end, type: set, config: {values: {log: '\"end\"'}}}\n"
                                    "edges:\n"
                                    "  - {from: START, to: [a, b]}\n"
                                    "  - {from: a, type: map, over: state.list, as: item, to: each}\n"
                                    "  - {from: [a, b], to: bad}\n"
                                    "  - {from: a, to: late}\n"
                                    "  - {from: end, to: END}\n";

static struct host *host;
static struct graph *graph;

static void prepare(void) {
    static const char *const paths[] = {TENON_CORE_PLUGIN, NULL};
    host = host_new(&(struct host_options){.plugin_paths = paths, .no_config = true, .allow_drafts = true}, NULL);
    if (!host) abort();
    loop_fake_clock(host_loop(host));
    struct source *source = source_new("fuzz.yaml", document_text, strlen(document_text));
    struct diagnostics *found = diagnostics_new();
    struct document *document = document_read(source, host_catalog(host), found);
    if (diagnostics_errors(found) ||
        graph_build(host_engine(host), document, &(struct graph_origin){0}, &graph, NULL) != TN_OK)
        abort();
    document_unref(document);
    diagnostics_free(found);
    source_unref(source);
}

static void on_ended(struct run *run, void *user) {
    (void)run;
    *(bool *)user = true;
}

static bool is_over(void *user) { return *(const bool *)user; }

static void go_on(struct run *run, bool *ended) {
    tn_value answers = value_object(), again = run_save(run);
    if (run_resume(run, answers, ended, NULL) == TN_OK && !*ended && !loop_run(host_loop(host), is_over, ended))
        abort();
    value_unref(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tn_value saved = NULL, state = NULL;
    if (!host) prepare();
    if (json_read((const char *)data, size, NULL, &saved, NULL) != TN_OK) return 0;
    int64_t live = value_live_count();
    bool ended = false;
    struct run_options options = RUN_OPTIONS_INIT;
    options.ended = on_ended;
    options.user = &ended;
    options.recursion_limit = 20;
    struct run *run = run_new(graph, &options);
    struct error error = ERROR_INIT;
    if (run_restore(run, saved, &error) == TN_OK) go_on(run, &ended);
    run_free(run);
    error_finish(&error);
    /* The same bytes as a change of the state. */
    if (delta_apply_take(value_object(), saved, &state, NULL) == TN_OK) value_unref(state);
    assert(value_live_count() == live);
    (void)live;
    value_unref(saved);
    return 0;
}
