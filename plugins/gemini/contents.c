/*
 * contents.c - converts messages to Gemini's contents.
 *
 * The service has two roles: "model", and "user" for all other messages, including the results of tools. Consecutive
 * messages of one role become one content, except that results form a separate content, which must follow the calls.
 * All system and developer messages become the system instruction. Data that must be sent back (a thought's signature,
 * the id of a call, parts without an equivalent) is stored in the `extra` of the part or call that contained it.
 *
 * A result is matched by the id of its call. The id is sent only if the service created it. Without ids the service
 * matches by order, so results are sorted into the order of their calls.
 */
#include "gemini.h"

#include <strings.h>

/*
 * Newer models refuse a step whose first call has no signature. For calls of other models, Google's documentation
 * defines this value instead of a signature.
 */
#define FOREIGN_SIGNATURE "skip_thought_signature_validator"

struct contents {
    struct model_call *call;
    tn_builder *out;
    const char *role; /* of the open content; NULL: no content is open */
    uint64_t count;   /* number of contents */
    tn_value calls;   /* of the newest message with calls, borrowed */
    bool wants_signature;
};

/* Opens a content of this role if it is not open. Roles are "model", "user" and, for results, `answers_role`, which is
 * sent as "user". */
static const char answers_role[] = "answers";

static void contents_open(struct contents *to, const char *role) {
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

static void contents_close(struct contents *to) {
    if (to->role == NULL) return;
    tn.value->end(to->out);
    tn.value->end(to->out);
    to->role = NULL;
}

/* ---- Parts ---- */

/* Writes the signature that is stored with a part or a call. */
static void contents_put_signature(struct contents *to, tn_value holder) {
    tn_value signature = tn_get(model_get_extra(to->call, holder), "thoughtSignature");
    if (tn.value->kind(signature) == TN_STRING) tn_put(to->out, "thoughtSignature", signature);
}

static bool contents_part_has_signature(struct contents *to, tn_value holder) {
    return tn.value->kind(tn_get(model_get_extra(to->call, holder), "thoughtSignature")) == TN_STRING;
}

/* The service refuses an empty text without a signature, so it is left out. */
static void contents_put_text(struct contents *to, const char *role, tn_value text, tn_value part) {
    uint64_t length = 0;
    bool kept = contents_part_has_signature(to, part);
    if ((tn_chars(text, &length) == NULL || length == 0) && !kept) return;
    contents_open(to, role);
    tn.value->begin(to->out, TN_OBJECT);
    if (length > 0)
        tn_put(to->out, "text", text);
    else
        tn_put_text(to->out, "text", "");
    contents_put_signature(to, part);
    tn.value->end(to->out);
}

/* Writes a part of the service that is stored in `extra`, or thoughts that have a signature. Other thoughts are left
 * out. */
static void contents_put_reasoning(struct contents *to, const char *role, tn_value part) {
    tn_value text = tn_get(part, "text"), stored = tn_get(model_get_extra(to->call, part), "part");
    uint64_t length = 0;
    if (tn.value->kind(stored) == TN_OBJECT) {
        contents_open(to, role);
        tn_put(to->out, NULL, stored);
        return;
    }
    if (!contents_part_has_signature(to, part)) return;
    contents_open(to, role);
    tn.value->begin(to->out, TN_OBJECT);
    if (tn_chars(text, &length) != NULL && length > 0) {
        tn_put(to->out, "text", text);
        tn_put_bool(to->out, "thought", 1);
    } else {
        tn_put_text(to->out, "text", "");
    }
    contents_put_signature(to, part);
    tn.value->end(to->out);
}

/* Guesses the media type by the file name's extension. */
static const char *contents_type_from_extension(const char *name) {
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

/* Writes the address of the media. A file_id of the Files API, such as "files/abc", is relative to base_url. */
static void contents_put_uri(struct contents *to, const struct model_media *media) {
    const char *id = tn_chars(media->file_id, NULL);
    char uri[GEMINI_PATH_MAX];
    if (id == NULL || strstr(id, "://") != NULL) {
        tn_put(to->out, "fileUri", id != NULL ? media->file_id : media->url);
        return;
    }
    int length = snprintf(uri, sizeof uri, "%s/%s", to->call->model->base_url, id);
    tn_put_take(to->out, "fileUri", length > 0 && length < (int)sizeof uri ? tn_text(uri) : NULL);
}

/* Writes {inlineData} or {fileData}. Returns false if the call has failed. `where` is "messages[3]", for the error. */
static bool contents_put_media(struct contents *to, const char *role, tn_value part, const char *where) {
    struct model_media media;
    if (!model_media_init(&media, part)) {
        model_fail_request(to->call, "%s: a part of type `%s` has neither url, data (base64, or bytes) nor file_id",
                           where, tn_get_text(part, "type", ""));
        return false;
    }
    const char *type = media.media_type, *name = tn_get_text(part, "name", NULL);
    if (type == NULL) type = contents_type_from_extension(media.url != NULL ? tn_chars(media.url, NULL) : name);
    if (type == NULL) {
        model_fail_request(
            to->call, "%s: a part of type `%s` has no media_type, and it cannot be detected from its content: set it",
            where, tn_get_text(part, "type", ""));
        model_media_finish(&media);
        return false;
    }
    if (role != NULL) contents_open(to, role);
    tn.value->begin(to->out, TN_OBJECT);
    tn_put_begin(to->out, media.data != NULL ? "inlineData" : "fileData", TN_OBJECT);
    tn_put_text(to->out, "mimeType", type);
    if (media.data != NULL)
        tn_put(to->out, "data", media.data);
    else
        contents_put_uri(to, &media);
    tn.value->end(to->out);
    contents_put_signature(to, part);
    tn.value->end(to->out);
    model_media_finish(&media);
    return true;
}

static bool contents_is_media(const char *type) {
    return strcmp(type, "image") == 0 || strcmp(type, "file") == 0 || strcmp(type, "audio") == 0;
}

static bool contents_put_content(struct contents *to, const char *role, tn_value content, const char *where) {
    if (tn.value->kind(content) == TN_STRING) {
        contents_put_text(to, role, content, NULL);
        return true;
    }
    for (uint64_t i = 0, count = tn.value->count(content); i < count; i++) {
        tn_value part = tn.value->at(content, i);
        const char *type = tn_get_text(part, "type", "");
        if (strcmp(type, "text") == 0 || strcmp(type, "refusal") == 0) {
            contents_put_text(to, role, tn_get(part, "text"), part);
        } else if (strcmp(type, "reasoning") == 0) {
            contents_put_reasoning(to, role, part);
        } else if (contents_is_media(type)) {
            /* The models for speech accept only text, so what they have spoken is left out. */
            if (strcmp(role, "model") == 0 && strcmp(type, "audio") == 0 && model_wants(to->call, "audio")) continue;
            if (!contents_put_media(to, role, part, where)) return false;
        } else if (strcmp(type, "source") != 0) {
            model_fail_request(to->call,
                               "%s: unknown part type `%s`; expected text, image, file, audio, reasoning, refusal "
                               "or source",
                               where, type);
            return false;
        }
    }
    return true;
}

/* ---- Calls and their results ---- */

/* Returns the id that this service created for a call. NULL if it created none, or if the call is of another service.
 */
static tn_value contents_get_call_id(struct contents *to, tn_value call) {
    tn_value id = tn_get(model_get_extra(to->call, call), "id");
    return tn.value->kind(id) == TN_STRING ? id : NULL;
}

/* The service requires an object. Other arguments, of calls of other models, become the member `arguments` of one. */
static void contents_put_arguments(struct contents *to, tn_value call) {
    tn_value arguments = tn_call_arguments(call);
    if (tn.value->kind(arguments) == TN_OBJECT) {
        tn_put(to->out, "args", arguments);
    } else {
        tn_put_begin(to->out, "args", TN_OBJECT);
        tn_put(to->out, "arguments", arguments != NULL ? arguments : tn_get(call, "arguments"));
        tn.value->end(to->out);
    }
    tn_release(arguments);
}

static void contents_put_calls(struct contents *to, tn_value calls) {
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++) {
        tn_value call = tn.value->at(calls, i), id = contents_get_call_id(to, call);
        contents_open(to, "model");
        tn.value->begin(to->out, TN_OBJECT);
        tn_put_begin(to->out, "functionCall", TN_OBJECT);
        if (id != NULL) tn_put(to->out, "id", id);
        tn_put_text(to->out, "name", model_tool_name_to_service(to->call, tn_get_text(call, "name", "")));
        contents_put_arguments(to, call);
        tn.value->end(to->out);
        if (contents_part_has_signature(to, call))
            contents_put_signature(to, call);
        else if (i == 0 && to->wants_signature)
            tn_put_text(to->out, "thoughtSignature", FOREIGN_SIGNATURE);
        tn.value->end(to->out);
    }
}

static tn_value contents_call_by_id(tn_value calls, const char *id) {
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++) {
        tn_value call = tn.value->at(calls, i);
        if (strcmp(tn_get_text(call, "id", ""), id) == 0) return call;
    }
    return NULL;
}

