/*
 * keys.c - the table of keys, and the checks that follow from its rows: unknown, missing, wrong kind.
 *
 * A mapping that passes has the form of its row, so other files read it without further checks.
 */
#include "adl/document/keys.h"
#include "adl/document/duration.h"
#include "adl/document/reader.h"
#include "adl/document/synonyms.h"
#include "adl/value/buffer.h"
#include <stdio.h>
#include <string.h>

#define INTEGER_MAX INT64_C(2147483647)

static const char *const words_versions[] = {"1.0", NULL};
static const char *const words_strategies[] = {"parallel", "pick_first", "pick_last", "stop_at_nonlinear", NULL};
static const char *const words_approvals[] = {"auto", "ask", "deny", NULL};
static const char *const words_channel_types[] = {"last_value", "append", "reduce", "ephemeral", "topic", NULL};
static const char *const words_interrupts[] = {"before", "after", NULL};
static const char *const words_edge_types[] = {"static", "conditional", "map", NULL};
static const char *const words_balances[] = {"round_robin", "least_busy", NULL};
/* Other words are components, so every string is allowed here. */
#define words_none     NULL
#define words_reducers NULL

#define REQUIRED     true
#define OPTIONAL     false
#define TEXT         KEY_TEXT
#define INTEGER      KEY_INTEGER
#define NUMBER       KEY_NUMBER
#define BOOL         KEY_BOOL
#define DURATION     KEY_DURATION
#define LIST         KEY_LIST
#define MAPPING      KEY_MAPPING
#define ANY          KEY_ANY
#define SCHEMA       KEY_SCHEMA
#define TEXTS        KEY_TEXTS
#define MAPPINGS     KEY_MAPPINGS
#define NAMES        KEY_NAMES
#define POSITIVE     KEY_POSITIVE
#define AT_LEAST_ONE KEY_AT_LEAST_ONE

