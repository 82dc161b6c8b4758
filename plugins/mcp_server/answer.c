/*
 * answer.c - a run that waits for an answer: the client is asked, and the run continues.
 *
 * In a session the questions are requests of the server on the stream of the call, and the run is continued when all
 * responses have come. In 2026-07-28 the call ends with the questions and a signed requestState that names the run; the
 * client repeats the call with the answers. Answers in a call without a requestState count for the first questions.
 */
#include "methods.h"
#include "question.h"
#include "result.h"
#include "session.h"
#include "stream.h"
#include "tasks.h"

/* ---- The end of a call that cannot be continued ---- */

static void TN_ABI on_cancelled(void *user, int32_t status, tn_value value) { (void)user, (void)status, (void)value; }

void call_abandon(const struct exchange *exchange) {
    if (exchange->run_id != NULL)
        serving_call_take(&exchange->plugin->serving, exchange->caller, "run/cancel",
                          tn_build("{s:s}", "run_id", exchange->run_id), on_cancelled, NULL, NULL);
}

/* A tool reports it to the model; other methods fail. */
static void fail_call(struct exchange *exchange, const char *code, const char *message) {
    struct problem problem = {0};
    if (exchange->task != NULL) {
        task_give_up(exchange, strcmp(code, "CANCELLED") == 0, message);
        return;
    }
    call_abandon(exchange);
    if (strcmp(exchange->method->name, "tools/call") == 0) {
        tn_value error = tn_error(code, message), result = result_of_error(error);
        tn_release(error);
        exchange_result_take(exchange, result);
        return;
    }
    (void)problem_set(&problem, 200, MCPS_INTERNAL, "%s: %s", code, message);
    exchange_fail(exchange, &problem);
}

static void fail_state(struct exchange *exchange, const char *why) {
    struct problem problem = {0};
    (void)problem_set(&problem, 200, MCPS_INVALID_PARAMS, "`requestState` %s; start the call again without it", why);
    exchange_fail(exchange, &problem);
}

/* Takes `missing`. */
static void fail_missing_take(struct exchange *exchange, tn_value missing) {
    struct problem problem = {0};
    if (tn.value->count(missing) == 0 || !exchange->modern) {
        tn_release(missing);
        fail_call(exchange, "UNSUPPORTED", "the graph asks a question that this client cannot answer");
        return;
    }
    call_abandon(exchange);
    problem.data = tn_build("{s:V}", "requiredCapabilities", missing);
    (void)problem_set(&problem, 400, MCPS_MISSING_CAPABILITY,
                      "the graph asks a question that needs capabilities which the client has not declared");
    exchange_fail(exchange, &problem);
}

/* ---- Asking ---- */

static tn_value state_content(const struct exchange *exchange) {
    const char *name = tn_get_text(exchange->params, "name", tn_get_text(exchange->params, "uri", ""));
    return tn_build("{s:s, s:s*, s:s, s:s, s:s, s:V, s:I, s:I}", "run",
                    exchange->run_id != NULL ? exchange->run_id : "", "thread",
                    exchange->thread[0] != '\0' ? exchange->thread : NULL, "method", exchange->method->name, "name",
                    name, "owner", exchange->owner, "ids", questions_ids(exchange->questions), "steps", exchange->steps,
                    "expires", serving_now_s() + MCPS_STATE_TTL_S);
}

/* 2026-07-28: ends the call with the questions. Takes them. */
static void require_input_take(struct exchange *exchange, tn_value requests) {
    tn_value content = state_content(exchange);
    tn_value state = content != NULL ? state_sign(exchange->plugin->secret, content) : NULL;
    tn_release(content);
    if (state == NULL) {
        tn_release(requests);
        fail_call(exchange, "LIMIT", "the graph asks too many questions at once");
        return;
    }
    exchange_result_take(exchange, tn_build("{s:s, s:V, s:V}", "resultType", "input_required", "inputRequests",
                                            requests, "requestState", state));
}

