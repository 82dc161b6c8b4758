/*
 * execution_thread.c - checks a request against the thread and its graph before anything is changed, then starts the
 * run.
 */
#include "host/engine/execution/execution_thread.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/base/loop.h"
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "host/data/store/store_link.h"
#include "host/data/thread/thread_batch.h"
#include "host/data/thread/thread_cache.h"
#include "host/data/thread/thread_deferred.h"
#include "host/data/thread/thread_keys.h"
#include "host/data/thread/thread_log.h"
#include "host/data/thread/thread_owner.h"
#include "host/data/thread/thread_records.h"
#include "host/engine/engine.h"
#include "host/engine/graph/answer_rights.h"
#include "host/engine/graph/graph.h"
#include "host/engine/graph/graph_identity.h"
#include "host/engine/graph/graph_reads.h"
#include <string.h>

#define GRAPH_NOTED_MS  2000
#define DIFFERENCES_MAX 10u /* maximum number of differences in a message */

static bool record_is_done(tn_value record) {
    tn_value status = value_get(record, "status");
    return value_text_is(status, "done");
}

static const char *record_text(tn_value object, const char *key) {
    tn_value value = value_get(object, key);
    return value_is(value, TN_STRING) ? value_chars(value, NULL) : "";
}

const char *thread_expiry_limit(const struct engine *engine, char out[TIME_TEXT]) {
    int64_t hours = config_limit(engine->config, "interrupt_hours", 0);
    if (!hours) return NULL;
    time_text((loop_wall_ms(engine->loop) / 1000 - hours * 3600) * 1000, out);
    return out;
}

int32_t thread_check_expiry(const struct engine *engine, tn_value record, struct error *error) {
    char text[TIME_TEXT];
    const char *before = thread_expiry_limit(engine, text);
    if (!before || strcmp(record_text(record, "status"), "interrupted") != 0) return TN_OK;
    if (strcmp(record_text(record, "updated_at"), before) >= 0) return TN_OK;
    return error_set(
        error, TN_INVALID, "EXPIRED",
        "the thread `%s` has waited since %s, longer than the %lld hours of limits.interrupt_hours: its "
        "interrupts have expired; discard what it was doing and give it new input (`replace`), or remove it",
        record_text(record, "thread_id"), record_text(record, "updated_at"),
        (long long)config_limit(engine->config, "interrupt_hours", 0));
}

/*
 * A line of a batch starts once. A process from which the batch was taken over does not know which lines the other one
 * has run, and would run them again.
 */
static int32_t thread_check_line(const struct thread_request *request, tn_value record, struct error *error) {
    tn_value begun = value_get(value_get(record, THREAD_BATCH), "id"), id = value_get(request->batch, "id");
    if (!begun || !id || !value_equal(begun, id)) return TN_OK;
    return error_set(error, TN_INVALID, "FENCED",
                     "the thread `%s` has begun in this batch already: another process has taken the batch over",
                     request->id);
}

static int32_t thread_check_status(const struct thread_request *request, tn_value record, struct error *error) {
    bool known = value_is(record, TN_OBJECT);
    if (!known && (request->mode == THREAD_RESUME || (request->mode == THREAD_UPDATE && !request->create)))
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND",
                         "the thread `%s` does not exist; `tenon thread list` lists the threads", request->id);
    if (known && request->batch && request->mode != THREAD_RESUME) {
        int32_t status = thread_check_line(request, record, error);
        if (status != TN_OK) return status;
    }
    if (!known || request->mode == THREAD_REPLACE) return TN_OK;
    if (request->mode == THREAD_UPDATE) return TN_OK;
    if (request->mode == THREAD_RESUME) {
        if (!record_is_done(record)) return TN_OK;
        return error_set(error, TN_INVALID, "DONE",
                         "the thread `%s` is done: there is nothing to resume; give it new input instead", request->id);
    }
    if (record_is_done(record)) return TN_OK;
    const char *status = record_text(record, "status");
    return error_set(
        error, TN_INVALID, "UNFINISHED",
        "the thread `%s` is not done: it is %s%s; continue it (`resume`), or discard what it was doing and start with "
        "the new input (`replace`)",
        request->id, status, strcmp(status, "running") == 0 ? ", or its process was killed" : "");
}

