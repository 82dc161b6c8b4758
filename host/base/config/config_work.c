/*
 * config_work.c - reads `work` of tenon.yaml: how Tasks of each type are handled.
 *
 * Durations become milliseconds, and paths of strategies are resolved, so that host/work only uses the values.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/base/config/config_internal.h"
#include "host/base/config/config_reader.h"
#include <string.h>

#define TASK_TYPE_NAME_MAX 128 /* bytes, as of the kernel */

/* One key of a Task type, or of its `retries`. */
struct work_key {
    const char *name;   /* in tenon.yaml */
    const char *stored; /* in the value */
    void (*read)(struct config_reader *reader, const struct tree_node *node, const char *where,
                 const struct work_key *key, tn_value *into);
    int64_t least, most; /* of a number */
};

static void work_store_take(tn_value *into, const struct work_key *key, tn_value value) {
    *into = value_set_take(*into, key->stored, value);
}

/* ---- Values ---- */

static void read_document(struct config_reader *reader, const struct tree_node *node, const char *where,
                          const struct work_key *key, tn_value *into) {
    const char *name = node->kind == TN_STRING ? value_chars(node->value, NULL) : "";
    if (!*name) {
        config_report_value(reader, node, where, "a document: a path, `tenon:NAME` or `pack:NAME/FILE`");
        return;
    }
    work_store_take(into, key, config_resolve_document(reader, node));
}

static void read_component(struct config_reader *reader, const struct tree_node *node, const char *where,
                           const struct work_key *key, tn_value *into) {
    if (node->kind == TN_STRING && *value_chars(node->value, NULL))
        work_store_take(into, key, value_ref(node->value));
    else
        config_report_value(reader, node, where, "the id of a component of kind `runner`");
}

static void read_patterns(struct config_reader *reader, const struct tree_node *node, const char *where,
                          const struct work_key *key, tn_value *into) {
    tn_value list = value_array();
    if (node->kind != TN_ARRAY) {
        config_report_value(reader, node, where, "a list of names of tools, or patterns with `*`");
        return;
    }
    uint32_t count = config_usable_count(reader, node, where, CONFIG_TASK_TOOLS_MAX, "tools");
    for (uint32_t i = 0; i < count; i++) {
        const struct tree_node *item = node->items[i].node;
        if (item->kind == TN_STRING && *value_chars(item->value, NULL))
            list = value_push_take(list, value_ref(item->value));
        else
            config_report_value(reader, item, where, "the name of a tool, or a pattern with `*`");
    }
    work_store_take(into, key, list);
}

static void read_integer(struct config_reader *reader, const struct tree_node *node, const char *where,
                         const struct work_key *key, tn_value *into) {
    if (config_expect_integer(reader, node, where, key->least, key->most))
        work_store_take(into, key, value_ref(node->value));
}

static void read_factor(struct config_reader *reader, const struct tree_node *node, const char *where,
                        const struct work_key *key, tn_value *into) {
    bool number = node->kind == TN_INT || node->kind == TN_DOUBLE;
    if (number && value_to_double(node->value) >= (double)key->least &&
        value_to_double(node->value) <= (double)key->most)
        work_store_take(into, key, value_ref(node->value));
    else
        config_report_value(reader, node, where, "a number from 1 to 100");
}

static void read_wait(struct config_reader *reader, const struct tree_node *node, const char *where,
                      const struct work_key *key, tn_value *into) {
    int64_t ms;
    if (config_as_duration(node, &ms) && ms >= key->least && ms <= key->most)
        work_store_take(into, key, value_int(ms));
    else
        config_report_value(reader, node, where,
                            key->least > 1 ? "a duration from 1s to 7d, such as `60s`"
                                           : "a duration of at most 7d, such as `500ms`");
}

static void read_options(struct config_reader *reader, const struct tree_node *node, const char *where,
                         const struct work_key *key, tn_value *into) {
    if (config_expect_mapping(reader, node, where, "a mapping")) work_store_take(into, key, tree_to_value(node));
}

/* ---- Keys ---- */

