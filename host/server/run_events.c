/*
 * run_events.c - the events of a run: those that are kept, and its subscriptions.
 *
 * All subscriptions of a run get the same events, as far as they want their modes. The run is full while one of them
 * has no room. The last events are kept, within a number and a size, for clients that come back.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/weight.h"
#include "host/server/client.h"
#include "host/server/method.h"
#include "host/server/server_run_internal.h"
#include "host/server/server_run_part.h"
#include <string.h>

#define KEPT_FIRST 8u /* capacity of the ring at first; it doubles up to SERVER_EVENTS_KEPT */

struct run_subscription {
    struct run_subscription *next;
    struct subscription *subscription;
    struct server_run *run;
    /* Until a part has sent what it has kept (run_part_listen), a subscription gets no events: */
    uint64_t waits_for; /* the value of `listen` to come; 0: it does not wait */
    int64_t after;      /* as the client has asked; -1: only events from now on */
};

/* ---- Kept events ---- */

static struct kept_event *kept_at(const struct server_run *run, uint64_t seq) {
    return &run->kept[seq % run->kept_capacity];
}

static void add_size(struct server_run *run, int64_t size) {
    run->kept_size += size;
    run->runs->size += size;
}

static void forget_first_kept(struct server_run *run) {
    struct kept_event *kept = kept_at(run, run->first_kept++);
    add_size(run, -kept->size);
    value_unref(kept->params);
}

static void grow_kept(struct server_run *run) {
    uint64_t capacity = run->kept_capacity ? run->kept_capacity * 2 : KEPT_FIRST;
    struct kept_event *grown = mem_array(NULL, capacity, sizeof *grown);
    for (uint64_t seq = run->first_kept; run->kept_capacity && seq < run->seq; seq++)
        grown[seq % capacity] = *kept_at(run, seq);
    mem_free(run->kept);
    run->kept = grown;
    run->kept_capacity = capacity;
}

/* Keeps the event with the number run->seq. The last one is always kept. Takes `params`. */
static void keep_take(struct server_run *run, unsigned mode, tn_value params) {
    if (run->seq - run->first_kept == run->kept_capacity && run->kept_capacity < SERVER_EVENTS_KEPT) grow_kept(run);
    if (run->seq - run->first_kept == SERVER_EVENTS_KEPT) forget_first_kept(run);
    struct kept_event *kept = kept_at(run, run->seq);
    *kept = (struct kept_event){params, mode, value_weight(params)};
    add_size(run, kept->size);
    while (run->first_kept < run->seq && (run->kept_size > SERVER_EVENTS_SIZE || run->runs->size > SERVER_RUNS_SIZE))
        forget_first_kept(run);
}

void run_events_free(struct server_run *run) {
    while (run->subscriptions) subscription_end(run->subscriptions->subscription);
    while (run->first_kept <= run->seq) forget_first_kept(run);
    mem_free(run->kept);
}

/* ---- Sending ---- */

static bool has_room(const struct server_run *run) {
    for (const struct run_subscription *at = run->subscriptions; at; at = at->next)
        if (!subscription_has_room(at->subscription)) return false;
    return true;
}

/* Keeps the event, and sends it to the subscriptions that want its mode; 0 is wanted by all. Takes `params`. */
static void send_to_all_take(struct server_run *run, const char *event, unsigned mode, tn_value params) {
    keep_take(run, mode, params);
    for (struct run_subscription *at = run->subscriptions; at; at = at->next)
        if (!at->waits_for && (!mode || subscription_wants(at->subscription, mode)))
            subscription_deliver(at->subscription, event, params, mode);
}

/* The parameters of the next run/event. */
static tn_value next_params(struct server_run *run, tn_value event, unsigned *mode) {
    *mode = run_modes_parse(value_chars(value_get(event, "type"), NULL), NULL);
    tn_value params = value_set_take(value_object_reserve(4), "run_id", value_text(run->id));
    params = value_set_take(params, "seq", value_int((int64_t)++run->seq));
    return value_set_take(params, "event", value_ref(event));
}

bool run_events_receive(void *user, tn_value event) {
    struct server_run *run = user;
    unsigned mode;
    tn_value params = next_params(run, event, &mode);
    send_to_all_take(run, "run/event", mode, params);
    run->full = !has_room(run);
    return !run->full;
}

static void send_kept(struct server_run *run, struct subscription *subscription, uint64_t after);

/* Subscriptions that have waited for what the part has kept get the events that they have asked for. */
static void end_waits(struct server_run *run, uint64_t listen) {
    for (struct run_subscription *at = run->subscriptions; at; at = at->next) {
        if (!at->waits_for || at->waits_for > listen) continue;
        at->waits_for = 0;
        if (at->after >= 0) send_kept(run, at->subscription, (uint64_t)at->after);
    }
}

void run_events_receive_kept(void *user, uint64_t listen, uint64_t lost, tn_value events) {
    struct server_run *run = user;
    if (lost) { /* newer than all that is kept here */
        while (run->first_kept <= run->seq) forget_first_kept(run);
        run->seq += lost;
        run->first_kept = run->seq + 1;
    }
    for (size_t i = 0; i < value_count(events); i++) {
        unsigned mode;
        tn_value params = next_params(run, value_at(events, i), &mode);
        keep_take(run, mode, params);
    }
    if (!listen) return;
    run->listened = listen;
    end_waits(run, listen);
}

