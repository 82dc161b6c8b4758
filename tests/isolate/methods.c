/*
 * methods.c - a plugin that uses every function of tenon.host, for tests/unit/plugin_method_fixture.h: in the host's
 * process, isolated, and in check mode; in two versions. What its handlers outside of tasks receive is kept, and
 * returned by `methods.reported`.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/easy.h>
#include <tenon/host.h>
#include <unistd.h>

#ifdef SECOND
TN_PLUGIN("test.methods", "2.0.0", "Calls methods of the host")
#else
TN_PLUGIN("test.methods", "1.0.0", "Calls methods of the host")
#endif
TN_NOTE("{\"plugin\": {\"requires\": [\"" TN_HOST_1 "\"], \"one_process\": true, \"effects\": ["
        "\"host.method:component/list\", \"host.method:run*\", \"host.method:event/subscribe\", "
        "\"host.method:plugin/unload\"]}}")

#define EFFECTS                                                                                                        \
    TN_EFFECTS("host.method:component/list", "host.method:run*", "host.method:event*", "host.method:plugin*")

static const tn_host_1 *methods;
static tn_value reported; /* [{name, status, value}] */

/* ---- What is reported ---- */

/* {status, value}; takes the value, which may be NULL. */
static tn_value outcome_take(int32_t status, tn_value value) {
    tn_builder *builder = tn_builder_new();
    tn_put_begin(builder, NULL, TN_OBJECT);
    tn_put_int(builder, "status", status);
    if (value != NULL) tn_put_take(builder, "value", value);
    tn.value->end(builder);
    return tn_finish(builder);
}

static void report_take(const char *name, tn_value outcome) {
    tn_value text = tn_text(name);
    (void)tn.value->set(&outcome, "name", TN_Z, text);
    if (reported == NULL) reported = tn_from_json("[]", TN_Z);
    (void)tn.value->append(&reported, outcome);
    tn_release(text);
    tn_release(outcome);
}

static void TN_ABI keep(void *user, int32_t status, tn_value value) {
    report_take((const char *)user, outcome_take(status, value != NULL ? tn_retain(value) : NULL));
}

/* ---- Calls of tasks ---- */

struct open_task {
    tn_task task;
};

static void *open_task_new(tn_task task) {
    struct open_task *open = malloc(sizeof *open);
    if (open != NULL) open->task = task;
    return open;
}

static void open_task_end(struct open_task *open, int32_t status, tn_value value) {
    tn_value outcome = outcome_take(status, value != NULL ? tn_retain(value) : NULL);
    (void)tn_done_take(open->task, outcome);
    free(open);
}

static int32_t TN_ABI on_called(void *user, int32_t status, tn_value value) {
    open_task_end(user, status, value);
    return TN_OK;
}

static int32_t call_method(tn_task task, const char *method, uint64_t length, tn_value params) {
    void *open = open_task_new(task);
    int32_t status = methods->call(task, method, length, params, NULL, on_called, open, NULL);
    if (status != TN_OK) open_task_end(open, status, NULL);
    return TN_OK;
}

TN_TOOL(call, "methods.call", "Calls a method.", EFFECTS, (TEXT, method, "its name"),
        (VALUE_OPT, params, "its parameters")) {
    return call_method(task, args->method, args->method_length, args->params);
}

TN_TOOL(weak, "methods.weak", "Calls a method without a right.", TN_EFFECTS("clock"), (TEXT, method, "its name"),
        (VALUE_OPT, params, "its parameters")) {
    return call_method(task, args->method, args->method_length, args->params);
}

TN_TOOL(info, "methods.info", "Asks what it may call.",
        TN_EFFECTS("host.method:host/info", "host.method:run/s*", "host.method:plugin/unload")) {
    return args->tn_all != NULL ? call_method(task, "host/info", TN_Z, NULL) : TN_INVALID;
}

/* Calls that are open at the same time. */
static struct many {
    tn_task task;
    int64_t open, done, cancelled;
    bool started;
} many;

