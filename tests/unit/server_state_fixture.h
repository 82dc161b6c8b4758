/*
 * server_state_fixture.h - calls of methods on what the store keeps, by the id of a Task, a thread or another object.
 *
 *     call_for(&served, "thread/delete", "thread_id", thread, "{\"force\":true}");
 */
#ifndef TENON_TESTS_SERVER_STATE_FIXTURE_H
#define TENON_TESTS_SERVER_STATE_FIXTURE_H

#include "tests/unit/server_run_fixture.h"

FIXTURE_UNUSED static tn_value with_text(tn_value params_take, const char *name, tn_value text) {
    return value_set_take(params_take, name, value_ref(text));
}

/* The result of a call with the members `more` (JSON) and `name`: `id`; a new reference. */
FIXTURE_UNUSED static tn_value call_on(struct served *served, const char *method, const char *name, tn_value id,
                                       const char *more) {
    return served_result_take(served, method, with_text(served_json(more), name, id));
}

/* Makes a call and releases its result. */
FIXTURE_UNUSED static void call_for(struct served *served, const char *method, const char *name, tn_value id,
                                    const char *more) {
    value_unref(call_on(served, method, name, id, more));
}

/* The call must fail with this code. */
FIXTURE_UNUSED static void fails_on(struct served *served, const char *method, const char *name, tn_value id,
                                    const char *more, const char *code) {
    tn_value outcome = served_call_as(served, served->client, method, with_text(served_json(more), name, id));
    is_text(value_get(outcome, "error"), "code", code);
    value_unref(outcome);
}

/* A new reference to a member; releases `object`. */
FIXTURE_UNUSED static tn_value member_take(tn_value object, const char *name) {
    tn_value member = value_ref(value_get(object, name));
    value_unref(object);
    return member;
}

FIXTURE_UNUSED static size_t count_of_take(tn_value page, const char *name) {
    size_t count = value_count(value_get(page, name));
    value_unref(page);
    return count;
}

#endif
