/*
 * kernel_claim.c - claims Tasks, and renews claims. kernel_end.c has the operations that end a claim.
 *
 * Tasks are taken first, by a commit of as many `take` operations as Tasks are wanted; the store returns each Task to
 * one claimer only. A patch cannot count, so a second commit writes the attempts and the history of all Tasks that were
 * taken. Only then the claim is returned. If the second commit fails, the Tasks are given back; if that fails too, they
 * can be claimed again when the claim, which was not returned, expires.
 */
#include "host/data/kernel/kernel_filter.h"
#include "host/data/kernel/kernel_history.h"
#include "host/data/kernel/kernel_task.h"
#include <string.h>

struct claim {
    const char *claimer;
    int64_t ttl_ms;
    size_t limit; /* Tasks */
    bool polls;   /* the caller has set a limit: it is a worker, and often finds nothing */
    tn_value filter;
};

static tn_value claim_condition(const char *name, tn_value operand) {
    return value_set_take(value_object_reserve(1), name, operand);
}

/* ---- Take ---- */

static tn_value take_patch(const struct request *request, const struct claim *claim) {
    int64_t until = request->now_ms + claim->ttl_ms;
    char token[33];
    kernel_token_make(token);
    tn_value patch = value_set_take(value_object_reserve(9), "state", value_text("running"));
    patch = value_set_take(patch, "updated_at", time_value(request->now_ms));
    patch = value_set_take(patch, "claimed_by", value_text(claim->claimer));
    patch = value_set_take(patch, "claim_expires_at", time_value(until));
    patch = value_set_take(patch, "claimable_ms", value_int(until));
    patch = value_set_take(patch, "claim_token", value_text(token));
    patch = value_set_take(patch, "waiting", value_bool(false));
    patch = value_set_take(patch, "not_before", value_null());
    return value_set_take(patch, TASK_WOKEN, value_null());
}

/* The filter for claimable Tasks of `type`, or of any type if NULL. */
static tn_value claimable_where(const struct request *request, const struct claim *claim, tn_value type) {
    tn_value where = claim->filter ? value_ref(claim->filter) : value_object();
    if (type) where = value_set_take(where, "task_type", claim_condition("eq", value_ref(type)));
    return value_set_take(where, "claimable_ms", claim_condition("le", value_int(request->now_ms)));
}

static tn_value claim_order(void) { return value_push_take(value_array_reserve(1), value_text("claimable_ms")); }

static tn_value take_operation(const struct request *request, const struct claim *claim, tn_value where) {
    tn_value made = value_set_take(value_object_reserve(5), "op", value_text("take"));
    made = value_set_take(made, "collection", value_text(STORE_TASKS));
    made = value_set_take(made, "where", value_ref(where));
    made = value_set_take(made, "order", claim_order());
    return value_set_take(made, "patch", take_patch(request, claim));
}

/*
 * Reduces *count to the number of Tasks that match now. A `take` locks the store, also if it finds nothing; an idle
 * worker, which asks many times in a second, should not disturb others.
 */
static int32_t count_claimable(struct request *request, tn_value where, size_t *count, struct error *error) {
    tn_value found = NULL;
    tn_value list = value_set_take(value_object_reserve(5), "collection", value_text(STORE_TASKS));
    list = value_set_take(list, "where", value_ref(where));
    list = value_set_take(list, "order", claim_order());
    list = value_set_take(list, "limit", value_int((int64_t)*count));
    list = value_set_take(list, "keys_only", value_bool(true));
    tn_value query = value_set_take(value_object_reserve(1), "list", list);
    int32_t status = session_query_take(request->session, query, &found, error);
    if (status == TN_OK) *count = value_count(value_get(found, "records"));
    value_unref(found);
    return status;
}

/* Takes up to `count` Tasks of `type`, or of any type if NULL, and adds their records to *taken. */
static int32_t take_claimable(struct request *request, const struct claim *claim, tn_value type, size_t count,
                              tn_value *taken, struct error *error) {
    tn_value where = claimable_where(request, claim, type), results = NULL;
    int32_t status = claim->polls ? count_claimable(request, where, &count, error) : TN_OK;
    if (status == TN_OK && count) {
        tn_value batch = value_array_reserve(count);
        for (size_t i = 0; i < count; i++) batch = value_push_take(batch, take_operation(request, claim, where));
        status = session_commit_take(request->session, batch, &results, error);
    }
    for (size_t i = 0; i < value_count(results); i++) {
        tn_value record = value_get(value_at(results, i), "value");
        if (value_is(record, TN_OBJECT)) *taken = value_push_take(*taken, value_ref(record));
    }
    value_unref(results);
    value_unref(where);
    return status;
}

