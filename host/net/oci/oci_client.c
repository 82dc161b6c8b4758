/*
 * oci_client.c - sends requests to a registry through the host's HTTP service: one request, its redirects, and at most
 * one attempt to authenticate.
 *
 * The HTTP service could follow redirects, too. It is done here, because a 401 must be answered only if it comes from
 * the registry itself.
 */
#include "host/net/oci/oci_client.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/base/loop.h"
#include "host/net/http.h"
#include "host/net/oci/oci_client_auth.h"
#include <string.h>
#include <tenon/http.h>

#define REASON_MAX 200 /* bytes of the registry's own message in an error */

/* ---- The client ---- */

static bool client_uses_plain_http(const struct oci_client_options *options, const struct oci_reference *reference) {
    tn_value configured = config_registry(options->config, reference->host);
    tn_value plain = configured ? value_get(configured, "plain_http") : NULL;
    if (options->plain_http) return true;
    return plain ? plain == value_bool(true) : oci_reference_is_loopback(reference);
}

struct oci_client *oci_client_new(const struct oci_client_options *options, const struct oci_reference *reference,
                                  struct error *error) {
    struct oci_client *client = mem_zalloc(sizeof *client);
    struct buffer text;
    client->options = *options;
    client->reference = *reference;
    client->where = value_format("%s/%s", reference->host, reference->name);
    buffer_init(&text, URL_MAX);
    buffer_format(&text, "%s://%s/v2/%s/", client_uses_plain_http(options, reference) ? "http" : "https",
                  reference->host, reference->name);
    const char *why = url_read(&client->base, buffer_cstr(&text), text.length, NULL);
    buffer_finish(&text);
    if (!why) return client;
    error_set(error, TN_INVALID, "INVALID_INPUT", "%s: %s", reference->host, why);
    oci_client_free(client);
    return NULL;
}

void oci_client_free(struct oci_client *client) {
    if (!client) return;
    url_finish(&client->base);
    value_unref(client->where);
    value_unref(client->authorization);
    mem_free(client);
}

const char *oci_client_where(const struct oci_client *client) { return value_chars(client->where, NULL); }

/* ---- One exchange ---- */

struct oci_wait {
    const struct oci_client *client;
    const struct oci_request *request;
    uint64_t exchange;
    bool ended;
    tn_value end, failure; /* the value of END, or of FAILED */
    int32_t status;        /* of `data` */
    struct error *error;
};

static void wait_on_event(void *user, int32_t event, tn_value value) {
    struct oci_wait *wait = user;
    if (event == TN_HTTP_END) {
        wait->end = value_ref(value);
    } else if (event == TN_HTTP_FAILED) {
        wait->failure = value_ref(value);
    } else if (event == TN_HTTP_DATA) {
        size_t length;
        const void *bytes = value_data(value, &length);
        wait->status = wait->request->data(wait->request->user, bytes, length, wait->error);
        if (wait->status == TN_OK) return;
        (void)http_cancel_own(wait->client->options.http, wait->exchange);
    } else {
        return;
    }
    wait->ended = true;
}

static bool wait_is_done(void *user) {
    const struct oci_wait *wait = user;
    return wait->ended || wait->client->options.stopped();
}

int32_t oci_exchange(struct oci_client *client, const struct oci_request *request, tn_value object, tn_value *end,
                     struct error *error) {
    struct oci_wait wait = {.client = client, .request = request, .error = error};
    struct http *http = client->options.http;
    int32_t status = http_send_own(http, object, wait_on_event, &wait, &wait.exchange);
    if (status != TN_OK)
        return error_set(error, status, "UNSUPPORTED", "%s: no HTTP request can be sent", oci_client_where(client));
    loop_run(client->options.loop, wait_is_done, &wait);
    if (!wait.ended) {
        (void)http_cancel_own(http, wait.exchange);
        return error_set(error, TN_CANCELLED, "CANCELLED", "%s: the transfer was cancelled", oci_client_where(client));
    }
    if (wait.failure) {
        error_from_value(error, wait.failure);
        if (value_text_is(value_get(wait.failure, "code"), "LIMIT"))
            error_set(error, TN_LIMIT, "LIMIT", "%s: the response is larger than the limit of %lld bytes",
                      oci_client_where(client), (long long)request->max_bytes);
        value_unref(wait.failure);
        return TN_ERROR;
    }
    *end = wait.end;
    return wait.status;
}

