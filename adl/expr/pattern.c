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

struct regex *regex_new(const char *text, size_t length, char message[REGEX_MESSAGE]) {
    if (length > EXPR_PATTERN_LENGTH) {
        snprintf(message, REGEX_MESSAGE, "it is longer than %u bytes", EXPR_PATTERN_LENGTH);
        return NULL;
    }
    int number;
    PCRE2_SIZE offset;
    uint32_t options = PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C | PCRE2_NO_AUTO_CAPTURE;
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

void regex_free(struct regex *regex) {
    if (!regex) return;
    pcre2_code_free(regex->code);
    mem_free(regex);
}

static struct regex_scratch *scratch_new(void) {
    struct regex_scratch *scratch = mem_zalloc(sizeof *scratch);
    scratch->data = pcre2_match_data_create(1, NULL);
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

void regex_scratch_free(struct regex_scratch *scratch) {
    if (!scratch) return;
    pcre2_match_data_free(scratch->data);
    pcre2_match_context_free(scratch->context);
    mem_free(scratch);
}