/* A thread that a living process runs is left to it, unless the request takes it over. */
static int32_t thread_check_owner(const struct store *store, const struct thread_request *request, tn_value record,
                                  struct error *error) {
    return request->force ? TN_OK : thread_owner_check(store, request->id, record, error);
}

static int32_t error_set_differences(const struct thread_request *request, tn_value lines, struct error *error) {
    struct buffer list;
    buffer_init(&list, 2048);
    for (size_t i = 0; i < value_count(lines) && i < DIFFERENCES_MAX; i++)
        buffer_format(&list, "%s%s", i ? "; " : "", value_chars(value_at(lines, i), NULL));
    if (value_count(lines) > DIFFERENCES_MAX)
        buffer_format(&list, "; and %zu more", value_count(lines) - DIFFERENCES_MAX);
    int32_t status =
        error_set(error, TN_INVALID, "GRAPH_CHANGED",
                  "the thread `%s` was started with another version of the document: %s; use that version, or "
                  "accept the changes",
                  request->id, buffer_cstr(&list));
    error_set_detail_take(error, value_ref(lines));
    buffer_finish(&list);
    return status;
}

/*
 * A thread belongs to one graph. With accept_changes it may continue with another one, as far as its state fits.
 * `loaded` is the result of thread_load.
 */
static int32_t thread_check_graph(struct graph *graph, const struct thread_request *request, tn_value loaded,
                                  struct error *error) {
    tn_value before = value_get(loaded, "graph");
    if (!before || request->accept_changes) return TN_OK;
    tn_value description = graph_description(graph);
    tn_value lines = value_is(before, TN_OBJECT) ? graph_differences(before, description) : value_array();
    if (!value_count(lines)) lines = value_push_take(lines, value_text("the old version is not known any more"));
    int32_t status = error_set_differences(request, lines, error);
    value_unref(lines);
    value_unref(description);
    return status;
}

/* A request whose thread is being read. */
struct thread_opening {
    struct engine *engine;
    struct graph *graph;
    const struct thread_request *request;
    struct run_options *options;   /* NULL: no run follows */
    char identity[TN_SHA256_TEXT]; /* of the graph */
    struct store *store;
    struct thread_cached cached; /* of an earlier run in this process; the store's thread only reads it */
    bool cache_hit;
    struct thread_defer defer;
    /* Of thread_prepare: */
    thread_prepared_fn *done;
    void *user;
};

/* What the cache has, if it still is what the store has: then only the record is read. */
static int32_t thread_load_cached(struct session *session, struct thread_opening *opening, tn_value *loaded,
                                  struct error *error) {
    tn_value known = opening->cached.loaded, found = NULL;
    if (!known) return TN_OK;
    int32_t status = thread_records_find(session, opening->request->id, &found, error);
    bool same = found && thread_record_int(found, "version", -1) == thread_record_int(known, "version", 0) &&
                thread_record_int(value_get(found, "value"), "fence", -1) ==
                    thread_record_int(value_get(known, "record"), "fence", 0);
    opening->cache_hit = status == TN_OK && same;
    if (opening->cache_hit) *loaded = value_ref(known);
    value_unref(found);
    return status;
}

/* The older checkpoint that an update begins with, as the member `from`. */
static int32_t load_older(struct session *session, const struct thread_request *request, tn_value *loaded,
                          struct error *error) {
    tn_value older = NULL;
    int64_t seq = request->from ? value_to_int(request->from) : 0;
    if (!request->from) return TN_OK;
    if (!value_is(value_get(*loaded, "record"), TN_OBJECT)) {
        if (seq < 0) return TN_OK;
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "the thread `%s` has no checkpoint %lld: it is new",
                         request->id, (long long)seq);
    }
    int32_t status = seq < 0 ? TN_OK : thread_read(session, request->id, seq, &older, error);
    if (status == TN_OK) {
        *loaded = value_set_take(*loaded, "from", older ? value_ref(value_get(older, "saved")) : value_object());
        *loaded = value_set_take(*loaded, "rewound", value_ref(request->from)); /* is saved in the checkpoint */
    }
    value_unref(older);
    return status;
}

/*
 * Reads the newest state of the thread, as thread_read_head. If it belongs to another graph, `graph` is the description
 * of that one, or null. On the store's thread.
 */
