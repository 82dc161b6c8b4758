/*
 * web_proxy.c - see web_proxy.h.
 */
#include "host/server/web/web_proxy.h"
#include "adl/value/memory.h"
#include <search.h>
#include <string.h>
#include <strings.h>

void web_proxies_init(struct web_proxies *self, tn_value texts) {
    size_t count = value_count(texts);
    *self = (struct web_proxies){0};
    if (!count) return;
    self->networks = mem_zalloc(count * sizeof *self->networks);
    for (size_t i = 0; i < count; i++) {
        size_t length = 0;
        tn_value item = value_at(texts, i);
        const char *text = value_is(item, TN_STRING) ? value_chars(item, &length) : "";
        if (network_read(text, length, &self->networks[self->count])) self->count++;
    }
}

void web_proxies_finish(struct web_proxies *self) { mem_free(self->networks); }

static bool is_trusted(const struct web_proxies *self, const struct network_address *address) {
    for (size_t i = 0; i < self->count; i++)
        if (network_contains(&self->networks[i], address)) return true;
    return false;
}

/* ---- Headers ---- */

static bool is_separator(char c) { return c == ' ' || c == '\t' || c == ','; }

/*
 * The last item of the list before *end, without spaces; empty items are skipped. Moves *end to its start. False if
 * there is none.
 */
static bool last_item(const char *text, size_t *end, size_t *length) {
    while (*end && is_separator(text[*end - 1])) --*end;
    size_t stop = *end;
    while (*end && text[*end - 1] != ',') --*end;
    size_t start = *end;
    while (start < stop && is_separator(text[start])) start++;
    *end = start;
    *length = stop - start;
    return *length > 0;
}

static const char *header_text(tn_value head, const char *name, size_t *length) {
    tn_value text = value_get(value_get(head, "headers"), name);
    *length = 0;
    return text && value_is(text, TN_STRING) ? value_chars(text, length) : "";
}

/* False if the header names no client. */
static bool find_client(const struct web_proxies *self, tn_value head, struct network_address *out) {
    size_t end, length;
    const char *text = header_text(head, "x-forwarded-for", &end);
    struct network_address address;
    bool found = false;
    for (unsigned i = 0; i < WEB_PROXIES_MAX && last_item(text, &end, &length); i++) {
        if (!network_read_address(text + end, length, &address)) break;
        *out = address;
        found = true;
        if (!is_trusted(self, &address)) break;
    }
    return found;
}

/* Whether the client has used TLS, as the nearest proxy says; NULL if it does not. */
static tn_value find_scheme(tn_value head) {
    size_t end, length;
    const char *text = header_text(head, "x-forwarded-proto", &end);
    if (!last_item(text, &end, &length)) return NULL;
    if (length == 5 && strncasecmp(text + end, "https", 5) == 0) return value_bool(true);
    return length == 4 && strncasecmp(text + end, "http", 4) == 0 ? value_bool(false) : NULL;
}

/* ---- Clients ---- */

static int compare_clients(const void *a, const void *b) {
    const struct web_client *left = a, *right = b;
    return memcmp(left->key, right->key, sizeof left->key);
}

static struct web_client *client_count(struct web_proxies *self, const struct network_address *address) {
    struct web_client key = {.requests = 1};
    memcpy(key.key, address->bytes, network_is_four(address->bytes) ? 16 : 8);
    struct web_client *const *found = tfind(&key, &self->clients, compare_clients);
    if (found) {
        (*found)->requests++;
        return *found;
    }
    struct web_client *client = mem_alloc(sizeof *client);
    *client = key;
    if (!tsearch(client, &self->clients, compare_clients)) mem_exhausted(sizeof *client);
    return client;
}

void web_proxies_close(struct web_proxies *self, struct web_client *client) {
    if (!client || --client->requests) return;
    (void)tdelete(client, &self->clients, compare_clients);
    mem_free(client);
}

struct web_client *web_proxies_open(struct web_proxies *self, tn_value *head) {
    struct network_address address;
    size_t length = 0;
    tn_value peer = self->count ? value_get(*head, "address") : NULL;
    const char *text = value_is(peer, TN_STRING) ? value_chars(peer, &length) : "";
    if (!network_read_address(text, length, &address) || !is_trusted(self, &address)) return NULL;
    tn_value secure = find_scheme(*head);
    if (secure) *head = value_set_take(*head, "secure", secure);
    if (!find_client(self, *head, &address)) return NULL;
    char shown[NETWORK_TEXT];
    network_write_address(&address, shown);
    *head = value_set_take(*head, "address", value_text(shown));
    return client_count(self, &address);
}
