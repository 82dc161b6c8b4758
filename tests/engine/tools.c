/*
 * tools.c - tools that behave and misbehave in different ways, and a node that makes all calls of a message at once.
 *
 * `test.calls` binds a set of tools and makes the calls of its configuration. It writes their results in order: {name,
 * result} or {name, error, message}. If one waits for an answer or fails fatally, its task ends in the same way.
 * With `asks` it interrupts instead of writing, and fails when it is resumed.
 * `test.calls_wait` does the same on a worker, one call after the other. `test.tools` writes the description of the
 * set.
 */
#include <stdlib.h>
#include <tenon/easy.h>
#include <tenon/tool.h>

/* ---- Tools ---- */

TN_NOTE("{\"component\": {\"kind\": \"tool\", \"id\": \"t.add\", \"title\": \"Adds.\", \"documentation\": "
        "\"Adds two integers, exactly.\", \"style\": \"async\", \"effects\": [], "
        "\"input\": {\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"integer\"}, "
        "\"b\": {\"type\": \"integer\"}}, \"required\": [\"a\", \"b\"], \"additionalProperties\": false}, "
        "\"output\": {\"type\": \"object\", \"properties\": {\"sum\": {\"type\": \"integer\"}}, "
        "\"required\": [\"sum\"]}}}")
static int32_t t_add_start(void *self, tn_task task, tn_value input) {
    (void)self;
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_int(builder, "sum", tn_get_int(input, "a", 0) + tn_get_int(input, "b", 0));
    tn.value->end(builder);
    return tn_done_take(task, tn_finish(builder));
}
TN_COMPONENT(t_add, "t.add", NULL, t_add_start, NULL, NULL, NULL)

/* The calls of all counting tools in this process. */
static int64_t made;

TN_TOOL(t_count, "t.count", "Counts.", TN_EFFECTS("state.count"), (INT_OR, unused, 0, "nothing")) {
    (void)args;
    return tn_done_int(task, ++made);
}

TN_TOOL(t_delete, "t.delete", "Deletes a file.", TN_EFFECTS("destructive", "fs.write:/data"),
        (TEXT, path, "which file")) {
    char text[200];
    (void)snprintf(text, sizeof text, "deleted %.100s", args->path);
    return tn_done_text(task, text);
}

TN_TOOL(t_fail, "t.fail", "Fails.", TN_PURE, (BOOL_OR, fatal, 0, "is it not for the model?"),
        (BOOL_OR, retryable, 0, "if it is fatal: may the caller be retried?")) {
#define BROKEN(more) "{\"code\": \"BROKEN\", \"message\": \"it broke\"" more "}"
    const char *error = BROKEN("");
    if (args->fatal)
        error = args->retryable ? BROKEN(", \"retryable\": true, \"detail\": {\"fatal\": true}")
                                : BROKEN(", \"detail\": {\"fatal\": true}");
    return tn_fail_take(task, tn_from_json(error, TN_Z));
}

TN_TOOL(t_huge, "t.huge", "Returns 20 million bytes.", TN_PURE, (INT_OR, bytes, 20000000, "how many")) {
    char *text = malloc((size_t)args->bytes);
    if (text == NULL) return TN_NO_MEMORY;
    memset(text, 'x', (size_t)args->bytes);
    tn_value value = tn_text_n(text, (uint64_t)args->bytes);
    free(text);
    return tn_done_take(task, value);
}

TN_TOOL_BLOCKING(t_block, "t.block", "Adds one, on a worker.", TN_PURE, (INT, n, "a number")) {
    return tn_done_int(task, args->n + 1);
}

/* Its result does not fit the schema that it declares. t.silent declares no effects at all. */
TN_NOTE("{\"component\": {\"kind\": \"tool\", \"id\": \"t.wrong\", \"title\": \"Lies.\", \"style\": \"async\", "
        "\"effects\": [], \"input\": {\"type\": \"object\"}, \"output\": {\"type\": \"object\", "
        "\"required\": [\"sum\"]}}}")
static int32_t wrong_start(void *self, tn_task task, tn_value input) {
    (void)self, (void)input;
    return tn_done_text(task, "forty-two");
}
TN_COMPONENT(t_wrong, "t.wrong", NULL, wrong_start, NULL, NULL, NULL)

TN_NOTE("{\"component\": {\"kind\": \"tool\", \"id\": \"t.silent\", \"title\": \"Says not what it does.\", "
        "\"style\": \"async\", \"input\": {\"type\": \"object\"}}}")
