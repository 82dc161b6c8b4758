/*
 * engine_test.c - tests the engine with corpora: a document, an input, and the expected outcome.
 *
 * Sections of a case (tests/corpus/engine/): `document`, `file NAME` (further documents), `input`, `config` (options of
 * the run), `answers` (resumes an interrupted run), `interrupts` (what it
 * waits for then), `resumes` (how often a stopped run is resumed), `modes` and `events` (JSON lines), `status`, `next`
 * (the nodes that a stopped run continues with), `steps`, `state`, `error`, `refused`, `time` (the fake clock at the
 * end), `open` (how many activations were open at once, at most), `until` (how far the clock advances while a node
 * blocks: less than CALL_GRACE_MS after a cancel). Nodes are those of the core plugin and of tests/engine/nodes.c.
 *
 * Every case is repeated: with all events, which must have the shape of event.schema.json; with a reader that refuses
 * every event, which must change nothing; cancelled in its first event, its second, and so on, and in every turn of the
 * loop, after which it must end and leave nothing behind; moving to another run after each super-step, which must
 * change nothing; and, if it is resumed, through bytes from which another run is restored. The section `once` marks
 * cases that cannot be repeated.
 *
 * Environment: ENGINE_TEST_CANCEL_EVERY=N cancels in every Nth event and turn only, for valgrind and the thread
 * sanitizer, under which all of them take minutes. The first one differs from case to case. ENGINE_TEST_CASES_EVERY=N
 * takes only every Nth case, for the same reason.
 */
#include "host/plugin/call/call.h"
#include "host/plugin/call/worker.h"
#include "tests/unit/engine_fixture.h"
#include <unistd.h>

struct outcome {
    struct watched watched;
    int64_t time_ms;
    char *status, *state, *error;
};

static void outcome_finish(struct outcome *outcome) {
    watched_finish(&outcome->watched);
    mem_free(outcome->status);
    mem_free(outcome->state);
    mem_free(outcome->error);
}

/* Documents that cases name are written to a temporary folder. */
#define WRITTEN_MAX 16
static char *written[WRITTEN_MAX]; /* names of the files in it */
static char cases_folder[] = "/tmp/tenon-engine-XXXXXX";

static void write_files(const struct corpus_case *test) {
    for (size_t i = 0; i < test->section_count; i++) {
        if (strncmp(test->sections[i].name, "file ", 5) != 0) continue;
        const char *name = test->sections[i].name + 5;
        FILE *file = fopen(name, "w");
        assert_non_null(file);
        size_t known = 0;
        while (known < WRITTEN_MAX && written[known] && strcmp(written[known], name) != 0) known++;
        assert_true(known < WRITTEN_MAX);
        if (!written[known]) written[known] = strdup(name);
        assert_int_equal(fwrite(test->sections[i].text, 1, test->sections[i].length, file), test->sections[i].length);
        assert_int_equal(fclose(file), 0);
    }
}

/* Replaces the run by one that is restored from its bytes, as another process would. */
static void restore_from_bytes(struct watched *watched) {
    tn_value saved = run_save(watched->run), read = NULL;
    char *bytes = json_text(saved, JSON_COMPACT);
    struct run_options options = watched->options;
    struct graph *graph = graph_ref(run_graph(watched->run));
    struct error error = ERROR_INIT;
    if (json_read(bytes, strlen(bytes), NULL, &read, &error) != TN_OK) fail_msg("%s: %s", bytes, error.message);
    enum run_status status = run_status(watched->run);
    run_free(watched->run);
    watched->run = run_new(graph, &options);
    if (run_restore(watched->run, read, &error) != TN_OK) fail_msg("%s: %s", bytes, error.message);
    if (status == RUN_INTERRUPTED) assert_int_equal(run_status(watched->run), RUN_INTERRUPTED);
    tn_value again = run_save(watched->run);
    char *same = json_text(again, JSON_COMPACT);
    assert_string_equal(same, bytes);
    mem_free(same);
    mem_free(bytes);
    value_unref(again);
    value_unref(read);
    value_unref(saved);
    graph_unref(graph);
}

