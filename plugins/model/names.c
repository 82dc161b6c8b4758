/*
 * names.c - tools under names that services take, and back.
 *
 * Within one call the mapping is one to one: tools whose names need no change keep them, and are entered first; the
 * others get theirs with what is not allowed replaced by _, and with a hash of the whole name where that is taken, too
 * long, or begins wrongly. The same tools so get the same names in every turn, which prompt caches like.
 */
#include "inside.h"

#define HASH_TEXT 9 /* _ and eight digits */

struct name {
    tn_value mine; /* kept from the input, or made */
    char theirs[MODEL_NAME_MAX + 1];
};

struct model_names {
    struct name **names; /* each stays where it is: what was given out points into it */
    uint64_t count, room;
};

static bool allowed(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static bool beginning(char c) { return allowed(c) && c != '-' && !(c >= '0' && c <= '9'); }

static bool natural(const char *name) {
    uint64_t length = strlen(name);
    for (uint64_t i = 0; i < length; i++)
        if (!allowed(name[i])) return false;
    return length > 0 && length <= MODEL_NAME_MAX && beginning(name[0]);
}

static const struct name *find_mine(const struct model_names *names, const char *mine) {
    for (uint64_t i = 0; i < names->count; i++)
        if (strcmp(tn_chars(names->names[i]->mine, NULL), mine) == 0) return names->names[i];
    return NULL;
}

static const struct name *find_theirs(const struct model_names *names, const char *theirs) {
    for (uint64_t i = 0; i < names->count; i++)
        if (strcmp(names->names[i]->theirs, theirs) == 0) return names->names[i];
    return NULL;
}

static uint32_t hash(const char *text, uint32_t seed) {
    uint32_t value = 2166136261u ^ seed;
    for (; *text != '\0'; text++) value = (value ^ (unsigned char)*text) * 16777619u;
    return value;
}

static void choose(const struct model_names *names, const char *mine, char theirs[MODEL_NAME_MAX + 1]) {
    uint64_t used = 0, length = strlen(mine);
    bool changed = length == 0 || length >= MODEL_NAME_MAX;
    if (length == 0 || !beginning(mine[0])) theirs[used++] = '_';
    for (uint64_t i = 0; i < length && used < MODEL_NAME_MAX; i++) {
        /* one _ for a whole character, not for each of its bytes */
        if (((unsigned char)mine[i] & 0xc0) == 0x80) continue;
        theirs[used++] = allowed(mine[i]) ? mine[i] : '_';
    }
    theirs[used] = '\0';
    if (used > MODEL_NAME_MAX - HASH_TEXT) used = MODEL_NAME_MAX - HASH_TEXT;
    for (uint32_t seed = 0; changed || find_theirs(names, theirs) != NULL; seed++, changed = false)
        (void)snprintf(theirs + used, HASH_TEXT + 1, "_%08x", hash(mine, seed));
}

static struct name *add(struct model_names *names, const char *mine) {
    void *items = names->names;
    bool room = inside_room(&items, names->count, &names->room, sizeof(struct name *));
    names->names = items;
    struct name *name = room ? inside_alloc(sizeof *name) : NULL;
    if (name == NULL) return NULL;
    name->mine = tn_text(mine);
    if (natural(mine) && find_theirs(names, mine) == NULL)
        memcpy(name->theirs, mine, strlen(mine) + 1);
    else
        choose(names, mine, name->theirs);
    names->names[names->count++] = name;
    return name;
}

bool inside_names_init(struct model_call *call) {
    tn_value tools = tn.value->get(call->input, "tools");
    uint64_t count = tn.value->kind(tools) == TN_ARRAY ? tn.value->count(tools) : 0;
    call->names = inside_alloc(sizeof *call->names);
    if (call->names == NULL) return false;
    if (count > MODEL_TOOLS_MAX) return true; /* it is refused later */
    for (int pass = 0; pass < 2; pass++)
        for (uint64_t i = 0; i < count; i++) {
            const char *name = tn_get_text(tn.value->at(tools, i), "name", "");
            if (natural(name) != (pass == 0) || find_mine(call->names, name) != NULL) continue;
            if (add(call->names, name) == NULL) return false;
        }
    return true;
}

void inside_names_free(struct model_names *names) {
    if (names == NULL) return;
    for (uint64_t i = 0; i < names->count; i++) {
        tn_release(names->names[i]->mine);
        inside_free(names->names[i]);
    }
    inside_free(names->names);
    inside_free(names);
}

const char *model_tool_name(struct model_call *call, const char *name) {
    const struct name *found = find_mine(call->names, name);
    if (found == NULL) found = add(call->names, name);
    if (found != NULL) return found->theirs;
    model_fail(call, "LIMIT", "there is no memory left for the names of the tools");
    return "";
}

const char *model_tool_name_back(struct model_call *call, const char *name) {
    const struct name *found = find_theirs(call->names, name);
    return found != NULL ? tn_chars(found->mine, NULL) : name;
}
