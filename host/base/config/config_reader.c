/*
 * config_reader.c - what all readers of keys use: messages, names of keys, lists, paths, durations.
 */
#include "host/base/config/config_reader.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/duration.h"
#include "adl/source/source.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_MAX 100 /* bytes shown of a key or a value */

/* ---- Mistakes ---- */

int config_shown_length(const char *text, size_t length) {
    size_t shown = length < SHOWN_MAX ? length : SHOWN_MAX;
    while (shown < length && shown && ((unsigned char)text[shown] & 0xc0) == 0x80) shown--;
    return (int)shown;
}

/* The full path of `key` in the mapping at `parent`. `.text` is valid until the end of the expression that contains the
 * call. */
struct config_where config_where(const char *parent, tn_value key) {
    struct config_where where;
    size_t length;
    const char *name = value_chars(key, &length);
    snprintf(where.text, sizeof where.text, "%.*s.%.*s", config_shown_length(parent, strlen(parent)), parent,
             config_shown_length(name, length), name);
    where.text[config_shown_length(where.text, strlen(where.text))] = 0;
    return where;
}

/*
 * Reports a value of a wrong kind; its text is not shown, because it can be a secret. `where` is the full path of the
 * key, for example "plugins.path".
 */
void config_report_kind(struct config_reader *reader, const struct tree_node *node, const char *where,
                        const char *expected) {
    if (node->kind == TREE_BROKEN) return; /* a syntax error, which has been reported */
    diagnostics_add(reader->diagnostics, ADL_E020, reader->source, node->span, "`%s`: found %s, expected %s", where,
                    value_kind_name(node->kind), expected);
}

/* Reports a value that is not one of the expected words or numbers, and shows it. For keys that never have a secret. */
void config_report_value(struct config_reader *reader, const struct tree_node *node, const char *where,
                         const char *expected) {
    size_t length;
    if (node->kind == TN_STRING) {
        const char *text = value_chars(node->value, &length);
        diagnostics_add(reader->diagnostics, ADL_E020, reader->source, node->span, "`%s`: found `%.*s`, expected %s",
                        where, config_shown_length(text, length), text, expected);
    } else if (node->kind == TN_INT || node->kind == TN_DOUBLE || node->kind == TN_BOOL) {
        char *text = json_text(node->value, JSON_COMPACT);
        diagnostics_add(reader->diagnostics, ADL_E020, reader->source, node->span, "`%s`: found %s, expected %s", where,
                        text, expected);
        mem_free(text);
    } else {
        config_report_kind(reader, node, where, expected);
    }
}

/*
 * Returns how many entries of the list at `where` may be used: `max` at most. If there are more, reports the first
 * surplus one. `entries` is what they are, for example "paths".
 */
bool config_expect_integer(struct config_reader *reader, const struct tree_node *node, const char *where, int64_t least,
                           int64_t most) {
    char expected[80];
    if (node->kind == TN_INT && value_to_int(node->value) >= least && value_to_int(node->value) <= most) return true;
    snprintf(expected, sizeof expected, "a whole number from %lld to %lld", (long long)least, (long long)most);
    config_report_value(reader, node, where, expected);
    return false;
}

uint32_t config_usable_count(struct config_reader *reader, const struct tree_node *list, const char *where,
                             uint32_t max, const char *entries) {
    if (list->count <= max) return list->count;
    diagnostics_add(reader->diagnostics, ADL_E027, reader->source, list->items[max].node->span,
                    "`%s`: found %u %s, expected at most %u", where, list->count, entries, max);
    return max;
}

/*
 * Reports a key that a mapping does not have. `mapping` names it in the message, for example "`limits`" or "a price".
 * `meant` is the name that was probably meant, or NULL.
 */
