/*
 * request.c - reads the body of POST.
 *
 *     text               {type: text}
 *     file, image/…      {type: image, media_type, data or url}; audio/… is audio, everything else is a file
 *     data-answer        {id, answer}: the answer to data-interrupt
 *     data-input         channels of the input
 */
#include "request.h"
#include "chunks.h"
#include <tenon/base64.h>
#include <tenon/message.h>

static bool refuse(struct chat_request *request, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool refuse(struct chat_request *request, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(request->reason, sizeof request->reason, format, arguments);
    va_end(arguments);
    return false;
}

bool chat_id_is_valid(const char *chat_id, uint64_t length) {
    if (length == 0 || length > CHAT_ID_MAX || strlen(chat_id) != length) return false;
    for (uint64_t i = 0; i < length; i++)
        if ((unsigned char)chat_id[i] < 0x20 || chat_id[i] == 0x7f || chat_id[i] == '/') return false;
    return true;
}

/* ---- Files ---- */

static const char *kind_of_media(const char *media_type) {
    if (strncmp(media_type, "image/", 6) == 0) return "image";
    return strncmp(media_type, "audio/", 6) == 0 ? "audio" : "file";
}

/* The part of a data: URL; NULL, and the reason, if it is not base64. */
static tn_value data_part(struct chat_request *request, const char *url, uint64_t length, const char *media_type,
                          const char *name) {
    static const char mark[] = ";base64,";
    const char *data = strstr(url, mark);
    uint64_t left = data != NULL ? length - (uint64_t)(data - url) - (sizeof mark - 1) : 0;
    if (data == NULL || strchr(url, ',') != data + sizeof mark - 2 || !tn_is_base64(data + sizeof mark - 1, left)) {
        (void)refuse(request, "A file part has a data: URL that is not valid base64 (`data:TYPE;base64,DATA`).");
        return NULL;
    }
    return tn_build("{s:s, s:s, s:s*, s:s#}", "type", kind_of_media(media_type), "media_type", media_type, "name", name,
                    "data", data + sizeof mark - 1, left);
}

static tn_value file_part(struct chat_request *request, tn_value part) {
    const char *media_type = tn_get_text(part, "mediaType", "application/octet-stream");
    const char *name = tn_get_text(part, "filename", NULL);
    uint64_t length = 0;
    const char *url = tn_chars(tn_get(part, "url"), &length);
    if (url != NULL && strncmp(url, "data:", 5) == 0) return data_part(request, url, length, media_type, name);
    if (url != NULL && (strncmp(url, "https://", 8) == 0 || strncmp(url, "http://", 7) == 0))
        return tn_build("{s:s, s:s, s:s*, s:s}", "type", kind_of_media(media_type), "media_type", media_type, "name",
                        name, "url", url);
    (void)refuse(request, "A file part needs a `url` that begins with data:, https: or http:.");
    return NULL;
}

/* ---- Parts of the person's message ---- */

static bool read_answer(struct chat_request *request, tn_value data) {
    const char *id = tn_get_text(data, "id", NULL);
    tn_value answer = tn_get(data, "answer");
    if (id == NULL || answer == NULL)
        return refuse(request, "A part data-answer needs `data: {id, answer}` with the id of data-interrupt.");
    if (request->answers == NULL) request->answers = tn_build("{}");
    request->answers = tn_set_take(request->answers, id, tn_retain(answer));
    return request->answers != NULL || refuse(request, "Memory ran out.");
}

static bool read_input(struct chat_request *request, tn_value data) {
    tn_value key, value;
    if (tn.value->kind(data) != TN_OBJECT) return refuse(request, "The input must be an object with channels.");
    if (request->input == NULL) request->input = tn_build("{}");
    for (uint64_t i = 0, count = tn.value->count(data); i < count; i++) {
        if (tn.value->entry(data, i, &key, &value) != TN_OK) continue;
        request->input = tn_set_take(request->input, tn_chars(key, NULL), tn_retain(value));
    }
    return request->input != NULL || refuse(request, "Memory ran out.");
}

/* Appends what the graph gets of a part. `last`: it is the message that the person has just sent. */
static bool read_part(struct chat_request *request, tn_value part, bool last, tn_value *content) {
    const char *type = tn_get_text(part, "type", NULL);
    if (type == NULL) return refuse(request, "A part of a message needs a `type`.");
    if (strcmp(type, "text") == 0) {
        if (tn_get_text(part, "text", NULL) == NULL) return refuse(request, "A text part needs a `text`.");
        (void)tn_append_take(content, tn_build("{s:s, s:v}", "type", "text", "text", tn_get(part, "text")));
    } else if (strcmp(type, "file") == 0) {
        tn_value made = file_part(request, part);
        if (made == NULL) return false;
        (void)tn_append_take(content, made);
    } else if (last && strcmp(type, "data-answer") == 0) {
        return read_answer(request, tn_get(part, "data"));
    } else if (last && strcmp(type, "data-input") == 0) {
        return read_input(request, tn_get(part, "data"));
    }
    return true;
}

/* A message as the graph gets it; one text part is a text. */
static tn_value message_take(const char *type, tn_value id, tn_value content) {
    tn_value first = tn.value->at(content, 0);
    if (tn.value->count(content) == 1 && serving_is(tn_get(first, "type"), "text")) {
        tn_value text = tn_retain(tn_get(first, "text"));
        tn_release(content);
        content = text;
    }
    return tn_build("{s:s, s:v*, s:V}", "type", type, "id", id, "content", content);
}

/* ---- Messages ---- */

static void note_calls(struct chat_request *request, tn_value parts) {
    for (uint64_t i = 0, count = tn.value->count(parts); i < count; i++) {
        const char *id = tn_get_text(tn.value->at(parts, i), "toolCallId", NULL);
        if (id != NULL) request->used = tn_set_take(request->used, id, tn_bool(1));
    }
}

static bool check_message(struct chat_request *request, tn_value message) {
    static const char *const roles[] = {"user", "assistant", "system"};
    const char *role = tn_get_text(message, "role", ""), *id = tn_get_text(message, "id", NULL);
    tn_value parts = tn_get(message, "parts");
    size_t known = 0;
    while (known < sizeof roles / sizeof *roles && strcmp(roles[known], role) != 0) known++;
    if (known == sizeof roles / sizeof *roles)
        return refuse(request, "A message needs a `role`: user, assistant or system.");
    if (id != NULL && strlen(id) > CHAT_ID_MAX)
        return refuse(request, "The id of a message has more than %d bytes.", CHAT_ID_MAX);
    if (tn.value->kind(parts) != TN_ARRAY) return refuse(request, "A message needs `parts`, an array.");
    if (tn.value->count(parts) > CHAT_PARTS_MAX)
        return refuse(request, "A message has more than %d parts.", CHAT_PARTS_MAX);
    note_calls(request, parts);
    return true;
}

/* Texts and files of an earlier message. Its calls and reasoning are left out. */
static bool read_earlier(struct chat_request *request, tn_value message) {
    tn_value parts = tn_get(message, "parts"), content = tn_build("[]");
    bool user = serving_is(tn_get(message, "role"), "user"), valid = true;
    if (serving_is(tn_get(message, "role"), "system")) { /* the author of the graph writes the instructions */
        tn_release(content);
        return true;
    }
    for (uint64_t i = 0, count = tn.value->count(parts); valid && i < count; i++)
        valid = read_part(request, tn.value->at(parts, i), false, &content);
    if (valid && tn.value->count(content) > 0)
        (void)tn_append_take(&request->history,
                             message_take(user ? "user" : "ai", tn_get(message, "id"), tn_retain(content)));
    tn_release(content);
    return valid;
}

static bool read_user(struct chat_request *request, tn_value message) {
    tn_value parts = tn_get(message, "parts"), content = tn_build("[]");
    bool valid = true;
    for (uint64_t i = 0, count = tn.value->count(parts); valid && i < count; i++)
        valid = read_part(request, tn.value->at(parts, i), true, &content);
    if (valid && tn.value->count(content) == 0 && request->answers == NULL && request->input == NULL)
        valid = refuse(request, "The message has neither a text nor a file.");
    if (valid) request->user = message_take("user", tn_get(message, "id"), tn_retain(content));
    tn_release(content);
    return valid;
}

/* The index of the message that the request is about: the last one, or the answer that `messageId` names. */
static uint64_t subject_of(const struct chat_request *request, tn_value messages) {
    uint64_t last = tn.value->count(messages) - 1;
    tn_value id = tn_get(request->body, "messageId");
    for (uint64_t i = 0; !request->regenerate && tn_chars(id, NULL) != NULL && i < last; i++) {
        tn_value message = tn.value->at(messages, i);
        if (tn.value->equal(tn_get(message, "id"), id) != 0 && serving_is(tn_get(message, "role"), "assistant"))
            return i;
    }
    return last;
}

static bool read_messages(struct chat_request *request, tn_value messages) {
    uint64_t count = tn.value->kind(messages) == TN_ARRAY ? tn.value->count(messages) : 0;
    if (count == 0) return refuse(request, "`messages` must be an array with at least one message.");
    if (count > CHAT_MESSAGES_MAX) return refuse(request, "`messages` has more than %d messages.", CHAT_MESSAGES_MAX);
    for (uint64_t i = 0; i < count; i++)
        if (!check_message(request, tn.value->at(messages, i))) return false;
    tn_value subject = tn.value->at(messages, subject_of(request, messages));
    if (serving_is(tn_get(subject, "role"), "assistant") && !request->regenerate) {
        request->parts = tn_get(subject, "parts");
        request->message_id = tn_get_text(subject, "id", NULL);
        return request->message_id != NULL || refuse(request, "The message of the assistant needs an `id`.");
    }
    if (!serving_is(tn_get(subject, "role"), "user"))
        return refuse(request, "The last message must be one of the user.");
    for (uint64_t i = 0; i + 1 < count; i++)
        if (!read_earlier(request, tn.value->at(messages, i))) return false;
    return read_user(request, subject);
}

bool chat_request_read(struct chat_request *request, tn_value body, tn_value query) {
    uint64_t length = 0;
    tn_value input = tn_get(body, "input");
    const char *trigger = tn_get_text(body, "trigger", "submit-message");
    *request = (struct chat_request){
        .body = tn_retain(body), .query = tn_retain(query), .history = tn_build("[]"), .used = tn_build("{}")};
    if (tn.value->kind(body) != TN_OBJECT) return refuse(request, "The body must be a JSON object {id, messages}.");
    request->chat_id = tn_chars(tn_get(body, "id"), &length);
    if (request->chat_id == NULL || !chat_id_is_valid(request->chat_id, length))
        return refuse(request, "`id` must be the id of the chat: 1 to %d bytes without `/` and control characters.",
                      CHAT_ID_MAX);
    request->graph = tn_get_text(body, "graph", tn_get_text(query, "graph", NULL));
    request->regenerate = strcmp(trigger, "regenerate-message") == 0;
    if (!request->regenerate && strcmp(trigger, "submit-message") != 0)
        return refuse(request, "`trigger` must be submit-message or regenerate-message.");
    if (input != NULL && !read_input(request, input)) return false;
    return read_messages(request, tn_get(body, "messages"));
}

static bool content_is_text(tn_value content) {
    for (uint64_t i = 0, count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0; i < count; i++)
        if (!serving_is(tn_get(tn.value->at(content, i), "type"), "text")) return false;
    return true;
}

bool chat_request_fits(struct chat_request *request, const struct serving_graph *graph) {
    if (graph->input == SERVING_MESSAGES || content_is_text(tn_get(request->user, "content"))) return true;
    return refuse(request, "The graph `%.100s` accepts only texts, because it has no channel of messages.",
                  graph->name);
}

void chat_request_finish(struct chat_request *request) {
    tn_release(request->body);
    tn_release(request->query);
    tn_release(request->user);
    tn_release(request->history);
    tn_release(request->answers);
    tn_release(request->input);
    tn_release(request->used);
    *request = (struct chat_request){0};
}
