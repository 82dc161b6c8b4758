/*
 * schedule_store.c - creates Tasks of schedules, and reads and writes the records of schedules.
 *
 * Everything that depends on a record runs on the store's thread: a job reads the record, and commits on condition that
 * it is unchanged. On a conflict with another host it reads again.
 */
#include "host/work/schedule_store.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/data/kernel/kernel_task.h"
#include <string.h>

#define CREATE_OPERATION "schedule.create"
#define RUN_OPERATION    "schedule.run"

/* ---- The record ---- */

struct schedule_record {
    tn_value value;  /* NULL if it does not exist */
    int64_t version; /* 0 if it does not exist */
};

static int32_t record_load(struct request *request, const struct schedule *schedule, struct schedule_record *out,
                           struct error *error) {
    tn_value found = NULL;
    int32_t status = request_find(request, STORE_SCHEDULES, schedule_name(schedule), &found, error);
    if (status != TN_OK) return status;
    tn_value value = value_get(found, "value");
    *out = (struct schedule_record){value ? value_ref(value) : NULL, 0};
    if (found) out->version = value_to_int(value_get(found, "version"));
    value_unref(found);
    return TN_OK;
}

static bool record_is_of(const struct schedule_record *record, const struct schedule *schedule) {
    return value_text_is(value_get(record->value, "definition"), schedule_definition(schedule)) &&
           value_is(value_get(record->value, "handled_ms"), TN_INT);
}

/* Until when due times are handled. */
static int64_t record_last(const struct schedule_record *record, const struct schedule *schedule, int64_t base_ms,
                           int64_t now_ms) {
    int64_t last = record_is_of(record, schedule) ? value_to_int(value_get(record->value, "handled_ms")) : base_ms;
    return last > now_ms + SCHEDULE_AHEAD_MAX_MS ? now_ms : last;
}

/* The operation that writes the record. `due_ms` is the due time of a Task, or -1 to keep the one before. */
static tn_value record_put(const struct schedule_record *record, const struct schedule *schedule, int64_t handled_ms,
                           int64_t due_ms) {
    tn_value before = value_get(record->value, "due_ms");
    tn_value value = value_set_take(value_object_reserve(3), "handled_ms", value_int(handled_ms));
    value = value_set_take(value, "definition", value_text(schedule_definition(schedule)));
    if (due_ms >= 0)
        value = value_set_take(value, "due_ms", value_int(due_ms));
    else if (before)
        value = value_set_take(value, "due_ms", value_ref(before));
    return store_if_version(store_put(STORE_SCHEDULES, schedule_name(schedule), value), record->version);
}

/* ---- Creating Tasks ---- */

static tn_value task_arguments(const struct schedule *schedule) {
    tn_value arguments = value_set_take(value_object_reserve(3), "task_type", value_ref(schedule_task_type(schedule)));
    return value_set_take(arguments, "payload", value_ref(schedule_payload(schedule)));
}

struct due_job {
    struct store *store;
    const struct schedule *schedule;
    int64_t base_ms;
    struct schedule_due due;
    /* The result. */
    int64_t created;
    bool changed;
    tn_value refused; /* NULL or a message */
};

static int32_t advance_record(struct request *request, const struct due_job *job, struct schedule_record *record,
                              int64_t handled_ms, struct error *error) {
    int32_t status = request_commit_take(request, record_put(record, job->schedule, handled_ms, -1), NULL, error);
    if (status == TN_OK) record->version++;
    return status;
}

/* Creates the Task of one due time, and advances the record to `handled_ms` in the same commit. */
static int32_t create_due_task(struct request *request, struct due_job *job, struct schedule_record *record,
                               int64_t due_ms, int64_t handled_ms, struct error *error) {
    tn_value task = NULL;
    tn_value key = value_format("schedule:%s:%lld", schedule_name(job->schedule), (long long)due_ms);
    request->arguments = value_set_take(task_arguments(job->schedule), "idempotency_key", key);
    request->with = value_push_take(value_array(), record_put(record, job->schedule, handled_ms, due_ms));
    int32_t status = task_create(request, &task, error);
    bool made = request->with == NULL;
    value_unref(request->with);
    value_unref(request->arguments);
    value_unref(task);
    request->with = request->arguments = NULL;
    if (status == TN_OK && made) {
        record->version++;
        job->created++;
        return TN_OK;
    }
    if (status != TN_OK && (request_conflict(status, error) || (status != TN_INVALID && status != TN_LIMIT)))
        return status;
    if (status != TN_OK) { /* trying again would fail again */
        value_unref(job->refused);
        job->refused = value_text(error->message);
        error_finish(error);
    }
    return advance_record(request, job, record, handled_ms, error);
}

