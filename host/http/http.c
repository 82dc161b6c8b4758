/*
 * http.c - exchanges: their tokens, what is sent for each, and what comes back.
 *
 * A *leg* is one sending of an exchange by the provider; a redirect makes another. The provider is handed a leg, not
 * the exchange, and a leg that is over is not used again for a while: what a provider says of one that has ended, or
 * says twice, finds no exchange, and is logged. An exchange is given back before its last event is delivered, so that
 * it is stale for whoever is told; whoever calls a handler for any other looks afterwards whether the exchange is still
 * there.
 */
#include "host/http/http.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/config/config.h"
#include "host/host.h"
#include "host/http/provider.h"
#include "host/http/recording.h"
#include "host/http/request.h"
#include "host/http/secrets.h"
#include "host/interface/interface.h"
#include "host/log.h"
#include "host/loop/loop.h"
#include "host/plugin/plugin.h"
#include <stddef.h>
#include <string.h>

#define BLOCK     64u
#define LEGS_KEPT 1024u /* legs that others end before one is used again */

struct leg {
    struct leg *next;          /* among those that are over, oldest first */
    struct exchange *exchange; /* NULL: over */
    struct http_provider provider;
    uint64_t token;
    bool sending;     /* inside the provider's send */
    bool cancel_owed; /* given up meanwhile */
};

struct exchange {
    struct http *http;
    uint32_t index, generation;
    struct exchange *next_free;
    struct plugin *plugin; /* NULL: free */
    tn_http_handler handler;
    void *user;
    tn_value given; /* until it has been read */
    struct http_request request;
    struct sending sending;
    struct secrets_waiter waiter; /* for a secret that it needs */
    struct leg *leg;
    struct loop_work work; /* its beginning; the next event of a replay */
    struct recording *recording;
    struct playback *playback;
    int64_t begun_ms, redirects;
    char *location; /* of an answer that is a redirect, and is followed when it has ended */
    int64_t status; /* of the answer; 0 before it */
    bool paused;
};

struct asker {
    const struct plugin *plugin;
    uint32_t open;
};

struct http {
    struct host *host;
    struct exchange **blocks;
    uint32_t count, open;
    struct exchange *free;
    struct asker *askers;
    uint32_t asker_count;
    struct leg *legs, **last_leg; /* over, oldest first */
    uint32_t leg_count;
    struct http_provider provider; /* none until it is needed */
    struct secrets *secrets;
    bool closed;
};

/* ---- Exchanges and tokens ---- */

static uint64_t token_of(const struct exchange *exchange) {
    return (uint64_t)exchange->generation << 32 | (exchange->index + 1);
}

static struct exchange *find(struct http *http, const struct plugin *plugin, uint64_t token) {
    uint32_t index = (uint32_t)token - 1;
    if (!http || index >= http->count) return NULL;
    struct exchange *exchange = &http->blocks[index / BLOCK][index % BLOCK];
    return exchange->plugin && exchange->plugin == plugin && token_of(exchange) == token ? exchange : NULL;
}

static struct asker *asker_of(struct http *http, const struct plugin *plugin) {
    for (uint32_t i = 0; i < http->asker_count; i++)
        if (http->askers[i].plugin == plugin) return &http->askers[i];
    if ((http->asker_count & (http->asker_count - 1)) == 0)
        http->askers =
            mem_array(http->askers, http->asker_count ? (size_t)http->asker_count * 2 : 1, sizeof *http->askers);
    struct asker *asker = &http->askers[http->asker_count++];
    *asker = (struct asker){plugin, 0};
    return asker;
}

static void add_block(struct http *http) {
    uint32_t block = http->count / BLOCK;
    if ((block & (block - 1)) == 0)
        http->blocks = mem_array((void *)http->blocks, block ? (size_t)block * 2 : 1, sizeof *http->blocks);
    http->blocks[block] = mem_zalloc(BLOCK * sizeof **http->blocks);
    for (uint32_t i = BLOCK; i-- > 0;) {
        struct exchange *exchange = &http->blocks[block][i];
        exchange->http = http;
        exchange->index = http->count + i;
        exchange->generation = 1;
        exchange->next_free = http->free;
        http->free = exchange;
    }
    http->count += BLOCK;
}

