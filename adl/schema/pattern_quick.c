/*
 * pattern_quick.c - from the text of a pattern to a tree, to a program of byte ranges, to a table.
 *
 *     ^[a-c]é?$ ── parse ──> tree of items ── emit ──> RANGE a-c; SPLIT; RANGE c3; RANGE a9; END; MATCH
 *                                             build ──> state × class of byte → state
 *
 * Sets of code points become sequences of byte ranges of UTF-8, so the automaton never decodes. A state of the table is
 * a set of places in the program (the subset construction). State 0 is a failure that nothing can repair, state 1 a
 * match that nothing can undo; both end the loop. A match may begin anywhere, so the first places are added after each
 * byte; a sequence of UTF-8 never begins inside another one, because its first byte has no continuation's range.
 *
 * Every array has a limit: a larger pattern is left to PCRE2. The work of the subset construction counts against the
 * budget of the schema, so that many patterns that need large tables cost no more than a few.
 */
#include "adl/schema/pattern_quick.h"

#include <stdint.h>
#include <string.h>

#include "adl/value/json.h"
#include "adl/value/memory.h"

#define ITEMS_MAX   500u /* of the tree */
#define RANGES_MAX  500u /* of code points, in all sets */
#define PROGRAM_MAX 2048u
#define NESTING_MAX 24u /* groups within groups */
#define STATES_MAX  250u
#define CODES_MAX   0x10ffffu
#define WORDS       (PROGRAM_MAX / 64)
#define UNBOUNDED   UINT32_MAX

/* ---- Parsing --------------------------------------------------------------------------------------------------- */

enum item_kind { ITEM_SET, ITEM_GROUP, ITEM_START, ITEM_END };

struct item {
    enum item_kind kind;
    uint16_t next;        /* of the sequence; 0 is the last */
    uint16_t from, count; /* ITEM_SET: ranges. ITEM_GROUP: `from` is its first alternative */
    uint16_t other;       /* of the first item of an alternative: the first of the next alternative; 0 is the last */
    bool empty;           /* an alternative without items, which stands for itself */
    uint32_t least, most;
};

struct range_of_codes {
    uint32_t low, high;
};

struct parse {
    const char *at, *end;
    struct item items[ITEMS_MAX]; /* [0] is not used */
    struct range_of_codes ranges[RANGES_MAX];
    size_t item_count, range_count;
    size_t starts; /* items `^` */
    bool failed;   /* too large, or not for a table */
};

static uint16_t parse_alternatives(struct parse *parse, bool at_start, unsigned depth);

static uint16_t add_item(struct parse *parse, enum item_kind kind) {
    if (parse->item_count + 1 >= ITEMS_MAX) {
        parse->failed = true;
        return 0;
    }
    uint16_t index = (uint16_t)++parse->item_count;
    parse->items[index] = (struct item){.kind = kind, .from = (uint16_t)parse->range_count, .least = 1, .most = 1};
    return index;
}

static void add_range(struct parse *parse, uint32_t low, uint32_t high) {
    if (parse->range_count == RANGES_MAX)
        parse->failed = true;
    else
        parse->ranges[parse->range_count++] = (struct range_of_codes){low, high};
}