TN_COMPONENT(t_silent, "t.silent", NULL, wrong_start, NULL, NULL, NULL)

/* Interrupts its task with a question. */
TN_NOTE("{\"component\": {\"kind\": \"tool\", \"id\": \"t.ask\", \"title\": \"Asks.\", \"style\": \"async\", "
        "\"effects\": [\"destructive\"], \"input\": {\"type\": \"object\"}}}")
static int32_t t_ask_start(void *self, tn_task task, tn_value input) {
    (void)self;
    tn_value answer = tn_get(input, "answer");
    if (answer != NULL) return tn_done_value(task, answer);
    tn_value payload = tn_text("which one?");
    (void)tn.task->interrupt(task, payload, NULL, NULL);
    tn_release(payload);
    return TN_OK;
}
TN_COMPONENT(t_ask, "t.ask", NULL, t_ask_start, NULL, NULL, NULL)

/* Ends after a delay; `deaf` ignores cancelling. Counts how many calls are open at once. */
struct slow {
    tn_task task;
    uint64_t timer;
    struct slow *next;
};
static struct slow *slow;
static int64_t slow_open, slow_most;

static void slow_end(struct slow *it, int cancelled) {
    struct slow **at = &slow;
    while (*at != it) at = &(*at)->next;
    *at = it->next;
    slow_open--;
    if (cancelled)
        (void)tn_fail(it->task, "CANCELLED", "cancelled");
    else
        (void)tn_done_int(it->task, slow_most);
    free(it);
}

static void slow_due(void *argument) { slow_end(argument, 0); }

static int32_t slow_start(void *self, tn_task task, tn_value input) {
    (void)self;
    struct slow *it = calloc(1, sizeof *it);
    int64_t ms = tn_get_int(input, "ms", 0);
    if (it == NULL) return TN_NO_MEMORY;
    if (slow_open == 0) slow_most = 0;
    *it = (struct slow){task, 0, slow};
    slow = it;
    if (++slow_open > slow_most) slow_most = slow_open;
    if (ms > 0) it->timer = tn_post((uint64_t)ms, slow_due, it);
    return TN_OK;
}

static void slow_cancel(void *self, tn_task task) {
    (void)self;
    struct slow *it = slow;
    while (it != NULL && it->task != task) it = it->next;
    if (it == NULL) return;
    if (it->timer != 0) (void)tn.core->unpost(tn.host, it->timer);
    slow_end(it, 1);
}

TN_NOTE(
    "{\"component\": {\"kind\": \"tool\", \"id\": \"t.slow\", \"title\": \"Takes some time; never ends by default.\", "
    "\"style\": \"async\", \"effects\": [], \"input\": {\"type\": \"object\", \"properties\": {\"ms\": "
    "{\"type\": \"integer\"}}}}}")
TN_COMPONENT(t_slow, "t.slow", NULL, slow_start, slow_cancel, NULL, NULL)

static int32_t deaf_start(void *self, tn_task task, tn_value input) {
    (void)self, (void)task, (void)input;
    return TN_OK;
}

TN_NOTE("{\"component\": {\"kind\": \"tool\", \"id\": \"t.deaf\", \"title\": \"Never ends.\", \"style\": \"async\", "
        "\"effects\": [], \"input\": {\"type\": \"object\"}}}")
TN_COMPONENT(t_deaf, "t.deaf", NULL, deaf_start, NULL, NULL, NULL)

/* ---- The node ---- */

static const tn_tool_1 *tool;

struct calls {
    uint32_t set, out;
    tn_value calls;
    int32_t asks;
};

struct calls_task {
    const struct calls *calls;
    tn_task task;
    uint64_t count, left;
    struct one_call {
        struct calls_task *task;
        int32_t status;
        tn_value result;
    } each[];
};

static int32_t calls_create(tn_value config, tn_binder *binder, void **self) {
    struct calls *calls = calloc(1, sizeof *calls);
    if (calls == NULL) return TN_NO_MEMORY;
    tool = TN_EASY_FROM(const tn_tool_1 *, tn_easy_interface(tn.host, TN_TOOL_1, sizeof(tn_tool_1)));
    calls->calls = tn_get(config, "calls");
    (void)tn.value->as_bool(tn_get(config, "asks"), &calls->asks);
    int32_t status = tool == NULL ? TN_UNSUPPORTED : tool->bind_tools(binder, tn_get(config, "tools"), &calls->set);
    if (status == TN_OK) status = tn.task->bind_write(binder, tn_get_text(config, "out", ""), TN_Z, &calls->out);
    if (status == TN_OK)
        *self = calls;
    else
        free(calls);
    return status;
}

