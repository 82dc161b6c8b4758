/*
 * questions.c - prints questions for people; --json prints them whole, with their schemas.
 *
 * A question comes from outside and can be long. It is cut, and the number of bytes left out is printed, so that the
 * user knows if something is not shown. For a simple schema, the form of the answer is printed.
 */
#include "host/program/questions.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/program/command.h"
#include <string.h>

#define SHOWN_MAX      2000u /* bytes shown of a question or an answer */
#define FORM_MAX       300u  /* bytes shown of a schema */
#define LINE_MAX_SHOWN 300u  /* bytes shown of arguments or a question in question_line */

/* Appends a text as it is, any other value as JSON, without a line end. */
static void question_value(struct buffer *out, tn_value value, size_t max) {
    char *json = value_is(value, TN_STRING) ? NULL : json_text(value, JSON_COMPACT);
    const char *text = json ? json : value_chars(value, NULL);
    size_t length = strlen(text), shown = length;
    if (length > max) {
        shown = max;
        while (shown && ((unsigned char)text[shown] & 0xc0) == 0x80) shown--;
    }
    buffer_append(out, text, shown);
    if (shown < length) buffer_format(out, "… and %zu more bytes (use --json)", length - shown);
    mem_free(json);
}

/* Prints what was appended, and empties the buffer. */
static void question_flush(FILE *out, struct buffer *text) {
    command_printf(out, "%s", buffer_cstr(text));
    buffer_finish(text);
}

static void questions_print_value(FILE *out, tn_value value, size_t max) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    question_value(&text, value, max);
    question_flush(out, &text);
}

static void questions_print_line(FILE *out, const char *what, tn_value value, size_t max) {
    command_printf(out, "      %-9s ", what);
    questions_print_value(out, value, max);
    command_printf(out, "\n");
}

/* "node outer/inner". */
static void question_node(struct buffer *out, tn_value entry) {
    tn_value path = value_get(entry, "path");
    const char *node = command_text(entry, "node", NULL);
    if (node || value_count(path)) buffer_text(out, "node ");
    for (size_t i = 0; i < value_count(path); i++)
        buffer_format(out, "%s%s", value_chars(value_at(path, i), NULL), node || i + 1 < value_count(path) ? "/" : "");
    if (node) buffer_text(out, node);
}

static void questions_print_node(FILE *out, tn_value entry) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    question_node(&text, entry);
    question_flush(out, &text);
}

/* ---- How to answer ---- */

static const char *question_answer_form(tn_value schema) {
    static const char *const forms[][2] = {
        {"string", "TEXT"}, {"boolean", "true, or =false"}, {"integer", "NUMBER"}, {"number", "NUMBER"}};
    if (!schema || value_get(schema, "enum")) return schema ? NULL : "VALUE";
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (value_text_is(value_get(schema, "type"), forms[i][0])) return forms[i][1];
    return NULL;
}

static void questions_print_how(FILE *out, tn_value entry, bool approval, const char *how) {
    tn_value schema = value_get(entry, "schema");
    const char *id = command_text(entry, "id", "ID"), *form = question_answer_form(schema);
    if (approval)
        command_printf(out, "      answer    %s%s=yes, or =no, or ='{\"approved\": false, \"reason\": \"…\"}'\n", how,
                       id);
    else
        command_printf(out, "      answer    %s%s=%s\n", how, id, form ? form : "VALUE");
    if (!approval && !form) questions_print_line(out, "schema", schema, FORM_MAX);
}

/* ---- One question ---- */

static void questions_print_approval(FILE *out, tn_value payload) {
    tn_value arguments = value_get(payload, "arguments"), effects = value_get(payload, "effects");
    const char *why = command_text(payload, "why", "");
    const char *caller = command_text(payload, "caller", "");
    if (value_get(payload, "node"))
        command_printf(out, ": may it run (%s)?%s%s\n", command_text(payload, "type", "a node"), *why ? " " : "", why);
    else
        command_printf(out, ": may %s be called?%s%s\n", command_text(payload, "tool", "a tool"), *why ? " " : "", why);
    if (*caller) command_printf(out, "      for       %s\n", caller);
    if (arguments) questions_print_line(out, "arguments", arguments, SHOWN_MAX);
    if (value_count(effects)) questions_print_line(out, "effects", effects, SHOWN_MAX);
}

static void questions_print_payload(FILE *out, tn_value payload) {
    command_printf(out, " asks:\n");
    command_printf(out, "      ");
    questions_print_value(out, payload, SHOWN_MAX);
    command_printf(out, "\n");
}

void questions_print(FILE *out, tn_value interrupts, tn_value answers, const char *how) {
    for (size_t i = 0; i < value_count(interrupts); i++) {
        tn_value entry = value_at(interrupts, i), payload = value_get(entry, "payload");
        tn_value id = value_get(entry, "id"), given = id && answers ? value_get_key(answers, id) : NULL;
        bool approval = value_text_is(value_get(payload, "kind"), "approval");
        command_printf(out, "  %s%s", command_text(entry, "id", ""), id ? "  " : "");
        questions_print_node(out, entry);
        if (approval)
            questions_print_approval(out, payload);
        else if (payload)
            questions_print_payload(out, payload);
        else
            command_printf(out, ": paused %s this node; no answer is needed\n", command_text(entry, "when", "before"));
        if (given)
            questions_print_line(out, "answered", given, SHOWN_MAX);
        else if (payload && how)
            questions_print_how(out, entry, approval, how);
    }
}

/* ---- One line ---- */

void question_line(struct buffer *out, tn_value interrupt) {
    tn_value payload = value_get(interrupt, "payload"), arguments = value_get(payload, "arguments");
    bool approval = value_text_is(value_get(payload, "kind"), "approval");
    const char *id = command_text(interrupt, "id", NULL), *why = command_text(payload, "why", "");
    const char *caller = command_text(payload, "caller", "");
    buffer_text(out, approval ? "waiting for an approval: " : payload ? "waiting for an answer: " : "paused ");
    if (!payload) buffer_format(out, "%s ", command_text(interrupt, "when", "before"));
    question_node(out, interrupt);
    if (approval && value_get(payload, "node"))
        buffer_format(out, ": may it run (%s)?", command_text(payload, "type", "a node"));
    else if (approval)
        buffer_format(out, ": may %s be called%s", command_text(payload, "tool", "a tool"), arguments ? " with " : "?");
    else if (payload)
        buffer_text(out, " asks: ");
    if (approval && arguments && !value_get(payload, "node")) {
        question_value(out, arguments, LINE_MAX_SHOWN);
        buffer_char(out, '?');
    } else if (!approval && payload) {
        question_value(out, payload, LINE_MAX_SHOWN);
    }
    if (approval && *why) buffer_format(out, " %s", why);
    if (approval && *caller) buffer_format(out, "; for %s", caller);
    if (id) buffer_format(out, " (id %s)", id);
}

void questions_warn(tn_value interrupts) {
    for (size_t i = 0; i < value_count(interrupts); i++) {
        struct buffer line;
        buffer_init(&line, SIZE_MAX);
        question_line(&line, value_at(interrupts, i));
        command_warn("%s", buffer_cstr(&line));
        buffer_finish(&line);
    }
}
