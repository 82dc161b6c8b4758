/*
 * conversation.c - converts the value of a channel to messages in the normal form, or fails the task.
 */
#include "conversation.h"

#define TYPES "`system`, `developer`, `user`, `ai`, `tool` or `error`"

/*
 * Returns the index of the first part of the content that is not an object with a type, or -1. Providers ignore such a
 * part, so the model would not receive it.
 */
static int64_t conversation_find_wrong_part(tn_value content) {
    uint64_t count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0;
    for (uint64_t i = 0; i < count; i++)
        if (tn_get_text(tn.value->at(content, i), "type", NULL) == NULL) return (int64_t)i;
    return -1;
}

/* True if a provider would find nothing to send: `text` in the place of `content`, or texts in the place of parts. */
static bool conversation_loses_content(tn_value message) {
    tn_value content = tn_get(message, "content");
    if (tn.value->kind(message) != TN_OBJECT) return false;
    if (content == NULL) return tn_message_calls(message) == NULL;
    return conversation_find_wrong_part(content) >= 0;
}

/* Describes why the value is not a message. */
static void conversation_describe_invalid(tn_value message, char out[160]) {
    tn_value type = tn_get(message, "type");
    if (type == NULL) type = tn_get(message, "role");
    if (tn.value->kind(message) != TN_OBJECT) {
        (void)snprintf(out, 160, "found %s", tn_kind_name(message));
    } else if (type == NULL) {
        (void)snprintf(out, 160, "found an object without `type`");
    } else if (tn.value->kind(type) != TN_STRING) {
        (void)snprintf(out, 160, "found an object whose `type` is %s", tn_kind_name(type));
    } else if (tn_message_type(message) == NULL) {
        (void)snprintf(out, 160, "found the type `%.60s`", tn_chars(type, NULL));
    } else if (tn_get(message, "content") == NULL) {
        (void)snprintf(out, 160, "found an object without `content`");
    } else if (conversation_find_wrong_part(tn_get(message, "content")) >= 0) {
        int64_t part = conversation_find_wrong_part(tn_get(message, "content"));
        (void)snprintf(out, 160, "found %s as `content[%lld]` instead of a part such as {type: text, text: \"...\"}",
                       tn_kind_name(tn.value->at(tn_get(message, "content"), (uint64_t)part)), (long long)part);
    } else {
        (void)snprintf(out, 160, "found %s as its `content` instead of a text or a list of parts",
                       tn_kind_name(tn_get(message, "content")));
    }
}

static int32_t conversation_fail_invalid(tn_task task, const char *name, int64_t index, tn_value message) {
    char found[160], position[32] = "";
    conversation_describe_invalid(message, found);
    if (index >= 0) (void)snprintf(position, sizeof(position), "[%lld]", (long long)index);
    return agents_fail(task, "INVALID_MESSAGE", NULL,
                       "`%.80s`%s is not a message: %s; expected a text, or an object whose `type` is " TYPES, name,
                       position, found);
}

/* Returns the number of messages at the start of the list that are in the normal form: usually all. */
static uint64_t conversation_count_normal(tn_value list) {
    uint64_t i = 0, count = tn.value->count(list);
    bool same = true;
    while (same && i < count) {
        tn_value message = tn.value->at(list, i), normal = tn_message_normal(message);
        same = normal == message && !conversation_loses_content(message);
        i += same;
        tn_release(normal);
    }
    return i;
}

tn_value conversation_normalise(tn_task task, tn_value value, const char *name) {
    int32_t kind = tn.value->kind(value);
    bool list = kind == TN_ARRAY;
    uint64_t count = list ? tn.value->count(value) : kind == TN_NULL || kind == TN_NONE ? 0 : 1;
    uint64_t same = list ? conversation_count_normal(value) : 0;
    if (list && same == count) return tn_retain(value); /* share the value of the channel */
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_ARRAY);
    for (uint64_t i = 0; i < count; i++) {
        tn_value item = list ? tn.value->at(value, i) : value;
        tn_value normal = i < same ? tn_retain(item) : tn_message_normal(item);
        if (normal == NULL || (i >= same && conversation_loses_content(item))) {
            tn_release(normal);
            tn_release(tn_finish(builder));
            (void)conversation_fail_invalid(task, name, list ? (int64_t)i : -1, item);
            return NULL;
        }
        tn_put_take(builder, NULL, normal);
    }
    tn.value->end(builder);
    tn_value messages = tn_finish(builder);
    if (messages == NULL) (void)tn_fail(task, "NO_MEMORY", "not enough memory for the conversation");
    return messages;
}

