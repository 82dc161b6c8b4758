/*
 * names.c - maps the names of tools to names that services accept, and back.
 *
 * Within one call the mapping is one to one. Tools whose names comply with the services' rules keep them and are added
 * first. In other names, invalid characters are replaced by _. A hash of the original name is appended if the result is
 * in use, or the name is too long or empty. A name that starts with an invalid character gets the prefix _. The mapping
 * depends only on the names, so the same tools get the same names in every turn, and prompt caches of services stay
 * valid.
 */
#include "internal.h"

#define HASH_TEXT 9 /* bytes of the suffix: _ and eight hexadecimal digits */

struct name {
    tn_value tenon_name; /* from the input, or from the history */
    char service_name[MODEL_NAME_MAX + 1];
};

struct model_names {
    struct name **names; /* entries never move, because returned names point into them */
    uint64_t count, room;
};

static bool model_names_is_allowed(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static bool model_names_is_allowed_first(char c) {
    return model_names_is_allowed(c) && c != '-' && !(c >= '0' && c <= '9');
}

static bool model_names_complies(const char *name) {
    uint64_t length = strlen(name);
    for (uint64_t i = 0; i < length; i++)
        if (!model_names_is_allowed(name[i])) return false;
    return length > 0 && length <= MODEL_NAME_MAX && model_names_is_allowed_first(name[0]);
}

static const struct name *model_names_lookup_tenon(const struct model_names *names, const char *tenon_name) {
    for (uint64_t i = 0; i < names->count; i++)
        if (strcmp(tn_chars(names->names[i]->tenon_name, NULL), tenon_name) == 0) return names->names[i];
    return NULL;
}

static const struct name *model_names_lookup_service(const struct model_names *names, const char *service_name) {
    for (uint64_t i = 0; i < names->count; i++)
        if (strcmp(names->names[i]->service_name, service_name) == 0) return names->names[i];
    return NULL;
}

static uint32_t model_names_hash(const char *text, uint32_t seed) {
    uint32_t value = 2166136261u ^ seed;
    for (; *text != '\0'; text++) value = (value ^ (unsigned char)*text) * 16777619u;
    return value;
}

static void model_names_choose(const struct model_names *names, const char *tenon_name,
                               char service_name[MODEL_NAME_MAX + 1]) {
    uint64_t used = 0, length = strlen(tenon_name);
    bool changed = length == 0 || length >= MODEL_NAME_MAX;
    if (length == 0 || !model_names_is_allowed_first(tenon_name[0])) service_name[used++] = '_';
    for (uint64_t i = 0; i < length && used < MODEL_NAME_MAX; i++) {
        /* replace a whole character by one _, not each of its bytes */
        if (((unsigned char)tenon_name[i] & 0xc0) == 0x80) continue;
        service_name[used++] = model_names_is_allowed(tenon_name[i]) ? tenon_name[i] : '_';
    }
    service_name[used] = '\0';
    if (used > MODEL_NAME_MAX - HASH_TEXT) used = MODEL_NAME_MAX - HASH_TEXT;
    for (uint32_t seed = 0; changed || model_names_lookup_service(names, service_name) != NULL; seed++, changed = false)
        (void)snprintf(service_name + used, HASH_TEXT + 1, "_%08x", model_names_hash(tenon_name, seed));
}

static struct name *model_names_add(struct model_names *names, const char *tenon_name) {
    void *items = names->names;
    bool room = model_memory_reserve(&items, names->count, &names->room, sizeof(struct name *));
    names->names = items;
    struct name *name = room ? model_memory_alloc(sizeof *name) : NULL;
    if (name == NULL) return NULL;
    name->tenon_name = tn_text(tenon_name);
    if (model_names_complies(tenon_name) && model_names_lookup_service(names, tenon_name) == NULL)
        memcpy(name->service_name, tenon_name, strlen(tenon_name) + 1);
    else
        model_names_choose(names, tenon_name, name->service_name);
    names->names[names->count++] = name;
    return name;
}

bool model_names_init(struct model_call *call) {
    tn_value tools = tn_get(call->input, "tools");
    uint64_t count = tn.value->kind(tools) == TN_ARRAY ? tn.value->count(tools) : 0;
    call->names = model_memory_alloc(sizeof *call->names);
    if (call->names == NULL) return false;
    if (count > MODEL_TOOLS_MAX) return true; /* model_call_read_tools refuses the request */
    for (int pass = 0; pass < 2; pass++)
        for (uint64_t i = 0; i < count; i++) {
            const char *name = tn_get_text(tn.value->at(tools, i), "name", "");
            if (model_names_complies(name) != (pass == 0) || model_names_lookup_tenon(call->names, name) != NULL)
                continue;
            if (model_names_add(call->names, name) == NULL) return false;
        }
    return true;
}

void model_names_free(struct model_names *names) {
    if (names == NULL) return;
    for (uint64_t i = 0; i < names->count; i++) {
        tn_release(names->names[i]->tenon_name);
        model_memory_free(names->names[i]);
    }
    model_memory_free(names->names);
    model_memory_free(names);
}

const char *model_tool_name_to_service(struct model_call *call, const char *name) {
    const struct name *found = model_names_lookup_tenon(call->names, name);
    if (found == NULL) found = model_names_add(call->names, name);
    if (found != NULL) return found->service_name;
    model_fail(call, "LIMIT", "not enough memory for the names of the tools");
    return "";
}

const char *model_tool_name_from_service(struct model_call *call, const char *name) {
    const struct name *found = model_names_lookup_service(call->names, name);
    return found != NULL ? tn_chars(found->tenon_name, NULL) : name;
}
