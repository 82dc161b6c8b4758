/*
 * nodes.c - nodes and tools with an effect outside: they append a line to the file CRASH_LINES each time they act.
 *
 * The line is the idempotency key of the task or call, followed by '#' if it acts again on an answer. Their writes to
 * the graph contain the same key, so the records of the store show which lines are known to be written and must not be
 * written again.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/easy.h>
#include <unistd.h>

TN_PLUGIN("test.crash", "1.0.0", "Nodes that record their actions, for the tests of durability")

#define KEY_MAX 200

static void read_key(tn_task task, const char *suffix, char out[KEY_MAX]) {
    tn_value context = tn_context(task);
    (void)snprintf(out, KEY_MAX, "%s%s", tn_get_text(context, "task_id", "?"), suffix);
    tn_release(context);
}

/* Writes nothing without such a file, for example when the manifest of the plugin is checked. */
static void append_line(const char *key) {
    const char *path = getenv("CRASH_LINES");
    char line[KEY_MAX + 1];
    int length = snprintf(line, sizeof line, "%s\n", key);
    int fd = path != NULL ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd < 0) return;
    if (write(fd, line, (size_t)length) != length) abort();
    (void)close(fd);
}

static int64_t count_lines(const char *key) {
    const char *path = getenv("CRASH_LINES");
    char line[KEY_MAX + 2];
    int64_t count = 0;
    FILE *file = path != NULL ? fopen(path, "re") : NULL;
    if (file == NULL) return 0;
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        count += strcmp(line, key) == 0;
    }
    (void)fclose(file);
    return count;
}

static tn_value padded_text(const char *key, int64_t pad) {
    size_t length = strlen(key), more = pad > 0 ? (size_t)pad : 0;
    if (more == 0) return tn_text(key);
    char *text = malloc(length + 1 + more);
    if (text == NULL) return NULL;
    (void)snprintf(text, length + 2, "%s ", key);
    memset(text + length + 1, 'x', more);
    tn_value value = tn_text_n(text, length + 1 + more);
    free(text);
    return value;
}

/* With CRASH_VARY, each result is different, as those of models and services are. */
static tn_value result_text(const char *key, int64_t pad) {
    static atomic_uint count;
    char varied[KEY_MAX + 40];
    if (getenv("CRASH_VARY") == NULL) return padded_text(key, pad);
    (void)snprintf(varied, sizeof varied, "%s by %d.%u", key, (int)getpid(), atomic_fetch_add(&count, 1));
    return padded_text(varied, pad);
}

static int32_t append_and_write(tn_task task, uint32_t out, int64_t pad) {
    char key[KEY_MAX];
    read_key(task, "", key);
    append_line(key);
    return tn_write_take(task, out, result_text(key, pad)) == TN_OK ? tn_done(task) : TN_NO_MEMORY;
}

TN_NODE(effect, "crash.effect", "Appends a line, and writes its key.", TN_EFFECTS("destructive"),
        (WRITE, out, "the channel for the key"), (INT_OR, pad, 0, "bytes after the key")) {
    (void)input;
    return append_and_write(task, config->out, config->pad);
}

TN_NODE_BLOCKING(effect_blocking, "crash.effect_blocking", "As crash.effect, on a worker thread.",
                 TN_EFFECTS("destructive"), (WRITE, out, "the channel for the key")) {
    (void)input;
    return append_and_write(task, config->out, 0);
}

/* Two named pipes: writing to the first reports that the node waits; reading from the second waits for its release. */
TN_NODE_BLOCKING(wait_node, "crash.wait", "As crash.effect, but waits if CRASH_REACHED and CRASH_RELEASE are set.",
                 TN_EFFECTS("destructive"), (WRITE, out, "the channel for the key")) {
    const char *reached = getenv("CRASH_REACHED"), *release = getenv("CRASH_RELEASE");
    char key[KEY_MAX], byte = '.';
    (void)input;
    read_key(task, "", key);
    append_line(key);
    if (reached != NULL && release != NULL) {
        int fd = open(reached, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, &byte, 1) != 1) abort();
        (void)close(fd);
        fd = open(release, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || read(fd, &byte, 1) != 1) abort();
        (void)close(fd);
    }
    tn_write_text(task, config->out, key);
    return tn_done(task);
}

