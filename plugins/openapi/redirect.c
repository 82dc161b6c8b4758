/*
 * redirect.c - decides about a redirect and changes the request.
 */
#include "redirect.h"
#include "location.h"
#include <strings.h>
#include <tenon/util/build.h>

bool redirect_is(tn_value end) {
    int64_t status = tn_get_int(end, "status", 0);
    bool redirects = status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
    return redirects && tn_get_text(tn_get(end, "headers"), "location", NULL) != NULL;
}

static bool is_permitted_target(const struct service *service, const char *url) {
    const char *base = tn_chars(service->base_url, NULL);
    if (location_same_origin(base, url) || location_is_upgrade(base, url)) return true;
    for (uint64_t i = 0, count = tn.value->count(service->redirect_hosts); i < count; i++)
        if (location_host_matches(url, tn_chars(tn.value->at(service->redirect_hosts, i), NULL))) return true;
    return false;
}

/* Keeps the headers that say nothing about the caller; with the body also those about it. */
static tn_value keep_plain_headers(tn_value headers, bool same_origin, bool with_body) {
    tn_value kept = tn_build("{}");
    for (uint64_t i = 0, count = tn.value->count(headers); i < count && kept != NULL; i++) {
        tn_value key, value;
        if (tn.value->entry(headers, i, &key, &value) != TN_OK) break;
        const char *name = tn_chars(key, NULL);
        bool about_body = strncasecmp(name, "content-", 8) == 0;
        if (about_body ? with_body : same_origin || strcasecmp(name, "accept") == 0)
            kept = tn_set_take(kept, name, tn_retain(value));
    }
    return kept;
}

tn_value redirect_make_request(const struct service *service, tn_value request, tn_value end, const char **why) {
    const char *from = tn_get_text(request, "url", ""), *method = tn_get_text(request, "method", "GET");
    const char *location = tn_get_text(tn_get(end, "headers"), "location", "");
    struct tn_text_buffer to = TN_TEXT_BUFFER(LOCATION_MAX);
    int64_t status = tn_get_int(end, "status", 0);
    bool reads = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    *why = NULL;
    if (!location_resolve(&to, from, location))
        *why = "it is not a URL of http or https";
    else if (!reads && status != 303 && status != 307 && status != 308)
        *why = "only GET and HEAD are repeated after this status";
    else if (location_is_downgrade(from, tn_text_chars(&to)))
        *why = "it is not encrypted, but the request was";
    else if (!is_permitted_target(service, tn_text_chars(&to)))
        *why = "`redirect_hosts` of the service does not list its host";
    if (*why != NULL) {
        tn_text_free(&to);
        return NULL;
    }
    bool same = location_same_origin(from, tn_text_chars(&to)), with_body = reads || status != 303;
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    for (uint64_t i = 0, count = tn.value->count(request); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(request, i, &key, &value) != TN_OK) break;
        const char *name = tn_chars(key, NULL);
        bool changed = strcmp(name, "url") == 0 || strcmp(name, "method") == 0 || strcmp(name, "headers") == 0;
        if (!changed && (with_body || strcmp(name, "body") != 0)) tn_put(out, name, value);
    }
    tn_put_text(out, "method", with_body ? method : "GET");
    tn_put_take(out, "url", tn_text_finish(&to));
    tn_put_take(out, "headers", keep_plain_headers(tn_get(request, "headers"), same, with_body));
    tn.value->end(out);
    return tn_finish(out);
}
