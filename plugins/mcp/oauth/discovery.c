/*
 * discovery.c - lists of addresses, gone through until one of them has a document.
 *
 * 4xx is "not here", and the next one is asked; anything else that is no document ends the search, as does a document
 * that is not as it should be: a second one is not asked until it says what one would like to hear.
 */
#include "discovery.h"
#include "metadata.h"

static void finish(struct discovery *discovery) {
    tn_release(discovery->candidates);
    tn_release(discovery->resource);
    tn_release(discovery->issuer);
    discovery->candidates = discovery->resource = discovery->issuer = NULL;
}

__attribute__((format(printf, 3, 4))) static void fail(struct discovery *discovery, const char *code,
                                                       const char *format, ...) {
    char why[OAUTH_WHY_MAX];
    const struct discovery_events events = discovery->events;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    finish(discovery);
    events.failed(events.user, code, why);
}

static void add(struct discovery *discovery, tn_value url) { /* takes it */
    tn_value list = discovery->candidates, longer = NULL;
    if (list == NULL) {
        tn_builder *builder = tn.value->builder();
        tn.value->begin(builder, TN_ARRAY);
        tn.value->end(builder);
        list = tn.value->finish(builder);
    }
    if (list != NULL && url != NULL) longer = tn.value->append(list, url);
    if (longer == NULL) longer = tn_retain(list);
    tn_release(url);
    tn_release(list);
    discovery->candidates = longer;
}

static const char *candidate(const struct discovery *discovery) {
    return tn_chars(tn.value->at(discovery->candidates, discovery->next), NULL);
}

static void ask(struct discovery *discovery, fetch_done done) {
    const char *url = candidate(discovery);
    fetch_send(&discovery->fetch, url != NULL ? fetch_get(url) : NULL, done, discovery);
}

static void begin_list(struct discovery *discovery) {
    tn_release(discovery->candidates);
    discovery->candidates = NULL;
    discovery->next = 0;
}

/* True: there is a document. Else the next one is asked, or the search has ended, or *none says that the list has. */
static bool has_document(struct discovery *discovery, const struct fetched *answer, fetch_done done, bool *none) {
    *none = false;
    if (answer->code == NULL && answer->status >= 200 && answer->status < 300) return true;
    if (answer->code == NULL && answer->status >= 400 && answer->status < 500) {
        discovery->next++;
        *none = candidate(discovery) == NULL;
        if (!*none) ask(discovery, done);
        return false;
    }
    char status[40];
    (void)snprintf(status, sizeof status, "HTTP status %lld", (long long)answer->status);
    fail(discovery, answer->code != NULL ? answer->code : "SERVER_ERROR", "no metadata at %.200s: %.200s",
         candidate(discovery), answer->why != NULL ? answer->why : status);
    return false;
}

/* ---- The authorization server ---- */

static void on_server(void *user, const struct fetched *answer) {
    struct discovery *discovery = user;
    const char *issuer = tn_chars(discovery->issuer, NULL);
    char why[OAUTH_WHY_MAX];
    bool none;
    tn_value server = NULL;
    if (has_document(discovery, answer, on_server, &none)) {
        server = metadata_server(answer->json, issuer, address_is_local(&discovery->server), discovery->options.person,
                                 why, sizeof why);
        if (server == NULL) {
            fail(discovery, "AUTH", "the authorization server %.200s cannot be used: %s (%.200s)", issuer, why,
                 candidate(discovery));
            return;
        }
    } else if (none && discovery->options.guesses) {
        server = metadata_guessed(issuer);
    } else if (none && tn.value->get(discovery->resource, "authorization_servers") == NULL) {
        fail(discovery, "AUTH",
             "it wants to know who asks (HTTP status 401), and says nowhere who could tell it: no metadata of it at "
             "%.200s, none of an authorization server at its origin; give it `headers`",
             discovery->options.url);
    } else if (none) {
        fail(discovery, "AUTH",
             "the authorization server %.200s has no metadata, looked for as RFC 8414 and OpenID Connect have it, last "
             "at %.200s",
             issuer, tn_chars(tn.value->at(discovery->candidates, discovery->next - 1), NULL));
    }
    if (server == NULL) return;
    const struct discovery_events events = discovery->events;
    tn_value resource = discovery->resource;
    discovery->resource = NULL;
    finish(discovery);
    events.found(events.user, resource, server);
    tn_release(resource);
    tn_release(server);
}

