/*
 * acp_question.c - what a run waits for: approvals, forms, and questions that the next prompt answers.
 *
 * The interrupts of a run are asked one after the other. An approval is session/request_permission. A question with a
 * schema that a form can have is elicitation/create, if the client has announced it. Any other question is said in the
 * text, and ends the turn: the next prompt is the answer. A page is opened by the client (elicitation/create with a
 * URL), and the run continues when the person says that it is done.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/server/acp/acp_prompt.h"
#include "host/server/rpc/rpc_peer.h"
#include <string.h>

/* A request to the client. It lives until the client has answered, also if its turn has ended before. */
struct acp_question {
    struct acp_turn *turn; /* NULL: withdrawn */
    uint64_t number;       /* of the request */
    tn_value tool_call;    /* that the client shows for an approval; NULL for other questions */
    bool made;             /* nothing but the approval shows the call */
    bool wraps;            /* the answer is a member of the form */
    bool url;              /* a page was opened */
};

static void ask_next(struct acp_turn *turn);

/* ---- Interrupts ---- */

static bool is_of_kind_approval(tn_value interrupt) {
    return value_text_is(value_get(value_get(interrupt, "payload"), "kind"), "approval");
}

/* The document stops here: nothing is asked. */
static bool interrupt_is_pause(tn_value interrupt) {
    tn_value payload = value_get(interrupt, "payload");
    return value_get(interrupt, "when") && (!payload || value_is(payload, TN_NULL));
}

/* The answer is true after the visit of a page, its final URL, or null. */
static bool interrupt_is_page(tn_value interrupt) {
    tn_value payload = value_get(interrupt, "payload");
    return payload && value_is(payload, TN_OBJECT) && acp_text(payload, "url");
}

bool acp_is_approval(tn_value interrupt) { return is_of_kind_approval(interrupt) || interrupt_is_pause(interrupt); }

tn_value acp_question_text(tn_value interrupt) {
    static const char *const members[] = {"question", "message", "prompt", "title", "text"};
    tn_value payload = value_get(interrupt, "payload");
    const char *node = acp_text(interrupt, "node");
    if (!payload || value_is(payload, TN_NULL))
        return value_format("`%s` waits for an answer.", node ? node : "The run");
    if (value_is(payload, TN_STRING)) return value_ref(payload);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const char *text = acp_text(payload, members[i]), *url = acp_text(payload, "url");
        if (text) return value_format("%s%s%s", text, url ? "\n" : "", url ? url : "");
    }
    char *json = json_text(payload, JSON_COMPACT);
    tn_value text = value_format("`%s` asks: %s", node ? node : "The run", json);
    mem_free(json);
    return text;
}

tn_value acp_answer_of_text(tn_value interrupt, tn_value text) {
    tn_value schema = value_get(interrupt, "schema"), answer = NULL;
    size_t length;
    const char *chars = value_chars(text, &length);
    if (schema && value_text_is(value_get(schema, "type"), "string")) return value_ref(text);
    if (json_read(chars, length, NULL, &answer, NULL) == TN_OK) return answer;
    return interrupt_is_page(interrupt) && strncmp(chars, "http", 4) != 0 ? value_bool(true) : value_ref(text);
}

static tn_value asked_interrupt(const struct acp_turn *turn) { return value_at(turn->interrupts, turn->asked); }

/* The answer to the interrupt that was asked last. Takes it, and asks the next one. */
static void give_answer_take(struct acp_turn *turn, tn_value answer) {
    tn_value answers = turn->answers ? turn->answers : value_object();
    turn->answers = value_set_key_take(answers, value_ref(value_get(asked_interrupt(turn), "id")), answer);
    turn->asked++;
    ask_next(turn);
}

/* ---- The request to the client ---- */

static struct acp_question *question_new(struct acp_turn *turn) {
    struct acp_question *question = mem_zalloc(sizeof *question);
    question->turn = turn;
    turn->question = question;
    return question;
}

