/*
 * token.c - the sources, their one request, and those who wait for it.
 *
 * Those who waited are called from a list of their own, so that one who wants another token at once, or who makes
 * another one give up, finds both lists in order. A failure is not kept: the next who asks asks anew.
 */
#include "token.h"
#include "credentials.h"

struct token_source {
    struct token_source *next;
    const tn_http_draft *http;
    char *file, *token_url; /* or NULL */
    uint32_t users;
    tn_value header, payer; /* of the newest token */
    int64_t ends_ns;        /* when it counts as ended */
    bool asking, machine;
    uint64_t exchange; /* 0: the request could not be sent, and that is told soon */
    uint64_t post;
    struct token_wait *waiting, *calling;
    char why[CREDENTIALS_MESSAGE_MAX];
};

static struct token_source *sources;

/* ---- Sources ---- */

static bool same(const char *a, const char *b) { return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0; }

static char *copy(const char *text) {
    char *made = text != NULL ? tn.core->alloc(tn.host, strlen(text) + 1) : NULL;
    if (made != NULL) memcpy(made, text, strlen(text) + 1);
    return made;
}

static void destroy(struct token_source *source) {
    struct token_source **at = &sources;
    while (*at != NULL && *at != source) at = &(*at)->next;
    if (*at == source) *at = source->next;
    if (source->exchange != 0) (void)source->http->cancel(tn.host, source->exchange);
    if (source->post != 0) (void)tn.core->unpost(tn.host, source->post);
    tn_release(source->header);
    tn_release(source->payer);
    tn.core->release(tn.host, source->file);
    tn.core->release(tn.host, source->token_url);
    tn.core->release(tn.host, source);
}

struct token_source *token_source_new(const char *file, const char *token_url, const tn_http_draft *http) {
    for (struct token_source *source = sources; source != NULL; source = source->next)
        if (same(source->file, file) && same(source->token_url, token_url)) return source->users++, source;
    struct token_source *source = tn.core->alloc(tn.host, sizeof *source);
    if (source == NULL) return NULL;
    memset(source, 0, sizeof *source);
    source->http = http;
    source->users = 1;
    source->file = copy(file);
    source->token_url = copy(token_url);
    source->next = sources;
    sources = source;
    if (same(source->file, file) && same(source->token_url, token_url)) return source;
    destroy(source);
    return NULL;
}

/* The kept are those without users, the newest first; what is beyond their number goes. */
static void sweep(uint32_t most) {
    for (struct token_source *source = sources, *next; source != NULL; source = next) {
        next = source->next;
        if (source->users > 0) continue;
        if (most == 0 || token_now(source) == NULL)
            destroy(source);
        else
            most--;
    }
}

void token_source_free(struct token_source *source) {
    if (source == NULL || --source->users > 0) return;
    sweep(TOKEN_SOURCES_KEPT);
}

void token_sources_end(void) { sweep(0); }

/* ---- Telling ---- */

