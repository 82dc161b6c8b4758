/*
 * tenon/util/tool_pattern.h - patterns of names, and names of tools that come from elsewhere.
 *
 * In a pattern `*` matches any run of characters, every other character matches itself. A service may name its tools
 * with characters that an id cannot have: the operationId `repos/get` of an OpenAPI description becomes the tool
 * `github.repos_get`. Wherever a tool is named, its original is accepted, too:
 *
 *     tn_tool_pattern_matches("github.repos/g*", 14, "github.repos_get")      // true
 *     tn_tool_id("github.repos/get", 16, 0, id, sizeof(id))                   // 16, "github.repos_get"
 *
 * Thread: any. Nothing here allocates.
 */
#ifndef TENON_UTIL_TOOL_PATTERN_H
#define TENON_UTIL_TOOL_PATTERN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <tenon/util/cast.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of an original, with the end of the text. A longer one matches only as it is. */
#define TN_TOOL_PATTERN_MAX 512

/* `dots`: from here on, a dot of the pattern also matches `_`. Only the last `*` can ever match more, so one position
 * to return to is enough, and the cost is at most the product of both lengths. */
static inline bool tn_pattern_matches_from(const char *pattern, uint64_t length, const char *dots, const char *name) {
    const char *end = pattern + length, *star = NULL, *from = NULL;
    while (*name != '\0') {
        if (pattern < end && *pattern == '*') {
            star = ++pattern;
            from = name;
        } else if (pattern < end && (*pattern == *name || (pattern >= dots && *pattern == '.' && *name == '_'))) {
            pattern++;
            name++;
        } else if (star != NULL) {
            pattern = star;
            name = ++from;
        } else {
            return false;
        }
    }
    while (pattern < end && *pattern == '*') pattern++;
    return pattern == end;
}

static inline bool tn_pattern_matches(const char *pattern, uint64_t length, const char *name) {
    return tn_pattern_matches_from(pattern, length, pattern + length, name);
}

static inline bool tn_tool_is_alphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/*
 * Writes the last part of a tool's id for its name elsewhere, with the end of the text. A run of other characters than
 * letters, digits, `_` and `-` becomes one `_`, and so do dots if `dot` is '_' (else '.'); the result begins with a
 * letter or a digit, and does not end with `_`. A result that is too long for `size` is cut. Returns its length.
 */
static inline uint64_t tn_tool_id_part(const char *name, uint64_t length, char dot, char *out, uint64_t size) {
    uint64_t used = 0;
    bool fresh = true; /* no letter or digit yet */
    for (uint64_t i = 0; i < length && used + 1 < size; i++) {
        bool plain = tn_tool_is_alphanumeric(name[i]) || (dot == '.' && name[i] == '.' && used > 0);
        if (plain || (!fresh && (name[i] == '_' || name[i] == '-')))
            out[used++] = name[i];
        else if (!fresh && out[used - 1] != '_')
            out[used++] = '_';
        fresh = fresh && !plain;
    }
    while (used > 0 && out[used - 1] == '_') used--;
    out[used] = '\0';
    return used;
}

#define TN_TOOL_ID_FORMS 2u
/*
 * Writes an id that the tool with the original `name` may have: "SERVICE." and tn_tool_id_part of the rest, with dots
 * (form 0) or without (form 1), because a service keeps them or not. Returns its length; 0 if there is no such id, or
 * it is `name`: the caller looks up `name` first, then each form.
 */
static inline uint64_t tn_tool_id(const char *name, uint64_t length, uint32_t form, char *out, uint64_t size) {
    const char *first = TN_UTIL_CAST(const char *, memchr(name, '.', length));
    uint64_t before = first != NULL ? TN_UTIL_CAST(uint64_t, first - name) + 1 : 0, used;
    if (before == 0 || length >= size || size > TN_TOOL_PATTERN_MAX) return 0;
    used = tn_tool_id_part(first + 1, length - before, form == 0 ? '.' : '_', out + before, size - before);
    memcpy(out, name, before);
    if (used == 0 || (before + used == length && memcmp(out, name, length) == 0)) return 0;
    return before + used;
}

/* True if the pattern matches the id of a tool, or its original as far as the id shows it. */
static inline bool tn_tool_pattern_matches(const char *pattern, uint64_t length, const char *id) {
    char plain[TN_TOOL_PATTERN_MAX];
    uint64_t used = 0;
    const char *dot;
    if (tn_pattern_matches(pattern, length, id)) return true;
    if (length == 0 || length > sizeof(plain)) return false;
    for (uint32_t form = 0; form < TN_TOOL_ID_FORMS && memchr(pattern, '*', length) == NULL; form++)
        if (tn_tool_id(pattern, length, form, plain, sizeof(plain)) > 0 && strcmp(plain, id) == 0) return true;
    for (uint64_t i = 0; i < length; i++) { /* with `*`, nothing is dropped: the pattern must not match more */
        bool plain_char = tn_tool_is_alphanumeric(pattern[i]) || strchr("_-.*", pattern[i]) != NULL;
        if (plain_char)
            plain[used++] = pattern[i];
        else if (used == 0 || plain[used - 1] != '_')
            plain[used++] = '_';
    }
    dot = TN_UTIL_CAST(const char *, memchr(plain, '.', used));
    return tn_pattern_matches_from(plain, used, dot != NULL ? dot + 1 : plain + used, id);
}

#ifdef __cplusplus
}
#endif
#endif