static void leg_over(struct leg *leg) {
    struct http *http = leg->exchange->http;
    leg->exchange->leg = NULL;
    leg->exchange = NULL;
    leg->next = NULL;
    http_provider_release(&leg->provider);
    *http->last_leg = leg;
    http->last_leg = &leg->next;
    http->leg_count++;
}

/* Gives the slot back; nothing of the exchange is known any more. */
static void give(struct exchange *exchange) {
    struct http *http = exchange->http;
    loop_undefer(http->host->loop, &exchange->work);
    secrets_leave(&exchange->waiter);
    if (exchange->leg) leg_over(exchange->leg);
    recording_finish(exchange->recording, http->secrets);
    playback_free(exchange->playback);
    asker_of(http, exchange->plugin)->open--;
    value_unref(exchange->given);
    sending_finish(&exchange->sending);
    http_request_finish(&exchange->request);
    mem_free(exchange->location);
    http->open--;
    struct exchange cleared = {.http = http, .index = exchange->index, .generation = exchange->generation + 1};
    if (!cleared.generation) cleared.generation = 1;
    *exchange = cleared;
    exchange->next_free = http->free;
    http->free = exchange;
}

/* ---- What is delivered ---- */

/* False: the exchange is gone, the handler has cancelled it. */
static bool deliver(struct exchange *exchange, int32_t event, tn_value value) {
    uint32_t generation = exchange->generation;
    recording_event(exchange->recording, event, value);
    void *before = interface_enter(exchange->plugin);
    exchange->handler(exchange->user, event, value);
    interface_leave(before);
    return exchange->generation == generation && exchange->plugin;
}

static void deliver_last(struct exchange *exchange, int32_t event, tn_value value) {
    tn_http_handler handler = exchange->handler;
    void *user = exchange->user;
    const struct plugin *plugin = exchange->plugin;
    recording_event(exchange->recording, event, value);
    give(exchange);
    void *before = interface_enter(plugin);
    handler(user, event, value);
    interface_leave(before);
}

static void fail_with_take(struct exchange *exchange, tn_value object) {
    tn_value safe = secrets_scrub(exchange->http->secrets, object, SECRETS_SCRUB_MIN);
    value_unref(object);
    deliver_last(exchange, TN_HTTP_FAILED, safe);
    value_unref(safe);
}

/* Empties the error. */
static void fail(struct exchange *exchange, struct error *error) {
    tn_value object = error_to_value(error);
    error_finish(error);
    fail_with_take(exchange, object);
}

/* ---- Legs ---- */

static void on_event(void *user, int32_t event, tn_value value);

static struct leg *leg_take(struct http *http) {
    struct leg *leg = http->leg_count > LEGS_KEPT ? http->legs : NULL;
    if (leg) {
        http->legs = leg->next;
        http->leg_count--;
        if (!http->legs) http->last_leg = &http->legs;
        *leg = (struct leg){.exchange = NULL};
    }
    return leg ? leg : mem_zalloc(sizeof *leg);
}

/* One that was replaced by a newer build sends nothing new. */
static int32_t find_provider(struct http *http, struct error *error) {
    if (http->provider.plugin && plugin_state(http->provider.plugin) != PLUGIN_LOADED)
        http_provider_release(&http->provider);
    return http->provider.plugin ? TN_OK : http_provider_find(http->host, &http->provider, error);
}

/* The provider, where it is told; else when its send returns. */
static void leg_cancel(struct leg *leg) {
    struct http_provider provider = leg->provider;
    uint64_t token = leg->token;
    bool sending = leg->sending;
    plugin_ref(provider.plugin);
    leg->cancel_owed = sending;
    leg_over(leg);
    if (!sending) provider.vtable->cancel(provider.self, token);
    http_provider_release(&provider);
}

