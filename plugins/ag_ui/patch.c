/*
 * patch.c - the difference of two states as JSON Patch (RFC 6902).
 */
#include "ag_ui.h"

struct patch {
    tn_value operations;
    struct tn_text_buffer path;
    bool too_large;
};

/* A segment of a JSON Pointer (RFC 6901). Returns the length before it. */
static uint64_t push(struct patch *patch, const char *segment) {
    uint64_t before = patch->path.length;
    (void)tn_text_append(&patch->path, "/");
    for (const char *at = segment; *at != '\0'; at++) {
        const char *escaped = *at == '~' ? "~0" : *at == '/' ? "~1" : NULL;
        (void)tn_text_append_n(&patch->path, escaped != NULL ? escaped : at, escaped != NULL ? 2 : 1);
    }
    return before;
}

static void pop(struct patch *patch, uint64_t length) {
    patch->path.length = length;
    if (patch->path.bytes != NULL) patch->path.bytes[length] = '\0';
}

static void add(struct patch *patch, const char *op, tn_value value) {
    if (tn.value->count(patch->operations) >= AG_UI_PATCH_MAX ||
        tn_append_take(&patch->operations, tn_build("{s:s, s:s, s:v*}", "op", op, "path", tn_text_chars(&patch->path),
                                                    "value", value)) != TN_OK)
        patch->too_large = true;
}

static void compare(struct patch *patch, tn_value before, tn_value after, unsigned depth);

static void compare_objects(struct patch *patch, tn_value before, tn_value after, unsigned depth) {
    tn_value key, value;
    for (uint64_t i = 0, count = tn.value->count(before); !patch->too_large && i < count; i++) {
        if (tn.value->entry(before, i, &key, &value) != TN_OK || tn_get_key(after, key) != NULL) continue;
        uint64_t length = push(patch, tn_chars(key, NULL));
        add(patch, "remove", NULL);
        pop(patch, length);
    }
    for (uint64_t i = 0, count = tn.value->count(after); !patch->too_large && i < count; i++) {
        if (tn.value->entry(after, i, &key, &value) != TN_OK) continue;
        tn_value old = tn_get_key(before, key);
        uint64_t length = push(patch, tn_chars(key, NULL));
        if (old == NULL)
            add(patch, "add", value);
        else
            compare(patch, old, value, depth + 1);
        pop(patch, length);
    }
}

/* True if `after` begins with `before`: only what is new is sent. */
static bool compare_arrays(struct patch *patch, tn_value before, tn_value after) {
    uint64_t old = tn.value->count(before), count = tn.value->count(after);
    if (old == 0 || count <= old) return false;
    for (uint64_t i = 0; i < old; i++)
        if (tn.value->equal(tn.value->at(before, i), tn.value->at(after, i)) != 1) return false;
    for (uint64_t i = old; !patch->too_large && i < count; i++) {
        uint64_t length = push(patch, "-");
        add(patch, "add", tn.value->at(after, i));
        pop(patch, length);
    }
    return true;
}

static void compare(struct patch *patch, tn_value before, tn_value after, unsigned depth) {
    int32_t kind = tn.value->kind(before);
    if (tn.value->equal(before, after) == 1) return;
    if (kind == TN_OBJECT && tn.value->kind(after) == TN_OBJECT && depth < AG_UI_PATCH_DEPTH) {
        compare_objects(patch, before, after, depth);
        return;
    }
    if (kind == TN_ARRAY && tn.value->kind(after) == TN_ARRAY && compare_arrays(patch, before, after)) return;
    add(patch, "replace", after);
}

tn_value ag_patch(tn_value before, tn_value after) {
    struct patch patch = {.operations = tn_build("[]")};
    compare_objects(&patch, before, after, 0);
    tn_text_free(&patch.path);
    if (!patch.too_large && patch.operations != NULL) return patch.operations;
    tn_release(patch.operations);
    return NULL;
}
