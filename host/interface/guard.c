/*
 * guard.c - the wrapped vtables, and what is noted on the way through them.
 *
 * References are counted by plugin: what it is given, makes and retains, less what it releases; at its end that must be
 * nothing. What is lent for a call is a copy that is kept, dead, for a while after the call: whoever then asks
 * something of it has kept a value without retaining it.
 */
#include "host/interface/guard.h"
#include "adl/value/memory.h"
#include "adl/value/value.h"
#include "host/call/worker.h"
#include "host/interface/guard_internal.h"
#include "host/interface/interface.h"
#include "host/log.h"
#include "host/plugin/plugin.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <tenon/store.h>
#include <time.h>

struct guarded {
    tn_plugin end;
    struct guarded *next; /* [loop] of all there are */
    struct plugin *plugin;
    const tn_plugin *inner;
    tn_component_1 components;
    tn_lifecycle_1 lifecycle;
    const tn_component_1 *inner_components;
    const tn_lifecycle_1 *inner_lifecycle;
    tn_store_draft stores;
    const tn_store_draft *inner_stores;
    tn_http_draft http;
    const tn_http_draft *inner_http;
    _Atomic int64_t references;
};

struct guarded_instance {
    struct guarded *guarded;
    void *inner;
    tn_value config; /* the copy that create was lent */
};

static struct guarded *all;
static _Thread_local struct guarded *current;
static struct guarded *_Atomic last;
static _Atomic uint64_t findings;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *said[GUARD_FINDINGS_MAX]; /* under lock, as the rest */
static size_t said_count;
static tn_task ended[GUARD_ENDED_MAX];
static size_t ended_next;
static tn_value dead[GUARD_DEAD_MAX];
static size_t dead_next;

static struct guarded *whose(void) { return current ? current : last; }

/* ---- Findings ---- */

uint64_t guard_findings(void) { return findings; }

static void find(const struct guarded *guarded, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void find(const struct guarded *guarded, const char *format, ...) {
    char text[512];
    va_list args;
    const char *id = guarded ? plugin_id(guarded->plugin) : "?";
    int length = snprintf(text, sizeof text, "plugin `%s` ", id);
    va_start(args, format);
    vsnprintf(text + length, sizeof text - (size_t)length, format, args);
    va_end(args);
    findings++;
    pthread_mutex_lock(&lock);
    bool known = said_count == GUARD_FINDINGS_MAX;
    for (size_t i = 0; !known && i < said_count; i++) known = strcmp(said[i], text) == 0;
    if (!known) said[said_count++] = mem_text(text);
    pthread_mutex_unlock(&lock);
    if (!known) log_write(LOG_ERROR, NULL, "check: %s", text);
}

/* ---- Values ---- */

static tn_value taken(tn_value value) {
    struct guarded *guarded = whose();
    if (guarded && value_is_block(value)) guarded->references++;
    return value;
}

static void used(tn_value value, const char *function) {
    if (!value_is_block(value)) return;
    bool found = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; !found && i < GUARD_DEAD_MAX && dead[i]; i++) found = dead[i] == value;
    pthread_mutex_unlock(&lock);
    if (found)
        find(whose(), "gives %s a value that was lent for a call which is over; retain what is to be kept", function);
}

/* The same at the top, with an identity of its own; a new reference. */
static tn_value copy_of(tn_value value) {
    size_t length;
    tn_value copy;
    switch (value_kind(value)) {
    case TN_STRING: {
        const char *chars = value_chars(value, &length);
        return value_text_n(chars, length);
    }
    case TN_BYTES: {
        const void *bytes = value_data(value, &length);
        return value_bytes(bytes, length);
    }
    case TN_ARRAY:
        copy = value_array_reserve(value_count(value));
        for (size_t i = 0; i < value_count(value); i++) copy = value_push_take(copy, value_ref(value_at(value, i)));
        return copy;
    case TN_OBJECT:
        copy = value_object_reserve(value_count(value));
        for (size_t i = 0; i < value_count(value); i++)
            copy = value_set_key_take(copy, value_ref(value_key_at(value, i)), value_ref(value_value_at(value, i)));
        return copy;
    default: return value_ref(value);
    }
}

/* The call it was lent for is over: dead, unless the plugin has kept it. Takes the copy. */
static void bury(tn_value copy) {
    if (value_is_block(copy) && copy->references == 1) {
        pthread_mutex_lock(&lock);
        tn_value gone = dead[dead_next];
        dead[dead_next] = copy;
        dead_next = (dead_next + 1) % GUARD_DEAD_MAX;
        pthread_mutex_unlock(&lock);
        copy = gone;
    }
    value_unref(copy);
}

