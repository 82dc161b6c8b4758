/*
 * acp_prompt.c - the runs of one prompt, and how it ends.
 *
 * A run that ends in the middle (the process was killed, a question was not answered) is continued by the next prompt,
 * before the prompt itself. A turn that was cancelled or has failed is discarded: the next run removes its messages, as
 * `tenon chat` does.
 */
#include "host/server/acp/acp_prompt.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/weight.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"
#include "host/server/rpc/rpc_peer.h"
#include "host/server/server.h"
#include <string.h>

/* ---- The end of a turn ---- */

static void turn_free(struct acp_turn *turn) {
    struct acp_session *session = turn->session;
    acp_calls_drop(session->acp, turn);
    acp_turn_watch_calls_end(turn);
    const tn_value values[] = {turn->message, turn->interrupts, turn->answers,   turn->sent,
                               turn->nested,  turn->seen,       turn->last_usage};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) value_unref(values[i]);
    buffer_finish(&turn->text);
    mem_free(turn->run_id);
    mem_free(turn);
    session->turn = NULL;
    acp_session_look_ended(session);
}

static void ignore_result(void *user, tn_value result, const struct error *error) {
    (void)user, (void)result, (void)error;
}

/* Ends the run, if it waits. Its thread keeps what it waits for. */
static void release_run(struct acp_turn *turn) {
    if (!turn->run_id || !turn->idle) return;
    tn_value params = value_set_take(value_object_reserve(1), "run_id", value_text(turn->run_id));
    mem_free(turn->run_id); /* its events have no turn any more */
    turn->run_id = NULL;
    acp_call_take(turn->session->acp, "run/cancel", params, ignore_result, turn);
}

static void turn_reply(struct acp_turn *turn, const char *stop_reason) {
    struct acp *acp = turn->session->acp;
    struct peer_request *request = turn->request;
    release_run(turn);
    if (!acp_session_continues(turn->session)) acp_tools_abandon(turn->session);
    acp_session_send_info(turn->session, false);
    peer_reply_take(request, value_set_take(value_object_reserve(1), "stopReason", value_text(stop_reason)));
    turn_free(turn);
    acp_look_finished(acp);
}

bool acp_turn_has_answer(const struct acp_turn *turn, tn_value interrupt) {
    tn_value id = value_get(interrupt, "id");
    return turn->answers && id && value_is(id, TN_STRING) && value_get_key(turn->answers, id);
}

/* The interrupts without an answer. */
static tn_value open_interrupts(const struct acp_turn *turn) {
    tn_value open = value_array();
    for (size_t i = 0; i < value_count(turn->interrupts); i++)
        if (!acp_turn_has_answer(turn, value_at(turn->interrupts, i)))
            open = value_push_take(open, value_ref(value_at(turn->interrupts, i)));
    return open;
}

void acp_turn_end(struct acp_turn *turn, const char *stop_reason) {
    struct acp_session *session = turn->session;
    session->unfinished = true;
    session->discards = false;
    value_unref(session->waits);
    session->waits = open_interrupts(turn);
    value_unref(session->answers);
    session->answers = turn->answers ? value_ref(turn->answers) : NULL;
    turn_reply(turn, stop_reason);
}

static void turn_discard(struct acp_turn *turn) {
    struct acp_session *session = turn->session;
    session->unfinished = session->discards = true;
    value_unref(session->waits);
    value_unref(session->answers);
    session->waits = session->answers = NULL;
}

static void turn_cancelled(struct acp_turn *turn) {
    turn_discard(turn);
    turn_reply(turn, "cancelled");
}

static void turn_failed(struct acp_turn *turn, const struct error *error) {
    struct acp *acp = turn->session->acp;
    struct peer_request *request = turn->request;
    if (turn->cancelled) {
        turn_cancelled(turn);
        return;
    }
    if (!acp_session_continues(turn->session)) acp_tools_abandon(turn->session);
    acp_fail(request, error);
    turn_free(turn);
    acp_look_finished(acp);
}

