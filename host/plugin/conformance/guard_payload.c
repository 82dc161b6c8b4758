/*
 * guard_payload.c - check mode: compares what a component completes with, emits and fails with to the shape of its
 * kind (payload.h).
 *
 * The component is found by its task. A task that has ended is not looked up: its end is another finding. The time for
 * the comparison does not count as time that the plugin blocks the loop.
 */
#include "adl/value/memory.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/call/slot.h"
#include "host/plugin/conformance/guard.h"
#include "host/plugin/conformance/guard_internal.h"
#include "host/plugin/conformance/payload.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

/* CPU time that comparisons have used on this thread. */
static _Thread_local int64_t compared_us;

int64_t guard_compared_us(void) { return compared_us; }

static int64_t thread_time_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Sets kind and id to those of the component that runs the task; returns false if there is none. */
static bool guard_component_of(tn_task task, char kind[PAYLOAD_SHAPE_MAX / 2], char id[128]) {
    struct call *call = slot_lookup_lock(task);
    if (!call) return false;
    const struct component *component = instance_component(call->callable);
    if (component) {
        (void)snprintf(kind, PAYLOAD_SHAPE_MAX / 2, "%s", component->info->kind);
        (void)snprintf(id, 128, "%s", component->info->id);
    }
    slot_unlock(call);
    return component != NULL;
}

/* `part` is the anchor in the schema of the kind; NULL: the shape is `whole`. */
static void guard_compare(tn_task task, const char *verb, const char *part, const char *whole, tn_value value) {
    char kind[PAYLOAD_SHAPE_MAX / 2], id[128], shape[PAYLOAD_SHAPE_MAX];
    if (!guard_component_of(task, kind, id)) return;
    int64_t before = thread_time_us();
    (void)snprintf(shape, sizeof shape, "%s%s%s", part ? kind : whole, part ? "#" : "", part ? part : "");
    char *difference = payload_check(shape, value);
    if (difference)
        guard_report(guard_current(), GUARD_SHAPE_REPORT "%s `%s` %s: %s; see `tenon schema %.*s`", kind, id, verb,
                     difference, (int)strcspn(shape, "#"), shape);
    mem_free(difference);
    compared_us += thread_time_us() - before;
}

void guard_check_output(tn_task task, tn_value output) {
    guard_compare(task, "completes with an invalid output", "output", NULL, output);
}

void guard_check_chunk(tn_task task, tn_value chunk) {
    guard_compare(task, "emits an invalid chunk", "chunk", NULL, chunk);
}

void guard_check_error(tn_task task, tn_value error) {
    guard_compare(task, "fails with an invalid error", NULL, "error", error);
}

void guard_check_context(tn_task task, tn_value context) {
    guard_compare(task, "receives an invalid context from the host", NULL, "context", context);
}
