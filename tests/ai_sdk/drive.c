/*
 * drive.c - runs the machine of plugins/ai_sdk/chunks.h on recorded runs.
 *
 * Standard input has lines of JSON. Its first line is {graph: an item of graph/list, message_id?, known?, parts?,
 * used?, resets?};
 * `{"missed": true}` says that events are lost. All others are those of `tenon run --json --stream
 * updates,messages,custom`; the last one has the type `result`. Standard output has a chunk in each line.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/ai_sdk/chunks.h"

extern const tn_value_1 interface_value; /* not host/plugin/abi/abi.h, whose names conflict with base.h */

TN_EASY_HIDDEN struct tn_easy tn;
TN_EASY_HIDDEN tn_easy_component *tn_easy_components;

static uint64_t blocks;

/* Also in a release build. */
static void must(int condition, const char *what) {
    if (condition) return;
    (void)fprintf(stderr, "ai_sdk_drive: %s\n", what);
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

static void print_chunk(void *user, tn_value chunk) {
    tn_value json = tn_to_json(chunk);
    must(user == NULL && json != NULL, "a chunk is not JSON");
    (void)puts(tn_chars(json, NULL));
    tn_release(json);
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
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    tn.value = &interface_value;
    tn.core = &core;
    while ((length = getline(&line, &room, stdin)) > 0) {
        tn_value value = tn_from_json(line, (uint64_t)length);
        must(value != NULL, "a line is not JSON");
        if (chunks == NULL)
            chunks = start(value);
        else if (tn_get(value, "missed") != NULL)
            chunks_missed(chunks);
        else if (serving_is(tn_get(value, "type"), "result"))
            chunks_end(chunks, value);
        else
            chunks_event(chunks, value);
        tn_release(value);
    }
    chunks_free(chunks);
    free(line);
    must(blocks == 0, "memory is left");
    return 0;
}
