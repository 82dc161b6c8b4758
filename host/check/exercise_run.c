/*
 * exercise_run.c - tasks: run to their end, cancelled at random points, and run while an allocation fails.
 *
 * Only components that declare no effects are run, or none but `clock` and `random`. State fields hold made values, by
 * a hash of their names; the context is the same for every task: what a task does depends on nothing but what it is
 * given.
 */
#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/call/call.h"
#include "host/check/exercise_internal.h"
#include "host/interface/guard.h"
#include "host/loop/loop.h"
#include <string.h>

#define CHUNKS_MAX 1000 /* of one task that are recorded */

/* ---- One run ---- */

struct running {
    struct exercised *it;
    struct loop *loop;
    struct call *call;
    tn_value chunks;
    uint64_t turns; /* of the loop that it still gets before it is cancelled */
    bool over;
};

static void on_ended(struct call *call) { ((struct running *)call_owner(call))->over = true; }

static bool on_chunk(struct call *call, tn_value chunk) {
    struct running *running = call_owner(call);
    if (value_count(running->chunks) < CHUNKS_MAX) running->chunks = value_push_take(running->chunks, value_ref(chunk));
    return true;
}

static tn_value on_read(struct call *call, uint32_t field) {
    return ((struct running *)call_owner(call))->it->reads[field % EXERCISE_FIELDS];
}