tn_value conversation_read(tn_task task, uint32_t channel, const char *name) {
    tn_value value = tn_read(task, channel);
    tn_value messages = conversation_normalise(task, value, name);
    tn_release(value);
    return messages;
}

tn_value conversation_join_take(tn_value first, tn_value second) {
    if (tn.value->concat(&first, second) == TN_OK) return first;
    tn_release(first);
    return NULL;
}

tn_value conversation_slice(tn_value messages, uint64_t first) {
    uint64_t count = tn.value->count(messages);
    tn_value rest = NULL;
    if (first >= count) return tn_build("[]");
    (void)tn.value->slice(messages, first, count - first, &rest);
    return rest;
}

/* ---- Results beside their calls ---- */

/* A message with calls and the messages after it, up to the next message with calls: [at, end). A result belongs to a
 * call of its segment only, because services use the same id again in another turn. */
struct segment {
    tn_value messages, calls; /* borrowed; `calls` is NULL before the first message with calls */
    uint64_t at, end;
    tn_value results, called; /* {id: the number of its first result}, {id of a call: true}; NULL in a small segment */
};

#define SEGMENT_SMALL 32u /* messages and calls of a segment that are searched without tables */

static void segment_close(struct segment *segment) {
    tn_release(segment->results);
    tn_release(segment->called);
    segment->results = segment->called = NULL;
}

static void segment_index(struct segment *segment);

/* Returns false at the end of the conversation. */
static bool segment_next(struct segment *segment) {
    uint64_t count = tn.value->count(segment->messages);
    segment_close(segment);
    segment->at = segment->end;
    if (segment->at == count) return false;
    tn_value first = tn.value->at(segment->messages, segment->at);
    segment->calls = tn_message_is(first, "ai") ? tn_message_calls(first) : NULL;
    for (segment->end = segment->at + 1; segment->end < count; segment->end++) {
        tn_value message = tn.value->at(segment->messages, segment->end);
        if (tn_message_is(message, "ai") && tn_message_calls(message) != NULL) break;
    }
    if (segment->end - segment->at > SEGMENT_SMALL || tn.value->count(segment->calls) > SEGMENT_SMALL)
        segment_index(segment);
    return true;
}

/* Returns the id that the result of call `index` has: its own, or, in `buffer`, that which the node `tools` assigns. */
static const char *segment_call_id(const struct segment *segment, uint64_t index, char buffer[32]) {
    const char *id = tn_get_text(tn.value->at(segment->calls, index), "id", NULL);
    if (id != NULL) return id;
    (void)snprintf(buffer, 32, "call_%llu", (unsigned long long)index + 1);
    return buffer;
}

/* Without memory for the tables, the search is slow. */
static void segment_index(struct segment *segment) {
    tn_value results = tn_build("{}"), called = tn_build("{}");
    char buffer[32];
    for (uint64_t i = segment->at + 1; results != NULL && i < segment->end; i++) {
        tn_value message = tn.value->at(segment->messages, i);
        const char *id = tn_message_is(message, "tool") ? tn_get_text(message, "tool_call_id", "") : NULL;
        if (id != NULL && tn_get(results, id) == NULL) results = tn_set_take(results, id, tn_int((int64_t)i));
    }
    for (uint64_t i = 0, count = tn.value->count(segment->calls); called != NULL && i < count; i++) {
        called = tn_set_take(called, segment_call_id(segment, i, buffer), tn_bool(1));
    }
    segment->results = results;
    segment->called = called;
}

/* Returns the index of the first result with this id, or 0. */
static uint64_t segment_find_result(const struct segment *segment, const char *id) {
    if (segment->results != NULL) return (uint64_t)tn_get_int(segment->results, id, 0);
    for (uint64_t i = segment->at + 1; i < segment->end; i++) {
        tn_value message = tn.value->at(segment->messages, i);
        if (tn_message_is(message, "tool") && strcmp(tn_get_text(message, "tool_call_id", ""), id) == 0) return i;
    }
    return 0;
}

/* True if message `at` is the first result of a call. */
static bool segment_has_call_of(const struct segment *segment, uint64_t at) {
    const char *id = tn_get_text(tn.value->at(segment->messages, at), "tool_call_id", "");
    char buffer[32];
    if (segment->called != NULL) return tn_get(segment->called, id) != NULL && segment_find_result(segment, id) == at;
    for (uint64_t i = 0, count = tn.value->count(segment->calls); i < count; i++)
        if (strcmp(segment_call_id(segment, i, buffer), id) == 0) return segment_find_result(segment, id) == at;
    return false;
}

