/*
 * exercise_run.c - runs tasks to their end, cancels them at random points, and runs them while an allocation fails.
 *
 * Only components that declare no effects, or only `clock` and `random`, are run. Channels contain generated values,
 * chosen by a hash of their names, and every task has the same context, so that a task depends only on its input.
 */
#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"
#include "host/plugin/call/call.h"
#include "host/plugin/conformance/exercise_internal.h"
#include "host/plugin/conformance/guard.h"
#include <string.h>

#define CHUNKS_MAX 1000 /* recorded chunks of one task */

/* ---- One run ---- */

struct exercise_task {
    struct exercise *it;
    struct loop *loop;
    struct callable *callable;
    const struct plugin *plugin;
    struct call *call;
    tn_value chunks;
    uint64_t turns;           /* turns of the loop before it is cancelled */
    struct loop_timer turned; /* so that a turn is short, also while the loop has nothing to do */
    bool ended;
};

static void exercise_task_on_ended(struct call *call) { ((struct exercise_task *)call_owner(call))->ended = true; }

static bool exercise_task_on_chunk(struct call *call, tn_value chunk) {
    struct exercise_task *task = call_owner(call);
    if (value_count(task->chunks) < CHUNKS_MAX) task->chunks = value_push_take(task->chunks, value_ref(chunk));
    return true;
}

static tn_value exercise_task_on_read(struct call *call, uint32_t field) {
    return ((struct exercise_task *)call_owner(call))->it->reads[field % EXERCISE_FIELDS];
}

static tn_value exercise_task_on_context(struct call *call) {
    static const char *const names[] = {"task_id", "run_id", "thread_id", "runner_id", "node"};
    tn_value context = value_object();
    (void)call;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        context = value_set_take(context, names[i], value_text("check"));
    context = value_set_take(context, "path", value_array());
    context = value_set_take(context, "attempt", value_int(1));
    context = value_set_take(context, "step", value_int(1));
    context = value_set_take(context, "now", value_int(1767225600000)); /* 2026-01-01T00:00:00Z */
    context = value_set_take(context, "seed", value_int(1));
    context = value_set_take(context, "tags", value_array());
    context = value_set_take(context, "metadata", value_object());
    return value_set_take(context, "configurable", value_object());
}

static bool exercise_task_has_ended(void *user) { return ((struct exercise_task *)user)->ended; }

static bool exercise_task_is_due(void *user) {
    struct exercise_task *task = user;
    return task->ended || task->turns-- == 0;
}

static void exercise_task_on_turned(struct loop_timer *timer) {
    struct exercise_task *task = CONTAINER_OF(timer, struct exercise_task, turned);
    loop_timer_start(task->loop, timer, EXERCISE_TURN_MS, exercise_task_on_turned);
}

static struct exercise_task *exercise_task_start(struct exercise *it, struct exercise_host *host,
                                                 struct component *component, struct callable *callable, tn_value input,
                                                 int64_t timeout_ms) {
    static const struct call_ops ops = {.ended = exercise_task_on_ended,
                                        .chunk = exercise_task_on_chunk,
                                        .read = exercise_task_on_read,
                                        .context = exercise_task_on_context};
    struct exercise_task *task = mem_zalloc(sizeof *task);
    *task = (struct exercise_task){.it = it, .loop = host->loop, .callable = callable, .plugin = component->plugin};
    callable_ref(callable);
    task->chunks = value_array();
    task->call = call_new(task->loop, callable, &ops, task);
    call_set_time_limits(task->call, timeout_ms, 0);
    task->ended = call_start(task->call, input);
    return task;
}

static void exercise_task_wait(struct exercise_task *task) {
    if (!task->ended) loop_run(task->loop, exercise_task_has_ended, task);
}

struct exercise_settling {
    struct loop *loop;
    struct loop_timer part;
    const struct exercise_task *task;
    int parts_left;
};

static void exercise_start_part(struct loop_timer *timer) {
    struct exercise_settling *settling = CONTAINER_OF(timer, struct exercise_settling, part);
    if (settling->parts_left-- > 0)
        loop_timer_start(settling->loop, timer, EXERCISE_DEAF_MS / EXERCISE_DEAF_PARTS, exercise_start_part);
}

