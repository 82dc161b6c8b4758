/*
 * wire.c - objects of A2A 0.3 as those of 1.0, and back.
 *
 * 0.3 names what an object is in `kind`, and has lower-case words for states and roles. 1.0 is ProtoJSON: the member
 * that is present says what an object is.
 */
#include "a2a_server.h"

static const char *const states[][2] = {
    {"TASK_STATE_SUBMITTED", "submitted"}, {"TASK_STATE_WORKING", "working"},
    {"TASK_STATE_COMPLETED", "completed"}, {"TASK_STATE_FAILED", "failed"},
    {"TASK_STATE_CANCELED", "canceled"},   {"TASK_STATE_INPUT_REQUIRED", "input-required"},
    {"TASK_STATE_REJECTED", "rejected"},   {"TASK_STATE_AUTH_REQUIRED", "auth-required"},
};

static const char *state_to_old(const char *state) {
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strcmp(states[i][0], state) == 0) return states[i][1];
    return "unknown";
}

bool wire_state_is_known(const char *state) {
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strcmp(states[i][0], state) == 0) return true;
    return false;
}

/* `to` with the members of `from` that it has; null is as if it had none. Takes `to`. */
static tn_value copy_members(tn_value to, tn_value from, const char *const *names) {
    for (; to != NULL && *names != NULL; names++) {
        tn_value member = tn_get(from, *names);
        if (member != NULL && tn.value->kind(member) != TN_NULL) to = tn_set_take(to, *names, tn_retain(member));
    }
    return to;
}

/* A new array with `convert` of each item; what is not an array stays as it is. */
static tn_value map_items(tn_value array, tn_value (*convert)(tn_value item)) {
    tn_value made = tn_build("[]");
    if (tn.value->kind(array) != TN_ARRAY) {
        tn_release(made);
        return tn_retain(array);
    }
    for (uint64_t i = 0, count = tn.value->count(array); i < count; i++)
        (void)tn_append_take(&made, convert(tn.value->at(array, i)));
    return made;
}

static tn_value set_mapped(tn_value to, tn_value from, const char *name, tn_value (*convert)(tn_value item)) {
    tn_value member = tn_get(from, name);
    return member == NULL || to == NULL ? to : tn_set_take(to, name, map_items(member, convert));
}

/* ---- To 0.3 ---- */

static tn_value part_to_old(tn_value part) {
    static const char *const names[] = {"metadata", NULL};
    tn_value text = tn_get(part, "text"), raw = tn_get(part, "raw"), url = tn_get(part, "url"), made;
    tn_value name = tn_get(part, "filename"), type = tn_get(part, "mediaType");
    if (text != NULL)
        made = tn_build("{s:s, s:v}", "kind", "text", "text", text);
    else if (raw != NULL || url != NULL)
        made = tn_build("{s:s, s:{s:v*, s:v*, s:v*, s:v*}}", "kind", "file", "file", "name", name, "mimeType", type,
                        "bytes", raw, "uri", url);
    else
        made = tn_build("{s:s, s:v?}", "kind", "data", "data", tn_get(part, "data"));
    return copy_members(made, part, names);
}

static tn_value message_to_old(tn_value message) {
    static const char *const names[] = {"messageId",  "contextId",        "taskId", "metadata",
                                        "extensions", "referenceTaskIds", NULL};
    bool user = serving_is(tn_get(message, "role"), "ROLE_USER");
    tn_value made = tn_build("{s:s, s:s}", "kind", "message", "role", user ? "user" : "agent");
    return set_mapped(copy_members(made, message, names), message, "parts", part_to_old);
}

static tn_value status_to_old(tn_value status) {
    tn_value message = tn_get(status, "message");
    return tn_build("{s:s, s:v*, s:V*}", "state", state_to_old(tn_get_text(status, "state", "")), "timestamp",
                    tn_get(status, "timestamp"), "message", message != NULL ? message_to_old(message) : NULL);
}

static tn_value artifact_to_old(tn_value artifact) {
    static const char *const names[] = {"artifactId", "name", "description", "metadata", "extensions", NULL};
    return set_mapped(copy_members(tn_build("{}"), artifact, names), artifact, "parts", part_to_old);
}

