/*
 * webhook.c - webhooks: a run that has ended is sent to the address that its request has named, if the operator allows
 * addresses like it (`webhooks: {allow}`).
 *
 * What is sent is independent of the run, which can be forgotten meanwhile. The host repeats a request that fails; what
 * still fails is dropped.
 */
#include "stream.h"
#include <tenon/http.h>

#define BODY_HOOK_MAX (1u << 20)  /* bytes; without values if it would be longer */
#define HOOKS_SIZE    (64u << 20) /* bytes of all that wait */
#define HOOKS_MAX     1000u       /* that wait or are being sent */
#define HOOKS_OWNER   100u        /* of one user */
#define OPEN_MAX      64u         /* that are being sent */
#define OPEN_OWNER    8u          /* of one user */

struct hook {
    struct hook *next;
    struct langgraph *langgraph;
    char owner[OWNER_MAX], run_id[UUID_TEXT];
    tn_value url, body; /* texts */
    uint64_t length, exchange;
};

/* ---- The queue ---- */

static void hook_free(struct hook *hook) {
    struct hook **link = &hook->langgraph->hooks;
    while (*link != hook) link = &(*link)->next;
    *link = hook->next;
    if (hook->exchange != 0) (void)hook->langgraph->http->cancel(tn.host, hook->exchange);
    tn_release(hook->url);
    tn_release(hook->body);
    serving_free(hook);
}

static uint32_t count(const struct langgraph *langgraph, const char *owner, bool open, uint64_t *size) {
    uint32_t found = 0;
    *size = 0;
    for (const struct hook *hook = langgraph->hooks; hook != NULL; hook = hook->next) {
        if ((open && hook->exchange == 0) || (owner != NULL && strcmp(hook->owner, owner) != 0)) continue;
        found++;
        *size += hook->length;
    }
    return found;
}

static bool has_room(const struct langgraph *langgraph, const char *owner, uint64_t length) {
    uint64_t size, of_owner;
    return count(langgraph, NULL, false, &size) < HOOKS_MAX && size + length <= HOOKS_SIZE &&
           count(langgraph, owner, false, &of_owner) < HOOKS_OWNER && of_owner + length <= HOOKS_SIZE / 4;
}

/* The log has the id of the run, not the address, which can contain a secret. */
static void log_failure(const struct hook *hook, const char *code, int status) {
    struct tn_text_buffer text = TN_TEXT_BUFFER(512);
    (void)tn_text_append_format(&text, "langgraph_server: the webhook of the run %s has failed: ", hook->run_id);
    if (code != NULL)
        (void)tn_text_append_format(&text, "[%s]", code);
    else
        (void)tn_text_append_format(&text, "status %d", status);
    tn_log(TN_LOG_WARN, tn_text_chars(&text));
    tn_text_free(&text);
}

static void pump(struct langgraph *langgraph);

static void TN_ABI on_http(void *user, int32_t event, tn_value value) {
    struct hook *hook = user;
    struct langgraph *langgraph = hook->langgraph;
    int64_t status = event == TN_HTTP_END ? tn_get_int(value, "status", 0) : 0;
    if (event != TN_HTTP_END && event != TN_HTTP_FAILED) return;
    hook->exchange = 0;
    if (status < 200 || status > 299) log_failure(hook, tn_get_text(value, "code", NULL), (int)status);
    hook_free(hook);
    pump(langgraph);
}

static void hook_send(struct hook *hook) {
    tn_value headers = tn_build("{s:s}", "Content-Type", "application/json");
    tn_value request = serving_post(tn_chars(hook->url, NULL), headers, hook->body);
    int32_t status =
        request == NULL ? TN_NO_MEMORY : hook->langgraph->http->send(tn.host, request, on_http, hook, &hook->exchange);
    tn_release(request);
    if (status == TN_OK) return;
    hook->exchange = 0;
    log_failure(hook, "LIMIT", 0);
    hook_free(hook);
}

/* The oldest one whose user may send another one. */
static struct hook *next_hook(const struct langgraph *langgraph) {
    uint64_t size;
    struct hook *next = NULL;
    if (count(langgraph, NULL, true, &size) >= OPEN_MAX) return NULL;
    for (struct hook *hook = langgraph->hooks; hook != NULL; hook = hook->next)
        if (hook->exchange == 0 && count(langgraph, hook->owner, true, &size) < OPEN_OWNER) next = hook;
    return next;
}

