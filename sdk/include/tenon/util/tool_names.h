/*
 * tenon/util/tool_names.h - the names of tools for services that accept only letters, digits, _ and -.
 *
 * Within one table the mapping is one to one. Names that a service accepts stay unchanged. In other names, such as
 * "files.read", invalid characters are replaced by _. A hash of the original name is appended if the result is in use,
 * or the name is too long or empty. A name that starts with an invalid character gets the prefix _. The mapping depends
 * only on the names, so the same tools get the same names in every turn, and prompt caches of services stay valid.
 *
 *     struct tn_tool_names names = TN_TOOL_NAMES;
 *     tn_tool_names_add(&names, tn_get(input, "tools"));               // TN_OK or TN_NO_MEMORY
 *     tn_put_text(request, "name", tn_tool_names_to_service(&names, "files.read"));  // "files_read"
 *     name = tn_tool_names_from_service(&names, "files_read");                       // "files.read"
 *     tn_tool_names_free(&names);
 *
 * A table belongs to one task of a model, and to one thread at a time.
 */
#ifndef TENON_UTIL_TOOL_NAMES_H
#define TENON_UTIL_TOOL_NAMES_H

#include <stdbool.h>
#include <tenon/easy.h>
#include <tenon/util/cast.h>
#include <tenon/util/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_TOOL_NAME_MAX 64 /* bytes of a name that is sent */

struct tn_tool_name {
    tn_value name;                      /* in Tenon */
    char service[TN_TOOL_NAME_MAX + 1]; /* at the service */
};

struct tn_tool_names {
    struct tn_tool_name **names; /* entries never move, because returned names point into them */
    uint64_t count, capacity;
};
/* An empty table, as an initializer. */
#define TN_TOOL_NAMES                                                                                                  \
    { NULL, 0, 0 }

static inline bool tn_tool_names_allows(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static inline bool tn_tool_names_allows_first(char c) {
    return tn_tool_names_allows(c) && c != '-' && !(c >= '0' && c <= '9');
}

/* True if services accept the name as it is. */
static inline bool tn_tool_name_is_valid(const char *name) {
    uint64_t length = strlen(name);
    for (uint64_t i = 0; i < length; i++)
        if (!tn_tool_names_allows(name[i])) return false;
    return length > 0 && length <= TN_TOOL_NAME_MAX && tn_tool_names_allows_first(name[0]);
}

static inline struct tn_tool_name *tn_tool_names_find(const struct tn_tool_names *names, const char *name) {
    for (uint64_t i = 0; i < names->count; i++)
        if (strcmp(tn_chars(names->names[i]->name, NULL), name) == 0) return names->names[i];
    return NULL;
}

static inline struct tn_tool_name *tn_tool_names_find_service(const struct tn_tool_names *names, const char *service) {
    for (uint64_t i = 0; i < names->count; i++)
        if (strcmp(names->names[i]->service, service) == 0) return names->names[i];
    return NULL;
}

static inline uint32_t tn_tool_names_hash(const char *text, uint32_t seed) {
    uint32_t value = 2166136261u ^ seed;
    for (; *text != '\0'; text++) value = (value ^ TN_UTIL_CAST(unsigned char, *text)) * 16777619u;
    return value;
}

static inline void tn_tool_names_choose(const struct tn_tool_names *names, const char *name,
                                        char service[TN_TOOL_NAME_MAX + 1]) {
    const uint64_t suffix = 9; /* _ and eight hexadecimal digits */
    uint64_t used = 0, length = strlen(name);
    bool changed = length == 0 || length >= TN_TOOL_NAME_MAX;
    if (length == 0 || !tn_tool_names_allows_first(name[0])) service[used++] = '_';
    for (uint64_t i = 0; i < length && used < TN_TOOL_NAME_MAX; i++) {
        /* replace a whole character by one _, not each of its bytes */
        if ((TN_UTIL_CAST(unsigned char, name[i]) & 0xc0) == 0x80) continue;
        service[used++] = TN_UTIL_CAST(char, tn_tool_names_allows(name[i]) ? name[i] : '_');
    }
    service[used] = '\0';
    if (used > TN_TOOL_NAME_MAX - suffix) used = TN_TOOL_NAME_MAX - suffix;
    for (uint32_t seed = 0; changed || tn_tool_names_find_service(names, service) != NULL; seed++, changed = false)
        (void)snprintf(service + used, suffix + 1, "_%08x", tn_tool_names_hash(name, seed));
}

/* NULL if memory runs out. */
static inline struct tn_tool_name *tn_tool_names_insert(struct tn_tool_names *names, const char *name) {
    struct tn_tool_name *added;
    if (names->count == names->capacity) {
        uint64_t capacity = names->capacity * 2 + 8;
        void *grown = TN_UTIL_RESIZE(names->names, capacity * sizeof(*names->names));
        if (grown == NULL) return NULL;
        names->names = TN_UTIL_CAST(struct tn_tool_name **, grown);
        names->capacity = capacity;
    }
    added = TN_UTIL_CAST(struct tn_tool_name *, TN_UTIL_RESIZE(NULL, sizeof(*added)));
    if (added == NULL) return NULL;
    added->name = tn_text(name);
    if (added->name == NULL) {
        TN_UTIL_RELEASE(added);
        return NULL;
    }
    if (tn_tool_name_is_valid(name) && tn_tool_names_find_service(names, name) == NULL)
        memcpy(added->service, name, strlen(name) + 1);
    else
        tn_tool_names_choose(names, name, added->service);
    names->names[names->count++] = added;
    return added;
}

/*
 * Adds the names of a model's `tools`, [{name, …}] or NULL; first those that services accept, so that they keep them.
 * Returns TN_OK or TN_NO_MEMORY.
 */
static inline int32_t tn_tool_names_add(struct tn_tool_names *names, tn_value tools) {
    uint64_t count = tn.value->kind(tools) == TN_ARRAY ? tn.value->count(tools) : 0;
    for (int32_t pass = 0; pass < 2; pass++)
        for (uint64_t i = 0; i < count; i++) {
            const char *name = tn_get_text(tn.value->at(tools, i), "name", "");
            if (tn_tool_name_is_valid(name) != (pass == 0) || tn_tool_names_find(names, name) != NULL) continue;
            if (tn_tool_names_insert(names, name) == NULL) return TN_NO_MEMORY;
        }
    return TN_OK;
}

/*
 * The name for the service. `name` may be any name, including one that only the history of the conversation contains.
 * Valid until tn_tool_names_free. NULL if memory runs out.
 */
static inline const char *tn_tool_names_to_service(struct tn_tool_names *names, const char *name) {
    const struct tn_tool_name *found = tn_tool_names_find(names, name);
    if (found == NULL) found = tn_tool_names_insert(names, name);
    return found != NULL ? found->service : NULL;
}

/* Maps a name back. An unknown name is returned unchanged. Valid until tn_tool_names_free. */
static inline const char *tn_tool_names_from_service(const struct tn_tool_names *names, const char *service) {
    const struct tn_tool_name *found = tn_tool_names_find_service(names, service);
    return found != NULL ? tn_chars(found->name, NULL) : service;
}

static inline void tn_tool_names_free(struct tn_tool_names *names) {
    for (uint64_t i = 0; i < names->count; i++) {
        tn.value->release(names->names[i]->name);
        TN_UTIL_RELEASE(names->names[i]);
    }
    if (names->names != NULL) TN_UTIL_RELEASE(names->names);
    names->names = NULL;
    names->count = names->capacity = 0;
}

#ifdef __cplusplus
}
#endif
#endif
