/*
 * call.c - calls: requests, rounds of more input, questions to models and people, and how they end.
 *
 * A call's way is decided in one place, advance(): it ends where it has an outcome and no model works for it; it asks
 * the next person; it sends the next round. Whatever happens stores what it brings and calls that.
 */
#include "call.h"
#include "ask.h"
#include "content.h"
#include "elicit.h"
#include "header.h"

#define CALLS_MAX 1024 /* open at once, of one server */
#define OURS      "tenon.mcp"

/* ---- Life ---- */

static struct call *call_new(struct tool *tool, tn_task task, tn_value arguments, uint32_t model) {
    uint32_t count = 0;
    for (const struct call *other = tool->server->calls; other != NULL; other = other->next) count++;
    struct call *call = count < CALLS_MAX ? take(sizeof *call) : NULL;
    if (call == NULL) return NULL;
    call->server = tool->server;
    call->tool = tool_ref(tool);
    call->task = task;
    call->model = model;
    call->arguments = tn_retain(arguments);
    struct call **last = &call->server->calls;
    while (*last != NULL) last = &(*last)->next;
    *last = call;
    return call;
}

static void call_free(struct call *call) {
    struct call **at = &call->server->calls;
    while (*at != call) at = &(*at)->next;
    *at = call->next;
    asks_drop(call);
    tn_release(call->arguments);
    tn_release(call->answers);
    tn_release(call->state);
    tn_release(call->inputs);
    tn_release(call->responses);
    tn_release(call->output);
    tn_release(call->message);
    tn_release(call->more);
    tool_unref(call->tool);
    give(call);
}

/* ---- The outcome: kept until no model works for the call, and it has a task ---- */

static void decide_output(struct call *call, tn_value output) { /* takes it */
    if (call->decided) {
        tn_release(output);
        return;
    }
    call->decided = true;
    call->output = output;
}

void call_decide(struct call *call, const char *code, tn_value message, tn_value more) { /* takes both */
    if (call->decided) {
        tn_release(message);
        tn_release(more);
        return;
    }
    call->decided = true;
    (void)snprintf(call->code, sizeof call->code, "%s", code);
    call->message = message;
    call->more = more;
}

static void end(struct call *call) {
    tn_task task = call->task;
    if (call->request != 0) session_cancel(call->server->session, call->request, "nobody waits for it any more");
    call->request = 0;
    if (*call->code == '\0' && call->output != NULL) {
        (void)tn.task->complete(task, call->output);
    } else {
        const char *text = tn_chars(call->message, NULL);
        (void)(tn.task->fail)(task, *call->code != '\0' ? call->code : "NO_MEMORY",
                              text != NULL ? text : "there is no memory left", call->more);
    }
    call_free(call);
}

/* ---- Results ---- */

static tn_value detail_of(const struct call *call, const char *key, tn_value value) { /* takes it */
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, "detail", TN_OBJECT);
    tn_put_text(builder, "server", call->server->name);
    tn_put_text(builder, "tool", call->tool->name);
    if (value != NULL) tn_put_take(builder, key, value);
    tn.value->end(builder);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

static void decide_result(struct call *call, tn_value result) {
    tn_value blocks = tn.value->get(result, "content"), structured = tn.value->get(result, "structuredContent");
    if (call->tool->method != NULL) {
        decide_output(call, call->tool->method->result(result));
        return;
    }
    bool plain = content_only_text(blocks) && tn.value->kind(structured) > TN_NULL;
    tn_value content = content_of(blocks);
    if (!value_true(tn.value->get(result, "isError"))) {
        bool as_structured = structured != NULL && (call->tool->structured || plain);
        decide_output(call, as_structured ? tn_retain(structured) : tn_retain(content));
        tn_release(content);
        return;
    }
    tn_value text = tn_content_text(content);
    if (text != NULL && *tn_chars(text, NULL) == '\0') {
        tn_release(text);
        text = format_value("server `%s`: tool `%s` failed, and gave no reason", call->server->name, call->tool->name);
    }
    call_decide(call, "TOOL_ERROR", text, detail_of(call, "content", content));
}

