/*
 * kernel_owner.c - completes the ids in arguments for an owner, and removes its name from namespaces in results.
 */
#include "host/data/kernel/kernel_owner.h"
#include <string.h>

/* ---- Ids ---- */

static tn_value confine_list(const struct request *request, tn_value list) {
    tn_value ids = value_array_reserve(value_count(list));
    for (size_t i = 0; i < value_count(list); i++)
        ids = value_push_take(ids, owner_confine_value(request->owner, value_at(list, i)));
    return ids;
}

static tn_value confine_ids_take(const struct request *request, tn_value arguments) {
    static const char *const names[] = {"task_id", "artifact_id", "thread_id", "after"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tn_value id = value_get(arguments, names[i]);
        if (id) arguments = value_set_take(arguments, names[i], owner_confine_value(request->owner, id));
    }
    tn_value refs = value_get(arguments, "artifact_refs");
    if (value_is(refs, TN_ARRAY)) arguments = value_set_take(arguments, "artifact_refs", confine_list(request, refs));
    return arguments;
}

/* ---- Namespaces ---- */

static bool is_of_memory(const struct request *request) { return strncmp(request->operation, "memory.", 7) == 0; }

static tn_value owner_name(const struct request *request) { return value_format("@%s", request->owner); }

/*
 * Puts the owner's name before the namespace of `object`, which it takes. An empty namespace stays empty if it is one
 * of a single memory, because it is refused there.
 */
static tn_value confine_namespace_take(const struct request *request, tn_value object, bool single) {
    tn_value names = value_get(object, "namespace");
    bool absent = !names || value_is(names, TN_NULL);
    if (single ? !value_count(names) : !absent && !value_is(names, TN_ARRAY)) return object;
    tn_value whole = value_push_take(value_array_reserve(value_count(names) + 1), owner_name(request));
    for (size_t i = 0; i < value_count(names); i++) whole = value_push_take(whole, value_ref(value_at(names, i)));
    return value_set_take(object, "namespace", whole);
}

static bool is_of_one_memory(const struct request *request) {
    static const char *const names[] = {"memory.put", "memory.get", "memory.delete"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(request->operation, names[i]) == 0) return true;
    return false;
}

static tn_value without_owner(tn_value names) { return value_slice(names, 1, value_count(names)); }

static tn_value show_memory_take(tn_value memory) {
    tn_value names = value_get(memory, "namespace");
    return names ? value_set_take(memory, "namespace", without_owner(names)) : memory;
}

static tn_value show_each_take(tn_value result, const char *name, tn_value (*show)(tn_value item)) {
    tn_value list = value_get(result, name), shown = value_array_reserve(value_count(list));
    for (size_t i = 0; i < value_count(list); i++) shown = value_push_take(shown, show(value_at(list, i)));
    return value_set_take(result, name, shown);
}

static tn_value show_memory(tn_value memory) { return show_memory_take(value_ref(memory)); }

/* ---- Requests ---- */

tn_value kernel_owner_confine(const struct request *request) {
    tn_value arguments = value_ref(request->arguments), after, patch;
    if (is_of_memory(request)) {
        arguments = confine_namespace_take(request, arguments, is_of_one_memory(request));
        if (value_is(after = value_get(arguments, "after"), TN_OBJECT))
            arguments = value_set_take(arguments, "after", confine_namespace_take(request, value_ref(after), true));
        return arguments;
    }
    arguments = confine_ids_take(request, arguments);
    if (value_is(patch = value_get(arguments, "patch"), TN_OBJECT))
        arguments = value_set_take(arguments, "patch", confine_ids_take(request, value_ref(patch)));
    return arguments;
}

tn_value kernel_owner_show_take(const struct request *request, tn_value result) {
    if (!is_of_memory(request)) return result;
    if (value_get(result, "memories")) return show_each_take(result, "memories", show_memory);
    if (value_get(result, "namespaces")) return show_each_take(result, "namespaces", without_owner);
    return show_memory_take(result);
}