/* The turn of the question, which is over; NULL if it was withdrawn. */
static struct acp_turn *question_over(struct acp_question *question) {
    struct acp_turn *turn = question->turn;
    value_unref(question->tool_call);
    mem_free(question);
    if (turn) turn->question = NULL;
    return turn;
}

static void send_question(struct acp_question *question, const char *method, tn_value params, peer_done_fn *done) {
    uint64_t number = peer_call_take(question->turn->session->acp->peer, method, params, done, question);
    if (number) question->number = number; /* otherwise it is over */
}

void acp_turn_withdraw(struct acp_turn *turn) {
    struct acp_question *question = turn->question;
    if (!question) return;
    question->turn = NULL;
    turn->question = NULL;
    tn_value params = value_set_take(value_object_reserve(1), "requestId", value_int((int64_t)question->number));
    acp_notify_take(turn->session->acp, "$/cancel_request", params);
}

/* The client could not ask. */
static void question_failed(struct acp_turn *turn, const struct error *error) {
    if (error->code && strcmp(error->code, "CANCELLED") == 0) {
        acp_prompt_cancel(turn->session);
        return;
    }
    acp_turn_say(turn, "The question could not be asked: %s", error->message);
    acp_turn_end(turn, "end_turn");
}

/* ---- Approvals ---- */

/* The same tool for another caller is asked about again. A new reference. */
static tn_value decision_key(tn_value payload) {
    const char *tool = acp_text(payload, "tool"), *type = acp_text(payload, "type"),
               *caller = acp_text(payload, "caller");
    return value_format("%s\n%s", tool ? tool : type ? type : "", caller ? caller : "");
}

static tn_value approval_answer(bool approved) {
    tn_value answer = value_set_take(value_object_reserve(2), "approved", value_bool(approved));
    return approved ? answer : value_set_take(answer, "reason", value_text("the person has rejected it"));
}

/* What the mode or an earlier decision says; NULL: ask. */
static tn_value known_decision(const struct acp_session *session, tn_value payload) {
    if (session->mode == ACP_MODE_ALLOW) return value_bool(true);
    tn_value key = decision_key(payload), known = value_get_key(session->decisions, key);
    value_unref(key);
    if (known) return known;
    return session->mode == ACP_MODE_REJECT ? value_bool(false) : NULL;
}

static tn_value permission_option(const char *kind, const char *name) {
    tn_value option = value_set_take(value_object_reserve(3), "optionId", value_text(kind));
    option = value_set_take(option, "name", value_text(name));
    return value_set_take(option, "kind", value_text(kind));
}

static tn_value permission_options(tn_value interrupt) {
    bool pause = interrupt_is_pause(interrupt), page = interrupt_is_page(interrupt), once = pause || page;
    const char *reject = pause ? "Stop here" : page ? "Decline" : "Reject";
    tn_value options = value_array_reserve(4);
    options = value_push_take(options, permission_option("allow_once", once ? "Continue" : "Allow"));
    if (!once) options = value_push_take(options, permission_option("allow_always", "Allow always in this session"));
    options = value_push_take(options, permission_option("reject_once", reject));
    if (!once) options = value_push_take(options, permission_option("reject_always", "Reject always in this session"));
    return options;
}

static void take_decision(struct acp_turn *turn, const char *option) {
    tn_value interrupt = asked_interrupt(turn);
    bool allowed = strncmp(option, "allow", strlen("allow")) == 0, pause = interrupt_is_pause(interrupt);
    struct acp_session *session = turn->session;
    if (strcmp(option, "allow_always") == 0 || strcmp(option, "reject_always") == 0) {
        tn_value key = decision_key(value_get(interrupt, "payload"));
        session->decisions = value_set_key_take(session->decisions, key, value_bool(allowed));
    }
    if (pause && !allowed)
        acp_turn_end(turn, "end_turn"); /* it stays there, and is asked again */
    else if (interrupt_is_page(interrupt))
        give_answer_take(turn, allowed ? value_bool(true) : value_null());
    else
        give_answer_take(turn, pause ? value_bool(true) : approval_answer(allowed));
}

