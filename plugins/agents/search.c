/*
 * search.c - finds tools by words, and the tools that a conversation has loaded.
 *
 * A tool is found if its name or its description contains one of the words. The more tools contain a word, the less it
 * counts, so that words such as "the" or a server's name decide nothing; a word in the name counts four times. A word
 * also matches one that continues it or that it continues, so that "issues" finds "issue". The same query finds the
 * same tools in the same order.
 */
#include "search.h"
#include <stdlib.h>
#include <tenon/util/utf8.h>

#define WORDS_MAX   32u   /* of a query; further ones are ignored */
#define WORD_MIN    2u    /* bytes; shorter words are ignored */
#define SCANNED_MAX 4000u /* bytes of a description that are searched */
#define SUMMARY_MAX 160u  /* bytes of a description in a result */
#define FOUND_MAX   20u   /* tools of one result, whatever the model asks for */
#define ENDING_MAX  3u    /* bytes by which a matching word may be longer: plurals, tenses */

struct word {
    const char *text;
    size_t length;
};

/* ---- Configuration ---- */

void search_read(tn_value config, struct search *search) {
    tn_value tools = tn_get(config, "tools");
    int32_t truth = 0;
    *search = (struct search){.names = tools};
    if (tn.value->kind(tools) != TN_OBJECT) return;
    (void)tn.value->as_bool(tn_get(tools, "search"), &truth);
    search->on = truth != 0;
    search->names = tn_get(tools, "names");
    search->always = tn_get(tools, "always");
    search->max_found = (uint32_t)tn_get_int(tools, "max_found", 5);
    search->max_loaded = (uint32_t)tn_get_int(tools, "max_loaded", 40);
}

static void put_all(tn_builder *builder, tn_value list) {
    for (uint64_t i = 0, count = tn.value->count(list); i < count; i++) tn_put(builder, NULL, tn.value->at(list, i));
}

tn_value search_names(const struct search *search) {
    if (!search->on) return search->names != NULL ? tn_retain(search->names) : NULL;
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_ARRAY);
    if (search->names != NULL)
        put_all(builder, search->names);
    else
        tn_put_text(builder, NULL, "*");
    put_all(builder, search->always);
    tn_put_text(builder, NULL, SEARCH_TOOL); /* permits a larger set (host/engine/tool/tool_set.c) */
    tn.value->end(builder);
    return tn_finish(builder);
}

/* ---- Words ---- */

static bool is_word_byte(char byte) {
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (unsigned char)byte >= 0x80;
}

static char lower(char byte) { return byte >= 'A' && byte <= 'Z' ? (char)(byte + ('a' - 'A')) : byte; }
static bool is_upper(char byte) { return byte >= 'A' && byte <= 'Z'; }

/* Finds the next word from *at on; in `createIssue` there are two. Returns false at the end. */
static bool next_word(const char **at, const char *end, struct word *out) {
    const char *start = *at;
    while (start < end && !is_word_byte(*start)) start++;
    const char *stop = start;
    while (stop < end && is_word_byte(*stop) && !(stop > start && is_upper(*stop) && !is_upper(stop[-1]))) stop++;
    *at = stop;
    *out = (struct word){start, (size_t)(stop - start)};
    return stop > start;
}

static bool words_match(const struct word *a, const struct word *b) {
    const struct word *shorter = a->length <= b->length ? a : b, *longer = shorter == a ? b : a;
    for (size_t i = 0; i < shorter->length; i++)
        if (lower(a->text[i]) != lower(b->text[i])) return false;
    if (longer->length == shorter->length) return true;
    return shorter->length > WORD_MIN && longer->length - shorter->length <= ENDING_MAX;
}

static uint32_t split_words(const char *text, uint64_t length, struct word *words) {
    const char *at = text, *end = text + length;
    uint32_t count = 0;
    struct word word;
    while (count < WORDS_MAX && next_word(&at, end, &word)) {
        bool known = word.length < WORD_MIN;
        for (uint32_t i = 0; !known && i < count; i++)
            known = words[i].length == word.length && words_match(&words[i], &word);
        if (!known) words[count++] = word;
    }
    return count;
}

/* Adds `points` to hits[i] for each of the words that the text contains, once. */
static void mark_words(const char *text, uint64_t length, const struct word *words, uint32_t count, uint8_t points,
                       uint8_t *hits) {
    const char *at = text, *end = text + length;
    struct word word;
    while (next_word(&at, end, &word))
        for (uint32_t i = 0; i < count; i++)
            if (hits[i] < points && words_match(&words[i], &word)) hits[i] = points;
}

/* ---- Searching ---- */

static void mark_tool(tn_value tool, const struct word *words, uint32_t count, uint8_t *hits) {
    uint64_t length = 0;
    const char *text = tn_chars(tn_get(tool, "tool_name"), &length);
    if (text != NULL) mark_words(text, length, words, count, 4, hits);
    length = 0;
    text = tn_chars(tn_get(tool, "description"), &length);
    if (text != NULL) mark_words(text, length < SCANNED_MAX ? length : SCANNED_MAX, words, count, 1, hits);
}