static void answer(const struct corpus_case *test, const char *section, struct host *host, struct watched *watched) {
    if (watched->elsewhere) restore_from_bytes(watched);
    struct run *run = watched->run;
    tn_value interrupts = run_interrupts(run), answers = value_object();
    tn_value given = parse_json(corpus_section(test, section)); /* by node */
    if (strcmp(section, "answers") == 0 && corpus_section(test, "interrupts")) {
        char *listed = json_text(interrupts, JSON_COMPACT);
        corpus_expect(test, "interrupts", listed);
        mem_free(listed);
    }
    for (size_t i = 0; i < value_count(interrupts); i++) {
        tn_value entry = value_at(interrupts, i), node = value_get(entry, "node");
        tn_value answer = node ? value_get_key(given, node) : NULL;
        if (answer) answers = value_set_key_take(answers, value_ref(value_get(entry, "id")), value_ref(answer));
    }
    bool ended = false;
    struct error error = ERROR_INIT;
    if (run_resume(run, answers, &ended, &error) == TN_OK)
        watched_wait(host, watched, ended);
    else
        corpus_expect(test, "refused", error.message);
    error_finish(&error);
    value_unref(answers);
    value_unref(given);
    value_unref(interrupts);
}

static void resume(const struct corpus_case *test, struct host *host, struct watched *watched) {
    for (long left = strtol(corpus_section(test, "resumes"), NULL, 10); left > 0 && !watched->cancelled; left--) {
        bool ended = false;
        struct error error = ERROR_INIT;
        if (watched->elsewhere) restore_from_bytes(watched);
        if (run_resume(watched->run, NULL, &ended, &error) != TN_OK) fail_msg("%s: %s", test->name, error.message);
        watched_wait(host, watched, ended);
    }
}

/* Returns false if the document is refused as expected. `outcome->watched` configures the run. */
static bool run_case(const struct corpus_case *test, struct host *host, unsigned modes, struct outcome *outcome) {
    struct watched *watched = &outcome->watched;
    char *message = NULL;
    struct graph *graph = graph_for_tests(host, "test.yaml", corpus_section(test, "document"), &message);
    if (!graph) {
        if (!corpus_section(test, "refused")) fail_msg("%s: %s", test->name, message);
        size_t folder = strlen(cases_folder);
        corpus_expect(test, "refused", message + (strncmp(message, cases_folder, folder) == 0 ? folder + 1 : 0));
        mem_free(message);
        return false;
    }
    struct run_options options = RUN_OPTIONS_INIT;
    options.run_id = "run-1";
    options.loaded = parse_json("{\"incarnation\": \"7a18676a33931f5ca9603aa7fc41e62b\"}"); /* for fixed ids */
    tn_value config = corpus_section(test, "config") ? parse_json(corpus_section(test, "config")) : NULL;
    assert_int_equal(run_options_read(&options, config, NULL), TN_OK);
    options.modes = modes;
    if (corpus_section(test, "until")) watched->until_ms = strtol(corpus_section(test, "until"), NULL, 10);
    tn_value input = corpus_section(test, "input") ? parse_json(corpus_section(test, "input")) : NULL;
    watched->name = test->name;
    watched_run(host, watched, graph, options, input);
    for (int round = 1; round <= 3; round++) {
        char section[16] = "answers";
        if (round > 1) snprintf(section, sizeof section, "answers %d", round);
        if (corpus_section(test, section) && run_status(watched->run) == RUN_INTERRUPTED)
            answer(test, section, host, watched);
    }
    if (corpus_section(test, "resumes")) resume(test, host, watched);
    outcome->time_ms = loop_now_ms(host_loop(host));
    outcome->status = mem_text(run_status_name(run_status(watched->run)));
    outcome->state = state_text(watched->run);
    outcome->error = error_text(watched->run);
    value_unref(options.loaded);
    value_unref(config);
    value_unref(input);
    graph_unref(graph);
    return true;
}

static void expect_number(const struct corpus_case *test, const char *name, int64_t number) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)number);
    if (corpus_section(test, name)) corpus_expect(test, name, text);
}

static void expect_next_nodes(const struct corpus_case *test, const struct run *run) {
    if (!corpus_section(test, "next")) return;
    struct buffer text;
    tn_value next = run_next_nodes(run);
    buffer_init(&text, SIZE_MAX);
    json_write(&text, next, JSON_COMPACT);
    corpus_expect(test, "next", buffer_cstr(&text));
    buffer_finish(&text);
    value_unref(next);
}

static void check_outcome(const struct corpus_case *test, struct outcome *outcome) {
    static const char *const results[] = {"status", "state", "error", "steps", "refused"};
    bool checks = false;
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) checks |= corpus_section(test, results[i]) != NULL;
    if (!checks) fail_msg("%s: the case has no expected outcome", test->name);
    if (*outcome->error && !corpus_section(test, "error")) fail_msg("%s: %s", test->name, outcome->error);
    if (corpus_section(test, "error")) corpus_expect(test, "error", outcome->error);
    if (corpus_section(test, "status")) corpus_expect(test, "status", outcome->status);
    if (corpus_section(test, "state")) corpus_expect(test, "state", outcome->state);
    expect_next_nodes(test, outcome->watched.run);
    expect_number(test, "steps", run_steps(outcome->watched.run));
    expect_number(test, "time", outcome->time_ms);
}

