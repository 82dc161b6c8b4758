/*
 * recorded_runs.h - recorded runs (tests/protocols/runs), and files that their outputs are compared with. With
 * TENON_WRITE_GOLDEN=1 these files are written instead.
 *
 *     tn_value lines = recorded_run("tools");
 *     play(lines, chat_events_item, &events);
 *     expect_golden("openai_server", "tools", tn_text_chars(&text));
 */
#ifndef TENON_TESTS_RECORDED_RUNS_H
#define TENON_TESTS_RECORDED_RUNS_H

#include "tests/unit/util_fixture.h"

#include "plugins/serving/serving.h"

#define PROTOCOLS_FOLDER TENON_SOURCE_DIR "/tests/protocols"

/* Members in any order. Takes `value`. */
static inline void expect_equal(tn_value value, const char *expected) {
    tn_value other = json_value(expected), text = tn_to_json(value);
    if (tn.value->equal(value, other) != 1) fail_msg("%s, expected %s", tn_chars(text, NULL), expected);
    tn_release(text);
    tn_release(other);
    tn_release(value);
}

static inline char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) fail_msg("%s does not exist", path);
    char *text = calloc(1, 1 << 20);
    size_t length = fread(text, 1, (1 << 20) - 1, file);
    assert_true(length < (1 << 20) - 1);
    (void)fclose(file);
    return text;
}

/* The lines of a run, as an array: new. The first one describes the graph. */
static inline tn_value recorded_run(const char *name) {
    char path[512];
    (void)snprintf(path, sizeof path, PROTOCOLS_FOLDER "/runs/%s.jsonl", name);
    char *text = read_file(path);
    tn_value lines = NULL;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        assert_int_equal(tn_append_take(&lines, json_value(line)), TN_OK);
    free(text);
    return lines;
}

static inline bool is_result(tn_value line) { return serving_is(tn_get(line, "type"), "result"); }

/* Passes the run to a handler of items. */
static inline void play(tn_value lines, serving_item_handler *handler, void *user) {
    tn_value head = tn.value->at(lines, 0);
    struct serving_graph graph;
    serving_graph_read(tn_get(head, "graph"), &graph);
    struct serving_items_options options = {.graph = &graph,
                                            .last_input = tn_get_text(head, "last_input", NULL),
                                            .client_tools = tn_get(head, "client_tools"),
                                            .asked = tn_get(head, "asked"),
                                            .handler = handler,
                                            .user = user};
    struct serving_items *items = serving_items_new(&options);
    assert_non_null(items);
    for (uint64_t i = 1, count = tn.value->count(lines); i < count; i++) {
        tn_value event = tn.value->at(lines, i);
        if (is_result(event))
            serving_items_end(items, event);
        else
            serving_items_event(items, event);
    }
    serving_items_free(items);
}

static inline void expect_golden(const char *folder, const char *name, const char *text) {
    char path[512];
    (void)snprintf(path, sizeof path, PROTOCOLS_FOLDER "/%s/%s.jsonl", folder, name);
    if (getenv("TENON_WRITE_GOLDEN") != NULL) {
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
        assert_int_equal(fclose(file), 0);
        return;
    }
    char *golden = read_file(path);
    if (strcmp(golden, text) != 0) fail_msg("%s differs; now it would be:\n%s", path, text);
    free(golden);
}

#endif
