/*
 * partial.c - stores the arguments as a mutable tree. Values are immutable: with them, a text of a thousand pieces
 * would be copied a thousand times.
 *
 * The newest child of a container is checked first, because the next piece almost always belongs to it. Invariant:
 * arrays have no gaps; a skipped item is null.
 *
 * The JSON text of the tree is written while it grows, as long as pieces come in its order. `at` is the node that was
 * written last; all containers around it are open in the text. After a piece for a closed node, the text no longer
 * matches the tree, and nothing more is written. An object member without a value is null in the tree and absent from
 * the text.
 */
#include "partial.h"
#include <tenon/util/text.h>

enum kind { EMPTY, LEAF, TEXT, OBJECT, ARRAY };

struct node {
    struct node *parent, *next, *first, *last; /* `next` is a sibling; the others are children */
    tn_value key;                              /* if the parent is an object */
    uint64_t count;                            /* number of children */
    tn_value leaf;
    struct tn_text_buffer text;
    uint64_t written_count; /* bytes of the text written so far; for a container, its children written so far */
    enum kind kind;
    bool open;    /* more of the text will follow */
    bool written; /* the node's key and start are written */
};

struct partial {
    struct node root; /* always an object */
    uint64_t nodes, text;
    struct node *at;
    struct tn_text_buffer json; /* what partial_take_text has not returned yet */
    bool text_invalid;          /* the text does not match the tree; it is not continued */
};

struct partial *partial_new(void) {
    struct partial *partial = tn.core->alloc(tn.host, sizeof *partial);
    if (partial == NULL) return NULL;
    memset(partial, 0, sizeof *partial);
    partial->root.kind = OBJECT;
    partial->at = &partial->root;
    return partial;
}

/* Frees everything below a node; the tree is at most PARTIAL_DEPTH_MAX deep. */
static void partial_node_clear(struct node *node) {
    for (struct node *child = node->first, *next; child != NULL; child = next) {
        next = child->next;
        partial_node_clear(child);
        tn.core->release(tn.host, child);
    }
    tn_release(node->key);
    tn_text_free(&node->text);
    tn_release(node->leaf);
}

void partial_free(struct partial *partial) {
    if (partial == NULL) return;
    partial_node_clear(&partial->root);
    tn_text_free(&partial->json);
    tn.core->release(tn.host, partial);
}

/* ---- Paths ---------------------------------------------------------------------------------------------------- */

struct step {
    tn_value name; /* owned; NULL: an index */
    uint64_t index;
};

static bool path_is_digit(char c) { return c >= '0' && c <= '9'; }

/* Reads a quoted name of a JSONPath ('name' or "name") by converting it to a JSON string. NULL if it is malformed. */
static tn_value path_quoted_name(const char **at) {
    char json[PARTIAL_PATH_MAX * 2 + 3], quote = *(*at)++;
    size_t length = 0;
    tn_value name = NULL;
    json[length++] = '"';
    for (; **at != quote; ++*at) {
        if (**at == '\0') return NULL;
        if (**at == '\\' && (*at)[1] == '\'')
            ++*at;
        else if (**at == '\\' && (*at)[1] != '\0')
            json[length++] = *(*at)++;
        else if (**at == '"')
            json[length++] = '\\';
        json[length++] = **at;
    }
    ++*at;
    json[length++] = '"';
    return tn.value->from_json(tn.host, json, length, &name, NULL) == TN_OK ? name : NULL;
}

/* Reads one step of a path. False if it is malformed. */
static bool path_read_step(const char **at, struct step *step) {
    *step = (struct step){NULL, 0};
    if (**at == '.') {
        const char *from = ++*at;
        while (**at != '\0' && **at != '.' && **at != '[') ++*at;
        if (*at == from) return false;
        step->name = tn_text_n(from, (uint64_t)(*at - from));
        return step->name != NULL;
    }
    if (**at != '[') return false;
    ++*at;
    if (**at == '\'' || **at == '"') {
        step->name = path_quoted_name(at);
        if (step->name == NULL) return false;
    } else {
        const char *from = *at;
        for (; path_is_digit(**at) && *at - from < 9; ++*at) step->index = step->index * 10 + (uint64_t)(**at - '0');
        if (*at == from) return false;
    }
    if (**at == ']') return ++*at, true;
    tn_release(step->name);
    return false;
}