/* ---- Requests ---- */

static tn_value set_header(tn_value headers, const char *name, const char *text) {
    return text ? value_set_take(headers, name, value_text(text)) : headers;
}

/* The request object for the HTTP service; a new reference. */
static tn_value request_object(const struct oci_client *client, const struct oci_request *request,
                               const struct url *url) {
    struct buffer text;
    tn_value headers = value_object(), timeout = value_object(), made = value_object();
    bool reads = strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;
    buffer_init(&text, URL_MAX + sizeof "https://" + URL_HOST_MAX + 8);
    url_write(&text, url);
    made = value_set_take(made, "url", value_text(buffer_cstr(&text)));
    buffer_finish(&text);
    made = value_set_take(made, "method", value_text(request->method));
    headers = set_header(headers, "accept", request->accept);
    headers = set_header(headers, "content-type", request->content_type);
    headers = set_header(headers, "content-range", request->content_range);
    if (client->authorization && url_same_origin(url, &client->base))
        headers = value_set_take(headers, "authorization", value_ref(client->authorization));
    made = value_set_take(made, "headers", headers);
    if (request->digest)
        made = value_set_take(made, "query", value_set_take(value_object(), "digest", value_text(request->digest)));
    if (request->body) made = value_set_take(made, "body", value_ref(request->body));
    made = value_set_take(made, "receive", value_text(request->data ? "bytes" : "whole"));
    made = value_set_take(made, "max_bytes", value_int(request->max_bytes));
    timeout = value_set_take(timeout, "idle_ms", value_int(OCI_IDLE_MS));
    if (!request->data && !request->body) timeout = value_set_take(timeout, "total_ms", value_int(OCI_TOTAL_MS));
    made = value_set_take(made, "timeout", timeout);
    if (reads) made = value_set_take(made, "retry", oci_retry());
    return made;
}

tn_value oci_retry(void) {
    tn_value retry = value_set_take(value_object(), "max_attempts", value_int(3));
    retry = value_set_take(retry, "initial_ms", value_int(200));
    return value_set_take(retry, "max_ms", value_int(5000));
}

static bool is_redirect(const struct oci_request *request, int64_t status) {
    if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0) return false;
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/* Replaces the URL of the response by the one that it redirects to. */
static int32_t follow_redirect(const struct oci_client *client, struct oci_response *response, struct error *error) {
    const char *location = oci_response_header(response, "location");
    struct url to;
    const char *why = location ? url_read(&to, location, strlen(location), &response->url) : "it has no location";
    if (why)
        return error_set(error, TN_ERROR, "PROTOCOL", "%s: the registry sent a redirect that cannot be followed: %s",
                         oci_client_where(client), why);
    if (response->url.secure && !to.secure) {
        url_finish(&to);
        return error_set(error, TN_INVALID, "PERMISSION_DENIED",
                         "%s: the registry redirects to %s, which is not encrypted", oci_client_where(client), to.host);
    }
    url_finish(&response->url);
    response->url = to;
    return TN_OK;
}

/* The copy owns its target. */
static void url_copy(struct url *out, const struct url *url) {
    *out = *url;
    out->target = mem_text(url->target);
}

static int32_t response_take_end(struct oci_response *response, tn_value end) {
    value_unref(response->headers);
    value_unref(response->body);
    response->status = value_to_int(value_get(end, "status"));
    response->headers = value_ref(value_get(end, "headers"));
    response->body = value_get(end, "body") ? value_ref(value_get(end, "body")) : NULL;
    value_unref(end);
    return TN_OK;
}

