/*
 * set.c - sets of tools, described and called by name.
 *
 * The description is kept with the registry's generation it was made at. What a set lets be called is decided anew for
 * each call, by the same rules: a tool that has come since it was described may be called, one that is gone may not.
 */
#include "host/tool/set.h"
#include "adl/document/catalog.h"
#include "adl/document/effects.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "adl/value/wildcard.h"
#include "host/call/call.h"
#include "host/config/config.h"
#include "host/host.h"
#include "host/log.h"
#include "host/plugin/registry.h"
#include "host/tool/tool.h"
#include "host/tool/use.h"
#include <assert.h>
#include <string.h>
#include <tenon/tool.h>

struct set {
    struct tool_set base; /* first */
    struct host *host;
    tn_value entries; /* of the document; NULL: all are allowed */
    tn_value names;   /* texts; NULL: all that are allowed */
    tn_value described;
    uint64_t generation;
};

static struct set *set_of(struct callable *callable) { return (struct set *)callable; }

static const char *text_at(tn_value names, size_t index) { return value_chars(value_at(names, index), NULL); }

static bool holds(const struct set *set, const char *name) {
    bool named = !set->names;
    for (size_t i = 0; !named && i < value_count(set->names); i++)
        named = wildcard_matches(text_at(set->names, i), name);
    return named && tool_entries_have(set->entries, name);
}

static void policy_in(const struct set *set, const struct component_info *info, struct tool_policy *out) {
    tool_policy_of(set->entries, config_tool_approval(set->host->config), info->id, info->effects, true, out);
}

/* ---- Describing ---- */

struct describing {
    const struct set *set;
    tn_value list;
};

static bool describe_one(void *user, const struct component_info *info) {
    struct describing *describing = user;
    const struct catalog *catalog = &describing->set->host->catalog;
    struct tool_policy policy;
    if (!holds(describing->set, info->id) || (catalog->usable && !catalog->usable(catalog->self, info, NULL)))
        return true;
    if (value_count(describing->list) == TN_TOOL_SET_MAX) {
        log_write(LOG_WARN, NULL, "a set of tools has more than %u, the rest is left out: name those that are needed",
                  TN_TOOL_SET_MAX);
        return false;
    }
    policy_in(describing->set, info, &policy);
    if (policy.approval != TOOL_DENY)
        describing->list = value_push_take(describing->list, tool_definition(info, &policy));
    tool_policy_finish(&policy);
    return true;
}

static tn_value describe(struct tool_set *base) {
    struct set *set = (struct set *)base;
    uint64_t generation = registry_generation(set->host->registry);
    if (!set->described || set->generation != generation) {
        struct describing describing = {set, value_array()};
        set->host->catalog.each(set->host->catalog.self, "tool", describe_one, &describing);
        value_unref(set->described);
        set->described = describing.list;
        set->generation = generation;
    }
    return value_ref(set->described);
}

tn_value tool_set_describe(struct callable *callable) {
    struct tool_set *set = (struct tool_set *)callable;
    return set->describe(set);
}

/* ---- Calling ---- */

struct offering {
    const struct set *set;
    struct nearest nearest;
};

static bool offer_one(void *user, const struct component_info *info) {
    struct offering *offering = user;
    if (holds(offering->set, info->id)) nearest_offer(&offering->nearest, info->id, strlen(info->id));
    return true;
}

static int32_t not_found(const struct set *set, const char *name, struct error *error) {
    struct offering offering = {.set = set};
    nearest_init(&offering.nearest, name, strlen(name));
    set->host->catalog.each(set->host->catalog.self, "tool", offer_one, &offering);
    const char *near = nearest_result(&offering.nearest);
    return error_set(error, TN_NOT_FOUND, "TOOL_NOT_FOUND",
                     "there is no tool `%.200s` among those that may be called here%s%s%s", name,
                     near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "");
}

static int32_t find(const struct set *set, tn_value call, struct tool_request *request, struct error *error) {
    tn_value name = value_get(call, "name");
    if (!name || !value_is(name, TN_STRING))
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "the call of a tool is %s, expected an object with `name` and `arguments`",
                         value_is(call, TN_OBJECT) ? "without a `name`" : value_kind_name(value_kind(call)));
    const char *text = value_chars(name, NULL);
    if (!holds(set, text)) return not_found(set, text, error);
    int32_t status = registry_resolve(set->host->registry, "tool", text, &request->component, error);
    if (status == TN_NOT_FOUND) return not_found(set, text, error);
    if (status != TN_OK) return status;
    return tools_instance(tools_of(set->host), request->component, &request->instance, error);
}