static bool is_permission_option(const char *option) {
    static const char *const known[] = {"allow_once", "allow_always", "reject_once", "reject_always"};
    for (size_t i = 0; option && i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], option) == 0) return true;
    return false;
}

static void permission_on_done(void *user, tn_value result, const struct error *error) {
    struct acp_question *question = user;
    tn_value outcome = value_get(result, "outcome"), tool_call = value_ref(question->tool_call);
    const char *option = outcome && value_is(outcome, TN_OBJECT) ? acp_text(outcome, "optionId") : NULL;
    const char *running = question->made ? "completed" : "in_progress";
    struct acp_turn *turn = question_over(question);
    if (turn && error) {
        question_failed(turn, error);
    } else if (turn && is_permission_option(option) && value_text_is(value_get(outcome, "outcome"), "selected")) {
        bool allowed = strncmp(option, "allow", strlen("allow")) == 0;
        acp_tool_status(turn->session, tool_call, allowed ? running : "failed");
        take_decision(turn, option);
    } else if (turn) {
        acp_prompt_cancel(turn->session); /* the client has cancelled the prompt */
    }
    value_unref(tool_call);
}

/* What the client shows for a pause, or while a page is open. */
static tn_value waiting_tool_call(tn_value interrupt) {
    const char *node = acp_text(interrupt, "node"), *when = acp_text(interrupt, "when"),
               *id = acp_text(interrupt, "id");
    tn_value call = value_set_take(value_object_reserve(4), "toolCallId", value_format("wait-%s", id ? id : ""));
    tn_value title = interrupt_is_page(interrupt) ? value_text("Continue when the page is done")
                                                  : value_format("Paused %s `%s`", when, node ? node : "a node");
    call = value_set_take(call, "title", title);
    call = value_set_take(call, "kind", value_text("other"));
    return value_set_take(call, "status", value_text("pending"));
}

static void ask_permission(struct acp_turn *turn, tn_value interrupt) {
    struct acp_session *session = turn->session;
    bool approval = is_of_kind_approval(interrupt);
    struct acp_question *question = question_new(turn);
    tn_value payload = value_get(interrupt, "payload");
    tn_value shown = approval ? acp_tool_of_approval(session, payload, &question->made) : waiting_tool_call(interrupt);
    question->tool_call = approval ? value_ref(shown) : NULL;
    tn_value params = value_set_take(value_object_reserve(3), "sessionId", value_text(session->id));
    params = value_set_take(params, "toolCall", shown);
    params = value_set_take(params, "options", permission_options(interrupt));
    send_question(question, "session/request_permission", params, permission_on_done);
}

/* ---- Forms ---- */

static bool client_elicits(const struct acp *acp, const char *mode) {
    tn_value elicitation = value_get(acp->capabilities, "elicitation");
    tn_value found = elicitation && value_is(elicitation, TN_OBJECT) ? value_get(elicitation, mode) : NULL;
    return found && value_is(found, TN_OBJECT);
}

/* The question stays; the next prompt answers it. */
static void say_question(struct acp_turn *turn) {
    tn_value text = acp_question_text(asked_interrupt(turn));
    acp_turn_say(turn, "%s", value_chars(text, NULL));
    value_unref(text);
    acp_turn_end(turn, "end_turn");
}

static void form_on_done(void *user, tn_value result, const struct error *error) {
    struct acp_question *question = user;
    bool wraps = question->wraps, url = question->url;
    struct acp_turn *turn = question_over(question);
    tn_value content = value_get(result, "content"), action = value_get(result, "action");
    if (!turn) return;
    if (error) {
        question_failed(turn, error);
        return;
    }
    tn_value interrupt = asked_interrupt(turn), schema = value_get(interrupt, "schema");
    tn_value answer = wraps ? value_get(content, "answer") : content;
    if (value_text_is(action, "accept") && url)
        ask_permission(turn, interrupt); /* the page is open now; it is not done */
    else if (value_text_is(action, "accept") && answer && wraps && value_is(answer, TN_STRING))
        give_answer_take(turn, acp_answer_of_text(interrupt, answer));
    else if (value_text_is(action, "accept") && answer)
        give_answer_take(turn, value_ref(answer));
    else if (value_text_is(action, "decline") && (url || acp_form_accepts_null(schema)))
        give_answer_take(turn, value_null());
    else
        say_question(turn);
}