/* Ends the run of a turn that was cancelled or stopped, and then the turn. */
static void end_run(struct acp_turn *turn) {
    acp_turn_withdraw(turn);
    if (turn->starting) return; /* the callback of the call continues */
    if (turn->run_id && !turn->idle) {
        tn_value params = value_set_take(value_object_reserve(2), "run_id", value_text(turn->run_id));
        if (!turn->cancelled) params = value_set_take(params, "drain", value_bool(true));
        acp_call_take(turn->session->acp, "run/cancel", params, ignore_result, turn);
    } else if (turn->cancelled) {
        turn_cancelled(turn);
    } else {
        acp_turn_end(turn, "cancelled");
    }
}

/* ---- Calls that run ---- */

static void turn_on_calls_run(struct loop_timer *timer) {
    acp_tools_run(CONTAINER_OF(timer, struct acp_turn, calls_run)->session);
}

void acp_turn_watch_calls(struct acp_turn *turn) {
    struct loop *loop = server_loop(turn->session->acp->options.server);
    if (!loop_timer_is_running(&turn->calls_run))
        loop_timer_start(loop, &turn->calls_run, ACP_CALL_MS, turn_on_calls_run);
}

void acp_turn_watch_calls_end(struct acp_turn *turn) {
    loop_timer_stop(server_loop(turn->session->acp->options.server), &turn->calls_run);
}

/* ---- Starting runs ---- */

static tn_value run_session(const struct acp_session *session) {
    tn_value own = value_set_take(value_object_reserve(2), "tools", acp_servers_tools(session));
    return value_set_take(own, "models", value_ref(session->roles));
}

/* What run/start and run/resume share. Takes `config`. */
static tn_value run_params_take(const struct acp_session *session, tn_value config) {
    static const char *const modes[] = {"messages", "updates", "custom"};
    tn_value params = acp_document_params(session->acp), list = value_array_reserve(3);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) list = value_push_take(list, value_text(modes[i]));
    config = value_set_take(config, "thread_id", value_text(session->id));
    if (session->acp->options.accept_changes) config = value_set_take(config, "accept_changes", value_bool(true));
    params = value_set_take(params, "config", config);
    params = value_set_take(params, "session", run_session(session));
    params = value_set_take(params, "modes", list);
    return value_set_take(params, "subscribe", value_object());
}

static void turn_on_started(void *user, tn_value result, const struct error *error) {
    struct acp_turn *turn = user;
    turn->starting = false;
    if (!result) {
        turn_failed(turn, error);
        return;
    }
    mem_free(turn->run_id);
    turn->run_id = mem_text(acp_text(result, "run_id"));
    turn->idle = false;
    acp_turn_watch_calls(turn);
    if (turn->cancelled || turn->stopped) end_run(turn); /* requested before the run had an id */
}

/* Messages that remove those of a turn that is discarded. */
static tn_value unfinished_removals(struct acp_session *session) {
    tn_value removed = value_array(), known = value_object();
    if (!session->unfinished || !session->acp->removes) return removed;
    for (size_t i = 0; i < value_count(session->completed); i++) {
        tn_value id = value_get(value_at(session->completed, i), "id");
        if (id && value_is(id, TN_STRING)) known = value_set_key_take(known, value_ref(id), value_bool(true));
    }
    for (size_t i = 0; i < value_count(session->messages); i++) {
        tn_value id = value_get(value_at(session->messages, i), "id");
        if (!id || !value_is(id, TN_STRING) || value_get_key(known, id)) continue;
        tn_value message = value_set_take(value_object_reserve(2), "type", value_text("remove"));
        removed = value_push_take(removed, value_set_take(message, "id", value_ref(id)));
    }
    value_unref(known);
    return removed;
}

/* NULL with the error if the prompt is not the JSON of an input. */
static tn_value json_input(tn_value content, struct error *error) {
    tn_value text = acp_content_text(content), input = NULL;
    size_t length;
    const char *chars = value_chars(text, &length);
    if (json_read(chars, length, NULL, &input, NULL) != TN_OK || !value_is(input, TN_OBJECT)) {
        value_unref(input);
        input = NULL;
        error_set(error, TN_INVALID, "INVALID_INPUT",
                  "the prompt must be a JSON object with the input of the document, because it has no channel of "
                  "messages and no single text as its input");
    }
    value_unref(text);
    return input;
}

