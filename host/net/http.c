/*
 * http.c - exchanges: their tokens, the requests that are sent for them, and the events of their responses.
 *
 *     unused -> queued -> checked -> waits for a secret -> sent -> head -> data ... -> END
 *                  |          |                              ^                |
 *                  |          |                              +--- redirect ---+
 *                  |          +-> (replay) recorded events ... -> END or FAILED
 *                  +-- fault, rejection or violation by the provider, in any state -> FAILED
 *                  +-- cancelled by the plugin, or because it or the host ends, in any state -> (no event)
 *
 * With the last event the exchange is unused again. No field holds this state; it shows in these: unused: `handler` is
 * NULL; queued: `raw_request` is set; waits for a secret: `waiter`; sent: `leg`; head: `status`. README.md explains
 * permissions, secrets and replays.
 *
 * A *leg* is one request of an exchange to the HTTP provider; each redirect starts another leg. The provider is given a
 * pointer to the leg, not to the exchange. After its end, a leg is not reused before LEGS_KEPT others have ended. If
 * the provider reports an event for it in that time, which it must not do, the event is logged and ignored.
 *
 * An exchange is released before its last event is delivered, so its token is already stale inside that handler. The
 * handler of any other event can cancel the exchange, so the caller must check afterwards whether it still exists.
 */
#include "host/net/http.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/base/container_of.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/base/secrets/secrets.h"
#include "host/net/http_provider.h"
#include "host/net/http_recording.h"
#include "host/net/http_request.h"
#include "host/net/http_sign.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/registry/plugin.h"
#include <stddef.h>
#include <string.h>

#define EXCHANGES_PER_BLOCK 64u
#define LEGS_KEPT           1024u /* ended legs that are kept before one is reused */

struct http_leg {
    struct http_leg *next;          /* next in the list of ended legs, oldest first */
    struct http_exchange *exchange; /* NULL after the end */
    struct http_provider provider;
    uint64_t token;      /* by which the provider names the leg */
    bool in_send;        /* the provider's send has not returned yet */
    bool cancel_pending; /* cancelled while `in_send` */
};

struct http_exchange {
    struct http *http;
    uint32_t index, generation;      /* together its token; the generation changes when it is released */
    struct http_exchange *next_free; /* next unused exchange */
    struct plugin *plugin;           /* NULL if the host itself sends the request */
    tn_http_handler handler;         /* NULL in an unused exchange */
    void *user;
    tn_value raw_request; /* as the plugin passed it; NULL after http_request_read */
    struct http_request request;
    struct outgoing outgoing;
    struct secrets_waiter waiter; /* waits until a command has fetched a secret */
    struct loop_timer timer;      /* total_ms, while `waiter` waits; the provider has a timer for each leg */
    struct http_leg *leg;         /* NULL if no request is at the provider */
    struct loop_work work;        /* runs exchange_start; in a replay, then exchange_deliver_recorded for each event */
    struct recording *recording;  /* NULL if not recording */
    struct playback *playback;    /* NULL if not replaying */
    int64_t started_ms, redirects_left;
    char *location; /* the target of a redirect, which is followed when the leg has ended */
    int64_t status; /* status of the response; 0 before its head (status and headers) has arrived */
    bool paused;
};

/* A plugin that sends requests, or NULL for the host, and how many of its exchanges are open. */
struct http_requester {
    const struct plugin *plugin;
    uint32_t open;
};

struct http {
    struct http_options options;
    struct http_exchange **blocks; /* each is an array of EXCHANGES_PER_BLOCK, so an exchange never moves */
    uint32_t count, open;          /* exchanges in the blocks; those of them that are in use */
    struct http_exchange *free;    /* list of unused exchanges */
    struct http_requester *requesters;
    uint32_t requester_count;
    struct http_leg *ended_legs, **ended_legs_tail; /* a list, oldest first */
    uint32_t ended_leg_count;
    struct http_provider provider; /* looked up when first needed */
    bool closed;
};

/* ---- Legs: allocation ---- */

