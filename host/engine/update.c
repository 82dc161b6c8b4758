/*
 * update.c - a run's state changed from outside, between two steps.
 */
#include "adl/value/memory.h"
#include "host/engine/durable.h"
#include "host/engine/run_internal.h"
#include <string.h>

/* Back to where the step had not begun: its tasks are planned again. */
static void leave_step(struct run *run) {
    if (!run_in_step(run)) return;
    struct plan left = {NULL, 0, 0};
    left.items = mem_array(NULL, run->task_count, sizeof *left.items);
    for (; left.count < run->task_count; left.count++) {
        left.items[left.count] = run->tasks[left.count].plan;
        run->tasks[left.count].plan.input = NULL;
    }
    run_drop_tasks(run);
    for (uint32_t i = 0; i < left.count; i++) {
        if (left.items[i].input)
            plan_push_mapped_take(run, left.items[i]);
        else
            plan_push_triggered(run, left.items[i].node);
    }
    mem_free(left.items);
    run->step--;
}

static int32_t no_node(const struct run *run, const char *as, struct error *error) {
    const char *near = document_near_node(run->graph->document, as, strlen(as));
    return error_set(error, TN_NOT_FOUND, "INVALID_INPUT", "the document has no node `%s`%s%s%s", as,
                     near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "");
}

/* As if the node had just ended, and written that. */
static int32_t route_as(struct run *run, int32_t node, struct error *error) {
    struct task task;
    plan_clear(run);
    task_init(&task, run, 0, (struct planned){(uint32_t)node, NO_INDEX, 0, 0, NO_INDEX, NULL});
    task.state = TASK_DONE;
    task.cached = value_object();
    run->step++;
    int32_t status = route_task(run, &task, error);
    plan_finish(run);
    task_finish(&task);
    return status;
}

int32_t run_update(struct run *run, tn_value channels, const char *as, bool *ended, struct error *error) {
    int32_t node = as ? graph_find_target(run->graph, as, strlen(as)) : 0;
    if (as && node < 0) return no_node(run, as, error);
    leave_step(run);
    durable_begin(run);
    int32_t status = run_write_channels(run, channels, error);
    if (status != TN_OK) {
        state_rollback(&run->state);
        return status;
    }
    if (as) status = route_as(run, node, error);
    if (status != TN_OK) return status;
    bool more = run->triggered.count || run->mapped.count;
    run->interrupt_after = false;
    run->updating = true;
    run->status = RUN_RUNNING;
    run->in_start = true;
    if (!run->durable || !durable_finish(run, more ? RUN_STOPPED : RUN_DONE))
        run_end(run, more ? RUN_STOPPED : RUN_DONE);
    run->in_start = false;
    *ended = run->status != RUN_RUNNING;
    return TN_OK;
}
