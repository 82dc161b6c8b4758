/*
 * interrupt.c - what a run waits for: nodes that have not ended, or answers; and how answers bring it on.
 *
 * A run interrupted before or inside a step keeps that step's tasks: those that have ended keep their outcome, those
 * that asked are started again with {continuation, answer}. Where a call that a task made has asked (a tool, a graph),
 * the task is started again from the top, with the outcomes of its other calls as they were, and that call gets the
 * answer. An interrupt's id is made from its task's hash, so it is the same in every process.
 */
#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "host/call/instance.h"
#include "host/engine/durable.h"
#include "host/engine/run_internal.h"
#include "host/plugin/plugin.h"
#include "host/plugin/registry.h"
#include <inttypes.h>
#include <stdio.h>

static bool waits_before(const struct task *task) {
    const struct run *run = task->run;
    return task->state == TASK_WAITING && !task->approved &&
           run->graph->document->nodes[task->plan.node].interrupt_before;
}

static tn_value id_of(uint64_t hash) { return value_format("%016" PRIx64, hash); }

static tn_value entry_of(const struct task *task, uint64_t id) {
    const struct run *run = task->run;
    tn_value entry = value_set_take(value_object_reserve(5), "id", id_of(id));
    entry = value_set_take(entry, "node", value_ref(run->graph->document->nodes[task->plan.node].id));
    return run->path ? value_set_take(entry, "path", value_ref(run->path)) : entry;
}

static tn_value asked_entry(const struct task *task, uint64_t id, tn_value asked) {
    tn_value payload = value_get(asked, "payload"), schema = value_get(asked, "schema");
    tn_value entry = value_set_take(entry_of(task, id), "payload", payload ? value_ref(payload) : value_null());
    return schema ? value_set_take(entry, "schema", value_ref(schema)) : entry;
}

/* Of calls that the task made: what they asked; of graphs, what they wait for. */
static tn_value add_children(tn_value list, const struct task *task) {
    for (size_t i = 0; i < value_count(task->children); i++) {
        tn_value asked = value_get(value_value_at(task->children, i), "asked");
        if (!asked) continue;
        tn_value inner = value_get(asked, "interrupts");
        const char *path = value_chars(value_key_at(task->children, i), NULL);
        if (inner)
            list = value_concat_take(list, value_ref(inner));
        else
            list = value_push_take(list, asked_entry(task, task_child_hash(task, path), asked));
    }
    return list;
}

tn_value run_interrupts(const struct run *run) {
    return run->status == RUN_INTERRUPTED ? run_interrupts_now(run) : value_array();
}

tn_value run_interrupts_now(const struct run *run) {
    tn_value list = value_array();
    for (uint32_t i = 0; i < run->task_count; i++) {
        const struct task *task = &run->tasks[i];
        if (waits_before(task)) {
            tn_value entry = value_set_take(entry_of(task, task_hash(task)), "when", value_text("before"));
            list = value_push_take(list, entry);
        } else if (task->state == TASK_INTERRUPTED) {
            tn_value asked = task_asked(task);
            list = asked ? value_push_take(list, asked_entry(task, task_hash(task), asked)) : add_children(list, task);
        }
    }
    if (run->interrupt_after) {
        tn_value entry = value_set_take(value_object_reserve(2), "when", value_text("after"));
        if (run->path) entry = value_set_take(entry, "path", value_ref(run->path));
        list = value_push_take(list, entry);
    }
    return list;
}

/* ---- What has started and not ended ---- */