/* True if as many results as there are calls follow the calls, all of different calls, and no others. */
static bool segment_is_paired(const struct segment *segment) {
    uint64_t count = tn.value->count(segment->calls);
    char buffer[32];
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = segment_find_result(segment, segment_call_id(segment, i, buffer));
        if (at == 0 || at > segment->at + count) return false;
    }
    for (uint64_t i = segment->at + (segment->calls != NULL ? count + 1 : 0); i < segment->end; i++)
        if (tn_message_is(tn.value->at(segment->messages, i), "tool")) return false;
    return true;
}

/* Converts a result without a call to a user's message. Its parts are kept. */
static tn_value conversation_result_to_user(tn_value result) {
    char heading[320];
    const char *name = tn_get_text(result, "name", "");
    bool failed = strcmp(tn_get_text(result, "status", "ok"), "error") == 0;
    (void)snprintf(heading, sizeof(heading), *name != '\0' ? "The tool %.256s %s:\n" : "A tool%s %s:\n", name,
                   failed ? "failed" : "gave");
    tn_value content = tn_get(result, "content"), converted;
    if (tn.value->kind(content) == TN_ARRAY) {
        converted = tn_build("[{s:s,s:s}]", "type", "text", "text", heading);
        if (converted != NULL && tn.value->concat(&converted, content) != TN_OK) {
            tn_release(converted);
            converted = NULL;
        }
    } else {
        struct tn_text_buffer text = {0};
        tn_text_append(&text, heading);
        tn_text_append_value(&text, content);
        converted = tn_text_finish(&text);
    }
    tn_value message = converted != NULL ? tn_message("user", converted) : NULL;
    tn_release(converted);
    return message;
}

static tn_value segment_build_missing_result(const struct segment *segment, uint64_t index) {
    char buffer[32];
    tn_value content = tn_text("There is no result: the call was not executed.");
    const char *name = tn_get_text(tn.value->at(segment->calls, index), "name", NULL);
    tn_value message =
        content != NULL ? tn_message_tool(content, segment_call_id(segment, index, buffer), name, 1) : NULL;
    tn_release(content);
    return message;
}

static void segment_put(const struct segment *segment, tn_builder *builder) {
    uint64_t from = segment->at;
    char buffer[32];
    if (segment->calls != NULL) tn_put(builder, NULL, tn.value->at(segment->messages, from++));
    for (uint64_t i = 0, count = tn.value->count(segment->calls); i < count; i++) {
        uint64_t at = segment_find_result(segment, segment_call_id(segment, i, buffer));
        if (at != 0)
            tn_put(builder, NULL, tn.value->at(segment->messages, at));
        else
            tn_put_take(builder, NULL, segment_build_missing_result(segment, i));
    }
    for (uint64_t i = from; i < segment->end; i++) {
        tn_value message = tn.value->at(segment->messages, i);
        if (!tn_message_is(message, "tool"))
            tn_put(builder, NULL, message);
        else if (!segment_has_call_of(segment, i))
            tn_put_take(builder, NULL, conversation_result_to_user(message));
    }
}

tn_value conversation_pair_results(tn_value messages) {
    struct segment segment = {.messages = messages};
    bool paired = true;
    while (paired && segment_next(&segment)) paired = segment_is_paired(&segment);
    segment_close(&segment);
    if (paired) return tn_retain(messages);
    segment = (struct segment){.messages = messages};
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_ARRAY);
    while (segment_next(&segment)) segment_put(&segment, builder);
    tn.value->end(builder);
    return tn_finish(builder);
}

int64_t conversation_find_last(tn_value messages, const char *type) {
    for (uint64_t i = tn.value->count(messages); i > 0; i--)
        if (tn_message_is(tn.value->at(messages, i - 1), type)) return (int64_t)i - 1;
    return -1;
}

uint64_t conversation_count_turns(tn_value messages) {
    uint64_t turns = 0;
    for (uint64_t i = tn.value->count(messages); i > 0; i--) {
        tn_value message = tn.value->at(messages, i - 1);
        if (tn_message_is(message, "user")) break;
        if (tn_message_is(message, "ai") && tn_message_calls(message) != NULL) turns++;
    }
    return turns;
}

bool conversation_has_answer(tn_value messages, uint64_t from, const char *tool_call_id) {
    for (uint64_t i = from, count = tn.value->count(messages); i < count; i++) {
        tn_value message = tn.value->at(messages, i);
        if (tn_message_is(message, "tool") && strcmp(tn_get_text(message, "tool_call_id", ""), tool_call_id) == 0)
            return true;
    }
    return false;
}
