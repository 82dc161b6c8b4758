/*
 * client.h - one user of the method table: a connection, a plugin, or the program itself; and what it has subscribed
 * to.
 *
 * A client has a scope, which limits the methods that it may call, and receives events through one function. An event
 * belongs to a subscription: to events of the host ("component/changed"), or to the events of one run. A subscription
 * has *credit*: the number of events that the client still accepts. Without credit, or while it is paused, its events
 * wait; a run that a subscription waits for is slowed down, so a slow client never makes memory grow.
 *
 *     struct client *client = client_new(server, &(struct client_options){.name = "editor", .scope = METHOD_ADMIN,
 *                                                                         .files = true, .notify = send, .user = me});
 *     callable = method_call_new(client, method_find("thread/list"), NULL);     // method_call.h
 *     client_free(client);
 *
 * All functions are [loop].
 */
#ifndef TENON_HOST_SERVER_CLIENT_H
#define TENON_HOST_SERVER_CLIENT_H

#include "host/server/method.h"
#include <stdint.h>

struct client;
struct server;
struct subscription;

#define CLIENT_SUBSCRIPTIONS_MAX 1024u   /* of one client; then LIMIT */
#define SUBSCRIPTION_WAITING_MAX 1024u   /* events of the host that wait for credit; then the oldest is dropped */
#define SUBSCRIPTION_CREDIT_MAX  1000000 /* credit of a subscription */

struct client_options {
    const char *name; /* for people: "editor", "plugin acme.search" */
    enum method_scope scope;
    /* Who owns what it may reach: ids that begin with `@OWNER:` (plugin/call/owner.h). NULL: the operator, everything.
     */
    const char *owner;
    bool files;  /* may name files of this machine by their path */
    bool plugin; /* it is a plugin: its components declare what they may call */
    /* Receives an event: `params` is borrowed. It must not free the client. NULL: the client cannot subscribe. */
    void (*notify)(void *user, uint64_t subscription, const char *event, tn_value params);
    void (*unsubscribed)(void *user, uint64_t subscription); /* a subscription has ended; may be NULL */
    void *user;
};

struct client *client_new(struct server *server, const struct client_options *options);
/*
 * Ends its subscriptions, its calls that wait until plugins have added their components (CANCELLED), and its runs that
 * were started with `ends_with_client`. Its other calls and runs continue. NULL is allowed.
 */
void client_free(struct client *client);
struct server *client_server(const struct client *client);
const char *client_name(const struct client *client);
enum method_scope client_scope(const struct client *client);
/* While it is paused, no subscription of it has room, and nothing is sent: its connection takes no more. */
void client_pause(struct client *client, bool paused);
/* True until the events that it has credit for were sent. */
bool client_is_sending(const struct client *client);
/* A run of the server knows the client as the one that has started it, until the client is freed. */
void client_note_run(struct client *client);
bool client_has_run(const struct client *client); /* true also when these runs are not known any more */
/* It has gone, or the process of its plugin has: for server_runs_end_left. */
void client_set_left(struct client *client, bool left);
bool client_has_left(const struct client *client);
bool client_names_files(const struct client *client);
bool client_is_plugin(const struct client *client);
const char *client_owner(const struct client *client); /* NULL: the operator */
/* PERMISSION_DENIED if the name of its owner is not one (owner_is_valid): ids could not be distinguished by it. */
int32_t client_check_owner(const struct client *client, struct error *error);

/* ---- Subscriptions ---- */

/* What happens to events for which there is no credit. */
enum subscription_full {
    SUBSCRIPTION_WAITS,   /* they wait, and the run that causes them waits, too */
    SUBSCRIPTION_DROPS,   /* those of the modes messages, custom and debug are dropped and counted; the others wait */
    SUBSCRIPTION_OBSERVES /* those of all modes are dropped and counted, so that the run never waits */
};

struct subscription_options {
    tn_value events; /* the names of events of the host, an array; NULL for those of a run */
    unsigned modes;  /* of a run: enum run_mode */
    int64_t credit;  /* -1: unlimited */
    bool contents;   /* of span/ended: with `input` and `output` */
    double sample;   /* of span/ended: of the traces that begin here, how many are sampled */
    enum subscription_full full;
    /* Called when it has room again, and when it ends. May be NULL. */
    void (*changed)(void *user, struct subscription *subscription, bool ended);
    void *user;
};

/* Returns NULL with LIMIT, or UNSUPPORTED if the client receives no events. The client owns the result. */
struct subscription *subscription_new(struct client *client, const struct subscription_options *options,
                                      struct error *error);
void subscription_end(struct subscription *subscription);
/* It ends when what waits has been sent, in a later turn of the loop. */
void subscription_close(struct subscription *subscription);
/* The subscription of this client with this number, or NULL. */
struct subscription *subscription_find(const struct client *client, uint64_t number);
/* Sets NOT_FOUND, and returns TN_NOT_FOUND. */
int32_t subscription_refuse_unknown(uint64_t number, struct error *error);
uint64_t subscription_number(const struct subscription *subscription);
/*
 * Sends an event in the next turn, or keeps it until there is credit. The client gets `params` with the member
 * `subscription`, and `missed` if events were dropped before it. `mode` is the one of a run's event, or 0.
 */
void subscription_deliver(struct subscription *subscription, const char *event, tn_value params, unsigned mode);
/* Events were lost before the next one. */
void subscription_note_missed(struct subscription *subscription, uint64_t count);
/* False while more events wait than there is credit for: a run should cause no more. */
bool subscription_has_room(const struct subscription *subscription);
bool subscription_wants(const struct subscription *subscription, unsigned mode);
/* Adds credit, and sends what waits. INVALID_INPUT if the credit is not counted, or becomes more than the maximum. */
int32_t subscription_grant(struct subscription *subscription, int64_t credit, struct error *error);
/* While it is paused, it has no room. */
void subscription_pause(struct subscription *subscription, bool paused);

/* Sends an event to all subscriptions of this client that have named it. `params` is borrowed. */
void client_publish(struct client *client, const char *event, tn_value params);
bool client_listens(const struct client *client, const char *event);
/* The greatest `sample` of the subscriptions of this client that have named the event; -1 without one. */
double client_sample(const struct client *client, const char *event);
/* True if one of these subscriptions wants contents. */
bool client_wants_contents(const struct client *client, const char *event);

#endif
