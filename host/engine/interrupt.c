/*
 * interrupt.c - what a run waits for: nodes that have not ended, or answers; and how answers bring it on.
 *
 * A run interrupted before or inside a step keeps that step's tasks: those that have ended keep their outcome, those
 * that asked are started again with {continuation, answer}. An interrupt's id is its task's hash, so it is the same in
 * every process.
 */
#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "host/call/instance.h"
#include "host/engine/run_internal.h"
#include "host/plugin/plugin.h"
#include "host/plugin/registry.h"
#include <inttypes.h>
#include <stdio.h>

static void interrupt_id(const struct task *task, char out[20]) { snprintf(out, 20, "%016" PRIx64, task_hash(task)); }

static bool waits_before(const struct task *task) {
    const struct run *run = task->run;
    return task->state == TASK_WAITING && !task->approved &&
           run->graph->document->nodes[task->plan.node].interrupt_before;
}

tn_value run_interrupts(const struct run *run) {
    tn_value list = value_array();
    if (run->status != RUN_INTERRUPTED) return list;
    for (uint32_t i = 0; i < run->task_count; i++) {
        const struct task *task = &run->tasks[i];
        bool before = waits_before(task);
        if (!before && task->state != TASK_INTERRUPTED) continue;
        char id[20];
        interrupt_id(task, id);
        tn_value entry = value_set_take(value_object_reserve(5), "id", value_text(id));
        entry = value_set_take(entry, "node", value_ref(run->graph->document->nodes[task->plan.node].id));
        if (before) {
            entry = value_set_take(entry, "when", value_text("before"));
        } else {
            tn_value asked = call_interrupt_value(task->call);
            tn_value payload = value_get(asked, "payload"), schema = value_get(asked, "schema");
            entry = value_set_take(entry, "payload", payload ? value_ref(payload) : value_null());
            if (schema) entry = value_set_take(entry, "schema", value_ref(schema));
        }
        list = value_push_take(list, entry);
    }
    if (run->interrupt_after)
        list = value_push_take(list, value_set_take(value_object_reserve(1), "when", value_text("after")));
    return list;
}

/* ---- What has started and not ended ---- */

/* Whether a run goes on inside the task: then that run's tasks are what is waited for. */
static bool holds_a_run(const struct run *root, const struct task *task) {
    for (const struct run *nested = root->nested; nested; nested = nested->next_nested)
        if (nested->outer == task->run && nested->scope == task_hash(task)) return true;
    return false;
}

static tn_value open_task(const struct task *task) {
    const struct run *run = task->run;
    struct buffer name;
    buffer_init(&name, SIZE_MAX);
    for (size_t i = 0; run->path && i < value_count(run->path); i++)
        buffer_format(&name, "%s/", value_chars(value_at(run->path, i), NULL));
    buffer_text(&name, value_chars(run->graph->document->nodes[task->plan.node].id, NULL));
    tn_value entry = value_set_take(value_object_reserve(3), "node", value_text(buffer_cstr(&name)));
    buffer_finish(&name);
    const struct component *component = instance_component(run->graph->nodes[task->plan.node].callable);
    if (!component) return entry;
    entry = value_set_take(entry, "component", value_text(component->info->id));
    return value_set_take(entry, "plugin", value_text(plugin_id(component->plugin)));
}

static tn_value add_open(tn_value list, const struct run *root, const struct run *run) {
    for (uint32_t i = 0; i < run->task_count; i++)
        if (run->tasks[i].state == TASK_OPEN && !holds_a_run(root, &run->tasks[i]))
            list = value_push_take(list, open_task(&run->tasks[i]));
    return list;
}

tn_value run_open(const struct run *run) {
    tn_value list = add_open(value_array(), run, run);
    for (const struct run *nested = run->nested; nested; nested = nested->next_nested)
        list = add_open(list, run, nested);
    return list;
}

/* ---- Answers ---- */