static void decide_failure(struct call *call, const struct rpc_answer *answer) {
    const char *code = answer->failure;
    if (code == NULL || answer->code != 0) code = answer->code == RPC_INVALID_PARAMS ? "INVALID_INPUT" : "SERVER_ERROR";
    tn_value message = format_value("server `%s`: tool `%s`: %s", call->server->name, call->tool->name,
                                    answer->message != NULL ? answer->message : "it failed");
    call_decide(call, code, message, detail_of(call, "code", answer->code != 0 ? tn_int(answer->code) : NULL));
}

/* ---- Requests ---- */

static void answered(void *user, const struct rpc_answer *answer);

static tn_value params_of(const struct call *call) {
    tn_value params;
    if (call->tool->method != NULL) {
        params = tn_retain(call->arguments);
    } else {
        tn_builder *builder = tn.value->builder();
        tn.value->begin(builder, TN_OBJECT);
        tn_put_text(builder, "name", call->tool->name);
        tn_put(builder, "arguments", call->arguments);
        tn.value->end(builder);
        params = tn.value->finish(builder);
    }
    if (call->responses != NULL) params = with_take(params, "inputResponses", tn_retain(call->responses));
    if (call->state != NULL) params = with_take(params, "requestState", tn_retain(call->state));
    return params;
}

static void send_request(struct call *call) {
    struct server *server = call->server;
    const char *method = call->tool->method != NULL ? call->tool->method->method : "tools/call";
    tn_value params = params_of(call), headers = NULL;
    if (call->tool->method == NULL && session_modern(server->session))
        headers = headers_of(tn.value->get(call->tool->definition, "inputSchema"), call->arguments);
    if (params != NULL)
        call->request =
            session_request(server->session, method, params, headers, true, server_timeout_ms(server), answered, call);
    tn_release(params);
    tn_release(headers);
    call->waiting = false;
    if (call->request != 0) return;
    call_decide(call, "LIMIT",
                format_value("server `%s`: too many requests wait for it, or there is no memory left", server->name),
                NULL);
    call_advance(call);
}

/* Starts the server where it is not there. */
static void begin(struct call *call) {
    call->waiting = true;
    if (call->server->state == SERVER_READY)
        send_request(call);
    else
        server_connect(call->server);
}

static void begin_round(struct call *call, tn_value result) {
    tn_value inputs = tn.value->get(result, "inputRequests"), state = tn.value->get(result, "requestState");
    tn_release(call->state);
    tn_release(call->inputs);
    tn_release(call->responses);
    call->state = tn.value->kind(state) == TN_STRING ? tn_retain(state) : NULL;
    call->inputs = tn.value->kind(inputs) == TN_OBJECT ? tn_retain(inputs) : NULL;
    call->responses = call->inputs != NULL ? empty_object() : NULL;
    if (++call->rounds > MCP_ROUNDS_MAX || (call->state == NULL && call->inputs == NULL))
        call_decide(call, "SERVER_ERROR",
                    format_value("server `%s`: tool `%s` asks for more input, %s", call->server->name, call->tool->name,
                                 call->rounds > MCP_ROUNDS_MAX ? "again and again" : "and does not say for which"),
                    NULL);
    else
        asks_of_round(call);
    call->sends = true;
    call_advance(call);
}

/* A person is asked for permission to use the server; the request is sent again afterwards. False: nobody can be. */
static bool ask_permission(struct call *call) {
    tn_value question = call->permits < OAUTH_ASKS_MAX ? server_question(call->server) : NULL;
    bool asked = question != NULL && asks_add(call, ASK_PERSON, NULL, NULL, question);
    call->permits += asked;
    call->sends |= asked;
    tn_release(question);
    return asked;
}

