/*
 * cell.h - what an expression computes with: sixteen bytes that are a value, a part of one, or an error.
 *
 * A cell that came from outside borrows its tn_value (`built` false); one that was computed holds its scalar itself, or
 * points into the arena of its evaluation (`built` true). So reading, comparing and logic never allocate, and nothing
 * is counted: the arena goes as a whole when the evaluation ends. Cells are copied freely and never change; a built
 * list or map changes only while the operation that makes it is the only one to hold it.
 *
 *     struct cell score = cell_of(value);                 // borrowed
 *     if (cell_compare(&score, &limit, &order) && order > 0) …
 *     tn_value result = cell_to_value(&score, …);         // a new reference
 */
#ifndef TENON_ADL_EXPR_CELL_H
#define TENON_ADL_EXPR_CELL_H

#include "adl/expr/expr.h"

#define CELL_ERROR 13 /* after EXPR_TYPE */

struct cell {
    uint8_t kind;    /* TN_NULL … TN_OBJECT, EXPR_UINT … EXPR_TYPE, CELL_ERROR */
    bool built;      /* string, bytes, list, map: in the arena rather than in a value */
    uint8_t reason;  /* of an error: enum fault */
    uint8_t culprit; /* of an error: a kind that says what `as` holds */
    uint32_t length; /* built text: bytes; timestamp: nanoseconds; error: index of the instruction */
    union {
        bool truth;
        int64_t integer; /* int; duration: nanoseconds; timestamp: seconds; type: the kind it names */
        uint64_t natural;
        double real;
        tn_value value;
        const char *chars; /* NUL-terminated, as far as messages care */
        struct cell_list *list;
        struct cell_map *map;
    } as;
};

/*
 * Cells are shared, so a small program can make what is enormous when walked: [1].map(a, [a, a]).map(b, [b, b])…
 * Every built list and map therefore knows its weight, which is what walking or copying it costs in cells (a string
 * counts a cell for each 16 bytes), and how deep it nests. UINT32_MAX is "that or more".
 */
#define CELL_DEPTH 128u /* of lists and maps that are built; the machine's to keep */

struct cell_list {
    uint32_t count, capacity;
    uint32_t weight, depth;
    struct cell *items;
};

struct cell_entry {
    struct cell key, value;
};

/* Keys are bool, int, uint and string. Beyond a few entries `index` (open addressing, entry + 1) finds them. */
struct cell_map {
    uint32_t count, capacity;
    uint32_t weight, depth;
    struct cell_entry *entries;
    uint32_t *index;
    uint32_t index_size; /* a power of two, or 0 */
};

/* ---- The arena: bump allocation, the first kilobytes inside the evaluation's own frame ---- */

#define ARENA_FIRST 2048u

struct arena_block;
struct arena {
    char *at, *end;
    struct arena_block *blocks;
    uint64_t taken, limit; /* bytes */
    uint64_t block_count;
    _Alignas(16) char first[ARENA_FIRST];
};

void arena_init(struct arena *arena, uint64_t limit);
void arena_finish(struct arena *arena);
/* Aligned to 16; NULL beyond the limit. Lasts until arena_finish. */
void *arena_take(struct arena *arena, uint64_t size);
/* Makes the newest allocation, which ends at `end`, longer in place; false where it is not the newest or does not fit.
 */
bool arena_extend(struct arena *arena, const char *end, uint64_t more);

/* ---- Cells ---- */

struct cell cell_of(tn_value value); /* of NULL: kind TN_NONE */
static inline struct cell cell_bool(bool truth) { return (struct cell){.kind = TN_BOOL, .as.truth = truth}; }
static inline struct cell cell_int(int64_t number) { return (struct cell){.kind = TN_INT, .as.integer = number}; }
static inline struct cell cell_double(double number) { return (struct cell){.kind = TN_DOUBLE, .as.real = number}; }
static inline struct cell cell_uint(uint64_t number) { return (struct cell){.kind = EXPR_UINT, .as.natural = number}; }
static inline bool cell_is_true(const struct cell *cell) { return cell->kind == TN_BOOL && cell->as.truth; }
static inline bool cell_is_false(const struct cell *cell) { return cell->kind == TN_BOOL && !cell->as.truth; }
/* Of a string or bytes. */
const char *cell_chars(const struct cell *cell, size_t *length);
/* Items of a list, entries of a map. */
size_t cell_count(const struct cell *cell);
uint32_t cell_weight(const struct cell *cell);
uint32_t cell_depth(const struct cell *cell); /* 0 of what is no built list or map */
struct cell cell_item(const struct cell *list, size_t index);
struct cell cell_key(const struct cell *map, size_t index);
/* The value at `key`, whose kind is TN_NONE where there is none. */
struct cell cell_lookup(const struct cell *map, const struct cell *key);
bool cell_is_key(const struct cell *cell); /* of a kind that maps can have as key, or a double that equals an int */

bool cell_equal(const struct cell *a, const struct cell *b);
/* False where the two have no order: kinds that do not compare. NaN compares as *order 2. */
bool cell_compare(const struct cell *a, const struct cell *b, int *order);

/* Room for `capacity` items at first; NULL beyond the arena's limit. */
struct cell_list *cell_list_new(struct arena *arena, uint32_t capacity);
bool cell_list_add(struct arena *arena, struct cell_list *list, const struct cell *item);
/* Of at most `capacity` entries; NULL beyond the arena's limit. */
struct cell_map *cell_map_new(struct arena *arena, uint32_t capacity);
/* False beyond the arena's limit; *duplicate where the key is there already. */
bool cell_map_add(struct arena *arena, struct cell_map *map, const struct cell *key, const struct cell *value,
                  bool *duplicate);

/* A new reference; costs cell_weight. NULL where it is not JSON even after conversion: *why then says what was found.
 */
tn_value cell_to_value(const struct cell *cell, const char **why);
/* The text that string() makes of a scalar: its length, 0 where it has none; never longer than CELL_TEXT. */
#define CELL_TEXT 64
size_t cell_scalar_text(const struct cell *cell, char out[CELL_TEXT]);
const char *cell_type_name(int kind); /* as type() names them: "null_type", "google.protobuf.Timestamp" … */

#endif