static struct task *task_of_id(struct run *run, tn_value key) {
    for (uint32_t i = 0; i < run->task_count; i++) {
        struct task *task = &run->tasks[i];
        char id[20];
        interrupt_id(task, id);
        if ((task->state == TASK_INTERRUPTED || waits_before(task)) && value_text_is(key, id)) return task;
    }
    return NULL;
}

static int32_t check_answer(const struct task *task, tn_value answer, struct error *error) {
    tn_value asked = task->state == TASK_INTERRUPTED ? call_interrupt_value(task->call) : NULL;
    tn_value document = asked ? value_get(asked, "schema") : NULL;
    if (!document) return TN_OK;
    struct schema *schema;
    int32_t status = schema_compile(document, NULL, &schema, error);
    if (status != TN_OK) return status;
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    status = schema_validate(schema, answer, &errors);
    if (status != TN_OK)
        error_set(error, status, "INVALID_INPUT", "the answer for `%s`: %s",
                  graph_node_name(task->run->graph, (int32_t)task->plan.node),
                  errors.count ? errors.items[0].message : "does not fit its schema");
    schema_errors_finish(&errors);
    schema_unref(schema);
    return status;
}

static int32_t check_answers(struct run *run, tn_value answers, struct error *error) {
    if (answers && !value_is(answers, TN_OBJECT))
        return error_set(error, TN_TYPE, "INVALID_INPUT", "the answers are %s, expected an object by interrupt id",
                         value_kind_name(value_kind(answers)));
    for (size_t i = 0, n = answers ? value_count(answers) : 0; i < n; i++) {
        tn_value key = value_key_at(answers, i);
        struct task *task = task_of_id(run, key);
        if (!task)
            return error_set(error, TN_NOT_FOUND, "INVALID_INPUT", "no interrupt of this run has the id `%s`",
                             value_chars(key, NULL));
        int32_t status = check_answer(task, value_value_at(answers, i), error);
        if (status != TN_OK) return status;
    }
    for (uint32_t i = 0; i < run->task_count; i++) {
        const struct task *task = &run->tasks[i];
        char id[20];
        interrupt_id(task, id);
        if (task->state == TASK_INTERRUPTED && (!answers || !value_get(answers, id)))
            return error_set(error, TN_INVALID, "INVALID_INPUT", "the interrupt `%s` of node `%s` has no answer", id,
                             graph_node_name(run->graph, (int32_t)task->plan.node));
    }
    return TN_OK;
}

static void give_answer(struct task *task, tn_value answers) {
    if (task->state == TASK_WAITING) {
        task->approved = true;
        return;
    }
    if (task->state != TASK_INTERRUPTED) return;
    char id[20];
    interrupt_id(task, id);
    tn_value continuation = value_get(call_interrupt_value(task->call), "continuation");
    tn_value input = value_object_reserve(2);
    input = value_set_take(input, "continuation", continuation ? value_ref(continuation) : value_null());
    input = value_set_take(input, "answer", value_ref(value_get(answers, id)));
    value_unref(task->answer);
    task->answer = input;
    task->resumed = true;
    call_free(task->call);
    task->call = NULL;
    task->state = TASK_WAITING;
}

int32_t run_resume(struct run *run, tn_value answers, bool *ended, struct error *error) {
    if (run->status != RUN_INTERRUPTED && run->status != RUN_STOPPED && !run->at_limit)
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "the run is %s, expected interrupted, stopped, or failed by RECURSION_LIMIT",
                         run_status_name(run->status));
    int32_t status = check_answers(run, answers, error);
    if (status != TN_OK) return status;
    run->status = RUN_RUNNING;
    run->draining = run->interrupt_after = run->at_limit = false;
    error_finish(&run->error);
    /* An interrupted step has been counted already, and is this invocation's first. */
    run->limit_step = run->step + run->recursion_limit - run->planning_done;
    run_begin_time(run);
    for (uint32_t i = 0; i < run->task_count; i++) give_answer(&run->tasks[i], answers);
    run->interrupted = 0;
    run->next_task = 0; /* those that are not waiting are passed over */
    run->in_start = true;
    run_advance(run);
    run->in_start = false;
    *ended = run->status != RUN_RUNNING;
    return TN_OK;
}
