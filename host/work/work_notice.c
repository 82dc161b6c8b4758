/*
 * work_notice.c - the text of a notification about a question.
 *
 * The payload of an approval has a known form. Otherwise, a component is free in what it asks: the question is the
 * member `message`, `question` or `prompt` of its payload if one is a text, and the payload as JSON otherwise.
 */
#include "host/work/work_notice.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <stdint.h>

static tn_value shortened(const char *text, size_t length) {
    if (length <= WORK_NOTICE_QUESTION_MAX) return value_string_lossy(text, length);
    while (length > WORK_NOTICE_QUESTION_MAX || ((unsigned char)text[length] & 0xc0) == 0x80) length--;
    return value_format("%.*s…", (int)length, text);
}

static const char *notice_text(tn_value object, const char *name) {
    tn_value value = value_get(object, name);
    return value_is(value, TN_STRING) ? value_chars(value, NULL) : "";
}

/* Of a tool: {tool, arguments, why}; of a node: {node, type, why}. */
static tn_value approval_question(tn_value payload) {
    const char *why = notice_text(payload, "why");
    tn_value arguments = value_get(payload, "arguments"), question;
    if (value_get(payload, "node")) {
        question = value_format("may it run (%s)?%s%s", notice_text(payload, "type"), *why ? " " : "", why);
    } else {
        char *json = arguments ? json_text(arguments, JSON_COMPACT) : mem_text("{}");
        question =
            value_format("may %s be called with %s?%s%s", notice_text(payload, "tool"), json, *why ? " " : "", why);
        mem_free(json);
    }
    size_t length;
    const char *chars = value_chars(question, &length);
    tn_value shown = shortened(chars, length);
    value_unref(question);
    return shown;
}

tn_value work_notice_question(tn_value interrupt) {
    static const char *const members[] = {"message", "question", "prompt"};
    tn_value payload = value_get(interrupt, "payload");
    size_t length;
    if (value_text_is(value_get(payload, "kind"), "approval")) return approval_question(payload);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value text = value_get(payload, members[i]);
        if (!value_is(text, TN_STRING)) continue;
        const char *chars = value_chars(text, &length);
        return shortened(chars, length);
    }
    if (value_is(payload, TN_STRING)) {
        const char *chars = value_chars(payload, &length);
        return shortened(chars, length);
    }
    tn_value whole = payload ? payload : interrupt;
    char *json = json_text(whole, JSON_COMPACT);
    size_t size = 0;
    while (json[size]) size++;
    tn_value text = shortened(json, size);
    mem_free(json);
    return text;
}

tn_value work_notice_arguments(tn_value task, tn_value interrupt) {
    const char *id = notice_text(task, "task_id"), *asked = notice_text(interrupt, "id");
    tn_value question = work_notice_question(interrupt);
    tn_value message = value_format("Task %s (%s) waits for an answer at `%s`: %s\n\nAnswer: tenon thread answer %s "
                                    "%s=VALUE",
                                    id, notice_text(task, "task_type"), notice_text(interrupt, "node"),
                                    value_chars(question, NULL), id, asked);
    tn_value payload = value_set_take(value_object_reserve(4), "message", message);
    payload = value_set_take(payload, "severity", value_text("info"));
    payload = value_set_take(payload, "related_task_id", value_text(id));
    payload = value_set_take(payload, "interrupt_id", value_text(asked));
    tn_value arguments = value_set_take(value_object_reserve(3), "task_type", value_text("notification"));
    arguments = value_set_take(arguments, "payload", payload);
    value_unref(question);
    return value_set_take(arguments, "idempotency_key", value_format("interrupt:%s:%s", id, asked));
}
