/*
 * released.c - the exhibit of tenon.h as released: a plugin that uses every function of the five interfaces of /1, and
 * writes down what each gave. Built from sdk/frozen/1 alone; museum.sh runs it on today's host and compares.
 *
 * The binary beside it is what a vendor would have shipped, and is never built again. What it says must be the same on
 * every later host: no times, no addresses, no texts that the host is free to word otherwise.
 */
#include <string.h>
#include <tenon.h>
#include <tenon/note.h>

TN_NOTE("{\"plugin\":{\"id\":\"museum.released\",\"version\":\"1.0.0\",\"title\":\"Uses everything of /1\",\"licence\":"
        "\"MIT\",\"requires\":[\"" TN_CORE_1 "\",\"" TN_VALUE_1 "\",\"" TN_TASK_1 "\"],\"config\":{\"type\":\"object\","
        "\"properties\":{\"greeting\":{\"type\":\"string\",\"default\":\"none\"}},\"additionalProperties\":false}}}")

#define RIGHTS "[\"calls.tool:museum.*\",\"calls.model:museum.*\"]"
#define COMPONENT(kind, id, style, more)                                                                               \
    TN_NOTE("{\"component\":{\"kind\":\"" kind "\",\"id\":\"museum." id "\",\"title\":\"The exhibit of " id            \
            "\",\"documentation\":\"See released.c.\",\"style\":\"" style "\",\"effects\":" RIGHTS more "}}")
#define CHANNELS                                                                                                       \
    ",\"config\":{\"type\":\"object\",\"properties\":{\"in\":{\"description\":\"is "                                   \
    "read\",\"type\":\"string\",\"x-tenon\":\"channel-read\","                                                         \
    "\"default\":\"in\"},\"out\":{\"description\":\"is "                                                               \
    "written\",\"type\":\"string\",\"x-tenon\":\"channel-write\",\"default\":\"out\"}},"                               \
    "\"additionalProperties\":false}"
#define NO_CONFIG ",\"config\":{\"type\":\"object\",\"additionalProperties\":false}"

static const tn_host *host;
static const tn_core_1 *core;
static const tn_value_1 *values;
static const tn_task_1 *tasks;

struct instance;
typedef int32_t start_fn(struct instance *self, tn_task task, tn_value input);

struct instance {
    start_fn *start;
    uint32_t in, out, tool, model, step;
    tn_task task;
    tn_value said;
};

/* ---- The transcript: an object that grows ---- */

static tn_value text(const char *chars) { return values->make_text(chars, strlen(chars)); }

/* Takes the value; NULL is written as "nothing". */
static void say(tn_value *said, const char *key, tn_value value) {
    tn_value what = value != NULL ? value : text("nothing");
    tn_value more = values->set(*said, key, what);
    values->release(what);
    values->release(*said);
    *said = more;
}
static void say_int(tn_value *said, const char *key, int64_t number) { say(said, key, values->make_int(number)); }
static void say_kept(tn_value *said, const char *key, tn_value value) { say(said, key, values->retain(value)); }
static tn_value from_json(const char *json) {
    tn_value value = NULL;
    return values->from_json(json, strlen(json), &value) == TN_OK ? value : NULL;
}

/* ---- tenon.value/1 ---- */

