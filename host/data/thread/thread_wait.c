/*
 * thread_wait.c - the blocking forms of the operations in thread_admin.h.
 */
#include "host/data/store/store.h"
#include "host/data/thread/thread_admin.h"

int32_t threads_list_wait(struct store *store, const struct threads_filter *filter, tn_value *out,
                          struct error *error) {
    struct store_wait wait = {.done = false};
    threads_list(store, filter, store_wait_done, &wait);
    return store_wait_end(&wait, store_loop(store), out, error);
}

int32_t thread_show_wait(struct store *store, const char *id, tn_value *out, struct error *error) {
    struct store_wait wait = {.done = false};
    thread_show(store, id, store_wait_done, &wait);
    return store_wait_end(&wait, store_loop(store), out, error);
}

int32_t thread_history_wait(struct store *store, const char *id, int64_t limit, tn_value *out, struct error *error) {
    struct store_wait wait = {.done = false};
    thread_history(store, id, limit, store_wait_done, &wait);
    return store_wait_end(&wait, store_loop(store), out, error);
}

int32_t thread_state_wait(struct store *store, const char *id, int64_t seq, tn_value *out, struct error *error) {
    struct store_wait wait = {.done = false};
    thread_state(store, id, seq, store_wait_done, &wait);
    return store_wait_end(&wait, store_loop(store), out, error);
}

int32_t thread_fork_wait(struct store *store, const char *id, int64_t seq, const char *fork, struct error *error) {
    struct store_wait wait = {.done = false};
    thread_fork(store, id, seq, fork, store_wait_done, &wait);
    return store_wait_end(&wait, store_loop(store), NULL, error);
}

int32_t thread_delete_wait(struct store *store, const char *id, bool force, struct error *error) {
    struct store_wait wait = {.done = false};
    thread_delete(store, id, force, store_wait_done, &wait);
    return store_wait_end(&wait, store_loop(store), NULL, error);
}

int32_t thread_export_wait(struct store *store, const char *id, tn_value *out, struct error *error) {
    struct store_wait wait = {.done = false};
    thread_export(store, id, store_wait_done, &wait);
    return store_wait_end(&wait, store_loop(store), out, error);
}

int32_t thread_import_wait(struct store *store, const char *id, tn_value exported, bool replace, struct error *error) {
    struct store_wait wait = {.done = false};
    thread_import(store, id, exported, replace, store_wait_done, &wait);
    return store_wait_end(&wait, store_loop(store), NULL, error);
}

int32_t threads_collect_wait(struct store *store, const struct threads_policy *policy, tn_value *out,
                             struct error *error) {
    struct store_wait wait = {.done = false};
    threads_collect(store, policy, store_wait_done, &wait);
    return store_wait_end(&wait, store_loop(store), out, error);
}
