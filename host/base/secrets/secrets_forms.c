/*
 * secrets_forms.c - writes a text in each form.
 *
 * Only what libraries write by default is here. Every form costs memory and a comparison; equal ones are dropped by the
 * caller, so most secrets, which consist of letters and digits, have few.
 */
#include "host/base/secrets/secrets_forms.h"
#include "adl/value/base64.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct forms {
    const char *text;
    size_t length;
    void (*form)(void *user, const char *text, size_t length);
    void *user;
};

/* Passes on the bytes of `buffer` from `from` to `to`. */
static void forms_pass(const struct forms *forms, const struct buffer *buffer, size_t from, size_t to) {
    if (to > from) forms->form(forms->user, buffer->data + from, to - from);
}

/* ---- Percent-encoding ---- */

static bool is_unreserved(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("-._~", c));
}

/* `kept`: characters that are not encoded. If it contains a space, a space becomes `+`. */
static void write_percent(struct buffer *out, const struct forms *forms, const char *kept, const char *digits) {
    for (size_t i = 0; i < forms->length; i++) {
        char c = forms->text[i];
        unsigned char byte = (unsigned char)c;
        if (is_unreserved(c) || (c && c != ' ' && strchr(kept, c))) {
            buffer_char(out, c);
        } else if (c == ' ' && strchr(kept, ' ')) {
            buffer_char(out, '+');
        } else {
            buffer_char(out, '%');
            buffer_char(out, digits[byte >> 4]);
            buffer_char(out, digits[byte & 15]);
        }
    }
}

static void each_percent_form(const struct forms *forms) {
    /* RFC 3986; Python's quote; JavaScript's encodeURIComponent; HTML forms; encodeURI. */
    static const char *const kept[] = {"", "/", "!'()*", " *", ";/?:@&=+$,#!'()*"};
    static const char *const digits[] = {"0123456789ABCDEF", "0123456789abcdef"};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        for (size_t k = 0; k < 2; k++) {
            struct buffer out;
            buffer_init(&out, SIZE_MAX);
            write_percent(&out, forms, kept[i], digits[k]);
            forms_pass(forms, &out, 0, out.length);
            buffer_wipe(&out);
        }
    }
}

/* ---- JSON ---- */

enum { JSON_SLASHES = 1, JSON_ASCII = 2, JSON_HTML = 4, JSON_WAYS = 8 };

static void write_unit(struct buffer *out, uint32_t unit) { buffer_format(out, "\\u%04x", unit); }

/* `text` is a JSON string without its quotes. */
static void write_json_way(struct buffer *out, const char *text, size_t length, int way) {
    for (size_t i = 0, size; i < length; i += size) {
        uint32_t point = (unsigned char)text[i];
        size = point < 0x80 ? 1 : utf8_decode(text + i, length - i, &point);
        if (!size) size = 1; /* not UTF-8: as it is */
        bool ascii = way & JSON_ASCII && point >= 0x80, html = way & JSON_HTML && point && point < 0x80;
        if (way & JSON_SLASHES && point == '/') buffer_char(out, '\\');
        if (ascii && point >= 0x10000) {
            write_unit(out, 0xd800 + ((point - 0x10000) >> 10));
            write_unit(out, 0xdc00 + ((point - 0x10000) & 0x3ff));
        } else if (ascii || (html && strchr("<>&", (int)point))) {
            write_unit(out, point);
        } else {
            buffer_append(out, text + i, size);
        }
    }
}

static void each_json_form(const struct forms *forms) {
    struct buffer plain, out;
    buffer_init(&plain, SIZE_MAX);
    json_write_string(&plain, forms->text, forms->length);
    for (int way = 0; way < JSON_WAYS; way++) {
        buffer_init(&out, SIZE_MAX);
        write_json_way(&out, plain.data + 1, plain.length - 2, way);
        forms_pass(forms, &out, 0, out.length);
        buffer_wipe(&out);
    }
    buffer_wipe(&plain);
}

/* ---- HTML ---- */

static void each_html_form(const struct forms *forms) {
    static const char *const quotes[] = {"&#39;", "&#x27;", "&apos;", "'"};
    for (size_t k = 0; k < sizeof quotes / sizeof *quotes; k++) {
        struct buffer out;
        buffer_init(&out, SIZE_MAX);
        for (size_t i = 0; i < forms->length; i++) {
            char c = forms->text[i];
            if (c == '\'')
                buffer_text(&out, quotes[k]);
            else if (c && strchr("<>&\"", c))
                buffer_text(&out, c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : "&quot;");
            else
                buffer_char(&out, c);
        }
        forms_pass(forms, &out, 0, out.length);
        buffer_wipe(&out);
    }
}

/* ---- base64 ---- */

/* Passes on the form, and the same with escaped slashes. */
static void pass_with_slashes(const struct forms *forms, const struct buffer *form, size_t from, size_t to) {
    struct buffer escaped;
    forms_pass(forms, form, from, to);
    buffer_init(&escaped, SIZE_MAX);
    write_json_way(&escaped, form->data + from, to - from, JSON_SLASHES);
    forms_pass(forms, &escaped, 0, escaped.length);
    buffer_wipe(&escaped);
}

/*
 * Three bytes become four characters. `before` is the number of bytes of the group that are before the text. Characters
 * that also depend on what is before or after the text are left out.
 */
static void each_base64_form(const struct forms *forms, size_t before) {
    struct buffer bytes, form;
    size_t from = (8 * before + 5) / 6, to = 8 * (before + forms->length) / 6;
    buffer_init(&bytes, SIZE_MAX);
    buffer_init(&form, SIZE_MAX);
    buffer_append(&bytes, "\0\0", before);
    buffer_append(&bytes, forms->text, forms->length);
    base64_write(&form, bytes.data, bytes.length);
    pass_with_slashes(forms, &form, from, to);
    for (size_t i = 0; i < form.length; i++)
        form.data[i] = form.data[i] == '+' ? '-' : form.data[i] == '/' ? '_' : form.data[i];
    forms_pass(forms, &form, from, to);
    buffer_wipe(&bytes);
    buffer_wipe(&form);
}

void secret_forms_each(const char *text, size_t length, void (*form)(void *user, const char *text, size_t length),
                       void *user) {
    const struct forms forms = {text, length, form, user};
    bool plain = true;
    for (size_t i = 0; i < length; i++) plain &= is_unreserved(text[i]);
    form(user, text, length);
    if (!plain) {
        each_percent_form(&forms);
        each_json_form(&forms);
        each_html_form(&forms);
    }
    for (size_t before = 0; length >= FORMS_BASE64_MIN && before < 3; before++) each_base64_form(&forms, before);
}
