/*
 * acp_session.c - sessions: a session is a thread of the store; this connection opens it, and keeps what it chooses.
 *
 *     document/describe ─┬─ session/new ───────────────────────────────────────────┐
 *                        └─ session/load, resume ─▶ thread/get, /state ─▶ (replay) ┴─▶ MCP servers ─▶ answer
 *                           (load of an unfinished turn: thread/export between them)
 *
 * A new thread is in the store from its first prompt on: editors open sessions that are never used. Loading one that
 * had no prompt fails with -32002, after which clients open a new session; nothing is lost. What the store does not
 * have of it (the mode, the models, the MCP servers) is chosen again by each client that opens it.
 */
#include "adl/value/memory.h"
#include "host/base/loop.h"
#include "host/base/time_text.h"
#include "host/data/kernel/kernel_request.h"
#include "host/server/acp/acp_internal.h"
#include "host/server/acp/acp_prompt.h"
#include "host/server/rpc/rpc_peer.h"
#include "host/server/server.h"
#include <string.h>

/* ---- The list ---- */

struct acp_session *acp_session_find(const struct acp *acp, const char *id) {
    struct acp_session *session = acp->sessions;
    while (session && strcmp(session->id, id) != 0) session = session->next;
    return session;
}

static void refuse_session(struct peer_request *request, const char *id) {
    peer_refuse(request, RPC_NOT_INITIALIZED,
                "there is no saved session `%.200s`: a session is saved with its first prompt, and session/list lists "
                "those that are; open a new one with session/new",
                id);
}

struct acp_session *acp_session_of(struct acp *acp, struct peer_request *request) {
    const char *id = acp_text(peer_request_params(request), "sessionId");
    struct acp_session *session = acp_session_find(acp, id);
    if (session && !session->opener && !session->ending) return session;
    if (session)
        peer_refuse(request, RPC_INVALID_REQUEST, "the session `%.200s` is being %s", id,
                    session->opener ? "opened" : "closed");
    else
        peer_refuse(request, RPC_NOT_INITIALIZED,
                    "the session `%.200s` is not open; session/new, session/load and session/resume open sessions", id);
    return NULL;
}

static struct acp_session *session_new(struct acp *acp, const char *id, tn_value params) {
    struct acp_session *session = mem_zalloc(sizeof *session);
    session->acp = acp;
    session->id = mem_text(id);
    session->cwd = mem_text(acp_text(params, "cwd"));
    session->directories = acp_array(params, "additionalDirectories");
    session->roles = value_object();
    session->decisions = value_object();
    session->servers = value_array();
    session->messages = value_array();
    session->completed = value_array();
    session->calls = value_object();
    session->notices = value_array();
    session->next = acp->sessions;
    session->link = &acp->sessions;
    if (session->next) session->next->link = &session->next;
    acp->sessions = session;
    acp->session_count++;
    return session;
}

void acp_session_free(struct acp_session *session) {
    acp_calls_drop(session->acp, session);
    acp_servers_stop(session);
    *session->link = session->next;
    if (session->next) session->next->link = session->link;
    session->acp->session_count--;
    const tn_value values[] = {session->directories, session->title,    session->roles,     session->decisions,
                               session->servers,     session->messages, session->completed, session->waits,
                               session->answers,     session->calls,    session->nested,    session->notices};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) value_unref(values[i]);
    mem_free(session->connecting);
    mem_free(session->cwd);
    mem_free(session->id);
    mem_free(session);
}

/* ---- What is known of its thread ---- */

tn_value acp_session_metadata(const struct acp_session *session) {
    tn_value own = value_set_take(value_object_reserve(3), "cwd", value_text(session->cwd));
    if (value_count(session->directories)) own = value_set_take(own, "directories", value_ref(session->directories));
    if (session->title) own = value_set_take(own, "title", value_ref(session->title));
    return value_set_take(value_object_reserve(1), "acp", own);
}

/* The messages before the last one of the user, with which the unfinished turn began; a new reference. */
static tn_value session_messages_before_turn(tn_value messages) {
    size_t count = value_count(messages);
    while (count > 0 && !value_text_is(value_get(value_at(messages, count - 1), "type"), "user")) count--;
    return value_slice(messages, 0, count ? count - 1 : 0);
}

void acp_session_keep(struct acp_session *session, tn_value state, bool done) {
    tn_value messages = session->acp->input == ACP_INPUT_MESSAGES ? value_get(state, session->acp->channel) : NULL;
    if (!messages || !value_is(messages, TN_ARRAY)) return;
    value_unref(session->messages);
    session->messages = value_ref(messages);
    if (!done) return;
    value_unref(session->completed);
    session->completed = value_ref(messages);
}

bool acp_session_continues(const struct acp_session *session) { return session->unfinished && !session->discards; }

