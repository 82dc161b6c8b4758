/*
 * synonyms.c - the tables of synonyms. The nearest name in letters takes precedence over them.
 */
#include "adl/document/synonyms.h"
#include <string.h>

static const struct {
    enum key key;
    const char *words[8];
} key_synonyms[] = {
    {KEY_CHANNEL_NAME, {"id", "key", "channel"}},
    {KEY_CHANNEL_TYPE, {"kind"}},
    {KEY_CHANNEL_DEFAULT, {"value", "initial", "init"}},
    {KEY_NODE_ID, {"name", "key", "node"}},
    {KEY_NODE_TYPE, {"kind", "uses", "component"}},
    {KEY_NODE_CONFIG, {"with", "params", "parameters", "settings", "options", "args"}},
    {KEY_EDGE_FROM, {"source", "src", "start"}},
    {KEY_EDGE_TO, {"target", "dest", "destination", "next", "goto", "then"}},
    {KEY_EDGE_CONDITIONS, {"branches", "cases", "routes", "when", "if"}},
    {KEY_CONDITION_EXPRESSION, {"if", "when", "condition", "case", "expr"}},
    {KEY_CONDITION_TO, {"goto", "target", "then", "next", "node"}},
};

static const struct {
    enum key key;
    const char *word; /* what is meant; NULL if `help` says what to write */
    const char *help;
    const char *words[10];
} word_synonyms[] = {
    {KEY_CHANNEL_TYPE, NULL, "write `type: reduce` and `reducer: messages`", {"messages", "message", "chat"}},
    {KEY_CHANNEL_TYPE, NULL, "write `type: reduce` and `reducer: sum`", {"sum", "counter", "add"}},
    {KEY_CHANNEL_TYPE, "append", NULL, {"list", "array", "topic_list", "log"}},
    {KEY_CHANNEL_TYPE,
     "last_value",
     "write `type: last_value`; `schema` describes the value, as in `schema: {type: string}`",
     {"string", "text", "number", "integer", "int", "boolean", "bool", "object", "any", "value"}},
};

static bool is_among(const char *const *words, size_t count, const char *text, size_t length) {
    for (size_t i = 0; i < count && words[i]; i++)
        if (strlen(words[i]) == length && memcmp(words[i], text, length) == 0) return true;
    return false;
}

bool key_has_synonym(enum key key, const char *text, size_t length) {
    for (size_t i = 0; i < sizeof key_synonyms / sizeof *key_synonyms; i++)
        if (key_synonyms[i].key == key && is_among(key_synonyms[i].words, 8, text, length)) return true;
    return false;
}

const char *word_synonym(enum key key, const char *text, size_t length, const char **help) {
    *help = NULL;
    for (size_t i = 0; i < sizeof word_synonyms / sizeof *word_synonyms; i++) {
        if (word_synonyms[i].key != key || !is_among(word_synonyms[i].words, 10, text, length)) continue;
        *help = word_synonyms[i].help;
        return word_synonyms[i].word;
    }
    return NULL;
}