static struct node *partial_add_child(struct partial *partial, struct node *parent, tn_value key, const char **reason) {
    struct node *child = NULL;
    *reason = "the arguments have too many values";
    if (partial->nodes >= PARTIAL_NODES_MAX) return NULL;
    *reason = "not enough memory for the arguments";
    child = tn.core->alloc(tn.host, sizeof *child);
    if (child == NULL) return NULL;
    memset(child, 0, sizeof *child);
    child->parent = parent;
    child->key = tn_retain(key);
    if (parent->last != NULL)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
    parent->count++;
    partial->nodes++;
    return child;
}

static struct node *partial_member(struct partial *partial, struct node *object, tn_value key, const char **reason) {
    if (object->last != NULL && tn.value->equal(object->last->key, key)) return object->last;
    for (struct node *child = object->first; child != NULL; child = child->next)
        if (tn.value->equal(child->key, key)) return child;
    return partial_add_child(partial, object, key, reason);
}

static struct node *partial_item(struct partial *partial, struct node *array, uint64_t index, const char **reason) {
    if (index + 1 == array->count) return array->last;
    if (index < array->count) {
        struct node *child = array->first;
        while (index-- > 0) child = child->next;
        return child;
    }
    if (index > PARTIAL_NODES_MAX) {
        *reason = "an array index in the arguments is too large";
        return NULL;
    }
    while (array->count <= index)
        if (partial_add_child(partial, array, NULL, reason) == NULL) return NULL;
    return array->last;
}

/* Returns the node at a path, and creates it if necessary. On failure, returns NULL with the reason. */
static struct node *partial_find_node(struct partial *partial, const char *path, const char **reason) {
    struct node *node = &partial->root;
    uint32_t depth = 0;
    *reason = "a jsonPath is not of the form $.name[0]['name']";
    if (*path++ != '$' || *path == '\0' || strlen(path) > PARTIAL_PATH_MAX) return NULL;
    while (*path != '\0' && node != NULL) {
        struct step step;
        *reason = "a jsonPath is not of the form $.name[0]['name']";
        if (!path_read_step(&path, &step)) return NULL;
        enum kind wanted = step.name != NULL ? OBJECT : ARRAY;
        if (node->kind == EMPTY) node->kind = wanted;
        if (node->kind != wanted || ++depth > PARTIAL_DEPTH_MAX) {
            *reason = depth > PARTIAL_DEPTH_MAX ? "the arguments are nested too deeply"
                                                : "one value of the arguments has two types";
            node = NULL;
        } else if (step.name != NULL) {
            node = partial_member(partial, node, step.name, reason);
        } else {
            node = partial_item(partial, node, step.index, reason);
        }
        tn_release(step.name);
    }
    return node;
}

/* ---- Values --------------------------------------------------------------------------------------------------- */

static bool partial_add_text(struct partial *partial, struct node *node, tn_value piece, const char **reason) {
    uint64_t length = 0;
    const char *text = tn_chars(piece, &length);
    *reason = "the texts of the arguments are too long";
    if (length > PARTIAL_TEXT_MAX - partial->text) return false;
    *reason = "not enough memory for the arguments";
    if (tn_text_append_n(&node->text, text, length) != TN_OK) return false;
    partial->text += length;
    return true;
}

