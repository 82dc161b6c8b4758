/*
 * server_run_part.c - messages between the first loop, which has the run's clients, and the member that runs it.
 *
 *     first loop                                       the member's loop
 *     run_part_start, _resume ------- request -------> builds the graph; starts or resumes the invocation
 *     ops.event <-------------------- event ---------- of the run
 *     run_part_continue ------------- request -------> the run continues if it was full
 *     run_part_listen --------------- request -------> from now on it sends events
 *     ops.kept <--------------------- events --------- those that it has kept, before others and before the end
 *     ops.ended <-------------------- end ------------ the report
 *     run_part_free ----------------- release -------> frees the invocation and the graph
 *     counts it no more <------------ released -------
 *
 * Each message is a job that is posted to the other loop. Messages of one loop arrive in their order. Each field
 * belongs to one of the loops, or is atomic.
 *
 * Flow control: the member counts the events that are on their way. It reports itself full to its run if there are too
 * many, or if the first loop has said that the subscriber is full. Before it does, it sets `paused`; the first loop
 * sees that with the event that follows, or later, and asks it to continue when there is room.
 */
#include "host/server/server_run_part.h"
#include "adl/source/source.h"
#include "adl/value/memory.h"
#include "adl/value/weight.h"
#include "host/assembly/host.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"
#include "host/engine/execution/execution.h"
#include "host/engine/execution/invocation.h"
#include "host/engine/graph/graph.h"
#include "host/engine/graph/graph_identity.h"
#include "host/loops/loops.h"
#include "host/plugin/call/authority.h"
#include "host/plugin/call/call.h"
#include "host/server/plugin_wait.h"
#include <stdatomic.h>
#include <string.h>

#define EVENTS_LOW (RUN_PART_EVENTS_MAX / 2) /* events on their way with which a paused run continues */

struct part_kept_event {
    tn_value event;
    int64_t weight;
};

struct run_part {
    struct loops *loops;
    uint32_t index;
    /* Set before the member knows the part: */
    struct source *source;
    char *file; /* the name of the document; NULL for a text */
    bool alone, whole;
    char identity[TN_SHA256_TEXT];
    tn_value config, input, served;
    unsigned modes;
    _Atomic int64_t *kept_size;
    int64_t kept_max;
    /* The first loop: */
    const struct run_part_ops *ops;
    void *user;
    size_t *count;
    bool freed;
    /* Both: */
    _Atomic uint32_t steps, on_their_way;
    atomic_bool full;   /* the subscriber, as the first loop knows */
    atomic_bool paused; /* the run waits for run_part_continue */
    /* The member's loop: */
    struct invocation *invocation; /* NULL before the start, and if the graph could not be built */
    struct plugin_wait wait;       /* before it, for components that plugins of this loop are adding */
    bool resumes;                  /* with `answers`, which may be NULL */
    tn_value answers;
    bool listening;
    struct part_kept_event *kept; /* a ring of RUN_PART_KEPT events; NULL before the first one */
    uint64_t kept_first, kept_next;
    int64_t kept_bytes;
};

/* ---- Messages to the first loop ---- */

struct part_event {
    struct run_part *part;
    tn_value event;
};

struct part_kept {
    struct run_part *part;
    uint64_t listen, lost;
    tn_value events;
};

struct part_end {
    struct run_part *part;
    enum run_status status;
    tn_value report;
};

struct part_answer {
    uint64_t token;
    tn_value result;
};

static void part_on_continue(void *user, struct host *host);

static void part_continue_if_paused(struct run_part *part) {
    if (atomic_load(&part->full) || atomic_load(&part->on_their_way) > EVENTS_LOW) return;
    if (atomic_exchange(&part->paused, false)) loops_post(part->loops, part->index, part_on_continue, part);
}

static void on_event(void *user, struct host *host) {
    struct part_event *posted = user;
    struct run_part *part = posted->part;
    (void)host;
    atomic_fetch_sub(&part->on_their_way, 1);
    if (!part->freed) {
        if (!part->ops->event(part->user, posted->event)) atomic_store(&part->full, true);
        part_continue_if_paused(part);
    }
    value_unref(posted->event);
    mem_free(posted);
}

static void on_kept(void *user, struct host *host) {
    struct part_kept *kept = user;
    (void)host;
    if (!kept->part->freed) kept->part->ops->kept(kept->part->user, kept->listen, kept->lost, kept->events);
    value_unref(kept->events);
    mem_free(kept);
}