static void tell(struct token_source *source, const struct token_failure *failure) {
    tn_value header = failure == NULL ? tn_retain(source->header) : NULL;
    source->users++; /* whoever is told may let go of it */
    source->asking = false;
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

static void fail(struct token_source *source, const char *code, const char *message) {
    struct token_failure failure = {code, message};
    tell(source, &failure);
}

/* ---- The request ---- */

static void got_token(struct token_source *source, tn_value json, tn_value token) {
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
    /* One that ends sooner is used for what asked for it, and not again. */
    source->ends_ns = tn.core->monotonic_ns(tn.host) + (life - TOKEN_EARLY_S) * (int64_t)1000000000;
    if (text != NULL && source->header != NULL)
        tell(source, NULL);
    else
        fail(source, "LIMIT", "gemini: there is no memory left for a token");
}

/* {error: "invalid_grant", error_description}: its words, but for what it was given. */
static void refused(struct token_source *source, int64_t status, tn_value json) {
    char message[CREDENTIALS_MESSAGE_MAX];
    bool theirs = status == 429 || status >= 500;
    const char *error = tn_get_text(json, "error", "no reason given");
    (void)snprintf(
        message, sizeof message, "gemini: Google gives no access token (status %lld, %.80s)%s", (long long)status,
        error,
        theirs ? "; try again later"
               : ": the credentials have ended, were taken back, or are not for this; get them anew with gcloud "
                 "auth application-default login, or look at the service account's key");
    fail(source, theirs ? "OVERLOADED" : "AUTH", message);
}

static void got_end(struct token_source *source, tn_value end) {
    tn_value body = tn.value->get(end, "body"), json = NULL;
    uint64_t length = 0;
    int64_t status = tn_get_int(end, "status", 0);
    const char *text = tn.value->as_bytes(body, &length);
    if (text == NULL) text = tn_chars(body, &length);
    if (text != NULL) (void)tn.value->from_json(text, length, &json);
    tn_value token = tn.value->get(json, "access_token");
    if (status < 200 || status > 299)
        refused(source, status, json);
    else if (tn_get_text(json, "access_token", "")[0] == '\0')
        fail(source, "INVALID_RESPONSE",
             "gemini: the token endpoint answered without an access_token; look at `token_url`, or try again");
    else
        got_token(source, json, token);
    tn_release(json);
}

static void got_failure(struct token_source *source, tn_value error) {
    char message[CREDENTIALS_MESSAGE_MAX];
    const char *code = tn_get_text(error, "code", "CONNECT");
    bool network = strcmp(code, "CONNECT") == 0 || strcmp(code, "TIMEOUT") == 0;
    if (source->machine && network) {
        fail(source, "AUTH",
             "gemini: there are no credentials for Vertex: no file in GOOGLE_APPLICATION_CREDENTIALS or in gcloud's "
             "place, "
             "and no metadata server; run gcloud auth application-default login, or name a file in "
             "plugins.config.tenon.gemini.credentials of tenon.yaml");
        return;
    }
    (void)snprintf(message, sizeof message, "gemini: no access token: %.400s", tn_get_text(error, "message", code));
    if (strcmp(code, "TLS") == 0 || strcmp(code, "CONNECTION_LOST") == 0) code = "CONNECT";
    if (strcmp(code, "PROTOCOL") == 0 || strcmp(code, "LIMIT") == 0) code = "INVALID_RESPONSE";
    fail(source, code, message);
}

static void on_http(void *user, int32_t event, tn_value value) {
    struct token_source *source = user;
    if (event != TN_HTTP_END && event != TN_HTTP_FAILED) return;
    source->exchange = 0;
    if (event == TN_HTTP_END)
        got_end(source, value);
    else
        got_failure(source, value);
}

static void tell_why(void *argument) {
    struct token_source *source = argument;
    source->post = 0;
    fail(source, "AUTH", source->why);
}

static void ask(struct token_source *source) {
    struct credentials credentials;
    char message[CREDENTIALS_MESSAGE_MAX];
    tn_value request = NULL;
    source->asking = true;
    if (credentials_find(source->file, &credentials, message)) {
        source->machine = credentials.kind == CREDENTIALS_MACHINE;
        request = credentials_request(&credentials, source->token_url, message);
        tn_release(source->payer);
        source->payer = tn_retain(tn.value->get(credentials.json, "quota_project_id"));
        credentials_finish(&credentials);
    }
    if (request != NULL && source->http->send(tn.host, request, on_http, source, &source->exchange) != TN_OK) {
        source->exchange = 0;
        (void)snprintf(message, sizeof message, "the request of a token could not be sent");
    }
    tn_release(request);
    if (source->exchange != 0) return;
    (void)snprintf(source->why, sizeof source->why, "gemini: %.480s", message);
    source->post = tn.core->post(tn.host, 0, tell_why, source);
    if (source->post == 0) tell_why(source); /* nothing else would */
}

/* ---- Tokens ---- */

tn_value token_now(struct token_source *source) {
    if (source->header == NULL || tn.core->monotonic_ns(tn.host) >= source->ends_ns) return NULL;
    return source->header;
}

void token_wait(struct token_source *source, struct token_wait *wait) {
    struct token_wait **last = &source->waiting;
    while (*last != NULL) last = &(*last)->next;
    wait->waiting = true;
    wait->next = NULL;
    *last = wait;
    if (!source->asking) ask(source);
}

static bool leave(struct token_wait **list, struct token_wait *wait) {
    while (*list != NULL && *list != wait) list = &(*list)->next;
    if (*list == NULL) return false;
    *list = wait->next;
    return true;
}

void token_cancel(struct token_source *source, struct token_wait *wait) {
    if (!wait->waiting) return;
    if (!leave(&source->waiting, wait)) (void)leave(&source->calling, wait);
    wait->waiting = false;
}

void token_forget(struct token_source *source, tn_value header) {
    if (source->header == NULL || header == NULL || !tn.value->equal(source->header, header)) return;
    tn_release(source->header);
    source->header = NULL;
}

tn_value token_payer(const struct token_source *source) {
    return tn.value->kind(source->payer) == TN_STRING ? source->payer : NULL;
}