static void many_end(void) {
    if (!many.started || many.open > 0) return;
    tn_builder *builder = tn_builder_new();
    tn_put_begin(builder, NULL, TN_OBJECT);
    tn_put_int(builder, "done", many.done);
    tn_put_int(builder, "cancelled", many.cancelled);
    tn.value->end(builder);
    (void)tn_done_take(many.task, tn_finish(builder));
}

static int32_t TN_ABI on_one_of_many(void *user, int32_t status, tn_value value) {
    (void)value;
    many.open--;
    /* The calls of run/wait are cancelled; the others end with their result. */
    if (user != NULL)
        many.cancelled += status == TN_CANCELLED;
    else
        many.done += status == TN_OK;
    many_end();
    return TN_OK;
}

TN_TOOL(calls_many, "methods.many", "Calls run/list and run/wait by turns, and cancels each call of run/wait.", EFFECTS,
        (INT, count, "of calls"), (TEXT, run_id, "a run that does not end")) {
    tn_value params = tn_from_json("{}", TN_Z), id = tn_text_n(args->run_id, args->run_id_length);
    (void)tn.value->set(&params, "run_id", TN_Z, id);
    many = (struct many){.task = task};
    for (int64_t i = 0; i < args->count; i++) {
        const bool waits = i % 2 != 0;
        tn_call call = 0;
        int32_t status = methods->call(task, waits ? "run/wait" : "run/list", TN_Z, waits ? params : NULL, NULL,
                                       on_one_of_many, waits ? &many : NULL, &call);
        many.open += status == TN_OK;
        if (waits) (void)tn.task->cancel_call(task, call);
    }
    many.started = true;
    many_end();
    tn_release(id);
    tn_release(params);
    return TN_OK;
}

TN_TOOL_BLOCKING(call_wait, "methods.call_wait", "Calls a method, and waits.", EFFECTS, (TEXT, method, "its name"),
                 (VALUE_OPT, params, "its parameters")) {
    tn_value out = NULL, error = NULL;
    int32_t status = methods->call_wait(task, args->method, args->method_length, args->params, NULL, &out, &error);
    return tn_done_take(task, outcome_take(status, status == TN_OK ? out : error));
}

/* Starts a run of a text, and waits for its end. */
TN_TOOL_BLOCKING(runs, "methods.run", "Runs a document.", EFFECTS, (TEXT, text, "the document")) {
    tn_value started = NULL, ended = NULL, error = NULL, params = tn_from_json("{}", TN_Z);
    tn_value text = tn_text_n(args->text, args->text_length);
    (void)tn.value->set(&params, "text", TN_Z, text);
    int32_t status = methods->call_wait(task, "run/start", TN_Z, params, NULL, &started, &error);
    tn_release(text);
    tn_release(params);
    if (status != TN_OK) return tn_done_take(task, outcome_take(status, error));
    params = tn_from_json("{}", TN_Z);
    (void)tn.value->set(&params, "run_id", TN_Z, tn_get(started, "run_id"));
    status = methods->call_wait(task, "run/wait", TN_Z, params, NULL, &ended, &error);
    tn_release(started);
    tn_release(params);
    return tn_done_take(task, outcome_take(status, status == TN_OK ? ended : error));
}

/* Its author does not choose the tool, so it needs the tool's effects. */
TN_NODE(reaches, "methods.reaches", "Would call `methods.call`.", TN_EFFECTS("calls.tool:methods.call"),
        (TOOL_OR, tool, "methods.call", "the tool")) {
    (void)config, (void)input;
    return tn_done(task);
}

TN_TOOL(spawns, "methods.spawns", "Has an effect that the others do not declare.", TN_EFFECTS("process.spawn")) {
    return tn_done_bool(task, args->tn_all != NULL);
}

static int64_t erased;

TN_TOOL(erases, "methods.erase", "Needs approval, and counts its uses.", TN_EFFECTS("destructive")) {
    (void)args;
    return tn_done_int(task, ++erased);
}

/* A task whose call waits for an answer waits, too. */
static int32_t TN_ABI on_used(void *user, int32_t status, tn_value value) {
    struct open_task *open = user;
    if (status != TN_FAILED || strcmp(tn_get_text(value, "code", ""), "INTERRUPTED") != 0)
        return on_called(user, status, value);
    (void)tn_fail_with(open->task, value);
    free(open);
    return TN_OK;
}

