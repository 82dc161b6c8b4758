/*
 * call.c - calls: requests, rounds of more input, questions to models and people, and their ends.
 *
 * call_advance decides the next step of a call: it ends the call if it has an outcome and no model works for it; else
 * it asks the next person or sends the next round. All other functions store what happened and call it.
 */
#include "call.h"
#include "content.h"
#include "elicit.h"
#include "header.h"
#include "idempotency.h"
#include "question.h"

#define CALLS_MAX 1024 /* open calls of one server */
#define OURS      "tenon.mcp"
#define META_KEY  "dev.tenon/idempotency-key" /* in `_meta`: a prefix is a reversed domain name */

/* ---- Life ---- */

static struct call *mcp_call_new(struct tool *tool, tn_task task, tn_value arguments, uint32_t model) {
    uint32_t count = 0;
    for (const struct call *other = tool->server->calls; other != NULL; other = other->next) count++;
    struct call *call = count < CALLS_MAX ? mcp_alloc(sizeof *call) : NULL;
    if (call == NULL) return NULL;
    call->server = tool->server;
    call->tool = tool_ref(tool);
    call->task = task;
    call->key = idempotency_key(task);
    call->model = model;
    call->arguments = tn_retain(arguments);
    struct call **last = &call->server->calls;
    while (*last != NULL) last = &(*last)->next;
    *last = call;
    return call;
}

static void mcp_call_free(struct call *call) {
    struct call **at = &call->server->calls;
    while (*at != call) at = &(*at)->next;
    *at = call->next;
    questions_free_all(call);
    tn_release(call->key);
    tn_release(call->arguments);
    tn_release(call->answers);
    tn_release(call->state);
    tn_release(call->input_requests);
    tn_release(call->responses);
    tn_release(call->output);
    tn_release(call->error);
    deferred_free(call);
    tool_unref(call->tool);
    mcp_free(call);
}

/* ---- The outcome, stored until no model works for the call and it has a task ---- */

static void call_decide_output(struct call *call, tn_value output) { /* takes it */
    if (call->decided) {
        tn_release(output);
        return;
    }
    call->decided = true;
    call->output = output;
}

void call_decide_error(struct call *call, tn_value error) {
    if (call->decided) {
        tn_release(error);
        return;
    }
    call->decided = true;
    call->error = error;
}

void call_decide(struct call *call, const char *code, tn_value message, tn_value detail) {
    call_decide_error(call, tn_build("{s:s,s:V,s:V*}", "code", code, "message", message, "detail", detail));
}

static void call_end(struct call *call) {
    tn_task task = call->task;
    if (call->request != 0) session_cancel(call->server->session, call->request, "the result is no longer needed");
    call->request = 0;
    if (call->output != NULL)
        (void)tn.task->complete(task, call->output);
    else if (call->error != NULL)
        (void)tn_fail_with(task, call->error);
    else
        (void)tn_fail(task, "NO_MEMORY", "not enough memory");
    mcp_call_free(call);
}

/* ---- Results ---- */

static tn_value call_error_detail(const struct call *call, const char *key, tn_value value) { /* takes it */
    tn_value detail = tn_build("{s:s,s:s}", "server", call->server->name, "tool", call->tool->name);
    return value != NULL ? tn_set_take(detail, key, value) : detail;
}

void call_decide_result(struct call *call, tn_value result) {
    tn_value blocks = tn_get(result, "content"), structured = tn_get(result, "structuredContent");
    if (call->tool->method != NULL) {
        call_decide_output(call, call->tool->method->result(result));
        return;
    }
    bool plain = content_only_text(blocks) && tn.value->kind(structured) > TN_NULL;
    tn_value content = content_from_blocks(blocks);
    if (!value_is_true(tn_get(result, "isError"))) {
        bool as_structured = structured != NULL && (call->tool->structured || plain);
        call_decide_output(call, as_structured ? tn_retain(structured) : tn_retain(content));
        tn_release(content);
        return;
    }
    tn_value text = tn_content_text(content);
    if (text != NULL && *tn_chars(text, NULL) == '\0') {
        tn_release(text);
        text = format_value("server `%s`: tool `%s` failed without a message", call->server->name, call->tool->name);
    }
    call_decide(call, "TOOL_ERROR", text, call_error_detail(call, "content", content));
}