static tn_value v_retain(tn_value value) {
    used(value, "retain");
    return taken(interface_value.retain(value));
}

static void v_release(tn_value value) {
    struct guarded *guarded = whose();
    used(value, "release");
    if (guarded && value_is_block(value)) guarded->references--;
    interface_value.release(value);
}

#define READS(type, name, value_argument, parameters, arguments)                                                       \
    static type v_##name parameters {                                                                                  \
        used(value_argument, #name);                                                                                   \
        return interface_value.name arguments;                                                                         \
    }
#define MAKES(name, parameters, arguments)                                                                             \
    static tn_value v_##name parameters { return taken(interface_value.name arguments); }

READS(int32_t, kind, value, (tn_value value), (value))
READS(int32_t, as_bool, value, (tn_value value, int32_t *out), (value, out))
READS(int32_t, as_int, value, (tn_value value, int64_t *out), (value, out))
READS(int32_t, as_double, value, (tn_value value, double *out), (value, out))
READS(const char *, as_text, value, (tn_value value, uint64_t *length), (value, length))
READS(const void *, as_bytes, value, (tn_value value, uint64_t *length), (value, length))
READS(uint64_t, count, value, (tn_value value), (value))
READS(tn_value, at, value, (tn_value value, uint64_t index), (value, index))
READS(tn_value, get, value, (tn_value value, const char *key), (value, key))
READS(int32_t, entry, value, (tn_value value, uint64_t index, tn_value *key, tn_value *out), (value, index, key, out))
READS(int32_t, equal, value, (tn_value value, tn_value other), (value, other))
MAKES(make_int, (int64_t number), (number))
MAKES(make_double, (double number), (number))
MAKES(make_text, (const char *text, uint64_t length), (text, length))
MAKES(make_bytes, (const void *bytes, uint64_t length), (bytes, length))
MAKES(finish, (tn_builder * builder), (builder))

static tn_value v_append(tn_value array, tn_value item) {
    used(array, "append");
    used(item, "append");
    return taken(interface_value.append(array, item));
}

static tn_value v_set(tn_value object, const char *key, tn_value value) {
    used(object, "set");
    used(value, "set");
    return taken(interface_value.set(object, key, value));
}

static void v_add(tn_builder *builder, tn_value value) {
    used(value, "add");
    interface_value.add(builder, value);
}

static int32_t v_from_json(const char *json, uint64_t length, tn_value *out) {
    int32_t status = interface_value.from_json(json, length, out);
    if (status == TN_OK) taken(*out);
    return status;
}

static tn_value v_to_json(tn_value value) {
    used(value, "to_json");
    return taken(interface_value.to_json(value));
}

/* ---- Memory ---- */

static _Atomic uint64_t fail_at, allocations;

void guard_fail_allocation(uint64_t n) {
    allocations = 0;
    fail_at = n;
}

bool guard_allocation_failed(void) { return fail_at && allocations >= fail_at; }

static bool fails_now(void) { return fail_at && ++allocations == fail_at; }

static void *m_alloc(const tn_host *host, uint64_t size) {
    return fails_now() ? NULL : interface_core.alloc(host, size);
}

static void *m_resize(const tn_host *host, void *memory, uint64_t size) {
    return fails_now() ? NULL : interface_core.resize(host, memory, size);
}

/* ---- Tasks ---- */

static bool is_open(tn_task task) { return interface_task.cancelled(task) >= 0; }

static int32_t ends(tn_task task, int32_t status, const char *function) {
    bool twice = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; status == TN_STALE && !twice && i < GUARD_ENDED_MAX; i++) twice = ended[i] == task;
    if (status == TN_OK) {
        ended[ended_next] = task;
        ended_next = (ended_next + 1) % GUARD_ENDED_MAX;
    }
    pthread_mutex_unlock(&lock);
    if (twice) find(whose(), "ends a task by %s that it had ended before", function);
    return status;
}

static int32_t t_complete(tn_task task, tn_value output) {
    used(output, "complete");
    return ends(task, interface_task.complete(task, output), "complete");
}

static int32_t t_fail(tn_task task, const char *code, const char *message, tn_value more) {
    used(more, "fail");
    return ends(task, interface_task.fail(task, code, message, more), "fail");
}

