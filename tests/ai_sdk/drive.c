/*
 * drive.c - runs the machine of plugins/ai_sdk/chunks.h on recorded runs.
 *
 * Standard input has lines of JSON. Its first line is {graph: an item of graph/list, message_id?, known?, parts?,
 * used?, resets?};
 * `{"missed": true}` says that events are lost. All others are those of `tenon run --json --stream
 * updates,messages,custom`; the last one has the type `result`. Standard output has a chunk in each line.
 */
#include "tests/protocols/drive.h"

#include "plugins/ai_sdk/chunks.h"

static void print_chunk(void *user, tn_value chunk) {
    (void)user;
    drive_print(chunk);
}

static struct chunks *start(tn_value first) {
    struct serving_graph graph;
    serving_graph_read(tn_get(first, "graph"), &graph);
    struct chunks_options options = {.graph = &graph,
                                     .message_id = tn_get_text(first, "message_id", "m1"),
                                     .known = tn_get(first, "known"),
                                     .parts = tn_get(first, "parts"),
                                     .used = tn_get(first, "used"),
                                     .resets = serving_true(tn_get(first, "resets")),
                                     .handler = print_chunk};
    struct chunks *chunks = chunks_new(&options);
    must(chunks != NULL, "out of memory");
    chunks_start(chunks, tn_get(first, "metadata"));
    if (serving_true(tn_get(first, "replay"))) parts_replay(options.parts, print_chunk, NULL);
    if (options.parts != NULL) chunks_continue(chunks, options.parts);
    return chunks;
}

int main(void) {
    struct chunks *chunks = NULL;
    drive_begin("ai_sdk_drive");
    for (tn_value value = drive_next(); value != NULL; value = drive_next()) {
        if (chunks == NULL)
            chunks = start(value);
        else if (tn_get(value, "missed") != NULL)
            chunks_missed(chunks);
        else if (serving_is(tn_get(value, "type"), "result"))
            chunks_end(chunks, value);
        else
            chunks_event(chunks, value);
    }
    chunks_free(chunks);
    return drive_end();
}