/* Runs the case in a new host, so that caches and clocks are fresh. Returns the number of values that it leaked. */
static int64_t with_host(const struct corpus_case *test, unsigned modes, struct outcome *outcome,
                         void (*check)(const struct corpus_case *test, struct outcome *outcome)) {
    int64_t before = value_live_count();
    uint64_t open = call_open_count();
    struct host *host = host_for_tests();
    loop_fake_clock(host_loop(host));
    if (run_case(test, host, modes, outcome)) {
        check(test, outcome);
        outcome_finish(outcome);
    } else {
        buffer_finish(&outcome->watched.events);
    }
    if (corpus_section(test, "until")) { /* a worker thread may still be ending */
        workers_stop();
        loop_run(host_loop(host), NULL, NULL);
    }
    bool abandoned = call_open_count() != open; /* abandoned calls keep their values */
    host_free(host);
    return abandoned ? 0 : value_live_count() - before;
}

static struct outcome outcome_init(void) {
    struct outcome outcome = {.status = NULL};
    watched_init(&outcome.watched);
    return outcome;
}

static bool cancel_point_reached; /* the run reached the point at which it is cancelled */

static void check_cancelled(const struct corpus_case *test, struct outcome *outcome) {
    cancel_point_reached = outcome->watched.cancelled;
    bool at_end = strcmp(outcome->status, "cancelled") != 0;
    if (!cancel_point_reached) check_outcome(test, outcome);
    if (cancel_point_reached && at_end &&
        strcmp(outcome->status, corpus_section(test, "status")  ? corpus_section(test, "status")
                                : corpus_section(test, "error") ? "failed"
                                                                : "done") != 0 &&
        !corpus_section(test, "resumes") && !corpus_section(test, "answers") && strcmp(outcome->status, "failed") != 0)
        fail_msg("%s: cancelled, it ended as %s", test->name, outcome->status);
    if (outcome->watched.open)
        fail_msg("%s: cancelled in event %u, %lld activations never end", test->name, outcome->watched.cancel_event,
                 (long long)outcome->watched.open);
}

static uint32_t cancel_every = 1, cases_every = 1;

static void cancel_at_points(const struct corpus_case *test, bool in_events) {
    static uint32_t cases;
    cancel_point_reached = true;
    for (uint32_t at = 1 + cases++ % cancel_every; cancel_point_reached && at < 200; at += cancel_every) {
        struct outcome outcome = outcome_init();
        *(in_events ? &outcome.watched.cancel_event : &outcome.watched.cancel_turn) = at;
        int64_t left = with_host(test, in_events ? RUN_MODE_ALL : 0, &outcome, check_cancelled);
        if (left)
            fail_msg("%s: cancelled in %s %u, it leaves %lld values", test->name, in_events ? "event" : "turn", at,
                     (long long)left);
    }
}

static char *first_events;

static void check_first(const struct corpus_case *test, struct outcome *outcome) {
    check_outcome(test, outcome);
    first_events = mem_text(buffer_cstr(&outcome->watched.events));
    if (corpus_section(test, "events")) corpus_expect(test, "events", first_events);
}

static void check_watched(const struct corpus_case *test, struct outcome *outcome) {
    check_outcome(test, outcome);
    expect_number(test, "open", outcome->watched.open_max);
    if (outcome->watched.open) fail_msg("%s: %lld activations never end", test->name, (long long)outcome->watched.open);
}

static void check_slow_reader(const struct corpus_case *test, struct outcome *outcome) {
    check_outcome(test, outcome);
    if (strcmp(first_events, buffer_cstr(&outcome->watched.events)) != 0 && !corpus_section(test, "races"))
        fail_msg("%s: a slow reader sees different events:\n%s\nthan before:\n%s", test->name,
                 buffer_cstr(&outcome->watched.events), first_events);
}

static uint32_t moves; /* of the runs of all cases */

static void check_moved(const struct corpus_case *test, struct outcome *outcome) {
    check_outcome(test, outcome);
    moves += outcome->watched.move_count;
}

static void expect_none_left(const struct corpus_case *test, int64_t left) {
    if (left) fail_msg("%s: it leaves %lld values", test->name, (long long)left);
}

