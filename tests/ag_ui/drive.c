/*
 * drive.c - runs the events of plugins/ag_ui on recorded runs, and its patches on pairs of states.
 *
 * Standard input has lines of JSON. Its first line is {graph: an item of graph/list, last_input?, client_tools?,
 * asked?, calls?, client_state?, state?}; all others are those of `tenon run --json --stream
 * messages,updates,custom,tasks`; the last one has the type `result`. Standard output has an event in each line. A
 * first line {before, after} asks for the patch of two states instead.
 */
#include "tests/protocols/drive.h"

#include "plugins/ag_ui/ag_ui.h"

static void print_event(void *user, tn_value event) {
    (void)user;
    drive_print(event);
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
    drive_begin("ag_ui_drive");
    for (tn_value value = drive_next(); value != NULL; value = drive_next()) {
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
    }
    serving_items_free(items);
    ag_events_free(events);
    tn_release(first);
    return drive_end();
}
