/*
 * nested.c - runs inside runs: a graph is called like a component, and the run belongs to the call.
 *
 * A nested run uses the configuration of the run around it, passes its events to the outermost run under its path, and
 * is cancelled with the call. A call that no run made (from an embedder, or of a graph as a tool) starts an outermost
 * run.
 */
#include "host/engine/graph/nested.h"
#include "adl/value/memory.h"
#include "host/engine/graph/durable.h"
#include "host/engine/graph/run_internal.h"
#include <tenon/util/sha256.h>

struct run *run_outermost(const struct run *run) {
    while (run->outer) run = run->outer;
    return (struct run *)(uintptr_t)run;
}

static void nested_unlink(struct run *run) {
    struct run *root = run_outermost(run);
    if (root == run) return;
    for (struct run **at = &root->nested; *at; at = &(*at)->next_nested) {
        if (*at != run) continue;
        *at = run->next_nested;
        return;
    }
}

/* Ends the call with the outcome of the run, and frees the run. `path` is the path of the call. */
static void nested_complete(struct run *run, uint64_t token, const char *path) {
    struct error error = ERROR_INIT;
    nested_unlink(run);
    struct activation *around = run->outer ? &run->outer->activations[run->outer_activation] : NULL;
    if (around) activation_note_nested_usage(around, path, run);
    if (around && run->unrepeatable) activation_set_unrepeatable(around, path);
    switch (run_status(run)) {
    case RUN_DONE:;
        tn_value result = run_result(run);
        call_complete(token, result);
        value_unref(result);
        break;
    case RUN_INTERRUPTED:;
        /* With the answers, both come back to nested_start. */
        tn_value asked = value_set_take(value_object_reserve(2), "interrupts", run_interrupts(run));
        call_interrupt_take(token, value_set_take(asked, "saved", run_save(run)));
        break;
    case RUN_STOPPED:
        error_set(&error, TN_CANCELLED, "CANCELLED", "the nested run stopped before its end");
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
    struct call *call = call_lookup_open(token);
    if (call) call_set_data(call, NULL);
    nested_complete(run, token, nested->path);
    nested_free(nested);
}

static tn_value nested_path(const struct run *outer, const struct activation *activation) {
    tn_value path = outer->path ? value_ref(outer->path) : value_array();
    tn_value id = outer->graph->document->nodes[activation->plan.node].id;
    /* The item distinguishes the runs of one map edge. */
    return value_push_take(path, activation->plan.input
                                     ? value_format("%s[%u]", value_chars(id, NULL), activation->plan.item)
                                     : value_ref(id));
}

struct activation *nested_activation_around(const struct call *call) {
    for (const struct call *at = call; at; at = call_parent(at))
        if (call_ops_of(at) == &activation_call_ops) return call_owner(at);
    return NULL;
}

/* The answers to interrupts that are still open: the run may have progressed since the answers were given. */
static tn_value open_answers(struct run *run, tn_value answers) {
    tn_value interrupts = run_interrupts(run), open = value_object();
    for (size_t i = 0; i < value_count(interrupts); i++) {
        tn_value id = value_get(value_at(interrupts, i), "id");
        tn_value answer = id && answers ? value_get_key(answers, id) : NULL;
        if (answer) open = value_set_key_take(open, value_ref(id), value_ref(answer));
    }
    value_unref(interrupts);
    return open;
}

/* True if the interrupts of the run are known outside. If it progressed after it was saved, it has new interrupts. */
static bool interrupts_are_reported(struct call *call, tn_value logged, tn_value input) {
    if (!call_resumed(call)) return false;
    tn_value logged_step = value_get(logged, "step"), saved_step = value_get(value_get(input, "saved"), "step");
    return !logged_step || (saved_step && value_equal(logged_step, saved_step));
}

/* Starts the run, or continues it from its log, or else from the state that was saved with its interrupt. */
static int32_t nested_begin(struct run *run, struct call *call, tn_value input, bool *ended, struct error *error) {
    tn_value logged = run->outer ? durable_take_nested(run) : NULL;
    if (!logged && !call_resumed(call)) {
        *ended = run_start(run, input && !value_is(input, TN_NULL) ? input : NULL);
        return TN_OK;
    }
    tn_value saved = logged ? logged : value_get(input, "saved");
    int32_t status = run_restore(run, saved, error);
    if (status == TN_OK && run_status(run) == RUN_INTERRUPTED && !interrupts_are_reported(call, logged, input)) {
        *ended = true;
    } else if (status == TN_OK) {
        tn_value answers = open_answers(run, call_resumed(call) ? value_get(input, "answers") : NULL);
        bool waits = run_status(run) == RUN_INTERRUPTED && !value_count(answers);
        struct error unanswered = ERROR_INIT;
        status = run_resume(run, answers, ended, &unanswered);
        if (status != TN_OK && waits) {
            *ended = true; /* it waits for other interrupts than those answered */
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

static bool nesting_is_too_deep(const struct run *outer) {
    uint32_t depth = 0;
    for (; outer; outer = outer->outer) depth++;
    return depth > NESTED_DEPTH_MAX;
}

static int32_t nested_fail_depth(struct call *call) {
    struct error error = ERROR_INIT;
    error_set(&error, TN_LIMIT, "LIMIT", "documents run each other more than %u deep; does one of them run itself?",
              NESTED_DEPTH_MAX);
    call_fail(call_token(call), &error);
    error_finish(&error);
    return TN_OK;
}

/*
 * The incarnation of an outermost run that belongs to a call, such as the document of a tool that is called again after
 * a question: derived from the call's id. Returns false if the call's owner provides no id.
 */
static bool incarnation_of_call(struct call *call, char out[TN_SHA256_TEXT]) {
    if (!call_ops_of(call)->context) return false;
    tn_value context = call_context(call), id = value_get(context, "task_id");
    bool known = value_is(id, TN_STRING);
    size_t length = 0;
    const char *text = known ? value_chars(id, &length) : "";
    struct tn_sha256 state;
    tn_sha256_init(&state);
    tn_sha256_update(&state, text, length);
    tn_sha256_finish_text(&state, out);
    out[32] = 0; /* an incarnation has 32 digits */
    value_unref(context);
    return known;
}

/* The document of a tool that a user calls belongs to the user, whose name is in the `run_id` of the call's context. */
static struct run *nested_run_alone(struct graph *graph, struct call *call, struct run_options *options) {
    tn_value context = call_context(call), id = value_get(context, "run_id");
    if (value_is(id, TN_STRING)) options->run_id = value_chars(id, NULL);
    struct run *run = run_new(graph, options);
    value_unref(context);
    return run;
}

int32_t nested_start(struct callable *callable, struct call *call, tn_value input) {
    struct graph *graph = (struct graph *)callable;
    struct run_options options = RUN_OPTIONS_INIT;
    struct activation *activation = nested_activation_around(call);
    struct run *outer = activation ? activation->run : NULL;
    if (nesting_is_too_deep(outer)) return nested_fail_depth(call);
    struct nested *nested = mem_zalloc(sizeof *nested);
    if (outer) {
        options = outer->options;
        options.log = NULL;
        options.replay = NULL;
        options.loaded = NULL;
        options.document = NULL;
        options.served = NULL;
        options.event = NULL;
        options.timeout_ms = 0;
        options.concurrency = 0;
        options.strategy = -1;
        options.seed = run_mix(outer->options.seed, activation_hash(activation));
    }
    options.ended = nested_ended;
    options.user = nested;
    struct run *run = outer ? run_new(graph, &options) : nested_run_alone(graph, call, &options);
    if (outer) {
        struct run *root = run_outermost(outer);
        run->outer = outer;
        run->path = nested_path(outer, activation);
        run->outer_activation = activation->index;
        nested->path = call_path(call);
        run->scope = activation_child_hash(activation, nested->path);
        struct run **last = &root->nested; /* in start order, in which run_continue resumes them */
        while (*last) last = &(*last)->next_nested;
        *last = run;
    }
    char incarnation[TN_SHA256_TEXT];
    if (!outer && incarnation_of_call(call, incarnation)) run_set_incarnation(run, incarnation);
    nested->run = run;
    nested->token = call_token(call);
    call_set_data(call, nested);
    bool ended = false;
    struct error error = ERROR_INIT;
    int32_t status = nested_begin(run, call, input, &ended, &error);
    if (status != TN_OK) {
        nested_unlink(run);
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