static int32_t t_interrupt(tn_task task, tn_value payload, tn_value schema, tn_value continuation) {
    used(payload, "interrupt");
    return ends(task, interface_task.interrupt(task, payload, schema, continuation), "interrupt");
}

static int32_t t_emit(tn_task task, tn_value chunk) {
    used(chunk, "emit");
    return interface_task.emit(task, chunk);
}

static void wrong_thread(const char *function) { find(whose(), "calls %s from a thread that it is not for", function); }

static tn_value t_context(tn_task task) {
    tn_value context = interface_task.context(task);
    if (!context && is_open(task)) wrong_thread("context");
    return taken(context);
}

static tn_value t_read(tn_task task, uint32_t index) {
    /* A channel may hold nothing: only that there is no view of the task is wrong. */
    tn_value value = interface_task.read(task, index);
    if (!value && is_open(task)) {
        tn_value context = interface_task.context(task);
        if (!context) wrong_thread("read");
        value_unref(context);
    }
    return taken(value);
}

static int32_t t_write(tn_task task, uint32_t index, tn_value value) {
    used(value, "write");
    return interface_task.write(task, index, value);
}

/* What a call ends in is the plugin's again. */
struct guarded_done {
    struct guarded *guarded;
    tn_call_done done;
    void *user;
};

static void on_done(void *user, int32_t status, tn_value result) {
    struct guarded_done *waits = user;
    struct guarded *before = current;
    last = current = waits->guarded;
    waits->done(waits->user, status, result);
    current = before;
    mem_free(waits);
}

static struct guarded_done *done_new(tn_call_done done, void *user) {
    struct guarded_done *waits = mem_alloc(sizeof *waits);
    *waits = (struct guarded_done){whose(), done, user};
    return waits;
}

static int32_t t_call(tn_task task, uint32_t callee, tn_value input, tn_call_done done, void *user) {
    used(input, "call");
    struct guarded_done *waits = done ? done_new(done, user) : NULL;
    int32_t status = interface_task.call(task, callee, input, done ? on_done : NULL, waits);
    if (status == TN_WRONG_THREAD) wrong_thread("call");
    if (status != TN_OK) mem_free(waits);
    return status;
}

static int32_t t_call_wait(tn_task task, uint32_t callee, tn_value input, tn_value *result) {
    used(input, "call_wait");
    int32_t status = interface_task.call_wait(task, callee, input, result);
    if (status == TN_WRONG_THREAD) wrong_thread("call_wait");
    if (result && (status == TN_OK || status == TN_FAILED)) taken(*result);
    return status;
}

/* ---- tenon.eval, which gives values as well ---- */

static int32_t e_evaluate(tn_task task, uint32_t expression, tn_value item, tn_value *out) {
    int32_t status = interface_eval.evaluate(task, expression, item, out);
    if (out && (status == TN_OK || status == TN_FAILED)) taken(*out);
    return status;
}

static int32_t e_render(tn_task task, uint32_t text, tn_value variables, tn_value *out) {
    int32_t status = interface_eval.render(task, text, variables, out);
    if (out && (status == TN_OK || status == TN_FAILED)) taken(*out);
    return status;
}

static int32_t e_validate(tn_task task, uint32_t schema, tn_value instance, tn_value *error) {
    int32_t status = interface_eval.validate(task, schema, instance, error);
    if (error && status == TN_FAILED) taken(*error);
    return status;
}

static int32_t e_fail_with(tn_task task, tn_value error) {
    return ends(task, interface_eval.fail_with(task, error), "fail_with");
}

/* ---- For guard_calls.c ---- */

void guard_used(tn_value value, const char *function) { used(value, function); }
void guard_taken(tn_value value) { (void)taken(value); }
void guard_wrong_thread(const char *function) { wrong_thread(function); }
void *guard_waits(tn_call_done done, void *user) { return done ? done_new(done, user) : NULL; }
tn_call_done guard_done(tn_call_done done) { return done ? on_done : NULL; }

/* ---- tenon.http, from both sides ---- */

static int32_t h_send_wait(const void *self, tn_task task, tn_value request, tn_value *result) {
    used(request, "send_wait");
    int32_t status = interface_http.send_wait(self, task, request, result);
    if (status == TN_WRONG_THREAD) wrong_thread("send_wait");
    if (result && (status == TN_OK || status == TN_FAILED)) taken(*result);
    return status;
}

static int32_t h_send(const void *self, tn_value request, tn_http_handler handler, void *user, uint64_t *exchange) {
    used(request, "send");
    int32_t status = interface_http.send(self, request, handler, user, exchange);
    if (status == TN_WRONG_THREAD) wrong_thread("send");
    return status;
}