/* A request about a task names it. New. */
static tn_value request_of(const struct exchange *exchange, tn_value request) {
    if (exchange->task == NULL) return tn_retain(request);
    tn_value params = task_result_take(exchange, tn_retain(tn_get(request, "params")));
    return tn_set_take(tn_retain(request), "params", params);
}

/* A session: sends the questions. Takes them. */
static void send_requests_take(struct exchange *exchange, tn_value requests) {
    struct stream *stream = exchange_stream(exchange);
    bool sent = stream != NULL;
    tn_release(exchange->responses);
    exchange->responses = tn_build("{}");
    exchange->asked = 0;
    for (uint64_t i = 0, count = tn.value->count(requests); sent && i < count; i++) {
        tn_value key, request;
        sent = tn.value->entry(requests, i, &key, &request) == TN_OK;
        if (!sent) break;
        tn_value asked = request_of(exchange, request);
        sent = session_ask(exchange->session, exchange, stream, key, asked);
        tn_release(asked);
        exchange->asked += sent;
    }
    tn_release(requests);
    if (!sent) fail_call(exchange, "UNSUPPORTED", "the graph asks a question, but the client reads no stream");
}

static void ask_take(struct exchange *exchange, tn_value requests) {
    if (exchange->modern)
        require_input_take(exchange, requests);
    else
        send_requests_take(exchange, requests);
}

static void continue_take(struct exchange *exchange, tn_value answers) {
    if (tn_get(exchange->entry, "tool") != NULL) {
        bool approved = serving_true(tn_get(tn_get(answers, CALL_APPROVAL), "approved"));
        tn_release(answers);
        if (approved)
            call_tool(exchange, true);
        else
            fail_call(exchange, "TOOL_DENIED", "the call was not approved");
        return;
    }
    exchange->answering = true;
    if (exchange->task != NULL) {
        tn_value params = task_resume_params(exchange, answers);
        tn_release(answers);
        call_run(exchange, "run/resume", params);
        return;
    }
    call_run(exchange, "run/answer", tn_build("{s:s, s:V}", "run_id", exchange->run_id, "answers", answers));
}

void call_ask(struct exchange *exchange, tn_value report) {
    tn_value missing = NULL, answers = NULL;
    tn_release(exchange->questions);
    exchange->questions = questions_new(tn_get(report, "interrupts"));
    exchange->steps = tn_get_int(report, "steps", 0);
    tn_value requests = questions_requests(exchange->questions, exchange->capabilities, &missing);
    if (requests == NULL) {
        fail_missing_take(exchange, missing);
        return;
    }
    enum questions_state state = QUESTIONS_INCOMPLETE;
    if (exchange->responses != NULL && exchange->modern)
        state = questions_answer(exchange->questions, exchange->capabilities, exchange->responses, &answers);
    tn_release(exchange->responses); /* they count once */
    exchange->responses = NULL;
    if (state == QUESTIONS_INCOMPLETE) {
        ask_take(exchange, requests);
        return;
    }
    tn_release(requests);
    if (state == QUESTIONS_COMPLETE)
        continue_take(exchange, answers);
    else
        fail_call(exchange, "CANCELLED", "the question was declined");
}

/* ---- Responses of a session ---- */

void call_on_response(struct exchange *exchange, tn_value key, tn_value response) {
    tn_value result = tn_get(response, "result"), error = tn_get(response, "error"), answers = NULL;
    uint64_t length = 0;
    const char *name = tn_chars(key, &length);
    char text[400];
    if (exchange->asked == 0) return;
    if (result == NULL) {
        (void)snprintf(text, sizeof text, "the client has not answered the question: %.300s",
                       tn_get_text(error, "message", "it reported an error"));
        fail_call(exchange, "CANCELLED", text);
        return;
    }
    (void)tn.value->set(&exchange->responses, name, length, result);
    if (--exchange->asked > 0) return;
    enum questions_state state =
        questions_answer(exchange->questions, exchange->capabilities, exchange->responses, &answers);
    if (state == QUESTIONS_COMPLETE)
        continue_take(exchange, answers);
    else if (state == QUESTIONS_DECLINED)
        fail_call(exchange, "CANCELLED", "the question was declined");
    else
        fail_call(exchange, "INVALID_INPUT", "the answer of the client has the wrong form");
}

