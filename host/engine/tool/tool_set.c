/*
 * tool_set.c - sets of tools: lists their definitions, and calls a tool by name.
 *
 * The list is cached for one generation of the registry. Each call applies the same rules again, so a tool that was
 * added after the list was made can be called, and a removed one cannot.
 */
#include "host/engine/tool/tool_set.h"
#include "adl/document/catalog.h"
#include "adl/document/effects.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "adl/value/wildcard.h"
#include "host/base/log.h"
#include "host/engine/engine.h"
#include "host/engine/tool/tool.h"
#include "host/engine/tool/tool_use.h"
#include "host/plugin/call/authority.h"
#include "host/plugin/call/call.h"
#include "host/plugin/registry/registry.h"
#include <assert.h>
#include <string.h>
#include <tenon/tool.h>

/*
 * This name in a set belongs to no tool: the component that has bound the set answers it, by searching what describe
 * returns, and shows a model only a part (plugins/agents/search.c).
 */
#define TOOL_SET_SEARCH       "tool.search"
#define TOOL_SET_SEARCHED_MAX 16384u /* tools of such a set; of others TN_TOOL_SET_MAX */

struct tool_set_callable {
    struct tool_set base; /* first */
    struct engine *engine;
    struct authority *caller; /* who uses the tools; NULL: the operator */
    tn_value names;           /* names and patterns; NULL means all that are allowed */
    bool searched;            /* a model searches it: it may be larger */
    tn_value definitions;
    uint64_t generation; /* of the registry, when `definitions` was made */
    /* Tools that the caller may call, as far as they have been called since `permitted_at`, a generation. */
    const struct component_info **permitted;
    size_t permitted_count;
    uint64_t permitted_at;
};

static struct tool_set_callable *tool_set_of(struct callable *callable) { return (struct tool_set_callable *)callable; }

static const char *text_at(tn_value names, size_t index) { return value_chars(value_at(names, index), NULL); }

static bool set_contains(const struct tool_set_callable *set, const char *name) {
    bool named = !set->names;
    for (size_t i = 0; !named && i < value_count(set->names); i++)
        named = wildcard_matches_tool(text_at(set->names, i), name);
    return named && authority_allows_tool(set->caller, name);
}

/* True if the caller may call the tool; it may have been given a pattern, which includes other tools. */
static bool set_permits(const struct tool_set_callable *set, const struct component_info *info) {
    struct error error = ERROR_INIT;
    int32_t status = authority_check(set->caller, "tool", info->id, info, &error);
    error_finish(&error);
    return status == TN_OK;
}

static void set_policy_of(const struct tool_set_callable *set, const struct component_info *info,
                          struct tool_policy *out) {
    tool_policy_chosen(set->engine, set->caller, info, out);
}

static int32_t set_check_call(struct tool_set_callable *set, const struct component_info *info, struct error *error) {
    uint64_t generation = registry_generation(set->engine->registry);
    if (set->permitted_at != generation) set->permitted_count = 0;
    set->permitted_at = generation;
    for (size_t i = 0; i < set->permitted_count; i++)
        if (set->permitted[i] == info) return TN_OK;
    int32_t status = authority_check(set->caller, "tool", info->id, info, error);
    if (status != TN_OK) return status;
    MEM_EXTEND(set->permitted, set->permitted_count);
    set->permitted[set->permitted_count++] = info;
    return TN_OK;
}

/* ---- Describing ---- */

struct set_description {
    const struct tool_set_callable *set;
    tn_value list;
};

static bool describe_tool(void *user, const struct component_info *info) {
    struct set_description *description = user;
    const struct catalog *catalog = &description->set->engine->catalog;
    struct tool_policy policy;
    if (!set_contains(description->set, info->id) || !set_permits(description->set, info) ||
        (catalog->usable && !catalog->usable(catalog->self, info, NULL)))
        return true;
    size_t max = description->set->searched ? TOOL_SET_SEARCHED_MAX : TN_TOOL_SET_MAX;
    if (value_count(description->list) == max) {
        log_write(LOG_WARN, NULL,
                  "a tool set has more than %zu tools, and the rest is left out; list the tools that the agent needs%s",
                  max, description->set->searched ? "" : ", or let it search them (`tools: {search: true}`)");
        return false;
    }
    set_policy_of(description->set, info, &policy);
    if (policy.approval != TOOL_DENY)
        description->list = value_push_take(description->list, tool_definition(info, &policy));
    tool_policy_finish(&policy);
    return true;
}