static void answered(void *user, const struct rpc_answer *answer) {
    struct call *call = user;
    tn_value urls = tn.value->get(answer->data, "elicitations");
    call->request = 0;
    if (answer->failure != NULL && strcmp(answer->failure, MCP_SESSION_ENDED) == 0 && !call->again) {
        call->again = call->waiting = true; /* for the next session, which begins soon */
        return;
    }
    if (answer->result != NULL && value_is(tn.value->get(answer->result, "resultType"), "input_required")) {
        begin_round(call, answer->result);
        return;
    }
    if (answer->result != NULL) {
        decide_result(call, answer->result);
    } else if (answer->failure != NULL && strcmp(answer->failure, OAUTH_NEEDED) == 0 && ask_permission(call)) {
        /* call_advance asks it */
    } else if (answer->code == RPC_URL_NEEDED && tn.value->count(urls) > 0 && ++call->rounds <= MCP_ROUNDS_MAX) {
        for (uint64_t i = 0, count = tn.value->count(urls); i < count && i < MCP_ASKED_MAX; i++)
            asks_add(call, ASK_PERSON, NULL, NULL, tn.value->at(urls, i));
        call->sends = true;
    } else {
        decide_failure(call, answer);
    }
    call_advance(call);
}

/* ---- People ---- */

static tn_value remember(tn_value answers, tn_value params, tn_value result) { /* takes answers; borrows the rest */
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(answers); i < count; i++)
        tn_put(builder, NULL, tn.value->at(answers, i));
    tn_put_begin(builder, NULL, TN_OBJECT);
    tn_put(builder, "question", params);
    tn_put(builder, "result", result);
    tn.value->end(builder);
    tn.value->end(builder);
    tn_release(answers);
    return tn.value->finish(builder);
}

/* A question that had an answer before the call was made anew: borrowed, NULL where it is another one. */
static tn_value remembered(const struct call *call, tn_value params) {
    for (uint64_t i = 0, count = tn.value->count(call->answers); i < count; i++) {
        tn_value known = tn.value->at(call->answers, i);
        if (elicit_same(tn.value->get(known, "question"), params)) return tn.value->get(known, "result");
    }
    return NULL;
}

static void put_round(tn_builder *builder, const struct call *call, const struct ask *ask) {
    tn_put_begin(builder, "round", TN_OBJECT);
    if (call->state != NULL) tn_put(builder, "state", call->state);
    tn_put(builder, "inputs", call->inputs);
    tn_put(builder, "responses", call->responses);
    tn_put_text(builder, "key", ask->key);
    tn.value->end(builder);
}

static tn_value continuation_of(const struct call *call, const struct ask *ask) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, OURS, TN_OBJECT);
    tn_put_text(builder, "token", call->token);
    tn_put(builder, "arguments", call->arguments);
    tn_put(builder, "question", ask->params);
    if (call->answers != NULL) tn_put(builder, "answers", call->answers);
    if (ask->key != NULL) put_round(builder, call, ask);
    if (ask->key == NULL && ask->id == NULL) tn_put_bool(builder, "again", 1);
    if (call->permits > 0) tn_put_int(builder, "permits", call->permits);
    tn.value->end(builder);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

static void drop_oldest_suspended(struct server *server) {
    struct call *oldest = NULL;
    uint32_t count = 0;
    for (struct call *call = server->calls; call != NULL; call = call->next) {
        if (call->task != 0) continue;
        if (oldest == NULL) oldest = call;
        count++;
    }
    if (count < MCP_SUSPENDED_MAX || oldest == NULL) return;
    if (oldest->request != 0) session_cancel(server->session, oldest->request, "nobody answered");
    call_free(oldest);
}

/* True: the task has ended by it, and the call is gone, or waits without one. */
static bool ask_person(struct call *call, struct ask *ask) {
    static uint64_t last;
    (void)snprintf(call->token, sizeof call->token, "%llx-%llx", (unsigned long long)tn.core->monotonic_ns(tn.host),
                   (unsigned long long)++last);
    if (!elicit_ask_take(call->task, ask->params, call->server->name, call->tool->name, continuation_of(call, ask)))
        return false;
    if (call->request == 0) { /* all that is needed is in the continuation */
        call_free(call);
        return true;
    }
    drop_oldest_suspended(call->server);
    call->task = 0;
    session_hold(call->server->session, call->request, true);
    return true;
}

