/*
 * acp_tool.c - calls of tools as the client shows them.
 *
 *     message of a model with a call  ──▶ tool_call {pending}
 *     approval of it                  ──▶ session/request_permission {pending}, then {in_progress} or {failed}
 *     ACP_CALL_MS without an approval ──▶ tool_call_update {in_progress}
 *     message with its result         ──▶ tool_call_update {completed or failed}, after {in_progress}
 *
 * No event says that a tool has started. The document can require an approval that tool/show does not know, so a call
 * stays pending for ACP_CALL_MS: a run that needs approvals is interrupted before.
 *
 * session->calls has the calls without a result, {id of the model: {id, name, arguments, runs, asks}}. They outlive the
 * prompt if the next one continues its run. Models repeat the ids of calls, so the client gets other ones: a number of
 * the session is before them.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/server/acp/acp_prompt.h"
#include <string.h>

#define CLIENT_PREFIX "acp." /* of the names of tools of the client's servers */
#define TITLE_MAX     200u   /* bytes of the part of an argument in a title */

/* ---- What is known of a tool ---- */

static void keep_shown(void *user, tn_value result, const struct error *error) {
    (void)error;
    *(tn_value *)user = result ? value_ref(result) : NULL;
}

/* As tool/show describes it; a new reference. NULL when it does not exist, or is not known yet. */
static tn_value tool_shown(struct acp *acp, const char *name) {
    tn_value shown = NULL;
    if (!*name || strlen(name) > 200) return NULL;
    tn_value params = value_set_take(value_object_reserve(1), "tool", value_text(name));
    acp_call_take(acp, "tool/show", params, keep_shown, &shown);
    acp_calls_drop(acp, &shown);
    return shown;
}

static bool tool_has_effect(tn_value shown, const char *start) {
    tn_value effects = value_get(shown, "effects");
    for (size_t i = 0; effects && i < value_count(effects); i++) {
        tn_value effect = value_at(effects, i);
        if (value_is(effect, TN_STRING) && strncmp(value_chars(effect, NULL), start, strlen(start)) == 0) return true;
    }
    return false;
}

static bool tool_name_has(const char *name, const char *const *words) {
    for (; *words; words++)
        if (strstr(name, *words)) return true;
    return false;
}

static bool tool_is_of_mcp(tn_value shown) { return shown && value_text_is(value_get(shown, "plugin"), "tenon.mcp"); }

/* By its effects. All tools of MCP servers have the effect of their connection, so it says nothing. */
static const char *tool_kind(tn_value shown, const char *name) {
    static const char *const finds[] = {"search", "find", "grep", "glob", NULL}, *const removes[] = {"delete", "remove",
                                                                                                     NULL};
    bool mcp = tool_is_of_mcp(shown);
    bool writes = tool_has_effect(shown, "fs.write") || tool_has_effect(shown, "mcp.write");
    if ((tool_has_effect(shown, "destructive") || writes) && tool_name_has(name, removes)) return "delete";
    if (tool_has_effect(shown, "fs.write")) return "edit";
    if (tool_has_effect(shown, "process.spawn") && !mcp) return "execute";
    if (tool_name_has(name, finds)) return "search";
    if (tool_has_effect(shown, "fs.read") || (mcp && !writes && !tool_has_effect(shown, "destructive"))) return "read";
    if (tool_has_effect(shown, "network") && !mcp) return "fetch";
    return "other";
}

/* ---- Arguments ---- */

/* JSON text is parsed. A new reference. */
static tn_value read_arguments(tn_value arguments) {
    size_t length;
    tn_value parsed = NULL;
    if (!arguments) return value_object();
    if (!value_is(arguments, TN_STRING)) return value_ref(arguments);
    const char *text = value_chars(arguments, &length);
    return json_read(text, length, NULL, &parsed, NULL) == TN_OK ? parsed : value_ref(arguments);
}

static const char *argument_text_of(tn_value object, const char *const *names) {
    for (; value_is(object, TN_OBJECT) && *names; names++)
        if (acp_text(object, *names)) return acp_text(object, *names);
    return NULL;
}

static const char *path_argument(tn_value arguments) {
    static const char *const names[] = {"path", "file_path", "file", "filename", NULL};
    return argument_text_of(arguments, names);
}

static tn_value absolute_path(const struct acp_session *session, const char *path) {
    if (strncmp(path, "file://", 7) == 0) path += 7;
    return *path == '/' ? value_text(path) : value_format("%s/%s", session->cwd, path);
}

static tn_value tool_locations(const struct acp_session *session, tn_value arguments) {
    const char *path = path_argument(arguments);
    tn_value list = value_array(), line = path ? value_get(arguments, "line") : NULL;
    if (!path) return list;
    tn_value location = value_set_take(value_object_reserve(2), "path", absolute_path(session, path));
    if (line && value_is(line, TN_INT) && value_to_int(line) >= 0 && value_to_int(line) <= UINT32_MAX)
        location = value_set_take(location, "line", value_ref(line));
    return value_push_take(list, location);
}

