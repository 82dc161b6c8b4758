/*
 * authorize.c - sends requests of a model with `tokens`: with an access token that is fetched, cached and renewed.
 *
 * The request is kept without its token, so that it can be sent again, once, if the service refuses the token.
 */
#include "internal.h"

static void authorize_send(struct model_call *call, tn_value header) {
    tn_value request = call->authorization.request;
    tn_value headers = tn_set_take(tn_retain(tn_get(request, "headers")), "authorization", tn_retain(header));
    tn_value message = tn_set_take(tn_retain(request), "headers", headers);
    tn_release(call->authorization.header);
    call->authorization.header = tn_retain(header);
    model_hide_token(call, header);
    model_send_message_take(call, message);
}

static void authorize_on_token(struct token_wait *wait, tn_value header, const struct token_failure *failure) {
    struct model_call *call = (struct model_call *)((char *)wait - offsetof(struct model_call, authorization.wait));
    model_call_enter(call);
    call->waits = false;
    if (failure != NULL)
        model_fail(call, failure->code, "%s", failure->message);
    else
        authorize_send(call, header);
    model_call_leave(call);
}

static void authorize_start(struct model_call *call) {
    tn_value header = token_get_cached(call->model->tokens);
    if (header != NULL) {
        authorize_send(call, header);
        return;
    }
    call->waits = true;
    call->authorization.wait.ready = authorize_on_token;
    token_wait(call->model->tokens, &call->authorization.wait);
}

void model_authorize_take(struct model_call *call, tn_value request) {
    tn_release(call->authorization.request);
    call->authorization.request = request;
    call->authorization.again = false;
    authorize_start(call);
}

bool model_authorize_again(struct model_call *call) {
    if (call->model->tokens == NULL || call->authorization.request == NULL || call->authorization.again) return false;
    call->authorization.again = true;
    token_discard(call->model->tokens, call->authorization.header);
    authorize_start(call);
    return true;
}

void model_authorize_cancel(struct model_call *call) {
    if (call->model->tokens != NULL) token_cancel(call->model->tokens, &call->authorization.wait);
}

void model_authorize_release(struct model_call *call) {
    tn_release(call->authorization.request);
    tn_release(call->authorization.header);
}