static void call_decide_failure(struct call *call, const struct rpc_answer *answer) {
    const char *code = answer->failure;
    if (code == NULL || answer->code != 0) code = answer->code == RPC_INVALID_PARAMS ? "INVALID_INPUT" : "SERVER_ERROR";
    tn_value message = format_value("server `%s`: tool `%s`: %s", call->server->name, call->tool->name,
                                    answer->message != NULL ? answer->message : "the request failed");
    call_decide(call, code, message, call_error_detail(call, "code", answer->code != 0 ? tn_int(answer->code) : NULL));
}

/* ---- Requests ---- */

static void on_call_response(void *user, const struct rpc_answer *answer);

/* The idempotency key, and the W3C trace context of the run; NULL without either. */
static tn_value call_make_meta(const struct call *call) {
    static const char *const names[] = {"traceparent", "tracestate"};
    tn_value meta = call->key != NULL ? tn_build("{s:v}", META_KEY, call->key) : NULL;
    tn_value context = call->task != 0 ? tn_context(call->task) : NULL, metadata = tn_get(context, "metadata");
    for (size_t i = 0; i < 2; i++) {
        uint64_t length = 0;
        tn_value member = tn_get(metadata, names[i]);
        bool fits = tn_chars(member, &length) != NULL && (i == 0 ? length == 55 : length > 0 && length <= 512);
        if (!fits) break; /* without a traceparent, there is no tracestate */
        if (meta == NULL) meta = tn_build("{}");
        if (meta != NULL) meta = tn_set_take(meta, names[i], tn_retain(member));
    }
    tn_release(context);
    return meta;
}

static tn_value call_make_params(const struct call *call) {
    tn_value params;
    if (call->tool->method != NULL) {
        params = tn_retain(call->arguments);
    } else {
        params = tn_build("{s:s,s:v}", "name", call->tool->name, "arguments", call->arguments);
        tn_value meta = call_make_meta(call);
        if (meta != NULL) params = tn_set_take(params, "_meta", meta);
    }
    if (call->responses != NULL) params = tn_set_take(params, "inputResponses", tn_retain(call->responses));
    if (call->state != NULL) params = tn_set_take(params, "requestState", tn_retain(call->state));
    return params;
}

static void mcp_call_send_request(struct call *call) {
    struct server *server = call->server;
    const char *method = call->tool->method != NULL ? call->tool->method->method : "tools/call";
    bool deferred = call->deferred.id != NULL;
    tn_value params = NULL, headers = NULL;
    if (deferred)
        method = deferred_request(call, &params);
    else
        params = deferred_ask_take(call, call_make_params(call));
    if (!deferred && call->tool->method == NULL && session_is_modern(server->session))
        headers = headers_from_arguments(tn_get(call->tool->definition, "inputSchema"), call->arguments);
    if (params != NULL)
        call->request = session_request(server->session, method, params, headers, !deferred, server_timeout_ms(server),
                                        on_call_response, call);
    tn_release(params);
    tn_release(headers);
    call->waiting = false;
    if (call->request != 0) return;
    call_decide(call, "LIMIT", format_value("server `%s`: too many requests wait, or memory ran out", server->name),
                NULL);
    call_advance(call);
}

/* Starts the server if it is not running. */
static void mcp_call_start_request(struct call *call) {
    call->waiting = true;
    if (call->server->state == SERVER_READY)
        mcp_call_send_request(call);
    else
        server_connect(call->server);
}

