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
    uint32_t in, out, tool, model, counter, step;
    tn_task task;
    tn_call call;
    tn_value said;
};

/* ---- The transcript: an object that grows ---- */

static tn_value text(const char *chars) {
    tn_value made = NULL;
    (void)values->make_text(host, chars, TN_Z, &made);
    return made;
}

/* Takes the value; NULL is written as "nothing". */
static void say(tn_value *said, const char *key, tn_value value) {
    tn_value what = value != NULL ? value : text("nothing");
    (void)values->set(said, key, TN_Z, what);
    values->release(what);
}
static void say_int(tn_value *said, const char *key, int64_t number) { say(said, key, values->make_int(host, number)); }
static void say_kept(tn_value *said, const char *key, tn_value value) { say(said, key, values->retain(value)); }
static tn_value from_json(const char *json) {
    tn_value value = NULL;
    return values->from_json(host, json, TN_Z, &value, NULL) == TN_OK ? value : NULL;
}
static tn_value get(tn_value object, const char *key) { return values->get(object, key, TN_Z); }
/* Takes the error: its code, and one member of its detail. */
static void say_error(tn_value *said, const char *what, tn_value error, const char *member) {
    say_kept(said, what, get(error, "code"));
    if (member != NULL) say_kept(said, member, get(get(error, "detail"), member));
    values->release(error);
}
static tn_value error_of(const char *code, const char *message) {
    tn_value error = from_json("{}");
    say(&error, "code", text(code));
    say(&error, "message", text(message));
    return error;
}
static int32_t fail_task(tn_task task, const char *code, const char *message) {
    tn_value error = error_of(code, message);
    int32_t status = tasks->fail(task, error);
    values->release(error);
    return status;
}

/* ---- tenon.value/1 ---- */