static void partial_put_node(const struct node *node, tn_builder *out) {
    if (node->key != NULL) {
        uint64_t length;
        const char *key = tn_chars(node->key, &length);
        tn.value->key(out, key, length);
    }
    switch (node->kind) {
    case EMPTY: tn_put_take(out, NULL, tn_null()); return;
    case LEAF: tn_put(out, NULL, node->leaf); return;
    case TEXT: tn.value->add_text(out, tn_text_chars(&node->text), node->text.length); return;
    case OBJECT:
    case ARRAY:
        tn.value->begin(out, node->kind == OBJECT ? TN_OBJECT : TN_ARRAY);
        for (const struct node *child = node->first; child != NULL; child = child->next) partial_put_node(child, out);
        tn.value->end(out);
    }
}

static tn_value partial_node_value(const struct node *node) {
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, node->key != NULL ? TN_OBJECT : TN_ARRAY); /* a builder creates only complete values */
    partial_put_node(node, out);
    tn.value->end(out);
    tn_value around = tn_finish(out);
    tn_value value = tn_retain(node->key != NULL ? tn_get_key(around, node->key) : tn.value->at(around, 0));
    tn_release(around);
    return value;
}

/* ---- JSON text ------------------------------------------------------------------------------------------------ */

static void partial_write_n(struct partial *partial, const char *text, uint64_t length) {
    if (!partial->text_invalid) partial->text_invalid = tn_text_append_n(&partial->json, text, length) != TN_OK;
}

static void partial_write(struct partial *partial, const char *text) { partial_write_n(partial, text, strlen(text)); }

/* Writes a value as JSON, without the first and last `skipped` bytes (1: without the quotes of a string). */
static void partial_write_json_take(struct partial *partial, tn_value value, uint64_t skipped) {
    tn_value json = value != NULL ? tn_to_json(value) : NULL;
    uint64_t length = 0;
    const char *text = tn_chars(json, &length);
    if (text != NULL)
        partial_write_n(partial, text + skipped, length - 2 * skipped);
    else
        partial->text_invalid = true;
    tn_release(json);
    tn_release(value);
}

/* Closes the open nodes below `until`. */
static void partial_write_ends(struct partial *partial, const struct node *until) {
    for (; partial->at != until; partial->at = partial->at->parent) {
        const struct node *node = partial->at;
        if (node->kind == TEXT)
            partial_write(partial, "\"");
        else if (node->kind != LEAF)
            partial_write(partial, node->kind == OBJECT ? "}" : "]");
    }
}

static bool partial_node_contains(const struct node *around, const struct node *node) {
    while (node != NULL && node != around) node = node->parent;
    return node != NULL;
}

/* Writes the start of a child of the open node. */
static void partial_write_start(struct partial *partial, struct node *node) {
    struct node *parent = node->parent;
    while (parent->kind == ARRAY &&
           parent->written_count + 1 < parent->count) /* a skipped item, which is the last one */
        partial_write(partial, parent->written_count++ > 0 ? ",null" : "null");
    if (parent->written_count++ > 0) partial_write(partial, ",");
    if (parent->kind == OBJECT) {
        partial_write_json_take(partial, tn_retain(node->key), 0);
        partial_write(partial, ":");
    }
    if (node->kind != LEAF) partial_write(partial, node->kind == TEXT ? "\"" : node->kind == OBJECT ? "{" : "[");
    node->written = true;
    partial->at = node;
}

/* Writes the value, or the piece of text, that was added to `node`. */
static void partial_write_node(struct partial *partial, struct node *node) {
    struct node *down[PARTIAL_DEPTH_MAX + 1];
    uint32_t depth = 0;
    if (partial->at == &partial->root && !partial->root.written) {
        partial_write(partial, "{");
        partial->root.written = true;
    }
    for (struct node *up = node; !partial_node_contains(up, partial->at); up = up->parent) {
        /* A skipped item is null in the text. */
        bool passed = up->written || (up->parent->kind == ARRAY && up->next != NULL);
        if (passed || depth > PARTIAL_DEPTH_MAX) partial->text_invalid = true;
        if (partial->text_invalid) return;
        down[depth++] = up;
    }
    if (depth > 0) {
        partial_write_ends(partial, down[depth - 1]->parent);
        while (depth-- > 0) partial_write_start(partial, down[depth]);
    } else if (node != partial->at || node->kind == LEAF) {
        partial->text_invalid = true;
        return;
    }
    if (node->kind == LEAF) {
        partial_write_json_take(partial, tn_retain(node->leaf), 0);
    } else {
        partial_write_json_take(
            partial,
            tn_text_n(tn_text_chars(&node->text) + node->written_count, node->text.length - node->written_count), 1);
        node->written_count = node->text.length;
    }
}