static int is_code(tn_value error, const char *code) { return strcmp(tn_get_text(error, "code", ""), code) == 0; }

static int is_fatal(tn_value error) {
    int32_t fatal = 0;
    return tn.value->as_bool(tn_get(tn_get(error, "detail"), "fatal"), &fatal) == TN_OK && fatal;
}

static void put_one(tn_builder *builder, tn_value call, int32_t status, tn_value result) {
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "name", tn_get_text(call, "name", "?"));
    if (status == TN_OK) {
        tn_put(builder, "result", result);
    } else {
        tn_put_text(builder, "error", tn_get_text(result, "code", "CANCELLED"));
        tn_put_text(builder, "message", tn_get_text(result, "message", ""));
    }
    tn.value->end(builder);
}

static void calls_end(struct calls_task *it) {
    tn_builder *builder = tn_builder_new();
    tn_value ends = NULL;
    tn.value->begin(builder, TN_ARRAY);
    for (uint64_t i = 0; i < it->count; i++) {
        const struct one_call *one = &it->each[i];
        if (one->status == TN_FAILED && ends == NULL && (is_code(one->result, "INTERRUPTED") || is_fatal(one->result)))
            ends = one->result;
        put_one(builder, tn.value->at(it->calls->calls, i), one->status, one->result);
    }
    tn.value->end(builder);
    tn_value results = tn_finish(builder);
    if (ends != NULL) {
        (void)tn_fail_with(it->task, ends);
    } else if (it->calls->asks) {
        (void)tn.task->interrupt(it->task, results, NULL, NULL);
    } else {
        (void)tn_write(it->task, it->calls->out, results);
        (void)tn_done(it->task);
    }
    tn_release(results);
    for (uint64_t i = 0; i < it->count; i++) tn_release(it->each[i].result);
    free(it);
}

static int32_t calls_done(void *user, int32_t status, tn_value result) {
    struct one_call *one = user;
    one->status = status;
    one->result = tn_retain(result);
    if (--one->task->left == 0) calls_end(one->task);
    return TN_OK;
}

static int32_t fail_retryable(tn_task task) {
    static const char error[] =
        "{\"code\": \"BROKEN\", \"message\": \"it broke after the answer\", \"retryable\": true}";
    return tn_fail_take(task, tn_from_json(error, TN_Z));
}

static int32_t calls_start(void *self, tn_task task, tn_value input) {
    const struct calls *calls = self;
    uint64_t count = tn.value->count(calls->calls);
    if (calls->asks && tn_get(input, "answer") != NULL) return fail_retryable(task);
    struct calls_task *it = calloc(1, sizeof *it + count * sizeof it->each[0]);
    if (it == NULL) return TN_NO_MEMORY;
    it->calls = calls;
    it->task = task;
    it->count = count;
    it->left = 1;
    for (uint64_t i = 0; i < count; i++) {
        it->each[i].task = it;
        int32_t status =
            tool->invoke(task, calls->set, tn.value->at(calls->calls, i), NULL, calls_done, &it->each[i], NULL);
        if (status == TN_OK)
            it->left++;
        else
            it->each[i].status = status;
    }
    if (--it->left == 0) calls_end(it);
    return TN_OK;
}

static int32_t wait_start(void *self, tn_task task, tn_value input) {
    const struct calls *calls = self;
    tn_builder *builder = tn_builder_new();
    int32_t ended = TN_OK;
    (void)input;
    tn.value->begin(builder, TN_ARRAY);
    for (uint64_t i = 0; ended == TN_OK && i < tn.value->count(calls->calls); i++) {
        tn_value call = tn.value->at(calls->calls, i), result = NULL, error = NULL;
        int32_t status = tool->invoke_wait(task, calls->set, call, NULL, &result, &error);
        if (status == TN_FAILED) result = error;
        if (status == TN_FAILED && (is_code(result, "INTERRUPTED") || is_fatal(result)))
            ended = tn_fail_with(task, result), ended = TN_FAILED;
        put_one(builder, call, status, result);
        tn_release(result);
    }
    tn.value->end(builder);
    tn_value results = tn_finish(builder);
    if (ended == TN_OK) (void)tn_write(task, calls->out, results);
    tn_release(results);
    return ended == TN_OK ? tn_done(task) : ended;
}