void acp_session_send_info(const struct acp_session *session, bool titled) {
    char time[TIME_TEXT];
    time_text(loop_wall_ms(server_loop(session->acp->options.server)), time);
    tn_value update = value_set_take(value_object_reserve(3), "updatedAt", value_text(time));
    if (titled && session->title) update = value_set_take(update, "title", value_ref(session->title));
    acp_update_take(session, "session_info_update", update);
}

void acp_update_take(const struct acp_session *session, const char *kind, tn_value update) {
    tn_value params = value_set_take(value_object_reserve(2), "sessionId", value_text(session->id));
    update = value_set_take(update, "sessionUpdate", value_text(kind));
    acp_notify_take(session->acp, "session/update", value_set_take(params, "update", update));
}

/* ---- Opening ---- */

static void session_opened(struct acp_session *session) {
    struct peer_request *opener = session->opener;
    bool made = strcmp(peer_request_method(opener), "session/new") == 0;
    tn_value result =
        made ? value_set_take(value_object_reserve(3), "sessionId", value_text(session->id)) : value_object();
    result = value_set_take(result, "modes", acp_modes(session));
    result = value_set_take(result, "configOptions", acp_config_options(session));
    session->opener = NULL;
    peer_reply_take(opener, result);
    tn_value commands = value_set_take(value_object_reserve(2), "availableCommands", acp_commands());
    acp_update_take(session, "available_commands_update", commands);
    if (!made && session->title) acp_session_send_info(session, true);
}

static void open_servers(struct acp_session *session) {
    tn_value servers = acp_array(peer_request_params(session->opener), "mcpServers");
    acp_servers_start(session, servers, session_opened);
    value_unref(servers);
}

/* INVALID_INPUT: no thread can have this id. */
static bool thread_does_not_exist(const struct error *error) {
    return error->code && (strcmp(error->code, "NOT_FOUND") == 0 || strcmp(error->code, "INVALID_INPUT") == 0);
}

static void session_open_failed(struct acp_session *session, const struct error *error) {
    acp_fail(session->opener, error);
    acp_session_free(session);
}

/* Its thread cannot be read. */
static void session_load_failed(struct acp_session *session, const struct error *error) {
    if (thread_does_not_exist(error)) {
        refuse_session(session->opener, session->id);
        acp_session_free(session);
    } else {
        session_open_failed(session, error);
    }
}

static bool is_absolute(tn_value path) {
    size_t length;
    const char *text = value_chars(path, &length);
    return text[0] == '/' && strlen(text) == length;
}

/* False if `cwd` or an additional folder is not an absolute path: the request was refused. */
static bool check_folders(struct peer_request *request) {
    tn_value params = peer_request_params(request), cwd = value_get(params, "cwd");
    tn_value more = acp_array(params, "additionalDirectories"), wrong = is_absolute(cwd) ? NULL : cwd;
    const char *where = wrong ? "cwd" : "additionalDirectories";
    for (size_t i = 0; !wrong && i < value_count(more); i++)
        if (!is_absolute(value_at(more, i))) wrong = value_at(more, i);
    if (wrong)
        peer_refuse(request, RPC_INVALID_PARAMS, "`%s`: found `%.200s`, expected an absolute path", where,
                    value_chars(wrong, NULL));
    value_unref(more);
    return !wrong;
}

/* `replaced` sessions end with the request. */
static bool check_opening(struct acp *acp, struct peer_request *request, size_t replaced) {
    struct error error = ERROR_INIT;
    if (!check_folders(request)) return false;
    tn_value servers = acp_array(peer_request_params(request), "mcpServers");
    bool good = acp_servers_check(servers, &error), full = acp->session_count - replaced >= ACP_SESSIONS_MAX;
    if (!good)
        peer_refuse(request, RPC_INVALID_PARAMS, "`mcpServers`: %s", error.message);
    else if (full)
        peer_refuse(request, RPC_INTERNAL_ERROR, "%u sessions are open, which is the limit; close some of them [LIMIT]",
                    ACP_SESSIONS_MAX);
    value_unref(servers);
    error_finish(&error);
    return good && !full;
}

/* ---- A saved thread ---- */

static void session_on_state(void *user, tn_value result, const struct error *error) {
    struct acp_session *session = user;
    tn_value state = value_get(result, "state");
    if (!result) {
        session_load_failed(session, error);
        return;
    }
    acp_session_keep(session, state, !session->unfinished);
    if (session->unfinished) {
        value_unref(session->completed);
        session->completed = session_messages_before_turn(session->messages);
    }
    if (session->replays) acp_replay(session, state);
    open_servers(session);
}

static void read_state(struct acp_session *session) {
    tn_value params = value_set_take(value_object_reserve(1), "thread_id", value_text(session->id));
    acp_call_take(session->acp, "thread/state", params, session_on_state, session);
}

