/*
 * document.c - reading files by libyaml (JSON is YAML), and following references.
 *
 * Scalars are of YAML's core schema: a plain scalar may be null, a truth or a number, everything else is text, and so
 * is every key (a response's 200). Aliases stand for what they name, and count as often as they do.
 */
#include "document.h"
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

/* ---- YAML to values ---- */

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
    if (++reading->nodes > DOCUMENT_NODES_MAX) give_up(reading, "has more than 2,000,000 values", node);
    if (reading->depth >= DOCUMENT_DEPTH_MAX) give_up(reading, "is nested more than 200 deep", node);
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

/* ---- Files ---- */

static tn_value read_file(const char *path) {
    struct text text = {.limit = DOCUMENT_BYTES_MAX};
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

static char *copy(const char *text, size_t length) {
    char *made = tn.core->alloc(tn.host, length + 1);
    if (made == NULL) return NULL;
    memcpy(made, text, length);
    made[length] = 0;
    return made;
}

/* The file, read when it is first asked for; one that cannot be read is kept as well, and told once. */
static const struct document *open_document(struct documents *documents, const char *path) {
    struct document *document;
    for (document = documents->first; document != NULL; document = document->next)
        if (strcmp(document->path, path) == 0) return document;
    if (documents->count >= DOCUMENT_FILES_MAX) return NULL;
    document = tn.core->alloc(tn.host, sizeof(*document));
    if (document == NULL) return NULL;
    *document = (struct document){documents->first, copy(path, strlen(path)), NULL, documents->count};
    if (document->path == NULL) {
        tn.core->release(tn.host, document);
        return NULL;
    }
    document->root = read_file(path);
    documents->first = document;
    documents->count++;
    return document;
}

bool documents_open(struct documents *documents, const char *path, struct place *root) {
    const struct document *document = open_document(documents, path);
    *root = (struct place){document, document != NULL ? document->root : NULL};
    return root->value != NULL;
}

void documents_finish(struct documents *documents) {
    while (documents->first != NULL) {
        struct document *document = documents->first;
        documents->first = document->next;
        tn_release(document->root);
        tn.core->release(tn.host, document->path);
        tn.core->release(tn.host, document);
    }
    documents->count = 0;
}

/* ---- References ---- */

/* One part of a JSON Pointer in a fragment: percent-decoded, then ~1 and ~0. */
static bool decode(struct text *out, const char *part, size_t length) {
    for (size_t i = 0; i < length; i++) {
        char c = part[i], code[3] = {0};
        if (c == '%' && i + 2 < length) {
            char *end;
            memcpy(code, part + i + 1, 2);
            c = (char)strtol(code, &end, 16);
            if (*end != 0 || c == 0) return false;
            i += 2;
        }
        if (c == '~' && i + 1 < length && (part[i + 1] == '0' || part[i + 1] == '1')) c = part[++i] == '0' ? '~' : '/';
        text_add(out, &c, 1);
    }
    return !out->failed;
}

static tn_value step(tn_value value, const char *name) {
    char *end;
    if (tn.value->kind(value) != TN_ARRAY) return tn.value->get(value, name);
    unsigned long index = strtoul(name, &end, 10);
    return *name != 0 && *end == 0 ? tn.value->at(value, index) : NULL;
}

static tn_value follow(tn_value value, const char *pointer) {
    while (value != NULL && *pointer == '/') {
        size_t length = strcspn(++pointer, "/");
        struct text name = {.limit = 4096};
        value = decode(&name, pointer, length) ? step(value, text_chars(&name)) : NULL;
        text_free(&name);
        pointer += length;
    }
    return *pointer == 0 ? value : NULL;
}

static const struct document *beside(struct documents *documents, const struct document *from, const char *name,
                                     size_t length) {
    const char *slash = strrchr(from->path, '/');
    struct text path = {.limit = 4096};
    if (length == 0) return from;
    if (length > 8 && (strncmp(name, "http://", 7) == 0 || strncmp(name, "https://", 8) == 0)) return NULL;
    if (name[0] != '/' && slash != NULL) text_add(&path, from->path, (uint64_t)(slash - from->path + 1));
    (void)decode(&path, name, length);
    const struct document *found = path.failed ? NULL : open_document(documents, text_chars(&path));
    text_free(&path);
    return found;
}

struct place place_target(struct documents *documents, struct place place, const char *reference) {
    size_t length = strcspn(reference, "#");
    const struct document *document = beside(documents, place.document, reference, length);
    struct place found = {document, document != NULL ? document->root : NULL};
    if (found.value != NULL && reference[length] == '#') found.value = follow(found.value, reference + length + 1);
    if (found.value == NULL) {
        char message[512];
        (void)snprintf(message, sizeof(message), "the reference `%.300s` leads nowhere%s", reference,
                       strncmp(reference, "http", 4) == 0 ? ": references to the network are not followed" : "");
        say(place.document->path, message, 0);
    }
    return found;
}

struct place place_resolve(struct documents *documents, struct place place) {
    for (uint32_t i = 0; i < DOCUMENT_REFS_MAX && place.value != NULL; i++) {
        const char *reference = tn_chars(tn.value->get(place.value, "$ref"), NULL);
        if (reference == NULL) return place;
        place = place_target(documents, place, reference);
    }
    return (struct place){place.document, NULL};
}

struct place place_get(struct documents *documents, struct place place, const char *key) {
    return place_resolve(documents, (struct place){place.document, tn.value->get(place.value, key)});
}

struct place place_at(struct documents *documents, struct place place, uint64_t index) {
    return place_resolve(documents, (struct place){place.document, tn.value->at(place.value, index)});
}