static void call_start_round(struct call *call, tn_value result) {
    tn_value inputs = tn_get(result, "inputRequests"), state = tn_get(result, "requestState");
    tn_release(call->state);
    tn_release(call->input_requests);
    tn_release(call->responses);
    call->state = tn.value->kind(state) == TN_STRING ? tn_retain(state) : NULL;
    call->input_requests = tn.value->kind(inputs) == TN_OBJECT ? tn_retain(inputs) : NULL;
    call->responses = call->input_requests != NULL ? tn_build("{}") : NULL;
    if (++call->rounds > MCP_ROUNDS_MAX || (call->state == NULL && call->input_requests == NULL))
        call_decide(call, "SERVER_ERROR",
                    format_value("server `%s`: tool `%s` asks for more input %s", call->server->name, call->tool->name,
                                 call->rounds > MCP_ROUNDS_MAX ? "too often" : "without a list of inputs"),
                    NULL);
    else
        questions_add_input_requests(call);
    call->must_send = true;
    call_advance(call);
}

/* Asks a person for permission to use the server; afterwards the request is sent again. Returns false if no person can
 * be asked. */
static bool call_request_permission(struct call *call) {
    tn_value question = call->permission_count < OAUTH_QUESTIONS_MAX ? server_question(call->server) : NULL;
    bool asked = question != NULL && questions_add(call, QUESTION_PERSON, NULL, NULL, question);
    call->permission_count += asked;
    call->must_send |= asked;
    tn_release(question);
    return asked;
}

/*
 * True if the server no longer accepts the state of the round: it was started again, so that it has another key, or too
 * much time has passed. This is how the SDKs report it.
 */
static bool is_state_refused(const struct call *call, const struct rpc_answer *answer) {
    bool named = value_is(tn_get(answer->data, "reason"), "invalid_request_state") ||
                 strstr(answer->message != NULL ? answer->message : "", "requestState") != NULL;
    return call->state != NULL && answer->code == RPC_INVALID_PARAMS && named;
}

void call_repeat(struct call *call) {
    tn_release(call->state);
    tn_release(call->input_requests);
    tn_release(call->responses);
    call->state = call->input_requests = call->responses = NULL;
    call->repeated = call->must_send = true;
}

static void on_call_response(void *user, const struct rpc_answer *answer) {
    struct call *call = user;
    tn_value urls = tn_get(answer->data, "elicitations"), task;
    call->request = 0;
    if (answer->failure != NULL && strcmp(answer->failure, MCP_SESSION_ENDED) == 0 && !call->resent) {
        call->resent = call->waiting = true; /* the next session, which starts soon, sends it again */
        return;
    }
    if (call->deferred.id != NULL && deferred_on_response(call, answer)) return;
    if (answer->result != NULL && (task = deferred_find_task(call, answer->result)) != NULL) {
        deferred_start(call, task);
        return;
    }
    if (answer->result != NULL && value_is(tn_get(answer->result, "resultType"), "input_required")) {
        call_start_round(call, answer->result);
        return;
    }
    if (answer->result != NULL) {
        call_decide_result(call, answer->result);
    } else if (!call->repeated && is_state_refused(call, answer)) {
        call_repeat(call);
    } else if (answer->failure != NULL && strcmp(answer->failure, OAUTH_NEEDED) == 0 && call_request_permission(call)) {
        /* call_advance asks for permission */
    } else if (answer->code == RPC_URL_NEEDED && tn.value->count(urls) > 0 && ++call->rounds <= MCP_ROUNDS_MAX) {
        for (uint64_t i = 0, count = tn.value->count(urls); i < count && i < MCP_QUESTIONS_MAX; i++)
            questions_add(call, QUESTION_PERSON, NULL, NULL, tn.value->at(urls, i));
        call->must_send = true;
    } else {
        call_decide_failure(call, answer);
    }
    call_advance(call);
}

/* ---- People ---- */

static tn_value add_person_answer(tn_value answers, tn_value params,
                                  tn_value result) { /* takes answers; borrows the rest */
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(answers); i < count; i++)
        tn_put(builder, NULL, tn.value->at(answers, i));
    tn_put_begin(builder, NULL, TN_OBJECT);
    tn_put(builder, "question", params);
    tn_put(builder, "result", result);
    tn.value->end(builder);
    tn.value->end(builder);
    tn_release(answers);
    return tn_finish(builder);
}

