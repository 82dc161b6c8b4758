/*
 * message.c - messages of A2A as the input of a graph, or as the answer to its question.
 */
#include "a2a_server.h"
#include <tenon/message.h>

static bool check_part(tn_value part, uint64_t at, struct a2a_problem *problem) {
    static const char *const names[] = {"text", "raw", "url", "data"};
    unsigned long long index = at;
    uint32_t found = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tn_value member = tn_get(part, names[i]);
        found += member != NULL;
        if (member != NULL && i < 3 && tn.value->kind(member) != TN_STRING)
            return problem_set(problem, A2A_INVALID_PARAMS, "message.parts[%llu].%s must be a string", index, names[i]);
    }
    if (found != 1)
        return problem_set(problem, A2A_INVALID_PARAMS,
                           "message.parts[%llu] must have exactly one of `text`, `raw`, `url` and `data`", index);
    return true;
}

static bool check_id(tn_value message, const char *name, bool required, struct a2a_problem *problem) {
    tn_value id = tn_get(message, name);
    uint64_t length = 0;
    const char *chars = tn_chars(id, &length);
    if (chars != NULL && (length > ID_MAX || memchr(chars, 0, length) != NULL))
        return problem_set(problem, A2A_INVALID_PARAMS, "message.%s has more than %u bytes", name, ID_MAX);
    if ((id != NULL || required) && (chars == NULL || (required && length == 0)))
        return problem_set(problem, A2A_INVALID_PARAMS, "message.%s must be a string%s", name,
                           required ? " that is not empty" : "");
    return true;
}

bool message_check(tn_value message, struct a2a_problem *problem) {
    tn_value parts = tn_get(message, "parts");
    uint64_t count = tn.value->kind(parts) == TN_ARRAY ? tn.value->count(parts) : 0;
    if (tn.value->kind(message) != TN_OBJECT)
        return problem_set(problem, A2A_INVALID_PARAMS, "`message` must be an object; it is required");
    if (!check_id(message, "messageId", true, problem) || !check_id(message, "taskId", false, problem) ||
        !check_id(message, "contextId", false, problem))
        return false;
    if (!serving_is(tn_get(message, "role"), "ROLE_USER"))
        return problem_set(problem, A2A_INVALID_PARAMS, "message.role must be that of the user");
    if (count == 0 || count > PARTS_MAX)
        return problem_set(problem, A2A_INVALID_PARAMS, "message.parts must have from 1 to %u parts", PARTS_MAX);
    for (uint64_t i = 0; i < count; i++)
        if (!check_part(tn.value->at(parts, i), i, problem)) return false;
    return true;
}

/* ---- To Tenon ---- */

static const char *part_type(const char *media) {
    if (strncmp(media, "image/", 6) == 0) return "image";
    if (strncmp(media, "audio/", 6) == 0) return "audio";
    return "file";
}

static tn_value part_to_tenon(tn_value part) {
    tn_value text = tn_get(part, "text"), raw = tn_get(part, "raw"), url = tn_get(part, "url");
    const char *media = tn_get_text(part, "mediaType", NULL), *name = tn_get_text(part, "filename", NULL);
    if (text != NULL) return tn_build("{s:s, s:v}", "type", "text", "text", text);
    if (url != NULL)
        return tn_build("{s:s, s:v, s:s*, s:s*}", "type", part_type(media != NULL ? media : ""), "url", url,
                        "media_type", media, "name", name);
    if (raw != NULL) {
        if (media == NULL) media = "application/octet-stream";
        return tn_build("{s:s, s:v, s:s, s:s*}", "type", part_type(media), "data", raw, "media_type", media, "name",
                        name);
    }
    tn_value json = tn_to_json(tn_get(part, "data"));
    return tn_build("{s:s, s:V}", "type", "text", "text", json);
}

/* The texts of the message, one a line: new. */
static tn_value text_of(tn_value message) {
    tn_value parts = tn_get(message, "parts");
    struct tn_text_buffer text = TN_TEXT_BUFFER(64u << 20);
    for (uint64_t i = 0, count = tn.value->count(parts); i < count; i++) {
        tn_value part = part_to_tenon(tn.value->at(parts, i));
        const char *chars = tn_get_text(part, "text", NULL);
        if (chars != NULL && text.length > 0) (void)tn_text_append(&text, "\n");
        if (chars != NULL) (void)tn_text_append(&text, chars);
        tn_release(part);
    }
    return tn_text_finish(&text);
}