static int32_t create_due_tasks(struct request *request, struct due_job *job, struct schedule_record *record,
                                struct error *error) {
    const struct schedule_due *due = &job->due;
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < due->count && i < SCHEDULE_BATCH; i++)
        status = create_due_task(request, job, record, due->times[i],
                                 i + 1 == due->count ? due->handled_ms : due->times[i], error);
    bool stale =
        !record_is_of(record, job->schedule) || value_to_int(value_get(record->value, "handled_ms")) != due->handled_ms;
    if (status == TN_OK && due->count == 0 && stale)
        status = advance_record(request, job, record, due->handled_ms, error);
    return status;
}

static tn_value due_job_result(const struct due_job *job) {
    bool more = job->due.count > SCHEDULE_BATCH;
    tn_value result = value_set_take(value_object_reserve(6), "created", value_int(job->created));
    result = value_set_take(result, "handled_ms",
                            value_int(more ? job->due.times[SCHEDULE_BATCH - 1] : job->due.handled_ms));
    result = value_set_take(result, "more", value_bool(more));
    result = value_set_take(result, "dropped", value_bool(job->due.dropped));
    result = value_set_take(result, "changed", value_bool(job->changed));
    return job->refused ? value_set_take(result, "refused", value_ref(job->refused)) : result;
}

/* [the store's thread] */
static int32_t perform_due(struct session *session, void *user, tn_value *result, struct error *error) {
    struct due_job *job = user;
    struct request request = {.operation = CREATE_OPERATION, .session = session};
    int32_t status = TN_OK;
    for (int tries = 0; tries < KERNEL_TRIES_MAX; tries++) {
        struct schedule_record record = {NULL, 0};
        error_finish(error);
        request.now_ms = store_wall_ms(job->store);
        (void)session_wall_ms(session, &request.now_ms);
        status = record_load(&request, job->schedule, &record, error);
        if (status != TN_OK) break;
        int64_t last = record_last(&record, job->schedule, job->base_ms, request.now_ms);
        job->changed = record.value && !record_is_of(&record, job->schedule);
        schedule_due(job->schedule, last, request.now_ms, &job->due);
        status = create_due_tasks(&request, job, &record, error);
        value_unref(record.value);
        if (!request_conflict(status, error)) break;
    }
    if (status == TN_OK) *result = due_job_result(job);
    return status;
}

static void release_due_job(void *user) {
    struct due_job *job = user;
    value_unref(job->refused);
    mem_free(job);
}

void schedule_create_due(struct store *store, const struct schedule *schedule, int64_t base_ms, store_done *done,
                         void *user) {
    struct due_job *job = mem_zalloc(sizeof *job);
    job->store = store;
    job->schedule = schedule;
    job->base_ms = base_ms;
    store_perform_take(store, perform_due, job, release_due_job, done, user);
}

void schedule_forget(struct store *store, const struct schedule *schedule) {
    tn_value batch = value_push_take(value_array(), store_delete(STORE_SCHEDULES, schedule_name(schedule)));
    store_commit_take(store, batch, NULL, NULL);
}

/* ---- List ---- */

struct list_job {
    struct store *store;
    tn_value configured;
    int64_t count;
};

static tn_value next_times(const struct schedule *schedule, int64_t now_ms, int64_t count) {
    tn_value times = value_array();
    for (int64_t at = now_ms; count > 0 && schedule_next(schedule, at, &at); count--)
        times = value_push_take(times, time_value(at));
    return times;
}

