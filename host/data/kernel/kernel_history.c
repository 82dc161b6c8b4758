/*
 * kernel_history.c - counts the attempts of a Task, and keeps its newest claims.
 */
#include "host/data/kernel/kernel_history.h"
#include "adl/value/json.h"
#include "host/base/time_text.h"

int64_t task_attempts(tn_value record) {
    int64_t attempts = 0;
    tn_value value = value_get(record, "attempts");
    return value_is(value, TN_INT) && (attempts = value_to_int(value)) > 0 ? attempts : 0;
}

static tn_value stored_history(tn_value record) {
    tn_value history = value_get(record, "history");
    return value_is(history, TN_ARRAY) ? value_ref(history) : value_array();
}

static bool is_open_entry(tn_value entry) { return value_is(entry, TN_OBJECT) && !value_get(entry, "ended_at"); }

/* The index of the entry that has not ended, which is the newest one. False if there is none. */
static bool find_open_entry(tn_value history, size_t *index) {
    size_t count = value_count(history);
    *index = count ? count - 1 : 0;
    return count && is_open_entry(value_at(history, *index));
}

/* ---- Begin ---- */

static tn_value expire_entry_take(tn_value history, int64_t now_ms) {
    size_t last;
    if (!find_open_entry(history, &last)) return history;
    tn_value entry = value_set_take(value_ref(value_at(history, last)), "ended_at", time_value(now_ms));
    entry = value_set_take(entry, "outcome", value_text("expired"));
    tn_value before = value_slice(history, 0, last);
    value_unref(history);
    return value_push_take(before, entry);
}

tn_value task_attempt_begin(tn_value record, int64_t now_ms) {
    tn_value history = expire_entry_take(stored_history(record), now_ms), by = value_get(record, "claimed_by");
    int64_t attempts = task_attempts(record) + 1;
    tn_value entry = value_set_take(value_object_reserve(3), "attempt", value_int(attempts));
    if (by) entry = value_set_take(entry, "claimed_by", value_ref(by));
    entry = value_set_take(entry, "started_at", time_value(now_ms));
    if (value_count(history) >= TASK_HISTORY_MAX) {
        tn_value newest = value_slice(history, value_count(history) - TASK_HISTORY_MAX + 1, value_count(history));
        value_unref(history);
        history = newest;
    }
    tn_value patch = value_set_take(value_object_reserve(2), "attempts", value_int(attempts));
    return value_set_take(patch, "history", value_push_take(history, entry));
}

tn_value task_attempt_begin_new(const char *claimer, int64_t now_ms) {
    tn_value record = value_set_take(value_object_reserve(1), "claimed_by", value_text(claimer));
    tn_value patch = task_attempt_begin(record, now_ms);
    value_unref(record);
    return patch;
}

/* ---- End ---- */

/* The code and the message of an error, cut: a record must not grow with the number of its claims. */
static tn_value short_error(tn_value error) {
    static const char *const members[] = {"code", "message"};
    tn_value made = value_object_reserve(2);
    for (size_t i = 0; i < 2; i++) {
        tn_value text = value_get(error, members[i]);
        size_t length;
        if (!value_is(text, TN_STRING)) continue;
        const char *chars = value_chars(text, &length);
        if (length > TASK_HISTORY_ERROR_MAX) length = TASK_HISTORY_ERROR_MAX;
        while (length && !utf8_valid(chars, length)) length--; /* the cut may be inside a character */
        made = value_set_take(made, members[i], value_text_n(chars, length));
    }
    return made;
}

tn_value task_attempt_end_take(tn_value patch, tn_value record, const struct task_attempt_end *end, int64_t now_ms) {
    tn_value history = stored_history(record);
    int64_t attempts = task_attempts(record);
    size_t last;
    if (find_open_entry(history, &last)) {
        tn_value entry = value_set_take(value_ref(value_at(history, last)), "ended_at", time_value(now_ms));
        entry = value_set_take(entry, "outcome", value_text(end->outcome));
        if (end->error) entry = value_set_take(entry, "error", short_error(end->error));
        tn_value before = value_slice(history, 0, last);
        value_unref(history);
        history = value_push_take(before, entry);
    }
    patch = value_set_take(patch, "attempts", value_int(end->uncounted && attempts ? attempts - 1 : attempts));
    return value_set_take(patch, "history", history);
}

/* ---- Show ---- */

tn_value task_public_history(tn_value record) {
    tn_value history = stored_history(record), shown = value_array_reserve(value_count(history));
    for (size_t i = 0; i < value_count(history); i++) {
        tn_value entry = value_ref(value_at(history, i));
        if (is_open_entry(entry)) {
            entry = value_set_take(entry, "ended_at", value_null());
            entry = value_set_take(entry, "outcome", value_null());
        }
        shown = value_push_take(shown, entry);
    }
    value_unref(history);
    return shown;
}
