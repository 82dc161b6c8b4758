/*
 * plan.c - what a request does to its thread. Pure: it reads values and makes values.
 *
 * A client sends the whole conversation each time. The thread is the truth: only what is behind the last message of the
 * assistant is new, and the ids of the others say what the client has removed.
 */
#include "plan_index.h"
#include <tenon/message.h>

struct planner {
    struct ag_plan *plan;
    struct ag_request *request;
    const struct serving_graph *graph;
    tn_value thread, state, messages; /* messages of the thread; NULL if it has none */
    const char *status;               /* of the thread; "" if it does not exist */
    tn_value fresh;                   /* new: messages of the request that the thread does not have */
    struct plan_index index;          /* of `messages` */
    bool has_user;                    /* among them */
    uint64_t kept;                    /* of the messages of the thread */
};

/* ---- Messages ---- */

/* True if the thread has a message with this id. */
static bool thread_has(const struct planner *planner, tn_value id) {
    return plan_index_find(planner->index.messages, id) >= 0;
}

/* True if a message at `from` or behind it is the result of the call. */
static bool has_result(const struct planner *planner, tn_value call, int64_t from) {
    return plan_index_find(planner->index.results, tn_get(call, "id")) >= from;
}

/* The call without a result in the thread that this id means, borrowed; NULL if there is none. The client's id of a
 * call is that of the model, or has a number behind it (events_calls.c). */
static tn_value open_call(const struct planner *planner, const char *id) {
    const char *dot = strrchr(id, '.');
    bool numbered = dot != NULL && strspn(dot + 1, "0123456789") == strlen(dot + 1);
    tn_value exact = tn_text(id), bare = numbered ? tn_text_n(id, (uint64_t)(dot - id)) : NULL, calls, call;
    int64_t place = plan_index_find(planner->index.calls, exact), other = plan_index_find(planner->index.calls, bare);
    tn_release(exact);
    tn_release(bare);
    if (other > place) place = other;
    if (place < 0) return NULL;
    calls = tn_message_calls(tn.value->at(planner->messages, (uint64_t)(place / PLAN_INDEX_CALLS)));
    call = tn.value->at(calls, (uint64_t)(place % PLAN_INDEX_CALLS));
    return has_result(planner, call, place / PLAN_INDEX_CALLS) ? NULL : call;
}

static void add_fresh(struct planner *planner, tn_value message) {
    tn_value call = NULL;
    if (tn_message_is(message, "tool") && planner->messages != NULL) {
        call = open_call(planner, tn_get_text(message, "tool_call_id", ""));
        if (call == NULL) return; /* the graph has executed it, or it has been answered */
        message = tn_set_take(tn_retain(message), "tool_call_id", tn_retain(tn_get(call, "id")));
        if (message != NULL) message = tn_set_take(message, "name", tn_retain(tn_get(call, "name")));
    } else {
        message = tn_retain(message);
    }
    planner->has_user = planner->has_user || tn_message_is(message, "user");
    (void)tn_append_take(&planner->fresh, message);
}

static bool is_answer(tn_value message) {
    const char *role = tn_get_text(message, "role", "");
    return strcmp(role, "assistant") == 0 || strcmp(role, "reasoning") == 0 || strcmp(role, "activity") == 0;
}

static void read_fresh(struct planner *planner) {
    tn_value messages = planner->request->messages;
    uint64_t count = tn.value->count(messages), at = count;
    while (planner->messages != NULL && at > 0 && !is_answer(tn.value->at(messages, at - 1))) at--;
    if (planner->messages == NULL) at = 0;
    planner->fresh = tn_build("[]");
    for (; at < count; at++) {
        bool wrong = false;
        tn_value message = tn.value->at(messages, at), made;
        if (thread_has(planner, tn_get(message, "id"))) continue;
        made = ag_message(planner->request, message, at, &wrong);
        if (made != NULL) add_fresh(planner, made);
        tn_release(made);
    }
}

/* ---- What the client has removed ---- */

/* Where the thread differs from what the client has: behind the last message of the user that both have, if the
 * client has no answer to it, or if the thread has further ones. */
