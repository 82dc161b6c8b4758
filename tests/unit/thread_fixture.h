/*
 * thread_fixture.h - a host with the memory store, and commits to the log of a thread. Header-only.
 */
#ifndef TENON_TESTS_THREAD_FIXTURE_H
#define TENON_TESTS_THREAD_FIXTURE_H

#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/data/store/store.h"
#include "host/data/thread/thread_delta.h"
#include "host/data/thread/thread_log.h"
#include "tests/unit/corpus.h"
#include <stdio.h>

#define THREAD_UNUSED __attribute__((unused))

THREAD_UNUSED static tn_value json(const char *text) {
    tn_value value = NULL;
    struct error error = ERROR_INIT;
    if (json_read(text, strlen(text), NULL, &value, &error) != TN_OK) fail_msg("%s: %s", text, error.message);
    return value;
}

THREAD_UNUSED static struct host *open_host(void) {
    static const char *const paths[] = {TENON_STORE_PLUGINS "/memory.so", NULL};
    struct error error = ERROR_INIT;
    struct host *host =
        host_new(&(struct host_options){.plugin_paths = paths, .no_config = true, .allow_drafts = true}, &error);
    if (!host) fail_msg("%s", error.message);
    tn_value options = json("{\"use\":\"memory\",\"path\":\"thread_test\"}");
    host_set_store_take(host,
                        store_open(&(const struct store_from){host_loop(host), host_registry(host), host_config(host)},
                                   options, &error));
    if (!host_store(host, NULL)) fail_msg("%s", error.message);
    value_unref(options);
    return host;
}

struct asked {
    const char *id;
    int64_t seq;
};

THREAD_UNUSED static int32_t read_thread(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct asked *asked = user;
    return thread_read(session, asked->id, asked->seq, result, error);
}

THREAD_UNUSED static tn_value load(struct host *host, const char *id, int64_t seq) {
    struct asked asked = {id, seq};
    struct error error = ERROR_INIT;
    tn_value loaded = NULL;
    if (store_perform_wait(host_store(host, NULL), read_thread, &asked, &loaded, &error) != TN_OK)
        fail_msg("%s", error.message);
    return loaded;
}

struct done {
    bool over;
    int32_t status;
    char code[32];
};

THREAD_UNUSED static void on_done(void *user, int32_t status, tn_value result, const struct error *error) {
    struct done *done = user;
    (void)result;
    done->over = true;
    done->status = status;
    snprintf(done->code, sizeof done->code, "%s", status == TN_OK ? "" : error->code);
}

THREAD_UNUSED static bool is_done(void *user) { return ((struct done *)user)->over; }

THREAD_UNUSED static tn_value state_of(void *user) { return value_ref(user); }

THREAD_UNUSED static struct done commit(struct host *host, struct thread_log *log, uint32_t seq, tn_value before,
                                        tn_value after) {
    struct done done = {false, 0, ""};
    tn_value delta = value_object();
    for (size_t i = 0; i < value_count(after); i++)
        delta = delta_channel_take(delta, value_key_at(after, i),
                                   before ? value_get_key(before, value_key_at(after, i)) : NULL,
                                   value_value_at(after, i), false);
    tn_value checkpoint = value_set_take(value_object(), "step", value_int(seq));
    checkpoint = value_set_take(checkpoint, "plan", value_array());
    struct thread_commit what = {.scope = THREAD_ROOT,
                                 .seq = seq,
                                 .checkpoint = value_set_take(checkpoint, "delta", delta),
                                 .record = value_set_take(value_object(), "head", value_int(seq)),
                                 .step_ended = true,
                                 .state = state_of,
                                 .user = (void *)(uintptr_t)after};
    thread_log_commit(log, what, on_done, &done);
    loop_run(host_loop(host), is_done, &done);
    return done;
}

#endif
