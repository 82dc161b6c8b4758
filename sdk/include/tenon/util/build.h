/*
 * tenon/util/build.h - a value from a format string and arguments.
 *
 *     tn_value error = tn_build("{s:s, s:s, s:{s:i}}", "code", code, "message", message, "detail", "index", index);
 *     return tn_done_take(task, tn_build("{s:v, s:[ii]}", "name", name, "size", width, height));
 *     tn_append_take(&list, tn_build("{s:I}", "id", id));        // a list that grows
 *
 * The format describes one value. Blanks, commas and colons are for the reader and have no effect.
 *   { ... }  an object: members, each a name (`s`: const char *) and a value
 *   [ ... ]  an array: values
 *   s        const char *, a string
 *   s#       const char * and uint64_t, a string with its length
 *   i        int                          I  int64_t
 *   f        double                       b  int, a bool
 *   n        null, without an argument
 *   v        tn_value, borrowed           V  tn_value, whose reference tn_build takes, also when it fails
 * After s, s#, v and V:
 *   ?        NULL becomes null
 *   *        NULL leaves the member or item out
 *
 * Returns a new reference. Returns NULL if an argument is NULL without `?` or `*`, a text is not UTF-8, a number is not
 * finite, memory runs out, or the format is malformed. All references that `V` takes are released then, except those
 * after the place where the format is malformed. Thread: any.
 */
#ifndef TENON_UTIL_BUILD_H
#define TENON_UTIL_BUILD_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <tenon/easy.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_BUILD_DEPTH 32 /* objects and arrays in one another */

struct tn_build_state {
    tn_builder *builder;
    const char *at;          /* in the format */
    const char *key;         /* of the next value; NULL: the next `s` of an object is a name, or the value is an item */
    uint32_t depth, objects; /* open objects and arrays; a bit for each depth that is an object */
    bool malformed, failed;
};

/* True if the format has `c` next, which is then skipped. */
static inline bool tn_build_skip(struct tn_build_state *state, char c) {
    bool found = *state->at == c;
    state->at += found;
    return found;
}

static inline void tn_build_key(struct tn_build_state *state) {
    if (state->key != NULL) tn.value->key(state->builder, state->key, TN_Z);
    state->key = NULL;
}

/* Takes the value, which is NULL if it could not be made. */
static inline void tn_build_add(struct tn_build_state *state, tn_value value) {
    tn_build_key(state);
    if (value == NULL)
        state->failed = true;
    else
        tn.value->add(state->builder, value);
    tn.value->release(value);
}

/* The same for an argument that `?` or `*` may follow. `present`: it was not NULL. */
static inline void tn_build_add_optional(struct tn_build_state *state, tn_value value, bool present) {
    bool null_allowed = tn_build_skip(state, '?'), may_be_absent = !null_allowed && tn_build_skip(state, '*');
    if (present || !may_be_absent)
        tn_build_add(state, present || !null_allowed ? value : tn_null());
    else
        state->key = NULL;
}

static inline void tn_build_open(struct tn_build_state *state, int32_t kind) {
    if (state->depth == TN_BUILD_DEPTH) {
        state->malformed = true;
        return;
    }
    tn_build_key(state);
    tn.value->begin(state->builder, kind);
    state->objects &= ~(1u << state->depth);
    if (kind == TN_OBJECT) state->objects |= 1u << state->depth;
    state->depth++;
}

static inline bool tn_build_in_object(const struct tn_build_state *state) {
    return state->depth > 0 && (state->objects >> (state->depth - 1) & 1) != 0;
}

static inline void tn_build_close(struct tn_build_state *state, bool object) {
    if (state->depth == 0 || tn_build_in_object(state) != object || state->key != NULL) {
        state->malformed = true;
        return;
    }
    state->depth--;
    tn.value->end(state->builder);
}

