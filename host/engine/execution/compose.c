/*
 * compose.c - pipes, parallel branches, functions and identity, as callables.
 *
 * The parts of a composed callable are the stages of a pipe or the branches of a parallel. Each call of it has a
 * compose_state, which owns the calls of the parts. The state exists until the last part has ended, so that a part that
 * ends after a cancel still finds it. Parts that complete inside their start are handled in a loop: a pipe of a
 * thousand identities needs no stack. All functions are [loop].
 */
#include "host/engine/execution/compose.h"
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/engine/graph/run.h"
#include "host/plugin/call/call.h"
#include <assert.h>

struct composed {
    struct callable callable; /* first */
    struct loop *loop;
    tn_value *names; /* owned; parallel: `count` names, or NULL */
    uint32_t count;
    bool ends_with_model;     /* pipe: chunks of its last stage are deltas */
    struct callable *parts[]; /* owned references */
};

/* One call of a composed callable. */
struct compose_state {
    struct composed *composed; /* owned reference */
    uint64_t token;            /* of the composed call */
    uint32_t at;               /* pipe: index of the running stage */
    uint32_t open;             /* parallel: number of branches that have not ended */
    bool cancelled;            /* the parts were cancelled; no other part is started */
    bool failed;               /* parallel: a branch did not complete */
    bool starting;             /* parallel: branches are being started; those that end are only noted */
    struct call *calls[];      /* owned; NULL for a part that was not started, and for a completed stage */
};

static void composed_free(struct callable *callable) {
    struct composed *composed = (struct composed *)callable;
    for (uint32_t i = 0; i < composed->count; i++) {
        callable_unref(composed->parts[i]);
        if (composed->names) value_unref(composed->names[i]);
    }
    mem_free(composed->names);
    mem_free(composed);
}

static struct composed *composed_new(const struct callable_ops *ops, struct loop *loop, struct callable *const *parts,
                                     uint32_t count) {
    struct composed *composed = mem_zalloc(sizeof *composed + count * sizeof *parts);
    composed->callable = (struct callable){ops, 1};
    composed->loop = loop;
    composed->count = count;
    for (uint32_t i = 0; i < count; i++) composed->parts[i] = callable_ref(parts[i]);
    return composed;
}

static struct compose_state *compose_state_new(struct composed *composed, struct call *call) {
    struct compose_state *state = mem_zalloc(sizeof *state + composed->count * sizeof(struct call *));
    state->composed = composed;
    callable_ref(&composed->callable);
    state->token = call_token(call);
    call_set_data(call, state);
    return state;
}

/* All parts have ended: ends the composed call with `output`, or with `error` if `output` is NULL. Frees the state. */
static void compose_end(struct compose_state *state, tn_value output, const struct error *error) {
    struct call *call = call_lookup_open(state->token);
    if (call) call_set_data(call, NULL);
    if (output)
        call_complete(state->token, output);
    else
        call_fail(state->token, error);
    for (uint32_t i = 0; i < state->composed->count; i++) {
        assert(!state->calls[i] || call_outcome(state->calls[i]) != CALL_OPEN);
        call_free(state->calls[i]);
    }
    callable_unref(&state->composed->callable);
    mem_free(state);
}

/* Ends the composed call with the error of a part. A part cannot be interrupted, because no answer can reach it. */
static void compose_fail(struct compose_state *state, const struct call *part) {
    struct error error = ERROR_INIT;
    if (call_outcome(part) == CALL_INTERRUPTED) {
        error_set(&error, TN_FAILED, "INTERRUPTED",
                  "a part waits for an answer, which a pipe, a parallel or a node made of a runnable cannot pass on; "
                  "run that graph directly");
        compose_end(state, NULL, &error);
    } else {
        compose_end(state, NULL, call_error(part));
    }
    error_finish(&error);
}

static bool compose_forward_chunk(struct call *part, tn_value chunk) {
    struct compose_state *state = call_owner(part);
    return call_emit(state->token, chunk) != TN_AGAIN;
}

/* The output of a completed part; borrowed. */
static tn_value compose_part_output(const struct call *call) {
    tn_value output = call_output(call);
    return output ? output : value_null();
}

static void compose_cancel_parts(struct compose_state *state) {
    if (state->cancelled) return;
    state->cancelled = true;
    for (uint32_t i = 0; i < state->composed->count; i++)
        if (state->calls[i] && call_outcome(state->calls[i]) == CALL_OPEN) call_cancel(state->calls[i]);
}

static void compose_on_cancel(struct callable *callable, struct call *call) {
    (void)callable;
    if (call_data(call)) compose_cancel_parts(call_data(call));
}