/* Without the checkpoints, the replay has only what the thread has committed. */
static void session_on_exported(void *user, tn_value thread, const struct error *error) {
    struct acp_session *session = user;
    tn_value nested = value_get(thread, "nested");
    (void)error;
    session->nested = nested ? value_ref(nested) : NULL;
    read_state(session);
}

/* The calls of tools in an agent that has not ended are only in the checkpoints of its nested run. */
static void read_nested(struct acp_session *session) {
    tn_value params = value_set_take(value_object_reserve(1), "thread_id", value_text(session->id));
    acp_call_take(session->acp, "thread/export", params, session_on_exported, session);
}

static bool is_of_document(const struct acp *acp, tn_value record) {
    tn_value agent = value_get(record, "agent");
    return agent && value_equal(agent, value_get(acp->description, "name"));
}

static void session_on_record(void *user, tn_value record, const struct error *error) {
    struct acp_session *session = user;
    struct acp *acp = session->acp;
    if (!record || !is_of_document(acp, record)) {
        struct error why = ERROR_INIT;
        if (record) error_set(&why, TN_NOT_FOUND, "NOT_FOUND", "the thread is of another document");
        session_load_failed(session, record ? &why : error);
        error_finish(&why);
        return;
    }
    tn_value status = value_get(record, "status"), interrupts = value_get(record, "interrupts");
    tn_value saved = value_get(value_get(value_get(record, "config"), "metadata"), "acp");
    tn_value title = value_get(saved, "title");
    session->title = title && value_is(title, TN_STRING) ? value_ref(title) : NULL;
    session->unfinished = !value_text_is(status, "done");
    session->discards = value_text_is(status, "cancelled") || value_text_is(status, "failed");
    if (value_text_is(status, "interrupted") && interrupts && value_is(interrupts, TN_ARRAY))
        session->waits = value_ref(interrupts);
    if (session->replays && acp_session_continues(session))
        read_nested(session);
    else
        read_state(session);
}

static void open_thread(struct acp_session *session) {
    tn_value params = value_set_take(value_object_reserve(1), "thread_id", value_text(session->id));
    acp_call_take(session->acp, "thread/get", params, session_on_record, session);
}

/* ---- session/new, load and resume ---- */

/* The document may have changed since `initialize`. */
static void session_on_described(void *user, tn_value description, const struct error *error) {
    struct acp_session *session = user;
    if (!description) {
        session_open_failed(session, error);
        return;
    }
    acp_set_description(session->acp, description);
    if (strcmp(peer_request_method(session->opener), "session/new") == 0)
        open_servers(session);
    else
        open_thread(session);
}

static void open_session(struct acp *acp, struct peer_request *request, const char *id) {
    struct acp_session *session = session_new(acp, id, peer_request_params(request));
    session->opener = request;
    session->replays = strcmp(peer_request_method(request), "session/load") == 0;
    acp_call_take(acp, "document/describe", acp_document_params(acp), session_on_described, session);
}

void acp_session_new(struct acp *acp, struct peer_request *request) {
    char id[KERNEL_ID_TEXT];
    if (!check_opening(acp, request, 0)) return;
    kernel_id_make(loop_wall_ms(server_loop(acp->options.server)), id);
    open_session(acp, request, id);
}

/* A session that this connection has open is opened again, if no prompt is open. */
static void open_saved(struct acp *acp, struct peer_request *request) {
    const char *id = acp_text(peer_request_params(request), "sessionId");
    struct acp_session *open = acp_session_find(acp, id);
    if (open && (open->turn || open->opener || open->ending)) {
        peer_refuse(request, RPC_INVALID_REQUEST, "the session `%.200s` is open, and busy; cancel its prompt first",
                    id);
        return;
    }
    if (!check_opening(acp, request, open ? 1 : 0)) return;
    if (open) acp_session_free(open);
    open_session(acp, request, id);
}

void acp_session_load(struct acp *acp, struct peer_request *request) { open_saved(acp, request); }
void acp_session_resume(struct acp *acp, struct peer_request *request) { open_saved(acp, request); }

/* ---- session/list ---- */

struct session_listing {
    struct acp *acp;
    struct peer_request *request;
    tn_value sessions;
    unsigned pages;
};

#define PAGES_MAX 20u /* pages of the store that are read for one answer, if they have no session of an editor */

