/*
 * response_routes.c - reading, cancelling and deleting responses, and the items of their input.
 */
#include "response.h"
#include <stdlib.h>

/* ---- GET /v1/responses/{id} ---- */

static const char *query(const struct exchange *exchange, const char *name) {
    return tn_get_text(tn_get(exchange->request, "query"), name, NULL);
}

/* A whole number of the query; the fallback if it is absent; -2 if it is something else. */
static int64_t query_number(const struct exchange *exchange, const char *name, int64_t fallback) {
    const char *text = query(exchange, name);
    size_t length = text != NULL ? strlen(text) : 0;
    if (text == NULL) return fallback;
    if (length == 0 || length > 15 || strspn(text, "0123456789") != length) return -2;
    return strtoll(text, NULL, 10);
}

static void get_then(struct exchange *exchange, struct response *response) {
    const char *stream = query(exchange, "stream");
    int64_t after = query_number(exchange, "starting_after", -1);
    uint64_t from = (uint64_t)(after + 1);
    if (stream == NULL || strcmp(stream, "true") != 0) {
        exchange_reply(exchange, 200, response_events_value(&response->events));
        return;
    }
    if (response->ended && from < response->log_first && response->followers == NULL) {
        response_free(response); /* its first events were dropped: they are made again */
        response_load(exchange, exchange_param(exchange, "id"), get_then);
        return;
    }
    if (!response_follow(response, exchange, true, from, false)) exchange_abort(exchange);
}

void response_get(struct exchange *exchange) {
    int64_t after = query_number(exchange, "starting_after", -1);
    struct openai_error error = {0};
    if (after >= -1) {
        response_load(exchange, exchange_param(exchange, "id"), get_then);
        return;
    }
    (void)openai_invalid(&error, "starting_after", "invalid_value", "`starting_after` must be the number of an event");
    exchange_refuse(exchange, &error);
}

/* ---- POST /v1/responses/{id}/cancel ---- */

static void cancel_then(struct exchange *exchange, struct response *response) {
    struct openai_error error = {0};
    if (!response->events.background) {
        (void)openai_invalid(&error, NULL, "invalid_request",
                             "only a response with `background`: true can be cancelled");
        exchange_refuse(exchange, &error);
        return;
    }
    if (response->run != NULL && !response->ended) serving_run_cancel(response->run);
    if (!response_follow(response, exchange, false, 0, false)) exchange_abort(exchange);
}

void response_cancel(struct exchange *exchange) {
    response_load(exchange, exchange_param(exchange, "id"), cancel_then);
}

/* ---- Calls with one answer ---- */

static void call_event(struct exchange *exchange, int32_t event) {
    if (event != TN_SERVER_CLOSED) return;
    serving_cancel(&exchange->openai->serving, *(uint64_t *)exchange->object);
    serving_free(exchange->object);
}

static void call_end(struct exchange *exchange) {
    serving_free(exchange->object);
    exchange->object = NULL;
    exchange->on_event = NULL;
}

static void call(struct exchange *exchange, const char *method, tn_value params, tn_host_handler handler) {
    uint64_t *number = serving_alloc(sizeof *number);
    if (number == NULL) {
        tn_release(params);
        exchange_abort(exchange);
        return;
    }
    exchange->object = number;
    exchange->on_event = call_event;
    serving_call_take(&exchange->openai->serving, exchange->caller, method, params, handler, exchange, number);
}

/* {thread_id} of the response in the path: new. */
static tn_value thread_params(const struct exchange *exchange) {
    char thread[RESPONSE_ID_MAX];
    response_thread(exchange_param(exchange, "id"), thread);
    return tn_build("{s:s}", "thread_id", thread);
}

/* What is saved of the response in the path; NULL if the thread is another one. */
static tn_value saved_here(const struct exchange *exchange, int32_t status, tn_value thread) {
    tn_value saved = status == TN_OK ? response_saved(thread) : NULL;
    return saved != NULL && response_is_saved(saved, exchange_param(exchange, "id")) ? saved : NULL;
}

/* The error, or "not found". */
static void refuse_call(struct exchange *exchange, tn_value of) {
    struct openai_error error = {0};
    if (of == NULL || serving_is(tn_get(of, "code"), "NOT_FOUND")) {
        response_not_found(exchange, exchange_param(exchange, "id"));
        return;
    }
    openai_error_of(&error, of);
    exchange_refuse(exchange, &error);
}

/* ---- DELETE /v1/responses/{id} ---- */

static void reply_deleted(struct exchange *exchange) {
    exchange_reply(
        exchange, 200,
        tn_build("{s:s, s:s, s:b}", "id", exchange_param(exchange, "id"), "object", "response", "deleted", 1));
}