/* Twice the logarithm of total / containing: the rarer the word, the more it counts. At least 1. */
static uint32_t word_weight(uint64_t total, uint64_t containing) {
    uint32_t weight = 1;
    for (uint64_t rest = total * total / (containing * containing + 1); rest > 1; rest /= 2) weight++;
    return weight;
}

static void put_found(tn_builder *builder, tn_value tool) {
    uint64_t length = 0;
    const char *text = tn_chars(tn_get(tool, "description"), &length);
    const char *line = text != NULL ? memchr(text, '\n', length) : NULL;
    if (line != NULL) length = (uint64_t)(line - text);
    tn_put_begin(builder, NULL, TN_OBJECT);
    tn_put(builder, "name", tn_get(tool, "tool_name"));
    if (text != NULL) tn_put_take(builder, "description", tn_text_n(text, tn_utf8_cut(text, length, SUMMARY_MAX)));
    tn.value->end(builder);
}

/* Writes the best `limit` tools, and returns how many there are in all. `scores` is used up. */
static uint64_t put_best(tn_builder *builder, tn_value definitions, uint32_t *scores, uint64_t limit) {
    uint64_t total = tn.value->count(definitions), found = 0;
    for (uint64_t i = 0; i < total; i++) found += scores[i] > 0;
    for (uint64_t written = 0; written < limit && written < found; written++) {
        uint64_t best = 0;
        for (uint64_t i = 1; i < total; i++)
            if (scores[i] > scores[best]) best = i;
        put_found(builder, tn.value->at(definitions, best));
        scores[best] = 0;
    }
    return found;
}

static tn_value make_result(tn_value definitions, uint32_t *scores, uint64_t limit) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, "tools", TN_ARRAY);
    uint64_t found = put_best(builder, definitions, scores, limit);
    tn.value->end(builder);
    if (found > limit) tn_put_int(builder, "more", (int64_t)(found - limit));
    tn_put_text(builder, "hint",
                found == 0 ? "no tool contains any of these words; search with other words"
                           : "these tools can be called from the next message on");
    tn.value->end(builder);
    return tn_finish(builder);
}

tn_value search_run(const struct search *search, tn_value definitions, tn_value arguments, bool *failed) {
    uint64_t length = 0, total = tn.value->count(definitions);
    const char *query = tn_chars(tn_get(arguments, "query"), &length);
    struct word words[WORDS_MAX];
    uint32_t count = query != NULL ? split_words(query, length, words) : 0;
    int64_t limit = tn_get_int(arguments, "limit", search->max_found);
    *failed = count == 0;
    if (count == 0) return tn_error("INVALID_INPUT", "`query` must be a text of one or more words");
    uint8_t *hits = agents_alloc_zeroed(total * count + 1);
    uint32_t *scores = agents_alloc_zeroed((total + 1) * sizeof *scores);
    tn_value result = NULL;
    if (hits != NULL && scores != NULL) {
        for (uint64_t i = 0; i < total; i++) mark_tool(tn.value->at(definitions, i), words, count, hits + i * count);
        for (uint32_t w = 0; w < count; w++) {
            uint64_t containing = 0;
            for (uint64_t i = 0; i < total; i++) containing += hits[i * count + w] > 0;
            uint32_t weight = word_weight(total, containing);
            for (uint64_t i = 0; i < total; i++) scores[i] += weight * hits[i * count + w];
        }
        result = make_result(definitions, scores, limit < 1 ? 1 : limit > FOUND_MAX ? FOUND_MAX : (uint64_t)limit);
    }
    agents_release(hits);
    agents_release(scores);
    return result;
}

/* ---- What a conversation has loaded ---- */

/* A tool of the definitions that the conversation has mentioned. */
struct loaded {
    uint64_t first, last; /* mentions, counted from 1; 0: none */
};

struct loading {
    tn_value definitions;
    struct loaded *loaded; /* one for each definition */
    uint64_t mentions;
};

/* Definitions are ordered by name. Returns the index, or -1. */
static int64_t find_definition(tn_value definitions, const char *name) {
    int64_t low = 0, high = (int64_t)tn.value->count(definitions) - 1;
    while (low <= high) {
        int64_t middle = low + (high - low) / 2;
        int order = strcmp(name, tn_get_text(tn.value->at(definitions, (uint64_t)middle), "tool_name", ""));
        if (order == 0) return middle;
        if (order < 0)
            high = middle - 1;
        else
            low = middle + 1;
    }
    return -1;
}

static void mention_tool(struct loading *loading, const char *name) {
    int64_t at = find_definition(loading->definitions, name);
    if (at < 0) return;
    struct loaded *loaded = &loading->loaded[at];
    loaded->last = ++loading->mentions;
    if (loaded->first == 0) loaded->first = loaded->last;
}

