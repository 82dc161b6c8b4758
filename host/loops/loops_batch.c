/*
 * loops_batch.c - a batch whose inputs several loops share.
 *
 * Each loop has a *lane*: the inputs that are placed on it, and a batch that takes them one by one. A lane whose inputs
 * are used up takes some that another lane has not started. When none is left, a lane without runs asks the lane with
 * most runs for one of them, which is moved between two of its super-steps:
 *
 *     lane_take: own inputs --> inputs of others --> none: lane_ask --post--> lane_on_ask: batch_move
 *                                                                                   |  the run reaches a boundary
 *     batch_wake, lane_take: the run <--post-- lane_moved: into the lane that asked <+
 *
 * A run that ends instead, or a lane that has only one run or none that can move, leaves the asking lane idle; the next
 * end of a run wakes it, so there are at most as many questions as runs.
 *
 * The lock guards everything that lanes share. A lane's batch belongs to its loop. Nothing is called under the lock,
 * except loop_post.
 */
#include "host/loops/loops_batch.h"
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/engine/engine.h"
#include "host/engine/graph/graph.h"
#include "host/engine/graph/graph_identity.h"
#include "host/plugin/call/authority.h"
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct moved_run {
    struct moved_run *next;
    size_t index;
    tn_value carried;
};

struct lane {
    struct shared_batch *shared;
    struct loop *loop;
    /* Used only by its loop: */
    struct graph *graph;
    struct batch *batch; /* while it runs */
    struct batch_options options;
    struct batch_threads threads;
    struct batch_share share;
    struct loop_work wake, ask;
    struct error error; /* of building the graph; read when the job has returned */
    /* Under the lock: */
    size_t *inputs; /* indexes of the inputs that no loop has taken: from `first` to `last` - 1 */
    size_t first, last;
    struct moved_run *moved, **moved_last;
    uint32_t open;           /* runs that it has */
    bool runs;               /* others may post to its loop */
    bool idle;               /* it has no run, and found no input */
    bool wake_posted, asked; /* asked: `ask` is posted, or the run `leaving` was asked to move */
    struct lane *asker;      /* that receives the run */
    size_t leaving;          /* NOT_LEAVING: none yet */
};

#define NOT_LEAVING SIZE_MAX

struct shared_batch {
    struct loops *loops;
    struct graph *graph; /* of the first loop */
    tn_value inputs;
    const struct batch_options *options;
    const _Atomic bool *cancel;
    struct lane *lanes;
    uint32_t lane_count;
    size_t count;
    atomic_bool over;     /* every input has ended, or the batch is cancelled or drained */
    atomic_bool draining; /* options->threads->drains has returned true */
    struct loop_work deliver;
    size_t delivered, reported; /* results, and ended inputs; used only by the first loop */
    pthread_mutex_t lock;
    /* Under the lock: */
    tn_value *results; /* [count]; NULL until the input has ended */
    size_t ended;
    bool deliver_posted;
};

/* ---- Waking lanes; under the lock ---- */

static void lane_post_wake(struct lane *lane) {
    if (lane->wake_posted || !lane->runs) return;
    lane->wake_posted = true;
    loop_post(lane->loop, &lane->wake);
}

static void wake_all(struct shared_batch *shared) {
    for (uint32_t i = 0; i < shared->lane_count; i++) lane_post_wake(&shared->lanes[i]);
}

/* Another lane that has runs to spare and is not giving one away. NULL if there is none. */
static struct lane *busiest_lane(struct shared_batch *shared, const struct lane *except) {
    struct lane *busiest = NULL;
    for (uint32_t i = 0; i < shared->lane_count; i++) {
        struct lane *lane = &shared->lanes[i];
        if (lane == except || !lane->runs || lane->asked || lane->open < 2) continue;
        if (!busiest || lane->open > busiest->open) busiest = lane;
    }
    return busiest;
}

static void lane_ask(struct lane *lane) {
    struct lane *other = busiest_lane(lane->shared, lane);
    if (!other) return;
    other->asked = true;
    other->asker = lane;
    other->leaving = NOT_LEAVING;
    loop_post(other->loop, &other->ask);
}

/* A run of a lane has ended: a lane that is idle may find one to take over now. */
static void wake_idle_lane(struct shared_batch *shared) {
    for (uint32_t i = 0; i < shared->lane_count; i++) {
        struct lane *lane = &shared->lanes[i];
        if (!lane->idle || !busiest_lane(shared, lane)) continue;
        lane_post_wake(lane);
        return;
    }
}

/* ---- The inputs of a lane ---- */

