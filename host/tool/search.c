/*
 * search.c - tools by what they are called and what they are for.
 *
 * Every word of the query must be found somewhere; where, and how, is what a tool is ranked by. Words are runs of
 * letters and digits, of any script, and letters of ASCII count the same in either case.
 */
#include "adl/document/catalog.h"
#include "adl/value/memory.h"
#include "host/host.h"
#include "host/plugin/registry.h"
#include "host/tool/tool.h"
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 32u

struct word {
    const char *text;
    size_t length;
};

struct found {
    const struct component_info *info;
    uint32_t rank;
    size_t place; /* among equals: by name, as the catalog gives them */
};

struct searching {
    struct word words[WORDS_MAX];
    size_t word_count;
    struct found *found;
    size_t count;
};

static char lower(char byte) { return byte >= 'A' && byte <= 'Z' ? (char)(byte + ('a' - 'A')) : byte; }

static bool in_word(char byte) {
    return (byte >= '0' && byte <= '9') || (lower(byte) >= 'a' && lower(byte) <= 'z') || (unsigned char)byte >= 0x80;
}

static void split(struct searching *searching, const char *query) {
    const char *end = query + strnlen(query, TOOL_QUERY_MAX);
    for (const char *at = query; at < end && searching->word_count < WORDS_MAX;) {
        const char *from = at;
        while (at < end && in_word(*at)) at++;
        if (at > from) searching->words[searching->word_count++] = (struct word){from, (size_t)(at - from)};
        while (at < end && !in_word(*at)) at++;
    }
}

/* 2 where the text has it as a word, 1 as a part of one, 0 not at all. */
static uint32_t has(const char *text, const struct word *word) {
    uint32_t best = 0;
    for (const char *at = text; *at && best < 2; at++) {
        size_t length = 0;
        while (length < word->length && at[length] && lower(at[length]) == lower(word->text[length])) length++;
        if (length < word->length) continue;
        bool whole = (at == text || !in_word(at[-1])) && !in_word(at[length]);
        best = whole ? 2 : 1;
    }
    return best;
}

static uint32_t rank(const struct searching *searching, const struct component_info *info) {
    const char *const texts[] = {info->id, info->title, info->documentation};
    static const uint32_t weights[] = {100, 10, 1};
    uint32_t sum = 1;
    for (size_t i = 0; i < searching->word_count; i++) {
        uint32_t points = 0;
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            points += weights[k] * has(texts[k], &searching->words[i]);
        if (!points) return 0;
        sum += points;
    }
    return sum;
}

static bool consider(void *user, const struct component_info *info) {
    struct searching *searching = user;
    uint32_t points = rank(searching, info);
    if (!points) return true;
    size_t count = searching->count;
    if ((count & (count - 1)) == 0)
        searching->found = mem_array(searching->found, count ? count * 2 : 1, sizeof *searching->found);
    searching->found[searching->count++] = (struct found){info, points, count};
    return true;
}

static int compare(const void *a, const void *b) {
    const struct found *left = a, *right = b;
    if (left->rank != right->rank) return left->rank < right->rank ? 1 : -1;
    return (left->place > right->place) - (left->place < right->place);
}

void tool_search(struct host *host, const char *query, size_t limit,
                 void (*visit)(void *user, const struct component_info *info), void *user) {
    struct searching searching = {.count = 0};
    split(&searching, query);
    registry_load_dynamic(host->registry, "tool");
    host->catalog.each(host->catalog.self, "tool", consider, &searching);
    if (searching.count) qsort(searching.found, searching.count, sizeof *searching.found, compare);
    for (size_t i = 0; i < searching.count && i < limit; i++) visit(user, searching.found[i].info);
    mem_free(searching.found);
}
