/*
 * contents.c - messages as Gemini's contents.
 *
 * The service knows two roles: what is not the model's is the user's, tools' answers included. Neighbours of one role
 * are one content; but answers are one of their own, which has to follow the calls. System and developer messages,
 * wherever they stand, become the system instruction. What the service gave us to keep (a thought's signature, the id
 * of a call, parts that no message has a form for) lies in the `extra` of the very part or call it came with, and goes
 * back with it.
 *
 * A call's answer is matched by the call's id; the service is told that id only where it made it. Without ids it goes
 * by order, so answers are put into the order of their calls.
 */
#include "gemini.h"

#include <strings.h>

/*
 * What Google's documentation has for calls that another model made: newer models refuse the first call of a step
 * without a signature. It is sent where there is none, to the models that ask for one.
 */
#define FOREIGN_SIGNATURE "skip_thought_signature_validator"

struct contents {
    struct model_call *call;
    tn_builder *out;
    const char *role; /* of the open content; NULL: none is */
    uint64_t count;   /* of contents */
    tn_value calls;   /* of the newest message with any, borrowed */
    bool wants_signature;
};

/* Before each part: the content it belongs to is open. Roles are "model", "user" and, of answers, `answers_role`. */
static const char answers_role[] = "answers";

static void enter(struct contents *to, const char *role) {
    if (to->role != NULL && strcmp(to->role, role) == 0) return;
    if (to->role != NULL) {
        tn.value->end(to->out);
        tn.value->end(to->out);
    }
    tn.value->begin(to->out, TN_OBJECT);
    tn_put_text(to->out, "role", role == answers_role ? "user" : role);
    tn_put_begin(to->out, "parts", TN_ARRAY);
    to->role = role;
    to->count++;
}

static void leave(struct contents *to) {
    if (to->role == NULL) return;
    tn.value->end(to->out);
    tn.value->end(to->out);
    to->role = NULL;
}

/* ---- Parts ---- */

/* What was kept of a part or a call, as it was: its signature. */
static void put_signature(struct contents *to, tn_value holder) {
    tn_value signature = tn.value->get(model_extra_of(to->call, holder), "thoughtSignature");
    if (tn.value->kind(signature) == TN_STRING) tn_put(to->out, "thoughtSignature", signature);
}

static bool has_signature(struct contents *to, tn_value holder) {
    return tn.value->kind(tn.value->get(model_extra_of(to->call, holder), "thoughtSignature")) == TN_STRING;
}

/* Text that is empty is left out: the service refuses it, unless a signature comes with it. */
static void put_text(struct contents *to, const char *role, tn_value text, tn_value part) {
    uint64_t length = 0;
    bool kept = has_signature(to, part);
    if ((tn_chars(text, &length) == NULL || length == 0) && !kept) return;
    enter(to, role);
    tn.value->begin(to->out, TN_OBJECT);
    if (length > 0)
        tn_put(to->out, "text", text);
    else
        tn_put_text(to->out, "text", "");
    put_signature(to, part);
    tn.value->end(to->out);
}

/* Thoughts go back to who had them, and only where that was asked for: with a signature, or as the part they were. */
static void put_reasoning(struct contents *to, const char *role, tn_value part) {
    tn_value text = tn.value->get(part, "text"), whole = tn.value->get(model_extra_of(to->call, part), "part");
    uint64_t length = 0;
    if (tn.value->kind(whole) == TN_OBJECT) {
        enter(to, role);
        tn_put(to->out, NULL, whole);
        return;
    }
    if (!has_signature(to, part)) return;
    enter(to, role);
    tn.value->begin(to->out, TN_OBJECT);
    if (tn_chars(text, &length) != NULL && length > 0) {
        tn_put(to->out, "text", text);
        tn_put_bool(to->out, "thought", 1);
    } else {
        tn_put_text(to->out, "text", "");
    }
    put_signature(to, part);
    tn.value->end(to->out);
}