/* The input of the run for the message; NULL with the error. */
static tn_value run_input(struct acp_session *session, tn_value content, struct error *error) {
    const struct acp *acp = session->acp;
    if (acp->input == ACP_INPUT_JSON) return json_input(content, error);
    if (acp->input == ACP_INPUT_TEXT)
        return value_set_take(value_object_reserve(1), acp->channel, acp_content_text(content));
    tn_value message = value_set_take(value_object_reserve(2), "type", value_text("user"));
    message = value_set_take(message, "content", value_ref(content));
    return value_set_take(value_object_reserve(1), acp->channel,
                          value_push_take(unfinished_removals(session), message));
}

/* A run with the prompt. */
static void turn_start(struct acp_turn *turn) {
    struct acp_session *session = turn->session;
    struct error error = ERROR_INIT;
    tn_value input = run_input(session, turn->message, &error);
    if (!input) {
        struct peer_request *request = turn->request;
        turn_free(turn);
        peer_refuse(request, RPC_INVALID_PARAMS, "%s", error.message);
        error_finish(&error);
        return;
    }
    tn_value config = value_set_take(value_object_reserve(4), "metadata", acp_session_metadata(session));
    acp_tools_abandon(session); /* of an earlier turn, which has ended */
    if (session->unfinished) config = value_set_take(config, "replace", value_bool(true));
    turn->resuming = false;
    turn->known = value_count(session->messages);
    value_unref(turn->message);
    turn->message = NULL;
    turn->starting = true;
    acp_call_take(session->acp, "run/start", value_set_take(run_params_take(session, config), "input", input),
                  turn_on_started, turn);
}

/* A run that continues the thread. */
static void turn_resume(struct acp_turn *turn) {
    tn_value params = run_params_take(turn->session, value_object());
    if (turn->answers) params = value_set_take(params, "answers", value_ref(turn->answers));
    turn->resuming = turn->starting = true;
    acp_call_take(turn->session->acp, "run/resume", params, turn_on_started, turn);
}

/* ---- Questions ---- */

static void forget_questions(struct acp_turn *turn) {
    value_unref(turn->interrupts);
    value_unref(turn->answers);
    turn->interrupts = turn->answers = NULL;
}

/* The answers do not fit: all of them are given again. */
static void refuse_answers(struct acp_turn *turn, const struct error *error) {
    value_unref(turn->answers);
    turn->answers = NULL;
    acp_turn_say(turn, "%s", error->message);
    acp_turn_end(turn, "end_turn");
}

static void turn_on_answered(void *user, tn_value result, const struct error *error) {
    struct acp_turn *turn = user;
    turn->starting = false;
    if (!result) {
        refuse_answers(turn, error);
        return;
    }
    forget_questions(turn);
    turn->idle = false;
    acp_turn_watch_calls(turn);
    if (turn->cancelled || turn->stopped) end_run(turn);
}

void acp_turn_answer(struct acp_turn *turn) {
    if (!turn->run_id) {
        turn_resume(turn);
        return;
    }
    tn_value params = value_set_take(value_object_reserve(2), "run_id", value_text(turn->run_id));
    if (turn->answers) params = value_set_take(params, "answers", value_ref(turn->answers));
    turn->starting = true;
    acp_call_take(turn->session->acp, "run/answer", params, turn_on_answered, turn);
}

/* ---- The end of a run ---- */

static bool is_limit_of_requests(const char *code) {
    static const char *const codes[] = {"RECURSION_LIMIT", "BUDGET_EXCEEDED", "TURN_LIMIT"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strcmp(codes[i], code) == 0) return true;
    return false;
}

/* A run that could not begin (another process runs the thread, the document has changed) has no state. */
static bool has_begun(tn_value report) { return value_get(report, "state") != NULL; }

/* What the next prompt does with the thread of a run that has failed. */
static void note_failure(struct acp_turn *turn, const char *code, bool begun) {
    struct acp_session *session = turn->session;
    if (begun)
        turn_discard(turn);
    else if (strcmp(code, "DONE") == 0)
        session->unfinished = session->discards = false;
    else if (strcmp(code, "UNFINISHED") == 0)
        session->unfinished = true; /* another client has used the thread */
}

/* The failure of what was resumed does not keep the prompt from its run, unless the thread cannot be used at all. */
static bool continues_after(const struct acp_turn *turn, const char *code, bool begun) {
    return turn->resuming && turn->message && !turn->cancelled && !turn->stopped &&
           (begun || strcmp(code, "DONE") == 0);
}

