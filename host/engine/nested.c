/*
 * nested.c - runs inside runs: a graph is called like a component, and its run belongs to the call.
 *
 * The inner run takes over the configuration of the run around it, hands its events outwards under its path, and is
 * cancelled with the call. A call of a graph that no run is around (a tool, the embedder) is a run of its own.
 */
#include "host/engine/nested.h"
#include "adl/value/memory.h"
#include "host/engine/durable.h"
#include "host/engine/run_internal.h"

struct run *run_outermost(const struct run *run) {
    while (run->outer) run = run->outer;
    return (struct run *)(uintptr_t)run;
}

static void leave(struct run *run) {
    struct run *root = run_outermost(run);
    if (root == run) return;
    for (struct run **at = &root->nested; *at; at = &(*at)->next_nested) {
        if (*at != run) continue;
        *at = run->next_nested;
        return;
    }
}

/* Hands the run's end to its call, whose path is `path`. */
static void complete(struct run *run, uint64_t token, const char *path) {
    struct error error = ERROR_INIT;
    leave(run);
    if (run->outer && run_status(run) != RUN_INTERRUPTED)
        task_spent_inside(&run->outer->tasks[run->outer_task], path, run);
    switch (run_status(run)) {
    case RUN_DONE:;
        tn_value result = run_result(run);
        call_complete(token, result);
        value_unref(result);
        break;
    case RUN_INTERRUPTED:;
        /* What it waits for, and itself: with the answers, both come back to nested_start. */
        tn_value asked = value_set_take(value_object_reserve(2), "interrupts", run_interrupts(run));
        call_interrupt_take(token, value_set_take(asked, "saved", run_save(run)));
        break;
    case RUN_STOPPED:
        error_set(&error, TN_CANCELLED, "CANCELLED", "the inner run stopped before its end");
        call_fail(token, &error);
        break;
    default: call_fail(token, run_error(run)); break;
    }
    error_finish(&error);
    run_free(run);
}

struct nested {
    struct run *run;
    uint64_t token;
    char *path;
};

static void nested_free(struct nested *nested) {
    mem_free(nested->path);
    mem_free(nested);
}

static void nested_ended(struct run *run, void *user) {
    struct nested *nested = user;
    uint64_t token = nested->token;
    struct call *call = call_of(token);
    if (call) call_set_data(call, NULL);
    complete(run, token, nested->path);
    nested_free(nested);
}

static tn_value path_inside(const struct run *outer, const struct task *task) {
    tn_value path = outer->path ? value_ref(outer->path) : value_array();
    tn_value id = outer->graph->document->nodes[task->plan.node].id;
    /* Runs inside the tasks of one map edge are told apart by their item. */
    return value_push_take(path, task->plan.input ? value_format("%s[%u]", value_chars(id, NULL), task->plan.item)
                                                  : value_ref(id));
}

static struct task *task_around(const struct call *call) {
    for (const struct call *at = call; at; at = call_parent(at))
        if (call_ops_of(at) == &task_call_ops) return call_owner(at);
    return NULL;
}

/* Answers to what it still waits for: it may have come further since they were given. */
static tn_value still_asked(struct run *run, tn_value answers) {
    tn_value interrupts = run_interrupts(run), left = value_object();
    for (size_t i = 0; i < value_count(interrupts); i++) {
        tn_value id = value_get(value_at(interrupts, i), "id");
        tn_value answer = id && answers ? value_get_key(answers, id) : NULL;
        if (answer) left = value_set_key_take(left, value_ref(id), value_ref(answer));
    }
    value_unref(interrupts);
    return left;
}

/* What it waits for has been told with the step that it was saved in; it may have come further, and wait anew. */
static bool is_told(struct call *call, tn_value logged, tn_value input) {
    if (!call_resumed(call)) return false;
    tn_value there = value_get(logged, "step"), told = value_get(value_get(input, "saved"), "step");
    return !there || (told && value_equal(there, told));
}