/* Returns the answer to a question that was answered before the call was made again: borrowed, NULL if the question
 * differs. */
static tn_value find_person_answer(const struct call *call, tn_value params) {
    for (uint64_t i = 0, count = tn.value->count(call->answers); i < count; i++) {
        tn_value known = tn.value->at(call->answers, i);
        if (elicit_same(tn_get(known, "question"), params)) return tn_get(known, "result");
    }
    return NULL;
}

static void put_round_state(tn_builder *builder, const struct call *call, const struct question *question) {
    tn_put_begin(builder, "round", TN_OBJECT);
    if (call->state != NULL) tn_put(builder, "state", call->state);
    tn_put(builder, "inputs", call->input_requests);
    tn_put(builder, "responses", call->responses);
    tn_put(builder, "key", question->key);
    if (call->deferred.id != NULL) tn_put(builder, "task", call->deferred.id);
    tn.value->end(builder);
}

static tn_value make_continuation(const struct call *call, const struct question *question) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, OURS, TN_OBJECT);
    tn_put_text(builder, "token", call->token);
    tn_put(builder, "arguments", call->arguments);
    tn_put(builder, "question", question->params);
    if (call->answers != NULL) tn_put(builder, "answers", call->answers);
    if (question->key != NULL) put_round_state(builder, call, question);
    if (question->key == NULL && question->id == NULL) tn_put_bool(builder, "again", 1);
    if (call->permission_count > 0) tn_put_int(builder, "permits", call->permission_count);
    tn.value->end(builder);
    tn.value->end(builder);
    return tn_finish(builder);
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
    if (oldest->request != 0) session_cancel(server->session, oldest->request, "no answer arrived");
    mcp_call_free(oldest);
}

/* Returns true if the task has ended with the interrupt; the call is then freed, or waits without a task. */
static bool call_interrupt_for_person(struct call *call, struct question *question) {
    static uint64_t last;
    (void)snprintf(call->token, sizeof call->token, "%llx-%llx", (unsigned long long)tn.core->monotonic_ns(tn.host),
                   (unsigned long long)++last);
    if (!elicit_ask_take(call->task, question->params, call->server->name, call->tool->name,
                         make_continuation(call, question)))
        return false;
    bool asked_by_task = call->deferred.core && call->deferred.id != NULL; /* the server waits for the answer */
    if (call->request == 0 && !asked_by_task) { /* the continuation contains everything that is needed */
        mcp_call_free(call);
        return true;
    }
    drop_oldest_suspended(call->server);
    call->task = 0;
    if (call->request != 0) session_pause_timeout(call->server->session, call->request, true);
    return true;
}

/* Returns true if the call has ended or waits for a person. */
static bool call_ask_next_person(struct call *call) {
    for (struct question *question = call->person_questions; question != NULL; question = call->person_questions) {
        bool repeated = question->id == NULL &&
                        question->key == NULL; /* the call was made again, and the answer was not sufficient */
        tn_value known = repeated ? NULL : find_person_answer(call, question->params);
        if (known != NULL) {
            question_answer(call, question, known);
            continue;
        }
        if (call_interrupt_for_person(call, question)) return true;
        tn_builder *builder = tn_builder_new(); /* no person can be asked here */
        tn.value->begin(builder, TN_OBJECT);
        tn_put_text(builder, "action", "cancel");
        tn.value->end(builder);
        tn_value result = tn_finish(builder);
        question_answer(call, question, result);
        tn_release(result);
    }
    return false;
}

void call_advance(struct call *call) {
    if (call->task == 0 || call->waiting) return;
    questions_start_models(call);
    if (call->running_count > 0) return;
    if (!call->decided && call->person_questions != NULL && call_ask_next_person(call)) return;
    if (call->decided) {
        call_end(call);
    } else if (call->must_send && call->request == 0) {
        call->must_send = false;
        mcp_call_start_request(call);
    }
}

