/*
 * engine_test.c - the engine, driven by corpora: a document, an input, and what must come of it.
 *
 * Sections of a case (tests/corpus/engine/): `document`, `input`, `config` (the first seed's RunnableConfig),
 * `answers` (resumes an interrupted run), `modes` and `events` (JSON lines), `status`, `state` or `error`. Time is the
 * loop's fake clock. Nodes are the core plugin's and those of tests/engine/nodes.c.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/text/source.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/engine/graph.h"
#include "host/engine/run.h"
#include "host/host.h"
#include "host/loop/loop.h"
#include "host/runnable/execution.h"
#include "tests/unit/corpus.h"

static struct host *host_for_tests(void) {
    static const char *const paths[] = {TENON_TEST_NODES, TENON_CORE_PLUGIN, NULL};
    struct error error = ERROR_INIT;
    struct host *host =
        host_new(&(struct host_options){.plugin_paths = paths, .no_config = true, .allow_drafts = true}, &error);
    if (!host) fail_msg("%s", error.message);
    error_finish(&error);
    return host;
}

static struct graph *build(struct host *host, const char *name, const char *text, char **message) {
    struct source *source = source_new(name, text, strlen(text));
    struct diagnostics *found = diagnostics_new();
    struct document *document = document_read(source, &host->catalog, found);
    struct graph *graph = NULL;
    struct error error = ERROR_INIT;
    if (diagnostics_errors(found))
        graph_refuse(&error, name, found);
    else
        graph_build(host, document, 0, &graph, &error);
    if (!graph) *message = mem_text(error.message ? error.message : "");
    error_finish(&error);
    document_unref(document);
    diagnostics_free(found);
    source_unref(source);
    return graph;
}

struct watched {
    bool ended;
    struct buffer events;
};

static void note_end(struct run *run, void *user) {
    (void)run;
    ((struct watched *)user)->ended = true;
}

static bool note_event(void *user, tn_value event) {
    struct watched *watched = user;
    json_write(&watched->events, event, JSON_COMPACT);
    buffer_char(&watched->events, '\n');
    return true;
}

static bool has_ended(void *user) { return ((struct watched *)user)->ended; }

static tn_value parse(const char *text) {
    tn_value value = NULL;
    struct error error = ERROR_INIT;
    if (json_read(text, strlen(text), NULL, &value, &error) != TN_OK) fail_msg("%s: %s", text, error.message);
    return value;
}

static void run_until_end(struct host *host, struct watched *watched, bool ended) {
    watched->ended = ended;
    assert_true(loop_run(host->loop, has_ended, watched));
}

static void check_case(const struct corpus_case *test, void *user) {
    (void)user;
    struct host *host = host_for_tests();
    loop_fake_clock(host->loop);
    char *message = NULL;
    struct graph *graph = build(host, "test.yaml", corpus_section(test, "document"), &message);
    if (!graph) {
        if (!corpus_section(test, "refused")) fail_msg("%s: %s", test->name, message ? message : "refused");
        corpus_expect(test, "refused", message ? message : "");
        mem_free(message);
        host_free(host);
        return;
    }
    struct watched watched = {0};
    buffer_init(&watched.events, SIZE_MAX);
    struct run_options options = RUN_OPTIONS_INIT;
    options.run_id = "run-1";
    tn_value config = corpus_section(test, "config") ? parse(corpus_section(test, "config")) : NULL;
    assert_int_equal(run_options_read(&options, config, NULL), TN_OK);
    if (corpus_section(test, "modes")) options.modes = run_modes_parse(corpus_section(test, "modes"), NULL);
    options.event = options.modes ? note_event : NULL;
    options.ended = note_end;
    options.user = &watched;
    struct run *run = run_new(graph, &options);
    tn_value input = corpus_section(test, "input") ? parse(corpus_section(test, "input")) : NULL;
    run_until_end(host, &watched, run_start(run, input));

    if (corpus_section(test, "answers")) {
        assert_int_equal(run_status(run), RUN_INTERRUPTED);
        tn_value interrupts = run_interrupts(run), answers = value_object();
        tn_value given = parse(corpus_section(test, "answers")); /* by node */
        for (size_t i = 0; i < value_count(interrupts); i++) {
            tn_value entry = value_at(interrupts, i), node = value_get(entry, "node");
            tn_value answer = node ? value_get_key(given, node) : NULL;
            if (answer) answers = value_set_key_take(answers, value_ref(value_get(entry, "id")), value_ref(answer));
        }
        bool ended = false;
        struct error error = ERROR_INIT;
        if (run_resume(run, answers, &ended, &error) == TN_OK)
            run_until_end(host, &watched, ended);
        else
            corpus_expect(test, "refused", error.message);
        error_finish(&error);
        value_unref(answers);
        value_unref(given);
        value_unref(interrupts);
    }

    if (corpus_section(test, "status")) corpus_expect(test, "status", run_status_name(run_status(run)));
    if (corpus_section(test, "error")) {
        const struct error *error = run_error(run);
        tn_value text = value_format("%s: %s", error->code ? error->code : "", error->message ? error->message : "");
        corpus_expect(test, "error", value_chars(text, NULL));
        value_unref(text);
    }
    if (corpus_section(test, "state")) {
        tn_value state = run_status(run) == RUN_DONE ? run_result(run) : run_state(run);
        char *text = json_text(state, JSON_COMPACT);
        if (run_status(run) == RUN_FAILED && !corpus_section(test, "error"))
            fail_msg("%s: %s: %s", test->name, run_error(run)->code, run_error(run)->message);
        corpus_expect(test, "state", text);
        mem_free(text);
        value_unref(state);
    }
    if (corpus_section(test, "events")) corpus_expect(test, "events", buffer_cstr(&watched.events));

    run_free(run);
    buffer_finish(&watched.events);
    value_unref(config);
    value_unref(input);
    graph_unref(graph);
    host_free(host);
}