static void on_ended(void *user, struct host *host) {
    struct part_end end = *(struct part_end *)user;
    (void)host;
    mem_free(user);
    atomic_store(&end.part->full, false);
    if (end.part->freed)
        value_unref(end.report);
    else
        end.part->ops->ended(end.part->user, end.status, end.report);
}

static void on_answer(void *user, struct host *host) {
    struct part_answer *answer = user;
    (void)host;
    (void)call_complete(answer->token, answer->result);
    value_unref(answer->result);
    mem_free(answer);
}

static void on_released(void *user, struct host *host) {
    struct run_part *part = user;
    (void)host;
    (*part->count)--;
    loop_release(loops_at(part->loops, 0));
    mem_free(part);
}

/* ---- Events without a listener; on the member's loop ---- */

static void part_forget_first(struct run_part *part) {
    struct part_kept_event *first = &part->kept[part->kept_first++ % RUN_PART_KEPT];
    part->kept_bytes -= first->weight;
    atomic_fetch_sub(part->kept_size, first->weight);
    value_unref(first->event);
}

/* The last event is always kept. */
static void part_keep(struct run_part *part, tn_value event) {
    int64_t weight = value_weight(event);
    if (!part->kept) part->kept = mem_array(NULL, RUN_PART_KEPT, sizeof *part->kept);
    if (part->kept_next - part->kept_first == RUN_PART_KEPT) part_forget_first(part);
    part->kept[part->kept_next++ % RUN_PART_KEPT] = (struct part_kept_event){value_ref(event), weight};
    part->kept_bytes += weight;
    atomic_fetch_add(part->kept_size, weight);
    while (part->kept_next - part->kept_first > 1 &&
           (part->kept_bytes > RUN_PART_KEPT_SIZE || atomic_load(part->kept_size) > part->kept_max))
        part_forget_first(part);
}

/* Sends what is kept; `listen` as in ops.kept. */
static void part_send_kept(struct run_part *part, uint64_t listen) {
    struct part_kept *kept = mem_alloc(sizeof *kept);
    *kept = (struct part_kept){part, listen, part->kept_first, value_array()};
    while (part->kept_first < part->kept_next) {
        kept->events = value_push_take(kept->events, value_ref(part->kept[part->kept_first % RUN_PART_KEPT].event));
        part_forget_first(part);
    }
    part->kept_first = part->kept_next = 0;
    loops_post(part->loops, 0, on_kept, kept);
}

/* ---- On the member's loop ---- */

static bool part_on_event(void *user, tn_value event) {
    struct run_part *part = user;
    if (!part->listening) {
        part_keep(part, event);
        return true;
    }
    bool full = atomic_fetch_add(&part->on_their_way, 1) + 1 >= RUN_PART_EVENTS_MAX || atomic_load(&part->full);
    if (full) atomic_store(&part->paused, true); /* before the message, so that the first loop sees it */
    struct part_event *posted = mem_alloc(sizeof *posted);
    *posted = (struct part_event){part, value_ref(event)};
    loops_post(part->loops, 0, on_event, posted);
    return !full;
}

static void part_post_end_take(struct run_part *part, enum run_status status, tn_value report) {
    struct part_end *end = mem_alloc(sizeof *end);
    *end = (struct part_end){part, status, report};
    loops_post(part->loops, 0, on_ended, end);
}

static void part_on_ended(void *user) {
    struct run_part *part = user;
    atomic_store(&part->steps, invocation_steps(part->invocation));
    if (part->kept_next) part_send_kept(part, 0);
    part_post_end_take(part, invocation_status(part->invocation), invocation_report(part->invocation));
}

/* The end of a run that could not start, or not continue. */
static void part_fail(struct run_part *part, enum run_status as, const struct error *error) {
    tn_value report = value_set_take(value_object_reserve(3), "type", value_text("result"));
    report = value_set_take(report, "status", value_text(run_status_name(as)));
    part_post_end_take(part, as, value_set_take(report, "error", error_to_value(error)));
}

static bool part_is_same(const struct run_part *part, struct graph *graph) {
    return strcmp(graph_identity(graph), part->identity) == 0;
}