/* ---- Start and resume ---- */

static struct call *find_suspended_call(const struct tool *tool, const char *token) {
    for (struct call *call = tool->server->calls; call != NULL; call = call->next)
        if (call->task == 0 && strcmp(call->token, token) == 0 && strcmp(call->tool->id, tool->id) == 0) return call;
    return NULL;
}

static void call_resume_round(struct call *call, tn_value round, tn_value result) {
    tn_value state = tn_get(round, "state");
    uint64_t length;
    const char *key = tn_chars(tn_get(round, "key"), &length);
    call->state = state != NULL ? tn_retain(state) : NULL;
    if (tn_get(round, "task") != NULL) deferred_resume(call, tn_get(round, "task"));
    call->input_requests = tn_retain(tn_get(round, "inputs"));
    call->responses = tn_retain(tn_get(round, "responses"));
    (void)tn.value->set(&call->responses, key, length, result);
    call->rounds = 1;
    questions_add_input_requests(call);
}

/* Handles a person's permission, or the URL that the person returned. */
static void call_handle_permission(struct call *call, tn_value question, tn_value answer) {
    struct oauth *oauth = call->server->oauth;
    char why[OAUTH_WHY_MAX] = "the permission was declined";
    if (tn.value->kind(answer) == TN_NULL) {
        if (oauth != NULL) oauth_decline(oauth);
    } else if (oauth == NULL || oauth_answer(oauth, question, answer, why, sizeof why)) {
        return;
    }
    call_decide(call, "AUTH", format_value("server `%s`: %s", call->server->name, why),
                call_error_detail(call, NULL, NULL));
}

static int32_t call_resume(struct tool *tool, tn_task task, tn_value continuation, tn_value answer, uint32_t model) {
    tn_value question = tn_get(continuation, "question"), round = tn_get(continuation, "round");
    tn_value result = elicit_result(question, answer), answers = tn_get(continuation, "answers");
    struct call *call = find_suspended_call(tool, tn_get_text(continuation, "token", ""));
    if (call != NULL) {
        call->task = task;
        call->model = model;
        call->answers = add_person_answer(call->answers, question, result);
        if (call->request != 0) session_pause_timeout(tool->server->session, call->request, false);
        if (call->person_questions != NULL) question_answer(call, call->person_questions, result);
        call_advance(call);
    } else if (result != NULL && (call = mcp_call_new(tool, task, tn_get(continuation, "arguments"), model)) != NULL) {
        call->answers = add_person_answer(answers != NULL ? tn_retain(answers) : NULL, question, result);
        call->must_send = true;
        call->permission_count = tn_get_int(continuation, "permits", 0);
        if (round != NULL)
            call_resume_round(call, round, result);
        else if (elicit_authorizes(question))
            call_handle_permission(call, question, answer);
        else if (value_is_true(tn_get(continuation, "again")) && !value_is(tn_get(result, "action"), "accept"))
            call_decide(call, "TOOL_ERROR",
                        format_value("server `%s`: tool `%s` needs the input that was declined", tool->server->name,
                                     tool->name),
                        NULL);
        call_advance(call);
    }
    tn_release(result);
    return call != NULL ? TN_OK : TN_LIMIT;
}

int32_t mcp_call_start(struct tool *tool, tn_task task, tn_value input, uint32_t model) {
    tn_value continuation = value_get_nested(input, "continuation", OURS);
    if (continuation != NULL) return call_resume(tool, task, continuation, tn_get(input, "answer"), model);
    struct call *call = mcp_call_new(tool, task, input, model);
    if (call == NULL) return TN_LIMIT;
    mcp_call_start_request(call);
    return TN_OK;
}

void mcp_call_cancel(struct server *server, tn_task task) {
    struct call *call = server->calls;
    while (call != NULL && call->task != task) call = call->next;
    if (call == NULL) return;
    call->waiting = call->must_send = false;
    call_decide(call, "CANCELLED", tn_text("cancelled"), NULL);
    if (call->request != 0) session_cancel(server->session, call->request, "the call was cancelled");
    call->request = 0;
    deferred_cancel(call);
    call_advance(call);
}

