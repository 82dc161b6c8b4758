/*
 * plugin.h - what the parts of this plugin share at run time. Pure parts do not include it.
 *
 *   plugin ─┬─ session   a client of 2025-11-25, until DELETE, or until it is idle
 *           │    └─ stream   a response as server-sent events; kept for a client that comes back
 *           ├─ exchange  one request of a client, until its answer is sent
 *           └─ listener  subscriptions/listen of 2026-07-28, until the client closes it
 */
#ifndef MCPS_PLUGIN_H
#define MCPS_PLUGIN_H

#include "base.h"
#include "events.h"
#include "message.h"
#include "state.h"

/* What a user can see: reading it for each request would cost more than a small run. */
struct kept_catalogue {
    char owner[256];
    int64_t until_ms;
    tn_value catalogue; /* NULL: free */
};

struct plugin {
    tn_plugin base;
    struct serving serving;
    unsigned char secret[MCPS_SECRET_BYTES];
    tn_value config; /* the plugin's section, with its defaults */
    tn_value info;   /* serverInfo */
    struct session *sessions;
    struct exchange *exchanges;
    struct listener *listeners;
    uint32_t session_count, listener_count;
    uint64_t kept_bytes; /* of the events that all streams keep */
    struct kept_catalogue catalogues[MCPS_CATALOGUES];
    uint64_t timer;        /* posted: ends idle sessions */
    uint64_t subscription; /* to component/changed; 0: none */
};

/* The user of a request: {owner, name} as text. Two callers with the same text see each other's sessions. */
void caller_text(tn_value request, char out[256]);
/* {tools: {listChanged}, …}, as this version has them: a new reference. */
tn_value plugin_capabilities(const struct plugin *plugin, const char *version);
/* Answers a request with one message, and with headers (an object, borrowed, or NULL). Takes the message. */
void plugin_respond_take(const struct plugin *plugin, uint64_t http, int32_t status, tn_value headers, tn_value json);
/* Notifies the user's sessions and listeners of a changed list or an updated resource. `caller` NULL: all.
 */
void plugin_list_changed(struct plugin *plugin, const char *caller, const char *list);
void plugin_resource_updated(struct plugin *plugin, const char *caller, const char *uri);

/* Forgets the catalogues that are kept. */
void plugin_forget_catalogues(struct plugin *plugin);

/* ---- listen.c ---- */

struct exchange;
void listener_open(struct exchange *exchange);
void listeners_list_changed(struct plugin *plugin, const char *caller, const char *list);
void listeners_resource_updated(struct plugin *plugin, const char *caller, const char *uri);
/* Ends the listener of this HTTP request, with its result if `drain`. False if there is none. */
bool listener_close(struct plugin *plugin, uint64_t http, bool drain);
void listeners_free(struct plugin *plugin);

/* ---- metadata.c: OAuth ---- */

void TN_ABI metadata_on_request(void *self, uint64_t http, int32_t event, tn_value value);
/* The header WWW-Authenticate of a 401; a new reference. */
tn_value metadata_challenge(const struct plugin *plugin, tn_value refused);

#endif
