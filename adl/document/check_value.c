/*
 * check_value.c - checks values of the document against JSON Schemas, and reports every error at its place in the text.
 *
 * The schema names a place by a JSON Pointer into the value; the tree maps it to the text. Most values are valid, which
 * is checked first without an allocation.
 */
#include "adl/document/config.h"
#include "adl/document/reader.h"
#include "adl/schema/schema.h"
#include "adl/value/buffer.h"
#include <stdio.h>
#include <string.h>

#define TOKEN_MAX 1024u

/* Unescapes the pointer's next token into `out`; returns its length, or SIZE_MAX if it is too long. */
static size_t next_token(const char **pointer, char out[TOKEN_MAX]) {
    size_t length = 0;
    const char *at = *pointer + 1;
    for (; *at && *at != '/'; at++) {
        char character = *at;
        if (character == '~' && (at[1] == '0' || at[1] == '1')) character = *++at == '0' ? '~' : '/';
        if (length == TOKEN_MAX) return SIZE_MAX;
        out[length++] = character;
    }
    *pointer = at;
    return length;
}

const struct tree_node *find_pointer(const struct tree_node *node, const char *pointer, const struct tree_item **item) {
    *item = NULL;
    while (node && *pointer == '/') {
        char token[TOKEN_MAX];
        size_t length = next_token(&pointer, token);
        if (length == SIZE_MAX) return NULL;
        *item = NULL;
        if (node->kind == TN_OBJECT) {
            *item = tree_find_n(node, token, length);
        } else if (node->kind == TN_ARRAY && length < 10) {
            uint32_t index = 0;
            for (size_t i = 0; i < length; i++) index = index * 10 + (uint32_t)(token[i] - '0');
            if (index < node->count) *item = &node->items[index];
        }
        node = *item ? (*item)->node : NULL;
    }
    return node;
}

/* "config.messages[2].content" of "/messages/2/content". */
static void path_of_pointer(const char *path, const char *pointer, char *out, size_t size) {
    struct buffer text;
    buffer_init(&text, size - 1);
    buffer_text(&text, path);
    while (*pointer == '/' && !text.overflow) {
        char token[TOKEN_MAX];
        size_t length = next_token(&pointer, token);
        if (length == SIZE_MAX) break;
        if (length > 0 && strspn(token, "0123456789") >= length)
            buffer_format(&text, "[%.*s]", (int)length, token);
        else
            buffer_format(&text, "%s%.*s", text.length ? "." : "", (int)length, token);
    }
    snprintf(out, size, "%s", buffer_cstr(&text));
    buffer_finish(&text);
}

const char *where_in_config(const struct reader *reader, uint32_t node, const char *pointer, char out[256]) {
    char path[128];
    path_of_pointer("config", pointer, path, sizeof path);
    snprintf(out, 256, "`%s` of node `%.80s`", path, value_chars(reader->document->nodes[node].id, NULL));
    return out;
}

/* ---- Plain scalars where text is wanted ---- */

static bool wants_text(const struct schema_error *error) {
    if (strcmp(error->keyword, "type") != 0 || !error->expected) return false;
    if (value_text_is(error->expected, "string")) return true;
    for (size_t i = 0; value_is(error->expected, TN_ARRAY) && i < value_count(error->expected); i++)
        if (value_text_is(value_at(error->expected, i), "string")) return true;
    return false;
}

/* Replaces `1.0`, `5` and `true` by their text where a string is required. Returns true if a value was changed. */
static bool keep_texts(const struct reader *reader, const struct value_check *check, const struct schema_errors *errors,
                       tn_value *value) {
    bool changed = false;
    for (size_t i = 0; i < errors->count; i++) {
        const struct schema_error *error = &errors->items[i];
        const struct tree_item *item;
        if (error->on_key || !wants_text(error) || !check->node) continue;
        const struct tree_node *node = find_pointer(check->node, error->pointer, &item);
        if (!node || node->style != TREE_PLAIN || node->kind == TN_STRING) continue;
        tn_value text = tree_to_string(reader->tree, node);
        if (!text) continue;
        *value = config_replace_take(*value, error->pointer, text);
        changed = true;
    }
    return changed;
}

/* ---- Reporting ---- */

