/*
 * drive.c - runs the events of plugins/session_server on recorded runs, and checks SessionData.
 *
 * Standard input has lines of JSON. The first one is {graph, last_input?, client_tools?, asked?}; all others are those
 * of `tenon run --json --stream messages,updates,custom,tasks`; the last one has the type `result`. Standard output has
 * {stream: StreamResponseData} for each, then {response: AgentResponseData}. A line {session, interrupts?} prints
 * {reason}, or {answers} to the interrupts, instead.
 */
#include "tests/protocols/drive.h"

#include "plugins/session_server/session.h"

static void print(const char *name, tn_value value) {
    tn_value line = tn_build("{s:v?}", name, value);
    drive_print(line);
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
    drive_begin("session_drive");
    session = tn_build("{s:s, s:s}", "id", "s1", "start_time", "2026-11-27 10:00");
    session_events_open(&events, session, print_stream, NULL);
    for (tn_value value = drive_next(); value != NULL; value = drive_next()) {
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
    }
    serving_items_free(items);
    session_events_close(&events);
    tn_release(session);
    tn_release(first);
    return drive_end();
}