static tn_value tool_title(tn_value shown, const char *name, tn_value arguments) {
    static const char *const names[] = {"path",  "file_path", "file", "filename", "command",
                                        "query", "pattern",   "url",  NULL};
    const char *title = shown ? acp_text(shown, "title") : NULL, *detail = argument_text_of(arguments, names);
    size_t length = detail ? strcspn(detail, "\n\r") : 0;
    if (!title || !*title || tool_is_of_mcp(shown))
        title = *name ? name : "a tool"; /* its title is a long description */
    if (strncmp(title, CLIENT_PREFIX, strlen(CLIENT_PREFIX)) == 0) title += strlen(CLIENT_PREFIX);
    size_t whole = strlen(title);
    if (whole > 1 && title[whole - 1] == '.') whole--;
    if (length > TITLE_MAX) length = TITLE_MAX;
    return length ? value_format("%.*s: %.*s", (int)whole, title, (int)length, detail)
                  : value_format("%.*s", (int)whole, title);
}

/* {toolCallId, title, kind, status, rawInput, locations} of a call that is pending. `shown` is borrowed. */
static tn_value describe_call(struct acp_session *session, tn_value shown, tn_value id, const char *name,
                              tn_value arguments) {
    tn_value where = tool_locations(session, arguments);
    tn_value call = value_set_take(value_object_reserve(7), "toolCallId", value_ref(id));
    call = value_set_take(call, "title", tool_title(shown, name, arguments));
    call = value_set_take(call, "kind", value_text(tool_kind(shown, name)));
    call = value_set_take(call, "status", value_text("pending"));
    call = value_set_take(call, "rawInput", value_ref(arguments));
    if (value_count(where)) return value_set_take(call, "locations", where);
    value_unref(where);
    return call;
}

/* ---- Start and end ---- */

void acp_tool_start(struct acp_session *session, tn_value call) {
    tn_value own = value_get(call, "id");
    const char *name = acp_text(call, "name");
    if (!own || !value_is(own, TN_STRING) || !name) return;
    tn_value arguments = read_arguments(value_get(call, "arguments")), shown = tool_shown(session->acp, name);
    tn_value id = value_format("%llu-%s", (unsigned long long)++session->tool_calls, value_chars(own, NULL));
    tn_value kept = value_set_take(value_object_reserve(5), "id", value_ref(id));
    kept = value_set_take(kept, "name", value_text(name));
    kept = value_set_take(kept, "arguments", value_ref(arguments));
    kept = value_set_take(kept, "asks", value_bool(!value_text_is(value_get(shown, "approval"), "auto")));
    session->calls = value_set_key_take(session->calls, value_ref(own), kept);
    acp_update_take(session, "tool_call", describe_call(session, shown, id, name, arguments));
    value_unref(id);
    value_unref(shown);
    value_unref(arguments);
}

static tn_value call_update(tn_value id, const char *status) {
    tn_value update = value_set_take(value_object_reserve(5), "toolCallId", value_ref(id));
    return value_set_take(update, "status", value_text(status));
}

static bool call_runs(tn_value call) { return value_get(call, "runs") != NULL; }

/* The call of this index is in progress now, unless the client has got that already. */
static void call_set_runs(struct acp_session *session, size_t index) {
    tn_value own = value_ref(value_key_at(session->calls, index)),
             call = value_ref(value_value_at(session->calls, index));
    if (!call_runs(call)) {
        acp_update_take(session, "tool_call_update", call_update(value_get(call, "id"), "in_progress"));
        call = value_set_take(call, "runs", value_bool(true));
    }
    session->calls = value_set_key_take(session->calls, own, call);
}

void acp_tools_run(struct acp_session *session) {
    for (size_t i = 0; i < value_count(session->calls); i++)
        if (!value_to_bool(value_get(value_value_at(session->calls, i), "asks"))) call_set_runs(session, i);
}

/* Text blocks of at most ACP_OUTPUT_MAX bytes in all. Takes the block. */
static tn_value cut_block_take(tn_value block, size_t *left) {
    tn_value text = value_get(block, "text");
    size_t length = 0;
    if (!text || !value_is(text, TN_STRING)) return block;
    (void)value_chars(text, &length);
    block = value_set_take(block, "text", acp_text_cut_take(value_ref(text), *left));
    *left -= length < *left ? length : *left;
    return block;
}

/* What a tool that has changed a file reports: {path, newText, oldText?}; NULL if it is not that. */
static tn_value tool_diff(const struct acp_session *session, tn_value output) {
    static const char *const fresh[] = {"newText", "new_text", NULL}, *const old[] = {"oldText", "old_text", NULL};
    const char *path = path_argument(output), *after = argument_text_of(output, fresh),
               *before = argument_text_of(output, old);
    if (!path || !after) return NULL;
    tn_value diff = value_set_take(value_object_reserve(4), "type", value_text("diff"));
    diff = value_set_take(diff, "path", absolute_path(session, path));
    if (before) diff = value_set_take(diff, "oldText", value_text(before));
    return value_set_take(diff, "newText", value_text(after));
}