/* The reader of the composed call accepts chunks again. */
static void compose_on_ready(struct callable *callable, struct call *call) {
    (void)callable;
    struct compose_state *state = call_data(call);
    for (uint32_t i = 0; state && i < state->composed->count; i++)
        if (state->calls[i] && call_outcome(state->calls[i]) == CALL_OPEN) call_resume(state->calls[i]);
}

/* ---- Pipe ---- */

static void pipe_on_stage_ended(struct call *part);

/* Chunks of the stages before the last are not the pipe's output, except for what models say meanwhile. */
static bool pipe_forward_delta(struct call *part, tn_value chunk) {
    return !chunk_delta(chunk) || compose_forward_chunk(part, chunk);
}

/* A model emits deltas. Outside they are {messages: delta}, as a node emits those of the models that it calls. */
static bool pipe_wrap_delta(struct call *part, tn_value chunk) {
    tn_value wrapped = value_set_take(value_object_reserve(1), "messages", value_ref(chunk));
    bool more = compose_forward_chunk(part, wrapped);
    value_unref(wrapped);
    return more;
}

static const struct call_ops model_stage_ops = {.ended = pipe_on_stage_ended, .chunk = pipe_wrap_delta};
static const struct call_ops last_stage_ops = {.ended = pipe_on_stage_ended, .chunk = compose_forward_chunk};
static const struct call_ops stage_ops = {.ended = pipe_on_stage_ended, .chunk = pipe_forward_delta};

static const struct call_ops *pipe_stage_ops(const struct composed *pipe, uint32_t stage) {
    if (stage + 1 < pipe->count) return &stage_ops;
    return pipe->ends_with_model ? &model_stage_ops : &last_stage_ops;
}

/* Runs stages from `at` on, while each ends inside its start. */
static void pipe_advance(struct compose_state *state, tn_value input) {
    struct composed *pipe = state->composed;
    tn_value value = value_ref(input);
    while (state->at < pipe->count) {
        const struct call_ops *ops = pipe_stage_ops(pipe, state->at);
        struct call *call = state->calls[state->at] = call_new(pipe->loop, pipe->parts[state->at], ops, state);
        bool ended = call_start(call, value);
        value_unref(value);
        if (!ended) return;
        if (call_outcome(call) != CALL_COMPLETED) {
            compose_fail(state, call);
            return;
        }
        if (state->cancelled) { /* the reader of a chunk cancelled it inside the start of the stage */
            compose_end(state, NULL, NULL);
            return;
        }
        value = value_ref(compose_part_output(call));
        call_free(call);
        state->calls[state->at++] = NULL;
    }
    compose_end(state, value, NULL);
    value_unref(value);
}

static void pipe_on_stage_ended(struct call *call) {
    struct compose_state *state = call_owner(call);
    assert(call == state->calls[state->at]);
    if (call_outcome(call) != CALL_COMPLETED) {
        compose_fail(state, call);
        return;
    }
    if (state->cancelled) {
        compose_end(state, NULL, NULL);
        return;
    }
    tn_value output = value_ref(compose_part_output(call));
    call_free(call);
    state->calls[state->at++] = NULL;
    pipe_advance(state, output);
    value_unref(output);
}

static int32_t pipe_start(struct callable *callable, struct call *call, tn_value input) {
    struct compose_state *state = compose_state_new((struct composed *)callable, call);
    pipe_advance(state, input ? input : value_null());
    return TN_OK;
}

struct callable *pipe_new(struct loop *loop, struct callable *const *stages, uint32_t count) {
    static const struct callable_ops ops = {
        .start = pipe_start, .cancel = compose_on_cancel, .ready = compose_on_ready, .free = composed_free};
    return &composed_new(&ops, loop, stages, count)->callable;
}

struct callable *pipe_to_model_new(struct loop *loop, struct callable *const *stages, uint32_t count) {
    struct callable *pipe = pipe_new(loop, stages, count);
    ((struct composed *)pipe)->ends_with_model = true;
    return pipe;
}

/* ---- Parallel ---- */

