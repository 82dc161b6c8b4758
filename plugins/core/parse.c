/*
 * parse.c - `parse`: what a model answered, as a text or as JSON that fits a schema.
 *
 * The channel may hold a text, one message, or a list of messages: of a list, the last message from the model counts.
 * Models like to wrap JSON in a fenced block, so the inside of one that spans the whole answer, or of the first one
 * marked `json`, is taken. Nothing else is guessed at.
 */
#include "core.h"

struct parse {
    uint32_t input, output, schema; /* schema: TN_UNBOUND where none */
    int32_t json;
};

static int32_t parse_create(tn_value config, tn_binder *binder, void **self) {
    tn_value schema = tn.value->get(config, "schema");
    int32_t status = schema != NULL ? core_needs(tn.eval, binder, TN_EVAL_DRAFT) : TN_OK;
    if (status != TN_OK) return status;
    struct parse *parse = core_alloc(sizeof(*parse));
    if (parse == NULL) return TN_NO_MEMORY;
    parse->json = strcmp(tn_get_text(config, "as", "json"), "json") == 0;
    parse->schema = TN_UNBOUND;
    if (schema != NULL && !parse->json) status = core_refuse(binder, "`schema` is for `as: json`; a text has none");
    if (status == TN_OK) status = tn.task->bind_read(binder, tn_get_text(config, "input_key", ""), &parse->input);
    if (status == TN_OK) status = tn.task->bind_write(binder, tn_get_text(config, "output_key", ""), &parse->output);
    if (status == TN_OK && schema != NULL) status = tn.eval->bind_schema(binder, schema, &parse->schema);
    if (status == TN_OK)
        *self = parse;
    else
        core_free(parse);
    return status;
}

static int32_t from_model(tn_value message) {
    const char *type = tn_get_text(message, "type", tn_get_text(message, "role", ""));
    return strcmp(type, "ai") == 0 || strcmp(type, "assistant") == 0;
}

/* Borrowed: the message whose text counts, or the text itself; NULL where there is none. */
static tn_value find_message(tn_value from) {
    if (tn.value->kind(from) != TN_ARRAY) return from;
    for (uint64_t i = tn.value->count(from); i-- > 0;) {
        tn_value message = tn.value->at(from, i);
        if (from_model(message)) return message;
    }
    return NULL;
}

/* The text of content parts, put together. One reference; NULL without memory. */
static tn_value join_parts(tn_value parts) {
    uint64_t count = tn.value->count(parts), size = 0, used = 0, length;
    for (uint64_t i = 0; i < count; i++)
        if (tn_chars(tn.value->get(tn.value->at(parts, i), "text"), &length) != NULL) size += length;
    char *text = core_alloc(size + 1);
    if (text == NULL) return NULL;
    for (uint64_t i = 0; i < count; i++) {
        const char *part = tn_chars(tn.value->get(tn.value->at(parts, i), "text"), &length);
        if (part == NULL) continue;
        memcpy(text + used, part, length);
        used += length;
    }
    tn_value joined = tn_text_n(text, used);
    core_free(text);
    return joined;
}

/* One reference to a string; NULL where `from` holds no text. */
static tn_value find_text(tn_value from) {
    tn_value found = find_message(from);
    if (tn.value->kind(found) == TN_OBJECT) found = tn.value->get(found, "content");
    if (tn.value->kind(found) == TN_STRING) return tn_retain(found);
    return tn.value->kind(found) == TN_ARRAY && found != from ? join_parts(found) : NULL;
}

static const char *find_bytes(const char *text, const char *end, const char *wanted) {
    size_t length = strlen(wanted);
    for (; (size_t)(end - text) >= length; text++)
        if (memcmp(text, wanted, length) == 0) return text;
    return NULL;
}

static int is_blank(char byte) { return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n'; }

/* Narrows [*text, *end) to the inside of a fenced block, where there is one. */
static void unwrap(const char **text, const char **end) {
    while (*text < *end && is_blank(**text)) ++*text;
    while (*text < *end && is_blank((*end)[-1])) --*end;
    const char *fence = find_bytes(*text, *end, "```json");
    if (fence == NULL && *end - *text >= 3 && memcmp(*text, "```", 3) == 0) fence = *text;
    if (fence == NULL || **text == '{' || **text == '[') return;
    const char *start = memchr(fence, '\n', (size_t)(*end - fence));
    const char *stop = start != NULL ? find_bytes(start, *end, "\n```") : NULL;
    if (stop == NULL) return;
    *text = start + 1;
    *end = stop > start ? stop : start + 1;
}

/* One reference; NULL: the task has been failed. */
static tn_value parse_json(const struct parse *parse, tn_task task, tn_value text) {
    uint64_t length;
    const char *start = tn_chars(text, &length), *end = start + length;
    tn_value result = NULL, error = NULL;
    unwrap(&start, &end);
    if (tn.value->from_json(start, (uint64_t)(end - start), &result) != TN_OK) {
        char message[192];
        int shown = end - start > 60 ? 60 : (int)(end - start);
        while (shown > 0 && shown < end - start && ((unsigned char)start[shown] & 0xc0u) == 0x80u) shown--;
        (void)snprintf(message, sizeof(message), "JSON was expected, and the text is none; it begins `%.*s`", shown,
                       start);
        (void)tn_fail(task, "PARSE", message);
        return NULL;
    }
    if (parse->schema == TN_UNBOUND) return result;
    int32_t status = tn.eval->validate(task, parse->schema, result, &error);
    if (status == TN_OK) return result;
    (void)core_fail_with(task, status, error, "PARSE");
    tn_release(error);
    tn_release(result);
    return NULL;
}

static int32_t parse_start(void *self, tn_task task, tn_value input) {
    const struct parse *parse = self;
    (void)input;
    tn_value from = tn_read(task, parse->input), text = find_text(from);
    if (text == NULL) {
        char message[160];
        (void)snprintf(message, sizeof(message),
                       "a text, a message or a list with a message from the model was expected; found %s%s",
                       tn_kind_name(from), tn.value->kind(from) == TN_ARRAY ? " without one" : "");
        tn_release(from);
        return tn_fail(task, "PARSE", message);
    }
    tn_release(from);
    tn_value result = parse->json ? parse_json(parse, task, text) : tn_retain(text);
    tn_release(text);
    if (result == NULL) return TN_FAILED; /* the task has been failed */
    int32_t status = tn_write_take(task, parse->output, result);
    return status == TN_OK ? tn_done(task) : status;
}

TN_COMPONENT(parse, "parse", parse_create, parse_start, NULL, NULL, core_free)
