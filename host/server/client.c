/*
 * client.c - clients, their subscriptions, and the events that wait for credit.
 */
#include "host/server/client.h"
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"
#include "host/engine/graph/run.h"
#include "host/plugin/call/owner.h"
#include "host/server/server_internal.h"
#include <string.h>

struct client {
    struct server *server;
    struct client *next, *previous; /* of the server */
    char *name, *owner;             /* owner: NULL for the operator */
    struct client_options options;
    struct subscription *subscriptions; /* the newest one first */
    struct subscription *visited;       /* by client_send: the next one */
    struct client_call *calls;
    size_t count;
    uint64_t last_number;
    bool paused, has_run, left;
    struct loop_work work; /* client_send */
};

#define SUBSCRIPTION_WINDOW 64u /* events that wait before the run waits, and events sent in one turn */

struct waiting_event {
    struct waiting_event *next;
    const char *event; /* a name of the table of events */
    tn_value params;
    uint64_t missed; /* events that were dropped before it */
};

struct subscription {
    struct client *client;
    struct subscription *next;
    uint64_t number, missed;
    struct subscription_options options;
    struct waiting_event *first, **last; /* `last` is the link for the next one */
    size_t waiting;
    bool paused, closed; /* closed: ends when nothing waits */
    bool sending, ended; /* sending: notify is active, and frees it at its end if it has ended */
};

/* ---- Clients ---- */

static void client_send(struct loop_work *work);

struct client *client_new(struct server *server, const struct client_options *options) {
    struct client *client = mem_zalloc(sizeof *client);
    client->server = server;
    client->options = *options;
    client->name = mem_text(options->name);
    client->owner = options->owner ? mem_text(options->owner) : NULL;
    client->work.run = client_send;
    client->next = *server_clients(server);
    if (client->next) client->next->previous = client;
    *server_clients(server) = client;
    return client;
}

void client_add_call(struct client *client, struct client_call *call) {
    call->next = client->calls;
    call->link = &client->calls;
    if (call->next) call->next->link = &call->next;
    client->calls = call;
}

void client_remove_call(struct client_call *call) {
    if (!call->link) return;
    *call->link = call->next;
    if (call->next) call->next->link = call->link;
    call->link = NULL;
}

static void client_end_calls(struct client *client) {
    while (client->calls) {
        struct client_call *call = client->calls;
        client_remove_call(call);
        call->client_ended(call);
    }
}

void client_free(struct client *client) {
    if (!client) return;
    while (client->subscriptions) subscription_end(client->subscriptions);
    client_end_calls(client);
    loop_undefer(server_loop(client->server), &client->work);
    server_forget_client(client->server, client);
    if (client->next) client->next->previous = client->previous;
    if (client->previous)
        client->previous->next = client->next;
    else
        *server_clients(client->server) = client->next;
    mem_free(client->name);
    mem_free(client->owner);
    mem_free(client);
}

struct client *client_next(const struct client *client) {
    return client->next;
}
struct server *client_server(const struct client *client) {
    return client->server;
}
const char *client_name(const struct client *client) { return client->name; }
enum method_scope client_scope(const struct client *client) { return client->options.scope; }
bool client_is_sending(const struct client *client) { return client->work.queued; }
void client_note_run(struct client *client) { client->has_run = true; }
bool client_has_run(const struct client *client) { return client->has_run; }
void client_set_left(struct client *client, bool left) { client->left = left; }
bool client_has_left(const struct client *client) { return client->left; }
bool client_names_files(const struct client *client) { return client->options.files; }
const char *client_owner(const struct client *client) { return client->owner; }
bool client_is_plugin(const struct client *client) { return client->options.plugin; }

int32_t client_check_owner(const struct client *client, struct error *error) {
    if (!client->owner || owner_is_valid(client->owner)) return TN_OK;
    return error_set(
        error, TN_FAILED, "PERMISSION_DENIED",
        "`%s` has the owner `%.40s`; expected 1 to %d characters: a-z, 0-9, `_`, `.` and `-`, the first one "
        "a letter or a digit",
        client->name, client->owner, OWNER_MAX);
}

/* ---- Subscriptions ---- */

struct subscription *subscription_new(struct client *client, const struct subscription_options *options,
                                      struct error *error) {
    if (!client->options.notify) {
        error_set(error, TN_UNSUPPORTED, "UNSUPPORTED", "`%s` cannot receive events: it has no way to send them to it",
                  client->name);
        return NULL;
    }
    if (client->count == CLIENT_SUBSCRIPTIONS_MAX) {
        error_set(error, TN_LIMIT, "LIMIT", "`%s` has %u subscriptions, which is the limit; end some of them",
                  client->name, CLIENT_SUBSCRIPTIONS_MAX);
        return NULL;
    }
    struct subscription *subscription = mem_zalloc(sizeof *subscription);
    subscription->client = client;
    subscription->number = ++client->last_number;
    subscription->options = *options;
    if (options->events) subscription->options.events = value_ref(options->events);
    subscription->last = &subscription->first;
    subscription->next = client->subscriptions;
    client->subscriptions = subscription;
    client->count++;
    if (options->events) server_update_trace(client->server);
    return subscription;
}

