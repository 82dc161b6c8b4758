/*
 * store_wait.c - runs the loop until an asynchronous function has called its store_done.
 *
 * The operation must keep the loop running until then, as every request to a store does (store.c).
 */
#include "host/base/loop.h"
#include "host/data/store/store.h"

void store_wait_done(void *user, int32_t status, tn_value result, const struct error *error) {
    struct store_wait *wait = user;
    wait->done = true;
    wait->status = status;
    wait->result = result ? value_ref(result) : NULL;
    if (status != TN_OK) error_copy(&wait->error, error);
}

static bool store_wait_is_done(void *user) { return ((const struct store_wait *)user)->done; }

int32_t store_wait_end(struct store_wait *wait, struct loop *loop, tn_value *out, struct error *error) {
    bool stopped = false;
    while (!wait->done)
        if (!loop_run(loop, store_wait_is_done, wait)) stopped = true;
    if (stopped) loop_stop(loop);
    if (wait->status == TN_OK && out)
        *out = wait->result;
    else
        value_unref(wait->result);
    if (wait->status != TN_OK) error_move(error, &wait->error);
    error_finish(&wait->error);
    return wait->status;
}

int32_t store_query_wait(struct store *store, tn_value query, tn_value *out, struct error *error) {
    struct store_wait wait = {.done = false};
    store_query_take(store, query, store_wait_done, &wait);
    return store_wait_end(&wait, store_loop(store), out, error);
}

int32_t store_perform_wait(struct store *store, store_perform_fn *perform, void *perform_user, tn_value *out,
                           struct error *error) {
    struct store_wait wait = {.done = false};
    store_perform(store, perform, perform_user, store_wait_done, &wait);
    return store_wait_end(&wait, store_loop(store), out, error);
}
