/*
 * check_config.c - checks each node's config against its component's schema, and visits its annotations.
 *
 * References (config.h) are resolved first: a prompt in a file is checked like one in the document. The annotations are
 * evaluated on the config with its defaults, because a default can name a channel, too.
 */
#include "adl/document/check_config.h"
#include "adl/document/config.h"
#include "adl/document/inner_file.h"
#include "adl/value/memory.h"
#include "adl/value/pointer.h"
#include <stdio.h>
#include <string.h>

/* ---- References ---- */

const struct config_reference *config_reference_at(const struct config_check *check, const char *pointer) {
    tn_value index = check->reference_count ? value_get(check->reference_index, pointer) : NULL;
    return index ? &check->references[value_to_int(index)] : NULL;
}

const struct tree_node *config_member(struct config_check *check, const char *pointer, const struct tree_item **item) {
    *item = NULL;
    return check->tree ? tree_finder_at(&check->finder, pointer, item) : NULL;
}

struct span config_span_of(const struct config_check *check, const struct tree_node *node, const struct tree_item *item,
                           bool on_key) {
    if (!node) return check->span;
    if (on_key && item) return item->key_span;
    return node->span.start < node->span.end ? node->span : item ? item->key_span : check->span;
}

struct span config_span_at(struct config_check *check, const char *pointer, bool on_key) {
    const struct tree_item *item;
    const struct tree_node *node = config_member(check, pointer, &item);
    return config_span_of(check, node, item, on_key);
}

static void tell_reference(struct config_check *check, const char *pointer, const char *path) {
    const struct tree_item *item;
    const struct tree_node *node = config_member(check, pointer, &item);
    const struct tree_node *name = node ? tree_get(node, "file") : NULL;
    if (!name) return;
    const struct config_use use = {.node = check->node, .pointer = pointer, .scalar = name};
    use_in_config(check->reader, &use, USE_FILE, 0, path);
}

/*
 * config_reference_fn: remembers the reference, and returns the text of its file, or the JSON in it; "" for a secret.
 * What is not known stands for anything.
 */
static tn_value read_reference(void *self, const char *pointer, const char *kind, tn_value name) {
    struct config_check *check = self;
    struct reader *reader = check->reader;
    MEM_EXTEND(check->references, check->reference_count);
    if (!check->reference_index) check->reference_index = value_object();
    check->reference_index = value_set_take(check->reference_index, pointer, value_int(check->reference_count));
    struct config_reference *reference = &check->references[check->reference_count++];
    *reference = (struct config_reference){mem_text(pointer), NULL};
    const struct catalog *catalog = reader->catalog;
    bool is_schema = strcmp(kind, CONFIG_SCHEMA_FILE) == 0;
    if ((strcmp(kind, "file") != 0 && !is_schema) || !catalog->read)
        return is_schema ? value_bool(true) : value_text("");
    struct catalog_file found = {NULL, NULL};
    struct error error = ERROR_INIT;
    size_t length;
    const char *file = value_chars(name, &length);
    tn_value text = read_named_file(reader, file, length, &found, &error);
    if (text) reference->source = inner_file_source(reader->source, &found, text, SOURCE_LINES_HIDDEN);
    if (text && is_schema) {
        tn_value schema = config_schema_read(text, &error);
        value_unref(text);
        text = schema;
    }
    if (!text) {
        char inner[1100];
        snprintf(inner, sizeof inner, "%.1024s/file", pointer);
        report(reader, ADL_E063, config_span_at(check, inner, false), "the file `%.200s` cannot be read: %s", file,
               error.message);
    }
    tell_reference(check, pointer, found.path);
    catalog_file_finish(&found);
    error_finish(&error);
    if (text) return text;
    return is_schema ? value_bool(true) : value_text("");
}

