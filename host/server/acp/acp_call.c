/*
 * acp_call.c - calls of methods of the table, in process.
 */
#include "adl/value/memory.h"
#include "host/plugin/call/call.h"
#include "host/server/acp/acp_internal.h"
#include "host/server/method_call.h"
#include "host/server/server.h"

struct acp_call {
    struct acp *acp;
    struct acp_call *next, **link;
    struct call *call;
    acp_done *done; /* NULL: its result is not needed any more */
    void *user;
};

static void acp_call_end(struct acp_call *call) {
    struct acp *acp = call->acp;
    *call->link = call->next;
    if (call->next) call->next->link = call->link;
    if (call->done) {
        bool good = call_outcome(call->call) == CALL_COMPLETED;
        call->done(call->user, good ? call_output(call->call) : NULL, good ? NULL : call_error(call->call));
    }
    call_free(call->call);
    mem_free(call);
    acp_look_finished(acp);
}

static void acp_call_on_ended(struct call *call) { acp_call_end(call_owner(call)); }

void acp_call_take(struct acp *acp, const char *method, tn_value params, acp_done *done, void *user) {
    static const struct call_ops ops = {.ended = acp_call_on_ended};
    struct callable *callable = method_call_new(acp->client, method_find(method), NULL);
    struct acp_call *call = mem_zalloc(sizeof *call);
    *call = (struct acp_call){.acp = acp, .next = acp->calls, .link = &acp->calls, .done = done, .user = user};
    if (call->next) call->next->link = &call->next;
    acp->calls = call;
    call->call = call_new(server_loop(acp->options.server), callable, &ops, call);
    callable_unref(callable);
    bool ended = call_start(call->call, params);
    value_unref(params);
    if (ended) acp_call_end(call);
}

void acp_calls_drop(struct acp *acp, const void *user) {
    for (struct acp_call *call = acp->calls; call; call = call->next)
        if (call->user == user) call->done = NULL;
}
