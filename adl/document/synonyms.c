/*
 * synonyms.c - the tables of synonyms. The nearest name in letters takes precedence over them.
 */
#include "adl/document/synonyms.h"
#include <string.h>

static const struct {
    enum key key;
    const char *words[8];
} key_synonyms[] = {
    {KEY_CHANNELS, {"state", "variables", "vars"}},
    {KEY_RETRY_MAX_ATTEMPTS, {"count", "attempts", "retries", "times", "limit", "max_retries"}},
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

/* Keys that have no counterpart in the mapping. */
static const struct {
    enum keys_mapping in;
    const char *help;
    const char *words[6];
} key_advice[] = {
    {KEYS_ROOT,
     "write the entry as an edge: `edges: [{from: START, to: first}, …]`",
     {"entry_point", "entry", "start", "start_at", "entrypoint"}},
    {KEYS_ROOT, "write the end as an edge: `edges: [{from: last, to: END}, …]`", {"finish_point", "end", "exit"}},
    {KEYS_ROOT,
     "write `interrupt: before` or `interrupt: after` in the node",
     {"interrupt_before", "interrupt_after", "interrupt"}},
    {KEYS_NODE, "write `interrupt: before`", {"interrupt_before", "breakpoint"}},
    {KEYS_NODE, "write `interrupt: after`", {"interrupt_after"}},
    {KEYS_NODE,
     "conditions belong to edges: `{from: a, type: conditional, conditions: [{expression: …, to: b}]}`",
     {"if", "when", "condition", "conditions"}},
    {KEYS_NODE, "write an edge: `edges: [{from: a, to: b}]`", {"next", "then", "goto", "to", "edges"}},
};

/* Keys that are of no use without another one. */
static const struct {
    enum key key, beside;
    const char *help;
} key_companions[] = {
    {KEY_EDGE_CONDITIONS, KEY_EDGE_TYPE,
     "did you mean `conditions`? They need a type: `{from: a, type: conditional, conditions: [{expression: …, to: "
     "b}]}`"},
    {KEY_EDGE_OVER, KEY_EDGE_TYPE,
     "did you mean `over`? It needs a type: `{from: a, type: map, over: state.items, to: b}`"},
};

/* An item of a list of these mappings. */
static const struct {
    enum keys_mapping in;
    const char *example;
} examples[] = {
    {KEYS_CHANNEL, "{name: answer, type: last_value}"},
    {KEYS_NODE, "{id: judge, type: llm}"},
    {KEYS_EDGE, "{from: START, to: judge}"},
};

static const struct {
    enum key key;
    const char *word; /* what is meant; NULL if `help` says what to write */
    const char *help;
    const char *words[10];
} word_synonyms[] = {
    {KEY_CHANNEL_REDUCER, "sum", NULL, {"add", "plus", "count", "operator.add"}},
    {KEY_CHANNEL_REDUCER, "messages", NULL, {"add_messages", "chat"}},
    {KEY_CHANNEL_REDUCER, NULL, "write `type: append`, without a reducer", {"append", "concat", "list", "extend"}},
    {KEY_CHANNEL_REDUCER,
     NULL,
     "write `type: last_value`, without a reducer",
     {"replace", "last", "last_value", "overwrite"}},
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

const char *key_advised(enum keys_mapping in, const char *text, size_t length) {
    for (size_t i = 0; i < sizeof key_advice / sizeof *key_advice; i++)
        if (key_advice[i].in == in && is_among(key_advice[i].words, 6, text, length)) return key_advice[i].help;
    return NULL;
}

const char *key_companion_help(enum key key, const struct keys *slots) {
    for (size_t i = 0; i < sizeof key_companions / sizeof *key_companions; i++)
        if (key_companions[i].key == key && !slots->items[key_companions[i].beside]) return key_companions[i].help;
    return NULL;
}

const char *mapping_example(enum keys_mapping in) {
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        if (examples[i].in == in) return examples[i].example;
    return NULL;
}
