/*
 * guard.c - the records of check mode, and its findings.
 *
 * References to values are counted for each plugin: what it receives, makes and retains, minus what it releases. When
 * the plugin is unloaded, the count must be zero. A value that is lent for a call is a copy. After the call the copy is
 * kept for a while in `retired`; if the plugin passes it to a function then, it has kept the value without retaining
 * it.
 */
#include "host/plugin/conformance/guard.h"
#include "adl/value/memory.h"
#include "adl/value/value.h"
#include "host/base/log.h"
#include "host/plugin/conformance/guard_internal.h"
#include "host/plugin/registry/plugin.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/*
 * All records of check mode. Process-wide, because functions such as tn_value_1.retain get no pointer to a host; only
 * `tenon plugin check` and runs with --check-plugins use it.
 */
static struct guard {
    struct guarded *plugins;      /* thread: loop */
    struct guarded *_Atomic last; /* the plugin that was called last */
    _Atomic uint64_t findings;    /* number */
    _Atomic uint64_t fail_at;     /* the allocation that fails; 0 if none */
    _Atomic uint64_t allocations; /* allocations since fail_at was set */
    pthread_mutex_t lock;         /* guards the members below */
    char *messages[GUARD_FINDINGS_MAX];
    size_t message_count;
    tn_task ended[GUARD_ENDED_MAX]; /* a ring */
    size_t ended_next;
    tn_value retired[GUARD_RETIRED_MAX]; /* a ring */
    size_t retired_next;
} guard = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct guarded *guard_here; /* the plugin whose code runs on this thread */

/* ---- Who runs ---- */

struct guarded *guard_current(void) {
    return guard_here ? guard_here : guard.last;
}

struct guarded *guard_enter(struct guarded *guarded) {
    guard.last = guarded;
    return guard_enter_thread(guarded);
}

struct guarded *guard_enter_thread(struct guarded *guarded) {
    struct guarded *before = guard_here;
    guard_here = guarded;
    return before;
}

void guard_leave(struct guarded *before) { guard_here = before; }

void guard_add_plugin(struct guarded *guarded) {
    guarded->next = guard.plugins;
    guard.plugins = guarded;
}

static struct guarded *guard_lookup(const struct plugin *plugin) {
    struct guarded *guarded = guard.plugins;
    while (guarded && guarded->plugin != plugin) guarded = guarded->next;
    return guarded;
}

static void *guard_enter_callback(const struct plugin *plugin) {
    struct guarded *guarded = guard_lookup(plugin);
    return guarded ? guard_enter(guarded) : guard_here;
}

static void guard_leave_callback(void *before) { guard_leave(before); }

const struct registry_watch guard_watch = {guard_enter_callback, guard_leave_callback};

/* ---- Findings ---- */

uint64_t guard_findings(void) { return guard.findings; }

void guard_report(const struct guarded *guarded, const char *format, ...) {
    char text[512];
    va_list args;
    const char *id = guarded ? plugin_id(guarded->plugin) : "?";
    int length = snprintf(text, sizeof text, "plugin `%s` ", id);
    va_start(args, format);
    vsnprintf(text + length, sizeof text - (size_t)length, format, args);
    va_end(args);
    guard.findings++;
    pthread_mutex_lock(&guard.lock);
    bool known = guard.message_count == GUARD_FINDINGS_MAX;
    for (size_t i = 0; !known && i < guard.message_count; i++) known = strcmp(guard.messages[i], text) == 0;
    if (!known) guard.messages[guard.message_count++] = mem_text(text);
    pthread_mutex_unlock(&guard.lock);
    if (!known) log_write(LOG_ERROR, NULL, "check: %s", text);
}

void guard_report_wrong_thread(const char *function) {
    guard_report(guard_current(), "calls %s from the wrong thread", function);
}

/* ---- Values ---- */

tn_value guard_take_reference(tn_value value) {
    struct guarded *guarded = guard_current();
    if (guarded && value_is_block(value)) guarded->references++;
    return value;
}

void guard_drop_reference(tn_value value) {
    struct guarded *guarded = guard_current();
    if (guarded && value_is_block(value)) guarded->references--;
}

int64_t guard_references(const struct plugin *plugin) {
    const struct guarded *guarded = guard_lookup(plugin);
    return guarded ? guarded->references : 0;
}

void guard_check_value(tn_value value, const char *function) {
    if (!value_is_block(value)) return;
    bool retired = false;
    pthread_mutex_lock(&guard.lock);
    for (size_t i = 0; !retired && i < GUARD_RETIRED_MAX && guard.retired[i]; i++) retired = guard.retired[i] == value;
    pthread_mutex_unlock(&guard.lock);
    if (retired)
        guard_report(guard_current(),
                     "passes %s a value that was lent for a call that has ended; retain a value to keep it", function);
}

/* Copies the top level; the items are shared. */
tn_value guard_lend(tn_value value) {
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

void guard_retire_take(tn_value copy) {
    if (value_is_block(copy) && copy->references == 1) {
        pthread_mutex_lock(&guard.lock);
        tn_value oldest = guard.retired[guard.retired_next];
        guard.retired[guard.retired_next] = copy;
        guard.retired_next = (guard.retired_next + 1) % GUARD_RETIRED_MAX;
        pthread_mutex_unlock(&guard.lock);
        copy = oldest;
    }
    value_unref(copy);
}

void guard_discard_retired(void) {
    for (size_t i = 0; i < GUARD_RETIRED_MAX; i++) {
        pthread_mutex_lock(&guard.lock);
        tn_value value = guard.retired[i];
        guard.retired[i] = NULL;
        pthread_mutex_unlock(&guard.lock);
        value_unref(value);
    }
    guard.retired_next = 0;
}

/* ---- Tasks and allocations ---- */

int32_t guard_take_result(int32_t status, const tn_value *out, const tn_value *error) {
    if (status == TN_OK && out) (void)guard_take_reference(*out);
    if (status == TN_FAILED && error) (void)guard_take_reference(*error);
    return status;
}

int32_t guard_check_end(tn_task task, int32_t status, const char *function) {
    bool twice = false;
    pthread_mutex_lock(&guard.lock);
    for (size_t i = 0; status == TN_STALE && !twice && i < GUARD_ENDED_MAX; i++) twice = guard.ended[i] == task;
    if (status == TN_OK) {
        guard.ended[guard.ended_next] = task;
        guard.ended_next = (guard.ended_next + 1) % GUARD_ENDED_MAX;
    }
    pthread_mutex_unlock(&guard.lock);
    if (twice) guard_report(guard_current(), "ends a task with %s that has already ended", function);
    return status;
}

void guard_fail_allocation(uint64_t n) {
    guard.allocations = 0;
    guard.fail_at = n;
}

bool guard_allocation_failed(void) { return guard.fail_at && guard.allocations >= guard.fail_at; }

bool guard_allocation_fails(void) { return guard.fail_at && ++guard.allocations == guard.fail_at; }