bool call_answer_was_wrong(struct exchange *exchange, tn_value report) {
    tn_value error = tn_get(report, "error"), missing = NULL;
    exchange->answering = false;
    if (!serving_is(tn_get(error, "code"), "INVALID_INPUT") || serving_true(tn_get(report, "started"))) return false;
    tn_value requests =
        exchange->modern ? questions_requests(exchange->questions, exchange->capabilities, &missing) : NULL;
    tn_release(missing);
    if (requests != NULL)
        require_input_take(exchange, requests);
    else
        fail_call(exchange, "INVALID_INPUT", tn_get_text(error, "message", "the answer has the wrong form"));
    return true;
}

/* ---- requestState ---- */

static bool state_is_of(const struct exchange *exchange, tn_value content) {
    const char *name = tn_get_text(exchange->params, "name", tn_get_text(exchange->params, "uri", ""));
    return serving_is(tn_get(content, "owner"), exchange->owner) && serving_is(tn_get(content, "name"), name) &&
           serving_is(tn_get(content, "method"), exchange->method->name);
}

/* The run is not in this process any more, but its thread may be in the store. */
static void resume_thread(struct exchange *exchange) {
    call_run(exchange, "run/resume",
             tn_build("{s:v, s:{s:s}, s:[s], s:b}", "document", tn_get(exchange->entry, "document"), "config",
                      "thread_id", exchange->thread, "modes", "custom", "ends_with_client", 1));
}

static void TN_ABI on_run(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    exchange->call = 0;
    if (status != TN_OK && exchange->thread[0] != '\0' && serving_is(tn_get(value, "code"), "NOT_FOUND")) {
        resume_thread(exchange);
        return;
    }
    tn_value report = tn_get(value, "report");
    if (status != TN_OK || !serving_is(tn_get(value, "status"), "interrupted")) {
        fail_state(exchange, "was used before, or its run does not exist any more");
        return;
    }
    tn_value questions = questions_new(tn_get(report, "interrupts")), ids = questions_ids(questions);
    bool same = tn.value->equal(ids, exchange->state_ids) == 1 && tn_get_int(report, "steps", 0) == exchange->steps;
    tn_release(questions);
    tn_release(ids);
    if (same)
        call_ask(exchange, report);
    else
        fail_state(exchange, "was used before");
}

bool call_resume(struct exchange *exchange) {
    uint64_t length = 0;
    tn_value state = tn_get(exchange->params, "requestState");
    if (state == NULL || !exchange->modern) return false;
    const char *text = tn_chars(state, &length);
    tn_value content = state_verify(exchange->plugin->secret, text, length, serving_now_s());
    if (content == NULL || !state_is_of(exchange, content)) {
        tn_release(content);
        fail_state(exchange, "is not valid: it was changed, has expired, or belongs to another call");
        return true;
    }
    if (tn_get(exchange->entry, "tool") != NULL) { /* the call is made again, and asks the same */
        tn_release(content);
        return false;
    }
    exchange->run_id = serving_text_copy(tn_get_text(content, "run", ""));
    (void)snprintf(exchange->thread, sizeof exchange->thread, "%.60s", tn_get_text(content, "thread", ""));
    exchange->state_ids = tn_retain(tn_get(content, "ids"));
    exchange->steps = tn_get_int(content, "steps", 0);
    tn_release(content);
    serving_call_take(&exchange->plugin->serving, exchange->caller, "run/get",
                      tn_build("{s:s}", "run_id", exchange->run_id), on_run, exchange, &exchange->call);
    return true;
}
