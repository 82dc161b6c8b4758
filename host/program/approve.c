/*
 * approve.c - asks one question for each interrupt.
 *
 * An approval of the tool kernel ({kind: "approval", tool, arguments, effects}) is answered with a letter. A question
 * of a component is answered field by field if its schema is a form (question_form.h), otherwise with a line, which is
 * read as JSON if it is valid JSON and the schema does not require a text. A stop that the document requests
 * (`interrupt: before`) is answered with Enter.
 */
#include "host/program/approve.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/data/thread/thread_interrupts.h"
#include "host/engine/graph/run.h"
#include "host/program/command.h"
#include "host/program/command_input.h"
#include "host/program/question_form.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
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

char *approver_read_line(const struct approver *approver, const char *prompt) {
    char *line = NULL;
    size_t capacity = 0;
    if (approver->read) {
        char *edited = approver->read(approver->user, prompt);
        if (!edited) fputc('\n', stderr);
        return edited;
    }
    fputs(prompt, stderr);
    ssize_t length = command_wait_line(fileno(approver->from)) ? getline(&line, &capacity, approver->from) : -1;
    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r')) length--;
    char *own = length >= 0 && !command_got_sigint() ? mem_text_n(line, (size_t)length) : NULL;
    if (!own) fputc('\n', stderr);
    clearerr(approver->from); /* Ctrl-D ends this line, not the terminal */
    free(line);
    return own;
}

/* Prints at most SHOWN_MAX bytes, and the number of bytes left out, so that the user knows if something is not shown.
 */
static void approver_show_json(const char *before, tn_value value) {
    char *text = json_text(value, JSON_COMPACT);
    size_t length = strlen(text), shown = length;
    if (length > SHOWN_MAX) {
        shown = SHOWN_MAX;
        while (shown && ((unsigned char)text[shown] & 0xc0) == 0x80) shown--;
    }
    command_printf(stderr, "%s%.*s\n", before, (int)shown, text);
    if (shown < length) command_printf(stderr, "  … and %zu bytes more, which are not shown\n", length - shown);
    mem_free(text);
}

/* ---- Approvals ---- */

static tn_value approval_verdict(bool approved) {
    return value_set_take(value_object_reserve(2), "approved", value_bool(approved));
}

/* True if `interrupt` accepts the answer; otherwise prints the reason. */
static bool approver_accepts(tn_value interrupt, tn_value answer) {
    struct error error = ERROR_INIT;
    tn_value id = value_get(interrupt, "id"), list = value_push_take(value_array(), value_ref(interrupt));
    tn_value answers = value_set_key_take(value_object_reserve(1), value_ref(id), value_ref(answer));
    bool good = thread_interrupts_check(list, answers, &error) == TN_OK;
    if (!good) command_printf(stderr, "  %s\n", error.message);
    error_finish(&error);
    value_unref(answers);
    value_unref(list);
    return good;
}

/* Reads arguments that replace the model's, until the tool accepts them. Returns NULL if the input ends. */
static tn_value approver_edit_arguments(const struct approver *approver, tn_value interrupt) {
    for (;;) {
        char *line = approver_read_line(approver, "  arguments, as JSON: ");
        tn_value arguments = NULL;
        if (!line) return NULL;
        bool good = json_read(line, strlen(line), NULL, &arguments, NULL) == TN_OK;
        mem_free(line);
        tn_value answer = good ? value_set_take(approval_verdict(true), "arguments", arguments) : NULL;
        if (answer && approver_accepts(interrupt, answer)) return answer;
        value_unref(answer);
        if (!good) fputs("  this is not valid JSON\n", stderr);
    }
}

static tn_value approver_refuse(const struct approver *approver) {
    char *line = approver_read_line(approver, "  reason (sent to the model; Enter for none): ");
    if (!line) return NULL;
    tn_value answer = approval_verdict(false), reason = *line ? value_string(line, strlen(line)) : NULL;
    mem_free(line);
    return reason ? value_set_take(answer, "reason", reason) : answer;
}

static tn_value ask_approval(struct approver *approver, tn_value interrupt) {
    tn_value payload = value_get(interrupt, "payload");
    const char *node = command_text(payload, "node", NULL), *tool = command_text(payload, node ? "type" : "tool", "?");
    const char *why = command_text(payload, "why", ""), *caller = command_text(payload, "caller", "");
    tn_value arguments = value_get(payload, "arguments"), effects = value_get(payload, "effects");
    tn_value key = value_format("%s\n%s", tool, caller); /* the same tool for another caller is asked about again */
    bool known = value_get_key(approver->always, key) != NULL;
    value_unref(key);
    if (known) return approval_verdict(true);
    if (node)
        command_printf(stderr, "approve the node %s (%s)?%s%s\n", node, tool, *why ? " " : "", why);
    else
        command_printf(stderr, "approve the call of %s?%s%s\n", tool, *why ? " " : "", why);
    if (*caller) command_printf(stderr, "  for        %s\n", caller);
    if (arguments) approver_show_json("  arguments  ", arguments);
    if (effects && value_count(effects)) approver_show_json("  effects    ", effects);
    (void)tcflush(fileno(approver->from), TCIFLUSH); /* what was typed before the question does not answer it */
    for (;;) {
        char *line = approver_read_line(approver, node ? "  [y]es, [n]o, [a]lways in this session? "
                                                       : "  [y]es, [n]o, [a]lways in this session, [e]dit? ");
        if (!line) return NULL;
        char letter = line[0];
        mem_free(line);
        switch (letter) {
        case 'y':
        case 'Y': return approval_verdict(true);
        case 'n':
        case 'N': return approver_refuse(approver);
        case 'a':
        case 'A':
            approver->always =
                value_set_key_take(approver->always, value_format("%s\n%s", tool, caller), value_bool(true));
            return approval_verdict(true);
        case 'e':
        case 'E':
            if (!node) return approver_edit_arguments(approver, interrupt);
            break;
        default: fputs(node ? "  answer y, n or a\n" : "  answer y, n, a or e\n", stderr);
        }
    }
}