/* The number of its lines decides whether it fails, so that undisturbed and resumed runs both succeed in the end. */
TN_NODE(flaky, "crash.flaky", "Appends a line, and fails until the file has `lines` of them.",
        TN_EFFECTS("destructive"), (WRITE, out, "the channel for the key"),
        (INT, lines, "the number of lines from which it succeeds")) {
    char key[KEY_MAX];
    (void)input;
    read_key(task, "", key);
    append_line(key);
    if (count_lines(key) < config->lines) return tn_fail(task, "BROKEN", "this attempt fails by design");
    tn_write_text(task, config->out, key);
    return tn_done(task);
}

TN_NODE(fails, "crash.fails", "Appends a line, and fails with its key.", TN_EFFECTS("destructive")) {
    char key[KEY_MAX];
    (void)input, (void)config;
    read_key(task, "", key);
    append_line(key);
    return tn_fail(task, "BROKEN", key);
}

static int32_t interrupt_task(tn_task task, const char *key) {
    tn_value payload = tn_text("may I?"), continuation = tn_text(key);
    tn.task->interrupt(task, payload, NULL, continuation);
    tn_release(payload);
    tn_release(continuation);
    return TN_OK;
}

TN_NODE(ask_node, "crash.ask", "Appends a line, interrupts, appends another line, and writes its key.",
        TN_EFFECTS("destructive"), (WRITE, out, "the channel for the key")) {
    char key[KEY_MAX];
    int answered = tn_get(input, "answer") != NULL;
    read_key(task, answered ? "#" : "", key);
    append_line(key);
    if (!answered) return interrupt_task(task, key);
    tn_write_text(task, config->out, key);
    return tn_done(task);
}

/* ---- Nodes that declare that they may be repeated ---- */

static int32_t retried_create(tn_value config, tn_binder *binder, void **self) {
    uint32_t *out = malloc(sizeof *out);
    if (out == NULL) return TN_NO_MEMORY;
    int32_t status = tn.task->bind_write(binder, tn_get_text(config, "out", ""), TN_Z, out);
    if (status == TN_OK)
        *self = out;
    else
        free(out);
    return status;
}

static int32_t retried_start(void *self, tn_task task, tn_value input) {
    char key[KEY_MAX];
    tn_value context = tn_context(task);
    int64_t attempt = tn_get_int(context, "attempt", 0);
    tn_release(context);
    (void)input;
    read_key(task, "", key);
    append_line(key);
    if (attempt >= 3) {
        tn_write_text(task, *(uint32_t *)self, key);
        return tn_done(task);
    }
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "code", "OVERLOADED");
    tn_put_text(builder, "message", "failing twice, as intended");
    tn_put_bool(builder, "retryable", 1);
    tn.value->end(builder);
    return tn_fail_take(task, tn_finish(builder));
}

TN_NOTE(
    "{\"component\": {\"kind\": \"node\", \"id\": \"crash.retried\", \"title\": \"As crash.effect, at the third "
    "attempt.\", \"style\": \"async\", \"effects\": [\"destructive\"], \"idempotent\": true, \"config\": {\"type\": "
    "\"object\", \"required\": [\"out\"], \"properties\": {\"out\": {\"type\": \"string\", \"x-tenon\": "
    "\"channel-write\"}}}}}")
TN_COMPONENT(retried, "crash.retried", retried_create, retried_start, NULL, NULL, free)

/* ---- Tools and their callers ---- */

TN_TOOL(tool, "crash.tool", "Appends a line, and returns its key.", TN_EFFECTS("destructive"),
        (INT_OR, unused, 0, "nothing")) {
    char key[KEY_MAX];
    (void)args;
    read_key(task, "", key);
    append_line(key);
    return tn_done_take(task, result_text(key, 0));
}