/* The types in the filter in order of preference. NULL if the filter has no list of types. */
static int32_t read_preferred_types(const struct request *request, tn_value filter, tn_value *types,
                                    struct error *error) {
    tn_value is = value_get(filter, "task_type"), in = value_get(is, "in");
    *types = NULL;
    if (!value_is(in, TN_ARRAY) || value_count(is) != 1) return TN_OK;
    if (value_count(in) > TASK_TYPES_MAX)
        return request_invalid(request, error, "filter", "`task_type`: found %zu types, expected at most %d",
                               value_count(in), TASK_TYPES_MAX);
    *types = in;
    return TN_OK;
}

/* Takes Tasks that match the filter: all of the first type, then of the next one, until there are enough. */
static int32_t take_by_preference(struct request *request, const struct claim *claim, tn_value *taken,
                                  struct error *error) {
    tn_value types;
    int32_t status = read_preferred_types(request, claim->filter, &types, error);
    if (status != TN_OK || !types)
        return status != TN_OK ? status : take_claimable(request, claim, NULL, claim->limit, taken, error);
    for (size_t i = 0; i < value_count(types) && status == TN_OK && value_count(*taken) < claim->limit; i++)
        status = take_claimable(request, claim, value_at(types, i), claim->limit - value_count(*taken), taken, error);
    return status;
}

/* ---- Begin ---- */

static tn_value merge_taken(tn_value task, tn_value patch_take) {
    tn_value where = value_set_take(value_object_reserve(2), "state", value_text("running"));
    where = value_set_take(where, "claim_token", value_ref(value_get(task, "claim_token")));
    const char *id = value_chars(value_get(task, "task_id"), NULL);
    return store_if_where(store_merge(STORE_TASKS, id, patch_take), where);
}

/*
 * Writes the attempts of all Tasks in `taken` in one commit, and adds the records to *begun. A Task that another
 * claimer has taken since, because a very short claim has expired, is left out.
 */
static int32_t begin_attempts(struct request *request, tn_value taken, tn_value *begun, struct error *error) {
    tn_value batch = value_array_reserve(value_count(taken)), results = NULL;
    struct error why = ERROR_INIT;
    for (size_t i = 0; i < value_count(taken); i++) {
        tn_value task = value_at(taken, i);
        batch = value_push_take(batch, merge_taken(task, task_attempt_begin(task, request->now_ms)));
    }
    int32_t status = session_commit_take(request->session, batch, &results, &why);
    for (size_t i = 0; i < value_count(results); i++)
        *begun = value_push_take(*begun, value_ref(value_get(value_at(results, i), "value")));
    value_unref(results);
    bool conflict = request_conflict(status, &why);
    if (status != TN_OK && !conflict) error_move(error, &why);
    error_finish(&why);
    if (!conflict) return status;
    status = TN_OK;
    for (size_t i = 0; value_count(taken) > 1 && status == TN_OK && i < value_count(taken); i++) {
        tn_value one = value_slice(taken, i, i + 1);
        status = begin_attempts(request, one, begun, error);
        value_unref(one);
    }
    return status;
}

/* The commit of the attempts has failed, perhaps after it was applied. The tokens were not returned, so queue the
 * Tasks. */
static void give_back(struct request *request, tn_value taken) {
    for (size_t i = 0; i < value_count(taken); i++) {
        tn_value task = value_at(taken, i), history = value_get(task, "history");
        struct error why = ERROR_INIT;
        tn_value patch = value_set_take(value_object_reserve(8), "state", value_text("queued"));
        patch = value_set_take(patch, "claimed_by", value_null());
        patch = value_set_take(patch, "claim_expires_at", value_null());
        patch = value_set_take(patch, "claim_token", value_null());
        patch = value_set_take(patch, "claimable_ms", value_int(request->now_ms));
        patch = value_set_take(patch, "attempts", value_int(task_attempts(task)));
        patch = value_set_take(patch, "history", history ? value_ref(history) : value_null());
        int32_t status = request_commit_take(request, merge_taken(task, patch), NULL, &why);
        bool broken = status != TN_OK && !request_conflict(status, &why);
        error_finish(&why);
        if (broken) return; /* the store does not work now: do not wait for it once per Task */
    }
}