static int32_t start(struct callable *callable, struct call *call, tn_value input) {
    struct set *set = set_of(callable);
    struct error error = ERROR_INIT;
    tn_value asked = tool_use_asked(call, input), wanted = asked ? asked : input;
    struct tool_request request = {.host = set->host};
    if (find(set, wanted, &request, &error) != TN_OK) {
        (void)call_fail(call_token(call), &error);
        error_finish(&error);
        return TN_OK;
    }
    assert(request.component);
    request.arguments = value_get(wanted, "arguments");
    request.approved = value_get(wanted, "approved") == value_bool(true);
    policy_in(set, request.component->info, &request.policy);
    return tool_use_start(call, request);
}

static void use(struct callable *callable, tn_value input, struct callable_use *out) {
    const struct set *set = set_of(callable);
    tn_value name = value_get(input, "name");
    const char *text = name && value_is(name, TN_STRING) ? value_chars(name, NULL) : "";
    const struct component_info *info = holds(set, text) ? registry_known(set->host->registry, "tool", text) : NULL;
    struct tool_policy policy;
    if (!info) return;
    policy_in(set, info, &policy);
    if (policy.max_calls) out->counted = info->id;
    out->unrepeatable = !component_repeatable(info);
    tool_policy_finish(&policy);
}

static void set_free(struct callable *callable) {
    struct set *set = set_of(callable);
    value_unref(set->entries);
    value_unref(set->names);
    value_unref(set->described);
    mem_free(set);
}

static const struct callable_ops set_ops = {.start = start,
                                            .cancel = tool_use_cancel,
                                            .free = set_free,
                                            .use = use,
                                            .memory = CALLABLE_KEPT,
                                            .stands_before = true};

/* ---- Making ---- */

static int32_t check_name(struct host *host, tn_value entries, tn_value name, bool *open, struct error *error) {
    struct component *component;
    if (!value_is(name, TN_STRING))
        return error_set(error, TN_TYPE, "INVALID_INPUT", "a tool is named by %s, expected its id or a pattern",
                         value_kind_name(value_kind(name)));
    const char *text = value_chars(name, NULL);
    if (strchr(text, '*')) {
        *open = true;
        return TN_OK;
    }
    if (!tool_entries_have(entries, text))
        return error_set(error, TN_NOT_FOUND, "TOOL_NOT_FOUND",
                         "the tool `%s` is not on the document's list `tools`; add it there to allow it", text);
    return registry_resolve(host->registry, "tool", text, &component, error);
}

int32_t tool_set_new(struct host *host, tn_value entries, tn_value names, struct callable **out, struct error *error) {
    bool open = !names; /* it may have tools that no manifest knows */
    if (names && !value_is(names, TN_ARRAY))
        return error_set(error, TN_TYPE, "INVALID_INPUT", "the tools are %s, expected a list of ids and patterns",
                         value_kind_name(value_kind(names)));
    if (value_count(names) > TOOL_SET_NAMES_MAX)
        return error_set(error, TN_LIMIT, "LIMIT", "a set of tools has %zu names, at most %u are possible",
                         value_count(names), TOOL_SET_NAMES_MAX);
    for (size_t i = 0; i < value_count(names); i++) {
        int32_t status = check_name(host, entries, value_at(names, i), &open, error);
        if (status != TN_OK) return status;
    }
    if (open) registry_load_dynamic(host->registry, "tool");
    struct set *set = mem_zalloc(sizeof *set);
    set->base = (struct tool_set){{&set_ops, 1}, describe};
    set->host = host;
    set->entries = value_ref(entries);
    set->names = value_ref(names);
    *out = &set->base.callable;
    return TN_OK;
}

/* ---- Describing, for a worker ---- */

struct describer {
    struct callable callable; /* first */
    struct callable *set;
};

static int32_t describer_start(struct callable *callable, struct call *call, tn_value input) {
    tn_value described = tool_set_describe(((struct describer *)callable)->set);
    (void)input;
    int32_t status = call_complete(call_token(call), described);
    value_unref(described);
    return status;
}

static void describer_free(struct callable *callable) {
    callable_unref(((struct describer *)callable)->set);
    mem_free(callable);
}

struct callable *tool_set_describer(struct callable *set) {
    static const struct callable_ops ops = {
        .start = describer_start, .free = describer_free, .memory = CALLABLE_FORGOTTEN};
    struct describer *describer = mem_zalloc(sizeof *describer);
    describer->callable = (struct callable){&ops, 1};
    describer->set = callable_ref(set);
    return &describer->callable;
}