/* Finds the call of a result in the newest message with calls, or else in any earlier message. */
static tn_value contents_lookup_call(struct contents *to, const char *id, uint64_t index) {
    tn_value call = contents_call_by_id(to->calls, id);
    while (call == NULL && index-- > 0)
        call = contents_call_by_id(tn_message_calls(tn.value->at(to->call->messages, index)), id);
    return call;
}

/* Writes the content of a result. A text that is a JSON object or array is sent as JSON. */
static void contents_put_output(struct contents *to, const char *key, tn_value content) {
    tn_value text = tn_content_text(content), data = NULL;
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    tn_put_begin(to->out, "response", TN_OBJECT);
    if (chars != NULL && (chars[0] == '{' || chars[0] == '[') &&
        tn.value->from_json(tn.host, chars, length, &data, NULL) == TN_OK)
        tn_put_take(to->out, key, data);
    else
        tn_put(to->out, key, text);
    tn.value->end(to->out);
    tn_release(text);
}

/* Writes the images and files of a result as `parts` of functionResponse. */
static bool contents_put_result_media(struct contents *to, tn_value content, const char *where) {
    bool open = false, ok = true;
    for (uint64_t i = 0, count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0; i < count; i++) {
        tn_value part = tn.value->at(content, i);
        if (!contents_is_media(tn_get_text(part, "type", ""))) continue;
        if (!open) tn_put_begin(to->out, "parts", TN_ARRAY);
        open = true;
        ok = ok && contents_put_media(to, NULL, part, where);
    }
    if (open) tn.value->end(to->out);
    return ok;
}

