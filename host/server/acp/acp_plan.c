/*
 * acp_plan.c - what counts as a plan: a list of entries, from a channel `plan` or a custom event.
 *
 *     channel `plan`  [entry, …], {entries: [entry, …]}, {steps: […]} or {tasks: […]}
 *     custom event    {plan: one of these}, or {type: plan, entries: […]}
 *     entry           a text, or {content, status?, priority?}; other names of these members are known, too
 */
#include "host/server/acp/acp_prompt.h"
#include <string.h>

static const char *plan_member(tn_value entry, const char *const *names) {
    for (; *names; names++)
        if (acp_text(entry, *names)) return acp_text(entry, *names);
    return NULL;
}

static const char *status_word(const char *given) {
    static const char *const words[][2] = {{"in_progress", "in_progress"}, {"running", "in_progress"},
                                           {"active", "in_progress"},      {"doing", "in_progress"},
                                           {"completed", "completed"},     {"done", "completed"},
                                           {"finished", "completed"},      {"complete", "completed"}};
    for (size_t i = 0; given && i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i][0], given) == 0) return words[i][1];
    return "pending";
}

static const char *priority_word(const char *given) {
    return given && (strcmp(given, "high") == 0 || strcmp(given, "low") == 0) ? given : "medium";
}

/* NULL if it has no text. */
static tn_value plan_entry(tn_value given) {
    static const char *const texts[] = {"content", "title", "task", "step", "description", "text", "name", NULL};
    static const char *const states[] = {"status", "state", NULL};
    bool text = value_is(given, TN_STRING), object = value_is(given, TN_OBJECT);
    const char *content = text ? value_chars(given, NULL) : object ? plan_member(given, texts) : NULL;
    if (!content) return NULL;
    tn_value entry = value_set_take(value_object_reserve(3), "content", value_text(content));
    entry = value_set_take(entry, "priority", value_text(priority_word(object ? acp_text(given, "priority") : NULL)));
    return value_set_take(entry, "status", value_text(status_word(object ? plan_member(given, states) : NULL)));
}

tn_value acp_plan_entries(tn_value value) {
    static const char *const lists[] = {"entries", "steps", "tasks"};
    for (size_t i = 0; value_is(value, TN_OBJECT) && i < sizeof lists / sizeof *lists; i++)
        if (value_get(value, lists[i])) value = value_get(value, lists[i]);
    if (!value_is(value, TN_ARRAY)) return NULL;
    tn_value entries = value_array();
    for (size_t i = 0; i < value_count(value) && i < ACP_PLAN_MAX; i++) {
        tn_value entry = plan_entry(value_at(value, i));
        if (entry) entries = value_push_take(entries, entry);
    }
    return entries;
}
