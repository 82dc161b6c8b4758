/*
 * acp_replay.c - the conversation of a saved thread, as the updates that the client would have got.
 */
#include "host/server/acp/acp_prompt.h"

static void replay_blocks(const struct acp_session *session, const char *kind, tn_value blocks, tn_value id) {
    for (size_t i = 0; i < value_count(blocks); i++) {
        tn_value chunk = value_set_take(value_object_reserve(3), "content", value_ref(value_at(blocks, i)));
        if (id && value_is(id, TN_STRING)) chunk = value_set_take(chunk, "messageId", value_ref(id));
        acp_update_take(session, kind, chunk);
    }
    value_unref(blocks);
}

static void replay_message(struct acp_session *session, tn_value message) {
    tn_value type = value_get(message, "type"), content = value_get(message, "content"), id = value_get(message, "id");
    tn_value made = value_get(message, "tool_calls");
    if (!type || !value_is(type, TN_STRING)) return;
    if (value_text_is(type, "user")) {
        replay_blocks(session, "user_message_chunk", acp_content_blocks(content, false), id);
    } else if (value_text_is(type, "ai") || value_text_is(type, "error")) {
        replay_blocks(session, "agent_thought_chunk", acp_content_blocks(content, true), id);
        replay_blocks(session, "agent_message_chunk", acp_content_blocks(content, false), id);
        for (size_t i = 0; made && value_is(made, TN_ARRAY) && i < value_count(made); i++)
            acp_tool_start(session, value_at(made, i));
    } else if (value_text_is(type, "tool")) {
        acp_tool_end(session, message);
    }
}

static void replay_text(const struct acp_session *session, const char *kind, tn_value text) {
    if (text && value_is(text, TN_STRING)) acp_update_take(session, kind, acp_chunk_take(value_ref(text), NULL));
}

/* A document without messages has only its last input and its result. */
static void replay_result(const struct acp_session *session, tn_value state) {
    const struct acp *acp = session->acp;
    tn_value result = acp_result_text(acp, state);
    if (acp->input == ACP_INPUT_TEXT) replay_text(session, "user_message_chunk", value_get(state, acp->channel));
    replay_text(session, "agent_message_chunk", result);
    value_unref(result);
}

/* ---- The unfinished turn ---- */

/* What acp_turn_show shows of the writes of a nested run: messages with calls, and their results. */
static void replay_written(struct acp_session *session, tn_value written, tn_value *seen) {
    for (size_t i = 0; written && value_is(written, TN_ARRAY) && i < value_count(written); i++) {
        tn_value message = value_at(written, i), calls = value_get(message, "tool_calls"),
                 id = value_get(message, "id");
        bool has_calls = calls && value_is(calls, TN_ARRAY) && value_count(calls) > 0;
        if (!has_calls && !value_text_is(value_get(message, "type"), "tool")) continue;
        if (id && value_is(id, TN_STRING)) {
            if (value_get_key(*seen, id)) continue;
            *seen = value_set_key_take(*seen, value_ref(id), value_bool(true));
        }
        replay_message(session, message);
    }
}

/* {SCOPE/SEQ: checkpoint} of the nested runs that have not ended: what their steps added, not their inputs. */
static void replay_nested(struct acp_session *session) {
    tn_value seen = acp_message_ids(session->messages);
    for (size_t i = 0; i < value_count(session->nested); i++) {
        tn_value checkpoint = value_value_at(session->nested, i), delta = value_get(checkpoint, "delta");
        if (value_text_is(value_get(checkpoint, "source"), "input")) continue;
        for (size_t k = 0; value_is(delta, TN_OBJECT) && k < value_count(delta); k++) {
            tn_value change = value_value_at(delta, k), added = value_get(change, "add");
            replay_written(session, added ? added : value_get(change, "set"), &seen);
        }
    }
    value_unref(seen);
}

/* Approvals are asked again with the next prompt; this says what the prompt answers. */
static void replay_question(const struct acp_session *session) {
    for (size_t i = 0; i < value_count(session->waits); i++) {
        if (acp_is_approval(value_at(session->waits, i))) continue;
        tn_value text = acp_question_text(value_at(session->waits, i));
        replay_text(session, "agent_message_chunk", text);
        value_unref(text);
        return;
    }
}

void acp_replay(struct acp_session *session, tn_value state) {
    for (size_t i = 0; i < value_count(session->messages); i++) replay_message(session, value_at(session->messages, i));
    if (session->nested) replay_nested(session);
    value_unref(session->nested);
    session->nested = NULL;
    if (!acp_session_continues(session)) acp_tools_abandon(session);
    if (session->acp->input != ACP_INPUT_MESSAGES) replay_result(session, state);
    replay_question(session);
}
