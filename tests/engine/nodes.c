/*
 * nodes.c - the node types of the engine tests: each does one thing, and can be made to misbehave in one way.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <tenon/easy.h>
#include <time.h>

TN_PLUGIN("test.nodes", "1.0.0", "Nodes for the tests of the engine")

TN_NODE(add, "test.add", "Writes a channel's number plus n.", TN_PURE, (READ, in, "the number"),
        (WRITE, out, "where the sum goes"), (INT_OR, n, 1, "what is added")) {
    (void)input;
    tn_value value = tn_read(task, config->in);
    int64_t number = 0;
    int32_t status = tn.value->as_int(value, &number);
    tn_release(value);
    if (status != TN_OK) return tn_fail(task, "TYPE", "the number to add to is not an integer");
    tn_write_int(task, config->out, number + config->n);
    return tn_done(task);
}

TN_NODE_BLOCKING(add_blocking, "test.add_blocking", "As test.add, on a worker thread.", TN_PURE,
                 (READ, in, "the number"), (WRITE, out, "where the sum goes"), (INT_OR, n, 1, "what is added")) {
    (void)input;
    tn_value value = tn_read(task, config->in);
    int64_t number = 0;
    tn.value->as_int(value, &number);
    tn_release(value);
    tn_write_int(task, config->out, number + config->n);
    return tn_done(task);
}

TN_NODE(write, "test.write", "Writes a value.", TN_PURE, (WRITE, out, "the channel"),
        (VALUE, value, "what is written")) {
    (void)input;
    tn_write(task, config->out, config->value);
    return tn_done(task);
}

TN_NODE(copy, "test.copy", "Writes what it reads.", TN_PURE, (READ, in, "what is read"), (WRITE, out, "the channel")) {
    (void)input;
    tn_value value = tn_read(task, config->in);
    tn_write_take(task, config->out, value);
    return tn_done(task);
}

TN_NODE(echo, "test.echo", "Writes the input it was sent.", TN_PURE, (WRITE, out, "the channel")) {
    tn_write(task, config->out, input);
    return tn_done(task);
}

TN_NODE(output, "test.output", "Completes with a value, whatever it is.", TN_PURE, (VALUE, value, "the output")) {
    (void)input;
    return tn_done_value(task, config->value);
}

/* Counts its calls in all runs of the process. */
TN_NODE(count, "test.count", "Writes how often it has been called.", TN_PURE, (READ, in, "a channel it depends on"),
        (WRITE, out, "the channel")) {
    static int64_t calls;
    (void)input;
    tn_write_int(task, config->out, ++calls);
    return tn_done(task);
}

static int32_t flake(tn_task task, uint32_t out, int64_t succeeds_at, int32_t retryable, const char *code,
                     int64_t after_ms) {
    tn_value context = tn_context(task);
    int64_t attempt = tn_get_int(context, "attempt", 0);
    tn_release(context);
    if (attempt < succeeds_at) {
        tn_builder *builder = tn_builder_new();
        tn.value->begin(builder, TN_OBJECT);
        tn_put_text(builder, "code", code);
        tn_put_text(builder, "message", "failing as configured");
        tn_put_bool(builder, "retryable", retryable);
        if (after_ms > 0) tn_put_int(builder, "retry_after_ms", after_ms);
        tn.value->end(builder);
        return tn_fail_take(task, tn_finish(builder));
    }
    if (out != TN_UNBOUND) tn_write_int(task, out, attempt);
    return tn_done(task);
}

TN_NODE(flaky, "test.flaky", "Fails until the attempt given, then writes that attempt.", TN_PURE,
        (WRITE, out, "the channel"), (INT_OR, succeeds_at, 1, "the attempt that succeeds"),
        (BOOL_OR, retryable, 1, "what its failures say"), (TEXT_OR, code, "OVERLOADED", "their code"),
        (INT_OR, after_ms, 0, "when to try again, by them")) {
    return flake(task, config->out, config->succeeds_at, config->retryable, config->code, config->after_ms);
}

TN_NODE(flaky_destroyer, "test.flaky_destroyer", "As test.flaky, and what it does cannot be undone.",
        TN_EFFECTS("destructive"), (WRITE, out, "the channel"), (INT_OR, succeeds_at, 1, "the attempt that succeeds")) {
    return flake(task, config->out, config->succeeds_at, 1, "BROKEN", 0);
}