static void run_failed(struct acp_turn *turn, tn_value report) {
    struct error error = ERROR_INIT;
    tn_value object = value_get(report, "error");
    if (object) error_from_value(&error, object);
    if (!error.code) error_set(&error, TN_FAILED, "FAILED", "the run has failed");
    const char *code = error.code;
    bool begun = has_begun(report);
    if (turn->resuming && turn->interrupts && strcmp(code, "INVALID_INPUT") == 0 && !turn->cancelled) {
        refuse_answers(turn, &error); /* the thread has not changed */
        error_finish(&error);
        return;
    }
    note_failure(turn, code, begun);
    if (continues_after(turn, code, begun)) {
        if (begun) acp_turn_say(turn, "The earlier turn has failed: %s", error.message);
        turn_start(turn);
    } else if (is_limit_of_requests(code)) {
        acp_turn_say(turn, "%s", error.message);
        turn_reply(turn, turn->cancelled ? "cancelled" : "max_turn_requests");
    } else {
        turn_failed(turn, &error);
    }
    error_finish(&error);
}

static void run_done(struct acp_turn *turn) {
    struct acp_session *session = turn->session;
    forget_questions(turn);
    session->unfinished = session->discards = false;
    value_unref(session->answers);
    session->answers = NULL;
    if (turn->cancelled || (turn->stopped && turn->message))
        turn_reply(turn, "cancelled");
    else if (turn->message)
        turn_start(turn);
    else
        turn_reply(turn, turn->finish ? turn->finish : "end_turn");
}

static void run_interrupted(struct acp_turn *turn, tn_value report) {
    tn_value interrupts = value_get(report, "interrupts");
    turn->idle = true;
    turn->session->unfinished = true;
    forget_questions(turn);
    if (turn->cancelled) {
        turn_cancelled(turn);
    } else if (turn->stopped) {
        turn->interrupts = interrupts ? value_ref(interrupts) : NULL;
        acp_turn_end(turn, "cancelled");
    } else {
        acp_turn_ask_take(turn, interrupts ? value_ref(interrupts) : value_array());
    }
}

static void turn_on_run_ended(struct acp_turn *turn, tn_value params) {
    tn_value report = value_get(params, "report"), status = value_get(params, "status");
    bool done = value_text_is(status, "done");
    acp_turn_show_rest(turn, report);
    acp_session_keep(turn->session, value_get(report, "state"), done);
    turn->idle = value_text_is(status, "stopped");
    if (done) {
        run_done(turn);
    } else if (value_text_is(status, "interrupted")) {
        run_interrupted(turn, report);
    } else if (value_text_is(status, "failed")) {
        run_failed(turn, report);
    } else if (turn->cancelled) {
        turn_cancelled(turn);
    } else { /* acp_prompt_stop, or another client, has stopped it: the next prompt continues it */
        turn->session->unfinished = true;
        turn->session->discards = value_text_is(status, "cancelled");
        turn_reply(turn, "cancelled");
    }
}

void acp_prompt_event(struct acp *acp, const char *run_id, const char *event, tn_value params) {
    struct acp_session *session = acp->sessions;
    while (session && !(session->turn && session->turn->run_id && strcmp(session->turn->run_id, run_id) == 0))
        session = session->next;
    if (!session) return;
    if (strcmp(event, "run/event") == 0)
        acp_turn_show(session->turn, value_get(params, "event"));
    else if (strcmp(event, "run/ended") == 0)
        turn_on_run_ended(session->turn, params);
    acp_look_finished(acp);
}

/* ---- Cancelling and stopping ---- */

void acp_prompt_cancel(struct acp_session *session) {
    struct acp_turn *turn = session->turn;
    if (!turn || turn->cancelled) return;
    turn->cancelled = true;
    end_run(turn);
}

void acp_prompt_stop(struct acp_session *session) {
    struct acp_turn *turn = session->turn;
    if (!turn || turn->cancelled || turn->stopped) return;
    turn->stopped = true;
    end_run(turn);
}

static void prompt_on_cancel(struct peer_request *request) {
    struct acp_turn *turn = peer_request_data(request);
    acp_prompt_cancel(turn->session);
}

