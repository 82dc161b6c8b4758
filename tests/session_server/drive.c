/*
 * drive.c - runs the events of plugins/session_server on recorded runs, and checks SessionData.
 *
 * Standard input has lines of JSON. The first one is {graph, last_input?, client_tools?, asked?}; all others are those
 * of `tenon run --json --stream messages,updates,custom,tasks`; the last one has the type `result`. Standard output has
 * {stream: StreamResponseData} for each, then {response: AgentResponseData}. A line {session, interrupts?} prints
 * {reason}, or {answers} to the interrupts, instead.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/session_server/session.h"

extern const tn_value_1 interface_value; /* not host/plugin/abi/abi.h, whose names conflict with base.h */

TN_EASY_HIDDEN struct tn_easy tn;
TN_EASY_HIDDEN tn_easy_component *tn_easy_components;

static uint64_t blocks;

/* Also in a release build. */
static void must(int condition, const char *what) {
    if (condition) return;
    (void)fprintf(stderr, "session_drive: %s\n", what);
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

static void print(const char *name, tn_value value) {
    tn_value line = tn_build("{s:v?}", name, value), json = line != NULL ? tn_to_json(line) : NULL;
    must(json != NULL, "an event is not JSON");
    (void)puts(tn_chars(json, NULL));
    tn_release(json);
    tn_release(line);
}

static void print_stream(void *user, tn_value data) {
    must(user == NULL, "another user");
    print("stream", data);
}

static void check_session(tn_value line) {
    struct session session;
    if (!session_read(&session, tn_get(line, "session"))) {
        tn_value reason = tn_text(session.reason);
        print("reason", reason);
        tn_release(reason);
    } else {
        tn_value answers = session_answers(&session, tn_get(line, "interrupts"), serving_true(tn_get(line, "config")));
        print("answers", answers);
        tn_release(answers);
    }
    session_finish(&session);
}

static void end(struct session_events *events, struct serving_items *items, tn_value report) {
    serving_items_end(items, report);
    tn_value response = session_events_response(events);
    print("response", response);
    tn_release(response);
}

int main(void) {
    struct session_events events;
    struct serving_items *items = NULL;
    struct serving_graph graph;
    tn_value first = NULL, session = NULL;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    tn.value = &interface_value;
    tn.core = &core;
    session = tn_build("{s:s, s:s}", "id", "s1", "start_time", "2026-11-27 10:00");
    session_events_open(&events, session, print_stream, NULL);
    while ((length = getline(&line, &room, stdin)) > 0) {
        tn_value value = tn_from_json(line, (uint64_t)length);
        must(value != NULL, "a line is not JSON");
        if (tn_get(value, "session") != NULL) {
            check_session(value);
        } else if (items == NULL) {
            first = tn_retain(value);
            serving_graph_read(tn_get(first, "graph"), &graph);
            struct serving_items_options options = {.graph = &graph,
                                                    .last_input = tn_get_text(first, "last_input", NULL),
                                                    .client_tools = tn_get(first, "client_tools"),
                                                    .asked = tn_get(first, "asked"),
                                                    .handler = session_events_item,
                                                    .user = &events};
            items = serving_items_new(&options);
            must(items != NULL, "out of memory");
        } else if (serving_is(tn_get(value, "type"), "result")) {
            end(&events, items, value);
        } else {
            if (tn_get(value, "missed") != NULL) serving_items_missed(items);
            serving_items_event(items, value);
        }
        tn_release(value);
    }
    serving_items_free(items);
    session_events_close(&events);
    tn_release(session);
    tn_release(first);
    free(line);
    must(blocks == 0, "memory is left");
    return 0;
}