static void ask_form(struct acp_turn *turn, tn_value interrupt, tn_value form, bool wraps) {
    struct acp_question *question = question_new(turn);
    tn_value params = value_set_take(value_object_reserve(4), "sessionId", value_text(turn->session->id));
    question->wraps = wraps;
    params = value_set_take(params, "mode", value_text("form"));
    params = value_set_take(params, "message", acp_question_text(interrupt));
    send_question(question, "elicitation/create", value_set_take(params, "requestedSchema", form), form_on_done);
}

static void ask_page(struct acp_turn *turn, tn_value interrupt) {
    struct acp_question *question = question_new(turn);
    tn_value payload = value_get(interrupt, "payload");
    tn_value params = value_set_take(value_object_reserve(5), "sessionId", value_text(turn->session->id));
    question->url = true;
    params = value_set_take(params, "mode", value_text("url"));
    params = value_set_take(params, "message", acp_question_text(interrupt));
    params = value_set_take(params, "elicitationId", value_ref(value_get(interrupt, "id")));
    params = value_set_take(params, "url", value_ref(value_get(payload, "url")));
    send_question(question, "elicitation/create", params, form_on_done);
}

static bool turn_has_approval(const struct acp_turn *turn) {
    for (size_t i = 0; i < value_count(turn->interrupts); i++)
        if (acp_is_approval(value_at(turn->interrupts, i))) return true;
    return false;
}

static void ask_question(struct acp_turn *turn, tn_value interrupt) {
    const struct acp *acp = turn->session->acp;
    if (!turn_has_approval(turn)) acp_tools_run(turn->session); /* a tool that runs may have asked */
    tn_value form = NULL;
    bool wraps = false, page = interrupt_is_page(interrupt);
    if (page && client_elicits(acp, "url")) {
        ask_page(turn, interrupt);
        return;
    }
    if (!page && client_elicits(acp, "form")) form = acp_form_schema(value_get(interrupt, "schema"), &wraps);
    if (form)
        ask_form(turn, interrupt, form, wraps);
    else
        say_question(turn);
}

/* ---- One after the other ---- */

/* Returns false if the interrupt has an answer now, so that the next one can be asked. */
static bool ask_interrupt(struct acp_turn *turn, tn_value interrupt) {
    tn_value known =
        is_of_kind_approval(interrupt) ? known_decision(turn->session, value_get(interrupt, "payload")) : NULL;
    if (known) {
        tn_value answers = turn->answers ? turn->answers : value_object(), id = value_get(interrupt, "id");
        turn->answers = value_set_key_take(answers, value_ref(id), approval_answer(value_to_bool(known)));
        if (value_to_bool(known)) acp_tool_approved(turn->session, value_get(interrupt, "payload"));
        return false;
    }
    if (acp_is_approval(interrupt))
        ask_permission(turn, interrupt);
    else
        ask_question(turn, interrupt);
    return true;
}

static void ask_next(struct acp_turn *turn) {
    for (; turn->asked < value_count(turn->interrupts); turn->asked++) {
        tn_value interrupt = asked_interrupt(turn), id = value_get(interrupt, "id");
        if (!id || !value_is(id, TN_STRING) || acp_turn_has_answer(turn, interrupt)) continue;
        if (ask_interrupt(turn, interrupt)) return;
    }
    acp_turn_answer(turn);
}

void acp_turn_ask_take(struct acp_turn *turn, tn_value interrupts) {
    acp_turn_watch_calls_end(turn);
    value_unref(turn->interrupts);
    turn->interrupts = interrupts;
    turn->asked = 0;
    ask_next(turn);
}
