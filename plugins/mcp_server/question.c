/*
 * question.c - interrupts as requests for input, and results of requests as answers.
 *
 * A key is unique among the questions of one run: the node that asks, with a number if it asks twice. A schema that a
 * form cannot have (anything but an object) is wrapped as {value: SCHEMA}.
 */
#include "question.h"

enum form { FORM_REQUEST, FORM_QUESTION, FORM_APPROVAL, FORM_PAGE };

/* ---- From interrupts ---- */

static tn_value stated_requests(tn_value payload) {
    tn_value stated = tn_get(tn_get(payload, "mcp"), "requests");
    if (!value_is_object(stated)) stated = tn_get(tn_get(tn_get(payload, "detail"), "mcp"), "requests");
    return value_is_object(stated) ? stated : NULL;
}

static bool key_is_used(tn_value questions, const char *key) {
    for (uint64_t i = 0, count = tn.value->count(questions); i < count; i++)
        if (serving_is(tn_get(tn.value->at(questions, i), "key"), key)) return true;
    return false;
}

static tn_value new_key(tn_value questions, const char *wanted) {
    char key[128];
    (void)snprintf(key, sizeof key, "%.100s", wanted);
    for (uint32_t i = 2; key_is_used(questions, key); i++) (void)snprintf(key, sizeof key, "%.100s_%u", wanted, i);
    return tn_text_lossy(key, strlen(key));
}

static bool schema_allows_null(tn_value schema) {
    tn_value type = tn_get(schema, "type"), any = tn_get(schema, "anyOf");
    if (schema == NULL || serving_true(schema) || serving_is(type, "null")) return true;
    for (uint64_t i = 0, count = tn.value->count(type); i < count; i++)
        if (serving_is(tn.value->at(type, i), "null")) return true;
    for (uint64_t i = 0, count = tn.value->count(any); i < count; i++)
        if (schema_allows_null(tn.value->at(any, i))) return true;
    return false;
}

/* The schema of a form, without the alternative null that questions of tenon.mcp have. */
static tn_value form_of(tn_value schema) {
    tn_value any = tn_get(schema, "anyOf");
    if (value_is_object(schema) && serving_is(tn_get(schema, "type"), "object")) return schema;
    for (uint64_t i = 0, count = tn.value->count(any); i < count; i++)
        if (serving_is(tn_get(tn.value->at(any, i), "type"), "object")) return tn.value->at(any, i);
    return NULL;
}

static tn_value form_params(tn_value text, tn_value schema, bool *wraps) {
    tn_value form = form_of(schema);
    *wraps = form == NULL;
    if (form != NULL && value_is_object(tn_get(form, "properties")))
        return tn_build("{s:s, s:v, s:v}", "mode", "form", "message", text, "requestedSchema", form);
    *wraps = true;
    bool usable = value_is_object(schema) && (tn_get(schema, "type") != NULL || tn_get(schema, "enum") != NULL) &&
                  !value_is_array(tn_get(schema, "type"));
    tn_value value = usable ? tn_retain(schema) : tn_build("{s:s}", "type", "string");
    if (usable && tn_get(schema, "type") == NULL) value = tn_set_take(value, "type", tn_text("string"));
    return tn_build("{s:s, s:v, s:{s:s, s:{s:V}, s:[s]}}", "mode", "form", "message", text, "requestedSchema", "type",
                    "object", "properties", "value", value, "required", "value");
}

static tn_value approval_params(tn_value text) {
    return tn_build("{s:s, s:v, s:{s:s, s:{s:{s:s, s:s}}, s:[s]}}", "mode", "form", "message", text, "requestedSchema",
                    "type", "object", "properties", "approved", "type", "boolean", "title", "Approve", "required",
                    "approved");
}

