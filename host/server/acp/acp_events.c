/*
 * acp_events.c - events of a run as updates of the client.
 *
 * Texts are sent as the model emits them. Events can report a message more than once: from a node inside an agent and
 * from the agent, or from a node that writes the whole conversation again. So the messages of a node whose nested graph
 * has reported them are left out, and so are messages with a known id. What was not streamed is sent at the end.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/loop.h"
#include "host/data/kernel/kernel_request.h"
#include "host/server/acp/acp_prompt.h"
#include "host/server/server.h"
#include <stdarg.h>
#include <string.h>

_Static_assert(sizeof((struct acp_turn){0}.message_id) >= KERNEL_ID_TEXT, "an id of a message is such an id");

/* ---- Texts ---- */

static void new_message_id(struct acp_turn *turn) {
    kernel_id_make(loop_wall_ms(server_loop(turn->session->acp->options.server)), turn->message_id);
}

static void send_chunk_take(struct acp_turn *turn, const char *kind, tn_value text) {
    size_t length;
    (void)value_chars(text, &length);
    if (!*turn->message_id) new_message_id(turn);
    if (length)
        acp_update_take(turn->session, kind, acp_chunk_take(text, turn->message_id));
    else
        value_unref(text);
}

static void note_sent(struct acp_turn *turn, tn_value text) {
    turn->sent = value_set_key_take(turn->sent, value_ref(text), value_bool(true));
}

/* The message that was streamed has ended. */
static void end_message(struct acp_turn *turn) {
    if (turn->text.length) {
        tn_value text = value_string_lossy(buffer_cstr(&turn->text), turn->text.length);
        note_sent(turn, text);
        value_unref(text);
    }
    buffer_clear(&turn->text);
    *turn->message_id = '\0';
}

void acp_turn_say(struct acp_turn *turn, const char *format, ...) {
    struct buffer text;
    va_list args;
    end_message(turn);
    buffer_init(&text, ERROR_MESSAGE_MAX);
    va_start(args, format);
    buffer_vformat(&text, format, args);
    va_end(args);
    send_chunk_take(turn, "agent_message_chunk", value_string_lossy(buffer_cstr(&text), text.length));
    buffer_finish(&text);
    end_message(turn);
}

/* The whole content of a message, unless its text was streamed. */
static void send_content(struct acp_turn *turn, tn_value content) {
    tn_value text = acp_content_text(content);
    bool sent = value_get_key(turn->sent, text) != NULL;
    for (int thoughts = 1; !sent && thoughts >= 0; thoughts--) {
        tn_value blocks = acp_content_blocks(content, thoughts == 1);
        new_message_id(turn);
        for (size_t i = 0; i < value_count(blocks); i++) {
            tn_value chunk = value_set_take(value_object_reserve(3), "content", value_ref(value_at(blocks, i)));
            chunk = value_set_take(chunk, "messageId", value_text(turn->message_id));
            acp_update_take(turn->session, thoughts ? "agent_thought_chunk" : "agent_message_chunk", chunk);
        }
        value_unref(blocks);
    }
    if (!sent) note_sent(turn, text);
    *turn->message_id = '\0';
    value_unref(text);
}

/* ---- Deltas ---- */

static const char *stop_reason_of_finish(tn_value finish) {
    if (finish && value_text_is(finish, "length")) return "max_tokens";
    if (finish && value_text_is(finish, "content_filter")) return "refusal";
    return NULL;
}

static void note_usage(struct acp_turn *turn, tn_value usage) {
    if (!usage || !value_is(usage, TN_OBJECT)) return;
    value_unref(turn->last_usage);
    turn->last_usage = value_ref(usage);
}

