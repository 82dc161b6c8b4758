/*
 * prune.c - removing several threads, or the history of each, one after the other.
 */
#include "langgraph.h"

static void next(struct exchange *exchange);

static void pruned_then(struct exchange *exchange) {
    exchange->pruned++;
    next(exchange);
}

/* A thread that is active, or that has no state yet, stays as it is. */
static void on_truncated(struct exchange *exchange, bool ok, tn_value value) {
    static const char *const skipped[] = {"NOT_FOUND", "OWNED", "CONFLICT"};
    for (size_t i = 0; !ok && i < sizeof skipped / sizeof *skipped; i++)
        if (serving_is(tn_get(value, "code"), skipped[i])) {
            next(exchange);
            return;
        }
    if (ok)
        pruned_then(exchange);
    else
        refuse_error(exchange, value);
}

static void found_then(struct exchange *exchange) {
    bool keeps = serving_is(tn_get(exchange->body, "strategy"), "keep_latest");
    uint32_t waiting;
    bool exists = exchange->known != NULL || exchange->record != NULL;
    if (!exists || (keeps && run_active(exchange, &waiting) != NULL))
        next(exchange);
    else if (!keeps)
        thread_forget(exchange, pruned_then);
    else
        ask(exchange, "thread/truncate", tn_build("{s:s, s:b}", "thread_id", exchange->thread, "history", 0),
            on_truncated);
}

static void next(struct exchange *exchange) {
    tn_value id = tn.value->at(tn_get(exchange->body, "thread_ids"), exchange->index++);
    if (id == NULL) {
        reply(exchange, 200, tn_build("{s:I}", "pruned_count", (int64_t)exchange->pruned));
        return;
    }
    tn_release(exchange->known);
    tn_release(exchange->record);
    exchange->known = exchange->record = NULL;
    (void)snprintf(exchange->thread, sizeof exchange->thread, "%s", tn_chars(id, NULL));
    find_thread(exchange, true, found_then);
}

void threads_prune(struct exchange *exchange) {
    tn_value ids = tn_get(exchange->body, "thread_ids"), strategy = tn_get(exchange->body, "strategy");
    bool known = !is_set(strategy) || serving_is(strategy, "delete") || serving_is(strategy, "keep_latest");
    uint64_t count = tn.value->kind(ids) == TN_ARRAY ? tn.value->count(ids) : 0;
    bool fits = tn.value->kind(ids) == TN_ARRAY && count <= LIST_MAX;
    for (uint64_t i = 0; fits && i < count; i++) {
        const char *id = tn_chars(tn.value->at(ids, i), NULL);
        fits = id != NULL && is_uuid(id);
    }
    if (!known)
        refuse(exchange, 422, "`strategy` must be \"delete\" or \"keep_latest\"");
    else if (!fits)
        refuse(exchange, 422, "`thread_ids` must be an array of at most %d UUIDs", LIST_MAX);
    else
        next(exchange);
}
