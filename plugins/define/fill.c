/*
 * fill.c - one pass over a template: inserted arguments are not expanded again.
 */
#include "fill.h"
#include <tenon/util/build.h>

/* Reads the placeholder at `text`, which starts with a brace. Names consist of letters, digits, _, - and dots. Returns
 * false if it is not a placeholder. */
static bool read_placeholder(const char *text, char name[FILL_NAME_MAX], size_t *length) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    size_t size = strspn(text + 1, letters);
    if (text[size + 1] != '}' || size == 0 || size >= FILL_NAME_MAX) return false;
    memcpy(name, text + 1, size);
    name[size] = 0;
    *length = size + 2;
    return true;
}

void fill_append_text(struct tn_text_buffer *out, const char *template, tn_value arguments, bool percent) {
    while (*template != 0) {
        char name[FILL_NAME_MAX];
        size_t plain = strcspn(template, "{}"), length;
        tn_text_append_n(out, template, plain);
        template += plain;
        if (*template == 0) return;
        if (template[1] == *template) {
            tn_text_append_n(out, template, 1);
            template += 2;
        } else if (*template == '{' && read_placeholder(template, name, &length)) {
            tn_value value = tn_get(arguments, name);
            if (value != NULL) rest_append_scalar(out, value, percent, "");
            template += length;
        } else {
            tn_text_append_n(out, template ++, 1); /* fill_check_placeholders has rejected it */
        }
    }
}

tn_value fill_url(const char *template, tn_value arguments) {
    struct tn_text_buffer text = {.limit = 16384};
    fill_append_text(&text, template, arguments, true);
    return tn_text_finish(&text);
}

static bool is_single_placeholder(const char *text, char name[FILL_NAME_MAX]) {
    size_t length;
    return text[0] == '{' && text[1] != '{' && read_placeholder(text, name, &length) && text[length] == 0;
}

static bool is_scalar_or_list(tn_value value) {
    int32_t kind = tn.value->kind(value);
    if (kind != TN_ARRAY) return kind == TN_STRING || kind == TN_INT || kind == TN_DOUBLE || kind == TN_BOOL;
    for (uint64_t i = 0, count = tn.value->count(value); i < count; i++) {
        int32_t of_item = tn.value->kind(tn.value->at(value, i));
        if (of_item == TN_ARRAY || of_item == TN_OBJECT || of_item == TN_BYTES) return false;
    }
    return true;
}

static tn_value fill_template_string(tn_value template, tn_value arguments, bool texts) {
    const char *text = tn_chars(template, NULL);
    char name[FILL_NAME_MAX];
    if (strpbrk(text, "{}") == NULL) return tn_retain(template);
    if (is_single_placeholder(text, name)) {
        tn_value value = tn_get(arguments, name);
        if (value == NULL) return tn_null();
        if (!texts || is_scalar_or_list(value)) return tn_retain(value);
    }
    struct tn_text_buffer out = {.limit = FILL_BYTES_MAX};
    fill_append_text(&out, text, arguments, false);
    return tn_text_finish(&out);
}

static bool is_omitted(tn_value template, tn_value arguments) {
    char name[FILL_NAME_MAX];
    const char *text = tn_chars(template, NULL);
    return text != NULL && is_single_placeholder(text, name) && tn_get(arguments, name) == NULL;
}

static tn_value fill_value(tn_value template, tn_value arguments, bool texts) {
    int32_t kind = tn.value->kind(template);
    if (kind == TN_STRING) return fill_template_string(template, arguments, texts);
    if (kind != TN_ARRAY && kind != TN_OBJECT) return tn_retain(template);
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, kind);
    for (uint64_t i = 0, count = tn.value->count(template); i < count; i++) {
        tn_value key = NULL, item = tn.value->at(template, i);
        if (kind == TN_OBJECT && tn.value->entry(template, i, &key, &item) != TN_OK) break;
        if (key != NULL && is_omitted(item, arguments)) continue;
        if (key != NULL)
            tn_put_key_take(out, key, fill_value(item, arguments, texts));
        else
            tn_put_take(out, NULL, fill_value(item, arguments, texts));
    }
    tn.value->end(out);
    return tn_finish(out);
}

tn_value fill_template(tn_value template, tn_value arguments) { return fill_value(template, arguments, false); }
tn_value fill_request_template(tn_value template, tn_value arguments) { return fill_value(template, arguments, true); }

struct placeholder_check {
    tn_value properties; /* of the tool's arguments; NULL: any argument is allowed */
    char *unknown;       /* FILL_NAME_MAX bytes: the first unknown placeholder, or "" */
};

static const char *check_placeholders(const struct placeholder_check *placeholder_check, const char *text) {
    while (*text != 0) {
        char name[FILL_NAME_MAX];
        size_t length;
        text += strcspn(text, "{}");
        if (*text == 0) return NULL;
        if (text[1] == *text) {
            text += 2;
        } else if (*text == '{' && read_placeholder(text, name, &length)) {
            bool known = placeholder_check->properties == NULL || tn_get(placeholder_check->properties, name) != NULL;
            if (!known && placeholder_check->unknown[0] == 0) memcpy(placeholder_check->unknown, name, sizeof(name));
            text += length;
        } else {
            return "found an unmatched brace; {name} stands for an argument, {{ and }} for braces";
        }
    }
    return NULL;
}

static const char *check_value_placeholders(const struct placeholder_check *placeholder_check, tn_value value) {
    const char *text = tn_chars(value, NULL), *why = text != NULL ? check_placeholders(placeholder_check, text) : NULL;
    for (uint64_t i = 0, count = tn.value->count(value); i < count && why == NULL; i++) {
        tn_value key, item = tn.value->at(value, i);
        if (tn.value->kind(value) == TN_OBJECT && tn.value->entry(value, i, &key, &item) != TN_OK) break;
        why = check_value_placeholders(placeholder_check, item);
    }
    return why;
}

const char *fill_check_placeholders(tn_value description, tn_value input, char unknown[FILL_NAME_MAX]) {
    static const char *const members[] = {"arguments", "http", "command", "stdin"};
    tn_value properties = tn_get(input, "properties");
    bool open = tn_get(input, "patternProperties") != NULL || tn_get(input, "allOf") != NULL ||
                tn_get(input, "anyOf") != NULL || tn_get(input, "oneOf") != NULL || tn_get(input, "$ref") != NULL ||
                tn.value->kind(tn_get(input, "additionalProperties")) == TN_OBJECT;
    const struct placeholder_check placeholder_check = {open ? NULL : properties, unknown};
    const char *why = NULL;
    unknown[0] = 0;
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]) && why == NULL; i++) {
        tn_value member = tn_get(description, members[i]);
        if (member != NULL) why = check_value_placeholders(&placeholder_check, member);
    }
    return why;
}