static uint64_t first_removed(const struct planner *planner) {
    tn_value theirs = planner->request->messages;
    uint64_t count = tn.value->count(planner->messages);
    bool answered = false;
    for (uint64_t i = tn.value->count(theirs); i > 0; i--) {
        tn_value message = tn.value->at(theirs, i - 1);
        if (!serving_is(tn_get(message, "role"), "user")) {
            answered = answered || is_answer(message) || serving_is(tn_get(message, "role"), "tool");
            continue;
        }
        int64_t at = plan_index_find(planner->index.messages, tn_get(message, "id"));
        if (at >= 0) return !answered || planner->index.last_user > at ? (uint64_t)at + 1 : count;
    }
    return count;
}

/* Where the calls without results begin that an unfinished run has left. */
static uint64_t first_dangling(const struct planner *planner) {
    uint64_t count = tn.value->count(planner->messages);
    for (uint64_t i = 0; i < count; i++) {
        tn_value calls = tn_message_calls(tn.value->at(planner->messages, i));
        for (uint64_t k = 0, made = tn.value->count(calls); k < made; k++)
            if (!has_result(planner, tn.value->at(calls, k), (int64_t)i)) return i;
    }
    return count;
}

/* Messages that remove those from `from` on. */
static bool remove_from(const struct planner *planner, uint64_t from, tn_value *list) {
    for (uint64_t i = from, count = tn.value->count(planner->messages); i < count; i++) {
        tn_value id = tn_get(tn.value->at(planner->messages, i), "id");
        if (!planner->graph->removes || id == NULL)
            return ag_request_refuse(planner->request, 501,
                                     "the graph `%.100s` keeps all messages, so none can be removed: its channel "
                                     "`%.60s` needs `type: reduce, reducer: messages`",
                                     planner->graph->name, planner->graph->channel);
        (void)tn_append_take(list, tn_build("{s:s, s:v}", "type", "remove", "id", id));
    }
    return true;
}

/* ---- The state ---- */

static bool is_last_value(const struct serving_graph *graph, tn_value name) {
    tn_value channels = tn_get(graph->item, "channels");
    for (uint64_t i = 0, count = tn.value->count(channels); i < count; i++)
        if (tn.value->equal(tn_get(tn.value->at(channels, i), "name"), name) == 1)
            return serving_is(tn_get(tn.value->at(channels, i), "type"), "last_value");
    return false;
}

/* The channels that the client has changed, as the beginning of an input: new. An input that is not a message has all
 * of its members again. */
static tn_value changed_state(const struct planner *planner) {
    tn_value input = tn_build("{}"), visible = ag_visible_state(planner->graph, planner->request->state), key, value;
    tn_value members = NULL;
    if (planner->graph->input == SERVING_JSON_INPUT)
        members = tn_get(tn_get(planner->graph->item, "input"), "properties");
    for (uint64_t i = 0, count = tn.value->count(visible); input != NULL && i < count; i++) {
        if (tn.value->entry(visible, i, &key, &value) != TN_OK || !is_last_value(planner->graph, key)) continue;
        if (tn_get_key(members, key) != NULL || tn.value->equal(tn_get_key(planner->state, key), value) != 1)
            input = tn_set_take(input, tn_chars(key, NULL), tn_retain(value));
    }
    tn_release(visible);
    return input;
}

/* ---- Methods ---- */

static bool plan_method_take(struct planner *planner, const char *method, bool replace, const char *member,
                             tn_value value) {
    tn_value config = tn_build("{s:s}", "thread_id", planner->request->thread_id);
    if (config != NULL && replace) config = tn_set_take(config, "replace", tn_bool(1));
    planner->plan->method = method;
    planner->plan->params =
        tn_build("{s:s, s:V, s:V, s:b, s:V*}", "document", planner->graph->document, "config", config, "modes",
                 tn_from_json(SERVING_MODES, sizeof SERVING_MODES - 1), "ends_with_client", 1, member, value);
    return planner->plan->params != NULL || ag_request_refuse(planner->request, 500, "memory ran out");
}

static tn_value last_user_text(tn_value messages) {
    for (uint64_t i = tn.value->count(messages); i > 0; i--)
        if (tn_message_is(tn.value->at(messages, i - 1), "user"))
            return tn_content_text(tn_get(tn.value->at(messages, i - 1), "content"));
    return NULL;
}