/* From the end of the lane with most inputs, so that each lane takes its own in order. Under the lock. */
static bool take_from_another(struct shared_batch *shared, size_t *index) {
    struct lane *from = NULL;
    for (uint32_t i = 0; i < shared->lane_count; i++) {
        struct lane *lane = &shared->lanes[i];
        if (lane->first < lane->last && (!from || lane->last - lane->first > from->last - from->first)) from = lane;
    }
    if (from) *index = from->inputs[--from->last];
    return from != NULL;
}

static bool take_moved(struct lane *lane, size_t *index, tn_value *carried) {
    struct moved_run *moved = lane->moved;
    if (!moved) return false;
    lane->moved = moved->next;
    if (!lane->moved) lane->moved_last = &lane->moved;
    *index = moved->index;
    *carried = moved->carried;
    mem_free(moved);
    return true;
}

static bool lane_take(void *user, size_t *index, tn_value *moved) {
    struct lane *lane = user;
    struct shared_batch *shared = lane->shared;
    pthread_mutex_lock(&shared->lock);
    bool found = take_moved(lane, index, moved);
    if (!found && lane->first < lane->last) {
        *index = lane->inputs[lane->first++];
        found = true;
    }
    if (!found) found = take_from_another(shared, index);
    if (found) lane->open++;
    lane->idle = !found && lane->open == 0;
    if (lane->idle && !shared->over) lane_ask(lane);
    pthread_mutex_unlock(&shared->lock);
    return found;
}

/* The first loop asks the owner of the batch, which then wakes the others (lane_stops). */
static bool lane_drains(void *user) {
    const struct lane *lane = user;
    struct shared_batch *shared = lane->shared;
    const struct batch_options *options = shared->options;
    if (lane == shared->lanes && options->threads->drains && options->threads->drains(options->user))
        atomic_store(&shared->draining, true);
    return atomic_load(&shared->draining);
}

static bool lane_is_over(void *user) { return atomic_load(&((const struct lane *)user)->shared->over); }

static void lane_stops(void *user) {
    struct shared_batch *shared = ((struct lane *)user)->shared;
    pthread_mutex_lock(&shared->lock);
    atomic_store(&shared->over, true);
    wake_all(shared);
    pthread_mutex_unlock(&shared->lock);
}

/* ---- Moving a run ---- */

/* Asks a run to leave, unless the lane has none to spare. */
static void lane_move_one(struct lane *lane) {
    struct shared_batch *shared = lane->shared;
    size_t index = NOT_LEAVING;
    bool moves = lane->batch && batch_open_count(lane->batch) > 1 && batch_move(lane->batch, &index);
    pthread_mutex_lock(&shared->lock);
    lane->asked = moves;
    lane->leaving = index;
    pthread_mutex_unlock(&shared->lock);
}

static void lane_on_ask(struct loop_work *work) { lane_move_one(CONTAINER_OF(work, struct lane, ask)); }

static void lane_moved(void *user, size_t index, tn_value carried) {
    struct lane *lane = user, *to;
    struct moved_run *moved = mem_alloc(sizeof *moved);
    *moved = (struct moved_run){NULL, index, value_ref(carried)};
    pthread_mutex_lock(&lane->shared->lock);
    lane->open--;
    lane->asked = false;
    to = lane->asker;
    *to->moved_last = moved;
    to->moved_last = &moved->next;
    lane_post_wake(to);
    pthread_mutex_unlock(&lane->shared->lock);
    log_write(LOG_DEBUG, NULL, "input %zu of the batch moves from loop %zu to loop %zu", index + 1,
              (size_t)(lane - lane->shared->lanes) + 1, (size_t)(to - lane->shared->lanes) + 1);
}

static void lane_on_wake(struct loop_work *work) {
    struct lane *lane = CONTAINER_OF(work, struct lane, wake);
    pthread_mutex_lock(&lane->shared->lock);
    lane->wake_posted = false;
    pthread_mutex_unlock(&lane->shared->lock);
    if (lane->batch) batch_wake(lane->batch);
}

/* ---- Results ---- */

static tn_value take_next_result(struct shared_batch *shared) {
    pthread_mutex_lock(&shared->lock);
    tn_value result = shared->delivered < shared->count ? shared->results[shared->delivered] : NULL;
    if (result) shared->results[shared->delivered] = NULL;
    pthread_mutex_unlock(&shared->lock);
    return result;
}

