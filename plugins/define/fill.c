/*
 * fill.c - one pass over a text: what is filled in is not read again.
 */
#include "fill.h"

/* The name of the hole at `text`, which begins with a brace; false where it is none: letters, digits, _, - and dots. */
static bool hole(const char *text, char name[FILL_NAME_MAX], size_t *length) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    size_t size = strspn(text + 1, letters);
    if (text[size + 1] != '}' || size == 0 || size >= FILL_NAME_MAX) return false;
    memcpy(name, text + 1, size);
    name[size] = 0;
    *length = size + 2;
    return true;
}

void fill_text(struct text *out, const char *template, tn_value arguments, bool percent) {
    while (*template != 0) {
        char name[FILL_NAME_MAX];
        size_t plain = strcspn(template, "{}"), length;
        text_add(out, template, plain);
        template += plain;
        if (*template == 0) return;
        if (template[1] == *template) {
            text_add(out, template, 1);
            template += 2;
        } else if (*template == '{' && hole(template, name, &length)) {
            tn_value value = tn.value->get(arguments, name);
            if (value != NULL) text_value(out, value, percent, "");
            template += length;
        } else {
            text_add(out, template ++, 1); /* fill_check has refused it */
        }
    }
}

tn_value fill_url(const char *template, tn_value arguments) {
    struct text text = {.limit = 16384};
    fill_text(&text, template, arguments, true);
    return text_finish(&text);
}

static bool is_lone(const char *text, char name[FILL_NAME_MAX]) {
    size_t length;
    return text[0] == '{' && text[1] != '{' && hole(text, name, &length) && text[length] == 0;
}

static bool is_plain(tn_value value) {
    int32_t kind = tn.value->kind(value);
    if (kind != TN_ARRAY) return kind == TN_STRING || kind == TN_INT || kind == TN_DOUBLE || kind == TN_BOOL;
    for (uint64_t i = 0, count = tn.value->count(value); i < count; i++) {
        int32_t of_item = tn.value->kind(tn.value->at(value, i));
        if (of_item == TN_ARRAY || of_item == TN_OBJECT || of_item == TN_BYTES) return false;
    }
    return true;
}

static tn_value fill_string(tn_value template, tn_value arguments, bool texts) {
    const char *text = tn_chars(template, NULL);
    char name[FILL_NAME_MAX];
    if (strpbrk(text, "{}") == NULL) return tn_retain(template);
    if (is_lone(text, name)) {
        tn_value value = tn.value->get(arguments, name);
        if (value == NULL) return tn.value->make_null();
        if (!texts || is_plain(value)) return tn_retain(value);
    }
    struct text out = {.limit = FILL_BYTES_MAX};
    fill_text(&out, text, arguments, false);
    return text_finish(&out);
}

static bool is_left_out(tn_value template, tn_value arguments) {
    char name[FILL_NAME_MAX];
    const char *text = tn_chars(template, NULL);
    return text != NULL && is_lone(text, name) && tn.value->get(arguments, name) == NULL;
}

static tn_value fill_as(tn_value template, tn_value arguments, bool texts) {
    int32_t kind = tn.value->kind(template);
    if (kind == TN_STRING) return fill_string(template, arguments, texts);
    if (kind != TN_ARRAY && kind != TN_OBJECT) return tn_retain(template);
    tn_builder *out = tn.value->builder();
    tn.value->begin(out, kind);
    for (uint64_t i = 0, count = tn.value->count(template); i < count; i++) {
        tn_value key = NULL, item = tn.value->at(template, i);
        if (kind == TN_OBJECT && tn.value->entry(template, i, &key, &item) != TN_OK) break;
        if (key != NULL && is_left_out(item, arguments)) continue;
        tn_put_take(out, key != NULL ? tn_chars(key, NULL) : NULL, fill_as(item, arguments, texts));
    }
    tn.value->end(out);
    return tn.value->finish(out);
}

tn_value fill(tn_value template, tn_value arguments) { return fill_as(template, arguments, false); }
tn_value fill_texts(tn_value template, tn_value arguments) { return fill_as(template, arguments, true); }

struct checking {
    tn_value properties; /* of the tool's arguments; NULL: they may be any */
    char *unknown;       /* FILL_NAME_MAX bytes: the first hole that is none of them; "" */
};

static const char *check_text(const struct checking *checking, const char *text) {
    while (*text != 0) {
        char name[FILL_NAME_MAX];
        size_t length;
        text += strcspn(text, "{}");
        if (*text == 0) return NULL;
        if (text[1] == *text) {
            text += 2;
        } else if (*text == '{' && hole(text, name, &length)) {
            bool known = checking->properties == NULL || tn.value->get(checking->properties, name) != NULL;
            if (!known && checking->unknown[0] == 0) memcpy(checking->unknown, name, sizeof(name));
            text += length;
        } else {
            return "a brace has no other; {name} stands for an argument, {{ and }} for braces";
        }
    }
    return NULL;
}

static const char *check_inside(const struct checking *checking, tn_value value) {
    const char *text = tn_chars(value, NULL), *why = text != NULL ? check_text(checking, text) : NULL;
    for (uint64_t i = 0, count = tn.value->count(value); i < count && why == NULL; i++) {
        tn_value key, item = tn.value->at(value, i);
        if (tn.value->kind(value) == TN_OBJECT && tn.value->entry(value, i, &key, &item) != TN_OK) break;
        why = check_inside(checking, item);
    }
    return why;
}

const char *fill_check(tn_value description, tn_value input, char unknown[FILL_NAME_MAX]) {
    static const char *const members[] = {"arguments", "http", "command", "stdin"};
    tn_value properties = tn.value->get(input, "properties");
    bool open = tn.value->get(input, "patternProperties") != NULL || tn.value->get(input, "allOf") != NULL ||
                tn.value->get(input, "anyOf") != NULL || tn.value->get(input, "oneOf") != NULL ||
                tn.value->get(input, "$ref") != NULL ||
                tn.value->kind(tn.value->get(input, "additionalProperties")) == TN_OBJECT;
    const struct checking checking = {open ? NULL : properties, unknown};
    const char *why = NULL;
    unknown[0] = 0;
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]) && why == NULL; i++) {
        tn_value member = tn.value->get(description, members[i]);
        if (member != NULL) why = check_inside(&checking, member);
    }
    return why;
}