/* The output as data: JSON text is parsed. NULL if it is too long. */
static tn_value tool_raw_output(tn_value content) {
    size_t length;
    if (!content || !value_is(content, TN_STRING)) return NULL;
    (void)value_chars(content, &length);
    return length <= ACP_OUTPUT_MAX ? read_arguments(content) : NULL;
}

void acp_tool_end(struct acp_session *session, tn_value message) {
    tn_value own = value_get(message, "tool_call_id"), content = value_get(message, "content");
    tn_value call = own && value_is(own, TN_STRING) ? value_get_key(session->calls, own) : NULL;
    size_t left = ACP_OUTPUT_MAX;
    if (!call) return;
    bool failed = value_text_is(value_get(message, "status"), "error");
    if (session->turn && !failed && !call_runs(call)) /* it was quick */
        acp_update_take(session, "tool_call_update", call_update(value_get(call, "id"), "in_progress"));
    tn_value update = call_update(value_get(call, "id"), failed ? "failed" : "completed");
    tn_value shown = value_array(), blocks = acp_content_blocks(content, false), raw = tool_raw_output(content);
    tn_value diff = raw ? tool_diff(session, raw) : NULL;
    if (diff) shown = value_push_take(shown, diff);
    for (size_t i = 0; !diff && i < value_count(blocks); i++) {
        tn_value entry = value_set_take(value_object_reserve(2), "type", value_text("content"));
        tn_value block = cut_block_take(value_ref(value_at(blocks, i)), &left);
        shown = value_push_take(shown, value_set_take(entry, "content", block));
    }
    update = value_set_take(update, "content", shown);
    if (raw) update = value_set_take(update, "rawOutput", raw);
    acp_update_take(session, "tool_call_update", update);
    session->calls = value_remove_take(session->calls, value_ref(own));
    value_unref(blocks);
}

void acp_tools_abandon(struct acp_session *session) {
    for (size_t i = 0; i < value_count(session->calls); i++)
        acp_update_take(session, "tool_call_update",
                        call_update(value_get(value_value_at(session->calls, i), "id"), "failed"));
    value_unref(session->calls);
    session->calls = value_object();
}

/* ---- Approvals ---- */

/* Of equal calls, the first one that is pending: each of them is asked for. */
static tn_value tool_open_call(const struct acp_session *session, const char *name, tn_value arguments) {
    tn_value found = NULL;
    for (size_t i = 0; i < value_count(session->calls); i++) {
        tn_value call = value_value_at(session->calls, i);
        bool same =
            value_text_is(value_get(call, "name"), name) && value_equal(value_get(call, "arguments"), arguments);
        if (same && (!found || (call_runs(found) && !call_runs(call)))) found = call;
    }
    return found;
}

void acp_tool_approved(struct acp_session *session, tn_value payload) {
    const char *tool = acp_text(payload, "tool");
    tn_value arguments = read_arguments(value_get(payload, "arguments"));
    tn_value open = tool ? tool_open_call(session, tool, arguments) : NULL;
    for (size_t i = 0; open && i < value_count(session->calls); i++)
        if (value_value_at(session->calls, i) == open) {
            call_set_runs(session, i);
            break;
        }
    value_unref(arguments);
}

tn_value acp_tool_of_approval(struct acp_session *session, tn_value payload, bool *made) {
    const char *tool = acp_text(payload, "tool"), *node = acp_text(payload, "node");
    const char *name = tool ? tool : node ? node : "";
    tn_value arguments = read_arguments(value_get(payload, "arguments")),
             open = tool_open_call(session, name, arguments), shown = tool_shown(session->acp, name);
    tn_value id = open ? value_ref(value_get(open, "id"))
                       : value_format("%llu-approval", (unsigned long long)++session->tool_calls);
    tn_value call = describe_call(session, shown, id, name, arguments), why = value_get(payload, "why");
    *made = !open;
    if (!tool && node) call = value_set_take(call, "title", value_format("Run the node `%s`", node));
    if (!open) acp_update_take(session, "tool_call", value_ref(call));
    if (why && value_is(why, TN_STRING)) {
        tn_value entry = value_set_take(value_object_reserve(2), "type", value_text("content"));
        entry = value_set_take(entry, "content", acp_text_block(why));
        call = value_set_take(call, "content", value_push_take(value_array(), entry));
    }
    value_unref(id);
    value_unref(shown);
    value_unref(arguments);
    return call;
}

void acp_tool_status(struct acp_session *session, tn_value tool_call, const char *status) {
    tn_value id = value_get(tool_call, "toolCallId");
    bool runs = strcmp(status, "in_progress") == 0;
    if (!tool_call) return;
    for (size_t i = 0; runs && i < value_count(session->calls); i++)
        if (value_equal(value_get(value_value_at(session->calls, i), "id"), id)) {
            call_set_runs(session, i);
            return;
        }
    acp_update_take(session, "tool_call_update", call_update(id, status));
}
