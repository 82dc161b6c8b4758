/*
 * chunks_step.c - what the current step has, so that a part of it can be taken back (`reset-step`, version 7).
 *
 * `reset-step` drops all parts of the step, also those of other models and of tools that count. So they are kept here
 * while the step lasts, and are sent again: a start with all of its deltas as one.
 */
#include "chunks_internal.h"

#define ENTRY_SIZE 100 /* bytes of an entry without its texts, roughly */

struct step_entry {
    tn_value chunk;             /* or NULL: only `print` */
    struct tn_text_buffer more; /* the deltas of a part that `chunk` starts */
    struct step_owner owner;
    uint64_t print; /* of the content that has ended here */
};

static void entry_free(struct step_entry *entry) {
    tn_release(entry->chunk);
    tn_text_free(&entry->more);
}

void step_forget(struct chunks *chunks, bool begins) {
    struct step *step = &chunks->step;
    for (uint64_t i = 0; i < step->count; i++) entry_free(&step->entries[i]);
    step->count = step->bytes = 0;
    step->whole = begins;
    if (begins) return;
    serving_free(step->entries);
    step->entries = NULL;
    step->room = 0;
}

static void add_entry(struct chunks *chunks, struct step_entry entry, uint64_t bytes) {
    struct step *step = &chunks->step;
    uint64_t room = step->count < step->room ? step->room : step->room == 0 ? 32 : 2 * step->room;
    step->bytes += bytes + ENTRY_SIZE;
    if (room != step->room) {
        void *entries = tn.core->resize(tn.host, step->entries, room * sizeof *step->entries);
        if (entries == NULL) step->bytes = CHUNKS_STEP_MAX + 1;
        if (entries != NULL) step->room = room;
        if (entries != NULL) step->entries = entries;
    }
    if (step->bytes > CHUNKS_STEP_MAX) {
        entry_free(&entry);
        step_forget(chunks, false); /* too much to be sent again */
        return;
    }
    step->entries[step->count++] = entry;
}

/* The id of the part that a chunk is about; NULL: it is a part on its own. */
static const char *id_of(tn_value chunk) { return tn_get_text(chunk, "toolCallId", tn_get_text(chunk, "id", NULL)); }

/* "text-delta", but no "data-delta", which a node can emit. */
static bool ends_with(const char *type, const char *end) {
    size_t length = strlen(type);
    return length > 6 && strncmp(type, "data-", 5) != 0 && strcmp(type + length - 6, end) == 0;
}

/* The text belongs to the part that was started last with this id. */
static void add_delta(struct chunks *chunks, tn_value chunk, const char *id) {
    struct step *step = &chunks->step;
    uint64_t length = 0, i = step->count;
    const char *text = tn_chars(tn_get(chunk, "delta"), &length);
    if (text == NULL) text = tn_chars(tn_get(chunk, "inputTextDelta"), &length);
    while (i > 0) {
        const char *other = id_of(step->entries[i - 1].chunk);
        bool starts = ends_with(tn_get_text(step->entries[i - 1].chunk, "type", ""), "-start");
        if (starts && other != NULL && id != NULL && strcmp(other, id) == 0) break;
        i--;
    }
    step->bytes += length;
    if (i == 0 || step->bytes > CHUNKS_STEP_MAX || tn_text_append_n(&step->entries[i - 1].more, text, length) != TN_OK)
        step_forget(chunks, false);
}

void step_note(struct chunks *chunks, tn_value chunk) {
    static const char *const others[] = {"start", "finish", "error", "abort", "reset-step"};
    const char *type = tn_get_text(chunk, "type", "");
    if (!chunks->resets) return;
    if (strcmp(type, "start-step") == 0 || strcmp(type, "finish-step") == 0) {
        step_forget(chunks, strcmp(type, "start-step") == 0);
        return;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(type, others[i]) == 0) return;
    if (!chunks->step.whole || serving_true(tn_get(chunk, "transient"))) return;
    if (ends_with(type, "-delta"))
        add_delta(chunks, chunk, id_of(chunk));
    else
        add_entry(chunks,
                  (struct step_entry){
                      .chunk = tn_retain(chunk), .more = TN_TEXT_BUFFER(CHUNKS_STEP_MAX), .owner = chunks->owner},
                  serving_json_size(chunk));
}

