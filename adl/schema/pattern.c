/*
 * pattern.c - rewrites ECMA-262 expressions for PCRE2 and matches within limits.
 *
 * The rewriter is one pass with three states: outside a class, inside a class, and after a quantifier. It does not
 * parse, because PCRE2 checks balance, ranges and group numbers. `^` followed by plain characters, the most frequent
 * pattern of property names, is compared directly; most others become tables (pattern_quick.h).
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "adl/schema/pattern.h"

#include <pcre2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "adl/schema/pattern_quick.h"
#include "adl/schema/schema.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"

#define HEAP_KIB_MAX  4096u /* KiB of memory that PCRE2 may use for one match */
#define DEPTH_MAX     5000u /* PCRE2's nesting of groups during a match */
#define GROWTH        16u   /* a rewritten expression may be longer by this factor; \s grows most */
#define NAME_MAX_SIZE 64u   /* bytes of a property name in \p{…} */

/* WhiteSpace and LineTerminator of ECMA-262, and everything else, for use inside a class. */
#define SPACES                                                                                                         \
    "\\x09-\\x0d\\x20\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}"
#define NOT_SPACES                                                                                                     \
    "\\x00-\\x08\\x0e-\\x1f\\x21-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}"                       \
    "\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}"

struct pattern {
    pcre2_code *code; /* NULL if the pattern is only a prefix, or a table */
    pcre2_match_context *limits;
    struct quick *quick; /* NULL if PCRE2 matches */
    char *prefix;
    size_t prefix_length;
};