TN_TOOL(uses, "methods.use", "Calls `methods.erase` with the method tool/call.",
        TN_EFFECTS("host.method:tool/call", "calls.tool:methods.erase", "destructive")) {
    (void)args;
    tn_value params = tn_from_json("{\"tool\":\"methods.erase\"}", TN_Z);
    void *open = open_task_new(task);
    int32_t status = methods->call(task, "tool/call", TN_Z, params, NULL, on_used, open, NULL);
    if (status != TN_OK) open_task_end(open, status, NULL);
    tn_release(params);
    return TN_OK;
}

TN_TOOL_BLOCKING(crash, "methods.crash", "Ends the process.", TN_EFFECTS("destructive")) {
    (void)args, (void)task;
    _exit(3);
}

/* ---- Outside of tasks ---- */

static void TN_ABI on_requested(void *user, int32_t status, tn_value value) { open_task_end(user, status, value); }

TN_TOOL(requests, "methods.request", "Calls a method outside of tasks.", TN_PURE, (TEXT, method, "its name"),
        (VALUE_OPT, params, "its parameters")) {
    void *open = open_task_new(task);
    uint64_t request = 0;
    int32_t status =
        methods->request(tn.host, args->method, args->method_length, args->params, on_requested, open, &request);
    if (status == TN_OK && request == 0) status = TN_ERROR;
    if (status != TN_OK) open_task_end(open, status, NULL);
    return TN_OK;
}

/* Starts a request that is reported later; the result is its number. */
TN_TOOL(begins, "methods.begin", "Starts a request.", TN_PURE, (TEXT, method, "its name"),
        (VALUE_OPT, params, "its parameters")) {
    static char name[] = "request";
    uint64_t request = 0;
    int32_t status = methods->request(tn.host, args->method, args->method_length, args->params, keep, name, &request);
    return tn_done_take(task, outcome_take(status, tn_int((int64_t)request)));
}

static uint64_t once; /* a subscription that ends itself with its first event */

static void TN_ABI on_first(void *user, int32_t status, tn_value value) {
    keep(user, status, value);
    static char again[] = "again", ended[] = "unsubscribed";
    report_take(ended, outcome_take(methods->unsubscribe(tn.host, once), NULL));
    report_take(again, outcome_take(methods->unsubscribe(tn.host, once), NULL));
}

TN_TOOL(subscribes, "methods.subscribe", "Subscribes.", TN_PURE, (VALUE, params, "of event/subscribe, run/subscribe"),
        (BOOL_OR, first, 0, "end it with its first event")) {
    static char name[] = "event";
    uint64_t number = 0;
    int32_t status = methods->subscribe(tn.host, args->params, args->first ? on_first : keep, name, &number);
    if (args->first) once = number;
    return tn_done_take(task, outcome_take(status, tn_int((int64_t)number)));
}

TN_TOOL(control, "methods.control", "Calls one of the functions with a number.", TN_PURE, (TEXT, function, "its name"),
        (INT, number, "of a request or a subscription")) {
    uint64_t number = (uint64_t)args->number;
    if (strcmp(args->function, "pause") == 0) return tn_done_int(task, methods->pause(tn.host, number));
    if (strcmp(args->function, "resume") == 0) return tn_done_int(task, methods->resume(tn.host, number));
    if (strcmp(args->function, "cancel") == 0) return tn_done_int(task, methods->cancel(tn.host, number));
    return tn_done_int(task, methods->unsubscribe(tn.host, number));
}

TN_TOOL(reports, "methods.reported", "Returns what handlers have received, and forgets it.", TN_PURE,
        (INT_OR, number, 0, "differs between uses")) {
    (void)args;
    tn_value all = reported != NULL ? reported : tn_from_json("[]", TN_Z);
    reported = NULL;
    return tn_done_take(task, all);
}

