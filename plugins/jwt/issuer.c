/*
 * issuer.c - fetches the configuration and the keys of an issuer, and decides when.
 */
#include "issuer.h"

#include <stdio.h>
#include <tenon/util/build.h>

static int64_t now_ms(void) { return tn.core->monotonic_ns(tn.host) / 1000000; }

/* ---- Addresses ---- */

static bool is_loopback(const char *host) {
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(host, names[i], length) == 0 && strchr(":/?", host[length]) != NULL) return true;
    }
    return false;
}

/* Who can change the keys on their way decides who every user is. */
static bool is_safe(const char *url) {
    if (strlen(url) > ISSUER_URL_MAX || strchr(url, '@') != NULL || strchr(url, '\\') != NULL) return false;
    if (strncmp(url, "https://", 8) == 0) return true;
    return strncmp(url, "http://", 7) == 0 && is_loopback(url + 7);
}

bool issuer_open(struct issuer *issuer, tn_value rules) {
    issuer->rules = tn_retain(rules);
    issuer->name = tn_get_text(rules, "issuer", "");
    return is_safe(issuer->name) && is_safe(tn_get_text(rules, "jwks_url", "https://"));
}

static void forget_found(struct issuer *issuer) {
    tn.core->release(tn.host, issuer->found);
    issuer->found = NULL;
}

static void forget_keys(struct issuer *issuer) {
    key_set_free(issuer->keys);
    issuer->keys = NULL;
}

void issuer_close(struct issuer *issuer) {
    if (issuer->exchange != 0) (void)issuer->http->cancel(tn.host, issuer->exchange);
    if (issuer->post != 0) (void)tn.core->unpost(tn.host, issuer->post);
    issuer->exchange = issuer->post = 0;
    forget_keys(issuer);
    forget_found(issuer);
    tn_release(issuer->rules);
    issuer->rules = NULL;
}

/* ---- The end of a fetch ---- */

static void fetch_end(struct issuer *issuer) {
    issuer->exchange = 0;
    issuer->tried_ms = now_ms();
    issuer->fetched(issuer->user, issuer);
}

static void fetch_fail(struct issuer *issuer, const char *why) {
    char message[1400];
    if (!issuer->failing) {
        (void)snprintf(message, sizeof message, "the keys of the issuer %.400s cannot be fetched: %.800s%s",
                       issuer->name, why, issuer->keys != NULL ? "; those that are known stay valid for a day" : "");
        tn_log(TN_LOG_WARN, message);
    }
    issuer->failing = true;
    forget_found(issuer);
    fetch_end(issuer);
}

static void on_not_sent(void *argument) {
    struct issuer *issuer = argument;
    issuer->post = 0;
    fetch_fail(issuer, "the request could not be sent");
}

/* ---- Requests ---- */

static void on_http(void *user, int32_t event, tn_value value);

static void fetch_send(struct issuer *issuer, const char *url) {
    tn_value request =
        tn_build("{s:s, s:{s:s}, s:{s:i, s:i}, s:i}", "url", url, "headers", "accept", "application/json", "timeout",
                 "connect_ms", ISSUER_FETCH_MS, "total_ms", ISSUER_FETCH_MS, "max_bytes", ISSUER_BODY_MAX);
    if (request == NULL || issuer->http->send(tn.host, request, on_http, issuer, &issuer->exchange) != TN_OK)
        issuer->exchange = 0;
    tn_release(request);
    if (issuer->exchange == 0) issuer->post = tn_post(0, on_not_sent, issuer);
}

static void on_configuration(struct issuer *issuer, tn_value json) {
    uint64_t length = 0;
    const char *url = tn_chars(tn_get(json, "jwks_uri"), &length);
    if (strcmp(tn_get_text(json, "issuer", ""), issuer->name) != 0) {
        fetch_fail(issuer, "its configuration has another `issuer`");
        return;
    }
    if (url == NULL || strlen(url) != length || !is_safe(url)) {
        fetch_fail(issuer, "its configuration has no `jwks_uri` with https");
        return;
    }
    issuer->found = tn.core->alloc(tn.host, length + 1);
    if (issuer->found == NULL) {
        fetch_fail(issuer, "not enough memory");
        return;
    }
    memcpy(issuer->found, url, length + 1);
    issuer->discovering = false;
    fetch_send(issuer, issuer->found);
}

static void on_keys(struct issuer *issuer, tn_value json) {
    struct key_set *keys = key_set_read(json);
    if (key_set_count(keys) == 0) {
        key_set_free(keys);
        fetch_fail(issuer, "the answer has no key that can be used");
        return;
    }
    forget_keys(issuer);
    issuer->keys = keys;
    issuer->keys_ms = now_ms();
    issuer->failing = false;
    fetch_end(issuer);
}

static void on_http(void *user, int32_t event, tn_value value) {
    struct issuer *issuer = user;
    char why[80];
    uint64_t length = 0;
    if (event != TN_HTTP_END && event != TN_HTTP_FAILED) return;
    issuer->exchange = 0;
    if (event == TN_HTTP_FAILED) {
        fetch_fail(issuer, tn_get_text(value, "message", "no answer"));
        return;
    }
    int64_t status = tn_get_int(value, "status", 0);
    const char *text = tn.value->as_bytes(tn_get(value, "body"), &length);
    if (status != 200 || text == NULL) {
        (void)snprintf(why, sizeof why, "the status is %lld, expected 200", (long long)status);
        fetch_fail(issuer, why);
        return;
    }
    tn_value json = tn_from_json(text, length);
    if (issuer->discovering)
        on_configuration(issuer, json);
    else
        on_keys(issuer, json);
    tn_release(json);
}

static bool is_fetching(const struct issuer *issuer) { return issuer->exchange != 0 || issuer->post != 0; }

void issuer_fetch(struct issuer *issuer) {
    char url[ISSUER_URL_MAX + sizeof ISSUER_WELL_KNOWN];
    const char *given = tn_get_text(issuer->rules, "jwks_url", issuer->found);
    if (is_fetching(issuer)) return;
    issuer->tried = true;
    issuer->tried_ms = now_ms();
    if (issuer->keys != NULL) {
        issuer->again = true;
        issuer->again_ms = issuer->tried_ms;
    }
    issuer->discovering = given == NULL;
    size_t length = strlen(issuer->name);
    if (length > 0 && issuer->name[length - 1] == '/') length--;
    (void)snprintf(url, sizeof url, "%.*s" ISSUER_WELL_KNOWN, (int)length, issuer->name);
    fetch_send(issuer, given != NULL ? given : url);
}

/* ---- When ---- */

bool issuer_can_fetch(const struct issuer *issuer) {
    if (is_fetching(issuer)) return true;
    if (issuer->keys != NULL) return !issuer->again || now_ms() - issuer->again_ms >= ISSUER_UNKNOWN_MS;
    return !issuer->tried || now_ms() - issuer->tried_ms >= ISSUER_RETRY_MS;
}

enum key_result issuer_verify(struct issuer *issuer, const struct token *token) {
    int64_t age_ms = now_ms() - issuer->keys_ms;
    if (issuer->keys != NULL && age_ms >= ISSUER_KEEP_MS) forget_keys(issuer);
    if (issuer->keys == NULL) return KEY_UNKNOWN;
    if (age_ms >= ISSUER_REFRESH_MS && issuer_can_fetch(issuer)) issuer_fetch(issuer);
    return key_set_verify(issuer->keys, token->alg, token->kid, token->text, token->length, token->signature,
                          token->size);
}
