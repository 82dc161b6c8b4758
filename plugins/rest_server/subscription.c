/*
 * subscription.c - subscriptions of a WebSocket, with credit as on other connections of the host. tenon.host has no
 * credit: a subscription pauses when it has none, or when the client does not read.
 *
 * The host reports that it has refused a subscription, but not that it has accepted it. So a method that does nothing
 * is called behind the subscription: its result comes after a refusal.
 */
#include "rest_server.h"

struct subscription {
    struct subscription *next;
    struct socket *socket;
    uint64_t number; /* for the client */
    uint64_t host;   /* for the host; 0 after its end */
    uint64_t call;   /* behind the subscription; 0: the request was answered */
    tn_value id;     /* of the request */
    tn_value held;   /* an event that came without credit, before the pause */
    int64_t credit;  /* -1: not limited */
    bool paused;
};

static const struct serving *serving_of(const struct subscription *subscription) {
    return &subscription->socket->exchange->rest->serving;
}

static void subscription_free(struct subscription *subscription) {
    struct subscription **at = &subscription->socket->subscriptions;
    while (*at != subscription) at = &(*at)->next;
    *at = subscription->next;
    subscription->socket->subscriptions_open--;
    if (subscription->call != 0) (void)serving_of(subscription)->methods->cancel(tn.host, subscription->call);
    if (subscription->host != 0) (void)serving_of(subscription)->methods->unsubscribe(tn.host, subscription->host);
    tn_release(subscription->held);
    tn_release(subscription->id);
    serving_free(subscription);
}

void subscriptions_free(struct socket *socket) {
    while (socket->subscriptions != NULL) subscription_free(socket->subscriptions);
}

/* Takes the event. */
static void subscription_send_take(struct subscription *subscription, tn_value value) {
    tn_value number = tn_int((int64_t)subscription->number);
    tn_value params = tn_set_take(tn_retain(tn_get(value, "params")), "subscription", number);
    if (subscription->credit > 0) subscription->credit--;
    socket_send_take(subscription->socket,
                     tn_build("{s:s, s:v, s:V}", "jsonrpc", "2.0", "method", tn_get(value, "event"), "params", params));
    tn_release(value);
}

/* Pauses or resumes. Before the request is answered only with an event, because a pause would hide a refusal, too. */
static void subscription_flow(struct subscription *subscription) {
    bool pause = subscription->socket->full || subscription->credit == 0;
    if (subscription->id != NULL && subscription->held == NULL) return;
    if (!pause && subscription->held != NULL) {
        tn_value held = subscription->held;
        subscription->held = NULL;
        subscription_send_take(subscription, held);
        pause = subscription->socket->full || subscription->credit == 0;
    }
    if (pause == subscription->paused || subscription->host == 0) return;
    subscription->paused = pause;
    (void)(pause ? serving_of(subscription)->methods->pause(tn.host, subscription->host)
                 : serving_of(subscription)->methods->resume(tn.host, subscription->host));
}

void subscriptions_flow(struct socket *socket) {
    for (struct subscription *at = socket->subscriptions; at != NULL; at = at->next) subscription_flow(at);
}

/* ---- Events ---- */

static void answer(struct subscription *subscription) {
    if (subscription->id == NULL) return;
    tn_value id = subscription->id, result = tn_build("{s:I}", "subscription", (int64_t)subscription->number);
    subscription->id = NULL;
    if (subscription->call != 0) (void)serving_of(subscription)->methods->cancel(tn.host, subscription->call);
    subscription->call = 0;
    socket_send_take(subscription->socket, rpc_result(id, result));
    tn_release(result);
    tn_release(id);
    subscription_flow(subscription);
}

static void TN_ABI on_behind(void *user, int32_t status, tn_value value) {
    struct subscription *subscription = user;
    (void)status, (void)value;
    subscription->call = 0;
    answer(subscription);
}

static void TN_ABI on_event(void *user, int32_t status, tn_value value) {
    struct subscription *subscription = user;
    struct socket *socket = subscription->socket;
    if (status != TN_CHUNK) {
        subscription->host = 0;
        if (status == TN_FAILED && subscription->id != NULL)
            socket_send_take(socket, rpc_failure(subscription->id, value));
        else
            answer(subscription);
        subscription_free(subscription);
        return;
    }
    answer(subscription);
    if (subscription->credit != 0)
        subscription_send_take(subscription, tn_retain(value));
    else if (subscription->held == NULL)
        subscription->held = tn_retain(value);
    subscription_flow(subscription);
}

/* ---- Requests ---- */

