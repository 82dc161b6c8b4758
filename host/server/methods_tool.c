/*
 * methods_tool.c - tools: methods/tool.yaml.
 *
 * A call of a tool is a use of it by the caller of the method: by the operator, or by a component of a plugin, whose
 * authority limits it as if it had bound the tool. In a run, the run asks for approval, and the method starts again
 * with the answer. Elsewhere the client asks, and calls again with `approved`.
 */
#include "adl/document/catalog.h"
#include "adl/value/wildcard.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/engine/engine.h"
#include "host/engine/tool/approval.h"
#include "host/engine/tool/tool.h"
#include "host/engine/tool/tool_policy.h"
#include "host/engine/tool/tool_set.h"
#include "host/engine/tool/tool_use.h"
#include "host/engine/tool/tool_validate.h"
#include "host/plugin/call/call.h"
#include "host/plugin/registry/registry.h"
#include "host/server/client.h"
#include "host/server/method_call.h"
#include "host/server/method_internal.h"
#include "host/server/server.h"
#include <string.h>

/* ---- Clients with an owner ---- */

/* `serve: {tools}` of tenon.yaml has patterns of the tools that they may use. */
static bool tool_is_served(const struct method_call *call, const char *name) {
    if (!client_owner(call->client)) return true;
    tn_value patterns = value_get(config_serve(host_config(server_host(call->server))), "tools");
    for (size_t i = 0; i < value_count(patterns); i++) {
        tn_value pattern = value_at(patterns, i);
        if (value_is(pattern, TN_STRING) && wildcard_matches_tool(value_chars(pattern, NULL), name)) return true;
    }
    return false;
}

/* The same for a tool that exists and for one that does not. */
static int32_t check_served(const struct method_call *call, struct error *error) {
    const char *name = method_text(call, "tool");
    if (tool_is_served(call, name)) return TN_OK;
    return error_set(error, TN_FAILED, "PERMISSION_DENIED",
                     "%s may not use the tool `%.200s`; the operator can allow it with `serve: {tools: [%.200s]}` in "
                     "tenon.yaml",
                     client_name(call->client), name, name);
}

/* ---- Descriptions ---- */

struct tool_rows {
    const struct method_call *call;
    tn_value rows;
    size_t limit;
};

static void tool_add_row(void *user, const struct component_info *info) {
    struct tool_rows *list = user;
    if (value_count(list->rows) == list->limit || !tool_is_served(list->call, info->id)) return;
    const struct engine *engine = server_engine(list->call->server);
    list->rows = value_push_take(list->rows, tool_describe(engine, method_authority(list->call), info));
}

static int32_t tool_found(const struct method_call *call, const char *query, const char *pattern, size_t limit) {
    struct tool_rows list = {call, value_array(), limit};
    if (client_owner(call->client)) limit = SIZE_MAX; /* those that are not served do not count */
    method_defer_loads(call, true);
    tool_search(server_engine(call->server), query, pattern, limit, tool_add_row, &list);
    method_defer_loads(call, false);
    struct registry *registry = host_registry(server_host(call->server));
    bool more = registry_has_deferred(registry) || registry_is_coming(registry, "tool", pattern ? pattern : "*");
    if (more && method_wait_for_plugins(call, TN_OK) == METHOD_RETRY) {
        value_unref(list.rows);
        return METHOD_RETRY;
    }
    return method_done_take(call, value_set_take(value_object_reserve(1), "tools", list.rows));
}

static int32_t tool_list(const struct method_call *call, struct error *error) {
    (void)error;
    return tool_found(call, "", method_text(call, "pattern"), SIZE_MAX);
}

static int32_t tool_search_method(const struct method_call *call, struct error *error) {
    (void)error;
    return tool_found(call, method_text(call, "query"), NULL, (size_t)method_int(call, "limit", 20));
}

static int32_t tool_resolve(const struct method_call *call, struct component **out, struct error *error) {
    struct registry *registry = host_registry(server_host(call->server));
    method_defer_loads(call, true);
    int32_t status = registry_resolve(registry, "tool", method_text(call, "tool"), out, error);
    method_defer_loads(call, false);
    return status == TN_OK ? status : method_wait_for_plugins(call, status);
}

static int32_t tool_show(const struct method_call *call, struct error *error) {
    struct component *component;
    int32_t status = check_served(call, error);
    if (status == TN_OK) status = tool_resolve(call, &component, error);
    if (status != TN_OK) return status;
    return method_done_take(call, tool_describe(server_engine(call->server), method_authority(call), component->info));
}