/* True: the call has ended, or waits for the person. */
static bool next_person(struct call *call) {
    for (struct ask *ask = call->asks; ask != NULL; ask = call->asks) {
        bool again = ask->id == NULL && ask->key == NULL; /* the call was made again, and that was not enough */
        tn_value known = again ? NULL : remembered(call, ask->params);
        if (known != NULL) {
            ask_answer(call, ask, known);
            continue;
        }
        if (ask_person(call, ask)) return true;
        tn_builder *builder = tn.value->builder(); /* there is nobody to ask here */
        tn.value->begin(builder, TN_OBJECT);
        tn_put_text(builder, "action", "cancel");
        tn.value->end(builder);
        tn_value result = tn.value->finish(builder);
        ask_answer(call, ask, result);
        tn_release(result);
    }
    return false;
}

void call_advance(struct call *call) {
    if (call->task == 0 || call->waiting) return;
    asks_start_models(call);
    if (call->models > 0) return;
    if (!call->decided && call->asks != NULL && next_person(call)) return;
    if (call->decided) {
        end(call);
    } else if (call->sends && call->request == 0) {
        call->sends = false;
        begin(call);
    }
}

/* ---- Begin and resume ---- */

static struct call *find_suspended(const struct tool *tool, const char *token) {
    for (struct call *call = tool->server->calls; call != NULL; call = call->next)
        if (call->task == 0 && strcmp(call->token, token) == 0 && strcmp(call->tool->id, tool->id) == 0) return call;
    return NULL;
}

static void resume_round(struct call *call, tn_value round, tn_value result) {
    tn_value state = tn.value->get(round, "state");
    const char *key = tn_get_text(round, "key", "");
    call->state = state != NULL ? tn_retain(state) : NULL;
    call->inputs = tn_retain(tn.value->get(round, "inputs"));
    call->responses = with_take(tn_retain(tn.value->get(round, "responses")), key, tn_retain(result));
    call->rounds = 1;
    asks_of_round(call);
}

/* What a person said of the server's use, or brought back. */
static void permitted(struct call *call, tn_value question, tn_value answer) {
    struct oauth *oauth = call->server->oauth;
    char why[OAUTH_WHY_MAX] = "the permission was declined";
    if (tn.value->kind(answer) == TN_NULL) {
        if (oauth != NULL) oauth_decline(oauth);
    } else if (oauth == NULL || oauth_answer(oauth, question, answer, why, sizeof why)) {
        return;
    }
    call_decide(call, "AUTH", format_value("server `%s`: %s", call->server->name, why), detail_of(call, NULL, NULL));
}

static int32_t resume(struct tool *tool, tn_task task, tn_value ours, tn_value answer, uint32_t model) {
    tn_value question = tn.value->get(ours, "question"), round = tn.value->get(ours, "round");
    tn_value result = elicit_result(question, answer), answers = tn.value->get(ours, "answers");
    struct call *call = find_suspended(tool, tn_get_text(ours, "token", ""));
    if (call != NULL) {
        call->task = task;
        call->model = model;
        call->answers = remember(call->answers, question, result);
        if (call->request != 0) session_hold(tool->server->session, call->request, false);
        if (call->asks != NULL) ask_answer(call, call->asks, result);
        call_advance(call);
    } else if (result != NULL && (call = call_new(tool, task, tn.value->get(ours, "arguments"), model)) != NULL) {
        call->answers = remember(answers != NULL ? tn_retain(answers) : NULL, question, result);
        call->sends = true;
        call->permits = tn_get_int(ours, "permits", 0);
        if (round != NULL)
            resume_round(call, round, result);
        else if (elicit_authorizes(question))
            permitted(call, question, answer);
        else if (value_true(tn.value->get(ours, "again")) && !value_is(tn.value->get(result, "action"), "accept"))
            call_decide(call, "TOOL_ERROR",
                        format_value("server `%s`: tool `%s` needs what was declined", tool->server->name, tool->name),
                        NULL);
        call_advance(call);
    }
    tn_release(result);
    return call != NULL ? TN_OK : TN_LIMIT;
}

int32_t call_start(struct tool *tool, tn_task task, tn_value input, uint32_t model) {
    tn_value ours = value_in(input, "continuation", OURS);
    if (ours != NULL) return resume(tool, task, ours, tn.value->get(input, "answer"), model);
    struct call *call = call_new(tool, task, input, model);
    if (call == NULL) return TN_LIMIT;
    begin(call);
    return TN_OK;
}

