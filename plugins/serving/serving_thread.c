/*
 * serving_thread.c - what a request needs of its thread before its run: the record, and the state.
 */
#include "serving.h"

struct serving_reading {
    const struct serving *serving;
    uint64_t caller, number; /* of the call that is open */
    serving_thread_handler *handler;
    void *user;
    char *thread_id;
    tn_value thread;
};

void serving_thread_cancel(struct serving_reading *reading) {
    if (reading == NULL) return;
    serving_cancel(reading->serving, reading->number);
    tn_release(reading->thread);
    serving_free(reading->thread_id);
    serving_free(reading);
}

static void reading_end(struct serving_reading *reading, tn_value state, tn_value error) {
    serving_thread_handler *handler = reading->handler;
    void *user = reading->user;
    tn_value thread = error == NULL ? tn_retain(reading->thread) : NULL;
    reading->number = 0;
    serving_thread_cancel(reading);
    handler(user, thread, state, error);
    tn_release(thread);
}

static bool is_absent(int32_t status, tn_value value) {
    return status != TN_OK && serving_is(tn_get(value, "code"), "NOT_FOUND");
}

static void TN_ABI on_state(void *user, int32_t status, tn_value value) {
    if (status == TN_OK || is_absent(status, value)) /* it has no checkpoint yet */
        reading_end(user, status == TN_OK ? tn_get(value, "state") : NULL, NULL);
    else
        reading_end(user, NULL, value);
}

static void TN_ABI on_thread(void *user, int32_t status, tn_value value) {
    struct serving_reading *reading = user;
    if (status != TN_OK) {
        reading_end(reading, NULL, is_absent(status, value) ? NULL : value);
        return;
    }
    reading->thread = tn_retain(value);
    serving_call_take(reading->serving, reading->caller, "thread/state",
                      tn_build("{s:s}", "thread_id", reading->thread_id), on_state, reading, &reading->number);
    if (reading->number != 0) return;
    tn_value error = tn_error("NO_MEMORY", "memory ran out");
    reading_end(reading, NULL, error);
    tn_release(error);
}

struct serving_reading *serving_thread_read(const struct serving *serving, uint64_t caller, const char *thread_id,
                                            serving_thread_handler *handler, void *user) {
    struct serving_reading *reading = serving_alloc(sizeof *reading);
    if (reading == NULL) return NULL;
    *reading = (struct serving_reading){.serving = serving,
                                        .caller = caller,
                                        .handler = handler,
                                        .user = user,
                                        .thread_id = serving_text_copy(thread_id)};
    serving_call_take(serving, caller, "thread/get", tn_build("{s:s*}", "thread_id", reading->thread_id), on_thread,
                      reading, &reading->number);
    if (reading->number != 0) return reading;
    serving_thread_cancel(reading);
    return NULL;
}
