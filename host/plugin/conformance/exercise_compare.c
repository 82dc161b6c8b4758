/*
 * exercise_compare.c - runs the same input twice in this process, and once with the plugin isolated.
 *
 * A component that declares no effects must return the same output for the same input, because the host caches and
 * replays it. The outcome must not depend on where it runs: a difference means that the component uses something that
 * the contract does not offer.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/loop.h"
#include "host/plugin/call/call.h"
#include "host/plugin/conformance/exercise_internal.h"
#include <string.h>

static void exercise_report_difference(struct exercise *it, enum finding finding, tn_value input, tn_value one,
                                       tn_value other, const char *what) {
    char *text = json_text(input, JSON_COMPACT), *left = json_text(one, JSON_COMPACT),
         *right = json_text(other, JSON_COMPACT);
    exercise_report(it, finding, "%s: for %.300s it returned %.500s, and %.500s", what, text, left, right);
    mem_free(text);
    mem_free(left);
    mem_free(right);
}

static void exercise_report_no_isolation(struct exercise *it, const struct error *error) {
    exercise_report(it, FINDING_NOT_COMPARED, "could not be isolated for the comparison: %.100s: %.500s",
                    error->code ? error->code : "?", error->message ? error->message : "");
    it->no_isolated_host = true;
}

/* The component in the host that isolates the plugin; NULL if it cannot be opened. */
static struct component *exercise_isolated_component(struct exercise *it) {
    struct error error = ERROR_INIT;
    struct component *component = NULL;
    const struct component_info *info = it->component->info;
    if (it->no_isolated_host) return NULL;
    it->remote = true; /* for the limit of the step */
    exercise_report_step(it, "run `%s` isolated", info->id);
    it->remote = false;
    if (!it->isolated_host.host)
        (void)it->options->open(it->path, info->plugin_id, it->options->allow_drafts, &it->isolated_host, &error);
    if (!it->isolated_host.host ||
        registry_resolve(it->isolated_host.registry, info->kind, info->id, &component, &error) != TN_OK)
        exercise_report_no_isolation(it, &error);
    error_finish(&error);
    return component;
}

/* Each run must have the same outcome when all run at the same time. */
static void exercise_compare_together(struct exercise *it, tn_value config, const tn_value *inputs,
                                      const tn_value *alone, uint32_t count) {
    tn_value together[EXERCISE_TOGETHER] = {0};
    bool same = true;
    exercise_report_step(it, "run `%s` %u times at the same time", it->component->info->id, count);
    exercise_record_together(it, it->host, it->component, config, inputs, together, count);
    for (uint32_t i = 0; i < count; i++) {
        if (same && together[i] && !value_equal(together[i], alone[i])) {
            exercise_report_difference(it, FINDING_NOT_THREAD_SAFE, inputs[i], alone[i], together[i],
                                       "has another outcome alone than while other tasks of it run");
            same = false;
        }
        value_unref(together[i]);
    }
}

static bool exercise_compare_isolated(struct exercise *it, tn_value config, tn_value input, tn_value here) {
    struct component *component = exercise_isolated_component(it);
    tn_value there = component ? exercise_record(it, &it->isolated_host, component, config, input) : NULL;
    bool same = !there || value_equal(here, there);
    if (!same)
        exercise_report_difference(it, FINDING_DIFFERS, input, here, there,
                                   "has another outcome isolated than in the process of the host");
    value_unref(there);
    return same;
}

void exercise_compare(struct exercise *it) {
    tn_value inputs[EXERCISE_TOGETHER], alone[EXERCISE_TOGETHER];
    uint32_t count = 0;
    bool same = true;
    exercise_fill_channels(it);
    for (uint32_t i = 0; i < EXERCISE_TOGETHER && same && exercise_has_time(it); i++) {
        tn_value config = it->configs[i < EXERCISE_COMPARED ? i % it->config_count : 0],
                 input = exercise_make_input(it);
        exercise_report_step(it, "run `%s` twice", it->component->info->id);
        tn_value here = exercise_record(it, it->host, it->component, config, input);
        tn_value again = here ? exercise_record(it, it->host, it->component, config, input) : NULL;
        if (again && !value_equal(here, again)) {
            exercise_report_difference(
                it, FINDING_IMPURE, input, here, again,
                "declares `effects: []`, so that it may be cached and replayed, but returns two outputs for one "
                "input");
            same = false;
        } else if (again && i < EXERCISE_COMPARED && !it->remote) {
            same = exercise_compare_isolated(it, config, input, here);
        }
        value_unref(again);
        if (same && again && config == it->configs[0]) {
            inputs[count] = input;
            alone[count++] = here;
            continue;
        }
        same = same && here; /* stop if a run needs too much time */
        value_unref(here);
        value_unref(input);
    }
    if (same && count > 1) exercise_compare_together(it, it->configs[0], inputs, alone, count);
    for (uint32_t i = 0; i < count; i++) {
        value_unref(alone[i]);
        value_unref(inputs[i]);
    }
}
