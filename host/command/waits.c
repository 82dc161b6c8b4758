/*
 * waits.c - questions as people read them; whoever wants all of them, schemas and all, says --json.
 *
 * What is asked comes from outside, and may be long: it is cut, and how much is left out is said, so that nobody agrees
 * to what is not shown without knowing it. What answers may be is taken from the schema where that is simple.
 */
#include "host/command/waits.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/command/command.h"
#include <string.h>

#define SHOWN_MAX 2000u /* bytes of what is asked, and of an answer, that are shown */
#define FORM_MAX  300u  /* … of a schema */

/* A text as it is, anything else as JSON; on one line of its own, or going on with one. */
static void say_value(FILE *out, tn_value value, size_t max) {
    char *json = value_is(value, TN_STRING) ? NULL : json_text(value, JSON_COMPACT);
    const char *text = json ? json : value_chars(value, NULL);
    size_t length = strlen(text), shown = length;
    if (length > max) {
        shown = max;
        while (shown && ((unsigned char)text[shown] & 0xc0) == 0x80) shown--;
    }
    command_say(out, "%.*s", (int)shown, text);
    if (shown < length) command_say(out, "… and %zu bytes more, which --json shows", length - shown);
    mem_free(json);
}

static void say_line(FILE *out, const char *what, tn_value value, size_t max) {
    command_say(out, "      %-9s ", what);
    say_value(out, value, max);
    command_say(out, "\n");
}

/* "node outer/inner". */
static void say_node(FILE *out, tn_value entry) {
    tn_value path = value_get(entry, "path");
    const char *node = command_text(entry, "node", NULL);
    if (node || value_count(path)) command_say(out, "node ");
    for (size_t i = 0; i < value_count(path); i++)
        command_say(out, "%s%s", value_chars(value_at(path, i), NULL), node || i + 1 < value_count(path) ? "/" : "");
    if (node) command_say(out, "%s", node);
}

/* ---- How it is answered ---- */

static const char *form_of(tn_value schema) {
    static const char *const forms[][2] = {
        {"string", "TEXT"}, {"boolean", "true, or =false"}, {"integer", "NUMBER"}, {"number", "NUMBER"}};
    if (!schema || value_get(schema, "enum")) return schema ? NULL : "VALUE";
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (value_text_is(value_get(schema, "type"), forms[i][0])) return forms[i][1];
    return NULL;
}

static void say_way(FILE *out, tn_value entry, bool approval, const char *how) {
    tn_value schema = value_get(entry, "schema");
    const char *id = command_text(entry, "id", "ID"), *form = form_of(schema);
    if (approval)
        command_say(out, "      answer    %s%s=yes, or =no, or ='{\"approved\": false, \"reason\": \"…\"}'\n", how, id);
    else
        command_say(out, "      answer    %s%s=%s\n", how, id, form ? form : "VALUE");
    if (!approval && !form) say_line(out, "schema", schema, FORM_MAX);
}

/* ---- One ---- */

static void say_approval(FILE *out, tn_value payload) {
    tn_value arguments = value_get(payload, "arguments"), effects = value_get(payload, "effects");
    const char *why = command_text(payload, "why", "");
    command_say(out, ": may %s be called?%s%s\n", command_text(payload, "tool", "a tool"), *why ? " " : "", why);
    if (arguments) say_line(out, "with", arguments, SHOWN_MAX);
    if (value_count(effects)) say_line(out, "does", effects, SHOWN_MAX);
}

static void say_question(FILE *out, tn_value payload) {
    command_say(out, " asks:\n");
    command_say(out, "      ");
    say_value(out, payload, SHOWN_MAX);
    command_say(out, "\n");
}

void waits_print(FILE *out, tn_value interrupts, tn_value answers, const char *how) {
    for (size_t i = 0; i < value_count(interrupts); i++) {
        tn_value entry = value_at(interrupts, i), payload = value_get(entry, "payload");
        tn_value id = value_get(entry, "id"), given = id && answers ? value_get_key(answers, id) : NULL;
        bool approval = value_text_is(value_get(payload, "kind"), "approval");
        command_say(out, "  %s%s", command_text(entry, "id", ""), id ? "  " : "");
        say_node(out, entry);
        if (approval)
            say_approval(out, payload);
        else if (payload)
            say_question(out, payload);
        else
            command_say(out, value_get(entry, "node") ? ": stops before it; nothing is asked\n"
                                                      : "a step has ended; nothing is asked\n");
        if (given)
            say_line(out, "answered", given, SHOWN_MAX);
        else if (payload && how)
            say_way(out, entry, approval, how);
    }
}
