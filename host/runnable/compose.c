/*
 * compose.c - pipes, parallel branches, functions and identity, as callables.
 *
 * A composed call owns the calls of its parts, one record (`parts`) per invocation; the record lives from start until
 * the last part has ended, so that an end that comes after a cancel finds it. Parts that complete inside start are
 * walked in a loop: a pipe of a thousand identities needs no stack.
 */
#include "host/runnable/compose.h"
#include "adl/value/memory.h"
#include "host/call/call.h"

struct composed {
    struct callable callable; /* first */
    struct loop *loop;
    tn_value *names; /* parallel: NULL, or count of them */
    uint32_t count;
    struct callable *parts[];
};

/* One invocation. */
struct parts {
    struct composed *composed;
    uint64_t token;
    uint32_t at;   /* pipe: the stage that runs */
    uint32_t open; /* parallel: branches that have not ended */
    bool cancelled, failed, starting;
    struct call *calls[];
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

static struct parts *parts_new(struct composed *composed, struct call *call) {
    struct parts *parts = mem_zalloc(sizeof *parts + composed->count * sizeof(struct call *));
    parts->composed = composed;
    callable_ref(&composed->callable);
    parts->token = call_token(call);
    call_set_data(call, parts);
    return parts;
}

/* Every part has ended: ends the composed call, with the output or (output NULL) the error. */
static void parts_end(struct parts *parts, tn_value output, const struct error *error) {
    struct call *call = call_of(parts->token);
    if (call) call_set_data(call, NULL);
    if (output)
        call_complete(parts->token, output);
    else
        call_fail(parts->token, error);
    for (uint32_t i = 0; i < parts->composed->count; i++) call_free(parts->calls[i]);
    callable_unref(&parts->composed->callable);
    mem_free(parts);
}

/* A part that has not completed: its error is the composed call's. Nobody can answer what a part asks for in here. */
static void parts_fail(struct parts *parts, const struct call *part) {
    struct error error = ERROR_INIT;
    if (call_outcome(part) == CALL_INTERRUPTED) {
        error_set(&error, TN_FAILED, "INTERRUPTED",
                  "a part asks for an answer, which a pipe, a parallel or a node made of a runnable cannot give; "
                  "run that graph by itself");
        parts_end(parts, NULL, &error);
    } else {
        parts_end(parts, NULL, call_error(part));
    }
    error_finish(&error);
}

static bool forward_chunk(struct call *part, tn_value chunk) {
    struct parts *parts = call_owner(part);
    return call_emit(parts->token, chunk) != TN_AGAIN;
}

static tn_value output_of(const struct call *call) {
    tn_value output = call_output(call);
    return output ? output : value_null();
}

static void cancel_open(struct parts *parts) {
    if (parts->cancelled) return;
    parts->cancelled = true;
    for (uint32_t i = 0; i < parts->composed->count; i++)
        if (parts->calls[i] && call_outcome(parts->calls[i]) == CALL_OPEN) call_cancel(parts->calls[i]);
}

static void cancel_parts(struct callable *callable, struct call *call) {
    (void)callable;
    if (call_data(call)) cancel_open(call_data(call));
}

static void resume_parts(struct callable *callable, struct call *call) {
    (void)callable;
    struct parts *parts = call_data(call);
    for (uint32_t i = 0; parts && i < parts->composed->count; i++)
        if (parts->calls[i] && call_outcome(parts->calls[i]) == CALL_OPEN) call_resume(parts->calls[i]);
}

/* ---- Pipe ---- */

static void stage_ended(struct call *part);

/* Chunks of the stages before the last are not the pipe's output. */
static const struct call_ops last_stage_ops = {.ended = stage_ended, .chunk = forward_chunk};
static const struct call_ops stage_ops = {.ended = stage_ended};

/* Runs stages from `at` for as long as each ends inside its start. */
static void pipe_advance(struct parts *parts, tn_value input) {
    struct composed *pipe = parts->composed;
    tn_value value = value_ref(input);
    while (parts->at < pipe->count) {
        const struct call_ops *ops = parts->at + 1 == pipe->count ? &last_stage_ops : &stage_ops;
        struct call *call = parts->calls[parts->at] = call_new(pipe->loop, pipe->parts[parts->at], ops, parts);
        bool ended = call_start(call, value);
        value_unref(value);
        if (!ended) return;
        if (call_outcome(call) != CALL_COMPLETED) {
            parts_fail(parts, call);
            return;
        }
        if (parts->cancelled) { /* by a chunk's reader, while the stage completed inside its start */
            parts_end(parts, NULL, NULL);
            return;
        }
        value = value_ref(output_of(call));
        call_free(call);
        parts->calls[parts->at++] = NULL;
    }
    parts_end(parts, value, NULL);
    value_unref(value);
}

static void stage_ended(struct call *call) {
    struct parts *parts = call_owner(call);
    if (call_outcome(call) != CALL_COMPLETED) {
        parts_fail(parts, call);
        return;
    }
    if (parts->cancelled) {
        parts_end(parts, NULL, NULL);
        return;
    }
    tn_value output = value_ref(output_of(call));
    call_free(call);
    parts->calls[parts->at++] = NULL;
    pipe_advance(parts, output);
    value_unref(output);
}

static int32_t pipe_start(struct callable *callable, struct call *call, tn_value input) {
    struct parts *parts = parts_new((struct composed *)callable, call);
    pipe_advance(parts, input ? input : value_null());
    return TN_OK;
}

struct callable *pipe_new(struct loop *loop, struct callable *const *stages, uint32_t count) {
    static const struct callable_ops ops = {
        .start = pipe_start, .cancel = cancel_parts, .ready = resume_parts, .free = composed_free};
    return &composed_new(&ops, loop, stages, count)->callable;
}

/* ---- Parallel ---- */

static void parallel_end(struct parts *parts) {
    struct composed *parallel = parts->composed;
    if (parts->cancelled && !parts->failed) {
        parts_end(parts, NULL, NULL);
        return;
    }
    /* Branches cancelled because another one failed are not the reason. */
    const struct call *reason = NULL;
    for (uint32_t i = 0; i < parallel->count; i++) {
        enum call_outcome outcome = parts->calls[i] ? call_outcome(parts->calls[i]) : CALL_COMPLETED;
        if (outcome == CALL_COMPLETED || (reason && outcome == CALL_CANCELLED)) continue;
        if (!reason || call_outcome(reason) == CALL_CANCELLED) reason = parts->calls[i];
    }
    if (reason) {
        parts_fail(parts, reason);
        return;
    }
    tn_value output = parallel->names ? value_object() : value_array();
    for (uint32_t i = 0; i < parallel->count; i++) {
        tn_value part = value_ref(output_of(parts->calls[i]));
        output = parallel->names ? value_set_key_take(output, value_ref(parallel->names[i]), part)
                                 : value_push_take(output, part);
    }
    parts_end(parts, output, NULL);
    value_unref(output);
}

static void branch_note(struct parts *parts, const struct call *call) {
    parts->open--;
    parts->failed |= call_outcome(call) != CALL_COMPLETED;
}

/* After a branch has ended, and all have been started. */
static void parallel_advance(struct parts *parts) {
    if (!parts->open)
        parallel_end(parts);
    else if (parts->failed)
        cancel_open(parts);
}

static void branch_ended(struct call *call) {
    struct parts *parts = call_owner(call);
    branch_note(parts, call);
    if (!parts->starting) parallel_advance(parts);
}

static int32_t parallel_start(struct callable *callable, struct call *call, tn_value input) {
    static const struct call_ops ops = {.ended = branch_ended, .chunk = forward_chunk};
    struct composed *parallel = (struct composed *)callable;
    struct parts *parts = parts_new(parallel, call);
    parts->starting = true;
    parts->open = parallel->count;
    for (uint32_t i = 0; i < parallel->count; i++) {
        if (parts->cancelled) { /* by a chunk's reader: the rest is not started */
            parts->open--;
            continue;
        }
        parts->calls[i] = call_new(parallel->loop, parallel->parts[i], &ops, parts);
        if (call_start(parts->calls[i], input)) branch_note(parts, parts->calls[i]);
    }
    parts->starting = false;
    parallel_advance(parts);
    return TN_OK;
}

struct callable *parallel_new(struct loop *loop, struct callable *const *branches, const char *const *names,
                              uint32_t count) {
    static const struct callable_ops ops = {
        .start = parallel_start, .cancel = cancel_parts, .ready = resume_parts, .free = composed_free};
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

static void simple_free(struct callable *callable) { mem_free(callable); }

static int32_t lambda_start(struct callable *callable, struct call *call, tn_value input) {
    struct lambda *lambda = (struct lambda *)callable;
    tn_value failure = NULL;
    tn_value output = lambda->function(lambda->user, input ? input : value_null(), &failure);
    uint64_t token = call_token(call);
    if (output) {
        call_complete(token, output);
    } else {
        struct error error = ERROR_INIT;
        if (failure)
            error_from_value(&error, failure);
        else
            error_set(&error, TN_FAILED, "NODE_EXECUTION", "the function gave nothing and no error");
        call_fail(token, &error);
        error_finish(&error);
    }
    value_unref(output);
    value_unref(failure);
    return TN_OK;
}

struct callable *lambda_new(tn_value (*function)(void *user, tn_value input, tn_value *error), void *user) {
    static const struct callable_ops ops = {.start = lambda_start, .free = simple_free};
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
    static const struct callable_ops ops = {.start = identity_start, .free = simple_free};
    struct callable *identity = mem_zalloc(sizeof *identity);
    *identity = (struct callable){&ops, 1};
    return identity;
}