static tn_value task_to_old(tn_value task) {
    static const char *const names[] = {"id", "contextId", "metadata", NULL};
    tn_value made = copy_members(tn_build("{s:s}", "kind", "task"), task, names);
    if (made != NULL) made = tn_set_take(made, "status", status_to_old(tn_get(task, "status")));
    made = set_mapped(made, task, "history", message_to_old);
    return set_mapped(made, task, "artifacts", artifact_to_old);
}

static bool is_final(tn_value status) {
    const char *state = tn_get_text(status, "state", "");
    return strcmp(state, "TASK_STATE_WORKING") != 0 && strcmp(state, "TASK_STATE_SUBMITTED") != 0;
}

static tn_value event_to_old(tn_value event) {
    static const char *const status_names[] = {"taskId", "contextId", "metadata", NULL};
    static const char *const artifact_names[] = {"taskId", "contextId", "append", "lastChunk", "metadata", NULL};
    tn_value task = tn_get(event, "task"), message = tn_get(event, "message"), made;
    tn_value status = tn_get(event, "statusUpdate"), artifact = tn_get(event, "artifactUpdate");
    if (task != NULL) return task_to_old(task);
    if (message != NULL) return message_to_old(message);
    if (status != NULL) {
        made = tn_build("{s:s, s:V, s:b}", "kind", "status-update", "status", status_to_old(tn_get(status, "status")),
                        "final", (int)is_final(tn_get(status, "status")));
        return copy_members(made, status, status_names);
    }
    made = tn_build("{s:s, s:V}", "kind", "artifact-update", "artifact", artifact_to_old(tn_get(artifact, "artifact")));
    return copy_members(made, artifact, artifact_names);
}

tn_value wire_old(enum a2a_result kind, tn_value value) {
    if (kind == RESULT_TASK) return task_to_old(value);
    return kind == RESULT_EVENT ? event_to_old(value) : tn_retain(value);
}

/* ---- From 0.3 ---- */

static tn_value part_from_old(tn_value part) {
    const char *kind = tn_get_text(part, "kind", "");
    tn_value file = tn_get(part, "file"), metadata = tn_get(part, "metadata");
    if (strcmp(kind, "text") == 0) return tn_build("{s:v?, s:v*}", "text", tn_get(part, "text"), "metadata", metadata);
    if (strcmp(kind, "file") == 0)
        return tn_build("{s:v*, s:v*, s:v*, s:v*, s:v*}", "raw", tn_get(file, "bytes"), "url", tn_get(file, "uri"),
                        "filename", tn_get(file, "name"), "mediaType", tn_get(file, "mimeType"), "metadata", metadata);
    if (strcmp(kind, "data") == 0) return tn_build("{s:v?, s:v*}", "data", tn_get(part, "data"), "metadata", metadata);
    return tn_build("{}");
}

tn_value wire_message_from_old(tn_value message) {
    static const char *const names[] = {"messageId",  "contextId",        "taskId", "metadata",
                                        "extensions", "referenceTaskIds", NULL};
    tn_value role = tn_get(message, "role");
    if (tn.value->kind(message) != TN_OBJECT) return tn_retain(message);
    tn_value made = copy_members(tn_build("{}"), message, names);
    if (made != NULL && serving_is(role, "user")) made = tn_set_take(made, "role", tn_text("ROLE_USER"));
    if (made != NULL && serving_is(role, "agent")) made = tn_set_take(made, "role", tn_text("ROLE_AGENT"));
    return set_mapped(made, message, "parts", part_from_old);
}

/* The scheme is the first of the client's. What is not an object stays as it is. */
tn_value wire_push_config_from_old(tn_value config) {
    static const char *const names[] = {"id", "url", "token", NULL};
    tn_value authentication = tn_get(config, "authentication"), schemes = tn_get(authentication, "schemes");
    if (tn.value->kind(config) != TN_OBJECT) return tn_retain(config);
    tn_value made = copy_members(tn_build("{}"), config, names);
    if (made == NULL || authentication == NULL || tn.value->kind(authentication) == TN_NULL) return made;
    return tn_set_take(made, "authentication",
                       tn_build("{s:v*, s:v*}", "scheme",
                                tn.value->kind(schemes) == TN_ARRAY ? tn.value->at(schemes, 0) : NULL, "credentials",
                                tn_get(authentication, "credentials")));
}

