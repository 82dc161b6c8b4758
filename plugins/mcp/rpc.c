/*
 * rpc.c - requests by id, each with its timer; an incoming message goes to exactly one of four places.
 *
 * The id of an answer is looked up before any other member is used. Callbacks may free the conversation: `freed` points
 * to a flag on the caller's stack that records it. A request that could not be sent fails in a posted call, so that
 * `done` is never called inside rpc_call.
 */
#include "rpc.h"

struct request {
    struct request *next;
    struct rpc *rpc;
    int64_t id, timeout_ms;
    uint64_t timer; /* a posted call; 0: none */
    int extensions;
    bool unsent;
    rpc_done done;
    void *user;
    char method[48];
};

struct rpc {
    struct rpc_events events;
    struct request *requests;
    uint32_t count;
    int64_t next_id;
    bool *freed; /* on the stack of rpc_receive while it runs */
};

struct rpc *rpc_new(const struct rpc_events *events) {
    struct rpc *rpc = mcp_alloc(sizeof *rpc);
    if (rpc == NULL) return NULL;
    rpc->events = *events;
    rpc->next_id = 1;
    return rpc;
}

static void request_free(struct request *request) {
    if (request->timer != 0) (void)tn.core->unpost(tn.host, request->timer);
    mcp_free(request);
}

void rpc_free(struct rpc *rpc) {
    if (rpc == NULL) return;
    if (rpc->freed != NULL) *rpc->freed = true;
    while (rpc->requests != NULL) {
        struct request *request = rpc->requests;
        rpc->requests = request->next;
        request_free(request);
    }
    mcp_free(rpc);
}

static struct request **find_request(const struct rpc *rpc, int64_t id) {
    struct rpc *owner = (struct rpc *)(uintptr_t)rpc;
    struct request **at = &owner->requests;
    while (*at != NULL && (*at)->id != id) at = &(*at)->next;
    return *at != NULL ? at : NULL;
}

static struct request *unlink_request(struct rpc *rpc, int64_t id) {
    struct request **at = find_request(rpc, id);
    if (at == NULL) return NULL;
    struct request *request = *at;
    *at = request->next;
    rpc->count--;
    return request;
}

static void request_end(struct request *request, const struct rpc_answer *answer) {
    rpc_done done = request->done;
    void *user = request->user;
    request_free(request);
    done(user, answer);
}

void rpc_discard(struct rpc *rpc, int64_t id) {
    struct request *request = unlink_request(rpc, id);
    if (request != NULL) request_free(request);
}

void rpc_fail(struct rpc *rpc, int64_t id, const struct rpc_answer *answer) {
    struct request *request = unlink_request(rpc, id);
    if (request != NULL) request_end(request, answer);
}

/* Only those that wait now: a callback may start others, or free the conversation. */
void rpc_fail_all(struct rpc *rpc, const char *failure, const char *message) {
    struct request *waiting = rpc->requests;
    const struct rpc_answer answer = {.failure = failure, .message = message};
    rpc->requests = NULL;
    rpc->count = 0;
    while (waiting != NULL) {
        struct request *request = waiting;
        waiting = request->next;
        request_end(request, &answer);
    }
}

int64_t rpc_next_id(const struct rpc *rpc) { return rpc->next_id; }

bool rpc_is_waiting(const struct rpc *rpc, int64_t id) { return find_request(rpc, id) != NULL; }

/* ---- Timeouts ---- */

static void on_request_timeout(void *argument) {
    struct request *request = argument;
    struct rpc *rpc = request->rpc;
    char message[128];
    struct rpc_answer answer = {.failure = "TIMEOUT", .message = message};
    request->timer = 0;
    if (request->unsent) {
        answer.failure = "SERVER_LOST";
        (void)snprintf(message, sizeof message, "`%s` could not be sent: the server does not read", request->method);
    } else {
        (void)snprintf(message, sizeof message, "no answer to `%s` within %lld ms", request->method,
                       (long long)request->timeout_ms);
        if (rpc->events.expired != NULL) rpc->events.expired(rpc->events.user, request->id);
    }
    (void)unlink_request(rpc, request->id);
    request_end(request, &answer);
}

static bool request_start_timer(struct request *request, int64_t delay_ms) {
    if (request->timer != 0) (void)tn.core->unpost(tn.host, request->timer);
    request->timer = tn_post((uint64_t)delay_ms, on_request_timeout, request);
    return request->timer != 0;
}

void rpc_extend_timeout(struct rpc *rpc, int64_t id) {
    struct request **at = find_request(rpc, id);
    if (at == NULL || (*at)->timer == 0 || (*at)->unsent || (*at)->extensions >= MCP_EXTENSIONS) return;
    (*at)->extensions++;
    (void)request_start_timer(*at, (*at)->timeout_ms);
}

void rpc_pause_timeout(struct rpc *rpc, int64_t id, bool paused) {
    struct request **at = find_request(rpc, id);
    if (at == NULL || (*at)->unsent || (*at)->timeout_ms == 0) return;
    if (!paused)
        (void)request_start_timer(*at, (*at)->timeout_ms);
    else if ((*at)->timer != 0 && tn.core->unpost(tn.host, (*at)->timer) == TN_OK)
        (*at)->timer = 0;
}

/* ---- Outgoing messages ---- */

static tn_builder *start_message(void) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "jsonrpc", "2.0");
    return builder;
}