static tn_value data_of(tn_value message) {
    tn_value parts = tn_get(message, "parts"), data = NULL;
    for (uint64_t i = 0, count = tn.value->count(parts); data == NULL && i < count; i++)
        data = tn_get(tn.value->at(parts, i), "data");
    return data;
}

static tn_value content_of(tn_value message) {
    tn_value parts = tn_get(message, "parts"), content = tn_build("[]");
    if (tn.value->count(parts) == 1 && tn_get(tn.value->at(parts, 0), "text") != NULL) {
        tn_release(content);
        return tn_retain(tn_get(tn.value->at(parts, 0), "text"));
    }
    for (uint64_t i = 0, count = tn.value->count(parts); i < count; i++)
        (void)tn_append_take(&content, part_to_tenon(tn.value->at(parts, i)));
    return content;
}

tn_value message_input(tn_value message, const struct serving_graph *graph, struct a2a_problem *problem) {
    if (graph->input == SERVING_MESSAGES)
        return tn_build("{s:[{s:s, s:v, s:V}]}", graph->channel, "type", "human", "id", tn_get(message, "messageId"),
                        "content", content_of(message));
    tn_value text = text_of(message), data = data_of(message), input = NULL;
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    if (graph->input == SERVING_ONE_TEXT)
        input = tn_build("{s:v}", graph->channel, text);
    else if (data != NULL)
        input = tn_retain(data);
    else if (chars != NULL)
        input = tn_from_json(chars, length);
    tn_release(text);
    if (tn.value->kind(input) == TN_OBJECT) return input;
    tn_release(input);
    (void)problem_set(problem, A2A_INVALID_PARAMS,
                      "the agent expects an object with its input: send a part with `data`, or a text with JSON");
    return NULL;
}

/* A question whose schema has a property `messageId` is about the whole message. */
static bool asks_for_message(tn_value interrupt) {
    return tn_get(tn_get(tn_get(interrupt, "schema"), "properties"), "messageId") != NULL;
}

static tn_value answer_of(tn_value message, tn_value interrupt, tn_value text) {
    tn_value data = data_of(message);
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    if (asks_for_message(interrupt)) return tn_retain(message);
    if (data != NULL) return tn_retain(data);
    if (serving_ask_is_approval(interrupt)) {
        bool yes = serving_is(text, "yes") || serving_is(text, "true") || serving_is(text, "approve");
        return tn_build("{s:b, s:v*}", "approved", (int)yes, "reason", yes ? NULL : text);
    }
    return chars != NULL ? serving_ask_answer(interrupt, chars, length) : NULL;
}

tn_value message_answers(tn_value message, tn_value interrupts, struct a2a_problem *problem) {
    tn_value answers = tn_build("{}"), text = text_of(message);
    uint64_t count = tn.value->count(interrupts);
    for (uint64_t i = 0; answers != NULL && i < count; i++) {
        tn_value interrupt = tn.value->at(interrupts, i);
        const char *id = tn_get_text(interrupt, "id", "");
        tn_value given = count > 1 ? tn_get(data_of(message), id) : NULL;
        tn_value answer = given != NULL ? tn_retain(given) : answer_of(message, interrupt, text);
        if (answer != NULL) answers = tn_set_take(answers, id, answer);
    }
    tn_release(text);
    if (answers == NULL) (void)problem_set(problem, A2A_INTERNAL, "memory ran out");
    return answers;
}

/* ---- From Tenon ---- */

tn_value message_part(tn_value part) {
    tn_value data = tn_get(part, "data"), url = tn_get(part, "url"), type = tn_get(part, "media_type");
    tn_value name = tn_get(part, "name") != NULL ? tn_get(part, "name") : tn_get(part, "title");
    if (tn.value->kind(data) == TN_STRING)
        return tn_build("{s:v, s:v*, s:v*}", "raw", data, "mediaType", type, "filename", name);
    if (tn.value->kind(url) == TN_STRING)
        return tn_build("{s:v, s:v*, s:v*}", "url", url, "mediaType", type, "filename", name);
    if (tn.value->kind(tn_get(part, "text")) == TN_STRING) return tn_build("{s:v}", "text", tn_get(part, "text"));
    return NULL;
}

bool message_artifact_is_valid(tn_value artifact) {
    tn_value parts = tn_get(artifact, "parts");
    return tn_get_text(artifact, "artifactId", NULL) != NULL && tn.value->kind(parts) == TN_ARRAY &&
           tn.value->count(parts) > 0;
}