/* Runs of a file share one graph (graph_open), unless it has changed since the first loop has read it. */
static struct graph *part_shared_graph(const struct run_part *part, struct host *host,
                                       const struct graph_origin *origin) {
    struct graph *graph;
    struct error error = ERROR_INIT;
    int32_t status =
        part->file ? graph_open(host_engine(host), NULL, part->file, origin, &graph, &error) : TN_NOT_FOUND;
    error_finish(&error);
    if (status != TN_OK) return NULL;
    if (part_is_same(part, graph)) return graph;
    graph_unref(graph);
    return NULL;
}

/* The document as the first loop has read it. Files and components that it names are read again. */
static int32_t part_build(const struct run_part *part, struct host *host, struct graph **out, struct error *error) {
    const struct graph_origin origin = {.alone = part->alone, .whole = part->whole};
    if ((*out = part_shared_graph(part, host, &origin)) != NULL) return TN_OK;
    int32_t status = graph_open_source(host_engine(host), part->source, &origin, out, error);
    if (status != TN_OK || part_is_same(part, *out)) return status;
    graph_unref(*out);
    return error_set(error, TN_FAILED, "INVALID_GRAPH",
                     "a file that the document `%s` uses has changed since it was checked; start the run again",
                     source_name(part->source));
}

/* A resume without an invocation continues a thread that another run has started. */
static int32_t part_open(struct run_part *part, struct host *host, struct error *error) {
    struct invocation_options options = {
        .run = RUN_OPTIONS_INIT, .config = part->config, .input = part->input, .ended = part_on_ended};
    struct graph *graph;
    plugin_wait_defer_loads(&part->wait, true);
    int32_t status = part_build(part, host, &graph, error);
    plugin_wait_defer_loads(&part->wait, false);
    if (status != TN_OK) return status;
    status = run_request_read(&options.run, &options.request, part->config, error);
    if (part->resumes) options.request.mode = THREAD_RESUME;
    options.request.served = part->served;
    options.run.modes = part->modes;
    options.run.event = part_on_event;
    options.run.user = part;
    options.run.shown_steps = &part->steps;
    if (status == TN_OK) part->invocation = invocation_new(host_engine(host), &graph->callable, &options, error);
    graph_unref(graph);
    return part->invocation ? TN_OK : TN_INVALID;
}

/* The first loop could build the graph, but this one has its own plugins, which may still be adding components. */
static void part_begin(struct run_part *part) {
    struct error error = ERROR_INIT;
    int32_t status = part->invocation ? TN_OK : part_open(part, part->wait.host, &error);
    if (status != TN_OK && plugin_wait_helps(&part->wait)) {
        error_finish(&error);
        plugin_wait_start(&part->wait);
        return;
    }
    if (status == TN_OK && part->resumes)
        status = invocation_resume(part->invocation, part->answers, &error);
    else if (status == TN_OK)
        invocation_start(part->invocation);
    if (status != TN_OK) part_fail(part, RUN_FAILED, &error);
    error_finish(&error);
}

static void part_begin_again(struct plugin_wait *wait) { part_begin(CONTAINER_OF(wait, struct run_part, wait)); }

static void part_on_start(void *user, struct host *host) {
    struct run_part *part = user;
    plugin_wait_init(&part->wait, host, part_begin_again);
    part_begin(part);
}

struct part_resume {
    struct run_part *part;
    tn_value answers;
};

static void part_on_resume(void *user, struct host *host) {
    struct part_resume *request = user;
    struct run_part *part = request->part;
    plugin_wait_init(&part->wait, host, part_begin_again);
    value_unref(part->answers);
    part->answers = request->answers;
    part->resumes = true;
    mem_free(request);
    part_begin(part);
}

/* A run that has not begun. */
static void part_end_wait(struct run_part *part, const char *why) {
    struct error error = ERROR_INIT;
    if (!plugin_wait_is_running(&part->wait)) return;
    plugin_wait_stop(&part->wait);
    error_set(&error, TN_CANCELLED, "CANCELLED", "%s while the run waited for the components of plugins", why);
    part_fail(part, RUN_CANCELLED, &error);
    error_finish(&error);
}

static void part_on_cancel(void *user, struct host *host) {
    struct run_part *part = user;
    (void)host;
    if (part->invocation)
        invocation_cancel(part->invocation);
    else
        part_end_wait(part, "it was cancelled");
}

struct part_listen {
    struct run_part *part;
    uint64_t listen;
};

