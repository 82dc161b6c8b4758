/*
 * yaml_file.c - YAML to values, by libyaml.
 *
 * Scalars follow YAML's core schema: a plain scalar may be null, a bool or a number; everything else is a string, and
 * so is every key (200 in `responses`). An alias stands for its anchor's value; each use counts against the limits.
 */
#include "yaml_file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

static void log_yaml_error(const char *path, const char *what, size_t line) {
    char message[1024];
    if (line > 0)
        (void)snprintf(message, sizeof(message), "%s:%zu: %s", path, line, what);
    else
        (void)snprintf(message, sizeof(message), "%s: %s", path, what);
    tn_log(TN_LOG_ERROR, message);
}

struct yaml_reader {
    yaml_document_t yaml;
    const char *path;
    tn_builder *out;
    uint32_t nodes, depth;
    bool failed;
};

static void yaml_reader_fail(struct yaml_reader *yaml_reader, const char *what, const yaml_node_t *node) {
    if (!yaml_reader->failed) log_yaml_error(yaml_reader->path, what, node->start_mark.line + 1);
    yaml_reader->failed = true;
}

static bool is_one_of_words(const char *text, const char *const *words) {
    for (; *words != NULL; words++)
        if (strcmp(text, *words) == 0) return true;
    return false;
}

/* Parses a number of the core schema: JSON's numbers, and 0x and 0o integers. Returns NULL if `text` is not one. */
static tn_value parse_yaml_number(const char *text, size_t length) {
    char *end;
    if (length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'o')) {
        errno = 0;
        long long parsed = strtoll(text + 2, &end, text[1] == 'x' ? 16 : 8);
        return *end == 0 && errno == 0 && text[2] != '-' && text[2] != '+' ? tn_int(parsed) : NULL;
    }
    if (length > 0 && text[0] == '+') text++, length--;
    tn_value value = length > 0 ? tn_from_json(text, length) : NULL;
    int32_t kind = tn.value->kind(value);
    if (kind == TN_INT || kind == TN_DOUBLE) return value;
    tn_release(value);
    return NULL;
}

static tn_value make_yaml_scalar(const yaml_node_t *node) {
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL}, *const falses[] = {"false", "False", "FALSE",
                                                                                          NULL};
    const char *text = (const char *)node->data.scalar.value;
    size_t length = node->data.scalar.length;
    if (node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && strlen(text) == length) {
        if (is_one_of_words(text, nulls)) return tn_null();
        if (is_one_of_words(text, trues)) return tn_bool(1);
        if (is_one_of_words(text, falses)) return tn_bool(0);
        tn_value parsed_number = parse_yaml_number(text, length);
        if (parsed_number != NULL) return parsed_number;
    }
    return tn_text_n(text, length);
}

static void yaml_reader_add(struct yaml_reader *yaml_reader, const yaml_node_t *node);

static void yaml_reader_add_pairs(struct yaml_reader *yaml_reader, const yaml_node_t *node) {
    tn.value->begin(yaml_reader->out, TN_OBJECT);
    for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(&yaml_reader->yaml, pair->key);
        if (key->type != YAML_SCALAR_NODE) {
            yaml_reader_fail(yaml_reader, "found a key that is not a string", key);
            break;
        }
        tn.value->key(yaml_reader->out, (const char *)key->data.scalar.value, key->data.scalar.length);
        yaml_reader_add(yaml_reader, yaml_document_get_node(&yaml_reader->yaml, pair->value));
        if (yaml_reader->failed) break;
    }
    tn.value->end(yaml_reader->out);
}

static void yaml_reader_add(struct yaml_reader *yaml_reader, const yaml_node_t *node) {
    if (++yaml_reader->nodes > YAML_NODES_MAX) yaml_reader_fail(yaml_reader, "has more than 2,000,000 values", node);
    if (yaml_reader->depth >= YAML_DEPTH_MAX) yaml_reader_fail(yaml_reader, "is nested more than 200 deep", node);
    if (yaml_reader->failed) return;
    yaml_reader->depth++;
    switch (node->type) {
    case YAML_MAPPING_NODE: yaml_reader_add_pairs(yaml_reader, node); break;
    case YAML_SEQUENCE_NODE:
        tn.value->begin(yaml_reader->out, TN_ARRAY);
        for (const yaml_node_item_t *item = node->data.sequence.items.start;
             item < node->data.sequence.items.top && !yaml_reader->failed; item++)
            yaml_reader_add(yaml_reader, yaml_document_get_node(&yaml_reader->yaml, *item));
        tn.value->end(yaml_reader->out);
        break;
    default: tn_put_take(yaml_reader->out, NULL, make_yaml_scalar(node)); break;
    }
    yaml_reader->depth--;
}

static tn_value parse_yaml(const char *path, const char *text, size_t length) {
    struct yaml_reader yaml_reader = {.path = path};
    yaml_parser_t parser;
    tn_value value = NULL;
    if (!yaml_parser_initialize(&parser)) return NULL;
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
    if (yaml_parser_load(&parser, &yaml_reader.yaml)) {
        const yaml_node_t *root = yaml_document_get_root_node(&yaml_reader.yaml);
        yaml_reader.out = tn_builder_new();
        if (root != NULL) yaml_reader_add(&yaml_reader, root);
        value = tn_finish(yaml_reader.out);
        yaml_document_delete(&yaml_reader.yaml);
        if (value == NULL && !yaml_reader.failed)
            log_yaml_error(path, root == NULL ? "the file is empty" : "a key occurs twice in one mapping", 0);
        if (yaml_reader.failed) {
            tn_release(value);
            value = NULL;
        }
    } else {
        log_yaml_error(path, parser.problem != NULL ? parser.problem : "the file is neither YAML nor JSON",
                       parser.problem_mark.line + 1);
    }
    yaml_parser_delete(&parser);
    return value;
}

/*
 * JSON is a subset of YAML, and large descriptions are JSON: its parser needs a fraction of libyaml's memory. NULL if
 * the text is not JSON or is beyond the limits; it is then read as YAML, which says where the mistake is.
 */
static tn_value parse_json(const char *text, uint64_t length) {
    size_t blanks = strspn(text, " \t\r\n");
    return text[blanks] == '{' || text[blanks] == '[' ? tn_from_json(text, length) : NULL;
}

tn_value yaml_read_file(const char *path, const char *name) {
    struct tn_text_buffer text = {.limit = YAML_BYTES_MAX};
    char chunk[65536];
    size_t got;
    struct stat status;
    /* A reference can name a FIFO, whose open or read would wait. */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    bool regular = descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
    FILE *file = regular ? fdopen(descriptor, "r") : NULL;
    if (file == NULL) {
        log_yaml_error(name, descriptor < 0 || regular ? strerror(errno) : "found no regular file, expected one", 0);
        if (descriptor >= 0) (void)close(descriptor);
        return NULL;
    }
    while ((got = fread(chunk, 1, sizeof(chunk), file)) > 0 && text.status == TN_OK)
        tn_text_append_n(&text, chunk, got);
    bool broken = ferror(file) != 0;
    (void)fclose(file);
    tn_value value = NULL;
    if (broken)
        log_yaml_error(name, "the file cannot be read", 0);
    else if (text.status != TN_OK)
        log_yaml_error(name, "the file is longer than 16 MiB", 0);
    else
        value = parse_json(tn_text_chars(&text), text.length);
    if (value == NULL && !broken && text.status == TN_OK) value = parse_yaml(name, tn_text_chars(&text), text.length);
    tn_text_free(&text);
    return value;
}