/* The text of a secret or of an unreadable file is not known: it is not reported if it does not fit. */
static enum value_stand_in reference_stand_in(void *self, const char *pointer) {
    const struct config_reference *reference = config_reference_at(self, pointer);
    if (!reference) return STAND_IN_NONE;
    return reference->source ? STAND_IN_FILE : STAND_IN_UNKNOWN;
}

/* ---- Channels of an inner document ---- */

/*
 * `input` and `output` of a node with an inner document map channels of the outer one to channels of the inner one. The
 * schema annotates the side that names outer channels, so the other side names inner ones.
 */
struct port_sides {
    const char *pointer; /* JSON Pointer of the map */
    size_t length;
    bool keys_outer; /* the keys name outer channels, and the values inner ones; else the reverse */
};

static void note_port_side(void *self, const char *pointer, bool on_key, tn_value where, tn_value annotation) {
    struct port_sides *sides = self;
    (void)where;
    (void)annotation;
    if (on_key && strncmp(pointer, sides->pointer, sides->length) == 0 && pointer[sides->length] == '/')
        sides->keys_outer = true;
}

static void check_port_name(struct config_check *check, tn_value ports, tn_value name, const char *pointer, bool on_key,
                            uint32_t access) {
    if (!value_is(name, TN_STRING)) return;
    struct reader *reader = check->reader;
    struct document *inner = check->inner;
    const struct annotated_string string = annotated_string_at(check, pointer, on_key, name, NULL);
    const char *text = string.text;
    size_t length = string.length;
    annotated_tell(&string, USE_INNER_CHANNEL, access, source_name(inner->source));
    int32_t channel = document_find_channel(inner, text, length);
    if (channel >= 0) return;
    struct nearest nearest;
    nearest_init(&nearest, text, length);
    for (uint32_t i = 0; i < inner->channel_count && i < NAMES_SCAN_MAX; i++) {
        size_t size;
        const char *candidate = value_chars(inner->channels[i].name, &size);
        if (!on_key || !value_get(ports, candidate)) nearest_add_candidate(&nearest, candidate, size);
    }
    struct diagnostic *it = report(reader, ADL_E066, string.span, "`%s` has no channel `%.*s`",
                                   source_name(inner->source), length > 80 ? 80 : (int)length, text);
    suggest_nearest(reader, it, string.span, &nearest);
}

static void check_ports(struct config_check *check, const struct schema *schema, const char *key) {
    char pointer[32];
    snprintf(pointer, sizeof pointer, "/%s", key);
    if (strrchr(check->document, '/') != check->document) return; /* a document is named at the top level of a config */
    tn_value ports = value_get(check->filled, key);
    if (!ports || !value_is(ports, TN_OBJECT)) return;
    struct port_sides sides = {pointer, strlen(pointer), false};
    schema_each_annotation(schema, check->filled, "x-tenon", note_port_side, &sides);
    for (size_t i = 0, n = value_count(ports); i < n; i++) {
        tn_value name = value_key_at(ports, i);
        size_t length;
        const char *text = value_chars(name, &length);
        struct buffer member;
        buffer_init(&member, SIZE_MAX);
        buffer_text(&member, pointer);
        pointer_append_key(&member, text, length);
        check_port_name(check, ports, sides.keys_outer ? value_value_at(ports, i) : name, buffer_cstr(&member),
                        !sides.keys_outer, sides.keys_outer ? USE_WRITES : USE_READS);
        buffer_finish(&member);
    }
}

/* ---- One config ---- */

/* True if the key occurs anywhere in the schema. Nodes whose schema does not are not walked. */
static bool schema_mentions(tn_value schema, const char *key) {
    int kind = value_kind(schema);
    if (kind != TN_OBJECT && kind != TN_ARRAY) return false;
    if (kind == TN_OBJECT && value_get(schema, key)) return true;
    for (size_t i = 0, n = value_count(schema); i < n; i++)
        if (schema_mentions(kind == TN_OBJECT ? value_value_at(schema, i) : value_at(schema, i), key)) return true;
    return false;
}