TN_NODE(ask, "test.ask", "Asks for an answer, and writes it.", TN_PURE, (WRITE, out, "the channel"),
        (VALUE_OPT, schema, "the answer's schema")) {
    tn_value answer = tn_get(input, "answer");
    if (answer == NULL) {
        tn_value payload = tn_text("may I?"), continuation = tn_int(7);
        tn.task->interrupt(task, payload, config->schema, continuation);
        tn_release(payload);
        tn_release(continuation);
        return TN_OK;
    }
    tn_write(task, config->out, answer);
    return tn_done(task);
}

/* Counts its calls in all runs of the process. */
TN_TOOL(tally, "test.tally", "Says how often it has been called.", TN_EFFECTS("destructive"),
        (INT_OR, unused, 0, "nothing")) {
    static int calls;
    char text[32];
    (void)args;
    (void)snprintf(text, sizeof text, "tallied %d", ++calls);
    return tn_done_text(task, text);
}

/* Its uses may be repeated, so that a node that calls it is retried and cached. */
TN_TOOL(look, "test.look", "Says how often it has been called; fails unless that is a multiple of `works_every`.",
        TN_PURE, (INT_OR, works_every, 1, "which calls do not fail")) {
    static int64_t calls;
    if (++calls % args->works_every != 0) return tn_fail(task, "OVERLOADED", "failing as configured");
    return tn_done_int(task, calls);
}

/* A tool that asks first. It is called again only with the answer. */
static int32_t approve_start(void *self, tn_task task, tn_value input) {
    (void)self;
    tn_value answer = tn_get(input, "answer");
    if (answer != NULL) return tn_done_value(task, answer);
    tn_value payload = tn_text("may I?");
    tn.task->interrupt(task, payload, NULL, NULL);
    tn_release(payload);
    return TN_OK;
}

TN_NOTE("{\"component\": {\"kind\": \"tool\", \"id\": \"test.approve\", \"title\": \"Asks.\", \"style\": \"async\", "
        "\"effects\": [\"destructive\"], \"input\": {\"type\": \"object\"}}}")
TN_COMPONENT(approve, "test.approve", NULL, approve_start, NULL, NULL, NULL)

/* Calls test.tally twice, then test.approve, and writes what each returned. */
struct agent {
    uint32_t out, tally, approve;
};

struct agent_task {
    const struct agent *agent;
    tn_task task;
    int calls;
};

static int32_t agent_done(void *user, int32_t status, tn_value result);

static void agent_next(struct agent_task *it) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn.value->end(builder);
    tn_value arguments = tn_finish(builder);
    uint32_t callee = it->calls < 2 ? it->agent->tally : it->agent->approve;
    if (tn.task->call(it->task, callee, arguments, NULL, agent_done, it, NULL) != TN_OK) {
        tn_fail(it->task, "CALL", "a tool cannot be called");
        free(it);
    }
    tn_release(arguments);
}

static int32_t agent_done(void *user, int32_t status, tn_value result) {
    struct agent_task *it = user;
    if (status != TN_OK) {
        tn_fail(it->task, tn_get_text(result, "code", "CANCELLED"), "a tool has failed");
        free(it);
        return TN_OK;
    }
    tn.task->write(it->task, it->agent->out, result);
    if (++it->calls == 3) {
        tn_done(it->task);
        free(it);
        return TN_OK;
    }
    agent_next(it);
    return TN_OK;
}

static int32_t agent_start(void *self, tn_task task, tn_value input) {
    (void)input;
    struct agent_task *it = calloc(1, sizeof *it);
    if (it == NULL) return TN_NO_MEMORY;
    it->agent = self;
    it->task = task;
    agent_next(it);
    return TN_OK;
}

static int32_t agent_create(tn_value config, tn_binder *binder, void **self) {
    struct agent *agent = calloc(1, sizeof *agent);
    if (agent == NULL) return TN_NO_MEMORY;
    int32_t status = tn.task->bind_write(binder, tn_get_text(config, "out", ""), TN_Z, &agent->out);
    if (status == TN_OK) status = tn.task->bind_call(binder, "tool", TN_Z, "test.tally", TN_Z, NULL, &agent->tally);
    if (status == TN_OK) status = tn.task->bind_call(binder, "tool", TN_Z, "test.approve", TN_Z, NULL, &agent->approve);
    if (status == TN_OK)
        *self = agent;
    else
        free(agent);
    return status;
}

TN_NOTE("{\"component\": {\"kind\": \"node\", \"id\": \"test.agent\", \"title\": \"Calls tools.\", \"style\": "
        "\"async\", \"effects\": [\"calls.any\"], "
        "\"config\": {\"type\": \"object\", \"required\": [\"out\"], \"properties\": {\"out\": {\"type\": "
        "\"string\", \"x-tenon\": \"channel-write\"}}}}}")