/* ---- Anything else ---- */

/* True if the answer can be `true`, as for a page that the person visits. */
static bool schema_allows_true(tn_value schema) {
    tn_value branches = value_get(schema, "anyOf");
    for (size_t i = 0; value_is(branches, TN_ARRAY) && i < value_count(branches); i++) {
        tn_value constant = value_get(value_at(branches, i), "const");
        if (value_is(constant, TN_BOOL) && value_to_bool(constant)) return true;
    }
    return false;
}

/* A page that the person visits: Enter when it is done. Returns NULL if the input ends. */
static tn_value ask_visit(const struct approver *approver) {
    char *line = approver_read_line(approver, "  press Enter when you have visited the page, or [d]ecline: ");
    if (!line) return NULL;
    tn_value answer = !*line                   ? value_bool(true)
                      : strcmp(line, "d") == 0 ? value_null()
                                               : command_parse_value(line); /* where the page has led, or JSON */
    mem_free(line);
    return answer ? answer : value_text("");
}

/* True if the payload has only members that approver_show_question prints. */
static bool is_known_question(tn_value payload) {
    static const char *const known[] = {"question", "detail", "server", "tool", "mode", "schema", "url"};
    bool all = value_is(payload, TN_OBJECT) && command_text(payload, "question", NULL);
    for (size_t i = 0; all && i < value_count(payload); i++) {
        bool found = false;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            found = found || value_text_is(value_key_at(payload, i), known[k]);
        all = found;
    }
    return all;
}

/* The question of the node `ask` or of an MCP server as a text; any other payload as JSON. */
static void approver_show_question(tn_value payload) {
    const char *server = command_text(payload, "server", NULL), *url = command_text(payload, "url", NULL);
    tn_value detail = value_get(payload, "detail");
    if (value_is(payload, TN_STRING)) {
        command_printf(stderr, "  %s\n", value_chars(payload, NULL));
    } else if (!is_known_question(payload)) {
        approver_show_json("  ", payload);
    } else {
        command_printf(stderr, "  %s\n", command_text(payload, "question", ""));
        if (server) command_printf(stderr, "  (asked by the server %s)\n", server);
        if (detail) approver_show_json("  ", detail);
        if (url) command_printf(stderr, "  %s\n", url);
    }
}

/* Asks for the fields of a form until the whole answer is accepted. Returns NULL if the input ends. */
static tn_value ask_form(const struct approver *approver, tn_value interrupt) {
    tn_value answer = NULL;
    while (question_form_ask(approver, value_get(interrupt, "schema"), &answer)) {
        if (approver_accepts(interrupt, answer)) return answer;
        value_unref(answer);
    }
    return NULL;
}

static tn_value ask_line(const struct approver *approver, tn_value interrupt) {
    tn_value schema = value_get(interrupt, "schema");
    bool asks = value_get(interrupt, "payload") != NULL;
    char *line = approver_read_line(approver, asks ? "  answer: " : "  press Enter to continue: ");
    if (!line) return NULL;
    bool text = value_text_is(value_get(schema, "type"), "string");
    tn_value answer = text ? value_string(line, strlen(line)) : command_parse_value(line);
    mem_free(line);
    return answer ? answer : value_text("");
}

static tn_value ask_answer(const struct approver *approver, tn_value interrupt) {
    tn_value payload = value_get(interrupt, "payload"), schema = value_get(interrupt, "schema");
    command_printf(stderr, "%s %s\n", command_text(interrupt, "node", "the run"),
                   payload ? "waits for an answer to:" : "is paused");
    if (payload) approver_show_question(payload);
    if (payload && question_form_is(schema)) return ask_form(approver, interrupt);
    if (payload && command_text(payload, "url", NULL) && schema_allows_true(schema)) return ask_visit(approver);
    return ask_line(approver, interrupt);
}

static bool is_approval(tn_value interrupt) {
    return value_text_is(value_get(value_get(interrupt, "payload"), "kind"), "approval");
}

tn_value approval_questions(tn_value interrupts) {
    tn_value list = value_array();
    for (size_t i = 0; i < value_count(interrupts); i++)
        if (is_approval(value_at(interrupts, i))) list = value_push_take(list, value_ref(value_at(interrupts, i)));
    return list;
}

tn_value approver_prompt(struct approver *approver, tn_value interrupts) {
    tn_value answers = value_object();
    bool stop = command_got_signal(); /* `always` must not continue the run either */
    if (!approver->from || stop) return value_unref(answers), NULL;
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
