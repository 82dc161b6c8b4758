/*
 * leg.c - runs and their readers.
 */
#include "leg.h"

#define FOLLOWED_MAX 1024        /* runs that have ended, and are remembered */
#define PIECE_MAX    (64u << 10) /* bytes of one write */

struct reader {
    struct reader *next;
    uint64_t request;
    uint64_t position; /* of the next byte, counted from the start of the answer */
    bool full;
};

struct leg {
    struct leg *next;
    struct legs *legs;
    struct leg_options options;
    struct serving_graph graph;
    struct serving_run *run;
    struct chunks *chunks;
    char *message_id;
    struct reader *readers;
    struct tn_text_buffer log;
    uint64_t dropped;   /* bytes of the answer before the log */
    uint64_t continues; /* the position from which a client that has sent `parts` reads */
    bool ended, aborted;
};

struct legs {
    const struct serving *serving;
    struct leg *first;
    uint64_t count, bytes;                           /* bytes of all logs */
    uint64_t followed[FOLLOWED_MAX], followed_count; /* hashes of ids of runs, a ring */
};

struct legs *legs_new(const struct serving *serving) {
    struct legs *legs = serving_alloc(sizeof *legs);
    if (legs != NULL) legs->serving = serving;
    return legs;
}

static void leg_free(struct leg *leg) {
    struct legs *legs = leg->legs;
    struct leg **link = &legs->first;
    while (*link != leg) link = &(*link)->next;
    *link = leg->next;
    legs->count--;
    legs->bytes -= leg->log.length;
    while (leg->readers != NULL) {
        struct reader *next = leg->readers->next;
        serving_free(leg->readers);
        leg->readers = next;
    }
    serving_run_close(leg->run);
    chunks_free(leg->chunks);
    tn_text_free(&leg->log);
    tn_release(leg->options.known);
    tn_release(leg->options.parts);
    tn_release(leg->options.used);
    tn_release(leg->options.last_step);
    tn_release(leg->graph.item);
    serving_free(leg->message_id);
    serving_free(leg);
}

void legs_free(struct legs *legs) {
    if (legs == NULL) return;
    while (legs->first != NULL) leg_free(legs->first);
    serving_free(legs);
}

struct leg *legs_lookup(struct legs *legs, const char *run_id) {
    struct leg *leg = legs->first;
    while (leg != NULL && (leg->ended || leg->chunks == NULL || strcmp(serving_run_id(leg->run), run_id) != 0))
        leg = leg->next;
    return leg;
}

bool leg_is_whole(const struct leg *leg) { return leg->dropped == 0; }
bool leg_resets(const struct leg *leg) { return leg->options.resets; }

/* FNV-1a. */
static uint64_t hash_of(const char *text) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *text != '\0'; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return hash;
}

bool legs_has_followed(const struct legs *legs, const char *run_id) {
    uint64_t hash = hash_of(run_id), known = legs->followed_count;
    for (uint64_t i = 0; i < known && i < FOLLOWED_MAX; i++)
        if (legs->followed[i] == hash) return true;
    return false;
}

/* ---- The log ---- */

static uint64_t log_end(const struct leg *leg) { return leg->dropped + leg->log.length; }

static uint64_t slowest_position(const struct leg *leg) {
    uint64_t position = log_end(leg);
    for (const struct reader *reader = leg->readers; reader != NULL; reader = reader->next)
        if (reader->position < position) position = reader->position;
    return position;
}

/* Drops what all readers have, if the log is too long to be kept. */
static void log_trim(struct leg *leg) {
    bool whole = leg->dropped == 0 && leg->log.length <= LEG_LOG_MAX && leg->legs->bytes <= LEGS_LOG_MAX;
    uint64_t gone = slowest_position(leg) - leg->dropped;
    if (whole || gone < LEG_BEHIND_MAX / 4) return;
    memmove(leg->log.bytes, leg->log.bytes + gone, leg->log.length - gone);
    leg->log.length -= gone;
    leg->dropped += gone;
    leg->legs->bytes -= gone;
}

static void log_append(struct leg *leg, const char *text, uint64_t length) {
    uint64_t before = leg->log.length;
    (void)tn_text_append(&leg->log, "data: ");
    (void)tn_text_append_n(&leg->log, text, length);
    (void)tn_text_append(&leg->log, "\n\n");
    leg->legs->bytes += leg->log.length - before;
}