static void drop_first(struct subscription *subscription) {
    struct waiting_event *event = subscription->first;
    subscription->first = event->next;
    if (!subscription->first) subscription->last = &subscription->first;
    subscription->waiting--;
    value_unref(event->params);
    mem_free(event);
}

static void subscription_free(struct subscription *subscription) {
    while (subscription->first) drop_first(subscription);
    value_unref(subscription->options.events);
    mem_free(subscription);
}

void subscription_end(struct subscription *subscription) {
    struct client *client = subscription->client;
    struct subscription **link = &client->subscriptions;
    if (subscription->ended) return;
    subscription->ended = true;
    while (*link != subscription) link = &(*link)->next;
    *link = subscription->next;
    if (client->visited == subscription) client->visited = subscription->next;
    client->count--;
    if (subscription->options.events) server_update_trace(client->server);
    if (subscription->options.changed) subscription->options.changed(subscription->options.user, subscription, true);
    if (client->options.unsubscribed) client->options.unsubscribed(client->options.user, subscription->number);
    if (!subscription->sending) subscription_free(subscription);
}

void subscription_close(struct subscription *subscription) {
    subscription->closed = true;
    loop_defer(server_loop(subscription->client->server), &subscription->client->work);
}

struct subscription *subscription_find(const struct client *client, uint64_t number) {
    struct subscription *subscription = client->subscriptions;
    while (subscription && subscription->number != number) subscription = subscription->next;
    return subscription;
}

int32_t subscription_refuse_unknown(uint64_t number, struct error *error) {
    return error_set(error, TN_NOT_FOUND, "NOT_FOUND",
                     "this client has no subscription %llu; it may have ended with its run",
                     (unsigned long long)number);
}

uint64_t subscription_number(const struct subscription *subscription) { return subscription->number; }

bool subscription_wants(const struct subscription *subscription, unsigned mode) {
    return (subscription->options.modes & mode) != 0;
}

void subscription_note_missed(struct subscription *subscription, uint64_t count) { subscription->missed += count; }

/* ---- Sending ---- */

static bool may_send(const struct subscription *subscription) {
    return !subscription->ended && !subscription->paused && !subscription->client->paused &&
           subscription->options.credit != 0;
}

/* The number of events that may wait now without being too many. */
static size_t room(const struct subscription *subscription) {
    int64_t credit = subscription->options.credit;
    if (!may_send(subscription)) return 0;
    return credit < 0 || credit > SUBSCRIPTION_WINDOW ? SUBSCRIPTION_WINDOW : (size_t)credit;
}

bool subscription_has_room(const struct subscription *subscription) {
    return subscription->options.full == SUBSCRIPTION_OBSERVES || subscription->waiting <= room(subscription);
}

/* Calls notify, which may end any subscription of the client. Returns false if it has ended this one: it is freed. */
static bool send_first(struct subscription *subscription) {
    const struct client_options *options = &subscription->client->options;
    struct waiting_event *event = subscription->first;
    const char *name = event->event;
    tn_value params = value_ref(event->params);
    uint64_t missed = event->missed;
    drop_first(subscription);
    params = value_set_take(params, "subscription", value_int((int64_t)subscription->number));
    if (missed) params = value_set_take(params, "missed", value_int((int64_t)missed));
    if (subscription->options.credit > 0) subscription->options.credit--;
    subscription->sending = true;
    options->notify(options->user, subscription->number, name, params);
    value_unref(params);
    subscription->sending = false;
    if (!subscription->ended) return true;
    subscription_free(subscription);
    return false;
}

/* Sends some of what waits. Reports to the owner if that has made room. Returns true if more can be sent. */
static bool send_some(struct subscription *subscription) {
    bool full = !subscription_has_room(subscription);
    for (unsigned i = 0; i < SUBSCRIPTION_WINDOW && subscription->first && may_send(subscription); i++)
        if (!send_first(subscription)) return false;
    if (subscription->closed && !subscription->first) {
        subscription_end(subscription);
        return false;
    }
    if (full && subscription_has_room(subscription) && subscription->options.changed)
        subscription->options.changed(subscription->options.user, subscription, false);
    return subscription->first && may_send(subscription);
}

/* The only place that calls notify, so no function of this file is re-entered by its caller. */
static void client_send(struct loop_work *work) {
    struct client *client = CONTAINER_OF(work, struct client, work);
    bool more = false;
    client->visited = client->subscriptions;
    while (client->visited) {
        struct subscription *subscription = client->visited;
        client->visited = subscription->next; /* subscription_end moves it on */
        more |= send_some(subscription);
    }
    if (more) loop_defer(server_loop(client->server), &client->work);
}