/* Long names of general categories, which ECMA-262 accepts and PCRE2 does not. */
static const struct {
    const char *name, *short_name;
} categories[] = {
    {"Any", "Any"},
    {"Assigned", "^Cn"},
    {"ASCII", "ASCII"},
    {"Letter", "L"},
    {"Cased_Letter", "L&"},
    {"Uppercase_Letter", "Lu"},
    {"Lowercase_Letter", "Ll"},
    {"Titlecase_Letter", "Lt"},
    {"Modifier_Letter", "Lm"},
    {"Other_Letter", "Lo"},
    {"Mark", "M"},
    {"Combining_Mark", "M"},
    {"Nonspacing_Mark", "Mn"},
    {"Spacing_Mark", "Mc"},
    {"Enclosing_Mark", "Me"},
    {"Number", "N"},
    {"Decimal_Number", "Nd"},
    {"digit", "Nd"},
    {"Letter_Number", "Nl"},
    {"Other_Number", "No"},
    {"Punctuation", "P"},
    {"punct", "P"},
    {"Connector_Punctuation", "Pc"},
    {"Dash_Punctuation", "Pd"},
    {"Open_Punctuation", "Ps"},
    {"Close_Punctuation", "Pe"},
    {"Initial_Punctuation", "Pi"},
    {"Final_Punctuation", "Pf"},
    {"Other_Punctuation", "Po"},
    {"Symbol", "S"},
    {"Math_Symbol", "Sm"},
    {"Currency_Symbol", "Sc"},
    {"Modifier_Symbol", "Sk"},
    {"Other_Symbol", "So"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Line_Separator", "Zl"},
    {"Paragraph_Separator", "Zp"},
    {"Other", "C"},
    {"Control", "Cc"},
    {"cntrl", "Cc"},
    {"Format", "Cf"},
    {"Surrogate", "Cs"},
    {"Private_Use", "Co"},
    {"Unassigned", "Cn"},
};

struct rewrite {
    const char *at, *end;
    struct buffer out;
    bool in_class;
    bool repeatable; /* the previous item may have a quantifier */
    char *message;
    size_t message_size;
};

static bool pattern_refuse(struct rewrite *rewrite, const char *found, size_t length, const char *why) {
    snprintf(rewrite->message, rewrite->message_size, "`%.*s` %s", (int)length, found, why);
    return false;
}

static bool alphanumeric(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static int pattern_hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static void put_code_point(struct rewrite *rewrite, uint32_t code_point) {
    buffer_format(&rewrite->out, "\\x{%x}", (unsigned)code_point);
}

/* Reads `count` hex digits at `at`; -1 if there are fewer. */
static int32_t hex_number(const char *at, const char *end, int count) {
    int32_t number = 0;
    if (end - at < count) return -1;
    for (int i = 0; i < count; i++) {
        int digit = pattern_hex_value(at[i]);
        if (digit < 0) return -1;
        number = number * 16 + digit;
    }
    return number;
}

/* Rewrites the rest of `\u`: XXXX, two surrogates, or {X…}. */
static bool unicode_escape(struct rewrite *rewrite) {
    const char *start = rewrite->at - 2;
    int32_t number = -1;
    if (rewrite->at < rewrite->end && *rewrite->at == '{') {
        const char *close = memchr(rewrite->at, '}', (size_t)(rewrite->end - rewrite->at));
        if (close && close - rewrite->at >= 2 && close - rewrite->at <= 7)
            number = hex_number(rewrite->at + 1, close, (int)(close - rewrite->at - 1));
        if (number >= 0) rewrite->at = close + 1;
    } else {
        number = hex_number(rewrite->at, rewrite->end, 4);
        if (number >= 0) rewrite->at += 4;
        if (number >= 0xd800 && number < 0xdc00 && rewrite->end - rewrite->at >= 6 && rewrite->at[0] == '\\' &&
            rewrite->at[1] == 'u') {
            int32_t low = hex_number(rewrite->at + 2, rewrite->end, 4);
            if (low >= 0xdc00 && low < 0xe000) {
                number = 0x10000 + ((number - 0xd800) << 10) + (low - 0xdc00);
                rewrite->at += 6;
            }
        }
    }
    if (number < 0 || number > 0x10ffff || (number >= 0xd800 && number < 0xe000))
        return pattern_refuse(rewrite, start, 2,
                              "must be followed by four hexadecimal digits or {…} that name a character");
    put_code_point(rewrite, (uint32_t)number);
    return true;
}

/* Rewrites the rest of `\p` or `\P`. */
static bool property_escape(struct rewrite *rewrite, bool negated) {
    const char *start = rewrite->at - 2;
    size_t left = (size_t)(rewrite->end - rewrite->at);
    const char *close = left ? memchr(rewrite->at, '}', left) : NULL;
    if (!left || *rewrite->at != '{' || !close || (size_t)(close - rewrite->at) > NAME_MAX_SIZE)
        return pattern_refuse(rewrite, start, 2, "must be followed by a property's name in braces");
    const char *name = rewrite->at + 1;
    size_t length = (size_t)(close - name);
    rewrite->at = close + 1;
    static const char *const prefixes[] = {"General_Category=", "gc="};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t n = strlen(prefixes[i]);
        if (length > n && memcmp(name, prefixes[i], n) == 0) name += n, length -= n;
    }
    for (size_t i = 0; i < length; i++)
        if (!alphanumeric(name[i]) && name[i] != '_' && name[i] != '=')
            return pattern_refuse(rewrite, start, (size_t)(close + 1 - start), "is not a Unicode property");
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
        if (strlen(categories[i].name) == length && memcmp(categories[i].name, name, length) == 0)
            name = categories[i].short_name, length = strlen(name);
    if (length && *name == '^') name++, length--, negated = !negated;
    buffer_format(&rewrite->out, "\\%c{%.*s}", negated ? 'P' : 'p', (int)length, name);
    return true;
}

static bool group_name(struct rewrite *rewrite, const char *start) {
    const char *name = rewrite->at;
    while (rewrite->at < rewrite->end && (alphanumeric(*rewrite->at) || *rewrite->at == '_' || *rewrite->at == '$'))
        rewrite->at++;
    if (rewrite->at == name || rewrite->at == rewrite->end || *rewrite->at != '>')
        return pattern_refuse(rewrite, start, (size_t)(rewrite->at - start),
                              "must have a group's name in angle brackets");
    rewrite->at++;
    for (; *name != '>'; name++) buffer_text(&rewrite->out, *name == '$' ? "_S_" : (char[2]){*name, 0});
    buffer_char(&rewrite->out, '>');
    return true;
}

/* Rewrites an escape after its backslash; at least one byte is left. */
static bool pattern_escape(struct rewrite *rewrite) {
    char c = *rewrite->at++;
    const char *start = rewrite->at - 2;
    int32_t number;
    switch (c) {
    case 's': buffer_text(&rewrite->out, rewrite->in_class ? SPACES : "[" SPACES "]"); return true;
    case 'S': buffer_text(&rewrite->out, rewrite->in_class ? NOT_SPACES : "[" NOT_SPACES "]"); return true;
    case 'v': buffer_text(&rewrite->out, "\\x0b"); return true;
    case '0': buffer_text(&rewrite->out, "\\x00"); return true;
    case 'u': return unicode_escape(rewrite);
    case 'p': return property_escape(rewrite, false);
    case 'P': return property_escape(rewrite, true);
    case 'x':
        number = hex_number(rewrite->at, rewrite->end, 2);
        if (number < 0) return pattern_refuse(rewrite, start, 2, "must be followed by two hexadecimal digits");
        rewrite->at += 2;
        put_code_point(rewrite, (uint32_t)number);
        return true;
    case 'c':
        if (rewrite->at == rewrite->end || !alphanumeric(*rewrite->at) || *rewrite->at <= '9')
            return pattern_refuse(rewrite, start, 2, "must be followed by a letter");
        put_code_point(rewrite, (uint32_t)*rewrite->at++ % 32);
        return true;
    case 'k':
        if (rewrite->in_class || rewrite->at == rewrite->end || *rewrite->at++ != '<')
            return pattern_refuse(rewrite, start, 2, "must be followed by a group's name in angle brackets");
        buffer_text(&rewrite->out, "\\k<");
        return group_name(rewrite, start);
    case 'b':
    case 'B':
        if (c == 'B' && rewrite->in_class) break;
        rewrite->repeatable = rewrite->in_class;
        buffer_format(&rewrite->out, "\\%c", c);
        return true;
    default: break;
    }
    if ((c && strchr("dDwWtnrf", c)) || (c >= '1' && c <= '9' && !rewrite->in_class)) {
        buffer_format(&rewrite->out, "\\%c", c);
        /* PCRE2 would read \10 with fewer than ten groups as octal. */
        if (c >= '1' && c <= '9' && rewrite->at < rewrite->end && *rewrite->at >= '0' && *rewrite->at <= '9')
            return pattern_refuse(rewrite, start, 3, "refers to a group beyond \\9, which is not supported");
        return true;
    }
    if (alphanumeric(c)) return pattern_refuse(rewrite, start, 2, "is not an escape of ECMA-262");
    if ((unsigned char)c < 0x80) buffer_char(&rewrite->out, '\\');
    buffer_char(&rewrite->out, c); /* the rest of a multi-byte character is copied unchanged */
    return true;
}

/*
 * Rewrites the start of a group after `(`. ECMA-262 defines only a few forms after `?`; all others belong to other
 * engines.
 */
static bool pattern_group(struct rewrite *rewrite) {
    const char *start = rewrite->at - 1;
    size_t left = (size_t)(rewrite->end - rewrite->at);
    buffer_char(&rewrite->out, '(');
    if (left && *rewrite->at == '*') return pattern_refuse(rewrite, start, 2, "has nothing to repeat");
    if (!left || *rewrite->at != '?') return true;
    static const char *const kinds[] = {"?:", "?=", "?!", "?<=", "?<!"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t n = strlen(kinds[i]);
        if (left < n || memcmp(rewrite->at, kinds[i], n) != 0) continue;
        buffer_text(&rewrite->out, kinds[i]);
        rewrite->at += n;
        return true;
    }
    if (left < 3 || rewrite->at[1] != '<')
        return pattern_refuse(rewrite, start, left < 2 ? 2 : 3,
                              "is not a group of ECMA-262: no inline options or comments");
    rewrite->at += 2;
    buffer_text(&rewrite->out, "?<");
    return group_name(rewrite, start);
}

/* Returns the length of a quantifier in braces at `at`, which is a `{`; 0 if it is not a quantifier. */
static size_t pattern_braces(const char *at, const char *end) {
    const char *p = at + 1;
    while (p < end && *p >= '0' && *p <= '9') p++;
    if (p == at + 1) return 0;
    if (p < end && *p == ',')
        for (p++; p < end && *p >= '0' && *p <= '9';) p++;
    return p < end && *p == '}' ? (size_t)(p + 1 - at) : 0;
}

static bool quantifier(struct rewrite *rewrite, size_t length) {
    const char *start = rewrite->at - 1;
    if (!rewrite->repeatable) return pattern_refuse(rewrite, start, length, "has nothing to repeat");
    buffer_append(&rewrite->out, start, length);
    rewrite->at = start + length;
    if (rewrite->at < rewrite->end && *rewrite->at == '?') buffer_char(&rewrite->out, *rewrite->at++);
    rewrite->repeatable = false;
    return true;
}

static bool rewrite_outside_class(struct rewrite *rewrite) {
    char c = *rewrite->at++;
    size_t length = 1;
    switch (c) {
    case '\\':
        if (rewrite->at == rewrite->end) return pattern_refuse(rewrite, "\\", 1, "at the end escapes nothing");
        rewrite->repeatable = true;
        return pattern_escape(rewrite);
    case '[':
        rewrite->in_class = true;
        buffer_char(&rewrite->out, c);
        if (rewrite->at < rewrite->end && *rewrite->at == '^') buffer_char(&rewrite->out, *rewrite->at++);
        return true;
    case '(': rewrite->repeatable = false; return pattern_group(rewrite);
    case '{':
        length = pattern_braces(rewrite->at - 1, rewrite->end);
        if (length) return quantifier(rewrite, length);
        buffer_text(&rewrite->out, "\\{");
        rewrite->repeatable = true;
        return true;
    case '*':
    case '+':
    case '?': return quantifier(rewrite, length);
    case '.': buffer_text(&rewrite->out, "[^\\n\\r\\x{2028}\\x{2029}]"); break;
    case '^':
    case '$':
    case '|':
        buffer_char(&rewrite->out, c);
        rewrite->repeatable = false;
        return true;
    default: buffer_char(&rewrite->out, c); break;
    }
    rewrite->repeatable = true;
    return true;
}

static bool rewrite_inside_class(struct rewrite *rewrite) {
    char c = *rewrite->at++;
    if (c == '\\') {
        if (rewrite->at == rewrite->end) return pattern_refuse(rewrite, "\\", 1, "at the end escapes nothing");
        return pattern_escape(rewrite);
    }
    if (c == '[') buffer_char(&rewrite->out, '\\');
    buffer_char(&rewrite->out, c);
    if (c == ']') rewrite->in_class = false, rewrite->repeatable = true;
    return true;
}

/* True for `^` followed by literal characters. */
static bool is_prefix(const char *text, size_t length) {
    if (length < 2 || text[0] != '^') return false;
    for (size_t i = 1; i < length; i++)
        if ((unsigned char)text[i] < 0x80 && !alphanumeric(text[i]) && !strchr("-_/:@ ", text[i])) return false;
    return memchr(text, 0, length) == NULL;
}

static bool pattern_compile(struct pattern *pattern, const struct buffer *text, char *message, size_t message_size) {
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    pattern->limits = pcre2_match_context_create(NULL);
    int code = PCRE2_ERROR_NOMEMORY;
    PCRE2_SIZE offset;
    if (context && pattern->limits) {
        pcre2_set_newline(context, PCRE2_NEWLINE_LF);
        pcre2_set_match_limit(pattern->limits, SCHEMA_MATCH_MAX);
        pcre2_set_depth_limit(pattern->limits, DEPTH_MAX);
        pcre2_set_heap_limit(pattern->limits, HEAP_KIB_MAX);
        uint32_t options = PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_DOLLAR_ENDONLY | PCRE2_ALLOW_EMPTY_CLASS |
                           PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C;
        pattern->code = pcre2_compile((PCRE2_SPTR)buffer_cstr(text), text->length, options, &code, &offset, context);
    }
    pcre2_compile_context_free(context);
    if (pattern->code) return true;
    PCRE2_UCHAR reason[200];
    if (pcre2_get_error_message(code, reason, sizeof reason) < 0) reason[0] = 0;
    snprintf(message, message_size, "%s", (const char *)reason);
    return false;
}

bool pattern_new(const char *text, size_t length, struct pattern **out, char *message, size_t message_size) {
    if (length > SCHEMA_PATTERN_MAX) {
        snprintf(message, message_size, "it has %zu bytes, and %u are allowed", length, SCHEMA_PATTERN_MAX);
        return false;
    }
    struct pattern *pattern = mem_zalloc(sizeof *pattern);
    if (is_prefix(text, length)) {
        pattern->prefix = mem_text_n(text + 1, length - 1);
        pattern->prefix_length = length - 1;
        *out = pattern;
        return true;
    }
    struct rewrite rewrite = {.at = text, .end = text + length, .message = message, .message_size = message_size};
    buffer_init(&rewrite.out, (size_t)SCHEMA_PATTERN_MAX * GROWTH);
    bool good = true;
    while (good && rewrite.at < rewrite.end)
        good = rewrite.in_class ? rewrite_inside_class(&rewrite) : rewrite_outside_class(&rewrite);
    if (good && rewrite.in_class) good = pattern_refuse(&rewrite, "[", 1, "is not closed by `]`");
    if (good && rewrite.out.overflow)
        good = pattern_refuse(&rewrite, text, length < 40 ? length : 40, "… is too large");
    if (good) good = pattern_compile(pattern, &rewrite.out, message, message_size);
    buffer_finish(&rewrite.out);
    if (good)
        *out = pattern;
    else
        pattern_free(pattern);
    return good;
}

void pattern_quicken(struct pattern *pattern, const char *text, size_t length, struct quick_budget *budget) {
    if (!pattern->prefix) pattern->quick = quick_new(text, length, budget);
    if (!pattern->quick) return;
    pcre2_code_free(pattern->code);
    pcre2_match_context_free(pattern->limits);
    pattern->code = NULL;
    pattern->limits = NULL;
}

void pattern_free(struct pattern *pattern) {
    if (!pattern) return;
    quick_free(pattern->quick);
    pcre2_code_free(pattern->code);
    pcre2_match_context_free(pattern->limits);
    mem_free(pattern->prefix);
    mem_free(pattern);
}

int pattern_match(const struct pattern *pattern, const char *text, size_t length, void **scratch) {
    if (pattern->prefix)
        return length >= pattern->prefix_length && memcmp(text, pattern->prefix, pattern->prefix_length) == 0;
    if (length > SCHEMA_SUBJECT_MAX) return TN_LIMIT;
    if (pattern->quick) return quick_matches(pattern->quick, text, length);
    if (!*scratch) *scratch = pcre2_match_data_create(1, NULL);
    if (!*scratch) return TN_LIMIT;
    int found = pcre2_match(pattern->code, (PCRE2_SPTR)text, length, 0, PCRE2_NO_UTF_CHECK, *scratch, pattern->limits);
    if (found >= 0) return 1;
    return found == PCRE2_ERROR_NOMATCH ? 0 : TN_LIMIT;
}

void pattern_scratch_free(void *scratch) { pcre2_match_data_free(scratch); }