/* True if the missing property exists under a mistyped name that was reported. */
static bool missing_is_mistyped(const struct schema_errors *errors, const struct schema_error *missing) {
    for (size_t i = 0; i < errors->count; i++) {
        const struct schema_error *error = &errors->items[i];
        if (error->on_key && error->suggestion && value_text_is(missing->expected, error->suggestion)) return true;
    }
    return false;
}

int message_length(const char *message, const char *suggestion) {
    const char *last = suggestion ? strstr(message, "; did you mean ") : NULL;
    return last ? (int)(last - message) : (int)strlen(message);
}

/* "`config.model` of node `judge`" */
static void value_check_describe(const struct value_check *check, const char *pointer, char out[256]) {
    char path[160];
    path_of_pointer(check->path, pointer, path, sizeof path);
    if (*path)
        snprintf(out, 256, "`%s` of %.90s", path, check->of);
    else
        snprintf(out, 256, "%.200s", check->of);
}

static void report_missing_member(struct reader *reader, const struct value_check *check,
                                  const struct schema_error *error, struct span span) {
    char where[256];
    value_check_describe(check, error->pointer, where);
    report(reader, check->missing, span, "%s has no `%s`, which %s requires", where,
           value_is(error->expected, TN_STRING) ? value_chars(error->expected, NULL) : "?",
           check->type ? check->type : "its schema");
}

#define FLOW_SHOWN_MAX 60u /* bytes of a value in brackets that a suggestion repeats */

/* A list, or a key without a value, in the place of a text is probably a text without quotes: `[draft]`, `{name}`. */
static void suggest_text_in_quotes(const struct reader *reader, struct diagnostic *it, const struct tree_node *node) {
    if (node->style != TREE_FLOW || tree_name_is_json(source_name(reader->source))) return;
    if (node->kind == TN_OBJECT &&
        (node->count != 1 || node->items[0].node->span.start < node->items[0].node->span.end))
        return;
    const char *text = source_text(reader->source) + node->span.start;
    size_t length = node->span.end - node->span.start;
    bool plain = length <= FLOW_SHOWN_MAX && !memchr(text, '"', length) && !memchr(text, '\n', length);
    if (plain)
        diagnostic_suggest(it, "if it is a text, put it in quotes: \"%.*s\"", (int)length, text);
    else
        diagnostic_suggest(it, "if it is a text, put it in quotes");
}

/* `{openai: gpt-4o}` and `{provider: openai, name: gpt-4o}` in the place of `openai:gpt-4o`. */
static void suggest_joined_text(struct reader *reader, struct diagnostic *it, const struct tree_node *node) {
    if (node->kind != TN_OBJECT || it->suggestion) return;
    const struct tree_node *first = tree_get(node, "provider"), *second = tree_get(node, "name");
    if (!second) second = tree_get(node, "model");
    size_t first_length = 0, second_length = 0;
    const char *one = first ? tree_text(reader->tree, first, &first_length) : NULL;
    const char *two = second ? tree_text(reader->tree, second, &second_length) : NULL;
    if (node->count == 1) { /* only a provider is followed by a colon */
        one = value_chars(node->items[0].key, &first_length);
        two = tree_text(reader->tree, node->items[0].node, &second_length);
        if (!provider_known(reader, one, first_length)) return;
    }
    if (!one || !two || !second_length || first_length + second_length > FLOW_SHOWN_MAX) return;
    if (node->count == 1)
        diagnostic_suggest(it, "if it is a text, write it without a space after the colon: %.*s:%.*s",
                           (int)first_length, one, (int)second_length, two);
    else
        diagnostic_suggest(it, "write it as one text: %.*s:%.*s", (int)first_length, one, (int)second_length, two);
}

/* A part that could not be read was reported, and is not in the value. */
static bool has_broken_item(const struct tree_node *node) {
    for (uint32_t i = 0; (node->kind == TN_OBJECT || node->kind == TN_ARRAY) && i < node->count; i++)
        if (node->items[i].node->kind == TREE_BROKEN) return true;
    return false;
}