static void say_kinds(tn_value *said) {
    tn_value all = from_json("[null,true,7,7.5,\"seven\",{\"$bytes\":\"Bwc=\"},[7],{\"seven\":7}]");
    tn_value kinds = from_json("[]");
    for (uint64_t i = 0; i <= values->count(all); i++) { /* one past the end: a NULL */
        tn_value kind = values->make_int(values->kind(values->at(all, i)));
        tn_value more = values->append(kinds, kind);
        values->release(kind);
        values->release(kinds);
        kinds = more;
    }
    say(said, "kinds", kinds);
    int32_t truth = -1;
    int64_t whole = -1;
    double real = -1;
    uint64_t length = 99;
    say_int(said, "as_bool", values->as_bool(values->at(all, 1), &truth) * 10 + truth);
    say_int(said, "as_int", values->as_int(values->at(all, 2), &whole) * 10 + whole);
    say_int(said, "as_int of 7.5", values->as_int(values->at(all, 3), &whole) * 10 + whole);
    say_int(said, "as_double of 7", values->as_double(values->at(all, 2), &real));
    say(said, "as_double", values->make_double(real + 0.25));
    say_int(said, "as_double of text", values->as_double(values->at(all, 4), &real));
    say(said, "as_text", text(values->as_text(values->at(all, 4), &length)));
    say_int(said, "its length", (int64_t)length);
    const unsigned char *bytes = (const unsigned char *)values->as_bytes(values->at(all, 5), &length);
    say_int(said, "as_bytes", bytes != NULL ? bytes[0] * 100 + bytes[1] * 10 + (int64_t)length : -1);
    say_int(said, "as_text of bytes", values->as_text(values->at(all, 5), NULL) == NULL);
    say_int(said, "count of text", (int64_t)values->count(values->at(all, 4)));
    tn_value key = NULL, value = NULL;
    say_int(said, "entry", values->entry(values->at(all, 7), 0, &key, &value));
    say_kept(said, "its key", key);
    say_kept(said, "its value", value);
    say_int(said, "entry past the end", values->entry(values->at(all, 7), 1, &key, &value));
    say_kept(said, "get", values->get(values->at(all, 7), "seven"));
    say_int(said, "get of what is not there", values->get(values->at(all, 7), "eight") == NULL);
    values->release(all);
}

static void say_made(tn_value *said) {
    const double zero = 0;
    say(said, "make_null", values->make_null());
    say(said, "make_bool", values->make_bool(1));
    say(said, "make_int", values->make_int(INT64_MIN));
    say(said, "make_double", values->make_double(0.1));
    say_int(said, "make_double of no number", values->make_double(zero / zero) == NULL);
    say(said, "make_text", values->make_text("a\0b", 3));
    say_int(said, "make_text of no text", values->make_text("\xff", 1) == NULL);
    say(said, "make_bytes", values->make_bytes("\1\2\3", 3));

    tn_builder *builder = values->builder();
    tn_value item = values->make_int(1);
    values->begin(builder, TN_OBJECT);
    values->key(builder, "list");
    values->begin(builder, TN_ARRAY);
    values->add(builder, item);
    values->add(builder, item);
    values->end(builder);
    values->key(builder, "one");
    values->add(builder, item);
    values->end(builder);
    tn_value built = values->finish(builder);
    tn_value json = values->to_json(built);
    say(said, "built", json);
    tn_value again = from_json("{\"one\":1.0,\"list\":[1,1]}"), other = values->set(built, "one", json);
    say_int(said, "equal", values->equal(built, again) * 10 + values->equal(built, other));
    say_kept(said, "set", other);
    say_int(said, "set leaves", values->get(built, "one") != values->get(other, "one"));
    say_int(said, "retain", values->retain(built) == built);
    values->release(built);
    values->release(built);
    values->release(again);
    values->release(other);

    builder = values->builder();
    values->begin(builder, TN_OBJECT);
    values->add(builder, item); /* no key */
    values->end(builder);
    say_int(said, "a builder's mistake", values->finish(builder) == NULL);
    values->release(item);
    tn_value none = NULL;
    say_int(said, "from_json of no JSON", values->from_json("{]", 2, &none));
    values->release(NULL);
    say_int(said, "of NULL", (int64_t)values->count(NULL) + values->kind(NULL) + (values->retain(NULL) != NULL));
}

static int32_t start_values(struct instance *self, tn_task task, tn_value input) {
    tn_value said = from_json("{}");
    say_int(&said, "input", input != NULL ? values->kind(input) : -1);
    say_kinds(&said);
    say_made(&said);
    int32_t status = tasks->write(task, self->out, said);
    values->release(said);
    if (status != TN_OK) return tasks->fail(task, "WRITE", "write failed", NULL);
    status = tasks->complete(task, NULL);
    if (tasks->complete(task, NULL) != TN_STALE) core->log(host, TN_LOG_ERROR, "a second end was taken");
    return status;
}