static void show_delta(struct acp_turn *turn, tn_value delta) {
    tn_value content = value_get(delta, "content"), reasoning = value_get(delta, "reasoning");
    tn_value done = value_get(delta, "done"), part = value_get(delta, "part");
    size_t length;
    if (content && value_is(content, TN_STRING)) {
        const char *text = value_chars(content, &length);
        buffer_append(&turn->text, text, length);
        send_chunk_take(turn, "agent_message_chunk", value_ref(content));
    }
    if (reasoning && value_is(reasoning, TN_STRING)) send_chunk_take(turn, "agent_thought_chunk", value_ref(reasoning));
    if (part) {
        tn_value list = value_push_take(value_array(), value_ref(part));
        tn_value blocks = acp_content_blocks(list, false);
        for (size_t i = 0; i < value_count(blocks); i++)
            acp_update_take(turn->session, "agent_message_chunk",
                            value_set_take(value_object_reserve(2), "content", value_ref(value_at(blocks, i))));
        value_unref(blocks);
        value_unref(list);
    }
    if (value_get(delta, "reset")) { /* the text so far does not count; the client sees another message */
        buffer_clear(&turn->text);
        *turn->message_id = '\0';
    }
    if (!done) return;
    note_usage(turn, value_get(done, "usage"));
    turn->finish = stop_reason_of_finish(value_get(done, "finish_reason"));
    end_message(turn);
}

/* ---- Messages ---- */

/* True if the message has an id that is known already; otherwise it is known from now on. */
static bool message_was_seen(struct acp_turn *turn, tn_value message) {
    tn_value id = value_get(message, "id");
    if (!id || !value_is(id, TN_STRING)) return false;
    if (value_get_key(turn->seen, id)) return true;
    turn->seen = value_set_key_take(turn->seen, value_ref(id), value_bool(true));
    return false;
}

static void show_message(struct acp_turn *turn, tn_value message) {
    tn_value type = value_get(message, "type"), calls = value_get(message, "tool_calls");
    bool has_calls = calls && value_is(calls, TN_ARRAY) && value_count(calls) > 0;
    bool tool = type && value_text_is(type, "tool");
    if ((!has_calls && !tool) || message_was_seen(turn, message)) return;
    if (tool) {
        acp_tool_end(turn->session, message);
        return;
    }
    send_content(turn, value_get(message, "content"));
    for (size_t i = 0; i < value_count(calls); i++) acp_tool_start(turn->session, value_at(calls, i));
    acp_turn_watch_calls(turn);
}

static void show_plan(struct acp_turn *turn, tn_value value) {
    tn_value entries = value ? acp_plan_entries(value) : NULL;
    if (entries) acp_update_take(turn->session, "plan", value_set_take(value_object_reserve(2), "entries", entries));
}

static void show_writes(struct acp_turn *turn, tn_value writes) {
    for (size_t i = 0; value_is(writes, TN_OBJECT) && i < value_count(writes); i++) {
        tn_value written = value_value_at(writes, i);
        if (value_text_is(value_key_at(writes, i), "plan")) {
            show_plan(turn, written);
            continue;
        }
        if (value_is(written, TN_OBJECT)) show_message(turn, written);
        for (size_t k = 0; value_is(written, TN_ARRAY) && k < value_count(written); k++)
            if (value_is(value_at(written, k), TN_OBJECT)) show_message(turn, value_at(written, k));
    }
}

static void show_custom(struct acp_turn *turn, tn_value data) {
    if (!value_is(data, TN_OBJECT)) return;
    show_plan(turn, value_text_is(value_get(data, "type"), "plan") ? data : value_get(data, "plan"));
}

/* ---- Nested graphs ---- */

/* A key for the graph that `node` runs in the graph at `path`, or for the graph at `path` itself if `node` is NULL. */
static tn_value nested_key(tn_value path, tn_value node) {
    tn_value whole = path && value_is(path, TN_ARRAY) ? value_ref(path) : value_array();
    if (node) whole = value_push_take(whole, value_ref(node));
    char *text = json_text(whole, JSON_COMPACT);
    tn_value key = value_text(text);
    mem_free(text);
    value_unref(whole);
    return key;
}

static bool event_is_nested(const struct acp_turn *turn, tn_value event) {
    tn_value key = nested_key(value_get(event, "path"), value_get(event, "node"));
    bool reported = value_get_key(turn->nested, key) != NULL;
    value_unref(key);
    return reported;
}