static struct http_leg *leg_alloc(struct http *http) {
    struct http_leg *leg = http->ended_leg_count > LEGS_KEPT ? http->ended_legs : NULL;
    if (leg) {
        http->ended_legs = leg->next;
        http->ended_leg_count--;
        if (!http->ended_legs) http->ended_legs_tail = &http->ended_legs;
        *leg = (struct http_leg){.exchange = NULL};
    }
    return leg ? leg : mem_zalloc(sizeof *leg);
}

/* Detaches the leg from its exchange, and keeps its memory for LEGS_KEPT further ends. */
static void leg_end(struct http_leg *leg) {
    struct http *http = leg->exchange->http;
    leg->exchange->leg = NULL;
    leg->exchange = NULL;
    leg->next = NULL;
    http_provider_release(&leg->provider);
    *http->ended_legs_tail = leg;
    http->ended_legs_tail = &leg->next;
    http->ended_leg_count++;
}

/* ---- Exchanges and tokens ---- */

static uint64_t exchange_token(const struct http_exchange *exchange) {
    return (uint64_t)exchange->generation << 32 | (exchange->index + 1);
}

static struct http_exchange *exchange_lookup(struct http *http, const struct plugin *plugin, uint64_t token) {
    uint32_t index = (uint32_t)token - 1;
    if (!http || index >= http->count) return NULL;
    struct http_exchange *exchange = &http->blocks[index / EXCHANGES_PER_BLOCK][index % EXCHANGES_PER_BLOCK];
    return exchange->handler && exchange->plugin == plugin && exchange_token(exchange) == token ? exchange : NULL;
}

static struct http_requester *requester_find_or_add(struct http *http, const struct plugin *plugin) {
    for (uint32_t i = 0; i < http->requester_count; i++)
        if (http->requesters[i].plugin == plugin) return &http->requesters[i];
    MEM_EXTEND(http->requesters, http->requester_count);
    struct http_requester *requester = &http->requesters[http->requester_count++];
    *requester = (struct http_requester){plugin, 0};
    return requester;
}

static void exchange_add_block(struct http *http) {
    uint32_t block = http->count / EXCHANGES_PER_BLOCK;
    MEM_EXTEND(http->blocks, block);
    http->blocks[block] = mem_zalloc(EXCHANGES_PER_BLOCK * sizeof **http->blocks);
    for (uint32_t i = EXCHANGES_PER_BLOCK; i-- > 0;) {
        struct http_exchange *exchange = &http->blocks[block][i];
        exchange->http = http;
        exchange->index = http->count + i;
        exchange->generation = 1;
        exchange->next_free = http->free;
        http->free = exchange;
    }
    http->count += EXCHANGES_PER_BLOCK;
}

/* Frees all that the exchange owns and returns it to the free list. Its token becomes stale. */
static void exchange_release(struct http_exchange *exchange) {
    struct http *http = exchange->http;
    loop_undefer(http->options.loop, &exchange->work);
    loop_timer_stop(http->options.loop, &exchange->timer);
    secrets_wait_cancel(&exchange->waiter);
    if (exchange->leg) leg_end(exchange->leg);
    recording_finish(exchange->recording, http->options.secrets);
    playback_free(exchange->playback);
    requester_find_or_add(http, exchange->plugin)->open--;
    value_unref(exchange->raw_request);
    outgoing_finish(&exchange->outgoing);
    http_request_finish(&exchange->request);
    mem_free(exchange->location);
    http->open--;
    struct http_exchange cleared = {.http = http, .index = exchange->index, .generation = exchange->generation + 1};
    if (!cleared.generation) cleared.generation = 1;
    *exchange = cleared;
    exchange->next_free = http->free;
    http->free = exchange;
}

/* ---- Events for the plugin ---- */

static void exchange_call_handler(const struct plugin *plugin, tn_http_handler handler, void *user, int32_t event,
                                  tn_value value) {
    void *before = plugin ? interface_enter(plugin) : NULL; /* for check mode: code of the plugin runs */
    handler(user, event, value);
    if (plugin) interface_leave(plugin, before);
}

/*
 * Delivers an event that is not the last. Returns false if the handler cancelled the exchange: it is released then. Its
 * memory stays in its block, so its generation can still be compared.
 */
