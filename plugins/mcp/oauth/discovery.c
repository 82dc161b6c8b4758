/*
 * discovery.c - lists of URLs that are tried until one of them has a document.
 *
 * After a 4xx status the next URL is tried. Any other failure ends the search, and so does an invalid document: no
 * further URL is tried in the hope of a more convenient answer.
 */
#include "discovery.h"
#include "metadata.h"

static void discovery_finish(struct discovery *discovery) {
    tn_release(discovery->candidates);
    tn_release(discovery->resource);
    tn_release(discovery->issuer);
    discovery->candidates = discovery->resource = discovery->issuer = NULL;
}

__attribute__((format(printf, 3, 4))) static void discovery_fail(struct discovery *discovery, const char *code,
                                                                 const char *format, ...) {
    char why[OAUTH_WHY_MAX];
    const struct discovery_events events = discovery->events;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    discovery_finish(discovery);
    events.failed(events.user, code, why);
}

static const char *current_candidate(const struct discovery *discovery) {
    return tn_chars(tn.value->at(discovery->candidates, discovery->next), NULL);
}

static void discovery_fetch(struct discovery *discovery, fetch_done done) {
    const char *url = current_candidate(discovery);
    fetch_send(&discovery->fetch, url != NULL ? fetch_get(url) : NULL, done, discovery);
}

static void start_candidates(struct discovery *discovery) {
    tn_release(discovery->candidates);
    discovery->candidates = NULL;
    discovery->next = 0;
}

/* Returns true if there is a document. Else the next URL is tried, the search has ended, or *none is set because the
 * list has ended. */
static bool discovery_accept_document(struct discovery *discovery, const struct fetched *answer, fetch_done done,
                                      bool *none) {
    *none = false;
    if (answer->code == NULL && answer->status >= 200 && answer->status < 300) return true;
    if (answer->code == NULL && answer->status >= 400 && answer->status < 500) {
        discovery->next++;
        *none = current_candidate(discovery) == NULL;
        if (!*none) discovery_fetch(discovery, done);
        return false;
    }
    char status[40];
    (void)snprintf(status, sizeof status, "HTTP status %lld", (long long)answer->status);
    discovery_fail(discovery, answer->code != NULL ? answer->code : "SERVER_ERROR", "no metadata at %.200s: %.200s",
                   current_candidate(discovery), answer->why != NULL ? answer->why : status);
    return false;
}

/* ---- The authorization server ---- */

static void on_server_metadata(void *user, const struct fetched *answer) {
    struct discovery *discovery = user;
    const char *issuer = tn_chars(discovery->issuer, NULL);
    char why[OAUTH_WHY_MAX];
    bool none;
    tn_value server = NULL;
    if (discovery_accept_document(discovery, answer, on_server_metadata, &none)) {
        server = metadata_read_server(answer->json, issuer, address_is_local(&discovery->server),
                                      discovery->options.person, why, sizeof why);
        if (server == NULL) {
            discovery_fail(discovery, "AUTH", "the authorization server %.200s cannot be used: %s (%.200s)", issuer,
                           why, current_candidate(discovery));
            return;
        }
    } else if (none && discovery->options.use_default_metadata) {
        server = metadata_make_default(issuer);
    } else if (none && tn_get(discovery->resource, "authorization_servers") == NULL) {
        discovery_fail(discovery, "AUTH",
                       "it requires authentication (HTTP status 401) but names no authorization server: no metadata at "
                       "%.200s and none of an authorization server at its origin; set `headers`",
                       discovery->options.url);
    } else if (none) {
        discovery_fail(
            discovery, "AUTH",
            "the authorization server %.200s has no metadata at the URLs of RFC 8414 and OpenID Connect, the last "
            "being %.200s",
            issuer, tn_chars(tn.value->at(discovery->candidates, discovery->next - 1), NULL));
    }
    if (server == NULL) return;
    const struct discovery_events events = discovery->events;
    tn_value resource = discovery->resource;
    discovery->resource = NULL;
    discovery_finish(discovery);
    events.found(events.user, resource, server);
    tn_release(resource);
    tn_release(server);
}