static void say_kinds(tn_value *said) {
    tn_value all = from_json("[null,true,7,7.5,\"seven\",{\"$bytes\":\"Bwc=\"},[7],{\"seven\":7}]");
    tn_value kinds = from_json("[]");
    for (uint64_t i = 0; i <= values->count(all); i++) { /* one past the end: a NULL */
        tn_value kind = values->make_int(host, values->kind(values->at(all, i)));
        (void)values->append(&kinds, kind);
        values->release(kind);
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
    tn_value made = NULL;
    (void)values->make_double(host, real + 0.25, &made);
    say(said, "as_double", made);
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
    say_kept(said, "get", get(values->at(all, 7), "seven"));
    say_int(said, "get with a length", values->get(values->at(all, 7), "sevenfold", 5) != NULL);
    say_int(said, "get of what is not there", get(values->at(all, 7), "eight") == NULL);
    values->release(all);
}

static void say_made(tn_value *said) {
    const double zero = 0;
    tn_value made = NULL;
    say(said, "make_null", values->make_null(host));
    say(said, "make_bool", values->make_bool(host, 1));
    say(said, "make_int", values->make_int(host, INT64_MIN));
    say_int(said, "make_double", values->make_double(host, 0.1, &made));
    say(said, "the double", made);
    say_int(said, "make_double of no number", values->make_double(host, zero / zero, &made));
    say_int(said, "make_text", values->make_text(host, "a\0b", 3, &made));
    say(said, "its text", made);
    say_int(said, "make_text of no text", values->make_text(host, "\xff", 1, &made));
    say_int(said, "make_bytes", values->make_bytes(host, "\1\2\3", 3, &made));
    say(said, "its bytes", made);
    say_int(said, "retain", values->retain(made) == made);
    values->release(made);
    values->release(NULL);
    say_int(said, "of NULL", (int64_t)values->count(NULL) + values->kind(NULL) + (values->retain(NULL) != NULL));
}

static void say_built(tn_value *said) {
    tn_builder *builder = values->builder(host);
    tn_value item = values->make_int(host, 1), built = NULL, json = NULL, error = NULL;
    values->begin(builder, TN_OBJECT);
    values->key(builder, "list", TN_Z);
    values->begin(builder, TN_ARRAY);
    values->add(builder, item);
    values->add_text(builder, "two\0", 4);
    values->end(builder);
    values->key(builder, "one\0more", 8);
    values->add(builder, item);
    values->end(builder);
    say_int(said, "finish", values->finish(builder, &built, &error));
    say_int(said, "to_json", values->to_json(built, NULL, &json));
    say(said, "its JSON", json);
    tn_value options = from_json("{\"pretty\":true,\"sorted\":true}"), unsorted = from_json("{\"b\":[1],\"a\":{}}");
    say_int(said, "to_json with options", values->to_json(unsorted, options, &json));
    say(said, "its pretty JSON", json);
    tn_value again = from_json("{\"one\\u0000more\":1.0,\"list\":[1,\"two\\u0000\"]}");
    say_int(said, "equal", values->equal(built, again) * 10 + values->equal(built, options));
    values->release(built);
    values->release(again);
    values->release(options);
    values->release(unsorted);

    builder = values->builder(host);
    values->begin(builder, TN_OBJECT);
    values->key(builder, "a/b", TN_Z);
    values->begin(builder, TN_OBJECT);
    values->key(builder, "c", TN_Z);
    values->add(builder, NULL);
    values->end(builder);
    say_int(said, "a builder's mistake", values->finish(builder, &built, &error));
    say_error(said, "its error", error, "at");
    values->release(item);
    say_int(said, "from_json of no JSON", values->from_json(host, "{\n \"a\" 1}", 9, &built, &error));
    say_error(said, "that error", error, "line");
}

static void say_edited(tn_value *said) {
    tn_value object = from_json("{\"a\":1,\"b\":2}"), kept = values->retain(object), part = NULL;
    tn_value list = from_json("[1,2,3,4]"), more = from_json("[\"x\",\"y\"]"), word = text("caf\xc3\xa9");
    say_int(said, "set", values->set(&object, "a", 1, more));
    say_int(said, "set a new key", values->set(&object, "c\0d", 3, word));
    say_int(said, "remove", values->remove(&object, "b", TN_Z));
    say_int(said, "remove again", values->remove(&object, "b", TN_Z));
    say(said, "the object", object);
    say(said, "as it was", kept);
    say_int(said, "append", values->append(&list, word));
    say_int(said, "splice", values->splice(&list, 1, 2, more));
    say_int(said, "splice by nothing", values->splice(&list, 0, 1, NULL));
    say_int(said, "splice past the end", values->splice(&list, 4, 1, NULL));
    say_int(said, "concat", values->concat(&list, more));
    say_kept(said, "the list", list);
    say_int(said, "slice", values->slice(list, 1, 2, &part));
    say(said, "the part", part);
    say_int(said, "slice of a text", values->slice(word, 3, 2, &part));
    say_int(said, "concat of texts", values->concat(&part, word));
    say(said, "the text", part);
    say_int(said, "slice inside a character", values->slice(word, 0, 4, &part));
    say_int(said, "set in an array", values->set(&list, "a", TN_Z, word));
    values->release(list);
    values->release(more);
    values->release(word);
}

static int32_t start_values(struct instance *self, tn_task task, tn_value input) {
    tn_value said = from_json("{}");
    say_int(&said, "input", input != NULL ? values->kind(input) : -1);
    say_kinds(&said);
    say_made(&said);
    say_built(&said);
    say_edited(&said);
    int32_t status = tasks->write(task, self->out, said);
    values->release(said);
    if (status != TN_OK) return fail_task(task, "WRITE", "write failed");
    status = tasks->complete(task, NULL);
    if (tasks->complete(task, NULL) != TN_STALE) core->log(host, TN_LOG_ERROR, "a second end was accepted", TN_Z);
    return status;
}

/* ---- tenon.core/1 ---- */

/* Ends `self`'s task with what was said, as the write of its channel. */
static int32_t end_said(struct instance *self) {
    tn_value said = self->said;
    self->said = NULL;
    int32_t status = tasks->write(self->task, self->out, said);
    values->release(said);
    return status == TN_OK ? tasks->complete(self->task, NULL) : fail_task(self->task, "WRITE", "write failed");
}

static void TN_ABI posted_last(void *argument) {
    struct instance *self = (struct instance *)argument;
    say_int(&self->said, "posted last", ++self->step);
    end_said(self);
}
static void TN_ABI posted_first(void *argument) {
    struct instance *self = (struct instance *)argument;
    say_int(&self->said, "posted first", ++self->step);
}
static void TN_ABI posted_second(void *argument) {
    struct instance *self = (struct instance *)argument;
    say_int(&self->said, "posted second", ++self->step);
    if (core->post(host, 1, posted_last, NULL, self, NULL) != TN_OK) fail_task(self->task, "POST", "post failed");
}
static void TN_ABI posted_never(void *argument) {
    (void)argument;
    core->log(host, TN_LOG_ERROR, "a post was called after unpost", TN_Z);
}
static void TN_ABI dropped(void *argument) {
    struct instance *self = (struct instance *)argument;
    say_int(&self->said, "dropped", ++self->step);
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
    core->log(host, TN_LOG_DEBUG, "a debug line", TN_Z);
    core->log(host, TN_LOG_INFO, "an info line", TN_Z);
    core->log(host, TN_LOG_WARN, "a warning without this", 9);
    core->log(host, TN_LOG_ERROR, "an error", TN_Z);
    uint64_t never = 0, first = 0, second = 0;
    say_int(&self->said, "post", core->post(host, 3600000, posted_never, dropped, self, &never));
    (void)core->post(host, 0, posted_first, dropped, self, &first);
    (void)core->post(host, 0, posted_second, NULL, self, &second);
    say_int(&self->said, "three numbers", first != 0 && second != 0 && never != 0 && first != second);
    say_int(&self->said, "unpost", core->unpost(host, never));
    say_int(&self->said, "unpost again", core->unpost(host, never));
    return TN_OK;
}

/* ---- tenon.task/1: calls, in both styles ---- */

static void TN_ABI end_calls(void *argument) { end_said((struct instance *)argument); }

static int32_t call_counter(struct instance *self, const char *options, tn_call_handler handler) {
    tn_value given = from_json(options);
    int32_t status = tasks->call(self->task, self->counter, given, given, handler, self, &self->call);
    values->release(given);
    return status;
}

/* The fifth call is cancelled, the other tasks of this one are not. */
static int32_t TN_ABI called_and_cancelled(void *user, int32_t status, tn_value result) {
    struct instance *self = (struct instance *)user;
    say_int(&self->said, "a call that was cancelled", status);
    say_int(&self->said, "without a result", result == NULL);
    say_int(&self->said, "cancel_call again", tasks->cancel_call(self->task, self->call));
    say_int(&self->said, "resume_call after its end", tasks->resume_call(self->task, self->call));
    return core->post(host, 0, end_calls, NULL, self, NULL);
}
static void TN_ABI cancel_the_call(void *argument) {
    struct instance *self = (struct instance *)argument;
    say_int(&self->said, "cancel_call", tasks->cancel_call(self->task, self->call));
}

/* The fourth has too little time, and its chunks are dropped. */
static int32_t TN_ABI called_too_long(void *user, int32_t status, tn_value result) {
    struct instance *self = (struct instance *)user;
    say_int(&self->said, "a call without time", status);
    say_kept(&self->said, "its code", get(result, "code"));
    if (call_counter(self, "{\"chunks\":\"drop\"}", called_and_cancelled) != TN_OK)
        return fail_task(self->task, "CALL", "the fifth call failed");
    return core->post(host, 1, cancel_the_call, NULL, self, NULL);
}

/* The chunks of the third are received; after the first, it is paused. */
static void TN_ABI resume_the_call(void *argument) {
    struct instance *self = (struct instance *)argument;
    say_int(&self->said, "resume_call", tasks->resume_call(self->task, self->call));
}
static int32_t TN_ABI called_for_chunks(void *user, int32_t status, tn_value value) {
    struct instance *self = (struct instance *)user;
    if (status == TN_CHUNK) {
        tn_value chunks = values->retain(get(self->said, "chunks"));
        (void)values->append(&chunks, value);
        say(&self->said, "chunks", chunks);
        if (values->count(get(self->said, "chunks")) > 1) return TN_OK;
        return core->post(host, 1, resume_the_call, NULL, self, NULL) == TN_OK ? TN_AGAIN : TN_OK;
    }
    say_int(&self->said, "a call for chunks", status);
    say_kept(&self->said, "the last result", value);
    if (call_counter(self, "{\"chunks\":\"drop\",\"timeout_ms\":50}", called_too_long) != TN_OK)
        return fail_task(self->task, "CALL", "the fourth call failed");
    return TN_OK;
}

static int32_t TN_ABI called_wrongly(void *user, int32_t status, tn_value result) {
    struct instance *self = (struct instance *)user;
    say_int(&self->said, "call with wrong arguments", status);
    say_int(&self->said, "it has a code", values->as_text(get(result, "code"), NULL) != NULL);
    say_int(&self->said, "call with wrong options", call_counter(self, "{\"chunk\":\"receive\"}", called_wrongly));
    say(&self->said, "chunks", from_json("[]"));
    if (call_counter(self, "{\"chunks\":\"receive\"}", called_for_chunks) != TN_OK)
        return fail_task(self->task, "CALL", "the third call failed");
    return TN_OK;
}

static int32_t TN_ABI called(void *user, int32_t status, tn_value result) {
    struct instance *self = (struct instance *)user;
    say_int(&self->said, "call", status);
    say_kept(&self->said, "its result", result);
    tn_value wrong = from_json("{\"a\":\"one\"}");
    status = tasks->call(self->task, self->tool, wrong, NULL, called_wrongly, self, NULL);
    values->release(wrong);
    return status == TN_OK ? TN_OK : fail_task(self->task, "CALL", "the second call failed");
}

static void say_read(struct instance *self) {
    tn_value read = NULL;
    say_int(&self->said, "read", tasks->read(self->task, self->in, &read));
    say(&self->said, "the channel", read);
}

static int32_t start_calls(struct instance *self, tn_task task, tn_value input) {
    (void)input;
    tn_value result = NULL, arguments = from_json("{\"a\":40,\"b\":2}");
    self->task = task;
    self->said = from_json("{}");
    say_read(self);
    say_int(&self->said, "read of no channel", tasks->read(task, 99, &result));
    say_int(&self->said, "write of no channel", tasks->write(task, 99, arguments));
    say_int(&self->said, "call_wait on the loop", tasks->call_wait(task, self->tool, arguments, NULL, &result, NULL));
    say_int(&self->said, "cancelled", tasks->cancelled(task));
    say_int(&self->said, "cancelled of no task", tasks->cancelled(0));
    say_int(&self->said, "cancel_call of no call", tasks->cancel_call(task, 99));
    int32_t status = tasks->call(task, self->tool, arguments, NULL, called, self, &self->call);
    say_int(&self->said, "it has a number", self->call != 0);
    values->release(arguments);
    return status;
}

/* [worker] What it posts ends the task, on the loop. */
static int32_t start_waits(struct instance *self, tn_task task, tn_value input) {
    (void)input;
    self->task = task;
    self->said = from_json("{}");
    tn_value result = NULL, error = NULL, context = NULL, messages = from_json("{\"messages\":[]}");
    say_int(&self->said, "context", tasks->context(task, &context));
    say_kept(&self->said, "node", get(context, "node"));
    say_kept(&self->said, "attempt", get(context, "attempt"));
    say_int(&self->said, "task_id", values->kind(get(context, "task_id")));
    say_int(&self->said, "now", values->kind(get(context, "now")));
    say_int(&self->said, "seed", values->kind(get(context, "seed")));
    values->release(context);
    say_read(self);
    say_int(&self->said, "call_wait", tasks->call_wait(task, self->model, messages, NULL, &result, &error));
    say(&self->said, "its result", result);
    say_int(&self->said, "call_wait with wrong arguments",
            tasks->call_wait(task, self->tool, messages, NULL, &result, &error));
    say_int(&self->said, "it has a code", values->as_text(get(error, "code"), NULL) != NULL);
    values->release(error);
    int32_t emitted = TN_OK;
    for (int64_t i = 0; i < 3 && emitted == TN_OK; i++) {
        tn_value chunk = values->make_int(host, i);
        emitted = tasks->emit(task, chunk);
        values->release(chunk);
    }
    say_int(&self->said, "emit", emitted);
    say_int(&self->said, "cancelled", tasks->cancelled(task));
    values->release(messages);
    return core->post(host, 0, end_calls, NULL, self, NULL);
}

/* ---- Streams, errors, cancelling, routes, questions ---- */

enum { CHUNKS = 5000 };

static void emit_more(struct instance *self) {
    while (self->step < CHUNKS) {
        tn_value chunk = values->make_int(host, self->step);
        int32_t status = tasks->emit(self->task, chunk);
        values->release(chunk);
        if (status == TN_AGAIN) return;
        if (status != TN_OK) return (void)fail_task(self->task, "EMIT", "emit failed");
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
    tn_value error = from_json("{\"code\":\"MUSEUM_CLOSED\",\"message\":\"found a closed door\",\"retryable\":false,"
                               "\"retry_after_ms\":0,\"detail\":{\"door\":7}}");
    int32_t status = tasks->fail(task, error);
    values->release(error);
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
    tn_value writes = from_json("{}"), output = from_json("{}");
    say(&writes, "taken", values->kind(input) == TN_OBJECT ? values->retain(input) : text("no input"));
    say(&output, "writes", writes);
    int32_t status = tasks->complete(task, output);
    values->release(output);
    return status;
}

static int32_t start_asks(struct instance *self, tn_task task, tn_value input) {
    (void)self, (void)input;
    tn_value payload = text("may I?"), schema = from_json("{\"type\":\"boolean\"}"), kept = values->make_int(host, 7);
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
    int32_t wrong = values->as_int(get(input, "a"), &a);
    if (wrong == TN_OK) wrong = values->as_int(get(input, "b"), &b);
    if (wrong != TN_OK) return fail_task(task, "MUSEUM_ARGUMENTS", "expected two integers");
    tn_value sum = values->make_int(host, a + b);
    int32_t status = tasks->complete(task, sum);
    values->release(sum);
    return status;
}

/* Emits three chunks. Completes if they are received, otherwise it lasts until it is cancelled. */
static int32_t start_counts(struct instance *self, tn_task task, tn_value input) {
    self->task = task;
    for (self->step = 0; self->step < 3; self->step++) {
        tn_value chunk = values->make_int(host, self->step);
        int32_t status = tasks->emit(task, chunk);
        values->release(chunk);
        if (status != TN_OK) return fail_task(task, "EMIT", "a chunk was not accepted");
    }
    const char *chunks = values->as_text(get(input, "chunks"), NULL);
    if (chunks == NULL || strcmp(chunks, "receive") != 0) return TN_OK;
    tn_value count = values->make_int(host, self->step);
    int32_t status = tasks->complete(task, count);
    values->release(count);
    return status;
}

static int32_t start_model(struct instance *self, tn_task task, tn_value input) {
    (void)self;
    tn_value reply =
        from_json("{\"message\":{\"role\":\"assistant\",\"content\":\"welcome\"},\"usage\":{\"input_tokens\":"
                  "0,\"output_tokens\":1},\"finish_reason\":\"stop\"}");
    if (values->kind(get(input, "messages")) != TN_ARRAY)
        core->log(host, TN_LOG_ERROR, "a model without messages", TN_Z);
    int32_t status = tasks->complete(task, reply);
    values->release(reply);
    return status;
}

static int32_t start_longest(struct instance *self, tn_task task, tn_value input) {
    (void)self;
    tn_value longest = get(input, "current"), writes = get(input, "writes");
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
    {"museum.longest", start_longest, 0}, {"museum.counts", start_counts, 0},
};

static int32_t bind_all(struct instance *made, tn_value config, tn_binder *binder) {
    uint64_t in_length = 0, out_length = 0;
    const char *in = values->as_text(get(config, "in"), &in_length);
    const char *out = values->as_text(get(config, "out"), &out_length);
    int32_t status = tasks->bind_read(binder, in, in_length, &made->in);
    if (status == TN_OK) status = tasks->bind_write(binder, out, out_length, &made->out);
    if (status == TN_OK) status = tasks->bind_call(binder, "tool", TN_Z, "museum.add", TN_Z, NULL, &made->tool);
    if (status == TN_OK) status = tasks->bind_call(binder, "models", 5, "museum.model", 12, NULL, &made->model);
    if (status == TN_OK) status = tasks->bind_call(binder, "tool", TN_Z, "museum.counts", TN_Z, NULL, &made->counter);
    return status;
}

static int32_t TN_ABI create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                             void **instance) {
    (void)self;
    const struct row *row = rows, *end = rows + sizeof(rows) / sizeof(*rows);
    while (row < end && (strlen(row->id) != length || memcmp(row->id, id, length) != 0)) row++;
    if (row == end) {
        tn_value error = error_of("MUSEUM_REFUSED", "the museum does not show this");
        int32_t status = core->refuse(host, error);
        values->release(error);
        return status;
    }
    struct instance made;
    memset(&made, 0, sizeof(made));
    made.start = row->start;
    int32_t status = row->binds ? bind_all(&made, config, binder) : TN_OK;
    if (status != TN_OK) return status;
    struct instance *kept = (struct instance *)core->alloc(host, sizeof(*kept));
    if (kept == NULL) return TN_NO_MEMORY;
    memcpy(kept, &made, sizeof(made));
    *instance = kept;
    return TN_OK;
}

static int32_t TN_ABI start(void *instance, tn_task task, tn_value input) {
    struct instance *self = (struct instance *)instance;
    return self->start(self, task, input);
}

static void TN_ABI cancel(void *instance, tn_task task) {
    struct instance *self = (struct instance *)instance;
    if (self->start == start_stops && tasks->cancelled(task) == 1)
        core->log(host, TN_LOG_WARN, "stops: cancelled, and asked to end soon", TN_Z);
    fail_task(task, "MUSEUM_STOPPED", "stopped");
}

static void TN_ABI ready(void *instance, tn_task task) {
    (void)task;
    emit_more((struct instance *)instance);
}

static void TN_ABI destroy(void *instance) {
    struct instance *self = (struct instance *)instance;
    values->release(self->said);
    core->release(host, self);
}

/* ---- tenon.lifecycle/1, and the entry ---- */

static int32_t TN_ABI init(void *self, tn_value config) {
    const char *greeting = values->as_text(get(config, "greeting"), NULL);
    (void)self;
    core->log(host, TN_LOG_WARN, greeting != NULL ? greeting : "init without a configuration", TN_Z);
    return TN_OK;
}
static void TN_ABI dropped_last(void *argument) {
    (void)argument;
    core->log(host, TN_LOG_WARN, "a post is dropped", TN_Z);
}
static void TN_ABI quiesce(void *self) {
    (void)self;
    core->log(host, TN_LOG_WARN, "quiesce", TN_Z);
    (void)core->post(host, 3600000, posted_never, dropped_last, NULL, NULL);
}
static void TN_ABI deinit(void *self) {
    (void)self;
    core->log(host, TN_LOG_WARN, "deinit", TN_Z);
}

static const tn_component_1 components = {sizeof(tn_component_1), create, start, cancel, ready, destroy};
static const tn_lifecycle_1 lifecycle = {sizeof(tn_lifecycle_1), init, quiesce, deinit};

static const void *TN_ABI offer(void *self, const char *id) {
    (void)self;
    if (strcmp(id, TN_COMPONENT_1) == 0) return &components;
    return strcmp(id, TN_LIFECYCLE_1) == 0 ? &lifecycle : NULL;
}

static const tn_plugin plugin = {sizeof(tn_plugin), NULL, offer};

TN_EXPORT const tn_plugin *TN_ABI tn_plugin_entry_1(const tn_host *given) {
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
COMPONENT("tool", "counts", "async", ",\"input\":{\"type\":\"object\"}")
COMPONENT("model", "model", "async", NO_CONFIG)
COMPONENT("reducer", "longest", "async", NO_CONFIG)