static const struct document_key table[] = {
#define DOCUMENT_KEY(in, key, name, need, forms, of, words, example, documentation)                                    \
    {KEYS_##in, KEY_##key, name, need, forms, KEYS_##of, words_##words, example, documentation},
#include "adl/document/keys.def"
};

static const struct document_mapping mappings[KEYS_MAPPINGS] = {
#define DOCUMENT_MAPPING(mapping, first, last, name, documentation)                                                    \
    [KEYS_##mapping] = {name, documentation, &table[KEY_##first], KEY_##last - KEY_##first + 1,                        \
                        KEYS_##mapping == KEYS_MODEL},
#include "adl/document/keys.def"
};

const struct document_key *document_key(enum key key) { return &table[key]; }
const struct document_mapping *document_mapping(enum keys_mapping mapping) { return &mappings[mapping]; }

void document_each_key(void (*callback)(void *user, const struct document_mapping *mapping,
                                        const struct document_key *key),
                       void *user) {
    for (size_t i = 0; i < KEYS; i++) callback(user, &mappings[table[i].mapping], &table[i]);
}

int32_t key_word(const struct document_key *key, const char *text, size_t length) {
    for (int32_t i = 0; key->words && key->words[i]; i++)
        if (strlen(key->words[i]) == length && memcmp(key->words[i], text, length) == 0) return i;
    return -1;
}

/* ---- What was found, and what may be ---- */

static const char *found_text(const struct tree_node *node, char out[64]) {
    switch (node->kind) {
    case TN_NULL: return "nothing";
    case TN_BOOL: return value_to_bool(node->value) ? "`true`" : "`false`";
    case TN_INT: snprintf(out, 64, "the number %lld", (long long)value_to_int(node->value)); return out;
    case TN_DOUBLE: snprintf(out, 64, "the number %g", value_to_double(node->value)); return out;
    case TN_STRING: return "text";
    case TN_ARRAY: return "a list";
    case TN_OBJECT: return "a mapping";
    default: return "nothing readable";
    }
}

static const struct {
    uint32_t form;
    const char *text;
} form_texts[] = {
    {KEY_TEXT, "text"},
    {KEY_INTEGER, "a whole number"},
    {KEY_NUMBER, "a number"},
    {KEY_BOOL, "`true` or `false`"},
    {KEY_DURATION, "a duration such as `30s`"},
    {KEY_SCHEMA, "a JSON Schema"},
    {KEY_LIST, "a list"},
    {KEY_MAPPING, "a mapping"},
};

/* Appends "a list or a mapping". */
static void expected_text(uint32_t forms, struct buffer *out) {
    size_t last = 0, first = SIZE_MAX;
    for (size_t i = 0; i < sizeof form_texts / sizeof *form_texts; i++)
        if (forms & form_texts[i].form) last = i, first = first == SIZE_MAX ? i : first;
    for (size_t i = first; i <= last; i++) {
        if (!(forms & form_texts[i].form)) continue;
        if (i > first) buffer_text(out, i == last ? " or " : ", ");
        buffer_text(out, form_texts[i].text);
    }
}

static struct diagnostic *report_form(struct reader *reader, const char *what, uint32_t forms,
                                      const struct document_key *key, const struct tree_node *node, struct span span) {
    struct buffer expected;
    char found[64];
    buffer_init(&expected, 1024);
    expected_text(forms, &expected);
    struct diagnostic *it =
        report(reader, ADL_E020, span, "%s is %s; expected %s", what, found_text(node, found), buffer_cstr(&expected));
    if (key) diagnostic_suggest(it, "for example `%s: %s`", key->name, key->example);
    buffer_finish(&expected);
    return it;
}

/* ---- One value ---- */

enum verdict { FITS, REPORTED, WRONG_FORM };

static bool number_in_range(struct reader *reader, const struct document_key *key, const struct tree_node *node) {
    double number = value_to_double(node->value);
    const char *bound = NULL;
    if ((key->forms & KEY_POSITIVE) && !(number > 0)) bound = key->forms & KEY_INTEGER ? "1 or more" : "more than 0";
    if ((key->forms & KEY_AT_LEAST_ONE) && !(number >= 1)) bound = "1 or more";
    if ((key->forms & KEY_INTEGER) && number > (double)INTEGER_MAX) bound = "at most 2147483647";
    if (bound) report(reader, ADL_E025, node->span, "`%s` is %g; expected %s", key->name, number, bound);
    return !bound;
}

static bool is_word(struct reader *reader, const struct document_key *key, const struct tree_node *node) {
    size_t length;
    const char *text = tree_text(reader->tree, node, &length);
    if (!key->words || key_word(key, text, length) >= 0) return true;
    struct nearest nearest;
    nearest_init(&nearest, text, length);
    struct buffer all;
    buffer_init(&all, 1024);
    for (size_t i = 0; key->words[i]; i++) {
        nearest_add_candidate(&nearest, key->words[i], strlen(key->words[i]));
        buffer_format(&all, "%s`%s`", i == 0 ? "" : key->words[i + 1] ? ", " : " or ", key->words[i]);
    }
    bool version = key->key == KEY_VERSION;
    struct diagnostic *it = report(reader, version ? ADL_E026 : ADL_E023, node->span, "`%s` is `%.*s`; expected %s",
                                   key->name, length > 80 ? 80 : (int)length, text, buffer_cstr(&all));
    const char *help = NULL;
    const char *meant = nearest_result(&nearest) ? NULL : word_synonym(key->key, text, length, &help);
    if (meant) nearest = (struct nearest){.best = meant, .best_length = strlen(meant)};
    suggest_nearest(reader, it, node->span, &nearest);
    if (help) diagnostic_suggest(it, "%s", help);
    if (version && !it->fix) diagnostic_set_fix(it, node->span, "\"1.0\"", 5, "write \"1.0\"");
    buffer_finish(&all);
    return false;
}

static enum verdict judge_duration(struct reader *reader, const struct document_key *key,
                                   const struct tree_node *node) {
    static const char *const problems[] = {
        [DURATION_MALFORMED] =
            "is not a duration; expected a number and a unit (`ms`, `s`, `m`, `h`, `d`), as in `30s`, or "
            "a number of seconds",
        [DURATION_TOO_LONG] = "is too long; expected at most 366 days",
        [DURATION_TOO_SHORT] = "is too short; expected at least `1ms`",
    };
    size_t length;
    const char *text = tree_text(reader->tree, node, &length);
    bool number = node->kind == TN_INT || node->kind == TN_DOUBLE;
    if (!text && !number) return WRONG_FORM;
    int64_t milliseconds = 0;
    enum duration_problem problem = text ? duration_read(text, length, &milliseconds) : DURATION_MALFORMED;
    if (problem == DURATION_MALFORMED && number)
        problem = duration_from_seconds(value_to_double(node->value), &milliseconds);
    if (problem == DURATION_OK && milliseconds == 0 && (key->forms & KEY_POSITIVE)) problem = DURATION_TOO_SHORT;
    if (problem == DURATION_OK) return FITS;
    struct span span = node->span;
    uint32_t shown = span.end - span.start > 80 ? 80 : span.end - span.start;
    report(reader, ADL_E024, span, "`%s: %.*s` %s", key->name, (int)shown, source_text(reader->source) + span.start,
           problems[problem]);
    return REPORTED;
}

static bool items_fit(struct reader *reader, const struct document_key *key, const struct tree_node *list) {
    if (!(key->forms & KEY_TEXTS) || (key->forms & KEY_MAPPINGS)) return true; /* the section's code checks the items */
    for (uint32_t i = 0; i < list->count; i++) {
        const struct tree_node *item = list->items[i].node;
        if (item->kind == TREE_BROKEN) return false;
        if (tree_text(reader->tree, item, NULL)) {
            if (!is_word(reader, key, item)) return false;
            continue;
        }
        char what[96];
        snprintf(what, sizeof what, "an item of `%s`", key->name);
        report_form(reader, what, KEY_TEXT, NULL, item, item->span);
        return false;
    }
    return true;
}

static enum verdict keys_check_value(struct reader *reader, const struct document_key *key,
                                     const struct tree_node *node) {
    uint32_t forms = key->forms;
    int kind = node->kind;
    bool number = kind == TN_INT || kind == TN_DOUBLE;
    if (kind == TREE_BROKEN) return REPORTED;
    if (forms & KEY_NAMES) return kind == TN_OBJECT ? FITS : WRONG_FORM;
    if (forms & KEY_ANY) return FITS;
    if ((forms & KEY_SCHEMA) && (kind == TN_OBJECT || kind == TN_BOOL)) return FITS;
    if ((forms & KEY_MAPPING) && kind == TN_OBJECT) return FITS;
    if ((forms & KEY_BOOL) && kind == TN_BOOL) return FITS;
    if ((forms & KEY_LIST) && kind == TN_ARRAY) return items_fit(reader, key, node) ? FITS : REPORTED;
    if (((forms & KEY_INTEGER) && kind == TN_INT) || ((forms & KEY_NUMBER) && number))
        return number_in_range(reader, key, node) ? FITS : REPORTED;
    if ((forms & KEY_TEXT) && tree_text(reader->tree, node, NULL)) return is_word(reader, key, node) ? FITS : REPORTED;
    return forms & KEY_DURATION ? judge_duration(reader, key, node) : WRONG_FORM;
}

static bool value_fits(struct reader *reader, const struct document_key *key, const struct tree_item *item) {
    const struct tree_node *node = item->node;
    enum verdict verdict = keys_check_value(reader, key, node);
    if (verdict != WRONG_FORM) return verdict == FITS;
    char what[64];
    snprintf(what, sizeof what, "`%s`", key->name);
    report_form(reader, what, key->forms & KEY_NAMES ? KEY_MAPPING : key->forms, key, node,
                node->span.start == node->span.end ? item->key_span : node->span);
    return false;
}

/* ---- One mapping ---- */

static const struct document_key *keys_find(const struct document_mapping *mapping, const char *text, size_t length) {
    for (uint32_t i = 0; i < mapping->key_count; i++) {
        const char *name = mapping->keys[i].name;
        if (strncmp(name, text, length) == 0 && name[length] == '\0') return &mapping->keys[i];
    }
    return NULL;
}

static void report_unknown(struct reader *reader, const struct document_mapping *mapping, const char *text,
                           size_t length, const struct tree_item *item, const struct keys *slots) {
    struct nearest nearest;
    nearest_init(&nearest, text, length);
    for (uint32_t i = 0; i < mapping->key_count; i++)
        if (!slots->items[mapping->keys[i].key])
            nearest_add_candidate(&nearest, mapping->keys[i].name, strlen(mapping->keys[i].name));
    for (uint32_t i = 0; !nearest_result(&nearest) && i < mapping->key_count; i++) {
        const struct document_key *key = &mapping->keys[i];
        if (!slots->items[key->key] && key_has_synonym(key->key, text, length))
            nearest = (struct nearest){.best = key->name, .best_length = strlen(key->name)};
    }
    struct diagnostic *it = report(reader, ADL_E021, item->key_span, "`%.*s` is not a key of %s",
                                   length > 80 ? 80 : (int)length, text, mapping->name);
    if (nearest_result(&nearest)) {
        const struct document_key *meant = keys_find(mapping, nearest.best, nearest.best_length);
        const char *help = meant ? key_companion_help(meant->key, slots) : NULL;
        if (help) /* with another name alone, the edge would still have an error */
            diagnostic_suggest(it, "%s", help);
        else
            suggest_nearest(reader, it, item->key_span, &nearest);
        return;
    }
    const char *advice = key_advised((enum keys_mapping)(mapping - mappings), text, length);
    if (advice) {
        diagnostic_suggest(it, "%s", advice);
        return;
    }
    struct buffer all;
    buffer_init(&all, 1024);
    for (uint32_t i = 0; i < mapping->key_count; i++)
        buffer_format(&all, "%s`%s`", i == 0 ? "" : ", ", mapping->keys[i].name);
    diagnostic_suggest(it, "there are %s; keys that start with `x-` are allowed", buffer_cstr(&all));
    buffer_finish(&all);
}

/* True if an unknown key, which was reported, is probably this one. */
bool key_mistyped(const struct document_key *key, const struct tree_node *node) {
    const struct document_mapping *mapping = &mappings[key->mapping];
    for (uint32_t i = 0; node->kind == TN_OBJECT && i < node->count; i++) {
        size_t length;
        const char *text = value_chars(node->items[i].key, &length);
        if (keys_find(mapping, text, length)) continue;
        struct nearest nearest;
        nearest_init(&nearest, text, length);
        nearest_add_candidate(&nearest, key->name, strlen(key->name));
        if (nearest_result(&nearest) || key_has_synonym(key->key, text, length)) return true;
    }
    return false;
}

static void report_missing_keys(struct reader *reader, const struct document_mapping *mapping,
                                const struct tree_node *node, struct span span, struct keys *slots) {
    for (uint32_t i = 0; i < mapping->key_count; i++) {
        const struct document_key *key = &mapping->keys[i];
        if (!key->required || tree_get(node, key->name)) continue;
        slots->whole = false;
        if (node->incomplete || key_mistyped(key, node)) continue;
        struct diagnostic *it =
            report(reader, ADL_E022, span, "%s has no `%s`, which is required", mapping->name, key->name);
        diagnostic_suggest(it, "for example `%s: %s`", key->name, key->example);
    }
}

static void keys_skip(struct reader *reader, const struct tree_item *item, struct keys *slots) {
    slots->whole = false;
    use_unread(reader, reader->source, item->node->span, UINT32_MAX);
}

bool keys_read(struct reader *reader, enum keys_mapping in, const struct tree_node *node, struct span span,
               struct keys *slots) {
    const struct document_mapping *mapping = &mappings[in];
    memset(&slots->items[mapping->keys[0].key], 0, mapping->key_count * sizeof *slots->items);
    slots->whole = node->kind == TN_OBJECT && !node->incomplete;
    if (node->kind == TREE_BROKEN) return false;
    if (node->kind != TN_OBJECT) {
        struct diagnostic *it = report_form(reader, mapping->name, KEY_MAPPING, NULL, node,
                                            node->span.start == node->span.end ? span : node->span);
        use_unread(reader, reader->source, node->span, UINT32_MAX);
        if (mapping_example(in)) diagnostic_suggest(it, "for example `%s`", mapping_example(in));
        return false;
    }
    bool unknown = false;
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        size_t length;
        const char *text = value_chars(item->key, &length);
        const struct document_key *key = keys_find(mapping, text, length);
        if (!key) {
            unknown |= !mapping->open && !(length >= 2 && text[0] == 'x' && text[1] == '-');
            continue;
        }
        if (item->node->kind == TN_NULL && !key->required && !(key->forms & KEY_ANY)) continue; /* treated as absent */
        if (value_fits(reader, key, item))
            slots->items[key->key] = item;
        else
            keys_skip(reader, item, slots);
    }
    for (uint32_t i = 0; unknown && i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        size_t length;
        const char *text = value_chars(item->key, &length);
        if ((length >= 2 && text[0] == 'x' && text[1] == '-') || keys_find(mapping, text, length)) continue;
        report_unknown(reader, mapping, text, length, item, slots);
        use_unread(reader, reader->source, item->node->span, UINT32_MAX);
    }
    report_missing_keys(reader, mapping, node, span, slots);
    return true;
}