/* On the first loop. */
static void deliver_results(struct shared_batch *shared) {
    const struct batch_options *options = shared->options;
    tn_value result;
    pthread_mutex_lock(&shared->lock);
    size_t ended = shared->ended;
    pthread_mutex_unlock(&shared->lock);
    while (options->progress && shared->reported < ended)
        options->progress(options->user, ++shared->reported, shared->count);
    while (options->result && (result = take_next_result(shared)) != NULL) {
        options->result(options->user, shared->delivered++, result);
        value_unref(result);
    }
}

static void on_deliver(struct loop_work *work) {
    struct shared_batch *shared = CONTAINER_OF(work, struct shared_batch, deliver);
    pthread_mutex_lock(&shared->lock);
    shared->deliver_posted = false; /* only here: work that is still posted must not be posted again */
    pthread_mutex_unlock(&shared->lock);
    deliver_results(shared);
}

static void lane_ended(void *user, size_t index, tn_value result) {
    struct lane *lane = user;
    struct shared_batch *shared = lane->shared;
    bool first = lane == shared->lanes;
    pthread_mutex_lock(&shared->lock);
    shared->results[index] = value_ref(result);
    lane->open--;
    bool again = lane->asked && lane->leaving == index;
    if (++shared->ended == shared->count) {
        atomic_store(&shared->over, true);
        wake_all(shared);
    } else if (!again) {
        wake_idle_lane(shared);
    }
    if (!first && !shared->deliver_posted) {
        shared->deliver_posted = true;
        loop_post(shared->lanes[0].loop, &shared->deliver);
    }
    pthread_mutex_unlock(&shared->lock);
    if (again) lane_move_one(lane); /* the run that was asked to leave has ended */
    if (first) deliver_results(shared);
}

/* ---- Lanes ---- */

static void lane_begun(void *user, struct batch *batch) {
    struct lane *lane = user;
    lane->batch = batch;
    pthread_mutex_lock(&lane->shared->lock);
    lane->runs = true;
    pthread_mutex_unlock(&lane->shared->lock);
}

/* On the lane's thread; returns when all inputs of all lanes have ended. */
static void lane_run(struct lane *lane) {
    struct shared_batch *shared = lane->shared;
    struct callable *callable = &lane->graph->callable;
    (void)batch_run(lane->graph->engine, callable, shared->inputs, &lane->options, shared->cancel);
    pthread_mutex_lock(&shared->lock);
    lane->runs = false;
    pthread_mutex_unlock(&shared->lock);
    lane->batch = NULL;
    loop_run_posted(lane->loop); /* `wake` and `ask` may still be posted */
}

static void job_run_lane(void *user, struct host *host) {
    (void)host;
    lane_run(user);
}

/* The document as the first loop has read it, so a file that changes meanwhile does not matter. */
static void job_build_graph(void *user, struct host *host) {
    struct lane *lane = user;
    struct graph *first = lane->shared->graph, *graph = NULL;
    const struct graph_origin origin = {
        .from_text = first->authority->from_text, .alone = first->alone, .whole = first->whole};
    if (graph_open_source(host_engine(host), first->document->source, &origin, &graph, &lane->error) != TN_OK) return;
    lane->graph = graph;
    (void)graph_identity(graph);
}

static void job_release_graph(void *user, struct host *host) {
    struct lane *lane = user;
    (void)host;
    graph_unref(lane->graph);
    lane->graph = NULL;
}

static void lane_init(struct lane *lane, struct shared_batch *shared, uint32_t index) {
    uint32_t runs = shared->options->concurrency ? shared->options->concurrency : BATCH_CONCURRENCY;
    lane->shared = shared;
    lane->loop = loops_at(shared->loops, index);
    lane->moved_last = &lane->moved;
    lane->leaving = NOT_LEAVING;
    lane->wake.run = lane_on_wake;
    lane->ask.run = lane_on_ask;
    lane->share = (struct batch_share){lane, lane_begun, lane_take, lane_is_over, lane_ended, lane_moved, lane_stops};
    lane->options = *shared->options;
    lane->options.share = &lane->share;
    lane->options.user = lane;
    if (lane->options.threads) {
        lane->threads = *lane->options.threads;
        lane->threads.drains = lane_drains;
        lane->options.threads = &lane->threads;
    }
    lane->options.concurrency = runs / shared->lane_count + (index < runs % shared->lane_count);
}

/* ---- The batch ---- */

/* Runs the job in each lane but the first, and waits. */
static void each_member(struct shared_batch *shared, loops_job *job) {
    for (uint32_t i = 1; i < shared->lane_count; i++) loops_start(shared->loops, i, job, &shared->lanes[i]);
    loops_wait(shared->loops);
}