static int32_t list_one(struct request *request, const struct list_job *job, const struct schedule *schedule,
                        tn_value *out, struct error *error) {
    struct schedule_record record = {NULL, 0};
    int32_t status = record_load(request, schedule, &record, error);
    if (status != TN_OK) return status;
    tn_value due = value_get(record.value, "due_ms"), shown = schedule_describe(schedule);
    shown = value_set_take(
        shown, "next", schedule_enabled(schedule) ? next_times(schedule, request->now_ms, job->count) : value_array());
    shown = value_set_take(shown, "last", value_is(due, TN_INT) ? time_value(value_to_int(due)) : value_null());
    *out = value_set_take(shown, "error", value_null());
    value_unref(record.value);
    return TN_OK;
}

/* [the store's thread] */
static int32_t perform_list(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct list_job *job = user;
    struct request request = {.operation = "schedule.list", .session = session, .now_ms = store_wall_ms(job->store)};
    tn_value list = value_array();
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < value_count(job->configured); i++) {
        tn_value name = value_key_at(job->configured, i), shown = NULL;
        struct error why = ERROR_INIT;
        struct schedule *schedule = schedule_new(value_chars(name, NULL), value_value_at(job->configured, i), &why);
        if (schedule)
            status = list_one(&request, job, schedule, &shown, error);
        else
            shown = value_set_take(value_set_take(value_object(), "name", value_ref(name)), "error",
                                   value_text(why.message));
        if (shown) list = value_push_take(list, shown);
        schedule_free(schedule);
        error_finish(&why);
    }
    if (status == TN_OK)
        *result = value_set_take(value_object(), "schedules", list);
    else
        value_unref(list);
    return status;
}

static void release_list_job(void *user) {
    struct list_job *job = user;
    value_unref(job->configured);
    mem_free(job);
}

void schedules_list(struct store *store, tn_value configured, int64_t count, store_done *done, void *user) {
    struct list_job *job = mem_alloc(sizeof *job);
    *job = (struct list_job){store, configured ? value_ref(configured) : value_object(), count};
    store_perform_take(store, perform_list, job, release_list_job, done, user);
}

/* ---- Run ---- */

struct run_job {
    struct store *store;
    tn_value arguments;
};

/* [the store's thread] */
static int32_t perform_run(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct run_job *job = user;
    struct request request = {.operation = RUN_OPERATION,
                              .session = session,
                              .arguments = job->arguments,
                              .now_ms = store_wall_ms(job->store)};
    (void)session_wall_ms(session, &request.now_ms);
    return task_create(&request, result, error);
}

static void release_run_job(void *user) {
    struct run_job *job = user;
    value_unref(job->arguments);
    mem_free(job);
}

static void refuse_unknown_schedule(tn_value configured, const char *name, struct error *error) {
    struct nearest nearest;
    nearest_init(&nearest, name, strlen(name));
    for (size_t i = 0; i < value_count(configured); i++) {
        size_t length;
        const char *known = value_chars(value_key_at(configured, i), &length);
        nearest_add_candidate(&nearest, known, length);
    }
    error_set(error, TN_NOT_FOUND, "NOT_FOUND", "tenon.yaml has no schedule `%.80s`%s", name,
              nearest_result(&nearest)  ? nearest_hint(&nearest).text
              : value_count(configured) ? "; `tenon schedule list` prints the schedules"
                                        : "; it has no schedules");
}

struct schedule *schedules_find(tn_value configured, const char *name, struct error *error) {
    tn_value value = value_get(configured, name);
    if (value) return schedule_new(name, value, error);
    refuse_unknown_schedule(configured, name, error);
    return NULL;
}

void schedule_run(struct store *store, const struct schedule *schedule, const char *key, store_done *done, void *user) {
    struct run_job *job = mem_alloc(sizeof *job);
    *job = (struct run_job){store, task_arguments(schedule)};
    if (key)
        job->arguments =
            value_set_take(job->arguments, "idempotency_key", value_format("%s:%s", schedule_name(schedule), key));
    store_perform_take(store, perform_run, job, release_run_job, done, user);
}