static void note_annotated_types(struct reader *reader) {
    for (uint32_t i = 0; i < reader->types.count; i++) {
        struct node_type *type = reader->node_types ? &reader->node_types[i] : NULL;
        if (!type || !type->component) continue;
        tn_value schema = schema_document(type->component->config);
        type->annotated = schema_mentions(schema, "x-tenon");
        type->has_defaults = schema_mentions(schema, "default");
        type->has_variables = schema_mentions(schema, "x-tenon-variables");
    }
}

static void check_annotations(struct config_check *check) {
    const struct schema *schema = check->type->component->config;
    if (!check->type->annotated) return;
    tn_value config = check->reader->document->nodes[check->node].config;
    check->filled = check->reference_count ? check->filled : value_ref(config);
    if (check->type->has_defaults) {
        tn_value filled = schema_with_defaults(schema, check->filled);
        value_unref(check->filled);
        check->filled = filled;
    }
    schema_each_annotated(schema, check->filled, "x-tenon", config_on_annotation, check);
    config_check_arguments(check);
    if (!check->inner) return;
    check_ports(check, schema, "input");
    check_ports(check, schema, "output");
}

static void report_misfits(struct config_check *check) {
    const struct document_node *def = &check->reader->document->nodes[check->node];
    char of[160], type_text[160];
    snprintf(of, sizeof of, "node `%.120s`", value_chars(def->id, NULL));
    snprintf(type_text, sizeof type_text, "node type `%.120s`", value_chars(def->type, NULL));
    const struct value_check value = {
        .schema = check->type->component->config,
        .node = check->tree,
        .span = check->span,
        .path = "config",
        .of = of,
        .type = type_text,
        .missing = ADL_E032,
        .unknown = ADL_E033,
        .wrong = ADL_E034,
    };
    check->filled = check_value_take(check->reader, &value, check->filled, reference_stand_in, check);
}

/*
 * Checks one node's config: replaces references by the texts that they name, validates the result, adds defaults, and
 * then checks each annotated string. Without references the result replaces the config of the document.
 */
static void check_config(struct reader *reader, uint32_t index) {
    struct document_node *def = &reader->document->nodes[index];
    struct node_note *note = &reader->notes[index];
    note->first_write = reader->write_count;
    if (!def->component || !def->component->config) {
        if (note->config) use_unread(reader, reader->source, note->config->node->span, index);
        return;
    }
    size_t length;
    const char *type_name = value_chars(def->type, &length);
    const struct node_type *type = &reader->node_types[names_find(&reader->types, type_name, length)];
    struct config_check check = {
        .reader = reader,
        .node = index,
        .type = type,
        .tree = note->config ? note->config->node : NULL,
        .span = note->config ? note->config->key_span : def->type_span,
    };
    check.finder.root = check.tree;
    check_placeholders(reader, check.tree);
    check.filled = config_resolve_take(type->component->config, value_ref(def->config), read_reference, &check);
    if (schema_validate(type->component->config, check.filled, NULL) != TN_OK) report_misfits(&check);
    if (check.reference_count == 0) {
        value_unref(def->config); /* plain scalars may have become strings */
        def->config = check.filled;
        check.filled = NULL;
    }
    check_annotations(&check);
    note->write_count = reader->write_count - note->first_write;
    value_unref(check.filled);
    for (uint32_t i = 0; i < check.reference_count; i++) {
        mem_free(check.references[i].pointer);
        source_unref(check.references[i].source);
    }
    mem_free(check.references);
    value_unref(check.reference_index);
    value_unref(check.variables);
    value_unref(check.expressions);
}

void check_configs(struct reader *reader) {
    if (!reader->catalog && !reader->observer) return;
    if (reader->catalog) note_annotated_types(reader);
    for (uint32_t i = 0; i < reader->document->node_count; i++) check_config(reader, i);
}