static bool exchange_deliver(struct http_exchange *exchange, int32_t event, tn_value value) {
    uint32_t generation = exchange->generation;
    recording_event(exchange->recording, event, value);
    exchange_call_handler(exchange->plugin, exchange->handler, exchange->user, event, value);
    return exchange->generation == generation && exchange->handler;
}

static void exchange_deliver_last(struct http_exchange *exchange, int32_t event, tn_value value) {
    tn_http_handler handler = exchange->handler;
    void *user = exchange->user;
    const struct plugin *plugin = exchange->plugin;
    recording_event(exchange->recording, event, value);
    exchange_release(exchange);
    exchange_call_handler(plugin, handler, user, event, value);
}

/* Ends the exchange with FAILED; `object` describes the error. */
static void exchange_fail_take(struct http_exchange *exchange, tn_value object) {
    tn_value scrubbed = secrets_scrub(exchange->http->options.secrets, object, SECRETS_SCRUB_MIN);
    value_unref(object);
    exchange_deliver_last(exchange, TN_HTTP_FAILED, scrubbed);
    value_unref(scrubbed);
}

/* Ends the exchange with FAILED, and frees the content of `error`. */
static void exchange_fail(struct http_exchange *exchange, struct error *error) {
    tn_value object = error_to_value(error);
    error_finish(error);
    exchange_fail_take(exchange, object);
}

/* ---- Legs: sending and cancelling ---- */

static void leg_on_event(void *user, int32_t event, tn_value value);

/* Looks up the provider, if it is not known yet or was replaced by an upgrade. */
static int32_t http_require_provider(struct http *http, struct error *error) {
    if (http->provider.plugin && plugin_state(http->provider.plugin) != PLUGIN_LOADED)
        http_provider_release(&http->provider);
    return http->provider.plugin
               ? TN_OK
               : http_provider_find(http->options.registry, http->options.config, &http->provider, error);
}

/*
 * Ends the leg and cancels it at the provider. If the provider's send has not returned, the token is not known yet, and
 * leg_send_returned cancels it. Returns false if the provider's cancel has run code that cancelled the exchange: it is
 * released then.
 */
static bool leg_cancel(struct http_leg *leg) {
    const struct http_exchange *exchange = leg->exchange;
    uint32_t generation = exchange->generation;
    struct http_provider provider = leg->provider; /* leg_end releases the leg's reference, but cancel needs it */
    uint64_t token = leg->token;
    bool in_send = leg->in_send;
    plugin_ref(provider.plugin);
    leg->cancel_pending = in_send;
    leg_end(leg);
    if (!in_send) provider.vtable->cancel(provider.self, token);
    http_provider_release(&provider);
    return exchange->generation == generation;
}

static int32_t error_set_total_timeout(struct error *error) {
    int32_t status =
        error_set(error, TN_ERROR, "TIMEOUT",
                  "the total time limit of the request passed before it was sent, or while a redirect was followed");
    tn_value detail = value_set_take(value_object_reserve(1), "phase", value_text("total"));
    error_set_detail_take(error, detail);
    return status;
}

/* Sets *remaining_ms to what is left of the total time; 0 without a limit. Fails with TIMEOUT if nothing is left. */
static int32_t exchange_remaining_ms(const struct http_exchange *exchange, int64_t *remaining_ms, struct error *error) {
    *remaining_ms = 0;
    if (!exchange->request.total_ms) return TN_OK;
    *remaining_ms = exchange->request.total_ms - (loop_now_ms(exchange->http->options.loop) - exchange->started_ms);
    return *remaining_ms > 0 ? TN_OK : error_set_total_timeout(error);
}

/* Starts a leg of the exchange, without sending it. */
static struct http_leg *exchange_new_leg(struct http_exchange *exchange) {
    struct http_leg *leg = leg_alloc(exchange->http);
    leg->exchange = exchange;
    leg->provider = exchange->http->provider;
    plugin_ref(leg->provider.plugin);
    exchange->leg = leg;
    exchange->status = 0;
    return leg;
}