TN_COMPONENT(agent, "test.agent", agent_create, agent_start, NULL, NULL, free)

TN_NODE(hang, "test.hang", "Never ends by itself.", TN_PURE) {
    (void)task, (void)config, (void)input;
    return TN_OK;
}

TN_NODE(die, "test.die", "Ends the process.", TN_PURE) {
    (void)task, (void)config, (void)input;
    abort();
}

TN_NODE_BLOCKING(wait, "test.wait", "Blocks until it is cancelled.", TN_PURE) {
    (void)config, (void)input;
    while (tn.task->cancelled(task) == 0) {
        struct timespec brief = {0, 1000000};
        nanosleep(&brief, NULL);
    }
    return TN_CANCELLED;
}

TN_NODE_BLOCKING(await_file, "test.await_file", "Blocks until a file exists, or until it is cancelled.", TN_PURE,
                 (TEXT, file, "its path")) {
    struct stat found;
    (void)input;
    while (stat(config->file, &found) != 0) {
        struct timespec brief = {0, 1000000};
        if (tn.task->cancelled(task) != 0) return TN_CANCELLED;
        nanosleep(&brief, NULL);
    }
    return tn_done(task);
}

TN_NODE(count_destroyer, "test.count_destroyer", "As test.count, and not pure.", TN_EFFECTS("destructive"),
        (READ, in, "a channel it depends on"), (WRITE, out, "the channel")) {
    static int64_t calls;
    (void)input;
    tn_write_int(task, config->out, ++calls);
    return tn_done(task);
}

TN_NODE(tokens, "test.tokens", "Emits tokens as a model does, and fails until the attempt given.", TN_PURE,
        (INT_OR, succeeds_at, 1, "the attempt that succeeds")) {
    static const char *const words[] = {"Hel", "lo"};
    (void)input;
    for (int i = 0; i < 2; i++) {
        tn_builder *builder = tn_builder_new();
        tn.value->begin(builder, TN_OBJECT);
        tn_put_begin(builder, "messages", TN_OBJECT);
        tn_put_text(builder, "content", words[i]);
        tn.value->end(builder);
        tn.value->end(builder);
        tn_value chunk = tn_finish(builder);
        int32_t status = tn.task->emit(task, chunk);
        tn_release(chunk);
        if (status != TN_OK) return status;
    }
    return flake(task, TN_UNBOUND, config->succeeds_at, 1, "BROKEN", 0);
}

TN_NODE(context, "test.context", "Writes its task's context.", TN_PURE, (WRITE, out, "the channel")) {
    (void)input;
    tn_value context = tn_context(task);
    tn_write_take(task, config->out, context);
    return tn_done(task);
}

TN_NODE(key, "test.key", "Writes its idempotency key.", TN_PURE, (WRITE, out, "the channel")) {
    (void)input;
    tn_value context = tn_context(task);
    tn_write_take(task, config->out, tn_text(tn_get_text(context, "task_id", "none")));
    tn_release(context);
    return tn_done(task);
}

/* ---- Reducers: from {current, writes} to the new value of the channel ---- */

TN_NOTE(
    "{\"component\": {\"kind\": \"reducer\", \"id\": \"test.longest\", \"title\": \"Keeps the longest text\", "
    "\"documentation\": \"For tests.\", \"style\": \"async\", \"effects\": [], \"config\": {\"type\": \"object\"}}}")
TN_NOTE(
    "{\"component\": {\"kind\": \"reducer\", \"id\": \"test.slow_reducer\", \"title\": \"Does not complete in time\", "
    "\"documentation\": \"For tests.\", \"style\": \"async\", \"effects\": [], \"config\": {\"type\": \"object\"}}}")

TN_NOTE("{\"component\": {\"kind\": \"reducer\", \"id\": \"test.calling_reducer\", \"title\": \"Calls a tool\", "
        "\"documentation\": \"For tests.\", \"style\": \"async\", \"effects\": [\"calls.tool\", \"destructive\"], "
        "\"config\": {\"type\": \"object\"}}}")
TN_NOTE("{\"component\": {\"kind\": \"reducer\", \"id\": \"test.destroying_reducer\", \"title\": \"Destroys\", "
        "\"documentation\": \"For tests.\", \"style\": \"async\", \"effects\": [\"destructive\"], "
        "\"config\": {\"type\": \"object\"}}}")

