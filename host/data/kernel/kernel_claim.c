/*
 * kernel_claim.c - claims Tasks, and renews claims. kernel_end.c has the operations that end a claim.
 *
 * Tasks are taken by a commit of as many `take` operations as Tasks are wanted; the store returns each Task to one
 * claimer only. A patch cannot count, so a query reads the candidates first. The leading ones that were never claimed
 * are taken by operations that match only such Tasks; their patch has the first attempt, so one commit is the whole
 * claim. For other Tasks, a second commit writes the attempts and the history. Only then the claim is returned. If the
 * second commit fails, the Tasks are given back; if that fails too, they can be claimed again when the claim, which was
 * not returned, expires.
 */
#include "host/data/kernel/kernel_filter.h"
#include "host/data/kernel/kernel_history.h"
#include "host/data/kernel/kernel_task.h"
#include <string.h>

/* Members of a filter; each has at most 9 conditions, and TN_STORE_FILTER_MAX is 256. */
#define NEW_TASK_FILTER_MAX 16

struct claim {
    const char *claimer;
    int64_t ttl_ms;
    size_t limit; /* Tasks */
    tn_value filter;
};

static tn_value claim_condition(const char *name, tn_value operand) {
    return value_set_take(value_object_reserve(1), name, operand);
}

/* ---- Take ---- */

/* `begun` is NULL, or the members that task_attempt_begin adds. */
static tn_value take_patch(const struct request *request, const struct claim *claim, tn_value begun) {
    int64_t until = request->now_ms + claim->ttl_ms;
    char token[33];
    kernel_token_make(token);
    tn_value patch = value_set_take(value_object_reserve(11), "state", value_text("running"));
    patch = value_set_take(patch, "updated_at", time_value(request->now_ms));
    patch = value_set_take(patch, "claimed_by", value_text(claim->claimer));
    patch = value_set_take(patch, "claim_expires_at", time_value(until));
    patch = value_set_take(patch, "claimable_ms", value_int(until));
    patch = value_set_take(patch, "claim_token", value_text(token));
    patch = value_set_take(patch, "waiting", value_bool(false));
    patch = value_set_take(patch, "not_before", value_null());
    for (size_t i = 0; i < value_count(begun); i++)
        patch = value_set_take(patch, value_chars(value_key_at(begun, i), NULL), value_ref(value_value_at(begun, i)));
    return value_set_take(patch, TASK_WOKEN, value_null());
}

/* Limits the filter, which it takes, to the Tasks of the owner: a `take` knows no range of keys. */
static tn_value owned_where_take(const struct request *request, tn_value where) {
    char from[OWNER_PREFIX_TEXT], to[OWNER_PREFIX_TEXT];
    if (!request->owner) return where;
    if (value_get(where, "task_id"))
        where = value_set_take(value_object_reserve(4), "any", value_push_take(value_array_reserve(1), where));
    owner_range(request->owner, from, to);
    tn_value range = value_set_take(claim_condition("ge", value_text(from)), "lt", value_text(to));
    return value_set_take(where, "task_id", range);
}

/* The filter for claimable Tasks of `type`, or of any type if NULL. */
static tn_value claimable_where(const struct request *request, const struct claim *claim, tn_value type) {
    tn_value where = owned_where_take(request, claim->filter ? value_ref(claim->filter) : value_object());
    if (type) where = value_set_take(where, "task_type", claim_condition("eq", value_ref(type)));
    return value_set_take(where, "claimable_ms", claim_condition("le", value_int(request->now_ms)));
}

static tn_value claim_order(void) { return value_push_take(value_array_reserve(1), value_text("claimable_ms")); }

static tn_value take_operation(const struct request *request, const struct claim *claim, tn_value where,
                               tn_value begun) {
    tn_value made = value_set_take(value_object_reserve(5), "op", value_text("take"));
    made = value_set_take(made, "collection", value_text(STORE_TASKS));
    made = value_set_take(made, "where", value_ref(where));
    made = value_set_take(made, "order", claim_order());
    return value_set_take(made, "patch", take_patch(request, claim, begun));
}

/* A Task that was never claimed; records of older versions, which have no `attempts`, do not count as such. */
static bool is_new_task(tn_value record) {
    tn_value attempts = value_get(record, "attempts");
    return value_is(attempts, TN_INT) && value_to_int(attempts) == 0 && !value_get(record, "history");
}

/*
 * Adds the conditions of is_new_task to a filter that a new Task has matched. So they imply the conditions on the same
 * members that they replace.
 */
static tn_value new_task_where_take(tn_value where) {
    where = value_set_take(where, "attempts", claim_condition("eq", value_int(0)));
    return value_set_take(where, "history", claim_condition("exists", value_bool(false)));
}