static int32_t thread_load(struct session *session, void *user, tn_value *result, struct error *error) {
    struct thread_opening *opening = user;
    tn_value loaded = NULL, found = NULL;
    int32_t status = thread_load_cached(session, opening, &loaded, error);
    if (status == TN_OK && !loaded)
        status = thread_read_head(session, opening->request->id, &opening->defer, &loaded, error);
    if (status != TN_OK) return status;
    tn_value record = value_get(loaded, "record");
    if (opening->options && !opening->request->force)
        status = thread_owner_check_remote(session, opening->request->id, record, error);
    const char *pinned = record_text(record, "graph");
    if (status == TN_OK && *pinned && strcmp(pinned, opening->identity) != 0) {
        status = session_query_take(session, store_get(STORE_GRAPHS, pinned), &found, error);
        tn_value before = value_get(found, "value");
        loaded = value_set_take(loaded, "graph", before ? value_ref(before) : value_null());
        value_unref(found);
    }
    if (status == TN_OK) status = load_older(session, opening->request, &loaded, error);
    if (status == TN_OK)
        *result = loaded;
    else
        value_unref(loaded);
    return status;
}

/*
 * The incarnation that the run has and saves; a new reference, or NULL. A new thread gets one, and a thread without one
 * gets it with its next input. After a change from outside, an unfinished step runs again with other arguments, so it
 * must have other keys.
 */
static tn_value choose_incarnation(tn_value record, enum thread_mode mode) {
    char made[THREAD_INCARNATION_TEXT];
    tn_value known = value_get(record, "incarnation");
    if (mode == THREAD_RESUME || (known && mode != THREAD_UPDATE)) return known ? value_ref(known) : NULL;
    thread_incarnation_make(made);
    return value_text(made);
}

/* ---- The description of the graph ---- */

static void graph_on_noted(void *user, int32_t status, tn_value result, const struct error *error) {
    struct engine *engine = user; /* the store reports this before the engine is freed */
    (void)result, (void)error;
    if (status != TN_OK) memset(engine->graphs_noted, 0, sizeof engine->graphs_noted);
}

/*
 * Puts the description of the graph, which later versions are compared with, into the store. Many threads with the same
 * graph may start; one of them puts it every few seconds, not only once, because `thread gc` of any process removes the
 * descriptions that no thread has.
 */
static void graph_note(const struct thread_opening *opening) {
    struct engine *engine = opening->engine;
    const char *identity = opening->identity;
    struct graph_note *note =
        &engine->graphs_noted[((unsigned char)identity[0] * 31u + (unsigned char)identity[1]) % ENGINE_GRAPHS_NOTED];
    int64_t now_ms = loop_now_ms(engine->loop);
    if (strcmp(note->identity, identity) == 0 && now_ms - note->at_ms < GRAPH_NOTED_MS) return;
    memcpy(note->identity, identity, sizeof note->identity);
    note->at_ms = now_ms;
    tn_value put = store_put(STORE_GRAPHS, identity, graph_description(opening->graph));
    store_commit_take(opening->store, value_push_take(value_array(), put), graph_on_noted, engine);
}

/* Sets what the options of a resumed run do not set, as the thread was started. */
static void thread_take_options(struct run_options *options, tn_value record) {
    if (!options->run_id && *record_text(record, "run_id")) options->run_id = record_text(record, "run_id");
    tn_value config = value_get(record, "config");
    if (!options->tags) options->tags = value_get(config, "tags");
    if (!options->metadata) options->metadata = value_get(config, "metadata");
    if (!options->configurable) options->configurable = value_get(config, "configurable");
    if (!options->runner_id && value_get(config, "runner_id")) options->runner_id = record_text(config, "runner_id");
    int64_t seed;
    tn_value seeded = value_get(config, "seed");
    if (!options->seed && seeded && value_as_int(seeded, &seed)) options->seed = (uint64_t)seed;
}