/* ---- session/prompt ---- */

static void session_set_title(struct acp_session *session, tn_value content) {
    tn_value whole = acp_content_text(content);
    size_t length, cut;
    const char *text = value_chars(whole, &length);
    cut = strcspn(text, "\n\r");
    if (cut > ACP_TITLE_MAX) {
        cut = ACP_TITLE_MAX;
        while (cut && ((unsigned char)text[cut] & 0xc0) == 0x80) cut--;
    }
    if (cut) {
        session->title = value_string(text, cut);
        acp_session_send_info(session, true);
    }
    value_unref(whole);
}

/* The prompt answers the first question of those that wait, or it follows the approvals that are asked again. */
static void continue_waiting(struct acp_turn *turn) {
    struct acp_session *session = turn->session;
    tn_value waits = session->waits;
    bool used = false;
    turn->answers = session->answers;
    session->waits = session->answers = NULL;
    turn->resuming = true;
    for (size_t i = 0; i < value_count(waits); i++) {
        tn_value interrupt = value_at(waits, i), id = value_get(interrupt, "id");
        if (used || acp_is_approval(interrupt) || !id || !value_is(id, TN_STRING)) continue;
        tn_value text = acp_content_text(turn->message), answer = acp_answer_of_text(interrupt, text);
        tn_value answers = turn->answers ? turn->answers : value_object();
        turn->answers = value_set_key_take(answers, value_ref(id), answer);
        value_unref(text);
        used = true;
    }
    if (used) {
        value_unref(turn->message);
        turn->message = NULL;
    }
    acp_turn_ask_take(turn, waits);
}

tn_value acp_message_ids(tn_value messages) {
    tn_value ids = value_object();
    for (size_t i = 0; i < value_count(messages); i++) {
        tn_value id = value_get(value_at(messages, i), "id");
        if (id && value_is(id, TN_STRING)) ids = value_set_key_take(ids, value_ref(id), value_bool(true));
    }
    return ids;
}

static void turn_begin(struct acp_session *session, struct peer_request *request, tn_value content) {
    struct acp_turn *turn = mem_zalloc(sizeof *turn);
    *turn = (struct acp_turn){.session = session, .request = request, .message = content};
    buffer_init(&turn->text, ACP_PROMPT_MAX);
    turn->sent = value_object();
    turn->nested = value_object();
    turn->known = value_count(session->messages);
    turn->seen = acp_message_ids(session->messages);
    session->turn = turn;
    peer_request_hold(request, turn, prompt_on_cancel);
    if (!session->title) session_set_title(session, content);
    if (session->waits)
        continue_waiting(turn);
    else if (acp_session_continues(session))
        turn_resume(turn);
    else
        turn_start(turn);
}

static void say_notices(struct acp_session *session) {
    for (size_t i = 0; i < value_count(session->notices); i++) {
        tn_value text = value_format("%s\n\n", value_chars(value_at(session->notices, i), NULL));
        acp_update_take(session, "agent_message_chunk", acp_chunk_take(text, NULL));
    }
    value_unref(session->notices);
    session->notices = value_array();
}

/* A command, or a turn. */
static void answer_prompt(struct acp_session *session, struct peer_request *request, tn_value prompt) {
    struct error error = ERROR_INIT;
    say_notices(session);
    if (acp_command_run(session, request, prompt)) return;
    tn_value content = acp_content_read(session->acp, prompt, &error);
    if (content)
        turn_begin(session, request, content);
    else
        peer_refuse(request, RPC_INVALID_PARAMS, "%s", error.message);
    error_finish(&error);
}

void acp_prompt(struct acp *acp, struct peer_request *request) {
    tn_value prompt = value_get(peer_request_params(request), "prompt");
    struct acp_session *session = acp_session_of(acp, request);
    if (!session) return;
    if (session->turn)
        peer_refuse(request, RPC_INVALID_REQUEST, "the session has an open prompt; wait for its answer, or cancel it");
    else if (value_weight(prompt) > ACP_PROMPT_MAX)
        peer_refuse(request, RPC_INVALID_PARAMS, "`prompt` has more than %d bytes", ACP_PROMPT_MAX);
    else
        answer_prompt(session, request, prompt);
}