static void find_server(struct discovery *discovery, const char *issuer) {
    static const char oauth[] = "oauth-authorization-server", openid[] = "openid-configuration";
    struct address address;
    discovery->issuer = tn_text(issuer);
    begin_list(discovery);
    if (address_read(issuer, &address)) {
        bool path = address_has_path(&address);
        add(discovery, address_well_known(&address, oauth, WELL_KNOWN_INSERTED));
        add(discovery, address_well_known(&address, openid, WELL_KNOWN_INSERTED));
        if (path) add(discovery, address_well_known(&address, openid, WELL_KNOWN_APPENDED));
    }
    ask(discovery, on_server);
}

/* ---- The resource ---- */

/* Before 2025-06-18 a server was its own authorization server, at its origin. */
static void no_resource(struct discovery *discovery) {
    tn_value origin = address_origin(&discovery->server);
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_take(builder, "resource", address_resource(&discovery->server));
    tn.value->end(builder);
    discovery->resource = tn.value->finish(builder);
    if (discovery->options.issuer != NULL)
        find_server(discovery, discovery->options.issuer);
    else
        find_server(discovery, tn_chars(origin, NULL) != NULL ? tn_chars(origin, NULL) : "");
    tn_release(origin);
}

static void on_resource(void *user, const struct fetched *answer) {
    struct discovery *discovery = user;
    const char *wanted = discovery->options.issuer;
    char why[OAUTH_WHY_MAX];
    bool none;
    if (!has_document(discovery, answer, on_resource, &none)) {
        if (none && discovery->options.metadata == NULL)
            no_resource(discovery);
        else if (none)
            fail(discovery, "AUTH", "its challenge says that its metadata is at %.200s, and there is none",
                 discovery->options.metadata);
        return;
    }
    discovery->resource =
        metadata_resource(answer->json, discovery->options.url, address_is_local(&discovery->server), why, sizeof why);
    if (discovery->resource == NULL) {
        fail(discovery, "AUTH", "%s (%.200s)", why, candidate(discovery));
        return;
    }
    tn_value list = tn.value->get(discovery->resource, "authorization_servers");
    const char *first = tn_chars(tn.value->at(list, 0), NULL);
    if (wanted != NULL && !metadata_lists(list, wanted))
        fail(discovery, "AUTH",
             "it wants tokens of %.200s, and its `issuer` in tenon.yaml is %.200s: what was registered there is sent "
             "nowhere else",
             first, wanted);
    else
        find_server(discovery, wanted != NULL ? wanted : first);
}

void discovery_start(struct discovery *discovery, const struct discovery_options *options,
                     const struct discovery_events *events) {
    struct address given;
    const char *metadata = options->metadata;
    *discovery = (struct discovery){.options = *options, .events = *events};
    (void)address_read(options->url, &discovery->server);
    /* One that may not be asked is as good as none: the well-known ones are. */
    if (metadata != NULL && address_read(metadata, &given) &&
        address_is_safe(&given, address_is_local(&discovery->server))) {
        add(discovery, tn_text(metadata));
    } else {
        static const char name[] = "oauth-protected-resource";
        discovery->options.metadata = NULL;
        if (address_has_path(&discovery->server))
            add(discovery, address_well_known(&discovery->server, name, WELL_KNOWN_INSERTED));
        add(discovery, address_well_known(&discovery->server, name, WELL_KNOWN_ROOT));
    }
    ask(discovery, on_resource);
}

void discovery_cancel(struct discovery *discovery) {
    fetch_cancel(&discovery->fetch);
    finish(discovery);
}
