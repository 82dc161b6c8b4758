/*
 * store.c - a plugin with a store that completes every commit and has nothing, for tests/e2e/exercise.sh.
 */
#include <tenon/easy.h>
#include <tenon/store.h>

TN_PLUGIN("test.forgets", "1.0.0", "Forgets everything")
TN_NOTE("{\"plugin\": {\"licence\": \"MIT\"}}")

static int32_t forgets_open(void *self, tn_value options, tn_store **store, tn_value *error) {
    (void)self, (void)options, (void)error;
    static int only;
    *store = (tn_store *)(void *)&only;
    return TN_OK;
}

static void forgets_close(tn_store *store) { (void)store; }

static int32_t forgets_commit(tn_store *store, tn_value batch, tn_value *result, tn_value *error) {
    (void)store, (void)batch, (void)error;
    *result = tn_from_json("[]", TN_Z);
    return TN_OK;
}

static int32_t forgets_query(tn_store *store, tn_value query, tn_value *result, tn_value *error) {
    (void)store, (void)query, (void)error;
    *result = tn_from_json("{}", TN_Z);
    return TN_OK;
}

static int32_t forgets_maintain(tn_store *store, tn_value *result, tn_value *error) {
    (void)store, (void)error;
    *result = tn_from_json("{\"removed\": 0, \"bytes\": 0}", TN_Z);
    return TN_OK;
}

static const tn_store_draft forgets = {sizeof(tn_store_draft), forgets_open,     forgets_close, forgets_commit,
                                       forgets_query,          forgets_maintain, .watch = NULL};

TN_PROVIDES(forgets, TN_STORE_DRAFT, &forgets)
