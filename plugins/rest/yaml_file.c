/*
 * yaml_file.c - YAML to values, by libyaml.
 *
 * Scalars are of YAML's core schema: a plain scalar may be null, a truth or a number, everything else is text, and so
 * is every key (a response's 200). Aliases stand for what they name, and count as often as they do.
 */
#include "yaml_file.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

static void say(const char *path, const char *what, size_t line) {
    char message[1024];
    if (line > 0)
        (void)snprintf(message, sizeof(message), "%s:%zu: %s", path, line, what);
    else
        (void)snprintf(message, sizeof(message), "%s: %s", path, what);
    tn.core->log(tn.host, TN_LOG_ERROR, message);
}

struct reading {
    yaml_document_t yaml;
    const char *path;
    tn_builder *out;
    uint32_t nodes, depth;
    bool failed;
};

static void give_up(struct reading *reading, const char *what, const yaml_node_t *node) {
    if (!reading->failed) say(reading->path, what, node->start_mark.line + 1);
    reading->failed = true;
}

static bool is_one_of(const char *text, const char *const *words) {
    for (; *words != NULL; words++)
        if (strcmp(text, *words) == 0) return true;
    return false;
}

/* A number of the core schema: JSON's, and 0x and 0o integers. NULL where it is none. */
static tn_value number(const char *text, size_t length) {
    char *end;
    tn_value value = NULL;
    if (length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'o')) {
        errno = 0;
        long long parsed = strtoll(text + 2, &end, text[1] == 'x' ? 16 : 8);
        return *end == 0 && errno == 0 && text[2] != '-' && text[2] != '+' ? tn_int(parsed) : NULL;
    }
    if (length > 0 && text[0] == '+') text++, length--;
    if (length > 0 && tn.value->from_json(text, length, &value) == TN_OK) {
        int32_t kind = tn.value->kind(value);
        if (kind == TN_INT || kind == TN_DOUBLE) return value;
        tn_release(value);
    }
    return NULL;
}

static tn_value scalar(const yaml_node_t *node) {
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL}, *const falses[] = {"false", "False", "FALSE",
                                                                                          NULL};
    const char *text = (const char *)node->data.scalar.value;
    size_t length = node->data.scalar.length;
    if (node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && strlen(text) == length) {
        if (is_one_of(text, nulls)) return tn.value->make_null();
        if (is_one_of(text, trues)) return tn_bool(1);
        if (is_one_of(text, falses)) return tn_bool(0);
        tn_value found = number(text, length);
        if (found != NULL) return found;
    }
    return tn_text_n(text, length);
}

static void add(struct reading *reading, const yaml_node_t *node);

static void add_pairs(struct reading *reading, const yaml_node_t *node) {
    tn.value->begin(reading->out, TN_OBJECT);
    for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(&reading->yaml, pair->key);
        if (key->type != YAML_SCALAR_NODE || strlen((const char *)key->data.scalar.value) != key->data.scalar.length) {
            give_up(reading, "found a key that is no text", key);
            break;
        }
        tn.value->key(reading->out, (const char *)key->data.scalar.value);
        add(reading, yaml_document_get_node(&reading->yaml, pair->value));
        if (reading->failed) break;
    }
    tn.value->end(reading->out);
}

static void add(struct reading *reading, const yaml_node_t *node) {
    if (++reading->nodes > YAML_NODES_MAX) give_up(reading, "has more than 2,000,000 values", node);
    if (reading->depth >= YAML_DEPTH_MAX) give_up(reading, "is nested more than 200 deep", node);
    if (reading->failed) return;
    reading->depth++;
    switch (node->type) {
    case YAML_MAPPING_NODE: add_pairs(reading, node); break;
    case YAML_SEQUENCE_NODE:
        tn.value->begin(reading->out, TN_ARRAY);
        for (const yaml_node_item_t *item = node->data.sequence.items.start;
             item < node->data.sequence.items.top && !reading->failed; item++)
            add(reading, yaml_document_get_node(&reading->yaml, *item));
        tn.value->end(reading->out);
        break;
    default: tn_put_take(reading->out, NULL, scalar(node)); break;
    }
    reading->depth--;
}

static tn_value parse(const char *path, const char *text, size_t length) {
    struct reading reading = {.path = path};
    yaml_parser_t parser;
    tn_value value = NULL;
    if (!yaml_parser_initialize(&parser)) return NULL;
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
    if (yaml_parser_load(&parser, &reading.yaml)) {
        const yaml_node_t *root = yaml_document_get_root_node(&reading.yaml);
        reading.out = tn.value->builder();
        if (root != NULL) add(&reading, root);
        value = tn.value->finish(reading.out);
        yaml_document_delete(&reading.yaml);
        if (value == NULL && !reading.failed) say(path, root == NULL ? "it is empty" : "a key stands in it twice", 0);
        if (reading.failed) {
            tn_release(value);
            value = NULL;
        }
    } else {
        say(path, parser.problem != NULL ? parser.problem : "it is neither YAML nor JSON",
            parser.problem_mark.line + 1);
    }
    yaml_parser_delete(&parser);
    return value;
}

tn_value yaml_read_file(const char *path) {
    struct text text = {.limit = YAML_BYTES_MAX};
    char chunk[65536];
    size_t got;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        say(path, strerror(errno), 0);
        return NULL;
    }
    while ((got = fread(chunk, 1, sizeof(chunk), file)) > 0 && !text.failed) text_add(&text, chunk, got);
    bool broken = ferror(file) != 0;
    (void)fclose(file);
    tn_value value = NULL;
    if (broken)
        say(path, "it cannot be read", 0);
    else if (text.failed)
        say(path, "it is longer than 16 MiB", 0);
    else
        value = parse(path, text_chars(&text), text.length);
    text_free(&text);
    return value;
}
