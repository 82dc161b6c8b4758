/*
 * plan_index.c - tables of ids. Pure.
 */
#include "plan_index.h"
#include <tenon/message.h>

int64_t plan_index_find(tn_value table, tn_value id) {
    int64_t at = -1;
    tn_value found = tn_chars(id, NULL) != NULL ? tn_get_key(table, id) : NULL;
    return found != NULL && tn.value->as_int(found, &at) == TN_OK ? at : -1;
}

static void note(tn_value *table, tn_value id, int64_t at) {
    uint64_t length = 0;
    const char *chars = tn_chars(id, &length);
    tn_value number = chars != NULL && *table != NULL ? tn_int(at) : NULL;
    if (number != NULL) (void)tn.value->set(table, chars, length, number);
    tn_release(number);
}

void plan_index_make(struct plan_index *index, tn_value messages) {
    *index = (struct plan_index){tn_build("{}"), tn_build("{}"), tn_build("{}"), -1};
    for (uint64_t i = 0, count = tn.value->count(messages); i < count; i++) {
        tn_value message = tn.value->at(messages, i), id = tn_get(message, "id"), calls = tn_message_calls(message);
        if (plan_index_find(index->messages, id) < 0) note(&index->messages, id, (int64_t)i);
        for (uint64_t k = 0, made = tn.value->count(calls); k < made; k++)
            note(&index->calls, tn_get(tn.value->at(calls, k), "id"), (int64_t)i * PLAN_INDEX_CALLS + (int64_t)k);
        note(&index->results, tn_get(message, "tool_call_id"), (int64_t)i);
        if (tn_message_is(message, "user")) index->last_user = (int64_t)i;
    }
}

void plan_index_free(struct plan_index *index) {
    tn_release(index->messages);
    tn_release(index->calls);
    tn_release(index->results);
}