/* Subscribes until it fails: how often it did not, and the status. Then all of these subscriptions end. */
TN_TOOL(fills, "methods.fill", "Subscribes as often as possible.", TN_PURE) {
    enum { MORE = TN_HOST_SUBSCRIPTIONS_MAX + 10 };
    static uint64_t numbers[MORE];
    static char name[] = "fill";
    tn_value params = tn_from_json("{\"events\":[\"component/changed\"]}", TN_Z);
    int32_t status = TN_OK, count = 0;
    (void)args;
    while (count < MORE && (status = methods->subscribe(tn.host, params, keep, name, &numbers[count])) == TN_OK)
        count++;
    for (int32_t i = 0; i < count; i++)
        if (methods->unsubscribe(tn.host, numbers[i]) != TN_OK) status = TN_ERROR;
    tn_release(params);
    return tn_done_take(task, outcome_take(status, tn_int(count)));
}

/* ---- Mistakes ---- */

static void put_status(tn_value *object, const char *key, int32_t status) {
    tn_value number = tn_int(status);
    (void)tn.value->set(object, key, TN_Z, number);
    tn_release(number);
}

static tn_value statuses(tn_task task) {
    tn_value all = tn_from_json("{}", TN_Z), out = NULL;
    uint64_t number = 7;
    tn_call call = 0;
    put_status(&all, "unknown", methods->request(tn.host, "no/such", TN_Z, NULL, keep, NULL, &number));
    put_status(&all, "part", methods->request(tn.host, "component/listing", 12, NULL, NULL, NULL, &number));
    put_status(&all, "no method", methods->request(tn.host, NULL, TN_Z, NULL, keep, NULL, &number));
    put_status(&all, "no number", methods->request(tn.host, "host/info", TN_Z, NULL, keep, NULL, NULL));
    put_status(&all, "no handler", methods->subscribe(tn.host, NULL, NULL, NULL, &number));
    put_status(&all, "no host", methods->pause(NULL, 1));
    put_status(&all, "pause", methods->pause(tn.host, 0));
    put_status(&all, "resume", methods->resume(tn.host, UINT64_MAX));
    put_status(&all, "cancel", methods->cancel(tn.host, 1000000));
    put_status(&all, "unsubscribe", methods->unsubscribe(tn.host, 1000000));
    put_status(&all, "call", methods->call(task, "no/such", TN_Z, NULL, NULL, on_called, NULL, &call));
    put_status(&all, "call without handler", methods->call(task, "host/info", TN_Z, NULL, NULL, NULL, NULL, &call));
    put_status(&all, "call_wait", methods->call_wait(task, "no/such", TN_Z, NULL, NULL, &out, NULL));
    put_status(&all, "untouched", number == 7 && out == NULL);
    return all;
}

TN_TOOL(wrong, "methods.wrong", "Makes mistakes on the loop.", EFFECTS) {
    (void)args;
    return tn_done_take(task, statuses(task));
}

TN_TOOL_BLOCKING(wrong_thread, "methods.wrong_thread", "Makes the same on a worker.", EFFECTS) {
    (void)args;
    return tn_done_take(task, statuses(task));
}

/* ---- The plugin ---- */

static void TN_ABI later(void *argument) {
    uint64_t request;
    static char name[] = "posted";
    (void)argument;
    tn_value params = tn_from_json("{\"kind\":\"runner\"}", TN_Z);
    (void)methods->request(tn.host, "component/list", TN_Z, params, keep, name, &request);
    tn_release(params);
}

static int32_t TN_ABI init(void *self, tn_value config) {
    static char name[] = "init";
    uint64_t request;
    (void)self, (void)config;
    erased = 0;
    methods = tn_easy_interface(tn.host, TN_HOST_1, sizeof(tn_host_1));
    if (methods == NULL) return tn_refuse("UNSUPPORTED", "the host does not offer " TN_HOST_1);
    tn_value params = tn_from_json("{\"kind\":\"reducer\",\"plugin\":\"test.methods\"}", TN_Z);
    int32_t status = methods->request(tn.host, "component/list", TN_Z, params, keep, name, &request);
    tn_release(params);
    (void)tn_post(0, later, NULL);
    return status;
}

static void TN_ABI deinit(void *self) {
    (void)self;
    tn_release(reported);
    reported = NULL;
}

TN_LIFECYCLE(init, NULL, deinit)