tn_value partial_take_text(struct partial *partial) {
    struct tn_text_buffer *json = &partial->json;
    tn_value text = json->length > 0 && !partial->text_invalid ? tn_text_n(json->bytes, json->length) : NULL;
    tn_text_clear(json, UINT64_MAX);
    return text;
}

bool partial_text_is_invalid(const struct partial *partial) { return partial->text_invalid; }

/* Writes the members that had no pieces. The others must be equal to the pieces; otherwise the text is invalid. */
static void partial_write_rest(struct partial *partial, tn_value members) {
    for (uint64_t i = 0, count = tn.value->count(members); i < count && !partial->text_invalid; i++) {
        tn_value key, value;
        const char *reason;
        if (tn.value->entry(members, i, &key, &value) != TN_OK) return;
        struct node *node = partial_member(partial, &partial->root, key, &reason);
        if (node == NULL) {
            partial->text_invalid = true;
        } else if (node->kind == EMPTY) {
            node->leaf = tn_retain(value);
            node->kind = LEAF;
            partial_write_node(partial, node);
        } else {
            tn_value streamed = partial_node_value(node);
            partial->text_invalid = streamed == NULL || !tn.value->equal(streamed, value);
            tn_release(streamed);
        }
    }
}

void partial_end(struct partial *partial, tn_value members) {
    partial_write_rest(partial, members);
    if (partial->text_invalid) return;
    if (!partial->root.written) partial_write(partial, "{");
    partial_write_ends(partial, &partial->root);
    partial_write(partial, "}");
}

/* ---- Pieces --------------------------------------------------------------------------------------------------- */

bool partial_add_piece(struct partial *partial, tn_value piece, const char **reason) {
    static const char *const scalars[] = {"numberValue", "boolValue"};
    const char *path = tn_get_text(piece, "jsonPath", NULL);
    tn_value text = tn_get(piece, "stringValue"), leaf = NULL;
    int32_t will_continue = 0;
    *reason = "a partial argument has no jsonPath";
    if (path == NULL) return false;
    struct node *node = partial_find_node(partial, path, reason);
    if (node == NULL) return false;
    (void)tn.value->as_bool(tn_get(piece, "willContinue"), &will_continue);
    *reason = "one value of the arguments has two types";
    if (node->kind == OBJECT || node->kind == ARRAY) return false;
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        if (leaf == NULL) leaf = tn_retain(tn_get(piece, scalars[i]));
    if (tn.value->kind(text) == TN_STRING) {
        tn_release(leaf);
        if (!node->open && node->kind != EMPTY) partial->text_invalid = true;
        if (!node->open) tn_text_clear(&node->text, UINT64_MAX);
        if (!partial_add_text(partial, node, text, reason)) return false;
        node->kind = TEXT;
        node->open = will_continue != 0;
        if (!partial->text_invalid) partial_write_node(partial, node);
        return true;
    }
    if (leaf == NULL && tn_get(piece, "nullValue") != NULL) leaf = tn_null();
    if (leaf == NULL) return true; /* a path without a value yet */
    if (node->kind != EMPTY) partial->text_invalid = true;
    tn_release(node->leaf);
    node->leaf = leaf;
    node->kind = LEAF;
    node->open = false;
    if (!partial->text_invalid) partial_write_node(partial, node);
    return true;
}

tn_value partial_build_value(const struct partial *partial) { return partial_node_value(&partial->root); }