static bool contents_put_result(struct contents *to, tn_value message, uint64_t index) {
    const char *tool_call_id = tn_get_text(message, "tool_call_id", ""), *name = tn_get_text(message, "name", "");
    tn_value call = contents_lookup_call(to, tool_call_id, index),
             id = call != NULL ? contents_get_call_id(to, call) : NULL;
    tn_value content = tn_get(message, "content");
    char where[48];
    (void)snprintf(where, sizeof where, "messages[%llu]", (unsigned long long)index);
    if (call != NULL) name = tn_get_text(call, "name", name);
    if (name[0] == '\0') {
        model_fail_request(
            to->call,
            "%s answers the call `%s`, which the previous messages do not contain, and has no `name`; expected the "
            "message with that call, or the tool's name",
            where, tool_call_id);
        return false;
    }
    contents_open(to, answers_role);
    tn.value->begin(to->out, TN_OBJECT);
    tn_put_begin(to->out, "functionResponse", TN_OBJECT);
    if (id != NULL) tn_put(to->out, "id", id);
    tn_put_text(to->out, "name", model_tool_name_to_service(to->call, name));
    contents_put_output(to, strcmp(tn_get_text(message, "status", ""), "error") == 0 ? "error" : "output", content);
    bool ok = contents_put_result_media(to, content, where);
    tn.value->end(to->out);
    tn.value->end(to->out);
    return ok;
}

