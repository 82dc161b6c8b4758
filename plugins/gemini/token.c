/*
 * token.c - keeps the token sources, sends their requests, and notifies the waits.
 *
 * Waits are moved to a separate list before they are notified, so that a callback can start or cancel other waits. A
 * failure is not cached: the next call starts another request.
 */
#include "token.h"
#include "credentials.h"

struct token_source {
    struct token_source *next;
    const tn_http_1 *http;
    char *file, *token_url; /* may be NULL */
    uint32_t users;
    tn_value header, billing_project; /* of the newest token */
    int64_t ends_ns;                  /* when it counts as expired */
    bool requesting, uses_metadata_server;
    uint64_t exchange; /* 0: the request could not be sent, and the failure is reported soon */
    uint64_t post;
    struct token_wait *waiting, *calling;
    char reason[CREDENTIALS_MESSAGE_MAX];
};

static struct token_source *sources;

/* ---- Sources ---- */

static bool token_text_equal(const char *a, const char *b) {
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static char *token_copy_text(const char *text) {
    char *copy = text != NULL ? tn.core->alloc(tn.host, strlen(text) + 1) : NULL;
    if (copy != NULL) memcpy(copy, text, strlen(text) + 1);
    return copy;
}

static void token_source_destroy(struct token_source *source) {
    struct token_source **at = &sources;
    while (*at != NULL && *at != source) at = &(*at)->next;
    if (*at == source) *at = source->next;
    if (source->exchange != 0) (void)source->http->cancel(tn.host, source->exchange);
    if (source->post != 0) (void)tn.core->unpost(tn.host, source->post);
    tn_release(source->header);
    tn_release(source->billing_project);
    tn.core->release(tn.host, source->file);
    tn.core->release(tn.host, source->token_url);
    tn.core->release(tn.host, source);
}

struct token_source *token_source_new(const char *file, const char *token_url, const tn_http_1 *http) {
    for (struct token_source *source = sources; source != NULL; source = source->next)
        if (token_text_equal(source->file, file) && token_text_equal(source->token_url, token_url))
            return source->users++, source;
    struct token_source *source = tn.core->alloc(tn.host, sizeof *source);
    if (source == NULL) return NULL;
    memset(source, 0, sizeof *source);
    source->http = http;
    source->users = 1;
    source->file = token_copy_text(file);
    source->token_url = token_copy_text(token_url);
    source->next = sources;
    sources = source;
    if (token_text_equal(source->file, file) && token_text_equal(source->token_url, token_url)) return source;
    token_source_destroy(source);
    return NULL;
}

/* Frees the oldest unused sources beyond the given number. */
static void token_sources_trim(uint32_t most) {
    for (struct token_source *source = sources, *next; source != NULL; source = next) {
        next = source->next;
        if (source->users > 0) continue;
        if (most == 0 || token_get_cached(source) == NULL)
            token_source_destroy(source);
        else
            most--;
    }
}

void token_source_free(struct token_source *source) {
    if (source == NULL || --source->users > 0) return;
    token_sources_trim(TOKEN_SOURCES_KEPT);
}

void token_sources_free_unused(void) { token_sources_trim(0); }

/* ---- Notifications ---- */

static void token_notify_waits(struct token_source *source, const struct token_failure *failure) {
    tn_value header = failure == NULL ? tn_retain(source->header) : NULL;
    source->users++; /* a callback may release the source */
    source->requesting = false;
    source->calling = source->waiting;
    source->waiting = NULL;
    while (source->calling != NULL) {
        struct token_wait *wait = source->calling;
        source->calling = wait->next;
        wait->waiting = false;
        wait->ready(wait, header, failure);
    }
    tn_release(header);
    token_source_free(source);
}

static void token_fail(struct token_source *source, const char *code, const char *message) {
    struct token_failure failure = {code, message};
    token_notify_waits(source, &failure);
}

/* ---- The request ---- */

static void token_on_success(struct token_source *source, tn_value json, tn_value token) {
    char *text = NULL;
    uint64_t length = 0;
    const char *chars = tn_chars(token, &length);
    int64_t life = tn_get_int(json, "expires_in", TOKEN_LIFE_S);
    if (life < 0 || life > TOKEN_LIFE_MAX_S) life = TOKEN_LIFE_S;
    static const char prefix[] = "Bearer ";
    text = tn.core->alloc(tn.host, sizeof prefix + length);
    if (text != NULL) {
        memcpy(text, prefix, sizeof prefix - 1);
        memcpy(text + sizeof prefix - 1, chars, length);
        tn_release(source->header);
        source->header = tn_text_n(text, sizeof prefix - 1 + length);
        explicit_bzero(text, sizeof prefix + length);
        tn.core->release(tn.host, text);
    }
    /* A token that expires within TOKEN_EARLY_S is used only for the waiting calls. */
    source->ends_ns = tn.core->monotonic_ns(tn.host) + (life - TOKEN_EARLY_S) * (int64_t)1000000000;
    if (text != NULL && source->header != NULL)
        token_notify_waits(source, NULL);
    else
        token_fail(source, "LIMIT", "gemini: not enough memory for a token");
}

/* Reports the `error` of {error: "invalid_grant", error_description}, but nothing of the credentials. */
static void token_on_refusal(struct token_source *source, int64_t status, tn_value json) {
    char message[CREDENTIALS_MESSAGE_MAX];
    bool service_fault = status == 429 || status >= 500;
    const char *error = tn_get_text(json, "error", "no reason given");
    (void)snprintf(
        message, sizeof message, "gemini: Google returned no access token (status %lld, %.80s)%s", (long long)status,
        error,
        service_fault
            ? "; try again later"
            : ": the credentials have expired, were revoked, or have no access; create them again with gcloud "
              "auth application-default login, or check the service account's key");
    token_fail(source, service_fault ? "OVERLOADED" : "AUTH", message);
}

static void token_on_end(struct token_source *source, tn_value end) {
    tn_value body = tn_get(end, "body"), json = NULL;
    uint64_t length = 0;
    int64_t status = tn_get_int(end, "status", 0);
    const char *text = tn.value->as_bytes(body, &length);
    if (text == NULL) text = tn_chars(body, &length);
    if (text != NULL) json = tn_from_json(text, length);
    tn_value token = tn_get(json, "access_token");
    if (status < 200 || status > 299)
        token_on_refusal(source, status, json);
    else if (tn_get_text(json, "access_token", "")[0] == '\0')
        token_fail(source, "INVALID_RESPONSE",
                   "gemini: the token endpoint answered without an access_token; check `token_url`, or try again");
    else
        token_on_success(source, json, token);
    tn_release(json);
}

static void token_on_failure(struct token_source *source, tn_value error) {
    char message[CREDENTIALS_MESSAGE_MAX];
    const char *code = tn_get_text(error, "code", "CONNECT");
    bool network = strcmp(code, "CONNECT") == 0 || strcmp(code, "TIMEOUT") == 0;
    if (source->uses_metadata_server && network) {
        token_fail(source, "AUTH",
                   "gemini: found no credentials for Vertex: no file in GOOGLE_APPLICATION_CREDENTIALS or in gcloud's "
                   "folder, and no metadata server; run gcloud auth application-default login, or set the file as "
                   "plugins.config.tenon.gemini.credentials in tenon.yaml");
        return;
    }
    (void)snprintf(message, sizeof message, "gemini: no access token: %.400s", tn_get_text(error, "message", code));
    if (strcmp(code, "TLS") == 0 || strcmp(code, "CONNECTION_LOST") == 0) code = "CONNECT";
    if (strcmp(code, "PROTOCOL") == 0 || strcmp(code, "LIMIT") == 0) code = "INVALID_RESPONSE";
    token_fail(source, code, message);
}

static void token_on_http(void *user, int32_t event, tn_value value) {
    struct token_source *source = user;
    if (event != TN_HTTP_END && event != TN_HTTP_FAILED) return;
    source->exchange = 0;
    if (event == TN_HTTP_END)
        token_on_end(source, value);
    else
        token_on_failure(source, value);
}

static void token_on_send_failure(void *argument) {
    struct token_source *source = argument;
    source->post = 0;
    token_fail(source, "AUTH", source->reason);
}

static void token_source_send_request(struct token_source *source) {
    struct credentials credentials;
    char message[CREDENTIALS_MESSAGE_MAX];
    tn_value request = NULL;
    source->requesting = true;
    if (credentials_find(source->file, &credentials, message)) {
        source->uses_metadata_server = credentials.kind == CREDENTIALS_MACHINE;
        request = credentials_request(&credentials, source->token_url, message);
        tn_release(source->billing_project);
        source->billing_project = tn_retain(tn_get(credentials.json, "quota_project_id"));
        credentials_finish(&credentials);
    }
    if (request != NULL && source->http->send(tn.host, request, token_on_http, source, &source->exchange) != TN_OK) {
        source->exchange = 0;
        (void)snprintf(message, sizeof message, "the token request could not be sent");
    }
    tn_release(request);
    if (source->exchange != 0) return;
    (void)snprintf(source->reason, sizeof source->reason, "gemini: %.480s", message);
    source->post = tn_post(0, token_on_send_failure, source);
    if (source->post == 0) token_on_send_failure(source); /* no exchange will report the failure */
}

/* ---- Tokens ---- */

tn_value token_get_cached(struct token_source *source) {
    if (source->header == NULL || tn.core->monotonic_ns(tn.host) >= source->ends_ns) return NULL;
    return source->header;
}

void token_wait(struct token_source *source, struct token_wait *wait) {
    struct token_wait **last = &source->waiting;
    while (*last != NULL) last = &(*last)->next;
    wait->waiting = true;
    wait->next = NULL;
    *last = wait;
    if (!source->requesting) token_source_send_request(source);
}

static bool token_wait_unlink(struct token_wait **list, struct token_wait *wait) {
    while (*list != NULL && *list != wait) list = &(*list)->next;
    if (*list == NULL) return false;
    *list = wait->next;
    return true;
}

void token_cancel(struct token_source *source, struct token_wait *wait) {
    if (!wait->waiting) return;
    if (!token_wait_unlink(&source->waiting, wait)) (void)token_wait_unlink(&source->calling, wait);
    wait->waiting = false;
}

void token_discard(struct token_source *source, tn_value header) {
    if (source->header == NULL || header == NULL || !tn.value->equal(source->header, header)) return;
    tn_release(source->header);
    source->header = NULL;
}

tn_value token_get_billing_project(const struct token_source *source) {
    return tn.value->kind(source->billing_project) == TN_STRING ? source->billing_project : NULL;
}