void config_report_unknown_key(struct config_reader *reader, const struct tree_item *item, const char *mapping,
                               const char *meant) {
    size_t length;
    const char *name = value_chars(item->key, &length);
    struct diagnostic *diagnostic = diagnostics_add(reader->diagnostics, ADL_E021, reader->source, item->key_span,
                                                    "found the key `%.*s`, which %s does not have",
                                                    config_shown_length(name, length), name, mapping);
    if (meant) diagnostic_suggest_name(diagnostic, item->key_span, meant, strlen(meant));
}

/* Returns true for a mapping. Reports any other value, except an empty one. */
bool config_expect_mapping(struct config_reader *reader, const struct tree_node *node, const char *where,
                           const char *expected) {
    if (node->kind == TN_OBJECT) return true;
    if (node->kind != TN_NULL) config_report_kind(reader, node, where, expected);
    return false;
}

/* ---- Keys ---- */

size_t config_lookup_key(tn_value key, const char *const *names, size_t count, const char **meant) {
    struct nearest near;
    size_t length;
    const char *name = value_chars(key, &length);
    *meant = NULL;
    nearest_init(&near, name, length);
    for (size_t i = 0; i < count; i++) {
        if (value_text_is(key, names[i])) return i;
        nearest_add_candidate(&near, names[i], strlen(names[i]));
    }
    *meant = nearest_result(&near);
    return KEY_UNKNOWN;
}

size_t config_expect_key(struct config_reader *reader, const struct tree_item *item, const char *mapping,
                         const char *const *names, size_t count) {
    const char *meant;
    size_t index = config_lookup_key(item->key, names, count, &meant);
    if (index == KEY_UNKNOWN) config_report_unknown_key(reader, item, mapping, meant);
    return index;
}

/* ---- Lists ---- */

void config_read_list(struct config_reader *reader, const struct tree_node *node, const char *key, uint32_t max,
                      const char *items, void (*one)(struct config_reader *reader, const struct tree_node *node)) {
    if (node->kind != TN_ARRAY) {
        one(reader, node);
        return;
    }
    uint32_t count = config_usable_count(reader, node, key, max, items);
    for (uint32_t i = 0; i < count; i++) one(reader, node->items[i].node);
}

/* ---- Paths ---- */

char *config_folder_of(const char *name) {
    char absolute[PATH_MAX];
    const char *slash = strrchr(name, '/');
    char *folder = !slash ? mem_text(".") : mem_text_n(name, slash == name ? 1 : (size_t)(slash - name));
    if (*folder == '/' || !realpath(folder, absolute)) return folder;
    mem_free(folder);
    return mem_text(absolute);
}

char *config_resolve_path(const struct config_reader *reader, const char *path) {
    struct buffer text;
    const char *home = getenv("HOME");
    buffer_init(&text, SIZE_MAX);
    if (path[0] == '~' && path[1] == '/' && home && *home)
        buffer_format(&text, "%s%s", home, path + 1);
    else if (path[0] == '/')
        buffer_text(&text, path);
    else
        buffer_format(&text, "%s/%s", reader->folder, path);
    return buffer_detach(&text, NULL);
}

tn_value config_resolve_node(const struct config_reader *reader, const struct tree_node *node) {
    char *path = config_resolve_path(reader, value_chars(node->value, NULL));
    tn_value resolved = value_string_lossy(path, strlen(path));
    mem_free(path);
    return resolved;
}

tn_value config_resolve_document(const struct config_reader *reader, const struct tree_node *node) {
    const char *name = value_chars(node->value, NULL);
    bool special = strncmp(name, "tenon:", 6) == 0 || strncmp(name, "pack:", 5) == 0;
    return special ? value_ref(node->value) : config_resolve_node(reader, node);
}

/* ---- Durations ---- */

bool config_as_duration(const struct tree_node *node, int64_t *ms) {
    size_t length;
    if (node->kind == TN_STRING) {
        const char *text = value_chars(node->value, &length);
        return duration_read(text, length, ms) == DURATION_OK;
    }
    if (node->kind != TN_INT && node->kind != TN_DOUBLE) return false;
    return duration_from_seconds(value_to_double(node->value), ms) == DURATION_OK;
}
