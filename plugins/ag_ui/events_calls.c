/*
 * events_calls.c - calls of tools, their results, and what a run asks.
 *
 * A client finds a call by its id in the whole conversation, and models repeat ids. So an id that the client already
 * has gets a number: "call_1.2".
 */
#include "events_internal.h"
#include <tenon/message.h>

/* The arguments as JSON text: new. */
static tn_value arguments_text(tn_value arguments) {
    if (tn.value->kind(arguments) == TN_STRING) return tn_retain(arguments);
    return arguments != NULL ? tn_to_json(arguments) : tn_text("{}");
}

static void set_key(tn_value *set, const char *key, tn_value value) {
    if (*set != NULL && value != NULL) (void)tn.value->set(set, key, TN_Z, value);
    tn_release(value);
}

/* The id that the client has for the last call with this id, or one that it does not have. New. */
static tn_value client_id(const struct ag_events *events, const char *own, bool has) {
    struct tn_text_buffer id = TN_TEXT_BUFFER(1024);
    unsigned number = 1;
    for (; number < AG_UI_CALLS_MAX; number++) {
        tn_text_clear(&id, 1024);
        (void)tn_text_append_format(&id, number > 1 ? "%s.%u" : "%s", own, number);
        if (tn_get(events->used, tn_text_chars(&id)) == NULL) break;
    }
    if (has) {
        tn_text_clear(&id, 1024);
        (void)tn_text_append_format(&id, number > 2 ? "%s.%u" : "%s", own, number - 1);
    }
    return tn_text_finish(&id);
}

/* The id for the client: new; NULL if the run has too many calls. */
static tn_value show_call(struct ag_events *events, tn_value call, const char *agent) {
    const char *own = tn_get_text(call, "id", ""), *name = tn_get_text(call, "name", "tool");
    bool has_parent = *events->parent != '\0' && strcmp(events->parent_agent, agent) == 0;
    if (events->call_count == AG_UI_CALLS_MAX) return NULL;
    tn_value id = client_id(events, own, false);
    if (id == NULL) return NULL;
    events->call_count++;
    ag_send(events,
            tn_build("{s:s, s:v, s:s, s:s*}", "type", "TOOL_CALL_START", "toolCallId", id, "toolCallName", name,
                     "parentMessageId", has_parent ? events->parent : NULL),
            agent);
    ag_send(events,
            tn_build("{s:s, s:v, s:V}", "type", "TOOL_CALL_ARGS", "toolCallId", id, "delta",
                     arguments_text(tn_get(call, "arguments"))),
            agent);
    ag_send(events, tn_build("{s:s, s:v}", "type", "TOOL_CALL_END", "toolCallId", id), agent);
    set_key(&events->used, tn_chars(id, NULL), tn_bool(1));
    return id;
}

static void note_call(struct ag_events *events, tn_value call, tn_value id, const char *agent) {
    set_key(&events->calls, tn_get_text(call, "id", ""),
            tn_build("{s:v, s:v*, s:v*, s:s}", "id", id, "name", tn_get(call, "name"), "arguments",
                     tn_get(call, "arguments"), "agent", agent));
}

/* A call that was approved was shown by the run that has asked. */
void ag_call(struct ag_events *events, const struct serving_item *item, const char *agent) {
    tn_value own = tn_get(item->value, "id"), id;
    if (item->asked && tn_get_key(events->used, own) != NULL)
        id = client_id(events, tn_chars(own, NULL), true);
    else
        id = show_call(events, item->value, agent);
    if (id != NULL) note_call(events, item->value, id, agent);
    tn_release(id);
}

void ag_client_call(struct ag_events *events, const struct serving_item *item, const char *agent) {
    tn_value id = show_call(events, item->value, agent);
    if (id != NULL) (void)tn_append_take(&events->pending, id);
}