/* An unknown property may belong one level deeper, such as `temperature` in `options`. */
static void suggest_inner_property(struct diagnostic *it, const struct value_check *check,
                                   const struct schema_error *error) {
    const char *name = error->pointer + 1;
    if (it->suggestion || *error->pointer != '/' || strchr(name, '/')) return;
    tn_value properties = value_get(schema_document(check->schema), "properties");
    if (strcmp(name, "name") == 0 && value_get(properties, "model")) diagnostic_suggest(it, "did you mean `model`?");
    if (it->suggestion) return;
    for (size_t i = 0; value_is(properties, TN_OBJECT) && i < value_count(properties); i++) {
        tn_value inner = value_get(value_value_at(properties, i), "properties");
        if (!value_is(inner, TN_OBJECT) || !value_get(inner, name)) continue;
        const char *outer = value_chars(value_key_at(properties, i), NULL);
        diagnostic_suggest(it, "it belongs in `%s`: `%s: {%.60s: …}`", outer, outer, name);
        return;
    }
}

static void report_error(struct reader *reader, const struct value_check *check, const struct schema_errors *errors,
                         const struct schema_error *error, bool is_file) {
    const struct tree_item *item = NULL;
    const struct tree_node *node = check->node ? find_pointer(check->node, error->pointer, &item) : NULL;
    const struct tree_node *near = node          ? node
                                   : check->node ? tree_at_pointer(check->node, error->pointer, &item)
                                                 : NULL;
    if (near && (near->kind == TREE_BROKEN || near->incomplete || has_broken_item(near)) && !error->on_key) return;
    struct span span = !near || near->span.start == near->span.end ? check->span : near->span;
    bool required = strcmp(error->keyword, "required") == 0;
    if (required) {
        struct span key = item && item->key ? item->key_span : near && item ? near->span : check->span;
        if (!check->partial && !missing_is_mistyped(errors, error)) report_missing_member(reader, check, error, key);
        return;
    }
    if (error->on_key && item) span = item->key_span;
    char where[256];
    value_check_describe(check, error->pointer, where);
    if (is_file) {
        report(reader, check->wrong, span, "%s: the text of the file does not fit `%s` of %s", where, error->keyword,
               check->type ? check->type : "its schema");
        return;
    }
    struct diagnostic *it = report(reader, error->on_key ? check->unknown : check->wrong, span, "%s: %.*s", where,
                                   message_length(error->message, error->suggestion), error->message);
    if (!error->suggestion && near && !error->on_key && wants_text(error)) {
        suggest_text_in_quotes(reader, it, near);
        suggest_joined_text(reader, it, near);
    }
    if (!error->suggestion) {
        if (error->on_key) suggest_inner_property(it, check, error);
        return;
    }
    const struct nearest nearest = {.best = error->suggestion, .best_length = strlen(error->suggestion)};
    if (near && (error->on_key || near->kind == TN_STRING))
        suggest_nearest(reader, it, span, &nearest);
    else
        diagnostic_suggest(it, "did you mean `%s`?", error->suggestion);
}

tn_value check_value_take(struct reader *reader, const struct value_check *check, tn_value value,
                          enum value_stand_in (*stand_in)(void *user, const char *pointer), void *user) {
    if (schema_validate(check->schema, value, NULL) == TN_OK) return value;
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    schema_validate(check->schema, value, &errors);
    if (keep_texts(reader, check, &errors, &value)) {
        schema_errors_finish(&errors);
        errors = (struct schema_errors)SCHEMA_ERRORS_INIT;
        schema_validate(check->schema, value, &errors);
    }
    for (size_t i = 0; i < errors.count; i++) {
        enum value_stand_in there = stand_in ? stand_in(user, errors.items[i].pointer) : STAND_IN_NONE;
        if (there != STAND_IN_UNKNOWN) report_error(reader, check, &errors, &errors.items[i], there == STAND_IN_FILE);
    }
    schema_errors_finish(&errors);
    return value;
}

void check_value_certain(struct reader *reader, const struct value_check *check, tn_value value,
                         bool (*certain)(void *user, const struct schema_error *error), void *user) {
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    if (schema_validate(check->schema, value, NULL) == TN_OK) return;
    schema_validate(check->schema, value, &errors);
    for (size_t i = 0; i < errors.count; i++)
        if (certain(user, &errors.items[i])) report_error(reader, check, &errors, &errors.items[i], false);
    schema_errors_finish(&errors);
}