static int32_t tools_start(void *self, tn_task task, tn_value input) {
    const struct calls *calls = self;
    tn_value described = NULL, again = NULL;
    (void)input;
    (void)tool->describe(task, calls->set, &described);
    (void)tool->describe(task, calls->set, &again);
    if (described == NULL || described != again) return tn_fail(task, "BROKEN", "it is described in two ways");
    tn_release(again);
    return tn_done_written(task, tn_write_take(task, calls->out, described));
}

#define CONFIG                                                                                                         \
    "\"effects\": [\"calls.any\", \"calls.approved\"], \"config\": {\"type\": \"object\", \"properties\": "            \
    "{\"tools\": {}, \"calls\": "                                                                                      \
    "{\"type\": "                                                                                                      \
    "\"array\"}, \"asks\": {\"type\": \"boolean\"}, \"out\": {\"type\": \"string\", \"x-tenon\": "                     \
    "\"channel-write\"}}, \"required\": [\"out\"]}}}"
TN_NOTE("{\"plugin\": {\"optional\": [\"" TN_TOOL_1 "\"]}}")
TN_NOTE("{\"component\": {\"kind\": \"node\", \"id\": \"test.calls\", \"title\": \"Calls tools.\", \"style\": "
        "\"async\", " CONFIG)
TN_NOTE("{\"component\": {\"kind\": \"node\", \"id\": \"test.calls_wait\", \"title\": \"Calls tools, waiting.\", "
        "\"style\": \"blocking\", " CONFIG)
TN_NOTE("{\"component\": {\"kind\": \"node\", \"id\": \"test.tools\", \"title\": \"Describes tools.\", \"style\": "
        "\"async\", " CONFIG)
TN_NOTE("{\"component\": {\"kind\": \"node\", \"id\": \"test.tools_wait\", \"title\": \"Describes tools.\", "
        "\"style\": \"blocking\", " CONFIG)
TN_COMPONENT(calls, "test.calls", calls_create, calls_start, NULL, NULL, free)
TN_COMPONENT(calls_wait, "test.calls_wait", calls_create, wait_start, NULL, NULL, free)
TN_COMPONENT(tools, "test.tools", calls_create, tools_start, NULL, NULL, free)
TN_COMPONENT(tools_wait, "test.tools_wait", calls_create, tools_start, NULL, NULL, free)

/* Calls one tool that it binds by name. */
struct bound {
    uint32_t callee, out;
    tn_value input;
};

static int32_t bound_create(tn_value config, tn_binder *binder, void **self) {
    struct bound *bound = calloc(1, sizeof *bound);
    if (bound == NULL) return TN_NO_MEMORY;
    bound->input = tn_get(config, "input");
    int32_t status =
        tn.task->bind_call(binder, "tool", TN_Z, tn_get_text(config, "tool", ""), TN_Z, NULL, &bound->callee);
    if (status == TN_OK) status = tn.task->bind_write(binder, tn_get_text(config, "out", ""), TN_Z, &bound->out);
    if (status == TN_OK)
        *self = bound;
    else
        free(bound);
    return status;
}

struct bound_task {
    const struct bound *bound;
    tn_task task;
};

static int32_t bound_done(void *user, int32_t status, tn_value result) {
    struct bound_task *it = user;
    if (status == TN_OK)
        (void)tn_done_written(it->task, tn_write(it->task, it->bound->out, result));
    else if (status == TN_FAILED)
        (void)tn_fail_with(it->task, result);
    else
        (void)tn_fail(it->task, "CANCELLED", "cancelled");
    free(it);
    return TN_OK;
}

static int32_t bound_start(void *self, tn_task task, tn_value input) {
    struct bound_task *it = calloc(1, sizeof *it);
    (void)input;
    if (it == NULL) return TN_NO_MEMORY;
    *it = (struct bound_task){self, task};
    int32_t status = tn.task->call(task, it->bound->callee, it->bound->input, NULL, bound_done, it, NULL);
    if (status != TN_OK) free(it);
    return status;
}

TN_NOTE(
    "{\"component\": {\"kind\": \"node\", \"id\": \"test.bound\", \"title\": \"Calls a tool.\", \"style\": "
    "\"async\", \"effects\": [\"calls.any\"], \"config\": {\"type\": \"object\", \"properties\": {\"tool\": {\"type\": "
    "\"string\", \"x-tenon\": \"tool\"}, \"input\": {}, \"out\": {\"type\": \"string\", \"x-tenon\": "
    "\"channel-write\"}}, \"required\": [\"tool\", \"out\"]}}}")
TN_COMPONENT(bound, "test.bound", bound_create, bound_start, NULL, NULL, free)