static int32_t rpc_send_message(struct rpc *rpc, tn_builder *builder, int64_t id, tn_value extra) {
    tn.value->end(builder);
    tn_value message = tn_finish(builder);
    int32_t status = message != NULL ? rpc->events.send(rpc->events.user, message, id, extra) : TN_NO_MEMORY;
    tn_release(message);
    return status;
}

int64_t rpc_call(struct rpc *rpc, const char *method, tn_value params, tn_value extra, int64_t timeout_ms,
                 rpc_done done, void *user) {
    struct request *request = rpc->count < MCP_REQUESTS_MAX ? mcp_alloc(sizeof *request) : NULL;
    if (request == NULL) return 0;
    request->rpc = rpc;
    request->id = rpc->next_id++;
    request->timeout_ms = timeout_ms;
    request->done = done;
    request->user = user;
    (void)snprintf(request->method, sizeof request->method, "%s", method);
    if (timeout_ms > 0 && !request_start_timer(request, timeout_ms)) {
        mcp_free(request);
        return 0;
    }
    struct request **last = &rpc->requests;
    while (*last != NULL) last = &(*last)->next;
    *last = request;
    rpc->count++;
    int64_t id = request->id;
    tn_builder *builder = start_message();
    tn_put_int(builder, "id", id);
    tn_put_text(builder, "method", method);
    if (params != NULL) tn_put(builder, "params", params);
    if (rpc_send_message(rpc, builder, id, extra) == TN_OK) return id;
    request->unsent = true;
    if (request_start_timer(request, 0)) return id;
    (void)unlink_request(rpc, id);
    request_free(request);
    return 0;
}

void rpc_notify(struct rpc *rpc, const char *method, tn_value params) {
    tn_builder *builder = start_message();
    tn_put_text(builder, "method", method);
    if (params != NULL) tn_put(builder, "params", params);
    (void)rpc_send_message(rpc, builder, 0, NULL);
}

void rpc_reply(struct rpc *rpc, tn_value id, tn_value result) {
    tn_builder *builder = start_message();
    tn_put(builder, "id", id);
    tn_put(builder, "result", result);
    (void)rpc_send_message(rpc, builder, 0, NULL);
}

void rpc_refuse(struct rpc *rpc, tn_value id, int64_t code, const char *message) {
    tn_builder *builder = start_message();
    tn_put(builder, "id", id);
    tn_put_begin(builder, "error", TN_OBJECT);
    tn_put_int(builder, "code", code);
    tn_put_text(builder, "message", message);
    tn.value->end(builder);
    (void)rpc_send_message(rpc, builder, 0, NULL);
}

/* ---- Incoming messages ---- */

static void rpc_receive_answer(struct rpc *rpc, tn_value message) {
    tn_value result = tn_get(message, "result"), error = tn_get(message, "error");
    int64_t id = 0;
    bool known = tn.value->kind(tn_get(message, "id")) == TN_INT;
    known = known && tn.value->as_int(tn_get(message, "id"), &id) == TN_OK;
    struct request *request = known ? unlink_request(rpc, id) : NULL;
    if (request == NULL) {
        char what[96];
        if (known)
            (void)snprintf(what, sizeof what, "an answer to request %lld, which does not wait", (long long)id);
        else
            (void)snprintf(what, sizeof what, "an answer with an unknown id");
        rpc->events.stray(rpc->events.user, what);
        return;
    }
    struct rpc_answer answer = {.result = result};
    if (error != NULL || tn.value->kind(result) != TN_OBJECT) {
        answer.result = NULL;
        answer.code = tn_get_int(error, "code", RPC_INTERNAL);
        answer.message = tn_get_text(error, "message", "the answer has neither a result nor an error message");
        answer.data = tn_get(error, "data");
    }
    request_end(request, &answer);
}

static void rpc_receive_one(struct rpc *rpc, tn_value message, int64_t origin) {
    const char *method = tn_chars(tn_get(message, "method"), NULL);
    tn_value id = tn_get(message, "id"), params = tn_get(message, "params");
    int32_t kind = tn.value->kind(id);
    if (tn.value->kind(message) != TN_OBJECT || !value_is(tn_get(message, "jsonrpc"), "2.0"))
        rpc->events.stray(rpc->events.user, "a message that is not JSON-RPC 2.0");
    else if (method == NULL)
        rpc_receive_answer(rpc, message);
    else if (id == NULL)
        rpc->events.notification(rpc->events.user, method, params);
    else if (kind == TN_INT || kind == TN_STRING)
        rpc->events.request(rpc->events.user, id, method, params, origin);
    else
        rpc->events.stray(rpc->events.user, "a request whose id is neither a string nor an integer");
}

void rpc_receive(struct rpc *rpc, tn_value message, int64_t origin) {
    bool freed = false, *outer = rpc->freed;
    rpc->freed = &freed;
    if (tn.value->kind(message) != TN_ARRAY) {
        rpc_receive_one(rpc, message, origin);
    } else if (tn.value->count(message) > MCP_BATCH_MAX) {
        rpc->events.stray(rpc->events.user, "an array with too many messages");
    } else {
        for (uint64_t i = 0; !freed && i < tn.value->count(message); i++)
            rpc_receive_one(rpc, tn.value->at(message, i), origin);
    }
    if (!freed)
        rpc->freed = outer;
    else if (outer != NULL)
        *outer = true;
}
