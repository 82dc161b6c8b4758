/*
 * serving_messages.c - the messages that nodes write, and the result of a run.
 *
 * Whether the graph or the client executes a call is known only when the run continues or ends. Until then the calls of
 * a message are held.
 */
#include "serving_items.h"

static void add_key(tn_value *set, tn_value key, tn_value value) {
    uint64_t length = 0;
    const char *chars = tn_chars(key, &length);
    tn_value present = value != NULL ? tn_retain(value) : tn_bool(1);
    if (chars != NULL && present != NULL && *set != NULL) (void)tn.value->set(set, chars, length, present);
    tn_release(present);
}

/* ---- Nested graphs ---- */

/* A key for the graph that `node` runs in the graph at `path`, or for that graph itself if `node` is NULL. New. */
static tn_value nested_key(tn_value path, tn_value node) {
    tn_value whole = path != NULL ? tn_retain(path) : tn_build("[]"), key;
    if (node != NULL) (void)tn_append_take(&whole, tn_retain(node));
    key = whole != NULL ? tn_to_json(whole) : NULL;
    tn_release(whole);
    return key;
}

void items_note_path(struct serving_items *items, tn_value path) {
    if (path == NULL) return;
    tn_value key = nested_key(path, NULL);
    add_key(&items->nested, key, NULL);
    tn_release(key);
}

static bool is_reported_inside(const struct serving_items *items, tn_value event) {
    tn_value key = nested_key(tn_get(event, "path"), tn_get(event, "node"));
    bool reported = key != NULL && tn_get_key(items->nested, key) != NULL;
    tn_release(key);
    return reported;
}

/* ---- Calls ---- */

static bool is_client_tool(const struct serving_items *items, tn_value call) {
    const char *name = tn_get_text(call, "name", "");
    for (uint64_t i = 0, count = tn.value->count(items->client_tools); i < count; i++)
        if (serving_is(tn.value->at(items->client_tools, i), name)) return true;
    return false;
}

static void hold_calls(struct serving_items *items, tn_value calls, tn_value path) {
    items_calls_continue(items, items->held_path);
    tn_release(items->held_path);
    items->held_path = path != NULL ? tn_retain(path) : tn_build("[]");
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++)
        if (!is_client_tool(items, tn.value->at(calls, i)))
            (void)tn_append_take(&items->held, tn_retain(tn.value->at(calls, i)));
}

void items_calls_continue(struct serving_items *items, tn_value path) {
    tn_value held = items->held, here = path != NULL ? tn_retain(path) : tn_build("[]");
    bool same = tn.value->equal(here, items->held_path) != 0;
    tn_release(here);
    if (held == NULL || !same) return;
    items->held = NULL;
    for (uint64_t i = 0, count = tn.value->count(held); i < count; i++) {
        tn_value call = tn.value->at(held, i);
        add_key(&items->calls, tn_get(call, "id"), call);
        items_emit(items, (struct serving_item){.kind = SERVING_CALL, .value = call, .path = items->held_path});
    }
    tn_release(held);
}

/* A call that an earlier run has made, and that has been approved: it is known from the question only. */
static void add_asked_call(struct serving_items *items, tn_value id, const char *name) {
    for (uint64_t i = 0, count = tn.value->count(items->asked); i < count; i++) {
        tn_value payload = tn_get(tn.value->at(items->asked, i), "payload");
        if (!serving_is(tn_get(payload, "tool"), name)) continue;
        tn_value call = tn_build("{s:v, s:s, s:v*}", "id", id, "name", name, "arguments", tn_get(payload, "arguments"));
        add_key(&items->calls, id, call);
        items_emit(items, (struct serving_item){.kind = SERVING_CALL, .value = call, .asked = true});
        tn_release(call);
        return;
    }
}

static void take_tool_result(struct serving_items *items, tn_value message) {
    tn_value id = tn_get(message, "tool_call_id");
    uint64_t length = 0;
    const char *chars = tn_chars(id, &length);
    items_calls_continue(items, items->held_path);
    if (chars != NULL && tn_get_key(items->calls, id) == NULL && tn_get_key(items->results, id) == NULL)
        add_asked_call(items, id, tn_get_text(message, "name", ""));
    if (chars == NULL || tn_get_key(items->calls, id) == NULL) return;
    (void)tn.value->remove(&items->calls, chars, length);
    add_key(&items->results, id, NULL);
    items_emit(items, (struct serving_item){.kind = SERVING_RESULT, .value = message});
}

/* ---- Messages ---- */

/* True if the message has an id that is known already; otherwise it is known from now on. */
static bool was_seen(struct serving_items *items, tn_value message) {
    tn_value id = tn_get(message, "id");
    if (tn_chars(id, NULL) == NULL) return false;
    if (tn_get_key(items->seen, id) != NULL) return true;
    add_key(&items->seen, id, NULL);
    return false;
}