#define WEEK_MS (INT64_C(7) * 24 * 60 * 60 * 1000)

static void read_retries(struct config_reader *reader, const struct tree_node *node, const char *where,
                         const struct work_key *key, tn_value *into);

static const struct work_key retry_keys[] = {{"max_attempts", "max_attempts", read_integer, 1, 1000},
                                             {"initial", "initial_ms", read_wait, 0, WEEK_MS},
                                             {"factor", "factor", read_factor, 1, 100},
                                             {"max", "max_ms", read_wait, 0, WEEK_MS}};

static const struct work_key type_keys[] = {{"strategy", "strategy", read_document, 0, 0},
                                            {"runner", "runner", read_component, 0, 0},
                                            {"tools", "tools", read_patterns, 0, 0},
                                            {"ttl", "ttl_ms", read_wait, 1000, WEEK_MS},
                                            {"priority", "priority", read_integer, -1000, 1000},
                                            {"concurrency", "concurrency", read_integer, 1, 10000},
                                            {"retries", "retries", read_retries, 0, 0},
                                            {"options", "options", read_options, 0, 0}};

#define WORK_KEYS_MAX 8

/* `mapping` names the mapping in messages. Returns an object of what could be read; a new reference. */
static tn_value read_work_keys(struct config_reader *reader, const struct tree_node *node, const char *where,
                               const char *mapping, const struct work_key *keys, size_t count) {
    const char *names[WORK_KEYS_MAX];
    tn_value into = value_object();
    for (size_t i = 0; i < count; i++) names[i] = keys[i].name;
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_item *item = &node->items[i];
        size_t index = config_expect_key(reader, item, mapping, names, count);
        if (index == KEY_UNKNOWN) continue;
        keys[index].read(reader, item->node, config_where(where, item->key).text, &keys[index], &into);
    }
    return into;
}

static void read_retries(struct config_reader *reader, const struct tree_node *node, const char *where,
                         const struct work_key *key, tn_value *into) {
    if (config_expect_mapping(reader, node, where, "a mapping with `max_attempts`, `initial`, `factor` and `max`"))
        work_store_take(
            into, key,
            read_work_keys(reader, node, where, "`retries`", retry_keys, sizeof retry_keys / sizeof *retry_keys));
}

/* ---- Task types ---- */

static bool is_type_name(tn_value name) {
    size_t length;
    const char *text = value_chars(name, &length);
    bool plain = length > 0 && length <= TASK_TYPE_NAME_MAX && strlen(text) == length;
    for (size_t i = 0; plain && i < length; i++) plain = (unsigned char)text[i] >= 0x20 && text[i] != 0x7f;
    return plain;
}

static void read_task_type(struct config_reader *reader, const struct tree_item *item) {
    struct config_where where = config_where("work", item->key);
    if (!is_type_name(item->key)) {
        diagnostics_add(reader->diagnostics, ADL_E020, reader->source, item->key_span,
                        "`work`: a Task type must have 1 to %d bytes, without control characters", TASK_TYPE_NAME_MAX);
        return;
    }
    if (!config_expect_mapping(reader, item->node, where.text, "a mapping with `strategy` or `runner`")) return;
    tn_value type =
        read_work_keys(reader, item->node, where.text, "a Task type", type_keys, sizeof type_keys / sizeof *type_keys);
    if (value_get(type, "strategy") && value_get(type, "runner"))
        diagnostics_add(reader->diagnostics, ADL_E020, reader->source, item->key_span,
                        "`%s`: found `strategy` and `runner`, expected one of them", where.text);
    reader->config->work = value_set_key_take(reader->config->work, value_ref(item->key), type);
}

void config_read_work(struct config_reader *reader, const struct tree_node *node) {
    if (!config_expect_mapping(reader, node, "work", "a mapping of Task types to mappings")) return;
    uint32_t count = config_usable_count(reader, node, "work", CONFIG_TASK_TYPES_MAX, "Task types");
    for (uint32_t i = 0; i < count; i++) read_task_type(reader, &node->items[i]);
}