/* {taskId, pushNotificationConfig}, or {id: of the task, pushNotificationConfigId?}. */
tn_value wire_push_params_from_old(tn_value params) {
    tn_value config = tn_get(params, "pushNotificationConfig");
    if (config == NULL)
        return tn_build("{s:v*, s:v*}", "taskId", tn_get(params, "id"), "id",
                        tn_get(params, "pushNotificationConfigId"));
    tn_value made = wire_push_config_from_old(config), task = tn_get(params, "taskId");
    if (tn.value->kind(made) != TN_OBJECT || task == NULL) return made;
    return tn_set_take(made, "taskId", tn_retain(task));
}

static tn_value configuration_from_old(tn_value old) {
    static const char *const names[] = {"acceptedOutputModes", "historyLength", NULL};
    tn_value blocking = tn_get(old, "blocking");
    bool at_once = tn.value->kind(blocking) == TN_BOOL && !serving_true(blocking);
    tn_value push = tn_get(old, "pushNotificationConfig");
    if (tn.value->kind(push) == TN_NULL) push = NULL;
    tn_value made = tn_build("{s:V*, s:b}", "taskPushNotificationConfig",
                             push != NULL ? wire_push_config_from_old(push) : NULL, "returnImmediately", (int)at_once);
    return copy_members(made, old, names);
}

tn_value wire_params_from_old(tn_value params) {
    static const char *const names[] = {"id", "metadata", "historyLength", NULL};
    tn_value message = tn_get(params, "message"), configuration = tn_get(params, "configuration");
    tn_value made = copy_members(tn_build("{}"), params, names);
    if (made != NULL && message != NULL) made = tn_set_take(made, "message", wire_message_from_old(message));
    if (made != NULL && configuration != NULL)
        made = tn_set_take(made, "configuration", configuration_from_old(configuration));
    return made;
}

/* ---- ProtoJSON ---- */

/* "history_length" as "historyLength": new. */
static tn_value camel_name(const char *name, uint64_t length) {
    struct tn_text_buffer text = TN_TEXT_BUFFER(256);
    for (uint64_t i = 0; i < length; i++) {
        bool joins = name[i] == '_' && i + 1 < length && name[i + 1] >= 'a' && name[i + 1] <= 'z';
        if (joins) i++;
        (void)tn_text_append_char(&text, (char)(joins ? name[i] - 'a' + 'A' : name[i]));
    }
    return tn_text_finish(&text);
}

/* The object with the names of its members in lowerCamelCase: new. What is not an object stays as it is. A member that
 * is null is absent, but for `data`, which has any value. */
static tn_value with_camel_names(tn_value object) {
    tn_builder *builder = NULL;
    tn_value key, member;
    if (tn.value->kind(object) != TN_OBJECT) return tn_retain(object);
    builder = tn_builder_new();
    tn_put_begin(builder, NULL, TN_OBJECT);
    for (uint64_t i = 0, count = tn.value->count(object); i < count; i++) {
        uint64_t length = 0;
        if (tn.value->entry(object, i, &key, &member) != TN_OK) break;
        const char *name = tn_chars(key, &length);
        tn_value camel = memchr(name, '_', length) != NULL ? camel_name(name, length) : NULL;
        bool renames = camel != NULL && tn_get_key(object, camel) == NULL;
        if (tn.value->kind(member) != TN_NULL || strcmp(name, "data") == 0)
            tn_put_key(builder, renames ? camel : key, member);
        tn_release(camel);
    }
    tn.value->end(builder);
    return tn_finish(builder);
}

static tn_value message_named(tn_value message) {
    tn_value made = with_camel_names(message);
    return made != NULL && tn.value->kind(message) == TN_OBJECT ? set_mapped(made, message, "parts", with_camel_names)
                                                                : made;
}

tn_value wire_params_named(tn_value params) {
    tn_value made = with_camel_names(params), message = tn_get(params, "message");
    tn_value configuration = tn_get(params, "configuration");
    if (made != NULL && tn.value->kind(message) == TN_OBJECT)
        made = tn_set_take(made, "message", message_named(message));
    if (made != NULL && tn.value->kind(configuration) == TN_OBJECT)
        made = tn_set_take(made, "configuration", with_camel_names(configuration));
    return made != NULL ? made : tn_retain(params); /* two members have the same name */
}
