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

#include "adl/schema/pattern_tree.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"

#define PROGRAM_MAX 2048u
#define STATES_MAX  250u
#define WORDS       (PROGRAM_MAX / 64)

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
    uint16_t ends[PATTERN_RANGES_MAX];
    size_t count;
    size_t split; /* PROGRAM_MAX before the first alternative */
};

static void choice_next(struct program *program, struct choice *choice) {
    if (choice->split < PROGRAM_MAX) {
        if (choice->count == PATTERN_RANGES_MAX) {
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
    static const uint32_t last_of_length[] = {0x7f, 0x7ff, 0xd7ff, 0xffff, PATTERN_CODE_MAX}; /* no halves of pairs */
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
    if (item->most == PATTERN_UNBOUNDED && item->least > 0) {
        size_t split = emit(program, CODE_SPLIT);
        program->codes[split].other = (uint16_t)last;
        return;
    }
    if (item->most == PATTERN_UNBOUNDED) {
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
    size_t words;           /* of each set, for this program */
    struct set significant; /* places that are a byte or an end; others only lead to them */
    struct set again;       /* the places after which a match may begin behind any byte */
    struct set sets[STATES_MAX];
    uint64_t hashes[STATES_MAX];
    bool ends[STATES_MAX];
    uint16_t ranges[PROGRAM_MAX];
    uint64_t *closures[PROGRAM_MAX]; /* of a place: itself and all that follow it without a byte; NULL if not known */
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

/* Lists the places of a set that have a kind; returns their number. */
static size_t set_list(const struct build *build, const struct set *set, enum code_kind kind, uint16_t *places) {
    size_t count = 0;
    for (size_t word = 0; word < build->words; word++)
        for (uint64_t bits = set->words[word]; bits; bits &= bits - 1) {
            size_t at = word * 64 + (size_t)__builtin_ctzll(bits);
            if (build->program->codes[at].kind == kind) places[count++] = (uint16_t)at;
        }
    return count;
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

/* Returns the number of the state of a set, and removes what is not significant from it. */
static uint16_t state_of(struct build *build, struct set *set) {
    uint64_t hash = 0, any = 0;
    for (size_t word = 0; word < build->words; word++) {
        any |= set->words[word] &= build->significant.words[word];
        hash = (hash ^ set->words[word]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    if (!any) return STATE_FAILED;
    if (set_matches(build, set)) return STATE_MATCHED;
    for (size_t i = STATE_FIRST; i < build->states; i++)
        if (build->hashes[i] == hash && memcmp(&build->sets[i], set, build->words * sizeof *set->words) == 0)
            return (uint16_t)i;
    if (build->states == STATES_MAX) {
        build->failed = true;
        return STATE_FAILED;
    }
    size_t state = build->states++;
    build->sets[state] = *set;
    build->hashes[state] = hash;
    struct set at_end = *set;
    size_t count = set_list(build, set, CODE_END, build->ranges);
    for (size_t i = 0; i < count; i++) {
        uint16_t at = build->ranges[i];
        at_end.words[at / 64] &= ~(1ull << (at % 64)); /* so that it is followed */
        set_add(build, &at_end, at, false, true);
    }
    build->ends[state] = set_matches(build, &at_end);
    return (uint16_t)state;
}

/* The words of the set of a place and all that follow it without a byte, behind a byte. */
static const uint64_t *closure_of(struct build *build, uint16_t place) {
    uint64_t *words = build->closures[place];
    if (words) return words;
    struct set set = {{0}};
    set_add(build, &set, place, false, false);
    words = build->closures[place] = mem_array(NULL, build->words, sizeof *words);
    for (size_t word = 0; word < build->words; word++) words[word] = set.words[word] & build->significant.words[word];
    return words;
}

/* Fills the row of a state. */
static void build_row(struct build *build, size_t state, uint16_t *row) {
    struct set after = {{0}};
    uint16_t ranges[PROGRAM_MAX];
    size_t count = set_list(build, &build->sets[state], CODE_RANGE, ranges);
    for (size_t class = 0; class < build->classes && !build->failed; class ++) {
        uint8_t byte = build->sample[class];
        memcpy(&after, &build->again, build->words * sizeof *after.words);
        for (size_t i = 0; i < count; i++) {
            const struct code *code = &build->program->codes[ranges[i]];
            if (byte < code->low || byte > code->high) continue;
            const uint64_t *closure = closure_of(build, code->next);
            for (size_t word = 0; word < build->words; word++) after.words[word] |= closure[word];
            budget_use(build->budget, build->words);
        }
        budget_use(build->budget, count + build->states / 4 + build->words);
        if (build->budget->work == 0) build->failed = true;
        row[class] = state_of(build, &after);
    }
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
    build->words = (build->program->count + 63) / 64;
    memset(build->closures, 0, build->program->count * sizeof *build->closures);
    build->significant = build->again = (struct set){{0}};
    for (size_t at = 0; at < build->program->count; at++) {
        enum code_kind kind = build->program->codes[at].kind;
        bool significant = kind != CODE_SPLIT && kind != CODE_START;
        build->significant.words[at / 64] |= (uint64_t)significant << (at % 64);
    }
    set_add(build, &build->again, 0, false, false);
    struct set first = {{0}};
    set_add(build, &first, 0, true, false);
    uint16_t start = state_of(build, &first);
    for (size_t state = STATE_FIRST; state < build->states && !build->failed; state++)
        build_row(build, state, build->next + state * build->classes);
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
    program->failed = build->failed = false;
    program->count = build->classes = 0;
    build->next = NULL;
    pattern_parse(parse, text, length);
    if (parse->failed) goto out;
    program->parse = parse;
    emit_alternatives(program, parse->first);
    emit(program, CODE_MATCH);
    if (program->failed) goto out;
    build->program = program;
    build->budget = budget;
    quick = table_of(build);
out:
    for (size_t i = 0; build->classes > 0 && i < program->count; i++) mem_free(build->closures[i]);
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
