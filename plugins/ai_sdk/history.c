/*
 * history.c - the messages of a thread as parts of messages of the client.
 *
 * The parts of a message of a model come from the chunks that it would have been: a small client applies them. So a
 * page that is loaded again shows what it has shown before, except reasoning that services do not return, and data-
 * parts, which are events and not part of the thread.
 */
#include "history.h"
#include "chunks_internal.h"
#include <tenon/message.h>

uint64_t history_last_answer(tn_value messages) {
    uint64_t at = tn.value->count(messages);
    while (at > 0 && !tn_message_is(tn.value->at(messages, at - 1), "user")) at--;
    return at;
}

/* ---- Files and texts ---- */

/* Applies the chunks of one message, whose texts are complete. */
static void collect_chunk(void *user, tn_value chunk) {
    tn_value *parts = user;
    const char *type = tn_get_text(chunk, "type", "");
    if (strcmp(type, "text-delta") == 0 || strcmp(type, "reasoning-delta") == 0)
        (void)tn_append_take(parts, tn_build("{s:s, s:v, s:s}", "type", *type == 't' ? "text" : "reasoning", "text",
                                             tn_get(chunk, "delta"), "state", "done"));
    else if (strcmp(type, "start-step") == 0)
        (void)tn_append_take(parts, tn_build("{s:s}", "type", "step-start"));
    else if (strcmp(type, "file") == 0 || strncmp(type, "source-", 7) == 0)
        (void)tn_append_take(parts, tn_retain(chunk));
}

/* The content of a message; it begins a step. */
static void add_content(tn_value *parts, tn_value content) {
    struct chunks *chunks = serving_alloc(sizeof *chunks);
    if (chunks == NULL) return;
    chunks->handler = collect_chunk;
    chunks->user = parts;
    step_for_part(chunks);
    content_send(chunks, content);
    chunks_free(chunks);
}

/* ---- Calls ---- */

static tn_value result_of(tn_value messages, uint64_t from, tn_value call) {
    tn_value id = tn_get(call, "id");
    for (uint64_t i = from + 1, count = tn.value->count(messages); id != NULL && i < count; i++) {
        tn_value message = tn.value->at(messages, i);
        if (tn.value->equal(tn_get(message, "tool_call_id"), id) != 0) return message;
    }
    return NULL;
}

static void add_call(tn_value *parts, tn_value call, tn_value result) {
    struct tn_text_buffer type = TN_TEXT_BUFFER(1024);
    tn_value input = tn_call_arguments(call), content = tn_get(result, "content"), output = NULL, text = NULL;
    bool failed = serving_is(tn_get(result, "status"), "error");
    const char *state = result == NULL ? "input-available" : failed ? "output-error" : "output-available";
    (void)tn_text_append(&type, "tool-");
    (void)tn_text_append(&type, tn_get_text(call, "name", "tool"));
    if (failed)
        text = tn_content_text(content);
    else if (result != NULL)
        output = calls_output(content);
    (void)tn_append_take(parts, tn_build("{s:s, s:v, s:s, s:v?, s:v*, s:v*}", "type", type.bytes, "toolCallId",
                                         tn_get(call, "id"), "state", state, "input", input, "output", output,
                                         "errorText", text));
    tn_release(input);
    tn_release(output);
    tn_release(text);
    tn_text_free(&type);
}

tn_value history_parts(tn_value messages, uint64_t from) {
    tn_value parts = tn_build("[]");
    for (uint64_t i = from, count = tn.value->count(messages); i < count; i++) {
        tn_value message = tn.value->at(messages, i), calls = tn_message_calls(message);
        if (tn_message_is(message, "user")) break;
        if (!tn_message_is(message, "ai") && !tn_message_is(message, "error")) continue;
        add_content(&parts, tn_get(message, "content"));
        for (uint64_t k = 0, made = tn.value->count(calls); k < made; k++)
            add_call(&parts, tn.value->at(calls, k), result_of(messages, i, tn.value->at(calls, k)));
    }
    return parts;
}

/* ---- What the thread has of the client's parts ---- */

uint64_t history_last_step(tn_value parts) {
    uint64_t at = tn.value->count(parts);
    while (at > 0 && !serving_is(tn_get(tn.value->at(parts, at - 1), "type"), "step-start")) at--;
    return at;
}

/* The id of the part can have a number behind the id of the call. */
static bool has_call(tn_value all, tn_value part) {
    const char *id = tn_get_text(part, "toolCallId", "");
    for (uint64_t i = 0, count = tn.value->count(all); i < count; i++) {
        const char *own = tn_get_text(tn.value->at(all, i), "toolCallId", NULL);
        size_t length = own != NULL ? strlen(own) : 0;
        if (length > 0 && strncmp(id, own, length) == 0 && (id[length] == '\0' || id[length] == '.')) return true;
    }
    return false;
}

static bool has_part(tn_value all, tn_value part) {
    static const char *const members[] = {"text", "url", "title"}; /* of texts and reasoning, files, sources */
    if (part_tool_name(part) != NULL) return has_call(all, part);
    for (size_t k = 0; k < sizeof members / sizeof *members; k++) {
        tn_value own = tn_get(part, members[k]);
        for (uint64_t i = 0, count = own != NULL ? tn.value->count(all) : 0; i < count; i++)
            if (tn.value->equal(tn_get(tn.value->at(all, i), members[k]), own) == 1) return true;
    }
    return false;
}

uint64_t history_committed(tn_value parts, tn_value messages) {
    tn_value all = history_parts(messages, history_last_answer(messages));
    uint64_t step = history_last_step(parts), at = tn.value->count(parts);
    while (at > step && !has_part(all, tn.value->at(parts, at - 1))) at--;
    tn_release(all);
    return at;
}

/* ---- All messages ---- */

static void add_message_take(tn_value *list, const char *role, tn_value id, uint64_t at, tn_value parts) {
    char made[32];
    (void)snprintf(made, sizeof made, "message-%llu", (unsigned long long)at);
    (void)tn_append_take(list, tn_build("{s:s, s:s, s:V}", "id", tn_chars(id, NULL) != NULL ? tn_chars(id, NULL) : made,
                                        "role", role, "parts", parts));
}

/* Texts and files of a person: without steps. */
static tn_value user_parts(tn_value content) {
    tn_value all = tn_build("[]"), parts = tn_build("[]");
    add_content(&all, content);
    for (uint64_t i = 1, count = tn.value->count(all); i < count; i++)
        (void)tn_append_take(&parts, tn_retain(tn.value->at(all, i)));
    tn_release(all);
    return parts;
}

tn_value history_messages(tn_value messages) {
    tn_value list = tn_build("[]");
    bool answering = false;
    for (uint64_t i = 0, count = tn.value->count(messages); i < count; i++) {
        tn_value message = tn.value->at(messages, i), id = tn_get(message, "id");
        bool user = tn_message_is(message, "user"), tool = tn_message_is(message, "tool");
        if (user) {
            add_message_take(&list, "user", id, i, user_parts(tn_get(message, "content")));
        } else if (!answering && !tool && !tn_message_is(message, "system") && !tn_message_is(message, "developer")) {
            add_message_take(&list, "assistant", id, i, history_parts(messages, i));
            answering = true;
        }
        if (user) answering = false;
    }
    return list;
}
