/*
 * tenon/testkit/builder.h - the builder of the fake host, which keeps the first mistake; include <tenon/testkit.h>.
 */
#ifndef TENON_TESTKIT_BUILDER_H
#define TENON_TESTKIT_BUILDER_H

#include <tenon/testkit/values.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tn_test_builder {
    struct tn_test_value *open[TN_TEST_DEPTH], *root, *key;
    uint32_t depth;
    const char *mistake; /* the first one; NULL: none */
    char at[512];        /* the JSON Pointer to it */
};

static inline tn_builder *tn_test_make_builder(const tn_host *host) {
    void *builder = calloc(1, sizeof(struct tn_test_builder));
    (void)host;
    TN_TEST_ASSERT(builder != NULL);
    return TN_TEST_POINTER(tn_builder *, builder);
}

static inline struct tn_test_builder *tn_test_state_of(tn_builder *builder) {
    return TN_TEST_POINTER(struct tn_test_builder *, builder);
}

/* Appends one step of a JSON Pointer: a member's name, or an index if `key` is NULL. */
static inline void tn_test_point(char at[512], const struct tn_test_value *key, uint64_t index) {
    size_t length = strlen(at);
    if (length > 512 - 64) return;
    (void)snprintf(at + length, 24, "/%llu", TN_UTIL_CAST(unsigned long long, index));
    if (key == NULL) return;
    at[++length] = '\0';
    for (uint64_t i = 0; i < key->length && length < 512 - 4; i++) {
        if (key->text[i] == '~' || key->text[i] == '/') at[length++] = '~';
        at[length++] = key->text[i] == '~' ? '0' : key->text[i] == '/' ? '1' : key->text[i];
    }
    at[length] = '\0';
}

static inline void tn_test_mistake(struct tn_test_builder *state, const char *mistake) {
    if (state->mistake != NULL) return;
    state->mistake = mistake;
    for (uint32_t i = 0; i < state->depth; i++) {
        const struct tn_test_value *block = state->open[i];
        bool last = i + 1 == state->depth;
        if (block->kind == TN_ARRAY)
            tn_test_point(state->at, NULL, last ? block->length : block->length - 1);
        else if (!last || state->key != NULL)
            tn_test_point(state->at, last ? state->key : block->items[block->length - 2], 0);
    }
}

/* Takes the value, or releases it and is false. */
static inline bool tn_test_attach(struct tn_test_builder *state, struct tn_test_value *value) {
    struct tn_test_value *parent = state->depth > 0 ? state->open[state->depth - 1] : NULL;
    if (parent != NULL && parent->kind == TN_ARRAY) {
        tn_test_push(parent, value);
    } else if (parent == NULL && state->root == NULL) {
        state->root = value;
    } else if (parent != NULL && state->key != NULL) {
        tn_test_push(parent, state->key);
        tn_test_push(parent, value);
        state->key = NULL;
    } else {
        tn_test_mistake(state, parent != NULL ? "a member has no key" : "there is more than one value");
        tn_test_release(tn_test_value_of(value));
        return false;
    }
    return true;
}

static inline void tn_test_builder_begin(tn_builder *builder, int32_t kind) {
    struct tn_test_builder *state = tn_test_state_of(builder);
    struct tn_test_value *block;
    if (kind != TN_ARRAY && kind != TN_OBJECT) tn_test_mistake(state, "only an array or an object can begin");
    if (state->depth == TN_TEST_DEPTH) tn_test_mistake(state, "the value is nested too deeply");
    if (state->mistake != NULL) return;
    block = tn_test_new(kind);
    if (tn_test_attach(state, block)) state->open[state->depth++] = block;
}

static inline void tn_test_builder_key(tn_builder *builder, const char *key, uint64_t length) {
    struct tn_test_builder *state = tn_test_state_of(builder);
    struct tn_test_value *object = state->depth > 0 ? state->open[state->depth - 1] : NULL;
    if (object == NULL || object->kind != TN_OBJECT || state->key != NULL)
        tn_test_mistake(state, "a key is allowed only inside an object, before each value");
    if (key == NULL) tn_test_mistake(state, "a key is NULL");
    if (state->mistake != NULL) return;
    length = tn_test_length(key, length);
    if (!tn_utf8_is_valid(key, length)) {
        tn_test_mistake(state, "a key is not UTF-8");
        return;
    }
    state->key = tn_test_new_text(TN_STRING, key, length);
    if (tn_test_get(tn_test_value_of(object), key, length) != NULL) tn_test_mistake(state, "a key is repeated");
}

static inline void tn_test_builder_add(tn_builder *builder, tn_value value) {
    struct tn_test_builder *state = tn_test_state_of(builder);
    if (value == NULL) tn_test_mistake(state, "a value is NULL");
    if (state->mistake == NULL) (void)tn_test_attach(state, tn_test_block(tn_test_retain(value)));
}

static inline void tn_test_builder_add_text(tn_builder *builder, const char *text, uint64_t length) {
    struct tn_test_builder *state = tn_test_state_of(builder);
    tn_value value = NULL;
    if (state->mistake != NULL) return;
    if (tn_test_make_text(NULL, text, length, &value) != TN_OK) tn_test_mistake(state, "a text is NULL or not UTF-8");
    if (value != NULL) (void)tn_test_attach(state, tn_test_block(value));
}

static inline void tn_test_builder_end(tn_builder *builder) {
    struct tn_test_builder *state = tn_test_state_of(builder);
    if (state->depth == 0) tn_test_mistake(state, "nothing is open");
    if (state->key != NULL) tn_test_mistake(state, "a key has no value");
    if (state->mistake == NULL) state->depth--;
}

static inline int32_t tn_test_builder_finish(tn_builder *builder, tn_value *out, tn_value *error) {
    struct tn_test_builder *state = tn_test_state_of(builder);
    bool good;
    if (builder == NULL) return TN_INVALID;
    if (state->depth > 0) tn_test_mistake(state, "an array or object has not ended");
    if (state->root == NULL) tn_test_mistake(state, "there is no value");
    good = state->mistake == NULL;
    if (good && out != NULL) *out = tn_test_value_of(state->root);
    if (!good && error != NULL) {
        struct tn_test_value *detail = tn_test_new(TN_OBJECT);
        tn_test_push(detail, tn_test_new_text(TN_STRING, "at", 2));
        tn_test_push(detail, tn_test_new_text(TN_STRING, state->at, strlen(state->at)));
        *error = tn_test_reason("INVALID_VALUE", state->mistake, detail);
    }
    if (!good || out == NULL) tn_test_release(tn_test_value_of(state->root));
    tn_test_release(tn_test_value_of(state->key));
    free(state);
    return !good ? TN_FAILED : out != NULL ? TN_OK : TN_INVALID;
}

#ifdef __cplusplus
}
#endif
#endif
