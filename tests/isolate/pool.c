/*
 * pool.c - a plugin whose tasks crash, hang or wait as their input says, for tests/e2e/pool.sh: once with a blocking
 * node and tools, whose tasks have a process each, and once with an async node, whose tasks share one.
 * tests/unit/pool_test.c uses it, too.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/easy.h>
#include <unistd.h>

#ifdef SECRET
#define EFFECTS "fs.read", "fs.write:/tmp", "secret:POOL_KEY"
#else
#define EFFECTS "fs.read", "fs.write:/tmp"
#endif

TN_PLUGIN("test.pool", "1.0.0", "Crashes, hangs or waits")
#ifdef ONE_PROCESS
TN_NOTE("{\"plugin\": {\"one_process\": true}}")
#endif

/* `crash-once FILE` crashes if FILE does not exist, and creates it. */
static void crash_once(const char *file) {
    if (access(file, F_OK) == 0) return;
    FILE *made = fopen(file, "w");
    if (made) fclose(made);
    exit(3);
}

static int32_t act(const char *what) {
    if (strcmp(what, "crash") == 0) exit(3);
    if (strncmp(what, "crash-when ", 11) == 0) { /* FILE exists */
        while (access(what + 11, F_OK) != 0) usleep(10000);
        exit(3);
    }
    if (strcmp(what, "spin") == 0)
        for (;;) sleep(1);
    if (strncmp(what, "crash-once ", 11) == 0) crash_once(what + 11);
    /* `wait FILE`: until it exists. */
    if (strncmp(what, "wait ", 5) == 0)
        while (access(what + 5, F_OK) != 0) usleep(10000);
    return (int32_t)getpid();
}

TN_NODE_BLOCKING(line, "test.line", "Acts as `what` says.", TN_EFFECTS(EFFECTS), (READ, what, "what to do"),
                 (WRITE, out, "the process id")) {
    (void)input;
    tn_value what = tn_read_text(task, config->what);
    if (what == NULL) return TN_FAILED;
    int32_t pid = act(tn_chars(what, NULL));
    tn_release(what);
    return tn_done_written(task, tn_write_int(task, config->out, pid));
}

TN_NODE(shared, "test.shared", "The same, in the shared process.", TN_EFFECTS(EFFECTS), (READ, what, "what to do"),
        (WRITE, out, "the process id")) {
    (void)input;
    tn_value what = tn_read_text(task, config->what);
    if (what == NULL) return TN_FAILED;
    int32_t pid = act(tn_chars(what, NULL));
    tn_release(what);
    return tn_done_written(task, tn_write_int(task, config->out, pid));
}

TN_TOOL_BLOCKING(leaf, "test.leaf", "Returns its process id.", TN_EFFECTS(EFFECTS), (TEXT, what, "what to do")) {
    return tn_done_int(task, act(args->what));
}

/* test.outer calls the tool test.branch, which calls test.leaf; both wait for the result. */
static int32_t nest_create(const char *callee, tn_binder *binder, void **self) {
    /*
     * A file of pool_test.c, for the first instance of a process: the next task of a process may begin before the
     * thread of the last one has returned from `start`, and then it gets another instance.
     */
    static bool created;
    while (!created && access("hang", F_OK) == 0) usleep(10000);
    created = true;
    uint32_t *index = malloc(sizeof *index);
    if (index == NULL) return TN_NO_MEMORY;
    int32_t status = tn.task->bind_call(binder, "tool", TN_Z, callee, TN_Z, NULL, index);
    if (status == TN_OK)
        *self = index;
    else
        free(index);
    return status;
}

static int32_t nest_start(void *self, tn_task task, tn_value input) {
    tn_value result = NULL, error = NULL;
    int32_t status = tn.task->call_wait(task, *(uint32_t *)self, input, NULL, &result, &error);
    if (status != TN_OK) {
        status = tn_fail(task, "BROKEN", tn_get_text(error, "message", "the call failed"));
        tn_release(error);
        return status;
    }
    return tn_done_take(task, result);
}

static int32_t branch_create(tn_value config, tn_binder *binder, void **self) {
    (void)config;
    return nest_create("test.leaf", binder, self);
}

static int32_t outer_create(tn_value config, tn_binder *binder, void **self) {
    (void)config;
    return nest_create("test.branch", binder, self);
}

#define INPUT "\"input\": {\"type\": \"object\", \"properties\": {\"what\": {\"type\": \"string\"}}}"
#define CALLS "\"effects\": [\"fs.read\", \"fs.write:/tmp\", \"calls.tool:test.*\"], " INPUT "}}"
TN_NOTE("{\"component\": {\"kind\": \"tool\", \"id\": \"test.branch\", \"title\": \"Calls test.leaf.\", \"style\": "
        "\"blocking\", " CALLS)
TN_NOTE("{\"component\": {\"kind\": \"tool\", \"id\": \"test.outer\", \"title\": \"Calls test.branch.\", \"style\": "
        "\"blocking\", " CALLS)
TN_COMPONENT(branch, "test.branch", branch_create, nest_start, NULL, NULL, free)
TN_COMPONENT(outer, "test.outer", outer_create, nest_start, NULL, NULL, free)