/*
 * Reduces *count to the number of Tasks that match now, and counts the leading ones that were never claimed. A `take`
 * locks the store, also if it finds nothing; an idle worker, which asks many times in a second, should not disturb
 * others.
 */
static int32_t count_claimable(struct request *request, tn_value where, size_t *count, size_t *fresh,
                               struct error *error) {
    tn_value found = NULL;
    tn_value list = value_set_take(value_object_reserve(4), "collection", value_text(STORE_TASKS));
    list = value_set_take(list, "where", value_ref(where));
    list = value_set_take(list, "order", claim_order());
    list = value_set_take(list, "limit", value_int((int64_t)*count));
    tn_value query = value_set_take(value_object_reserve(1), "list", list);
    int32_t status = session_query_take(request->session, query, &found, error);
    tn_value records = value_get(found, "records");
    bool small = !value_get(where, "any") && value_count(where) <= NEW_TASK_FILTER_MAX; /* room for two conditions */
    bool complete = !value_to_bool(value_get(found, "more"));
    for (*fresh = 0; small && *fresh < value_count(records);) {
        if (!is_new_task(value_get(value_at(records, *fresh), "value"))) break;
        ++*fresh;
    }
    /* Less than *count records although there are more: their payloads are large. */
    if (status == TN_OK && (complete || value_count(records) >= *count)) *count = value_count(records);
    value_unref(found);
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

/* Begins the attempts of the Tasks in `taken`, or puts them back into the queue. */
static int32_t begin_or_give_back(struct request *request, tn_value taken, tn_value *claimed, struct error *error) {
    tn_value begun = value_array_reserve(value_count(taken));
    int32_t status = begin_attempts(request, taken, &begun, error);
    if (status == TN_OK)
        *claimed = value_concat_take(*claimed, begun);
    else {
        give_back(request, taken);
        value_unref(begun);
    }
    return status;
}

/* The operations for `count` Tasks, the first `fresh` of which have never been claimed. */
static tn_value take_batch(const struct request *request, const struct claim *claim, tn_value where, size_t count,
                           size_t fresh) {
    tn_value batch = value_array_reserve(count), begun = task_attempt_begin_new(claim->claimer, request->now_ms);
    tn_value where_new = fresh ? new_task_where_take(value_ref(where)) : NULL;
    for (size_t i = 0; i < count; i++)
        batch = value_push_take(batch, i < fresh ? take_operation(request, claim, where_new, begun)
                                                 : take_operation(request, claim, where, NULL));
    value_unref(where_new);
    value_unref(begun);
    return batch;
}

/* Claims up to `count` Tasks of `type`, or of any type if NULL, and adds their records to *claimed. */
static int32_t claim_type(struct request *request, const struct claim *claim, tn_value type, size_t count,
                          tn_value *claimed, struct error *error) {
    tn_value where = claimable_where(request, claim, type), results = NULL;
    size_t fresh = 0;
    int32_t status = count_claimable(request, where, &count, &fresh, error);
    if (status == TN_OK && count)
        status =
            session_commit_take(request->session, take_batch(request, claim, where, count, fresh), &results, error);
    tn_value taken = value_array();
    for (size_t i = 0; i < value_count(results); i++) {
        tn_value record = value_get(value_at(results, i), "value");
        if (!value_is(record, TN_OBJECT)) continue;
        if (i < fresh)
            *claimed = value_push_take(*claimed, value_ref(record));
        else
            taken = value_push_take(taken, value_ref(record));
    }
    if (value_count(taken)) status = begin_or_give_back(request, taken, claimed, error);
    value_unref(taken);
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

/*
 * Claims Tasks that match the filter: all of the first type, then of the next one, until there are enough. *claimed is
 * an array of records. If a part of it fails, the claim succeeds with the Tasks of the other part.
 */
static int32_t claim_tasks(struct request *request, const struct claim *claim, tn_value *claimed, struct error *error) {
    tn_value types;
    int32_t status = read_preferred_types(request, claim->filter, &types, error);
    if (status != TN_OK) return status;
    struct error why = ERROR_INIT;
    if (!types) status = claim_type(request, claim, NULL, claim->limit, claimed, &why);
    for (size_t i = 0; i < value_count(types) && status == TN_OK && value_count(*claimed) < claim->limit; i++)
        status = claim_type(request, claim, value_at(types, i), claim->limit - value_count(*claimed), claimed, &why);
    if (value_count(*claimed))
        status = TN_OK;
    else
        error_move(error, &why);
    error_finish(&why);
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
