/*
 * engine_fixture.h - a real host with the core plugin and the test nodes, graphs from text, and watched runs.
 *
 * A watched run records its events and its end. It can have a slow reader, which refuses every event; the run is
 * continued when nothing else is left to do. It can be cancelled in the Nth event or in the Nth turn of the loop.
 */
#ifndef TENON_TESTS_ENGINE_FIXTURE_H
#define TENON_TESTS_ENGINE_FIXTURE_H

#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/source/source.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/engine/execution/execution.h"
#include "host/engine/graph/graph.h"
#include "host/engine/graph/run.h"
#include "host/plugin/conformance/payload.h"
#include "tests/unit/corpus.h"

#define FIXTURE_UNUSED __attribute__((unused))

/* If true, hosts also have the nodes for agents and the model with preset replies. */
FIXTURE_UNUSED static bool fixture_agents;

/* Valid until the next call. */
FIXTURE_UNUSED static struct host_options host_options_for_tests(void) {
    static const char *paths[6];
    static const char *const roots[] = {".", NULL}; /* for documents that are not files */
    const char *const plugins[] = {TENON_TEST_NODES, TENON_CORE_PLUGIN, TENON_STORE_PLUGINS "/memory.so",
                                   fixture_agents ? TENON_STORE_PLUGINS "/agents.so" : NULL,
                                   TENON_STORE_PLUGINS "/scripted.so"};
    size_t count = 0;
    for (size_t i = 0; i < sizeof plugins / sizeof *plugins; i++)
        if (plugins[i]) paths[count++] = plugins[i];
    paths[count] = NULL;
    return (struct host_options){
        .plugin_paths = paths, .no_installed = true, .no_config = true, .allow_drafts = true, .file_roots = roots};
}

FIXTURE_UNUSED static struct host *host_for_tests(void) {
    struct host_options options = host_options_for_tests();
    struct error error = ERROR_INIT;
    struct host *host = host_new(&options, &error);
    if (!host) fail_msg("%s", error.message);
    error_finish(&error);
    /* A store for each host: what it has cached must not be found by another one. */
    static unsigned count;
    tn_value store = value_set_take(value_object(), "use", value_text("memory"));
    host_set_store_options_take(host, value_set_take(store, "path", value_format("engine-%u", ++count)));
    return host;
}

/* Returns NULL if the document is refused, with the error in *message (mem_free it). */
FIXTURE_UNUSED static struct graph *graph_for_tests(struct host *host, const char *name, const char *text,
                                                    char **message) {
    struct source *source = source_new(name, text, strlen(text));
    struct diagnostics *found = diagnostics_new();
    struct document *document = document_read(source, host_catalog(host), found);
    struct graph *graph = NULL;
    struct error error = ERROR_INIT;
    if (diagnostics_errors(found))
        graph_refuse(&error, name, found);
    else
        graph_build(host_engine(host), document, &(struct graph_origin){0}, &graph, &error);
    if (!graph && message) *message = mem_text(error.message ? error.message : "");
    if (!graph && !message) fail_msg("%s: %s\n%s", name, error.message, text);
    error_finish(&error);
    document_unref(document);
    diagnostics_free(found);
    source_unref(source);
    return graph;
}

#define TICK_MS 100

struct watched {
    /* Set before the run. */
    const char *name;      /* for messages */
    unsigned shown;        /* modes whose events are recorded */
    bool slow;             /* refuses every event */
    bool shapes;           /* every event must have the shape of sdk/schema/component/1/event.schema.json */
    uint32_t cancel_event; /* cancels in the Nth event; 0: never */
    uint32_t cancel_turn;  /* cancels in the Nth turn of the loop; 0: never */
    int64_t until_ms;      /* the fake clock advances up to here, even while a worker thread is busy */
    int64_t tick_ms;       /* the fake clock advances by this with every event, in take_time */
    struct loop *loop;     /* of the host */
    bool moves;            /* the run moves after each super-step, as to another loop; it has no modes then */
    uint32_t move_count;
    bool elsewhere; /* saves the run before it is resumed, and restores another one from that */
    /* Results. */
    struct run *run;
    struct run_options options; /* of run_new */
    bool ended, full, cancelled;
    uint32_t event_count, turn_count;
    uint32_t full_count, full_max; /* events between a refused one and run_continue */
    int64_t open, open_max;        /* activations, from `tasks` events */
    struct buffer events;
};

FIXTURE_UNUSED static void note_end(struct run *run, void *user) {
    (void)run;
    ((struct watched *)user)->ended = true;
}

