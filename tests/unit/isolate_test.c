/*
 * isolate_test.c - the same plugins give the same results in this process and isolated.
 *
 * Runs every case of the engine's corpora both ways, and compares status, state, error, number of steps, and all events
 * except those with times. Skips, and counts, cases that advance the clock themselves, and cases that take more than
 * half a second of fake time, because an isolated plugin would wait for that long.
 */
#include "tests/unit/engine_fixture.h"
#include <stdlib.h>
#include <unistd.h>

#define SLOW_MS 500

static const char *const isolated[] = {"test.nodes", "tenon.core", NULL};

struct outcome {
    char *status, *state, *error, *refused, *events;
    uint32_t steps;
    int64_t time_ms;
};

static void outcome_finish(struct outcome *outcome) {
    mem_free(outcome->status);
    mem_free(outcome->state);
    mem_free(outcome->error);
    mem_free(outcome->refused);
    mem_free(outcome->events);
}

static struct host *open_host(const char *const *isolate) {
    static const char *const paths[] = {TENON_TEST_NODES, TENON_CORE_PLUGIN, NULL};
    struct error error = ERROR_INIT;
    struct host *host = host_new(
        &(struct host_options){.plugin_paths = paths, .no_config = true, .allow_drafts = true, .isolate = isolate},
        &error);
    if (!host) fail_msg("%s", error.message);
    error_finish(&error);
    loop_fake_clock(host_loop(host));
    return host;
}

static bool is_chunk(const char *line) {
    return strncmp(line, "{\"type\":\"custom\"", 16) == 0 || strncmp(line, "{\"type\":\"messages\"", 18) == 0;
}

/* Compares the text that follows `key`, up to `stop`. Lines without `key` come first. */
static int compare_part(const char *a, const char *b, const char *key, const char *stop) {
    const char *left = strstr(a, key), *right = strstr(b, key);
    if (!left || !right) return (left != NULL) - (right != NULL);
    size_t one = strcspn(left + strlen(key), stop), two = strcspn(right + strlen(key), stop);
    int order = strncmp(left, right, strlen(key) + (one < two ? one : two));
    return order ? order : (one > two) - (one < two);
}

static bool sorts_after(const char *before, const char *line) {
    int path = compare_part(before, line, "\"path\":[", "]");
    if (path != 0 || !is_chunk(before) || !is_chunk(line)) return path > 0;
    return compare_part(before, line, "\"node\":", ",") > 0;
}

/*
 * Sorts events in place by run, and chunks by node. The engine promises only that the events of one run are in order,
 * except for chunks, which are in order for each task.
 */
static void sort_events(char *events) {
    char *lines[1024], *copy = mem_text(events);
    size_t count = 0;
    for (char *line = strtok(copy, "\n"); line && count < 1024; line = strtok(NULL, "\n")) {
        size_t at = count++;
        for (; at > 0 && sorts_after(lines[at - 1], line); at--) lines[at] = lines[at - 1];
        lines[at] = line;
    }
    *events = 0;
    for (size_t i = 0; i < count; i++) {
        events = stpcpy(events, lines[i]);
        events = stpcpy(events, "\n");
    }
    mem_free(copy);
}

static struct outcome run_case(const struct corpus_case *test, const char *const *isolate) {
    struct host *host = open_host(isolate);
    struct outcome outcome = {.status = NULL};
    struct graph *graph = graph_for_tests(host, "test.yaml", corpus_section(test, "document"), &outcome.refused);
    if (graph) {
        struct watched watched;
        struct run_options options = RUN_OPTIONS_INIT;
        watched_init(&watched);
        watched.name = test->name;
        watched.shown = RUN_MODE_VALUES | RUN_MODE_UPDATES | RUN_MODE_MESSAGES | RUN_MODE_CUSTOM | RUN_MODE_CHECKPOINTS;
        options.run_id = "run-1";
        options.modes = watched.shown;
        options.loaded = parse_json("{\"incarnation\": \"7a18676a33931f5ca9603aa7fc41e62b\"}"); /* for equal ids */
        tn_value config = corpus_section(test, "config") ? parse_json(corpus_section(test, "config")) : NULL;
        tn_value input = corpus_section(test, "input") ? parse_json(corpus_section(test, "input")) : NULL;
        assert_int_equal(run_options_read(&options, config, NULL), TN_OK);
        options.modes = watched.shown;
        watched_run(host, &watched, graph, options, input);
        outcome.status = mem_text(run_status_name(run_status(watched.run)));
        outcome.state = state_text(watched.run);
        outcome.error = error_text(watched.run);
        outcome.steps = run_steps(watched.run);
        outcome.time_ms = loop_now_ms(host_loop(host));
        outcome.events = mem_text(buffer_cstr(&watched.events));
        sort_events(outcome.events);
        watched_finish(&watched);
        value_unref(options.loaded);
        value_unref(config);
        value_unref(input);
        graph_unref(graph);
    }
    host_free(host);
    return outcome;
}

static void write_files(const struct corpus_case *test) {
    for (size_t i = 0; i < test->section_count; i++) {
        if (strncmp(test->sections[i].name, "file ", 5) != 0) continue;
        FILE *file = fopen(test->sections[i].name + 5, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(test->sections[i].text, 1, test->sections[i].length, file), test->sections[i].length);
        assert_int_equal(fclose(file), 0);
    }
}

static void compare(const struct corpus_case *test, const char *what, const char *in, const char *out) {
    if ((!in && !out) || (in && out && strcmp(in, out) == 0)) return;
    fail_msg("%s: %s in this process:\n%s\nand isolated:\n%s", test->name, what, in ? in : "(none)",
             out ? out : "(none)");
}

static size_t compared, skipped;

static void check_case(const struct corpus_case *test, void *user) {
    (void)user;
    if (corpus_section(test, "until") || corpus_section(test, "races")) {
        skipped++;
        return;
    }
    write_files(test);
    struct outcome in = run_case(test, NULL);
    if (in.time_ms > SLOW_MS) {
        skipped++;
    } else {
        struct outcome out = run_case(test, isolated);
        compare(test, "status", in.status, out.status);
        compare(test, "error", in.error, out.error);
        compare(test, "state", in.state, out.state);
        compare(test, "events", in.events, out.events);
        assert_int_equal(in.steps, out.steps);
        if (!in.refused != !out.refused) compare(test, "refusal", in.refused, out.refused);
        compared++;
        outcome_finish(&out);
    }
    outcome_finish(&in);
}

static void test_corpora(void **state) {
    static const char *const files[] = {"channels", "options",    "routing",  "failure",
                                        "streams",  "interrupts", "subgraph", "limits"};
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[64];
        snprintf(path, sizeof path, "tests/corpus/engine/%s.txt", files[i]);
        corpus_each(path, check_case, NULL);
    }
    print_message("%zu cases compared, %zu skipped\n", compared, skipped);
    assert_true(compared > 3 * skipped);
}

static char folder[] = "/tmp/tenon-isolate-XXXXXX";

static int enter_folder(void **state) {
    (void)state;
    setenv("TENON_PROGRAM", TENON_PROGRAM_FILE, 1);
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_corpora)};
    return cmocka_run_group_tests(tests, enter_folder, remove_folder);
}