static tn_value set_describe(struct tool_set *base) {
    struct tool_set_callable *set = (struct tool_set_callable *)base;
    uint64_t generation = registry_generation(set->engine->registry);
    if (!set->definitions || set->generation != generation) {
        struct set_description description = {set, value_array()};
        set->engine->catalog.each(set->engine->catalog.self, "tool", describe_tool, &description);
        value_unref(set->definitions);
        set->definitions = description.list;
        set->generation = generation;
    }
    return value_ref(set->definitions);
}

/* ---- Calling ---- */

struct set_candidates {
    const struct tool_set_callable *set;
    struct nearest nearest;
};

static bool add_tool_candidate(void *user, const struct component_info *info) {
    struct set_candidates *candidates = user;
    if (set_contains(candidates->set, info->id))
        nearest_add_candidate(&candidates->nearest, info->id, strlen(info->id));
    return true;
}

static int32_t tool_not_found(const struct tool_set_callable *set, const char *name, struct error *error) {
    struct set_candidates candidates = {.set = set};
    nearest_init(&candidates.nearest, name, strlen(name));
    set->engine->catalog.each(set->engine->catalog.self, "tool", add_tool_candidate, &candidates);
    return error_set(error, TN_NOT_FOUND, "TOOL_NOT_FOUND",
                     "cannot find tool `%.200s` among those that may be called here%s", name,
                     nearest_hint(&candidates.nearest).text);
}

/* The id of the tool that a call names, if it is by its original name (tenon/util/tool_pattern.h). */
static const char *set_tool_id(const struct tool_set_callable *set, const char *name) {
    const struct component_info *info = registry_known(set->engine->registry, "tool", name);
    return info ? info->id : name;
}

static int32_t set_find_tool(struct tool_set_callable *set, tn_value call, struct tool_request *request,
                             struct error *error) {
    tn_value name = value_get(call, "name");
    if (!name || !value_is(name, TN_STRING))
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "the call of a tool is %s, expected an object with `name` and `arguments`",
                         value_is(call, TN_OBJECT) ? "without a `name`" : value_kind_name(value_kind(call)));
    const char *text = set_tool_id(set, value_chars(name, NULL));
    if (!set_contains(set, text)) return tool_not_found(set, text, error);
    int32_t status = registry_resolve(set->engine->registry, "tool", text, &request->component, error);
    if (status == TN_NOT_FOUND) return tool_not_found(set, text, error);
    if (status != TN_OK) return status;
    status = set_check_call(set, request->component->info, error);
    if (status != TN_OK) return status;
    return tools_instance(set->engine->tools, request->component, set->caller, &request->instance, error);
}

static int32_t tool_set_start(struct callable *callable, struct call *call, tn_value input) {
    struct tool_set_callable *set = tool_set_of(callable);
    struct error error = ERROR_INIT;
    tn_value saved = tool_use_saved_request(call, input), request_value = saved ? saved : input;
    struct tool_request request = {.engine = set->engine};
    if (set_find_tool(set, request_value, &request, &error) != TN_OK) {
        (void)call_fail(call_token(call), &error);
        error_finish(&error);
        return TN_OK;
    }
    assert(request.component);
    request.arguments = value_get(request_value, "arguments");
    set_policy_of(set, request.component->info, &request.policy);
    request.caller = set->caller;
    request.approved = value_get(request_value, "approved") == value_bool(true) &&
                       tool_grant_counts(set->caller, &request.policy, request.component->info->id);
    return tool_use_start(call, request);
}