/* The channels of a graph without messages. Takes `input`. */
static tn_value other_input(struct planner *planner, tn_value input) {
    tn_value text = last_user_text(planner->fresh), given = NULL;
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    if (planner->graph->input == SERVING_ONE_TEXT && chars != NULL) {
        input = tn_set_take(input, planner->graph->channel, text);
        return input;
    }
    if (chars != NULL) given = tn_from_json(chars, length);
    tn_release(text);
    if (tn.value->kind(given) == TN_OBJECT) {
        tn_release(input);
        return given;
    }
    tn_release(given);
    if (tn.value->count(input) > 0) return input;
    tn_release(input);
    (void)ag_request_refuse(planner->request, 400,
                            "the graph `%.100s` has no channel of messages: send its input as `state`, or as the JSON "
                            "object of a message",
                            planner->graph->name);
    return NULL;
}

static tn_value with_extras(const struct planner *planner, tn_value input) {
    static const char name[] = "context";
    tn_value channel = tn_text(name);
    if (input != NULL && planner->graph->has_tools)
        input = tn_set_take(input, "tools",
                            planner->request->tools != NULL ? tn_retain(planner->request->tools) : tn_build("[]"));
    if (input != NULL && planner->request->context != NULL && is_last_value(planner->graph, channel))
        input = tn_set_take(input, name, tn_retain(planner->request->context));
    tn_release(channel);
    return input;
}

static bool plan_start(struct planner *planner, bool replace) {
    tn_value input = changed_state(planner), list = NULL;
    if (planner->graph->input == SERVING_MESSAGES) {
        uint64_t removed = first_removed(planner), dangling = replace ? first_dangling(planner) : removed;
        list = tn_build("[]");
        planner->kept = dangling < removed ? dangling : removed;
        if (!remove_from(planner, planner->kept, &list)) {
            tn_release(list);
            tn_release(input);
            return false;
        }
        for (uint64_t i = 0, count = tn.value->count(planner->fresh); i < count; i++)
            (void)tn_append_take(&list, tn_retain(tn.value->at(planner->fresh, i)));
        if (tn.value->count(list) == 0 && tn.value->count(input) == 0) {
            tn_release(list);
            tn_release(input);
            return ag_request_refuse(planner->request, 400,
                                     "`messages` has nothing that the thread `%.128s` does not have already",
                                     planner->request->thread_id);
        }
        input = tn_set_take(input, planner->graph->channel, list);
    } else {
        input = other_input(planner, input);
    }
    if (input == NULL) return ag_request_refuse(planner->request, 500, "memory ran out");
    planner->plan->state = ag_visible_state(planner->graph, planner->state);
    tn_value visible = ag_visible_state(planner->graph, input), key, value;
    for (uint64_t i = 0, count = tn.value->count(visible); i < count; i++)
        if (tn.value->entry(visible, i, &key, &value) == TN_OK && is_last_value(planner->graph, key) &&
            planner->plan->state != NULL)
            planner->plan->state = tn_set_take(planner->plan->state, tn_chars(key, NULL), tn_retain(value));
    tn_release(visible);
    return plan_method_take(planner, "run/start", replace, "input", with_extras(planner, input));
}

/* ---- Answers ---- */

static tn_value interrupt_find(tn_value thread, tn_value id) {
    tn_value interrupts = tn_get(thread, "interrupts");
    for (uint64_t i = 0, count = tn.value->count(interrupts); i < count; i++)
        if (tn.value->equal(tn_get(tn.value->at(interrupts, i), "id"), id) == 1) return tn.value->at(interrupts, i);
    return NULL;
}

/* The answer to an interrupt: new; NULL: it is cancelled, and nothing can be answered. */
static tn_value answer_of(tn_value interrupt, tn_value entry) {
    bool resolved = serving_is(tn_get(entry, "status"), "resolved"), approval = serving_ask_is_approval(interrupt);
    bool pause = tn_get(interrupt, "when") != NULL && tn.value->kind(tn_get(interrupt, "payload")) <= TN_NULL;
    tn_value payload = tn_get(entry, "payload"), approved = tn_get(payload, "approved");
    if (!approval) return !resolved ? NULL : payload != NULL ? tn_retain(payload) : tn_null();
    if (!resolved) return pause ? NULL : tn_build("{s:b, s:s}", "approved", 0, "reason", "cancelled");
    if (tn.value->kind(payload) == TN_BOOL) approved = payload;
    bool yes = tn.value->kind(payload) <= TN_NULL || serving_true(approved);
    if (pause) return yes ? tn_bool(1) : NULL;
    return tn_build("{s:b, s:s*}", "approved", (int)yes, "reason", tn_get_text(payload, "reason", NULL));
}