/* ---- tenon.core/1 ---- */

/* Ends `self`'s task with what was said, as the write of its channel. */
static int32_t end_said(struct instance *self) {
    tn_value said = self->said;
    self->said = NULL;
    int32_t status = tasks->write(self->task, self->out, said);
    values->release(said);
    return status == TN_OK ? tasks->complete(self->task, NULL) : tasks->fail(self->task, "WRITE", "write failed", NULL);
}

static void posted_last(void *argument) {
    struct instance *self = (struct instance *)argument;
    say_int(&self->said, "posted last", ++self->step);
    end_said(self);
}
static void posted_first(void *argument) {
    struct instance *self = (struct instance *)argument;
    say_int(&self->said, "posted first", ++self->step);
}
static void posted_second(void *argument) {
    struct instance *self = (struct instance *)argument;
    say_int(&self->said, "posted second", ++self->step);
    if (core->post(host, 1, posted_last, self) == 0) tasks->fail(self->task, "POST", "post failed", NULL);
}
static void posted_never(void *argument) {
    (void)argument;
    core->log(host, TN_LOG_ERROR, "what was taken back was called");
}

static int32_t start_core(struct instance *self, tn_task task, tn_value input) {
    (void)input;
    self->task = task;
    self->said = from_json("{}");
    char *memory = (char *)core->alloc(host, 8);
    if (memory == NULL) return TN_NO_MEMORY;
    memcpy(memory, "museum", 7);
    char *larger = (char *)core->resize(host, memory, 65536);
    if (larger == NULL) return TN_NO_MEMORY;
    say(&self->said, "resize", text(larger));
    core->release(host, larger);
    core->release(host, NULL);
    int64_t before = core->monotonic_ns(host);
    say_int(&self->said, "wall_ms", core->wall_ms(host) > INT64_C(1700000000000));
    say_int(&self->said, "monotonic_ns", core->monotonic_ns(host) >= before);
    core->log(host, TN_LOG_DEBUG, "a debug line");
    core->log(host, TN_LOG_INFO, "an info line");
    core->log(host, TN_LOG_WARN, "a warning");
    core->log(host, TN_LOG_ERROR, "an error");
    uint64_t never = core->post(host, 3600000, posted_never, NULL);
    uint64_t first = core->post(host, 0, posted_first, self);
    uint64_t second = core->post(host, 0, posted_second, self);
    say_int(&self->said, "post", first != 0 && second != 0 && never != 0);
    say_int(&self->said, "unpost", core->unpost(host, never));
    say_int(&self->said, "unpost again", core->unpost(host, never));
    return TN_OK;
}

/* ---- tenon.task/1: calls, in both styles ---- */

static void called_wrongly(void *user, int32_t status, tn_value result) {
    struct instance *self = (struct instance *)user;
    say_int(&self->said, "call with wrong arguments", status);
    say_int(&self->said, "it has a code", values->as_text(values->get(result, "code"), NULL) != NULL);
    end_said(self);
}

static void called(void *user, int32_t status, tn_value result) {
    struct instance *self = (struct instance *)user;
    say_int(&self->said, "call", status);
    say_kept(&self->said, "its result", result);
    tn_value wrong = from_json("{\"a\":\"one\"}");
    status = tasks->call(self->task, self->tool, wrong, called_wrongly, self);
    values->release(wrong);
    if (status != TN_OK) tasks->fail(self->task, "CALL", "call failed", NULL);
}

static int32_t start_calls(struct instance *self, tn_task task, tn_value input) {
    (void)input;
    tn_value result = NULL, arguments = from_json("{\"a\":40,\"b\":2}");
    self->task = task;
    self->said = from_json("{}");
    say(&self->said, "read", tasks->read(task, self->in));
    say_int(&self->said, "read of no channel", tasks->read(task, 99) == NULL);
    say_int(&self->said, "write of no channel", tasks->write(task, 99, arguments));
    say_int(&self->said, "call_wait on the loop", tasks->call_wait(task, self->tool, arguments, &result));
    say_int(&self->said, "cancelled", tasks->cancelled(task));
    say_int(&self->said, "cancelled of no task", tasks->cancelled(0));
    int32_t status = tasks->call(task, self->tool, arguments, called, self);
    values->release(arguments);
    return status;
}