/* The call was freed. True if nothing but the exercise has a reference to the instance. */
static bool exercise_task_is_gone(const struct exercise_task *task) {
    return plugin_tasks(task->plugin) == 0 && task->callable->references == 1;
}

static bool exercise_is_settled(void *user) {
    struct exercise_settling *settling = user;
    return settling->parts_left < 0 || exercise_task_is_gone(settling->task);
}

/*
 * After a cancel or a time limit, a call ends for its owner at once or after a while, even if the plugin's task
 * continues. A worker may still be inside start after it has ended the task: until it has returned, the instance and
 * what the task was lent are in use, and would be counted as leaks. This waits for both.
 */
static void exercise_settle(const struct exercise_task *task) {
    struct exercise *it = task->it;
    /* The host kills the process of a cancelled task after a while: the next step must not see that. */
    int parts = it->remote ? EXERCISE_KILL_PARTS : EXERCISE_DEAF_PARTS;
    struct exercise_settling settling = {.loop = task->loop, .task = task, .parts_left = parts};
    if (exercise_is_settled(&settling)) return;
    exercise_start_part(&settling.part);
    loop_run(task->loop, exercise_is_settled, &settling);
    loop_timer_stop(task->loop, &settling.part);
    if (!exercise_task_is_gone(task) || parts - settling.parts_left > EXERCISE_DEAF_PARTS)
        it->ignores_cancel = it->leaks_explained = true;
}

/* Frees tasks of one instance. One that has not ended still belongs to the loop. */
static void exercise_tasks_free(struct exercise_task *const *tasks, uint32_t count) {
    struct exercise_task *last = NULL;
    for (uint32_t i = 0; i < count; i++) {
        struct exercise_task *task = tasks[i];
        if (!task || !task->ended) continue;
        exercise_check_outcome(task->it, task->call, task->chunks);
        call_free(task->call);
        value_unref(task->chunks);
        if (last) callable_unref(last->callable);
        mem_free(last);
        last = task;
    }
    if (!last) return;
    exercise_settle(last);
    exercise_check_process(last->it);
    callable_unref(last->callable);
    mem_free(last);
}

static void exercise_task_free(struct exercise_task *task) { exercise_tasks_free(&task, 1); }

/* NULL if create fails. The task is cancelled after `turns` turns of the loop; UINT64_MAX: never. */
static struct exercise_task *exercise_run_task(struct exercise *it, struct exercise_host *host,
                                               struct component *component, tn_value config, tn_value input,
                                               int64_t timeout_ms, uint64_t turns) {
    struct callable *callable = exercise_create_instance(component, config, NULL);
    if (!callable) return NULL;
    struct exercise_task *task = exercise_task_start(it, host, component, callable, input, timeout_ms);
    callable_unref(callable);
    task->turns = turns;
    if (!task->ended && turns != UINT64_MAX) {
        exercise_task_on_turned(&task->turned);
        loop_run(host->loop, exercise_task_is_due, task);
        loop_timer_stop(host->loop, &task->turned);
        if (!task->ended) call_cancel(task->call);
    }
    exercise_task_wait(task);
    return task;
}

static tn_value exercise_task_outcome(const struct exercise_task *task) {
    static const char *const names[] = {"open", "completed", "failed", "cancelled", "interrupted"};
    struct call *call = task->call;
    uint32_t count;
    const struct call_write *writes = call_writes(call, &count);
    tn_value record = value_set_take(value_object(), "outcome", value_text(names[call_outcome(call)])), list;
    if (call_outcome(call) == CALL_COMPLETED && call_output(call))
        record = value_set_take(record, "output", value_ref(call_output(call)));
    if (call_outcome(call) == CALL_FAILED) record = value_set_take(record, "error", error_to_value(call_error(call)));
    if (call_outcome(call) == CALL_INTERRUPTED)
        record = value_set_take(record, "interrupt", value_ref(call_interrupt_value(call)));
    list = value_array();
    for (uint32_t i = 0; i < count; i++) {
        list = value_push_take(list, value_int(writes[i].channel));
        list = value_push_take(list, value_ref(writes[i].value));
    }
    record = value_set_take(record, "writes", list);
    return value_set_take(record, "chunks", value_ref(task->chunks));
}

