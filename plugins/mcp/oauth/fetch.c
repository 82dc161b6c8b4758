/*
 * fetch.c - requests and their answers. tenon.http sends them, within the plugin's effects; there are no sockets here.
 */
#include "fetch.h"

static void fetch_report(struct fetch *fetch, const struct fetched *answer) {
    fetch->exchange = 0;
    fetch->done(fetch->user, answer); /* it may send again, or free the owner of `fetch` */
}

static void on_fetch_event(void *user, int32_t event, tn_value value) {
    struct fetch *fetch = user;
    if (event == TN_HTTP_FAILED) {
        const struct fetched failed = {.code = tn_get_text(value, "code", "CONNECT"),
                                       .why = tn_get_text(value, "message", "the connection failed")};
        fetch_report(fetch, &failed);
        return;
    }
    if (event != TN_HTTP_END) return;
    tn_value body = tn_get(value, "body"), json = NULL;
    uint64_t length = 0;
    const char *bytes = tn.value->as_bytes(body, &length);
    if (bytes == NULL) bytes = tn_chars(body, &length);
    if (bytes != NULL && tn.value->from_json(tn.host, bytes, length, &json, NULL) == TN_OK &&
        tn.value->kind(json) != TN_OBJECT) {
        tn_release(json);
        json = NULL;
    }
    struct fetched answer = {tn_get_int(value, "status", 0), json, tn_get(value, "headers"), NULL, NULL};
    if (answer.status >= 200 && answer.status < 300 && json == NULL) {
        answer.code = "SERVER_ERROR";
        answer.why = "the answer is not a JSON object";
    }
    fetch_report(fetch, &answer);
    tn_release(json);
}

static void on_fetch_not_sent(void *argument) {
    static const struct fetched failed = {.code = "CONNECT", .why = "the request cannot be sent"};
    struct fetch *fetch = argument;
    fetch->post = 0;
    fetch_report(fetch, &failed);
}

void fetch_send(struct fetch *fetch, tn_value request, fetch_done done, void *user) {
    fetch->done = done;
    fetch->user = user;
    int32_t status =
        request != NULL ? mcp_http->send(tn.host, request, on_fetch_event, fetch, &fetch->exchange) : TN_LIMIT;
    tn_release(request);
    if (status == TN_OK) return;
    fetch->exchange = 0;
    fetch->post = tn_post(0, on_fetch_not_sent, fetch);
}

void fetch_cancel(struct fetch *fetch) {
    if (fetch->exchange != 0) (void)mcp_http->cancel(tn.host, fetch->exchange);
    if (fetch->post != 0) (void)tn.core->unpost(tn.host, fetch->post);
    fetch->exchange = fetch->post = 0;
}

/* ---- Requests ---- */

static tn_builder *start_fetch_request(const char *url, const char *method, const char *type) {
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    tn_put_text(out, "url", url);
    tn_put_text(out, "method", method);
    tn_put_begin(out, "headers", TN_OBJECT);
    tn_put_text(out, "accept", "application/json");
    if (type != NULL) tn_put_text(out, "content-type", type);
    return out;
}

static tn_value finish_fetch_request(tn_builder *out, int64_t max_bytes) {
    tn_put_int(out, "max_bytes", max_bytes);
    tn_put_begin(out, "timeout", TN_OBJECT);
    tn_put_int(out, "total_ms", OAUTH_STEP_MS);
    tn.value->end(out);
    tn.value->end(out);
    return tn_finish(out);
}

tn_value fetch_get(const char *url) {
    tn_builder *out = start_fetch_request(url, "GET", NULL);
    tn.value->end(out);
    tn_put_int(out, "redirects", OAUTH_REDIRECTS_MAX);
    return finish_fetch_request(out, OAUTH_METADATA_MAX);
}

tn_value fetch_form(const char *url, tn_value form, tn_value authorization, tn_value proof, const char *name) {
    if (form == NULL) return NULL;
    tn_builder *out = start_fetch_request(url, "POST", "application/x-www-form-urlencoded");
    if (authorization != NULL) tn_put(out, "authorization", authorization);
    if (proof != NULL) tn_put(out, "dpop", proof);
    tn.value->end(out);
    tn_put(out, "body", form);
    tn_put_text(out, "private", name);
    return finish_fetch_request(out, OAUTH_ANSWER_MAX);
}

tn_value fetch_json(const char *url, tn_value json, const char *name) {
    if (json == NULL) return NULL;
    tn_builder *out = start_fetch_request(url, "POST", NULL);
    tn.value->end(out);
    tn_put(out, "json", json);
    tn_put_text(out, "private", name);
    return finish_fetch_request(out, OAUTH_METADATA_MAX);
}
