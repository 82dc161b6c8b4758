/*
 * store_state.c - see store_state.h.
 *
 * A presence that cannot be written is not an error of the host: a store may be read-only, full or busy. A copy of such
 * a store finds a change when it compares.
 */
#include "host/data/store/store_state.h"
#include "host/base/random.h"
#include "host/base/time_text.h"
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "host/data/store/store_provider.h"
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HOST_NAME_SIZE 65

int32_t store_state_check(const struct store_provider *provider, tn_store *open, tn_value *error) {
    tn_value query = store_get(STORE_STATE, STORE_STATE_COPY), found = NULL;
    int32_t status = provider->vtable->query(open, query, &found, error);
    value_unref(query);
    tn_value copy = value_get(found, "value"), from = value_get(copy, "from");
    if (status == TN_OK && value_is(copy, TN_OBJECT)) {
        *error = value_set_take(value_object_reserve(2), "code", value_text("STORE_INCOMPLETE"));
        *error =
            value_set_take(*error, "message",
                           value_format("the store is the target of a copy that has not ended; nothing was changed: "
                                        "run the `tenon store copy` from %.300s again, which continues it",
                                        value_is(from, TN_STRING) ? value_chars(from, NULL) : "its source"));
        status = TN_FAILED;
    }
    value_unref(found);
    return status;
}

/* ---- Presence ---- */

static int64_t monotonic_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void store_presence_begin(struct store_presence *presence) {
    unsigned char bytes[16];
    if (presence->off || presence->due_ms) return;
    random_fill(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(presence->id + 2 * i, 3, "%02x", bytes[i]);
    presence->due_ms = monotonic_ms() + STORE_PRESENCE_FIRST_MS;
}

int64_t store_presence_wait_ms(const struct store_presence *presence) {
    if (presence->off || !presence->due_ms) return -1;
    int64_t left = presence->due_ms - monotonic_ms();
    return left > 0 ? left : 0;
}

static bool presence_commit_take(const struct store_provider *provider, tn_store *open, tn_value operation) {
    tn_value batch = value_push_take(value_array_reserve(1), operation), result = NULL, error = NULL;
    int32_t status = provider->vtable->commit(open, batch, &result, &error);
    value_unref(batch);
    value_unref(result);
    value_unref(error);
    return status == TN_OK;
}

void store_presence_write(struct store_presence *presence, const struct store_provider *provider, tn_store *open,
                          int64_t wall_ms) {
    char name[HOST_NAME_SIZE] = "";
    if (store_presence_wait_ms(presence) != 0) return;
    if (gethostname(name, sizeof name - 1) != 0) name[0] = 0;
    tn_value value = value_set_take(value_object_reserve(4), "host", value_string_lossy(name, strlen(name)));
    value = value_set_take(value, "pid", value_int(getpid()));
    value = value_set_take(value, "version", value_text(TENON_VERSION));
    value = value_set_take(value, "seen_at", time_value(wall_ms));
    tn_value put = store_put(STORE_HOSTS, presence->id, value);
    if (presence_commit_take(provider, open, store_expires_at(put, wall_ms + STORE_PRESENCE_EXPIRE_MS)))
        presence->written = true;
    presence->due_ms = monotonic_ms() + STORE_PRESENCE_EVERY_MS;
}

void store_presence_end(struct store_presence *presence, const struct store_provider *provider, tn_store *open) {
    if (presence->written) (void)presence_commit_take(provider, open, store_delete(STORE_HOSTS, presence->id));
    presence->written = false;
}