static bool is_droppable(const struct subscription *subscription, unsigned mode) {
    switch (subscription->options.full) {
    case SUBSCRIPTION_DROPS: return (mode & (RUN_MODE_MESSAGES | RUN_MODE_CUSTOM | RUN_MODE_DEBUG)) != 0;
    case SUBSCRIPTION_OBSERVES: return mode != 0;
    default: return false;
    }
}

/* The oldest event goes; the one after it says so. */
static void miss_first(struct subscription *subscription) {
    uint64_t missed = subscription->first->missed + 1;
    drop_first(subscription);
    if (subscription->first)
        subscription->first->missed += missed;
    else
        subscription->missed += missed;
}

void subscription_deliver(struct subscription *subscription, const char *event, tn_value params, unsigned mode) {
    if (is_droppable(subscription, mode) && subscription->waiting >= room(subscription)) {
        subscription->missed++;
        return;
    }
    if (subscription->options.events && subscription->waiting == SUBSCRIPTION_WAITING_MAX) miss_first(subscription);
    struct waiting_event *kept = mem_zalloc(sizeof *kept);
    kept->event = event;
    kept->params = value_ref(params);
    kept->missed = subscription->missed;
    subscription->missed = 0;
    *subscription->last = kept;
    subscription->last = &kept->next;
    subscription->waiting++;
    if (may_send(subscription)) loop_defer(server_loop(subscription->client->server), &subscription->client->work);
}

/* Sends what waits, in the next turn, and reports to the owner if there is room now. */
static void subscription_report_room(struct subscription *subscription, bool was_full) {
    if (subscription->first && may_send(subscription))
        loop_defer(server_loop(subscription->client->server), &subscription->client->work);
    if (was_full && subscription_has_room(subscription) && subscription->options.changed)
        subscription->options.changed(subscription->options.user, subscription, false);
}

int32_t subscription_grant(struct subscription *subscription, int64_t credit, struct error *error) {
    if (subscription->options.credit < 0)
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "subscription %llu has unlimited credit: it was made without `credit`",
                         (unsigned long long)subscription->number);
    if (credit > SUBSCRIPTION_CREDIT_MAX - subscription->options.credit)
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "the credit of subscription %llu would become %lld, more than %d",
                         (unsigned long long)subscription->number,
                         (long long)subscription->options.credit + (long long)credit, SUBSCRIPTION_CREDIT_MAX);
    bool full = !subscription_has_room(subscription);
    subscription->options.credit += credit;
    subscription_report_room(subscription, full);
    return TN_OK;
}

void subscription_pause(struct subscription *subscription, bool paused) {
    bool full = !subscription_has_room(subscription);
    subscription->paused = paused;
    subscription_report_room(subscription, full);
}

/* `changed` may end subscriptions: subscription_end moves `visited` on. */
void client_pause(struct client *client, bool paused) {
    if (client->paused == paused) return;
    client->paused = paused;
    if (paused) return;
    for (struct subscription *at = client->subscriptions, *next; at; at = next) {
        next = at->next;
        if (subscription_has_room(at) && at->options.changed) at->options.changed(at->options.user, at, false);
    }
    loop_defer(server_loop(client->server), &client->work);
}

/* ---- Events of the host ---- */

static bool subscription_names(const struct subscription *subscription, const char *event) {
    tn_value events = subscription->options.events;
    for (size_t i = 0; events && i < value_count(events); i++)
        if (value_text_is(value_at(events, i), event)) return true;
    return false;
}

bool client_listens(const struct client *client, const char *event) {
    for (const struct subscription *at = client->subscriptions; at; at = at->next)
        if (subscription_names(at, event)) return true;
    return false;
}

double client_sample(const struct client *client, const char *event) {
    double sample = -1;
    for (const struct subscription *at = client->subscriptions; at; at = at->next)
        if (subscription_names(at, event) && at->options.sample > sample) sample = at->options.sample;
    return sample;
}

bool client_wants_contents(const struct client *client, const char *event) {
    for (const struct subscription *at = client->subscriptions; at; at = at->next)
        if (at->options.contents && subscription_names(at, event)) return true;
    return false;
}

/* An event that has contents, for a subscription that has not asked for them; a new reference. */
static tn_value without_contents(tn_value params) {
    return value_remove_take(value_remove_take(value_ref(params), value_text("input")), value_text("output"));
}

void client_publish(struct client *client, const char *event, tn_value params) {
    bool contents = value_get(params, "input") || value_get(params, "output");
    for (struct subscription *at = client->subscriptions; at; at = at->next) {
        if (!subscription_names(at, event)) continue;
        tn_value shown = contents && !at->options.contents ? without_contents(params) : value_ref(params);
        subscription_deliver(at, event, shown, 0);
        value_unref(shown);
    }
}