static void test_corpus(void **state) {
    (void)state;
    corpus_each("tests/corpus/engine/channels.txt", check_case, NULL);
    corpus_each("tests/corpus/engine/routing.txt", check_case, NULL);
    corpus_each("tests/corpus/engine/failure.txt", check_case, NULL);
    corpus_each("tests/corpus/engine/streams.txt", check_case, NULL);
    corpus_each("tests/corpus/engine/interrupts.txt", check_case, NULL);
}

/* ---- Equal bytes, whatever finishes first ---- */

static const char *const shuffled = "version: '1.0'\n"
                                    "agent: {name: shuffled, concurrency: 64}\n"
                                    "channels:\n"
                                    "  - {name: items, type: append}\n"
                                    "  - {name: sum, type: reduce, reducer: sum}\n"
                                    "  - {name: tags, type: reduce, reducer: union}\n"
                                    "  - {name: list, type: last_value, default: [1, 2, 3, 4, 5, 6, 7, 8, 9]}\n"
                                    "nodes:\n"
                                    "  - {id: a, type: test.later, config: {out: items, value: a}}\n"
                                    "  - {id: b, type: test.write, config: {out: items, value: b}}\n"
                                    "  - {id: c, type: test.later, config: {out: sum, value: 3}}\n"
                                    "  - {id: d, type: test.later, config: {out: items, value: [d, dd]}}\n"
                                    "  - {id: e, type: test.later, config: {out: tags, value: x}}\n"
                                    "  - {id: f, type: test.write, config: {out: tags, value: y}}\n"
                                    "  - {id: each, type: test.later, config: {out: items}}\n"
                                    "  - {id: again, type: test.later, config: {out: sum}}\n"
                                    "  - {id: end, type: test.add_blocking, config: {in: sum, out: sum}}\n"
                                    "edges:\n"
                                    "  - {from: START, to: [a, b, c, d, e, f]}\n"
                                    "  - {from: a, type: map, over: state.list, as: item, to: each}\n"
                                    "  - {from: d, type: map, over: state.list, as: item, to: again}\n"
                                    "  - {from: [each, again], to: end}\n"
                                    "  - {from: end, to: END}\n";

static void test_completion_order_does_not_show(void **state) {
    (void)state;
    struct host *host = host_for_tests();
    char *message = NULL;
    struct graph *graph = build(host, "shuffled.yaml", shuffled, &message);
    if (!graph) fail_msg("%s", message);
    char *first = NULL;
    for (int round = 0; round < 200; round++) {
        struct watched watched = {0};
        buffer_init(&watched.events, SIZE_MAX);
        struct run_options options = RUN_OPTIONS_INIT;
        options.modes = RUN_MODE_VALUES | RUN_MODE_UPDATES | RUN_MODE_CHECKPOINTS;
        options.event = note_event;
        options.ended = note_end;
        options.user = &watched;
        struct run *run = run_new(graph, &options);
        run_until_end(host, &watched, run_start(run, NULL));
        if (run_status(run) != RUN_DONE) fail_msg("%s: %s", run_error(run)->code, run_error(run)->message);
        if (!first)
            first = mem_text(buffer_cstr(&watched.events));
        else
            assert_string_equal(first, buffer_cstr(&watched.events));
        run_free(run);
        buffer_finish(&watched.events);
    }
    assert_non_null(strstr(first, "\"items\":[\"a\",\"b\",\"d\",\"dd\",1,2,3,4,5,6,7,8,9]"));
    assert_non_null(strstr(first, "\"sum\":49"));
    mem_free(first);
    graph_unref(graph);
    host_free(host);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_corpus),
        cmocka_unit_test(test_completion_order_does_not_show),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