/* A request that the payload does not state: a question, an approval, or a page. */
static void add_question(tn_value *questions, tn_value interrupt) {
    tn_value payload = tn_get(interrupt, "payload"), schema = tn_get(interrupt, "schema"), params = NULL;
    tn_value text = serving_ask_text(interrupt);
    const char *url = tn_get_text(payload, "url", NULL), *id = tn_get_text(interrupt, "id", "");
    bool wraps = false;
    enum form form = serving_ask_is_approval(interrupt) ? FORM_APPROVAL : url != NULL ? FORM_PAGE : FORM_QUESTION;
    if (form == FORM_APPROVAL)
        params = approval_params(text);
    else if (form == FORM_PAGE)
        params = tn_build("{s:s, s:v, s:s, s:s}", "mode", "url", "message", text, "url", url, "elicitationId", id);
    else
        params = form_params(text, schema, &wraps);
    tn_value key = new_key(*questions, tn_get_text(interrupt, "node", "question"));
    (void)tn_append_take(questions, tn_build("{s:V, s:s, s:i, s:s, s:V, s:b, s:b}", "key", key, "interrupt", id, "form",
                                             (int)form, "method", "elicitation/create", "params", params, "wraps",
                                             wraps, "nullable", schema_allows_null(schema)));
    tn_release(text);
}

static void add_stated(tn_value *questions, tn_value interrupt, tn_value requests) {
    for (uint64_t i = 0, count = tn.value->count(requests); i < count && i < MCPS_QUESTIONS_MAX; i++) {
        tn_value key, request;
        if (tn.value->entry(requests, i, &key, &request) != TN_OK) break;
        const char *method = tn_get_text(request, "method", NULL);
        tn_value params = tn_get(request, "params");
        if (method == NULL) continue;
        (void)tn_append_take(questions,
                             tn_build("{s:v, s:s, s:i, s:s, s:V}", "key", key, "interrupt",
                                      tn_get_text(interrupt, "id", ""), "form", (int)FORM_REQUEST, "method", method,
                                      "params", params != NULL ? tn_retain(params) : tn_build("{}")));
    }
}

tn_value questions_new(tn_value interrupts) {
    tn_value questions = tn_build("[]");
    for (uint64_t i = 0, count = tn.value->count(interrupts); i < count && i < MCPS_QUESTIONS_MAX; i++) {
        tn_value interrupt = tn.value->at(interrupts, i), stated = stated_requests(tn_get(interrupt, "payload"));
        if (stated != NULL)
            add_stated(&questions, interrupt, stated);
        else
            add_question(&questions, interrupt);
    }
    return questions;
}

tn_value questions_ids(tn_value questions) {
    tn_value ids = tn_build("[]");
    for (uint64_t i = 0, count = tn.value->count(questions); i < count; i++) {
        tn_value id = tn_get(tn.value->at(questions, i), "interrupt"),
                 last = tn.value->count(ids) > 0 ? tn.value->at(ids, tn.value->count(ids) - 1) : NULL;
        if (last == NULL || !tn.value->equal(last, id)) (void)tn_append_take(&ids, tn_retain(id));
    }
    return ids;
}

/* ---- Capabilities ---- */

static const char *capability_of(const char *method) {
    if (strcmp(method, "sampling/createMessage") == 0) return "sampling";
    if (strcmp(method, "roots/list") == 0) return "roots";
    return strcmp(method, "elicitation/create") == 0 ? "elicitation" : NULL;
}

/* `elicitation: {}` stands for forms; pages need `elicitation: {url: {}}`. */
static bool client_can(tn_value capabilities, tn_value question) {
    const char *name = capability_of(tn_get_text(question, "method", ""));
    tn_value capability = name != NULL ? tn_get(capabilities, name) : NULL;
    if (!value_is_object(capability)) return false;
    bool page = serving_is(tn_get(tn_get(question, "params"), "mode"), "url");
    return !page || tn_get(capability, "url") != NULL;
}

