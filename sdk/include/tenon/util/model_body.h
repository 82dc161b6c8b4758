/*
 * tenon/util/model_body.h - what the body of a model service's error says: its message, its type, and the field of the
 * request that it is about. tenon/util/model_error.h uses it.
 *
 * Services, their proxies and compatible servers use many shapes. These are read, at any of the usual places:
 *     {error: {message, type, code, param}}   {error: "text"}   [{error: …}]   {errors: [text or object, …]}
 *     {message, type?, code?}   {Message}   {detail: "text"}   {detail: [{loc, msg}]}   {title, detail, type}
 *     {error: {message, status, details: [{fieldViolations: [{field, description}]}]}}
 * Of any other JSON the text is used; of HTML its title, or else its text without tags; of other text its beginning.
 *
 *     struct tn_model_body body;
 *     tn_model_body_read(&body, text, length);
 *     use(tn_text_chars(&body.message), tn_text_chars(&body.field));
 *     tn_model_body_free(&body);
 *
 * The texts are valid UTF-8 without control characters, on one line. They may contain keys: tn_model_error hides those.
 * Thread: any.
 */
#ifndef TENON_UTIL_MODEL_BODY_H
#define TENON_UTIL_MODEL_BODY_H

#include <stdbool.h>
#include <tenon/easy.h>
#include <tenon/util/text.h>
#include <tenon/util/utf8.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_MODEL_BODY_TEXT_MAX 4096  /* bytes of the message that are kept */
#define TN_MODEL_BODY_READ_MAX 65536 /* bytes of a body that is not JSON, of which are read */
#define TN_MODEL_BODY_NAME_MAX 200   /* bytes of the type and of the field */
#define TN_MODEL_BODY_ITEMS    4     /* errors of a list that are read */

struct tn_model_body {
    struct tn_text_buffer message; /* empty: the body says nothing */
    struct tn_text_buffer type;    /* the service's word for the error, such as "insufficient_quota", or empty */
    struct tn_text_buffer field;   /* of the request: "messages[0].content", or empty */
    bool is_known;                 /* the body had one of the shapes above; false: the message is its text */
};

static inline void tn_model_body_free(struct tn_model_body *body) {
    tn_text_free(&body->message);
    tn_text_free(&body->type);
    tn_text_free(&body->field);
}

/* ---- Texts ------------------------------------------------------------------------------------------------------ */

/*
 * True for characters that a terminal or a log must not receive from a stranger: control characters, line and paragraph
 * separators, and the marks that change the direction of the text around them.
 */
static inline bool tn_model_is_unsafe(uint32_t code_point) {
    return code_point < 0x20 || (code_point >= 0x7F && code_point <= 0x9F) || code_point == 0x2028 ||
           code_point == 0x2029 || (code_point >= 0x202A && code_point <= 0x202E) ||
           (code_point >= 0x2066 && code_point <= 0x2069) || code_point == 0x200E || code_point == 0x200F ||
           code_point == 0xFEFF;
}

/*
 * Appends a text of a stranger: unsafe characters and runs of white space become one space, and malformed UTF-8 becomes
 * U+FFFD. At most `most` bytes are in the buffer afterwards; returns false if the text was cut.
 */
static inline bool tn_model_append_safe(struct tn_text_buffer *out, const char *text, uint64_t length, uint64_t most) {
    uint64_t size = 0;
    for (uint64_t at = 0; at < length; at += size) {
        const char *piece = text + at;
        uint32_t code_point = 0;
        uint64_t shown;
        size = tn_utf8_decode(piece, length - at, &code_point);
        shown = size;
        if (size == 0) {
            size = tn_utf8_malformed_size(piece, length - at);
            piece = "\xEF\xBF\xBD";
            shown = 3;
        } else if (code_point == ' ' || tn_model_is_unsafe(code_point)) {
            if (out->length == 0 || tn_text_chars(out)[out->length - 1] == ' ') continue;
            piece = " ";
            shown = 1;
        }
        if (out->length + shown > most) return false;
        if (tn_text_append_n(out, piece, shown) != TN_OK) return false;
    }
    if (out->length > 0 && out->bytes[out->length - 1] == ' ') out->bytes[--out->length] = '\0';
    return true;
}