/* ---- Claim ---- */

/* *claimed is an array of records. */
static int32_t claim_tasks(struct request *request, const struct claim *claim, tn_value *claimed, struct error *error) {
    struct error why = ERROR_INIT;
    tn_value taken = value_array();
    int32_t status = take_by_preference(request, claim, &taken, &why);
    if (value_count(taken)) {
        /* Taking further ones may have failed; these are claimed. */
        status = begin_attempts(request, taken, claimed, error);
        if (status != TN_OK) give_back(request, taken);
    } else {
        error_move(error, &why);
    }
    error_finish(&why);
    value_unref(taken);
    return status;
}

static tn_value claimed_task(tn_value record) {
    return value_set_take(task_public(record), "claim_token", value_ref(value_get(record, "claim_token")));
}

int32_t task_claim(struct request *request, tn_value *result, struct error *error) {
    static const struct field fields[] = {{"claimer_id", FIELD_TEXT, true},
                                          {"ttl_seconds", FIELD_NUMBER, true},
                                          {"filter", FIELD_OBJECT, false},
                                          {"limit", FIELD_INT, false},
                                          {NULL, 0, false}};
    struct claim claim = {.filter = NULL};
    int64_t limit = 1;
    int32_t status = request_check(request, fields, error);
    if (status == TN_OK) status = request_text(request, "claimer_id", TASK_CLAIMER_MAX, &claim.claimer, error);
    if (status == TN_OK) status = request_ttl(request, TASK_TTL_MAX_SECONDS, &claim.ttl_ms, error);
    if (status == TN_OK) status = request_int(request, "limit", 1, TASK_CLAIMS_MAX, 1, &limit, error);
    if (status == TN_OK) status = kernel_filter_read(request, task_members, "", &claim.filter, error);
    if (status != TN_OK) return status;
    claim.limit = (size_t)limit;
    claim.polls = request_get(request, "limit") != NULL;
    tn_value claimed = value_array();
    status = claim_tasks(request, &claim, &claimed, error);
    if (status == TN_OK && request_get(request, "limit")) {
        tn_value tasks = value_array_reserve(value_count(claimed));
        for (size_t i = 0; i < value_count(claimed); i++)
            tasks = value_push_take(tasks, claimed_task(value_at(claimed, i)));
        *result = value_set_take(value_object_reserve(1), "tasks", tasks);
    } else if (status == TN_OK) {
        *result = value_count(claimed) ? claimed_task(value_at(claimed, 0)) : value_null();
    }
    value_unref(claimed);
    value_unref(claim.filter);
    return status;
}

/* ---- Renew ---- */

int32_t task_renew(struct request *request, tn_value *result, struct error *error) {
    static const struct field fields[] = {{"task_id", FIELD_TEXT, true},
                                          {"claim_token", FIELD_TEXT, true},
                                          {"ttl_seconds", FIELD_NUMBER, true},
                                          {NULL, 0, false}};
    const char *id, *token;
    int64_t ttl_ms = 0;
    tn_value merged = NULL;
    int32_t status = request_check(request, fields, error);
    if (status == TN_OK) status = request_ttl(request, TASK_TTL_MAX_SECONDS, &ttl_ms, error);
    if (status == TN_OK) status = request_text(request, "task_id", KERNEL_ID_MAX, &id, error);
    if (status == TN_OK) status = request_text(request, "claim_token", KERNEL_ID_MAX, &token, error);
    if (status != TN_OK) return status;
    int64_t until = request->now_ms + ttl_ms;
    tn_value patch = value_set_take(value_object_reserve(3), "updated_at", time_value(request->now_ms));
    patch = value_set_take(patch, "claim_expires_at", time_value(until));
    patch = value_set_take(patch, "claimable_ms", value_int(until));
    tn_value where = value_set_take(value_object_reserve(3), "state", value_text("running"));
    where = value_set_take(where, "claim_token", value_text(token));
    where = value_set_take(where, "claimable_ms", claim_condition("gt", value_int(request->now_ms)));
    struct error why = ERROR_INIT;
    status = request_commit_take(request, store_if_where(store_merge(STORE_TASKS, id, patch), where), &merged, &why);
    if (request_conflict(status, &why))
        status = task_claim_lost(request, id, token, &(const struct claim_use){"renewed", NULL}, result, error);
    else
        error_move(error, &why);
    error_finish(&why);
    if (merged) *result = task_public(value_get(merged, "value"));
    value_unref(merged);
    return status;
}