/* All branches have ended. */
static void parallel_end(struct compose_state *state) {
    assert(!state->open && !state->starting);
    struct composed *parallel = state->composed;
    if (state->cancelled && !state->failed) {
        compose_end(state, NULL, NULL);
        return;
    }
    /* The error is that of the first branch that failed, not of one that was cancelled because of it. */
    const struct call *reason = NULL;
    for (uint32_t i = 0; i < parallel->count; i++) {
        enum call_outcome outcome = state->calls[i] ? call_outcome(state->calls[i]) : CALL_COMPLETED;
        if (outcome == CALL_COMPLETED || (reason && outcome == CALL_CANCELLED)) continue;
        if (!reason || call_outcome(reason) == CALL_CANCELLED) reason = state->calls[i];
    }
    if (reason) {
        compose_fail(state, reason);
        return;
    }
    tn_value output = parallel->names ? value_object() : value_array();
    for (uint32_t i = 0; i < parallel->count; i++) {
        tn_value part = value_ref(compose_part_output(state->calls[i]));
        output = parallel->names ? value_set_key_take(output, value_ref(parallel->names[i]), part)
                                 : value_push_take(output, part);
    }
    compose_end(state, output, NULL);
    value_unref(output);
}

/* Counts a branch that has ended. */
static void parallel_note_branch(struct compose_state *state, const struct call *call) {
    assert(state->open > 0);
    state->open--;
    state->failed |= call_outcome(call) != CALL_COMPLETED;
}

/* A branch has ended, and all have been started: ends the call after the last one, and cancels the rest on a failure.
 */
static void parallel_advance(struct compose_state *state) {
    if (!state->open)
        parallel_end(state);
    else if (state->failed)
        compose_cancel_parts(state);
}

static void parallel_on_branch_ended(struct call *call) {
    struct compose_state *state = call_owner(call);
    parallel_note_branch(state, call);
    if (!state->starting) parallel_advance(state);
}

static int32_t parallel_start(struct callable *callable, struct call *call, tn_value input) {
    static const struct call_ops ops = {.ended = parallel_on_branch_ended, .chunk = compose_forward_chunk};
    struct composed *parallel = (struct composed *)callable;
    struct compose_state *state = compose_state_new(parallel, call);
    state->starting = true;
    state->open = parallel->count;
    for (uint32_t i = 0; i < parallel->count; i++) {
        if (state->cancelled) { /* the reader of a chunk cancelled it: do not start the other parts */
            state->open--;
            continue;
        }
        state->calls[i] = call_new(parallel->loop, parallel->parts[i], &ops, state);
        if (call_start(state->calls[i], input)) parallel_note_branch(state, state->calls[i]);
    }
    state->starting = false;
    parallel_advance(state);
    return TN_OK;
}

struct callable *parallel_new(struct loop *loop, struct callable *const *branches, const char *const *names,
                              uint32_t count) {
    static const struct callable_ops ops = {
        .start = parallel_start, .cancel = compose_on_cancel, .ready = compose_on_ready, .free = composed_free};
    struct composed *parallel = composed_new(&ops, loop, branches, count);
    if (names) {
        parallel->names = mem_array(NULL, count + 1u, sizeof *parallel->names);
        for (uint32_t i = 0; i < count; i++) parallel->names[i] = value_text(names[i]);
    }
    return &parallel->callable;
}

/* ---- Lambda and identity ---- */

struct lambda {
    struct callable callable; /* first */
    tn_value (*function)(void *user, tn_value input, tn_value *error);
    void *user;
};

static void callable_free_memory(struct callable *callable) { mem_free(callable); }

static int32_t lambda_start(struct callable *callable, struct call *call, tn_value input) {
    struct lambda *lambda = (struct lambda *)callable;
    tn_value failure = NULL;
    struct log *log = log_current();
    tn_value output = lambda->function(lambda->user, input ? input : value_null(), &failure);
    log_enter(log); /* the function can have used another host */
    uint64_t token = call_token(call);
    if (output) {
        call_complete(token, output);
    } else {
        struct error error = ERROR_INIT;
        if (failure)
            error_from_value(&error, failure);
        else
            error_set(&error, TN_FAILED, "NODE_EXECUTION", "the function returned neither an output nor an error");
        call_fail(token, &error);
        error_finish(&error);
    }
    value_unref(output);
    value_unref(failure);
    return TN_OK;
}

struct callable *lambda_new(tn_value (*function)(void *user, tn_value input, tn_value *error), void *user) {
    static const struct callable_ops ops = {.start = lambda_start, .free = callable_free_memory};
    struct lambda *lambda = mem_zalloc(sizeof *lambda);
    *lambda = (struct lambda){{&ops, 1}, function, user};
    return &lambda->callable;
}

static int32_t identity_start(struct callable *callable, struct call *call, tn_value input) {
    (void)callable;
    call_complete(call_token(call), input ? input : value_null());
    return TN_OK;
}

struct callable *identity_new(void) {
    static const struct callable_ops ops = {.start = identity_start, .free = callable_free_memory};
    struct callable *identity = mem_zalloc(sizeof *identity);
    *identity = (struct callable){&ops, 1};
    return identity;
}