static void count_open(struct watched *watched, tn_value event) {
    if (!value_text_is(value_get(event, "type"), "tasks")) return;
    tn_value what = value_get(event, "event");
    if (value_text_is(what, "start"))
        watched->open++;
    else if (value_text_is(what, "end") || value_text_is(what, "retry"))
        watched->open--;
    if (watched->open > watched->open_max) watched->open_max = watched->open;
}

FIXTURE_UNUSED static bool note_event(void *user, tn_value event) {
    struct watched *watched = user;
    watched->event_count++;
    count_open(watched, event);
    char *difference = watched->shapes ? payload_check("event", event) : NULL;
    if (difference) {
        char *text = json_text(event, JSON_COMPACT);
        fail_msg("%s: the event %s is not valid: %s", watched->name ? watched->name : "?", text, difference);
    }
    if (run_modes_parse(value_chars(value_get(event, "type"), NULL), NULL) & watched->shown) {
        json_write(&watched->events, event, JSON_COMPACT);
        buffer_char(&watched->events, '\n');
    }
    if (watched->event_count == watched->cancel_event) {
        watched->cancelled = true;
        run_cancel(watched->run);
    }
    if (watched->full && ++watched->full_count > watched->full_max) watched->full_max = watched->full_count;
    watched->full |= watched->slow;
    return !watched->slow;
}

static bool has_ended(void *user) {
    struct watched *watched = user;
    if (watched->ended) return true;
    if (++watched->turn_count == watched->cancel_turn) {
        watched->cancelled = true;
        run_cancel(watched->run);
    }
    if (loop_now_ms(watched->loop) < watched->until_ms && !watched->cancelled) {
        loop_fake_advance(watched->loop, TICK_MS);
        loop_wake(watched->loop);
    }
    if (watched->full && !watched->cancelled) {
        watched->full = false;
        watched->full_count = 0;
        run_continue(watched->run);
    }
    return false;
}

FIXTURE_UNUSED static void watched_init(struct watched *watched) {
    memset(watched, 0, sizeof *watched);
    buffer_init(&watched->events, SIZE_MAX);
}

FIXTURE_UNUSED static void watched_finish(struct watched *watched) {
    run_free(watched->run);
    buffer_finish(&watched->events);
}

/* `ended`: what run_start or run_resume returned. */
FIXTURE_UNUSED static void watched_wait(struct host *host, struct watched *watched, bool ended) {
    watched->ended = ended;
    if (!ended && !loop_run(host_loop(host), has_ended, watched))
        fail_msg("%s: the run does not end, and the loop has nothing left to do", watched->name ? watched->name : "?");
}

/* Carries the run on in another one, as another loop would, until it ends without moving. */
FIXTURE_UNUSED static void watched_move(struct host *host, struct watched *watched) {
    while (run_has_moved(watched->run)) {
        tn_value carried = run_carry(watched->run);
        struct graph *graph = graph_ref(run_graph(watched->run));
        struct error error = ERROR_INIT;
        bool ended = false;
        run_free(watched->run);
        watched->run = run_new(graph, &watched->options);
        run_request_move(watched->run);
        if (run_carry_on(watched->run, carried, &ended, &error) != TN_OK)
            fail_msg("%s: %s", watched->name ? watched->name : "?", error.message);
        watched->move_count++;
        value_unref(carried);
        graph_unref(graph);
        watched_wait(host, watched, ended);
    }
}

FIXTURE_UNUSED static void watched_run(struct host *host, struct watched *watched, struct graph *graph,
                                       struct run_options options, tn_value input) {
    options.event = options.modes ? note_event : NULL;
    options.ended = note_end;
    options.user = watched;
    watched->loop = host_loop(host);
    watched->options = options;
    watched->run = run_new(graph, &options);
    if (watched->moves) run_request_move(watched->run);
    watched_wait(host, watched, run_start(watched->run, input));
    watched_move(host, watched);
}

FIXTURE_UNUSED static tn_value parse_json(const char *text) {
    tn_value value = NULL;
    struct error error = ERROR_INIT;
    if (json_read(text, strlen(text), NULL, &value, &error) != TN_OK) fail_msg("%s: %s", text, error.message);
    return value;
}

/* "CODE: message", or ""; mem_free it. */
FIXTURE_UNUSED static char *error_text(const struct run *run) {
    const struct error *error = run_error(run);
    tn_value text = error->code ? value_format("%s: %s", error->code, error->message ? error->message : "") : NULL;
    char *copy = mem_text(text ? value_chars(text, NULL) : "");
    value_unref(text);
    return copy;
}

/* The result of a run that is done, the state of any other; mem_free it. */
FIXTURE_UNUSED static char *state_text(struct run *run) {
    tn_value state = run_status(run) == RUN_DONE ? run_result(run) : run_state(run);
    char *text = json_text(state, JSON_COMPACT);
    value_unref(state);
    return text;
}

#endif