/* The thread as SessionInfo; NULL if no editor has made it, or for another folder than `cwd`. */
static tn_value session_info(tn_value record, const char *cwd) {
    tn_value own = value_get(value_get(value_get(record, "config"), "metadata"), "acp");
    const char *folder = own && value_is(own, TN_OBJECT) ? acp_text(own, "cwd") : NULL;
    if (!folder || (cwd && strcmp(folder, cwd) != 0)) return NULL;
    tn_value info = value_set_take(value_object_reserve(5), "sessionId", value_ref(value_get(record, "thread_id")));
    tn_value directories = value_get(own, "directories");
    info = value_set_take(info, "cwd", value_ref(value_get(own, "cwd")));
    if (directories && value_is(directories, TN_ARRAY))
        info = value_set_take(info, "additionalDirectories", value_ref(directories));
    if (acp_text(own, "title")) info = value_set_take(info, "title", value_ref(value_get(own, "title")));
    return value_set_take(info, "updatedAt", value_ref(value_get(record, "updated_at")));
}

static void listing_read_page(struct session_listing *listing, const char *after);

static void listing_end(struct session_listing *listing, const struct error *error, tn_value cursor) {
    bool unknown = error && error->code && strcmp(error->code, "NOT_FOUND") == 0;
    if (unknown) {
        peer_refuse(listing->request, RPC_INVALID_PARAMS,
                    "`cursor`: the session of the last page does not exist any more");
    } else if (error) {
        acp_fail(listing->request, error);
    } else {
        tn_value result = value_set_take(value_object_reserve(2), "sessions", value_ref(listing->sessions));
        peer_reply_take(listing->request, cursor ? value_set_take(result, "nextCursor", value_ref(cursor)) : result);
    }
    value_unref(listing->sessions);
    mem_free(listing);
}

static void listing_on_page(void *user, tn_value page, const struct error *error) {
    struct session_listing *listing = user;
    const char *cwd = acp_text(peer_request_params(listing->request), "cwd");
    tn_value threads = value_get(page, "threads"), last = NULL;
    if (!page) {
        listing_end(listing, error, NULL);
        return;
    }
    for (size_t i = 0; i < value_count(threads); i++) {
        tn_value info = session_info(value_at(threads, i), cwd);
        last = value_get(value_at(threads, i), "thread_id");
        if (info) listing->sessions = value_push_take(listing->sessions, info);
    }
    bool more = last && value_to_bool(value_get(page, "more"));
    if (more && value_count(listing->sessions) == 0 && ++listing->pages < PAGES_MAX)
        listing_read_page(listing, value_chars(last, NULL));
    else
        listing_end(listing, NULL, more ? last : NULL);
}

static void listing_read_page(struct session_listing *listing, const char *after) {
    tn_value params = value_set_take(value_object_reserve(3), "limit", value_int(ACP_PAGE));
    params = value_set_take(params, "agent", value_ref(value_get(listing->acp->description, "name")));
    if (after) params = value_set_take(params, "after", value_text(after));
    acp_call_take(listing->acp, "thread/list", params, listing_on_page, listing);
}

void acp_session_list(struct acp *acp, struct peer_request *request) {
    struct session_listing *listing = mem_zalloc(sizeof *listing);
    *listing = (struct session_listing){acp, request, value_array(), 0};
    listing_read_page(listing, acp_text(peer_request_params(request), "cursor"));
}

/* ---- session/close and session/delete ---- */

/* A session that does not exist is as good as deleted. */
static void delete_on_done(void *user, tn_value result, const struct error *error) {
    if (result || thread_does_not_exist(error))
        peer_reply_take(user, value_object());
    else
        acp_fail(user, error);
}

static void delete_thread(struct acp *acp, struct peer_request *request) {
    tn_value id = value_ref(value_get(peer_request_params(request), "sessionId"));
    tn_value params = value_set_take(value_object_reserve(1), "thread_id", id);
    acp_call_take(acp, "thread/delete", params, delete_on_done, request);
}

void acp_session_look_ended(struct acp_session *session) {
    struct peer_request *ending = session->ending;
    struct acp *acp = session->acp;
    bool deletes = session->deletes;
    if (!ending || session->turn) return;
    acp_session_free(session);
    if (deletes)
        delete_thread(acp, ending);
    else
        peer_reply_take(ending, value_object());
}

static void end_session(struct acp_session *session, struct peer_request *request, bool deletes) {
    session->ending = request;
    session->deletes = deletes;
    if (session->turn)
        acp_prompt_cancel(session); /* the end of the turn frees the session, now or later */
    else
        acp_session_look_ended(session);
}

void acp_session_close(struct acp *acp, struct peer_request *request) {
    struct acp_session *session = acp_session_of(acp, request);
    if (session) end_session(session, request, false);
}

void acp_session_delete(struct acp *acp, struct peer_request *request) {
    if (!acp_session_find(acp, acp_text(peer_request_params(request), "sessionId"))) {
        delete_thread(acp, request);
        return;
    }
    struct acp_session *session = acp_session_of(acp, request);
    if (session) end_session(session, request, true);
}