static void mention_result(struct loading *loading, tn_value message) {
    uint64_t length = 0;
    tn_value content = tn_content_text(tn_get(message, "content"));
    const char *text = tn_chars(content, &length);
    tn_value result = text != NULL ? tn_from_json(text, length) : NULL, tools = tn_get(result, "tools");
    for (uint64_t i = 0, count = tn.value->count(tools); i < count && i < FOUND_MAX; i++)
        mention_tool(loading, tn_get_text(tn.value->at(tools, i), "name", ""));
    tn_release(result);
    tn_release(content);
}

static void mention_all(struct loading *loading, tn_value messages) {
    for (uint64_t i = 0, count = tn.value->count(messages); i < count; i++) {
        tn_value message = tn.value->at(messages, i), calls = tn_message_calls(message);
        for (uint64_t k = 0; k < tn.value->count(calls); k++)
            mention_tool(loading, tn_get_text(tn.value->at(calls, k), "name", ""));
        if (tn_message_is(message, "tool") && strcmp(tn_get_text(message, "name", ""), SEARCH_TOOL) == 0)
            mention_result(loading, message);
    }
}

/* A loaded tool: its index, and the mention by which it is sorted. */
struct place {
    uint64_t index, mention;
};

static int compare_places(const void *a, const void *b) {
    const struct place *left = a, *right = b;
    return (left->mention > right->mention) - (left->mention < right->mention);
}

/*
 * Returns the places of the loaded tools, to be freed with agents_release: at most `max`, those that were mentioned
 * last, in the order in which they were loaded, so that a longer conversation begins with the same ones, as the caches
 * of providers need. NULL if memory runs out.
 */
static struct place *loading_places(const struct loading *loading, uint64_t max, uint64_t *count) {
    uint64_t total = tn.value->count(loading->definitions), found = 0;
    struct place *places = agents_alloc_zeroed((total + 1) * sizeof *places);
    if (places == NULL) return NULL;
    for (uint64_t i = 0; i < total; i++)
        if (loading->loaded[i].first > 0) places[found++] = (struct place){i, loading->loaded[i].last};
    qsort(places, found, sizeof *places, compare_places);
    uint64_t dropped = found > max ? found - max : 0;
    *count = found - dropped;
    for (uint64_t i = 0; i < *count; i++) {
        uint64_t index = places[i + dropped].index;
        places[i] = (struct place){index, loading->loaded[index].first};
    }
    qsort(places, *count, sizeof *places, compare_places);
    return places;
}

static void put_search_tool(tn_builder *builder, uint64_t count) {
    char description[320];
    (void)snprintf(description, sizeof description,
                   "Searches the %llu tools that exist but are not offered yet, by words of their names and "
                   "descriptions. The tools found can be called from the next message on. Search before you say that "
                   "something cannot be done.",
                   (unsigned long long)count);
    static const char schema[] =
        "{\"type\":\"object\",\"properties\":{\"query\":{\"type\":\"string\",\"description\":\"What the tool should "
        "do, in a few words, for example: create issue\",\"minLength\":1},\"limit\":{\"type\":\"integer\","
        "\"description\":\"How many tools to load.\",\"minimum\":1,\"maximum\":20}},\"required\":[\"query\"],"
        "\"additionalProperties\":false}";
    tn_put_begin(builder, NULL, TN_OBJECT);
    tn_put_text(builder, "tool_name", SEARCH_TOOL);
    tn_put_text(builder, "description", description);
    tn_put_take(builder, "input_schema", tn_from_json(schema, sizeof schema - 1));
    tn.value->end(builder);
}

tn_value search_offer(const struct search *search, tn_value definitions, tn_value messages, tn_value more) {
    uint64_t total = tn.value->count(definitions), count = 0;
    if (!search->on) return tn_retain(definitions);
    struct loading loading = {.definitions = definitions,
                              .loaded = agents_alloc_zeroed((total + 1) * sizeof *loading.loaded)};
    if (loading.loaded == NULL) return NULL;
    mention_all(&loading, messages);
    mention_all(&loading, more);
    struct place *places = loading_places(&loading, search->max_loaded, &count);
    agents_release(loading.loaded);
    if (places == NULL) return NULL;
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_ARRAY);
    for (uint64_t i = 0; i < total && search->always != NULL; i++) {
        tn_value tool = tn.value->at(definitions, i);
        if (names_match(search->always, tn_get_text(tool, "tool_name", ""))) tn_put(builder, NULL, tool);
    }
    put_search_tool(builder, total);
    for (uint64_t i = 0; i < count; i++) {
        tn_value tool = tn.value->at(definitions, places[i].index);
        if (!names_match(search->always, tn_get_text(tool, "tool_name", ""))) tn_put(builder, NULL, tool);
    }
    tn.value->end(builder);
    agents_release(places);
    return tn_finish(builder);
}