/* NULL if the task has not ended, or if its time was up. */
static tn_value exercise_task_record(const struct exercise_task *task) {
    if (!task || !task->ended) return NULL;
    const struct error *error = call_error(task->call);
    if (call_outcome(task->call) == CALL_FAILED && strcmp(error->code, "TIMEOUT") == 0) return NULL;
    return exercise_task_outcome(task);
}

tn_value exercise_record(struct exercise *it, struct exercise_host *host, struct component *component, tn_value config,
                         tn_value input) {
    struct exercise_task *task = exercise_run_task(it, host, component, config, input, EXERCISE_COMPARE_MS, UINT64_MAX);
    tn_value record = exercise_task_record(task);
    exercise_task_free(task);
    return record;
}

void exercise_record_together(struct exercise *it, struct exercise_host *host, struct component *component,
                              tn_value config, const tn_value *inputs, tn_value *records, uint32_t count) {
    struct callable *callable = exercise_create_instance(component, config, NULL);
    struct exercise_task *task[EXERCISE_TOGETHER] = {0};
    for (uint32_t i = 0; callable && i < count; i++)
        task[i] = exercise_task_start(it, host, component, callable, inputs[i], EXERCISE_COMPARE_MS);
    callable_unref(callable);
    for (uint32_t i = 0; i < count; i++) {
        if (task[i]) exercise_task_wait(task[i]);
        records[i] = exercise_task_record(task[i]);
    }
    exercise_tasks_free(task, count);
}

/* ---- Inputs ---- */

bool exercise_may_run(const struct exercise *it) {
    tn_value effects = it->component->info->effects;
    if (!value_is(effects, TN_ARRAY)) return false;
    for (size_t i = 0; i < value_count(effects); i++)
        if (!value_text_is(value_at(effects, i), "clock") && !value_text_is(value_at(effects, i), "random"))
            return false;
    return true;
}

bool exercise_is_pure(const struct exercise *it) {
    return exercise_may_run(it) && value_count(it->component->info->effects) == 0;
}

void exercise_fill_channels(struct exercise *it) {
    for (size_t i = 0; i < EXERCISE_FIELDS; i++) {
        value_unref(it->reads[i]);
        it->reads[i] = generate(&it->generator, NULL);
    }
}

/* An input that fits the schema, because a host validates it; null if none was generated, or without a schema. */
tn_value exercise_make_input(struct exercise *it) {
    const struct component_info *info = it->component->info;
    tn_value schema = value_get(info->manifest, "input");
    for (int i = 0; schema && i < EXERCISE_TRIES; i++) {
        tn_value made = generate(&it->generator, schema);
        tn_value whole = info->input ? schema_with_defaults(info->input, made) : value_ref(made);
        value_unref(made);
        if (!info->input || schema_validate(info->input, whole, NULL) == TN_OK) return whole;
        value_unref(whole);
    }
    return value_null();
}

/* ---- Examples, runs, cancels ---- */

void exercise_run_examples(struct exercise *it) {
    const struct component_info *info = it->component->info;
    tn_value examples = value_get(info->manifest, "examples");
    for (size_t i = 0; value_is(examples, TN_ARRAY) && i < value_count(examples) && exercise_has_time(it); i++) {
        tn_value example = value_at(examples, i), input = value_get(example, "input");
        tn_value output = value_get(example, "output"), example_config = value_get(example, "config");
        const char *title = value_chars(value_get(example, "title"), NULL);
        if (!output) continue;
        tn_value config = example_config ? value_ref(example_config) : value_object();
        config = exercise_add_defaults(info->config, config);
        exercise_report_step(it, "run example `%s` of `%s`", title, info->id);
        tn_value record = exercise_record(it, it->host, it->component, config, input);
        tn_value actual = value_get(record, "output");
        if (record && !(actual && value_equal(actual, output))) {
            char *expected = json_text(output, JSON_COMPACT), *got = json_text(record, JSON_COMPACT);
            exercise_report(it, FINDING_EXAMPLE_FAILED, "example `%.200s` documents the output %.400s; it was %.600s",
                            title, expected, got);
            mem_free(expected);
            mem_free(got);
        }
        value_unref(record);
        value_unref(config);
    }
}