/* Appends a text or a number; other values are ignored. */
static inline void tn_model_append_word(struct tn_text_buffer *out, tn_value value, uint64_t most) {
    uint64_t length = 0;
    int64_t number = 0;
    const char *text = tn_chars(value, &length);
    if (text != NULL)
        (void)tn_model_append_safe(out, text, length, most);
    else if (tn.value->kind(value) == TN_INT && tn.value->as_int(value, &number) == TN_OK)
        (void)tn_text_append_format(out, "%lld", TN_UTIL_CAST(long long, number));
}

/* ---- The field of the request ----------------------------------------------------------------------------------- */

/* The length of a path such as `messages.0.content`, `messages[0].role` or `max_tokens` at the start of the text. */
static inline uint64_t tn_model_path_length(const char *text, uint64_t length) {
    uint64_t at = 0;
    if (length == 0 || !((text[0] >= 'a' && text[0] <= 'z') || text[0] == '_')) return 0;
    while (at < length && at < TN_MODEL_BODY_NAME_MAX) {
        char c = text[at];
        bool is_part = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                       c == '.' || c == '[' || c == ']' || c == '$';
        if (!is_part) break;
        at++;
    }
    while (at > 0 && text[at - 1] == '.') at--;
    return at;
}

/*
 * A path in a message: before the first colon ("messages.0.content: Input should be…"), or in quotes if it has a dot or
 * a bracket ("Invalid value for 'messages[0].role'").
 */
static inline void tn_model_field_in_text(struct tn_text_buffer *out, const char *text, uint64_t length) {
    uint64_t size = tn_model_path_length(text, length);
    bool is_path =
        memchr(text, '.', size) != NULL || memchr(text, '[', size) != NULL || memchr(text, '_', size) != NULL;
    if (size > 0 && size + 1 < length && text[size] == ':' && text[size + 1] == ' ' && is_path) {
        (void)tn_text_append_n(out, text, size);
        return;
    }
    for (uint64_t at = 0; at + 2 < length; at++) {
        if (text[at] != '\'' && text[at] != '"' && text[at] != '`') continue;
        size = tn_model_path_length(text + at + 1, length - at - 1);
        if (size == 0 || at + 1 + size >= length || text[at + 1 + size] != text[at]) continue;
        is_path = memchr(text + at + 1, '[', size) != NULL;
        for (uint64_t i = 0; i + 1 < size && !is_path; i++)
            is_path = text[at + 1 + i] == '.' && text[at + 2 + i] >= '0' && text[at + 2 + i] <= '9';
        if (!is_path) continue;
        (void)tn_text_append_n(out, text + at + 1, size);
        return;
    }
}

/* FastAPI's `loc`: ["body", "messages", 0, "content"]. The first item only says that it is in the body. */
static inline void tn_model_field_of_loc(struct tn_text_buffer *out, tn_value loc) {
    uint64_t count = tn.value->kind(loc) == TN_ARRAY ? tn.value->count(loc) : 0;
    for (uint64_t i = 0; i < count && out->length < TN_MODEL_BODY_NAME_MAX; i++) {
        tn_value item = tn.value->at(loc, i);
        const char *word = tn_chars(item, NULL);
        if (i == 0 && count > 1 && word != NULL && strcmp(word, "body") == 0) continue;
        if (out->length > 0) (void)tn_text_append_char(out, '.');
        tn_model_append_word(out, item, TN_MODEL_BODY_NAME_MAX);
    }
}