/* Replaces the ranges from `first` by their complement. */
static void complement(struct parse *parse, size_t first) {
    struct range_of_codes *ranges = parse->ranges + first, sorted[RANGES_MAX];
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
    if (next <= CODES_MAX) add_range(parse, next, CODES_MAX);
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
        if (!parse_number(&at, parse->end, most)) *most = UNBOUNDED;
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
        item->most = c == '?' ? 1 : UNBOUNDED;
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

/* ---- The program ----------------------------------------------------------------------------------------------- */

enum code_kind { CODE_RANGE, CODE_SPLIT, CODE_START, CODE_END, CODE_MATCH };

struct code {
    uint8_t kind, low, high;
    uint16_t next, other; /* `other` of CODE_SPLIT */
};

struct program {
    const struct parse *parse;
    struct code codes[PROGRAM_MAX];
    size_t count;
    bool failed;
};

/* Appends a code whose next one is the one behind it. */
static size_t emit(struct program *program, enum code_kind kind) {
    if (program->count + 1 >= PROGRAM_MAX) {
        program->failed = true;
        return program->count;
    }
    program->codes[program->count] = (struct code){.kind = (uint8_t)kind, .next = (uint16_t)(program->count + 1)};
    return program->count++;
}

static void emit_bytes(struct program *program, uint8_t low, uint8_t high) {
    size_t at = emit(program, CODE_RANGE);
    program->codes[at].low = low;
    program->codes[at].high = high;
}

/* Alternatives that all continue at the same place, which is known last. */
struct choice {
    uint16_t ends[RANGES_MAX];
    size_t count;
    size_t split; /* PROGRAM_MAX before the first alternative */
};

static void choice_next(struct program *program, struct choice *choice) {
    if (choice->split < PROGRAM_MAX) {
        if (choice->count == RANGES_MAX) {
            program->failed = true;
            return;
        }
        choice->ends[choice->count++] = (uint16_t)emit(program, CODE_SPLIT); /* a jump: both ways are the same */
        program->codes[choice->split].other = (uint16_t)program->count;
    }
    choice->split = emit(program, CODE_SPLIT);
    program->codes[choice->split].other = program->codes[choice->split].next;
}

static void choice_finish(struct program *program, const struct choice *choice) {
    for (size_t i = 0; i < choice->count; i++)
        program->codes[choice->ends[i]].next = program->codes[choice->ends[i]].other = (uint16_t)program->count;
}

/* Code points whose sequences have the same length, as ranges of bytes. */
static void emit_sequences(struct program *program, struct choice *choice, uint32_t low, uint32_t high) {
    /* Split so that each byte after the first one that differs has its whole range. */
    for (unsigned bits = 6; bits <= 18 && high > 0x7f; bits += 6) {
        uint32_t mask = ((uint32_t)1 << bits) - 1;
        if (high <= mask || (low & ~mask) == (high & ~mask)) break;
        if (low & mask) {
            emit_sequences(program, choice, low, low | mask);
            emit_sequences(program, choice, (low | mask) + 1, high);
            return;
        }
        if ((high & mask) != mask) {
            emit_sequences(program, choice, low, (high & ~mask) - 1);
            emit_sequences(program, choice, high & ~mask, high);
            return;
        }
    }
    if (program->failed) return;
    char first[4], last[4];
    size_t length = utf8_encode(low, first);
    (void)utf8_encode(high, last);
    choice_next(program, choice);
    for (size_t i = 0; i < length; i++) emit_bytes(program, (uint8_t)first[i], (uint8_t)last[i]);
}

static void emit_set(struct program *program, const struct item *item) {
    static const uint32_t last_of_length[] = {0x7f, 0x7ff, 0xd7ff, 0xffff, CODES_MAX}; /* no halves of pairs */
    struct choice choice = {.split = PROGRAM_MAX};
    for (size_t i = 0; i < item->count && !program->failed; i++) {
        struct range_of_codes range = program->parse->ranges[item->from + i];
        uint32_t from = 0;
        for (size_t part = 0; part < sizeof last_of_length / sizeof *last_of_length; part++) {
            uint32_t low = range.low > from ? range.low : from;
            uint32_t high = range.high < last_of_length[part] ? range.high : last_of_length[part];
            if (low <= high) emit_sequences(program, &choice, low, high);
            from = last_of_length[part] == 0xd7ff ? 0xe000 : last_of_length[part] + 1;
        }
    }
    if (choice.split == PROGRAM_MAX) emit_bytes(program, 1, 0); /* an empty set matches nothing */
    choice_finish(program, &choice);
}

static void emit_alternatives(struct program *program, uint16_t first);

static void emit_once(struct program *program, const struct item *item) {
    switch (item->kind) {
    case ITEM_SET: emit_set(program, item); break;
    case ITEM_GROUP:
        if (!item->empty) emit_alternatives(program, item->from);
        break;
    case ITEM_START: emit(program, CODE_START); break;
    default: emit(program, CODE_END); break;
    }
}

static void emit_item(struct program *program, const struct item *item) {
    size_t last = program->count; /* the beginning of the last repetition */
    for (uint32_t i = 0; i < item->least && !program->failed; i++) {
        last = program->count;
        emit_once(program, item);
        if (program->count == last) break; /* nothing, however often */
    }
    if (item->most == UNBOUNDED && item->least > 0) {
        size_t split = emit(program, CODE_SPLIT);
        program->codes[split].other = (uint16_t)last;
        return;
    }
    if (item->most == UNBOUNDED) {
        size_t split = emit(program, CODE_SPLIT);
        emit_once(program, item);
        size_t back = emit(program, CODE_SPLIT);
        program->codes[back].next = program->codes[back].other = (uint16_t)split;
        program->codes[split].other = (uint16_t)program->count;
        return;
    }
    for (uint32_t i = item->least; i < item->most && !program->failed; i++) {
        size_t split = emit(program, CODE_SPLIT); /* repeat, or continue behind it */
        emit_once(program, item);
        program->codes[split].other = (uint16_t)program->count;
    }
}

static void emit_alternatives(struct program *program, uint16_t first) {
    struct choice choice = {.split = PROGRAM_MAX};
    bool single = program->parse->items[first].other == 0;
    for (uint16_t start = first; start && !program->failed; start = program->parse->items[start].other) {
        if (!single) choice_next(program, &choice);
        for (uint16_t index = start; index && !program->failed; index = program->parse->items[index].next)
            emit_item(program, &program->parse->items[index]);
    }
    choice_finish(program, &choice);
}

/* ---- The table ------------------------------------------------------------------------------------------------- */

enum { STATE_FAILED, STATE_MATCHED, STATE_FIRST };

struct quick {
    size_t classes;
    uint16_t start;        /* states are multiplied by `classes` */
    uint8_t class_of[256]; /* bytes that no range distinguishes have the same class */
    bool ends[STATES_MAX]; /* the text may end here */
    uint16_t next[];       /* [state + class] */
};

struct set {
    uint64_t words[WORDS];
};

struct build {
    const struct program *program;
    struct quick_budget *budget;
    struct set sets[STATES_MAX];
    bool ends[STATES_MAX];
    uint8_t class_of[256], sample[256];
    size_t states, classes;
    uint16_t *next; /* [state × classes + class] */
    uint16_t stack[2 * PROGRAM_MAX];
    bool failed;
};

static void budget_use(struct quick_budget *budget, size_t work) {
    budget->work -= work < budget->work ? work : budget->work;
}

static bool set_has(const struct set *set, size_t at) { return set->words[at / 64] >> (at % 64) & 1; }

/* Returns the first place from `at` on that is in the set; PROGRAM_MAX if there is none. */
static size_t set_next(const struct set *set, size_t at) {
    for (size_t word = at / 64; word < WORDS; word++) {
        uint64_t bits = set->words[word];
        if (word == at / 64) bits &= UINT64_MAX << (at % 64);
        if (bits) return word * 64 + (size_t)__builtin_ctzll(bits);
    }
    return PROGRAM_MAX;
}

/* Adds a place and all that follow it without a byte. */
static void set_add(struct build *build, struct set *set, uint16_t place, bool at_start, bool at_end) {
    size_t depth = 0;
    build->stack[depth++] = place;
    while (depth > 0) {
        uint16_t at = build->stack[--depth];
        if (set_has(set, at)) continue;
        if (build->budget->work == 0) {
            build->failed = true;
            return;
        }
        build->budget->work--;
        set->words[at / 64] |= 1ull << (at % 64);
        const struct code *code = &build->program->codes[at];
        bool passes =
            code->kind == CODE_SPLIT || (code->kind == CODE_START && at_start) || (code->kind == CODE_END && at_end);
        if (!passes) continue;
        build->stack[depth++] = code->next;
        if (code->kind == CODE_SPLIT && code->other != code->next) build->stack[depth++] = code->other;
    }
}

static bool set_matches(const struct build *build, const struct set *set) {
    return set_has(set, build->program->count - 1); /* CODE_MATCH is the last one */
}

/* Returns the number of the state of a set. */
static uint16_t state_of(struct build *build, const struct set *set) {
    if (set_matches(build, set)) return STATE_MATCHED;
    budget_use(build->budget, build->states);
    for (size_t i = STATE_FIRST; i < build->states; i++)
        if (memcmp(&build->sets[i], set, sizeof *set) == 0) return (uint16_t)i;
    if (build->states == STATES_MAX) {
        build->failed = true;
        return STATE_FAILED;
    }
    size_t state = build->states++;
    build->sets[state] = *set;
    struct set at_end = *set;
    for (size_t at = set_next(set, 0); at < PROGRAM_MAX; at = set_next(set, at + 1)) {
        if (build->program->codes[at].kind != CODE_END) continue;
        at_end.words[at / 64] &= ~(1ull << (at % 64)); /* so that it is followed */
        set_add(build, &at_end, (uint16_t)at, false, true);
    }
    build->ends[state] = set_matches(build, &at_end);
    return (uint16_t)state;
}

static uint16_t step_of(struct build *build, const struct set *set, uint8_t byte) {
    struct set after = {{0}};
    set_add(build, &after, 0, false, false); /* a match may begin here */
    for (size_t at = set_next(set, 0); at < PROGRAM_MAX; at = set_next(set, at + 1)) {
        const struct code *code = &build->program->codes[at];
        budget_use(build->budget, 1);
        if (code->kind == CODE_RANGE && byte >= code->low && byte <= code->high)
            set_add(build, &after, code->next, false, false);
    }
    budget_use(build->budget, 2 * WORDS);
    for (size_t at = set_next(&after, 0); at < PROGRAM_MAX; at = set_next(&after, at + 1)) {
        enum code_kind kind = build->program->codes[at].kind;
        if (kind != CODE_SPLIT && kind != CODE_START) return state_of(build, &after);
    }
    return STATE_FAILED;
}

/* Bytes that are the first of a range, or the first behind one, begin a class. */
static void classify(struct build *build) {
    bool begins[257] = {false};
    for (size_t i = 0; i < build->program->count; i++) {
        const struct code *code = &build->program->codes[i];
        if (code->kind != CODE_RANGE || code->low > code->high) continue;
        begins[code->low] = begins[code->high + 1] = true;
    }
    for (size_t byte = 0; byte < 256; byte++) {
        if (begins[byte] || byte == 0) build->sample[build->classes++] = (uint8_t)byte;
        build->class_of[byte] = (uint8_t)(build->classes - 1);
    }
}

static struct quick *table_of(struct build *build) {
    build->states = STATE_FIRST;
    classify(build);
    build->next = mem_array(NULL, STATES_MAX * build->classes, sizeof *build->next);
    struct set first = {{0}};
    set_add(build, &first, 0, true, false);
    uint16_t start = state_of(build, &first);
    for (size_t state = STATE_FIRST; state < build->states && !build->failed; state++)
        for (size_t class = 0; class < build->classes && !build->failed; class ++)
            build->next[state * build->classes + class] = step_of(build, &build->sets[state], build->sample[class]);
    size_t size = sizeof(struct quick) + build->states * build->classes * sizeof(uint16_t);
    if (build->failed || build->states * build->classes > UINT16_MAX || size > build->budget->bytes) return NULL;
    build->budget->bytes -= size;
    struct quick *quick = mem_zalloc(size);
    quick->classes = build->classes;
    quick->start = (uint16_t)(start * build->classes);
    memcpy(quick->class_of, build->class_of, sizeof quick->class_of);
    for (size_t state = STATE_FIRST; state < build->states; state++) quick->ends[state] = build->ends[state];
    quick->ends[STATE_MATCHED] = true;
    for (size_t i = STATE_FIRST * build->classes; i < build->states * build->classes; i++)
        quick->next[i] = (uint16_t)(build->next[i] * build->classes);
    return quick;
}

/* ---- The interface --------------------------------------------------------------------------------------------- */

struct quick *quick_new(const char *text, size_t length, struct quick_budget *budget) {
    budget_use(budget, PROGRAM_MAX + length);
    if (budget->work == 0) return NULL;
    struct quick *quick = NULL;
    struct parse *parse = mem_alloc(sizeof *parse);
    struct program *program = mem_alloc(sizeof *program);
    struct build *build = mem_alloc(sizeof *build);
    parse->at = text;
    parse->end = text + length;
    parse->item_count = parse->range_count = parse->starts = 0;
    parse->failed = program->failed = build->failed = false;
    program->count = build->classes = 0;
    build->next = NULL;
    uint16_t first = parse_alternatives(parse, true, 0);
    if (parse->failed || parse->at != parse->end) goto out;
    program->parse = parse;
    emit_alternatives(program, first);
    emit(program, CODE_MATCH);
    if (program->failed) goto out;
    build->program = program;
    build->budget = budget;
    quick = table_of(build);
out:
    mem_free(build->next);
    mem_free(build);
    mem_free(program);
    mem_free(parse);
    return quick;
}

void quick_free(struct quick *quick) { mem_free(quick); }

bool quick_matches(const struct quick *quick, const char *text, size_t length) {
    size_t state = quick->start, last = STATE_MATCHED * quick->classes;
    for (size_t i = 0; i < length && state > last; i++)
        state = quick->next[state + quick->class_of[(unsigned char)text[i]]];
    return quick->ends[state / quick->classes];
}