static tn_value on_context(struct call *call) {
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

static bool is_over(void *user) { return ((struct running *)user)->over; }

static bool turns_are_over(void *user) {
    struct running *running = user;
    return running->over || running->turns-- == 0;
}

static void running_begin(struct running *running, struct callable *callable, tn_value input, int64_t timeout_ms) {
    static const struct call_ops ops = {.ended = on_ended, .chunk = on_chunk, .read = on_read, .context = on_context};
    running->chunks = value_array();
    running->call = call_new(running->loop, callable, &ops, running);
    call_timeout(running->call, timeout_ms, 0);
    running->over = call_start(running->call, input);
}

static void running_wait(struct running *running, int64_t timeout_ms) {
    int64_t asked = clock_now_ms();
    if (!running->over) loop_run(running->loop, is_over, running);
    if (clock_now_ms() - asked > timeout_ms + EXERCISE_DEAF_MS) running->it->deaf = true;
}

/* NULL where there is no instance. `turns`: of the loop, then it is cancelled; UINT64_MAX: never. */
static struct running *run_to_end(struct exercised *it, struct host *host, struct component *component, tn_value config,
                                  tn_value input, int64_t timeout_ms, uint64_t turns) {
    struct callable *callable = exercise_make(component, config, NULL);
    if (!callable) return NULL;
    struct running *running = mem_zalloc(sizeof *running);
    *running = (struct running){.it = it, .loop = host->loop, .turns = turns};
    running_begin(running, callable, input, timeout_ms);
    if (!running->over && turns != UINT64_MAX) {
        loop_run(host->loop, turns_are_over, running);
        if (!running->over) call_cancel(running->call);
    }
    running_wait(running, timeout_ms);
    callable_unref(callable);
    return running;
}

static tn_value outcome_of(const struct running *running) {
    static const char *const names[] = {"open", "completed", "failed", "cancelled", "interrupted"};
    struct call *call = running->call;
    uint32_t count;
    const struct call_write *writes = call_writes(call, &count);
    tn_value told = value_set_take(value_object(), "outcome", value_text(names[call_outcome(call)])), list;
    if (call_outcome(call) == CALL_COMPLETED && call_output(call))
        told = value_set_take(told, "output", value_ref(call_output(call)));
    if (call_outcome(call) == CALL_FAILED) told = value_set_take(told, "error", error_to_value(call_error(call)));
    if (call_outcome(call) == CALL_INTERRUPTED)
        told = value_set_take(told, "interrupt", value_ref(call_interrupt_value(call)));
    list = value_array();
    for (uint32_t i = 0; i < count; i++) {
        list = value_push_take(list, value_int(writes[i].channel));
        list = value_push_take(list, value_ref(writes[i].value));
    }
    told = value_set_take(told, "writes", list);
    return value_set_take(told, "chunks", value_ref(running->chunks));
}

static void running_free(struct running *running) {
    if (!running || !running->over) return; /* one that may end yet is the loop's */
    call_free(running->call);
    value_unref(running->chunks);
    mem_free(running);
}

/* NULL where it has not ended, or its time was up. */
static tn_value record_of(const struct running *running) {
    if (!running || !running->over) return NULL;
    const struct error *error = call_error(running->call);
    if (call_outcome(running->call) == CALL_FAILED && strcmp(error->code, "TIMEOUT") == 0) return NULL;
    return outcome_of(running);
}

tn_value exercise_record(struct exercised *it, struct host *host, struct component *component, tn_value config,
                         tn_value input) {
    struct running *running = run_to_end(it, host, component, config, input, EXERCISE_COMPARE_MS, UINT64_MAX);
    tn_value told = record_of(running);
    running_free(running);
    return told;
}

void exercise_record_together(struct exercised *it, struct host *host, struct component *component, tn_value config,
                              const tn_value *inputs, tn_value *told, uint32_t count) {
    struct callable *callable = exercise_make(component, config, NULL);
    struct running *running[EXERCISE_TOGETHER] = {0};
    for (uint32_t i = 0; callable && i < count; i++) {
        running[i] = mem_zalloc(sizeof *running[i]);
        *running[i] = (struct running){.it = it, .loop = host->loop};
        running_begin(running[i], callable, inputs[i], EXERCISE_COMPARE_MS);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (running[i]) running_wait(running[i], EXERCISE_COMPARE_MS);
        told[i] = record_of(running[i]);
        running_free(running[i]);
    }
    callable_unref(callable);
}

/* ---- Inputs ---- */

bool exercise_harmless(const struct exercised *it) {
    tn_value effects = it->component->info->effects;
    if (!value_is(effects, TN_ARRAY)) return false;
    for (size_t i = 0; i < value_count(effects); i++)
        if (!value_text_is(value_at(effects, i), "clock") && !value_text_is(value_at(effects, i), "random"))
            return false;
    return true;
}

bool exercise_pure(const struct exercised *it) {
    return exercise_harmless(it) && value_count(it->component->info->effects) == 0;
}

void exercise_reads(struct exercised *it) {
    for (size_t i = 0; i < EXERCISE_FIELDS; i++) {
        value_unref(it->reads[i]);
        it->reads[i] = generate(&it->generator, NULL);
    }
}

/* One that fits, as the host validates before start; null where none was found, or nothing is said of it. */
tn_value exercise_input(struct exercised *it) {
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

void exercise_examples(struct exercised *it) {
    const struct component_info *info = it->component->info;
    tn_value examples = value_get(info->manifest, "examples");
    for (size_t i = 0; value_is(examples, TN_ARRAY) && i < value_count(examples) && exercise_has_time(it); i++) {
        tn_value example = value_at(examples, i), input = value_get(example, "input");
        tn_value output = value_get(example, "output"), given = value_get(example, "config");
        const char *title = value_chars(value_get(example, "title"), NULL);
        if (!output) continue;
        tn_value config = given ? value_ref(given) : value_object();
        config = exercise_with_defaults(info->config, config);
        exercise_doing("run example `%s` of `%s`", title, info->id);
        tn_value told = exercise_record(it, it->host, it->component, config, input);
        tn_value found = value_get(told, "output");
        if (told && !(found && value_equal(found, output))) {
            char *wanted = json_text(output, JSON_COMPACT), *got = json_text(told, JSON_COMPACT);
            exercise_find(it, EXERCISE_EXAMPLE_FAILED, "example `%.200s` says that the output is %.400s; it was %.600s",
                          title, wanted, got);
            mem_free(wanted);
            mem_free(got);
        }
        value_unref(told);
        value_unref(config);
    }
}

/* The same run over and over: what each leaves behind. */
static void count_leaks(struct exercised *it) {
    tn_value input = exercise_input(it);
    struct holdings before = {0, 0, 0}, after;
    int64_t rounds = 0;
    exercise_doing("run `%s` %d times", it->component->info->id, EXERCISE_REPEATS);
    for (; rounds < EXERCISE_REPEATS && !it->deaf && exercise_has_time(it); rounds++) {
        if (rounds == EXERCISE_REPEATS / 2) before = exercise_holdings(it);
        tn_value told = exercise_record(it, it->host, it->component, it->configs[0], input);
        bool ended = told;
        value_unref(told);
        if (!ended) break; /* it takes its time: nothing can be said */
    }
    after = exercise_holdings(it);
    int64_t counted = EXERCISE_REPEATS - EXERCISE_REPEATS / 2;
    int64_t memory = after.memory - before.memory, references = after.references - before.references;
    if (rounds == EXERCISE_REPEATS && (memory >= counted || references >= counted / 2)) {
        exercise_find(
            it, EXERCISE_LEAK,
            "%lld runs leave %lld values and %lld bytes of tn_core_1.alloc behind; release before a task ends "
            "what start has retained, made or been given",
            (long long)counted, (long long)references, (long long)memory);
        it->leaked = true;
    }
    value_unref(input);
}

void exercise_runs(struct exercised *it) {
    const char *id = it->component->info->id;
    exercise_reads(it);
    for (int i = 0; i < EXERCISE_CANCELS + EXERCISE_RUNS && !it->deaf && exercise_has_time(it); i++) {
        tn_value config = it->configs[generate_number(&it->generator, it->config_count)], input = exercise_input(it);
        uint64_t turns = i < EXERCISE_RUNS ? UINT64_MAX : generate_number(&it->generator, 4);
        char *text = json_text(input, JSON_COMPACT);
        exercise_doing("%s `%s` on %.1500s", i < EXERCISE_RUNS ? "run" : "cancel", id, text);
        mem_free(text);
        running_free(run_to_end(it, it->host, it->component, config, input, EXERCISE_RUN_MS, turns));
        value_unref(input);
    }
    if (!it->deaf) count_leaks(it);
    if (it->deaf)
        exercise_find(
            it, EXERCISE_DEAF,
            "works on for seconds when it is cancelled, or its time is up; ask tn_task_1.cancelled now and then, "
            "or end the task in cancel");
}

/* ---- Allocations ---- */

/* Every allocation that a run makes fails once, each in a run of its own; how many there were. */
static uint64_t fail_each(struct exercised *it, tn_value config, tn_value input) {
    const char *id = it->component->info->id;
    bool run = exercise_harmless(it);
    for (uint64_t n = 1; n <= EXERCISE_ALLOCATIONS && !it->deaf && exercise_has_time(it); n++) {
        exercise_doing("%s `%s` while allocation %llu by tn_core_1 fails", run ? "create and run" : "create", id,
                       (unsigned long long)n);
        guard_fail_allocation(n);
        if (run)
            running_free(run_to_end(it, it->host, it->component, config, input, EXERCISE_RUN_MS, UINT64_MAX));
        else
            callable_unref(exercise_make(it->component, config, NULL));
        bool failed = guard_allocation_failed();
        guard_fail_allocation(0);
        if (!failed) return n - 1;
    }
    return EXERCISE_ALLOCATIONS;
}

void exercise_allocations(struct exercised *it) {
    tn_value input = exercise_input(it);
    bool leaked = false;
    for (uint32_t i = 0; i < it->config_count && i < 2 && !leaked; i++) {
        /* The first time may leave what is kept for good; it must not grow each time after that. */
        struct holdings before[3];
        for (int time = 0; time < 3; time++) {
            uint64_t failed = fail_each(it, it->configs[i], input);
            before[time] = exercise_holdings(it);
            if (failed == 0) break;
            if (time < 2) continue;
            leaked = (before[2].memory > before[1].memory && before[1].memory > before[0].memory) ||
                     (before[2].references > before[1].references && before[1].references > before[0].references);
        }
    }
    if (leaked) {
        exercise_find(it, EXERCISE_LEAK,
                      "keeps memory or values each time that an allocation fails; on the way out of a failure, release "
                      "what has been taken until then");
        it->leaked = true;
    }
    value_unref(input);
}