/* Checks the request against the thread that was loaded, and sets the options. Takes `loaded`. */
static int32_t thread_admit_take(struct thread_opening *opening, tn_value loaded, struct error *error) {
    const struct thread_request *request = opening->request;
    struct run_options *options = opening->options;
    struct store *store = opening->store;
    tn_value record = value_get(loaded, "record");
    int32_t status = thread_check_owner(store, request, record, error);
    if (status == TN_OK) status = thread_check_status(request, record, error);
    if (status == TN_OK && request->mode == THREAD_RESUME) status = thread_check_expiry(opening->engine, record, error);
    if (status == TN_OK) status = thread_check_graph(opening->graph, request, loaded, error);
    struct thread_log *log = NULL;
    if (status == TN_OK) {
        tn_value incarnation = choose_incarnation(record, request->mode);
        if (incarnation) loaded = value_set_take(loaded, "incarnation", incarnation);
        if (request->batch) loaded = value_set_take(loaded, THREAD_BATCH, value_ref(request->batch));
        record = value_get(loaded, "record");
        log = thread_log_new(store, request->id, loaded);
        thread_log_keep(log, config_history(opening->engine->config));
        if (!opening->cache_hit) thread_cached_finish(&opening->cached);
        thread_log_cache(log, opening->engine->threads, &opening->cached);
        bool force = request->force || request->mode == THREAD_UPDATE;
        if (!thread_log_own(log, force)) status = thread_owner_error(request->id, NULL, error);
    }
    if (status != TN_OK) {
        thread_log_free(log);
        value_unref(loaded);
        return status;
    }
    if (strcmp(record_text(record, "graph"), opening->identity) != 0) graph_note(opening);
    options->thread_id = request->id;
    if (request->mode == THREAD_RESUME) thread_take_options(options, record); /* a resumed run keeps its id */
    options->document = request->document;
    options->served = request->served;
    options->durability = request->durability;
    options->loaded = loaded;
    options->log = log;
    return TN_OK;
}

/* Nothing is deferred without a run, or for a run whose events show the state, or that is changed from outside. */
static tn_value unread_channels(const struct thread_opening *opening) {
    if (!opening->options) return value_object();
    bool shown = opening->options->modes & (RUN_MODE_VALUES | RUN_MODE_CHECKPOINTS);
    return shown || opening->request->mode == THREAD_UPDATE ? value_object() : graph_unread_channels(opening->graph);
}

/* Checks the id and opens the store. */
static int32_t thread_open_store(struct thread_opening *opening, struct error *error) {
    int32_t status = thread_check_id(opening->request->id, error);
    if (status != TN_OK) return status;
    opening->store = opening->engine->store(opening->engine->store_user, error);
    if (!opening->store) return TN_NOT_FOUND;
    memcpy(opening->identity, graph_identity(opening->graph), sizeof opening->identity);
    return TN_OK;
}

/* The same, for a run: with what the cache has, and what need not be read. */
static int32_t thread_open(struct thread_opening *opening, struct error *error) {
    int32_t status = thread_open_store(opening, error);
    if (status != TN_OK) return status;
    char key[THREAD_KEY_MAX];
    thread_key(key, opening->request->id);
    opening->defer.link = store_link(opening->store);
    opening->defer.channels = value_ref(unread_channels(opening));
    if (opening->engine->threads && opening->options) /* a run follows, and puts it back */
        (void)thread_cache_take(opening->engine->threads, opening->request->id, &opening->cached);
    /* Items of it that could not be read are nulls from then on. */
    if (store_link_failure(opening->defer.link, key, NULL) != TN_OK) thread_cached_finish(&opening->cached);
    return TN_OK;
}

static void thread_opening_finish(struct thread_opening *opening) {
    thread_cached_finish(&opening->cached);
    value_unref(opening->defer.channels);
}

int32_t thread_prepare_wait(struct engine *engine, struct graph *graph, const struct thread_request *request,
                            struct run_options *options, struct error *error) {
    struct thread_opening opening = {.engine = engine, .graph = graph, .request = request, .options = options};
    tn_value loaded = NULL;
    int32_t status = thread_open(&opening, error);
    if (status == TN_OK) status = store_perform_wait(opening.store, thread_load, &opening, &loaded, error);
    if (status == TN_OK) status = thread_admit_take(&opening, loaded, error);
    thread_opening_finish(&opening);
    return status;
}

static void thread_on_loaded(void *user, int32_t status, tn_value loaded, const struct error *failure) {
    struct thread_opening *opening = user;
    struct error error = ERROR_INIT;
    if (status == TN_OK)
        status = thread_admit_take(opening, value_ref(loaded), &error);
    else
        error_copy(&error, failure);
    thread_opening_finish(opening);
    opening->done(opening->user, status, &error);
    error_finish(&error);
    mem_free(opening);
}