/* False if it needs too much time to be measured. */
static bool exercise_repeat_run(struct exercise *it, tn_value input, int rounds) {
    for (int i = 0; i < rounds; i++) {
        tn_value record =
            it->ignores_cancel || !exercise_has_time(it)
                ? NULL
                : exercise_record(it, it->host, it->component, it->configs[(uint32_t)i % it->config_count], input);
        bool ended = record;
        value_unref(record);
        exercise_report_alive();
        if (!ended) return false;
    }
    return true;
}

/*
 * Measures the heap from `first` on: a leak makes it grow in each part of the runs. Something that the plugin or the
 * host keeps, such as a cache, also grows, but not in each of so many parts.
 */
static void exercise_measure_heap(struct exercise *it, tn_value input, int64_t first) {
    int64_t last = first, runs = 0;
    for (int part = 1; part <= EXERCISE_HEAP_PARTS; part++, runs += EXERCISE_HEAP_RUNS) {
        if (part > EXERCISE_HEAP_PARTS / 4 && last - first > EXERCISE_HEAP_MAX) break;
        if (!exercise_repeat_run(it, input, EXERCISE_HEAP_RUNS)) return;
        int64_t heap = exercise_measure(it).heap;
        if (heap == 0 || heap - last < (int64_t)16 * EXERCISE_HEAP_RUNS) return;
        last = heap;
    }
    exercise_report(it, FINDING_LEAK,
                    "the heap grows by %lld bytes with each of %lld runs; free before a task ends what start has "
                    "allocated",
                    (long long)((last - first) / runs), (long long)runs);
    it->leak_reported = true;
}

/* Repeats one run, and measures what each leaves behind. */
static void exercise_measure_leaks(struct exercise *it) {
    tn_value input = exercise_make_input(it);
    int half = EXERCISE_REPEATS / 2;
    exercise_report_step(it, "run `%s` many times", it->component->info->id);
    bool ran = exercise_repeat_run(it, input, half);
    struct exercise_usage before = exercise_measure(it);
    ran = ran && exercise_repeat_run(it, input, half);
    struct exercise_usage after = exercise_measure(it);
    int64_t memory = after.memory - before.memory, references = after.references - before.references;
    if (ran && (memory >= half || references >= half / 2)) {
        exercise_report(
            it, FINDING_LEAK,
            "%d runs leave %lld values and %lld bytes of tn_core_1.alloc behind; release before a task ends "
            "what start has retained, made or received",
            half, (long long)references, (long long)memory);
        it->leak_reported = it->leaks_explained = true;
    } else if (ran && !it->remote && !it->leak_reported) {
        exercise_measure_heap(it, input, after.heap);
    }
    value_unref(input);
}

/* The task is cancelled after a random number of turns of the loop, if `cancel`. */
static void exercise_run_input(struct exercise *it, tn_value config, tn_value input, bool cancel) {
    uint64_t turns = cancel ? generate_number(&it->generator, 4) : UINT64_MAX;
    exercise_task_free(exercise_run_task(it, it->host, it->component, config, input, EXERCISE_RUN_MS, turns));
}

static void exercise_run_inputs(struct exercise *it, int runs, bool cancel) {
    for (int i = 0; i < runs && !it->ignores_cancel && exercise_has_time(it); i++) {
        tn_value config = it->configs[generate_number(&it->generator, it->config_count)],
                 input = exercise_make_input(it);
        char *text = json_text(input, JSON_COMPACT);
        exercise_report_step(it, "%s `%s` on %.1500s", cancel ? "cancel" : "run", it->component->info->id, text);
        mem_free(text);
        exercise_run_input(it, config, input, cancel);
        value_unref(input);
    }
}