/* A function of one that provides it. */
#define PROVIDES(name, parameters, arguments)                                                                          \
    static int32_t p_##name parameters {                                                                               \
        struct guarded *guarded = (struct guarded *)(uintptr_t)self, *before = current;                                \
        self = guarded->inner->self;                                                                                   \
        last = current = guarded;                                                                                      \
        int32_t status = guarded->inner_http->name arguments;                                                          \
        current = before;                                                                                              \
        return status;                                                                                                 \
    }

PROVIDES(send, (const void *self, tn_value request, tn_http_handler handler, void *user, uint64_t *exchange),
         (self, request, handler, user, exchange))
PROVIDES(pause, (const void *self, uint64_t exchange), (self, exchange))
PROVIDES(resume, (const void *self, uint64_t exchange), (self, exchange))
PROVIDES(cancel, (const void *self, uint64_t exchange), (self, exchange))

/* ---- The plugin's side ---- */

static struct guarded *enter(struct guarded *guarded) {
    struct guarded *before = current;
    current = guarded;
    last = guarded;
    return before;
}

static int64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t wall_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

struct stopwatch {
    int64_t cpu_us, wall_us;
};

static struct stopwatch begin(void) { return (struct stopwatch){now_us(), wall_us()}; }

/* A busy machine holds everybody: waiting counts only where it is long, working always. */
static void held(const struct guarded *guarded, struct stopwatch began, const char *function) {
    int64_t worked = now_us() - began.cpu_us, passed = wall_us() - began.wall_us;
    if (worked > GUARD_HOLD_MS * 1000 || passed > 10 * GUARD_HOLD_MS * 1000)
        find(guarded, "holds the loop in %s, for more than %d ms; TN_NODE_BLOCKING is for what takes long", function,
             GUARD_HOLD_MS);
}

static int32_t c_create(void *self, const char *id, tn_value config, tn_binder *binder, void **out) {
    struct guarded *guarded = self, *before = enter(guarded);
    struct guarded_instance *instance = mem_zalloc(sizeof *instance);
    instance->guarded = guarded;
    instance->config = copy_of(config);
    int32_t status =
        guarded->inner_components->create(guarded->inner->self, id, instance->config, binder, &instance->inner);
    bury(instance->config);
    instance->config = NULL;
    current = before;
    if (status == TN_OK)
        *out = instance;
    else
        mem_free(instance);
    return status;
}

static int32_t c_start(void *self, tn_task task, tn_value input) {
    struct guarded_instance *instance = self;
    struct guarded *guarded = instance->guarded, *before = enter(guarded);
    tn_value copy = copy_of(input);
    bool loop = !job_of(task); /* not on a worker */
    struct stopwatch began = begin();
    int32_t status = guarded->inner_components->start(instance->inner, task, copy);
    if (loop) held(guarded, began, "start");
    bury(copy);
    current = before;
    return status;
}

static void c_cancel(void *self, tn_task task) {
    struct guarded_instance *instance = self;
    struct guarded *guarded = instance->guarded, *before = enter(guarded);
    struct stopwatch began = begin();
    if (guarded->inner_components->cancel) guarded->inner_components->cancel(instance->inner, task);
    held(guarded, began, "cancel");
    current = before;
}

static void c_ready(void *self, tn_task task) {
    struct guarded_instance *instance = self;
    struct guarded *guarded = instance->guarded, *before = enter(guarded);
    struct stopwatch began = begin();
    if (guarded->inner_components->ready) guarded->inner_components->ready(instance->inner, task);
    held(guarded, began, "ready");
    current = before;
}

static void c_destroy(void *self) {
    struct guarded_instance *instance = self;
    struct guarded *before = enter(instance->guarded);
    instance->guarded->inner_components->destroy(instance->inner);
    current = before;
    mem_free(instance);
}

static int32_t l_init(void *self, tn_value config) {
    struct guarded *guarded = self, *before = enter(guarded);
    tn_value copy = copy_of(config);
    int32_t status = guarded->inner_lifecycle && guarded->inner_lifecycle->init
                         ? guarded->inner_lifecycle->init(guarded->inner->self, copy)
                         : TN_OK;
    bury(copy);
    current = before;
    return status;
}

static void l_quiesce(void *self) {
    struct guarded *guarded = self, *before = enter(guarded);
    if (guarded->inner_lifecycle && guarded->inner_lifecycle->quiesce)
        guarded->inner_lifecycle->quiesce(guarded->inner->self);
    current = before;
}

