/*
 * run_incarnation.c - the random number that the idempotency keys of a run derive from.
 *
 * A saved thread has an incarnation since it was created (data/thread/thread_records.h). A run without a saved thread
 * chooses one. A thread that was saved before threads had incarnations keeps the keys that it had: they derive from its
 * name, until its next input.
 */
#include "adl/value/memory.h"
#include "host/base/random.h"
#include "host/engine/graph/run_internal.h"
#include "host/engine/graph/run_replay.h"
#include <stdlib.h>
#include <string.h>

/* Returns false if `text` is not an incarnation: 32 hexadecimal digits. */
static bool incarnation_read(const char *text, uint64_t out[2]) {
    char half[17] = {0};
    if (!text || strlen(text) != 32 || strspn(text, "0123456789abcdef") != 32) return false;
    memcpy(half, text, 16);
    out[0] = strtoull(half, NULL, 16);
    out[1] = strtoull(text + 16, NULL, 16);
    return true;
}

static void incarnation_of_name(const char *thread, uint64_t out[2]) {
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (const char *at = thread; *at; at++) hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    out[0] = hash;
    out[1] = run_mix(hash, 1);
}

tn_value run_loaded_incarnation(const struct run *run) {
    tn_value loaded = run->options.loaded, found = loaded ? value_get(loaded, "incarnation") : NULL;
    return found && value_is(found, TN_STRING) ? found : NULL;
}

void run_set_incarnation(struct run *run, const char *text) {
    if (!run->incarnation) run->incarnation = mem_alloc(2 * sizeof *run->incarnation);
    if (!incarnation_read(text, run->incarnation)) incarnation_of_name(text, run->incarnation);
}

const uint64_t *run_incarnation(struct run *run) {
    struct run *root = run_outermost(run);
    const char *thread = root->options.thread_id ? root->options.thread_id : "";
    /* The incarnation can change within a recorded thread, so it is looked up each time. */
    if (root->options.replay) {
        const char *recorded = replay_incarnation(root->options.replay);
        run_set_incarnation(root, recorded ? recorded : thread);
    } else if (!root->incarnation) {
        tn_value loaded = run_loaded_incarnation(root);
        run_set_incarnation(root, loaded ? value_chars(loaded, NULL) : thread);
        if (!loaded && !root->options.log) random_fill(root->incarnation, 2 * sizeof *root->incarnation);
    }
    return root->incarnation;
}