static void pump(struct langgraph *langgraph) {
    for (struct hook *hook; (hook = next_hook(langgraph)) != NULL;) hook_send(hook);
}

/* ---- Runs ---- */

bool webhook_check(struct exchange *exchange) {
    tn_value webhook = tn_get(exchange->body, "webhook");
    const char *url = tn_chars(webhook, NULL);
    uint64_t length = 0;
    if (!is_set(webhook)) return true;
    (void)tn_chars(webhook, &length);
    if (exchange->langgraph->http == NULL)
        refuse(exchange, 501,
               "`webhook` is not supported here: the operator has allowed no addresses (`webhooks: {allow}` of "
               "tenon.langgraph_server)");
    else if (url == NULL || strlen(url) != length || !serving_url_is_allowed(url, exchange->langgraph->hooks_allow))
        refuse(exchange, 422, "`webhook` must be an address that the operator has allowed");
    else
        return true;
    return false;
}

/* As JSON, without the values if it is too long: new. */
static tn_value hook_body(const struct run *run, uint64_t *length) {
    char now[TIME_TEXT_SIZE];
    time_text(tn.core->wall_ms(tn.host), now);
    for (int values = 1; values >= 0; values--) {
        tn_value error = tn_get(run->result, "__error__"), body = run_value(run);
        body = tn_set_take(body, "run_started_at", tn_text(run->created));
        body = tn_set_take(body, "run_ended_at", tn_text(run->updated));
        body = tn_set_take(body, "webhook_sent_at", tn_text(now));
        if (error != NULL) body = tn_set_take(body, "error", tn_retain(error));
        body = tn_set_take(body, "values",
                           values && error == NULL && run->result != NULL ? tn_retain(run->result) : tn_null());
        if (values == 0) body = tn_set_take(body, "kwargs", tn_build("{}"));
        tn_value json = tn_to_json(body);
        tn_release(body);
        if (tn_chars(json, length) != NULL && (*length <= BODY_HOOK_MAX || values == 0)) return json;
        tn_release(json);
    }
    return NULL;
}

void webhook_send(const struct run *run) {
    struct langgraph *langgraph = run->langgraph;
    tn_value url = tn_get(run->kwargs, "webhook");
    const char *text = tn_chars(url, NULL);
    uint64_t length = 0;
    /* What another process or an earlier version has saved is checked again. */
    if (text == NULL || langgraph->http == NULL || !serving_url_is_allowed(text, langgraph->hooks_allow)) return;
    struct hook *hook = serving_alloc(sizeof *hook);
    if (hook == NULL) return;
    *hook = (struct hook){.langgraph = langgraph, .url = tn_retain(url), .body = hook_body(run, &length)};
    hook->length = length;
    (void)snprintf(hook->owner, sizeof hook->owner, "%s", run->owner);
    (void)snprintf(hook->run_id, sizeof hook->run_id, "%s", run->id);
    bool fits = hook->body != NULL && has_room(langgraph, hook->owner, length);
    hook->next = langgraph->hooks;
    langgraph->hooks = hook;
    if (fits) {
        pump(langgraph);
        return;
    }
    log_failure(hook, "LIMIT", 0);
    hook_free(hook);
}

/* ---- Life ---- */

void webhooks_open(struct langgraph *langgraph, tn_value config) {
    tn_value allow = tn_get(tn_get(config, "webhooks"), "allow");
    langgraph->hooks_allow = serving_origins_read(allow, "tenon.langgraph_server: webhooks.allow");
    if (langgraph->hooks_allow == NULL) return;
    langgraph->http = tn_easy_interface(tn.host, TN_HTTP_1, sizeof(tn_http_1));
    if (langgraph->http == NULL)
        tn_log(TN_LOG_ERROR, "tenon.langgraph_server: there are no webhooks, because no plugin provides HTTP");
}

void webhooks_close(struct langgraph *langgraph) {
    while (langgraph->hooks != NULL) hook_free(langgraph->hooks);
    tn_release(langgraph->hooks_allow);
}