static void refuse(struct socket *socket, tn_value id, const char *code, const char *text) {
    tn_value error = tn_error(code, text);
    socket_send_take(socket, rpc_failure(id, error));
    tn_release(error);
}

/* `credit` of the parameters, which is removed; -1 without it, -2 if it is not valid. */
static int64_t take_credit(tn_value *params, int64_t least) {
    tn_value given = tn_get(*params, "credit");
    int64_t credit = -2;
    if (given == NULL) return -1;
    if (tn.value->as_int(given, &credit) != TN_OK || credit < least || credit > CREDIT_MAX) return -2;
    return tn.value->remove(params, "credit", TN_Z) == TN_OK ? credit : -2;
}

static struct subscription *subscription_new(struct socket *socket, tn_value id, int64_t credit) {
    struct subscription *subscription = serving_alloc(sizeof *subscription);
    if (subscription == NULL) return NULL;
    *subscription = (struct subscription){.next = socket->subscriptions, .socket = socket, .credit = credit};
    subscription->id = tn_retain(id);
    subscription->number = ++socket->last_subscription;
    socket->subscriptions = subscription;
    socket->subscriptions_open++;
    return subscription;
}

static void subscribe(struct socket *socket, const struct rpc_message *message, tn_value params, int64_t credit) {
    const struct serving *serving = &socket->exchange->rest->serving;
    uint64_t caller = socket->exchange->caller;
    struct subscription *subscription =
        socket->subscriptions_open < SUBSCRIPTIONS_MAX ? subscription_new(socket, message->id, credit) : NULL;
    if (subscription == NULL) {
        refuse(socket, message->id, "LIMIT", "this connection has 256 subscriptions; end one with event/unsubscribe");
        return;
    }
    if (serving->server->subscribe_as(tn.host, caller, params, on_event, subscription, &subscription->host) != TN_OK) {
        subscription->host = 0;
        refuse(socket, message->id, "LIMIT", "this key has too many subscriptions, or is not valid any more");
        subscription_free(subscription);
        return;
    }
    tn_value error = rest_call_take(socket->exchange->rest, caller, "host/info", tn_build("{}"), on_behind,
                                    subscription, &subscription->call);
    if (error != NULL) answer(subscription);
    tn_release(error);
}

static struct subscription *find(const struct socket *socket, tn_value params) {
    int64_t number = tn_get_int(params, "subscription", 0);
    struct subscription *at = socket->subscriptions;
    while (at != NULL && (int64_t)at->number != number) at = at->next;
    return at;
}

static void grant(struct socket *socket, const struct rpc_message *message, struct subscription *subscription,
                  int64_t credit) {
    tn_value result = tn_build("{}");
    if (credit < 1 || subscription->credit < 0 || credit > CREDIT_MAX - subscription->credit) {
        refuse(socket, message->id, "INVALID_INPUT",
               credit < 1                 ? "`credit` is not an integer from 1 to 1,000,000"
               : subscription->credit < 0 ? "this subscription has unlimited credit: it was made without `credit`"
                                          : "the credit would become more than 1,000,000");
    } else {
        subscription->credit += credit;
        socket_send_take(socket, rpc_result(message->id, result));
        subscription_flow(subscription);
    }
    tn_release(result);
}

void subscription_request(struct socket *socket, const struct rpc_message *message) {
    bool of_run = strcmp(message->method, "run/subscribe") == 0;
    bool makes = of_run || strcmp(message->method, "event/subscribe") == 0;
    tn_value params = message->params != NULL ? tn_retain(message->params) : tn_build("{}");
    struct subscription *subscription = makes ? NULL : find(socket, params);
    int64_t credit = take_credit(&params, makes ? 0 : 1);
    if (makes && of_run != (tn_get(params, "run_id") != NULL))
        refuse(socket, message->id, "INVALID_INPUT",
               of_run ? "`run_id` is missing" : "`run_id` is for run/subscribe; expected `events`");
    else if (makes && credit == -2)
        refuse(socket, message->id, "INVALID_INPUT", "`credit` is not an integer from 0 to 1,000,000");
    else if (makes)
        subscribe(socket, message, params, credit);
    else if (subscription == NULL)
        refuse(socket, message->id, "NOT_FOUND", "this connection has no such subscription");
    else if (strcmp(message->method, "event/grant") == 0)
        grant(socket, message, subscription, credit);
    else if (strcmp(message->method, "event/unsubscribe") == 0) {
        tn_value result = tn_build("{}");
        subscription_free(subscription);
        socket_send_take(socket, rpc_result(message->id, result));
        tn_release(result);
    } else
        refuse(socket, message->id, "NOT_FOUND", "there is no such method; GET /openrpc.json lists them");
    tn_release(params);
}
