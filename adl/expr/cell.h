/*
 * cell.h - the operands of an expression: sixteen bytes that are a value, a part of one, or an error.
 *
 * A cell from outside borrows its tn_value (`built` is false). A computed cell contains a scalar, or points into the
 * arena of its evaluation (`built` is true). Reading, comparing and logic therefore never allocate and count no
 * references: the whole arena is freed when the evaluation ends. Cells are copied freely and never change; a built list
 * or map changes only while the operation that builds it holds the only reference.
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
    bool built;      /* string, bytes, list, map: stored in the arena, not in a value */
    uint8_t reason;  /* errors: enum fault */
    uint8_t culprit; /* errors: the kind of `as` */
    uint32_t length; /* built text: bytes; timestamp: nanoseconds; error: index of the instruction */
    union {
        bool truth;
        int64_t integer; /* int; duration: nanoseconds; timestamp: seconds; type: the kind it names */
        uint64_t natural;
        double real;
        tn_value value;
        const char *chars; /* NUL-terminated for messages */
        struct cell_list *list;
        struct cell_map *map;
    } as;
};

/*
 * Cells are shared, so a small program can build a huge result, for example [1].map(a, [a, a]).map(b, [b, b])… Every
 * built list and map therefore stores its depth and its weight: the cost in cells of walking or copying it (a string
 * counts one cell for each 16 bytes). UINT32_MAX means "that or more".
 */
#define CELL_DEPTH 128u /* depth of built lists and maps; the machine enforces it */

struct cell_list {
    uint32_t count, capacity;
    uint32_t weight, depth;
    struct cell *items;
};

struct cell_entry {
    struct cell key, value;
};

/* Keys are bool, int, uint and string. Larger maps use `index` (open addressing, entry + 1). */
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
/* Allocates memory aligned to 16, valid until arena_finish. Returns NULL beyond the limit. */
void *arena_take(struct arena *arena, uint64_t size);
/*
 * Extends the newest allocation, which ends at `end`, in place. Returns false if it is not the newest or does not fit.
 */
bool arena_extend(struct arena *arena, const char *end, uint64_t more);

/* ---- Cells ---- */

struct cell cell_of(tn_value value); /* NULL becomes kind TN_NONE */
static inline struct cell cell_bool(bool truth) { return (struct cell){.kind = TN_BOOL, .as.truth = truth}; }
static inline struct cell cell_int(int64_t number) { return (struct cell){.kind = TN_INT, .as.integer = number}; }
static inline struct cell cell_double(double number) { return (struct cell){.kind = TN_DOUBLE, .as.real = number}; }
static inline struct cell cell_uint(uint64_t number) { return (struct cell){.kind = EXPR_UINT, .as.natural = number}; }
static inline bool cell_is_true(const struct cell *cell) { return cell->kind == TN_BOOL && cell->as.truth; }
static inline bool cell_is_false(const struct cell *cell) { return cell->kind == TN_BOOL && !cell->as.truth; }
/* The text of a string or bytes cell. */
const char *cell_chars(const struct cell *cell, size_t *length);
/* The number of items of a list or entries of a map. */
size_t cell_count(const struct cell *cell);
uint32_t cell_weight(const struct cell *cell);
uint32_t cell_depth(const struct cell *cell); /* 0 unless it is a built list or map */
struct cell cell_item(const struct cell *list, size_t index);
struct cell cell_key(const struct cell *map, size_t index);
struct cell cell_entry_value(const struct cell *map, size_t index);
/* Returns the value at `key`; its kind is TN_NONE if the key does not exist. */
struct cell cell_lookup(const struct cell *map, const struct cell *key);
bool cell_is_key(
    const struct cell *cell); /* true for kinds that can be map keys, and for a double that equals an int */

bool cell_equal(const struct cell *a, const struct cell *b);
/* Returns false if the kinds have no order. NaN compares as *order 2. */
bool cell_compare(const struct cell *a, const struct cell *b, int *order);

/* Returns a list with an initial capacity, or NULL beyond the arena's limit. */
struct cell_list *cell_list_new(struct arena *arena, uint32_t capacity);
bool cell_list_add(struct arena *arena, struct cell_list *list, const struct cell *item);
/* Returns a map with an initial capacity, or NULL beyond the arena's limit. */
struct cell_map *cell_map_new(struct arena *arena, uint32_t capacity);
/* Returns false beyond the arena's limit; sets *duplicate if the key exists already. */
bool cell_map_add(struct arena *arena, struct cell_map *map, const struct cell *key, const struct cell *value,
                  bool *duplicate);

/*
 * Returns a new reference; the cost is cell_weight. Returns NULL if the result is not JSON even after conversion; *why
 * then describes what was found.
 */
tn_value cell_to_value(const struct cell *cell, const char **why);
/* Writes the text that string() returns for a scalar. Returns its length, at most CELL_TEXT, or 0 if it has no text. */
#define CELL_TEXT 64
size_t cell_scalar_text(const struct cell *cell, char out[CELL_TEXT]);
const char *cell_type_name(int kind); /* the names that type() returns */

#endif