static int32_t reducer_create(tn_value config, tn_binder *binder, void **self) {
    (void)config, (void)binder, (void)self;
    return TN_OK;
}

static int32_t longest_start(void *self, tn_task task, tn_value input) {
    (void)self;
    tn_value writes = tn_get(input, "writes"), longest = tn_get(input, "current");
    uint64_t most = 0;
    if (tn.value->kind(longest) == TN_STRING) (void)tn_chars(longest, &most);
    for (uint64_t i = 0; i < tn.value->count(writes); i++) {
        tn_value text = tn.value->at(writes, i);
        uint64_t length = 0;
        if (tn.value->kind(text) != TN_STRING) return tn_fail(task, "TYPE", "found no text");
        (void)tn_chars(text, &length);
        if (length <= most) continue;
        most = length;
        longest = text;
    }
    return tn_done_value(task, longest);
}

static int32_t slow_reducer_start(void *self, tn_task task, tn_value input) {
    (void)self, (void)task, (void)input;
    return TN_OK;
}

static int32_t calling_reducer_create(tn_value config, tn_binder *binder, void **self) {
    uint32_t callee;
    (void)config, (void)self;
    return tn.task->bind_call(binder, "tool", TN_Z, "test.tally", TN_Z, NULL, &callee);
}

TN_COMPONENT(longest, "test.longest", reducer_create, longest_start, NULL, NULL, NULL)
TN_COMPONENT(slow_reducer, "test.slow_reducer", reducer_create, slow_reducer_start, NULL, NULL, NULL)
TN_COMPONENT(calling_reducer, "test.calling_reducer", calling_reducer_create, longest_start, NULL, NULL, NULL)
TN_COMPONENT(destroying_reducer, "test.destroying_reducer", reducer_create, longest_start, NULL, NULL, NULL)

/* ---- Completion in random order, from another thread, for the determinism test ---- */

struct pending {
    tn_task task;
    uint32_t channel;
    tn_value value;
    const char *fail; /* an error code, or NULL to complete */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct pending pending[1024];
static uint32_t pending_count;
static int started;
static unsigned shuffle = 1;

static unsigned next_random(void) {
    shuffle ^= shuffle << 13;
    shuffle ^= shuffle >> 17;
    shuffle ^= shuffle << 5;
    return shuffle;
}

/* Completes a random one of the pending tasks, after a short random delay in which more may arrive. */
static void *complete_pending(void *unused) {
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&lock);
        while (pending_count == 0) pthread_cond_wait(&more, &lock);
        unsigned patience = next_random() % 8;
        pthread_mutex_unlock(&lock);
        for (unsigned i = 0; i < patience; i++) {
            struct timespec brief = {0, 1000};
            nanosleep(&brief, NULL);
        }
        pthread_mutex_lock(&lock);
        uint32_t at = next_random() % pending_count;
        struct pending taken = pending[at];
        pending[at] = pending[--pending_count];
        pthread_mutex_unlock(&lock);
        /* `tn` is not used after the end of the task: another host that loads this plugin then sets it again. */
        const tn_value_1 *value = tn.value;
        if (taken.fail == NULL) {
            tn.task->write(taken.task, taken.channel, taken.value);
            tn.task->complete(taken.task, NULL);
        } else {
            tn_value error = tn_error(taken.fail, "failing as configured");
            tn_fail_with(taken.task, error);
            value->release(error);
        }
        value->release(taken.value);
    }
    return NULL;
}

TN_NODE(later, "test.later", "Writes a value and completes, from another thread, in an order that TEST_SHUFFLE seeds.",
        TN_PURE, (WRITE, out, "the channel"), (VALUE_OPT, value, "what is written; else what it was sent"),
        (TEXT_OPT, fail, "a code: it fails with that")) {
    pthread_mutex_lock(&lock);
    if (!started) {
        pthread_t thread;
        const char *seed = getenv("TEST_SHUFFLE");
        if (seed != NULL) shuffle = (unsigned)strtoul(seed, NULL, 10) * 2654435761u | 1u;
        started = pthread_create(&thread, NULL, complete_pending, NULL) == 0;
        if (started) pthread_detach(thread);
    }
    if (!started || pending_count == sizeof pending / sizeof *pending) {
        pthread_mutex_unlock(&lock);
        return TN_LIMIT;
    }
    pending[pending_count++] =
        (struct pending){task, config->out, tn_retain(config->value ? config->value : input), config->fail};
    pthread_cond_signal(&more);
    pthread_mutex_unlock(&lock);
    return TN_OK;
}