static void take_message(struct serving_items *items, tn_value message, tn_value event) {
    tn_value calls = tn_message_calls(message);
    bool tool = tn_message_is(message, "tool");
    if (tn.value->kind(message) != TN_OBJECT || (calls == NULL && !tool) || was_seen(items, message)) return;
    if (tool) {
        take_tool_result(items, message);
        return;
    }
    items_send_whole(items, message, tn_get_text(event, "node", NULL));
    hold_calls(items, calls, tn_get(event, "path"));
}

/* Where the new messages of an array begin: a node can write the whole conversation again. */
static uint64_t new_begin(const struct serving_items *items, tn_value written) {
    uint64_t at = tn.value->kind(written) == TN_ARRAY && items->last_input != NULL ? tn.value->count(written) : 0;
    while (at > 0 && !serving_is(tn_get(tn.value->at(written, at - 1), "id"), items->last_input)) at--;
    return at;
}

void items_take_writes(struct serving_items *items, tn_value event) {
    tn_value writes = tn_get(event, "writes"), key, written;
    bool inside = is_reported_inside(items, event);
    for (uint64_t i = 0, count = tn.value->count(writes); !inside && i < count; i++) {
        if (tn.value->entry(writes, i, &key, &written) != TN_OK) break;
        if (tn.value->kind(written) == TN_OBJECT) {
            take_message(items, written, event);
            continue;
        }
        for (uint64_t k = new_begin(items, written); k < tn.value->count(written); k++)
            take_message(items, tn.value->at(written, k), event);
    }
    if (tn_get(event, "path") == NULL)
        items_emit(items, (struct serving_item){
                              .kind = SERVING_WRITES, .value = writes, .node = tn_get_text(event, "node", NULL)});
}

/* ---- The result ---- */

/* Where the answer begins: behind the last message of the input. */
static uint64_t answer_begin(const struct serving_items *items, tn_value messages) {
    uint64_t count = tn.value->count(messages), at = count;
    if (items->last_input == NULL) return 0;
    while (at > 0 && !serving_is(tn_get(tn.value->at(messages, at - 1), "id"), items->last_input)) at--;
    return at > 0 ? at : count > 0 ? count - 1 : 0; /* the graph has replaced the conversation: its last message */
}

static void send_answer(struct serving_items *items, tn_value message) {
    bool answers = tn_message_is(message, "ai") || tn_message_is(message, "error");
    if (answers && tn_message_calls(message) == NULL && !was_seen(items, message))
        items_send_whole(items, message, NULL);
}

static void send_rest(struct serving_items *items, tn_value messages) {
    for (uint64_t i = answer_begin(items, messages), count = tn.value->count(messages); i < count; i++)
        send_answer(items, tn.value->at(messages, i));
}

void serving_items_before(struct serving_items *items, tn_value messages) {
    for (uint64_t i = 0, count = tn.value->count(messages); i < count; i++) {
        take_message(items, tn.value->at(messages, i), NULL);
        send_answer(items, tn.value->at(messages, i));
    }
}

static bool has_result(tn_value messages, uint64_t from, tn_value id) {
    for (uint64_t i = from, count = tn.value->count(messages); i < count; i++)
        if (tn.value->equal(tn_get(tn.value->at(messages, i), "tool_call_id"), id) == 1) return true;
    return false;
}

/* The calls of the last answer, if the graph has not executed them. */
static void send_client_calls(struct serving_items *items, tn_value messages) {
    uint64_t at = tn.value->count(messages), from = answer_begin(items, messages);
    while (at > from && tn_message_is(tn.value->at(messages, at - 1), "tool")) at--;
    tn_value calls = at > from ? tn_message_calls(tn.value->at(messages, at - 1)) : NULL;
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++) {
        tn_value call = tn.value->at(calls, i);
        if (has_result(messages, at, tn_get(call, "id"))) continue;
        items->finish = "tool_calls";
        items_emit(items, (struct serving_item){.kind = SERVING_CLIENT_CALL, .value = call});
    }
}

static void send_result(struct serving_items *items, tn_value state) {
    tn_value text = serving_result_text(&items->graph, state);
    if (text != NULL) {
        tn_value message = tn_message("ai", text);
        items_send_whole(items, message, NULL);
        tn_release(message);
    }
    tn_release(text);
}

void items_take_result(struct serving_items *items, tn_value report) {
    tn_value state = tn_get(report, "state"), interrupts = tn_get(report, "interrupts");
    const char *status = tn_get_text(report, "status", "");
    bool done = strcmp(status, "done") == 0, waits = strcmp(status, "interrupted") == 0;
    if (items->graph.input == SERVING_MESSAGES && (done || waits)) {
        tn_value messages = tn_get(state, items->graph.channel);
        if (waits) items_calls_continue(items, items->held_path);
        send_rest(items, messages);
        if (done) send_client_calls(items, messages);
    } else if (done) {
        send_result(items, state);
    }
    for (uint64_t i = 0, count = waits ? tn.value->count(interrupts) : 0; i < count; i++)
        items_emit(items, (struct serving_item){.kind = SERVING_ASK, .value = tn.value->at(interrupts, i)});
}
