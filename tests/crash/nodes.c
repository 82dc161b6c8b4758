/*
 * nodes.c - nodes and tools that leave a trace outside: a line in the file CRASH_LINES for every time they act.
 *
 * The line is the idempotency key of the task or call, with '#' behind it where it acts once more on an answer. What
 * they write into the graph has the same key in it, so that the store's records tell which of the lines are known to
 * have been written, and must never be written again.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/easy.h>
#include <unistd.h>

TN_PLUGIN("tenon.crash", "1.0.0", "Nodes that leave a trace, for the tests of durability")

#define KEY_MAX 200

static void key_of(tn_task task, const char *suffix, char out[KEY_MAX]) {
    tn_value context = tn.task->context(task);
    (void)snprintf(out, KEY_MAX, "%s%s", tn_get_text(context, "task_id", "?"), suffix);
    tn_release(context);
}

/* Where there is no such file nothing is left, as when the plugin's manifest is tried. */
static void leave_line(const char *key) {
    const char *path = getenv("CRASH_LINES");
    char line[KEY_MAX + 1];
    int length = snprintf(line, sizeof line, "%s\n", key);
    int fd = path != NULL ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd < 0) return;
    if (write(fd, line, (size_t)length) != length) abort();
    (void)close(fd);
}

static int64_t lines_of(const char *key) {
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

static tn_value text_padded(const char *key, int64_t pad) {
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

static int32_t act(tn_task task, uint32_t out, int64_t pad) {
    char key[KEY_MAX];
    key_of(task, "", key);
    leave_line(key);
    return tn_write_take(task, out, text_padded(key, pad)) == TN_OK ? tn_done(task) : TN_NO_MEMORY;
}

TN_NODE(effect, "crash.effect", "Leaves a line, and writes its key.", TN_EFFECTS("destructive"),
        (WRITE, out, "where the key goes"), (INT_OR, pad, 0, "bytes behind the key")) {
    (void)input;
    return act(task, config->out, config->pad);
}

TN_NODE_BLOCKING(effect_blocking, "crash.effect_blocking", "As crash.effect, on a worker thread.",
                 TN_EFFECTS("destructive"), (WRITE, out, "where the key goes")) {
    (void)input;
    return act(task, config->out, 0);
}

/* Two named pipes: whoever reads the first knows that it has come here; it goes on when there is one in the second. */
TN_NODE_BLOCKING(meet, "crash.meet", "As crash.effect, but waits, where CRASH_REACHED and CRASH_GO say for whom.",
                 TN_EFFECTS("destructive"), (WRITE, out, "where the key goes")) {
    const char *reached = getenv("CRASH_REACHED"), *go = getenv("CRASH_GO");
    char key[KEY_MAX], byte = '.';
    (void)input;
    key_of(task, "", key);
    leave_line(key);
    if (reached != NULL && go != NULL) {
        int fd = open(reached, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, &byte, 1) != 1) abort();
        (void)close(fd);
        fd = open(go, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || read(fd, &byte, 1) != 1) abort();
        (void)close(fd);
    }
    tn_write_text(task, config->out, key);
    return tn_done(task);
}

/* It fails by how often it has acted, so that an undisturbed run and one that is resumed both come through. */
TN_NODE(heals, "crash.heals", "Leaves a line, and fails until there are enough of them.", TN_EFFECTS("destructive"),
        (WRITE, out, "where the key goes"), (INT, lines, "how many are enough")) {
    char key[KEY_MAX];
    (void)input;
    key_of(task, "", key);
    leave_line(key);
    if (lines_of(key) < config->lines) return tn_fail(task, "BROKEN", "not often enough yet");
    tn_write_text(task, config->out, key);
    return tn_done(task);
}

TN_NODE(fails, "crash.fails", "Leaves a line, and fails with its key.", TN_EFFECTS("destructive")) {
    char key[KEY_MAX];
    (void)input, (void)config;
    key_of(task, "", key);
    leave_line(key);
    return tn_fail(task, "BROKEN", key);
}

static int32_t ask(tn_task task, const char *key) {
    tn_value payload = tn_text("may I?"), continuation = tn_text(key);
    tn.task->interrupt(task, payload, NULL, continuation);
    tn_release(payload);
    tn_release(continuation);
    return TN_OK;
}

TN_NODE(ask_node, "crash.ask", "Leaves a line, asks, leaves another, and writes its key.", TN_EFFECTS("destructive"),
        (WRITE, out, "where the key goes")) {
    char key[KEY_MAX];
    int answered = tn.value->get(input, "answer") != NULL;
    key_of(task, answered ? "#" : "", key);
    leave_line(key);
    if (!answered) return ask(task, key);
    tn_write_text(task, config->out, key);
    return tn_done(task);
}

/* ---- Repeatable, and it says so: what may be tried again ---- */

static int32_t retried_create(tn_value config, tn_binder *binder, void **self) {
    uint32_t *out = malloc(sizeof *out);
    if (out == NULL) return TN_NO_MEMORY;
    int32_t status = tn.task->bind_write(binder, tn_get_text(config, "out", ""), out);
    if (status == TN_OK)
        *self = out;
    else
        free(out);
    return status;
}

static int32_t retried_start(void *self, tn_task task, tn_value input) {
    char key[KEY_MAX];
    tn_value context = tn.task->context(task);
    int64_t attempt = tn_get_int(context, "attempt", 0);
    tn_release(context);
    (void)input;
    key_of(task, "", key);
    leave_line(key);
    if (attempt >= 3) {
        tn_write_text(task, *(uint32_t *)self, key);
        return tn_done(task);
    }
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_bool(builder, "retryable", 1);
    tn.value->end(builder);
    tn_value more = tn.value->finish(builder);
    (tn.task->fail)(task, "OVERLOADED", "failing twice, as it does", more);
    tn_release(more);
    return TN_FAILED;
}

TN_NOTE(
    "{\"component\": {\"kind\": \"node\", \"id\": \"crash.retried\", \"title\": \"As crash.effect, at the third "
    "attempt.\", \"style\": \"async\", \"effects\": [\"destructive\"], \"idempotent\": true, \"config\": {\"type\": "
    "\"object\", \"required\": [\"out\"], \"properties\": {\"out\": {\"type\": \"string\", \"x-tenon\": "
    "\"channel-write\"}}}}}")
TN_COMPONENT(retried, "crash.retried", retried_create, retried_start, NULL, NULL, free)

/* ---- Tools, and who calls them ---- */

TN_TOOL(tool, "crash.tool", "Leaves a line, and says its key.", TN_EFFECTS("destructive"),
        (INT_OR, unused, 0, "nothing")) {
    char key[KEY_MAX];
    (void)args;
    key_of(task, "", key);
    leave_line(key);
    return tn_done_text(task, key);
}

TN_TOOL(tool_heals, "crash.tool_heals", "As crash.tool, and fails the first time.", TN_EFFECTS("destructive"),
        (INT_OR, unused, 0, "nothing")) {
    char key[KEY_MAX];
    (void)args;
    key_of(task, "", key);
    leave_line(key);
    return lines_of(key) < 2 ? tn_fail(task, "BROKEN", "not often enough yet") : tn_done_text(task, key);
}

static int32_t approve_start(void *self, tn_task task, tn_value input) {
    char key[KEY_MAX];
    int answered = tn.value->get(input, "answer") != NULL;
    (void)self;
    key_of(task, answered ? "#" : "", key);
    leave_line(key);
    return answered ? tn_done_text(task, key) : ask(task, key);
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

#define AGENT_CALLS 3 /* of crash.tool; then comes the one that it is configured with */

static void agent_called(void *user, int32_t status, tn_value result);

static void agent_next(struct agent_task *it) {
    const struct agent *agent = it->agent;
    if (it->calls == agent->calls) {
        tn_done(it->task);
        free(it);
        return;
    }
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn.value->end(builder);
    tn_value arguments = tn.value->finish(builder);
    uint32_t callee = it->calls < AGENT_CALLS ? agent->tool : agent->last;
    if (tn.task->call(it->task, callee, arguments, agent_called, it) != TN_OK) {
        tn_fail(it->task, "CALL", "a tool cannot be called");
        free(it);
    }
    tn_release(arguments);
}

static void agent_called(void *user, int32_t status, tn_value result) {
    struct agent_task *it = user;
    if (status != TN_OK) {
        tn_fail(it->task, tn_get_text(result, "code", "CANCELLED"), "a tool has failed");
        free(it);
        return;
    }
    tn_write(it->task, it->agent->out, result);
    it->calls++;
    agent_next(it);
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
    int32_t status = tn.task->bind_write(binder, tn_get_text(config, "out", ""), &agent->out);
    if (status == TN_OK) status = tn.task->bind_call(binder, "tool", "crash.tool", NULL, &agent->tool);
    if (status == TN_OK && *last != '\0') status = tn.task->bind_call(binder, "tool", last, NULL, &agent->last);
    if (status == TN_OK)
        *self = agent;
    else
        free(agent);
    return status;
}

TN_NOTE("{\"component\": {\"kind\": \"node\", \"id\": \"crash.agent\", \"title\": \"Calls tools.\", \"style\": "
        "\"async\", \"effects\": [], \"config\": {\"type\": \"object\", \"required\": [\"out\"], \"properties\": "
        "{\"out\": {\"type\": \"string\", \"x-tenon\": \"channel-write\"}, \"last\": {\"type\": \"string\"}}}}}")
TN_COMPONENT(agent, "crash.agent", agent_create, agent_start, NULL, NULL, free)
