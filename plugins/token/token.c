/*
 * token.c - keeps the token sources, sends their requests, and notifies the waits.
 *
 * Waits are moved to a separate list before they are notified, so that a callback can start or cancel other waits. A
 * failure is not cached: the next call starts another request.
 */
#include "token.h"

#include <stdlib.h>

struct token_source {
    struct token_source *next;
    const tn_http_1 *http;
    const struct token_maker *maker;
    tn_value settings;
    uint32_t users;
    tn_value header, note; /* of the newest token */
    int64_t ends_ns;       /* when it counts as expired */
    bool requesting, uses_machine;
    uint64_t exchange; /* 0: the request could not be sent, and the failure is reported soon */
    uint64_t post;
    struct token_wait *waiting, *calling;
    char reason[TOKEN_MESSAGE_MAX];
};

static struct token_source *sources;

/* ---- Sources ---- */

static void token_source_destroy(struct token_source *source) {
    struct token_source **at = &sources;
    while (*at != NULL && *at != source) at = &(*at)->next;
    if (*at == source) *at = source->next;
    if (source->exchange != 0) (void)source->http->cancel(tn.host, source->exchange);
    if (source->post != 0) (void)tn.core->unpost(tn.host, source->post);
    tn_release(source->header);
    tn_release(source->note);
    tn_release(source->settings);
    tn.core->release(tn.host, source);
}

struct token_source *token_source_new(const struct token_maker *maker, tn_value settings, const tn_http_1 *http) {
    for (struct token_source *source = sources; source != NULL; source = source->next)
        if (source->maker == maker && tn.value->equal(source->settings, settings)) return source->users++, source;
    struct token_source *source = settings != NULL ? tn.core->alloc(tn.host, sizeof *source) : NULL;
    if (source == NULL) return NULL;
    memset(source, 0, sizeof *source);
    source->http = http;
    source->users = 1;
    source->maker = maker;
    source->settings = tn_retain(settings);
    source->next = sources;
    sources = source;
    return source;
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

/* `text` follows the provider's name. */
static void token_fail(struct token_source *source, const char *code, const char *text) {
    char message[TOKEN_MESSAGE_MAX + 64];
    struct token_failure failure = {code, message};
    (void)snprintf(message, sizeof message, "%.60s: %s", source->maker->provider, text);
    token_notify_waits(source, &failure);
}

/* ---- The request ---- */

/* A number of seconds, or such a number as a text, which Azure's servers of a machine send. */
static int64_t token_read_life(tn_value json) {
    const char *text = tn_get_text(json, "expires_in", NULL);
    char *end = NULL;
    if (text == NULL) return tn_get_int(json, "expires_in", TOKEN_LIFE_S);
    int64_t life = strtoll(text, &end, 10);
    return end != text && *end == '\0' ? life : TOKEN_LIFE_S;
}

static void token_on_success(struct token_source *source, tn_value json, tn_value token) {
    char *text = NULL;
    uint64_t length = 0;
    const char *chars = tn_chars(token, &length);
    int64_t life = token_read_life(json);
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
        token_fail(source, "LIMIT", "not enough memory for a token");
}

/* Reports the `error` of {error: "invalid_grant", error_description}, but nothing of the credentials. */
static void token_on_refusal(struct token_source *source, int64_t status, tn_value json) {
    char message[TOKEN_MESSAGE_MAX];
    bool service_fault = status == 429 || status >= 500;
    const char *error = tn_get_text(json, "error", "no reason given");
    (void)snprintf(message, sizeof message, "%.20s returned no access token (status %lld, %.80s)%s",
                   source->maker->issuer, (long long)status, error,
                   service_fault ? "; try again later" : source->maker->refused);
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
                   "the token endpoint answered without an access_token; check `token_url`, or try again");
    else
        token_on_success(source, json, token);
    tn_release(json);
}

static void token_on_failure(struct token_source *source, tn_value error) {
    char message[TOKEN_MESSAGE_MAX];
    const char *code = tn_get_text(error, "code", "CONNECT");
    bool network = strcmp(code, "CONNECT") == 0 || strcmp(code, "TIMEOUT") == 0;
    if (source->uses_machine && network) {
        token_fail(source, "AUTH", source->maker->no_machine);
        return;
    }
    (void)snprintf(message, sizeof message, "no access token: %.400s", tn_get_text(error, "message", code));
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
    struct token_request made = {NULL, NULL, false};
    char message[TOKEN_MESSAGE_MAX];
    source->requesting = true;
    bool built = source->maker->build(source->settings, &made, message);
    if (built) {
        source->uses_machine = made.uses_machine;
        tn_release(source->note);
        source->note = made.note;
    }
    if (built && source->http->send(tn.host, made.request, token_on_http, source, &source->exchange) != TN_OK) {
        source->exchange = 0;
        (void)snprintf(message, sizeof message, "the token request could not be sent");
    }
    tn_release(made.request);
    if (source->exchange != 0) return;
    (void)snprintf(source->reason, sizeof source->reason, "%.500s", message);
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

tn_value token_get_note(const struct token_source *source) { return source->note; }

/* ---- Forms ---- */

bool token_put_form_field(char *out, size_t size, const char *name, const char *value) {
    static const char digits[] = "0123456789ABCDEF";
    size_t used = strlen(out);
    int length = snprintf(out + used, size - used, "%s%s=", used > 0 ? "&" : "", name);
    if (length < 0 || (size_t)length >= size - used) return false;
    for (used += (size_t)length; *value != '\0'; value++) {
        unsigned char c = (unsigned char)*value;
        bool plain =
            (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || strchr("-._~", c) != NULL;
        if (used + 4 > size) return false;
        if (!plain) {
            out[used++] = '%';
            out[used++] = digits[c >> 4];
            c = (unsigned char)digits[c & 15];
        }
        out[used++] = (char)c;
        out[used] = '\0';
    }
    return true;
}
