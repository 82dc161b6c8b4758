/*
 * approve.c - one question for each interrupt.
 *
 * What the tool kernel asks ({kind: "approval", tool, arguments, effects}) is answered by y, n or a letter more; what a
 * component asks by itself by a line: JSON where its schema wants other than a text and the line reads as JSON. A
 * document's own stop (`interrupt: before`) by Enter.
 */
#include "host/command/approve.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/command/command.h"
#include "host/engine/run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHOWN_MAX 2000 /* bytes of a payload that are shown */

void approver_init(struct approver *approver) {
    *approver = (struct approver){.always = value_object()};
    if (!isatty(STDERR_FILENO)) return;
    if (isatty(STDIN_FILENO))
        approver->from = stdin;
    else if ((approver->from = fopen("/dev/tty", "re")) != NULL)
        approver->opened = true;
}

void approver_finish(struct approver *approver) {
    if (approver->opened) fclose(approver->from);
    value_unref(approver->always);
    *approver = (struct approver){0};
}

/* A line without its end; mem_free it. NULL at the end, or after Ctrl-C. */
static char *read_line(const struct approver *approver, const char *prompt) {
    char *line = NULL;
    size_t capacity = 0;
    fputs(prompt, stderr);
    ssize_t length = command_wait_line(fileno(approver->from)) ? getline(&line, &capacity, approver->from) : -1;
    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r')) length--;
    char *own = length >= 0 && !command_interrupted() ? mem_text_n(line, (size_t)length) : NULL;
    if (!own) fputc('\n', stderr);
    free(line);
    return own;
}

/* Nobody is to agree to what is not shown without knowing it: what is left out is said. */
static void show_json(const char *before, tn_value value) {
    char *text = json_text(value, JSON_COMPACT);
    size_t length = strlen(text), shown = length;
    if (length > SHOWN_MAX) {
        shown = SHOWN_MAX;
        while (shown && ((unsigned char)text[shown] & 0xc0) == 0x80) shown--;
    }
    command_say(stderr, "%s%.*s\n", before, (int)shown, text);
    if (shown < length) command_say(stderr, "  … and %zu bytes more, which are not shown\n", length - shown);
    mem_free(text);
}

/* ---- Approvals ---- */

static tn_value verdict(bool approved) {
    return value_set_take(value_object_reserve(2), "approved", value_bool(approved));
}

/* Whether the answer is one that `interrupt` takes; else it is said why not. */
static bool fits(tn_value interrupt, tn_value answer) {
    struct error error = ERROR_INIT;
    tn_value id = value_get(interrupt, "id"), list = value_push_take(value_array(), value_ref(interrupt));
    tn_value answers = value_set_key_take(value_object_reserve(1), value_ref(id), value_ref(answer));
    bool good = interrupts_check(list, answers, &error) == TN_OK;
    if (!good) command_say(stderr, "  %s\n", error.message);
    error_finish(&error);
    value_unref(answers);
    value_unref(list);
    return good;
}

/* Arguments in the place of the model's: JSON that the tool takes, asked for until it is. NULL: nobody is there. */
static tn_value edited(const struct approver *approver, tn_value interrupt) {
    for (;;) {
        char *line = read_line(approver, "  arguments, as JSON: ");
        tn_value arguments = NULL;
        if (!line) return NULL;
        bool good = json_read(line, strlen(line), NULL, &arguments, NULL) == TN_OK;
        mem_free(line);
        tn_value answer = good ? value_set_take(verdict(true), "arguments", arguments) : NULL;
        if (answer && fits(interrupt, answer)) return answer;
        value_unref(answer);
        if (!good) fputs("  that is no JSON\n", stderr);
    }
}

static tn_value refused(const struct approver *approver) {
    char *line = read_line(approver, "  why not (the model is told; Enter says nothing): ");
    if (!line) return NULL;
    tn_value answer = verdict(false), reason = *line ? value_string(line, strlen(line)) : NULL;
    mem_free(line);
    return reason ? value_set_take(answer, "reason", reason) : answer;
}

static tn_value ask_approval(struct approver *approver, tn_value interrupt) {
    tn_value payload = value_get(interrupt, "payload");
    const char *tool = command_text(payload, "tool", "?"), *why = command_text(payload, "why", "");
    tn_value arguments = value_get(payload, "arguments"), effects = value_get(payload, "effects");
    if (value_get(approver->always, tool)) return verdict(true);
    command_say(stderr, "%s is to be called%s%s\n", tool, *why ? ": " : "", why);
    if (arguments) show_json("  with  ", arguments);
    if (effects && value_count(effects)) show_json("  does  ", effects);
    for (;;) {
        char *line = read_line(approver, "  [y]es, [n]o, [a]lways from now on, [e]dit? ");
        if (!line) return NULL;
        char letter = line[0];
        mem_free(line);
        switch (letter) {
        case 'y':
        case 'Y': return verdict(true);
        case 'n':
        case 'N': return refused(approver);
        case 'a':
        case 'A': approver->always = value_set_take(approver->always, tool, value_bool(true)); return verdict(true);
        case 'e':
        case 'E': return edited(approver, interrupt);
        default: fputs("  found something else; y, n, a or e\n", stderr);
        }
    }
}

/* ---- Anything else ---- */

static tn_value ask_answer(const struct approver *approver, tn_value interrupt) {
    tn_value payload = value_get(interrupt, "payload"), schema = value_get(interrupt, "schema"), answer = NULL;
    command_say(stderr, "%s waits%s\n", command_text(interrupt, "node", "the run"),
                payload ? " for an answer to:" : "");
    if (payload && value_is(payload, TN_STRING))
        command_say(stderr, "  %s\n", value_chars(payload, NULL));
    else if (payload)
        show_json("  ", payload);
    char *line = read_line(approver, payload ? "  answer: " : "  Enter goes on: ");
    if (!line) return NULL;
    bool text = value_text_is(value_get(schema, "type"), "string");
    if (text || json_read(line, strlen(line), NULL, &answer, NULL) != TN_OK) answer = value_string(line, strlen(line));
    mem_free(line);
    return answer ? answer : value_text("");
}

static bool is_approval(tn_value interrupt) {
    return value_text_is(value_get(value_get(interrupt, "payload"), "kind"), "approval");
}

tn_value approvals_of(tn_value interrupts) {
    tn_value list = value_array();
    for (size_t i = 0; i < value_count(interrupts); i++)
        if (is_approval(value_at(interrupts, i))) list = value_push_take(list, value_ref(value_at(interrupts, i)));
    return list;
}

tn_value approver_ask(struct approver *approver, tn_value interrupts) {
    tn_value answers = value_object();
    if (!approver->from) return value_unref(answers), NULL;
    for (size_t i = 0; i < value_count(interrupts); i++) {
        tn_value interrupt = value_at(interrupts, i), id = value_get(interrupt, "id");
        tn_value answer = is_approval(interrupt) ? ask_approval(approver, interrupt) : ask_answer(approver, interrupt);
        if (!answer) return value_unref(answers), NULL;
        if (id)
            answers = value_set_key_take(answers, value_ref(id), answer);
        else
            value_unref(answer);
    }
    return answers;
}