static int32_t send_to(struct oci_client *client, const struct oci_request *request, struct oci_response *response,
                       struct error *error) {
    bool authenticated = false;
    for (int redirects = 0;;) {
        tn_value object = request_object(client, request, &response->url), end = NULL;
        int32_t status = oci_exchange(client, request, object, &end, error);
        value_unref(object);
        if (status == TN_OK) status = response_take_end(response, end);
        if (status != TN_OK) return status;
        if (response->status == 401 && !authenticated && url_same_origin(&response->url, &client->base)) {
            authenticated = true;
            status = oci_authenticate(client, oci_response_header(response, "www-authenticate"), error);
        } else if (is_redirect(request, response->status)) {
            if (redirects++ == OCI_REDIRECTS_MAX)
                return error_set(error, TN_ERROR, "PROTOCOL", "%s: the registry redirects more than %d times",
                                 oci_client_where(client), OCI_REDIRECTS_MAX);
            status = follow_redirect(client, response, error);
        } else {
            return TN_OK;
        }
        if (status != TN_OK) return status;
    }
}

int32_t oci_client_send(struct oci_client *client, const struct oci_request *request, struct oci_response *response,
                        struct error *error) {
    struct oci_response made = {.status = 0};
    struct error why = ERROR_INIT;
    int32_t status = TN_OK;
    if (request->path) {
        const char *fault = url_read(&made.url, request->path, strlen(request->path), &client->base);
        if (fault) status = error_set(&why, TN_INVALID, "INVALID_INPUT", "%s: %s", request->path, fault);
    } else {
        url_copy(&made.url, request->url);
    }
    if (status == TN_OK) status = send_to(client, request, &made, &why);
    if (status == TN_OK) {
        *response = made;
    } else {
        oci_response_finish(&made);
        error_move(error, &why);
    }
    error_finish(&why);
    return status;
}

/* ---- Responses ---- */

void oci_response_finish(struct oci_response *response) {
    value_unref(response->headers);
    value_unref(response->body);
    url_finish(&response->url);
    *response = (struct oci_response){.status = 0};
}

const char *oci_response_header(const struct oci_response *response, const char *name) {
    tn_value text = value_get(response->headers, name);
    return value_is(text, TN_STRING) ? value_chars(text, NULL) : NULL;
}

/* ": " and the message of {"errors": [{"code", "message"}]}, or an empty text; a new reference. */
static tn_value response_reason(const struct oci_response *response) {
    size_t length = 0;
    const char *text = response->body ? value_data(response->body, &length) : NULL;
    tn_value body = NULL, reason = NULL;
    if (text && json_read(text, length, NULL, &body, NULL) == TN_OK) {
        tn_value errors = value_get(body, "errors");
        tn_value first = value_is(errors, TN_ARRAY) && value_count(errors) ? value_at(errors, 0) : NULL;
        tn_value message = first ? value_get(first, "message") : NULL;
        if (value_is(message, TN_STRING)) reason = value_format(": %.*s", REASON_MAX, value_chars(message, NULL));
    }
    value_unref(body);
    return reason ? reason : value_text("");
}

int32_t oci_response_fail(const struct oci_client *client, const struct oci_response *response, const char *what,
                          struct error *error) {
    tn_value reason_text = response_reason(response);
    const char *reason = value_chars(reason_text, NULL);
    const char *code = "HTTP_STATUS", *hint = "";
    if (response->status == 404) code = "NOT_FOUND", hint = "; it does not exist, or you have no access to it";
    if (response->status == 401 || response->status == 403)
        code = "AUTH", hint = client->has_password
                                  ? "; the registry refuses the user and the password that `packs.registries` in "
                                    "tenon.yaml, or `docker login`, has set, or they do not allow this"
                                  : "; the registry refuses access without a user and a password";
    if (response->status == 429) code = "RATE_LIMITED", hint = "; try again later";
    if (!url_same_origin(&response->url, &client->base))
        error_set(error, TN_ERROR, code, "%s: %s: %s, to which the registry redirects, answered with the status %d%s",
                  oci_client_where(client), what, response->url.host, (int)response->status, reason);
    else
        error_set(error, TN_ERROR, code, "%s: %s: the registry answered with the status %d%s%s",
                  oci_client_where(client), what, (int)response->status, reason, hint);
    value_unref(reason_text);
    return TN_ERROR;
}