static void on_chunk(void *user, tn_value chunk) {
    tn_value json = tn_to_json(chunk);
    uint64_t length = 0;
    const char *text = tn_chars(json, &length);
    if (text != NULL) log_append(user, text, length);
    tn_release(json);
}

/* ---- Readers ---- */

static struct reader *find_reader(struct legs *legs, uint64_t request, struct leg **leg) {
    for (*leg = legs->first; *leg != NULL; *leg = (*leg)->next)
        for (struct reader *reader = (*leg)->readers; reader != NULL; reader = reader->next)
            if (reader->request == request) return reader;
    return NULL;
}

static void reader_remove(struct leg *leg, struct reader *reader) {
    struct reader **link = &leg->readers;
    while (*link != reader) link = &(*link)->next;
    *link = reader->next;
    serving_free(reader);
}

/* False if the reader has ended and was removed. */
static bool reader_flush(struct leg *leg, struct reader *reader) {
    const tn_server_draft *server = leg->legs->serving->server;
    while (!reader->full && reader->position < log_end(leg)) {
        uint64_t at = reader->position - leg->dropped, length = leg->log.length - at;
        if (length > PIECE_MAX) length = PIECE_MAX;
        int32_t status = server->write(tn.host, reader->request, leg->log.bytes + at, length);
        reader->position += length;
        reader->full = status == TN_SERVER_FULL;
        if (status != TN_OK && status != TN_SERVER_FULL) {
            reader_remove(leg, reader);
            return false;
        }
    }
    if (!leg->ended || reader->position < log_end(leg)) return true;
    if (leg->aborted)
        (void)server->abort(tn.host, reader->request); /* the client notices that the answer is not complete */
    else
        (void)server->finish(tn.host, reader->request);
    reader_remove(leg, reader);
    return false;
}

/* After a change: writes, waits for slow readers, and ends the leg if nothing is left. */
static void leg_flush(struct leg *leg) {
    for (struct reader *reader = leg->readers, *next; reader != NULL; reader = next) {
        next = reader->next;
        (void)reader_flush(leg, reader);
    }
    if (leg->ended) {
        if (leg->readers == NULL) leg_free(leg);
        return;
    }
    log_trim(leg);
    if (log_end(leg) - slowest_position(leg) > LEG_BEHIND_MAX)
        serving_run_pause(leg->run);
    else
        serving_run_flow(leg->run);
}

void legs_on_room(struct legs *legs, uint64_t request) {
    struct leg *leg;
    struct reader *reader = find_reader(legs, request, &leg);
    if (reader == NULL) return;
    reader->full = false;
    leg_flush(leg);
}

void legs_on_closed(struct legs *legs, uint64_t request) {
    struct leg *leg;
    struct reader *reader = find_reader(legs, request, &leg);
    if (reader == NULL) return;
    reader_remove(leg, reader);
    leg_flush(leg);
}

/* The host adds those of every stream: content-type, cache-control: no-cache, x-accel-buffering: no. */
static const char headers[] = "{\"connection\": \"keep-alive\", \"x-vercel-ai-ui-message-stream\": \"v1\"}";

bool leg_add_reader(struct leg *leg, uint64_t request, bool from_start) {
    struct reader *reader = serving_alloc(sizeof *reader);
    tn_value response = tn_build("{s:i, s:V, s:s}", "status", 200, "headers", tn_from_json(headers, sizeof headers - 1),
                                 "stream", "events");
    int32_t status = reader != NULL && response != NULL
                         ? leg->legs->serving->server->respond(tn.host, request, response)
                         : TN_NO_MEMORY;
    tn_release(response);
    if (status != TN_OK) {
        serving_free(reader);
        return false;
    }
    *reader = (struct reader){.next = leg->readers, .request = request, .position = from_start ? 0 : leg->continues};
    leg->readers = reader;
    leg_flush(leg);
    return true;
}

/* ---- The run ---- */

static void report_started(struct leg *leg, tn_value error) {
    void (*on_started)(void *user, struct leg *leg, tn_value error) = leg->options.on_started;
    leg->options.on_started = NULL;
    if (on_started != NULL) on_started(leg->options.user, error == NULL ? leg : NULL, error);
}

const char *id_without_owner(const char *id) {
    const char *colon = strrchr(id, ':');
    return *id == '@' && colon != NULL ? colon + 1 : id;
}