/* [worker] What it posts ends the task, on the loop. */
static void end_waits(void *argument) { end_said((struct instance *)argument); }

static int32_t start_waits(struct instance *self, tn_task task, tn_value input) {
    (void)input;
    self->task = task;
    self->said = from_json("{}");
    tn_value result = NULL, context = tasks->context(task), messages = from_json("{\"messages\":[]}");
    say_kept(&self->said, "node", values->get(context, "node"));
    say_kept(&self->said, "attempt", values->get(context, "attempt"));
    say_int(&self->said, "task_id", values->kind(values->get(context, "task_id")));
    say_int(&self->said, "now", values->kind(values->get(context, "now")));
    say_int(&self->said, "seed", values->kind(values->get(context, "seed")));
    values->release(context);
    say(&self->said, "read", tasks->read(task, self->in));
    say_int(&self->said, "call_wait", tasks->call_wait(task, self->model, messages, &result));
    say(&self->said, "its result", result);
    result = NULL;
    say_int(&self->said, "call_wait with wrong arguments", tasks->call_wait(task, self->tool, messages, &result));
    say_int(&self->said, "it has a code", values->as_text(values->get(result, "code"), NULL) != NULL);
    values->release(result);
    int32_t emitted = TN_OK;
    for (int64_t i = 0; i < 3 && emitted == TN_OK; i++) {
        tn_value chunk = values->make_int(i);
        emitted = tasks->emit(task, chunk);
        values->release(chunk);
    }
    say_int(&self->said, "emit", emitted);
    say_int(&self->said, "cancelled", tasks->cancelled(task));
    values->release(messages);
    return core->post(host, 0, end_waits, self) != 0 ? TN_OK : TN_ERROR;
}

/* ---- Streams, errors, cancelling, routes, questions ---- */

enum { CHUNKS = 5000 };

static void emit_more(struct instance *self) {
    while (self->step < CHUNKS) {
        tn_value chunk = values->make_int(self->step);
        int32_t status = tasks->emit(self->task, chunk);
        values->release(chunk);
        if (status == TN_AGAIN) return;
        if (status != TN_OK) return (void)tasks->fail(self->task, "EMIT", "emit failed", NULL);
        self->step++;
    }
    end_said(self);
}

static int32_t start_emits(struct instance *self, tn_task task, tn_value input) {
    (void)input;
    self->task = task;
    self->said = from_json("{}");
    emit_more(self);
    if (self->said != NULL) say_int(&self->said, "it had to wait", 1);
    return TN_OK;
}

static int32_t start_fails(struct instance *self, tn_task task, tn_value input) {
    (void)self, (void)input;
    tn_value more = from_json("{\"retryable\":false,\"retry_after_ms\":0,\"detail\":{\"door\":7}}");
    int32_t status = tasks->fail(task, "MUSEUM_CLOSED", "found a closed door", more);
    values->release(more);
    return status;
}

static int32_t start_stops(struct instance *self, tn_task task, tn_value input) {
    (void)self, (void)task, (void)input;
    return TN_OK; /* until it is cancelled */
}

static int32_t start_routes(struct instance *self, tn_task task, tn_value input) {
    (void)input;
    tn_value shorter = text("a sign"), longer = text("a signpost");
    tn_value output = from_json("{\"goto\":\"takes\",\"send\":[{\"to\":\"takes\",\"input\":{\"n\":1}},{\"to\":"
                                "\"takes\",\"input\":{\"n\":2}}]}");
    int32_t status = tasks->write(task, self->out, shorter);
    if (status == TN_OK) status = tasks->write(task, self->out, longer);
    if (status == TN_OK) status = tasks->complete(task, output);
    values->release(shorter);
    values->release(longer);
    values->release(output);
    return status;
}