/* Google's details: [{fieldViolations: [{field, description}]}]. */
static inline void tn_model_field_of_details(struct tn_text_buffer *out, tn_value details) {
    uint64_t count = tn.value->kind(details) == TN_ARRAY ? tn.value->count(details) : 0;
    for (uint64_t i = 0; i < count && out->length == 0; i++) {
        tn_value violations = tn_get(tn.value->at(details, i), "fieldViolations");
        if (tn.value->kind(violations) == TN_ARRAY)
            tn_model_append_word(out, tn_get(tn.value->at(violations, 0), "field"), TN_MODEL_BODY_NAME_MAX);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------------------------- */

static inline bool tn_model_is_text(tn_value value) {
    uint64_t length = 0;
    return tn_chars(value, &length) != NULL && length > 0;
}

static inline tn_value tn_model_first_text(tn_value object, const char *const *names) {
    for (; *names != NULL; names++)
        if (tn_model_is_text(tn_get(object, *names))) return tn_get(object, *names);
    return NULL;
}

/* Appends one error: a text, or an object with a message. Returns false if it says nothing. */
static inline bool tn_model_body_read_one(struct tn_model_body *out, tn_value error) {
    static const char *const messages[] = {"message", "msg",   "Message",           "error_message", "detail",
                                           "reason",  "title", "error_description", "description",   NULL};
    static const char *const types[] = {"code", "type", "status", "__type", "error_type", NULL};
    tn_value text = tn_model_is_text(error) ? error : tn_model_first_text(error, messages);
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    if (chars == NULL) return false;
    if (out->message.length > 0) (void)tn_text_append(&out->message, "; ");
    if (out->field.length == 0) tn_model_field_of_loc(&out->field, tn_get(error, "loc"));
    if (out->field.length == 0) tn_model_append_word(&out->field, tn_get(error, "param"), TN_MODEL_BODY_NAME_MAX);
    if (out->field.length == 0) tn_model_append_word(&out->field, tn_get(error, "field"), TN_MODEL_BODY_NAME_MAX);
    if (out->field.length == 0) tn_model_field_of_details(&out->field, tn_get(error, "details"));
    if (out->field.length == 0) tn_model_field_in_text(&out->field, chars, length);
    if (out->type.length == 0)
        tn_model_append_word(&out->type, tn_model_first_text(error, types), TN_MODEL_BODY_NAME_MAX);
    (void)tn_model_append_safe(&out->message, chars, length, TN_MODEL_BODY_TEXT_MAX);
    return true;
}

static inline bool tn_model_body_read_value(struct tn_model_body *out, tn_value value, int32_t depth);

static inline bool tn_model_body_read_list(struct tn_model_body *out, tn_value list, int32_t depth) {
    bool any = false;
    uint64_t count = tn.value->kind(list) == TN_ARRAY ? tn.value->count(list) : 0;
    for (uint64_t i = 0; i < count && i < TN_MODEL_BODY_ITEMS; i++)
        any = tn_model_body_read_value(out, tn.value->at(list, i), depth + 1) || any;
    return any;
}

/* Reads a value of one of the known shapes. Returns false if it says nothing. */
static inline bool tn_model_body_read_value(struct tn_model_body *out, tn_value value, int32_t depth) {
    static const char *const inside[] = {"error", "errors", "detail", "message", NULL};
    if (depth > 4) return false;
    if (tn.value->kind(value) == TN_ARRAY) return tn_model_body_read_list(out, value, depth);
    if (tn.value->kind(value) == TN_STRING) return tn_model_body_read_one(out, value);
    if (tn.value->kind(value) != TN_OBJECT) return false;
    for (const char *const *name = inside; *name != NULL; name++) {
        tn_value inner = tn_get(value, *name);
        int32_t kind = tn.value->kind(inner);
        if ((kind == TN_OBJECT || kind == TN_ARRAY) && tn_model_body_read_value(out, inner, depth + 1)) return true;
    }
    /* {error: "text"}; {error: "invalid_request", message: "text"} has the text in `message`. */
    if (tn_model_is_text(tn_get(value, "error")) && !tn_model_is_text(tn_get(value, "message")) &&
        !tn_model_is_text(tn_get(value, "error_description")) && !tn_model_is_text(tn_get(value, "detail"))) {
        static const char *const types[] = {"code", "type", NULL};
        tn_model_append_word(&out->type, tn_model_first_text(value, types), TN_MODEL_BODY_NAME_MAX);
        return tn_model_body_read_one(out, tn_get(value, "error"));
    }
    return tn_model_body_read_one(out, value);
}

/* ---- HTML and other text ---------------------------------------------------------------------------------------- */

/* Compares without regard to the case of ASCII letters; `word` is lower-case. */
static inline bool tn_model_starts_with(const char *text, uint64_t length, const char *word) {
    uint64_t size = strlen(word);
    if (size > length) return false;
    for (uint64_t i = 0; i < size; i++) {
        char c = text[i];
        if (c >= 'A' && c <= 'Z') c = TN_UTIL_CAST(char, c - 'A' + 'a');
        if (c != word[i]) return false;
    }
    return true;
}

/* The position of `word` at or after `at`, or `length`. */
static inline uint64_t tn_model_find_word(const char *text, uint64_t length, uint64_t at, const char *word) {
    while (at < length && !tn_model_starts_with(text + at, length - at, word)) at++;
    return at;
}

/* Appends the text between tags; what is in `script` and `style` is left out. */
static inline void tn_model_append_html(struct tn_text_buffer *out, const char *text, uint64_t length) {
    struct tn_text_buffer plain = TN_TEXT_BUFFER(0);
    for (uint64_t at = 0; at < length && plain.length < TN_MODEL_BODY_TEXT_MAX;) {
        if (text[at] != '<') {
            (void)tn_text_append_char(&plain, text[at++]);
            continue;
        }
        if (tn_model_starts_with(text + at, length - at, "<script"))
            at = tn_model_find_word(text, length, at, "</script");
        else if (tn_model_starts_with(text + at, length - at, "<style"))
            at = tn_model_find_word(text, length, at, "</style");
        else if (tn_model_starts_with(text + at, length - at, "<!--"))
            at = tn_model_find_word(text, length, at, "-->");
        while (at < length && text[at] != '>') at++;
        at += at < length;
        (void)tn_text_append_char(&plain, ' ');
    }
    (void)tn_model_append_safe(out, tn_text_chars(&plain), plain.length, TN_MODEL_BODY_TEXT_MAX);
    tn_text_free(&plain);
}

static inline void tn_model_body_read_text(struct tn_model_body *out, const char *text, uint64_t length) {
    uint64_t start = 0, title, end;
    if (length > TN_MODEL_BODY_READ_MAX) length = TN_MODEL_BODY_READ_MAX;
    while (start < length && (text[start] == ' ' || (text[start] >= '\t' && text[start] <= '\r'))) start++;
    if (start == length || text[start] != '<') {
        (void)tn_model_append_safe(&out->message, text, length, TN_MODEL_BODY_TEXT_MAX);
        return;
    }
    title = tn_model_find_word(text, length, 0, "<title");
    end = tn_model_find_word(text, length, title, "</title");
    if (end < length) tn_model_append_html(&out->message, text + title, end - title);
    if (out->message.length == 0) tn_model_append_html(&out->message, text, length);
}

/* ---- A body ----------------------------------------------------------------------------------------------------- */

/*
 * Reads the value of a body that was JSON. If it has none of the known shapes, the message is its text. `body` is
 * initialised; free it with tn_model_body_free.
 */
static inline void tn_model_body_read_json(struct tn_model_body *body, tn_value json) {
    static const struct tn_text_buffer empty = TN_TEXT_BUFFER(0);
    body->message = body->type = body->field = empty;
    body->is_known = tn_model_body_read_value(body, json, 0);
    if (!body->is_known && tn.value->kind(json) > TN_NULL) {
        tn_value text = tn_to_json(json);
        uint64_t length = 0;
        const char *chars = tn_chars(text, &length);
        if (chars != NULL) (void)tn_model_append_safe(&body->message, chars, length, TN_MODEL_BODY_TEXT_MAX);
        tn_release(text);
    }
}

/* The same for bytes as they were received. `text` may be NULL if `length` is 0. */
static inline void tn_model_body_read(struct tn_model_body *body, const char *text, uint64_t length) {
    tn_value json = length > 0 ? tn_from_json(text, length) : NULL;
    tn_model_body_read_json(body, json);
    if (json == NULL && length > 0) tn_model_body_read_text(body, text, length);
    tn_release(json);
}

#ifdef __cplusplus
}
#endif
#endif
