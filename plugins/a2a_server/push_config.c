/*
 * push_config.c - configurations of push notifications as clients write and read them, and how they are saved: as a
 * memory of the user, so that a task that continues after a restart still has them. Every key of the user reads such a
 * memory, so secrets are not saved.
 */
#include "push.h"

/* A text of visible characters of ASCII, with `space` also that: it becomes part of a header. */
static bool is_header_text(const char *text, uint64_t length, bool space) {
    for (uint64_t i = 0; i < length; i++)
        if (text[i] > '~' || text[i] < (space && i > 0 && i + 1 < length ? ' ' : '!')) return false;
    return true;
}

/* The member; NULL also if it is null. */
static tn_value member_of(tn_value object, const char *name) {
    tn_value member = tn_get(object, name);
    return tn.value->kind(member) == TN_NULL ? NULL : member;
}

static bool check_text(tn_value object, const char *name, uint64_t most, bool space, struct a2a_problem *problem) {
    tn_value member = member_of(object, name);
    uint64_t length = 0;
    const char *text = tn_chars(member, &length);
    if (member == NULL || (text != NULL && length <= most && is_header_text(text, length, space))) return true;
    return problem_set(problem, A2A_INVALID_PARAMS, "%s must have at most %llu visible characters of ASCII", name,
                       (unsigned long long)most);
}

static bool check(const struct a2a *a2a, tn_value given, struct a2a_problem *problem) {
    static const char token[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-";
    tn_value authentication = member_of(given, "authentication"), id = member_of(given, "id");
    uint64_t length = 0;
    const char *url = tn_chars(tn_get(given, "url"), &length), *scheme = tn_get_text(authentication, "scheme", NULL);
    if (a2a->http == NULL)
        return problem_set(problem, A2A_NO_PUSH, "the agent does not send push notifications: subscribe to the task");
    if (url == NULL || *url == '\0')
        return problem_set(problem, A2A_INVALID_PARAMS, "`url` of the notifications must be a string; it is required");
    if (strlen(url) != length || !serving_url_is_allowed(url, a2a->push_allow))
        return problem_set(problem, A2A_INVALID_PARAMS,
                           "`url`: the operator of this server has not allowed notifications to this address");
    if (id != NULL && (tn.value->kind(id) != TN_STRING || !check_text(given, "id", ID_MAX, false, problem)))
        return problem_set(problem, A2A_INVALID_PARAMS, "`id` must have at most %u visible characters of ASCII",
                           ID_MAX);
    if (authentication != NULL &&
        (scheme == NULL || *scheme == '\0' || strlen(scheme) > 64 || scheme[strspn(scheme, token)] != '\0'))
        return problem_set(problem, A2A_INVALID_PARAMS,
                           "authentication.scheme must be the name of a scheme, for example Bearer");
    return check_text(given, "token", PUSH_TOKEN_MAX, false, problem) &&
           check_text(authentication, "credentials", PUSH_SECRET_MAX, true, problem);
}

tn_value push_config_read(const struct a2a *a2a, tn_value given, const char *default_id, struct a2a_problem *problem) {
    tn_value authentication = member_of(given, "authentication"), id = member_of(given, "id");
    tn_value token = member_of(given, "token");
    char made[33];
    if (!check(a2a, given, problem)) return NULL;
    serving_random_hex(made, 32);
    if (id == NULL || serving_is(id, "")) id = NULL;
    if (serving_is(token, "")) token = NULL;
    tn_value config = tn_build("{s:s, s:v, s:v*}", "id",
                               id != NULL           ? tn_chars(id, NULL)
                               : default_id != NULL ? default_id
                                                    : made,
                               "url", tn_get(given, "url"), "token", token);
    if (config != NULL && authentication != NULL)
        config = tn_set_take(config, "authentication",
                             tn_build("{s:v, s:v*}", "scheme", tn_get(authentication, "scheme"), "credentials",
                                      member_of(authentication, "credentials")));
    if (config == NULL) (void)problem_set(problem, A2A_INTERNAL, "memory ran out");
    return config;
}

tn_value push_config_value(const struct push *push, bool old) {
    tn_value config = push->config, scheme = tn_get(tn_get(config, "authentication"), "scheme"), authentication = NULL;
    if (scheme != NULL)
        authentication = old ? tn_build("{s:[v]}", "schemes", scheme) : tn_build("{s:v}", "scheme", scheme);
    tn_value read = tn_build("{s:v, s:v, s:v*, s:V*}", "id", tn_get(config, "id"), "url", tn_get(config, "url"),
                             "token", tn_get(config, "token"), "authentication", authentication);
    if (old) return tn_build("{s:s, s:V}", "taskId", push->task->id, "pushNotificationConfig", read);
    return read != NULL ? tn_set_take(read, "taskId", tn_text(push->task->id)) : NULL;
}

/* ---- What is saved ---- */

static bool has_secret(tn_value config) {
    return tn_get(config, "token") != NULL || tn_get(tn_get(config, "authentication"), "credentials") != NULL;
}

tn_value push_saved(const struct task *task) {
    tn_value configs = NULL;
    for (const struct push *push = task->pushes; push != NULL; push = push->next)
        if (!has_secret(push->config))
            (void)tn_append_take(&configs, tn_build("{s:v, s:b}", "config", push->config, "old", (int)push->old));
    return configs;
}

/* The user can have written the memory, and the operator may have allowed less meanwhile: what is not a valid
 * configuration is dropped. */
void push_restore(struct task *task, tn_value saved) {
    for (uint64_t i = 0, count = tn.value->kind(saved) == TN_ARRAY ? tn.value->count(saved) : 0; i < count; i++) {
        struct a2a_problem problem;
        tn_value item = tn.value->at(saved, i);
        tn_value config = push_config_read(task->a2a, tn_get(item, "config"), NULL, &problem);
        if (config != NULL) (void)push_add(task, config, serving_true(tn_get(item, "old")));
        tn_release(config);
    }
}

tn_value push_memory_key(const char *task_id) {
    return tn_build("{s:[s, s], s:s}", "namespace", "tenon.a2a_server", "push", "key", task_id);
}

static void TN_ABI on_saved(void *user, int32_t status, tn_value value) {
    (void)user;
    if (status != TN_OK && !serving_is(tn_get(value, "code"), "UNSUPPORTED"))
        tn_log(TN_LOG_WARN, "a2a_server: the configurations of push notifications of a task could not be saved");
}

void push_save(const struct task *task, uint64_t caller, tn_host_handler handler, void *user, uint64_t *call) {
    tn_value params = push_memory_key(task->id), saved = push_saved(task);
    const char *method = saved != NULL ? "memory/put" : "memory/delete";
    if (saved != NULL && params != NULL) params = tn_set_take(params, "value", saved);
    if (saved != NULL && params != NULL) params = tn_set_take(params, "text", tn_bool(0));
    if (saved != NULL && params != NULL) params = tn_set_take(params, "vector", tn_bool(0));
    if (saved != NULL && params != NULL) params = tn_set_take(params, "ttl_seconds", tn_int(PUSH_SAVED_S));
    serving_call_take(&task->a2a->serving, caller, method, params, handler != NULL ? handler : on_saved, user, call);
}