/* Writes the results from `first` on, in the order of the calls, then those without a call. Returns the index after the
 * last result. */
static uint64_t contents_put_results(struct contents *to, uint64_t first, bool *ok) {
    tn_value messages = to->call->messages;
    uint64_t end = first;
    while (tn_message_is(tn.value->at(messages, end), "tool")) end++;
    for (uint64_t c = 0, calls = tn.value->count(to->calls); c < calls && *ok; c++) {
        const char *id = tn_get_text(tn.value->at(to->calls, c), "id", "");
        if (contents_call_by_id(to->calls, id) != tn.value->at(to->calls, c)) continue; /* a duplicate id */
        for (uint64_t i = first; i < end && *ok; i++)
            if (strcmp(tn_get_text(tn.value->at(messages, i), "tool_call_id", ""), id) == 0)
                *ok = contents_put_result(to, tn.value->at(messages, i), i);
    }
    for (uint64_t i = first; i < end && *ok; i++)
        if (contents_call_by_id(to->calls, tn_get_text(tn.value->at(messages, i), "tool_call_id", "")) == NULL)
            *ok = contents_put_result(to, tn.value->at(messages, i), i);
    return end;
}

/* ---- Messages ---- */

static bool contents_is_system(tn_value message) {
    return tn_message_is(message, "system") || tn_message_is(message, "developer");
}

static bool contents_put_system(struct model_call *call, tn_builder *out) {
    bool open = false;
    for (uint64_t i = 0, count = tn.value->count(call->messages); i < count; i++) {
        tn_value message = tn.value->at(call->messages, i), content = tn_get(message, "content");
        if (!contents_is_system(message)) continue;
        for (uint64_t k = 0; tn.value->kind(content) == TN_ARRAY && k < tn.value->count(content); k++) {
            const char *type = tn_get_text(tn.value->at(content, k), "type", "");
            if (strcmp(type, "text") == 0) continue;
            model_fail_request(call, "messages[%llu]: a %s message may contain only text; found a part of type `%s`",
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
    const struct gemini *gemini = call->model->provider_data;
    struct contents to = {.call = call, .out = body};
    uint64_t count = tn.value->count(call->messages);
    bool ok = true;
    to.wants_signature = strncmp(gemini_get_short_name(gemini), "gemini-3", 8) == 0;
    tn_put_begin(body, "contents", TN_ARRAY);
    for (uint64_t i = 0; i < count && ok;) {
        tn_value message = tn.value->at(call->messages, i);
        char where[48];
        (void)snprintf(where, sizeof where, "messages[%llu]", (unsigned long long)i);
        if (tn_message_is(message, "tool")) {
            i = contents_put_results(&to, i, &ok);
            continue;
        }
        bool model = tn_message_is(message, "ai");
        if (!contents_is_system(message))
            ok = contents_put_content(&to, model ? "model" : "user", tn_get(message, "content"), where);
        if (model && tn_message_calls(message) != NULL) {
            to.calls = tn_message_calls(message);
            contents_put_calls(&to, to.calls);
        }
        i++;
    }
    contents_close(&to);
    tn.value->end(body);
    if (ok && to.count == 0) {
        model_fail_request(
            call, "there is no message for the model to answer; expected one that is not empty and not a system "
                  "message");
        ok = false;
    }
    return ok && contents_put_system(call, body);
}
