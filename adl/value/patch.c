/*
 * patch.c - JSON Merge Patch (RFC 7396).
 *
 * The result is built object by object, in the target's order, new keys last. That is linear even if a patch removes
 * many keys. Nested patches use an explicit stack instead of recursion, because a patch may come from outside.
 */
#include <string.h>

#include "adl/value/block.h"
#include "adl/value/memory.h"

struct level {
    tn_value target; /* an object; borrowed */
    tn_value patch;  /* an object; borrowed */
    tn_value result; /* owned */
    tn_value key;    /* the key in the level above; borrowed */
    size_t next;     /* entries of the target, then of the patch */
};

/* Returns the next entry of the result; false at the end. If *patch is NULL, the target's entry is kept. */
static bool next_entry(struct level *level, tn_value *key, tn_value *target, tn_value *patch) {
    size_t old = value_count(level->target);
    while (level->next < old + value_count(level->patch)) {
        size_t i = level->next++;
        if (i < old) {
            *key = value_key_at(level->target, i);
            *target = value_value_at(level->target, i);
            *patch = value_get_key(level->patch, *key);
            return true;
        }
        *key = value_key_at(level->patch, i - old);
        if (value_get_key(level->target, *key) != NULL) continue;
        *target = VALUE_IMMEDIATE_OBJECT;
        *patch = value_value_at(level->patch, i - old);
        return true;
    }
    return false;
}

tn_value value_merge_patch(tn_value target, tn_value patch) {
    if (!value_is(patch, TN_OBJECT)) return value_ref(patch);
    struct level *levels = NULL;
    size_t depth = 0, capacity = 0;
    tn_value made = NULL, key = NULL;
    for (;;) {
        if (made == NULL) { /* open an object */
            MEM_GROW(levels, depth, capacity);
            if (!value_is(target, TN_OBJECT)) target = VALUE_IMMEDIATE_OBJECT;
            levels[depth++] = (struct level){target, patch, VALUE_IMMEDIATE_OBJECT, key, 0};
        }
        struct level *top = &levels[depth - 1];
        if (made != NULL) {
            top->result = value_set_key_take(top->result, value_ref(key), made);
            made = NULL;
        }
        bool nested = false;
        while (!nested && next_entry(top, &key, &target, &patch)) {
            if (patch == VALUE_IMMEDIATE_NULL) continue;
            nested = value_is(patch, TN_OBJECT);
            tn_value value = patch != NULL ? patch : target;
            if (!nested) top->result = value_set_key_take(top->result, value_ref(key), value_ref(value));
        }
        if (nested) continue;
        made = top->result;
        key = top->key;
        if (--depth == 0) break;
    }
    mem_free(levels);
    return made;
}