/* By the end of a name, where nothing else tells. */
static const char *type_of_name(const char *name) {
    static const char *const types[][2] = {
        {".png", "image/png"},    {".jpg", "image/jpeg"},  {".jpeg", "image/jpeg"},     {".webp", "image/webp"},
        {".gif", "image/gif"},    {".heic", "image/heic"}, {".heif", "image/heif"},     {".pdf", "application/pdf"},
        {".mp4", "video/mp4"},    {".webm", "video/webm"}, {".mov", "video/quicktime"}, {".mp3", "audio/mpeg"},
        {".wav", "audio/wav"},    {".ogg", "audio/ogg"},   {".flac", "audio/flac"},     {".txt", "text/plain"},
        {".md", "text/markdown"}, {".csv", "text/csv"},    {".html", "text/html"},      {".json", "application/json"}};
    uint64_t length = name != NULL ? strcspn(name, "?#") : 0;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        uint64_t size = strlen(types[i][0]);
        if (length > size && strncasecmp(name + length - size, types[i][0], size) == 0) return types[i][1];
    }
    return NULL;
}

/* A file of the Files API is named by its address: "files/abc" is of the address that models are asked at. */
static void put_uri(struct contents *to, const struct model_media *media) {
    const char *id = tn_chars(media->file_id, NULL);
    char uri[GEMINI_PATH_MAX];
    if (id == NULL || strstr(id, "://") != NULL) {
        tn_put(to->out, "fileUri", id != NULL ? media->file_id : media->url);
        return;
    }
    int length = snprintf(uri, sizeof uri, "%s/%s", to->call->model->base_url, id);
    tn_put_take(to->out, "fileUri", length > 0 && length < (int)sizeof uri ? tn_text(uri) : NULL);
}

/* {inlineData} or {fileData}; false: refused. `where` is "messages[3]". */
static bool put_media(struct contents *to, const char *role, tn_value part, const char *where) {
    struct model_media media;
    if (!model_media_init(&media, part)) {
        model_refuse(to->call, "%s: a part of type `%s` has neither url, data (base64, or bytes) nor file_id", where,
                     tn_get_text(part, "type", ""));
        return false;
    }
    const char *type = media.media_type, *name = tn_get_text(part, "name", NULL);
    if (type == NULL) type = type_of_name(media.url != NULL ? tn_chars(media.url, NULL) : name);
    if (type == NULL) {
        model_refuse(to->call, "%s: a part of type `%s` has no media_type, and its content does not tell it: say it",
                     where, tn_get_text(part, "type", ""));
        model_media_finish(&media);
        return false;
    }
    if (role != NULL) enter(to, role);
    tn.value->begin(to->out, TN_OBJECT);
    tn_put_begin(to->out, media.data != NULL ? "inlineData" : "fileData", TN_OBJECT);
    tn_put_text(to->out, "mimeType", type);
    if (media.data != NULL)
        tn_put(to->out, "data", media.data);
    else
        put_uri(to, &media);
    tn.value->end(to->out);
    put_signature(to, part);
    tn.value->end(to->out);
    model_media_finish(&media);
    return true;
}

static bool is_media(const char *type) {
    return strcmp(type, "image") == 0 || strcmp(type, "file") == 0 || strcmp(type, "audio") == 0;
}

static bool put_content(struct contents *to, const char *role, tn_value content, const char *where) {
    if (tn.value->kind(content) == TN_STRING) {
        put_text(to, role, content, NULL);
        return true;
    }
    for (uint64_t i = 0, count = tn.value->count(content); i < count; i++) {
        tn_value part = tn.value->at(content, i);
        const char *type = tn_get_text(part, "type", "");
        if (strcmp(type, "text") == 0 || strcmp(type, "refusal") == 0) {
            put_text(to, role, tn.value->get(part, "text"), part);
        } else if (strcmp(type, "reasoning") == 0) {
            put_reasoning(to, role, part);
        } else if (is_media(type)) {
            if (!put_media(to, role, part, where)) return false;
        } else if (strcmp(type, "source") != 0) {
            model_refuse(to->call,
                         "%s: a part of type `%s` is not known; expected text, image, file, audio, reasoning, refusal "
                         "or source",
                         where, type);
            return false;
        }
    }
    return true;
}

/* ---- Calls and their answers ---- */

/* The id that the service gave to a call; NULL where it gave none, or another service made the call. */
static tn_value given_id(struct contents *to, tn_value call) {
    tn_value id = tn.value->get(model_extra_of(to->call, call), "id");
    return tn.value->kind(id) == TN_STRING ? id : NULL;
}

