/*
 * ask.c - questions of a call: kept, begun, answered, or no longer wanted.
 *
 * A model that is at work keeps its question alive until it is done, whatever becomes of it: the task of a call must
 * not end before what it has called.
 */
#include "ask.h"
#include "content.h"

static void ask_free(struct ask *ask) {
    tn_release(ask->id);
    tn_release(ask->params);
    give(ask->key);
    give(ask);
}

static void append(struct ask **list, struct ask *ask) {
    while (*list != NULL) list = &(*list)->next;
    *list = ask;
    ask->next = NULL;
}

static void take_out(struct ask **list, const struct ask *ask) {
    while (*list != NULL && *list != ask) list = &(*list)->next;
    if (*list != NULL) *list = ask->next;
}

static uint32_t length_of(const struct ask *list) {
    uint32_t length = 0;
    for (; list != NULL; list = list->next) length++;
    return length;
}

bool asks_add(struct call *call, enum ask_kind kind, tn_value id, const char *key, tn_value params) {
    uint32_t count = length_of(call->asks) + length_of(call->to_models) + call->models;
    struct ask *ask = count < MCP_ASKED_MAX ? take(sizeof *ask) : NULL;
    if (ask == NULL) return false;
    ask->call = call;
    ask->kind = kind;
    ask->id = id != NULL ? tn_retain(id) : NULL;
    ask->params = params != NULL ? tn_retain(params) : empty_object();
    ask->key = copy_text(key);
    append(kind == ASK_PERSON ? &call->asks : &call->to_models, ask);
    return true;
}

static void respond(struct call *call, const char *key, tn_value result) {
    call->responses = with_take(call->responses, key, result != NULL ? tn_retain(result) : NULL);
    if (call->responses == NULL) call_decide(call, "NO_MEMORY", tn_text("there is no memory left"), NULL);
}

void ask_answer(struct call *call, struct ask *ask, tn_value result) {
    take_out(&call->asks, ask);
    if (ask->id != NULL && !ask->lost)
        session_reply(call->server->session, ask->id, result);
    else if (ask->key != NULL)
        respond(call, ask->key, result);
    ask_free(ask);
}

static void refuse_round(struct call *call, const char *key, const char *why) {
    call_decide(
        call, "SERVER_ERROR",
        format_value("server `%s`: tool `%s` asks for `%.80s`: %s", call->server->name, call->tool->name, key, why),
        NULL);
}

static tn_value roots_result(tn_value roots) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put(builder, "roots", roots);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

void asks_of_round(struct call *call) {
    for (uint64_t i = 0, count = tn.value->count(call->inputs); i < count && !call->decided; i++) {
        tn_value name, input;
        if (tn.value->entry(call->inputs, i, &name, &input) != TN_OK) break;
        const char *key = tn_chars(name, NULL), *method = tn_get_text(input, "method", "");
        tn_value params = tn.value->get(input, "params"), roots = server_roots(call->server);
        bool good = true;
        if (tn.value->get(call->responses, key) != NULL) continue;
        if (strcmp(method, "elicitation/create") == 0) {
            good = asks_add(call, ASK_PERSON, NULL, key, params);
        } else if (strcmp(method, "sampling/createMessage") == 0 && call->model != TN_UNBOUND) {
            good = asks_add(call, ASK_MODEL, NULL, key, params);
        } else if (strcmp(method, "roots/list") == 0 && roots != NULL) {
            tn_value result = roots_result(roots);
            respond(call, key, result);
            tn_release(result);
        } else {
            refuse_round(call, key, "this client never said that it can answer that");
        }
        if (!good) refuse_round(call, key, "too much is asked for at once");
    }
}

/* ---- Models ---- */

/* The model could not: a server that waits is told; one that does not gets no answer, and the call fails. */
static void fail_model(struct call *call, const struct ask *ask, const char *code, const char *why, tn_value more) {
    if (ask->lost) return;
    if (strcmp(code, "INTERRUPTED") == 0) {
        call_decide(call, code, tn_text(why), more != NULL ? tn_retain(more) : NULL);
    } else if (ask->id != NULL) {
        session_refuse(call->server->session, ask->id, RPC_INTERNAL, why);
    } else {
        call_decide(call, code,
                    format_value("server `%s`: tool `%s` asks a model, and that failed: %s", call->server->name,
                                 call->tool->name, why),
                    more != NULL ? tn_retain(more) : NULL);
    }
}

static void model_done(void *user, int32_t status, tn_value result) {
    struct ask *ask = user;
    struct call *call = ask->call;
    take_out(&call->at_models, ask);
    call->models--;
    if (status == TN_OK && !ask->lost) {
        const struct session *session = call->server->session;
        bool list = ask->id == NULL || strcmp(session_version(session), MCP_LEGACY) == 0;
        tn_value answer = sample_result(result, list);
        if (ask->id != NULL)
            session_reply(call->server->session, ask->id, answer);
        else
            respond(call, ask->key, answer);
        tn_release(answer);
    } else if (status != TN_OK) {
        fail_model(call, ask, tn_get_text(result, "code", "CANCELLED"), tn_get_text(result, "message", "cancelled"),
                   result);
    }
    ask_free(ask);
    call_advance(call);
}

void asks_start_models(struct call *call) {
    while (call->to_models != NULL) {
        struct ask *ask = call->to_models;
        const char *why = NULL;
        call->to_models = ask->next;
        tn_value input = call->task != 0 && !call->decided ? sample_input(ask->params, &why) : NULL;
        int32_t status = input != NULL ? tn.task->call(call->task, call->model, input, model_done, ask) : TN_INVALID;
        tn_release(input);
        if (status == TN_OK) {
            append(&call->at_models, ask);
            call->models++;
            continue;
        }
        if (!call->decided)
            fail_model(call, ask, "SERVER_ERROR", why != NULL && input == NULL ? why : "the model cannot be called",
                       NULL);
        ask_free(ask);
    }
}

/* ---- Nobody waits any more ---- */

static void lose(struct ask *list, tn_value id) {
    for (; list != NULL; list = list->next)
        if (id == NULL ? list->id != NULL : list->id != NULL && tn.value->equal(list->id, id)) list->lost = true;
}

void asks_withdraw(struct call *call, tn_value id) {
    lose(call->asks, id);
    lose(call->to_models, id);
    lose(call->at_models, id);
}

void asks_lost(struct call *call) { asks_withdraw(call, NULL); }

void asks_drop(struct call *call) {
    struct ask **lists[] = {&call->asks, &call->to_models};
    for (size_t i = 0; i < 2; i++)
        while (*lists[i] != NULL) {
            struct ask *ask = *lists[i];
            *lists[i] = ask->next;
            ask_free(ask);
        }
}