static int32_t start_takes(struct instance *self, tn_task task, tn_value input) {
    (void)self;
    tn_value nothing = text("no input"), empty = from_json("{}");
    tn_value writes = values->set(empty, "taken", values->kind(input) == TN_OBJECT ? input : nothing);
    tn_value output = values->set(empty, "writes", writes);
    int32_t status = tasks->complete(task, output);
    values->release(nothing);
    values->release(empty);
    values->release(writes);
    values->release(output);
    return status;
}

static int32_t start_asks(struct instance *self, tn_task task, tn_value input) {
    (void)self, (void)input;
    tn_value payload = text("may I?"), schema = from_json("{\"type\":\"boolean\"}"), kept = values->make_int(7);
    int32_t status = tasks->interrupt(task, payload, schema, kept);
    values->release(payload);
    values->release(schema);
    values->release(kept);
    return status;
}

/* ---- A tool, a model, a runner and a reducer ---- */

static int32_t start_add(struct instance *self, tn_task task, tn_value input) {
    int64_t a = 0, b = 0;
    (void)self;
    int32_t wrong = values->as_int(values->get(input, "a"), &a);
    if (wrong == TN_OK) wrong = values->as_int(values->get(input, "b"), &b);
    if (wrong != TN_OK) return tasks->fail(task, "MUSEUM_ARGUMENTS", "expected two integers", NULL);
    tn_value sum = values->make_int(a + b);
    int32_t status = tasks->complete(task, sum);
    values->release(sum);
    return status;
}

static int32_t start_model(struct instance *self, tn_task task, tn_value input) {
    (void)self;
    tn_value reply =
        from_json("{\"message\":{\"role\":\"assistant\",\"content\":\"welcome\"},\"usage\":{\"input_tokens\":"
                  "0,\"output_tokens\":1},\"finish_reason\":\"stop\"}");
    if (values->kind(values->get(input, "messages")) != TN_ARRAY)
        core->log(host, TN_LOG_ERROR, "a model without messages");
    int32_t status = tasks->complete(task, reply);
    values->release(reply);
    return status;
}

static int32_t start_longest(struct instance *self, tn_task task, tn_value input) {
    (void)self;
    tn_value longest = values->get(input, "current"), writes = values->get(input, "writes");
    for (uint64_t i = 0; i < values->count(writes); i++) {
        uint64_t length = 0, most = 0;
        values->as_text(values->at(writes, i), &length);
        values->as_text(longest, &most);
        if (length > most) longest = values->at(writes, i);
    }
    return tasks->complete(task, longest);
}

/* ---- tenon.component/1 ---- */

static const struct row {
    const char *id;
    start_fn *start;
    int32_t binds; /* its channels */
} rows[] = {
    {"museum.values", start_values, 1},   {"museum.core", start_core, 1},     {"museum.calls", start_calls, 1},
    {"museum.waits", start_waits, 1},     {"museum.emits", start_emits, 1},   {"museum.fails", start_fails, 0},
    {"museum.stops", start_stops, 0},     {"museum.routes", start_routes, 1}, {"museum.takes", start_takes, 1},
    {"museum.asks", start_asks, 0},       {"museum.add", start_add, 0},       {"museum.model", start_model, 0},
    {"museum.longest", start_longest, 0},
};

static int32_t create(void *self, const char *id, tn_value config, tn_binder *binder, void **instance) {
    (void)self;
    const struct row *row = rows, *end = rows + sizeof(rows) / sizeof(*rows);
    while (row < end && strcmp(row->id, id) != 0) row++;
    if (row == end) return tasks->refuse(binder, "MUSEUM_REFUSED", "the museum does not show this");
    struct instance made;
    memset(&made, 0, sizeof(made));
    made.start = row->start;
    if (row->binds) {
        const char *in = values->as_text(values->get(config, "in"), NULL);
        const char *out = values->as_text(values->get(config, "out"), NULL);
        int32_t status = tasks->bind_read(binder, in, &made.in);
        if (status == TN_OK) status = tasks->bind_write(binder, out, &made.out);
        if (status == TN_OK) status = tasks->bind_call(binder, "tool", "museum.add", NULL, &made.tool);
        if (status == TN_OK) status = tasks->bind_call(binder, "model", "museum.model", NULL, &made.model);
        if (status != TN_OK) return status;
    }
    struct instance *kept = (struct instance *)core->alloc(host, sizeof(*kept));
    if (kept == NULL) return TN_NO_MEMORY;
    memcpy(kept, &made, sizeof(made));
    *instance = kept;
    return TN_OK;
}