static int32_t check_graphs(struct shared_batch *shared, struct error *error) {
    const char *identity = graph_identity(shared->graph);
    for (uint32_t i = 1; i < shared->lane_count; i++) {
        struct lane *lane = &shared->lanes[i];
        if (!lane->graph) {
            error_move(error, &lane->error);
            return TN_FAILED;
        }
        if (strcmp(identity, graph_identity(lane->graph)) != 0)
            return error_set(error, TN_INVALID, "GRAPH_CHANGED",
                             "another loop found different files or plugins for this document: they have changed while "
                             "it was opened; try again");
    }
    return TN_OK;
}

/* By the thread of the run; runs without a thread are placed in turn. */
static uint32_t place_input(const struct shared_batch *shared, size_t index) {
    const struct batch_threads *threads = shared->options->threads;
    assert(shared->lane_count > 0);
    if (!threads) return (uint32_t)(index % shared->lane_count);
    return loops_place(shared->lane_count, value_chars(value_at(threads->ids, index), NULL));
}

static void place_inputs(struct shared_batch *shared) {
    for (size_t i = 0; i < shared->count; i++) shared->lanes[place_input(shared, i)].last++;
    for (uint32_t i = 0; i < shared->lane_count; i++) {
        shared->lanes[i].inputs = mem_array(NULL, shared->lanes[i].last + 1, sizeof *shared->lanes[i].inputs);
        shared->lanes[i].last = 0;
    }
    for (size_t i = 0; i < shared->count; i++) {
        struct lane *lane = &shared->lanes[place_input(shared, i)];
        lane->inputs[lane->last++] = i;
    }
}

static uint32_t count_lanes(const struct loops *loops, size_t inputs, uint32_t concurrency) {
    uint32_t lanes = loops_count(loops), runs = concurrency ? concurrency : BATCH_CONCURRENCY;
    if (lanes > runs) lanes = runs;
    return inputs >= lanes ? lanes : inputs ? (uint32_t)inputs : 1;
}

static tn_value finish_results(struct shared_batch *shared) {
    const struct batch_options *options = shared->options;
    tn_value all = options->result ? NULL : value_array_reserve(shared->count);
    deliver_results(shared);
    for (size_t i = shared->delivered; i < shared->count; i++) {
        tn_value result = shared->results[i] ? shared->results[i] : batch_unrun_result(atomic_load(&shared->draining));
        if (!options->result) {
            all = value_push_take(all, result);
            continue;
        }
        options->result(options->user, i, result);
        value_unref(result);
    }
    return all;
}

static void release_lanes(struct shared_batch *shared) {
    each_member(shared, job_release_graph);
    loop_run_posted(shared->lanes[0].loop);
    for (uint32_t i = 0; i < shared->lane_count; i++) {
        struct lane *lane = &shared->lanes[i];
        size_t index;
        tn_value carried;
        while (take_moved(lane, &index, &carried)) value_unref(carried); /* it was cancelled on its way */
        error_finish(&lane->error);
        mem_free(lane->inputs);
    }
    mem_free(shared->lanes);
}

int32_t loops_batch_run(struct loops *loops, struct graph *graph, tn_value inputs, const struct batch_options *options,
                        const _Atomic bool *cancel, tn_value *all, struct error *error) {
    struct shared_batch shared = {
        .loops = loops, .graph = graph, .inputs = inputs, .options = options, .cancel = cancel};
    shared.count = value_count(inputs);
    shared.lane_count = count_lanes(loops, shared.count, options->concurrency);
    if (shared.lane_count == 1) {
        *all = batch_run(graph->engine, &graph->callable, inputs, options, cancel);
        return TN_OK;
    }
    shared.lanes = mem_zalloc(shared.lane_count * sizeof *shared.lanes);
    shared.results = mem_zalloc(shared.count * sizeof *shared.results);
    shared.deliver.run = on_deliver;
    pthread_mutex_init(&shared.lock, NULL);
    for (uint32_t i = 0; i < shared.lane_count; i++) lane_init(&shared.lanes[i], &shared, i);
    shared.lanes[0].graph = graph;
    each_member(&shared, job_build_graph);
    int32_t status = check_graphs(&shared, error);
    if (status == TN_OK) {
        place_inputs(&shared);
        for (uint32_t i = 1; i < shared.lane_count; i++) loops_start(loops, i, job_run_lane, &shared.lanes[i]);
        lane_run(&shared.lanes[0]);
        loops_wait(loops);
        *all = finish_results(&shared);
    }
    release_lanes(&shared);
    pthread_mutex_destroy(&shared.lock);
    mem_free(shared.results);
    return status;
}
