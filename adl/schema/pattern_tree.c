/*
 * pattern_tree.c - the text of a pattern as a tree of items (pattern_tree.h).
 *
 * PCRE2 has accepted the text before, so syntax is not checked again. Every array has a limit: a larger pattern, and
 * one that is not a regular language, sets `failed` and stays with PCRE2.
 */
#include "adl/schema/pattern_tree.h"

#include "adl/value/json.h"

#define NESTING_MAX 24u /* groups within groups */

static uint16_t parse_alternatives(struct parse *parse, bool at_start, unsigned depth);

static uint16_t add_item(struct parse *parse, enum item_kind kind) {
    if (parse->item_count + 1 >= PATTERN_ITEMS_MAX) {
        parse->failed = true;
        return 0;
    }
    uint16_t index = (uint16_t)++parse->item_count;
    parse->items[index] = (struct item){.kind = kind, .from = (uint16_t)parse->range_count, .least = 1, .most = 1};
    return index;
}

static void add_range(struct parse *parse, uint32_t low, uint32_t high) {
    if (parse->range_count == PATTERN_RANGES_MAX)
        parse->failed = true;
    else
        parse->ranges[parse->range_count++] = (struct range_of_codes){low, high};
}

/* Replaces the ranges from `first` by their complement. */
static void complement(struct parse *parse, size_t first) {
    struct range_of_codes *ranges = parse->ranges + first, sorted[PATTERN_RANGES_MAX];
    size_t count = parse->range_count - first, kept = 0;
    for (size_t i = 0; i < count; i++) { /* insertion, because classes are short */
        size_t at = kept++;
        for (; at > 0 && sorted[at - 1].low > ranges[i].low; at--) sorted[at] = sorted[at - 1];
        sorted[at] = ranges[i];
    }
    uint32_t next = 0;
    parse->range_count = first;
    for (size_t i = 0; i < kept; i++) {
        if (sorted[i].low > next) add_range(parse, next, sorted[i].low - 1);
        if (sorted[i].high + 1 > next) next = sorted[i].high + 1;
    }
    if (next <= PATTERN_CODE_MAX) add_range(parse, next, PATTERN_CODE_MAX);
}

/* \d \w \s and their complements; returns false for another letter. */
static bool add_named_set(struct parse *parse, char name) {
    static const struct range_of_codes spaces[] = {
        {9, 13},          {32, 32},         {0xa0, 0xa0},     {0x1680, 0x1680}, {0x2000, 0x200a},
        {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}, {0xfeff, 0xfeff}};
    size_t first = parse->range_count;
    switch (name) {
    case 'd':
    case 'D': add_range(parse, '0', '9'); break;
    case 'w':
    case 'W':
        add_range(parse, '0', '9');
        add_range(parse, 'A', 'Z');
        add_range(parse, '_', '_');
        add_range(parse, 'a', 'z');
        break;
    case 's':
    case 'S':
        for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) add_range(parse, spaces[i].low, spaces[i].high);
        break;
    default: return false;
    }
    if (name < 'a') complement(parse, first);
    return true;
}