/* Arguments are an object, for the service; what is none was written by another model. */
static void put_arguments(struct contents *to, tn_value call) {
    tn_value arguments = tn_call_arguments(call);
    if (tn.value->kind(arguments) == TN_OBJECT) {
        tn_put(to->out, "args", arguments);
    } else {
        tn_put_begin(to->out, "args", TN_OBJECT);
        tn_put(to->out, "arguments", arguments != NULL ? arguments : tn.value->get(call, "arguments"));
        tn.value->end(to->out);
    }
    tn_release(arguments);
}

static void put_calls(struct contents *to, tn_value calls) {
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++) {
        tn_value call = tn.value->at(calls, i), id = given_id(to, call);
        enter(to, "model");
        tn.value->begin(to->out, TN_OBJECT);
        tn_put_begin(to->out, "functionCall", TN_OBJECT);
        if (id != NULL) tn_put(to->out, "id", id);
        tn_put_text(to->out, "name", model_tool_name(to->call, tn_get_text(call, "name", "")));
        put_arguments(to, call);
        tn.value->end(to->out);
        if (has_signature(to, call))
            put_signature(to, call);
        else if (i == 0 && to->wants_signature)
            tn_put_text(to->out, "thoughtSignature", FOREIGN_SIGNATURE);
        tn.value->end(to->out);
    }
}

static tn_value call_of(tn_value calls, const char *id) {
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++) {
        tn_value call = tn.value->at(calls, i);
        if (strcmp(tn_get_text(call, "id", ""), id) == 0) return call;
    }
    return NULL;
}

/* Of the newest message with calls, which it nearly always is; else of any before the answer. */
static tn_value answered_call(struct contents *to, const char *id, uint64_t index) {
    tn_value call = call_of(to->calls, id);
    while (call == NULL && index-- > 0) call = call_of(tn_message_calls(tn.value->at(to->call->messages, index)), id);
    return call;
}

/* Data that a tool gave as text is data for the model too: objects and arrays are taken out of it. */
static void put_output(struct contents *to, const char *key, tn_value content) {
    tn_value text = tn_content_text(content), data = NULL;
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    tn_put_begin(to->out, "response", TN_OBJECT);
    if (chars != NULL && (chars[0] == '{' || chars[0] == '[') && tn.value->from_json(chars, length, &data) == TN_OK)
        tn_put_take(to->out, key, data);
    else
        tn_put(to->out, key, text);
    tn.value->end(to->out);
    tn_release(text);
}

/* Pictures and files of an answer: functionResponse has parts of its own. */
static bool put_answer_media(struct contents *to, tn_value content, const char *where) {
    bool open = false, well = true;
    for (uint64_t i = 0, count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0; i < count; i++) {
        tn_value part = tn.value->at(content, i);
        if (!is_media(tn_get_text(part, "type", ""))) continue;
        if (!open) tn_put_begin(to->out, "parts", TN_ARRAY);
        open = true;
        well = well && put_media(to, NULL, part, where);
    }
    if (open) tn.value->end(to->out);
    return well;
}

static bool put_answer(struct contents *to, tn_value message, uint64_t index) {
    const char *given = tn_get_text(message, "tool_call_id", ""), *name = tn_get_text(message, "name", "");
    tn_value call = answered_call(to, given, index), id = call != NULL ? given_id(to, call) : NULL;
    tn_value content = tn.value->get(message, "content");
    char where[48];
    (void)snprintf(where, sizeof where, "messages[%llu]", (unsigned long long)index);
    if (call != NULL) name = tn_get_text(call, "name", name);
    if (name[0] == '\0') {
        model_refuse(to->call,
                     "%s answers the call `%s`, which the messages before it have not, and has no `name`: expected the "
                     "message with that call, or the tool's name",
                     where, given);
        return false;
    }
    enter(to, answers_role);
    tn.value->begin(to->out, TN_OBJECT);
    tn_put_begin(to->out, "functionResponse", TN_OBJECT);
    if (id != NULL) tn_put(to->out, "id", id);
    tn_put_text(to->out, "name", model_tool_name(to->call, name));
    put_output(to, strcmp(tn_get_text(message, "status", ""), "error") == 0 ? "error" : "output", content);
    bool well = put_answer_media(to, content, where);
    tn.value->end(to->out);
    tn.value->end(to->out);
    return well;
}