/* From the start; or from where it stood, as its log has it, or else as it was saved when it had to wait. */
static int32_t begin(struct run *run, struct call *call, tn_value input, bool *ended, struct error *error) {
    tn_value logged = run->outer ? durable_take_nested(run) : NULL;
    if (!logged && !call_resumed(call)) {
        *ended = run_start(run, input && !value_is(input, TN_NULL) ? input : NULL);
        return TN_OK;
    }
    tn_value saved = logged ? logged : value_get(input, "saved");
    int32_t status = run_restore(run, saved, error);
    if (status == TN_OK && run_status(run) == RUN_INTERRUPTED && !is_told(call, logged, input)) {
        *ended = true;
    } else if (status == TN_OK) {
        tn_value answers = still_asked(run, call_resumed(call) ? value_get(input, "answers") : NULL);
        bool waits = run_status(run) == RUN_INTERRUPTED && !value_count(answers);
        struct error unanswered = ERROR_INIT;
        status = run_resume(run, answers, ended, &unanswered);
        if (status != TN_OK && waits) {
            *ended = true; /* it waits for something else than what was answered */
            status = TN_OK;
        } else if (status != TN_OK) {
            error_move(error, &unanswered);
        }
        error_finish(&unanswered);
        value_unref(answers);
    }
    value_unref(logged);
    return status;
}

static bool is_too_deep(const struct run *outer) {
    uint32_t depth = 0;
    for (; outer; outer = outer->outer) depth++;
    return depth > NESTED_DEPTH_MAX;
}

static int32_t refuse_depth(struct call *call) {
    struct error error = ERROR_INIT;
    error_set(&error, TN_LIMIT, "LIMIT", "documents run each other more than %u deep: does one run itself?",
              NESTED_DEPTH_MAX);
    call_fail(call_token(call), &error);
    error_finish(&error);
    return TN_OK;
}

int32_t nested_start(struct callable *callable, struct call *call, tn_value input) {
    struct graph *graph = (struct graph *)callable;
    struct run_options options = RUN_OPTIONS_INIT;
    struct task *task = task_around(call);
    struct run *outer = task ? task->run : NULL;
    if (is_too_deep(outer)) return refuse_depth(call);
    struct nested *nested = mem_zalloc(sizeof *nested);
    if (outer) {
        options = outer->options;
        options.log = NULL;
        options.replay = NULL;
        options.loaded = NULL;
        options.document = NULL;
        options.event = NULL;
        options.timeout_ms = 0;
        options.concurrency = 0;
        options.strategy = -1;
        options.seed = run_mix(outer->options.seed, task_hash(task));
    }
    options.ended = nested_ended;
    options.user = nested;
    struct run *run = run_new(graph, &options);
    if (outer) {
        struct run *root = run_outermost(outer);
        run->outer = outer;
        run->path = path_inside(outer, task);
        run->outer_task = task->index;
        nested->path = call_path(call);
        run->scope = task_child_hash(task, nested->path);
        struct run **last = &root->nested; /* in the order they began, so that a reader finds them go on in it */
        while (*last) last = &(*last)->next_nested;
        *last = run;
    }
    nested->run = run;
    nested->token = call_token(call);
    call_set_data(call, nested);
    bool ended = false;
    struct error error = ERROR_INIT;
    int32_t status = begin(run, call, input, &ended, &error);
    if (status != TN_OK) {
        leave(run);
        run_free(run);
        nested_free(nested);
        call_set_data(call, NULL);
        call_fail(call_token(call), &error);
        error_finish(&error);
        return TN_OK;
    }
    if (ended) nested_ended(run, nested);
    return TN_OK;
}

void nested_cancel(struct callable *callable, struct call *call) {
    (void)callable;
    struct nested *nested = call_data(call);
    if (nested) run_cancel(nested->run);
}

void nested_ready(struct callable *callable, struct call *call) {
    (void)callable;
    (void)call;
}