static void tool_set_use(struct callable *callable, tn_value input, struct callable_use *out) {
    const struct tool_set_callable *set = tool_set_of(callable);
    tn_value name = value_get(input, "name");
    const char *text = name && value_is(name, TN_STRING) ? value_chars(name, NULL) : "";
    const struct component_info *info = registry_known(set->engine->registry, "tool", text);
    struct tool_policy policy;
    if (!info || !set_contains(set, info->id)) return;
    set_policy_of(set, info, &policy);
    if (policy.max_calls) out->count_name = info->id;
    out->unrepeatable = !component_repeatable(info);
    tool_policy_finish(&policy);
}

static void tool_set_free(struct callable *callable) {
    struct tool_set_callable *set = tool_set_of(callable);
    authority_unref(set->caller);
    mem_free((void *)set->permitted);
    value_unref(set->names);
    value_unref(set->definitions);
    mem_free(set);
}

static const struct callable_ops tool_set_ops = {.start = tool_set_start,
                                                 .cancel = tool_use_cancel,
                                                 .free = tool_set_free,
                                                 .use = tool_set_use,
                                                 .saving = CALLABLE_SAVED,
                                                 .is_wrapper = true};

/* ---- Creating a set ---- */

static void load_matching(void *user, const char *pattern) { registry_load_dynamic(user, "tool", pattern); }

/* Tools that are registered at run time are looked for only as far as the caller may use them. */
static void tool_set_load(const struct engine *engine, const struct authority *caller, const char *pattern) {
    if (strcmp(pattern, "*") != 0 || !authority_each_tool_pattern(caller, load_matching, engine->registry))
        registry_load_dynamic(engine->registry, "tool", pattern);
}

static int32_t tool_set_check_name(struct engine *engine, const struct authority *caller, tn_value name,
                                   struct error *error) {
    struct component *component;
    if (!value_is(name, TN_STRING))
        return error_set(error, TN_TYPE, "INVALID_INPUT", "the name of a tool is %s, expected its id or a pattern",
                         value_kind_name(value_kind(name)));
    const char *text = value_chars(name, NULL);
    if (strcmp(text, TOOL_SET_SEARCH) == 0) return TN_OK;
    if (strchr(text, '*')) {
        tool_set_load(engine, caller, text);
        return TN_OK;
    }
    int32_t status = tool_check_allowed(caller, text, error);
    if (status == TN_OK) status = authority_check(caller, "tool", text, NULL, error);
    if (status == TN_OK) status = registry_resolve(engine->registry, "tool", text, &component, error);
    if (status == TN_NOT_FOUND && registry_may_have(engine->registry, "tool", text)) {
        /* A check starts no server. */
        log_write(LOG_WARN, NULL,
                  "the tool `%s` is not checked: its server has not listed its tools yet (`tenon tool "
                  "list '%s'` starts it)",
                  text, text);
        error_finish(error);
        return TN_OK;
    }
    if (status == TN_OK) status = tool_check_allowed(caller, component->info->id, error);
    return status == TN_OK ? authority_check(caller, "tool", component->info->id, component->info, error) : status;
}

int32_t tool_set_new(struct engine *engine, struct authority *caller, tn_value names, struct callable **out,
                     struct error *error) {
    if (names && !value_is(names, TN_ARRAY))
        return error_set(error, TN_TYPE, "INVALID_INPUT", "the tools are %s, expected a list of ids and patterns",
                         value_kind_name(value_kind(names)));
    if (value_count(names) > TOOL_SET_NAMES_MAX)
        return error_set(error, TN_LIMIT, "LIMIT", "a tool set has %zu names, expected at most %u", value_count(names),
                         TOOL_SET_NAMES_MAX);
    for (size_t i = 0; i < value_count(names); i++) {
        int32_t status = tool_set_check_name(engine, caller, value_at(names, i), error);
        if (status != TN_OK) return status;
    }
    if (!names) tool_set_load(engine, caller, "*");
    struct tool_set_callable *set = mem_zalloc(sizeof *set);
    set->base = (struct tool_set){{&tool_set_ops, 1}, set_describe};
    set->engine = engine;
    set->caller = authority_ref(caller);
    set->names = value_ref(names);
    for (size_t i = 0; i < value_count(names); i++) set->searched |= strcmp(text_at(names, i), TOOL_SET_SEARCH) == 0;
    *out = &set->base.callable;
    return TN_OK;
}