static void send_leg(struct exchange *exchange) {
    struct http *http = exchange->http;
    struct error error = ERROR_INIT;
    int64_t left = 0;
    int32_t status = find_provider(http, &error);
    if (status == TN_OK && exchange->request.total_ms) {
        left = exchange->request.total_ms - (loop_now_ms(http->host->loop) - exchange->begun_ms);
        if (left <= 0) status = error_set(&error, TN_ERROR, "TIMEOUT", "the total time is over, after a redirect");
    }
    if (status != TN_OK) {
        fail(exchange, &error);
        return;
    }
    struct leg *leg = exchange->leg = leg_take(http);
    struct http_provider provider = http->provider;
    uint32_t generation = exchange->generation;
    uint64_t token = 0;
    leg->exchange = exchange;
    leg->provider = provider;
    plugin_ref(provider.plugin); /* the leg's */
    plugin_ref(provider.plugin); /* for this function */
    exchange->status = 0;
    leg->sending = true;
    tn_value value = sending_value(&exchange->sending, left);
    status = provider.vtable->send(provider.self, value, on_event, leg, &token);
    value_unref(value);
    leg->sending = false;
    leg->token = token;
    if (status == TN_OK && leg->cancel_owed) {
        provider.vtable->cancel(provider.self, token);
    } else if (status != TN_OK && leg->exchange == exchange && exchange->generation == generation) {
        error_set(&error, status, status == TN_LIMIT ? "LIMIT" : "UNSUPPORTED",
                  "plugin `%s`, which provides HTTP, does not take the request (status %d)", plugin_id(provider.plugin),
                  status);
        leg_over(leg);
        fail(exchange, &error);
    } else if (status == TN_OK && leg->exchange == exchange && exchange->paused && provider.vtable->pause) {
        provider.vtable->pause(provider.self, token);
    }
    leg->cancel_owed = false;
    http_provider_release(&provider);
}

/* ---- What the provider says: anything may be in it ---- */

static int64_t number_of(tn_value object, const char *key, int64_t otherwise) {
    tn_value value = value_get(object, key);
    return value_is(value, TN_INT) ? value_to_int(value) : otherwise;
}

static bool is_head(tn_value value) {
    int64_t status = number_of(value, "status", 0);
    tn_value headers = value_get(value, "headers");
    if (status < 100 || status > 999 || !value_is(headers, TN_OBJECT)) return false;
    for (size_t i = 0; i < value_count(headers); i++)
        if (!value_is(value_value_at(headers, i), TN_STRING)) return false;
    return true;
}

static bool is_data(const struct http_request *request, tn_value value) {
    static const int kinds[] = {[RECEIVE_WHOLE] = TN_NONE,
                                [RECEIVE_BYTES] = TN_BYTES,
                                [RECEIVE_EVENTS] = TN_OBJECT,
                                [RECEIVE_LINES] = TN_STRING};
    return value && value_is(value, kinds[request->receive]);
}

/* It does not keep the contract: then nothing more of this leg is believed. */
static void broken(struct exchange *exchange, const char *how) {
    struct error error = ERROR_INIT;
    struct leg *leg = exchange->leg;
    error_set(&error, TN_ERROR, "PROTOCOL", "plugin `%s`, which provides HTTP, %s", plugin_id(leg->provider.plugin),
              how);
    log_write(LOG_ERROR, NULL, "%s", error.message);
    leg_cancel(leg);
    fail(exchange, &error);
}

static tn_value with_safe_headers(struct exchange *exchange, tn_value value) {
    tn_value headers = secrets_scrub(exchange->http->secrets, value_get(value, "headers"), SECRETS_SCRUB_MIN);
    return value_set_take(value_ref(value), "headers", headers);
}

static void doubt_secrets(struct exchange *exchange) {
    tn_value names = http_request_secrets(&exchange->request);
    for (size_t i = 0; i < value_count(names); i++)
        secrets_doubt(exchange->http->secrets, value_chars(value_key_at(names, i), NULL));
    value_unref(names);
}