static void check_case(const struct corpus_case *test, void *user) {
    static uint32_t cases;
    if (cases++ % cases_every != 0) return;
    (void)user;
    write_files(test);
    const char *wanted = corpus_section(test, "modes");
    unsigned modes = wanted ? run_modes_parse(wanted, NULL) : 0;
    struct outcome outcome = outcome_init();
    outcome.watched.shown = modes;
    first_events = NULL;
    with_host(test, modes, &outcome, check_first);
    if (first_events && !corpus_section(test, "once")) {
        mem_free(payload_check("event", NULL)); /* compiles the shape, which then stays in memory */
        outcome = outcome_init();
        outcome.watched.shapes = true;
        expect_none_left(test, with_host(test, RUN_MODE_ALL, &outcome, check_watched));
        outcome = outcome_init();
        outcome.watched.slow = true;
        outcome.watched.shown = modes;
        expect_none_left(test, with_host(test, RUN_MODE_ALL, &outcome, check_slow_reader));
        if (corpus_section(test, "answers") || corpus_section(test, "resumes")) {
            outcome = outcome_init();
            outcome.watched.elsewhere = true;
            outcome.watched.shown = modes;
            expect_none_left(test, with_host(test, RUN_MODE_ALL, &outcome, check_slow_reader));
        }
        outcome = outcome_init();
        outcome.watched.moves = true;
        expect_none_left(test, with_host(test, 0, &outcome, check_moved));
        cancel_at_points(test, true);
        cancel_at_points(test, false);
    }
    mem_free(first_events);
}

static void test_corpus(void **state) {
    static const char *const files[] = {"tools",   "options",    "channels", "routing", "failure",
                                        "streams", "interrupts", "subgraph", "limits",  "made"};
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[64];
        snprintf(path, sizeof path, "tests/corpus/engine/%s.txt", files[i]);
        corpus_each(path, check_case, NULL);
    }
    assert_true(moves > 100 / cases_every);
}

static void test_agents(void **state) {
#ifdef __SANITIZE_THREAD__
    skip(); /* one thread only, and it takes four minutes */
#endif
    static const char *const files[] = {"llm",        "tools", "agent",      "router",
                                        "map_reduce", "trim",  "text_tools", "delegate"};
    (void)state;
    fixture_agents = true;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[64];
        snprintf(path, sizeof path, "tests/corpus/agents/%s.txt", files[i]);
        corpus_each(path, check_case, NULL);
    }
    fixture_agents = false;
}

/* ---- Order: ten thousand activations of one step that end in any order, and their join ---- */

static tn_value numbers(int64_t count) {
    tn_value list = value_array();
    for (int64_t i = 0; i < count; i++) list = value_push_take(list, value_int(i));
    return list;
}

static void expect_in_order(const char *type) {
    static const char format[] = "version: \"1.0\"\n"
                                 "agent: {name: x, concurrency: 32}\n"
                                 "channels:\n"
                                 "  - {name: list, type: last_value}\n"
                                 "  - {name: t, type: append}\n"
                                 "  - {name: joined, type: append}\n"
                                 "nodes:\n"
                                 "  - {id: w, type: %s, config: {out: t}}\n"
                                 "  - {id: j, type: test.write, config: {out: joined, value: 1}}\n"
                                 "edges:\n"
                                 "  - {from: START, type: map, over: state.list, as: item, to: w}\n"
                                 "  - {from: [w], to: j}\n";
    struct host *host = host_for_tests();
    tn_value text = value_format(format, type);
    struct graph *graph = graph_for_tests(host, "order.yaml", value_chars(text, NULL), NULL);
    struct watched watched;
    watched_init(&watched);
    struct run_options options = RUN_OPTIONS_INIT;
    options.modes = RUN_MODE_TASKS;
    tn_value list = numbers(10000), input = value_set_take(value_object(), "list", value_ref(list));
    watched_run(host, &watched, graph, options, input);
    assert_int_equal(run_status(watched.run), RUN_DONE);
    assert_int_equal(run_steps(watched.run), 2);
    assert_true(watched.open_max <= 32);
    assert_int_equal(watched.event_count, 2 * 10001);
    tn_value state = run_state(watched.run);
    assert_true(value_identical(value_get(state, "t"), list));
    assert_int_equal(value_count(value_get(state, "joined")), 1);
    value_unref(state);
    value_unref(input);
    value_unref(list);
    value_unref(text);
    watched_finish(&watched);
    graph_unref(graph);
    host_free(host);
}

