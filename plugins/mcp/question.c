/*
 * question.c - questions of a call: storing, starting, answering and withdrawing them.
 *
 * A question whose model is at work stays until the model is done, even if its answer is no longer needed, because a
 * task must not end before the calls that it made.
 */
#include "question.h"
#include "content.h"

static void question_free(struct question *question) {
    tn_release(question->id);
    tn_release(question->params);
    tn_release(question->key);
    mcp_free(question);
}

static void questions_append(struct question **list, struct question *question) {
    while (*list != NULL) list = &(*list)->next;
    *list = question;
    question->next = NULL;
}

static void questions_unlink(struct question **list, const struct question *question) {
    while (*list != NULL && *list != question) list = &(*list)->next;
    if (*list != NULL) *list = question->next;
}

static uint32_t questions_count(const struct question *list) {
    uint32_t length = 0;
    for (; list != NULL; list = list->next) length++;
    return length;
}

bool questions_add(struct call *call, enum question_kind kind, tn_value id, tn_value key, tn_value params) {
    uint32_t count =
        questions_count(call->person_questions) + questions_count(call->model_questions) + call->running_count;
    struct question *question = count < MCP_QUESTIONS_MAX ? mcp_alloc(sizeof *question) : NULL;
    if (question == NULL) return false;
    question->call = call;
    question->kind = kind;
    question->id = id != NULL ? tn_retain(id) : NULL;
    question->params = params != NULL ? tn_retain(params) : tn_build("{}");
    question->key = tn_retain(key);
    questions_append(kind == QUESTION_PERSON ? &call->person_questions : &call->model_questions, question);
    return true;
}

static void call_put_response(struct call *call, tn_value key, tn_value result) {
    uint64_t length;
    const char *name = tn_chars(key, &length);
    if (tn.value->set(&call->responses, name, length, result) != TN_OK) call_decide_error(call, NULL);
}

void question_answer(struct call *call, struct question *question, tn_value result) {
    questions_unlink(&call->person_questions, question);
    if (question->id != NULL && !question->withdrawn)
        session_reply(call->server->session, question->id, result);
    else if (question->key != NULL)
        call_put_response(call, question->key, result);
    question_free(question);
}

static void call_fail_round(struct call *call, tn_value key, const char *why) {
    call_decide(call, "SERVER_ERROR",
                format_value("server `%s`: tool `%s` asks for `%.80s`: %s", call->server->name, call->tool->name,
                             tn_chars(key, NULL), why),
                NULL);
}

static tn_value make_roots_result(tn_value roots) { return tn_build("{s:v}", "roots", roots); }

void questions_add_input_requests(struct call *call) {
    for (uint64_t i = 0, count = tn.value->count(call->input_requests); i < count && !call->decided; i++) {
        tn_value key, input;
        if (tn.value->entry(call->input_requests, i, &key, &input) != TN_OK) break;
        const char *method = tn_get_text(input, "method", "");
        tn_value params = tn_get(input, "params"), roots = server_roots(call->server);
        bool good = true;
        if (tn_get_key(call->responses, key) != NULL) continue;
        if (strcmp(method, "elicitation/create") == 0) {
            good = questions_add(call, QUESTION_PERSON, NULL, key, params);
        } else if (strcmp(method, "sampling/createMessage") == 0 && call->model != TN_UNBOUND) {
            good = questions_add(call, QUESTION_MODEL, NULL, key, params);
        } else if (strcmp(method, "roots/list") == 0 && roots != NULL) {
            tn_value result = make_roots_result(roots);
            call_put_response(call, key, result);
            tn_release(result);
        } else {
            call_fail_round(call, key, "this client did not announce that capability");
        }
        if (!good) call_fail_round(call, key, "too many questions at the same time");
    }
}

/* ---- Models ---- */

/* The model failed. A server that waits gets an error; if the server keeps no state, the call fails. */
static void question_fail_model_take(struct call *call, const struct question *question, tn_value error) {
    const char *why = tn_get_text(error, "message", "the model failed");
    if (question->withdrawn) {
        tn_release(error);
    } else if (strcmp(tn_get_text(error, "code", ""), "INTERRUPTED") == 0) {
        call_decide_error(call, error);
    } else if (question->id != NULL) {
        session_refuse(call->server->session, question->id, RPC_INTERNAL, why);
        tn_release(error);
    } else {
        tn_value message = format_value("server `%s`: tool `%s` asks a model, which failed: %s", call->server->name,
                                        call->tool->name, why);
        call_decide_error(call, tn_set_take(error, "message", message));
    }
}

static int32_t on_model_answer(void *user, int32_t status, tn_value result) {
    struct question *question = user;
    struct call *call = question->call;
    questions_unlink(&call->running_questions, question);
    call->running_count--;
    if (status == TN_OK && !question->withdrawn) {
        const struct session *session = call->server->session;
        bool list = question->id == NULL || strcmp(session_version(session), MCP_LEGACY) == 0;
        tn_value answer = sample_result(result, list);
        if (question->id != NULL)
            session_reply(call->server->session, question->id, answer);
        else
            call_put_response(call, question->key, answer);
        tn_release(answer);
    } else if (status != TN_OK) {
        question_fail_model_take(call, question,
                                 status == TN_FAILED ? tn_retain(result) : tn_error("CANCELLED", "cancelled"));
    }
    question_free(question);
    call_advance(call);
    return TN_OK;
}

void questions_start_models(struct call *call) {
    while (call->model_questions != NULL) {
        struct question *question = call->model_questions;
        const char *why = NULL;
        call->model_questions = question->next;
        tn_value input = call->task != 0 && !call->decided ? sample_input(question->params, &why) : NULL;
        int32_t status = input != NULL
                             ? tn.task->call(call->task, call->model, input, NULL, on_model_answer, question, NULL)
                             : TN_INVALID;
        tn_release(input);
        if (status == TN_OK) {
            questions_append(&call->running_questions, question);
            call->running_count++;
            continue;
        }
        if (!call->decided)
            question_fail_model_take(
                call, question,
                tn_error("SERVER_ERROR", why != NULL && input == NULL ? why : "the model cannot be called"));
        question_free(question);
    }
}

/* ---- Withdrawal ---- */

static void questions_mark_withdrawn(struct question *list, tn_value id) {
    for (; list != NULL; list = list->next)
        if (id == NULL ? list->id != NULL : list->id != NULL && tn.value->equal(list->id, id)) list->withdrawn = true;
}

void questions_withdraw(struct call *call, tn_value id) {
    questions_mark_withdrawn(call->person_questions, id);
    questions_mark_withdrawn(call->model_questions, id);
    questions_mark_withdrawn(call->running_questions, id);
}

void questions_handle_session_end(struct call *call) { questions_withdraw(call, NULL); }

void questions_free_all(struct call *call) {
    struct question **lists[] = {&call->person_questions, &call->model_questions};
    for (size_t i = 0; i < 2; i++)
        while (*lists[i] != NULL) {
            struct question *question = *lists[i];
            *lists[i] = question->next;
            question_free(question);
        }
}