static void discover_server(struct discovery *discovery, const char *issuer) {
    static const char oauth[] = "oauth-authorization-server", openid[] = "openid-configuration";
    struct address address;
    discovery->issuer = tn_text(issuer);
    start_candidates(discovery);
    if (address_read(issuer, &address)) {
        bool path = address_has_path(&address);
        (void)tn_append_take(&discovery->candidates, address_well_known(&address, oauth, WELL_KNOWN_INSERTED));
        (void)tn_append_take(&discovery->candidates, address_well_known(&address, openid, WELL_KNOWN_INSERTED));
        if (path)
            (void)tn_append_take(&discovery->candidates, address_well_known(&address, openid, WELL_KNOWN_APPENDED));
    }
    discovery_fetch(discovery, on_server_metadata);
}

/* ---- The resource ---- */

/* Before 2025-06-18 a server was its own authorization server, at its origin. */
static void use_origin_as_server(struct discovery *discovery) {
    tn_value origin = address_origin(&discovery->server);
    discovery->resource = tn_build("{s:V}", "resource", address_resource(&discovery->server));
    if (discovery->options.issuer != NULL)
        discover_server(discovery, discovery->options.issuer);
    else
        discover_server(discovery, tn_chars(origin, NULL) != NULL ? tn_chars(origin, NULL) : "");
    tn_release(origin);
}

static void on_resource_metadata(void *user, const struct fetched *answer) {
    struct discovery *discovery = user;
    const char *wanted = discovery->options.issuer;
    char why[OAUTH_WHY_MAX];
    bool none;
    if (!discovery_accept_document(discovery, answer, on_resource_metadata, &none)) {
        if (none && discovery->options.metadata == NULL)
            use_origin_as_server(discovery);
        else if (none)
            discovery_fail(discovery, "AUTH", "its challenge names metadata at %.200s, which does not exist",
                           discovery->options.metadata);
        return;
    }
    discovery->resource = metadata_read_resource(answer->json, discovery->options.url,
                                                 address_is_local(&discovery->server), why, sizeof why);
    if (discovery->resource == NULL) {
        discovery_fail(discovery, "AUTH", "%s (%.200s)", why, current_candidate(discovery));
        return;
    }
    tn_value list = tn_get(discovery->resource, "authorization_servers");
    const char *first = tn_chars(tn.value->at(list, 0), NULL);
    if (wanted != NULL && !metadata_contains(list, wanted))
        discovery_fail(
            discovery, "AUTH",
            "it requires tokens of %.200s, but `issuer` in tenon.yaml is %.200s: credentials for that issuer are sent "
            "to no other",
            first, wanted);
    else
        discover_server(discovery, wanted != NULL ? wanted : first);
}

void discovery_start(struct discovery *discovery, const struct discovery_options *options,
                     const struct discovery_events *events) {
    struct address address;
    const char *metadata = options->metadata;
    *discovery = (struct discovery){.options = *options, .events = *events};
    (void)address_read(options->url, &discovery->server);
    /* If the URL of the challenge is not allowed, the well-known URLs are tried. */
    if (metadata != NULL && address_read(metadata, &address) &&
        address_is_safe(&address, address_is_local(&discovery->server))) {
        (void)tn_append_take(&discovery->candidates, tn_text(metadata));
    } else {
        static const char name[] = "oauth-protected-resource";
        discovery->options.metadata = NULL;
        if (address_has_path(&discovery->server))
            (void)tn_append_take(&discovery->candidates,
                                 address_well_known(&discovery->server, name, WELL_KNOWN_INSERTED));
        (void)tn_append_take(&discovery->candidates, address_well_known(&discovery->server, name, WELL_KNOWN_ROOT));
    }
    discovery_fetch(discovery, on_resource_metadata);
}

void discovery_cancel(struct discovery *discovery) {
    fetch_cancel(&discovery->fetch);
    discovery_finish(discovery);
}
