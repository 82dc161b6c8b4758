/*
 * exercise_compare.c - the same runs twice in this process, and once where the plugin has a process of its own.
 *
 * A component that declares no effects gives one output for one input; the host caches and replays such components.
 * What can be seen of a run must not depend on where it runs: what differs leans on something that the contract does
 * not give.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/call/call.h"
#include "host/check/exercise_internal.h"
#include "host/loop/loop.h"
#include <string.h>

static void find_difference(struct exercised *it, enum exercise_code code, tn_value input, tn_value one, tn_value other,
                            const char *says) {
    char *given = json_text(input, JSON_COMPACT), *left = json_text(one, JSON_COMPACT),
         *right = json_text(other, JSON_COMPACT);
    exercise_find(it, code, "%s: on %.300s it gave %.500s, and %.500s", says, given, left, right);
    mem_free(given);
    mem_free(left);
    mem_free(right);
}

static void say_no(struct exercised *it, const struct error *error) {
    exercise_find(it, EXERCISE_NOT_COMPARED, "could not be run in a process of its own, to compare: %.100s: %.500s",
                  error->code ? error->code : "?", error->message ? error->message : "");
    it->no_apart = true;
}

/* The component in the other host; NULL where there is none. */
static struct component *apart(struct exercised *it) {
    struct error error = ERROR_INIT;
    struct component *component = NULL;
    const struct component_info *info = it->component->info;
    const char *const paths[] = {it->path, NULL}, *const isolate[] = {info->plugin_id, NULL};
    if (it->no_apart) return NULL;
    exercise_doing("run `%s` in a process of its own", info->id);
    if (!it->apart)
        it->apart = host_new(
            &(struct host_options){
                .plugin_paths = paths, .no_config = true, .isolate = isolate, .allow_drafts = it->host->allow_drafts},
            &error);
    if (it->apart && !it->apart->store) exercise_store(it->apart);
    if (!it->apart || registry_resolve(it->apart->registry, info->kind, info->id, &component, &error) != TN_OK)
        say_no(it, &error);
    error_finish(&error);
    return component;
}

/* What each gave alone, it must give when all run at once. */
static void compare_together(struct exercised *it, tn_value config, const tn_value *inputs, const tn_value *alone,
                             uint32_t count) {
    tn_value told[EXERCISE_TOGETHER] = {0};
    bool same = true;
    exercise_doing("run `%s` %u times at once", it->component->info->id, count);
    exercise_record_together(it, it->host, it->component, config, inputs, told, count);
    for (uint32_t i = 0; i < count; i++) {
        if (same && told[i] && !value_equal(told[i], alone[i])) {
            find_difference(it, EXERCISE_NOT_THREAD_SAFE, inputs[i], alone[i], told[i],
                            "does not do alone what it does while other tasks of it run, one a thread where it blocks");
            same = false;
        }
        value_unref(told[i]);
    }
}

static bool compare_apart(struct exercised *it, tn_value config, tn_value input, tn_value here) {
    struct component *component = apart(it);
    tn_value there = component ? exercise_record(it, it->apart, component, config, input) : NULL;
    bool same = !there || value_equal(here, there);
    if (!same)
        find_difference(it, EXERCISE_DIFFERS, input, here, there,
                        "does not do in a process of its own, where it may be run, what it does in the host's");
    value_unref(there);
    return same;
}

void exercise_compare(struct exercised *it) {
    tn_value inputs[EXERCISE_TOGETHER], alone[EXERCISE_TOGETHER];
    uint32_t count = 0;
    bool same = true;
    exercise_reads(it);
    for (uint32_t i = 0; i < EXERCISE_TOGETHER && same && exercise_has_time(it); i++) {
        tn_value config = it->configs[i < EXERCISE_COMPARED ? i % it->config_count : 0], input = exercise_input(it);
        exercise_doing("run `%s` twice", it->component->info->id);
        tn_value here = exercise_record(it, it->host, it->component, config, input);
        tn_value again = here ? exercise_record(it, it->host, it->component, config, input) : NULL;
        if (again && !value_equal(here, again)) {
            find_difference(it, EXERCISE_IMPURE, input, here, again,
                            "declares `effects: []`, so that it may be cached and replayed, and gives two outputs for "
                            "one input");
            same = false;
        } else if (again && i < EXERCISE_COMPARED) {
            same = compare_apart(it, config, input, here);
        }
        value_unref(again);
        if (same && again && config == it->configs[0]) {
            inputs[count] = input;
            alone[count++] = here;
            continue;
        }
        same = same && here; /* one that takes its time is left alone */
        value_unref(here);
        value_unref(input);
    }
    if (same && count > 1) compare_together(it, it->configs[0], inputs, alone, count);
    for (uint32_t i = 0; i < count; i++) {
        value_unref(alone[i]);
        value_unref(inputs[i]);
    }
}