/* As tn_build, with the arguments as a list. */
static inline tn_value tn_build_va(const char *format, va_list arguments) {
    struct tn_build_state state;
    const char *text;
    uint64_t length;
    tn_value value;
    uint32_t roots = 0;
    memset(&state, 0, sizeof(state));
    state.builder = tn_builder_new();
    state.at = format;
    if (state.builder == NULL) return NULL;
    while (!state.malformed && *state.at != '\0') {
        char c = *state.at++;
        if (c == ' ' || c == ',' || c == ':' || c == '\n' || c == '\t') continue;
        if (c == '}' || c == ']') {
            tn_build_close(&state, c == '}');
            continue;
        }
        if (tn_build_in_object(&state) && state.key == NULL) { /* a name */
            state.malformed = c != 's' || *state.at == '#' || *state.at == '?' || *state.at == '*';
            if (!state.malformed) state.key = va_arg(arguments, const char *);
            if (!state.malformed && state.key == NULL) {
                state.failed = true;
                state.key = "";
            }
            continue;
        }
        if (state.depth == 0 && roots++ > 0) {
            state.malformed = true;
            break;
        }
        switch (c) {
        case '{': tn_build_open(&state, TN_OBJECT); break;
        case '[': tn_build_open(&state, TN_ARRAY); break;
        case 's':
            text = va_arg(arguments, const char *);
            length = tn_build_skip(&state, '#') ? va_arg(arguments, uint64_t) : text != NULL ? strlen(text) : 0;
            tn_build_add_optional(&state, text != NULL ? tn_text_n(text, length) : NULL, text != NULL);
            break;
        case 'i': tn_build_add(&state, tn_int(va_arg(arguments, int))); break;
        case 'I': tn_build_add(&state, tn_int(va_arg(arguments, int64_t))); break;
        case 'f': tn_build_add(&state, tn_num(va_arg(arguments, double))); break;
        case 'b': tn_build_add(&state, tn_bool(va_arg(arguments, int) != 0)); break;
        case 'n': tn_build_add(&state, tn_null()); break;
        case 'v':
            value = va_arg(arguments, tn_value);
            tn_build_add_optional(&state, tn.value->retain(value), value != NULL);
            break;
        case 'V':
            value = va_arg(arguments, tn_value);
            tn_build_add_optional(&state, value, value != NULL);
            break;
        default: state.malformed = true; break;
        }
    }
    value = tn_finish(state.builder);
    if (!state.malformed && !state.failed && state.depth == 0 && roots == 1) return value;
    tn.value->release(value);
    return NULL;
}

static inline tn_value tn_build(const char *format, ...) {
    tn_value value;
    va_list arguments;
    va_start(arguments, format);
    value = tn_build_va(format, arguments);
    va_end(arguments);
    return value;
}

/* ---- One member, one item -------------------------------------------------------------------------------------- */

/* The member that has the string `key` as its name: borrowed; NULL if absent. The name may contain U+0000. */
static inline tn_value tn_get_key(tn_value object, tn_value key) {
    uint64_t length = 0;
    const char *name = tn.value->as_text(key, &length);
    return tn.value->get(object, name, length);
}

/* Adds a member that has the string `key` as its name, for example one that value_1.entry returns. */
static inline void tn_put_key(tn_builder *builder, tn_value key, tn_value value) {
    uint64_t length = 0;
    const char *name = tn.value->as_text(key, &length);
    tn.value->key(builder, name, length);
    tn.value->add(builder, value);
}
static inline void tn_put_key_take(tn_builder *builder, tn_value key, tn_value value) {
    tn_put_key(builder, key, value);
    tn.value->release(value);
}

/* `object` with the member set: a new reference. Takes both references. NULL if either is NULL. */
static inline tn_value tn_set_take(tn_value object, const char *key, tn_value value) {
    int32_t status = tn.value->set(&object, key, TN_Z, value);
    tn.value->release(value);
    if (status == TN_OK) return object;
    tn.value->release(object);
    return NULL;
}

/* Appends `item` to *list, where NULL is the empty list. Takes the item; NULL appends nothing. On failure *list stays.
 */
static inline int32_t tn_append_take(tn_value *list, tn_value item) {
    int32_t status = TN_NO_MEMORY;
    if (item == NULL) return TN_INVALID;
    if (*list == NULL) *list = tn_build("[]");
    if (*list != NULL) status = tn.value->append(list, item);
    tn.value->release(item);
    return status;
}

#ifdef __cplusplus
}
#endif
#endif
