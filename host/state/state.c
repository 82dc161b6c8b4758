/*
 * state.c - the table of operations, and how one gets to the store's thread and back.
 */
#include "host/state/state.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/host.h"
#include "host/log.h"
#include "host/loop/loop.h"
#include "host/state/artifact.h"
#include "host/state/memory.h"
#include "host/state/task.h"
#include <string.h>

struct state_row {
    const char *name;
    operation_fn *run;
    const char *effect;
};

static const struct state_row rows[] = {
    {"task.create", task_create, "state.task_create"},
    {"task.get", task_get, NULL},
    {"task.update", task_update, "state.task_update"},
    {"task.list", task_list, NULL},
    {"task.claim", task_claim, "state.task_claim"},
    {"task.renew", task_renew, "state.task_renew"},
    {"task.complete", task_complete, "state.task_complete"},
    {"task.fail", task_fail, "state.task_fail"},
    {"artifact.write", artifact_write, "state.artifact_write"},
    {"artifact.open", artifact_open, "state.artifact_write"},
    {"artifact.append", artifact_append, "state.artifact_write"},
    {"artifact.finish", artifact_finish, "state.artifact_write"},
    {"artifact.abandon", artifact_abandon, "state.artifact_write"},
    {"artifact.read", artifact_read, NULL},
    {"artifact.search", artifact_search, NULL},
    {"memory.put", memory_put, "state.memory_put"},
    {"memory.get", memory_get, NULL},
    {"memory.delete", memory_delete, "state.memory_delete"},
    {"memory.search", memory_search, NULL},
    {"memory.namespaces", memory_namespaces, NULL},
};

static const struct state_row maintain_row = {"maintain", artifact_sweep, NULL};

int32_t state_open(struct host *host, struct state *out, struct error *error) {
    struct store *store = host_store(host, error);
    if (!store) return TN_NOT_FOUND;
    *out = (struct state){host->loop, store};
    return TN_OK;
}

/* ---- The table ---- */

const struct state_row *state_at(size_t index) { return index < sizeof rows / sizeof *rows ? &rows[index] : NULL; }

const struct state_row *state_find(const char *operation) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, operation) == 0) return &rows[i];
    return NULL;
}

const char *state_name(const struct state_row *row) { return row->name; }
const char *state_effect(const struct state_row *row) { return row->effect; }

int32_t state_unknown(const char *operation, struct error *error) {
    struct nearest nearest;
    nearest_init(&nearest, operation, strlen(operation));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) nearest_offer(&nearest, rows[i].name, strlen(rows[i].name));
    const char *near = nearest_result(&nearest);
    return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "the state kernel has no operation `%.80s`%s%s%s", operation,
                     near ? "; did you mean `" : "; tenon/state.h lists them", near ? near : "", near ? "`?" : "");
}

/* ---- Calls ---- */

struct state_job {
    struct loop *loop;
    const struct state_row *row;
    tn_value arguments;
    store_done *done;
    void *user;
};

/* On the store's thread. */
static int32_t perform(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct state_job *job = user;
    struct request request = {job->row->name, session, job->arguments, loop_wall_ms(job->loop)};
    if (!value_is(job->arguments, TN_OBJECT))
        return error_set(error, TN_INVALID, "INVALID_INPUT", "%s: found %s, expected an object of arguments",
                         job->row->name, value_kind_name(value_kind(job->arguments)));
    return job->row->run(&request, result, error);
}

static void on_performed(void *user, int32_t status, tn_value result, const struct error *error) {
    struct state_job *job = user;
    if (job->done) job->done(job->user, status, result, error);
    value_unref(job->arguments);
    mem_free(job);
}

void state_call(const struct state *state, const struct state_row *row, tn_value arguments, store_done *done,
                void *user) {
    struct state_job *job = mem_alloc(sizeof *job);
    *job = (struct state_job){state->loop, row, arguments ? value_ref(arguments) : value_object(), done, user};
    store_perform(state->store, perform, job, on_performed, job);
}

int32_t state_call_wait(const struct state *state, const char *operation, tn_value arguments_take, tn_value *out,
                        struct error *error) {
    struct state_job job = {.loop = state->loop, .row = state_find(operation), .arguments = arguments_take};
    int32_t status =
        job.row ? store_perform_wait(state->store, perform, &job, out, error) : state_unknown(operation, error);
    value_unref(arguments_take);
    return status;
}

/* ---- Maintenance ---- */

static void on_swept(void *user, int32_t status, tn_value result, const struct error *error) {
    (void)user, (void)result;
    if (status != TN_OK) log_write(LOG_WARN, NULL, "the store: uploads that are over stay: %s", error->message);
}

/* Both are asked for at once: the store keeps their order, and may be closed before the first is told. */
void state_maintain(const struct state *state, store_done *done, void *user) {
    state_call(state, &maintain_row, NULL, on_swept, NULL);
    store_maintain(state->store, done, user);
}