void thread_prepare(struct engine *engine, struct graph *graph, const struct thread_request *request,
                    struct run_options *options, thread_prepared_fn *done, void *user) {
    struct thread_opening *opening = mem_zalloc(sizeof *opening);
    struct error error = ERROR_INIT;
    *opening = (struct thread_opening){
        .engine = engine, .graph = graph, .request = request, .options = options, .done = done, .user = user};
    int32_t status = thread_open(opening, &error);
    if (status == TN_OK) {
        store_perform(opening->store, thread_load, opening, thread_on_loaded, opening);
        return;
    }
    done(user, status, &error);
    error_finish(&error);
    mem_free(opening);
}

/* ---- Without a run ---- */

struct thread_looking {
    struct thread_opening opening;
    struct thread_request request; /* only its id */
    store_done *done;
    void *user;
};

static void thread_on_looked(void *user, int32_t status, tn_value loaded, const struct error *error) {
    struct thread_looking *looking = user;
    looking->done(looking->user, status, loaded, error);
    thread_opening_finish(&looking->opening);
    mem_free(looking);
}

int32_t thread_look(struct engine *engine, struct graph *graph, const char *id, store_done *done, void *user,
                    struct error *error) {
    struct thread_looking *looking = mem_zalloc(sizeof *looking);
    *looking = (struct thread_looking){.request = {.id = id}, .done = done, .user = user};
    looking->opening = (struct thread_opening){.engine = engine, .graph = graph, .request = &looking->request};
    int32_t status = thread_open_store(&looking->opening, error);
    if (status == TN_OK)
        store_perform(looking->opening.store, thread_load, &looking->opening, thread_on_looked, looking);
    else
        mem_free(looking);
    return status;
}

int32_t thread_saved_output(struct graph *graph, const struct thread_request *request, tn_value looked,
                            tn_value *output, struct error *error) {
    int32_t status = thread_check_graph(graph, request, looked, error);
    if (status != TN_OK) return status;
    struct run_options options = RUN_OPTIONS_INIT;
    struct run *run = run_new(graph, &options);
    tn_value saved = value_get(looked, "saved");
    if (value_is(saved, TN_OBJECT)) status = run_restore(run, saved, error);
    if (status == TN_OK) *output = run_result(run);
    run_free(run);
    return status;
}

/* ---- The start ---- */

/* The answers stored in the thread and those of the request, which take precedence. */
static tn_value thread_answers(tn_value record, tn_value answers) {
    tn_value given = value_get(record, "answers"), all = value_is(given, TN_OBJECT) ? value_ref(given) : value_object();
    for (size_t i = 0; value_is(answers, TN_OBJECT) && i < value_count(answers); i++)
        all = value_set_key_take(all, value_ref(value_key_at(answers, i)), value_ref(value_value_at(answers, i)));
    return all;
}

/* The run has been restored, so its interrupts are those that the answers are for. */
static int32_t thread_resume(struct run *run, const struct thread_request *request, bool *ended, struct error *error) {
    tn_value interrupts = run_interrupts(run);
    int32_t status =
        answer_rights_check(run_graph(run)->engine, request->answers_by, interrupts, request->answers, error);
    value_unref(interrupts);
    if (status != TN_OK) return status;
    tn_value answers = thread_answers(value_get(run_loaded(run), "record"), request->answers);
    status = run_resume(run, answers, ended, error);
    value_unref(answers);
    return status;
}

int32_t thread_begin(struct run *run, const struct thread_request *request, tn_value input, bool *ended,
                     struct error *error) {
    tn_value loaded = run_loaded(run), saved = value_get(loaded, "saved");
    if (value_is(saved, TN_OBJECT)) {
        int32_t status = run_restore(run, saved, error);
        if (status != TN_OK) return status;
    }
    if (request->mode == THREAD_RESUME) return thread_resume(run, request, ended, error);
    if (request->mode == THREAD_UPDATE) {
        struct run_change change = {value_get(loaded, "from"), request->as, request->next};
        return run_update(run, input, &change, ended, error);
    }
    run_discard_plan(run);
    return run_try_start(run, input, ended, error);
}

bool thread_lacks_answers(const struct run *run, const struct thread_request *request) {
    if (request->mode != THREAD_RESUME || run_status(run) != RUN_INTERRUPTED) return false;
    /* {record: {answers}, …}: the answers that `tenon thread answer` saved */
    tn_value saved = value_get(value_get(run_loaded(run), "record"), "answers");
    return value_count(request->answers) == 0 && value_count(saved) == 0;
}