/* The answers from `first` on, one past the last given back: in the order of the calls, then those of no call. */
static uint64_t put_answers(struct contents *to, uint64_t first, bool *well) {
    tn_value messages = to->call->messages;
    uint64_t end = first;
    while (tn_message_is(tn.value->at(messages, end), "tool")) end++;
    for (uint64_t c = 0, calls = tn.value->count(to->calls); c < calls && *well; c++) {
        const char *id = tn_get_text(tn.value->at(to->calls, c), "id", "");
        if (call_of(to->calls, id) != tn.value->at(to->calls, c)) continue; /* two of one id */
        for (uint64_t i = first; i < end && *well; i++)
            if (strcmp(tn_get_text(tn.value->at(messages, i), "tool_call_id", ""), id) == 0)
                *well = put_answer(to, tn.value->at(messages, i), i);
    }
    for (uint64_t i = first; i < end && *well; i++)
        if (call_of(to->calls, tn_get_text(tn.value->at(messages, i), "tool_call_id", "")) == NULL)
            *well = put_answer(to, tn.value->at(messages, i), i);
    return end;
}

/* ---- The whole ---- */

static bool is_system(tn_value message) {
    return tn_message_is(message, "system") || tn_message_is(message, "developer");
}

static bool put_system(struct model_call *call, tn_builder *out) {
    bool open = false;
    for (uint64_t i = 0, count = tn.value->count(call->messages); i < count; i++) {
        tn_value message = tn.value->at(call->messages, i), content = tn.value->get(message, "content");
        if (!is_system(message)) continue;
        for (uint64_t k = 0; tn.value->kind(content) == TN_ARRAY && k < tn.value->count(content); k++) {
            const char *type = tn_get_text(tn.value->at(content, k), "type", "");
            if (strcmp(type, "text") == 0) continue;
            model_refuse(call, "messages[%llu]: a %s message takes text alone; found a part of type `%s`",
                         (unsigned long long)i, tn_message_type(message), type);
            return false;
        }
        tn_value text = tn_content_text(content);
        uint64_t length = 0;
        if (tn_chars(text, &length) != NULL && length > 0) {
            if (!open) {
                tn_put_begin(out, "systemInstruction", TN_OBJECT);
                tn_put_begin(out, "parts", TN_ARRAY);
            }
            open = true;
            tn.value->begin(out, TN_OBJECT);
            tn_put(out, "text", text);
            tn.value->end(out);
        }
        tn_release(text);
    }
    if (open) {
        tn.value->end(out);
        tn.value->end(out);
    }
    return true;
}

bool gemini_put_contents(struct model_call *call, tn_builder *body) {
    const struct gemini *gemini = call->model->own;
    struct contents to = {.call = call, .out = body};
    uint64_t count = tn.value->count(call->messages);
    bool well = true;
    to.wants_signature = strncmp(gemini_short_name(gemini), "gemini-3", 8) == 0;
    tn_put_begin(body, "contents", TN_ARRAY);
    for (uint64_t i = 0; i < count && well;) {
        tn_value message = tn.value->at(call->messages, i);
        char where[48];
        (void)snprintf(where, sizeof where, "messages[%llu]", (unsigned long long)i);
        if (tn_message_is(message, "tool")) {
            i = put_answers(&to, i, &well);
            continue;
        }
        bool model = tn_message_is(message, "ai");
        if (!is_system(message))
            well = put_content(&to, model ? "model" : "user", tn.value->get(message, "content"), where);
        if (model && tn_message_calls(message) != NULL) {
            to.calls = tn_message_calls(message);
            put_calls(&to, to.calls);
        }
        i++;
    }
    leave(&to);
    tn.value->end(body);
    if (well && to.count == 0) {
        model_refuse(call,
                     "there is no message for the model to answer: expected one that is neither of the system nor "
                     "empty");
        well = false;
    }
    return well && put_system(call, body);
}
