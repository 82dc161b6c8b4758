/*
 * tool_search.c - searches tools by name, title and documentation.
 *
 * A tool matches if it contains every word of the query; where and how it contains them decides its rank. A word is a
 * run of letters and digits of any script. ASCII letters match in either case.
 */
#include "adl/document/catalog.h"
#include "adl/value/memory.h"
#include "adl/value/wildcard.h"
#include "host/engine/engine.h"
#include "host/engine/tool/tool.h"
#include "host/plugin/registry/registry.h"
#include <stdlib.h>
#include <string.h>

#define SEARCH_WORDS_MAX 32u

struct search_word {
    const char *text;
    size_t length;
};

struct search_match {
    const struct component_info *info;
    uint32_t rank;
    size_t place; /* the order of equal ranks: by name, as the catalog lists them */
};

struct tool_search {
    const char *pattern; /* of the names; NULL: any */
    struct search_word words[SEARCH_WORDS_MAX];
    size_t word_count;
    struct search_match *matches;
    size_t count;
};

static char search_lower(char byte) { return byte >= 'A' && byte <= 'Z' ? (char)(byte + ('a' - 'A')) : byte; }

static bool is_word_byte(char byte) {
    return (byte >= '0' && byte <= '9') || (search_lower(byte) >= 'a' && search_lower(byte) <= 'z') ||
           (unsigned char)byte >= 0x80;
}

static void split_query(struct tool_search *search, const char *query) {
    const char *end = query + strnlen(query, TOOL_QUERY_MAX);
    for (const char *at = query; at < end && search->word_count < SEARCH_WORDS_MAX;) {
        const char *from = at;
        while (at < end && is_word_byte(*at)) at++;
        if (at > from) search->words[search->word_count++] = (struct search_word){from, (size_t)(at - from)};
        while (at < end && !is_word_byte(*at)) at++;
    }
}

/* 2 if the text contains the word, 1 if it contains it as a part of a word, else 0. */
static uint32_t match_word(const char *text, const struct search_word *word) {
    uint32_t best = 0;
    for (const char *at = text; *at && best < 2; at++) {
        size_t length = 0;
        while (length < word->length && at[length] && search_lower(at[length]) == search_lower(word->text[length]))
            length++;
        if (length < word->length) continue;
        bool whole = (at == text || !is_word_byte(at[-1])) && !is_word_byte(at[length]);
        best = whole ? 2 : 1;
    }
    return best;
}

static uint32_t rank_tool(const struct tool_search *search, const struct component_info *info) {
    const char *const texts[] = {info->id, info->title, info->documentation};
    static const uint32_t weights[] = {100, 10, 1};
    uint32_t sum = 1;
    for (size_t i = 0; i < search->word_count; i++) {
        uint32_t points = 0;
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            points += weights[k] * match_word(texts[k], &search->words[i]);
        if (!points) return 0;
        sum += points;
    }
    return sum;
}

static bool add_match(void *user, const struct component_info *info) {
    struct tool_search *search = user;
    bool wanted = registry_offers(info) && (!search->pattern || wildcard_matches_tool(search->pattern, info->id));
    uint32_t points = wanted ? rank_tool(search, info) : 0;
    if (!points) return true;
    size_t count = search->count;
    MEM_EXTEND(search->matches, count);
    search->matches[search->count++] = (struct search_match){info, points, count};
    return true;
}

static int compare_matches(const void *a, const void *b) {
    const struct search_match *left = a, *right = b;
    if (left->rank != right->rank) return left->rank < right->rank ? 1 : -1;
    return (left->place > right->place) - (left->place < right->place);
}

void tool_search(struct engine *engine, const char *query, const char *pattern, size_t limit,
                 void (*visit)(void *user, const struct component_info *info), void *user) {
    struct tool_search search = {.pattern = pattern};
    split_query(&search, query);
    registry_load_dynamic(engine->registry, "tool", pattern ? pattern : "*");
    engine->catalog.each(engine->catalog.self, "tool", add_match, &search);
    if (search.count) qsort(search.matches, search.count, sizeof *search.matches, compare_matches);
    for (size_t i = 0; i < search.count && i < limit; i++) visit(user, search.matches[i].info);
    mem_free(search.matches);
}