/* ---- Calling ---- */

static tn_value tool_arguments(const struct method_call *call) {
    tn_value arguments = value_get(call->params, "arguments");
    return arguments ? value_ref(arguments) : value_object();
}

/* What the client can do; a new reference. A rule of the operator that asks needs a person in every call. */
static tn_value approval_hint(const struct method_call *call, const struct component_info *info,
                              const struct tool_policy *policy) {
    if (tool_grant_counts(method_authority(call), policy, info->id))
        return value_text("ask a person, and call it again with `approved: true`");
    return value_format("%s may not approve it; call it from a run, which can ask a person%s",
                        client_name(call->client),
                        strcmp(policy->by, "operator") == 0
                            ? ""
                            : ", or add \"calls.approved\" to the effects of the caller, if a person has approved it");
}

static int32_t refuse_without_approval(const struct method_call *call, const struct component_info *info,
                                       const struct tool_policy *policy, tn_value arguments, struct error *error) {
    tn_value hint = approval_hint(call, info, policy);
    tn_value payload = tool_question(info, method_authority(call), policy, arguments);
    tn_value detail = value_set_take(value_object_reserve(2), "payload", payload);
    detail = value_set_take(detail, "schema", tool_answer_schema(info));
    int32_t status = error_set(error, TN_FAILED, "APPROVAL_NEEDED", "the tool `%s` needs approval (%s); %s", info->id,
                               value_chars(policy->why, NULL), value_chars(hint, NULL));
    value_unref(hint);
    error_set_detail_take(error, detail);
    return status;
}

/* In a run the use itself asks. Wrong arguments are reported before anyone is asked. */
static int32_t check_approval(const struct method_call *call, tn_value arguments, struct error *error) {
    struct component *component;
    struct tool_policy policy;
    struct authority *caller = method_authority(call);
    struct call *made = call_lookup_open(call->token);
    if (made && approval_can_wait(made)) return TN_OK;
    int32_t status = tool_resolve(call, &component, error);
    if (status != TN_OK) return status;
    const struct component_info *info = component->info;
    tool_policy_chosen(server_engine(call->server), caller, info, &policy);
    bool granted = method_flag(call, "approved") && tool_grant_counts(caller, &policy, info->id);
    if (policy.approval == TOOL_ASK && !granted) {
        status = tool_validate(info->input, arguments, TOOL_ARGUMENTS, info->id, error);
        if (status == TN_OK) status = refuse_without_approval(call, info, &policy, arguments, error);
    }
    tool_policy_finish(&policy);
    return status;
}

static void tool_call_ended(void *user, int32_t status, tn_value output) {
    if (status != TN_OK) {
        call_end_alike(user, status, output);
        return;
    }
    tn_value result = value_set_take(value_object_reserve(1), "output", value_ref(output));
    method_on_stored(user, TN_OK, result, NULL);
    value_unref(result);
}

/* The tools that the caller may use, limited to the one that the method calls. */
static int32_t tool_open(const struct method_call *call, struct callable **out, struct error *error) {
    tn_value names = value_push_take(value_array_reserve(1), value_text(method_text(call, "tool")));
    method_defer_loads(call, true);
    int32_t status = tool_set_new(server_engine(call->server), method_authority(call), names, out, error);
    method_defer_loads(call, false);
    value_unref(names);
    return status == TN_OK ? status : method_wait_for_plugins(call, status);
}

static int32_t tool_call_method(const struct method_call *call, struct error *error) {
    struct callable *set = NULL;
    int32_t status = check_served(call, error);
    if (status == TN_OK) status = tool_open(call, &set, error);
    if (status != TN_OK) return status;
    tn_value arguments = tool_arguments(call), request = value_object_reserve(3);
    request = value_set_take(request, "name", value_text(method_text(call, "tool")));
    request = value_set_take(request, "arguments", value_ref(arguments));
    request = value_set_take(request, "approved", value_bool(method_flag(call, "approved")));
    status = check_approval(call, arguments, error);
    if (status == TN_OK)
        status = method_refuse_child(call_child(call->token, set, false, request, tool_call_ended, method_user(call)),
                                     error);
    value_unref(request);
    value_unref(arguments);
    callable_unref(set);
    return status;
}

const struct method_handler tool_methods[] = {
    {"tool/list", tool_list},
    {"tool/search", tool_search_method},
    {"tool/show", tool_show},
    {"tool/call", tool_call_method},
    {NULL, NULL},
};