tn_value questions_requests(tn_value questions, tn_value capabilities, tn_value *missing) {
    tn_value requests = tn_build("{}"), needed = tn_build("{}");
    *missing = NULL;
    for (uint64_t i = 0, count = tn.value->count(questions); i < count; i++) {
        tn_value question = tn.value->at(questions, i);
        const char *name = capability_of(tn_get_text(question, "method", "")), *key = tn_get_text(question, "key", "");
        if (client_can(capabilities, question))
            requests = tn_set_take(
                requests, key,
                tn_build("{s:v, s:v}", "method", tn_get(question, "method"), "params", tn_get(question, "params")));
        else if (name != NULL)
            needed = tn_set_take(needed, name, tn_build("{}"));
    }
    if (tn.value->count(requests) > 0) {
        tn_release(needed);
        return requests;
    }
    tn_release(requests);
    *missing = needed;
    return NULL;
}

/* ---- Answers ---- */

static bool result_is_valid(const char *method, tn_value result) {
    if (!value_is_object(result)) return false;
    if (strcmp(method, "roots/list") == 0) return value_is_array(tn_get(result, "roots"));
    if (strcmp(method, "sampling/createMessage") == 0)
        return tn_get_text(result, "role", NULL) != NULL && tn.value->kind(tn_get(result, "content")) > TN_NULL;
    const char *action = tn_get_text(result, "action", "");
    return strcmp(action, "accept") == 0 || strcmp(action, "decline") == 0 || strcmp(action, "cancel") == 0;
}

/* The required members of a form are present. The host validates the values with the interrupt's schema. */
static bool form_is_filled(tn_value params, tn_value result) {
    tn_value schema = tn_get(params, "requestedSchema"), required = tn_get(schema, "required");
    tn_value content = tn_get(result, "content");
    if (!serving_is(tn_get(result, "action"), "accept") || schema == NULL) return true;
    if (!value_is_object(content)) return false;
    for (uint64_t i = 0, count = tn.value->count(required); i < count; i++)
        if (tn_get_key(content, tn.value->at(required, i)) == NULL) return false;
    return true;
}

/* The answer of a question that the payload has not stated; NULL: it was declined. A new reference. */
static tn_value answer_of(tn_value question, tn_value result) {
    int64_t form = tn_get_int(question, "form", FORM_QUESTION);
    bool accepted = serving_is(tn_get(result, "action"), "accept");
    tn_value content = tn_get(result, "content");
    if (form == FORM_APPROVAL)
        return tn_build("{s:b}", "approved", accepted && serving_true(tn_get(content, "approved")));
    if (accepted && form == FORM_PAGE) return tn_bool(1);
    if (accepted) return tn_retain(serving_true(tn_get(question, "wraps")) ? tn_get(content, "value") : content);
    return serving_true(tn_get(question, "nullable")) ? tn_null() : NULL;
}

enum questions_state questions_answer(tn_value questions, tn_value capabilities, tn_value responses,
                                      tn_value *answers) {
    tn_value all = tn_build("{}");
    enum questions_state state = QUESTIONS_COMPLETE;
    for (uint64_t i = 0, count = tn.value->count(questions); state == QUESTIONS_COMPLETE && i < count; i++) {
        tn_value question = tn.value->at(questions, i), params = tn_get(question, "params");
        const char *key = tn_get_text(question, "key", ""), *interrupt = tn_get_text(question, "interrupt", "");
        tn_value result = tn_get(responses, key);
        bool stated = tn_get_int(question, "form", FORM_QUESTION) == FORM_REQUEST;
        if (!client_can(capabilities, question)) {
            if (!stated) state = QUESTIONS_DECLINED; /* it was not asked */
            continue;
        }
        if (!result_is_valid(tn_get_text(question, "method", ""), result) || !form_is_filled(params, result)) {
            state = QUESTIONS_INCOMPLETE;
            break;
        }
        tn_value answer = NULL;
        if (stated) {
            tn_value known = tn_get(all, interrupt);
            answer = tn_set_take(known != NULL ? tn_retain(known) : tn_build("{}"), tn_get_text(question, "name", key),
                                 tn_retain(result));
        } else {
            answer = answer_of(question, result);
        }
        if (answer == NULL)
            state = QUESTIONS_DECLINED;
        else
            all = tn_set_take(all, interrupt, answer);
    }
    if (state == QUESTIONS_COMPLETE)
        *answers = all;
    else
        tn_release(all);
    return state;
}