void step_note_print(struct chunks *chunks, const struct stream *stream) {
    if (chunks->resets && chunks->step.whole)
        add_entry(chunks,
                  (struct step_entry){
                      .more = TN_TEXT_BUFFER(0), .owner = stream->owner, .print = stream->print + stream->print_rest},
                  0);
}

/* ---- Taking back ---- */

bool step_is_meant(const struct step_owner *of, const struct step_owner *owner, enum step_which which) {
    bool inside = false;
    if (of->number == 0) return false;
    if (which == STEP_STREAM) return of->number == owner->number;
    if (which == STEP_EARLIER) return of->place == owner->place && of->attempt < owner->attempt;
    for (size_t i = 0; i < CHUNKS_DEPTH_MAX; i++) inside = inside || of->around[i] == owner->place;
    return inside;
}

/* Returns how many chunks of the step are taken back. What follows a call that is taken back goes with it. */
static uint64_t mark_dropped(struct chunks *chunks, const struct step_owner *owner, enum step_which which) {
    struct step *step = &chunks->step;
    tn_value calls = tn_build("{}");
    uint64_t found = 0;
    for (uint64_t i = 0; i < step->count; i++) {
        struct step_entry *entry = &step->entries[i];
        const char *call = tn_get_text(entry->chunk, "toolCallId", NULL);
        entry->owner.dropped = step_is_meant(&entry->owner, owner, which) || (call != NULL && tn_get(calls, call));
        if (!entry->owner.dropped || entry->chunk == NULL) continue;
        if (call != NULL) calls = tn_set_take(calls, call, tn_bool(1));
        found++;
    }
    tn_release(calls);
    return found;
}

static void drop_entry(struct chunks *chunks, struct step_entry *entry) {
    const char *call = tn_get_text(entry->chunk, "toolCallId", NULL);
    if (call != NULL) calls_end(chunks, call);
    if (entry->chunk == NULL) print_forget(chunks, entry->print);
    entry_free(entry);
}

static void send_again(struct chunks *chunks, const struct step_entry *entry) {
    static const char start[] = "-start";
    const char *type = tn_get_text(entry->chunk, "type", ""), *id = tn_get_text(entry->chunk, "toolCallId", NULL);
    char delta[40];
    if (entry->chunk != NULL) chunks->handler(chunks->user, entry->chunk);
    if (entry->more.length == 0) return;
    (void)snprintf(delta, sizeof delta, "%.*s-delta", (int)(strlen(type) - (sizeof start - 1)), type);
    tn_value chunk = tn_build("{s:s, s:s, s:s#}", "type", delta, id != NULL ? "toolCallId" : "id", id_of(entry->chunk),
                              id != NULL ? "inputTextDelta" : "delta", entry->more.bytes, entry->more.length);
    if (chunk != NULL) chunks->handler(chunks->user, chunk);
    tn_release(chunk);
}

bool step_take_back(struct chunks *chunks, const struct step_owner *owner, enum step_which which) {
    struct step *step = &chunks->step;
    uint64_t kept = 0;
    if (!chunks->resets || !step->whole || mark_dropped(chunks, owner, which) == 0) return false;
    tn_value reset = tn_build("{s:s}", "type", "reset-step");
    if (reset != NULL) chunks->handler(chunks->user, reset);
    tn_release(reset);
    for (uint64_t i = 0; i < step->count; i++) {
        struct step_entry entry = step->entries[i];
        if (entry.owner.dropped)
            drop_entry(chunks, &entry);
        else
            step->entries[kept++] = entry;
    }
    step->count = kept;
    for (uint64_t i = 0; i < kept; i++) send_again(chunks, &step->entries[i]);
    return true;
}