static int32_t start(void *instance, tn_task task, tn_value input) {
    struct instance *self = (struct instance *)instance;
    return self->start(self, task, input);
}

static void cancel(void *instance, tn_task task) {
    struct instance *self = (struct instance *)instance;
    if (self->start == start_stops && tasks->cancelled(task) == 1)
        core->log(host, TN_LOG_WARN, "stops: cancelled, and asked to end soon");
    tasks->fail(task, "MUSEUM_STOPPED", "stopped", NULL);
}

static void ready(void *instance, tn_task task) {
    (void)task;
    emit_more((struct instance *)instance);
}

static void destroy(void *instance) {
    struct instance *self = (struct instance *)instance;
    values->release(self->said);
    core->release(host, self);
}

/* ---- tenon.lifecycle/1, and the entry ---- */

static int32_t init(void *self, tn_value config) {
    const char *greeting = values->as_text(values->get(config, "greeting"), NULL);
    (void)self;
    core->log(host, TN_LOG_WARN, greeting != NULL ? greeting : "init without a configuration");
    return TN_OK;
}
static void quiesce(void *self) {
    (void)self;
    core->log(host, TN_LOG_WARN, "quiesce");
}
static void deinit(void *self) {
    (void)self;
    core->log(host, TN_LOG_WARN, "deinit");
}

static const tn_component_1 components = {sizeof(tn_component_1), 0, create, start, cancel, ready, destroy};
static const tn_lifecycle_1 lifecycle = {sizeof(tn_lifecycle_1), 0, init, quiesce, deinit};

static const void *offer(void *self, const char *id) {
    (void)self;
    if (strcmp(id, TN_COMPONENT_1) == 0) return &components;
    return strcmp(id, TN_LIFECYCLE_1) == 0 ? &lifecycle : NULL;
}

static const tn_plugin plugin = {sizeof(tn_plugin), 0, NULL, offer};

TN_EXPORT const tn_plugin *tn_plugin_entry_1(const tn_host *given) {
    host = given;
    core = (const tn_core_1 *)host->get(host->self, TN_CORE_1);
    values = (const tn_value_1 *)host->get(host->self, TN_VALUE_1);
    tasks = (const tn_task_1 *)host->get(host->self, TN_TASK_1);
    if (host->size != sizeof(tn_host) || core == NULL || core->size != sizeof(tn_core_1)) return NULL;
    if (values == NULL || values->size != sizeof(tn_value_1)) return NULL;
    return tasks != NULL && tasks->size == sizeof(tn_task_1) ? &plugin : NULL;
}

COMPONENT("node", "values", "async", CHANNELS)
COMPONENT("node", "core", "async", CHANNELS)
COMPONENT("node", "calls", "async", CHANNELS)
COMPONENT("node", "waits", "blocking", CHANNELS)
COMPONENT("node", "emits", "async", CHANNELS)
COMPONENT("node", "fails", "async", NO_CONFIG)
COMPONENT("node", "stops", "async", NO_CONFIG)
COMPONENT("node", "routes", "async", CHANNELS)
COMPONENT("node", "takes", "async", CHANNELS)
COMPONENT("node", "asks", "async", NO_CONFIG)
COMPONENT("node", "closed", "async", NO_CONFIG)
COMPONENT("tool", "add", "async",
          ",\"input\":{\"type\":\"object\",\"properties\":{\"a\":{\"description\":\"added\",\"type\":\"integer\"},"
          "\"b\":{\"description\":\"added\",\"type\":\"integer\"}},"
          "\"required\":[\"a\",\"b\"],\"additionalProperties\":false}")
COMPONENT("model", "model", "async", NO_CONFIG)
COMPONENT("reducer", "longest", "async", NO_CONFIG)
