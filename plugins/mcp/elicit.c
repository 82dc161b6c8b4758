/*
 * elicit.c - questions of a server, and their answers.
 *
 * The answer's schema is the server's schema or null, because a person may decline. The schema is passed to the host
 * unchanged: if it does not compile, the host refuses the interrupt and the task fails.
 */
#include "elicit.h"

bool elicit_authorizes(tn_value params) { return tn_get(params, "authorization") != NULL; }

static bool is_url_question(tn_value params) { return value_is(tn_get(params, "mode"), "url"); }

tn_value elicit_payload(tn_value params, const char *server, const char *tool) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "question", tn_get_text(params, "message", "The server asks a question."));
    tn_put_text(builder, "server", server);
    tn_put_text(builder, "tool", tool);
    tn_put_text(builder, "mode",
                elicit_authorizes(params) ? "authorization"
                : is_url_question(params) ? "url"
                                          : "form");
    if (is_url_question(params))
        tn_put(builder, "url", tn_get(params, "url"));
    else if (tn_get(params, "requestedSchema") != NULL)
        tn_put(builder, "schema", tn_get(params, "requestedSchema"));
    tn.value->end(builder);
    return tn_finish(builder);
}

tn_value elicit_schema(tn_value params) {
    tn_value form = tn_get(params, "requestedSchema");
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, "anyOf", TN_ARRAY);
    if (!is_url_question(params) && tn.value->kind(form) == TN_OBJECT) {
        tn_put(builder, NULL, form);
    } else {
        tn_put_begin(builder, NULL, TN_OBJECT);
        tn_put_bool(builder, "const", 1);
        tn.value->end(builder);
        if (elicit_authorizes(params)) { /* the URL of the last redirect */
            tn_put_begin(builder, NULL, TN_OBJECT);
            tn_put_text(builder, "type", "string");
            tn_put_text(builder, "pattern", "^https?://");
            tn.value->end(builder);
        }
    }
    tn_put_begin(builder, NULL, TN_OBJECT);
    tn_put_text(builder, "type", "null");
    tn.value->end(builder);
    tn.value->end(builder);
    tn.value->end(builder);
    return tn_finish(builder);
}

bool elicit_ask_take(tn_task task, tn_value params, const char *server, const char *tool, tn_value continuation) {
    tn_value payload = elicit_payload(params, server, tool), schema = elicit_schema(params);
    int32_t status = payload != NULL && schema != NULL && continuation != NULL
                         ? tn.task->interrupt(task, payload, schema, continuation)
                         : TN_NO_MEMORY;
    tn_release(payload);
    tn_release(schema);
    tn_release(continuation);
    return status == TN_OK;
}

static void put_form_content(tn_builder *builder, tn_value params, tn_value answer) {
    tn_value properties = value_get_nested(params, "requestedSchema", "properties");
    tn_put_begin(builder, "content", TN_OBJECT);
    for (uint64_t i = 0, count = tn.value->count(properties); i < count; i++) {
        tn_value key, schema;
        if (tn.value->entry(properties, i, &key, &schema) != TN_OK) break;
        tn_value value = tn_get_key(answer, key);
        if (value == NULL) value = tn_get(schema, "default");
        if (value != NULL) tn_put_key(builder, key, value);
    }
    for (uint64_t i = 0, count = tn.value->count(answer); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(answer, i, &key, &value) != TN_OK) break;
        if (tn_get_key(properties, key) == NULL) tn_put_key(builder, key, value);
    }
    tn.value->end(builder);
}

tn_value elicit_result(tn_value params, tn_value answer) {
    bool form = !is_url_question(params) && tn.value->kind(answer) == TN_OBJECT;
    bool returned_url = elicit_authorizes(params) && tn.value->kind(answer) == TN_STRING;
    bool accepted = form || returned_url || (is_url_question(params) && value_is_true(answer));
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "action", accepted ? "accept" : "decline");
    if (form) put_form_content(builder, params, answer);
    tn.value->end(builder);
    return tn_finish(builder);
}

bool elicit_same(tn_value params, tn_value others) {
    static const char *const members[] = {"mode", "message", "requestedSchema", "url", "authorization"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value a = tn_get(params, members[i]), b = tn_get(others, members[i]);
        if ((a == NULL) != (b == NULL) || (a != NULL && !tn.value->equal(a, b))) return false;
    }
    return true;
}