/* Texts of a content; what has other parts is JSON. New. */
static tn_value result_text(tn_value content) {
    bool texts = tn.value->kind(content) == TN_STRING;
    if (tn.value->kind(content) == TN_ARRAY) {
        texts = true;
        for (uint64_t i = 0, count = tn.value->count(content); i < count; i++)
            texts = texts && serving_is(tn_get(tn.value->at(content, i), "type"), "text");
    }
    if (texts) return tn_content_text(content);
    return content != NULL ? tn_to_json(content) : tn_text("");
}

void ag_result(struct ag_events *events, const struct serving_item *item, const char *agent) {
    const char *own = tn_get_text(item->value, "tool_call_id", "");
    tn_value call = tn_retain(tn_get(events->calls, own));
    char id[MESSAGE_ID_MAX];
    (void)agent;
    if (call == NULL) return;
    *events->parent = '\0';
    ag_next_id(events, id);
    ag_send(events,
            tn_build("{s:s, s:s, s:v, s:V, s:s}", "type", "TOOL_CALL_RESULT", "messageId", id, "toolCallId",
                     tn_get(call, "id"), "content", result_text(tn_get(item->value, "content")), "role", "tool"),
            tn_get_text(call, "agent", ""));
    (void)tn.value->remove(&events->calls, own, TN_Z);
    tn_release(call);
}

/* ---- Questions ---- */

/* The call that an approval is about: the id that the client has, borrowed; NULL if there is none. */
static tn_value call_of(const struct ag_events *events, tn_value payload) {
    tn_value key, call, found = NULL, wanted = tn_call_arguments(payload);
    for (uint64_t i = 0, count = tn.value->count(events->calls); found == NULL && i < count; i++) {
        if (tn.value->entry(events->calls, i, &key, &call) != TN_OK) break;
        if (tn.value->equal(tn_get(call, "name"), tn_get(payload, "tool")) != 1) continue;
        tn_value arguments = tn_call_arguments(call);
        if (tn.value->equal(arguments, wanted) == 1) found = tn_get(call, "id");
        tn_release(arguments);
    }
    tn_release(wanted);
    return found;
}

static tn_value schema_of(tn_value interrupt, bool approval) {
    tn_value schema = tn_get(interrupt, "schema");
    if (approval)
        return tn_build("{s:s, s:{s:{s:s}, s:{s:s}}, s:[s]}", "type", "object", "properties", "approved", "type",
                        "boolean", "reason", "type", "string", "required", "approved");
    return tn.value->kind(schema) == TN_OBJECT ? tn_retain(schema) : NULL;
}

/* What the question has, without the names of files of the server. New; NULL if there is nothing. */
static tn_value payload_of(tn_value payload, bool approval) {
    static const char *const skip[] = {"caller", "chain", NULL};
    if (!approval || tn.value->kind(payload) != TN_OBJECT) return tn_retain(payload);
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_members(builder, payload, skip);
    tn.value->end(builder);
    return tn_finish(builder);
}

void ag_ask(struct ag_events *events, const struct serving_item *item, const char *agent) {
    tn_value interrupt = item->value, payload = tn_get(interrupt, "payload");
    bool approval = serving_ask_is_approval(interrupt);
    tn_value call = approval && tn_get(payload, "tool") != NULL ? call_of(events, payload) : NULL;
    const char *reason = call != NULL ? "tool_call" : approval ? "confirmation" : "input_required";
    agent = ag_agent(events, tn_get(interrupt, "path"));
    tn_value metadata = tn_build("{s:v*, s:v*, s:V*}", "node", tn_get(interrupt, "node"), "path",
                                 tn_get(interrupt, "path"), "payload", payload_of(payload, approval));
    tn_value made =
        tn_build("{s:v, s:s, s:V*, s:v*, s:V*, s:s*, s:V*}", "id", tn_get(interrupt, "id"), "reason", reason, "message",
                 serving_ask_text(interrupt), "toolCallId", call, "responseSchema", schema_of(interrupt, approval),
                 "subagentRunId", *agent != '\0' ? agent : NULL, "metadata", metadata);
    (void)tn_append_take(&events->interrupts, made);
}