static bool plan_resume(struct planner *planner) {
    tn_value entries = planner->request->resume, answers = tn_build("{}");
    bool cancelled = false;
    /* Without messages in the thread, it is not known whether the message is new: the answers count. */
    planner->has_user = planner->has_user && planner->graph->input == SERVING_MESSAGES;
    for (uint64_t i = 0, count = tn.value->count(entries); i < count; i++) {
        tn_value entry = tn.value->at(entries, i), id = tn_get(entry, "interruptId"), answer;
        tn_value interrupt = interrupt_find(planner->thread, id);
        if (interrupt == NULL || strcmp(planner->status, "interrupted") != 0) {
            tn_release(answers);
            return ag_request_refuse(planner->request, planner->thread != NULL ? 409 : 404,
                                     "the thread `%.128s` does not wait for the interrupt `%.128s`",
                                     planner->request->thread_id, tn_chars(id, NULL));
        }
        answer = answer_of(interrupt, entry);
        cancelled = cancelled || answer == NULL;
        if (answer != NULL && answers != NULL) answers = tn_set_take(answers, tn_chars(id, NULL), answer);
    }
    if (cancelled || planner->has_user) {
        tn_release(answers);
        if (planner->has_user && cancelled) return plan_start(planner, true);
        if (planner->has_user)
            return ag_request_refuse(planner->request, 409,
                                     "the answers of `resume` continue the run: send the new message afterwards");
        planner->plan->cancelled = true;
        return true;
    }
    planner->plan->asked = tn_get(planner->thread, "interrupts");
    planner->plan->state = ag_visible_state(planner->graph, planner->state);
    return plan_method_take(planner, "run/resume", false, "answers", answers);
}

/* ---- The plan ---- */

/* The last message that exists before the run: what is behind it is new. */
static void note_last(struct planner *planner, bool starts) {
    bool fresh = starts && tn.value->count(planner->fresh) > 0;
    tn_value list = fresh ? planner->fresh : planner->messages;
    uint64_t count = fresh ? tn.value->count(list) : planner->kept;
    const char *id = count > 0 ? tn_get_text(tn.value->at(list, count - 1), "id", "") : "";
    (void)snprintf(planner->plan->last_input, sizeof planner->plan->last_input, "%s", id);
}

static bool plan_of(struct planner *planner) {
    bool exists = planner->thread != NULL, done = !exists || strcmp(planner->status, "done") == 0;
    if (strcmp(planner->status, "importing") == 0)
        return ag_request_refuse(planner->request, 409, "the thread is being imported; try again later");
    if (planner->request->resume != NULL) return plan_resume(planner);
    if (done || planner->has_user) return plan_start(planner, !done);
    if (strcmp(planner->status, "interrupted") == 0)
        return ag_request_refuse(
            planner->request, 409,
            "the thread `%.128s` waits for answers: send them as `resume`, or a new message of the "
            "user",
            planner->request->thread_id);
    planner->plan->state = ag_visible_state(planner->graph, planner->state);
    return plan_method_take(planner, "run/resume", false, "answers", NULL);
}

bool ag_plan_make(struct ag_plan *plan, struct ag_request *request, const struct serving_graph *graph, tn_value thread,
                  tn_value state) {
    struct planner planner = {.plan = plan,
                              .request = request,
                              .graph = graph,
                              .thread = thread,
                              .state = state,
                              .status = tn_get_text(thread, "status", "")};
    *plan = (struct ag_plan){0};
    if (graph->input == SERVING_MESSAGES && tn.value->count(tn_get(state, graph->channel)) > 0)
        planner.messages = tn_get(state, graph->channel);
    planner.kept = tn.value->count(planner.messages);
    plan_index_make(&planner.index, planner.messages);
    read_fresh(&planner);
    bool made = plan_of(&planner);
    note_last(&planner, made && plan->method != NULL && strcmp(plan->method, "run/start") == 0);
    tn_release(planner.fresh);
    plan_index_free(&planner.index);
    return made;
}

void ag_plan_finish(struct ag_plan *plan) {
    tn_release(plan->params);
    tn_release(plan->state);
    *plan = (struct ag_plan){0};
}