/* Cancels one run again and again. What is kept once is not a leak, so the usage must grow in both halves. */
static void exercise_measure_cancels(struct exercise *it) {
    struct exercise_usage usage[3];
    tn_value input = exercise_make_input(it);
    exercise_report_step(it, "cancel `%s` %d times", it->component->info->id, EXERCISE_CANCELS);
    usage[0] = exercise_measure(it);
    for (int i = 0; i < EXERCISE_CANCELS && !it->ignores_cancel && exercise_has_time(it); i++) {
        exercise_run_input(it, it->configs[0], input, true);
        usage[i < EXERCISE_CANCELS / 2 ? 1 : 2] = exercise_measure(it);
    }
    bool whole = !it->ignores_cancel && exercise_has_time(it);
    value_unref(input);
    if (!whole || it->leak_reported) return;
    if ((usage[2].memory <= usage[1].memory || usage[1].memory <= usage[0].memory) &&
        (usage[2].references <= usage[1].references || usage[1].references <= usage[0].references))
        return;
    exercise_report(it, FINDING_LEAK,
                    "%d cancelled runs leave %lld values and %lld bytes of tn_core_1.alloc behind; release also when a "
                    "task is cancelled what start has retained, made or received",
                    EXERCISE_CANCELS, (long long)(usage[2].references - usage[0].references),
                    (long long)(usage[2].memory - usage[0].memory));
    it->leak_reported = it->leaks_explained = true;
}

void exercise_run_and_cancel(struct exercise *it) {
    exercise_fill_channels(it);
    exercise_run_inputs(it, EXERCISE_RUNS, false);
    exercise_run_inputs(it, EXERCISE_CANCELS, true);
    if (!it->ignores_cancel) exercise_measure_leaks(it);
    if (!it->ignores_cancel && !it->remote) exercise_measure_cancels(it);
    if (it->ignores_cancel)
        exercise_report(it, FINDING_DEAF,
                        "continues for seconds after a cancel or a timeout, or after it has ended; %s",
                        it->remote ? "read the host's messages while a task runs, and end the task that `cancel` names"
                                   : "check tn_task_1.cancelled regularly, or end the task in cancel");
}

/* ---- Allocations ---- */

/* Runs once for each allocation, which fails in that run. Returns the number of allocations. */
static uint64_t exercise_fail_each(struct exercise *it, tn_value config, tn_value input) {
    const char *id = it->component->info->id;
    bool run = exercise_may_run(it);
    for (uint64_t n = 1; n <= EXERCISE_ALLOCATIONS && !it->ignores_cancel && exercise_has_time(it); n++) {
        exercise_report_step(it, "%s `%s` while allocation %llu by tn_core_1 fails", run ? "create and run" : "create",
                             id, (unsigned long long)n);
        guard_fail_allocation(n);
        if (run)
            exercise_task_free(
                exercise_run_task(it, it->host, it->component, config, input, EXERCISE_RUN_MS, UINT64_MAX));
        else
            callable_unref(exercise_create_instance(it->component, config, NULL));
        bool failed = guard_allocation_failed();
        guard_fail_allocation(0);
        if (!failed) return n - 1;
    }
    return EXERCISE_ALLOCATIONS;
}

void exercise_fail_allocations(struct exercise *it) {
    tn_value input = exercise_make_input(it);
    bool leaked = false;
    for (uint32_t i = 0; i < it->config_count && i < 2 && !leaked; i++) {
        /* The first pass may allocate something once; usage must not grow with each further pass. */
        struct exercise_usage before[3];
        for (int pass = 0; pass < 3; pass++) {
            uint64_t failed = exercise_fail_each(it, it->configs[i], input);
            before[pass] = exercise_measure(it);
            if (failed == 0) break;
            if (pass < 2) continue;
            leaked = (before[2].memory > before[1].memory && before[1].memory > before[0].memory) ||
                     (before[2].references > before[1].references && before[1].references > before[0].references);
        }
    }
    /* A task that has not ended still has its memory and values. */
    if (leaked && !it->ignores_cancel) {
        exercise_report(
            it, FINDING_LEAK,
            "keeps memory or values each time that an allocation fails; on failure, release what was taken before");
        it->leaks_explained = true;
    }
    value_unref(input);
}