static void l_deinit(void *self) {
    struct guarded *guarded = self, *before = enter(guarded);
    if (guarded->inner_lifecycle && guarded->inner_lifecycle->deinit)
        guarded->inner_lifecycle->deinit(guarded->inner->self);
    current = before;
    int64_t left = guarded->references;
    if (left > 0) find(guarded, "has taken %lld values that it never released", (long long)left);
    if (left < 0) find(guarded, "has released %lld values more than it was given", (long long)-left);
}

/* ---- Stores: what they do on the host's thread for them is theirs ---- */

struct guarded_store {
    struct guarded *guarded;
    tn_store *inner;
};

/* The host has it now. */
static void handed_over(struct guarded *guarded, tn_value value) {
    if (value_is_block(value)) guarded->references--;
}

static int32_t ended_store(struct guarded *guarded, struct guarded *before, int32_t status, const tn_value *result,
                           const tn_value *error) {
    if (status == TN_OK && result) handed_over(guarded, *result);
    if (status != TN_OK && error) handed_over(guarded, *error);
    current = before;
    return status;
}

static int32_t s_open(void *self, tn_value options, tn_store **store, tn_value *error) {
    struct guarded *guarded = self, *before = current;
    struct guarded_store *opened = mem_zalloc(sizeof *opened);
    current = opened->guarded = guarded;
    int32_t status = guarded->inner_stores->open(guarded->inner->self, options, &opened->inner, error);
    if (status == TN_OK)
        *store = (tn_store *)opened;
    else
        mem_free(opened);
    return ended_store(guarded, before, status, NULL, error);
}

static void s_close(tn_store *store) {
    struct guarded_store *opened = (struct guarded_store *)store;
    struct guarded *before = current;
    if (!opened) return;
    current = opened->guarded;
    opened->guarded->inner_stores->close(opened->inner);
    current = before;
    mem_free(opened);
}

static int32_t s_commit(tn_store *store, tn_value batch, tn_value *result, tn_value *error) {
    const struct guarded_store *opened = (const struct guarded_store *)store;
    struct guarded *guarded = opened->guarded, *before = current;
    current = guarded;
    int32_t status = guarded->inner_stores->commit(opened->inner, batch, result, error);
    return ended_store(guarded, before, status, result, error);
}

static int32_t s_query(tn_store *store, tn_value query, tn_value *result, tn_value *error) {
    const struct guarded_store *opened = (const struct guarded_store *)store;
    struct guarded *guarded = opened->guarded, *before = current;
    current = guarded;
    int32_t status = guarded->inner_stores->query(opened->inner, query, result, error);
    return ended_store(guarded, before, status, result, error);
}

static int32_t s_maintain(tn_store *store, tn_value *result, tn_value *error) {
    const struct guarded_store *opened = (const struct guarded_store *)store;
    struct guarded *guarded = opened->guarded, *before = current;
    current = guarded;
    int32_t status = guarded->inner_stores->maintain(opened->inner, result, error);
    return ended_store(guarded, before, status, result, error);
}

static const void *offer(void *self, const char *id) {
    struct guarded *guarded = self;
    if (strcmp(id, TN_STORE_DRAFT) == 0) return guarded->inner_stores ? &guarded->stores : NULL;
    if (strcmp(id, TN_HTTP_DRAFT) == 0) return guarded->inner_http ? &guarded->http : NULL;
    if (strcmp(id, TN_COMPONENT_1) == 0) return guarded->inner_components ? &guarded->components : NULL;
    if (strcmp(id, TN_LIFECYCLE_1) == 0) return &guarded->lifecycle;
    return guarded->inner->get(guarded->inner->self, id);
}

