/*
 * yaml_text.c - writes a value as YAML.
 *
 * A text is written without quotes only if no reader of YAML takes it for anything else; otherwise as in JSON, whose
 * texts are valid in YAML.
 */
#include "host/program/yaml_text.h"
#include "adl/value/json.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

#define LINE_WIDTH 96u

static void write_flow(struct buffer *out, tn_value value);

static bool is_word(const char *text, size_t length) {
    static const char *const others[] = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"};
    bool letters = false;
    if (!isalpha((unsigned char)text[0])) return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcasecmp(text, others[i]) == 0) return false;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        letters |= isalpha(c) != 0;
        if (!isalnum(c) && c != '_' && c != '-' && c != '.' && c != '/' && (c != ' ' || i + 1 == length)) return false;
    }
    return letters;
}

static void write_scalar(struct buffer *out, tn_value value) {
    size_t length = 0;
    const char *text = value_is(value, TN_STRING) ? value_chars(value, &length) : NULL;
    if (text && is_word(text, length))
        buffer_text(out, text);
    else
        json_write(out, value, JSON_COMPACT);
}

static void write_flow_object(struct buffer *out, tn_value value) {
    buffer_char(out, '{');
    for (size_t i = 0; i < value_count(value); i++) {
        if (i) buffer_text(out, ", ");
        write_scalar(out, value_key_at(value, i));
        buffer_text(out, ": ");
        write_flow(out, value_value_at(value, i));
    }
    buffer_char(out, '}');
}

static void write_flow(struct buffer *out, tn_value value) {
    if (value_is(value, TN_OBJECT)) {
        write_flow_object(out, value);
    } else if (value_is(value, TN_ARRAY)) {
        buffer_char(out, '[');
        for (size_t i = 0; i < value_count(value); i++) {
            if (i) buffer_text(out, ", ");
            write_flow(out, value_at(value, i));
        }
        buffer_char(out, ']');
    } else {
        write_scalar(out, value);
    }
}

static void write_spaces(struct buffer *out, unsigned count) { buffer_format(out, "%*s", (int)count, ""); }

/* Writes a text of several lines as a block `|`. Returns false if the text cannot be written so. */
static bool write_block(struct buffer *out, tn_value value, unsigned indent) {
    size_t length;
    if (!value_is(value, TN_STRING)) return false;
    const char *text = value_chars(value, &length), *end = strchr(text, '\n');
    if (!end || strlen(text) != length || *text == ' ' || *text == '\n') return false;
    bool ends = text[length - 1] == '\n';
    if (ends && length > 1 && text[length - 2] == '\n') return false;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' && text[i] != '\n') return false;
    buffer_text(out, ends ? " |\n" : " |-\n");
    for (const char *at = text; *at;) {
        size_t line = strcspn(at, "\n");
        if (line) write_spaces(out, indent);
        buffer_format(out, "%.*s\n", (int)line, at);
        at += line + (at[line] == '\n');
    }
    return true;
}

/* Writes the value behind "key:" or "-", and the line's end. */
static void write_member(struct buffer *out, tn_value value, unsigned indent, size_t used) {
    struct buffer flow;
    if (write_block(out, value, indent)) return;
    buffer_init(&flow, SIZE_MAX);
    write_flow(&flow, value);
    bool nested = (value_is(value, TN_OBJECT) || value_is(value, TN_ARRAY)) && value_count(value);
    if (!nested || used + flow.length < LINE_WIDTH) {
        buffer_format(out, " %s\n", buffer_cstr(&flow));
    } else {
        buffer_char(out, '\n');
        yaml_text(out, value, indent);
    }
    buffer_finish(&flow);
}

void yaml_text(struct buffer *out, tn_value value, unsigned indent) {
    bool object = value_is(value, TN_OBJECT);
    if (!object && !value_is(value, TN_ARRAY)) {
        write_spaces(out, indent);
        write_flow(out, value);
        buffer_char(out, '\n');
        return;
    }
    for (size_t i = 0; i < value_count(value); i++) {
        size_t begin = out->length;
        write_spaces(out, indent);
        if (object) write_scalar(out, value_key_at(value, i));
        buffer_char(out, object ? ':' : '-');
        write_member(out, object ? value_value_at(value, i) : value_at(value, i), indent + 2, out->length - begin);
    }
    if (!value_count(value)) {
        write_spaces(out, indent);
        buffer_text(out, object ? "{}\n" : "[]\n");
    }
}