void run_events_end_take(struct server_run *run, tn_value report) {
    end_waits(run, UINT64_MAX); /* a part has sent all events before its end */
    tn_value params = server_run_add_names(value_object_reserve(7), run);
    params = value_set_take(params, "status", value_ref(value_get(report, "status")));
    params = value_set_take(params, "seq", value_int((int64_t)++run->seq));
    run->full = false;
    send_to_all_take(run, "run/ended", 0, value_set_take(params, "report", report));
    for (struct run_subscription *at = run->subscriptions, *next; at && server_run_is_over(run); at = next) {
        next = at->next;
        subscription_close(at->subscription);
    }
}

/* ---- Subscriptions ---- */

static void on_changed(void *user, struct subscription *subscription, bool ended) {
    struct run_subscription *own = user;
    struct server_run *run = own->run;
    (void)subscription;
    if (ended) {
        struct run_subscription **link = &run->subscriptions;
        while (*link != own) link = &(*link)->next;
        *link = own->next;
        mem_free(own);
        if (run->part && !run->subscriptions) run_part_listen(run->part, 0);
    }
    if (!run->full || !has_room(run)) return;
    run->full = false;
    server_run_continue(run);
}

/* Sends the kept events after number `after` again. Which modes the others had is not known any more. */
static void send_kept(struct server_run *run, struct subscription *subscription, uint64_t after) {
    uint64_t first = run->first_kept;
    if (after < run->base) after = run->base; /* an event of the host that has left the run */
    if (after + 1 < first) subscription_note_missed(subscription, first - after - 1);
    for (uint64_t seq = after + 1 > first ? after + 1 : first; seq <= run->seq; seq++) {
        const struct kept_event *kept = kept_at(run, seq);
        if (!kept->mode || subscription_wants(subscription, kept->mode))
            subscription_deliver(subscription, kept->mode ? "run/event" : "run/ended", kept->params, kept->mode);
    }
}

unsigned server_run_modes(tn_value names) {
    unsigned modes = 0;
    for (size_t i = 0; names && i < value_count(names); i++)
        modes |= run_modes_parse(value_chars(value_at(names, i), NULL), NULL);
    return modes;
}

/* Without `modes`, a subscription has all modes of the run. */
static int32_t read_modes(const struct server_run *run, tn_value params, unsigned *out, struct error *error) {
    tn_value names = value_get(params, "modes");
    *out = names ? server_run_modes(names) : run->modes;
    for (size_t i = 0; names && i < value_count(names); i++) {
        tn_value name = value_at(names, i);
        if (run_modes_parse(value_chars(name, NULL), NULL) & run->modes) continue;
        tn_value modes = run_modes_names(run->modes);
        char *has = json_text(modes, JSON_COMPACT);
        error_set(error, TN_INVALID, "INVALID_INPUT",
                  "`modes`: found `%s`, but the events of the run `%s` have the modes %s; name some of these, or start "
                  "the run with `modes` that contain `%s`",
                  value_chars(name, NULL), run->id, has, value_chars(name, NULL));
        mem_free(has);
        value_unref(modes);
        return TN_INVALID;
    }
    return TN_OK;
}

/* A run waits for those who may also cancel it: clients with the scope `run`, and the plugin that has started it. */
static enum subscription_full full_of(const struct client *client, const struct server_run *run, tn_value params) {
    bool may_slow = client_is_plugin(client) ? run->client == client : client_scope(client) >= METHOD_RUN;
    if (!may_slow) return SUBSCRIPTION_OBSERVES;
    return value_text_is(value_get(params, "when_full"), "drop") ? SUBSCRIPTION_DROPS : SUBSCRIPTION_WAITS;
}

struct subscription *server_run_subscribe(struct client *client, struct server_run *run, tn_value params,
                                          struct error *error) {
    int64_t after = method_params_int(params, "after", -1);
    unsigned modes;
    if (read_modes(run, params, &modes, error) != TN_OK) return NULL;
    struct run_subscription *own = mem_zalloc(sizeof *own);
    const struct subscription_options options = {.modes = modes,
                                                 .credit = method_params_int(params, "credit", -1),
                                                 .full = full_of(client, run, params),
                                                 .changed = on_changed,
                                                 .user = own};
    struct subscription *subscription = subscription_new(client, &options, error);
    if (!subscription) {
        mem_free(own);
        return NULL;
    }
    *own = (struct run_subscription){run->subscriptions, subscription, run, 0, after};
    if (run->part && !run->subscriptions) run_part_listen(run->part, ++run->listen);
    run->subscriptions = own;
    if (run->active && run->part && run->listened < run->listen)
        own->waits_for = run->listen;
    else if (after >= 0)
        send_kept(run, subscription, (uint64_t)after);
    else if (!run->active && run->seq > run->base)
        send_kept(run, subscription, run->seq - 1); /* run/ended */
    if (server_run_is_over(run)) subscription_close(subscription);
    return subscription;
}