void acp_turn_show(struct acp_turn *turn, tn_value event) {
    tn_value delta = value_get(event, "delta"), writes = value_get(event, "writes"), path = value_get(event, "path");
    tn_value data = value_get(event, "data");
    if (path) turn->nested = value_set_key_take(turn->nested, nested_key(path, NULL), value_bool(true));
    if (delta) show_delta(turn, delta);
    if (writes && !event_is_nested(turn, event)) show_writes(turn, writes);
    if (data) show_custom(turn, data);
}

/* ---- The end of a run ---- */

static void show_usage(struct acp_turn *turn, tn_value usage) {
    tn_value last = turn->last_usage ? turn->last_usage : usage, used = value_get(last, "total_tokens");
    tn_value cost = value_get(usage, "cost");
    if (!used || !value_is(used, TN_INT) || value_to_int(used) < 0) return;
    tn_value update = value_set_take(value_object_reserve(4), "used", value_ref(used));
    update = value_set_take(update, "size", value_int(turn->session->acp->options.context_tokens));
    if (cost && value_is_number(cost)) {
        tn_value shown = value_set_take(value_object_reserve(2), "amount", value_ref(cost));
        update = value_set_take(update, "cost", value_set_take(shown, "currency", value_text("USD")));
    }
    acp_update_take(turn->session, "usage_update", update);
}

static void show_rest_messages(struct acp_turn *turn, tn_value messages) {
    for (size_t i = 0; messages && value_is(messages, TN_ARRAY) && i < value_count(messages); i++) {
        tn_value message = value_at(messages, i), calls = value_get(message, "tool_calls");
        bool answers =
            value_text_is(value_get(message, "type"), "ai") || value_text_is(value_get(message, "type"), "error");
        bool old = i < turn->known && !value_get(message, "id");
        if (!answers || (calls && value_count(calls)) || old || message_was_seen(turn, message)) continue;
        const char *finish = stop_reason_of_finish(value_get(message, "finish_reason"));
        if (finish) turn->finish = finish;
        send_content(turn, value_get(message, "content"));
    }
}

/* The members of the result without the input; a new reference. */
static tn_value result_members(const struct acp *acp, tn_value state) {
    tn_value rest = value_object();
    for (size_t i = 0; i < value_count(state); i++) {
        tn_value key = value_key_at(state, i), member = value_value_at(state, i);
        bool input = acp->input == ACP_INPUT_TEXT && value_text_is(key, acp->channel);
        if (!input && !value_is(member, TN_NULL)) rest = value_set_key_take(rest, value_ref(key), value_ref(member));
    }
    return rest;
}

tn_value acp_result_text(const struct acp *acp, tn_value state) {
    static const char *const names[] = {"answer", "output", "result", "response", "text"};
    if (!state || !value_is(state, TN_OBJECT)) return NULL;
    tn_value rest = result_members(acp, state), text = NULL;
    for (size_t i = 0; !text && i < sizeof names / sizeof *names; i++)
        if (acp_text(rest, names[i])) text = value_ref(value_get(rest, names[i]));
    if (!text && value_count(rest) == 1 && value_is(value_value_at(rest, 0), TN_STRING))
        text = value_ref(value_value_at(rest, 0));
    if (!text && value_count(rest)) {
        char *json = json_text(rest, JSON_INDENTED);
        text = value_format("```json\n%s\n```", json);
        mem_free(json);
    }
    value_unref(rest);
    return text;
}

void acp_turn_show_rest(struct acp_turn *turn, tn_value report) {
    const struct acp *acp = turn->session->acp;
    tn_value state = value_get(report, "state");
    end_message(turn);
    if (acp->input == ACP_INPUT_MESSAGES) {
        show_rest_messages(turn, value_get(state, acp->channel));
    } else if (value_text_is(value_get(report, "status"), "done")) {
        tn_value text = acp_result_text(acp, state);
        if (text) send_content(turn, text);
        value_unref(text);
    }
    show_usage(turn, value_get(report, "usage"));
}
