/*
 * parse.c - `parse`: reads the answer of a model, as a text or as JSON that can be checked against a schema.
 *
 * The channel may hold a text, one message, or a list of messages, of which the last one from the model is read. Models
 * often wrap JSON in a fenced block. If the text does not start with { or [, the content of the first fence marked
 * `json` is used, or else that of a fence at the start of the text. Other text around the JSON is an error.
 */
#include "core.h"
#include <tenon/util/utf8.h>

struct parse {
    uint32_t input, output, schema; /* schema: TN_UNBOUND if there is no schema */
    int32_t json;
};

static int32_t parse_create(tn_value config, tn_binder *binder, void **self) {
    tn_value schema = tn_get(config, "schema");
    struct parse *parse = core_alloc_zeroed(sizeof(*parse));
    if (parse == NULL) return TN_NO_MEMORY;
    parse->json = strcmp(tn_get_text(config, "as", "json"), "json") == 0;
    parse->schema = TN_UNBOUND;
    int32_t status = TN_OK;
    if (schema != NULL && !parse->json) status = core_refuse("`schema` requires `as: json`; a text is not checked");
    if (status == TN_OK) status = tn.task->bind_read(binder, tn_get_text(config, "input_key", ""), TN_Z, &parse->input);
    if (status == TN_OK)
        status = tn.task->bind_write(binder, tn_get_text(config, "output_key", ""), TN_Z, &parse->output);
    if (status == TN_OK && schema != NULL) status = tn.eval->bind_schema(binder, schema, &parse->schema);
    if (status == TN_OK)
        *self = parse;
    else
        core_release(parse);
    return status;
}

static int32_t parse_is_from_model(tn_value message) {
    const char *type = tn_get_text(message, "type", tn_get_text(message, "role", ""));
    return strcmp(type, "ai") == 0 || strcmp(type, "assistant") == 0;
}

/* Returns `from`, or the last message from the model if it is a list. Borrowed; NULL if the list has no such message.
 */
static tn_value parse_find_message(tn_value from) {
    if (tn.value->kind(from) != TN_ARRAY) return from;
    for (uint64_t i = tn.value->count(from); i-- > 0;) {
        tn_value message = tn.value->at(from, i);
        if (parse_is_from_model(message)) return message;
    }
    return NULL;
}

/* Returns the concatenated text of the content parts (a new reference). NULL if allocation fails. */
static tn_value parse_join_parts(tn_value parts) {
    uint64_t count = tn.value->count(parts), size = 0, used = 0, length;
    for (uint64_t i = 0; i < count; i++)
        if (tn_chars(tn_get(tn.value->at(parts, i), "text"), &length) != NULL) size += length;
    char *text = core_alloc_zeroed(size + 1);
    if (text == NULL) return NULL;
    for (uint64_t i = 0; i < count; i++) {
        const char *part = tn_chars(tn_get(tn.value->at(parts, i), "text"), &length);
        if (part == NULL) continue;
        memcpy(text + used, part, length);
        used += length;
    }
    tn_value joined = tn_text_n(text, used);
    core_release(text);
    return joined;
}

/* Returns a new reference to a string. NULL if `from` contains no text. */
static tn_value parse_find_text(tn_value from) {
    tn_value found = parse_find_message(from);
    if (tn.value->kind(found) == TN_OBJECT) found = tn_get(found, "content");
    if (tn.value->kind(found) == TN_STRING) return tn_retain(found);
    return tn.value->kind(found) == TN_ARRAY && found != from ? parse_join_parts(found) : NULL;
}

static const char *parse_find_bytes(const char *text, const char *end, const char *wanted) {
    size_t length = strlen(wanted);
    for (; (size_t)(end - text) >= length; text++)
        if (memcmp(text, wanted, length) == 0) return text;
    return NULL;
}

static int parse_is_blank(char byte) { return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n'; }

/* Narrows [*text, *end) to the content of a fenced block, if there is one. */
static void parse_strip_fence(const char **text, const char **end) {
    while (*text < *end && parse_is_blank(**text)) ++*text;
    while (*text < *end && parse_is_blank((*end)[-1])) --*end;
    const char *fence = parse_find_bytes(*text, *end, "```json");
    if (fence == NULL && *end - *text >= 3 && memcmp(*text, "```", 3) == 0) fence = *text;
    if (fence == NULL || **text == '{' || **text == '[') return;
    const char *start = memchr(fence, '\n', (size_t)(*end - fence));
    const char *stop = start != NULL ? parse_find_bytes(start, *end, "\n```") : NULL;
    if (stop == NULL) return;
    *text = start + 1;
    *end = stop > start ? stop : start + 1;
}

/* Returns a new reference. NULL if the task has failed. */
static tn_value parse_json(const struct parse *parse, tn_task task, tn_value text) {
    uint64_t length;
    const char *start = tn_chars(text, &length), *end = start + length;
    tn_value result, error = NULL;
    parse_strip_fence(&start, &end);
    result = tn_from_json(start, (uint64_t)(end - start));
    if (result == NULL) {
        char message[192];
        int shown = (int)tn_utf8_cut(start, (uint64_t)(end - start), 60);
        (void)snprintf(message, sizeof(message), "expected JSON; found a text that starts with `%.*s`", shown, start);
        (void)tn_fail(task, "PARSE", message);
        return NULL;
    }
    if (parse->schema == TN_UNBOUND) return result;
    int32_t status = tn.eval->validate(task, parse->schema, result, &error);
    if (status == TN_OK) return result;
    if (status == TN_FAILED)
        (void)tn_fail_take(task, error);
    else
        (void)tn_fail(task, "PARSE", "the JSON could not be checked against the schema");
    tn_release(result);
    return NULL;
}

static int32_t parse_start(void *self, tn_task task, tn_value input) {
    const struct parse *parse = self;
    (void)input;
    tn_value from = tn_read(task, parse->input), text = parse_find_text(from);
    if (text == NULL) {
        char message[160];
        (void)snprintf(message, sizeof(message),
                       "expected a text, a message or a list with a message from the model; found %s%s",
                       tn_kind_name(from), tn.value->kind(from) == TN_ARRAY ? " without one" : "");
        tn_release(from);
        return tn_fail(task, "PARSE", message);
    }
    tn_release(from);
    tn_value result = parse->json ? parse_json(parse, task, text) : tn_retain(text);
    tn_release(text);
    if (result == NULL) return TN_FAILED; /* the task has already failed */
    int32_t status = tn_write_take(task, parse->output, result);
    return status == TN_OK ? tn_done(task) : status;
}

TN_COMPONENT(parse, "parse", parse_create, parse_start, NULL, NULL, core_release)