const struct call *mcp_call_next(const struct call *call) { return call->next; }
bool mcp_call_is_waiting(const struct call *call) { return call->waiting; }
bool mcp_call_has_task(const struct call *call) { return call->task != 0; }

uint32_t calls_count_for_tool(const struct server *server, const struct tool *tool) {
    uint32_t count = 0;
    for (const struct call *call = server->calls; call != NULL; call = call->next) count += call->tool == tool;
    return count;
}

/* ---- Events of the server ---- */

/* The list may change during each step, so start again at its head until no call of the kind is left. */
void calls_start_waiting(struct server *server) {
    for (struct call *call = server->calls; call != NULL && server->state == SERVER_READY;) {
        if (!call->waiting) {
            call = call->next;
            continue;
        }
        mcp_call_send_request(call);
        call = server->calls;
    }
}

void calls_fail_waiting(struct server *server, const char *code, const char *why) {
    for (struct call *call = server->calls; call != NULL;) {
        if (!call->waiting) {
            call = call->next;
            continue;
        }
        call->waiting = false;
        if (strcmp(code, OAUTH_NEEDED) != 0 || !call_request_permission(call))
            call_decide(call, code, format_value("server `%s`: %s", server->name, why),
                        call_error_detail(call, NULL, NULL));
        call_advance(call);
        call = server->calls;
    }
}

void calls_handle_session_end(struct server *server) {
    for (struct call *call = server->calls; call != NULL; call = call->next) questions_handle_session_end(call);
    for (struct call *call = server->calls, *next; call != NULL; call = next) {
        next = call->next;
        if (call->task == 0) mcp_call_free(call); /* the answer makes the call again */
    }
}

static struct call *find_call_of_request(const struct server *server, int64_t request) {
    struct call *call = server->calls;
    while (call != NULL && (request == 0 || call->request != request)) call = call->next;
    return call;
}

void calls_progress(struct server *server, int64_t request, tn_value params) {
    static const char *const names[] = {"progress", "total", "message"};
    struct call *call = find_call_of_request(server, request);
    if (call == NULL || call->task == 0) return;
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, "progress", TN_OBJECT);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tn_value value = tn_get(params, names[i]);
        if (value != NULL) tn_put(builder, names[i], value);
    }
    tn.value->end(builder);
    tn.value->end(builder);
    tn_value chunk = tn_finish(builder);
    if (chunk != NULL) (void)tn.task->emit(call->task, chunk); /* if the buffer is full, a later chunk will be sent */
    tn_release(chunk);
}

/* With stdio, a question does not name its call: it belongs to the oldest open one. */
void calls_add_question(struct server *server, tn_value id, const char *method, tn_value params, int64_t origin) {
    struct call *call = find_call_of_request(server, origin);
    bool person = strcmp(method, "elicitation/create") == 0;
    for (struct call *other = server->calls; call == NULL && other != NULL; other = other->next)
        if (deferred_is_related(other, params)) call = other;
    for (struct call *other = server->calls; call == NULL && other != NULL; other = other->next)
        if (other->request != 0) call = other;
    if (call == NULL) {
        session_refuse(server->session, id, RPC_INVALID_REQUEST, "no open call of a tool matches this request");
    } else if (!person && call->model == TN_UNBOUND) {
        session_refuse(server->session, id, RPC_METHOD_NOT_FOUND, "no model is bound");
    } else if (!questions_add(call, person ? QUESTION_PERSON : QUESTION_MODEL, id, NULL, params)) {
        session_refuse(server->session, id, RPC_INTERNAL, "too many questions wait for an answer");
    } else {
        call_advance(call);
    }
}

void calls_withdraw_question(struct server *server, tn_value id) {
    for (struct call *call = server->calls; call != NULL; call = call->next) questions_withdraw(call, id);
}

void calls_free(struct server *server) {
    while (server->calls != NULL) mcp_call_free(server->calls);
}