static void TN_ABI on_deleted(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    const char *id = exchange_param(exchange, "id");
    struct response *known = response_find(exchange, id);
    call_end(exchange);
    if (status != TN_OK) {
        refuse_call(exchange, value);
        return;
    }
    if (known != NULL && known->followers == NULL) response_free(known);
    reply_deleted(exchange);
}

static void TN_ABI on_delete_found(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    const char *id = exchange_param(exchange, "id");
    struct response *known = response_find(exchange, id);
    bool absent = status != TN_OK && serving_is(tn_get(value, "code"), "NOT_FOUND");
    call_end(exchange);
    if (absent && known != NULL && known->ended) { /* it was cancelled before its thread was saved */
        if (known->followers == NULL) response_free(known);
        reply_deleted(exchange);
        return;
    }
    if (saved_here(exchange, status, value) == NULL) {
        refuse_call(exchange, status != TN_OK ? value : NULL);
        return;
    }
    if (known != NULL && !known->ended && known->run != NULL) serving_run_cancel(known->run);
    call(exchange, "thread/delete", tn_set_take(thread_params(exchange), "force", tn_bool(1)), on_deleted);
}

void response_delete(struct exchange *exchange) {
    call(exchange, "thread/get", thread_params(exchange), on_delete_found);
}

/* ---- GET /v1/responses/{id}/input_items ---- */

/* An item with an id, as the list has it: new. */
static tn_value listed_item(const char *id, tn_value item, uint64_t index) {
    char own[80];
    tn_value made = tn_retain(item), content = tn_get(item, "content");
    (void)snprintf(own, sizeof own, "msg_%.40s_in_%llu", strncmp(id, "resp_", 5) == 0 ? id + 5 : id,
                   (unsigned long long)index);
    if (made != NULL && tn_chars(tn_get(item, "id"), NULL) == NULL) made = tn_set_take(made, "id", tn_text(own));
    if (made != NULL && tn_get(item, "type") == NULL) made = tn_set_take(made, "type", tn_text("message"));
    if (made != NULL && tn.value->kind(content) == TN_STRING)
        made = tn_set_take(made, "content", tn_build("[{s:s, s:v}]", "type", "input_text", "text", content));
    return made;
}

/* All items, in the order of the query: new. */
static tn_value listed_items(const struct exchange *exchange, tn_value items) {
    const char *order = query(exchange, "order");
    bool ascending = order != NULL && strcmp(order, "asc") == 0;
    tn_value list = tn_build("[]");
    for (uint64_t i = 0, count = tn.value->count(items); i < count; i++) {
        uint64_t at = ascending ? i : count - 1 - i;
        (void)tn_append_take(&list, listed_item(exchange_param(exchange, "id"), tn.value->at(items, at), at));
    }
    return list;
}

static void reply_items(struct exchange *exchange, tn_value items, uint64_t limit) {
    tn_value all = listed_items(exchange, items), page = tn_build("[]");
    const char *after = query(exchange, "after");
    uint64_t count = tn.value->count(all), at = 0;
    while (after != NULL && at < count && !serving_is(tn_get(tn.value->at(all, at), "id"), after)) at++;
    if (after != NULL) at++;
    for (; at < count && tn.value->count(page) < limit; at++)
        (void)tn_append_take(&page, tn_retain(tn.value->at(all, at)));
    uint64_t shown = tn.value->count(page);
    tn_value first = tn_get(tn.value->at(page, 0), "id"),
             last = shown > 0 ? tn_get(tn.value->at(page, shown - 1), "id") : NULL;
    tn_value list = tn_build("{s:s, s:v, s:v?, s:v?, s:b}", "object", "list", "data", page, "first_id", first,
                             "last_id", last, "has_more", (int)(at < count));
    tn_release(all);
    tn_release(page);
    exchange_reply(exchange, 200, list);
}

static void TN_ABI on_items_found(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    struct openai_error error = {0};
    tn_value saved = saved_here(exchange, status, value), items = tn_get(saved, "items");
    int64_t limit = query_number(exchange, "limit", 20);
    call_end(exchange);
    if (saved == NULL) {
        refuse_call(exchange, status != TN_OK ? value : NULL);
    } else if (limit < 1 || limit > 100) {
        (void)openai_invalid(&error, "limit", "invalid_value", "`limit` must be from 1 to 100");
        exchange_refuse(exchange, &error);
    } else if (items == NULL) {
        (void)openai_invalid(&error, NULL, "input_too_large", "the input of this response was too large to be kept");
        exchange_refuse(exchange, &error);
    } else {
        reply_items(exchange, items, (uint64_t)limit);
    }
}

void response_input_items(struct exchange *exchange) {
    call(exchange, "thread/get", thread_params(exchange), on_items_found);
}