/*
 * The provider's send returned `status` and, if TN_OK, set leg->token. It may already have reported events. If one of
 * them ended the leg, leg->exchange is NULL, and the exchange may have been released or may have another leg.
 */
static void leg_send_returned(struct http_leg *leg, const struct http_provider *provider, int32_t status) {
    struct http_exchange *exchange = leg->exchange;
    struct error error = ERROR_INIT;
    if (!exchange) {
        if (status == TN_OK && leg->cancel_pending) provider->vtable->cancel(provider->self, leg->token);
    } else if (status != TN_OK) {
        /* No error code stands for the provider's status. The message contains it. */
        error_set(&error, status, status == TN_LIMIT ? "LIMIT" : "UNSUPPORTED",
                  "plugin `%s`, which provides HTTP, rejected the request (status %d)", plugin_id(provider->plugin),
                  status);
        leg_end(leg);
        exchange_fail(exchange, &error);
    } else if (exchange->paused && provider->vtable->pause) {
        provider->vtable->pause(provider->self, leg->token);
    }
}

/* Sends the request, or ends the exchange with FAILED. The exchange may have been released when it returns. */
static void exchange_send_leg(struct http_exchange *exchange) {
    struct error error = ERROR_INIT;
    int64_t remaining_ms = 0;
    int32_t status = http_require_provider(exchange->http, &error);
    if (status == TN_OK) status = exchange_remaining_ms(exchange, &remaining_ms, &error);
    if (status != TN_OK) {
        exchange_fail(exchange, &error);
        return;
    }
    struct http_leg *leg = exchange_new_leg(exchange); /* stays readable after its end: LEGS_KEPT */
    struct http_provider provider = leg->provider;
    tn_value value = outgoing_value(&exchange->outgoing, remaining_ms);
    uint64_t token = 0;
    plugin_ref(provider.plugin); /* until send has returned: an event during send can end the leg */
    leg->in_send = true;
    status = provider.vtable->send(provider.self, value, leg_on_event, leg, &token);
    leg->in_send = false;
    leg->token = token;
    leg_send_returned(leg, &provider, status);
    value_unref(value);
    http_provider_release(&provider);
}

/* ---- Events from the provider, which can be malformed ---- */

static int64_t http_get_int(tn_value object, const char *key, int64_t default_value) {
    tn_value value = value_get(object, key);
    return value_is(value, TN_INT) ? value_to_int(value) : default_value;
}

/* What every HEAD and END must have. */
static bool has_status_and_headers(tn_value value) {
    int64_t status = http_get_int(value, "status", 0);
    tn_value headers = value_get(value, "headers");
    if (status < 100 || status > 999 || !value_is(headers, TN_OBJECT)) return false;
    for (size_t i = 0; i < value_count(headers); i++)
        if (!value_is(value_value_at(headers, i), TN_STRING)) return false;
    return true;
}

/* Its body is bytes, or is missing. Clients rely on this. */
static bool has_valid_body(tn_value end) {
    tn_value body = value_get(end, "body");
    return !body || value_is(body, TN_BYTES);
}

static bool is_valid_data(const struct http_request *request, tn_value value) {
    static const int kinds[] = {[RECEIVE_WHOLE] = TN_NONE, /* no data event is valid: the body arrives with END */
                                [RECEIVE_BYTES] = TN_BYTES,
                                [RECEIVE_EVENTS] = TN_OBJECT,
                                [RECEIVE_LINES] = TN_STRING};
    return value && value_is(value, kinds[request->receive]);
}

/* The provider violated the contract: cancels the leg, and fails the exchange. Later events of the leg are ignored. */
static void exchange_fail_violation(struct http_exchange *exchange, const char *how) {
    struct error error = ERROR_INIT;
    struct http_leg *leg = exchange->leg;
    error_set(&error, TN_ERROR, "PROTOCOL", "plugin `%s`, which provides HTTP, %s", plugin_id(leg->provider.plugin),
              how);
    log_write(LOG_ERROR, NULL, "%s", error.message);
    if (leg_cancel(leg))
        exchange_fail(exchange, &error);
    else
        error_finish(&error);
}