void call_cancel(struct server *server, tn_task task) {
    struct call *call = server->calls;
    while (call != NULL && call->task != task) call = call->next;
    if (call == NULL) return;
    call->waiting = call->sends = false;
    call_decide(call, "CANCELLED", tn_text("cancelled"), NULL);
    if (call->request != 0) session_cancel(server->session, call->request, "it was cancelled");
    call->request = 0;
    call_advance(call);
}

const struct call *call_after(const struct call *call) { return call->next; }
bool call_waits(const struct call *call) { return call->waiting; }
bool call_is_open(const struct call *call) { return call->task != 0; }

uint32_t calls_of(const struct server *server, const struct tool *tool) {
    uint32_t count = 0;
    for (const struct call *call = server->calls; call != NULL; call = call->next) count += call->tool == tool;
    return count;
}

/* ---- From the server ---- */

/* Calls come and go while they are gone through: from the beginning, until none of the kind is left. */
void calls_ready(struct server *server) {
    for (struct call *call = server->calls; call != NULL && server->state == SERVER_READY;) {
        if (!call->waiting) {
            call = call->next;
            continue;
        }
        send_request(call);
        call = server->calls;
    }
}

void calls_fail(struct server *server, const char *code, const char *why) {
    for (struct call *call = server->calls; call != NULL;) {
        if (!call->waiting) {
            call = call->next;
            continue;
        }
        call->waiting = false;
        if (strcmp(code, OAUTH_NEEDED) != 0 || !ask_permission(call))
            call_decide(call, code, format_value("server `%s`: %s", server->name, why), detail_of(call, NULL, NULL));
        call_advance(call);
        call = server->calls;
    }
}

void calls_lost(struct server *server) {
    for (struct call *call = server->calls; call != NULL; call = call->next) asks_lost(call);
    for (struct call *call = server->calls, *next; call != NULL; call = next) {
        next = call->next;
        if (call->task == 0) call_free(call); /* the answer, when it comes, makes the call anew */
    }
}

static struct call *find_request(const struct server *server, int64_t request) {
    struct call *call = server->calls;
    while (call != NULL && (request == 0 || call->request != request)) call = call->next;
    return call;
}

void calls_progress(struct server *server, int64_t request, tn_value params) {
    static const char *const names[] = {"progress", "total", "message"};
    struct call *call = find_request(server, request);
    if (call == NULL || call->task == 0) return;
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, "progress", TN_OBJECT);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tn_value value = tn.value->get(params, names[i]);
        if (value != NULL) tn_put(builder, names[i], value);
    }
    tn.value->end(builder);
    tn.value->end(builder);
    tn_value chunk = tn.value->finish(builder);
    if (chunk != NULL) (void)tn.task->emit(call->task, chunk); /* where there is no room, the next one will do */
    tn_release(chunk);
}

/* Through pipes, nothing says to which call a question belongs: to the oldest one that is open. */
void calls_asked(struct server *server, tn_value id, const char *method, tn_value params, int64_t origin) {
    struct call *call = find_request(server, origin);
    bool person = strcmp(method, "elicitation/create") == 0;
    for (struct call *other = server->calls; call == NULL && other != NULL; other = other->next)
        if (other->request != 0) call = other;
    if (call == NULL) {
        session_refuse(server->session, id, RPC_INVALID_REQUEST, "no call of a tool is open that this could be for");
    } else if (!person && call->model == TN_UNBOUND) {
        session_refuse(server->session, id, RPC_METHOD_NOT_FOUND, "no model is bound here");
    } else if (!asks_add(call, person ? ASK_PERSON : ASK_MODEL, id, NULL, params)) {
        session_refuse(server->session, id, RPC_INTERNAL, "too many questions wait for an answer");
    } else {
        call_advance(call);
    }
}

void calls_withdrawn(struct server *server, tn_value id) {
    for (struct call *call = server->calls; call != NULL; call = call->next) asks_withdraw(call, id);
}

void calls_free(struct server *server) {
    while (server->calls != NULL) call_free(server->calls);
}
