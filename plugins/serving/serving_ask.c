/*
 * serving_ask.c - what a run asks: whether it is an approval, its text, and the answer that a text means.
 */
#include "serving.h"

bool serving_ask_is_approval(tn_value interrupt) {
    tn_value payload = tn_get(interrupt, "payload");
    bool pause = tn_get(interrupt, "when") != NULL && tn.value->kind(payload) <= TN_NULL;
    return pause || serving_is(tn_get(payload, "kind"), "approval");
}

tn_value serving_ask_text(tn_value interrupt) {
    static const char *const members[] = {"question", "message", "prompt", "title", "text", "why"};
    tn_value payload = tn_get(interrupt, "payload");
    const char *node = tn_get_text(interrupt, "node", "the run"), *url = tn_get_text(payload, "url", NULL);
    struct tn_text_buffer text = TN_TEXT_BUFFER(1 << 16);
    if (tn.value->kind(payload) == TN_STRING) return tn_retain(payload);
    for (size_t i = 0; text.length == 0 && i < sizeof members / sizeof *members; i++)
        (void)tn_text_append(&text, tn_get_text(payload, members[i], ""));
    if (text.length > 0 && url != NULL)
        (void)tn_text_append_format(&text, "\n%s", url);
    else if (text.length == 0 && serving_ask_is_approval(interrupt))
        (void)tn_text_append_format(&text, "May `%s` run?", tn_get_text(payload, "tool", node));
    else if (text.length == 0)
        (void)tn_text_append_format(&text, "`%s` waits for an answer.", node);
    return tn_text_finish_cut(&text);
}

tn_value serving_ask_answer(tn_value interrupt, const char *text, uint64_t length) {
    tn_value schema = tn_get(interrupt, "schema"), answer = NULL;
    if (!serving_is(tn_get(schema, "type"), "string")) answer = tn_from_json(text, length);
    return answer != NULL ? answer : tn_text_n(text, length);
}