static tn_value exchange_scrub_headers(struct http_exchange *exchange, tn_value value) {
    tn_value headers = secrets_scrub(exchange->http->options.secrets, value_get(value, "headers"), SECRETS_SCRUB_MIN);
    return value_set_take(value_ref(value), "headers", headers);
}

/* The server rejected the credentials: fetch them again for the next request. */
static void exchange_invalidate_secrets(struct http_exchange *exchange) {
    tn_value names = http_request_secrets(&exchange->request);
    for (size_t i = 0; i < value_count(names); i++)
        secrets_invalidate(exchange->http->options.secrets, value_chars(value_key_at(names, i), NULL));
    value_unref(names);
}

static bool is_redirect_status(int64_t status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static void exchange_on_head(struct http_exchange *exchange, tn_value value) {
    if (exchange->status || !has_status_and_headers(value)) {
        exchange_fail_violation(exchange,
                                exchange->status ? "sent two heads" : "sent a head that is not {status, headers, …}");
        return;
    }
    exchange->status = http_get_int(value, "status", 0);
    if (exchange->status == 401) exchange_invalidate_secrets(exchange);
    tn_value location = value_get(value_get(value, "headers"), "location"); /* names of headers are in lower case */
    /*
     * This applies also if redirects_left is 0; exchange_redirect then fails the exchange. A plugin that lets the host
     * follow redirects never receives the response of one.
     */
    if (is_redirect_status(exchange->status) && location && exchange->request.redirects > 0) {
        mem_free(exchange->location);
        exchange->location = mem_text(value_chars(location, NULL));
        return;
    }
    tn_value scrubbed = exchange_scrub_headers(exchange, value);
    (void)exchange_deliver(exchange, TN_HTTP_HEAD, scrubbed); /* may have released the exchange: do not touch it */
    value_unref(scrubbed);
}

static void exchange_on_data(struct http_exchange *exchange, tn_value value) {
    if (!exchange->status)
        exchange_fail_violation(exchange, "sent data before the head");
    else if (exchange->location)
        exchange_fail_violation(exchange, "sent data for a redirect");
    else if (!is_valid_data(&exchange->request, value))
        exchange_fail_violation(exchange, "sent data of another kind than requested");
    else
        (void)exchange_deliver(exchange, TN_HTTP_DATA, value); /* may have released the exchange: do not touch it */
}

static void exchange_redirect(struct http_exchange *exchange) {
    struct error error = ERROR_INIT;
    char *location = exchange->location;
    int32_t status = TN_ERROR;
    exchange->location = NULL;
    if (exchange->redirects_left-- == 0)
        error_set(&error, status, "PROTOCOL", "the server redirects more than %lld times, which is the limit",
                  (long long)exchange->request.redirects);
    else
        status = outgoing_redirect(&exchange->outgoing, exchange->status, location, exchange->plugin,
                                   exchange->http->options.secrets, &error);
    mem_free(location);
    if (status == TN_OK)
        exchange_send_leg(exchange);
    else
        exchange_fail(exchange, &error);
}

static void exchange_on_end(struct http_exchange *exchange, tn_value value) {
    if (!exchange->status || !has_status_and_headers(value)) {
        exchange_fail_violation(exchange, exchange->status ? "sent an end that is not {status, headers, …}"
                                                           : "sent an end without a head");
        return;
    }
    if (!has_valid_body(value)) {
        exchange_fail_violation(exchange, "sent an end whose body is not bytes");
        return;
    }
    leg_end(exchange->leg);
    if (exchange->location) {
        exchange_redirect(exchange);
        return;
    }
    tn_value scrubbed = exchange_scrub_headers(exchange, value), body = value_get(value, "body");
    /* The body of an error response gets into error messages and to models, so it must not contain a secret. */
    if (body && exchange->status / 100 != 2)
        scrubbed =
            value_set_take(scrubbed, "body", secrets_scrub(exchange->http->options.secrets, body, SECRETS_SCRUB_MIN));
    scrubbed = value_set_take(scrubbed, "attempts", value_int(http_get_int(value, "attempts", 1)));
    scrubbed =
        value_set_take(scrubbed, "ms", value_int(loop_now_ms(exchange->http->options.loop) - exchange->started_ms));
    exchange_deliver_last(exchange, TN_HTTP_END, scrubbed);
    value_unref(scrubbed);
}

static void exchange_on_failed(struct http_exchange *exchange, tn_value value) {
    if (!value_is(value_get(value, "code"), TN_STRING) || !value_is(value_get(value, "message"), TN_STRING)) {
        exchange_fail_violation(exchange, "reported a failure without a code and a message");
        return;
    }
    leg_end(exchange->leg);
    exchange_fail_take(exchange, value_ref(value));
}

static void leg_on_event(void *user, int32_t event, tn_value value) {
    struct http_leg *leg = user;
    struct http_exchange *exchange = leg->exchange;
    if (!exchange) {
        log_write(LOG_ERROR, NULL, "http: the provider reported event %d for an exchange that has ended", event);
        return;
    }
    switch (event) {
    case TN_HTTP_HEAD: exchange_on_head(exchange, value); break;
    case TN_HTTP_DATA: exchange_on_data(exchange, value); break;
    case TN_HTTP_END: exchange_on_end(exchange, value); break;
    case TN_HTTP_FAILED: exchange_on_failed(exchange, value); break;
    default: exchange_fail_violation(exchange, "sent an unknown event"); break;
    }
}

/* ---- Replays ---- */

static void exchange_deliver_recorded(struct loop_work *work) {
    struct http_exchange *exchange = CONTAINER_OF(work, struct http_exchange, work);
    tn_value value;
    int32_t event = playback_next(exchange->playback, &value);
    /* The exchange was cancelled here when it was recorded. It stays open until the plugin or its end cancels it. */
    if (!event) return;
    if (event == TN_HTTP_END || event == TN_HTTP_FAILED)
        exchange_deliver_last(exchange, event, value);
    else if (exchange_deliver(exchange, event, value) && !exchange->paused)
        loop_defer(exchange->http->options.loop, &exchange->work);
    value_unref(value);
}

/* ---- Start ---- */

static int32_t exchange_start_playback(struct http_exchange *exchange, struct replayer *replay, struct error *error) {
    tn_value redacted = http_request_redacted(&exchange->request);
    /*
     * The request in the recording was scrubbed only of secrets of at least this length. The same length is used here,
     * so that both texts are equal. It is longer than for responses, because a replay does not know the secrets: a
     * short one, which also occurs in ordinary text, would be replaced only in the recording.
     */
    tn_value scrubbed = secrets_scrub(exchange->http->options.secrets, redacted, SECRETS_SCRUB_REQUEST_MIN);
    int32_t status = replayer_find(replay, scrubbed, &exchange->playback, error);
    value_unref(scrubbed);
    value_unref(redacted);
    if (status != TN_OK) return status;
    exchange->work.run = exchange_deliver_recorded;
    if (!exchange->paused) loop_defer(exchange->http->options.loop, &exchange->work);
    return TN_OK;
}

static int32_t exchange_prepare(struct http_exchange *exchange, struct error *error) {
    struct http *http = exchange->http;
    int32_t status = http_request_read(&exchange->request, exchange->raw_request, error);
    value_unref(exchange->raw_request);
    exchange->raw_request = NULL;
    if (status == TN_OK)
        status = http_request_permit(&exchange->request, exchange->plugin, http->options.config, error);
    if (status == TN_OK) http_request_add_secrets(&exchange->request, http->options.secrets);
    if (status != TN_OK) return status;
    if (http->options.replayer) return TN_OK; /* a replay has no legs and is not recorded again */
    if (http->options.recorder) {
        tn_value redacted = http_request_redacted(&exchange->request);
        exchange->recording = recording_new_take(http->options.recorder,
                                                 exchange->plugin ? plugin_id(exchange->plugin) : "tenon", redacted);
    }
    exchange->redirects_left = exchange->request.redirects;
    return TN_OK;
}

static void exchange_on_secret(struct secrets_waiter *waiter, const struct error *failure);

/* The total time limit passed while a secret was fetched. The command continues, for later requests. */
static void exchange_on_total_timeout(struct loop_timer *timer) {
    struct http_exchange *exchange = CONTAINER_OF(timer, struct http_exchange, timer);
    struct error error = ERROR_INIT;
    error_set_total_timeout(&error);
    exchange_fail(exchange, &error);
}

static void exchange_start_total_timer(struct http_exchange *exchange) {
    struct loop *loop = exchange->http->options.loop;
    if (!exchange->request.total_ms) return;
    int64_t passed_ms = loop_now_ms(loop) - exchange->started_ms;
    loop_timer_start(loop, &exchange->timer, exchange->request.total_ms - passed_ms, exchange_on_total_timeout);
}

/* Returns true if a command must fetch a secret first. exchange_on_secret then continues the request. */
static bool exchange_wait_for_secret(struct http_exchange *exchange) {
    tn_value names = http_request_secrets(&exchange->request);
    bool waits = false;
    exchange->waiter.ready = exchange_on_secret;
    for (size_t i = 0; i < value_count(names) && !waits; i++)
        waits = secrets_wait(exchange->http->options.secrets, value_chars(value_key_at(names, i), NULL),
                             loop_now_ms(exchange->http->options.loop), &exchange->waiter);
    value_unref(names);
    if (waits) exchange_start_total_timer(exchange);
    return waits;
}

static void exchange_fill_and_send(struct http_exchange *exchange) {
    struct error error = ERROR_INIT;
    if (exchange_wait_for_secret(exchange)) return;
    struct loop *loop = exchange->http->options.loop;
    struct secrets *secrets = exchange->http->options.secrets;
    if (http_request_fill(&exchange->request, secrets, loop_now_ms(loop), &exchange->outgoing, &error) == TN_OK &&
        outgoing_sign(&exchange->outgoing, secrets, loop_now_ms(loop), loop_wall_ms(loop), &error) == TN_OK)
        exchange_send_leg(exchange);
    else
        exchange_fail(exchange, &error);
}

static void exchange_on_secret(struct secrets_waiter *waiter, const struct error *failure) {
    struct http_exchange *exchange = CONTAINER_OF(waiter, struct http_exchange, waiter);
    struct error error = ERROR_INIT;
    loop_timer_stop(exchange->http->options.loop, &exchange->timer);
    if (!failure) {
        exchange_fill_and_send(exchange);
        return;
    }
    error_copy(&error, failure);
    exchange_fail(exchange, &error);
}

static void exchange_start(struct loop_work *work) {
    struct http_exchange *exchange = CONTAINER_OF(work, struct http_exchange, work);
    struct error error = ERROR_INIT;
    exchange->started_ms = loop_now_ms(exchange->http->options.loop);
    int32_t status = exchange_prepare(exchange, &error);
    struct replayer *replay = exchange->http->options.replayer;
    if (status == TN_OK && replay) status = exchange_start_playback(exchange, replay, &error);
    if (status != TN_OK)
        exchange_fail(exchange, &error);
    else if (!replay)
        exchange_fill_and_send(exchange);
}

/* ---- The service ---- */

struct http *http_new(const struct http_options *options) {
    struct http *http = mem_zalloc(sizeof *http);
    http->options = *options;
    http->ended_legs_tail = &http->ended_legs;
    return http;
}

static void exchange_cancel(struct http_exchange *exchange) {
    if (!exchange->leg || leg_cancel(exchange->leg)) exchange_release(exchange);
}

static void exchange_cancel_all(struct http *http, const struct plugin *plugin) {
    for (uint32_t i = 0; http->open && i < http->count; i++) {
        struct http_exchange *exchange = &http->blocks[i / EXCHANGES_PER_BLOCK][i % EXCHANGES_PER_BLOCK];
        if (exchange->handler && (!plugin || exchange->plugin == plugin)) exchange_cancel(exchange);
    }
}

void http_plugin_ended(struct http *http, const struct plugin *plugin) {
    if (!http) return;
    exchange_cancel_all(http, plugin);
    for (uint32_t i = 0; i < http->requester_count; i++) {
        if (http->requesters[i].plugin == plugin) {
            http->requesters[i] = http->requesters[--http->requester_count];
            break;
        }
    }
}

void http_close(struct http *http) {
    if (!http) return;
    http->closed = true;
    exchange_cancel_all(http, NULL);
    http_provider_release(&http->provider);
}

void http_free(struct http *http) {
    if (!http) return;
    http_close(http);
    for (uint32_t i = 0; i < http->count / EXCHANGES_PER_BLOCK; i++) mem_free(http->blocks[i]);
    for (struct http_leg *leg = http->ended_legs, *next; leg; leg = next) {
        next = leg->next;
        mem_free(leg);
    }
    mem_free((void *)http->blocks);
    mem_free(http->requesters);
    mem_free(http);
}

static int32_t exchange_new(struct http *http, struct plugin *plugin, tn_value request, tn_http_handler handler,
                            void *user, uint64_t *exchange) {
    if (!http || http->closed) return TN_UNSUPPORTED;
    struct http_requester *requester = requester_find_or_add(http, plugin);
    if (requester->open == HTTP_EXCHANGES_MAX) return TN_LIMIT;
    if (!http->free) exchange_add_block(http);
    struct http_exchange *created = http->free;
    http->free = created->next_free;
    requester->open++;
    http->open++;
    created->plugin = plugin;
    created->handler = handler;
    created->user = user;
    created->raw_request = value_ref(request);
    created->work.run = exchange_start;
    loop_defer(http->options.loop, &created->work);
    *exchange = exchange_token(created);
    return TN_OK;
}

int32_t http_send(struct http *http, struct plugin *plugin, tn_value request, tn_http_handler handler, void *user,
                  uint64_t *exchange) {
    if (!plugin || !request || !handler || !exchange) return TN_INVALID;
    return exchange_new(http, plugin, request, handler, user, exchange);
}

int32_t http_send_own(struct http *http, tn_value request, tn_http_handler handler, void *user, uint64_t *exchange) {
    return exchange_new(http, NULL, request, handler, user, exchange);
}

int32_t http_pause(struct http *http, const struct plugin *plugin, uint64_t token) {
    struct http_exchange *exchange = plugin ? exchange_lookup(http, plugin, token) : NULL;
    if (!exchange) return TN_STALE;
    if (exchange->paused) return TN_OK;
    exchange->paused = true;
    const struct http_leg *leg = exchange->leg;
    /* With a playback, `work` delivers the next event. Without one, exchange_start may be queued and must run. */
    if (exchange->playback) loop_undefer(http->options.loop, &exchange->work);
    if (leg && !leg->in_send && leg->provider.vtable->pause)
        leg->provider.vtable->pause(leg->provider.self, leg->token);
    return TN_OK;
}

int32_t http_resume(struct http *http, const struct plugin *plugin, uint64_t token) {
    struct http_exchange *exchange = plugin ? exchange_lookup(http, plugin, token) : NULL;
    if (!exchange) return TN_STALE;
    if (!exchange->paused) return TN_OK;
    exchange->paused = false;
    const struct http_leg *leg = exchange->leg;
    if (exchange->playback) loop_defer(http->options.loop, &exchange->work);
    if (leg && !leg->in_send && leg->provider.vtable->resume)
        leg->provider.vtable->resume(leg->provider.self, leg->token);
    return TN_OK;
}

int32_t http_cancel(struct http *http, const struct plugin *plugin, uint64_t token) {
    struct http_exchange *exchange = plugin ? exchange_lookup(http, plugin, token) : NULL;
    if (!exchange) return TN_STALE;
    exchange_cancel(exchange);
    return TN_OK;
}

int32_t http_cancel_own(struct http *http, uint64_t token) {
    struct http_exchange *exchange = exchange_lookup(http, NULL, token);
    if (!exchange) return TN_STALE;
    exchange_cancel(exchange);
    return TN_OK;
}

uint32_t http_open_count(const struct http *http) { return http ? http->open : 0; }