static void test_order(void **state) {
    (void)state;
    expect_in_order("test.echo");
    expect_in_order("test.later");
}

/* ---- Fairness: many or slow nodes that complete inside their start ---- */

static const char counting[] = "version: \"1.0\"\n"
                               "agent: {name: x, recursion_limit: 200}\n"
                               "channels: [{name: n, type: last_value, default: 0}]\n"
                               "nodes: [{id: a, type: test.add, config: {in: n, out: n}}]\n"
                               "edges:\n"
                               "  - {from: START, to: a}\n"
                               "  - {from: a, type: conditional, conditions: [{expression: state.n < 100, to: a}]}\n";

static bool advance_clock(void *user, tn_value event) {
    (void)event;
    struct watched *watched = user;
    loop_fake_advance(watched->loop, watched->tick_ms);
    return true;
}

/* The number of steps before a run lets others have a turn. */
static uint32_t count_steps_per_turn(int64_t tick_ms) {
    struct host *host = host_for_tests();
    loop_fake_clock(host_loop(host));
    struct graph *graph = graph_for_tests(host, "counting.yaml", counting, NULL);
    struct watched watched;
    watched_init(&watched);
    watched.loop = host_loop(host);
    watched.tick_ms = tick_ms;
    struct run_options options = RUN_OPTIONS_INIT;
    options.modes = RUN_MODE_VALUES;
    options.event = advance_clock;
    options.ended = note_end;
    options.user = &watched;
    watched.run = run_new(graph, &options);
    assert_false(run_start(watched.run, NULL));
    uint32_t steps = run_steps(watched.run);
    watched_wait(host, &watched, false);
    assert_int_equal(run_status(watched.run), RUN_DONE);
    assert_int_equal(run_steps(watched.run), 100);
    watched_finish(&watched);
    graph_unref(graph);
    host_free(host);
    return steps;
}

static void test_fairness(void **state) {
    (void)state;
    assert_int_equal(count_steps_per_turn(0), RUN_INLINE_MAX);
    /* The clock is read only sometimes. */
    uint32_t slow = count_steps_per_turn(1);
    assert_true(slow > 1 && slow <= RUN_INLINE_MAX / 4);
}

static bool stop_loop(void *user) {
    loop_stop(user);
    return false;
}

/* A caller whose loop stops while the run is running can end the run and free it. */
static void test_cancel_wait(void **state) {
    (void)state;
    struct host *host = host_for_tests();
    loop_fake_clock(host_loop(host));
    struct graph *graph = graph_for_tests(host, "hangs",
                                          "version: \"1.0\"\nnodes: [{id: a, type: test.hang}]\n"
                                          "edges: [{from: START, to: a}, {from: a, to: END}]\n",
                                          NULL);
    struct watched watched;
    watched_init(&watched);
    struct run_options options = RUN_OPTIONS_INIT;
    options.ended = note_end;
    options.user = &watched;
    watched.run = run_new(graph, &options);
    assert_false(run_start(watched.run, NULL));
    assert_false(loop_run(host_loop(host), stop_loop, host_loop(host)));
    assert_int_equal(run_status(watched.run), RUN_RUNNING);
    run_cancel_wait(watched.run);
    assert_true(watched.ended);
    assert_int_equal(run_status(watched.run), RUN_CANCELLED);
    run_cancel_wait(watched.run); /* does nothing */
    watched_finish(&watched);
    graph_unref(graph);
    host_free(host);
}

static int enter_folder(void **state) {
    (void)state;
    return mkdtemp(cases_folder) && chdir(cases_folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    for (size_t i = 0; i < WRITTEN_MAX && written[i]; i++) {
        (void)remove(written[i]);
        free(written[i]);
    }
    return chdir("/") == 0 && rmdir(cases_folder) == 0 ? 0 : -1;
}

int main(void) {
    const char *every = getenv("ENGINE_TEST_CANCEL_EVERY");
    if (every) cancel_every = (uint32_t)strtoul(every, NULL, 10);
    if (cancel_every == 0) cancel_every = 1;
    every = getenv("ENGINE_TEST_CASES_EVERY");
    if (every) cases_every = (uint32_t)strtoul(every, NULL, 10);
    if (cases_every == 0) cases_every = 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_corpus), cmocka_unit_test(test_agents),
                                       cmocka_unit_test(test_order), cmocka_unit_test(test_fairness),
                                       cmocka_unit_test(test_cancel_wait)};
    return cmocka_run_group_tests(tests, enter_folder, remove_folder);
}
