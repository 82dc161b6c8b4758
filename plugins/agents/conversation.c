/*
 * conversation.c - messages read from channels: normal form, or an error that names the place.
 */
#include "conversation.h"

#define TYPES "`system`, `developer`, `user`, `ai`, `tool` or `error`"

/* Why it is no message. */
static void explain(tn_value message, char out[160]) {
    tn_value type = tn.value->get(message, "type");
    if (type == NULL) type = tn.value->get(message, "role");
    if (tn.value->kind(message) != TN_OBJECT) {
        (void)snprintf(out, 160, "found %s", tn_kind_name(message));
    } else if (type == NULL) {
        (void)snprintf(out, 160, "found an object without `type`");
    } else if (tn.value->kind(type) != TN_STRING) {
        (void)snprintf(out, 160, "found an object whose `type` is %s", tn_kind_name(type));
    } else if (tn_message_type(message) == NULL) {
        (void)snprintf(out, 160, "found the type `%.60s`", tn_chars(type, NULL));
    } else {
        (void)snprintf(out, 160, "found %s as its `content`, where a text or a list of parts is to be",
                       tn_kind_name(tn.value->get(message, "content")));
    }
}

static int32_t refuse(tn_task task, const char *name, int64_t index, tn_value message) {
    char found[160], place[32] = "";
    explain(message, found);
    if (index >= 0) (void)snprintf(place, sizeof(place), "[%lld]", (long long)index);
    return agents_fail(task, "INVALID_MESSAGE", NULL,
                       "`%.80s`%s is no message: %s; expected a text, or an object whose `type` is " TYPES, name, place,
                       found);
}

/* The first messages of a list that are in the normal form already: nearly always all of them. */
static uint64_t normal_already(tn_value list) {
    uint64_t i = 0, count = tn.value->count(list);
    bool same = true;
    while (same && i < count) {
        tn_value given = tn.value->at(list, i), normal = tn_message_normal(given);
        same = normal == given;
        i += same;
        tn_release(normal);
    }
    return i;
}

tn_value conversation_of(tn_task task, tn_value value, const char *name) {
    int32_t kind = tn.value->kind(value);
    bool list = kind == TN_ARRAY;
    uint64_t count = list ? tn.value->count(value) : kind == TN_NULL || kind == TN_NONE ? 0 : 1;
    uint64_t same = list ? normal_already(value) : 0;
    if (list && same == count) return tn_retain(value); /* what is in the channel is shared */
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_ARRAY);
    for (uint64_t i = 0; i < count; i++) {
        tn_value given = list ? tn.value->at(value, i) : value;
        tn_value normal = i < same ? tn_retain(given) : tn_message_normal(given);
        if (normal == NULL) {
            tn_release(tn.value->finish(builder));
            (void)refuse(task, name, list ? (int64_t)i : -1, given);
            return NULL;
        }
        tn_put_take(builder, NULL, normal);
    }
    tn.value->end(builder);
    tn_value messages = tn.value->finish(builder);
    if (messages == NULL) (void)tn_fail(task, "NO_MEMORY", "there is no memory for the conversation");
    return messages;
}

tn_value conversation_read(tn_task task, uint32_t channel, const char *name) {
    tn_value value = tn_read(task, channel);
    tn_value messages = conversation_of(task, value, name);
    tn_release(value);
    return messages;
}

tn_value conversation_join_take(tn_value first, tn_value second) {
    for (uint64_t i = 0, count = tn.value->count(second); first != NULL && i < count; i++) {
        tn_value longer = tn.value->append(first, tn.value->at(second, i));
        tn_release(first);
        first = longer;
    }
    return first;
}

tn_value conversation_from(tn_value messages, uint64_t first) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_ARRAY);
    for (uint64_t i = first, count = tn.value->count(messages); i < count; i++)
        tn_put(builder, NULL, tn.value->at(messages, i));
    tn.value->end(builder);
    return tn.value->finish(builder);
}

int64_t conversation_last(tn_value messages, const char *type) {
    for (uint64_t i = tn.value->count(messages); i > 0; i--)
        if (tn_message_is(tn.value->at(messages, i - 1), type)) return (int64_t)i - 1;
    return -1;
}

uint64_t conversation_turns(tn_value messages) {
    uint64_t turns = 0;
    for (uint64_t i = tn.value->count(messages); i > 0; i--) {
        tn_value message = tn.value->at(messages, i - 1);
        if (tn_message_is(message, "user")) break;
        if (tn_message_is(message, "ai") && tn_message_calls(message) != NULL) turns++;
    }
    return turns;
}

bool conversation_answered(tn_value messages, uint64_t from, const char *tool_call_id) {
    for (uint64_t i = from, count = tn.value->count(messages); i < count; i++) {
        tn_value message = tn.value->at(messages, i);
        if (tn_message_is(message, "tool") && strcmp(tn_get_text(message, "tool_call_id", ""), tool_call_id) == 0)
            return true;
    }
    return false;
}