const tn_plugin *guard_wrap(struct plugin *plugin, const tn_plugin *end) {
    if (end->size != sizeof *end || !end->get) return end; /* refused as it is */
    const tn_component_1 *components = end->get(end->self, TN_COMPONENT_1);
    const tn_lifecycle_1 *lifecycle = end->get(end->self, TN_LIFECYCLE_1);
    const tn_store_draft *stores = end->get(end->self, TN_STORE_DRAFT);
    const tn_http_draft *http = end->get(end->self, TN_HTTP_DRAFT);
    if ((stores && stores->size != sizeof *stores) || (http && http->size != sizeof *http)) return end;
    if ((components && (components->size != sizeof *components || !components->create || !components->start ||
                        !components->destroy)) ||
        (lifecycle && lifecycle->size != sizeof *lifecycle))
        return end;
    struct guarded *guarded = mem_zalloc(sizeof *guarded);
    guarded->next = all;
    all = guarded;
    guarded->end = (tn_plugin){sizeof(tn_plugin), 0, guarded, offer};
    guarded->plugin = plugin;
    guarded->inner = end;
    guarded->inner_components = components;
    guarded->inner_lifecycle = lifecycle;
    guarded->inner_stores = stores;
    guarded->inner_http = http;
    if (http)
        guarded->http = (tn_http_draft){sizeof(tn_http_draft),
                                        0,
                                        http->send ? p_send : NULL,
                                        http->pause ? p_pause : NULL,
                                        http->resume ? p_resume : NULL,
                                        http->cancel ? p_cancel : NULL,
                                        NULL};
    if (stores)
        guarded->stores = (tn_store_draft){sizeof(tn_store_draft), 0, s_open, s_close, s_commit, s_query, s_maintain};
    guarded->components = (tn_component_1){sizeof(tn_component_1), 0, c_create, c_start, c_cancel, c_ready, c_destroy};
    guarded->lifecycle = (tn_lifecycle_1){sizeof(tn_lifecycle_1), 0, l_init, l_quiesce, l_deinit};
    return &guarded->end;
}

/* ---- The host's side ---- */

static void *enter_plugin(const struct plugin *plugin) {
    struct guarded *guarded = all, *before = current;
    while (guarded && guarded->plugin != plugin) guarded = guarded->next;
    if (guarded) last = current = guarded;
    return before;
}

static void leave_plugin(void *before) { current = before; }

int64_t guard_references(const struct plugin *plugin) {
    for (const struct guarded *guarded = all; guarded; guarded = guarded->next)
        if (guarded->plugin == plugin) return guarded->references;
    return 0;
}

void guard_forget(void) {
    for (size_t i = 0; i < GUARD_DEAD_MAX; i++) {
        pthread_mutex_lock(&lock);
        tn_value gone = dead[i];
        dead[i] = NULL;
        pthread_mutex_unlock(&lock);
        value_unref(gone);
    }
    dead_next = 0;
}

const struct registry_interface *guard_table(void) {
    static tn_value_1 value;
    static tn_task_1 task;
    static tn_eval_draft eval;
    static tn_core_1 core;
    static tn_http_draft http;
    static const struct interface_watch watch = {enter_plugin, leave_plugin};
    static struct registry_interface table[32];
    interface_watch = &watch;
    if (table[0].id) return table;
    value = interface_value;
    value.retain = v_retain, value.release = v_release, value.kind = v_kind, value.as_bool = v_as_bool;
    value.as_int = v_as_int, value.as_double = v_as_double, value.as_text = v_as_text, value.as_bytes = v_as_bytes;
    value.count = v_count, value.at = v_at, value.get = v_get, value.entry = v_entry, value.equal = v_equal;
    value.make_int = v_make_int, value.make_double = v_make_double, value.make_text = v_make_text;
    value.make_bytes = v_make_bytes, value.append = v_append, value.set = v_set, value.add = v_add;
    value.finish = v_finish, value.from_json = v_from_json, value.to_json = v_to_json;
    task = interface_task;
    task.complete = t_complete, task.fail = t_fail, task.interrupt = t_interrupt, task.emit = t_emit;
    task.context = t_context, task.read = t_read, task.write = t_write, task.call = t_call;
    task.call_wait = t_call_wait;
    core = interface_core;
    core.alloc = m_alloc, core.resize = m_resize;
    eval = interface_eval;
    eval.evaluate = e_evaluate, eval.render = e_render, eval.validate = e_validate, eval.fail_with = e_fail_with;
    http = interface_http;
    http.send = h_send, http.send_wait = h_send_wait;
    size_t count = 0;
    for (const struct registry_interface *row = interface_table; row->id && count < 31; row++, count++) {
        table[count] = *row;
        if (row->vtable == &interface_value) table[count].vtable = &value;
        if (row->vtable == &interface_task) table[count].vtable = &task;
        if (row->vtable == &interface_core) table[count].vtable = &core;
        if (row->vtable == &interface_eval) table[count].vtable = &eval;
        if (row->vtable == &interface_state) table[count].vtable = &guard_state;
        if (row->vtable == &interface_tool) table[count].vtable = &guard_tool;
        if (row->vtable == &interface_http) table[count].vtable = &http;
    }
    return table;
}