TN_TOOL(flaky_tool, "crash.flaky_tool", "As crash.tool, and fails the first time.", TN_EFFECTS("destructive"),
        (INT_OR, unused, 0, "nothing")) {
    char key[KEY_MAX];
    (void)args;
    read_key(task, "", key);
    append_line(key);
    return count_lines(key) < 2 ? tn_fail(task, "BROKEN", "this attempt fails by design") : tn_done_text(task, key);
}

static int32_t approve_start(void *self, tn_task task, tn_value input) {
    char key[KEY_MAX];
    int answered = tn_get(input, "answer") != NULL;
    (void)self;
    read_key(task, answered ? "#" : "", key);
    append_line(key);
    return answered ? tn_done_text(task, key) : interrupt_task(task, key);
}

TN_NOTE("{\"component\": {\"kind\": \"tool\", \"id\": \"crash.approve\", \"title\": \"Asks first.\", \"style\": "
        "\"async\", \"effects\": [\"destructive\"], \"input\": {\"type\": \"object\"}}}")
TN_COMPONENT(approve, "crash.approve", NULL, approve_start, NULL, NULL, NULL)

struct agent {
    uint32_t out, tool, last;
    int calls;
};

struct agent_task {
    const struct agent *agent;
    tn_task task;
    int calls;
};

#define AGENT_CALLS 3 /* calls of crash.tool, before the call of the configured tool */

static int32_t agent_called(void *user, int32_t status, tn_value result);

static void agent_next(struct agent_task *it) {
    const struct agent *agent = it->agent;
    if (it->calls == agent->calls) {
        tn_done(it->task);
        free(it);
        return;
    }
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn.value->end(builder);
    tn_value arguments = tn_finish(builder);
    uint32_t callee = it->calls < AGENT_CALLS ? agent->tool : agent->last;
    if (tn.task->call(it->task, callee, arguments, NULL, agent_called, it, NULL) != TN_OK) {
        tn_fail(it->task, "CALL", "a tool cannot be called");
        free(it);
    }
    tn_release(arguments);
}

static int32_t agent_called(void *user, int32_t status, tn_value result) {
    struct agent_task *it = user;
    if (status != TN_OK) {
        tn_fail(it->task, tn_get_text(result, "code", "CANCELLED"), "a tool has failed");
        free(it);
        return TN_OK;
    }
    tn_write(it->task, it->agent->out, result);
    it->calls++;
    agent_next(it);
    return TN_OK;
}

static int32_t agent_start(void *self, tn_task task, tn_value input) {
    struct agent_task *it = calloc(1, sizeof *it);
    (void)input;
    if (it == NULL) return TN_NO_MEMORY;
    it->agent = self;
    it->task = task;
    agent_next(it);
    return TN_OK;
}

static int32_t agent_create(tn_value config, tn_binder *binder, void **self) {
    struct agent *agent = calloc(1, sizeof *agent);
    if (agent == NULL) return TN_NO_MEMORY;
    const char *last = tn_get_text(config, "last", "");
    agent->calls = AGENT_CALLS + (*last != '\0');
    int32_t status = tn.task->bind_write(binder, tn_get_text(config, "out", ""), TN_Z, &agent->out);
    if (status == TN_OK) status = tn.task->bind_call(binder, "tool", TN_Z, "crash.tool", TN_Z, NULL, &agent->tool);
    if (status == TN_OK && *last != '\0')
        status = tn.task->bind_call(binder, "tool", TN_Z, last, TN_Z, NULL, &agent->last);
    if (status == TN_OK)
        *self = agent;
    else
        free(agent);
    return status;
}

TN_NOTE("{\"component\": {\"kind\": \"node\", \"id\": \"crash.agent\", \"title\": \"Calls tools.\", \"style\": "
        "\"async\", \"effects\": [\"calls.any\"], \"config\": {\"type\": \"object\", \"required\": [\"out\"], "
        "\"properties\": "
        "{\"out\": {\"type\": \"string\", \"x-tenon\": \"channel-write\"}, \"last\": {\"type\": \"string\"}}}}}")
TN_COMPONENT(agent, "crash.agent", agent_create, agent_start, NULL, NULL, free)
