/*
 * drive.c - runs the events of plugins/ag_ui on recorded runs, and its patches on pairs of states.
 *
 * Standard input has lines of JSON. Its first line is {graph: an item of graph/list, last_input?, client_tools?,
 * asked?, calls?, client_state?, state?}; all others are those of `tenon run --json --stream
 * messages,updates,custom,tasks`; the last one has the type `result`. Standard output has an event in each line. A
 * first line {before, after} asks for the patch of two states instead.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/ag_ui/ag_ui.h"

extern const tn_value_1 interface_value; /* not host/plugin/abi/abi.h, whose names conflict with base.h */

TN_EASY_HIDDEN struct tn_easy tn;
TN_EASY_HIDDEN tn_easy_component *tn_easy_components;

static uint64_t blocks;

/* Also in a release build. */
static void must(int condition, const char *what) {
    if (condition) return;
    (void)fprintf(stderr, "ag_ui_drive: %s\n", what);
    exit(1);
}

static void *drive_resize(const tn_host *host, void *memory, uint64_t size) {
    (void)host;
    blocks += memory == NULL;
    return realloc(memory, size > 0 ? size : 1);
}
static void *drive_alloc(const tn_host *host, uint64_t size) { return drive_resize(host, NULL, size); }
static void drive_release(const tn_host *host, void *memory) {
    (void)host;
    blocks -= memory != NULL;
    free(memory);
}

static const tn_core_1 core = {
    .size = sizeof(tn_core_1), .alloc = drive_alloc, .resize = drive_resize, .release = drive_release};

static void print_event(void *user, tn_value event) {
    tn_value json = tn_to_json(event);
    must(user == NULL && json != NULL, "an event is not JSON");
    (void)puts(tn_chars(json, NULL));
    tn_release(json);
}

static struct serving_graph graph;

static struct ag_events *start(tn_value first, struct serving_items **items) {
    serving_graph_read(tn_get(first, "graph"), &graph);
    struct ag_options options = {.graph = &graph,
                                 .thread_id = "t1",
                                 .run_id = "r1",
                                 .prefix = "p",
                                 .calls = tn_get(first, "calls"),
                                 .client_state = tn_get(first, "client_state"),
                                 .state = tn_get(first, "state"),
                                 .handler = print_event};
    struct ag_events *events = ag_events_new(&options);
    struct serving_items_options more = {.graph = &graph,
                                         .last_input = tn_get_text(first, "last_input", NULL),
                                         .client_tools = tn_get(first, "client_tools"),
                                         .asked = tn_get(first, "asked"),
                                         .handler = ag_events_item,
                                         .user = events};
    *items = serving_items_new(&more);
    must(events != NULL && *items != NULL, "out of memory");
    ag_events_start(events);
    return events;
}

static void take(struct ag_events *events, struct serving_items *items, tn_value value) {
    if (serving_is(tn_get(value, "type"), "result")) {
        serving_items_end(items, value);
        return;
    }
    if (tn_get(value, "missed") != NULL) serving_items_missed(items);
    ag_events_before(events, value);
    serving_items_event(items, value);
    ag_events_after(events, value);
}

int main(void) {
    struct ag_events *events = NULL;
    struct serving_items *items = NULL;
    tn_value first = NULL;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    tn.value = &interface_value;
    tn.core = &core;
    while ((length = getline(&line, &room, stdin)) > 0) {
        tn_value value = tn_from_json(line, (uint64_t)length);
        must(value != NULL, "a line is not JSON");
        if (tn_get(value, "before") != NULL) {
            tn_value patch = ag_patch(tn_get(value, "before"), tn_get(value, "after"));
            if (patch != NULL) print_event(NULL, patch);
            if (patch == NULL) (void)puts("null");
            tn_release(patch);
        } else if (events == NULL) {
            first = tn_retain(value);
            events = start(first, &items);
        } else {
            take(events, items, value);
        }
        tn_release(value);
    }
    serving_items_free(items);
    ag_events_free(events);
    tn_release(first);
    free(line);
    must(blocks == 0, "memory is left");
    return 0;
}