static void part_on_listen(void *user, struct host *host) {
    struct part_listen request = *(struct part_listen *)user;
    (void)host;
    mem_free(user);
    request.part->listening = request.listen != 0;
    if (request.listen) part_send_kept(request.part, request.listen);
}

static void part_on_continue(void *user, struct host *host) {
    struct run_part *part = user;
    (void)host;
    if (part->invocation) invocation_continue(part->invocation);
}

static void part_on_drain(void *user, struct host *host) {
    struct run_part *part = user;
    if (!part->invocation) {
        part_end_wait(part, "the host has ended");
        return;
    }
    invocation_drain(part->invocation);
    part_on_continue(user, host);
}

struct part_question {
    struct run_part *part;
    uint64_t token;
};

static void part_on_question(void *user, struct host *host) {
    struct part_question *question = user;
    struct invocation *invocation = question->part->invocation;
    tn_value state = invocation ? invocation_state(invocation) : NULL;
    tn_value result = value_set_take(value_object_reserve(2), "state", state ? state : value_null());
    struct part_answer *answer = mem_alloc(sizeof *answer);
    (void)host;
    result = value_set_take(result, "steps", value_int(invocation ? invocation_steps(invocation) : 0));
    *answer = (struct part_answer){question->token, result};
    loops_post(question->part->loops, 0, on_answer, answer);
    mem_free(question);
}

static void part_on_release(void *user, struct host *host) {
    struct run_part *part = user;
    (void)host;
    plugin_wait_stop(&part->wait);
    invocation_free(part->invocation);
    value_unref(part->answers);
    while (part->kept_first < part->kept_next) part_forget_first(part);
    mem_free(part->kept);
    source_unref(part->source);
    mem_free(part->file);
    value_unref(part->config);
    value_unref(part->input);
    value_unref(part->served);
    loops_post(part->loops, 0, on_released, part);
}

/* ---- On the first loop ---- */

struct run_part *run_part_new(struct loops *loops, uint32_t index, const struct run_part_options *options,
                              const struct run_part_ops *ops, void *user) {
    struct run_part *part = mem_zalloc(sizeof *part);
    struct graph *graph = options->graph;
    part->loops = loops;
    part->index = index;
    part->source = source_ref(graph->document->source);
    part->file = options->file ? mem_text(options->file) : NULL;
    part->alone = graph->alone;
    part->whole = graph->whole;
    memcpy(part->identity, graph_identity(graph), sizeof part->identity);
    part->config = options->config ? value_ref(options->config) : NULL;
    part->input = options->input ? value_ref(options->input) : NULL;
    part->served = options->served ? value_ref(options->served) : NULL;
    part->modes = options->modes;
    part->ops = ops;
    part->user = user;
    part->count = options->count;
    part->kept_size = options->kept_size;
    part->kept_max = options->kept_max;
    (*part->count)++;
    loop_hold(loops_at(loops, 0)); /* it waits for messages */
    return part;
}

void run_part_start(struct run_part *part) { loops_post(part->loops, part->index, part_on_start, part); }

void run_part_resume(struct run_part *part, tn_value answers) {
    struct part_resume *request = mem_alloc(sizeof *request);
    *request = (struct part_resume){part, answers ? value_ref(answers) : NULL};
    loops_post(part->loops, part->index, part_on_resume, request);
}

void run_part_cancel(struct run_part *part) { loops_post(part->loops, part->index, part_on_cancel, part); }

void run_part_drain(struct run_part *part) { loops_post(part->loops, part->index, part_on_drain, part); }

void run_part_continue(struct run_part *part) {
    atomic_store(&part->full, false);
    part_continue_if_paused(part);
}

void run_part_listen(struct run_part *part, uint64_t listen) {
    struct part_listen *request = mem_alloc(sizeof *request);
    *request = (struct part_listen){part, listen};
    loops_post(part->loops, part->index, part_on_listen, request);
}

uint32_t run_part_index(const struct run_part *part) { return part->index; }
uint32_t run_part_steps(const struct run_part *part) { return atomic_load(&part->steps); }

void run_part_await_state(struct run_part *part, uint64_t token) {
    struct part_question *question = mem_alloc(sizeof *question);
    *question = (struct part_question){part, token};
    loops_post(part->loops, part->index, part_on_question, question);
}

void run_part_free(struct run_part *part) {
    if (!part) return;
    part->freed = true;
    loops_post(part->loops, part->index, part_on_release, part);
}
