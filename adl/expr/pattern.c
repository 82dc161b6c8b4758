/*
 * pattern.c - matches() with PCRE2.
 *
 * The options are chosen so that patterns that RE2 accepts have the same meaning here: ASCII classes, `$` only at the
 * very end, no \C. Patterns can come from outside, so steps, depth and heap of every search are bounded; a pattern
 * cannot raise these limits ((*LIMIT_MATCH=) only lowers them).
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "adl/expr/pattern.h"
#include "adl/expr/expr.h"
#include "adl/value/memory.h"
#include <pcre2.h>
#include <stdio.h>

#define DEPTH_LIMIT 1000u
#define HEAP_LIMIT  1024u /* KiB */

struct regex {
    pcre2_code *code;
};

struct regex_scratch {
    pcre2_match_data *data;
    pcre2_match_context *context;
};

static struct regex *pattern_compile(const char *text, size_t length, uint32_t more_options,
                                     char message[REGEX_MESSAGE]) {
    if (length > EXPR_PATTERN_LENGTH) {
        snprintf(message, REGEX_MESSAGE, "it is longer than %u bytes", EXPR_PATTERN_LENGTH);
        return NULL;
    }
    int number;
    PCRE2_SIZE offset;
    uint32_t options = PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C | more_options;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)text, length, options, &number, &offset, NULL);
    if (!code) {
        PCRE2_UCHAR8 reason[REGEX_MESSAGE / 2];
        pcre2_get_error_message(number, reason, sizeof reason);
        snprintf(message, REGEX_MESSAGE, "%s, at character %zu of it", (const char *)reason, (size_t)offset + 1);
        return NULL;
    }
    struct regex *regex = mem_alloc(sizeof *regex);
    regex->code = code;
    return regex;
}

struct regex *regex_new(const char *text, size_t length, char message[REGEX_MESSAGE]) {
    return pattern_compile(text, length, PCRE2_NO_AUTO_CAPTURE, message);
}

struct regex *regex_new_with_groups(const char *text, size_t length, char message[REGEX_MESSAGE]) {
    struct regex *regex = pattern_compile(text, length, 0, message);
    if (!regex || regex_group_count(regex) < REGEX_GROUPS_MAX) return regex;
    snprintf(message, REGEX_MESSAGE, "it has more than %u groups", REGEX_GROUPS_MAX - 1);
    regex_free(regex);
    return NULL;
}

uint32_t regex_group_count(const struct regex *regex) {
    uint32_t count = 0;
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_CAPTURECOUNT, &count);
    return count;
}

const char *regex_group_name(const struct regex *regex, uint32_t group) {
    PCRE2_SPTR table = NULL;
    uint32_t count = 0, size = 0;
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_NAMETABLE, (void *)&table);
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_NAMECOUNT, &count);
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_NAMEENTRYSIZE, &size);
    /* Each entry: two bytes with the number of the group, then its name. */
    for (uint32_t i = 0; i < count; i++, table += size)
        if ((uint32_t)(table[0] << 8 | table[1]) == group) return (const char *)table + 2;
    return NULL;
}

void regex_free(struct regex *regex) {
    if (!regex) return;
    pcre2_code_free(regex->code);
    mem_free(regex);
}

static struct regex_scratch *scratch_new(void) {
    struct regex_scratch *scratch = mem_zalloc(sizeof *scratch);
    scratch->data = pcre2_match_data_create(REGEX_GROUPS_MAX, NULL);
    scratch->context = pcre2_match_context_create(NULL);
    if (!scratch->data || !scratch->context) {
        regex_scratch_free(scratch);
        return NULL;
    }
    pcre2_set_match_limit(scratch->context, EXPR_MATCH_STEPS);
    pcre2_set_depth_limit(scratch->context, DEPTH_LIMIT);
    pcre2_set_heap_limit(scratch->context, HEAP_LIMIT);
    return scratch;
}

int regex_search(const struct regex *regex, const char *text, size_t length, struct regex_scratch **scratch) {
    if (!*scratch) *scratch = scratch_new();
    if (!*scratch) return -1;
    int found = pcre2_match(regex->code, (PCRE2_SPTR)text, length, 0, PCRE2_NO_UTF_CHECK, (*scratch)->data,
                            (*scratch)->context);
    if (found == PCRE2_ERROR_NOMATCH) return 0;
    return found < 0 ? -1 : 1;
}

int regex_find(const struct regex *regex, const char *text, size_t length, size_t from, struct regex_scratch **scratch,
               struct regex_groups *out) {
    if (!*scratch) *scratch = scratch_new();
    if (!*scratch) return -1;
    int found = pcre2_match(regex->code, (PCRE2_SPTR)text, length, from, PCRE2_NO_UTF_CHECK, (*scratch)->data,
                            (*scratch)->context);
    if (found == PCRE2_ERROR_NOMATCH) return 0;
    if (found < 0) return -1;
    const PCRE2_SIZE *positions = pcre2_get_ovector_pointer((*scratch)->data);
    out->count = regex_group_count(regex) + 1;
    for (uint32_t i = 0; i < out->count; i++) {
        /* Groups after the last one that took part have no positions. A lookbehind (\K) can end before its start. */
        bool set = i < (uint32_t)found && positions[2 * i] != PCRE2_UNSET && positions[2 * i + 1] >= positions[2 * i];
        out->starts[i] = set ? positions[2 * i] : SIZE_MAX;
        out->ends[i] = set ? positions[2 * i + 1] : SIZE_MAX;
    }
    return out->starts[0] == SIZE_MAX || out->starts[0] < from ? 0 : 1;
}

void regex_scratch_free(struct regex_scratch *scratch) {
    if (!scratch) return;
    pcre2_match_data_free(scratch->data);
    pcre2_match_context_free(scratch->context);
    mem_free(scratch);
}