/* The client has a part of the step that the run does again. */
static void reset_step(struct leg *leg) {
    tn_value reset = tn_build("{s:s}", "type", "reset-step");
    if (reset != NULL) on_chunk(leg, reset);
    tn_release(reset);
    parts_replay(leg->options.last_step, on_chunk, leg);
}

static void on_run_started(void *user, const char *run_id) {
    struct leg *leg = user;
    const char *message_id = leg->message_id != NULL ? leg->message_id : id_without_owner(run_id);
    struct chunks_options options = {.graph = leg->options.graph,
                                     .message_id = message_id,
                                     .known = leg->options.known,
                                     .parts = leg->options.parts,
                                     .used = leg->options.used,
                                     .resets = leg->options.resets,
                                     .handler = on_chunk,
                                     .user = leg};
    leg->chunks = chunks_new(&options);
    if (leg->chunks == NULL) return; /* the first event ends the leg */
    tn_value metadata = tn_build("{s:s}", "runId", id_without_owner(run_id));
    chunks_start(leg->chunks, metadata);
    if (leg->options.parts != NULL) {
        parts_replay(leg->options.parts, on_chunk, leg);
        leg->continues = log_end(leg);
        chunks_start(leg->chunks, metadata);
        if (leg->options.last_step != NULL) reset_step(leg);
        chunks_continue(leg->chunks, leg->options.parts);
    }
    tn_release(metadata);
    report_started(leg, NULL);
}

static void on_run_event(void *user, tn_value event, uint64_t seq, uint64_t missed) {
    struct leg *leg = user;
    (void)seq;
    if (leg->chunks == NULL) return;
    if (missed > 0) chunks_missed(leg->chunks);
    chunks_event(leg->chunks, event);
    leg_flush(leg);
}

static void note_followed(struct leg *leg) {
    const char *run_id = serving_run_id(leg->run);
    if (run_id != NULL) leg->legs->followed[leg->legs->followed_count++ % FOLLOWED_MAX] = hash_of(run_id);
}

static void on_run_end(void *user, tn_value report) {
    static const char done[] = "[DONE]";
    struct leg *leg = user;
    leg->ended = true;
    note_followed(leg);
    if (leg->chunks == NULL) {
        tn_value error = tn_retain(tn_get(report, "error"));
        if (error == NULL) error = tn_error("NO_MEMORY", "memory ran out");
        report_started(leg, error);
        tn_release(error);
        leg_free(leg);
        return;
    }
    leg->aborted = serving_is(tn_get(report, "status"), "stopped");
    if (!leg->aborted) {
        chunks_end(leg->chunks, report);
        log_append(leg, done, sizeof done - 1);
    }
    leg_flush(leg);
}

static const struct serving_run_handler run_handler = {on_run_started, on_run_event, on_run_end};

static struct leg *leg_new(struct legs *legs, const struct leg_options *options) {
    struct leg *leg = legs->count < LEGS_MAX ? serving_alloc(sizeof *leg) : NULL;
    if (leg == NULL) return NULL;
    *leg = (struct leg){.next = legs->first, .legs = legs, .options = *options, .graph = *options->graph};
    leg->options.graph = &leg->graph;
    (void)tn_retain(leg->graph.item); /* it has the texts */
    leg->message_id = serving_text_copy(options->message_id);
    (void)tn_retain(options->known);
    (void)tn_retain(options->parts);
    (void)tn_retain(options->used);
    (void)tn_retain(options->last_step);
    legs->first = leg;
    legs->count++;
    return leg;
}

struct leg *leg_start(struct legs *legs, const char *method, tn_value params, const struct leg_options *options) {
    struct leg *leg = leg_new(legs, options);
    if (leg == NULL) {
        tn_release(params);
        return NULL;
    }
    leg->run = serving_run_start(legs->serving, options->caller, method, params, &run_handler, leg);
    if (leg->run != NULL) return leg;
    leg_free(leg);
    return NULL;
}

struct leg *leg_follow(struct legs *legs, const char *run_id, const struct leg_options *options) {
    struct leg *leg = leg_new(legs, options);
    if (leg == NULL) return NULL;
    leg->run = serving_run_follow(legs->serving, options->caller, run_id, 0, &run_handler, leg);
    if (leg->run != NULL) return leg;
    leg_free(leg);
    return NULL;
}

void leg_forget(struct leg *leg) { leg->options.on_started = NULL; }