static bool is_redirect(int64_t status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static void on_head(struct exchange *exchange, tn_value value) {
    if (exchange->status || !is_head(value)) {
        broken(exchange, exchange->status ? "gave two heads" : "gave a head that is not {status, headers, …}");
        return;
    }
    exchange->status = number_of(value, "status", 0);
    if (exchange->status == 401) doubt_secrets(exchange);
    tn_value location = value_get(value_get(value, "headers"), "location");
    if (is_redirect(exchange->status) && location && exchange->request.redirects > 0) {
        mem_free(exchange->location);
        exchange->location = mem_text(value_chars(location, NULL));
        return;
    }
    tn_value safe = with_safe_headers(exchange, value);
    deliver(exchange, TN_HTTP_HEAD, safe);
    value_unref(safe);
}

static void on_data(struct exchange *exchange, tn_value value) {
    if (!exchange->status || exchange->location || !is_data(&exchange->request, value))
        broken(exchange, exchange->status ? "gave data of another kind than was asked for" : "gave data before a head");
    else
        deliver(exchange, TN_HTTP_DATA, value);
}

static void follow(struct exchange *exchange) {
    struct error error = ERROR_INIT;
    char *location = exchange->location;
    int32_t status = TN_ERROR;
    exchange->location = NULL;
    if (exchange->redirects-- == 0)
        error_set(&error, status, "PROTOCOL",
                  "the server redirects more than %lld times, which is all that is followed",
                  (long long)exchange->request.redirects);
    else
        status = sending_redirect(&exchange->sending, exchange->status, location, exchange->plugin,
                                  exchange->http->secrets, &error);
    mem_free(location);
    if (status == TN_OK)
        send_leg(exchange);
    else
        fail(exchange, &error);
}

static void on_end(struct exchange *exchange, tn_value value) {
    if (!exchange->status || !is_head(value)) {
        broken(exchange, exchange->status ? "gave an end that is not {status, headers, …}" : "gave an end and no head");
        return;
    }
    leg_over(exchange->leg);
    if (exchange->location) {
        follow(exchange);
        return;
    }
    tn_value safe = with_safe_headers(exchange, value), body = value_get(value, "body");
    /* A refusal is put into errors, and shown to models: a server that says back what it was sent does not tell them.
     */
    if (body && exchange->status / 100 != 2)
        safe = value_set_take(safe, "body", secrets_scrub(exchange->http->secrets, body, SECRETS_SCRUB_MIN));
    safe = value_set_take(safe, "attempts", value_int(number_of(value, "attempts", 1)));
    safe = value_set_take(safe, "ms", value_int(loop_now_ms(exchange->http->host->loop) - exchange->begun_ms));
    deliver_last(exchange, TN_HTTP_END, safe);
    value_unref(safe);
}

static void on_failed(struct exchange *exchange, tn_value value) {
    if (!value_is(value_get(value, "code"), TN_STRING) || !value_is(value_get(value, "message"), TN_STRING)) {
        broken(exchange, "failed without saying why");
        return;
    }
    leg_over(exchange->leg);
    fail_with_take(exchange, value_ref(value));
}

static void on_event(void *user, int32_t event, tn_value value) {
    struct leg *leg = user;
    struct exchange *exchange = leg->exchange;
    if (!exchange) {
        log_write(LOG_ERROR, NULL, "http: the provider says something (event %d) of an exchange that is over", event);
        return;
    }
    switch (event) {
    case TN_HTTP_HEAD: on_head(exchange, value); break;
    case TN_HTTP_DATA: on_data(exchange, value); break;
    case TN_HTTP_END: on_end(exchange, value); break;
    case TN_HTTP_FAILED: on_failed(exchange, value); break;
    default: broken(exchange, "gave an event that there is not"); break;
    }
}

/* ---- Replays ---- */

static void play(struct loop_work *work) {
    struct exchange *exchange = (struct exchange *)(void *)((char *)work - offsetof(struct exchange, work));
    tn_value value;
    int32_t event = playback_next(exchange->playback, &value);
    if (!event) return; /* it was given up there, and is again, or waits */
    if (event == TN_HTTP_END || event == TN_HTTP_FAILED)
        deliver_last(exchange, event, value);
    else if (deliver(exchange, event, value) && !exchange->paused)
        loop_defer(exchange->http->host->loop, &exchange->work);
    value_unref(value);
}

/* ---- The beginning ---- */

static int32_t begin_playback(struct exchange *exchange, struct replayer *replay, struct error *error) {
    tn_value redacted = http_request_redacted(&exchange->request);
    tn_value safe = secrets_scrub(exchange->http->secrets, redacted, SECRETS_SCRUB_OWN_MIN); /* as it was written */
    int32_t status = replayer_find(replay, safe, &exchange->playback, error);
    value_unref(safe);
    value_unref(redacted);
    if (status != TN_OK) return status;
    exchange->work.run = play;
    if (!exchange->paused) loop_defer(exchange->http->host->loop, &exchange->work);
    return TN_OK;
}

static int32_t prepare(struct exchange *exchange, struct error *error) {
    struct http *http = exchange->http;
    struct host *host = http->host;
    int32_t status = http_request_read(&exchange->request, exchange->given, error);
    value_unref(exchange->given);
    exchange->given = NULL;
    if (status == TN_OK) status = http_request_permit(&exchange->request, exchange->plugin, host->config, error);
    if (status == TN_OK) http_request_learn(&exchange->request, http->secrets);
    if (status != TN_OK || host->http_replay) return status;
    if (host->http_record) {
        tn_value redacted = http_request_redacted(&exchange->request);
        exchange->recording = recording_new_take(host->http_record, plugin_id(exchange->plugin), redacted);
    }
    exchange->redirects = exchange->request.redirects;
    return TN_OK;
}

static void on_secret(struct secrets_waiter *waiter, const struct error *failure);

/* A secret that a command has yet to print: it goes on when that has come. */
static bool waits_for_secret(struct exchange *exchange) {
    tn_value names = http_request_secrets(&exchange->request);
    bool waits = false;
    exchange->waiter.ready = on_secret;
    for (size_t i = 0; i < value_count(names) && !waits; i++)
        waits = secrets_wait(exchange->http->secrets, value_chars(value_key_at(names, i), NULL),
                             loop_now_ms(exchange->http->host->loop), &exchange->waiter);
    value_unref(names);
    return waits;
}

static void fill_and_send(struct exchange *exchange) {
    struct error error = ERROR_INIT;
    if (waits_for_secret(exchange)) return;
    if (http_request_fill(&exchange->request, exchange->http->secrets, loop_now_ms(exchange->http->host->loop),
                          &exchange->sending, &error) == TN_OK)
        send_leg(exchange);
    else
        fail(exchange, &error);
}

static void on_secret(struct secrets_waiter *waiter, const struct error *failure) {
    struct exchange *exchange = (struct exchange *)(void *)((char *)waiter - offsetof(struct exchange, waiter));
    struct error error = ERROR_INIT;
    if (!failure) {
        fill_and_send(exchange);
        return;
    }
    error_copy(&error, failure);
    fail(exchange, &error);
}

static void begin(struct loop_work *work) {
    struct exchange *exchange = (struct exchange *)(void *)((char *)work - offsetof(struct exchange, work));
    struct error error = ERROR_INIT;
    exchange->begun_ms = loop_now_ms(exchange->http->host->loop);
    int32_t status = prepare(exchange, &error);
    struct replayer *replay = exchange->http->host->http_replay;
    if (status == TN_OK && replay) status = begin_playback(exchange, replay, &error);
    if (status != TN_OK)
        fail(exchange, &error);
    else if (!replay)
        fill_and_send(exchange);
}

/* ---- The service ---- */

struct http *http_new(struct host *host) {
    struct http *http = mem_zalloc(sizeof *http);
    http->host = host;
    http->last_leg = &http->legs;
    http->secrets = secrets_new(host->config, host->loop);
    return http;
}

static void cancel(struct exchange *exchange) {
    if (exchange->leg) leg_cancel(exchange->leg);
    give(exchange);
}

static void cancel_all(struct http *http, const struct plugin *plugin) {
    for (uint32_t i = 0; http->open && i < http->count; i++) {
        struct exchange *exchange = &http->blocks[i / BLOCK][i % BLOCK];
        if (exchange->plugin && (!plugin || exchange->plugin == plugin)) cancel(exchange);
    }
}

void http_plugin_ended(struct http *http, const struct plugin *plugin) {
    if (!http) return;
    cancel_all(http, plugin);
    for (uint32_t i = 0; i < http->asker_count; i++)
        if (http->askers[i].plugin == plugin) http->askers[i--] = http->askers[--http->asker_count];
}

void http_close(struct http *http) {
    if (!http) return;
    http->closed = true;
    cancel_all(http, NULL);
    secrets_close(http->secrets);
    http_provider_release(&http->provider);
}

void http_free(struct http *http) {
    if (!http) return;
    http_close(http);
    for (uint32_t i = 0; i < http->count / BLOCK; i++) mem_free(http->blocks[i]);
    for (struct leg *leg = http->legs, *next; leg; leg = next) {
        next = leg->next;
        mem_free(leg);
    }
    mem_free((void *)http->blocks);
    mem_free(http->askers);
    secrets_free(http->secrets);
    mem_free(http);
}

int32_t http_send(struct http *http, struct plugin *plugin, tn_value request, tn_http_handler handler, void *user,
                  uint64_t *exchange) {
    if (!plugin || !request || !handler || !exchange) return TN_INVALID;
    if (!http || http->closed) return TN_UNSUPPORTED;
    struct asker *asker = asker_of(http, plugin);
    if (asker->open == HTTP_EXCHANGES_MAX) return TN_LIMIT;
    if (!http->free) add_block(http);
    struct exchange *made = http->free;
    http->free = made->next_free;
    asker->open++;
    http->open++;
    made->plugin = plugin;
    made->handler = handler;
    made->user = user;
    made->given = value_ref(request);
    made->work.run = begin;
    loop_defer(http->host->loop, &made->work);
    *exchange = token_of(made);
    return TN_OK;
}

int32_t http_pause(struct http *http, const struct plugin *plugin, uint64_t token) {
    struct exchange *exchange = find(http, plugin, token);
    if (!exchange) return TN_STALE;
    if (exchange->paused) return TN_OK;
    exchange->paused = true;
    const struct leg *leg = exchange->leg;
    if (exchange->playback) loop_undefer(http->host->loop, &exchange->work);
    if (leg && !leg->sending && leg->provider.vtable->pause)
        leg->provider.vtable->pause(leg->provider.self, leg->token);
    return TN_OK;
}

int32_t http_resume(struct http *http, const struct plugin *plugin, uint64_t token) {
    struct exchange *exchange = find(http, plugin, token);
    if (!exchange) return TN_STALE;
    if (!exchange->paused) return TN_OK;
    exchange->paused = false;
    const struct leg *leg = exchange->leg;
    if (exchange->playback) loop_defer(http->host->loop, &exchange->work);
    if (leg && !leg->sending && leg->provider.vtable->resume)
        leg->provider.vtable->resume(leg->provider.self, leg->token);
    return TN_OK;
}

int32_t http_cancel(struct http *http, const struct plugin *plugin, uint64_t token) {
    struct exchange *exchange = find(http, plugin, token);
    if (!exchange) return TN_STALE;
    cancel(exchange);
    return TN_OK;
}

void http_learn_secrets(struct http *http, tn_value section, tn_value revealed) {
    if (http) secrets_learn(http->secrets, section, revealed);
}

char *http_scrub_line(struct http *http, const char *line) {
    return http ? secrets_scrub_line(http->secrets, line) : NULL;
}

uint32_t http_open_count(const struct http *http) { return http ? http->open : 0; }