static bool is_letter_or_digit(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static uint32_t parse_hex(struct parse *parse, int digits) {
    uint32_t number = 0;
    for (; digits > 0 && parse->at < parse->end; digits--, parse->at++) {
        char c = *parse->at;
        number = number * 16 + (uint32_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    return number;
}

/* A character after its backslash, which is not the name of a set. */
static uint32_t parse_escape(struct parse *parse, bool in_class) {
    char c = *parse->at++;
    switch (c) {
    case 't': return '\t';
    case 'n': return '\n';
    case 'r': return '\r';
    case 'f': return '\f';
    case 'v': return '\v';
    case '0': return 0;
    case 'x': return parse_hex(parse, 2);
    case 'c': return (uint32_t)*parse->at++ % 32;
    case 'u':
        if (parse->at < parse->end && *parse->at != '{') {
            uint32_t code = parse_hex(parse, 4);
            if (code >= 0xd800 && code < 0xe000) parse->failed = true; /* half of a pair: rare */
            return code;
        }
        break;
    case 'b':
        if (in_class) return '\b';
        break;
    default:
        if (!is_letter_or_digit(c) && (unsigned char)c < 0x80) return (unsigned char)c;
        break;
    }
    parse->failed = true; /* groups by number or name, word boundaries, properties, \u{…} */
    return 0;
}

static uint32_t parse_code(struct parse *parse) {
    uint32_t code = 0;
    size_t used = utf8_decode(parse->at, (size_t)(parse->end - parse->at), &code);
    if (used == 0) parse->failed = true;
    parse->at += used;
    return code;
}

/* One member of a class. Returns false for a set, which cannot be the end of a range. */
static bool parse_member(struct parse *parse, uint32_t *code) {
    if (*parse->at != '\\') {
        *code = parse_code(parse);
        return true;
    }
    parse->at++;
    if (parse->at < parse->end && add_named_set(parse, *parse->at)) {
        parse->at++;
        return false;
    }
    *code = parse->at < parse->end ? parse_escape(parse, true) : 0;
    return true;
}

/* After `[`. */
static void parse_class(struct parse *parse) {
    size_t first = parse->range_count;
    bool negated = parse->at < parse->end && *parse->at == '^';
    if (negated) parse->at++;
    while (!parse->failed && parse->at < parse->end && *parse->at != ']') {
        uint32_t low = 0, high = 0;
        bool single = parse_member(parse, &low);
        bool range = parse->end - parse->at >= 2 && parse->at[0] == '-' && parse->at[1] != ']';
        if (!range) {
            if (single) add_range(parse, low, low);
            continue;
        }
        parse->at++;
        if (!single || parse->failed || !parse_member(parse, &high) || high < low)
            parse->failed = true; /* [\d-z] and [a-\d]: engines differ */
        else
            add_range(parse, low, high);
    }
    parse->at++;
    if (negated && !parse->failed) complement(parse, first);
}

/* Reads a number if there is one. */
static bool parse_number(const char **at, const char *end, uint32_t *number) {
    const char *start = *at;
    for (*number = 0; *at < end && **at >= '0' && **at <= '9'; ++*at)
        if (*number < 100000) *number = *number * 10 + (uint32_t)(**at - '0');
    return *at > start;
}

/* True if a quantifier in braces follows: {n}, {n,} or {n,m}. */
static bool parse_braces(struct parse *parse, uint32_t *least, uint32_t *most) {
    const char *at = parse->at + 1;
    if (!parse_number(&at, parse->end, least)) return false;
    *most = *least;
    if (at < parse->end && *at == ',') {
        at++;
        if (!parse_number(&at, parse->end, most)) *most = PATTERN_UNBOUNDED;
    }
    if (at == parse->end || *at != '}') return false;
    parse->at = at + 1;
    return true;
}

static void parse_quantifier(struct parse *parse, struct item *item) {
    if (parse->at == parse->end) return;
    char c = *parse->at;
    if (c == '*' || c == '+' || c == '?') {
        item->least = c == '+';
        item->most = c == '?' ? 1 : PATTERN_UNBOUNDED;
        parse->at++;
    } else if (c != '{' || !parse_braces(parse, &item->least, &item->most)) {
        return;
    }
    if (parse->at < parse->end && *parse->at == '?') parse->at++; /* whether it is lazy does not change the language */
}

/* After `(`. */
static void parse_group(struct parse *parse, uint16_t index, bool at_start, unsigned depth) {
    if (parse->at < parse->end && *parse->at == '?') {
        bool plain = parse->end - parse->at >= 2 && parse->at[1] == ':';
        bool named = parse->end - parse->at >= 3 && parse->at[1] == '<' && parse->at[2] != '=' && parse->at[2] != '!';
        const char *close = named ? memchr(parse->at, '>', (size_t)(parse->end - parse->at)) : NULL;
        if (!plain && !close) {
            parse->failed = true;
            return;
        }
        parse->at = plain ? parse->at + 2 : close + 1;
    }
    uint16_t first = parse_alternatives(parse, at_start, depth + 1);
    parse->items[index].from = first;
    if (parse->at < parse->end) parse->at++; /* `)` */
}

/*
 * Returns the next item, or 0 after a failure. `at_start`: nothing is before it. Elsewhere `^` is left to PCRE2, so
 * that no way through the program has it behind `$`.
 */
static uint16_t parse_item(struct parse *parse, bool at_start, unsigned depth) {
    size_t starts = parse->starts;
    char c = *parse->at;
    uint16_t index = add_item(parse, c == '^' ? ITEM_START : c == '$' ? ITEM_END : c == '(' ? ITEM_GROUP : ITEM_SET);
    if (index == 0) return 0;
    struct item *item = &parse->items[index];
    size_t first = parse->range_count;
    switch (c) {
    case '^':
    case '$':
        parse->at++;
        if (c == '^' && !at_start) parse->failed = true;
        parse->starts += c == '^';
        return index;
    case '(':
        parse->at++;
        parse_group(parse, index, at_start, depth);
        break;
    case '[':
        parse->at++;
        parse_class(parse);
        break;
    case '.':
        parse->at++;
        add_range(parse, '\n', '\n');
        add_range(parse, '\r', '\r');
        add_range(parse, 0x2028, 0x2029);
        complement(parse, first);
        break;
    case '\\':
        parse->at++;
        if (parse->at < parse->end && add_named_set(parse, *parse->at)) {
            parse->at++;
        } else {
            uint32_t code = parse->at < parse->end ? parse_escape(parse, false) : 0;
            add_range(parse, code, code);
        }
        break;
    default: {
        uint32_t code = parse_code(parse);
        add_range(parse, code, code);
        break;
    }
    }
    if (item->kind == ITEM_SET) item->count = (uint16_t)(parse->range_count - first);
    parse_quantifier(parse, item);
    bool repeated = item->least != 1 || item->most != 1;
    if (repeated && parse->starts > starts) parse->failed = true;
    if (repeated && item->kind == ITEM_SET && item->count == 0) parse->failed = true; /* PCRE2 ignores `?` of `[]?` */
    return index;
}

/* Returns the first item of the first alternative. */
static uint16_t parse_alternatives(struct parse *parse, bool at_start, unsigned depth) {
    uint16_t first = 0, before = 0;
    if (depth > NESTING_MAX) parse->failed = true;
    for (bool more = true; more && !parse->failed;) {
        uint16_t start = 0, last = 0;
        while (!parse->failed && parse->at < parse->end && *parse->at != '|' && *parse->at != ')') {
            uint16_t index = parse_item(parse, at_start && !start, depth);
            if (last) parse->items[last].next = index;
            if (!start) start = index;
            last = index;
        }
        if (!start && !parse->failed) {
            start = add_item(parse, ITEM_GROUP);
            parse->items[start].empty = true;
        }
        if (before) parse->items[before].other = start;
        if (!first) first = start;
        before = start;
        more = parse->at < parse->end && *parse->at == '|';
        if (more) parse->at++;
    }
    return first;
}

void pattern_parse(struct parse *parse, const char *text, size_t length) {
    parse->at = text;
    parse->end = text + length;
    parse->item_count = parse->range_count = parse->starts = 0;
    parse->failed = false;
    parse->first = parse_alternatives(parse, true, 0);
    if (parse->at != parse->end) parse->failed = true;
}