/* Whether a run goes on inside the task: then that run's tasks are what is waited for. */
static bool holds_a_run(const struct run *root, const struct task *task) {
    for (const struct run *nested = root->nested; nested; nested = nested->next_nested)
        if (nested->outer == task->run && nested->outer_task == task->index) return true;
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

static tn_value find_entry(tn_value interrupts, tn_value id) {
    for (size_t i = 0; i < value_count(interrupts); i++) {
        tn_value known = value_get(value_at(interrupts, i), "id");
        if (known && value_equal(known, id)) return value_at(interrupts, i);
    }
    return NULL;
}

static int32_t check_answer(tn_value entry, tn_value answer, struct error *error) {
    tn_value document = value_get(entry, "schema");
    if (!document) return TN_OK;
    struct schema *schema;
    int32_t status = schema_compile(document, NULL, &schema, error);
    if (status != TN_OK) return status;
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    status = schema_validate(schema, answer, &errors);
    if (status != TN_OK) {
        const struct schema_error *first = errors.count ? &errors.items[0] : NULL;
        error_set(error, status, "INVALID_INPUT", "the answer for `%s`%s%s: %s",
                  value_chars(value_get(entry, "node"), NULL), first && *first->pointer ? ", at " : "",
                  first ? first->pointer : "", first ? first->message : "does not fit its schema");
    }
    schema_errors_finish(&errors);
    schema_unref(schema);
    return status;
}

int32_t interrupts_check(tn_value interrupts, tn_value answers, struct error *error) {
    if (answers && !value_is(answers, TN_OBJECT))
        return error_set(error, TN_TYPE, "INVALID_INPUT", "the answers are %s, expected an object by interrupt id",
                         value_kind_name(value_kind(answers)));
    size_t given = answers ? value_count(answers) : 0;
    for (size_t i = 0; i < given; i++) {
        tn_value id = value_key_at(answers, i), entry = find_entry(interrupts, id);
        if (!entry)
            return error_set(error, TN_NOT_FOUND, "INVALID_INPUT",
                             "no interrupt of this run has the id `%s`, or it has been answered",
                             value_chars(id, NULL));
        int32_t status = check_answer(entry, value_value_at(answers, i), error);
        if (status != TN_OK) return status;
    }
    /* Any of them may be answered first; but where all of them ask, nothing goes on without one. */
    tn_value unanswered = NULL;
    for (size_t i = 0; i < value_count(interrupts); i++) {
        tn_value entry = value_at(interrupts, i);
        if (!value_get(entry, "payload")) return TN_OK;
        unanswered = unanswered ? unanswered : entry;
    }
    if (!unanswered || given) return TN_OK;
    return error_set(error, TN_INVALID, "INVALID_INPUT", "the interrupt `%s` of node `%s` has no answer",
                     value_chars(value_get(unanswered, "id"), NULL), value_chars(value_get(unanswered, "node"), NULL));
}

static tn_value answer_of(tn_value answers, uint64_t hash) {
    tn_value id = id_of(hash), answer = answers ? value_get_key(answers, id) : NULL;
    value_unref(id);
    return answer;
}

static tn_value answered(tn_value asked, tn_value answer) {
    tn_value continuation = value_get(asked, "continuation"), input = value_object_reserve(2);
    input = value_set_take(input, "continuation", continuation ? value_ref(continuation) : value_null());
    return value_set_take(input, "answer", value_ref(answer));
}

/* The answers that a graph inside waits for; NULL where it cannot go on with these. */
static tn_value answers_inside(tn_value interrupts, tn_value answers) {
    tn_value inside = value_object();
    bool asks = false;
    for (size_t i = 0; i < value_count(interrupts); i++) {
        tn_value entry = value_at(interrupts, i), id = value_get(entry, "id");
        tn_value answer = id && answers ? value_get_key(answers, id) : NULL;
        asks |= value_get(entry, "payload") != NULL;
        if (answer) inside = value_set_key_take(inside, value_ref(id), value_ref(answer));
    }
    if (!asks || value_count(inside)) return inside;
    value_unref(inside);
    return NULL;
}

/* True: at least one of the calls that the task waits for can go on. */
static bool answer_children(struct task *task, tn_value answers) {
    bool any = false;
    for (size_t i = 0; i < value_count(task->children); i++) {
        tn_value key = value_key_at(task->children, i), asked = value_get(value_value_at(task->children, i), "asked");
        if (!asked) continue;
        tn_value inner = value_get(asked, "interrupts"), input = NULL;
        if (inner) {
            tn_value inside = answers_inside(inner, answers);
            if (inside)
                input = value_set_take(
                    value_set_take(value_object_reserve(2), "saved", value_ref(value_get(asked, "saved"))), "answers",
                    inside);
        } else {
            tn_value answer = answer_of(answers, task_child_hash(task, value_chars(key, NULL)));
            if (answer) input = answered(asked, answer);
        }
        if (!input) continue;
        task->children =
            value_set_key_take(task->children, value_ref(key), value_set_take(value_object_reserve(1), "input", input));
        any = true;
    }
    return any;
}

/* Those without an answer stay as they are: the run will wait for them again. */
static void give_answer(struct task *task, tn_value answers) {
    if (task->state == TASK_WAITING) {
        task->approved = true;
        return;
    }
    if (task->state != TASK_INTERRUPTED) return;
    tn_value asked = task_asked(task);
    if (asked) {
        tn_value answer = answer_of(answers, task_hash(task));
        if (!answer) return;
        tn_value input = answered(asked, answer);
        value_unref(task->answer);
        task->answer = input;
        task->resumed = true;
    } else if (answer_children(task, answers)) {
        task_recount_uses(task);
        task_recount_used(task);
    } else {
        return;
    }
    call_free(task->call);
    task->call = NULL;
    value_unref(task->asked);
    task->asked = NULL;
    task->state = TASK_WAITING;
    task->run->interrupted--;
}

/* One that was killed may stand where some have asked and nobody has been told, or others have not come to their end.
 */
static bool goes_on_by_itself(const struct run *run) {
    tn_value was = value_get(value_get(run->options.loaded, "record"), "status");
    if (!run->durable && value_is(was, TN_STRING) && !value_text_is(was, run_status_name(RUN_INTERRUPTED))) return true;
    for (uint32_t i = 0; i < run->task_count; i++)
        if (run->tasks[i].state == TASK_WAITING && !waits_before(&run->tasks[i])) return true;
    return false;
}

int32_t run_resume(struct run *run, tn_value answers, bool *ended, struct error *error) {
    if (run->status != RUN_INTERRUPTED && run->status != RUN_STOPPED && !run->at_limit)
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "the run is %s, expected interrupted, stopped, or failed by RECURSION_LIMIT",
                         run_status_name(run->status));
    tn_value interrupts = run_interrupts(run);
    bool unanswered = !answers || (value_is(answers, TN_OBJECT) && !value_count(answers));
    int32_t status = unanswered && goes_on_by_itself(run) ? TN_OK : interrupts_check(interrupts, answers, error);
    value_unref(interrupts);
    if (status != TN_OK) return status;
    run->status = RUN_RUNNING;
    /* That one killed or stopped is gone on with is no step of its history: a replay has no such end. */
    const char *source = run->interrupt_after ? "resume" : NULL;
    run->draining = run->interrupt_after = run->at_limit = false;
    error_finish(&run->error);
    /* An interrupted step has been counted already, and is this invocation's first. */
    run_begin_limit(run, run->planning_done);
    run_begin_time(run);
    for (uint32_t i = 0; i < run->task_count; i++) give_answer(&run->tasks[i], answers);
    run->next_task = 0; /* those that are not waiting are passed over */
    run->in_start = true;
    durable_begin(run);
    for (size_t i = 0; i < (answers ? value_count(answers) : 0); i++)
        durable_answer(run, value_chars(value_key_at(answers, i), NULL), value_value_at(answers, i));
    if (!durable_commit(run, source)) run_advance(run);
    run->in_start = false;
    *ended = run->status != RUN_RUNNING;
    return TN_OK;
}
