/*
 * pattern_tree.h - a pattern as a tree of items, each repeated; private to pattern_quick.c.
 *
 *     struct parse *parse = mem_alloc(sizeof *parse);
 *     pattern_parse(parse, text, length);
 *     if (!parse->failed) for (uint16_t index = parse->first; index; index = parse->items[index].next) …
 *
 * An alternative is a list of items; the alternatives of a group are a list, too, linked through their first items.
 */
#ifndef TENON_ADL_SCHEMA_PATTERN_TREE_H
#define TENON_ADL_SCHEMA_PATTERN_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATTERN_ITEMS_MAX  500u /* of the tree */
#define PATTERN_RANGES_MAX 500u /* of code points, in all sets */
#define PATTERN_CODE_MAX   0x10ffffu
#define PATTERN_UNBOUNDED  UINT32_MAX

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
    struct item items[PATTERN_ITEMS_MAX]; /* [0] is not used */
    struct range_of_codes ranges[PATTERN_RANGES_MAX];
    size_t item_count, range_count;
    uint16_t first; /* the first item of the first alternative */
    size_t starts;  /* items `^` */
    bool failed;    /* too large, or not for a table */
};

/* Reads a pattern that PCRE2 accepts. */
void pattern_parse(struct parse *parse, const char *text, size_t length);

#endif
